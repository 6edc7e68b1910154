"""Top-down specialisation: everything is `*` at first; the best valid refinement is made, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import Field

from leafgate.api import InconclusiveError, LargeTable, Records, Release, Schema, lazy, make_table
from leafgate_plugins.tables.generalisation import Generalisation, GeneralisingBuilder, Groups, Thresholds, refuse_small
from leafgate_plugins.tables.raw_table import as_they_are, class_column, records_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.algorithms.induction import encoding, greedy, growth, large, paths, pruning, splits
    from leafgate.algorithms.induction.encoding import EncodedTable, Feature
    from leafgate.algorithms.induction.large import EncodedBlocks
    from leafgate.api import Codes, Floats, Mask, Table

    SmallNumbers = NDArray[np.unsignedinteger[Any]]
else:
    np, pd = lazy("numpy"), lazy("pandas")
    encoding, greedy, growth, large, paths, pruning, splits = (
        lazy(f"leafgate.algorithms.induction.{name}")
        for name in ("encoding", "greedy", "growth", "large", "paths", "pruning", "splits")
    )

MAX_COUNTERS = 2**25
"""Groups of people times parts of a column that are counted at once in a table that does not fit into memory."""


class Tds(GeneralisingBuilder):
    """Generalise the table from the top down until k-anonymity allows no more, then learn a tree from it.

    Every column is generalised the same way for everyone.
    """

    use: Literal["tds"] = "tds"
    choose_from: Literal["train", "train_and_test"] = Field(
        "train", description="The rows that choose the generalisation; k then holds of all of them together."
    )

    policy_example = "k: 10"
    needs_class = True
    formula = "repeat the valid specialisation with the most information gain per anonymity lost; then C4.5 or ID3"
    source = (
        'B. Fung, K. Wang, P. Yu, "Top-Down Specialization for Information and Privacy Preservation", ICDE 2005; '
        "departures: docs/explanation/baselines.md"
    )

    @property
    def wants_test(self) -> bool:
        return self.choose_from == "train_and_test"

    def build(self, table: Table, rng: np.random.Generator, test: Table | None = None) -> Release:
        """The tree, the generalised table, or both; NoReleaseError when even one group would be too small.

        With `test` the generalisation is chosen from its rows too, and k holds of both together; then
        nothing is claimed of the table alone.
        """
        coded = encoding.encode(table)
        chosen_from = coded if test is None else encoding.encode(_concatenate(table, test))
        public_class = table.schema.target.public
        groups = chosen_from.classes if public_class else np.zeros(len(chosen_from.classes), dtype=np.int64)
        refuse_small(chosen_from, groups, self.k)
        generalisation = specialise(chosen_from, self.k, np.unique(groups, return_inverse=True)[1].reshape(-1))
        coarse = generalisation.coarse(coded)
        ratio = self.measure == "gain_ratio"
        root = greedy.grow(coarse, self.measure, average_gain=ratio, min_leaf=2 if ratio else 1)
        if self.prune:
            pruning.prune(root, self.confidence)
        tree = generalisation.translated(growth.finished(coarse, root, table.schema))
        records = _records(coded, table, generalisation) if self.release != "tree" else None
        return self._release(table.schema, tree, records, {"k": self.k} if test is None else {})

    def builds_large(self, schema: Schema) -> bool:
        """A tree, where the table alone chooses the generalisation."""
        return self.release == "tree" and self.choose_from == "train"

    def build_large(self, table: LargeTable, rng: np.random.Generator) -> Release:
        """The tree that `build` grows of these people.

        Raises as `build` does, and InconclusiveError when the groups of people do not fit into memory.
        """
        encoded, by_class = large.encode_blocks(table), table.schema.target.public
        overall = encoded.overall
        refuse_small(overall, overall.classes if by_class else np.zeros_like(overall.classes), self.k)
        groups = GroupsOfBlocks.of(encoded, by_class=by_class)
        generalisation = Specialiser(encoded.features, encoded.value_counts(), self.k, groups).run()
        coarse, ratio = generalisation.coarse_blocks(encoded), self.measure == "gain_ratio"
        root = greedy.grow_large(coarse, self.measure, average_gain=ratio, min_leaf=2 if ratio else 1)
        if self.prune:
            pruning.prune(root, self.confidence)
        tree = generalisation.translated(growth.finished(coarse.overall, root, table.schema))
        return self._release(table.schema, tree, None, {"k": self.k})


@dataclass(eq=False)
class Part:
    """A value of a generalised column: the codes it stands for, and how it would be refined.

    `parts` are the sets of codes into which it would be divided; none: it cannot be refined.
    """

    feature: int
    codes: Codes
    parts: list[Codes] = field(default_factory=list)
    gain: float = 0.0

    def sides(self, size: int) -> Codes:
        """For each of the `size` codes of the feature the number of its set in `parts`, -1 where it is in none."""
        side = np.full(size, -1)
        for number, codes in enumerate(self.parts):
            side[codes] = number
        return side


class PeopleGroups(Protocol):
    """The groups of people with the same generalised cells, and with the same class where it is public."""

    @property
    def sizes(self) -> Floats:
        """The people of each group, of which none is empty."""
        ...

    def smallest_after(self, parts: Sequence[Part]) -> list[float]:
        """For each part the people of the smallest group that would come out of its refinement."""
        ...

    def refine(self, part: Part) -> None:
        """Divide the groups whose people have this part."""
        ...


@dataclass
class Specialiser:
    """The state: the groups of people, and the parts every public column is cut into.

    `counts` has for each feature the people of each code and class. The people of a part are all those with its codes,
    so its gain and how it is refined follow from these; only the sizes of groups depend on several columns.

    Source: Fung, Wang, Yu, "Top-Down Specialization for Information and Privacy Preservation", ICDE
    2005, Algorithm 1. Score = information gain over anonymity loss (the gain where nothing is
    lost); a refinement is valid when the smallest group stays at k or more.
    Departure: one virtual identifier, all public columns together, and the class where it is public; a
    column without a hierarchy is refined from `*` to its values at once; ties go to the earlier
    column of the policy, then to the earlier value in the order of its hierarchy; a refinement
    with no gain is not made.
    """

    features: Sequence[Feature]
    counts: Sequence[Floats]
    k: int
    groups: PeopleGroups
    parts: list[Part] = field(default_factory=list)

    def run(self) -> Generalisation:
        """Refine until no valid refinement gains anything."""
        public = [i for i, feature in enumerate(self.features) if feature.column.public]
        self.parts = [self._part(i, np.arange(self.features[i].size)) for i in public]
        waiting = [part for part in self.parts if part.gain > splits.TOLERANCE]
        while waiting:
            now = float(self.groups.sizes.min())
            after = [min(smallest, now) for smallest in self.groups.smallest_after(waiting)]
            waiting = [part for part, smallest in zip(waiting, after, strict=True) if smallest >= self.k]
            losses = [now - smallest for smallest in after if smallest >= self.k]
            if not waiting:
                break
            scores = [part.gain / loss if loss > 0 else part.gain for part, loss in zip(waiting, losses, strict=True)]
            best = waiting[int(np.argmax(np.round(scores, 12)))]
            self.groups.refine(best)
            children = [self._part(best.feature, codes) for codes in best.parts]
            self.parts = [part for part in self.parts if part is not best] + children
            waiting = [part for part in waiting if part is not best] + [
                child for child in children if child.gain > splits.TOLERANCE
            ]
            waiting.sort(key=lambda part: (part.feature, int(part.codes[0])))
        return Generalisation({self.features[i].column.name: self._groups(i) for i in public})

    def _part(self, i: int, codes: Codes) -> Part:
        """A part with its best refinement and what that gains, in bits a person."""
        part, cells = Part(i, codes), self.counts[i][codes]
        parts = _halves(codes, cells) if self.features[i].numeric else _finer(self.features[i], codes)
        if len(parts) < 2 or not cells.any():
            return part
        part.parts = parts
        children = np.stack([cells[np.isin(codes, each)].sum(axis=0) for each in parts])
        gained = splits.neg_impurity(children, "gain").sum() - splits.neg_impurity(cells.sum(axis=0), "gain")
        part.gain = float(np.round(gained / cells.sum(), 12))
        return part

    def _groups(self, i: int) -> Groups | Thresholds:
        feature = self.features[i]
        mine = sorted((part.codes for part in self.parts if part.feature == i), key=lambda codes: int(codes[0]))
        if feature.numeric:
            return tuple(feature.threshold(int(codes[-1])) for codes in mine[:-1])
        return tuple(tuple(feature.values[code] for code in codes) for codes in mine)


def specialise(coded: EncodedTable, k: int, groups: Codes) -> Generalisation:
    """The generalisation of a table's public columns; `groups` divides the rows before anything is refined."""
    return Specialiser(coded.features, encoding.value_counts(coded), k, GroupsOfRows(coded, groups.copy())).run()


@dataclass
class GroupsOfRows:
    """The groups of the rows of a table in memory: `group` has the number of each row's.

    `members` has for each part, by its feature and first code, the rows that have it.
    """

    coded: EncodedTable
    group: Codes
    members: dict[tuple[int, int], Codes] = field(default_factory=dict)
    _sides: dict[Part, Codes] = field(default_factory=dict)

    @property
    def sizes(self) -> Floats:
        return np.bincount(self.group, weights=self.coded.weight).astype(np.float64)

    def smallest_after(self, parts: Sequence[Part]) -> list[float]:
        return [self._smallest_after(part) for part in parts]

    def _smallest_after(self, part: Part) -> float:
        rows, side = self._rows_and_sides(part)
        after = np.bincount(self.group[rows] * len(part.parts) + side, weights=self.coded.weight[rows])
        return float(after[after > 0].min())

    def refine(self, part: Part) -> None:
        rows, side = self._rows_and_sides(part)
        self.group[rows] = len(self.coded.classes) + self.group[rows] * len(part.parts) + side
        self.group = np.unique(self.group, return_inverse=True)[1].reshape(-1)
        for number, codes in enumerate(part.parts):
            self.members[part.feature, int(codes[0])] = rows[side == number]
        del self._sides[part]

    def _rows_and_sides(self, part: Part) -> tuple[Codes, Codes]:
        """The rows that have a part, and the set of its `parts` that each is in."""
        rows = self.members.setdefault((part.feature, int(part.codes[0])), np.arange(len(self.group)))
        if part not in self._sides:
            size = self.coded.features[part.feature].size
            self._sides[part] = part.sides(size)[self.coded.codes[rows, part.feature]]
        return rows, self._sides[part]


@dataclass
class GroupsOfBlocks:
    """The same groups of a table that does not fit into memory: their sizes are counted block by block.

    `group` has for each block the number of each record's group. No group has fewer than k people, so there are at most
    people / k of them, and a record takes four bytes at most.
    """

    encoded: EncodedBlocks
    group: list[SmallNumbers]
    sizes: Floats

    @classmethod
    def of(cls, encoded: EncodedBlocks, *, by_class: bool) -> GroupsOfBlocks:
        """One group of everybody, or one for each class that somebody has."""
        people = encoded.class_counts if by_class else encoded.class_counts.sum(keepdims=True)
        number = _numbered(people > 0)
        group = [number[coded.classes if by_class else np.zeros_like(coded.classes)] for coded in encoded.tables()]
        return cls(encoded, group, people[people > 0].astype(np.float64))

    def smallest_after(self, parts: Sequence[Part]) -> list[float]:
        result: dict[Part, float] = {}
        for feature in dict.fromkeys(part.feature for part in parts):
            result |= self._smallest_of_column([part for part in parts if part.feature == feature])
        return [result[part] for part in parts]

    def _smallest_of_column(self, parts: Sequence[Part]) -> dict[Part, float]:
        """The same for parts of one column: everybody in a group has the same one, so all are counted together."""
        i, width = parts[0].feature, max(len(part.parts) for part in parts)
        side, of_part = np.full(self.encoded.features[i].size, -1), np.full(self.encoded.features[i].size, -1)
        for number, part in enumerate(parts):
            side[part.codes], of_part[part.codes] = part.sides(len(side))[part.codes], number
        people, part_of_group = self._counters(width), np.full(len(self.sizes), -1)
        for group, (codes, weight) in zip(self.group, self.encoded.columns(i), strict=True):
            inside = np.flatnonzero(side[codes] >= 0)
            mine, its = group[inside].astype(np.int64), codes[inside]
            people += np.bincount(mine * width + side[its], weights=weight[inside], minlength=len(people))
            part_of_group[mine] = of_part[its]
        smallest = np.where(people > 0, people, np.inf).reshape(-1, width).min(axis=1)
        return {part: float(smallest[part_of_group == number].min()) for number, part in enumerate(parts)}

    def refine(self, part: Part) -> None:
        width, side = len(part.parts), np.maximum(part.sides(self.encoded.features[part.feature].size), 0)
        people = self._counters(width)
        for number, (codes, weight) in enumerate(self.encoded.columns(part.feature)):
            cell = self.group[number].astype(np.int64) * width + side[codes]
            people += np.bincount(cell, weights=weight, minlength=len(people))
            self.group[number] = cell.astype(np.min_scalar_type(len(people)))
        renumbered = _numbered(people > 0)
        self.group = [renumbered[cell] for cell in self.group]
        self.sizes = people[people > 0]

    def _counters(self, width: int) -> Floats:
        """A number for each group and each of so many parts of it; InconclusiveError where these are too many."""
        if len(self.sizes) * width > MAX_COUNTERS:
            raise InconclusiveError(
                f"the generalised table has {len(self.sizes):,} groups of people, too many to be counted in memory",
                place="build",
                remedy="raise k, or give columns of many values a hierarchy",
            )
        return np.zeros(len(self.sizes) * width)


def _numbered(present: Mask) -> SmallNumbers:
    """Rising numbers from 0 for the positions that are present, in the smallest whole numbers that hold them."""
    numbers: SmallNumbers = np.maximum(np.cumsum(present) - 1, 0).astype(np.min_scalar_type(int(present.sum())))
    return numbers


def _finer(feature: Feature, codes: Codes) -> list[Codes]:
    """The parts of a categorical group on the coarsest level that separates some of its values."""
    for level in reversed(feature.levels):
        names = level[codes]
        if len(np.unique(names)) > 1:
            return [codes[names == name] for name in np.unique(names)]
    return []


def _halves(codes: Codes, cells: Floats) -> list[Codes]:
    """The cut of a run of numbers that gains most, the lowest among equals."""
    held = np.flatnonzero(cells.any(axis=1))
    if len(held) < 2:
        return []
    low = cells[held].cumsum(axis=0)[:-1]
    gains = splits.neg_impurity(low, "gain") + splits.neg_impurity(cells.sum(axis=0) - low, "gain")
    best = int(np.argmax(np.round(gains / cells.sum(), 12)))
    after = int(held[best])
    return [codes[: after + 1], codes[after + 1 :]]


def _concatenate(table: Table, test: Table) -> Table:
    frame = pd.concat([table.frame, test.frame[list(table.frame)]], ignore_index=True)
    return make_table(table.schema, frame, np.concatenate([table.weight, test.weight]))


def _records(coded: EncodedTable, table: Table, generalisation: Generalisation) -> Records:
    """One record for each combination of generalised public cells, private cells and class."""
    paths.refuse_gaps((feature for feature in coded.features if feature.column.public), "build.release")
    items = [
        generalisation.published_column(coded, i) if feature.column.public else as_they_are(coded, i)
        for i, feature in enumerate(coded.features)
    ]
    return records_of([*items, class_column(coded, table.schema)], coded.weight)
