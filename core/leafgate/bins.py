"""Bins: what is believed of a number is believed of the interval it lies in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def bin_names(edges: Sequence[float]) -> tuple[str, ...]:
    """Each bin in words: an edge belongs to the bin above it, the last to the last bin.

    >>> bin_names((0, 10, 20.5))
    ('[0, 10)', '[10, 20.5]')
    """
    written = [short if float(short) == edge else repr(float(edge)) for edge in edges for short in [f"{edge:.15g}"]]
    last = len(edges) - 2
    return tuple(f"[{written[i]}, {written[i + 1]}{']' if i == last else ')'}" for i in range(last + 1))


def round_edges(low: float, high: float) -> tuple[float, ...]:
    """Edges of four to ten intervals of one round width (1, 2 or 5 times a power of ten) that hold both numbers.

    Empty where the numbers are too large, or too near each other, for such edges to be numbers apart.

    >>> round_edges(3, 97)
    (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
    """
    if not 1e-200 < high - low < 1e200 or max(abs(low), abs(high)) > 1e9 * (high - low):
        return ()
    power = 10.0 ** math.floor(math.log10((high - low) / 5))
    width = next(power * times for times in (1, 2, 5, 10) if high - low <= 5 * power * times)
    first, last = math.floor(low / width), math.ceil(high / width)
    return tuple(float(f"{place * width:.12g}") for place in range(first, last + 1))


def bin_of(numbers: NDArray[np.float64], edges: Sequence[float]) -> NDArray[np.int64]:
    """Each number's bin; what lies outside counts to the first or the last."""
    import numpy as np

    return np.searchsorted(np.asarray(edges[1:-1], dtype=float), numbers, side="right").astype(np.int64)


def bins_between(edges: Sequence[float], low: float, high: float, *, open_low: bool = False) -> NDArray[np.bool_]:
    """Which bins hold a float from `low` (itself left out where `open_low`) to `high`.

    An edge belongs to the bin above it, the last to the last bin. The answer is exact: between an edge and the
    float just below it lies no number, so a range that begins there does not touch the bin below.

    >>> bins_between((0, 5000, 10000), math.nextafter(5000, -math.inf), 10000, open_low=True).tolist()
    [False, True]
    """
    import numpy as np

    smallest = math.nextafter(low, math.inf) if open_low else low
    starts = np.asarray(edges[:-1], dtype=float)
    largest = np.nextafter(np.asarray(edges[1:], dtype=float), -np.inf)
    largest[-1] = edges[-1]
    return np.asarray(np.maximum(starts, smallest) <= np.minimum(largest, high))
