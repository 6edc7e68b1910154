"""Validation of beliefs: what an attack returns is checked before anything is scored.

A belief about the hidden cells of published records is also aligned here to the people behind these cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from leafgate.engine.evidence import checked_evidence
from leafgate.errors import InconclusiveError, UnreadableError
from leafgate.kernel.belief import (
    BELIEF_TYPES,
    AttributeBelief,
    Belief,
    CellBelief,
    Certainty,
    GroupBelief,
    MechanismBelief,
    MembershipBelief,
    PosteriorBelief,
    SecretBelief,
    TableBelief,
    rows_for,
)
from leafgate.kernel.evidence import CORE_OF_ATTACKS

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.kernel.knowledge import AdversaryKnowledge
    from leafgate.kernel.release import Release
    from leafgate.kernel.table import Table

B = TypeVar("B", bound=PosteriorBelief)
POSTERIOR_TOLERANCE = 1e-6
"""Posteriors of people in one equivalence class may differ by this much, as floating point does."""


def validate_belief(belief: object, known: AdversaryKnowledge, release: Release | None = None) -> Belief:
    """The belief, its equivalence classes and scores as arrays; InconclusiveError says what is wrong with it."""
    if not isinstance(belief, Belief) or type(belief) not in BELIEF_TYPES:
        names = [kind.__name__ for kind in BELIEF_TYPES]
        wanted = f"{', '.join(names[:-1])} or {names[-1]}"
        raise InconclusiveError(f"returned a {type(belief).__name__} where a {wanted} belongs")
    checked_evidence(belief.evidence, CORE_OF_ATTACKS)
    match belief:
        case SecretBelief():
            return _validated_secret(belief, known)
        case CellBelief():
            return _validated_cells(belief, known, release)
        case GroupBelief():
            return replace(belief, **_validated_classes(belief, known))
        case MembershipBelief():
            return _validated_membership(belief, known)
        case AttributeBelief():
            return _validated_attribute(belief, known)
        case TableBelief():
            from leafgate.engine.reconstructed_records import validated_table  # few audits need it

            return validated_table(belief, known)
        case MechanismBelief():
            return replace(belief, tries=_claims(belief.tries, "tries"), refutes=_claims(belief.refutes, "refutes"))
    raise AssertionError  # every type of BELIEF_TYPES has a case


def _validated_secret(belief: SecretBelief, known: AdversaryKnowledge) -> SecretBelief:
    """The belief about people's secrets.

    Where it has no prior, people of one equivalence class must have equal posteriors: the class says that the release
    does not distinguish them, and an attack that starts from nothing else has nothing to distinguish them by. A limit
    on the size of classes would otherwise pass for people whom the attack distinguishes. Where it has a prior, its
    posteriors may differ as much as the knowledge in that prior makes them differ.
    """
    parts = (belief.posterior, belief.prior, *belief.alternative_posteriors)
    rows = _rows_of_people(belief, known, parts)
    classes = _validated_classes(belief, known)
    groups = classes["equivalence_class"]
    if groups is None and belief.population_groups is not None:
        raise InconclusiveError("its belief has `population_groups`, which are numbered as an `equivalence_class` is")
    if groups is None and belief.certainty == "shares":
        raise InconclusiveError("its belief is certain of shares, which are of whole classes: `equivalence_class`")
    _check_certainty(belief)
    _check_secret(belief.secret, known)
    if "sensitive" not in known.schema[belief.secret].roles:
        raise InconclusiveError("its belief is about a column that is no secret")
    belief = replace(_with_checked_posteriors(belief, rows, known), **classes)
    if belief.certain_to_insiders is not None:
        belief = replace(belief, certain_to_insiders=_certain_to_insiders(belief, groups))
    if groups is not None and belief.prior is None:
        _check_equal_within_classes(groups, [belief.posterior, *belief.alternative_posteriors])
    return belief


def _certain_to_insiders(belief: SecretBelief, groups: NDArray[Any] | None) -> list[NDArray[Any]]:
    """What insiders are certain of, as arrays that cannot be written to."""
    import numpy as np

    found = [np.array(each) for each in belief.certain_to_insiders or ()]
    is_numbered = groups is not None and (not len(groups) or groups.min() >= 0)
    for insiders, pairs in enumerate(found, 1):
        fits = pairs.dtype.kind == "i" and pairs.ndim == 3 and pairs.shape[1:] == (insiders + 1, 2)
        in_domain = fits and (pairs >= 0).all() and (pairs[:, :, 1] < belief.posterior.shape[1]).all()
        if not is_numbered or not in_domain:
            raise InconclusiveError("its belief needs classes and values, for each insider, in `certain_to_insiders`")
        pairs.setflags(write=False)
    return found


def _validated_cells(belief: CellBelief, known: AdversaryKnowledge, release: Release | None) -> CellBelief:
    """The belief about hidden cells of the release's records."""
    cells = hidden_cells(belief, release)
    _check_certainty(belief)
    _check_secret(belief.secret, known)
    return replace(_with_checked_posteriors(belief, len(cells), known), record_positions=cells)


def _validated_membership(belief: MembershipBelief, known: AdversaryKnowledge) -> MembershipBelief:
    """The belief about who of the candidates is in the table."""
    import numpy as np

    if known.candidates is None:
        raise InconclusiveError("its belief is about candidates, and it is granted none: declare them in `needs`")
    wanted = (len(known.candidates),)
    scores = _candidate_numbers(belief.scores, wanted, "scores")
    p_values = _p_values(belief.p_values, wanted, "p_values")
    exclusion_p_values = _p_values(belief.exclusion_p_values, wanted, "exclusion_p_values")
    excluded = None if belief.excluded is None else np.array(belief.excluded)
    if excluded is not None and (excluded.dtype.kind != "b" or excluded.shape != wanted):
        raise InconclusiveError(f"its belief needs True or False for each of {wanted[0]} candidates in `excluded`")
    odds = None if belief.odds is None else _candidate_numbers(belief.odds, wanted, "odds", infinite=True)
    if odds is not None and (odds < 0).any():
        raise InconclusiveError("its belief has `odds` below 0")
    if belief.planted is not None and not callable(belief.planted):
        raise InconclusiveError("its belief has a `planted` that is no function of a share and a repetition")
    return replace(
        belief,
        scores=scores,
        p_values=p_values,
        excluded=excluded,
        exclusion_p_values=exclusion_p_values,
        odds=odds,
    )


def _validated_attribute(belief: AttributeBelief, known: AdversaryKnowledge) -> AttributeBelief:
    """The belief about an input of the model, of each target."""
    import numpy as np

    if belief.secret not in known.targets:
        raise InconclusiveError("its belief is about a column of which no targets are granted", remedy=WITHOUT_TARGETS)
    targets = known.targets[belief.secret]
    posterior = valid_posterior(belief.posterior, (len(targets), len(targets.secret.domain)))
    certain = None if belief.certain is None else np.array(belief.certain)
    if certain is not None and (
        certain.dtype.kind not in "iu"
        or certain.shape != (len(targets),)
        or ((certain < -1) | (certain >= posterior.shape[1])).any()
    ):
        raise InconclusiveError("its belief needs the position of a value, or -1, for each target in `certain`")
    if belief.planted is not None and not callable(belief.planted):
        raise InconclusiveError("its belief has a `planted` that is no function of values, people and a repetition")
    for array in (posterior, *(() if certain is None else (certain,))):
        array.setflags(write=False)
    return replace(belief, posterior=posterior, certain=certain)


WITHOUT_TARGETS = "speak of the columns in `known.targets`"


def valid_posterior(numbers: object, wanted: tuple[int, int]) -> NDArray[Any]:
    """A copy of a posterior of targets as floats; InconclusiveError unless it has this shape and its rows sum to 1."""
    import numpy as np

    if not are_real_numbers(numbers) or np.shape(np.asarray(numbers)) != wanted:
        raise InconclusiveError(f"its belief needs {wanted[1]} numbers for each of {wanted[0]} targets in `posterior`")
    posterior = np.array(numbers, dtype=float)
    proper = np.isfinite(posterior).all() and (posterior >= 0).all()
    if not proper or (np.abs(posterior.sum(axis=1) - 1) > POSTERIOR_TOLERANCE).any():
        raise InconclusiveError("its belief has a `posterior` that is not a distribution of each target's value")
    return posterior


def _p_values(numbers: object, wanted: tuple[int], name: str) -> NDArray[Any] | None:
    """A p-value for each candidate, from 0 to 1; None where there are none."""
    if numbers is None:
        return None
    p_values = _candidate_numbers(numbers, wanted, name)
    if ((p_values < 0) | (p_values > 1)).any():
        raise InconclusiveError(f"its belief has `{name}` that are not between 0 and 1")
    return p_values


def _candidate_numbers(numbers: object, wanted: tuple[int], name: str, *, infinite: bool = False) -> NDArray[Any]:
    """A number for each candidate, as floats that cannot be written to; with `infinite` infinity may be one."""
    import numpy as np
    import pandas as pd

    if isinstance(numbers, pd.Series) and is_reordered(numbers.index):
        raise InconclusiveError(f"its belief has its `{name}` in another order than the candidates")
    if not are_real_numbers(numbers) or np.shape(np.asarray(numbers)) != wanted:
        raise InconclusiveError(f"its belief needs a number for each of {wanted[0]} candidates in `{name}`")
    try:
        array = np.array(numbers, dtype=float)
    except (TypeError, ValueError):
        raise InconclusiveError(f"its belief needs a number for each of {wanted[0]} candidates in `{name}`") from None
    if np.isnan(array).any() or not (infinite or np.isfinite(array).all()):
        raise InconclusiveError(f"its belief has `{name}` that are not finite")
    array.setflags(write=False)
    return array


def _claims(names: object, which: str) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
        raise InconclusiveError(f"its belief must list the guarantees that it `{which}` by name")
    return tuple(names)


def _rows_of_people(belief: GroupBelief | SecretBelief, known: AdversaryKnowledge, parts: Sequence[object]) -> int:
    """How many records the belief is about: the attack's own, or the adversary's.

    Raises InconclusiveError where own records do not name every public one, and for an index that numbers rows in
    another order than theirs. Rows are read by position; where an attack has records of its own these number the rows.
    """
    import pandas as pd

    if isinstance(belief, SecretBelief) and belief.of_people:
        if known.releases is None:
            raise InconclusiveError("its belief is about people whom it is not granted: declare `releases` in `needs`")
        return known.releases.in_table
    if belief.records is not None:
        rows_for(known, belief.records)
        return len(belief.records)
    laid_out = (*parts, belief.equivalence_class)
    if any(is_reordered(part.index) for part in laid_out if isinstance(part, pd.DataFrame | pd.Series)):
        raise InconclusiveError("its belief has its rows in another order than the records")
    return len(known.records)


def _validated_classes(belief: GroupBelief | SecretBelief, known: AdversaryKnowledge) -> dict[str, Any]:
    """The belief's equivalence classes, of records and of the population, as arrays."""
    rows = _rows_of_people(belief, known, ())
    people = 0 if known.population is None else len(known.population)
    classes, others = belief.equivalence_class, belief.population_groups
    if classes is None and isinstance(belief, SecretBelief):
        return {"equivalence_class": None}
    numbers = {"equivalence_class": _class_numbers(classes, rows, "records")}
    return (
        numbers
        if others is None
        else numbers | {"population_groups": _class_numbers(others, people, "of the population")}
    )


def _check_certainty(belief: PosteriorBelief) -> None:
    if belief.certainty not in get_args(Certainty):
        raise InconclusiveError(f"its belief's certainty is none of {', '.join(get_args(Certainty))}")


def _with_checked_posteriors(belief: B, rows: int, known: AdversaryKnowledge) -> B:
    """The belief with all probabilities as floats, whatever kind of number the attack chose."""
    _check_posterior(belief.secret, belief.posterior, rows, known, "posterior")
    if belief.prior is not None:
        _check_posterior(belief.secret, belief.prior, rows, known, "prior")
    for other in belief.alternative_posteriors:
        _check_posterior(belief.secret, other, rows, known, "alternative posterior")
    return replace(
        belief,
        posterior=belief.posterior.astype(float),
        prior=None if belief.prior is None else belief.prior.astype(float),
        alternative_posteriors=tuple(other.astype(float) for other in belief.alternative_posteriors),
    )


def _class_numbers(groups: object, rows: int, noun: str) -> NDArray[Any]:
    import numpy as np

    numbers = np.array(groups)
    numbers.setflags(write=False)
    if numbers.shape != (rows,) or numbers.dtype.kind not in "iu":
        raise InconclusiveError(f"its belief needs a whole number for each of {rows} {noun} as equivalence classes")
    return numbers


def _check_secret(secret: object, known: AdversaryKnowledge) -> None:
    if not isinstance(secret, str) or secret not in known.schema:
        raise InconclusiveError("its belief is about a column the policy does not have")


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


def _check_equal_within_classes(groups: NDArray[Any], several: Sequence[pd.DataFrame]) -> None:
    """Refuse an equivalence class whose records have different probabilities, with an InconclusiveError."""
    import numpy as np

    order = np.argsort(groups, kind="stable")
    grouped = groups[order]
    first = np.flatnonzero(np.append(True, grouped[1:] != grouped[:-1])[: len(grouped)])
    for chances in several:
        if not len(grouped):
            return
        numbers = chances.to_numpy(dtype=float)[order]
        apart = np.maximum.reduceat(numbers, first) - np.minimum.reduceat(numbers, first)
        if (apart > POSTERIOR_TOLERANCE).any():
            raise InconclusiveError(
                "its belief has different rows for people of one equivalence class: they must be equal, unless a "
                "`prior` says what distinguishes these people"
            )


def hidden_cells(belief: CellBelief, release: Release | None) -> NDArray[Any]:
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
    belief: CellBelief, release: Release, origins: Sequence[int] | None, table: Table
) -> tuple[CellBelief, Table]:
    """The part of a belief about hidden cells that is scored, and the people behind its cells.

    `table` is the one that the release was built from.
    """
    scored = _part_about_secrets(belief, origins, table)
    return scored, records_of_cells(scored.record_positions, release, origins, table)


def _part_about_secrets(belief: CellBelief, origins: Sequence[int] | None, table: Table) -> CellBelief:
    """The belief about the cells that are secret: all of a sensitive column, else those that are protected.

    UnreadableError where none of the cells is protected: a cell that is withheld only to protect another cell need not
    stay unknown.
    """
    import numpy as np

    if origins is None or "sensitive" in table.schema[belief.secret].roles:
        return belief
    marks = table.protected.get(belief.secret)
    if marks is None:
        raise UnreadableError("no cell of this column is protected")
    positions = np.flatnonzero(marks[np.asarray(origins, dtype=np.int64)[belief.record_positions]])
    if not len(positions):
        raise UnreadableError("none of the cells is protected")

    return replace(
        belief,
        record_positions=belief.record_positions[positions],
        posterior=belief.posterior.iloc[positions].reset_index(drop=True),
        prior=None if belief.prior is None else belief.prior.iloc[positions].reset_index(drop=True),
        estimates=None if belief.estimates is None else np.asarray(belief.estimates)[positions],
    )


def records_of_cells(cells: NDArray[Any], release: Release, origins: Sequence[int] | None, table: Table) -> Table:
    """The people whose published records hold the cells: a row for each, in their order, as they are in the table.

    `table` is the one the release was built from; InconclusiveError where it is not known who they are.
    """
    import numpy as np

    from leafgate.kernel.table import Table

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
