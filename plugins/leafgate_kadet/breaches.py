"""Which tests would breach one span, whoever asks: the paper's BREACH, for all tests at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from leafgate.induction.cells import Codes, count_cells
from leafgate.induction.coding import Rows
from leafgate.induction.splits import Mask, cuts_of, on_level, segments
from leafgate_kadet.admissibility import Admissible, View


@dataclass(frozen=True)
class Breaches:
    """What a test may not do to a span's people.

    `fans[level, feature]` says whether asking a categorical feature on a level is admitted: every
    value that occurs in the span holds an admissible population. A cut of a number breaches when it
    lies in a bad stretch: from `code` up to, but not including, `next_code` of `feature`.
    """

    fans: Mask
    feature: Codes
    code: Codes
    next_code: Codes


def breaches_of(admissible: Admissible, populations: Sequence[Rows]) -> list[Breaches]:
    """The breaches of several populations, counted together; of any column's requirements."""
    views = [_of_view(view, populations) for view in admissible.views]
    return views[0] if len(views) == 1 else [_any(each) for each in zip(*views, strict=True)]


def _any(several: Sequence[Breaches]) -> Breaches:
    fans = np.logical_and.reduce([each.fans for each in several])
    stretches = (np.concatenate([getattr(e, name) for e in several]) for name in ("feature", "code", "next_code"))
    return Breaches(fans, *stretches)


def _of_view(view: View, populations: Sequence[Rows]) -> list[Breaches]:
    """The breaches of one column's requirements.

    Between two numbers that follow each other in a population, every cut parts its people alike;
    the stretch is bad when the people up to it, or those above, are not admissible.
    """
    coded = view.coded
    cells = count_cells(coded, populations)
    depth = max((len(feature.levels) for feature in coded.features), default=0)
    fans = np.ones((len(populations), depth, len(coded.features)), dtype=bool)
    for level in range(depth):
        part = on_level(coded, cells, level)
        if len(part.code):
            first = segments(part)
            fine = np.logical_and.reduceat(view(part.counts), first)
            fans[part.group[first], level, part.feature[first]] = fine
    cuts = cuts_of(coded, cells)
    bad = np.flatnonzero(~(view(cuts.low) & view(cuts.high))) if len(cuts.code) else np.zeros(0, dtype=np.int64)
    ends = np.searchsorted(cuts.group[bad], np.arange(len(populations) + 1))
    parts = [bad[start:end] for start, end in pairwise(ends)]
    return [
        Breaches(fans[i], cuts.feature[part], cuts.code[part], cuts.next_code[part]) for i, part in enumerate(parts)
    ]
