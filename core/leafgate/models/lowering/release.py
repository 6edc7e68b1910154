"""A foreign model as a release: its trees over the policy's columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.algorithms.node_counts import FileNumbers, TreeNumbers
from leafgate.errors import Problem, ReleaseError
from leafgate.folders import content_digest
from leafgate.garbage_collection import paused_garbage_collection
from leafgate.io.release_codec import LoadedRelease
from leafgate.ir.features import Feature, Origin
from leafgate.ir.model import LEAF, ModelIR, TreeIR, topological_order
from leafgate.kernel.release import FileDisclosure, ModelFile, ModelReading, Publish, Release
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.tree import Leaf, Node, children, leaves
from leafgate.models.exposure.categories import many_unknown_names
from leafgate.models.lowering.content import content_of, unknown_names
from leafgate.models.lowering.encoding import Encoding, as_number, class_values, column_encodings, origins_of, plainly
from leafgate.models.lowering.tests import Sides, Split, lower_split


def asked_features(model: ModelIR) -> dict[int, Feature]:
    """Every feature that some tree asks about, by its number."""
    least, most = np.full(len(model.features), np.inf), np.full(len(model.features), -np.inf)
    chosen: dict[int, set[str | float]] = {}
    for tree in model.trees:
        by_threshold = tree.feature != LEAF
        by_threshold[list(tree.subsets)] = False
        np.minimum.at(least, tree.feature[by_threshold], tree.threshold[by_threshold])
        np.maximum.at(most, tree.feature[by_threshold], tree.threshold[by_threshold])
        for node, values in tree.subsets.items():
            chosen.setdefault(int(tree.feature[node]), set()).update(values)
    asked = sorted({*chosen, *np.flatnonzero(most > -np.inf).tolist()})
    origins = model.origins or (None,) * len(model.features)
    return {i: _feature(model.features[i], origins[i], chosen.get(i), float(least[i]), float(most[i])) for i in asked}


def _feature(name: str, origin: Origin | None, chosen: set[str | float] | None, least: float, most: float) -> Feature:
    if chosen is None:
        return Feature(name, origin, least=least, most=most)
    texts = frozenset(value for value in chosen if isinstance(value, str))
    return Feature(name, origin, True, len(texts) == len(chosen) and most < least, texts, least, most)


def with_resolved_origins(model: ModelIR, encodings: Mapping[str, Encoding], schema: Schema, place: str) -> ModelIR:
    """The model with what each feature that a tree asks about is made of in the policy's columns; others stay as given.

    Raises ReleaseError for a feature that no column expresses.
    """
    features = asked_features(model)
    resolved = origins_of(list(features.values()), encodings, schema, place, model.features)
    found = dict(zip(features, resolved, strict=True))
    given = model.origins or (None,) * len(model.features)
    return replace(model, origins=tuple(found.get(i, given[i]) for i in range(len(model.features))))


@paused_garbage_collection()
def lower_model(
    model: ModelIR,
    content: bytes,
    schema: Schema,
    encodings: Mapping[str, Encoding],
    place: str,
    people: int | None = None,
) -> LoadedRelease:
    """The model, checked before, over the policy's columns; it keeps what the file discloses, whatever the policy says.

    `encodings` is what the policy says of the features' encoding, `people` how many the table has, where there is one.
    Raises ReleaseError for what cannot be expressed in the policy's columns, each by its name.
    """
    target = schema.target
    _check_numbers(model, target, place)
    values = class_values(model.classes, encodings.get(target.name), target, place) if model.classes else ()
    features = asked_features(model)
    resolved = origins_of(list(features.values()), encodings, schema, place, model.features)
    origins = dict(zip(features, resolved, strict=True))
    unspecified = _unspecified_missing(model, origins)
    _check_missing(unspecified, model.unspecified_missing, schema, place)
    _check_spelling(model, origins, schema, place)
    sides: Sides = {}
    whole: WholeCounts = {}
    translated = [_tree(model, tree, origins, values, schema, sides, whole) for tree in model.trees]
    if any(_silent_nodes(model, tree) for tree in model.trees):
        _refuse_leaf_without_number([tree for tree, _ in translated], place)
    items = (*model.disclosures, *_unused_columns(model, schema, people))
    file = ModelFile(model.format, content_digest(content), items)
    release = Release(
        _builder(model),
        schema,
        (*_base(model, values, schema), *(tree for tree, _ in translated)),
        Publish(model.leaf_level, measure=False),
        count_semantics=model.counted,
        combine=model.combine,
        file=file,
    )
    numbers = FileNumbers(tuple(of_tree for _, of_tree in translated), values, model.hessians, model.sampling)
    learner = model.learner
    if learner is not None and not learner.encoding:
        categories = learner.categories | {feature.name for feature in features.values() if feature.sets}
        learner = replace(learner, encoding=column_encodings(model, origins, categories, schema))
    return LoadedRelease(
        release,
        node_numbers=numbers,
        learner=learner,
        model_content=content_of(model, origins, encodings, schema),
        unspecified_missing=unspecified,
        mapped_classes=_mapped_classes(model, values, encodings.get(target.name)),
        reading=ModelReading(
            model.producer,
            "",
            model.unknown,
            dict(zip(values, model.classes, strict=True)),
            knows_scores=model.link == "softmax",
        ),
    )


def _check_numbers(model: ModelIR, target: Column, place: str) -> None:
    """Numbers are predicted of a class of numbers, classes of any other."""
    if not model.classes and target.edges is None:
        remedy = f"in the policy, give {target.name!r} `bins`, the edges of the intervals its numbers are told in"
        raise ReleaseError(f"predicts numbers, and {target.name!r} has none", place=place, remedy=remedy)


def _refuse_leaf_without_number(trees: Sequence[Node], place: str) -> None:
    """Refuse a leaf that predicts no number, where no other branch stands beside it and it cannot be left out."""
    if any(leaf.value is not None and math.isnan(leaf.value) for tree in trees for leaf in leaves(tree)):
        raise ReleaseError(
            "predicts nothing for some people, because no value that the policy declares takes the other branch",
            place=place,
            remedy="declare in `values` of its columns every value that the model knows",
        )


def _mapped_classes(model: ModelIR, values: Sequence[str], encoding: Encoding | None) -> dict[str, str]:
    """The model's class for each value, where the policy maps them by codes or aliases, and does not confirm it."""
    named = dict(zip(values, model.classes, strict=True)) if model.classes else {}
    same = all(value == name or as_number(value) == as_number(name) for value, name in named.items())
    return {} if same or (encoding is not None and encoding.confirmed) else named


def _builder(model: ModelIR) -> dict[str, Any]:
    """What is known of who made it, and how."""
    document: dict[str, Any] = {"use": "published", "format": model.format}
    document |= {"producer": model.producer} if model.producer else {}
    return document | ({"settings": dict(model.settings)} if model.settings else {})


def _unspecified_missing(model: ModelIR, origins: Mapping[int, Origin]) -> frozenset[str]:
    """The columns that trees ask about and of which the file does not state where missing cells go."""
    if not model.unspecified_missing:
        return frozenset()
    result = model.origins or (None,) * len(model.features)
    own = [name if one is None else one.column for name, one in zip(model.features, result, strict=True)]
    named = model.unspecified_missing_features
    return frozenset(one.column for number, one in origins.items() if not named or own[number] in named)


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
    """That the file names columns which the policy drops or does not know, if no tree asks about them."""
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
    return [Leaf(scores=_by_class(base, values, schema))]


def _tree(
    model: ModelIR,
    tree: TreeIR,
    origins: Mapping[int, Origin],
    values: Sequence[str],
    schema: Schema,
    sides: Sides,
    whole: WholeCounts,
) -> tuple[Node, TreeNumbers]:
    """One tree, from the leaves up, and where its nodes' numbers belong; no recursion, however deep it is.

    `sides` keeps how values part at tests that trees ask again, `whole` the counts that leaves have again.
    """
    leaf = _leaves(model, tree, values, schema, whole)
    built: dict[int, Node] = {}
    flags = [tree.flag(name).tolist() for name in ("strict", "float32", "missing_low")]
    strict, float32, missing_low = flags
    feature, at, low, high = (a.tolist() for a in (tree.feature, tree.threshold, tree.low, tree.high))
    numbers, ways, quiet = model.numbers_of(tree), [BOTH] * tree.nodes, _silent_nodes(model, tree)
    for node in topological_order(tree)[::-1].tolist():
        if feature[node] == LEAF:
            built[node] = leaf(node)
            continue
        origin = origins[feature[node]]
        test = Split(at[node], strict[node], float32[node], missing_low[node], tree.subsets.get(node))
        below = built.pop(low[node]), built.pop(high[node])
        silent = model.combine == "one" and feature[high[node]] == LEAF and high[node] in quiet
        column = schema[origin.column]
        built[node] = lower_split(test, origin, column, *below, known=sides, high_is_silent=silent)
        if numbers:
            ways[node] = _ways(built[node], *below)
    if not numbers:
        none = np.zeros(0, dtype=np.int32)
        return built[0], TreeNumbers((), none, none, none, tree.output)
    first, last, depth = (each.astype(np.int32) for each in _leaves_below(tree, np.array(ways, dtype=np.int8)))
    return built[0], TreeNumbers(numbers, first, last, depth, tree.output)


BOTH, TURNED, LOW, HIGH = range(4)
"""Which ways of a test the release's node has: low and then high, high and then low, one alone."""


def _ways(merged: Node, low: Node, high: Node) -> int:
    """The order in which a node's ways stand below what was made of it."""
    if merged is low or merged is high:
        return LOW if merged is low else HIGH
    below = children(merged)
    if len(below) == 1:
        return LOW if below[0] is low else HIGH
    return BOTH if below[0] is low else TURNED


def _leaves_below(tree: TreeIR, ways: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each node the release's first leaf below it, the one after the last, and how many tests are above.

    Twice 0 where nobody can come.
    """
    levels, rows = [], np.array([0])
    while len(rows):
        levels.append(rows)
        inner = rows[tree.feature[rows] != LEAF]
        rows = np.concatenate([tree.low[inner], tree.high[inner]])
    leaves, first, depth = (np.zeros(tree.nodes, dtype=np.int64) for _ in range(3))
    inner_of = [rows[tree.feature[rows] != LEAF] for rows in levels]
    leaves[tree.leaves] = 1
    for inner in reversed(inner_of):
        leaves[tree.low[inner][ways[inner] == HIGH]] = 0
        leaves[tree.high[inner][ways[inner] == LOW]] = 0
        leaves[inner] = leaves[tree.low[inner]] + leaves[tree.high[inner]]
    gone = np.zeros(tree.nodes, dtype=bool)
    for level, (rows, inner) in enumerate(zip(levels, inner_of, strict=True)):
        depth[rows] = level
        low, high, turned = tree.low[inner], tree.high[inner], ways[inner] == TURNED
        first[low] = first[inner] + np.where(turned, leaves[high], 0)
        first[high] = first[inner] + np.where(turned, 0, leaves[low])
        gone[low] = gone[inner] | (ways[inner] == HIGH)
        gone[high] = gone[inner] | (ways[inner] == LOW)
    first[gone] = 0
    return first, np.where(gone, 0, first + leaves), depth


WholeCounts = dict[tuple[int, ...], dict[str, int]]
"""Counts of people by class, which most leaves of a large forest share with others."""


def _leaves(
    model: ModelIR, tree: TreeIR, values: Sequence[str], schema: Schema, whole: WholeCounts
) -> Callable[[int], Leaf]:
    """What a leaf of the tree says, by its node."""
    if not model.classes:
        numbers = tree.values[:, 0].tolist()
        return lambda node: Leaf(value=numbers[node])
    order = [values.index(name) for name in schema.classes if name in values]
    here = [name for name in schema.classes if name in values]
    rest = dict.fromkeys(schema.classes, 0)

    complete = len(here) == len(schema.classes)

    def full(numbers: Any) -> dict[str, Any]:
        return dict(zip(here, numbers, strict=True)) if complete else rest | dict(zip(here, numbers, strict=True))

    if model.values == "scores":
        says = _scores(model, tree).tolist()
        return lambda node: Leaf(scores=_by_class(says[node], values, schema))
    quiet = _silent_nodes(model, tree)
    labels = [None if node in quiet else values[i] for node, i in enumerate(tree.values.argmax(axis=1).tolist())]
    if tree.counts is not None and model.leaf_level == "counts":
        counts = _whole_counts(tree.counts[:, order])
        if not isinstance(counts[0][0], int):
            return lambda node: Leaf(labels[node], full(counts[node]))

        def shared(numbers: list[int]) -> dict[str, int]:
            key = tuple(numbers)
            if key not in whole:
                whole[key] = full(numbers)
            return whole[key]

        return lambda node: Leaf(labels[node], shared(counts[node]))
    if model.leaf_level == "shares":  # scores are disclosed above
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = (tree.values / tree.values.sum(axis=1, keepdims=True))[:, order].tolist()
        return lambda node: Leaf(labels[node], shares=full(shares[node]))
    return lambda node: Leaf(labels[node])


def _silent_nodes(model: ModelIR, tree: TreeIR) -> frozenset[int]:
    """The nodes that, where they are leaves, predict nothing."""
    silent = {"labels": ~tree.values.any(axis=1), "values": np.isnan(tree.values).any(axis=1)}
    return frozenset(np.flatnonzero(silent[model.values]).tolist()) if model.values in silent else frozenset()


def _scores(model: ModelIR, tree: TreeIR) -> np.ndarray:
    """A column of scores for each class."""
    if tree.values.shape[1] == len(model.classes):
        return tree.values
    spread = np.zeros((tree.nodes, len(model.classes)))
    spread[:, -1 if tree.output is None else tree.output] = tree.values[:, 0]
    return spread


def _whole_counts(counts: np.ndarray) -> list[list[Any]]:
    """Counts as whole numbers where they are."""
    values = np.nan_to_num(counts)
    near = np.rint(values)
    whole: list[list[Any]] = near.astype(np.int64).tolist() if np.allclose(near, values) else values.tolist()
    return whole


def _by_class(numbers: Sequence[float], values: Sequence[str], schema: Schema) -> dict[str, float]:
    result = dict(zip(values, numbers, strict=True))
    return {name: float(result.get(name, 0.0)) for name in schema.classes}
