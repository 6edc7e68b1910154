"""The threshold method: C4.5 on the shared numbers, every cut moved by a constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from leafgate.noise import Noise
from leafgate.tree import Cut, Fan, Leaf, Node
from leafgate_ppdtc45.plain import Learner, plain_tree
from leafgate_ppdtc45.reaching import expected_accuracy, judges_of
from leafgate_ppdtc45.shared import Shared

THETAS: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""What `auto` chooses from."""

FOLDS = 3
"""Everybody is held out once, in one of so many parts."""

MOST_JUDGES = 4000
"""No more people than that judge in one part."""


def threshold_tree(perturbed: Node, noise: Mapping[str, Noise], theta: float) -> Node:
    """The tree for original numbers: each cut c of the tree on shared ones at t = c - F_R^-1(1 - theta).

    Source: Liu, Kantarcioglu, Thuraisingham, sections 6.1 to 6.3.
    Departure: the paper evaluates p_S1(w|t) > theta, which says w < t + F_R^-1(1 - theta), at every candidate t;
    the partitions it can make of the people are those of C4.5 on w, so that is what is grown.
    """
    return moved(perturbed, lambda column, at: at - noise[column].quantile(1 - theta))


def moved(tree: Node, move: Callable[[str, float], float]) -> Node:
    """The same tree with every cut elsewhere."""
    match tree:
        case Cut():
            low, high = moved(tree.low, move), moved(tree.high, move)
            return replace(tree, at=move(tree.column, tree.at), low=low, high=high)
        case Leaf() | Fan():
            return tree


def chosen_theta(shared: Shared, learner: Learner, rng: np.random.Generator) -> float:
    """The theta whose trees, each grown without a part of the people, are expected to do best on that part's originals.

    What a tree would say of somebody's original numbers is only known by chance: by the noise law and the
    reconstructed distribution of each column within the class. Ties go to the theta nearest .5.

    Departure: the paper would choose it "just like C4.5 finds the best splitting point"; by gain that chooses
    nothing, for theta changes no partition of the people.
    """
    order = rng.permutation(len(shared.classes))
    expected = np.zeros(len(THETAS))
    for held in np.array_split(order, FOLDS):
        tree = plain_tree(shared.taken(np.setdiff1d(order, held)), learner)
        judges = judges_of(shared.taken(held[:MOST_JUDGES]))
        expected += [expected_accuracy(threshold_tree(tree, shared.noise, theta), judges) for theta in THETAS]
    return max(THETAS, key=lambda theta: (round(expected[THETAS.index(theta)], 12), -abs(theta - 0.5)))
