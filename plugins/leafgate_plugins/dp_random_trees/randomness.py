"""Were the published counts drawn as the release claims? Two tests against the table, part of every check of the claim.

Under the claim every counter (a leaf and a class) of every tree is independent of all others and has a known
distribution: Bin(people, beta), shown as 0 below k, or the number of people with discrete Laplace noise.

The test of the whole compares that with many alternatives, each a distribution of the counters that some false release
would have: other rates, less or more dispersion, sizes of samples that are fixed or the same in all trees, another
scale of noise. The mean of their likelihood ratios against the claim is an *e-value*: its expectation under the claim
is at most 1, so by Markov's inequality an honest release reaches 1 / LEVEL_OF_WHOLE with probability LEVEL_OF_WHOLE at
most, whatever its size, rate and threshold. No approximation and no simulation is part of that; how well the
alternatives fit decides the power alone.

The test of single counters finds one exact count among samples. Its p-value is the probability that a sample has at
least as many people as are shown. It is smallest where everybody is shown, beta ** people, and counters whose smallest
p-value is too large ever to be refused do not count among the tests. There is no such test of a number that is too
small, which discloses nobody's presence, and none of noise, under which the exact count is the likeliest number.

Source: P. Grünwald, R. de Heide, W. Koolen, "Safe Testing", J. R. Stat. Soc. B 86(5), 2024; A. Wald, "Sequential
Tests of Statistical Hypotheses", Ann. Math. Stat. 16(2), 1945 (alternatives that use what was seen before); R. E.
Tarone, "A Modified Bonferroni Method for Discrete Data", Biometrics 46(2), 1990 (single counters).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, gammaln, logsumexp, xlog1py, xlogy

from leafgate.algorithms.routing import NOWHERE, route
from leafgate.api import Floats, Ids, Mask, Release, Table

LEVEL = 1e-3
"""An honest release is refused with this probability at most, by both tests together."""
LEVEL_OF_WHOLE = 1e-6
"""An honest release is refused with this probability at most by the test of the whole."""
LEVEL_OF_COUNTERS = LEVEL - LEVEL_OF_WHOLE
"""An honest release is refused with this probability at most by the test of single counters."""
LOG_LIMIT = -math.log(LEVEL_OF_WHOLE)
"""The logarithm of the e-value from which on a release is refused."""
SMALLEST_PROBABILITY = 1e-300
"""Probabilities under the claim are taken to be this at least; that only favours the claim."""

RATE_SHIFTS = tuple(sign * 0.01 * 2**step for step in range(11) for sign in (1, -1))
"""Other sampling rates that are tried, as differences of log odds; near the true one, half or double loses a fifth."""
VARIANCE_FACTORS_BELOW = (0.9, 0.75, 0.5, 0.25, 0.1, 0.01, 0.0)
"""Dispersions below that of sampling that are tried, as factors of its variance; 0 is that of rounding."""
VARIANCE_FACTORS_ABOVE = (1.1, 1.25, 1.5, 2.0, 4.0, 16.0, 64.0)
"""Dispersions above it, as those of another table's counts are."""
SCALE_FACTORS = (0.8, 0.9, 1.1, 1.25, 2.0, 4.0, 16.0, 64.0, *(2.0**-step for step in range(1, 13)))
"""Other scales of noise that are tried, as factors of the claimed one."""
FALSE_SHARES = (0.99, 0.3, 0.01, 1e-4)
"""Which share of the counters an alternative takes to be false: copies may stand among honest samples."""
FALSE_SHARE_OF_TREES = 0.5
"""Which share of the trees an alternative about a whole tree takes to be false."""
MOST_PEOPLE = 1e9
"""Of an alternative's binomial distribution, which then is nearly a Poisson distribution."""
ROUNDING_VARIANCE = 0.25
"""Of a number of people that is known but for its rounding."""


@dataclass(frozen=True)
class Counters:
    """All counters of a release: for each its tree, its class, the people of the table there, and the number shown.

    Arrays of equal length, of whole numbers.
    """

    tree: Ids
    label: Ids
    people: Ids
    published: Ids

    def where(self, chosen: Mask) -> Counters:
        """Those that are chosen."""
        return Counters(self.tree[chosen], self.label[chosen], self.people[chosen], self.published[chosen])


def counters_of(release: Release, table: Table) -> Counters:
    """The counters of a release's trees, with the table's people sent down the trees.

    The release must show whole numbers on all leaves, and the table have its columns.
    """
    classes, codes = release.classes, table.codes(release.target)
    parts = []
    for number, tree in enumerate(release.trees):
        routed = route(tree, table)
        reached, size = routed.leaf != NOWHERE, routed.n_leaves * len(classes)
        counter = routed.leaf[reached] * len(classes) + codes[reached]
        people = np.bincount(counter, weights=table.weight[reached], minlength=size).astype(np.int64)
        shown = [int((leaf.counts or {}).get(name, 0)) for leaf in routed.leaves for name in classes]
        label = np.tile(np.arange(len(classes)), routed.n_leaves)
        parts.append((np.full(size, number), label, people, np.array(shown, dtype=np.int64)))
    empty = (np.zeros(0, dtype=np.int64),) * 4
    return Counters(*(np.concatenate(column) for column in zip(empty, *parts, strict=True)))


def log_evidence_against_sampling(counters: Counters, k: int, beta: float) -> float:
    """The logarithm of the e-value against independent samples at rate `beta` with threshold `k`.

    Returns:
        LOG_LIMIT or more: refused; infinite where a number is shown that no sample has; about 0 without evidence.
    """
    shown, people = counters.published, counters.people
    if ((shown > people) | ((shown > 0) & (shown < k))).any():
        return math.inf
    kept = counters.where(people >= k)  # of fewer people none are ever shown: nothing to learn
    if not len(kept.people):
        return 0.0
    claimed = _log_sampled(kept.published, kept.people, beta, k)
    claimed = np.maximum(claimed, math.log(SMALLEST_PROBABILITY))
    ratios = [*_of_each_counter(kept, k, beta), *_of_totals(kept, k, beta, claimed)]
    return float(logsumexp(ratios) - math.log(len(ratios)))


def log_evidence_against_noise(counters: Counters, scale: float) -> float:
    """The logarithm of the e-value against independent discrete Laplace noise, numbers below 0 shown as 0.

    Returns:
        LOG_LIMIT or more: refused; 0 or about that without evidence.
    """
    pairs, times = _distinct_pairs(counters)
    if not len(times):
        return 0.0
    claimed = np.maximum(_log_noisy(pairs[0], pairs[1], scale), math.log(SMALLEST_PROBABILITY))
    ratios = [
        _sum_of_logs(_log_noisy(pairs[0], pairs[1], factor * scale) - claimed, share, times)
        for factor in SCALE_FACTORS
        for share in FALSE_SHARES
    ]
    return float(logsumexp(ratios) - math.log(len(ratios)))


def count_tests(people: Ids, k: int, beta: float) -> int:
    """The smallest m for which at most m counters can have a p-value of LEVEL_OF_COUNTERS / m or less, and at least 1.

    Args:
        people: of each counter those of the table, which the claim does not change.
        k: smaller numbers are shown as 0.
        beta: the claimed rate.

    Source: Tarone 1990. The m tests together refuse an honest release with probability LEVEL_OF_COUNTERS at
    most, by the union bound; the other counters cannot be refused whatever they show.

    >>> count_tests(np.array([2, 2, 20, 20, 20]), k=10, beta=0.5)
    3
    """
    smallest = np.sort(people[people >= k])[::-1] * math.log(beta)  # the logarithms, the smallest p-value first
    tests = np.arange(1, len(smallest) + 1)
    fits = np.append(smallest[1:], 0.0) > math.log(LEVEL_OF_COUNTERS) - np.log(tests)
    return int(tests[fits][0]) if len(tests) else 1


def adjusted_p_value_of_counters(counters: Counters, k: int, beta: float) -> float:
    """The smallest p-value of a single counter of independent samples, times the number of counters that are tested.

    Returns:
        LEVEL_OF_COUNTERS or less: refused; 1 where no counter could be.
    """
    tests = count_tests(counters.people, k, beta)
    tested = counters.where((counters.published > 0) & (counters.people >= k))
    if not len(tested.people):
        return 1.0
    # a counter that is not tested has no p-value of LEVEL_OF_COUNTERS / tests or less, so it may stand among the others
    p_values = betainc(tested.published, np.maximum(tested.people - tested.published, 0) + 1.0, beta)
    return float(min(tests * p_values.min(), 1.0))


def smallest_refused_count(counters: int, k: int, beta: float) -> int:
    """From how many people on a count is refused if all of them are shown, in every release of so many counters.

    More counters than there are in the release are never tested, so this follows from the release alone.

    >>> smallest_refused_count(100, k=20, beta=0.1), smallest_refused_count(100, k=20, beta=0.6)
    (20, 23)
    """
    return max(k, math.ceil(math.log(LEVEL_OF_COUNTERS / max(counters, 1)) / math.log(beta)))


def would_refuse_false_samples(counters: Counters, k: int, beta: float) -> dict[str, bool]:
    """Would exact counts and rounded ones, and a single exact one, be refused in the place of these samples?

    Computed from the published numbers alone, so that the answer discloses nothing of the table beyond the release: all
    counts are supposed to be of published / beta people, where counters shown as 0 are left out, and the single one to
    be any of the published numbers. The last answer names the smallest count that is refused for sure.
    """
    seen = counters.where(counters.published > 0)
    people = np.rint(seen.published / beta).astype(np.int64)
    rounded = np.minimum(np.maximum(np.rint(people * beta).astype(np.int64), k), people)
    refused = {
        name: log_evidence_against_sampling(Counters(seen.tree, seen.label, people, shown), k, beta) >= LOG_LIMIT
        for name, shown in (("exact counts", people), ("rounded counts", rounded))
    }
    number = len(counters.people)
    smallest = smallest_refused_count(number, k, beta)
    if (seen.published < smallest).any():
        refused[f"one exact count below {smallest}"] = False
    return refused | {f"one exact count of {smallest} or more among {number:,} counters": True}


def would_refuse_without_noise(counters: Counters, scale: float) -> dict[str, bool]:
    """Would exact counts be refused in the place of these noisy ones? From the numbers shown alone, as above."""
    seen = counters.where(counters.published > 0)
    exact = Counters(seen.tree, seen.label, seen.published, seen.published)
    return {"exact counts": log_evidence_against_noise(exact, scale) >= LOG_LIMIT}


def _of_each_counter(counters: Counters, k: int, beta: float) -> Iterator[float]:
    """Log likelihood ratios of alternatives in which counters stay independent: other rates, other dispersion."""
    (shown, people), times = _distinct_pairs(counters)
    claimed = np.maximum(_log_sampled(shown, people, beta, k), math.log(SMALLEST_PROBABILITY))
    mean, variance = people * beta, people * beta * (1 - beta)
    alternatives = [_log_sampled(shown, people, _shifted(beta, shift), k) for shift in RATE_SHIFTS]
    alternatives += [_log_with_moments(shown, mean, factor * variance, k) for factor in VARIANCE_FACTORS_BELOW]
    for factor in VARIANCE_FACTORS_ABOVE:  # three rates, with the weights of Gauss and Hermite
        shift = np.sqrt(3 * (factor - 1) / variance)
        sides = [_log_sampled(shown, people, _shifted(beta, sign * shift), k) for sign in (1, -1)]
        alternatives.append(np.asarray(logsumexp([*sides, claimed], axis=0, b=np.array([[1 / 6], [1 / 6], [2 / 3]]))))
    for alternative in alternatives:
        for share in FALSE_SHARES:
            yield _sum_of_logs(alternative - claimed, share, times)


def _of_totals(counters: Counters, k: int, beta: float, claimed: Floats) -> Iterator[float]:
    """Log likelihood ratios of alternatives about the people a whole tree counts.

    A sample of a fixed size; of a fixed size in each class; and the classes' sizes as the earlier trees have them,
    as they are when one sample, or another table's people, are behind all trees.
    """
    tree, classes = counters.tree, int(counters.label.max()) + 1
    trees = int(tree.max()) + 1
    every, each = tree * classes, tree * classes + counters.label
    for group, learned in ((every, False), (each, False), (each, True)):
        mean, variance = _predicted(counters, k, beta, group, trees, classes, learned=learned)
        ratio = _log_with_moments(counters.published, mean, variance, k) - claimed
        contaminated = np.logaddexp(math.log(FALSE_SHARES[0]) + ratio, math.log1p(-FALSE_SHARES[0]))
        of_trees = np.bincount(tree, weights=contaminated, minlength=trees)
        yield float(of_trees.sum())
        some = math.log(FALSE_SHARE_OF_TREES) + of_trees, np.full(trees, math.log1p(-FALSE_SHARE_OF_TREES))
        yield float(np.logaddexp(*some).sum())


def _predicted(
    counters: Counters, k: int, beta: float, group: Ids, trees: int, classes: int, *, learned: bool
) -> tuple[Floats, Floats]:
    """Mean and variance of each counter, given those before it in its group and what is supposed of the group's sum.

    The sum's deviation from its mean is 0 or, where it is `learned`, that of the earlier trees. Counters are
    taken by rising numbers of people; only counters before, and earlier trees, are looked at.
    """
    spread: Floats = np.asarray(counters.people * beta * (1 - beta))
    deviation, uncertain = _imputed(counters, k, beta)
    groups = trees * classes
    total = np.bincount(group, weights=spread, minlength=groups)
    if learned:
        found = np.bincount(group, weights=deviation, minlength=groups).reshape(trees, classes)
        sure = 1 / (np.bincount(group, weights=uncertain, minlength=groups).reshape(trees, classes) + ROUNDING_VARIANCE)
        sure *= total.reshape(trees, classes) > 0
        # every tree has the same people of a class: the largest spread seen up to here is that of all of them
        prior = 1 / np.maximum.accumulate(np.maximum(total.reshape(trees, classes), 1.0), axis=0)
        precision = prior + _before(sure)
        expected, doubt = (_before(sure * found) / precision).ravel(), (1 / precision).ravel()
        doubt = np.minimum(doubt, np.maximum(total, ROUNDING_VARIANCE))
    else:
        expected, doubt = np.zeros(groups), np.full(groups, ROUNDING_VARIANCE)
    order = np.lexsort((counters.people, group))
    mean, variance = np.zeros(len(order)), np.zeros(len(order))
    where, widths = group[order], spread[order]
    done, gone, unsure = (_before_in_group(values[order], where) for values in (spread, deviation, uncertain))
    left = np.maximum(total[where] - done, widths)
    part = done / np.maximum(total[where], 1e-12)
    noise = part * left + unsure
    seen = np.where(noise > 0, 1 / np.where(noise > 0, noise, 1), 0.0)
    exact = 1 / doubt[where] + part**2 * seen
    whole = (expected[where] / doubt[where] + part * seen * gone) / exact
    own = widths / left
    mean[order] = (counters.people * beta)[order] + (whole - gone) * own
    variance[order] = widths * (1 - own) + own**2 * (1 / exact + unsure)
    return np.clip(mean, 1e-3, None), variance


def _before(values: Floats) -> Floats:
    """The sum of the rows before each row."""
    return np.asarray(np.cumsum(values, axis=0) - values)


def _before_in_group(values: Floats, group: Ids) -> Floats:
    """The sum of the values before each one in its group; groups stand together."""
    sums = _before(values)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    return np.asarray(sums - np.repeat(sums[first], np.diff(first, append=len(group))))


def _imputed(counters: Counters, k: int, beta: float) -> tuple[Floats, Floats]:
    """How far each counter is from its mean, and the variance of that: of one shown as 0 what is expected below k."""
    people, hidden = counters.people.astype(float), counters.published == 0
    below = np.maximum(_below(k, people, beta), SMALLEST_PROBABILITY)
    first = people * beta * _below(k - 1, people - 1, beta) / below
    pairs = people * (people - 1) * beta**2 * _below(k - 2, people - 2, beta) / below
    variance = np.clip(pairs + first - first**2, 0.0, float(k * k))
    value = np.where(hidden, np.clip(first, 0.0, k - 1), counters.published)
    return np.asarray(value - people * beta), np.where(hidden, variance, 0.0)


def _distinct_pairs(counters: Counters) -> tuple[Ids, Ids]:
    """The distinct pairs of a number shown and people, as two rows, and how often each occurs."""
    pairs, times = np.unique(np.stack([counters.published, counters.people]), axis=1, return_counts=True)
    return pairs, times


def _sum_of_logs(ratio: Floats, share: float, times: Ids) -> float:
    """The log likelihood ratio of all counters where such a share of them, drawn by chance, follows the alternative."""
    return float((np.logaddexp(math.log(share) + ratio, math.log1p(-share)) * times).sum())


def _shifted(beta: float, shift: Floats | float) -> Floats:
    """The rate with log odds larger by `shift`."""
    return np.asarray(1 / (1 + (1 - beta) / beta * np.exp(-np.asarray(shift))))


def _log_sampled(shown: Ids, people: Ids | Floats, rate: Floats | float, k: int) -> Floats:
    """The log probability of what a counter of `people` shows when each is kept with probability `rate`."""
    n, rate = np.asarray(people, dtype=float), np.broadcast_to(rate, shown.shape)
    s = np.minimum(shown, n)
    chance = gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1) + xlogy(s, rate) + xlog1py(n - s, -rate)
    with np.errstate(divide="ignore"):
        hidden = np.log(_below(k, n, rate))
    return np.asarray(np.where(shown == 0, hidden, np.where(shown <= n, chance, -np.inf)))


def _below(k: int, people: Floats, rate: Floats | float) -> Floats:
    """The probability that fewer than k of the people are kept."""
    if k < 1:
        return np.zeros(np.broadcast_shapes(np.shape(people), np.shape(rate)))
    enough = people >= k
    return np.asarray(np.where(enough, betainc(np.where(enough, people - k + 1, 1.0), k, 1 - np.asarray(rate)), 1.0))


def _log_with_moments(shown: Ids, mean: Floats, variance: Floats, k: int) -> Floats:
    """The same for a binomial distribution with this mean, and as nearly as there is one this variance."""
    wanted = np.where(variance < mean, mean**2 / np.maximum(mean - variance, 1e-9), np.inf)
    size = np.maximum(np.minimum(np.rint(wanted), MOST_PEOPLE), np.ceil(mean))
    return _log_sampled(shown, size, np.minimum(mean / size, 1.0), k)


def _log_noisy(shown: Ids, people: Ids, scale: float) -> Floats:
    """The log probability of what a counter shows whose noise z has chances proportional to exp(-|z| / scale)."""
    away, whole = np.abs(shown - people) / scale, math.log1p(math.exp(-1 / scale))
    return np.where(shown == 0, -people / scale - whole, np.log(-np.expm1(-1 / scale)) - whole - away)
