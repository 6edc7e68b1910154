"""Top-down specialisation: everything is `*` at first; the best valid refinement is made, again and again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from leafgate.algorithms.induction.encoding import EncodedTable, Feature
from leafgate.algorithms.induction.encoding import encode as code_table
from leafgate.algorithms.induction.greedy import grow
from leafgate.algorithms.induction.growth import finished
from leafgate.algorithms.induction.paths import refuse_gaps
from leafgate.algorithms.induction.pruning import prune
from leafgate.algorithms.induction.splits import TOLERANCE, neg_impurity
from leafgate.types.arrays import Codes, Floats
from leafgate.types.release import Records, Release
from leafgate.types.table import Table, make_table
from leafgate_tables.generalisation import Generalisation, Groups, Thresholds, refuse_small, release_of
from leafgate_tables.raw_table import as_they_are, class_column, records_of

if TYPE_CHECKING:
    from leafgate_tables import Tds


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
        waiting = [part for part in self.parts if part.gain > TOLERANCE]
        while waiting:
            sizes = np.bincount(self.of, weights=self.coded.weight).astype(np.float64)
            after = [self._smallest_after(part, sizes) for part in waiting]
            waiting = [part for part, smallest in zip(waiting, after, strict=True) if smallest >= self.k]
            losses = [float(sizes.min()) - smallest for smallest in after if smallest >= self.k]
            if not waiting:
                break
            scores = [part.gain / loss if loss > 0 else part.gain for part, loss in zip(waiting, losses, strict=True)]
            best = waiting[int(np.argmax(np.round(scores, 12)))]
            sons = self._refine(best)
            waiting = [part for part in waiting if part is not best] + [son for son in sons if son.gain > TOLERANCE]
            waiting.sort(key=lambda part: (part.feature, int(part.codes[0])))
        return Generalisation({self.coded.features[i].column.name: self._told(i) for i in public})

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
        sons = np.stack([cells[np.isin(codes, each)].sum(axis=0) for each in parts])
        gained = neg_impurity(sons, "gain").sum() - neg_impurity(cells.sum(axis=0), "gain")
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
        sons = [self._part(part.feature, codes, part.rows[part.side == j]) for j, codes in enumerate(part.parts)]
        self.parts = [each for each in self.parts if each is not part] + sons
        return sons

    def _told(self, i: int) -> Groups | Thresholds:
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
    gains = neg_impurity(low, "gain") + neg_impurity(cells.sum(axis=0) - low, "gain")
    best = int(np.argmax(np.round(gains / cells.sum(), 12)))
    after = int(held[best])
    return [codes[: after + 1], codes[after + 1 :]]


def build(options: Tds, table: Table, test: Table | None) -> Release:
    """The tree, the generalised table, or both; NoReleaseError when even one group would be too small.

    With `test` the generalisation is chosen from its rows too, and k holds of both together; then
    nothing is claimed of the table alone.
    """
    coded = code_table(table)
    chosen_from = coded if test is None else code_table(_together(table, test))
    public_class = table.schema.target.public
    groups = chosen_from.classes if public_class else np.zeros(len(chosen_from.classes), dtype=np.int64)
    refuse_small(chosen_from, groups, options.k)
    generalisation = specialise(chosen_from, options.k, np.unique(groups, return_inverse=True)[1].reshape(-1))
    coarse = generalisation.coarse(coded)
    ratio = options.measure == "gain_ratio"
    root = grow(coarse, options.measure, average_gain=ratio, min_leaf=2 if ratio else 1)
    if options.prune:
        prune(root, options.confidence)
    tree = generalisation.translated(finished(coarse, root, table.schema))
    records = _records(coded, table, generalisation) if options.release != "tree" else None
    return release_of(options, table, tree, records, {"k": options.k} if test is None else {})


def _together(table: Table, test: Table) -> Table:
    frame = pd.concat([table.frame, test.frame[list(table.frame)]], ignore_index=True)
    return make_table(table.schema, frame, np.concatenate([table.weight, test.weight]))


def _records(coded: EncodedTable, table: Table, generalisation: Generalisation) -> Records:
    """One record for each combination of generalised public cells, private cells and class."""
    refuse_gaps((feature for feature in coded.features if feature.column.public), "build.release")
    items = [
        generalisation.published_column(coded, i) if feature.column.public else as_they_are(coded, i)
        for i, feature in enumerate(coded.features)
    ]
    return records_of([*items, class_column(coded, table.schema)], coded.weight)
