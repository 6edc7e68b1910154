"""How much a search tries: a fixed amount of work, so that a repetition tries the same, and seconds where asked for."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Literal, Self

WORK = 400.0
"""The work of a repair by default: a model of 2,000 people is repaired within a minute on an idle machine."""

PEOPLE_BY_TREES = 20_000
"""An audit of this many people times trees takes about twice as long as an audit of a few people by one tree."""

PERSONS = 200
"""Where a column numbers the people, the rows of this many persons add the work of one audit."""


@dataclass(eq=False)
class Budget:
    """How much is tried: a fixed amount of work, so that a repetition tries the same, and seconds only where asked for.

    Attributes:
        work: How much is tried at most. An audit counts one, and more by its people and trees (`PEOPLE_BY_TREES`).
        seconds: After so many nothing more is tried; None for no limit.
        started: When the search began, by `time.monotonic`.
        done: How much was tried.
        ended_by: What ended the search early: nothing, the amount of work, or the clock.
    """

    work: float = math.inf
    seconds: float | None = None
    started: float = field(default_factory=time.monotonic)
    done: float = 0.0
    ended_by: Literal["", "work", "clock"] = ""

    @classmethod
    def of(cls, effort: float, seconds: float | None) -> Self:
        """So many times the default amount of work."""
        return cls(WORK * effort, seconds)

    def count_audit(self, people: int, trees: int, persons: int = 0) -> None:
        """Count an audit of a table by trees, and of so many persons where a column numbers them."""
        self.done += 1 + people * trees / PEOPLE_BY_TREES + persons / PERSONS

    def is_late(self, share: float = 1.0) -> bool:
        """Is this share of the time up? It is noted, as by `is_over`."""
        if self.seconds is None or time.monotonic() - self.started < share * self.seconds:
            return False
        self.ended_by = "clock"
        return True

    def is_over(self, share: float = 1.0) -> bool:
        """Is this share of it used up? Ask only where the answer ends something: it is noted what ended it."""
        if self.is_late(share):
            return True
        if self.done >= share * self.work:
            self.ended_by = self.ended_by or "work"
        else:
            return False
        return True
