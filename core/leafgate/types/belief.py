"""Belief: an adversary's posterior of one secret, and the people it cannot distinguish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from leafgate.engine.validation import hidden_cells
from leafgate.errors import InconclusiveError
from leafgate.types.evidence import CORE_OF_ATTACKS, checked_evidence

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.types.adversary import AdversaryKnowledge
    from leafgate.types.release import Release

Certainty = Literal["guess", "certain", "shares"]
"""How much of a posterior is true of the people whom the release counts."""


ALIKE = 1e-6
"""Posteriors of people in one equivalence class may differ by this much, as floating point does."""


@dataclass(frozen=True)
class Belief:
    """One attack's conclusion about one secret.

    `equivalence_class` numbers, for each of `records` (by default the rows of AdversaryKnowledge), the set of records
    that the adversary cannot distinguish by what the release discloses at once, and for which it therefore has the
    same posterior (where there is a `prior`, the same prior). It is None for attacks on the mechanism, which conclude
    nothing about people.
    `posterior` has a row of probabilities for each record and a column for each value of the secret. `secret` and
    `posterior` are None together, when the attack gives equivalence classes only.
    `record_positions`, where the attack knows whose published record is whose, are positions in `release.records`:
    `posterior` then has a row for each of these records, about its hidden cell of the column `secret`, `records` is
    None and `equivalence_class` may be. `estimates` are the attack's estimates of the numbers in those cells.
    `prior`, laid out like `posterior`, is what the release discloses of each record without the attack's further
    reasoning. `alternative_posteriors` are posteriors for which the attack has no less reason: a limit that does not
    come out the same for all is inconclusive. `incomplete`: the release discloses more about the secret than the
    attack computes, so any posterior is possible, the true one too.
    `certainty` says what of `posterior` is true of any people whom the release counts: `certain`, each value with
    probability 1; `shares`, moreover each row is the true shares of its whole class; a `guess` may be wrong.
    `evidence` is JSON: bounds, gaps, counts of constraints; the key `tries` names guarantees that the attack tries to
    disprove, `refutes` those that it does. `explain(group)` describes in words what the release discloses about one
    class; only auditors see it. `population_groups` numbers in the same way, where the policy names a population, the
    class of each row of `AdversaryKnowledge.population`.
    """

    secret: str | None
    equivalence_class: NDArray[Any] | None
    posterior: pd.DataFrame | None = None
    records: pd.DataFrame | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    explain: Callable[[int], str] | None = None
    population_groups: NDArray[Any] | None = None
    prior: pd.DataFrame | None = None
    alternative_posteriors: Sequence[pd.DataFrame] = ()
    record_positions: NDArray[Any] | None = None
    estimates: NDArray[Any] | None = None
    incomplete: bool = False
    certainty: Certainty = "guess"

    @property
    def of_people(self) -> bool:
        """Is it about people, and not only about the mechanism?"""
        return self.equivalence_class is not None or self.record_positions is not None


def checked(belief: object, known: AdversaryKnowledge, release: Release | None = None) -> Belief:
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
    groups = None if belief.equivalence_class is None else _numbers(belief.equivalence_class, rows, "records")
    if belief.population_groups is not None:
        people = 0 if known.population is None else len(known.population)
        belief = replace(belief, population_groups=_numbers(belief.population_groups, people, "of the population"))
    _check_evidence(belief.evidence)
    if belief.certainty not in get_args(Certainty):
        raise InconclusiveError(f"its belief's certainty is none of {', '.join(get_args(Certainty))}")
    people = groups is not None or belief.record_positions is not None
    if (belief.secret is None) != (belief.posterior is None) or (not people and belief.posterior is not None):
        raise InconclusiveError("its belief needs a secret, chances and groups together, or neither of the first two")
    if belief.secret is not None:
        _check_secret(belief, known)
        _check_chances(belief.secret, belief.posterior, rows, known, "chances")
    _check_other_posteriors(belief, rows, known)
    belief = _with_floats(belief)
    if groups is not None:
        at_once = [belief.posterior, *belief.alternative_posteriors] if belief.prior is None else [belief.prior]
        _check_alike(groups, at_once)
    return replace(belief, equivalence_class=groups)


def _check_other_posteriors(belief: Belief, rows: int, known: AdversaryKnowledge) -> None:
    """The prior and the alternative posteriors are laid out like the posterior."""
    if belief.prior is not None:
        _check_chances(belief.secret, belief.prior, rows, known, "baseline chances")
    for other in belief.alternative_posteriors:
        _check_chances(belief.secret, other, rows, known, "alternative chances")


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


def _numbers(groups: object, rows: int, noun: str) -> NDArray[Any]:
    import numpy as np

    numbers = np.array(groups)
    numbers.setflags(write=False)
    if numbers.shape != (rows,) or numbers.dtype.kind not in "iu":
        raise InconclusiveError(f"its belief needs a whole number for each of {rows} {noun} as groups")
    return numbers


def rows_for(known: AdversaryKnowledge, records: pd.DataFrame) -> NDArray[np.int64]:
    """For each public record of Known its row in an attack's own `records`: equal public cells.

    Raises InconclusiveError when a column is missing, or a record is not there, or there twice.
    """
    import numpy as np

    names = list(known.records.columns)
    if not set(names) <= set(records.columns):
        raise InconclusiveError("its own records lack a public column")
    numbered = records.loc[:, names].reset_index(drop=True).astype(object)
    numbered = numbered.assign(**{"\0row": np.arange(len(records))})
    found = known.records.astype(object).merge(numbered, on=names, how="left")["\0row"]
    if len(found) != len(known.records) or found.isna().any():
        raise InconclusiveError("its own records do not name every public record just once")
    return found.to_numpy(dtype=np.int64)


def _check_secret(belief: Belief, known: AdversaryKnowledge) -> None:
    secret = belief.secret
    if not isinstance(secret, str) or secret not in known.schema:
        raise InconclusiveError("its belief is about a column the policy does not have")
    if "sensitive" not in known.schema[secret].roles and belief.record_positions is None:
        raise InconclusiveError("its belief is about a column that is no secret")


def _check_chances(secret: Any, chances: object, rows: int, known: AdversaryKnowledge, noun: str) -> None:
    import numpy as np
    import pandas as pd

    if not known.schema[secret].countable:
        raise InconclusiveError("its belief is about numbers that have no `bins`")
    if not isinstance(chances, pd.DataFrame) or list(chances.columns) != list(known.schema[secret].domain):
        raise InconclusiveError(f"its {noun} are no table with the secret's domain as columns, in order")
    if not all(are_real_numbers(chances.iloc[:, i]) for i in range(chances.shape[1])):
        raise InconclusiveError(f"its {noun} are no numbers")
    try:
        numbers = chances.to_numpy(dtype=float)
    except (TypeError, ValueError):
        raise InconclusiveError(f"its {noun} are no numbers") from None
    if len(numbers) != rows or not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InconclusiveError(f"its {noun} are not one row of probabilities a record")
    if not np.allclose(numbers.sum(axis=1), 1, atol=1e-6):
        raise InconclusiveError(f"its {noun} do not sum to 1")


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


def _check_alike(groups: NDArray[Any], several: Sequence[pd.DataFrame | None]) -> None:
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
        if (apart > ALIKE).any():
            raise InconclusiveError("its belief tells people of one group apart: their rows must be equal")


def _check_evidence(evidence: object) -> None:
    result = checked_evidence(evidence, CORE_OF_ATTACKS)
    for names in (result.get("refutes", ()), result.get("tries", ())):
        if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
            raise InconclusiveError("its evidence must list the guarantees it refutes, or tries to, by name")
