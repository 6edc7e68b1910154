"""Predictions of a release for the rows of a table, and how accurate they are."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.routing import NOWHERE, route
from leafgate.errors import InconclusiveError
from leafgate.kernel.arrays import CompactIds
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import CalibratedSum, Combine, NaiveBayes, Release
from leafgate.kernel.schema import bin_of
from leafgate.kernel.table import Table
from leafgate.kernel.tree import TreeArrays, tree_arrays

LARGEST_EXPONENT = 700.0
"""The exponential of a larger number is none of double precision."""


def predict(release: Release, table: Table) -> NDArray[np.int64]:
    """Predict the class of each row.

    Naive Bayes predicts the most probable class. One tree predicts its leaf's label; `vote` counts labels, `sum` adds
    the leaves' counts, `mean_per_tree` their shares and `boost` their scores, or the shares that a calibration makes
    of them; a tie goes to the first class. A predicted number counts as the interval in which it lies, beyond all
    intervals as the outermost.

    Returns:
        Positions in the release's classes, shape (n_rows,); -1 where no tree has a leaf for the row.

    Raises:
        InconclusiveError: the release does not publish the numbers that its trees are combined by.
    """
    return _winners(class_votes(release, table))


def _winners(votes: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.where(np.isnan(votes[:, 0]), NOWHERE, np.nan_to_num(votes).argmax(axis=1))


def class_votes(release: Release, table: Table) -> NDArray[np.float64]:
    """Return the combined votes of all trees, or the probabilities of naive Bayes.

    Returns:
        Shape (n_rows, n_classes); a row of NaN where no tree has a leaf for the row.

    Raises:
        InconclusiveError: the release does not publish the numbers that its trees are combined by.
    """
    if release.bayes is not None:
        return naive_bayes_posterior(release.bayes, table, release.classes)
    return votes_at_leaves(release, (route(tree, table).leaf for tree in release.trees), len(table))


def votes_at_leaves(release: Release, leaf_of_tree: Iterable[CompactIds], n_rows: int) -> NDArray[np.float64]:
    """Return the combined votes of all trees for rows of which it is known which leaves they reach.

    Args:
        release: one of trees.
        leaf_of_tree: for each tree the leaf of each row, NOWHERE if it reaches none; they are read one after another.
        n_rows: how many rows there are.

    Returns:
        As `class_votes`.

    Raises:
        InconclusiveError: the release does not publish the numbers that its trees are combined by.
    """
    if release.predicts_numbers:
        return _number_votes(release, leaf_of_tree, n_rows)
    votes = np.zeros((n_rows, len(release.classes)))
    has_vote = np.zeros(n_rows, dtype=bool)
    sums = release.calibrated_sums if release.combine == "boost" else ()
    last_tree = dict(zip(itertools.accumulate(each.trees for each in sums), sums, strict=True))
    shares = np.zeros(votes.shape)
    for number, (tree, leaf) in enumerate(zip(release.trees, leaf_of_tree, strict=True), 1):
        added = _votes_of_tree(release, tree_arrays(tree))
        if np.isnan(added).any() and np.isnan(added[leaf]).any():
            raise InconclusiveError(f"cannot combine trees by {release.combine!r} from what is published")
        votes += added.take(leaf, axis=0)
        if not has_vote.all():
            has_vote |= (leaf != NOWHERE) if release.combine == "boost" else (added.sum(axis=1) > 0).take(leaf)
        if number in last_tree:
            shares += shares_of_sum(votes, last_tree[number])
            votes[:] = 0
    votes = shares / len(sums) if sums else votes
    votes[~has_vote] = np.nan
    return votes


def shares_of_sum(scores: NDArray[np.float64], calibrated: CalibratedSum) -> NDArray[np.float64]:
    """The shares of classes that the link of some trees makes of what their leaves' scores add up to.

    Args:
        scores: shape (n_rows, n_classes).
        calibrated: the trees.

    Returns:
        Shape (n_rows, n_classes), rows sum to 1.

    Source: scikit-learn 1.9, `sklearn.calibration._CalibratedClassifier.predict_proba`.
    """
    scores = scores / calibrated.trees if calibrated.is_mean else scores
    if calibrated.link == "softmax":
        return scores_of_votes(scores, "boost")
    if calibrated.link == "logistic":
        with np.errstate(over="ignore"):
            shares = 1 / (1 + np.exp(-scores))
    else:
        shares = np.zeros_like(scores)
        for k, points in enumerate(calibrated.points):
            shares[:, k] = np.interp(scores[:, k], *np.array(points).T) if points else 0.0
        if () in calibrated.points:
            shares[:, calibrated.points.index(())] = 1 - shares.sum(axis=1)
            return shares
    total = shares.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(shares, total, out=np.full_like(shares, 1 / shares.shape[1]), where=total > 0))


def class_scores(release: Release, table: Table) -> NDArray[np.float64]:
    """Return the score of each class, as a deployed model answers it.

    Naive Bayes answers its posterior, one tree its leaf's shares, trees that `vote` the share of their votes, `sum` and
    `mean_per_tree` what the leaves' counts or shares add up to, divided by its total, and `boost` the softmax of the
    scores, which for two classes is the logistic function, or the mean of the shares of calibrated sums.

    Returns:
        Shape (n_rows, n_classes), rows sum to 1; a row of NaN where no tree has a leaf with numbers for the row.

    Raises:
        InconclusiveError: what is published has no scores: labels alone, or the trees predict numbers.
    """
    if release.predicts_numbers:
        raise InconclusiveError("the model predicts numbers, so it has no scores of classes")
    by_shares = replace(release, combine="mean_per_tree") if release.combine == "one" else release
    try:
        votes = class_votes(by_shares, table)
    except InconclusiveError:
        if release.combine != "one":
            raise
        raise InconclusiveError("a leaf publishes neither counts nor shares, so the tree has no scores") from None
    return votes if release.calibrated_sums else scores_of_votes(votes, release.combine)


def scores_of_votes(votes: NDArray[np.float64], combine: Combine) -> NDArray[np.float64]:
    """The votes of all trees as scores of classes whose rows sum to 1: of boosting their softmax, else their shares.

    Args:
        votes: shape (n_rows, n_classes), no shares of calibrated sums.
        combine: how the trees become a prediction.

    Returns:
        Shape (n_rows, n_classes); a row of NaN where there are no votes.
    """
    if combine == "boost":
        votes = np.exp(votes - votes.max(axis=1, keepdims=True))
    votes = np.maximum(votes, 0)
    total = votes.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(votes, total, out=np.full_like(votes, np.nan), where=total > 0))


def naive_bayes_posterior(model: NaiveBayes, table: Table, classes: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the probability of each class for each row of the table; a missing number changes nothing.

    Returns:
        Shape (n_rows, n_classes), rows sum to 1.
    """
    logs = np.full((len(table), len(classes)), -np.inf)
    for i, label in enumerate(classes):
        if label in model.shares:
            logs[:, i] = np.log(model.shares[label])
            for name, within in model.normals.items():
                mean, variance = within[label]
                distance = (table.numbers(name) - mean) ** 2 / variance
                logs[:, i] -= np.nan_to_num(0.5 * (distance + np.log(variance)), nan=0.0)
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def predicted_numbers(release: Release, table: Table) -> NDArray[np.float64]:
    """Return the number that regression trees predict for each row: their sum, its exponential, or their mean."""
    return _numbers_at_leaves(release, (route(tree, table).leaf for tree in release.trees), len(table))


def _numbers_at_leaves(release: Release, leaf_of_tree: Iterable[CompactIds], n_rows: int) -> NDArray[np.float64]:
    total = np.zeros(n_rows)
    for tree, leaf in zip(release.trees, leaf_of_tree, strict=True):
        total += np.append(tree_arrays(tree).values, np.nan)[leaf]
    return linked(total, release.combine) / (len(release.trees) if release.combine == "mean_per_tree" else 1)


def linked(sums: NDArray[np.float64], combine: Combine) -> NDArray[np.float64]:
    """The numbers that models predict whose trees' leaves add up to these sums; exponentials stay finite."""
    return np.exp(np.clip(sums, -LARGEST_EXPONENT, LARGEST_EXPONENT)) if combine == "exp_sum" else sums


def _number_votes(release: Release, leaf_of_tree: Iterable[CompactIds], n_rows: int) -> NDArray[np.float64]:
    """One vote, for the interval in which the predicted number lies."""
    numbers = _numbers_at_leaves(release, leaf_of_tree, n_rows)
    inside = bin_of(numbers, release.schema.target.edges or ())
    votes = np.eye(len(release.classes))[np.minimum(inside, len(release.classes) - 1)]
    votes[np.isnan(numbers)] = np.nan
    return votes


def _votes_of_tree(release: Release, arrays: TreeArrays) -> NDArray[np.float64]:
    """What each leaf of a tree adds to the votes for each class.

    Returns:
        Shape (n_leaves + 1, n_classes). The last row is zero, for rows without a leaf (NOWHERE is -1). A row of NaN
        belongs to a leaf that does not publish the numbers which `release.combine` needs, such as an empty leaf among
        leaves with shares; it matters only if a record is routed there.
    """
    votes = np.zeros((arrays.n_leaves + 1, len(release.classes)))
    if release.combine in {"one", "vote"}:
        label = arrays.label_positions(release.classes)
        labelled = np.flatnonzero(label >= 0)
        votes[labelled, label[labelled]] = 1.0
        return votes
    if release.combine == "boost":
        votes[:-1] = arrays.numbers_per_class("scores", release.classes)
        return votes
    counts = arrays.numbers_per_class("counts", release.classes)
    has_counts = arrays.statistics.publishes("counts")
    if has_counts.all():
        votes[:-1] = counts
    else:
        votes[:-1] = np.where(has_counts[:, None], counts, arrays.numbers_per_class("shares", release.classes))
    if release.combine == "mean_per_tree":
        votes /= np.maximum(_sums_of_rows(votes), 1e-300)[:, None]
    return votes


def _sums_of_rows(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of each row, added from left to right, so that it does not depend on how NumPy adds."""
    total = np.zeros(len(numbers))
    for column in numbers.T:
        total = total + column
    return total


def needs_label_accuracies(release: Release) -> bool:
    """Does an adversary need to know how often a label is right, because no statistic of its leaf states it?

    So it is where a leaf of people has a label alone, where the trees of an ensemble are right together more often
    than each leaf says, and where the leaves' numbers are approximate. Decided by the release alone; not of one
    that claims differential privacy, beside which nothing is believed that follows from the table.
    """
    private = release.claims_differential_privacy
    if not release.trees or private or release.combine == "boost" or release.discloses_numbers:
        return False
    trees = [tree_arrays(tree) for tree in release.trees]
    if not any((tree.statistics.label >= 0).any() for tree in trees):
        return False
    if len(release.fitted_trees) > 1 or release.approximate:
        return True
    return any(_has_label_alone(leaf, release) for tree in trees for leaf in tree.leaves)


def _has_label_alone(leaf: Leaf, release: Release) -> bool:
    """Does it describe people by its label alone? There may be some where a sample left it empty."""
    if leaf.label is None:
        return False
    return release.count_semantics != "exact" if release.is_empty(leaf) else leaf.has_no_statistic


def votes_beside_prediction(release: Release) -> bool:
    """Do several trees' labels vote, beside numbers that the model adds up to predict?"""
    added_up = release.combine in {"sum", "mean_per_tree"}
    return len(release.trees) > 1 and added_up and not release.discloses_numbers


def label_accuracies(release: Release, table: Table) -> dict[str, float]:
    """Return the precision of each label: the share of the people it is predicted for who have it.

    Where the published leaves cannot be combined as the model combines them, the labels of the trees are counted as
    votes, which is all that somebody who sees only the labels can do. Classes that nobody is predicted to have are
    left out.
    """
    return _precisions(predicted_classes(release, table), release, table)


def vote_accuracies(release: Release, table: Table) -> dict[str, float] | None:
    """Return the precision of each label when the labels of the trees are counted as votes.

    Somebody who sees labels next to the numbers that the model adds up can count the labels as votes as well.

    Returns:
        As `label_accuracies`; None where the model itself predicts by votes.
    """
    if not votes_beside_prediction(release):
        return None
    return _precisions(predict(replace(release, combine="vote"), table), release, table)


def _precisions(predicted: NDArray[np.int64], release: Release, table: Table) -> dict[str, float]:
    """For each class that is predicted for somebody, the share of these people who have it."""
    truth, code = table.codes(release.target), {label: i for i, label in enumerate(table.schema[release.target].domain)}
    accuracies = {}
    for position, label in enumerate(release.classes):
        people = table.weight * (predicted == position)
        if people.sum():
            accuracies[label] = float(people[truth == code.get(label, -1)].sum() / people.sum())
    return accuracies


def predicted_classes(release: Release, table: Table) -> NDArray[np.int64]:
    """Return the same as `predict`, by votes of the trees' labels where the numbers to combine are not published."""
    if release.bayes is not None:
        return predict(release, table)
    return classes_at_leaves(release, lambda: (route(tree, table).leaf for tree in release.trees), len(table))


def classes_at_leaves(
    release: Release, leaf_of_tree: Callable[[], Iterable[CompactIds]], n_rows: int
) -> NDArray[np.int64]:
    """Return the same for rows of which it is known which leaf of each tree they reach.

    Args:
        release: one of trees.
        leaf_of_tree: yields for each tree the leaf of each row, so that those of all trees need not be held at once.
        n_rows: how many rows there are.
    """
    try:
        return _winners(votes_at_leaves(release, leaf_of_tree(), n_rows))
    except InconclusiveError:
        return _winners(votes_at_leaves(replace(release, combine="vote"), leaf_of_tree(), n_rows))
