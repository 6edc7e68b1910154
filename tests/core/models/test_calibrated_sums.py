"""Models whose trees add up to calibrated sums: files of models and releases, and what answers by them."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from feature_rows import votes
from foreign_releases import released
from installed_readers import READERS, read_foreign
from leafgate import InconclusiveError, ReleaseError, Table
from leafgate.algorithms.prediction import class_scores, predict, predicted_classes
from leafgate.algorithms.ranking import second_class_ranking
from leafgate.api import Schema
from leafgate.app import read_release
from leafgate.commands.convert.neutral import written
from leafgate.commands.convert.prediction import predictor
from leafgate.commands.convert.r_script import r_script
from leafgate.commands.convert.scrub import minimise
from leafgate.commands.repair.pruning import prunable
from leafgate.commands.repair.search import tree_counts
from leafgate.engine.spellings import merged_release
from leafgate.io.release_codec import release_bytes
from leafgate.ir.validate import check_model
from leafgate.models.writer import model_as_file
from leafgate.readers import LEAF, SCORES_DISCLOSURE, CalibratedSum, ModelIR, TreeIR
from leafgate_plugins.structure.hyperparameters import family_of
from leafgate_plugins.structure.partitions import class_probabilities
from random_tables import categorical, numeric

CLASSES = ("low", "middle", "high")
AGES = [20.0, 30.0, 40.0, 50.0, 60.0]


def stump(at: float, *scores: Any) -> TreeIR:
    """A test of the age, and the scores of people up to `at` and above."""
    rows = np.array([scores[0], *scores], dtype=float).reshape(3, -1)
    return TreeIR(
        feature=np.array([0, LEAF, LEAF]),
        threshold=np.array([at, np.nan, np.nan]),
        low=np.array([1, -1, -1]),
        high=np.array([2, -1, -1]),
        values=rows,
    )


ISOTONIC = CalibratedSum(2, "isotonic", is_mean=True, points=((), ((0.1, 0.0), (0.5, 0.5), (0.9, 1.0))))
TWO = ModelIR(
    "skops",
    ("age",),
    ("low", "high"),
    (stump(35, 0.2, 0.6), stump(45, 0.2, 0.8), stump(25, -1.0, 2.0)),
    "scores",
    "boost",
    discloses=(SCORES_DISCLOSURE,),
    calibrated_sums=(ISOTONIC, CalibratedSum(1, "softmax")),
)
THREE = ModelIR(
    "skops",
    ("age",),
    CLASSES,
    (
        stump(35, [0.0, 1.0, -1.0], [2.0, -2.0, 0.5]),
        stump(45, [1, 0, 0], [-1, 0, 0]),
        stump(25, [0, 0.5, 1], [1, 0, 0]),
    ),
    "scores",
    "boost",
    discloses=(SCORES_DISCLOSURE,),
    calibrated_sums=(
        CalibratedSum(2, "logistic"),
        CalibratedSum(1, "isotonic", points=(((0.0, 0.2), (1.0, 0.7)), ((0.2, 0.4),), ((0.5, 0.0), (1.0, 0.5)))),
    ),
)
MODELS = {"two": TWO, "three": THREE}


def logistic(score: float) -> float:
    return float(1 / (1 + np.exp(-score)))


def schema_of(*classes: str) -> Schema:
    return Schema(
        (
            numeric("age", "quasi_identifier", bounds=(0, 99)),
            categorical("income", "class", "sensitive", values=classes),
        )
    )


def people(schema: Schema) -> Table:
    income = pd.Categorical([*schema.classes[:2] * 2, schema.classes[0]], schema.classes)
    frame = pd.DataFrame({"age": AGES, "income": income})
    return Table(schema, frame, np.ones(len(AGES), dtype=np.int64))


def test_the_shares_of_two_classes_are_the_mean_of_those_of_each_sum() -> None:
    # the mean of two trees is 0.2, 0.2, 0.4, 0.7, 0.7: shares 0.125, 0.125, 0.375, 0.75, 0.75
    isotonic = np.array([0.125, 0.125, 0.375, 0.75, 0.75])
    softmax = np.array([logistic(-1), *[logistic(2)] * 4])
    schema = schema_of("low", "high")
    scores = class_scores(released(TWO, schema), people(schema))
    np.testing.assert_allclose(scores[:, 1], (isotonic + softmax) / 2, atol=1e-15)
    np.testing.assert_allclose(scores.sum(axis=1), 1)


def test_the_shares_of_three_classes_are_divided_by_their_total() -> None:
    schema = schema_of(*CLASSES)
    scores = class_scores(released(THREE, schema), people(schema))
    first = np.array([logistic(0 + 1), logistic(1), logistic(-1)])  # of the youngest
    second = np.array([0.2, 0.4, 0.5])
    np.testing.assert_allclose(scores[0], (first / first.sum() + second / second.sum()) / 2)


def test_no_probability_of_any_class_is_the_same_of_each() -> None:
    schema = schema_of(*CLASSES)
    nobody = CalibratedSum(3, "isotonic", points=(((0.0, 0.0),),) * 3)
    scores = class_scores(released(replace(THREE, calibrated_sums=(nobody,)), schema), people(schema))
    np.testing.assert_allclose(scores, 1 / 3)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_release_answers_as_the_model_in_any_order_of_the_classes(name: str, turned: bool) -> None:
    model = MODELS[name]
    order = model.classes[::-1] if turned else model.classes
    schema = schema_of(*order)
    release = read_release(release_bytes(released(model, schema)), "release").release
    table = people(schema)
    shares = votes(model, np.array(AGES)[:, None])[:, [model.classes.index(each) for each in order]]
    np.testing.assert_allclose(class_scores(release, table), shares, atol=1e-15)
    np.testing.assert_allclose(class_probabilities(release, table), shares, atol=1e-15)
    assert np.array_equal(predict(release, table), shares.argmax(axis=1))
    assert np.array_equal(predicted_classes(release, table), shares.argmax(axis=1))
    if len(order) == 2:
        assert np.array_equal(np.argsort(second_class_ranking(release, table), kind="stable"), np.argsort(shares[:, 1]))


@pytest.mark.parametrize("name", MODELS)
def test_the_file_of_a_model_is_read_as_it_was_written(name: str) -> None:
    model = MODELS[name]
    again = read_foreign(written(model), "m.json")
    assert again.calibrated_sums == model.calibrated_sums
    cells = {"age": AGES}
    shares = votes(model, np.array(AGES)[:, None])
    for each in (model, again):
        np.testing.assert_allclose(predictor(each).scores(cells), shares, atol=1e-15)
        assert predictor(each).predict(cells) == [model.classes[i] for i in shares.argmax(axis=1)]
    assert {(item.kind, item.severity) for item in again.discloses} >= {("class_shares", "high")}


def test_a_model_without_calibrated_sums_has_its_file_and_digest_as_before() -> None:
    plain = replace(TWO, calibrated_sums=())
    assert b"calibrated" not in written(plain)
    assert b"calibrated" not in release_bytes(released(plain, schema_of("low", "high")))
    assert plain.model_sha256 == "b3f04c06a088e51374215aa0eafad80a5966e534ab0f9748552a3c0e95ec4a1a"
    assert plain.model_sha256 != TWO.model_sha256


WRONG: dict[str, Any] = {
    "fewer trees": [{"trees": 2, "link": "softmax"}],
    "more trees": [{"trees": 4, "link": "softmax"}],
    "no trees": [{"trees": 3, "link": "softmax"}, {"trees": 0, "link": "softmax"}],
    "trees that are no number": [{"trees": 3.0, "link": "softmax"}],
    "trees that are true": [{"trees": True, "link": "softmax"}] * 3,
    "a link that there is not": [{"trees": 3, "link": "probit"}],
    "a logistic function of one sum": [{"trees": 3, "link": "logistic"}],
    "points of a softmax": [{"trees": 3, "link": "softmax", "points": [[], [[0, 0], [1, 1]]]}],
    "no points": [{"trees": 3, "link": "isotonic"}],
    "points of one class": [{"trees": 3, "link": "isotonic", "points": [[[0, 0], [1, 1]]]}],
    "points of both": [{"trees": 3, "link": "isotonic", "points": [[[0, 0]], [[0, 0]]]}],
    "points of none": [{"trees": 3, "link": "isotonic", "points": [[], []]}],
    "points that fall": [{"trees": 3, "link": "isotonic", "points": [[], [[1, 0], [0, 1]]]}],
    "a point twice": [{"trees": 3, "link": "isotonic", "points": [[], [[1, 0], [1, 1]]]}],
    "a share above 1": [{"trees": 3, "link": "isotonic", "points": [[], [[0, 0], [1, 1.5]]]}],
    "a point far away": [{"trees": 3, "link": "isotonic", "points": [[], [[0, 0], [1e200, 1]]]}],
    "half a point": [{"trees": 3, "link": "isotonic", "points": [[], [[0], [1, 1]]]}],
    "a text": [{"trees": 3, "link": "isotonic", "points": [[], [["Anna", 1]]]}],
    "a mean that is a number": [{"trees": 3, "link": "softmax", "mean": 1}],
    "another key": [{"trees": 3, "link": "softmax", "names": ["Anna"]}],
    "a text in place of a sum": ["Anna"],
    "a text in place of all": "Anna",
}


@pytest.mark.parametrize("sums", WRONG.values(), ids=WRONG)
def test_sums_that_are_not_those_of_the_trees_are_refused(sums: Any) -> None:
    model = json.loads(written(TWO)) | {"calibrated_sums": sums}
    release = json.loads(release_bytes(released(TWO, schema_of("low", "high")))) | {"calibrated_sums": sums}
    with pytest.raises(ReleaseError) as of_model:
        read_foreign(json.dumps(model).encode(), "m.json")
    with pytest.raises(ReleaseError) as of_release:
        read_release(json.dumps(release).encode(), "release")
    assert "Anna" not in f"{of_model.value}{of_release.value}"


@pytest.mark.parametrize("changes", [{"base": (0.0, 1.0)}, {"link": "other"}, {"combine": "sum"}])
def test_sums_have_no_base_and_no_other_link(changes: Any) -> None:
    with pytest.raises(ReleaseError, match="calibrated sums are not those of its trees"):
        check_model(replace(TWO, **changes), "model")


def test_a_class_that_the_model_does_not_know_is_refused() -> None:
    with pytest.raises(ReleaseError, match="does not know every class of the policy"):
        released(TWO, schema_of("low", "middle", "high"))


def test_points_stay_disclosed_in_a_scrubbed_file() -> None:
    less = minimise(TWO, "shares", "model")
    assert less.calibrated_sums == TWO.calibrated_sums
    assert ("class_shares", "high") in {(item.kind, item.severity) for item in less.discloses}
    softmax = minimise(replace(TWO, calibrated_sums=(CalibratedSum(3, "softmax"),)), "shares", "model")
    assert "class_shares" not in {item.kind for item in softmax.discloses}


def test_repairs_keep_all_trees_or_answer_by_one_alone() -> None:
    table = people(schema_of("low", "high"))
    model = prunable(TWO, table, {}, "model")
    assert tree_counts(TWO) == [3]
    check_model(model.pruned([tree.root_alone() for tree in model.trees]), "pruned")
    assert check_model(model.alone(1).given, "alone").calibrated_sums == ()


def test_what_knows_no_calibrated_sums_says_so() -> None:
    release = released(TWO, schema_of("low", "high"))
    with pytest.raises(InconclusiveError, match="its trees are calibrated"):
        family_of(release)
    with pytest.raises(ReleaseError, match="predicts by calibrated sums"):
        model_as_file(TWO, b"", "new.onnx", READERS)


def test_a_release_with_merged_classes_is_written_and_read() -> None:
    release = released(THREE, schema_of(*CLASSES))
    merged = merged_release(release, {"income": {"middle": "low"}})
    assert read_release(release_bytes(merged), "release").release.calibrated_sums == ()


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
@pytest.mark.parametrize("name", MODELS)
def test_a_script_of_r_answers_as_the_model(name: str, tmp_path: Path) -> None:
    model = MODELS[name]
    (tmp_path / "predict.R").write_text(r_script(model, "m"))
    (tmp_path / "run.R").write_text(
        f'source("predict.R"); answers <- predict_people(data.frame(age = c({", ".join(map(str, AGES))})))\n'
        'write.csv(format(answers, digits = 17), "answers.csv", row.names = FALSE)'
    )
    subprocess.run(["Rscript", "run.R"], cwd=tmp_path, check=True, timeout=120)
    theirs = pd.read_csv(tmp_path / "answers.csv")
    np.testing.assert_allclose(theirs[[*model.classes]], votes(model, np.array(AGES)[:, None]), atol=1e-12)
    assert theirs["prediction"].tolist() == predictor(model).predict({"age": AGES})
