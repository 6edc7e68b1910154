"""The given model's estimator fitted anew with few trees and large leaves, and single trees of scikit-learn.

Everything is fitted on the features that the given model asks about, as it makes them of the policy's columns, so that
what is found can be written as the given file is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.api import Floats, Ids, LeafgateError, Learner, Mask, Schema, Table
from leafgate.commands.convert.merging import moved
from leafgate.commands.convert.prediction import leaves_of
from leafgate.ir.model import topological_order
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import asked_features, with_resolved_origins
from leafgate.models.points import cells_of_column, known_origins, rows_of
from leafgate.models.reader import read_foreign
from leafgate.models.writer import object_as_file
from leafgate.readers import LEAF, NO_SAMPLING, CategoryCodes, ModelIR, ModelReader, Numeric, Origin, TreeIR

LEAVES_TIMES = (4, 10, 2, 1, 25)
"""Leaves have so many times the people that the limits ask for."""

TREES = (1, 2, 3, 5, 10)
ROUNDS = (3, 10, 30)
BOOSTING = {
    "HistGradientBoosting": ("max_iter", "max_leaf_nodes", "min_samples_leaf"),
    "GradientBoosting": ("n_estimators", "max_leaf_nodes", "min_samples_leaf"),
    "LGBM": ("n_estimators", "num_leaves", "min_child_samples"),
}
"""By kind of boosting, what its rounds, the leaves of a tree and the least people of a leaf are called."""

TREE, REGRESSION_TREE = "sklearn.tree.DecisionTreeClassifier", "sklearn.tree.DecisionTreeRegressor"


@dataclass(frozen=True)
class Settings:
    """An estimator with parameters to be fitted with.

    Attributes:
        learner: The estimator.
        words: What of it is varied, in words.
    """

    learner: Learner
    words: str

    @property
    def fineness(self) -> tuple[float, float]:
        """How fine a single tree is: by how little of a leaf, and by its depth."""
        depth = self.learner.parameters.get("max_depth")
        return -float(self.learner.parameters["min_samples_leaf"]), math.inf if depth is None else float(depth)

    def with_parameters(self, **parameters: int | float) -> Settings:
        """The same with other values of these parameters."""
        words = ", ".join([self.words, *(f"{name} {value:g}" for name, value in parameters.items())])
        learner = replace(self.learner, parameters={**self.learner.parameters, **parameters}, unknown=())
        return Settings(learner, words)


@dataclass(frozen=True, eq=False)
class Rows:
    """People as the given model's features.

    Attributes:
        features: shape (n_records, n_chosen), of the features with a known origin.
        chosen: shape (n_chosen,), their positions in the model.
        target: shape (n_records,), the position of each record's class in the model, -1 for one it does not know; where
            it predicts numbers the number, NaN for none.
        weight: shape (n_records,), the people of each record as leaves count them.
        persons: shape (n_records,), the rows of the table that each record stands for.
        origins: what each feature of the model is made of; of categories that the model takes as texts, their codes
            here.
    """

    features: Floats
    chosen: Ids
    target: NDArray[Any]
    weight: Ids
    persons: Ids
    origins: tuple[Origin | None, ...]

    @property
    def known(self) -> Mask:
        """Who has a class that the model knows, or a number."""
        return np.asarray(self.target >= 0 if self.target.dtype.kind == "i" else ~np.isnan(self.target))

    def over_all(self, features: int) -> Floats:
        """The people as all of so many features of the model; those with no known origin are missing."""
        every = np.full((len(self.features), features), np.nan)
        every[:, self.chosen] = self.features
        return every

    def at(self, part: Mask, people: Table) -> Rows:
        """Some of the people.

        Args:
            part: shape (n_records,), which records are theirs.
            people: the table of them.
        """
        return replace(
            self,
            features=self.features[part],
            target=self.target[part],
            weight=people.weight,
            persons=people.persons,
        )


def rows_for(
    model: ModelIR, table: Table, encoding: Mapping[str, Encoding], names: Mapping[str, str], place: str
) -> Rows:
    """The table's people as the given model's features.

    Args:
        model: The given model.
        table: The people.
        encoding: What the policy says of the model's features.
        names: The model's class for each value of the policy's class; of numbers nothing.
        place: What errors call the file.

    Raises ReleaseError for a feature that no column expresses.
    """
    resolved = with_resolved_origins(model, encoding, table.schema, place)
    asked = asked_features(model)
    columns = {column.name for column in table.schema.features}
    chosen = [
        i for i, origin in enumerate(known_origins(resolved)) if i in asked or getattr(origin, "column", "") in columns
    ]
    cells = {column.name: cells_of_column(column, table) for column in table.schema.features}
    some = replace(
        resolved,
        features=tuple(resolved.features[i] for i in chosen),
        origins=tuple(known_origins(resolved)[i] for i in chosen),
    )
    origins = tuple(
        other if one is None and name not in encoding and _is_more(name, other) else one
        for name, one, other in zip(model.features, model.given_origins, known_origins(resolved), strict=True)
    )
    target = _target(model, table, names)
    return Rows(rows_of(some, cells), np.array(chosen, dtype=np.int64), target, table.weight, table.persons, origins)


def columns_taken(model: ModelIR, encoding: Mapping[str, Encoding], schema: Schema, place: str) -> frozenset[str]:
    """The policy's columns that a model takes, also where no tree asks about them.

    Raises ReleaseError for a feature that a tree asks about and no column expresses.
    """
    names = {origin.column for origin in known_origins(with_resolved_origins(model, encoding, schema, place))}
    names |= {encoding[name].column or name for name in names | set(model.features) if name in encoding}
    return frozenset(names & {column.name for column in schema.features})


def _target(model: ModelIR, table: Table, names: Mapping[str, str]) -> NDArray[Any]:
    """What each record's class is called by the model, as its position, or each record's number."""
    target = table.schema.target
    if not model.classes:
        return table.numbers(target.name)
    position = {name: i for i, name in enumerate(model.classes)}
    of_value = np.array([position.get(names.get(str(value), ""), -1) for value in target.domain], dtype=np.int64)
    return of_value[table.codes(target.name)]


def _is_more(name: str, origin: Origin) -> bool:
    """Does the origin say more of a feature than its name: codes, or a column that is spelled otherwise?"""
    return isinstance(origin, CategoryCodes) or (isinstance(origin, Numeric) and origin.column != name)


def settings_for(learner: Learner, least: int) -> Iterator[Settings]:
    """The estimator with fewer trees and larger leaves, the most promising first; none of a single tree.

    A single tree is fitted anew whatever the given model is (`tree_settings`).

    Args:
        learner: the given model's estimator and its parameters.
        least: people that each leaf must have by the limits.
    """
    kind = learner.estimator.rpartition(".")[2].removesuffix("Classifier").removesuffix("Regressor")
    if kind in {"RandomForest", "ExtraTrees"}:
        for size in (2 * least, 10 * least, 4 * least, 25 * least):
            yield from (_changed(learner, n_estimators=trees, min_samples_leaf=size) for trees in TREES[:4])
        return
    for leaves, size in ((4, 2 * least), (8, 4 * least), (2, least), (16, 10 * least)):
        for rounds in ROUNDS:
            if kind == "XGB":
                depth = leaves.bit_length() - 1
                yield _changed(learner, n_estimators=rounds, max_depth=depth, learning_rate=0.3)
            elif kind in BOOSTING:
                options = dict(zip(BOOSTING[kind], (rounds, leaves, size), strict=True))
                yield _changed(learner, **options, learning_rate=0.3)


def _changed(learner: Learner, **parameters: int | float) -> Settings:
    return Settings(learner, learner.estimator.rpartition(".")[2]).with_parameters(**parameters)


def tree_settings(least: int, *, of_numbers: bool = False) -> Iterator[Settings]:
    """Single trees with leaves of so many people and more."""
    learner = Learner(REGRESSION_TREE if of_numbers else TREE)
    yield from (_changed(learner, min_samples_leaf=least * times) for times in LEAVES_TIMES)


def fitted(
    settings: Settings, model: ModelIR, rows: Rows, readers: Sequence[ModelReader], *, with_counts: bool = False
) -> ModelIR | None:
    """A model over the given one's features and classes, fitted on people; None where it cannot be fitted.

    Args:
        settings: The estimator.
        model: The given model.
        rows: The people.
        readers: The readers in use, of which one fits the estimator.
        with_counts: Have the leaves of a single tree the people of each class?
    """
    reader = next(
        (one for one in readers if one.fit and settings.learner.estimator.startswith(one.trains) and one.trains), None
    )
    if reader is None or reader.fit is None:
        return None
    known = np.flatnonzero(rows.known)
    target = rows.target[known]
    found, positions = np.unique(target, return_inverse=True)
    if len(found) < 2 or (model.classes and not with_counts and len(found) != len(model.classes)):
        return None
    times = rows.persons[known]
    learned = np.repeat(positions if model.classes else target, times)
    try:
        estimator = reader.fit(settings.learner, np.repeat(rows.features[known], times, axis=0), learned, 0)
        written = object_as_file(estimator, readers)
        if written is None:
            return None
        name, content = written
        new = read_foreign(content, name, readers)
    except LeafgateError:
        return None
    trees = new.trees
    if with_counts:
        trees = tuple(_recounted(tree, rows.features, rows, len(model.classes)) for tree in trees)
        new = replace(new, values="counts", combine="one", counted="exact", sampling=NO_SAMPLING)
    return replace(
        new,
        format=model.format,
        features=model.features,
        origins=rows.origins,
        classes=model.classes,
        trees=tuple(_over_all(tree, rows.chosen) for tree in trees),
        category_lists=(),
        other_names=(),
    )


def _over_all(tree: TreeIR, chosen: Ids) -> TreeIR:
    """The tree over all features of the given model."""
    return replace(tree, feature=np.where(tree.feature < 0, tree.feature, chosen[np.maximum(tree.feature, 0)]))


def recounted(model: ModelIR, rows: Rows) -> ModelIR:
    """The model of one tree with the people of each class on its leaves, whatever it said before."""
    features = rows.over_all(len(model.features))
    trees = tuple(_recounted(tree, features, rows, len(model.classes)) for tree in model.trees)
    return replace(model, trees=trees, values="counts", combine="one", counted="exact", sampling=NO_SAMPLING)


def balanced(model: ModelIR) -> ModelIR:
    """The model of one tree whose leaves weigh each class so that all have as many people, for labels of rare ones."""
    [tree] = model.trees
    of_class = tree.values[tree.leaves].sum(axis=0)
    values = tree.values * np.where(of_class > 0, of_class.sum() / np.where(of_class > 0, of_class, 1), 0)
    return replace(model, trees=(replace(tree, values=values, counts=None, size=None, numbers=()),), counted="unknown")


def _recounted(tree: TreeIR, features: Floats, rows: Rows, classes: int) -> TreeIR:
    """The tree with the people of each class on its leaves."""
    known = rows.known
    counts = np.zeros((tree.nodes, classes))
    np.add.at(counts, (leaves_of(tree, features)[known], rows.target[known]), rows.weight[known])
    return _without_empty(replace(tree, values=counts, counts=counts, size=None, numbers=()))


def _without_empty(tree: TreeIR) -> TreeIR:
    """The tree without leaves that nobody reaches: what stands beside one takes the place of the test above both."""
    people, target = tree.values.sum(axis=1), np.arange(tree.nodes)
    for node in topological_order(tree)[::-1].tolist():
        if tree.feature[node] != LEAF:
            sides = int(tree.low[node]), int(tree.high[node])
            people[node] = people[list(sides)].sum()
            if people[list(sides)].min() <= 0:
                target[node] = target[sides[int(people[sides[0]] <= 0)]]
    return moved(tree, target)
