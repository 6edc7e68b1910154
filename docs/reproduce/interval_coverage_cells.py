"""What a simulation of intervals counts: the runs of a cell, and those in which its interval missed."""

from __future__ import annotations

from dataclasses import dataclass

from leafgate.algorithms.intervals import lower_bound

ERROR = 0.05
"""The probability of a miss that is stated."""
ROUNDING = 1e-9
"""A true value outside of an interval by no more is in it, as floating point is not exact."""
JOINT = 0.001
"""The probability that any cell fails though every interval misses as rarely as it states."""

Miss = tuple[str, bool]
"""The name of an interval, and whether it missed."""


@dataclass(frozen=True)
class Cell:
    """How often an interval missed the true value under a law, with samples of some sizes."""

    interval: str
    law: str
    sizes: str
    stated: float
    runs: int
    missed: int

    @property
    def rate(self) -> float:
        return self.missed / self.runs

    def fails(self, cells: int) -> bool:
        """Whether Clopper and Pearson's lower bound of the miss rate, joint for so many cells, is above the stated."""
        return lower_bound(self.missed, self.runs, JOINT / cells) > self.stated
