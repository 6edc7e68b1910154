"""The producer matrix: on how many rows a file is read as the program predicts that wrote it, or why it is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from feature_rows import predicted, votes
from installed_readers import read_foreign
from leafgate import ReleaseError
from leafgate.algorithms.prediction import class_scores, predict, predicted_numbers
from leafgate.api import Column
from leafgate.commands.convert.prediction import leaves_of
from leafgate.kernel.arrays import Floats
from leafgate.kernel.schema import bin_names
from leafgate.models.lowering.release import lower_model
from leafgate.readers import CategoryCodes, ModelIR, OneHot, TreeIR
from producer_archive import NAMES, Archive, archives_in, case_of
from random_tables import categorical, numeric, table_of

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"
EDGES = (-1e3, 0.0, 2.0, 4.0, 1e3)


@dataclass(frozen=True)
class Answers:
    """What leafgate answers to each row.

    Attributes:
        scores: as the producer gives them.
        labels: the classes; empty where the model predicts numbers.
        differences: only differences of scores are compared, which is all that a softmax sees.
    """

    scores: Floats
    labels: list[str]
    differences: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of a file.

    Attributes:
        reason: why it is refused; empty where it is read.
        rows: how many rows have an answer of the producer.
        equal: on how many of them the scores and the class are the producer's.
    """

    reason: str
    rows: int = 0
    equal: int = 0


@dataclass(frozen=True)
class Producer:
    """A program, its archives, and how its files are compared.

    Attributes:
        name: What pages call it.
        folder: Where its archives are, below the tests of plugins.
        versions: The versions that made archives, oldest first.
        refused: Which of its cases are refused, and what the refusal says.
        later: Cases that only this version and later ones train.
        relative: By which part of the largest score a score may differ: sums in single precision, in another order.
        answers: What leafgate answers to a file's rows.
        leftovers: Cases whose files have content that nobody needs to predict.
    """

    name: str
    folder: str
    versions: tuple[str, ...]
    refused: Mapping[str, str]
    relative: float
    answers: Callable[[ModelIR, Archive, str], Answers]
    later: Mapping[str, str] = field(default_factory=dict)
    leftovers: frozenset[str] = frozenset()

    @cached_property
    def archives(self) -> list[Archive]:
        """Its archives, oldest version first."""
        return archives_in(PLUGINS / self.folder)

    def outcome(self, archive: Archive, name: str) -> Outcome:
        """What comes of one of its files."""
        try:
            model = model_of(archive, name)
        except ReleaseError as error:
            return Outcome(error.problems[0].message)
        return compared(self.answers(model, archive, name), archive, name, self.relative)


@cache
def model_of(archive: Archive, name: str) -> ModelIR:
    """The model in a file of an archive."""
    return read_foreign(archive.models[name], name)


def compared(answers: Answers, archive: Archive, name: str, relative: float) -> Outcome:
    """On how many rows leafgate and the producer answer alike."""
    mine, theirs, labels = answers.scores, archive.margins(case_of(name)), archive.labels(case_of(name))
    if answers.differences:
        mine, theirs = centred(mine), centred(theirs)
    asked = ~np.isnan(theirs).any(axis=1)
    allowed = relative * max(1.0, float(abs(theirs[asked]).max()))
    if mine.shape != theirs.shape or len(answers.labels) != len(labels):
        return Outcome("", int(asked.sum()))
    equal = (abs(mine - theirs) <= allowed).all(axis=1)
    if labels:
        equal &= np.array(answers.labels) == np.array(labels)
    return Outcome("", int(asked.sum()), int((equal & asked).sum()))


def by_features(model: ModelIR, archive: Archive, name: str) -> Answers:
    """Answers to rows of the model's features, which are numbers."""
    named = set(model.features) <= archive.rows.keys()
    names = model.features if named else [key for key, column in archive.rows.items() if column.dtype != object]
    x = np.column_stack([archive.rows[key] for key in names])
    return Answers(scores_of(model, x), [model.classes[i] for i in predicted(model, x)] if model.classes else [])


def scores_of(model: ModelIR, rows: Floats) -> Floats:
    """The scores of each row: of each class, of the second class alone where the trees have no other, or a number."""
    if model.combine == "one" and model.classes:
        (tree,) = model.trees
        values = tree.counts if model.values == "labels" and tree.counts is not None else tree.values
        values = values[leaves_of(tree, rows)]
        with np.errstate(invalid="ignore"):  # a leaf may predict nothing
            return np.asarray(values / values.sum(axis=1, keepdims=True))
    scores = votes(model, rows)
    alone = len(model.classes) == 2 and all(tree.output is None and tree.values.shape[1] == 1 for tree in model.trees)
    return scores[:, 1:] if alone and not model.calibrated_sums else scores


def by_table(model: ModelIR, archive: Archive, name: str, columns: Mapping[str, str]) -> Answers:
    """Answers to people of a table with the columns that the model's encoders were given; `columns` are its names.

    Columns of numbers of which the model knows single values are taken for texts.
    """
    coded = {each.column for each in model.origins or () if isinstance(each, CategoryCodes | OneHot)}
    cells = {
        columns.get(key, key): np.array([_text(cell) for cell in column], dtype=object)
        if columns.get(key, key) in coded and column.dtype != object
        else column
        for key, column in archive.rows.items()
    }
    schema = [
        categorical(key, "quasi_identifier", values=sorted({cell for cell in column if cell}), missing=None in column)
        if column.dtype == object
        else numeric(key, "quasi_identifier", bounds=(-1e6, 1e6), missing=bool(np.isnan(column).any()))
        for key, column in cells.items()
    ]
    target = (
        categorical("learned", "class", "sensitive", values=sorted(model.classes))
        if model.classes
        else Column("learned", frozenset({"class", "sensitive"}), values=bin_names(EDGES), edges=EDGES)
    )
    rows = _plain(list(zip(*cells.values(), strict=True)))
    table = table_of([*schema, target], [(*row, model.classes[0] if model.classes else 1.0) for row in rows])
    release = lower_model(model, table.schema, {}, name).release
    at = {tuple(row): i for i, row in enumerate(_plain(table.frame[list(cells)].to_numpy(dtype=object)))}
    places = [at[tuple(row)] for row in rows]
    if release.predicts_numbers:
        return Answers(predicted_numbers(release, table)[places][:, None], [])
    labels = [release.classes[i] for i in predict(release, table)[places]]
    scores = class_scores(release, table)[places]
    return Answers(np.log(scores) if model.combine == "boost" else scores, labels)


def _text(number: float) -> str | None:
    return None if np.isnan(number) else f"{number:g}"


def centred(scores: Floats) -> Floats:
    """Scores of classes less their mean, which a softmax does not see; of the second class alone those of both."""
    both = np.column_stack([-scores[:, 0] / 2, scores[:, 0] / 2]) if scores.shape[1] == 1 else scores
    return np.asarray(both - both.mean(axis=1, keepdims=True))


def _plain(rows: Any) -> list[list[Any]]:
    """Rows whose missing cells are equal to each other."""
    return [[None if cell is None or cell != cell else cell for cell in row] for row in rows]


def rows_of(archive: Archive, case: str) -> list[dict[str, str]]:
    """The rows of a case with rows of its own, as texts by column."""
    columns = archive.own_rows(case)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def leaf_of(tree: TreeIR, row: Mapping[str, str], names: Sequence[str]) -> int:
    """The leaf in which a row ends, one test at a time."""
    node = 0
    while tree.feature[node] >= 0:
        cell = row[names[tree.feature[node]]]
        if node in tree.subsets:
            low = cell in tree.subsets[node]
        elif cell == "":
            low = bool(tree.flag("missing_low")[node])
        else:
            low = bool(np.float32(cell) <= tree.threshold[node])
        node = int((tree.low if low else tree.high)[node])
    return node


def of_catboost(model: ModelIR, archive: Archive, name: str) -> Answers:
    """Answers to a case's own rows of numbers and texts: the sums of the leaves in which they end."""
    columns = [column for column in archive.own_rows(case_of(name)) if not column.startswith(("raw.", "label"))]
    names = columns if model.features == tuple(map(str, range(len(columns)))) else model.features
    scores = np.array(
        [
            np.array(model.base) + sum(tree.values[leaf_of(tree, row, names)] for tree in model.trees)
            for row in rows_of(archive, case_of(name))
        ]
    )
    best = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
    scores = np.exp(scores) if model.combine == "exp_sum" else scores
    return Answers(scores, [model.classes[i] for i in best] if model.classes else [])


def of_lightgbm(model: ModelIR, archive: Archive, name: str) -> Answers:
    """Answers to rows of features; a forest predicts the mean of what LightGBM adds up."""
    answers = by_features(model, archive, name)
    is_mean = "forest" in name and model.combine != "exp_sum"
    rounds = len(model.trees) // answers.scores.shape[1] if is_mean else 1
    return Answers(answers.scores * rounds, answers.labels)


def of_sklearn(model: ModelIR, archive: Archive, name: str) -> Answers:
    """Answers to rows of features, or to people where the model has encoders; classes in the order of their names."""
    if model.origins is None:
        answers = by_features(model, archive, name)
        order = np.argsort(model.classes) if answers.scores.shape[1] == len(model.classes) else slice(None)
        scores = answers.scores[:, order]
    else:
        positions = {f"x{i}" for i in range(len(NAMES))}
        unnamed = positions & {each.column for each in model.origins if each is not None}
        names = {name: f"x{i}" for i, name in enumerate(NAMES)} if unnamed else {}
        answers = by_table(model, archive, name, names)
        scores = answers.scores
    return Answers(scores, answers.labels, differences=model.combine == "boost" and not model.calibrated_sums)


def of_onnx(model: ModelIR, archive: Archive, name: str) -> Answers:
    """Answers as onnxruntime gives them: shares of classes, or numbers."""
    if model.origins is not None:
        return by_table(model, archive, name, {})
    answers = by_features(model, archive, name)
    if not model.classes or model.combine != "boost":
        return answers
    powers = np.exp(centred(answers.scores))
    return Answers(powers / powers.sum(axis=1, keepdims=True), answers.labels)


def of_pmml(model: ModelIR, archive: Archive, name: str) -> Answers:
    """Answers to rows of fields, or to people where tests ask for texts; classes in the order of their names."""
    texts = [key for key in model.features if archive.rows[key].dtype == object]
    answers = by_table(model, archive, name, {}) if texts else by_features(model, archive, name)
    in_order = texts or not model.classes
    return answers if in_order else replace(answers, scores=answers.scores[:, np.argsort(model.classes)])


def of_mlflow(model: ModelIR, archive: Archive, name: str) -> Answers:
    """Answers as those of the library whose model MLflow saved."""
    return (of_sklearn if name.startswith("sklearn") else by_features)(model, archive, name)


PRODUCERS = (
    Producer(
        name="LightGBM",
        folder="lightgbm/producers",
        versions=("3.3.5", "4.1.0", "4.6.0", "4.7.0"),
        refused={
            "zero-as-missing": "takes zero for missing",
            "linear-tree": "linear functions on its leaves (linear_tree)",
            "square-root": "has the objective reg_sqrt that is not read",
            "cross-entropy": "has the objective cross_entropy that is not read",
            "rank": "has the objective lambdarank that is not read",
        },
        relative=1e-12,
        answers=of_lightgbm,
    ),
    Producer(
        name="XGBoost",
        folder="xgboost/producers",
        versions=("1.7.6", "2.1.4", "3.0.5", "3.2.0", "3.3.0", "3.4.1"),
        refused={
            "survival": "has an objective that is not read: survival:aft",
            "cox": "has an objective that is not read: survival:cox",
            "share": "has an objective that is not read: reg:logistic",
            "rank": "has an objective that is not read: rank:pairwise",
            "linear": "is no booster of trees",
            "several-targets": "has trees for several targets",
            "several-targets-in-one-tree": "has trees for several targets",
        },
        later={"quantileerror": "2.1.4"},
        leftovers=frozenset({"logistic-pruned"}),
        relative=4e-6,
        answers=by_features,
    ),
    Producer(
        name="CatBoost",
        folder="catboost/producers",
        versions=("1.2.10",),
        refused={
            "hashes": "a category of which the file has the hash alone",
            "parts-of-numbers": "of the kind BinarizedTargetMeanValue with parts of numbers",
            "threshold": "another probability than 0.5",
        },
        leftovers=frozenset(
            {
                "statistics-beside-one-hot-categories",
                "statistics-of-categories",
                "statistics-of-combined-categories",
                "statistics-of-means-by-categories",
            }
        ),
        relative=1e-9,
        answers=of_catboost,
    ),
    Producer(
        name="skl2onnx",
        folder="onnx/producers/skl2onnx",
        versions=("1.16.0", "1.18.0", "1.20.0"),
        refused={
            "calibrated": "ensembles of trees, as bagged, boosted or calibrated ones have",
            "bagging": "ensembles of trees, as bagged, boosted or calibrated ones have",
            "voting": "operators that are not read here: ArgMax",
            "adaboost": "ensembles of trees, as bagged, boosted or calibrated ones have",
            "logistic": "has no trees",
        },
        relative=4e-6,
        answers=of_onnx,
    ),
    Producer(
        name="onnxmltools",
        folder="onnx/producers/onnxmltools",
        versions=("1.12.0", "1.13.0", "1.16.0"),
        refused={
            "lightgbm-forest": "operators that are not read here: ArgMax",
            "lightgbm-poisson": "operators that are not read here: Exp",
            "xgboost-poisson": "operators that are not read here: Exp",
        },
        later={"xgboost-dart": "1.16.0"},
        relative=4e-6,
        answers=of_onnx,
    ),
    Producer(
        name="sklearn2pmml",
        folder="pmml/producers",
        versions=("0.100.2", "0.110.0", "0.133.1"),
        refused={
            **dict.fromkeys(
                ("gradient", "gradient-three", "hist", "adaboost", "xgboost", "lightgbm"),
                "puts its models together by 'modelChain'",
            ),
            "logistic": "must hold one TreeModel or MiningModel",
            "pipeline-scaled": "computes a field by 'Apply'",
        },
        later={"adaboost": "0.133.1"},
        leftovers=frozenset({"lightgbm-number"}),
        relative=4e-6,
        answers=of_pmml,
    ),
    Producer(
        name="scikit-learn",
        folder="sklearn/producers",
        versions=("1.3.2", "1.4.2", "1.5.2", "1.6.1", "1.7.2", "1.8.0", "1.9.1"),
        refused={
            "calibrated-logistic": "it calibrates a LogisticRegression",
            "stacking": "a model of the class StackingClassifier",
            "adaboost-number": "a model of the class AdaBoostRegressor",
            "several-targets": "columns at once",
            "tree-several-targets": "columns at once",
            "gradient-from-tree": "starts from another model's predictions",
            "logistic": "a model of the class LogisticRegression",
        },
        later={
            "tree-monotone": "1.4.2",
            "forest-missing": "1.4.2",
            "forest-monotone": "1.4.2",
            "extra-trees-missing": "1.6.1",
            "isolation-missing": "1.6.1",
        },
        relative=1e-12,
        answers=of_sklearn,
    ),
    Producer(
        name="MLflow",
        folder="mlflow/producers",
        versions=("3.17.2",),
        refused={},
        relative=4e-6,
        answers=of_mlflow,
    ),
)
