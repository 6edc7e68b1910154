"""What an adversary believes of every withheld cell of published records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from leafgate import AdversaryKnowledge, Belief, Release
from leafgate.errors import InconclusiveError
from leafgate_downgrading.adversaries import learned
from leafgate_downgrading.grid import WITHHELD, cells_read, coded

if TYPE_CHECKING:
    from leafgate_downgrading import CellAttack


def infer(options: CellAttack, release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
    """One belief for each column with withheld cells; InconclusiveError where there are none.

    Numbers without `bins` have nothing to believe probabilities of, and are left out; cells that are generalised
    count as not seen.
    """
    records = release.records
    if records is None or not any(WITHHELD in row for row in records.rows):
        raise InconclusiveError("the release withholds no cell")
    cells, hidden = cells_read(records, release.schema)
    grid, _ = coded(cells, hidden)
    rows = np.flatnonzero(hidden.any(axis=1))
    beliefs = []
    for place, (mine, chances) in sorted(learned(options, grid).posterior(grid.codes[rows], rows).items()):
        column = cells.columns[place]
        withheld = np.array([records.rows[row][place] == WITHHELD for row in rows[mine].tolist()])
        if column.countable and withheld.any():
            frame = pd.DataFrame(chances[withheld], columns=pd.Index(column.domain, dtype=object))
            beliefs.append(Belief(column.name, None, frame, record_positions=rows[mine][withheld]))
    if not beliefs:
        raise InconclusiveError("the release withholds numbers only, which have no `bins`")
    return beliefs
