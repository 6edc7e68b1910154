"""`leafgate.audit`: the audit of a model in memory is the audit of its files, whatever holds the table."""

from __future__ import annotations

import os
import pickle
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import leafgate
from command_line import leafgate as command
from leafgate.api import install_command
from leafgate.app import document, readable

JOBS = ("cook, chef", 'the "boss"', "line\nbreak", "NA", "007")
SMALL = {"k_anonymity": 10}


def people(seed: int = 0, n: int = 200) -> tuple[pd.DataFrame, pd.Series]:
    """Made-up people: texts that are hard to write as CSV, numbers, truth values; and what is predicted."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "pay": rng.normal(3000, 700, n),
            "job": rng.choice(JOBS, n),
            "member": rng.random(n) < 0.3,
        }
    )
    ill = (table["age"] > 50) ^ table["job"].isin(JOBS[:2]) ^ (rng.random(n) < 0.1)
    return table, pd.Series(np.where(ill, "yes", "no"), name="ill")


def pipeline(**settings: Any) -> Any:
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["job"]), (StandardScaler(), ["age", "pay"]), remainder="passthrough"
    )
    return make_pipeline(prepare, DecisionTreeClassifier(random_state=0, **settings))


def bytes_of(audit: leafgate.Audit, audience: Any = "public") -> bytes:
    return readable(document(audit.report, audience))


def by_command(audit: leafgate.Audit, folder: Path, *words: str) -> None:
    """The command line on the files of an audit ends in the same reports and the same release."""
    text = audit.to_policy(folder / "files")
    assert (folder / "files/policy.yaml").read_text() == text
    for audience in ("public", "auditor"):
        out = folder / audience
        ended = command("audit", folder / "files/policy.yaml", "--out", out, "--audience", audience, *words)
        assert (ended.code, ended.trouble) == (audit.exit_code, "")
        assert (out / "report.json").read_bytes() == bytes_of(audit, audience)
        if audit.artifact is not None:
            assert (out / "release.json").read_bytes() == audit.artifact.content


@pytest.fixture
def fitted() -> tuple[Any, pd.DataFrame, pd.Series]:
    table, ill = people()
    return pipeline(max_depth=3).fit(table, ill), table, ill


@pytest.mark.thorough
def test_the_command_line_repeats_an_audit_with_everything_said(fitted: Any, tmp_path: Path) -> None:
    model, table, ill = fitted
    others, theirs = people(1, 50)
    audit = leafgate.audit(
        model,
        table,
        ill,
        roles={"pay": "private", "member": {"role": ["quasi_identifier"], "values": ["False", "True"]}},
        secret=["job", "ill"],
        limits=[{"use": "k_anonymity", "at_least": 2}, {"use": "accuracy", "at_least": 0.5}],
        attacks=["linking"],
        publish="counts",
        test=(others, theirs),
        control=pl.from_pandas(people(2, 60)[0]).with_columns(ill=pl.Series(people(2, 60)[1].tolist())),
        name="everything",
        seed=7,
        search_remedies=False,
    )
    assert set(audit.findings["secret"].dropna()) == {"job", "ill"}
    by_command(audit, tmp_path, "--no-remedies")
    assert {path.name for path in (tmp_path / "files").iterdir()} == {
        *("policy.yaml", "people.csv", "test.csv", "control.csv", "model.skops", "answers.csv")
    }


@pytest.mark.thorough
def test_the_command_line_repeats_an_audit_of_every_kind_of_cell(tmp_path: Path) -> None:
    table, ill = people(n=120)
    rows = np.arange(len(table))
    others: dict[str, Any] = {
        "share": pd.Series(rows / 7).where(rows % 5 > 0),
        "code": pd.Series(np.where(rows % 2, "001", "1")),
        "grade": pd.Categorical(np.where(rows % 3, "low", "high"), ["low", "high", "none of them"], ordered=True),
        "day": pd.Series(pd.date_range("2020-01-01", periods=4).to_numpy()[rows % 4]).where(rows % 7 > 0),
        "text": pd.Series(np.array(["", "NA", "null", " a ", "1,5"], dtype=object)[rows % 5]).where(rows % 11 > 0),
        "small": (rows % 4).astype(np.float32) / 10,
        "whole": pd.array(rows % 6, dtype="Int64"),
    }
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(table[["age"]], ill)
    roles: dict[str, Any] = {"whole": {"role": "quasi_identifier", "bounds": [np.int64(0), 9.0]}}
    modes: tuple[Literal["keep", "drop"], ...] = ("keep", "drop")
    for on_missing in modes:
        audit = leafgate.audit(
            model,
            table.assign(**others),
            ill,
            roles=roles,
            limits={"k_anonymity": np.float64(3)},
            test=(table.assign(**others), ill),
            on_missing=on_missing,
            search_remedies=False,
        )
        by_command(audit, tmp_path / on_missing, "--no-remedies")


def converted(table: pd.DataFrame) -> Iterator[Any]:
    yield pl.from_pandas(table)
    yield pa.Table.from_pandas(table)
    yield table.convert_dtypes()
    yield table.astype({"job": "category"})
    yield table.astype(object)
    yield table.set_index(np.arange(len(table))[::-1])


@pytest.mark.thorough
def test_the_library_of_the_table_changes_no_byte(fitted: Any) -> None:
    model, table, ill = fitted
    first = leafgate.audit(model, table, ill, search_remedies=False)
    wanted = bytes_of(first, "auditor")
    for other in converted(table):
        assert bytes_of(leafgate.audit(model, other, ill, search_remedies=False), "auditor") == wanted
    classes = (pl.Series("ill", ill.to_list()), ill.astype("category"), ill.astype(object))
    for label in classes:
        assert bytes_of(leafgate.audit(model, table, label, search_remedies=False), "auditor") == wanted
    for whole in (table.assign(ill=ill), pl.from_pandas(table.assign(ill=ill))):
        assert bytes_of(leafgate.audit(model, whole, "ill", search_remedies=False), "auditor") == wanted


@pytest.mark.thorough
def test_a_model_that_was_fitted_without_names_is_audited_under_the_tables_names() -> None:
    table, ill = people()
    numbers = table[["age", "pay"]]
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)).fit(numbers.to_numpy(), ill)
    audit = leafgate.audit(model, numbers, ill, search_remedies=False)
    assert '"x0": {column: age}' in audit.to_policy()
    assert leafgate.audit(model, numbers.to_numpy(), ill, search_remedies=False).to_policy().count("x0") == 1


@pytest.mark.thorough
def test_the_same_model_has_the_same_file_every_time(fitted: Any) -> None:
    audits = [leafgate.audit(*fitted, search_remedies=False) for _ in range(2)]
    assert bytes_of(audits[0], "auditor") == bytes_of(audits[1], "auditor")


@pytest.mark.thorough
def test_of_a_search_the_best_estimator_is_audited() -> None:
    table, ill = people()
    search = GridSearchCV(pipeline(), {"decisiontreeclassifier__max_depth": [2, 3]}, cv=2).fit(table, ill)
    audit = leafgate.audit(search, table, ill, search_remedies=False)
    assert "DecisionTreeClassifier" in repr(audit.report.policy)
    assert "cv_results_" not in bytes_of(audit).decode()


def test_of_a_search_over_another_librarys_settings_the_best_estimator_is_audited() -> None:
    from xgboost import XGBClassifier

    table, ill = people(n=120)
    search = GridSearchCV(XGBClassifier(n_estimators=2), {"max_depth": [2]}, cv=2)
    search.fit(table[["age", "pay"]], ill == "yes")
    audit = leafgate.audit(search, table[["age", "pay"]], ill == "yes", search_remedies=False)
    assert "path: model.json" in audit.to_policy().replace('"', "")


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.thorough
def test_what_a_function_of_a_pipeline_makes_is_not_taken_for_the_column(named: bool) -> None:
    table, ill = people()
    numbers = table[["age"]] if named else table[["age"]].to_numpy()
    model = make_pipeline(FunctionTransformer(np.log1p), DecisionTreeClassifier(max_depth=2)).fit(numbers, ill)
    for given_again in (numbers, table[["age"]]):
        with pytest.raises(leafgate.LeafgateError, match=r"made by a function|is no column"):
            leafgate.audit(model, given_again, ill)


@pytest.mark.thorough
def test_codes_of_the_owners_own_are_not_guessed(tmp_path: Path) -> None:
    table, ill = people()
    job = table["job"].astype("category")
    model = DecisionTreeClassifier(max_depth=2).fit(table[["age"]].assign(job=job.cat.codes[::-1].to_numpy()), ill)
    with pytest.raises(leafgate.LeafgateError, match=r"encoding={'job': {'codes': "):
        leafgate.audit(model, table[["age"]].assign(job=job), ill)
    codes = {"job": {"codes": {name: number for number, name in enumerate(sorted(JOBS))}}}
    assert leafgate.audit(model, table[["age"]].assign(job=job), ill, encoding=codes).verdict != "pass"


@pytest.mark.thorough
def test_a_pipeline_that_ends_in_another_library_is_audited_by_the_columns_of_the_table() -> None:
    from lightgbm import LGBMClassifier

    table, ill = people(n=120)
    model = make_pipeline(StandardScaler(), LGBMClassifier(n_estimators=2, verbose=-1))
    model.fit(table[["age", "pay"]].to_numpy(), ill)
    audit = leafgate.audit(model, table[["age", "pay"]], ill, search_remedies=False)
    assert audit.artifact is not None
    assert "path: model.json" in audit.to_policy().replace('"', "")
    made = model[:-1].transform(table[["age", "pay"]].to_numpy())
    assert leafgate.audit(model[-1], made, ill, search_remedies=False).artifact is not None


@pytest.mark.thorough
def test_a_regressor_has_intervals_of_round_numbers(tmp_path: Path) -> None:
    table, _ = people()
    model = DecisionTreeRegressor(max_depth=2).fit(table[["age"]], table["pay"])
    audit = leafgate.audit(model, table[["age"]], table["pay"], search_remedies=False)
    assert "bins: [0, 2000, 2200, 2600, 2800, 3000, 3400, 3600, 3800, 6000], scale: ratio}" in audit.to_policy()
    by_command(audit, tmp_path, "--no-remedies")


@pytest.mark.thorough
def test_categories_of_boosting_are_found_by_the_table(tmp_path: Path) -> None:
    table, ill = people()
    table = table.astype({"job": "category"})
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype").fit(table, ill)
    by_command(leafgate.audit(model, table, ill, search_remedies=False), tmp_path, "--no-remedies")


@pytest.mark.thorough
def test_xgboost_is_audited_with_categories(tmp_path: Path) -> None:
    from xgboost import XGBClassifier

    table, ill = people()
    table = table.astype({"job": "category"})
    model = XGBClassifier(n_estimators=3, max_depth=3, enable_categorical=True).fit(table, ill == "yes")
    audit = leafgate.audit(model, table, ill == "yes", search_remedies=False)
    by_command(audit, tmp_path, "--no-remedies")
    codes = {"ill": {"codes": {"no": 0, "yes": 1}}}
    assert leafgate.audit(model.get_booster(), table, ill, encoding=codes, search_remedies=False).artifact
    with pytest.raises(leafgate.LeafgateError, match="encoding="):
        leafgate.audit(model, table, ill)


@pytest.mark.thorough
def test_lightgbm_is_audited_with_categories_and_classes_of_its_wrapper(tmp_path: Path) -> None:
    from lightgbm import LGBMClassifier

    table, ill = people()
    table = table.astype({"job": "category"}).rename(columns={"pay": "monthly pay"})
    model = LGBMClassifier(n_estimators=3, verbose=-1).fit(table, ill)
    audit = leafgate.audit(model, table, ill, search_remedies=False)
    assert '"ill": {codes: {"no": 0, "yes": 1}}' in audit.to_policy()
    by_command(audit, tmp_path, "--no-remedies")


@pytest.mark.thorough
def test_a_release_is_audited_with_its_own_domains(tmp_path: Path) -> None:
    table, ill = people()
    label = (ill == "yes").astype(int)
    model = DecisionTreeClassifier(max_depth=3).fit(table[["age", "pay"]], label)
    first = leafgate.audit(model, table[["age", "pay"]], label, search_remedies=False)
    grown = tmp_path / "grown.yaml"
    spelled = 'values: ["0.0", "1.0"], aliases: {"0": "0.0", "1": "1.0"}'
    text = first.to_policy(tmp_path).partition("build:")[0].replace('values: ["0", "1"]', spelled)
    limits = "attacks: [{use: linking}]\nmetrics: [{use: k_anonymity, at_least: 10}]\n"
    grown.write_text(f"{text}build: {{use: kadet, k: 10}}\n{limits}")
    release = leafgate.audit(grown).artifact
    assert release is not None
    estimator = SimpleNamespace(release_=release.release)
    search = SimpleNamespace(best_estimator_=estimator)
    for given_model in (estimator, search):
        audit = leafgate.audit(given_model, table[["age", "pay"]], label, limits=SMALL)
        assert audit.passed
    by_command(audit, tmp_path)


@pytest.mark.thorough
def test_missing_cells_are_kept_under_a_word_that_no_cell_has(tmp_path: Path) -> None:
    table, ill = people()
    table = table.assign(age=table["age"].where(table["age"] > 25), job=table["job"].replace("NA", ""))
    model = HistGradientBoostingClassifier(max_iter=3).fit(table[["age", "pay"]], ill)
    audit = leafgate.audit(model, table, ill, search_remedies=False)
    assert 'missing: ["NA"]' in audit.to_policy()
    by_command(audit, tmp_path, "--no-remedies")


@pytest.mark.thorough
@given(st.data())
def test_the_command_line_repeats_the_audit_of_any_fitted_model(data: st.DataObject) -> None:
    rows = data.draw(st.integers(20, 60), label="rows")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed"))
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    words = data.draw(st.lists(texts, min_size=2, max_size=4, unique=True), label="words")
    floats = st.floats(-1e9, 1e9, allow_nan=False, width=32)
    numbers = data.draw(st.lists(floats, min_size=2, max_size=9), label="numbers")
    table = pd.DataFrame(
        {
            "number": rng.choice(numbers, rows),
            "count": rng.integers(0, 5, rows),
            "word": pd.Categorical(rng.choice(np.array(words, dtype=object), rows), words),
            "flag": rng.random(rows) < 0.5,
        }
    )
    label = np.where(rng.random(rows) < 0.5, "a", "b")
    label[:2] = ["a", "b"]
    learner = data.draw(
        st.sampled_from([DecisionTreeClassifier(max_depth=3), RandomForestClassifier(2, max_depth=2)]), label="learner"
    )
    prepare = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
    model = make_pipeline(prepare, learner).fit(table, label)
    limits = {"k_anonymity": 5, "confidence": 0.9}
    audit = leafgate.audit(model, table, label, limits=limits, search_remedies=False)
    other = leafgate.audit(model, pl.from_pandas(table), label, limits=limits, search_remedies=False)
    assert bytes_of(other, "auditor") == bytes_of(audit, "auditor")
    with tempfile.TemporaryDirectory() as folder:
        audit.to_policy(folder)
        for audience in ("public", "auditor"):
            out = Path(folder) / audience
            words_given = ("--no-remedies", "--audience", audience, "--out", out)
            assert command("audit", Path(folder) / "policy.yaml", *words_given).code == audit.exit_code
            assert (out / "report.json").read_bytes() == bytes_of(audit, audience)


def folders_of_audits() -> set[str]:
    return {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("leafgate-")}


@pytest.mark.thorough
def test_temporary_folders_are_private_and_go_away(
    fitted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[int] = []

    def look(*given: Any, **options: Any) -> Any:
        [folder] = [path for path in tmp_path.iterdir() if path.is_dir()]
        seen.extend(stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir()))
        raise leafgate.DataError("is wrong", place="data.columns.age")

    audit = leafgate.audit(*fitted, search_remedies=False)
    assert str(tmp_path) not in bytes_of(audit, "auditor").decode()
    assert folders_of_audits() == set()
    monkeypatch.setattr("leafgate.session.model_audit.session_of", look)
    with pytest.raises(leafgate.DataError, match=r"^roles: age: is wrong$"):
        leafgate.audit(*fitted)
    assert sorted(seen) == [0o600] * 2 + [0o700]  # the model and its answers, and no table of people
    assert folders_of_audits() == set()


@pytest.mark.thorough
def test_files_that_repeat_an_audit_are_for_their_owner_only(fitted: Any, tmp_path: Path) -> None:
    leafgate.audit(*fitted, search_remedies=False).to_policy(tmp_path)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.thorough
def test_save_writes_what_the_command_line_writes(fitted: Any, tmp_path: Path) -> None:
    audit = leafgate.audit(*fitted)
    audit.to_policy(tmp_path / "files")
    for audience, formats in (("public", ("html",)), ("auditor", ("markdown", "html"))):
        audit.save(tmp_path / "saved", audience, formats)  # type: ignore[arg-type]
        words = [word for name in formats for word in ("--to", name)]
        command("audit", tmp_path / "files/policy.yaml", "--out", tmp_path / "out", "--audience", audience, *words)
        saved, written = ({path.name: path for path in (tmp_path / name).iterdir()} for name in ("saved", "out"))
        assert saved.keys() == written.keys()
        for name in saved.keys() - {"timings.json"}:
            assert saved[name].read_bytes() == written[name].read_bytes()
            assert saved[name].stat().st_mode == written[name].stat().st_mode


def test_an_audit_says_its_verdict_and_no_number(fitted: Any, capsys: pytest.CaptureFixture[str]) -> None:
    audit = leafgate.audit(*fitted)
    assert repr(audit) == "Audit(verdict='fail')"
    audit.show()
    assert capsys.readouterr().out.startswith("DecisionTreeClassifier: FAIL: do not publish this release.\n")
    found = audit.findings.set_index("finding")
    assert found.loc["k_anonymity@linking#ill", "value"] == "fewer than 10"
    exact = audit.findings_for("auditor").set_index("finding")
    assert isinstance(exact.loc["k_anonymity@linking#ill", "value"], float)
    assert audit.remedies
    assert pickle.loads(pickle.dumps(audit)).to_policy() == audit.to_policy()


@pytest.mark.thorough
def test_a_format_that_nobody_offers_is_refused_before_anything_is_removed(fitted: Any, tmp_path: Path) -> None:
    audit = leafgate.audit(*fitted, search_remedies=False)
    audit.save(tmp_path)
    with pytest.raises(leafgate.LeafgateError, match=r"^formats: nobody offers .* 'htlm' \(did you mean 'html'"):
        audit.save(tmp_path, formats=["htlm"])
    with pytest.raises(leafgate.LeafgateError, match="audience"):
        audit.save(tmp_path, "me")  # type: ignore[arg-type]
    assert {path.name for path in tmp_path.iterdir()} == {"report.json", "report.html", "release.json", "timings.json"}


@pytest.mark.thorough
def test_save_does_not_write_over_a_model_of_the_releases_name(fitted: Any, tmp_path: Path) -> None:
    (tmp_path / "release.json").write_text('{"learner": {}}')
    with pytest.raises(leafgate.LeafgateError, match="would be lost"):
        leafgate.audit(*fitted, search_remedies=False).save(tmp_path)
    assert (tmp_path / "release.json").read_text() == '{"learner": {}}'


MISTAKES: list[tuple[str, Callable[[Any, pd.DataFrame, pd.Series], Any]]] = [
    ("model: is not fitted", lambda m, x, y: leafgate.audit(DecisionTreeClassifier(), x, y)),
    ("model: is the class DecisionTreeClassifier", lambda m, x, y: leafgate.audit(DecisionTreeClassifier, x, y)),
    ("model: is of the type dict, which no installed plugin", lambda m, x, y: leafgate.audit({}, x, y)),
    ("X: is missing", lambda m, x, y: leafgate.audit(m)),
    ("y: is missing", lambda m, x, y: leafgate.audit(m, x)),
    ("y: has 199 row.s., and X has 200", lambda m, x, y: leafgate.audit(m, x, y[1:])),
    ("y: [0-9]+ value.s. are missing", lambda m, x, y: leafgate.audit(m, x, y.where(y == "yes"))),
    ("y: has other values than the model's classes", lambda m, x, y: leafgate.audit(m, x, y + "!")),
    ("y: there is no column 'il'", lambda m, x, y: leafgate.audit(m, x, "il")),
    ("the column 'age' stands twice", lambda m, x, y: leafgate.audit(m, pd.concat([x, x], axis=1), y)),
    ("names of columns that are no texts", lambda m, x, y: leafgate.audit(m, x.set_axis([3, 4, 5, 6], axis=1), y)),
    ("the model asks about 'age'", lambda m, x, y: leafgate.audit(m, x.drop(columns="age"), y)),
    ("column 'age': has infinite numbers", lambda m, x, y: leafgate.audit(m, x.assign(age=np.inf), y)),
    (
        "column 'age': has cells that are no plain",
        lambda m, x, y: leafgate.audit(m, x.assign(age=pd.Series([[1]] * 200, dtype=object)), y),
    ),
    ("has numbers and texts", lambda m, x, y: leafgate.audit(m, x.assign(age=["a"] * 9 + [1] * 191), y)),
    ("roles: there is no column 'agee' .did you mean", lambda m, x, y: leafgate.audit(m, x, y, roles={"agee": "key"})),
    ("there is no role 'quasi'", lambda m, x, y: leafgate.audit(m, x, y, roles={"age": {"role": "quasi"}})),
    ("secret: there is no column 'jobs'", lambda m, x, y: leafgate.audit(m, x, y, secret="jobs")),
    ("limits: nobody offers 'k_anonimity'", lambda m, x, y: leafgate.audit(m, x, y, limits={"k_anonimity": 3})),
    ("limits.0..at_least: should be", lambda m, x, y: leafgate.audit(m, x, y, limits={"k_anonymity": "many"})),
    ("no score is above 1.*95 % is 0.95", lambda m, x, y: leafgate.audit(m, x, y, limits={"confidence": 95})),
    ("no score is above 1", lambda m, x, y: leafgate.audit(m, x, y, limits={"exposure": 5})),
    ("no score is below 0", lambda m, x, y: leafgate.audit(m, x, y, limits={"k_anonymity": -1})),
    ("limits: is the name of a metric", lambda m, x, y: leafgate.audit(m, x, y, limits="k_anonymity")),  # type: ignore[arg-type]
    ("audience: is neither", lambda m, x, y: leafgate.audit(m, x, y, search_remedies=False).findings_for("auditors")),  # type: ignore[arg-type]
    ("limits: list at least one", lambda m, x, y: leafgate.audit(m, x, y, limits={})),
    ("attacks: nobody offers 'lnking'", lambda m, x, y: leafgate.audit(m, x, y, attacks=["lnking"])),
    ("publish: there is no level 'label'", lambda m, x, y: leafgate.audit(m, x, y, publish="label")),  # type: ignore[arg-type]
    ("^encoding: no tree asks", lambda m, x, y: leafgate.audit(m, x, y, encoding={"jb": {"column": "job"}})),
    ("test: has no column 'age'", lambda m, x, y: leafgate.audit(m, x, y, test=(x.drop(columns="age"), y))),
    (
        "different texts, too many",
        lambda m, x, y: leafgate.audit(m, x.assign(name=[f"{i // 10}-" * 9000 for i in range(200)]), y),
    ),
    ("call its `collect", lambda m, x, y: leafgate.audit(m, pl.from_pandas(x).lazy(), y)),
    ("is for models, and a policy", lambda m, x, y: leafgate.audit("policies/ward.yaml", roles={"age": "key"})),
]


@pytest.mark.parametrize(("text", "make"), MISTAKES, ids=[text for text, _ in MISTAKES])
@pytest.mark.thorough
def test_a_mistake_is_named_without_a_cell(text: str, make: Callable[..., Any], fitted: Any) -> None:
    with pytest.raises(leafgate.LeafgateError, match=text) as error:
        make(*fitted)
    assert not any(job in str(error.value) for job in JOBS[:3])
    assert "Traceback" not in str(error.value)
    assert "the policy" not in str(error.value) or "policy" in text
    assert "policy.yaml" not in str(error.value)


def test_arrow_tables_need_pyarrow(fitted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    model, table, ill = fitted
    with pytest.raises(leafgate.DataError, match=re.escape(install_command("parquet"))):
        leafgate.audit(model, pl.from_pandas(table), ill)


def test_a_tree_of_one_leaf_is_audited_and_asked_about_no_column() -> None:
    table, ill = people()
    model = DecisionTreeClassifier(min_samples_leaf=len(table)).fit(table[["age"]], ill)
    limit = {"use": "reconstructed_cells", "at_most": 0.05}
    audit = leafgate.audit(model, table, ill, attacks=["table_reconstruction"], limits=[limit])
    found = {finding.id: (finding.passed, finding.value) for finding in audit.report.findings}
    assert found["reading"][0] is True
    assert found["reconstructed_cells@table_reconstruction"] == (True, 0)


def test_warnings_name_arguments() -> None:
    table, ill = people()
    table["share"] = np.where(np.arange(len(table)) % 2, "1,5", "2,5")
    model = DecisionTreeClassifier(max_depth=1).fit(table[["age"]], ill)
    audit = leafgate.audit(model, table, ill, limits={"k_anonymity": 2}, search_remedies=False)
    places = [warning.partition(": ")[0] for warning in audit.warnings]
    assert ("limits[0]" in places, "roles" in places) == (True, True)
    assert not any("data.columns" in warning or "metrics[" in warning for warning in audit.warnings)
