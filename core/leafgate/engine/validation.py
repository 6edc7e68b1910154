"""Validation of beliefs: what an attack returns is checked before anything is scored.

A belief about the hidden cells of published records is also aligned here to the people behind these cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from leafgate.errors import InconclusiveError, UnreadableError
from leafgate.types.belief import Belief, Certainty, rows_for
from leafgate.types.evidence import CORE_OF_ATTACKS, checked_evidence

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.types.adversary import AdversaryKnowledge
    from leafgate.types.release import Release
    from leafgate.types.table import Table

POSTERIOR_TOLERANCE = 1e-6
"""Posteriors of people in one equivalence class may differ by this much, as floating point does."""


def validate_belief(belief: object, known: AdversaryKnowledge, release: Release | None = None) -> Belief:
    """The belief with its equivalence classes as an array; InconclusiveError says what is wrong with it."""
    if not isinstance(belief, Belief):
        raise InconclusiveError(f"returned a {type(belief).__name__} where a Belief belongs")
    rows = len(known.records)
    if belief.record_positions is not None:
        cells = hidden_cells(belief, release)
        belief, rows = replace(belief, record_positions=cells), len(cells)
    elif belief.estimates is not None:
        raise InconclusiveError("its belief has estimates, which are of hidden cells alone")
    if belief.records is not None:
        rows_for(known, belief.records)
        rows = len(belief.records)
    _check_order(belief)
    groups = None if belief.equivalence_class is None else _class_numbers(belief.equivalence_class, rows, "records")
    if belief.population_groups is not None:
        people = 0 if known.population is None else len(known.population)
        belief = replace(
            belief, population_groups=_class_numbers(belief.population_groups, people, "of the population")
        )
    _check_evidence(belief.evidence)
    if belief.certainty not in get_args(Certainty):
        raise InconclusiveError(f"its belief's certainty is none of {', '.join(get_args(Certainty))}")
    people = groups is not None or belief.record_positions is not None
    if (belief.secret is None) != (belief.posterior is None) or (not people and belief.posterior is not None):
        raise InconclusiveError(
            "its belief needs `secret`, `posterior` and `equivalence_class` together, or neither of the first two"
        )
    if belief.secret is not None:
        _check_secret(belief, known)
        _check_posterior(belief.secret, belief.posterior, rows, known, "posterior")
    _check_prior_and_alternatives(belief, rows, known)
    belief = _with_floats(belief)
    if groups is not None:
        at_once = [belief.posterior, *belief.alternative_posteriors] if belief.prior is None else [belief.prior]
        _check_equal_within_classes(groups, at_once)
    return replace(belief, equivalence_class=groups)


def _check_prior_and_alternatives(belief: Belief, rows: int, known: AdversaryKnowledge) -> None:
    """The prior and the alternative posteriors are laid out like the posterior."""
    if belief.prior is not None:
        _check_posterior(belief.secret, belief.prior, rows, known, "prior")
    for other in belief.alternative_posteriors:
        _check_posterior(belief.secret, other, rows, known, "alternative posterior")


def _check_order(belief: Belief) -> None:
    """Refuse an index that numbers the records in another order than theirs, with an InconclusiveError.

    Rows are read by position. Where an attack has records of its own, or speaks of hidden cells, these number the rows.
    """
    if belief.records is not None or belief.record_positions is not None:
        return
    import pandas as pd

    parts = (belief.posterior, belief.prior, *belief.alternative_posteriors, belief.equivalence_class)
    if any(is_reordered(part.index) for part in parts if isinstance(part, pd.DataFrame | pd.Series)):
        raise InconclusiveError("its belief has its rows in another order than the records")


def _with_floats(belief: Belief) -> Belief:
    """The belief with all probabilities as floats, whatever kind of number the attack chose."""

    def floats(chances: pd.DataFrame | None) -> pd.DataFrame | None:
        return None if chances is None else chances.astype(float)

    others = tuple(chances.astype(float) for chances in belief.alternative_posteriors)
    return replace(
        belief, posterior=floats(belief.posterior), prior=floats(belief.prior), alternative_posteriors=others
    )


def _class_numbers(groups: object, rows: int, noun: str) -> NDArray[Any]:
    import numpy as np

    numbers = np.array(groups)
    numbers.setflags(write=False)
    if numbers.shape != (rows,) or numbers.dtype.kind not in "iu":
        raise InconclusiveError(f"its belief needs a whole number for each of {rows} {noun} as equivalence classes")
    return numbers


def _check_secret(belief: Belief, known: AdversaryKnowledge) -> None:
    secret = belief.secret
    if not isinstance(secret, str) or secret not in known.schema:
        raise InconclusiveError("its belief is about a column the policy does not have")
    if "sensitive" not in known.schema[secret].roles and belief.record_positions is None:
        raise InconclusiveError("its belief is about a column that is no secret")


def _check_posterior(secret: Any, chances: object, rows: int, known: AdversaryKnowledge, noun: str) -> None:
    import numpy as np
    import pandas as pd

    if not known.schema[secret].countable:
        raise InconclusiveError("its belief is about numbers that have no `bins`")
    if not isinstance(chances, pd.DataFrame) or list(chances.columns) != list(known.schema[secret].domain):
        raise InconclusiveError(f"the columns of its {noun} are not the secret's domain, in order")
    if not all(are_real_numbers(chances.iloc[:, i]) for i in range(chances.shape[1])):
        raise InconclusiveError(f"its {noun} has cells that are not numbers")
    try:
        numbers = chances.to_numpy(dtype=float)
    except (TypeError, ValueError):
        raise InconclusiveError(f"its {noun} has cells that are not numbers") from None
    if len(numbers) != rows or not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InconclusiveError(f"its {noun} needs one row of probabilities for each record")
    if not np.allclose(numbers.sum(axis=1), 1, atol=1e-6):
        raise InconclusiveError(f"the rows of its {noun} do not sum to 1")


def are_real_numbers(numbers: object) -> bool:
    """Are they stored as real numbers, each of them present, and not as texts, dates or complex numbers?"""
    import numpy as np

    if np.ma.isMaskedArray(numbers) and np.ma.is_masked(numbers):
        return False
    array = np.asarray(numbers)
    if array.dtype.kind == "O":
        return not any(isinstance(number, str | bytes | complex) for number in array.ravel())
    return array.dtype.kind in "biuf"


def is_reordered(index: pd.Index) -> bool:
    """Does the index number the rows 0, 1, 2, ... in another order? Numbers are read by position."""
    import numpy as np

    positions = np.arange(len(index))
    if index.dtype.kind not in "iu" or np.array_equal(index, positions):
        return False
    return bool(np.array_equal(np.sort(index), positions))


def _check_equal_within_classes(groups: NDArray[Any], several: Sequence[pd.DataFrame | None]) -> None:
    """Refuse an equivalence class whose records have different probabilities, with an InconclusiveError.

    Knowledge besides the release may distinguish them in the posterior; the prior is without that knowledge.
    """
    import numpy as np

    order = np.argsort(groups, kind="stable")
    grouped = groups[order]
    first = np.flatnonzero(np.append(True, grouped[1:] != grouped[:-1])[: len(grouped)])
    for chances in several:
        if chances is None or not len(grouped):
            continue
        numbers = chances.to_numpy(dtype=float)[order]
        apart = np.maximum.reduceat(numbers, first) - np.minimum.reduceat(numbers, first)
        if (apart > POSTERIOR_TOLERANCE).any():
            raise InconclusiveError(
                "its belief has different rows for people of one equivalence class: they must be equal"
            )


def _check_evidence(evidence: object) -> None:
    result = checked_evidence(evidence, CORE_OF_ATTACKS)
    for names in (result.get("refutes", ()), result.get("tries", ())):
        if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
            raise InconclusiveError("its evidence must list the guarantees it refutes, or tries to, by name")


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
    """The part of a belief about hidden cells that is scored, and the people behind its cells.

    `table` is the one that the release was built from.
    """
    scored = _part_about_secrets(belief, origins, table)
    assert scored.record_positions is not None  # only beliefs about cells are aligned
    return scored, records_of_cells(scored.record_positions, release, origins, table)


def _part_about_secrets(belief: Belief, origins: Sequence[int] | None, table: Table) -> Belief:
    """The belief about the cells that are secret: all of a sensitive column, else those that are protected.

    UnreadableError where none of the cells is protected: a cell that is withheld only to protect another cell need not
    stay unknown.
    """
    import numpy as np

    secret = str(belief.secret)
    if belief.record_positions is None or origins is None or "sensitive" in table.schema[secret].roles:
        return belief
    marks = table.protected.get(secret)
    if marks is None:
        raise UnreadableError("no cell of this column is protected")
    positions = np.flatnonzero(marks[np.asarray(origins, dtype=np.int64)[belief.record_positions]])
    if not len(positions):
        raise UnreadableError("none of the cells is protected")

    def part(posterior: pd.DataFrame | None) -> pd.DataFrame | None:
        return None if posterior is None else posterior.iloc[positions].reset_index(drop=True)

    return replace(
        belief,
        record_positions=belief.record_positions[positions],
        posterior=part(belief.posterior),
        prior=part(belief.prior),
        equivalence_class=None if belief.equivalence_class is None else belief.equivalence_class[positions],
        estimates=None if belief.estimates is None else np.asarray(belief.estimates)[positions],
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
