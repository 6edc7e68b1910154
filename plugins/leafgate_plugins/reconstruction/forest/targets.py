"""What the model predicts, for people whose leaves are known: by the sums that some trees state of their leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from leafgate.api import Column, Floats, Ids, bin_of
from leafgate.kernel.training_rows import TrainingRows
from leafgate_plugins.reconstruction.forest.assignment import NO_LEAF
from leafgate_plugins.reconstruction.forest.regions import Forest

DAMPING = 1e-3
"""How much it weighs, beside the sums, that numbers are near the mean: so that what the sums leave open is the mean."""


@dataclass(frozen=True, eq=False)
class LeafSums:
    """The sums of one output over the people of each leaf of some trees.

    Attributes:
        output: the class whose people are counted; None for the number that the model predicts.
        trees: positions among the trees of the forest.
        sums: for each of them, shape (n_leaves,).
        people: for each of them how many people the sums are over, shape (n_leaves,).
    """

    output: str | None
    trees: tuple[int, ...]
    sums: tuple[Floats, ...]
    people: tuple[Floats, ...]

    @classmethod
    def of(cls, forest: Forest, rows: TrainingRows) -> list[LeafSums]:
        """Those that a file states, one for each output."""
        found = dict[str | None, list[tuple[int, Floats, Floats]]]()
        for i, (number, tree) in enumerate(zip(forest.numbers, forest.trees, strict=True)):
            sums = rows.sums[number] if rows.sums else None
            people = (rows.drawn or rows.on_leaves)[number]
            if sums is not None and people is not None:
                found.setdefault(rows.outputs[number], []).append((i, sums[tree.leaf], people[tree.leaf]))
        return [cls(output, *zip(*each, strict=True)) for output, each in found.items()]

    def likeliest(self, leaf: Ids) -> Floats:
        """A number for each person under which the means of leaves come nearest to those that are stated.

        Args:
            leaf: shape (n_people, n_trees), as in `Assignment`.

        Returns:
            Shape (n_people,): of all that come as near those nearest to the mean of everybody.
        """
        mean = float(sum(each.sum() for each in self.sums) / max(sum(each.sum() for each in self.people), 1))
        blocks, wanted = list[Any](), list[Floats]()
        for tree, sums, people in zip(self.trees, self.sums, self.people, strict=True):
            own = leaf[:, tree]
            there = np.flatnonzero(own != NO_LEAF)
            found = np.bincount(own[there], minlength=len(sums))
            weight = np.sqrt(people) / np.maximum(found, 1)  # a mean of many people is to be met more nearly
            matrix = sparse.csr_array((weight[own[there]], (own[there], there)), shape=(len(sums), len(leaf)))
            blocks.append(matrix)
            wanted.append(np.where(found > 0, np.sqrt(people) * (sums / np.maximum(people, 1) - mean), 0.0))
        solved = linalg.lsqr(sparse.vstack(blocks), np.concatenate(wanted), damp=DAMPING, iter_lim=300)[0]
        return np.asarray(mean + solved)


def predicted_cells(outputs: Sequence[LeafSums], leaf: Ids, target: Column) -> Any:
    """A cell of the target for each person, of whom a leaf of each tree is known: shape (n_people,).

    Args:
        outputs: at least one.
        leaf: shape (n_people, n_trees), as in `Assignment`.
        target: the policy's class, whose values or intervals the cells are.
    """
    domain = np.array(target.domain, dtype=object)
    number = next((each for each in outputs if each.output is None), None)
    if number is not None:
        return domain[np.clip(bin_of(number.likeliest(leaf), target.edges or ()), 0, len(domain) - 1)]
    if len(outputs) == 1 and len(domain) == 2:
        return _of_two_classes(outputs[0], leaf, domain)
    scores = np.full((len(leaf), len(domain)), -np.inf)
    for each in outputs:
        scores[:, domain.tolist().index(each.output)] = each.likeliest(leaf)
    totals = {each.output: float(each.sums[0].sum()) for each in outputs}
    return domain[_by_totals(scores, [totals.get(name, 0.0) for name in domain.tolist()])]


def _of_two_classes(output: LeafSums, leaf: Ids, domain: Any) -> Any:
    """As many people of each leaf of the first tree have the class as it counts: those for whom it is likeliest."""
    likely, own = output.likeliest(leaf), leaf[:, output.trees[0]]
    order = np.lexsort((-likely, own))
    first = np.searchsorted(own[order], own[order], side="left")
    rank = np.empty(len(leaf), dtype=np.int64)
    rank[order] = np.arange(len(leaf)) - first
    has = np.where(own == NO_LEAF, False, rank < np.rint(output.sums[0])[own])
    here = domain.tolist().index(output.output)
    return domain[np.where(has, here, 1 - here)]


def _by_totals(scores: Floats, totals: Sequence[float]) -> Ids:
    """The class of each person, so that each class has about as many as are stated: the surest people first."""
    left = np.array(totals)
    left += max(len(scores) - left.sum(), 0) * (left == left.max())
    found = np.full(len(scores), int(np.argmax(left)))
    sure = np.sort(scores, axis=1)
    for person in np.argsort(sure[:, -2] - sure[:, -1], kind="stable").tolist():
        open_scores = np.where(left > 0, scores[person], -np.inf)
        found[person] = int(open_scores.argmax()) if np.isfinite(open_scores).any() else found[person]
        left[found[person]] -= 1
    return found
