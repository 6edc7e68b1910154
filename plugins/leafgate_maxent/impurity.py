"""Impurity of blocks of people, in people x measure, with its derivatives; natural logarithms.

A block has a number of people in each class, t. Both measures are concave in t and homogeneous of
degree one, also where the size of the block is not known.
"""

from __future__ import annotations

import numpy as np

from leafgate_maxent.walk import Floats


def x_log_x(x: Floats) -> Floats:
    """x ln x, and 0 at 0."""
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(x * np.log(x, where=x > 0, out=np.zeros_like(x)))


def impurity(t: Floats, *, gini: bool) -> Floats:
    """n H(t / n) in nats, or n (1 - sum of squared shares); blocks in rows, 0 for empty ones."""
    n = t.sum(axis=-1)
    if gini:
        squares = (t**2).sum(axis=-1)
        return np.asarray(n - np.divide(squares, n, where=n > 0, out=np.zeros_like(n)))
    return np.asarray(x_log_x(n) - x_log_x(t).sum(axis=-1))


def slope(t: Floats, *, gini: bool) -> Floats:
    """The gradient of `impurity`, one row a block; a class nobody has counts as hardly anybody."""
    n = np.maximum(t.sum(axis=-1, keepdims=True), TINY)
    if gini:
        return np.asarray(1 - 2 * t / n + ((t / n) ** 2).sum(axis=-1, keepdims=True))
    return np.asarray(np.log(n) - np.log(np.maximum(t, TINY)))


def bend(t: Floats, along: Floats, *, gini: bool) -> Floats:
    """Minus the Hessian of `impurity`, times a direction: one row a block, never negative along itself."""
    n = np.maximum(t.sum(axis=-1, keepdims=True), TINY)
    total = along.sum(axis=-1, keepdims=True)
    if gini:
        p = t / n
        twice = 2 * (along - p * total) / n
        return np.asarray(twice - (p * twice).sum(axis=-1, keepdims=True))
    return np.asarray(along / np.maximum(t, TINY) - total / n)


TINY = 1e-300
