"""How many numbers a model has learned."""

from __future__ import annotations

from leafgate import Case, InconclusiveError, Release
from leafgate.tree import Leaf, Node, children


def residual(case: Case) -> float:
    """People of the table less learned parameters; below 0 where there are more of these."""
    return float(int(case.table.persons.sum()) - parameters(case.release))


def parameters(release: Release) -> int:
    """What the trees of a release have learned: the column and the threshold of each cut, and each leaf's numbers.

    A test of m ways counts m: its column, and where values go but for the last way. A leaf counts one less than there
    are classes, for its shares; with scores, one for each class it speaks for, and no more than that.

    Source: SACRO-ML 2.0, whose tests are all of two ways. Departure: it adds one for each tree of XGBoost's, and
    counts all classes on its leaves, each of which speaks for one.
    """
    if not release.trees:
        raise InconclusiveError("the release has no trees", remedy="leave this metric out")
    found, waiting = 0, list[Node](release.trees)
    while waiting:
        node = waiting.pop()
        below = children(node)
        found += len(below) if below else _of_leaf(node, release)
        waiting.extend(below)
    return found


def _of_leaf(node: Node, release: Release) -> int:
    if not isinstance(node, Leaf) or node.value is not None:
        return 1
    free = len(release.classes) - 1
    if node.scores is None:
        return free
    return min(free, max(1, sum(score != 0 for score in node.scores.values())))
