"""Distillation: a tree that a builder grows with the policy's own limits, for the classes or for the model's scores.

The leaves hold the table's people, so limits on groups are kept by construction; all others are audited. The tree is
over the policy's columns. A test for values of a category, which may have many branches, becomes tests of codes whose
order is that of the branches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leafgate import api
from leafgate.algorithms.induction.encoding import categorical_feature
from leafgate.api.registry import Plugins
from leafgate.kernel.tree import iterate_nodes
from leafgate.readers import COUNTS_DISCLOSURE, CategoryCodes, ModelIR, Numeric, Origin, TreeIRBuilder

PEOPLE_TIMES = (1, 4, 10, 2, 25)
"""Groups are grown with so many times the people that the limits ask for: larger ones often predict others better."""

FORMAT = "distilled"


@dataclass(frozen=True)
class Grown:
    """A tree that was grown, and the rank of each value of the columns that were ranked for it."""

    release: api.Release
    ranks: Mapping[str, Mapping[str | None, int]]


@dataclass(frozen=True)
class Grower:
    """A builder with settings that keep the policy's limits on groups.

    Attributes:
        builder: The builder.
        words: Its settings, in words.
    """

    builder: api.TreeBuilder
    words: str

    def grown(self, table: api.Table, levels: api.Ids | None = None) -> Grown | None:
        """The tree, in which values of categories are ranked and divided as numbers are; None where there is none.

        A test with a branch for each value needs a whole group in every branch, which columns with rare values never
        have.

        Args:
            table: The people.
            levels: Shape (n_records,), levels of scores that tests are chosen for in place of the classes.
        """
        rng = np.random.default_rng(0)
        table, ranks = ranked(table, table.codes(table.schema.target.name) if levels is None else levels)
        try:
            if levels is not None:
                release = self.builder.distilled(table, rng, levels)
                return None if release is None else Grown(release, ranks)
            built = self.builder.build(table, rng)
        except api.LeafgateError:
            return None
        return Grown(built if isinstance(built, api.Release) else built.release, ranks)


def ranked(table: api.Table, levels: api.Ids) -> tuple[api.Table, dict[str, dict[str | None, int]]]:
    """The table with a number in place of each category: its rank by the mean level of the people who have it.

    Levels are of scores, or positions of classes. The best division of values in two by two classes is one of this
    order. Secrets stay as they are.

    Source: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984, section 4.2.2.
    """
    frame, columns, ranks = table.frame.copy(deep=False), [], {}
    for column in table.schema.columns:
        if column.holds_numbers or column.roles & {"class", "sensitive", "key", "weight"}:
            columns.append(column)
            continue
        codes = table.codes(column.name)
        people = np.bincount(codes, weights=table.weight, minlength=len(column.domain))
        total = np.bincount(codes, weights=table.weight * levels, minlength=len(column.domain))
        mean = np.where(people > 0, total / np.maximum(people, 1), np.average(levels, weights=table.weight))
        rank = np.argsort(np.argsort(mean, kind="stable"), kind="stable")
        ranks[column.name] = {value: int(place) for value, place in zip(column.domain, rank, strict=True)}
        frame[column.name] = rank[codes].astype(np.float64)
        bounds = (0.0, float(max(len(column.domain) - 1, 1)))
        columns.append(api.Column(column.name, column.roles, bounds=bounds))
    names = [column.name for column in columns]
    order = api.Schema(tuple(columns), dropped=table.schema.dropped)
    return replace(table, schema=order, frame=frame[names], incomplete=None, _codes={}), ranks


def with_features(table: api.Table, names: Collection[str]) -> api.Table:
    """The table with these features alone; sensitive ones stay, because a builder may limit what is learned of them."""
    columns = table.schema.columns
    left_out = {one.name for one in table.schema.features if one.name not in names and "sensitive" not in one.roles}
    kept = tuple(column for column in columns if column.name not in left_out)
    frame = table.frame[[column.name for column in kept]]
    return replace(
        table, schema=api.Schema(kept, dropped=table.schema.dropped), frame=frame, incomplete=None, _codes={}
    )


def growers(plugins: Plugins, metrics: Sequence[api.Metric], people: int, *, prune: bool) -> Iterator[Grower]:
    """Each builder that keeps limits by construction, with groups of several sizes; with `prune` pruned by errors, too.

    Pruning by errors makes one leaf of groups in which the same class is most frequent: they are ranked alike then.
    """
    for kind in plugins.kind(api.TreeBuilder):
        builder = _keeping(kind, metrics)
        if builder is None:
            continue
        sizes = [name for name in builder.options_ruled(api.MORE) if isinstance(getattr(builder, name, None), int)]
        for times in PEOPLE_TIMES if sizes else (1,):
            more = {name: getattr(builder, name) * times for name in sizes}
            if any(size > people // 2 for size in more.values()) and times > 1:
                continue
            words = ", ".join(f"{name} {size}" for name, size in more.items())
            words = f"{kind.model_fields['use'].default}, {words}"
            for pruned in ((False, True) if prune else (False,)) if "prune" in kind.model_fields else (None,):
                options = more if pruned is None else {**more, "prune": pruned}
                after = ", pruned" if pruned else ""
                grown = builder.model_copy(update=options)
                yield Grower(grown, f"{words}{after}, categories ranked")


def _keeping(kind: type, metrics: Sequence[api.Metric]) -> api.TreeBuilder | None:
    try:
        return kind.keeping(metrics) if issubclass(kind, api.TreeBuilder) else None
    except api.LeafgateError:
        return None


@dataclass
class _Growing(TreeIRBuilder):
    """A tree while it is written, whose tests are added as leaves first."""

    def split(self, at: int, feature: int, threshold: float, *, missing_low: bool) -> list[int]:
        """Make a node ask; its children."""
        self.feature[at], self.threshold[at], self.flags[at] = feature, threshold, (False, False, missing_low)
        self.children[at] = [self.add(), self.add()]
        return self.children[at]


def model_of(grown: Grown, classes: Mapping[str, str], explained: Collection[str], *, float32: bool = False) -> ModelIR:
    """A grown tree as a model over the policy's columns, with counts on its leaves.

    Args:
        grown: a release of one tree with counts; a leaf that nobody reaches is left out where others stand beside it.
        classes: the model's class for each value of the release's class.
        explained: names of features that the policy's `encoding` explains; they stay names of features.
        float32: are numbers rounded to single precision before they are compared, as scikit-learn does?
    """
    release = grown.release
    [tree] = release.trees
    names = list(dict.fromkeys(node.column for node in iterate_nodes(tree) if not isinstance(node, api.Leaf)))
    codes: dict[str, Mapping[str | None, int]] = {
        name: _codes_of(release.schema, name) for name in names if not release.schema[name].holds_numbers
    }
    growing, leaves = _Growing(), dict[int, api.Leaf]()
    waiting = [(growing.add(), tree)]
    while waiting:
        at, node = waiting.pop()
        if isinstance(node, api.Leaf):
            leaves[at] = node
            continue
        feature = names.index(node.column)
        if isinstance(node, api.NumericSplit):
            low, high = growing.split(at, feature, node.at, missing_low=node.missing == "low")
            waiting += [(low, node.low), (high, node.high)]
        else:
            waiting += _branched(growing, at, node, feature, codes[node.column])
    counts = np.full((len(growing), len(release.classes)), np.nan)
    for at, leaf in leaves.items():
        counts[at] = [(leaf.counts or {}).get(value, 0) for value in release.classes]
    arrays = replace(growing.build(np.nan_to_num(counts), counts), float32=float32)
    threshold = arrays.threshold.copy()
    for name in set(names) & grown.ranks.keys():
        own = arrays.feature == names.index(name)
        cuts = np.unique(threshold[own])
        threshold[own] = np.searchsorted(cuts, threshold[own]) + 0.5
        codes[name] = {value: int(np.searchsorted(cuts, rank)) for value, rank in grown.ranks[name].items()}
    origins: list[Origin | None] = [_origin(name, codes.get(name)) for name in names]
    own_names = [f"column {name}" if name in explained else name for name in names]
    idle = [name for name in sorted(explained) if name not in own_names]
    return ModelIR(
        FORMAT,
        (*own_names, *idle),
        tuple(classes[value] for value in release.classes),
        (replace(arrays, threshold=threshold),),
        "counts",
        counted="exact",
        discloses=(COUNTS_DISCLOSURE,),
        origins=(*origins, *(None for _ in idle)),
    )


def _codes_of(schema: api.Schema, name: str) -> dict[str | None, int]:
    """Each value's code, in an order in which all groups of a hierarchy are runs; None for a missing cell."""
    return {value: code for code, value in enumerate(categorical_feature(schema[name], hierarchies=True)[0].values)}


def _origin(name: str, codes: Mapping[str | None, int] | None) -> Origin:
    if codes is None:
        return Numeric(name)
    own = {value: float(code) for value, code in codes.items() if value is not None}
    return CategoryCodes(name, own, missing=float(codes[None]) if None in codes else np.nan)


def _branched(
    growing: _Growing, at: int, node: api.CategoricalSplit, feature: int, codes: Mapping[str | None, int]
) -> Iterator[tuple[int, api.Node]]:
    """Tests of codes for the branches, halving them; branches that nobody takes go with their neighbours."""
    branches = sorted((sorted(codes[value] for value in branch.values), branch.node) for branch in _taken(node))
    waiting = [(at, 0, len(branches))]
    while waiting:
        here, first, last = waiting.pop()
        if last - first == 1:
            yield here, branches[first][1]
            continue
        middle = (first + last) // 2
        threshold = (branches[middle - 1][0][-1] + branches[middle][0][0]) / 2
        low, high = growing.split(here, feature, threshold, missing_low=False)
        waiting += [(low, first, middle), (high, middle, last)]


def _taken(node: api.CategoricalSplit) -> list[Any]:
    taken = [branch for branch in node.branches if not (isinstance(branch.node, api.Leaf) and not branch.node.size)]
    return taken or list(node.branches[:1])
