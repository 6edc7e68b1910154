"""The hidden cells of published records: which a belief may be about, and whose they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leafgate.errors import InconclusiveError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.types.belief import Belief
    from leafgate.types.release import Release
    from leafgate.types.table import Table


def hidden_cells(belief: Belief, release: Release | None) -> NDArray[Any]:
    """The positions of a belief's cells, if its records hide them all.

    A cell is hidden where it is withheld, and where noise is on its column. InconclusiveError for any other.
    """
    import numpy as np

    cells = np.array(belief.record_positions)
    records = None if release is None else release.records
    if release is None or records is None or belief.secret not in records.columns:
        raise InconclusiveError("its belief is about cells that no record shows")
    if cells.ndim != 1 or cells.dtype.kind not in "iu" or len(set(cells.tolist())) < len(cells):
        raise InconclusiveError("its belief needs each of its cells once, as a position among the records")
    if not len(cells) or not 0 <= cells.min() <= cells.max() < len(records.rows):
        raise InconclusiveError("its belief is about records that are not there")
    if belief.records is not None or belief.population_groups is not None:
        raise InconclusiveError("its belief is about cells, so it can have no records of its own and no population")
    place = records.columns.index(belief.secret)
    if belief.secret not in release.noise and not all(
        records.rows[cell][place] == {"withheld": True} for cell in cells.tolist()
    ):
        raise InconclusiveError("its belief is about cells that the records show")
    if belief.estimates is not None and np.shape(belief.estimates) != cells.shape:
        raise InconclusiveError("its belief needs one estimate a cell")
    cells.setflags(write=False)
    return cells


def align_to_records(
    belief: Belief, release: Release, origins: Sequence[int] | None, table: Table
) -> tuple[Belief, Table]:
    """The part of a belief that is judged, and the people behind its cells; `table` is the one built from."""
    mine = _judged_part(belief, origins, table)
    assert mine.record_positions is not None  # laid out are beliefs about cells
    return mine, records_of_cells(mine.record_positions, release, origins, table)


def _judged_part(belief: Belief, origins: Sequence[int] | None, table: Table) -> Belief:
    """The belief about the cells that are secret: all of a sensitive column, else those that are protected.

    UnreadableError where none of the cells is protected: what is withheld for the sake of others need not
    itself stay unknown.
    """
    import numpy as np

    secret = str(belief.secret)
    if belief.record_positions is None or origins is None or "sensitive" in table.schema[secret].roles:
        return belief
    marks = table.protected.get(secret)
    if marks is None:
        raise UnreadableError("no cell of this column is protected")
    mine = np.flatnonzero(marks[np.asarray(origins, dtype=np.int64)[belief.record_positions]])
    if not len(mine):
        raise UnreadableError("none of the cells is protected")

    def some(chances: pd.DataFrame | None) -> pd.DataFrame | None:
        return None if chances is None else chances.iloc[mine].reset_index(drop=True)

    return replace(
        belief,
        record_positions=belief.record_positions[mine],
        posterior=some(belief.posterior),
        prior=some(belief.prior),
        equivalence_class=None if belief.equivalence_class is None else belief.equivalence_class[mine],
        estimates=None if belief.estimates is None else np.asarray(belief.estimates)[mine],
    )


def records_of_cells(cells: NDArray[Any], release: Release, origins: Sequence[int] | None, table: Table) -> Table:
    """The people whose published records hold the cells: a row for each, in their order, as they are in the table.

    `table` is the one the release was built from; InconclusiveError where it is not known who they are.
    """
    import numpy as np

    from leafgate.types.table import Table

    if origins is None or release.records is None:
        raise InconclusiveError(
            "whose the published records are is known only where the release is built",
            remedy="audit the policy that builds it, or name its `origins`",
        )
    rows = np.asarray(origins, dtype=np.int64)[cells]
    weight = np.array(release.records.weight, dtype=np.int64)[cells]
    first = np.unique(rows, return_index=True)[1]
    counted = None if table.rows is None else np.where(np.isin(np.arange(len(rows)), first), table.rows[rows], 0)
    frame = table.frame.iloc[rows].reset_index(drop=True)
    return Table(table.schema, frame, weight, rows=counted, counts_people=table.counts_people)
