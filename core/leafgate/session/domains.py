"""The domains that a first policy proposes, one place for `leafgate init` and `leafgate.audit`.

Bounds and bins are round, so that they are nobody's. A list of values that few people have each is no domain: it would
name these people wherever the policy, or a tree that is built by it, is published.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.io.json import parse_number

SHORT_LIST = 12
"""A list of no more values is a domain, however few people have each of them."""

MANY_RARE_VALUES = 50
"""A list with more values of few people than this is no domain, however many others it has."""

FLOAT_DIGITS = 14
"""Digits after the first that every float keeps."""

SMALLEST_STEP = -300
"""The smallest power of ten between a bound and the numbers within it; floats end soon after."""


def is_long_list(people: Collection[int], smallest_cell: int) -> bool:
    """Does a list of values name people, so that no policy should have it as a domain?

    Args:
        people: how many people have each value; at least 1.
        smallest_cell: fewer people than this are few.

    Returns:
        Whether the list has more than 12 values, of which most, or more than 50, belong to few people each.

    >>> is_long_list([1] * 800, smallest_cell=10), is_long_list([1] * 12, smallest_cell=10)
    (True, False)
    >>> is_long_list([29170, 1, *[70] * 39], smallest_cell=10)
    False
    """
    rare = rare_values(people, smallest_cell)
    return len(people) > SHORT_LIST and (2 * rare > len(people) or rare > MANY_RARE_VALUES)


def rare_values(people: Collection[int], smallest_cell: int) -> int:
    """How many of the values belong to fewer than `smallest_cell` people."""
    return sum(number < smallest_cell for number in people)


def list_domain(texts: Sequence[str], people: Collection[int], smallest_cell: int) -> dict[str, Any]:
    """What a first policy says of a column that holds values.

    Args:
        texts: every value that the column may have, in the order that the domain is to have.
        people: how many people have each of those that occur.
        smallest_cell: fewer people than this are few.

    Returns:
        The `values`; of a long list of whole numbers every one within round bounds, if these are fewer than the
        people; of any other long list nothing, which leaves the domain to the owner.

    >>> list_domain(["a", "b"], [3, 4], smallest_cell=10)
    {'values': ['a', 'b']}
    >>> list_domain([str(i) for i in range(800)], [1] * 800, smallest_cell=10)
    {}
    """
    if not is_long_list(people, smallest_cell):
        return {"values": list(texts)}
    numbers = [parse_number(text) for text in texts]
    if all(text == f"{number:.0f}" for text, number in zip(texts, numbers, strict=True)):  # "nan" is no number
        domain = bounds_domain(numbers, sum(people))
        if "step" in domain:
            low, high = map(int, domain["bounds"])
            return {"values": [str(number) for number in range(low, high + 1)]}
    return {}


def bounds_domain(numbers: Sequence[float], people: int) -> dict[str, Any]:
    """What a first policy says of a column of numbers that is no secret.

    Args:
        numbers: every different number, one at least.
        people: how many people have a number.

    Returns:
        Round `bounds`, and a `step` of 1 for whole numbers whose bounds hold fewer of them than there are people, such
        as ages. A number that a file holds is then nobody's. Exact amounts, such as incomes, have more.

    >>> bounds_domain([18, 90], people=400)
    {'bounds': [10.0, 100.0], 'step': 1}
    >>> bounds_domain([18000, 90250], people=400)
    {'bounds': [10000.0, 100000.0]}
    """
    low, high = round_bounds(numbers)
    is_public = high - low + 1 < people and all(float(number).is_integer() for number in numbers)
    return {"bounds": [low, high]} | ({"step": 1} if is_public else {})


def round_bounds(numbers: Sequence[float]) -> tuple[float, float]:
    """Multiples of a power of ten below the least and above the largest number; the power is no larger than their span.

    They are not the two numbers themselves, which are somebody's, because a release publishes its bounds. A bound of
    0 stays, as many quantities start there; and so do the bounds 0 and 1 together, those of truth values and shares.

    >>> round_bounds([18, 90])
    (10.0, 100.0)
    >>> round_bounds([0, 1])
    (0.0, 1.0)
    >>> round_bounds([0, 1, 2])
    (0.0, 3.0)
    """
    least, largest = Decimal(repr(min(numbers))), Decimal(repr(max(numbers)))
    span = largest - least or abs(largest) or Decimal(1)
    digits = max(abs(least), abs(largest)).adjusted() - FLOAT_DIGITS  # smaller steps are lost in the bounds
    step = Decimal(10) ** max(span.adjusted(), digits, SMALLEST_STEP)
    below, above = (
        (least / step).to_integral_value(ROUND_FLOOR) * step,
        (largest / step).to_integral_value(ROUND_CEILING) * step,
    )
    below -= step if below == least != 0 else 0
    ends = {Decimal(0), Decimal(1)} if least == 0 else {Decimal(0)}
    above += step if above == largest not in ends or above == below else 0
    low, high = float(below), float(above)
    if not (math.isfinite(low) and math.isfinite(high)):  # at the end of what a float can hold
        return float(least), float(largest)
    return min(low, float(least)), max(high, float(largest))


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


OWN_BIN = 0.25
"""A number that more than this share of the people have is an interval of its own."""

INNER_QUANTILES = tuple(tenth / 10 for tenth in range(1, 10))
"""The other edges are near these quantiles of the other people's numbers: few of many people are in one bin then, and
a model that predicts well does not fail for telling who is in the lower half."""


def number_domain(numbers: NDArray[np.float64], everything: Sequence[float]) -> dict[str, Any]:
    """What a first policy says of a secret of numbers: its `bins`, and `scale: ratio` where they begin at 0.

    A number that more than a quarter of the people have is a bin of its own. The other edges are quantiles of the rest,
    rounded to multiples of 1, 2 or 5 times a power of ten.

    Args:
        numbers: everybody's number, whose quantiles are taken.
        everything: all numbers that must lie within the bins; those of other people among them.

    Returns:
        As a policy has it; empty where the numbers are too large, or too near each other, for round edges.

    >>> number_domain(np.array([0.0] * 60 + [100.0 + 7 * i for i in range(40)]), [0, 373])["bins"]
    [0.0, 100.0, 150.0, 200.0, 250.0, 300.0, 350.0, 400.0]
    """
    low, high = round_bounds(everything)
    if not 1e-200 < high - low < 1e200 or max(abs(low), abs(high)) > 1e9 * (high - low):
        return {}
    values, counts = np.unique(numbers, return_counts=True)
    edges, taken = {low, high}, list[tuple[float, float]]()
    for value in values[counts > OWN_BIN * len(numbers)].tolist():
        above = values[values > value]
        end = _roundest(value, float(above[0])) if len(above) else high
        taken.append((value, end))
        edges |= {value, end}
    rest = numbers[~np.isin(numbers, [start for start, _ in taken])]
    if len(rest):
        step = _round_step(float(np.quantile(rest, 0.9) - np.quantile(rest, 0.1)) / 10 or (high - low) / 10)
        inner = (_round_to(float(quantile), step) for quantile in np.quantile(rest, INNER_QUANTILES))
        edges |= {edge for edge in inner if not any(start <= edge <= end for start, end in taken)}
    bins = sorted(edge for edge in edges if low <= edge <= high)
    bins = bins if len(bins) > 2 else list(round_edges(low, high))
    if len(bins) < 3:
        return {}
    return {"bins": bins} | ({"scale": "ratio"} if low == 0 else {})


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below a positive number."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(float(f"{times * power:.12g}") for times in (1, 2, 5, 10) if least <= times * power * (1 + 1e-9))


def _round_to(number: float, step: float) -> float:
    return float(f"{round(number / step) * step:.12g}")


def _roundest(above: float, most: float) -> float:
    """The roundest number above one and up to another: a multiple of the largest 1, 2 or 5 times a power of ten."""
    power = math.floor(math.log10(max(abs(above), abs(most), most - above))) + 1
    while True:
        for times in (5, 2, 1):
            step = times * 10.0**power
            candidate = float(f"{math.floor(most / step) * step:.12g}")
            if above < candidate <= most:
                return candidate
        power -= 1
