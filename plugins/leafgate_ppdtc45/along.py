"""Classifying people of whom only shared numbers are seen."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from leafgate.noise import Noise
from leafgate.tree import Cut, Fan, Leaf, Node

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def along_random_paths(
    tree: Node,
    numbers: Mapping[str, Floats],
    noise: Mapping[str, Noise],
    classes: tuple[str, ...],
    rng: np.random.Generator,
) -> Codes:
    """Each person's class at the end of a path where every test of the tree (for originals) is decided by chance.

    Source: Liu, Kantarcioglu, Thuraisingham, section 6.6, Algorithm 4: low with p_S1(w|t) = 1 - F_R(w - t).
    """
    people = len(next(iter(numbers.values())))
    found = np.zeros(people, dtype=np.int64)
    waiting: list[tuple[Node, Codes]] = [(tree, np.arange(people))]
    while waiting:
        node, rows = waiting.pop()
        match node:
            case Leaf():
                found[rows] = classes.index(node.label or classes[0])
            case Cut():
                chance = 1 - noise[node.column].below(numbers[node.column][rows] - node.at)
                low = rng.random(len(rows)) <= chance
                waiting += [(node.high, rows[~low]), (node.low, rows[low])]
            case Fan():
                raise TypeError("a tree of cuts has no fans")
    return found
