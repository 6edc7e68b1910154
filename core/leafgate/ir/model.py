"""Foreign: what a file of somebody else's model says, as neutral trees over the model's own features."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leafgate.ir.content import HeldVector
from leafgate.ir.features import Origin
from leafgate.ir.node_numbers import NO_SAMPLING, OF_PEOPLE, Hessians, NodeNumbers, NumberKind, Sampling
from leafgate.kernel import release
from leafgate.kernel.arrays import Floats, Ids, Mask

LeafValueKind = Literal["labels", "shares", "counts", "scores", "values"]
"""What a leaf's numbers are: 1 for its class, shares, numbers per class, scores to add, a predicted number."""

LearnerSetting = str | int | float | bool | None
LEARNER_SETTINGS = (
    *("max_depth", "min_samples_leaf", "min_samples_split", "max_features", "splitter", "bootstrap"),
    *("n_estimators", "min_child_weight", "max_samples", "class_weight", "monotonic_cst"),
)
"""The settings of a learner that are kept: how small a group of people a leaf may stand for, and what tells whether a
leaf that counts nobody of a class has nobody of it."""

LISTED_SETTINGS = frozenset({"class_weight", "monotonic_cst"})
"""Settings of these that may be a list or a table, with numbers for each class or column: they are kept as True."""

LEAF = -1
Flag = Literal["strict", "float32", "missing_low"]
FLAGS: tuple[Flag, ...] = ("strict", "float32", "missing_low")
"""The properties of a node's test that are true or false."""

RATIOS_DISCLOSURE = release.FileDisclosure(
    "ratios", "medium", "shares to the last digit: of small leaves they betray how many people are in them"
)
COUNTS_DISCLOSURE = release.FileDisclosure(
    "counts", "high", "how many people of each class are at the leaves", "counts"
)
SIZES_DISCLOSURE = release.FileDisclosure("sizes", "high", "how many people are at the leaves", "counts")
SCORES_DISCLOSURE = release.FileDisclosure("scores", "low", "each leaf's score, without which nobody could predict")
NUMBERS_DISCLOSURE = release.FileDisclosure(
    "numbers",
    "low",
    "each leaf's number, without which nobody could predict: often the mean of its people's",
)
CALIBRATION_DISCLOSURE = release.FileDisclosure(
    "class_shares", "high", "the share of each class among people held out, by their scores: points of a calibration"
)


@dataclass(frozen=True)
class TreeIR:
    """One binary tree as arrays over its nodes, the root first.

    Node i asks about feature `feature[i]` (LEAF where it asks nothing): `x <= threshold[i]` goes to node `low[i]`,
    with `strict[i]` `x < threshold[i]`, else to `high[i]`; where `float32[i]`, x is rounded to single precision first.
    A node in `subsets` sends the categories listed there low, all others high; categories are texts, or the numbers the
    model codes them as. A missing x goes low where `missing_low[i]`, else high. `values[i]` are a leaf's numbers, one
    for each class (or one alone, with `output` the class it is about; None: the last class of two, or a predicted
    number); rows of inner nodes are not read. `counts[i]` and `size[i]` are how many a node counts by class and in all,
    where the file has it; NaN for a node where the file has none. `numbers` are the numbers that the file itself has on
    the nodes, each with what it counts, where `counts` and `size` do not say all of it.
    """

    feature: Ids
    threshold: Floats
    low: Ids
    high: Ids
    values: Floats
    strict: Mask | bool = False
    float32: Mask | bool = False
    missing_low: Mask | bool = False
    subsets: Mapping[int, frozenset[str | float]] = field(default_factory=dict)
    counts: Floats | None = None
    size: Floats | None = None
    output: int | None = None
    numbers: tuple[NodeNumbers, ...] = ()

    @property
    def nodes(self) -> int:
        return len(self.feature)

    @property
    def leaves(self) -> Ids:
        """The numbers of the leaves."""
        return np.flatnonzero(self.feature == LEAF)

    @cached_property
    def compares(self) -> Mask:
        """Which nodes compare a number with a threshold: those that ask something, and not by a set."""
        compares = np.asarray(self.feature != LEAF)
        compares[list(self.subsets)] = False
        return compares

    def flag(self, name: Flag) -> Mask:
        """A property of each node's test; one alone holds for all of them."""
        return np.broadcast_to(np.asarray(getattr(self, name), dtype=bool), (self.nodes,))


@dataclass(frozen=True)
class CategoryList:
    """Values that a file lists, as texts; `column` is what the file calls their column, empty where it does not.

    `numbers`: they are numbers that somebody's cell may be, such as the smallest one of a column or what fills gaps,
    and no list of the values that the column may have. `complete`: they are all that the column had in training.
    """

    column: str
    values: frozenset[str]
    numbers: bool = False
    complete: bool = False


@dataclass(frozen=True)
class ModelIR:
    """A model as its file gives it.

    `format` names the reader, `producer` what made the file. `features` are the names of what the trees test, in
    the model's order; `origins`, where the file contains the encoding too, say from which column each is made.
    `classes` are empty for a model that predicts numbers. `combine` and `base` state how trees become a prediction:
    with `boost` the base and the leaves' scores are added up for each class; a model of two classes may keep one score,
    of the second. The words for `values`, `combine` and `counted` are in docs/reference/plugin-readers.md, "The words
    of a model".
    `counted` is what the numbers count. `discloses` is what the file discloses beyond its predictions, an empty tuple
    where a reader looked and found nothing; where no reader says anything it is `NOT_STATED`. `unspecified_missing`
    states why the file does not state where missing cells go, in the columns `unspecified_missing_features` (where
    these are empty: in any); it is empty where the file does. `category_lists` are values that the file lists beside
    those of `origins`, whether tests need them or not; `other_names` are names of columns beside those of features and
    origins, `texts` the short texts that are of no column: names of steps, settings and functions. A leaf of labels
    that states nothing of any class predicts nothing; in a model of one tree, neither does a leaf whose number is NaN.
    `settings` are the learner's, where the file has them, by scikit-learn's names. `sampling` is how the rows of each
    tree were drawn, and `hessians` how sums of second derivatives follow from scores. `learner` is the estimator that
    was fitted, where the file names it. `link` states whether scores of classes that the model answers are the
    softmax of what its trees add up to, or something `other` that no attack and no comparison here knows; with
    `calibrated_sums`, which have no `base`, it is the mean of their shares. `unknown`
    are keys of the part that decides predictions which the reader does not know. `held` are vectors that no
    prediction needs, which an audit compares with the columns of the table.
    """

    format: str
    features: tuple[str, ...]
    classes: tuple[str, ...]
    trees: tuple[TreeIR, ...]
    values: LeafValueKind
    combine: release.Combine = "one"
    base: tuple[float, ...] = ()
    counted: release.Counted = "unknown"
    discloses: tuple[release.FileDisclosure, ...] = (release.NOT_STATED,)
    origins: tuple[Origin | None, ...] | None = None
    producer: str = ""
    unspecified_missing: str = ""
    unspecified_missing_features: frozenset[str] = frozenset()
    settings: Mapping[str, LearnerSetting] = field(default_factory=dict)
    category_lists: tuple[CategoryList, ...] = ()
    other_names: tuple[str, ...] = ()
    texts: frozenset[str] = frozenset()
    sampling: Sampling = NO_SAMPLING
    hessians: Hessians | None = None
    learner: release.Learner | None = None
    unknown: tuple[str, ...] = ()
    link: Literal["softmax", "other"] = "softmax"
    held: tuple[HeldVector, ...] = ()
    calibrated_sums: tuple[release.CalibratedSum, ...] = ()

    @property
    def given_origins(self) -> tuple[Origin | None, ...]:
        """What the file states that each feature is made of; None where it states nothing of it."""
        return self.origins or (None,) * len(self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """What the file calls the column that each feature is made of, of which it states nothing else the feature."""
        pairs = zip(self.features, self.given_origins, strict=True)
        return tuple(name if origin is None else origin.column for name, origin in pairs)

    @cached_property
    def asked(self) -> frozenset[int]:
        """The numbers of the features that some test reads."""
        return frozenset(number for tree in self.trees for number in np.unique(tree.feature).tolist()) - {LEAF}

    @cached_property
    def model_sha256(self) -> str:
        """The digest of the model that was read; a file that holds it in other bytes, or beside more, has the same."""
        kind, *parts = _plain(replace(self, held=()), {})
        left_out: list[Any] = [("held", []), ("calibrated_sums", [])]  # no digest had them before
        return _sha256([kind, *(part for part in parts if part not in left_out)])

    @property
    def level(self) -> release.Level:
        """The level of the leaves: the most that any of the disclosures publishes."""
        items = [item.level for item in self.discloses if item.level is not None]
        return max([*items, self.leaf_level], key=release.LEVELS.index)

    @property
    def disclosures(self) -> tuple[release.FileDisclosure, ...]:
        """What the file discloses beyond its predictions, in regression also the numbers of the leaves."""
        others = tuple(item for item in self.discloses if item != SCORES_DISCLOSURE)
        return self.discloses if self.classes else (*others, NUMBERS_DISCLOSURE)

    @property
    def leaf_level(self) -> release.Level:
        """The statistic that stands on every leaf; from scores of boosting the shares of classes follow."""
        if self.values == "values":
            return "labels"
        if self.trees and all(tree.counts is not None for tree in self.trees):
            return "counts"
        return "labels" if self.values == "labels" else "shares"

    @property
    def counts_people(self) -> bool:
        """Are there numbers of people on the nodes of its trees?"""
        return any(number.kind in OF_PEOPLE for tree in self.trees for number in self.numbers_of(tree))

    def numbers_of(self, tree: TreeIR) -> tuple[NodeNumbers, ...]:
        """Every number of people on the tree's nodes: the file's own, and what `counts` and `size` come to."""
        kinds: Mapping[str, NumberKind] = {"exact": "rows", "sampled": "rows", "bootstrap": "draws"}
        found = list(tree.numbers)
        if tree.counts is not None and not any(each.values.ndim == 2 for each in found):
            found.append(NodeNumbers("counts", kinds.get(self.counted, "weight"), tree.counts))
        elif tree.counts is None and tree.size is not None and not found:
            values = np.nan_to_num(tree.size)
            found.append(NodeNumbers("size", "rows" if (values == np.rint(values)).all() else "weight", tree.size))
        return tuple(found)


def _plain(thing: Any, shared: dict[int, str]) -> Any:
    """A value in lists and texts, equal for equal values; arrays and mappings by their digests.

    `shared` has the digests of mappings by `id`: all features of a one-hot encoder share one of all its values.
    """
    if is_dataclass(thing):
        parts = ((each.name, _plain(getattr(thing, each.name), shared)) for each in fields(thing))
        return [type(thing).__name__, *parts]
    if isinstance(thing, np.ndarray):
        content = repr(thing.tolist()).encode() if thing.dtype.hasobject else thing.tobytes()
        return [thing.dtype.str, thing.shape, hashlib.sha256(content).hexdigest()]
    if isinstance(thing, Mapping):
        if id(thing) not in shared:
            shared[id(thing)] = _sha256(sorted((repr(key), _plain(value, shared)) for key, value in thing.items()))
        return shared[id(thing)]
    if isinstance(thing, Set):
        return sorted(repr(_plain(each, shared)) for each in thing)
    return [_plain(each, shared) for each in thing] if isinstance(thing, list | tuple) else repr(thing)


def _sha256(plain: Any) -> str:
    return hashlib.sha256(repr(plain).encode()).hexdigest()


def levels(tree: TreeIR) -> Iterator[Ids]:
    """The nodes of each depth, from the root down."""
    rows = np.array([0])
    while len(rows):
        yield rows
        inner = rows[tree.feature[rows] != LEAF]
        rows = np.concatenate([tree.low[inner], tree.high[inner]])


def topological_order(tree: TreeIR) -> Ids:
    """Every node after its parent."""
    return np.concatenate([*levels(tree)])


def summed_up(tree: TreeIR, numbers: NDArray[Any]) -> NDArray[Any]:
    """Numbers of leaves added up over all nodes above them, NaN as 0; what stands on inner nodes does not count."""
    total = np.array(np.nan_to_num(numbers))
    for rows in reversed([*levels(tree)]):
        inner = rows[tree.feature[rows] != LEAF]
        total[inner] = total[tree.low[inner]] + total[tree.high[inner]]
    return total


def boosted_model(
    format: str, features: tuple[str, ...], classes: tuple[str, ...], trees: tuple[TreeIR, ...], *, log: bool = False
) -> ModelIR:
    """A model of boosted trees, whose leaves are added up to scores of classes, or to a number or its logarithm."""
    if classes:
        return ModelIR(format, features, classes, trees, "scores", "boost")
    return ModelIR(format, features, classes, trees, "values", "exp_sum" if log else "sum")
