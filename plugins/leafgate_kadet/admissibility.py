"""What every group of people must satisfy: k members, and whatever else is required."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leafgate.induction.coding import Coded, Rows
from leafgate.induction.growing import class_counts
from leafgate.induction.measures import Floats
from leafgate.induction.splits import Mask


class Requirement(Protocol):
    """A property of populations, told from their people by value.

    It must survive merging: a union of populations that have it has it too. Then a test that is
    refused at a node stays refused there while the node's groups are parted elsewhere, and pruning,
    which merges groups, keeps it.
    """

    def holds(self, counts: Floats) -> Mask:
        """For populations (last axis: people per value, somebody in each), which of them satisfy it."""
        ...

    def why_not(self) -> str:
        """In words, what a population lacks; no number of people below k is told."""
        ...


@dataclass(frozen=True)
class Crowd:
    """At least k people."""

    k: int

    def holds(self, counts: Floats) -> Mask:
        return np.asarray(counts.sum(axis=-1) >= self.k)

    def why_not(self) -> str:
        return f"it has fewer than {self.k} people"


@dataclass(frozen=True)
class View:
    """One column's side of it: the table with that column's values for classes, and what is required of them."""

    name: str
    coded: Coded
    requirements: Sequence[Requirement]

    def __call__(self, counts: Floats) -> Mask:
        """OK of the paper: which populations, none of them empty, satisfy every requirement."""
        fine = np.ones(counts.shape[:-1], dtype=bool)
        for requirement in self.requirements:
            fine &= requirement.holds(counts)
        return fine


@dataclass(frozen=True)
class Admissible:
    """Everything that is required of a population, column by column; the class, and k, come first.

    Source: Friedman, Schuster, Wolff 2006, Definition 6 (people who exist) and section 4.2
    (diversity in place of, or beside, k).
    """

    views: Sequence[View]

    def why_not(self, rows: Rows) -> str:
        """Why the people in `rows` may not form a group; empty when they may."""
        return "; ".join(
            requirement.why_not()
            for view in self.views
            for requirement in view.requirements
            if not requirement.holds(class_counts(view.coded, rows)).all()
        )
