"""Confidence intervals of probabilities, of what a ROC curve shows, and of what one guess gains over another.

Each interval holds for every number of people, not only for large ones, and whatever the law of the scores. People are
taken for independent draws. Ties are allowed everywhere; rates at a false positive rate break them at random. The
Matthews correlation, whose interval is approximate, is in `correlation`.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from leafgate.lazy_loading import lazy

if TYPE_CHECKING:
    import numpy as np
    from scipy import optimize, special, stats

    from leafgate.kernel.arrays import Floats, Mask
else:
    np = lazy("numpy")
    optimize, special, stats = lazy("scipy.optimize"), lazy("scipy.special"), lazy("scipy.stats")

STRICT_PART = 1 / 2
"""The part of the error that an interval of the rate at a false positive rate spends on its strict threshold. It
decides how many non-members are needed, so it is the largest."""
OTHER_PART = 1 / 6
"""What it spends on its permissive threshold, and on each of the two bounds of the members' rate."""


class Estimate(NamedTuple):
    """A number, with the lowest and the highest that the true one could be."""

    value: float
    low: float
    high: float

    def minus(self, other: Estimate) -> Estimate:
        """The difference; its interval holds where both intervals hold."""
        return Estimate(self.value - other.value, self.low - other.high, self.high - other.low)

    def document(self) -> dict[str, float]:
        """The three numbers by their names, to six decimals."""
        return {name: round(number, 6) for name, number in self._asdict().items()}

    def __str__(self) -> str:
        return f"{self.value:.3g} (from {self.low:.3g} to {self.high:.3g})"


def largest(estimates: Iterable[Estimate]) -> Estimate:
    """The largest of some numbers, at least one; its interval holds where all of theirs hold."""
    return Estimate(*(max(numbers) for numbers in zip(*estimates, strict=True)))


# --- Probabilities ---


def lower_bound(successes: int, trials: int, error: float) -> float:
    """Clopper and Pearson's lower bound of a probability, which is too high with at most the probability `error`.

    Args:
        successes: from 0 to `trials`.
        trials: independent trials, from 0; where there are none the bound is 0.
        error: in (0, 1).

    Source: Clopper, Pearson, Biometrika 26, 1934, doi:10.1093/biomet/26.4.404
    Departure: none; one side alone.

    >>> round(lower_bound(10, 10, 0.05), 6)
    0.741134
    """
    return 0.0 if successes == 0 else float(special.betaincinv(successes, trials - successes + 1, error))


def upper_bound(successes: int, trials: int, error: float) -> float:
    """Clopper and Pearson's upper bound of a probability, which is too low with at most the probability `error`.

    Args, Source and Departure: as `lower_bound`; where there are no trials the bound is 1.

    >>> round(upper_bound(0, 3000, 0.05), 6)
    0.000998
    """
    return 1.0 if successes == trials else float(special.betainccinv(successes + 1, trials - successes, error))


def share_estimate(successes: int, trials: int, error: float) -> Estimate:
    """The share of successes, with Clopper and Pearson's interval, half of the error for each end.

    Args:
        successes: from 0 to `trials`.
        trials: independent trials, from 1.
        error: the probability that the interval misses the true probability is at most this; in (0, 1).

    Source: as `lower_bound`; that the bounds hold where people differ: Hoeffding, Ann. Math. Stat. 27, 1956

    >>> share_estimate(10, 10, 0.1).document()
    {'value': 1.0, 'low': 0.741134, 'high': 1.0}
    """
    low, high = lower_bound(successes, trials, error / 2), upper_bound(successes, trials, error / 2)
    return Estimate(successes / trials, low, high)


def upper_bound_of_all(count: int, sample: int, people: int, error: float) -> int:
    """The most people of all who can have what `count` of a random sample have, which is too few with at most `error`.

    Args:
        count: from 0 to `sample`.
        sample: people of the sample, from 0.
        people: all of them, from `sample`; where all are in the sample the result is `count`.
        error: in (0, 1).

    Source: Clopper, Pearson, Biometrika 26, 1934, doi:10.1093/biomet/26.4.404
    Departure: of a sample without replacement, where the bound is wrong more rarely.

    >>> upper_bound_of_all(0, 3000, 6000, 0.05)
    6
    """
    return max(count, math.ceil(upper_bound(count, sample, error) * people)) if sample < people else count


# --- The ROC curve ---


def area_under_curve(members: Floats, others: Floats) -> float:
    """How often a random member scores higher than a random other person; of ties half count.

    Args:
        members: shape (n_members,), from one member.
        others: shape (n_others,), from one.

    >>> area_under_curve(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    0.875
    """
    ordered = np.sort(others)
    below, up_to = (np.searchsorted(ordered, members, side=side) for side in ("left", "right"))
    return float((below + up_to).mean() / 2 / len(others))


def area_estimate(members: Floats, others: Floats, error: float) -> Estimate:
    """The area under the ROC curve, with an interval that misses the true one with at most the probability `error`.

    The area is an average of averages of r = min(n_members, n_others) independent numbers in [0, 1], so Chernoff's
    bound of a binomial share of r trials holds for it: P(area >= x) <= exp(-r KL(x, true area)), and so from below.

    Args:
        members: shape (n_members,), from one member.
        others: shape (n_others,), from one.
        error: in (0, 1).

    Source: Hoeffding, JASA 58, 1963, section 5b and Theorem 1, doi:10.1080/01621459.1963.10500830
    Departure: Theorem 1's form with the relative entropy, applied to the two samples of section 5b.
    """
    area = area_under_curve(members, others)
    allowed = math.log(2 / error) / min(len(members), len(others))
    low = 0.0 if area == 0 else _entropy_root(area, allowed, 0.0)
    high = 1.0 if area == 1 else _entropy_root(area, allowed, 1.0)
    return Estimate(area, min(low, area), max(high, area))


def relative_entropy(share: float, other: float) -> float:
    """The relative entropy of two laws of a coin, from 0 up to infinity.

    >>> round(relative_entropy(1.0, 0.5), 6)
    0.693147
    """
    parts = ((share, other), (1 - share, 1 - other))
    return math.fsum(
        0.0 if own == 0 else math.inf if another <= 0 else own * math.log(own / another) for own, another in parts
    )


def _entropy_root(share: float, allowed: float, end: float) -> float:
    """The number between `share` and `end` at the relative entropy `allowed` from the share."""

    def excess(other: float) -> float:
        return min(relative_entropy(share, other) - allowed, 1.0)

    return float(optimize.brentq(excess, share, end, xtol=1e-12))


class ThresholdRanks(NamedTuple):
    """Which of the others' scores, counted from the highest as 1, are thresholds on both sides of a rate.

    None: there are too few people for that; then nobody, or everybody, is above the threshold.
    """

    strict: int | None
    permissive: int | None


def threshold_ranks(others: int, fpr: float, strict_error: float, permissive_error: float) -> ThresholdRanks:
    """Two thresholds between whose true false positive rates `fpr` lies.

    The share of all people beyond the k-th highest of n independent scores has the law Beta(k, n - k + 1), whatever the
    law of the scores. P(Beta(k, n - k + 1) > a) = P(Binomial(n, a) < k).

    Args:
        others: how many people who are no members there are, from 1.
        fpr: the false positive rate a, in (0, 1).
        strict_error: with at most this probability the strict threshold's rate is above `fpr`.
        permissive_error: with at most this probability the permissive threshold's rate is below `fpr`.
    """
    ranks = range(1, others + 1)
    strict = bisect_right(ranks, strict_error, key=lambda rank: special.bdtr(rank - 1, others, fpr))
    permissive = 1 + bisect_left(ranks, -permissive_error, key=lambda rank: -special.bdtrc(rank - 1, others, fpr))
    return ThresholdRanks(strict or None, permissive if permissive <= others else None)


def others_needed(fpr: float, error: float) -> int:
    """How many non-members an interval of the rate at a false positive rate needs, to have any strict threshold.

    With no false positive among n people, n such that (1 - fpr)^n is half of the error.

    Args:
        fpr: in (0, 1).
        error: of the interval, as `rate_estimate` takes it.

    >>> others_needed(0.001, 0.05)
    3688
    """
    return math.ceil(math.log(STRICT_PART * error) / math.log1p(-fpr))


def rate_at(members: Floats, others: Floats, fpr: float) -> float:
    """The true positive rate at a false positive rate: the mean of it when ties are broken at random.

    Args:
        members: shape (n_members,), from one member.
        others: shape (n_others,), from one.
        fpr: in (0, 1).

    >>> rate_at(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 1.5, 2.5, 2.5]), 0.5)
    0.75
    """
    n_others = len(others)
    allowed = fpr * n_others
    threshold = np.sort(others)[n_others - 1 - math.floor(allowed + 1e-9)]
    false, ties = int((others > threshold).sum()), int((others == threshold).sum())
    share = min(max((allowed - false) / ties, 0.0), 1.0)
    return float(((members > threshold).sum() + share * (members == threshold).sum()) / len(members))


def break_ties(members: Floats, others: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The ranks of all scores, from 0, ties in random order: no two are equal.

    Args:
        members: shape (n_members,).
        others: shape (n_others,).
        rng: the order of ties must not depend on who is a member.

    >>> [part.tolist() for part in break_ties(np.array([3.0, 1.0]), np.array([2.0]), np.random.default_rng(0))]
    [[2.0, 0.0], [1.0]]
    """
    scores = np.concatenate([members, others])
    ranks = np.empty(len(scores), dtype=np.float64)
    ranks[np.lexsort((rng.random(len(scores)), scores))] = np.arange(len(scores))
    return ranks[: len(members)], ranks[len(members) :]


def rate_estimate(members: Floats, others: Floats, fpr: float, error: float, rng: np.random.Generator) -> Estimate:
    """The true positive rate at a false positive rate, with an interval for threshold and rate jointly.

    Ties are broken at random, so that the law of the scores is continuous. The members' rate above a threshold whose
    rate is surely at most `fpr` is no higher than the true one, and the rate above a threshold whose rate is surely at
    least `fpr` no lower; both have Clopper and Pearson's bounds. The number itself is the mean over orders of ties.

    Args:
        members: shape (n_members,), from one member.
        others: shape (n_others,), from one; from `others_needed` on the lower end can be above 0.
        fpr: in (0, 1).
        error: the probability that the interval misses the true rate is at most this; in (0, 1).
        rng: breaks ties.

    Source: David, Nagaraja, Order Statistics, 2003, section 7.2 (the law of coverages); Clopper, Pearson 1934
    Departure: put together here.
    """
    return _rate_of_ranks(rate_at(members, others, fpr), *break_ties(members, others, rng), fpr, error)


def _rate_of_ranks(value: float, members: Floats, others: Floats, fpr: float, error: float) -> Estimate:
    """The rate, with an interval by scores without ties."""
    ranks = threshold_ranks(len(others), fpr, STRICT_PART * error, OTHER_PART * error)
    descending = np.sort(others)[::-1]
    low, high = 0.0, 1.0
    if ranks.strict is not None:
        above = int((members > descending[ranks.strict - 1]).sum())
        low = lower_bound(above, len(members), OTHER_PART * error)
    if ranks.permissive is not None:
        above = int((members > descending[ranks.permissive - 1]).sum())
        high = upper_bound(above, len(members), OTHER_PART * error)
    return Estimate(value, min(low, value), max(high, value))


def advantage(members: Floats, others: Floats) -> float:
    """The largest true positive rate less false positive rate of a threshold.

    Args:
        members: shape (n_members,), from one member.
        others: shape (n_others,), from one.

    >>> advantage(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    0.5
    """
    thresholds = np.concatenate([members, others])
    rates = [1 - np.searchsorted(np.sort(scores), thresholds) / len(scores) for scores in (members, others)]
    return max(0.0, float((rates[0] - rates[1]).max()))


def advantage_estimate(members: Floats, others: Floats, error: float) -> Estimate:
    """The advantage, with an interval by bands around both distribution functions, for all thresholds at once.

    Args:
        members: shape (n_members,), from one member.
        others: shape (n_others,), from one.
        error: the probability that the interval misses the true advantage is at most this; in (0, 1).

    Source: Massart, Annals of Probability 18, 1990, doi:10.1214/aop/1176990746 (the constant of one side)
    Departure: one side of both bands for each end of the interval, a quarter of the error for each.
    """
    value = advantage(members, others)
    width = math.fsum(math.sqrt(math.log(4 / error) / (2 * len(scores))) for scores in (members, others))
    return Estimate(value, max(0.0, value - width), min(1.0, value + width))


def fewest_identified(found: int, wrong: int, members: int, others: int, error: float) -> int:
    """The fewest members of whom a test knew: the others whom it takes for members come about by chance.

    If the test knew of t members, the rest of them and the others are exchangeable, so that of all whom it takes for
    members among these, the number of members has a hypergeometric law. The result is the smallest t for which as many
    members as were found are not too many.

    Args:
        found: members whom the test takes for members, from 0 to `members`.
        wrong: others whom it takes for members, from 0 to `others`.
        members: how many there are, from 1.
        others: how many there are, from 1.
        error: the probability that the result is too high is at most this; in (0, 1).

    Source: Fisher's exact test of two shares, inverted

    >>> [fewest_identified(found, 0, 100, 100, 0.05) for found in (0, 4, 5, 20)]
    [0, 0, 1, 17]
    """

    def chance(known: int) -> float:
        rest = members - known
        return float(stats.hypergeom.sf(found - known - 1, rest + others, rest, found - known + wrong))

    return bisect_right(range(found), error, key=chance)


def identified_estimate(found: int, wrong: int, members: int, others: int, people: int, error: float) -> Estimate:
    """The members who were found, the fewest of whom the test knew, and the most whom it finds in the whole table.

    Args:
        found: members whom the test takes for members, from 0 to `members`.
        wrong: others whom it takes for members, from 0 to `others`.
        members: how many of the table were tried, drawn at random, from 1.
        others: how many others were tried, from 1.
        people: how many the table has, from `members`; where all were tried the upper end is `found`.
        error: the probability that one of both ends is wrong is at most this; in (0, 1).

    >>> identified_estimate(20, 0, 100, 100, 1000, 0.1)
    Estimate(value=20.0, low=17.0, high=278.0)
    """
    high = upper_bound_of_all(found, members, people, error / 2)
    return Estimate(float(found), float(fewest_identified(found, wrong, members, others, error / 2)), float(high))


def roc_band(
    members: Floats, others: Floats, error: float, points: int, rng: np.random.Generator
) -> dict[str, list[float]]:
    """The ROC curve on a logarithmic grid of false positive rates, each point with its own interval.

    Args:
        members: shape (n_members,), from one member.
        others: shape (n_others,), from one.
        error: of the interval at each point, in (0, 1).
        points: how many, from 2.
        rng: breaks ties.

    Returns:
        Under `fpr`, `tpr`, `low` and `high` a number for each point, the rates from half of one in all others to 1.
    """
    grid = np.geomspace(0.5 / len(others), 1, points)[:-1]
    broken = break_ties(members, others, rng)
    estimates = [_rate_of_ranks(rate_at(members, others, float(fpr)), *broken, float(fpr), error) for fpr in grid]
    rows = [(float(fpr), *each) for fpr, each in zip(grid, estimates, strict=True)]
    columns = zip(*rows, (1.0, 1.0, 1.0, 1.0), strict=True)
    return {
        name: [round(number, 6) for number in column]
        for name, column in zip(("fpr", "tpr", "low", "high"), columns, strict=True)
    }


# --- What one guess gains over another ---


def accuracy_gain(attack_right: Mask, baseline_right: Mask, error: float) -> Estimate:
    """The accuracy of an attack less that of a baseline on the same people, with an interval for any number of people.

    The difference is d (2 s - 1): d is the probability that exactly one of both is right, s the probability that this
    one is the attack. How many people are so, and for how many of these it is the attack, are binomial, the second
    given the first, so that two bounds of each hold together.

    Args:
        attack_right: shape (n_people,), from one person.
        baseline_right: shape (n_people,).
        error: the probability that the interval misses the true difference is at most this; in (0, 1).

    Source: McNemar, Psychometrika 12, 1947, doi:10.1007/BF02295996 (pairs that differ); Clopper, Pearson 1934 (bounds)
    Departure: put together here; a fourth of the error for each bound.
    """
    people, attack_alone = len(attack_right), int((attack_right & ~baseline_right).sum())
    differing = int((attack_right != baseline_right).sum())
    part = error / 4
    _, few, many = share_estimate(differing, people, 2 * part)
    low, high = (2 * bound(attack_alone, differing, part) - 1 for bound in (lower_bound, upper_bound))
    value = (2 * attack_alone - differing) / people
    return Estimate(value, low * (few if low > 0 else many), high * (many if high > 0 else few))


def predictive_value_gain(attack_right: Mask, baseline_right: Mask, error: float) -> Estimate:
    """The share of right guesses of the attack's surest people less that of the baseline's own surest people.

    Args:
        attack_right: shape (n_top,), whether the attack is right for those whom it is surest of; from one person.
        baseline_right: shape (n_top,), whether the baseline is right for those whom it is surest of.
        error: the probability that the interval misses the true difference is at most this; in (0, 1).

    Source: Clopper, Pearson 1934; that the bounds hold where people differ: Hoeffding, Ann. Math. Stat. 27, 1956
    Departure: two bounds of each share, a fourth of the error for each.
    """
    attack, baseline = (
        share_estimate(int(right.sum()), len(right), error / 2) for right in (attack_right, baseline_right)
    )
    return attack.minus(baseline)
