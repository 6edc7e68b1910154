"""Exclusion: a leaf that counts nobody of a class was reached by nobody of that class in the table.

A tree that was trained on all rows sends each of them to the leaf where it is counted. So somebody who reaches a leaf
that counts nobody of this person's class is not among the rows, or has other cells than is believed. Of a forest whose
trees were each trained on a bootstrap it is evidence, and how many trees there are of which it is so is a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.consistency import decimal_places
from leafgate.errors import InconclusiveError
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import Release
from leafgate.kernel.tree import Node, leaves

POSITIVE_CLASS_WEIGHTS = frozenset({"balanced", "balanced_subsample"})
"""The values of `class_weight` by which every class that has rows has a positive weight."""

UNIFORM_CLASS_WEIGHTS = "balanced_subsample"
"""The value of `class_weight` by which weights never decide which rows are drawn."""


def exclusion_p_values(excluding: NDArray[np.int64], trees: int, out_of_bag: float) -> NDArray[np.float64]:
    """The p-value of the hypothesis that a candidate is in the table, by the trees whose bags then lack this person.

    Theorem. Let n people be in the table, x be one of them, and let each of T trees be trained on m draws with
    replacement in which everybody has the probability 1/n, independently of all other draws, every person drawn having
    a positive weight. Let S be the number of trees whose leaf for x counts nobody of x's class, and q at least
    (1 - 1/n)^m. Then for the p-value p(S) = P(Binomial(T, q) >= S) and each level a from 0 to 1, P(p(S) <= a) <= a.

    Proof. Let B_t be the event that no draw of tree t is x. If tree t has drawn x, x was counted, with x's class, in
    the leaf that x reaches, for a tree routes the rows it is trained on as it routes any other. So if tree t excludes
    x, B_t holds, whatever the tree looks like: how tests are chosen may depend on the draws in any way, as with
    `max_features`, `splitter`, `min_samples_leaf` or pruning, and on coins of its own. Hence S is at most the number N
    of the events B_t that hold. These are independent of one another, because B_t depends on the draws of tree t alone,
    and each has the probability (1 - 1/n)^m. So N has the law Binomial(T, (1 - 1/n)^m), which is stochastically at most
    Binomial(T, q), and p(S) >= p(N). With F(k) = P(Binomial(T, q) >= k), which falls as k rises, P(F(N) <= a) is at
    most a: it is P(N >= k) for the least k with F(k) <= a, and P(N >= k) <= F(k) <= a. QED

    The level is that of one person who was chosen before the trees were seen; among M members about a M are below a.
    Nothing is assumed of other people, so twins of x make S smaller at most.

    What breaks it: draws that depend on weights or classes (weighted draws, balanced bootstraps, as scikit-learn makes
    them since 1.9 with sample weights and with `class_weight` other than `balanced_subsample`), weights of 0, bags that
    trees share or that are drawn once for all, trees of a forest that was chosen among others by how well it excludes,
    trees that were added later with other rows (`warm_start`), rows of the table that were never drawn from (held out),
    and numbers of leaves that were changed after training (clipped, rounded, pruned by other people).

    Args:
        excluding: any shape, from 0 to `trees`: how many trees exclude each candidate.
        trees: T, from 0.
        out_of_bag: q, in (0, 1).

    Returns:
        The p-values, from 0 to 1, in the shape of `excluding`; 1 where no tree excludes the candidate.

    Source: leafgate; P(Binomial(T, q) >= k) is the regularised incomplete beta function I_q(k, T - k + 1), Abramowitz,
    Stegun, "Handbook of Mathematical Functions", 1964, 26.5.24.

    >>> exclusion_p_values(np.array([0, 1, 2]), 2, 0.25).tolist()
    [1.0, 0.4375, 0.0625]
    """
    from scipy.special import betainc

    counts = np.arange(1, trees + 1)
    tails = np.concatenate([[1.0], betainc(counts, trees - counts + 1, out_of_bag)])
    return np.asarray(tails[excluding], dtype=np.float64)


def absence_probability(release: Release, *, people: int | None, at_least: int, weighted: bool) -> float:
    """The probability, at most, that somebody in the table is not among the rows that a tree was trained on.

    Args:
        release: the model, whose leaves must state of which classes they count nobody.
        people: how many people are in the table, from 1; None where that is not known.
        at_least: how many people are in the table at least; it is read where `people` is None.
        weighted: whether the policy has a column of weights that do not count people.

    Returns:
        0 where every tree was trained on all rows; else (1 - 1/n)^m for m draws from n people, below 1.

    Raises:
        InconclusiveError: it does not follow from the release, or its leaves do not tell which classes they count.
    """
    _require_classes_on_leaves(release)
    if weighted:
        raise _inapplicable("the table has weights that do not count people, and some may be 0")
    settings = _settings(release)
    if settings.get("monotonic_cst") is not None:
        raise _inapplicable("monotonic constraints may clip what a leaf says of its classes to 0")
    if release.count_semantics == "exact":
        _require_everybody(release, at_least if people is None else people)
        return 0.0
    if release.count_semantics == "bootstrap":
        return _of_draws(_draws_counted(release), settings, people)
    return _of_class_weights(release, settings, people)


def _inapplicable(reason: str) -> InconclusiveError:
    return InconclusiveError(
        f"a leaf that counts nobody of a class excludes nobody: {reason}",
        remedy="use attacks on scores: `loss_threshold` for membership, `likelihood` for inputs of the model",
    )


def _settings(release: Release) -> dict[str, Any]:
    """The settings of the learner that the release states."""
    settings = release.builder.get("settings")
    return dict(settings) if isinstance(settings, dict) else {}


def _require_classes_on_leaves(release: Release) -> None:
    """Raise InconclusiveError unless leaves state which classes are there, and no small share is rounded to 0."""
    if release.combine == "boost":
        raise _inapplicable("the leaves of boosting have scores to add up, and count nobody")
    if release.predicts_numbers:
        raise _inapplicable("its leaves predict numbers, and count no classes")
    if release.publish.leaves == "labels":
        raise _inapplicable("its leaves publish labels alone")
    if release.file is None or release.publish.leaves != "shares":
        return
    shares = [list((leaf.shares or {}).values()) for tree in release.trees for leaf in leaves(tree)]
    every = np.array([share for row in shares for share in row])
    mixed = every[(every > 0) & (every < 1)]
    if mixed.size and decimal_places(mixed) is not None:
        raise _inapplicable("the shares of its leaves may be rounded, a small one to 0")


def _require_everybody(release: Release, people: int) -> None:
    """Raise InconclusiveError if some tree counts fewer people than the table has."""
    if release.publish.leaves == "counts" and any(_total(tree) < people for tree in release.fitted_trees):
        raise _inapplicable("a tree counts fewer people than the table has, so some were left out of its training")


def _draws_counted(release: Release) -> int:
    """How many draws each tree counts; InconclusiveError unless all count as many, or where they do not count."""
    if release.publish.leaves != "counts":
        raise _inapplicable("its trees do not tell how many rows each of them draws")
    totals = {_total(tree) for tree in release.trees}
    if len(totals) != 1 or not (total := totals.pop()).is_integer() or total < 1:
        raise _inapplicable("its trees do not count the same number of draws each: were rows weighed?")
    return int(total)


def _of_draws(draws: int, settings: dict[str, Any], people: int | None) -> float:
    """(1 - 1/n)^m for m draws from the n people of the table, no less than any one of them is drawn."""
    n = people
    if n is None:
        raise _inapplicable("how many people the bootstraps were drawn from is not known")
    most = settings.get("max_samples", draws)
    expected = n if most is None else most * n if isinstance(most, float) else draws
    if abs(draws - expected) > 1:
        raise _inapplicable(
            "by the number of rows its trees draw it was trained on more people than the table, or fewer"
        )
    if n == 1:
        raise _inapplicable("its bootstraps are drawn from one person")
    return float(np.exp(draws * np.log1p(-1 / n)))


def _of_class_weights(release: Release, settings: dict[str, Any], people: int | None) -> float:
    """The probability of a model of weighted rows: only where weights are those of classes, and draw no row."""
    weights = settings.get("class_weight")
    if weights not in POSITIVE_CLASS_WEIGHTS:
        raise _inapplicable("its rows had weights that the file does not tell, and some may be 0")
    drawn = settings.get("bootstrap")
    if drawn is False or (drawn is None and "bootstrap" not in settings and len(release.trees) == 1):
        return 0.0
    if drawn is not True or weights != UNIFORM_CLASS_WEIGHTS or "max_samples" not in settings:
        raise _inapplicable("the weights of classes may decide which rows its trees draw")
    return _of_draws(_draws_set(settings["max_samples"], people), settings, people)


def _draws_set(max_samples: object, people: int | None) -> int:
    """How many rows each tree draws by the setting `max_samples`: all, so many, or, as a float, a share of them."""
    if max_samples is None and people is not None:
        return people
    if isinstance(max_samples, int) and not isinstance(max_samples, bool) and max_samples >= 1:
        return max_samples
    if isinstance(max_samples, float) and people is not None and 0 < max_samples * people < np.inf:
        return max(1, int(max_samples * people))
    raise _inapplicable("how many rows its trees draw is not known")


def _total(tree: Node) -> float:
    """How many people or draws the leaves of a tree count."""
    return float(sum(sum((leaf.counts or {}).values()) for leaf in leaves(tree)))


def absent_classes(tree_leaves: Sequence[Leaf], release: Release, classes: Sequence[str]) -> NDArray[np.bool_]:
    """Of which classes each leaf states that it counts nobody.

    Args:
        tree_leaves: of a tree of the release.
        release: says whether a leaf without numbers is empty.
        classes: the classes of the schema, in its order.

    Returns:
        Shape (n_leaves + 1, n_classes + 1), True where nobody who was counted in the leaf has this class; all True
        where the leaf is empty. False says nothing. The last row is of people who reach no leaf, the last column of
        those whose class is missing: both are False.
    """
    nowhere = [False] * len(classes)
    absent = np.array([*(_absent_from(leaf, release, classes) for leaf in tree_leaves), nowhere], dtype=bool)
    return np.pad(absent, ((0, 0), (0, 1)))


def _absent_from(leaf: Leaf, release: Release, classes: Sequence[str]) -> list[bool]:
    """Of which of the classes one leaf states that it counts nobody."""
    numbers = leaf.counts if leaf.counts is not None else leaf.shares
    if numbers is not None:
        return [numbers.get(name) == 0 for name in classes]
    if release.is_empty(leaf):
        return [True] * len(classes)
    pure = leaf.error_rate == 0 and leaf.label is not None
    return [pure and name != leaf.label for name in classes]
