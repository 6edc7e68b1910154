"""What solving a problem came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from leafgate_maxent.walk import Floats


@dataclass(frozen=True)
class Binding:
    """An internal constraint that the optimum touches, and its price: nats for each person x nat it is relaxed by."""

    tree: int
    constraint: int
    price: float


@dataclass(frozen=True)
class Outcome:
    """The belief of the largest entropy that was found, and how sure it is.

    `bound` is an entropy (nats a person) that no solution can be above; `found` are those of all
    starts, `others` the beliefs of starts that ended elsewhere than the best. `active` counts the
    constraints that had to be imposed, by kind. `engines` says who solved it, `checked` how far a
    second engine was from the first on a small part.
    """

    people: Floats
    entropy: float
    bound: float
    closed: bool = False
    convex: bool = True
    found: Sequence[float] = ()
    others: Sequence[Floats] = ()
    active: Mapping[str, int] = field(default_factory=dict)
    binding: Sequence[Binding] = ()
    missed: Mapping[str, float] = field(default_factory=dict)
    engine: str = "closed form"
    checked: float | None = None
    variables: int = 0

    @property
    def gap(self) -> float:
        """How much the entropy could be larger, relative to it (or to 1, if it is less)."""
        return max(self.bound - self.entropy, 0.0) / max(1.0, abs(self.entropy))


@dataclass(frozen=True)
class Settings:
    """How to solve: by which engine, from how many starts, for how long (seconds)."""

    solver: str = "auto"
    starts: int = 4
    time_limit: float = 300.0
    seed: int = 0
