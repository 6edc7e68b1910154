"""Belief: what an adversary thinks of one secret, and whom it cannot tell apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from leafgate.engine.validation import hidden_cells
from leafgate.errors import InconclusiveError
from leafgate.types.evidence import checked_evidence

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.types.adversary import Known
    from leafgate.types.release import Release

Told = Literal["guess", "certain", "shares"]
"""How much of a belief is so of whomever the release counts."""


ALIKE = 1e-6
"""Chances of people in one group may differ by this much, for floating point does."""


@dataclass(frozen=True)
class Belief:
    """One attack's conclusion about one secret.

    `groups` numbers, for each of `records` (by default the rows of Known), the set of records the adversary
    cannot tell apart by what the release says at once, and of whom it therefore believes the same (where there is
    a `baseline`, that is the same); it is None for attacks on the mechanism, which say nothing of people. `chances`
    has a row of probabilities for each record and a column for each value of the secret; `secret` and `chances` are
    None together, when the attack speaks of groups only. `cells`, where the attack knows whose published record
    is whose, are positions in `release.records`: `chances` then has a row for each of these records, about its
    hidden cell of the column `secret`, `records` is None and `groups` may be. `estimates` are numbers the attack
    takes those cells for. `baseline`, laid out like `chances`, is what the
    release says of each record without the attack's further reasoning; `alternatives` are other beliefs the
    attack has no less reason for: a limit that does not come out the same for all is inconclusive. `unread`: the
    release tells more of the secret than the attack works out: any belief is possible, the true one too. `told` says
    what of `chances` is so whoever the people are, if a release that claims to count them does: `certain`, what is
    certain; `shares`, moreover that each row is the true shares of its whole group; a `guess` may be wrong. `evidence`
    is JSON: bounds, gaps, counts of constraints; a key `tries` names guarantees the attack tries to disprove,
    `refutes` those it does. `explain(group)` words what the release says of one group; only auditors see it.
    `population_groups` numbers in the same way, where the policy names a population, the group each row of
    `Known.population` would be in.
    """

    secret: str | None
    groups: NDArray[Any] | None
    chances: pd.DataFrame | None = None
    records: pd.DataFrame | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    explain: Callable[[int], str] | None = None
    population_groups: NDArray[Any] | None = None
    baseline: pd.DataFrame | None = None
    alternatives: Sequence[pd.DataFrame] = ()
    cells: NDArray[Any] | None = None
    estimates: NDArray[Any] | None = None
    unread: bool = False
    told: Told = "guess"

    @property
    def of_people(self) -> bool:
        """Does it say anything of people, or only of the mechanism?"""
        return self.groups is not None or self.cells is not None


def checked(belief: object, known: Known, release: Release | None = None) -> Belief:
    """The belief, its groups as an array, if it can be one; InconclusiveError says what is nonsense about it."""
    if not isinstance(belief, Belief):
        raise InconclusiveError(f"returned a {type(belief).__name__} where a Belief belongs")
    rows = len(known.records)
    if belief.cells is not None:
        cells = hidden_cells(belief, release)
        belief, rows = replace(belief, cells=cells), len(cells)
    elif belief.estimates is not None:
        raise InconclusiveError("its belief has estimates, which are of hidden cells alone")
    if belief.records is not None:
        rows_for(known, belief.records)
        rows = len(belief.records)
    groups = None if belief.groups is None else _numbers(belief.groups, rows, "records")
    if belief.population_groups is not None:
        people = 0 if known.population is None else len(known.population)
        belief = replace(belief, population_groups=_numbers(belief.population_groups, people, "of the population"))
    _check_evidence(belief.evidence)
    people = groups is not None or belief.cells is not None
    if (belief.secret is None) != (belief.chances is None) or (not people and belief.chances is not None):
        raise InconclusiveError("its belief needs a secret, chances and groups together, or neither of the first two")
    if belief.secret is not None:
        _check_secret(belief, known)
        _check_chances(belief.secret, belief.chances, rows, known, "chances")
    _check_beside(belief, rows, known)
    if groups is not None:
        at_once = [belief.chances, *belief.alternatives] if belief.baseline is None else [belief.baseline]
        _check_alike(groups, at_once)
    return replace(belief, groups=groups)


def _check_beside(belief: Belief, rows: int, known: Known) -> None:
    """What stands beside the chances is laid out like them."""
    if belief.baseline is not None:
        _check_chances(belief.secret, belief.baseline, rows, known, "baseline chances")
    for other in belief.alternatives:
        _check_chances(belief.secret, other, rows, known, "alternative chances")


def _numbers(groups: object, rows: int, noun: str) -> NDArray[Any]:
    import numpy as np

    numbers = np.array(groups)
    numbers.setflags(write=False)
    if numbers.shape != (rows,) or numbers.dtype.kind not in "iu":
        raise InconclusiveError(f"its belief needs a whole number for each of {rows} {noun} as groups")
    return numbers


def rows_for(known: Known, records: pd.DataFrame) -> NDArray[np.int64]:
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


def _check_secret(belief: Belief, known: Known) -> None:
    secret = belief.secret
    if not isinstance(secret, str) or secret not in known.schema:
        raise InconclusiveError("its belief is about a column the policy does not have")
    if "sensitive" not in known.schema[secret].roles and belief.cells is None:
        raise InconclusiveError("its belief is about a column that is no secret")


def _check_chances(secret: Any, chances: object, rows: int, known: Known, noun: str) -> None:
    import numpy as np
    import pandas as pd

    if not known.schema[secret].countable:
        raise InconclusiveError("its belief is about numbers that have no `bins`")
    if not isinstance(chances, pd.DataFrame) or list(chances.columns) != list(known.schema[secret].domain):
        raise InconclusiveError(f"its {noun} are no table with the secret's domain as columns, in order")
    try:
        numbers = chances.to_numpy(dtype=float)
    except (TypeError, ValueError):
        raise InconclusiveError(f"its {noun} are no numbers") from None
    if len(numbers) != rows or not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InconclusiveError(f"its {noun} are not one row of probabilities a record")
    if not np.allclose(numbers.sum(axis=1), 1, atol=1e-6):
        raise InconclusiveError(f"its {noun} do not sum to 1")


def _check_alike(groups: NDArray[Any], several: Sequence[pd.DataFrame | None]) -> None:
    """Whoever cannot be told apart is believed the same; InconclusiveError where a group holds different rows.

    What an attack knows besides the release, and reasons from, may tell them apart: its baseline is without that.
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
    told = checked_evidence(evidence, {"worst", "tried"})
    for names in (told.get("refutes", ()), told.get("tries", ())):
        if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names):
            raise InconclusiveError("its evidence must list the guarantees it refutes, or tries to, by name")
