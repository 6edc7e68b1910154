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
    """One attack's conclusion about one secret, or about the mechanism.

    Attributes:
        secret: the column that the belief is about; None where the attack gives equivalence classes alone, and where
            it concludes something about the mechanism.
        equivalence_class: shape (n_records,), whole numbers; records with the same number cannot be distinguished by
            what the release discloses at once, and so have the same `prior`, or the same `posterior` where there is no
            prior. None for attacks on the mechanism, which conclude nothing about people.
        posterior: shape (n_records, n_values), a column for each value of the secret in the order of its domain; rows
            sum to 1. None together with `secret`.
        records: the attack's own records, with every public column; by default those of `AdversaryKnowledge.records`.
        evidence: JSON for the finding: bounds, gaps, counts of constraints. Its key `tries` lists the guarantees that
            the attack tries to disprove, `refutes` those that it does disprove.
        explain: describes in words what the release discloses about one equivalence class; only auditors see it.
        population_groups: shape (n_population,), the equivalence class of each row of `AdversaryKnowledge.population`,
            numbered as `equivalence_class` is.
        prior: shape of `posterior`; what the release discloses of each record without the attack's further reasoning.
        alternative_posteriors: each of the shape of `posterior`; the attack has no less reason for them. A limit that
            does not come out the same for all of them is inconclusive.
        record_positions: positions in `release.records`, where the attack knows whose published record is whose.
            `posterior` then has a row for each of them, about its hidden cell of the column `secret`; `records` is
            None, and `equivalence_class` may be.
        estimates: shape (len(record_positions),), the attack's estimates of the numbers in those cells.
        incomplete: the release discloses more about the secret than the attack computes, so that any posterior is
            possible, the true one too.
        certainty: how much of `posterior` is true of all people whom the release counts. `certain`: each value with
            probability 1. `shares`: moreover each row is the true composition of its whole class. `guess`: nothing.
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
    """For each record of the adversary's knowledge the row of an attack's own `records` with equal public cells.

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
