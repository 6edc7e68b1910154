"""From scores to the test each node would be split by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leafgate.algorithms.induction.splits import TOLERANCE, Measure, Scores, Tests
from leafgate.kernel.arrays import Floats, Mask


@dataclass(frozen=True)
class Choice:
    """The test a node would be split by, and where it stands in the queue (lowest key first).

    `key` = (below the mean gain?, minus people x measure, feature, level); `level` and `code` as in
    Feature: a numeric feature is cut after `code`.
    """

    key: tuple[int, float, int, int]
    feature: int
    level: int
    code: int


def choose(scores: Scores, tests: Tests, measure: Measure, mean: Floats | None) -> list[Choice | None]:
    """Each node's best admitted test, None where there is none with a gain.

    `mean` are the nodes' mean gains in bits a person: tests below come after all others (C4.5's
    filter); None: no filter. A coarser level never comes before a finer one of its feature: it is
    only looked at when the finer one has been refused.
    """
    if not len(tests.feature):
        return [None] * len(scores.people)
    people = np.maximum(scores.people, 1)[:, None]
    gain = np.round(scores.gain / people, 12)
    worth = gain.copy()
    if measure == "gain_ratio":
        info = scores.split_info / people
        ratio = np.divide(scores.gain / people, info, where=info > TOLERANCE, out=np.zeros_like(gain))
        worth = np.where(np.isfinite(gain), np.round(ratio, 12), -np.inf)
    late = np.zeros(gain.shape, dtype=bool) if mean is None else gain < mean[:, None] - TOLERANCE
    for level in range(1, int(tests.level.max(initial=0)) + 1):
        test = np.flatnonzero(tests.level == level)
        finer = test - 1
        behind = (late[:, finer] > late[:, test]) | (
            (late[:, finer] == late[:, test]) & (worth[:, finer] < worth[:, test])
        )
        behind &= np.isfinite(gain[:, finer])
        late[:, test] = np.where(behind, late[:, finer], late[:, test])
        worth[:, test] = np.where(behind, worth[:, finer], worth[:, test])
    possible: Mask = np.asarray(scores.admitted & (gain > TOLERANCE))
    early = np.where(possible & ~late, worth, -np.inf)
    last = np.where(possible & late, worth, -np.inf)
    use_late: Mask = np.asarray(~(possible & ~late).any(axis=1))
    ranked = np.where(use_late[:, None], last, early)
    best = ranked.argmax(axis=1)
    priority = -np.take_along_axis(ranked, best[:, None], axis=1)[:, 0] * scores.people
    code = np.take_along_axis(scores.code, best[:, None], axis=1)[:, 0]
    columns = (possible.any(axis=1), use_late, priority, tests.feature[best], tests.level[best], code)
    return [
        Choice((int(after_others), before, feature, level), feature, level, cut) if some else None
        for some, after_others, before, feature, level, cut in zip(*(each.tolist() for each in columns), strict=True)
    ]


def mean_gain(scores: Scores, tests: Tests) -> Floats:
    """Each node's mean gain over its finest tests that gain anything, in bits a person.

    Source: Quinlan, "C4.5: Programs for Machine Learning", 1993, section 2.2.
    """
    people = np.maximum(scores.people, 1)[:, None]
    gain = np.round(scores.plain[:, tests.level == 0] / people, 12)
    useful = gain > TOLERANCE
    return np.asarray(np.where(useful, gain, 0).sum(axis=1) / np.maximum(useful.sum(axis=1), 1))
