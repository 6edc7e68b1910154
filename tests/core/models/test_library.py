"""`--witness-library`: the library that wrote a file opens it in a process of its own, and answers for rows."""

from __future__ import annotations

import importlib
import json
import socket
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from command_line import leafgate
from leafgate import InconclusiveError
from leafgate.app import Plugins, document, open_session

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
N = 250
COLUMNS: dict[str, Any] = {
    "age": {"role": "quasi_identifier", "bounds": [0, 120]},
    "visits": {"role": "quasi_identifier", "bounds": [0, 20]},
    "job": {"role": "quasi_identifier", "values": ["cook", "nurse", "smith"]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"age": rng.integers(18, 90, N), "visits": rng.integers(0, 9, N)}).astype(float)
    table.loc[rng.random(N) < 0.1, "visits"] = np.nan
    table["job"] = rng.choice(["cook", "nurse", "smith"], N)
    score = table["age"] / 30 + table["visits"].fillna(4) / 4 + (table["job"] == "cook")
    return table.assign(ill=np.where(score + rng.normal(size=N) > 3.4, "yes", "no"))


def pipeline(table: pd.DataFrame) -> Any:
    prepare = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age"]))
    model = make_pipeline(prepare, GradientBoostingClassifier(n_estimators=4, max_depth=2))
    return model.fit(table[["age", "visits", "job"]], table["ill"])


def write_skops(folder: Path, table: pd.DataFrame) -> dict[str, Any]:
    skops.io.dump(pipeline(table), folder / "model.skops")
    return {"path": "model.skops"}


CODES = {"encoding": {"ill": {"codes": {"no": 0, "yes": 1}}}}
DART = {"booster": "dart", "rate_drop": 0.5, "n_estimators": 5, "max_depth": 3, "n_jobs": 1, "random_state": 1}


def write_xgboost(folder: Path, table: pd.DataFrame) -> dict[str, Any]:
    model = xgboost.XGBClassifier(**DART).fit(table[["age", "visits"]], table["ill"] == "yes")
    model.save_model(folder / "model.json")
    return {"path": "model.json", **CODES}


def write_lightgbm(folder: Path, table: pd.DataFrame) -> dict[str, Any]:
    model = lightgbm.LGBMClassifier(n_estimators=4, num_leaves=5, verbose=-1, n_jobs=1)
    model.fit(table[["age", "visits"]], table["ill"] == "yes").booster_.save_model(folder / "model.txt")
    return {"path": "model.txt", **CODES}


WRITERS = {"skops": write_skops, "xgboost": write_xgboost, "lightgbm": write_lightgbm}


def put(folder: Path, build: Mapping[str, Any], columns: Mapping[str, Any], table: pd.DataFrame) -> Path:
    table.to_csv(folder / "people.csv", index=False)
    policy = {
        **{"leafgate": 1, "name": "model", "build": {"use": "published", **build}, "publish": {"leaves": "counts"}},
        "data": {"path": "people.csv", "missing": [""], "on_missing": "keep", "columns": columns},
        **{"attacks": [{"use": "linking"}], "metrics": [{"use": "k_anonymity", "average": True, "at_least": 2}]},
    }
    (folder / "policy.yaml").write_text(json.dumps(policy))
    return folder / "policy.yaml"


def asked_by(plugins: Plugins, function: str) -> Plugins:
    """The plugins, whose readers name a function of `asked_functions` as that of their library."""
    library = f"asked_functions:{function}"
    return Plugins(
        tuple(
            replace(each, readers=tuple(replace(one, library=library) for one in each.readers))
            for each in plugins.entries
        )
    )


def reading(policy: Path, function: str = "") -> dict[str, Any]:
    session = open_session(policy)
    if function:
        session = replace(session, plugins=asked_by(session.plugins, function))
    asking = replace(session, policy=session.policy.with_given("--witness-library"))
    (found,) = [f for f in document(asking.audit().report, "auditor")["findings"] if f["id"] == "reading"]
    return {"passed": found["passed"], **found["evidence"]}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.thorough
def test_a_library_answers_as_its_file_is_read(tmp_path: Path, name: str) -> None:
    table = people()
    found = reading(put(tmp_path, WRITERS[name](tmp_path, table), COLUMNS, table))
    assert (found["passed"], found["reason"]) == (True, "what was read answers as the witness does")
    assert int(found["reason_in_full"].split(" ")[0].replace(",", "")) > N


@pytest.mark.thorough
def test_numbers_are_asked_for_too(tmp_path: Path) -> None:
    table = people().assign(bill=lambda each: each["age"] * 10).drop(columns="ill")
    model = DecisionTreeRegressor(max_depth=3).fit(table[["age"]], table["bill"])
    skops.io.dump(model, tmp_path / "model.skops")
    columns = {**COLUMNS, "bill": {"role": ["class", "sensitive"], "bins": [0, 400, 1000]}}
    del columns["ill"]
    assert reading(put(tmp_path, {"path": "model.skops"}, columns, table))["passed"] is True


@pytest.mark.thorough
def test_a_class_that_the_policy_maps_to_the_wrong_value_is_no_misreading(tmp_path: Path) -> None:
    table = people()
    build = write_xgboost(tmp_path, table)
    build["encoding"] = {"ill": {"codes": {"no": 1, "yes": 0}}}
    assert reading(put(tmp_path, build, COLUMNS, table))["passed"] is True


def town_columns(values: list[str]) -> dict[str, Any]:
    """The columns of a table with a town, whose cells may be missing."""
    return {"age": COLUMNS["age"], "town": {"role": "quasi_identifier", "values": values}, "ill": COLUMNS["ill"]}


@pytest.mark.thorough
def test_xgboost_is_asked_with_the_codes_of_its_own_categories(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 80, 300), "town": rng.choice(["a", "b", "c"], 300)})
    table["ill"] = np.where((table["town"] == "b") ^ (table["age"] > 50), "yes", "no")
    given = table[["age", "town"]].assign(town=table["town"].astype("category"))
    model = xgboost.XGBClassifier(n_estimators=3, max_depth=3, enable_categorical=True, random_state=0)
    model.fit(given, (table["ill"] == "yes").astype(int)).save_model(tmp_path / "model.json")
    build = {"path": "model.json", "encoding": {"ill": {"codes": {"no": 0, "yes": 1}}}}
    columns = town_columns(["a", "b", "c"])
    assert reading(put(tmp_path, build, columns, table))["passed"] is True


@pytest.mark.thorough
def test_missing_texts_are_given_to_a_pipeline_as_pandas_has_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 80, 300), "town": rng.choice(["a", "b", ""], 300)})
    table["ill"] = np.where((table["town"] == "") ^ (table["age"] > 50), "yes", "no")
    table.to_csv(tmp_path / "people.csv", index=False)
    given = pd.read_csv(tmp_path / "people.csv")
    encoded = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough")
    model = make_pipeline(encoded, DecisionTreeClassifier(max_depth=4, random_state=0))
    skops.io.dump(model.fit(given[["age", "town"]], given["ill"]), tmp_path / "model.skops")
    columns = town_columns(["a", "b"])
    assert reading(put(tmp_path, {"path": "model.skops"}, columns, table))["passed"] is True


def test_a_library_that_answers_otherwise_is_a_contradiction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people()
    policy = put(tmp_path, write_xgboost(tmp_path, table), COLUMNS, table)
    answer = importlib.import_module("leafgate_plugins.xgboost.library").answer

    def otherwise(function: str, content: bytes, rows: Any, frame: Any, place: str) -> Any:
        scores = answer(content, rows, frame)["scores"]
        scores[-1] = scores[-1][::-1]
        return {"scores": scores}

    monkeypatch.setattr("leafgate.models.library.in_process", otherwise)
    found = reading(policy)
    assert (found["passed"], "the witness answers otherwise" in found["problem"]) == (None, True)


def test_no_library_is_asked_unless_who_runs_the_audit_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people()
    policy = put(tmp_path, write_xgboost(tmp_path, table), COLUMNS, table)

    def forbidden(*arguments: Any) -> Any:
        raise AssertionError("a library was asked")

    monkeypatch.setattr("leafgate.models.library.in_process", forbidden)
    assert leafgate("audit", policy, "--no-remedies").code == 0
    assert "AssertionError" in leafgate("audit", policy, "--no-remedies", "--witness-library").err


def test_a_format_without_a_library_says_so(tmp_path: Path) -> None:
    table = people()
    write_skops(tmp_path, table)
    assert leafgate("convert", tmp_path / "model.skops", tmp_path / "model.json").code == 0
    policy = put(tmp_path, {"path": "model.json"}, COLUMNS, table)
    ended = leafgate("audit", policy, "--witness-library")
    assert (ended.code, "no library can be asked about files of neutral" in ended.err) == (3, True)


FUNCTIONS = """
import os, urllib.request
from leafgate_plugins.xgboost.library import answer

def connects(content, rows, frame):
    urllib.request.urlopen("http://127.0.0.1:%d", timeout=5)
    return answer(content, rows, frame)

def is_alone(content, rows, frame):
    if "SECRET" in os.environ or os.getcwd() == %r:
        raise ValueError
    return answer(content, rows, frame)

def lacks(content, rows, frame):
    import no_such_library

def fails(content, rows, frame):
    raise ValueError("Jane Smith")
"""


@pytest.mark.thorough
def test_the_process_has_neither_network_nor_folder_nor_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = people()
    policy = put(tmp_path, write_xgboost(tmp_path, table), COLUMNS, table)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SECRET", "much")
    with socket.create_server(("127.0.0.1", 0)) as server:
        (tmp_path / "asked_functions.py").write_text(FUNCTIONS % (server.getsockname()[1], str(tmp_path)))
        assert reading(policy, "is_alone")["passed"] is True
        for function, problem in (("connects", "cannot answer for it"), ("lacks", "is not installed here")):
            with pytest.raises(InconclusiveError, match=f"its library {problem}"):
                reading(policy, function)
        with pytest.raises(InconclusiveError) as refusal:
            reading(policy, "fails")
        assert "Jane" not in str(refusal.value)
    assert "asked_functions" not in sys.modules
