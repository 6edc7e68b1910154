"""What a policy declares about the data and the adversary: all that a component may ask for before any row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leafgate.types.schema import Role


@dataclass(frozen=True, kw_only=True)
class DeclaredColumn:
    """One column as the policy declares it, whether the audit uses the column or ignores it.

    `values` and `bins` are None where the policy declares none; `counts` and `reason` are set only for a weight.
    """

    roles: tuple[Role, ...]
    values: tuple[str, ...] | None = None
    bins: tuple[float, ...] | None = None
    ordered: bool = False
    has_hierarchy: bool = False
    counts: str | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Grants:
    """What the policy grants the adversary beyond the public columns and the release.

    Attributes:
        distribution: the share of each value of the secrets.
        people: the secrets of some people, whom a file lists.
        sample: the share of the people, in [0, 1], whose secrets are known; None where none are drawn.
        fact_count: how many facts about people are known.
        population: the public columns of the population that the people come from.
    """

    distribution: bool = False
    people: bool = False
    sample: float | None = None
    fact_count: int = 0
    population: bool = False


@dataclass(frozen=True, kw_only=True)
class Declarations:
    """The columns of a policy by name, the columns with protected cells, and what the adversary is granted."""

    columns: Mapping[str, DeclaredColumn]
    protected_columns: frozenset[str] = frozenset()
    grants: Grants = field(default_factory=Grants)
