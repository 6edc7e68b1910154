"""Do the labels and scores of a release follow from the numbers it shows, and from nothing else?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from leafgate.release import Release
from leafgate.tree import Leaf, leaves
from leafgate_dp_random_trees.leaves import DECIMALS, summed_scores


def strange_facts(release: Release, k: int) -> Iterator[str]:
    """What says more than the numbers do."""
    every = [leaf for tree in release.trees for leaf in leaves(tree)]
    if any(leaf.label != _label(leaf, release) for leaf in every):
        yield "a label does not follow from the numbers shown"
    if any(leaf.value is not None for leaf in every):
        yield "a leaf shows a value beside its numbers"
    if any(leaf.scores is not None for leaf in every) and not _scores_follow(release, k):
        yield "the scores do not follow from the numbers shown"


def _label(leaf: Leaf, release: Release) -> str | None:
    numbers = [(leaf.counts or {}).get(name, 0) for name in release.classes]
    return release.classes[int(np.argmax(numbers))] if any(numbers) else None


def _scores_follow(release: Release, k: int) -> bool:
    if release.sealed is None:
        return _follow(release, k)
    if release.sealed not in _SEEN:
        _SEEN.clear()
        _SEEN[release.sealed] = _follow(release, k)
    return _SEEN[release.sealed]


_SEEN: dict[bytes, bool] = {}
"""Of the release looked at last: several metrics and claims ask about the same one, and it takes seconds."""


def _follow(release: Release, k: int) -> bool:
    expected = summed_scores(release.trees, release.schema, k)
    for tree, scores in zip(release.trees, expected, strict=True):
        shown = [[(leaf.scores or {}).get(name, np.nan) for name in release.classes] for leaf in leaves(tree)]
        if not np.allclose(shown, scores, rtol=0, atol=1.1 * 10**-DECIMALS) or not np.allclose(
            shown, np.round(shown, DECIMALS), rtol=0, atol=1e-12
        ):
            return False
    return True
