"""t-closeness: how far the secret's distribution in a group is from that of everyone.

The earth mover's distance between `p` (a row for each group) and `overall`, with three ground
distances between values; each has a closed form.

Source: Li, Li, Venkatasubramanian, "t-Closeness: Privacy Beyond k-Anonymity and l-Diversity", ICDE
2007, section 4.1. doi:10.1109/ICDE.2007.367856
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leafgate.types.hierarchy import Hierarchy
from leafgate_diversity.l_diversity import DECIMALS, Floats


def equal_distance(p: Floats, overall: Floats) -> Floats:
    """Half the sum of absolute differences; 0 to 1. Any two values are equally far apart.

    >>> equal_distance(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0.5, 0.5])).tolist()
    [0.0, 0.5]
    """
    return np.asarray(np.round(np.abs(p - overall).sum(axis=1) / 2, DECIMALS))


def ordered_distance(p: Floats, overall: Floats) -> Floats:
    """The sum of absolute differences of running totals, over (values - 1); 0 to 1.

    Values are as far apart as their places in the declared order.
    """
    if p.shape[1] < 2:
        return np.zeros(len(p))
    running = np.cumsum(p - overall, axis=1)[:, :-1]
    return np.asarray(np.round(np.abs(running).sum(axis=1) / (p.shape[1] - 1), DECIMALS))


def hierarchical_distance(p: Floats, overall: Floats, hierarchy: Hierarchy, domain: Sequence[str | None]) -> Floats:
    """What must be moved, by the height it must climb in the hierarchy; 0 to 1.

    Two values are as far apart as their lowest common group is high, over the height of the whole
    hierarchy. In each group of a level, what its subgroups have too much and too little of cancels
    as far as it can; that much is moved at this group's height.

    Departure: levels on which every value of the domain shares one group (the usual `*`) count as
    one, the top; the height of the whole is one more than the levels that tell groups apart.
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
    """The columns of each group added up."""
    together = np.zeros((int(groups.max()) + 1, len(columns)))
    np.add.at(together, groups, columns.T)
    return together.T
