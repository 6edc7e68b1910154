"""What a search for cells to withhold is after, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leafgate_downgrading.grid import Grid, Mask, Shares
from leafgate_downgrading.pairs import pair_counts, recounted
from leafgate_downgrading.trees import Kept

if TYPE_CHECKING:
    from leafgate_downgrading import CellAttack


@dataclass(frozen=True)
class Aim:
    """What is to be reached, and by what means.

    No protected cell may be believed with more than `tau`, no cell that is withheld for its sake with more than `rho`
    (1: no limit); models may err by `v` more, by the `weights` of the columns as classes; cells of the `allowed`
    columns may be withheld. A share `allow` of the protected cells may stay as they are. With `truth` only
    belief in the true value counts.
    """

    against: Sequence[CellAttack]
    tau: float
    rho: float
    v: float
    weights: Shares
    allowed: Mask
    allow: float = 0.0
    truth: bool = False
    width: int = 4


@dataclass
class Search:
    """How far it has come: hidden cells, rows given up (and why), the loss of function, and every step so far.

    `stuck` are rows for which nothing more could be done, since `hidden` last changed or before.
    """

    hidden: Mask
    stuck: set[int] = field(default_factory=set)
    given_up: dict[int, str] = field(default_factory=dict)
    loss: float = 0.0
    rounds: int = 0
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    kept: Kept = field(default_factory=dict)
    moved: bool = False
    desperate: set[int] = field(default_factory=set)
    _seen: tuple[Grid, Shares] | None = None

    def counts(self, grid: Grid) -> Shares:
        """The grid's pair counts, made from the last round's where only some records have changed."""
        last = self._seen
        if last is not None and last[0].sizes == grid.sizes:
            counts = recounted(last[1], last[0], grid)
        else:
            counts = pair_counts(grid)
        self._seen = grid, counts
        return counts
