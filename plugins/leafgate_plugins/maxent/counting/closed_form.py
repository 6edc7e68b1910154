"""Closed forms for a component that is a single leaf, constrained only by its own counts and its label.

Everyone in the leaf has the same posterior, and classes without a published count have equal probability.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.special import gammaln, logsumexp

from leafgate.api import Floats
from leafgate_plugins.maxent.counting.answer import Answer, no_consistent_data_set, out_of_time
from leafgate_plugins.maxent.counting.components import Component

MAX_LABELLED_PEOPLE = 3_000
"""Largest leaf with only a label that is solved in closed form; the time grows with people^2.5."""


def closed_form(component: Component, deadline: float) -> Answer | None:
    """The answer for a leaf on its own; None where there is no closed form."""
    if len(component.open) != 1 or len(component.equal) or len(component.tolerance):
        return None
    result, open_ = component.known_counts[0], component.free[0] & (component.known_counts[0] < 0)
    if len(component.least):
        return _label_only(component, deadline)
    left = int(component.open[0] - np.maximum(result, 0).sum())
    people = np.where(open_, left / max(int(open_.sum()), 1), np.maximum(result, 0))
    ways = _orders(component) - gammaln(left + 1) + left * np.log(max(int(open_.sum()), 1))
    return Answer(people[None], float(ways))


def _orders(component: Component) -> float:
    """Logarithm of the number of ways to assign the published counts, times the orders of the rest."""
    return float(component.log_ways - gammaln(np.maximum(component.known_counts[0], 0) + 1).sum())


def _label_only(component: Component, deadline: float) -> Answer | None:
    """No class without a published count outnumbers the label: `label - class >= bound`, the same for all of them."""
    sums, result = component.least.matrix.toarray(), component.known_counts[0]
    others = np.flatnonzero((sums < 0).any(axis=0))
    label = np.flatnonzero((sums > 0).any(axis=0))
    expected = set(np.flatnonzero(component.free[0] & (result < 0)).tolist())
    alike = (component.least.bound == component.least.bound[0]).all() and (
        sums == sums[0] * (sums > 0) + sums * (sums < 0)
    ).all()
    once = len(others) == len(sums) and ((sums < 0).sum(axis=1) == 1).all() and np.abs(sums).max() == 1
    if not (alike and once and set(others.tolist()) | set(label.tolist()) == expected and len(label) <= 1):
        return None
    bound, left = int(component.least.bound[0]), int(component.open[0] - np.maximum(result, 0).sum())
    if len(label) and left > MAX_LABELLED_PEOPLE:
        return None
    people, orders = np.maximum(result, 0).astype(np.float64), _orders(component) - float(gammaln(left + 1))
    if not len(label):
        people[others] = left / len(others)
        return _answer(people, orders + log_ways(left, len(others), -bound))
    numbers, ways = _numbers_of_label(left, len(others), bound, deadline)
    total = float(logsumexp(ways))
    if np.isfinite(total):
        people[label] = float(np.exp(ways - total) @ numbers)
        people[others] = (left - people[label]) / len(others)
    return _answer(people, orders + total)


def _answer(people: Floats, ways: float) -> Answer:
    if not np.isfinite(ways):
        raise no_consistent_data_set()
    return Answer(people[None], float(ways))


def _numbers_of_label(people: int, others: int, bound: int, deadline: float) -> tuple[Floats, Floats]:
    """Each number of people the label can have, and the logarithm of the ways to have it."""
    numbers = np.arange(max(bound, 0), people + 1)
    choose = gammaln(people + 1) - gammaln(numbers + 1) - gammaln(people - numbers + 1)
    ways = np.full(len(numbers), -np.inf)
    for i, number in enumerate(numbers.tolist()):
        if time.monotonic() > deadline:
            raise out_of_time()
        ways[i] = choose[i] + log_ways(people - number, others, number - bound)
    return numbers.astype(np.float64), ways


def log_ways(people: int, classes: int, most: int) -> float:
    """The logarithm of the number of ways to give people one of the classes each, none to more than `most`.

    It is people! times the coefficient of z^people in (sum over i <= most of z^i / i!)^classes, here
    with z measured in people a class, so that all terms are probabilities.

    >>> round(float(np.exp(log_ways(4, 3, 2))))
    54
    """
    if most >= people:
        return people * float(np.log(classes)) if people else 0.0
    if most < 0 or most * classes < people:
        return -np.inf
    mean = people / classes
    i = np.arange(most + 1)
    one = np.exp(i * np.log(mean) - mean - gammaln(i + 1))
    power, left, square = np.ones(1), classes, one
    while left:
        if left % 2:
            power = np.convolve(power, square)[: people + 1]
        left //= 2
        if left:
            square = np.convolve(square, square)[: people + 1]
    return float(gammaln(people + 1) + np.log(power[people]) + people - people * np.log(mean))
