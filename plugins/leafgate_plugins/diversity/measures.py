"""Measures of a group's distribution of a secret: l-diversity, likelihood ratios and earth mover's distances.

In every function `p` has a row for each group of people and a column for each value of the secret; rows sum to 1.
`overall` has the shares of the values among everyone, shape (n_values,). Results have shape (n_groups,).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leafgate.api import Floats, Hierarchy

DECIMALS = 12
"""Decimals that scores are rounded to, so that five equal shares have an l of 5 and not of 4.999999999999999."""


def distinct_l(p: Floats) -> Floats:
    """Count the values with a share above 0 in each row; from 1 to the number of columns.

    Source: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, "l-Diversity: Privacy Beyond
    k-Anonymity", ACM TKDD 1(1), 2007, section 4 ("well-represented", its weakest reading).
    """
    return np.asarray((p > 0).sum(axis=1), dtype=np.float64)


def entropy_l(p: Floats) -> Floats:
    """The largest l for which each row is entropy l-diverse; from 1 to the number of columns.

    A group is entropy l-diverse when H(p) >= log(l); the largest such l is exp(H(p)).

    Source: Machanavajjhala and others 2007, Definition 4.1. doi:10.1145/1217299.1217302
    Departure: l is a real number, rounded to 12 decimals and not truncated to an integer.

    >>> entropy_l(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [2.0, 1.0]
    """
    log_p = np.log(p, where=p > 0, out=np.zeros_like(p))
    return np.asarray(np.round(np.exp(-(p * log_p).sum(axis=1)), DECIMALS))


def recursive_l(p: Floats, c: float) -> Floats:
    """The largest l for which each row is recursively (c, l)-diverse; 0 if there is none.

    With the shares r in descending order, a row is (c, l)-diverse if r_1 < c (r_l + r_{l+1} + ... + r_m).

    Source: Machanavajjhala and others 2007, recursive (c, l)-diversity.
    Departure: sums are compared after rounding to 12 decimals, so that equal sides are not `<`.

    >>> recursive_l(np.array([[0.5, 0.3, 0.2]]), c=2).tolist()
    [2.0]
    """
    descending = -np.sort(-p, axis=1)
    tails = np.round(c * np.cumsum(descending[:, ::-1], axis=1)[:, ::-1], DECIMALS)
    return np.asarray((np.round(descending[:, :1], DECIMALS) < tails).sum(axis=1), dtype=np.float64)


def largest_share(p: Floats) -> Floats:
    """The share of the most frequent value of each row, to 12 decimals; alpha of (alpha, k)-anonymity.

    Source: Wong, Li, Fu, Wang, "(alpha, k)-Anonymity: An Enhanced k-Anonymity Model for Privacy
    Preserving Data Publishing", KDD 2006. doi:10.1145/1150402.1150499
    """
    return np.asarray(np.round(p.max(axis=1), DECIMALS))


def basic_beta(p: Floats, overall: Floats) -> Floats:
    """The largest relative gain (p - P) / P of a value that a group has more of; from 0 up.

    Departure: values that nobody in the table has are left out, as the ratio to a share of 0 is undefined.

    Source: Cao, Karras, "Publishing Microdata with a Robust Privacy Guarantee", PVLDB 5(11), 2012.
    doi:10.14778/2350229.2350255

    >>> basic_beta(np.array([[0.75, 0.25]]), np.array([0.5, 0.5])).tolist()
    [0.5]
    """
    return np.asarray(np.round(_relative_gains(p, overall).max(axis=1), DECIMALS))


def enhanced_beta(p: Floats, overall: Floats) -> Floats:
    """The smallest beta for which each row is enhanced beta-like; infinite if there is none.

    Every value that a group has more of must satisfy (p - P) / P <= min(beta, -ln P). No beta makes a gain above
    -ln P acceptable.

    Source: Cao, Karras 2012, enhanced beta-likeness.
    Departure: values that nobody in the table has are left out.
    """
    gains = _relative_gains(p, overall)
    most = -np.log(overall[overall > 0])
    too_large = (gains > np.round(most, DECIMALS)).any(axis=1)
    return np.where(too_large, np.inf, np.round(gains.max(axis=1), DECIMALS))


def _relative_gains(p: Floats, overall: Floats) -> Floats:
    present = overall > 0
    gains = (p[:, present] - overall[present]) / overall[present]
    return np.asarray(np.round(np.maximum(gains, 0), DECIMALS))


def delta(p: Floats, overall: Floats) -> Floats:
    """The largest |ln(p / P)| over the values, in nats; from 0 up, infinite where a group lacks a value.

    Source: Brickell, Shmatikov, "The Cost of Privacy: Destruction of Data-Mining Utility in
    Anonymized Data Publishing", KDD 2008 (delta-disclosure privacy).
    doi:10.1145/1401890.1401904
    Departure: the definition asks for less than delta; this returns the largest ratio itself, and `at_most` accepts
    equality. Values that nobody in the table has are left out.
    """
    present = overall > 0
    with np.errstate(divide="ignore"):
        return np.asarray(np.round(np.abs(np.log(p[:, present] / overall[present])).max(axis=1), DECIMALS))


def equal_distance(p: Floats, overall: Floats) -> Floats:
    """The earth mover's distance where any two values are equally far apart: half the sum of |p - overall|; 0 to 1.

    Source: Li, Li, Venkatasubramanian, "t-Closeness: Privacy Beyond k-Anonymity and l-Diversity", ICDE 2007,
    section 4.1. doi:10.1109/ICDE.2007.367856

    >>> equal_distance(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0.5, 0.5])).tolist()
    [0.0, 0.5]
    """
    return np.asarray(np.round(np.abs(p - overall).sum(axis=1) / 2, DECIMALS))


def ordered_distance(p: Floats, overall: Floats) -> Floats:
    """The earth mover's distance where values are as far apart as their positions in the declared order; 0 to 1.

    It is the sum of absolute differences of cumulative shares, over (values - 1).

    Source: Li, Li, Venkatasubramanian 2007, section 4.1, ordered distance.
    """
    if p.shape[1] < 2:
        return np.zeros(len(p))
    running = np.cumsum(p - overall, axis=1)[:, :-1]
    return np.asarray(np.round(np.abs(running).sum(axis=1) / (p.shape[1] - 1), DECIMALS))


def hierarchical_distance(p: Floats, overall: Floats, hierarchy: Hierarchy, domain: Sequence[str | None]) -> Floats:
    """The earth mover's distance where values are as far apart as their lowest common group is high; 0 to 1.

    Heights are divided by the height of the hierarchy. In each group of a level, what its subgroups have too much
    of and what they have too little of cancels as far as possible; that share is moved at this group's height.

    Source: Li, Li, Venkatasubramanian 2007, section 4.1, hierarchical distance.
    Departure: levels on which every value of the domain shares one group (the usual `*`) count as one, the top;
    the height of the hierarchy is one more than the levels that distinguish groups.
    """
    height = hierarchy.depth + 1
    extra = p - overall
    cost = np.zeros(len(p))
    parts = np.arange(len(domain))
    for level in range(1, height + 1):
        names = [hierarchy.groups[value][level - 1] if level < height else "" for value in domain]
        groups = np.unique(names, return_inverse=True)[1].reshape(-1)
        first = np.unique(parts, return_index=True)[1]
        too_much = _summed(np.maximum(extra, 0), groups[first])
        too_little = _summed(np.maximum(-extra, 0), groups[first])
        cost += level / height * np.minimum(too_much, too_little).sum(axis=1)
        extra, parts = too_much - too_little, groups
    return np.asarray(np.round(cost, DECIMALS))


def _summed(columns: Floats, groups: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """The sums of the columns of each group."""
    together = np.zeros((int(groups.max()) + 1, len(columns)))
    np.add.at(together, groups, columns.T)
    return together.T
