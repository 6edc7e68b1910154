"""Belief: what an adversary thinks of one secret, and whom it cannot tell apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leafgate.errors import InconclusiveError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.known import Known


@dataclass(frozen=True)
class Belief:
    """One attack's conclusion about one secret.

    `groups` numbers, for each of `records` (by default the rows of Known), the set of records
    the adversary cannot tell apart. `chances` has a row of probabilities for each record and a
    column for each value of the secret; `secret` and `chances` are None together, when the
    attack speaks of groups only. `evidence` is JSON: bounds, gaps, counts of constraints; a key
    `refutes` names guarantees the attack disproves. `explain(group)` words what the release says
    of one group; only auditors see it.
    """

    secret: str | None
    groups: NDArray[Any]
    chances: pd.DataFrame | None = None
    records: pd.DataFrame | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    explain: Callable[[int], str] | None = None


def checked(belief: object, known: Known) -> Belief:
    """The belief itself, if it can be one; InconclusiveError says what is nonsense about it."""
    import numpy as np

    if not isinstance(belief, Belief):
        raise InconclusiveError(f"returned a {type(belief).__name__} where a Belief belongs")
    rows = len(known.records if belief.records is None else belief.records)
    if len(belief.groups) != rows:
        raise InconclusiveError(f"its belief groups {len(belief.groups)} records, there are {rows}")
    if np.asarray(belief.groups).dtype.kind not in "iu":
        raise InconclusiveError("its belief numbers groups by something that is no whole number")
    if (belief.secret is None) != (belief.chances is None):
        raise InconclusiveError("its belief needs a secret and chances together, or neither")
    if belief.chances is None:
        return belief
    if belief.secret not in known.schema:
        raise InconclusiveError("its belief is about a column the policy does not have")
    if belief.secret is not None and list(belief.chances.columns) != list(known.schema[belief.secret].domain):
        raise InconclusiveError("its chances do not have the columns of the secret's domain, in order")
    chances = belief.chances.to_numpy(dtype=float)
    if len(chances) != rows or not np.isfinite(chances).all() or (chances < 0).any():
        raise InconclusiveError("its chances are not one row of probabilities a record")
    if not np.allclose(chances.sum(axis=1), 1, atol=1e-6):
        raise InconclusiveError("its chances do not sum to 1")
    return belief
