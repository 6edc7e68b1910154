"""Counting: who can be in which bin, where it is published how many people each bin counts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from leafgate.api import lazy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.api import Mask
else:
    np = lazy("numpy")


def occurring_bins(
    person: NDArray[np.int64], bins: NDArray[np.int64], people: int, counts: NDArray[np.int64]
) -> Mask | None:
    """Which pairs of a person and a bin occur where each person is in one bin, and each bin has its count of people.

    One assignment is a flow. All others differ from it by cycles along which people change places, so that a pair which
    is not in the flow occurs just if its ends lie in the same strongly connected component of the residual graph.
    People with the same bins change places freely and are one node.

    Args:
        person: shape (n_pairs,), in ascending order, from 0 below `people`.
        bins: shape (n_pairs,), ascending for each person: the bins in which this person can be. No pair stands twice.
        people: how many people there are.
        counts: shape (n_bins,), from 0: how many people are in each bin.

    Returns:
        Shape (n_pairs,); None where there is no such assignment.

    Source: J.-C. Regin, "Generalized arc consistency for global cardinality constraint", AAAI 1996, pages 209-215.

    >>> pairs = np.array([0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 2])
    >>> occurring_bins(*pairs, 3, np.array([1, 1, 1])).tolist()
    [True, False, True, False, True]
    """
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components, maximum_flow

    first = np.searchsorted(person, np.arange(people + 1))
    if int(counts.sum()) != people or (np.diff(first) == 0).any():
        return None
    if not people:
        return np.zeros(0, dtype=bool)
    kind, representative, size = _kinds(bins, first)
    lengths = np.diff(first)[representative]
    offset = np.concatenate([[0], np.cumsum(lengths)])
    edge_kind = np.repeat(np.arange(len(representative)), lengths)
    within = np.arange(offset[-1]) - offset[edge_kind]
    edge_bin = bins[first[representative][edge_kind] + within]
    used, edge_bin = np.unique(edge_bin, return_inverse=True)
    if int(counts[used].sum()) != people:
        return None
    n, m = len(size), len(used)
    begin = np.concatenate([np.full(n, n + m), edge_kind, n + np.arange(m)])
    end = np.concatenate([np.arange(n), n + edge_bin, np.full(m, n + m + 1)])
    capacity = np.concatenate([size, size[edge_kind], counts[used]]).astype(np.int32)
    graph = csr_array(coo_array((capacity, (begin, end)), shape=(n + m + 2, n + m + 2)))
    result = maximum_flow(graph, n + m, n + m + 1)
    if result.flow_value != people:
        return None
    flow = np.asarray(csr_array(result.flow)[edge_kind, n + edge_bin]).ravel() > 0
    rows = np.concatenate([edge_kind, n + edge_bin[flow]])
    columns = np.concatenate([n + edge_bin, edge_kind[flow]])
    residual = csr_array(coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n + m, n + m)))
    _, component = connected_components(residual, connection="strong")
    occurs = flow | (component[edge_kind] == component[n + edge_bin])
    place = np.arange(len(person)) - first[person]
    return np.asarray(occurs[offset[kind[person]] + place])


def _kinds(
    bins: NDArray[np.int64], first: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The kind of each person (people of one kind have the same bins), somebody of each kind, and their number."""
    numbers: dict[bytes, int] = {}
    content, width = bins.tobytes(), bins.itemsize
    ends = (first * width).tolist()
    kind = np.array(
        [numbers.setdefault(content[low:high], len(numbers)) for low, high in pairwise(ends)],
        dtype=np.int64,
    )
    _, representative, size = np.unique(kind, return_index=True, return_counts=True)
    return kind, representative, size
