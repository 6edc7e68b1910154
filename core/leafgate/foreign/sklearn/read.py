"""What a scikit-learn estimator comes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leafgate.errors import ReleaseError
from leafgate.foreign.model import ForeignTree
from leafgate.foreign.seen import Seen, as_tuple
from leafgate.foreign.sklearn.made import Made
from leafgate.node_numbers import NO_SAMPLING, Sampling
from leafgate.release import Combine, Counted


@dataclass(frozen=True)
class Read:
    """What an estimator comes to: classes (none for numbers), trees, how they combine, what they count.

    `sampling` says on which rows each tree was grown.
    """

    classes: tuple[str, ...]
    trees: tuple[ForeignTree, ...]
    combine: Combine
    counted: Counted
    base: tuple[float, ...] = ()
    made: Callable[[Seen, list[Made]], list[Made]] | None = None
    sampling: Sampling = NO_SAMPLING


def classes_of(estimator: Seen) -> tuple[str, ...]:
    """The classes as texts; ReleaseError for a model of several outputs."""
    if estimator.get("n_outputs_", 1) != 1:
        raise ReleaseError("predicts several columns at once", place=estimator.place)
    found = as_tuple(estimator["classes_"], estimator, "classes_")
    return tuple(str(int(one)) if isinstance(one, float) and one.is_integer() else str(one) for one in found)
