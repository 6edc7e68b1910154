"""Laws of scores, of exclusions and of identifications, and how often the intervals of limits on membership miss.

The true area, rate and advantage follow from the true ROC curve of each law of scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from interval_coverage_cells import ERROR, ROUNDING, Miss
from leafgate.algorithms.intervals import Estimate, identified_estimate
from leafgate_plugins.inference.membership.metrics import (
    MembershipAdvantage,
    MembershipAuc,
    MembershipExcluded,
    MembershipRate,
    MembershipTpr,
)

Scores = NDArray[np.float64]
Sizes = tuple[int, int]
SIZES: Sequence[Sizes] = ((30, 60), (900, 400), (3_000, 4_000))
"""Members and others."""
RATES: Mapping[float, MembershipTpr] = {fpr: MembershipTpr(at_most=1, at_fpr=fpr) for fpr in (0.001, 0.01, 0.1)}
TABLE = 4
"""The table has so many times the people who are tried."""


# --- Scores ---


@dataclass(frozen=True)
class ScoreLaw:
    """A law of the scores of members and others.

    Attributes:
        draw: scores of members and of others.
        area: the true area under the ROC curve.
        advantage: the largest true rate of members less that of others above a threshold.
        rate: the true rate of members at a rate of others, ties broken at random.
    """

    draw: Callable[[np.random.Generator, Sizes], tuple[Scores, Scores]]
    area: float
    advantage: float
    rate: Callable[[float], float]


def with_corners(
    draw: Callable[[np.random.Generator, Sizes], tuple[Scores, Scores]], *corners: tuple[float, float]
) -> ScoreLaw:
    """A law whose ROC curve has straight lines from (0, 0) by these corners (rate of others, of members) to (1, 1)."""
    others, members = (np.array(rates) for rates in zip((0.0, 0.0), *corners, (1.0, 1.0), strict=True))
    area = math.fsum(np.diff(others) * (members[1:] + members[:-1]) / 2)

    def rate(fpr: float) -> float:
        right = int(np.searchsorted(others, fpr, side="right"))
        part = (fpr - others[right - 1]) / (others[right] - others[right - 1])
        return float(members[right - 1] + part * (members[right] - members[right - 1]))

    return ScoreLaw(draw, area, float((members - others).max()), rate)


def chance(rng: np.random.Generator, sizes: Sizes) -> tuple[Scores, Scores]:
    return rng.normal(size=sizes[0]), rng.normal(size=sizes[1])


def shifted(rng: np.random.Generator, sizes: Sizes) -> tuple[Scores, Scores]:
    return rng.normal(1, size=sizes[0]), rng.normal(size=sizes[1])


def three_values(rng: np.random.Generator, sizes: Sizes) -> tuple[Scores, Scores]:
    """Shares .2, .3, .5 of members and .5, .3, .2 of others."""
    members, others = (rng.random(size) for size in sizes)
    return np.searchsorted([0.2, 0.5], members).astype(float), np.searchsorted([0.5, 0.8], others).astype(float)


def rare_leak(rng: np.random.Generator, sizes: Sizes) -> tuple[Scores, Scores]:
    """One member in a hundred leaks for certain."""
    members, others = chance(rng, sizes)
    members[rng.random(sizes[0]) < 0.01] = 100
    return members, others


def heavy_tails(rng: np.random.Generator, sizes: Sizes) -> tuple[Scores, Scores]:
    """Student's law of two degrees of freedom, three times as wide for members."""
    return 3 * rng.standard_t(2, sizes[0]), rng.standard_t(2, sizes[1])


def separated(rng: np.random.Generator, sizes: Sizes) -> tuple[Scores, Scores]:
    return 1 + rng.random(sizes[0]), rng.random(sizes[1])


def at_the_ends(rng: np.random.Generator, sizes: Sizes) -> tuple[Scores, Scores]:
    """1 for .9 of members and .5 of others, 0 for .3 of others, anything between for the rest."""
    members, others = (rng.random(size) for size in sizes)
    return (
        np.where(rng.random(sizes[0]) < 0.9, 1.0, members),
        np.select([others < 0.5, others < 0.8], [1.0, 0.0], 5 * (others - 0.8)),
    )


def advantage_of_heavy_tails() -> float:
    """The largest difference of the two survival functions, found numerically; it is above the centre."""
    best = optimize.minimize_scalar(
        lambda score: stats.t.sf(score, 2) - stats.t.sf(score / 3, 2), bounds=(0, 20), options={"xatol": 1e-10}
    )
    return float(-best.fun)


SCORES: Mapping[str, ScoreLaw] = {
    "no difference": with_corners(chance),
    "normal, one deviation apart": ScoreLaw(
        shifted,
        float(stats.norm.cdf(math.sqrt(0.5))),
        float(2 * stats.norm.cdf(0.5) - 1),
        lambda fpr: float(stats.norm.sf(stats.norm.isf(fpr) - 1)),
    ),
    "three values": with_corners(three_values, (0.2, 0.5), (0.5, 0.8)),
    "one member in a hundred leaks": with_corners(rare_leak, (0.0, 0.01)),
    "heavy tails, wider for members": ScoreLaw(
        heavy_tails, 0.5, advantage_of_heavy_tails(), lambda fpr: float(stats.t.sf(stats.t.isf(fpr, 2) / 3, 2))
    ),
    "separated": with_corners(separated, (0.0, 1.0)),
    "mass at 0 and 1": with_corners(at_the_ends, (0.5, 0.9), (0.7, 1.0)),
}


def score_misses(law: ScoreLaw, sizes: Sizes, rng: np.random.Generator) -> Iterator[Miss]:
    """Draw scores once; which intervals miss."""
    members, others = law.draw(rng, sizes)
    metrics: list[tuple[str, MembershipRate, float]] = [
        ("membership_auc", MembershipAuc(at_most=1), law.area),
        ("membership_advantage", MembershipAdvantage(at_most=1), law.advantage),
    ]
    for fpr, metric in RATES.items():
        if sizes[1] >= metric.non_members_needed(ERROR):
            metrics.append((f"membership_tpr at {fpr:g}", metric, law.rate(fpr)))
    for name, each, true in metrics:
        yield name, not _holds(each.estimate(members, others, ERROR), true)


def _holds(estimate: Estimate, true: float) -> bool:
    return estimate.low - ROUNDING <= true <= estimate.high + ROUNDING


# --- Exclusions ---


EXCLUSIONS: Mapping[str, float] = {
    "nobody": 0.0,
    "one in a thousand": 0.001,
    "one in 200": 0.005,
    "3 in a hundred": 0.03,
    "three in ten": 0.3,
    "all but 3 in a hundred": 0.97,
    "everybody": 1.0,
}
"""The share of others of whom the release proves that they are not in the table."""


def exclusion_misses(share: float, sizes: Sizes, rng: np.random.Generator) -> Iterator[Miss]:
    """Draw how many of the others are excluded; whether the interval of their share misses."""
    excluded = int(rng.binomial(sizes[1], share))
    yield "membership_excluded", not _holds(_excluded_estimate(excluded, sizes[1]), share)


@cache
def _excluded_estimate(excluded: int, others: int) -> Estimate:
    """The interval where so many of the others are excluded, whose rank is 0."""
    ranks = (np.arange(others) >= excluded).astype(float)
    return MembershipExcluded(at_most=0).estimate(np.ones(1), ranks, ERROR)


# --- Identifications ---


@dataclass(frozen=True)
class Identification:
    """The share of the table whom a test knows, and with which probability it takes anybody else for a member."""

    known: float
    chance: float


IDENTIFICATIONS: Mapping[str, Identification] = {
    "nobody known, 1 in 200 by chance": Identification(0, 0.005),
    "nobody known, 1 in 10 by chance": Identification(0, 0.1),
    "nobody known, half by chance": Identification(0, 0.5),
    "3 in a hundred known, 1 in a hundred by chance": Identification(0.03, 0.01),
    "1 in 10 known, half by chance": Identification(0.1, 0.5),
    "3 in 10 known, nobody by chance": Identification(0.3, 0),
    "everybody known": Identification(1, 0),
}
_identified_estimate = cache(identified_estimate)


def identification_misses(law: Identification, sizes: Sizes, rng: np.random.Generator) -> Iterator[Miss]:
    """Draw a table, the members who are tried, and whom the test takes for members.

    The interval misses where its lower end is above the number of members tried whom the test knows, or its upper end
    below the number of people of the whole table whom it takes for members.
    """
    members, others = sizes
    people = TABLE * members
    known = round(law.known * people)
    by_chance = int(rng.binomial(people - known, law.chance))
    drawn = rng.multivariate_hypergeometric([known, by_chance, people - known - by_chance], members)
    found, wrong = int(drawn[:2].sum()), int(rng.binomial(others, law.chance))
    _, low, high = _identified_estimate(found, wrong, members, others, people, ERROR)
    yield "membership_identified", low > drawn[0] or high < known + by_chance
