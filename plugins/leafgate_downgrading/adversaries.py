"""The adversaries by name: what each has learned from what it sees of a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Protocol

from leafgate_downgrading.bayes import NaiveBayesLearned
from leafgate_downgrading.grid import Codes, Grid, Rows, Shares
from leafgate_downgrading.matching import ConditioningLearned
from leafgate_downgrading.missing_tree import Growing
from leafgate_downgrading.trees import Kept, RestorationLearned, TreesLearned

if TYPE_CHECKING:
    from leafgate_downgrading import ByTrees, CellAttack


class Learned(Protocol):
    """An adversary that has studied a table."""

    def told(
        self, records: Codes, own: Rows, wanted: Collection[int] | None = None
    ) -> Mapping[int, tuple[Rows, Shares]]:
        """For each column (of those `wanted`) with hidden cells, the records that hide it and the belief about each.

        Each record is a row of the studied table, `own` says which, and hides what that hides, or more.
        """


def learned(options: CellAttack, grid: Grid, kept: Kept | None = None, counts: Shares | None = None) -> Learned:
    """What the adversary of these options knows after studying `grid`, and nothing else.

    `kept` holds trees that were grown before, by all that they were learned from, `counts` the grid's pair
    counts; both only save time.
    """
    from leafgate_downgrading import Conditioning, NaiveBayes, Restoration, TreeInference

    match options:
        case NaiveBayes():
            return NaiveBayesLearned(grid, counts)
        case Conditioning():
            return ConditioningLearned(grid, options.least, counts)
        case Restoration():
            return RestorationLearned(TreesLearned(grid, _growing(options), kept), options.rounds)
        case TreeInference():
            return TreesLearned(grid, _growing(options), kept)
    raise NotImplementedError(type(options).__name__)


def _growing(options: ByTrees) -> Growing:
    return Growing(options.least, options.confidence if options.prune else None, options.train_on == "complete")
