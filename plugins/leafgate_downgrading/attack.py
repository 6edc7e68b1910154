"""The posterior of an adversary for every withheld cell of published records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from leafgate import AdversaryKnowledge, Belief, Release
from leafgate.errors import InconclusiveError
from leafgate_downgrading.adversaries import AdversaryModel
from leafgate_downgrading.grid import WITHHELD, encode_cells, read_cells


def infer(model: AdversaryModel, release: Release, known: AdversaryKnowledge) -> Sequence[Belief]:
    """One belief for each column with withheld cells; InconclusiveError where there are none.

    Numbers without `bins` have nothing to believe probabilities of, and are left out; cells that are generalised
    count as not seen.
    """
    records = release.records
    if records is None or not any(WITHHELD in row for row in records.rows):
        raise InconclusiveError("the release withholds no cell")
    cells, hidden = read_cells(records, release.schema)
    grid, _ = encode_cells(cells, hidden)
    rows = np.flatnonzero(hidden.any(axis=1))
    beliefs = []
    for place, (mine, chances) in sorted(model.fit(grid).posterior(grid.codes[rows], rows).items()):
        column = cells.columns[place]
        withheld = np.array([records.rows[row][place] == WITHHELD for row in rows[mine].tolist()])
        if column.countable and withheld.any():
            frame = pd.DataFrame(chances[withheld], columns=pd.Index(column.domain, dtype=object))
            beliefs.append(Belief(column.name, None, frame, record_positions=rows[mine][withheld]))
    if not beliefs:
        raise InconclusiveError("the release withholds numbers only, which have no `bins`")
    return beliefs
