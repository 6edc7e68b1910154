"""What a tree's leaves say about one secret of the people who can reach them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafgate.algorithms.equivalence import Reached, ResidualTrees
from leafgate.algorithms.feasible import Domain, Interval, Possible, rest_of
from leafgate.api import Column, Floats, Ids, Leaf, Records, Release
from leafgate.kernel.schema import bins_between
from leafgate_plugins.linking.record_matching import Matches, fits_domain, numbered


@dataclass(frozen=True)
class LeafReader:
    """Beliefs about `secret`, over its domain, from the leaves that people can reach.

    `prior` is what is believed of somebody of whom nothing is published. `label_accuracies` are how often each label is
    right, None where that is not granted; the labels of single trees of an ensemble are not read by them.
    """

    release: Release
    secret: Column
    prior: Floats
    label_accuracies: Mapping[str, float] | None = None

    def belief(
        self, reached: Sequence[Reached], class_value: str | None, nowhere: Sequence[Possible] = ()
    ) -> Floats | None:
        """The posterior of people who can reach just these leaves of one tree; None if the leaves say nothing.

        `nowhere` is what the tests leave of each column on the ways these people can take that end in no leaf.

        The class: counts pooled over the leaves; shares and error rates averaged (by nothing better than equal
        weights, sizes being unknown), and labels likewise, each with its accuracy. Another secret: within a leaf the
        prior, restricted to what the tests on the way allow; leaves by size where counts state it, else by the
        prior, without the leaves that are known to be empty; where all are, the people ended in no leaf. A leaf that
        counts nobody still publishes its label, where the numbers are not of everybody. Numbers of a sample, of changed
        cells or with noise are smooth; all others count as they are.

        `class_value` is the people's own class where that is public.
        Source: Friedman, Schuster, Wolff 2006, Definition 5 (what is linked to a span); Laplace 1814 (succession).
        """
        there = [each for each in reached if not self.release.is_empty(each.leaf)]
        of_class = self.secret.name == self.release.target
        if of_class:
            posterior = self._class(there)
            if posterior is None and self.release.count_semantics != "exact":
                posterior = self._labels(reached)
        else:
            posterior = self._from_tests(reached, there, class_value, nowhere)
        if posterior is None or not self.release.approximate:
            return posterior
        sizes = [each.leaf.size for each in reached]
        counted = 1.0 if None in sizes else sum(size for size in sizes if size is not None)
        towards = self._labels(reached) if of_class else self.prior
        return smooth(posterior, counted, towards)

    def beliefs_at_leaves(self, residuals: ResidualTrees, numbers: Ids) -> Floats:
        """The posterior of people who can reach just one leaf of a tree, for several residual trees at once.

        Returns:
            What `belief` returns for each residual tree, shape (n_numbers, n_values). It is computed where the residual
            tree is a leaf that counts people of each class, or publishes their shares, and the secret is the class; a
            row of NaN where `belief` must be asked.
        """
        leaves = residuals.single_leaves(numbers)
        rows = np.full((len(leaves), len(self.prior)), np.nan)
        if self.secret.name != self.release.target or (
            self.release.approximate and len(self.release.fitted_trees) == 1
        ):
            return rows
        tree = residuals.arrays
        counts = tree.numbers_per_class("counts", self.release.classes)[leaves]
        by_counts = (leaves >= 0) & (counts > 0).any(axis=1)
        of_class = counts[by_counts]
        rows[by_counts] = of_class / of_class.sum(axis=1, keepdims=True)
        by_shares = (leaves >= 0) & np.isnan(counts).any(axis=1)
        shares = tree.numbers_per_class("shares", self.release.classes)[leaves[by_shares]]
        with np.errstate(invalid="ignore"):
            shares = shares / shares.sum(axis=1, keepdims=True)
            rows[by_shares] = shares / shares.sum(axis=1, keepdims=True)
        if self.release.approximate:
            counted = np.where(by_counts, np.nan_to_num(counts).sum(axis=1), 1.0)
            rows = smooth(rows, counted[:, None])
        return rows

    def label_row(self, label: str | None) -> Floats | None:
        """The posterior of somebody of whom the label alone is known; None where its accuracy is not.

        The label has its accuracy, the other classes share the rest in the prior's proportions.
        """
        accuracy = None if label is None or self.label_accuracies is None else self.label_accuracies.get(label)
        if accuracy is None or label not in self.release.classes:
            return None
        is_label = np.array([str(value) == label for value in self.release.classes])
        others = np.where(is_label, 0.0, self._class_prior)
        others = others if others.any() else np.where(is_label, 0.0, 1.0)
        return np.where(is_label, accuracy, (1 - accuracy) * others / max(others.sum(), 1e-300))

    @property
    def _class_prior(self) -> Floats:
        classes = self.release.classes
        return self.prior if self.secret.name == self.release.target else np.full(len(classes), 1 / len(classes))

    def _class(self, there: Sequence[Reached]) -> Floats | None:
        rows = [row for each in there if (row := self._leaf_row(each.leaf)) is not None]
        if any(each.leaf.counts is None for each in there):  # numbers of different kinds are not added up
            rows = [row / row.sum() for row in rows if row.sum() > 0]
        total = np.sum(rows, axis=0) if rows else np.zeros(len(self.prior))
        return np.asarray(total / total.sum()) if total.sum() > 0 else None

    def _leaf_row(self, leaf: Leaf) -> Floats | None:
        """People per class where counts are published, else shares; None for a leaf that publishes neither."""
        classes = self.release.classes
        numbers = leaf.counts if leaf.counts is not None else leaf.shares
        if numbers is not None:
            return np.array([float(numbers[name]) for name in classes])
        if leaf.error_rate is not None and leaf.label is not None:
            others = max(len(classes) - 1, 1)
            rate = leaf.error_rate
            return np.array([1 - rate if name == leaf.label else rate / others for name in classes])
        return self.label_row(leaf.label) if len(self.release.fitted_trees) == 1 else None

    def _labels(self, reached: Sequence[Reached]) -> Floats | None:
        """The mean of what the labels of the leaves say; None in an ensemble, and where their accuracy is unknown."""
        if len(self.release.fitted_trees) > 1:
            return None
        rows = [row for each in reached if (row := self.label_row(each.leaf.label)) is not None]
        return np.asarray(np.mean(rows, axis=0)) if rows else None

    def _from_tests(
        self,
        reached: Sequence[Reached],
        there: Sequence[Reached],
        class_value: str | None,
        nowhere: Sequence[Possible],
    ) -> Floats | None:
        """What is tested says which values lead to a leaf of people; None where that is so of all alike."""
        allowed = [_can_be(self.secret, rest_of(self.secret, each.possible)) for each in there]
        if not reached or (len(there) == len(reached) and all(can_be.all() for can_be in allowed)):
            return None
        posterior = np.zeros(len(self.prior))
        if all(each.leaf.counts is not None for each in reached):
            posterior = self._by_size(there, allowed, class_value)
        if not posterior.any():
            posterior = self._by_prior(there, class_value, nowhere)
        return posterior / posterior.sum() if posterior.sum() > 0 else None

    def _by_size(self, there: Sequence[Reached], allowed: Sequence[Floats], class_value: str | None) -> Floats:
        """The people of each leaf, of their own class where that is known, among the values that lead there."""
        posterior = np.zeros(len(self.prior))
        for each, can_be in zip(there, allowed, strict=True):
            counts = each.leaf.counts or {}
            size = sum(counts.values()) if class_value is None else counts[class_value]
            weight = self.prior * can_be if (self.prior * can_be).any() else can_be
            posterior += size * weight / weight.sum()
        return posterior

    def _by_prior(self, there: Sequence[Reached], class_value: str | None, nowhere: Sequence[Possible]) -> Floats:
        """The prior of each value, times the mean share of the people's class at the ends of people it leads to.

        Where no leaf takes them, anybody may be.
        """
        ends = [
            (_can_be(self.secret, rest_of(self.secret, each.possible)), self._share_of(each.leaf, class_value))
            for each in there
        ]
        if nowhere:
            ends.append((np.max([_can_be(self.secret, rest_of(self.secret, each)) for each in nowhere], axis=0), 1.0))
        likelihood, n_ends = np.zeros(len(self.prior)), np.zeros(len(self.prior))
        for can_be, share in ends:
            likelihood += can_be * share
            n_ends += can_be
        likelihood = np.divide(likelihood, n_ends, where=n_ends > 0, out=np.zeros_like(likelihood))
        weighted = self.prior * likelihood
        return weighted if weighted.any() else likelihood

    def _share_of(self, leaf: Leaf, class_value: str | None) -> float:
        """The share of a leaf's people with a class; 1 if the class is not known, or the leaf publishes nothing."""
        row = None if class_value is None else self._leaf_row(leaf)
        if row is None or row.sum() <= 0:
            return 1.0
        return float(row[list(map(str, self.release.classes)).index(str(class_value))] / row.sum())


def _can_be(secret: Column, rest: Domain) -> Floats:
    """1 for each value of the secret, or bin of a number, that the tests leave possible, else 0."""
    if isinstance(rest, Interval):
        return bins_between(secret.bins or (), rest.low, rest.high, open_low=True).astype(np.float64)
    return np.array([float(value in rest) for value in secret.domain])


def smooth(shares: Floats, counted: float | Floats, towards: Floats | None = None) -> Floats:
    """Rule of succession: shares among `counted` people (at least 1), with as many more as there are values.

    Those are one of each value or, with `towards`, distributed like it; a value with `towards` 0 keeps probability 0.
    Of several rows of shares, `counted` is a column.
    """
    size = shares.shape[-1]
    towards = np.full(size, 1 / size) if towards is None else towards
    n = np.maximum(counted, 1.0)
    mixed = (shares * n + size * towards) / (n + size)
    possible = np.where(towards > 0, mixed, 0.0)
    return np.asarray(possible / possible.sum(axis=-1, keepdims=True))


def combine_trees(beliefs: Iterable[tuple[Floats, Ids]], *, exact: bool) -> Floats:
    """Combine the posteriors of several trees by their mean; with exact counts, what one tree rules out stays out.

    Args:
        beliefs: For each tree its different posteriors, shape (n_posteriors, n_values), and for each group the row
            that is its own, shape (n_groups,). A row of NaN is left out of the mean. They are read one after another.
        exact: Whether the trees' numbers count people exactly.

    Returns:
        Posteriors, shape (n_groups, n_values); NaN where no tree has one.
    """
    total = trees = np.zeros((0, 1))
    least = np.full((0, 1), np.inf)
    for number, (rows, which) in enumerate(beliefs):
        if number == 0:
            total, trees = np.zeros((len(which), rows.shape[1])), np.zeros((len(which), 1))
            least = np.full_like(total, np.inf)
        speaks = np.asarray(~np.isnan(rows).any(axis=1, keepdims=True))
        total += np.where(speaks, rows, 0).take(which, axis=0)
        trees += 1 if speaks.all() else speaks.take(which, axis=0)
        if exact:
            np.minimum(least, np.where(speaks, rows, np.inf).take(which, axis=0), out=least)
    mean = np.divide(total, trees, where=trees > 0, out=np.full_like(total, np.nan))
    if exact:
        possible = np.where(least > 0, mean, 0)
        mean = np.where(possible.sum(axis=1, keepdims=True) > 0, possible, mean)
    return np.asarray(mean / mean.sum(axis=1, keepdims=True))


def more_certain(beliefs: Sequence[Floats], *, exact: bool) -> Floats:
    """Choose for each group the posterior of the source that is most certain of a value.

    Args:
        beliefs: One array for each source, shape (n_groups, n_values); NaN where a source has no posterior.
        exact: Whether numbers count people exactly: then values that one source rules out are first ruled out of all,
            unless no value would remain.

    Returns:
        Posteriors, shape (n_groups, n_values); NaN where no source has one.
    """
    stacked = np.stack(beliefs)
    if exact:
        possible = np.where((np.nan_to_num(stacked, nan=1.0) > 0).all(axis=0), stacked, 0)
        total = possible.sum(axis=2, keepdims=True)
        stacked = np.where(total > 0, possible / np.where(total > 0, total, 1), stacked)
    best = np.where(np.isnan(stacked).any(axis=2), -1.0, stacked.max(axis=2)).argmax(axis=0)
    return np.asarray(np.take_along_axis(stacked, best[None, :, None], axis=0)[0])


def shares_of_matches(
    records: Records, column: Column, matches: Matches, prior: Floats
) -> tuple[Floats, Floats] | None:
    """The shares of a secret among each set of records, over its domain, and the people in each set.

    None if the records do not show it. Withheld and generalised cells are spread over the values they can
    be, in proportion to the prior; for an empty set the shares are the prior.
    """
    if column.name not in records.columns:
        return None
    cell, cells = numbered(records, records.columns.index(column.name))
    spread = np.stack([_spread(result, column, prior) for result in cells])
    weight = np.array(records.weight, dtype=np.float64)
    sets = np.repeat(np.arange(len(matches.start) - 1), np.diff(matches.start))
    size, kinds = len(matches.start) - 1, len(cells)
    pair = sets * kinds + cell[matches.records]
    people = np.bincount(pair, weights=weight[matches.records], minlength=size * kinds).reshape(size, kinds)
    total = people.sum(axis=1)
    shares = np.divide(people @ spread, total[:, None], where=total[:, None] > 0, out=np.tile(prior, (size, 1)))
    return shares / shares.sum(axis=1, keepdims=True), total


def _spread(cell: Any, column: Column, prior: Floats) -> Floats:
    """The distribution, over the secret's domain, of one person with this cell."""
    possible = fits_domain(cell, column) * prior
    total = possible.sum()
    return np.asarray(possible / total if total > 0 else prior)
