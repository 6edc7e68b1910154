"""Fitted scikit-learn trees as releases, made by reading their public arrays in the plainest way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from leafgate import Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import Column, Combine, Leaf, Node, NumericSplit, Schema, ScoringContext, make_table
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.release import Counted, Publish
from random_tables import categorical, numeric

SETTINGS = (
    *("max_depth", "min_samples_leaf", "min_samples_split", "max_features", "splitter", "bootstrap"),
    "n_estimators",
)


def table_of_numbers(x: np.ndarray, y: np.ndarray, *, public: Sequence[int] | None = None) -> Table:
    """People with numbers x0, x1, ... (`public` says which are known of them) and a class 0, 1, ...; all are kept."""
    known = range(x.shape[1]) if public is None else public
    columns: list[Column] = [
        numeric(f"x{i}", "quasi_identifier" if i in known else "private", bounds=(-1e9, 1e9)) for i in range(x.shape[1])
    ]
    classes = [str(value) for value in range(int(y.max()) + 1)]
    columns.append(categorical("y", "class", "sensitive", values=classes))
    frame = pd.DataFrame({f"x{i}": x[:, i].astype(float) for i in range(x.shape[1])})
    frame["y"] = pd.Categorical(y.astype(str), categories=classes)
    return make_table(Schema(tuple(columns)), frame)


def release_of(model: Any, table: Table, level: str = "counts", counted: Counted = "exact") -> Release:
    """A DecisionTreeClassifier or RandomForestClassifier as it would be released."""
    members = getattr(model, "estimators_", [model])
    builder = {"use": "sklearn"} | {name: getattr(model, name) for name in SETTINGS if hasattr(model, name)}
    combine: Combine = "one" if members == [model] else "mean_per_tree"
    trees = tuple(tree_of(member, table) for member in members)
    draft = Release(builder, table.schema, trees, count_semantics=counted, combine=combine)
    return published(draft, Publish(leaves=level), frozenset())


def tree_of(model: Any, table: Table) -> Node:
    """A fitted classifier of the table's features as a tree of float32 cuts, with people per class on its leaves."""
    grown, names, classes = model.tree_, [column.name for column in table.schema.features], table.schema.classes
    place = [classes.index(name) if name in classes else int(name) for name in model.classes_]  # some may be lacking

    def node(at: int) -> Node:
        if grown.children_left[at] >= 0:
            low, high = node(grown.children_left[at]), node(grown.children_right[at])
            return NumericSplit(names[grown.feature[at]], float(grown.threshold[at]), low, high, float32=True)
        shares = np.zeros(len(classes))
        shares[place] = grown.value[at, 0] / grown.value[at, 0].sum()
        counts = np.rint(shares * grown.weighted_n_node_samples[at]).astype(int).tolist()
        return Leaf(classes[int(shares.argmax())], dict(zip(classes, counts, strict=True)))

    return node(0)


def case_of(release: Release, table: Table, test: Table | None = None) -> ScoringContext:
    """What a metric of the release is given."""
    return ScoringContext(table, test, release, grant_knowledge(table))
