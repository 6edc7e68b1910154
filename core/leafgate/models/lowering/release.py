"""A foreign model as a release: its trees over the policy's columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from leafgate.algorithms.node_counts import FileNumbers, TreeNumbers
from leafgate.errors import Problem, ReleaseError
from leafgate.garbage_collection import paused_garbage_collection
from leafgate.io.release_codec import Provenance, SealedRelease
from leafgate.ir.features import Feature, Origin
from leafgate.ir.model import FLAGS, LEAF, ModelIR, TreeIR, topological_order
from leafgate.kernel.arrays import Ids, Mask
from leafgate.kernel.leaf import Leaf, LeafStatistics, Numbers, Statistic
from leafgate.kernel.release import CalibratedSum, FileDisclosure, ModelFile, ModelReading, Publish, Release
from leafgate.kernel.schema import Schema
from leafgate.kernel.tree import NO_FAN, NUMBER_OF_WAY, Fan, Node, TreeArrays, split_trees
from leafgate.models.exposure.categories import many_unknown_names
from leafgate.models.lowering.content import are_positions, content_of, unknown_names, values_not_seen
from leafgate.models.lowering.encoding import (
    TRUTH,
    Encoding,
    as_number,
    class_values,
    column_encodings,
    origins_of,
    plainly,
)
from leafgate.models.lowering.rows import training_rows
from leafgate.models.lowering.tests import (
    HIGH,
    LOW,
    KnownTests,
    LoweredTest,
    ask_absence,
    is_plain,
    lower_test,
    splits_in,
)


def asked_features(model: ModelIR) -> dict[int, Feature]:
    """Every feature that some tree tests, by its number."""
    least, most = np.full(len(model.features), np.inf), np.full(len(model.features), -np.inf)
    chosen: dict[int, set[str | float]] = {}
    for tree in model.trees:
        np.minimum.at(least, tree.feature[tree.compares], tree.threshold[tree.compares])
        np.maximum.at(most, tree.feature[tree.compares], tree.threshold[tree.compares])
        for node, values in tree.subsets.items():
            chosen.setdefault(int(tree.feature[node]), set()).update(values)
    asked = sorted({*chosen, *np.flatnonzero(most > -np.inf).tolist()})
    origins = model.given_origins
    return {i: _feature(model.features[i], origins[i], chosen.get(i), float(least[i]), float(most[i])) for i in asked}


def _feature(name: str, origin: Origin | None, chosen: set[str | float] | None, least: float, most: float) -> Feature:
    if chosen is None:
        return Feature(name, origin, least=least, most=most)
    texts = frozenset(value for value in chosen if isinstance(value, str))
    return Feature(name, origin, True, len(texts) == len(chosen) and most < least, texts, least, most)


def resolved_origins(
    model: ModelIR, encodings: Mapping[str, Encoding], schema: Schema, place: str
) -> dict[int, Origin]:
    """What each feature that a tree tests is made of in the policy's columns, by its number.

    Raises ReleaseError for features that no column expresses, each by its name.
    """
    features = asked_features(model)
    return dict(zip(features, origins_of([*features.values()], encodings, schema, place, model.features), strict=True))


def with_resolved_origins(model: ModelIR, encodings: Mapping[str, Encoding], schema: Schema, place: str) -> ModelIR:
    """The model with these origins of the features that a tree tests; others stay as given."""
    found = resolved_origins(model, encodings, schema, place)
    return replace(model, origins=tuple(found.get(i, each) for i, each in enumerate(model.given_origins)))


@paused_garbage_collection()
def lower_model(
    model: ModelIR,
    schema: Schema,
    encodings: Mapping[str, Encoding],
    place: str,
    people: int | None = None,
) -> SealedRelease:
    """The model, checked before, over the policy's columns; it keeps what the file discloses, whatever the policy says.

    `encodings` is what the policy states of the features' encoding, `people` how many the table has, where there is
    one. Raises ReleaseError for what cannot be expressed in the policy's columns, each by its name.
    """
    target = schema.target
    if not model.classes and target.edges is None:
        remedy = f"give {target.name!r} `bins`, the edges of the intervals its numbers are told in"
        raise ReleaseError(f"predicts numbers, and {target.name!r} has none", place=place, remedy=remedy)
    values = class_values(model.classes, encodings.get(target.name), target, place) if model.classes else ()
    origins = resolved_origins(model, encodings, schema, place)
    unspecified = _unspecified_missing(model, origins)
    _check_missing(unspecified, model.unspecified_missing, schema, place)
    _check_spelling(model, origins, schema, place)
    lowering = _Lowering(model, origins, values, schema, place)
    lowered = [*lowering.trees()]
    items = (*model.disclosures, *_unused_columns(model, schema, people))
    file = ModelFile(model.format, model.model_sha256, items)
    document: dict[str, Any] = {"use": "published", "format": model.format}
    document |= {"producer": model.producer} if model.producer else {}
    release = Release(
        document | ({"settings": dict(model.settings)} if model.settings else {}),
        schema,
        (*_base(model, values, schema), *(tree for tree, _ in lowered)),
        Publish(leaves=model.leaf_level, measure=False),
        count_semantics=model.counted,
        combine=model.combine,
        file=file,
        calibrated_sums=_calibrated_sums(model, values, schema, place),
    )
    numbers = FileNumbers(tuple(of_tree for _, of_tree in lowered), values, model.hessians, model.sampling)
    unseen, unseen_marks = values_not_seen(model, origins, schema)
    learner = model.learner
    if learner is not None and not learner.encoding:
        categories = learner.categories | {each.name for each in asked_features(model).values() if each.sets}
        learner = replace(learner, encoding=column_encodings(model, origins, categories, schema))
    provenance = Provenance(
        node_numbers=numbers,
        training_rows=training_rows(model, lowered, values),
        learner=learner,
        model_content=replace(
            content_of(model, origins, encodings, schema),
            classes=_named_classes(model, values, encodings.get(target.name)),
        ),
        unspecified_missing=unspecified,
        mapped_classes=_mapped_classes(model, values, encodings.get(target.name)),
        reading=ModelReading(
            model.producer,
            "",
            model.unknown,
            dict(zip(values, model.classes, strict=True)),
            knows_scores=model.link == "softmax",
            unseen=unseen,
            unseen_marks=unseen_marks,
        ),
    )
    return SealedRelease(release, provenance=provenance)


def _named_classes(model: ModelIR, values: Sequence[str], encoding: Encoding | None) -> dict[str, str]:
    """The value for each of the model's classes, unless their names are positions, truth values or policy's codes."""
    names = frozenset(model.classes)
    are_codes = are_positions(names) or {name.lower() for name in names} <= TRUTH.keys()
    if are_codes or (encoding is not None and encoding.codes is not None):
        return {}
    return dict(zip(model.classes, values, strict=True))


def _mapped_classes(model: ModelIR, values: Sequence[str], encoding: Encoding | None) -> dict[str, str]:
    """The model's class for each value, where the policy maps them by codes or aliases, and does not confirm it."""
    named = dict(zip(values, model.classes, strict=True)) if model.classes else {}
    same = all(value == name or as_number(value) == as_number(name) for value, name in named.items())
    return {} if same or (encoding is not None and encoding.confirmed) else named


def _unspecified_missing(model: ModelIR, origins: Mapping[int, Origin]) -> frozenset[str]:
    """The columns that trees test and of which the file does not state where missing cells go."""
    if not model.unspecified_missing:
        return frozenset()
    named, columns = model.unspecified_missing_features, model.columns
    return frozenset(one.column for number, one in origins.items() if not named or columns[number] in named)


def _check_missing(unspecified: frozenset[str], reason: str, schema: Schema, place: str) -> None:
    """Columns that may be missing need a model whose file states where such cells go."""
    gone = sorted(name for name in unspecified if schema[name].missing)
    if gone:
        remedy = "leave people with missing cells out: `data: {on_missing: drop}`"
        raise ReleaseError.listing(Problem(place, f"{name!r} may be missing, and {reason}", remedy) for name in gone)


def _check_spelling(model: ModelIR, origins: Mapping[int, Origin], schema: Schema, place: str) -> None:
    """Names of columns in ONNX files have `_` for other signs: two columns may have become one name, and its number."""
    if model.format != "onnx":
        return
    names = [plainly(column.name) for column in schema.columns]
    twice = sorted({one.column for one in origins.values() if names.count(plainly(one.column)) > 1})
    if twice:
        remedy = "train and save it under names that differ in letters and digits"
        raise ReleaseError.listing(Problem(place, f"{name!r} may be another column of it", remedy) for name in twice)


def _unused_columns(model: ModelIR, schema: Schema, people: int | None) -> tuple[FileDisclosure, ...]:
    """That the file names columns which the policy drops or does not know, if no tree tests them."""
    unused = unknown_names(model, schema)
    says = f"the names of {len(unused)} column(s) that the policy drops or does not know, which no tree asks about"
    named = (FileDisclosure("column_names", "medium", says),) if unused else ()
    return many_unknown_names(unused, schema, people) or named


def _base(model: ModelIR, values: Sequence[str], schema: Schema) -> list[Node]:
    """What boosting starts from, as a tree of one leaf that everybody reaches."""
    if not model.base:
        return []
    if not model.classes:
        return [Leaf(value=model.base[0])]
    base = model.base if len(model.base) > 1 else (0.0,) * (len(values) - 1) + model.base
    result = dict(zip(values, base, strict=True))
    return [Leaf(scores={name: float(result.get(name, 0.0)) for name in schema.classes})]


def _calibrated_sums(model: ModelIR, values: Sequence[str], schema: Schema, place: str) -> tuple[CalibratedSum, ...]:
    """The calibrated sums with the points of the policy's classes, in their order."""
    if model.calibrated_sums and len(values) != len(schema.classes):
        remedy = f"declare in `values` of {schema.target.name!r} the classes of the model alone"
        raise ReleaseError("is calibrated, and does not know every class of the policy", place=place, remedy=remedy)
    order = [values.index(value) for value in schema.classes] if model.calibrated_sums else []
    return tuple(
        replace(each, points=tuple(each.points[i] for i in order) if each.points else ())
        for each in model.calibrated_sums
    )


NODES_AT_ONCE = 100_000
"""So many nodes are lowered together, so that each of many small trees takes little time."""


class _Lowering:
    """The trees of one model over the policy's columns, from arrays to arrays."""

    def __init__(
        self, model: ModelIR, origins: Mapping[int, Origin], values: Sequence[str], schema: Schema, place: str
    ) -> None:
        self.model, self.origins, self.values, self.schema, self.place = model, origins, values, schema, place
        self.known: KnownTests = {}
        self.columns: list[tuple[str, bool | None]] = [
            (column.name, kind) for column in schema.columns for kind in (False, True, None)
        ]
        self.number = {column: i for i, column in enumerate(self.columns)}
        self.column = np.zeros(len(model.features) + 1, dtype=np.int64)
        self.plain, self.may_be_missing = (np.zeros(len(self.column), dtype=bool) for _ in range(2))
        for feature, origin in origins.items():
            self.column[feature] = self.number[origin.column, False]
            self.plain[feature] = is_plain(origin)
            self.may_be_missing[feature] = schema[origin.column].missing

    def trees(self) -> Iterator[tuple[Node, TreeNumbers]]:
        """Each tree, and where its nodes' numbers belong."""
        waiting, nodes = list[TreeIR](), 0
        for tree in self.model.trees:
            waiting.append(tree)
            nodes += tree.nodes
            if nodes > NODES_AT_ONCE:
                yield from self._together(waiting)
                waiting, nodes = [], 0
        if waiting:
            yield from self._together(waiting)

    def _together(self, trees: Sequence[TreeIR]) -> Iterator[tuple[Node, TreeNumbers]]:
        """Some trees, as arrays over all their nodes."""
        n_nodes = np.array([tree.nodes for tree in trees])
        starts = np.cumsum(n_nodes) - n_nodes
        feature, at = (np.concatenate([getattr(tree, name) for tree in trees]) for name in ("feature", "threshold"))
        low, high = (
            np.concatenate([getattr(tree, name) for tree in trees]) + np.repeat(starts, n_nodes) for name in SIDES
        )
        strict, float32, missing_low = (np.concatenate([tree.flag(name) for tree in trees]) for name in FLAGS)
        lowered = {
            start + node: test
            for start, tree in zip(starts.tolist(), trees, strict=True)
            for node, test in self._tests(tree).items()
        }
        places = _Places(low, high, feature == LEAF, starts, lowered)
        nodes = np.flatnonzero(places.is_test)
        nodes = nodes[np.argsort(places.test[nodes])]
        column, at = self.column[feature[nodes]] + float32[nodes], at[nodes].astype(np.float64)
        missing = np.where(missing_low[nodes], NUMBER_OF_WAY["low"], NUMBER_OF_WAY["high"]).astype(np.int8)
        strict, fan, fans = strict[nodes], np.full(len(nodes), NO_FAN), dict[Fan, int]()
        for node, test in lowered.items():
            i = int(places.test[node])
            if not places.is_test[node]:
                continue
            if isinstance(test.test, Fan):
                column[i], at[i], strict[i], missing[i] = self.number[test.test.column, None], 0.0, False, 0
                fan[i] = fans.setdefault(test.test, len(fans))
            elif test.test is not None:
                one = test.test
                column[i], at[i], strict[i] = self.number[one.column, one.float32], one.at, one.strict
                missing[i] = NUMBER_OF_WAY[one.missing]
        child, n_tests = places.children(nodes), places.n_tests[starts]
        whole = np.zeros(len(nodes), dtype=np.bool_)
        of_leaves = np.flatnonzero(places.is_leaf)
        of_leaves = of_leaves[np.argsort(places.leaf[of_leaves])]
        contents = [
            self._statistics(tree, here - start)
            for tree, start, here in zip(
                trees, starts.tolist(), np.split(of_leaves, np.cumsum(places.n_leaves[starts])[:-1]), strict=True
            )
        ]
        together = TreeArrays(
            tuple(self.columns), column, at, whole, strict, missing, child, fan, tuple(fans), child, contents[0]
        )
        split = split_trees(together, contents, n_tests)
        for tree, start, arrays in zip(trees, starts.tolist(), split, strict=True):
            yield arrays.root, self._numbers(tree, places, start)

    def _tests(self, tree: TreeIR) -> dict[int, LoweredTest]:
        """Each test that is not on a number as it stands, from the leaves up."""
        feature = tree.feature
        plain = self.plain[feature] & (self.may_be_missing[feature] | ~ask_absence(tree.threshold, tree.flag("strict")))
        plain = (plain & tree.compares) | (feature == LEAF)
        lowered: dict[int, LoweredTest] = {}
        if plain.all():
            return lowered
        quiet, order = self._silent(tree), topological_order(tree)[::-1]
        for node, asked in splits_in(tree, order[~plain[order]]):
            origin, high = self.origins[int(feature[node])], int(tree.high[node])
            lowered[node] = lower_test(
                asked,
                origin,
                self.schema[origin.column],
                self.known,
                lowered.get(_asking(high, tree.low, tree.high, lowered)),
                high_is_silent=self.model.combine == "one" and feature[high] == LEAF and bool(quiet[high]),
            )
        return lowered

    def _numbers(self, tree: TreeIR, places: _Places, start: int) -> TreeNumbers:
        """The numbers that the file has on the tree's nodes, and where these are in the release's tree."""
        numbers, none = self.model.numbers_of(tree), np.zeros(0, dtype=np.int32)
        if not numbers:
            return TreeNumbers((), none, none, none, tree.output)
        here = slice(start, start + tree.nodes)
        first, n_leaves, depth = (each[here] for each in (places.leaf, places.n_leaves, places.depth))
        first = np.where(n_leaves > 0, first - places.leaf[start], 0)
        return TreeNumbers(
            numbers, first.astype(np.int32), (first + n_leaves).astype(np.int32), depth.astype(np.int32), tree.output
        )

    def _silent(self, tree: TreeIR) -> np.ndarray:
        """Which nodes, where they are leaves, predict nothing."""
        if self.model.values == "labels":
            return np.asarray(~tree.values.any(axis=1))
        return np.asarray(np.isnan(tree.values).any(axis=1) & (self.model.values == "values"))

    def _statistics(self, tree: TreeIR, leaves: Ids) -> LeafStatistics:
        """What some leaves of the tree publish."""
        model, classes = self.model, self.schema.classes
        if not model.classes:
            numbers = tree.values[leaves, :1]
            if np.isnan(numbers).any():
                raise ReleaseError(
                    "predicts nothing for some people, because no value that the policy declares takes the other "
                    "branch",
                    place=self.place,
                    remedy="declare in `values` of its columns every value that the model knows",
                )
            return LeafStatistics(np.full(len(leaves), -1), (), (), {"value": Numbers(numbers, whole=False)})
        if model.values == "scores":
            scores = Numbers(self._of_classes(_scores(model, tree)[leaves]), whole=False)
            return LeafStatistics(np.full(len(leaves), -1), (), classes, {"scores": scores})
        label = np.where(self._silent(tree), -1, tree.values.argmax(axis=1))[leaves]
        published: dict[Statistic, Numbers] = {}
        absent = np.array([name not in self.values for name in classes])
        if tree.counts is not None and model.leaf_level == "counts":
            counts, whole = _whole_counts(tree.counts)
            published["counts"] = Numbers(self._of_classes(counts[leaves]), whole or _all_or_none(absent, len(leaves)))
        elif model.leaf_level == "shares":
            with np.errstate(invalid="ignore", divide="ignore"):
                shares = (tree.values / tree.values.sum(axis=1, keepdims=True))[leaves]
            if np.isnan(shares).any():
                raise ReleaseError("has leaves whose shares sum to 0", place=self.place)
            published["shares"] = Numbers(self._of_classes(shares), _all_or_none(absent, len(leaves)))
        return LeafStatistics(label, tuple(self.values), classes, published)

    def _of_classes(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers of the model's classes as those of the policy's, 0 where the model does not know one."""
        known = [*self.schema.classes]
        result = np.zeros((len(numbers), len(known)))
        result[:, [known.index(value) for value in self.values]] = numbers
        return result


def _asking(node: int, low: Ids, high: Ids, lowered: Mapping[int, LoweredTest]) -> int:
    """The node itself, or the first below it that asks something or is a leaf."""
    while node in lowered and lowered[node].test is None:
        node = int((low if lowered[node].ways[0] == LOW else high)[node])
    return node


SIDES: tuple[Literal["low", "high"], ...] = ("low", "high")
WAYS = ((LOW, HIGH), (HIGH, LOW), (LOW,), (HIGH,))
"""The ways of a test that the release's test may have, in its order."""
BOTH, TURNED, ONLY_LOW, ONLY_HIGH = range(4)


class _Places:
    """Where the nodes of a model's trees, one after another, are in the release's trees.

    Attributes:
        is_test, is_leaf: whether the release has the node as a test, or as a leaf.
        test, leaf: the number of the first test, and of the first leaf, of those that the release has of the node and
            of all below it; both are counted through all trees.
        n_tests, n_leaves: how many it has of them; 0 where nobody can come.
        depth: how many tests of the model are above the node.
    """

    def __init__(self, low: Ids, high: Ids, is_leaf: Mask, roots: Ids, lowered: Mapping[int, LoweredTest]) -> None:
        self.low, self.high = low, high
        n_nodes, rows = len(low), roots
        levels, self.depth = list[Ids](), np.zeros(n_nodes, dtype=np.int64)
        self.ways, self.is_test, self.is_leaf = np.full(n_nodes, BOTH), np.zeros(n_nodes, bool), np.zeros(n_nodes, bool)
        while len(rows):
            self.depth[rows] = len(levels)
            self.is_leaf[rows] = is_leaf[rows]
            levels.append(rows[~is_leaf[rows]])
            self.is_test[levels[-1]] = True
            rows = np.concatenate([low[levels[-1]], high[levels[-1]]])
        for node, test in lowered.items():
            self.ways[node] = WAYS.index(test.ways)
            self.is_test[node] &= test.test is not None
            if test.joins_high:
                self.is_test[_asking(int(high[node]), low, high, lowered)] = False
        self._leave_out(levels)
        self.n_tests, self.n_leaves = self.is_test.astype(np.int64), self.is_leaf.astype(np.int64)
        for inner in reversed(levels):
            for number in (self.n_tests, self.n_leaves):
                number[inner] += number[low[inner]] + number[high[inner]]
        self.test, self.leaf = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.int64)
        for first, number in ((self.test, self.n_tests), (self.leaf, self.n_leaves)):
            first[roots] = np.cumsum(number[roots]) - number[roots]
        for inner in levels:
            turned = self.ways[inner] == TURNED
            for first, number, own in ((self.test, self.n_tests, self.is_test[inner]), (self.leaf, self.n_leaves, 0)):
                first[low[inner]] = first[inner] + own + np.where(turned, number[high[inner]], 0)
                first[high[inner]] = first[inner] + own + np.where(turned, 0, number[low[inner]])

    def _leave_out(self, levels: Sequence[Ids]) -> None:
        """Leave out what lies on ways that the release's tests do not have."""
        gone = np.zeros(len(self.low), dtype=bool)
        for inner in levels:
            gone[self.low[inner]] = gone[inner] | (self.ways[inner] == ONLY_HIGH)
            gone[self.high[inner]] = gone[inner] | (self.ways[inner] == ONLY_LOW)
        self.is_test[gone] = self.is_leaf[gone] = False

    def children(self, tests: Ids) -> Ids:
        """The children of some of the release's tests, one after another: a test's number, or a leaf's complement."""
        ways = self.ways[tests]
        reversed_ways = (ways == TURNED) | (ways == ONLY_HIGH)
        first = np.where(reversed_ways, self.high[tests], self.low[tests])
        second = np.where(reversed_ways, self.low[tests], self.high[tests])
        nodes = np.column_stack([first, second])
        there = np.column_stack([np.ones(len(tests), dtype=bool), (ways == BOTH) | (ways == TURNED)])
        child = nodes[there]
        return np.asarray(np.where(self.n_tests[child] > 0, self.test[child], ~self.leaf[child]))


def _all_or_none(whole: np.ndarray, leaves: int) -> np.ndarray | bool:
    """For each leaf which of its numbers are whole; one flag where none is."""
    return np.tile(whole, (leaves, 1)) if whole.any() else False


def _scores(model: ModelIR, tree: TreeIR) -> np.ndarray:
    """A column of scores for each class."""
    if tree.values.shape[1] == len(model.classes):
        return tree.values
    spread = np.zeros((tree.nodes, len(model.classes)))
    spread[:, -1 if tree.output is None else tree.output] = tree.values[:, 0]
    return spread


def _whole_counts(counts: np.ndarray) -> tuple[np.ndarray, bool]:
    """Counts, and whether they are whole numbers, up to rounding errors, which are then gone."""
    values = np.nan_to_num(counts)
    near = np.rint(values)
    whole = np.allclose(near, values)
    return (near, True) if whole else (values, False)
