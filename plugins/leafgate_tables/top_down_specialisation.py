"""Top-down specialisation: everything is `*` at first; the best valid refinement is made, again and again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from leafgate.api import Records, Release, lazy, make_table
from leafgate_tables.generalisation import Generalisation, GeneralisingBuilder, Groups, Thresholds, refuse_small
from leafgate_tables.raw_table import as_they_are, class_column, records_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from leafgate.algorithms.induction import encoding, greedy, growth, paths, pruning, splits
    from leafgate.algorithms.induction.encoding import EncodedTable, Feature
    from leafgate.api import Codes, Floats, Table
else:
    np, pd = lazy("numpy"), lazy("pandas")
    encoding, greedy, growth, paths, pruning, splits = (
        lazy(f"leafgate.algorithms.induction.{name}")
        for name in ("encoding", "greedy", "growth", "paths", "pruning", "splits")
    )


class Tds(GeneralisingBuilder):
    """Generalise the table from the top down until k-anonymity allows no more, then learn a tree from it.

    Every column is generalised the same way for everyone.
    """

    use: Literal["tds"] = "tds"
    choose_from: Literal["train", "train_and_test"] = Field(
        "train", description="The rows that choose the generalisation; k then holds of all of them together."
    )

    policy_example = "k: 10"
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


@dataclass(eq=False)
class Part:
    """A value of a generalised column: the codes it stands for, the rows that have it, and how it would be refined.

    `side` says for each of `rows` into which of `parts` (sets of codes) it goes; no `parts`: it cannot be refined.
    """

    feature: int
    codes: Codes
    rows: Codes
    parts: list[Codes] = field(default_factory=list)
    side: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    gain: float = 0.0


@dataclass
class Specialiser:
    """The state: each row's group (`of`), and the parts every public column is cut into.

    Source: Fung, Wang, Yu, "Top-Down Specialization for Information and Privacy Preservation", ICDE
    2005, Algorithm 1. Score = information gain over anonymity loss (the gain where nothing is
    lost); a refinement is valid when the smallest group stays at k or more.
    Departure: one virtual identifier, all public columns together, and the class where it is public; a
    column without a hierarchy is refined from `*` to its values at once; ties go to the earlier
    column of the policy, then to the earlier value in the order of its hierarchy; a refinement
    with no gain is not made.
    """

    coded: EncodedTable
    k: int
    of: Codes
    parts: list[Part] = field(default_factory=list)

    def run(self) -> Generalisation:
        """Refine until no valid refinement gains anything."""
        everyone = np.arange(len(self.coded.classes))
        public = [i for i, feature in enumerate(self.coded.features) if feature.column.public]
        self.parts = [self._part(i, np.arange(self.coded.features[i].size), everyone) for i in public]
        waiting = [part for part in self.parts if part.gain > splits.TOLERANCE]
        while waiting:
            sizes = np.bincount(self.of, weights=self.coded.weight).astype(np.float64)
            after = [self._smallest_after(part, sizes) for part in waiting]
            waiting = [part for part, smallest in zip(waiting, after, strict=True) if smallest >= self.k]
            losses = [float(sizes.min()) - smallest for smallest in after if smallest >= self.k]
            if not waiting:
                break
            scores = [part.gain / loss if loss > 0 else part.gain for part, loss in zip(waiting, losses, strict=True)]
            best = waiting[int(np.argmax(np.round(scores, 12)))]
            children = self._refine(best)
            waiting = [part for part in waiting if part is not best] + [
                child for child in children if child.gain > splits.TOLERANCE
            ]
            waiting.sort(key=lambda part: (part.feature, int(part.codes[0])))
        return Generalisation({self.coded.features[i].column.name: self._groups(i) for i in public})

    def _part(self, i: int, codes: Codes, rows: Codes) -> Part:
        """A part with its best refinement and what that gains, in bits a person."""
        part = Part(i, codes, rows)
        cells = self._cells(part)
        parts = _halves(codes, cells) if self.coded.features[i].numeric else _finer(self.coded.features[i], codes)
        if len(parts) < 2 or not len(rows):
            return part
        number = np.full(self.coded.features[i].size, -1)
        for j, each in enumerate(parts):
            number[each] = j
        part.parts, part.side = parts, number[self.coded.codes[rows, i]]
        children = np.stack([cells[np.isin(codes, each)].sum(axis=0) for each in parts])
        gained = splits.neg_impurity(children, "gain").sum() - splits.neg_impurity(cells.sum(axis=0), "gain")
        part.gain = float(np.round(gained / cells.sum(), 12))
        return part

    def _cells(self, part: Part) -> Floats:
        """People per class for each code of a part."""
        size, n = self.coded.features[part.feature].size, self.coded.n_classes
        cell = self.coded.codes[part.rows, part.feature] * n + self.coded.classes[part.rows]
        counts = np.bincount(cell, weights=self.coded.weight[part.rows], minlength=size * n).reshape(size, n)
        return np.asarray(counts[part.codes], dtype=np.float64)

    def _smallest_after(self, part: Part, sizes: Floats) -> float:
        """People in the smallest group once a part is refined; other groups stay as they are."""
        mine = self.of[part.rows]
        after = np.bincount(mine * len(part.parts) + part.side, weights=self.coded.weight[part.rows])
        return float(min(after[after > 0].min(), sizes.min()))

    def _refine(self, part: Part) -> list[Part]:
        mine = self.of[part.rows] * len(part.parts) + part.side
        self.of[part.rows] = len(self.coded.classes) + mine
        self.of = np.unique(self.of, return_inverse=True)[1].reshape(-1)
        children = [self._part(part.feature, codes, part.rows[part.side == j]) for j, codes in enumerate(part.parts)]
        self.parts = [each for each in self.parts if each is not part] + children
        return children

    def _groups(self, i: int) -> Groups | Thresholds:
        feature = self.coded.features[i]
        mine = sorted((part.codes for part in self.parts if part.feature == i), key=lambda codes: int(codes[0]))
        if feature.numeric:
            return tuple(feature.threshold(int(codes[-1])) for codes in mine[:-1])
        return tuple(tuple(feature.values[code] for code in codes) for codes in mine)


def specialise(coded: EncodedTable, k: int, groups: Codes) -> Generalisation:
    """The generalisation of a table's public columns; `groups` divides the rows before anything is refined."""
    return Specialiser(coded, k, groups.copy()).run()


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
