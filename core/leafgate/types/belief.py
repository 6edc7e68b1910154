"""Belief: an adversary's posterior of one secret, and the people it cannot distinguish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from leafgate.errors import InconclusiveError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.types.adversary import AdversaryKnowledge

Certainty = Literal["guess", "certain", "shares"]
"""How much of a posterior is true of the people whom the release counts."""


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
    rows = known.records.astype(object).merge(numbered, on=names, how="left")["\0row"]
    if len(rows) != len(known.records) or rows.isna().any():
        raise InconclusiveError("its own records do not name every public record just once")
    return rows.to_numpy(dtype=np.int64)
