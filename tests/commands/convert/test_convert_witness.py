"""convert, scrub and repair with `--witness`: the model itself, and not what was read of it, says what it predicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate

N = 300


def people() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"age": rng.integers(18, 90, N), "sex": rng.choice(["f", "m"], N)})
    return table, np.where(table["age"] + rng.normal(size=N) * 20 > 60, "ill", "well")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A pipeline's file, its answers, answers with the classes exchanged, and a policy."""
    table, health = people()
    prepare = make_column_transformer((OneHotEncoder(), ["sex"]), (StandardScaler(), ["age"]))
    model = make_pipeline(prepare, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(table, health)
    skops.io.dump(model, tmp_path / "model.skops")
    shares = model.predict_proba(table)
    for name, order in (("answers.csv", [0, 1]), ("exchanged.csv", [1, 0])):
        table.assign(**dict(zip(model.classes_[order], shares.T, strict=True))).to_csv(tmp_path / name, index=False)
    table.assign(health=health).to_csv(tmp_path / "people.csv", index=False)
    policy: dict[str, Any] = {
        **{"leafgate": 1, "name": "model"},
        "data": {
            "path": "people.csv",
            "columns": {
                "age": {"role": "quasi_identifier", "bounds": [0, 120]},
                "sex": {"role": "quasi_identifier", "values": ["f", "m"]},
                "health": {"role": ["class", "sensitive"], "values": ["ill", "well"]},
            },
        },
        "build": {"use": "published", "path": "model.skops"},
        "publish": {"leaves": "labels"},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "k_anonymity", "at_least": 10}],
    }
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    return tmp_path


COMMANDS = {"convert": ("new.json",), "scrub": ("new.json", "--leaves", "labels")}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.thorough
def test_a_file_is_written_where_its_reading_answers_as_the_witness(folder: Path, command: str) -> None:
    out, *words = COMMANDS[command]
    ended = leafgate(command, folder / "model.skops", folder / out, *words, "--witness", folder / "answers.csv")
    assert (ended.code, (folder / out).exists()) == (0, True)
    assert "what was read of model.skops answers as answers.csv on all 300 rows" in ended.out


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_written_where_it_answers_otherwise(folder: Path, command: str) -> None:
    out, *words = COMMANDS[command]
    ended = leafgate(command, folder / "model.skops", folder / out, *words, "--witness", folder / "exchanged.csv")
    assert (ended.code, (folder / out).exists()) == (2, False)
    assert "model.skops: does not answer as the witness does, first in its row 1" in ended.err


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_witness_the_output_says_what_was_compared_with_nothing(folder: Path, command: str) -> None:
    out, *words = COMMANDS[command]
    ended = leafgate(command, folder / "model.skops", folder / out, *words)
    assert (ended.code, "compared with no answers of the model itself" in ended.out) == (0, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"drop": "age"}, "has no column 'age', which the model asks about"),
        ({"age": "old"}, "row 1 has no number in 'age'"),
        ({"drop": ["ill", "well"]}, "has no answers"),
    ],
)
@pytest.mark.thorough
def test_a_witness_that_cannot_be_used_says_why(folder: Path, change: dict[str, Any], message: str) -> None:
    frame = pd.read_csv(folder / "answers.csv")
    frame = frame.drop(columns=change["drop"]) if "drop" in change else frame.assign(**change)
    frame.to_csv(folder / "answers.csv", index=False)
    words = ("convert", folder / "model.skops", folder / "new.json", "--witness", folder / "answers.csv")
    ended = leafgate(*words)
    assert (ended.code, message in ended.err, (folder / "new.json").exists()) == (2, True, False)


@pytest.mark.thorough
def test_a_repair_begins_where_the_given_model_answers_as_the_witness(folder: Path) -> None:
    words = ("repair", folder / "model.skops", "--policy", folder / "policy.yaml", "--out", folder / "new.json")
    ended = leafgate(*words, "--witness", folder / "answers.csv")
    assert (ended.code, (folder / "new.json").exists()) == (0, True)
    (folder / "new.json").unlink()
    ended = leafgate(*words, "--witness", folder / "exchanged.csv")
    assert (ended.code, (folder / "new.json").exists()) == (3, False)
    assert "is not repaired: the witness answers otherwise" in ended.err


@pytest.mark.thorough
def test_a_repair_says_that_the_policys_witness_is_of_the_given_model(folder: Path) -> None:
    policy = json.loads((folder / "policy.yaml").read_text())
    policy["build"]["witness"] = "answers.csv"
    (folder / "policy.yaml").write_text(json.dumps(policy))
    words = ("repair", folder / "model.skops", "--policy", folder / "policy.yaml", "--out", folder / "new.json")
    ended = leafgate(*words)
    assert (ended.code, "take `witness` out" in ended.out) == (0, True)


def test_a_file_with_unknown_keys_is_converted_where_a_witness_agrees(tmp_path: Path) -> None:
    table, health = people()
    numbers = table[["age"]]
    model = xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(numbers, health == "ill")
    document = json.loads(bytes(model.get_booster().save_raw(raw_format="json")))
    document["learner"]["objective"]["link"] = "probit"
    (tmp_path / "model.json").write_text(json.dumps(document))
    words = ("convert", tmp_path / "model.json", tmp_path / "new.json")
    ended = leafgate(*words)
    assert (ended.code, "change what the model predicts: learner.objective.link" in ended.err) == (2, True)
    numbers.assign(**{"1": model.predict_proba(numbers)[:, 1]}).to_csv(tmp_path / "answers.csv", index=False)
    assert leafgate(*words, "--witness", tmp_path / "answers.csv").code == 0
