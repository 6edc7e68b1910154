"""What every group of people must satisfy: k members, and whatever else is required."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leafgate.induction.measures import Floats
from leafgate.induction.splits import Mask


class Requirement(Protocol):
    """A property of populations. It must survive merging two populations for pruning to keep it."""

    def holds(self, counts: Floats) -> Mask:
        """For populations (last axis: people per class), which of them satisfy it."""
        ...

    def why_not(self, counts: Floats) -> str:
        """In words, why one population does not; no number below k is told."""
        ...


@dataclass(frozen=True)
class Crowd:
    """At least k people."""

    k: int

    def holds(self, counts: Floats) -> Mask:
        return np.asarray(counts.sum(axis=-1) >= self.k)

    def why_not(self, counts: Floats) -> str:
        return f"it has fewer than {self.k} people"


@dataclass(frozen=True)
class Admissible:
    """OK of the paper: a population is empty, or satisfies every requirement.

    Source: Friedman, Schuster, Wolff 2006, Definition 6 (people who exist) and section 4.2
    (diversity in place of, or beside, k).
    """

    requirements: Sequence[Requirement]

    def __call__(self, counts: Floats) -> Mask:
        fine = np.ones(counts.shape[:-1], dtype=bool)
        for requirement in self.requirements:
            fine &= requirement.holds(counts)
        return np.asarray(fine | (counts.sum(axis=-1) == 0))

    def why_not(self, counts: Floats) -> str:
        """Why the population `counts` (people per class) is not admissible."""
        return "; ".join(r.why_not(counts) for r in self.requirements if not r.holds(counts).all())
