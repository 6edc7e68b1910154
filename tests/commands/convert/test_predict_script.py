"""The script predict.py, which needs no leafgate, answers exactly as leafgate's own routing does."""

from __future__ import annotations

import json
import math
import runpy
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from installed_readers import PREDICT_SCRIPT, neutral_file, read_foreign
from leafgate.api import ReleaseError
from leafgate.readers import LEAF, CategoryCodes, ModelIR, Numeric, TreeIR
from producer_matrix import PRODUCERS, Producer, model_of
from random_models import CELLS, random_model
from repairs import fit_in, people, policy_file
from routed_answers import cells_of, expected

ALL_AT_ONCE = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("predict", sys.argv[1])
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
answers = []
for path, people in json.load(sys.stdin):
    model = script.load(path)
    scores = model.scores(people).tolist() if model.has_scores else None
    answers.append([model.predict(people), scores, list(model.columns)])
assert not any(name.split(".")[0] in ("leafgate", "pandas", "sklearn") for name in sys.modules)
json.dump(answers, sys.stdout)
"""


def answered(models: Sequence[tuple[Path, dict[str, list[Any]]]]) -> list[Any]:
    """What the script answers for these files and cells, in a Python that finds no leafgate."""
    given = json.dumps([(str(path), cells) for path, cells in models])
    command = [sys.executable, "-I", "-c", ALL_AT_ONCE, str(PREDICT_SCRIPT)]
    ended = subprocess.run(command, input=given, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    found: list[Any] = json.loads(ended.stdout)
    return found


def compare(models: dict[str, ModelIR], folder: Path) -> int:
    """Compare the script with leafgate on all these models; how many could be compared."""
    asked, wanted = [], []
    for number, (name, model) in enumerate(models.items()):
        path = folder / f"{number}.json"
        path.write_bytes(neutral_file(model))
        cells = cells_of(model, 300, number)
        try:
            answers = expected(read_foreign(path.read_bytes(), name), cells)
        except ReleaseError as error:
            if NOT_ROUTED not in str(error):
                raise
            continue
        asked.append((path, cells))
        wanted.append((name, *answers))
    for (name, labels, scores), (said, said_scores, columns) in zip(wanted, answered(asked), strict=True):
        assert said == labels, name
        assert set(columns) <= set(cells_of(models[name], 1, 0)), name
        if scores is not None and models[name].link == "softmax":
            mine = np.array(said_scores, dtype=float).reshape(scores.shape)
            np.testing.assert_array_equal(mine, scores, err_msg=name)
    return len(wanted)


NOT_ROUTED = "takes 0 for missing"
"""Why leafgate itself has no answer for random cells."""


@pytest.mark.parametrize("producer", PRODUCERS, ids=lambda producer: producer.name)
@pytest.mark.thorough
def test_the_script_answers_as_leafgate_for_every_file_of_the_producer_matrix(
    producer: Producer, tmp_path: Path
) -> None:
    archive = producer.archives[-1]
    models = {}
    for name in archive.models:
        try:
            models[name] = model_of(archive, name)
        except ReleaseError:
            continue
    assert compare(models, tmp_path) > len(models) * 0.9


@pytest.mark.thorough
def test_the_script_answers_as_leafgate_for_random_models_over_sets_gaps_and_refused_values(tmp_path: Path) -> None:
    kinds = ("labels", "shares", "scores", "values")
    models = {}
    for seed in range(60):
        model = random_model(seed, 2 + seed % 2, (1, 2, 4)[seed % 3], kinds[seed % 4])
        models[f"{seed}"] = model
        if seed % 5 == 0:
            refuses = (
                replace(one, otherwise=None, missing=None) if isinstance(one, CategoryCodes) else one
                for one in model.origins or ()
            )
            models[f"{seed} refuses"] = replace(model, origins=tuple(refuses))
    sound = {name: model for name, model in models.items() if is_sound(model)}
    assert len(sound) > 30
    asked, wanted = [], []
    for name, model in sound.items():
        path = tmp_path / f"{name}.json"
        path.write_bytes(neutral_file(model))
        cells = dict(zip(("job", "grade", "age"), map(list, zip(*CELLS, strict=True)), strict=True))
        asked.append((path, cells))
        wanted.append((name, *expected(model, cells)))
    for (name, labels, scores), (said, said_scores, _) in zip(wanted, answered(asked), strict=True):
        assert said == labels, name
        if scores is not None:
            np.testing.assert_array_equal(np.array(said_scores, dtype=float), scores, err_msg=name)
    assert any(None in labels for _, labels, _ in wanted)


def is_sound(model: ModelIR) -> bool:
    """Can somebody take every branch?"""
    try:
        read_foreign(neutral_file(model), "m")
        expected(model, dict(zip(("job", "grade", "age"), map(list, zip(*CELLS, strict=True)), strict=True)))
    except ReleaseError:
        return False
    return True


def model_in(folder: Path, **others: Any) -> Path:
    """One test of a number and one of a text, of which only those who are old and nurses are `yes`."""
    tree = TreeIR(
        feature=np.array([0, LEAF, 1, LEAF, LEAF]),
        threshold=np.array([40.0, math.nan, 0.5, math.nan, math.nan]),
        low=np.array([1, LEAF, 3, LEAF, LEAF]),
        high=np.array([2, LEAF, 4, LEAF, LEAF]),
        values=np.array([[0, 0], [0.75, 0.25], [0, 0], [1, 0], [0.5, 0.5]]),
        missing_low=True,
    )
    nurse = CategoryCodes("job", {"nurse": 1.0}, 0.0, 0.0)
    model = ModelIR(
        "made", ("age", "nurse"), ("no", "yes"), (tree,), "shares", discloses=(), origins=(Numeric("age"), nurse)
    )
    (folder / "model.json").write_bytes(neutral_file(replace(model, **others)))
    return folder / "model.json"


PEOPLE = 'job,extra,age\r\nnurse,1,50\nnurse,2,\n?,3,50\nclerk,4,?\n"smith, old",5,40.0\n'


def run(*words: Any) -> subprocess.CompletedProcess[str]:
    """The script as a user runs it, in a Python that finds no leafgate."""
    return subprocess.run(
        [sys.executable, "-I", PREDICT_SCRIPT, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_script_answers_for_people_in_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8-sig", newline="")
    ended = run(model_in(tmp_path), tmp_path / "people.csv", "--missing", "?")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == [
        "prediction,no,yes",
        "no,0.5,0.5",
        "no,0.75,0.25",
        "no,1.0,0.0",
        "no,0.75,0.25",
        "no,0.75,0.25",
    ]


@pytest.mark.parametrize(
    ("people", "message"),
    [
        ("age\n3\n", "columns that are not there: job"),
        ("age,job\n3,nurse\nabc,nurse\n", "row 2 has no number in 'age'"),
    ],
)
@pytest.mark.thorough
def test_the_script_says_what_is_wrong_and_prints_no_cell(people: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(people)
    ended = run(model_in(tmp_path), tmp_path / "people.csv")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr
    assert "abc" not in ended.stderr


@pytest.mark.thorough
def test_the_script_reads_neutral_files_alone(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"format": "leafgate/release/1"}')
    (tmp_path / "people.csv").write_text("age,job\n")
    ended = run(tmp_path / "other.json", tmp_path / "people.csv")
    assert ended.returncode == 2
    assert "is no file of the format leafgate/model/1" in ended.stderr
    assert run(model_in(tmp_path), tmp_path / "none.csv").returncode == 2


@pytest.mark.thorough
def test_scores_that_are_no_softmax_are_not_printed(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,job\n3,nurse\n")
    for link, header in (("softmax", "prediction,no,yes"), ("other", "prediction")):
        path = model_in(tmp_path, values="scores", combine="boost", link=link)
        assert read_foreign(path.read_bytes(), "m").link == link
        assert run(path, tmp_path / "people.csv").stdout.splitlines()[0] == header


def test_one_person_may_be_a_mapping(tmp_path: Path) -> None:
    script = runpy.run_path(str(PREDICT_SCRIPT))
    model = script["load"](model_in(tmp_path))
    people = [{"age": 50, "job": "nurse"}, {"age": math.nan, "job": None}, {"age": "30", "job": "clerk"}]
    assert model.predict(people) == ["no", "no", "no"]
    assert model.scores(people).tolist() == [[0.5, 0.5], [0.75, 0.25], [0.75, 0.25]]


@pytest.mark.parametrize("command", ["convert", "scrub", "repair"])
def test_commands_write_the_script_beside_a_neutral_file(command: str, tmp_path: Path) -> None:
    table = people(1, 300)
    model = fit_in(tmp_path, table, DecisionTreeClassifier(random_state=0))
    policy = policy_file(tmp_path, [{"use": "k_anonymity", "at_least": 10}], leaves="labels")
    given, new = tmp_path / "model.skops", tmp_path / "out" / "new.json"
    words = {
        "convert": ("convert", given, new),
        "scrub": ("scrub", given, new, "--leaves", "labels", "--policy", policy),
        "repair": ("repair", given, "--policy", policy, "--out", new),
    }[command]
    ended = leafgate(*words, "--script")
    assert ended.code == 0, ended.err
    assert (new.parent / "predict.py").read_bytes() == PREDICT_SCRIPT.read_bytes()
    assert "python predict.py new.json PEOPLE.csv > ANSWERS.csv" in ended.out
    answers = run(new, tmp_path / "people.csv").stdout.splitlines()
    assert len(answers) == 301
    if command != "repair":
        features = table.drop(columns="class")
        assert [line.partition(",")[0] for line in answers[1:]] == model.predict(features).tolist()


@pytest.mark.parametrize("command", ["convert", "scrub", "repair"])
def test_the_script_is_refused_beside_other_formats_and_over_other_files(command: str, tmp_path: Path) -> None:
    fit_in(tmp_path, people(1, 60), DecisionTreeClassifier(random_state=0))
    policy = policy_file(tmp_path, [{"use": "k_anonymity", "at_least": 10}], leaves="labels")
    given = tmp_path / "model.skops"
    (tmp_path / "predict.py").write_text("print()")
    for name, why in (("new.onnx", "predict.py reads no file that ends so"), ("new.json", "is another file")):
        new = tmp_path / name
        words = {
            "convert": ("convert", given, new),
            "scrub": ("scrub", given, new, "--leaves", "labels", "--policy", policy),
            "repair": ("repair", given, "--policy", policy, "--out", new),
        }[command]
        ended = leafgate(*words, "--script")
        assert ended.code == 2
        assert why in ended.err
        assert not new.exists()
    assert (tmp_path / "predict.py").read_text() == "print()"
