"""The printed theorem: the guarantee of sampling with a threshold, composed tree by tree.

Source: N. Li, W. Qardaji, D. Su, "On Sampling, Anonymization, and Differential Privacy", ASIACCS 2012,
Theorem 5, as used by A. Waseda, R. Nojima, L. Wang, Appl. Sci. 14(17), 7625, 2024.
"""

from __future__ import annotations

import math


def one_tree_delta(k: int, beta: float, epsilon: float) -> float:
    """The delta of one tree at `epsilon`, in nats: the largest chance that a counter gives a person away.

    `k` is the threshold (1 or more), `beta` the sampling rate (between 0 and 1). With gamma =
    (e^epsilon - 1 + beta) / e^epsilon, the maximum over n >= ceil(k / gamma - 1) of the chance that
    more than gamma n of n people are sampled. 1 below -ln(1 - beta), where the theorem says nothing.

    Departure: the maximum over n ends where Chernoff's bound says that nothing larger can come. gamma is below 1, so n
    is k or more and somebody is left out, also where floating point makes gamma 1.

    >>> f"{one_tree_delta(20, 0.1, 0.5):.6g}"
    '1.60625e-09'
    """
    if epsilon < -math.log1p(-beta):
        return 1.0
    gamma = -math.expm1(-epsilon) + beta * math.exp(-epsilon)
    rate = gamma * math.log(gamma / beta) - (gamma - beta)
    best, n = 0.0, max(math.ceil(k / gamma - 1), k)
    while math.exp(-n * rate) > best:
        best = max(best, _tail(n, beta, min(math.floor(gamma * n), n - 1)))
        if rate <= 0 or best >= 1:
            break
        n += 1
    return min(best, 1.0)


def _tail(n: int, beta: float, above: int) -> float:
    """P(Bin(n, beta) > above), summed from its largest term on."""
    if above >= n:
        return 0.0
    j = above + 1
    term = math.exp(
        math.lgamma(n + 1)
        - math.lgamma(j + 1)
        - math.lgamma(n - j + 1)
        + j * math.log(beta)
        + (n - j) * math.log1p(-beta)
    )
    total, odds = 0.0, beta / (1 - beta)
    while j <= n and term > total * 1e-18:
        total += term
        term *= (n - j) / (j + 1) * odds
        j += 1
    return total


def delta_of(k: int, beta: float, trees: int, epsilon: float) -> float:
    """The delta of `trees` trees at a total `epsilon`, by adding both up (basic composition); at most 1."""
    return min(trees * one_tree_delta(k, beta, epsilon / trees), 1.0)


def epsilon_of(k: int, beta: float, trees: int, delta: float, *, precision: float = 1e-7) -> float:
    """The smallest total epsilon at which `trees` trees have at most `delta`, to `precision`; infinite if none."""
    low, high = trees * -math.log1p(-beta), trees * -math.log1p(-beta) + 1.0
    while delta_of(k, beta, trees, high) > delta:
        low, high = high, 2 * high
        if high > 1000 * trees:
            return math.inf
    while high - low > precision:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(k, beta, trees, middle) <= delta else (middle, high)
    return high
