"""Numbers of people that a model's file has on the nodes of its trees, held against the table.

A file with these numbers says on whom the model was trained. If the table sends other people to a node than the file
counts there, an audit on this table proves nothing about the people of the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leafgate.ir.node_numbers import MISCOUNTED, NO_SAMPLING, OF_PEOPLE, Hessians, NodeNumbers, Sampling
from leafgate.kernel.arrays import Floats, Ids, Mask

if TYPE_CHECKING:
    from leafgate.kernel.release import Release
    from leafgate.kernel.table import Table
    from leafgate.kernel.tree import Node

Positions = NDArray[np.int32]

WHOLE_TOLERANCE = 0.01
"""A number of rows may differ from a whole number by this much; a difference of one row is a difference."""

FALSE_ALARM = 1e-6
"""Probability, at most, that an honest file of sampled rows is taken for one of other people."""

FIRST_ROUND_TOLERANCE = 2e-6
"""Relative error of a sum of equal second derivatives; XGBoost keeps single precision, measured: 2e-7."""

HESSIAN_TOLERANCE = 1e-4
"""Relative error of a sum of second derivatives after the first round, whose scores are kept in single precision and
added up over all rounds before; measured on 30 rounds: 2e-6."""

PERSON_TOLERANCE = 1e-6
"""Absolute error of one person's second derivative: what single precision leaves of p (1 - p) where p is near 1."""


@dataclass(frozen=True, eq=False)
class TreeNumbers:
    """The numbers of one tree's nodes, and where these nodes are in the release's tree.

    People of a node are those of the release's leaves from `first` to before `last`, counted from the left; none where
    no value of the table's columns leads there. `depth` is how many tests are above a node; `output` the class that the
    tree's scores are about.
    """

    numbers: tuple[NodeNumbers, ...]
    first: Positions
    last: Positions
    depth: Positions
    output: int | None = None


@dataclass(frozen=True, eq=False)
class FileNumbers:
    """Everything that a model's file counts on its nodes.

    `trees` are the last of the release's trees; `classes` its classes in the file's order. `subsample` and `weighted`
    are what the policy says of the training: a tree's rows are that share of the table's people at random; rows had
    weights that no file discloses.
    """

    trees: tuple[TreeNumbers, ...]
    classes: tuple[str, ...] = ()
    hessians: Hessians | None = None
    sampling: Sampling = NO_SAMPLING
    subsample: float = 1.0
    weighted: bool = False


@dataclass(frozen=True)
class Contradiction:
    """A node whose number is not that of the table's people: `tree` and `node` as the file numbers them, from 0.

    `stated` is what the file has there, `expected` what it would have if it had been trained on the table.
    """

    tree: int
    node: int
    name: str
    stated: float = field(repr=False)
    expected: float = field(repr=False)

    @property
    def words(self) -> str:
        """Where it is, without any number of people."""
        return f"`{self.name}` of node {self.node} of tree {self.tree} does not agree with the people whom the table"


REMEDY = (
    "check what the model was given: rows left out or cells filled before training, other marks of missing cells than "
    "`data.missing`; if its trees were grown on a random part of the table, or with weights, say so: `build: "
    "{trained_by: {subsample: ...}}` or `{weighted: true}`; if XGBoost was given a sparse matrix, whose absent entries "
    "are missing to it: `build: {encoding: {FEATURE: {zero: missing}}}`; and whether it was trained on this table; "
    f"{MISCOUNTED}"
)


def first_contradiction(numbers: FileNumbers, release: Release, table: Table) -> Contradiction | None:
    """The first node of the file whose number of people is not that of the people whom the table sends there.

    None where all agree. More people than the table has there are always a contradiction; fewer are, unless the file
    records that its trees were grown on a sample, or the policy says so: then the numbers must be likely ones. Numbers
    that count people with missing cells in part are never fewer than the people with all cells, and no more where the
    table has everybody with all cells. Numbers of a sample are held against a Chernoff bound for each node that the
    tree could have chosen, so that all honest files but one in a million agree. A tree whose root counts everybody is
    held exactly.

    Source: Hoeffding (1963), theorem 1, which holds for sums of independent numbers between 0 and 1 and for samples
    without replacement; Joag-Dev and Proschan (1983) for the distinct rows of a bootstrap, which are negatively
    associated.
    """
    check = _Check(numbers, release, table)
    return next(check.contradictions(), None)


def counts_exactly(numbers: FileNumbers, people: int) -> bool:
    """Do the roots of all trees of a file count so many people, who then are all that it was trained on?

    Rows, rows in part, and draws count people; so do weights, unless the policy says that people had some.
    """

    def counts(one: NodeNumbers) -> bool:
        of_people = one.kind in OF_PEOPLE or (one.kind == "weight" and not numbers.weighted)
        return of_people and abs(_root(one.values) - people) <= WHOLE_TOLERANCE

    return bool(numbers.trees) and all(any(map(counts, tree.numbers)) for tree in numbers.trees)


class _Check:
    """The check of one file: what is the same for all trees, and the scores up to the round at hand."""

    def __init__(self, numbers: FileNumbers, release: Release, table: Table) -> None:
        self.numbers, self.release, self.table = numbers, release, table
        self.weight = table.weight.astype(np.float64)
        self.people = table.total_weight
        self.by_person, self.by_root = numbers.sampling.rates(self.people, numbers.subsample)
        self.draws = numbers.sampling.drawn(self.people, numbers.subsample)
        self.log_tests = _log_tests(release, table)
        self.log_alarm = math.log(2 * max(1, len(numbers.trees)) / FALSE_ALARM)
        position = {name: i for i, name in enumerate(release.classes)}
        self.columns = [position[name] for name in numbers.classes]

    def contradictions(self) -> Iterator[Contradiction]:
        from leafgate.algorithms.routing import NOWHERE, route

        scores = _Scores(self) if self._needs_scores() else None
        skipped = len(self.release.trees) - len(self.numbers.trees)
        for number, (tree, node) in enumerate(zip(self.numbers.trees, self.release.trees[skipped:], strict=True)):
            if not tree.numbers and scores is None:
                continue
            complete = self._complete(node, tree)
            routed = route(node, self.table)
            reached = routed.leaf != NOWHERE
            leaf = routed.leaf if reached.all() else np.where(reached, routed.leaf, routed.n_leaves)
            sums = _Sums(self, tree, leaf, routed.n_leaves)
            if scores is not None:
                scores.enter(number)
            for result in tree.numbers:
                yield from self._of_numbers(number, tree, result, sums, scores, complete)
            if scores is not None:
                scores.add(routed.leaves, leaf, tree.output)

    def _needs_scores(self) -> bool:
        hessians = self.numbers.hessians
        sums = any(each.kind == "hessian" for tree in self.numbers.trees for each in tree.numbers)
        return hessians is not None and hessians.known(0) and not self.numbers.weighted and sums

    def _of_numbers(
        self,
        number: int,
        tree: TreeNumbers,
        numbers: NodeNumbers,
        sums: _Sums,
        scores: _Scores | None,
        complete: Floats,
    ) -> Iterator[Contradiction]:
        """The first wrong node of one kind of number."""
        if numbers.kind == "hessian" and scores is not None and scores.known:
            expected = sums.of(scores.hessians(tree.output), numbers)
            wrong = self._wrong_hessians(numbers, expected, sums.people(numbers), tree, scores)
        elif numbers.class_weights and self.by_root == (1.0, 1.0) and not self.numbers.weighted:
            expected = sums.people_by_class(numbers) @ np.array(numbers.class_weights)
            wrong = abs(numbers.values - expected) > WHOLE_TOLERANCE * min(numbers.class_weights)
        elif numbers.kind == "parts" and self.by_root == (1.0, 1.0) and not self.numbers.weighted:
            expected = (
                sums.people_by_class(numbers, complete) if numbers.values.ndim == 2 else sums.of(complete, numbers)
            )
            wrong = self._wrong_parts(numbers.values, expected, sums, everybody=bool(complete.all()))
        else:
            expected = sums.people_by_class(numbers) if numbers.values.ndim == 2 else sums.people(numbers)
            wrong = self._wrong(numbers, expected, tree, sums)
        wrong &= ~np.isnan(numbers.values)
        if wrong.any():
            at = np.unravel_index(int(wrong.argmax()), wrong.shape)
            yield Contradiction(number, int(at[0]), numbers.name, float(numbers.values[at]), float(expected[at]))

    def _complete(self, node: Node, tree: TreeNumbers) -> Floats:
        """1 for the rows without a missing cell in the columns that the tree tests, else 0, where that matters."""
        from leafgate.kernel.tree import columns_asked

        complete = np.ones(len(self.table), dtype=np.float64)
        if any(result.kind == "parts" for result in tree.numbers):
            for name in columns_asked(node):
                complete[self.table.frame[name].isna().to_numpy()] = 0.0
        return complete

    def _wrong_parts(self, values: Floats, expected: Floats, sums: _Sums, *, everybody: bool) -> Mask:
        """Which numbers are fewer than the people without missing cells, or more where `everybody` has all cells.

        Numbers are rounded to two decimals or finer on each leaf, and added up.
        """
        rounding = min(0.5, WHOLE_TOLERANCE * sums.leaves)
        fewer = values < expected - rounding
        with_others = not everybody or self.table.dropped > 0
        return np.asarray(fewer if with_others else fewer | (values > expected + rounding))

    def _wrong(self, numbers: NodeNumbers, expected: Floats, tree: TreeNumbers, sums: _Sums) -> Mask:
        """Which numbers of rows, draws or unknown weights are not those of `expected` people."""
        values = numbers.values
        depth = _depth_of(tree, numbers)[:, None] if values.ndim == 2 else _depth_of(tree, numbers)
        nobody = (expected == 0) & (np.nan_to_num(values) > 0)
        everybody = _root(values) >= self.people - WHOLE_TOLERANCE
        if numbers.kind == "rows" and (everybody or not self._weights_are_people(tree, sums)):
            if everybody or self.by_root == (1.0, 1.0):
                return np.asarray(abs(values - expected) > WHOLE_TOLERANCE)
            return np.asarray((values > expected + WHOLE_TOLERANCE) | self._unlikely(values, expected, depth))
        certain = not self.numbers.weighted
        if numbers.kind == "draws" and self.draws is not None and certain and self.numbers.subsample == 1.0:
            return np.asarray(nobody | self._unlikely_draws(values, expected, depth))
        fully = self.by_root == (1.0, 1.0) and certain
        silent = (expected > 0) & (values == 0) if fully and numbers.kind == "weight" else np.zeros_like(nobody)
        hessians = self.numbers.hessians
        most = hessians.most if numbers.kind == "hessian" and hessians is not None and certain else math.inf
        most = 1.0 if numbers.kind == "rows" else most
        with np.errstate(invalid="ignore"):
            more = values > np.where(expected > 0, most * expected * (1 + HESSIAN_TOLERANCE), 0.0) + WHOLE_TOLERANCE
        return np.asarray(nobody | silent | more)

    def _weights_are_people(self, tree: TreeNumbers, sums: _Sums) -> bool:
        """Are the tree's weights the people of each node, so that its rows are records that several people share?"""
        for result in tree.numbers:
            if result.kind == "weight" and result.values.ndim == 1 and self.by_root == (1.0, 1.0):
                apart = abs(result.values - sums.people(result))
                return bool((apart <= WHOLE_TOLERANCE).all())
        return False

    def _unlikely(self, values: Floats, expected: Floats, depth: Positions) -> Mask:
        """Which numbers of distinct rows are so far from what is expected of a sample that none would be so."""
        with np.errstate(all="ignore"):
            share = np.where(expected > 0, values / np.maximum(expected, 1), 0.0)
        bound = self.log_alarm + depth * self.log_tests
        low, high = (np.where(depth == 0, root, one) for root, one in zip(self.by_root, self.by_person, strict=True))
        fewer = (share < low) & (_log_improbability(expected, share, low) > bound)
        more = (share > high) & (_log_improbability(expected, share, high) > bound)
        return np.asarray(fewer | more)

    def _unlikely_draws(self, values: Floats, expected: Floats, depth: Positions) -> Mask:
        """Which numbers are so unlikely, of rows drawn with replacement: their number at the root is known."""
        draws = self.draws or 1.0
        bound = self.log_alarm + depth * self.log_tests
        share = np.clip(values / draws, 0, 1)
        wrong = _log_improbability(draws, share, expected / self.people) > bound
        if values.ndim == 1:
            wrong |= (depth == 0) & (abs(values - draws) > WHOLE_TOLERANCE)
        return np.asarray(wrong)

    def _wrong_hessians(
        self, numbers: NodeNumbers, expected: Floats, people: Floats, tree: TreeNumbers, scores: _Scores
    ) -> Mask:
        """Which sums of second derivatives are not those of the people whom the table sends there."""
        values = numbers.values
        if scores.constant:
            allowed = np.maximum(FIRST_ROUND_TOLERANCE * expected, WHOLE_TOLERANCE * scores.largest(tree.output))
        else:
            allowed = HESSIAN_TOLERANCE * expected + PERSON_TOLERANCE * people
        allowed = allowed + scores.form.rounding * expected
        root = _root(values)
        everybody = abs(root - expected[0]) <= allowed[0]
        if everybody or self.by_root == (1.0, 1.0):
            return np.asarray(abs(values - expected) > allowed)
        with np.errstate(all="ignore"):
            most = scores.largest(tree.output) * np.maximum(people, 1)
            share, mean = np.clip(values / most, 0, 1), np.clip(expected / most, 0, 1)
        depth = _depth_of(tree, numbers)
        bound = self.log_alarm + depth * self.log_tests
        low, high = (np.where(depth == 0, root, one) for root, one in zip(self.by_root, self.by_person, strict=True))
        fewer = (share < low * mean) & (_log_improbability(people, share, low * mean) > bound)
        more = (share > high * mean) & (_log_improbability(people, share, high * mean) > bound)
        return np.asarray((values > expected + allowed) | fewer | more)


class _Sums:
    """Sums over the people of each node of one tree."""

    def __init__(self, check: _Check, tree: TreeNumbers, leaf: Ids, leaves: int) -> None:
        self.check, self.tree, self.leaf, self.leaves = check, tree, leaf, leaves
        self._people: Floats | None = None

    def of(self, amounts: Floats, numbers: NodeNumbers) -> Floats:
        """The sum of everybody's amounts for each number; people who end in no leaf count at the root alone."""
        below = np.bincount(self.leaf, weights=amounts * self.check.weight, minlength=self.leaves + 1)
        upto = np.concatenate([[0.0], np.cumsum(below[: self.leaves])])
        nodes = np.asarray(upto[self.tree.last] - upto[self.tree.first], dtype=np.float64)
        nodes[0] = below.sum()
        if numbers.members is None:
            return nodes
        items, members = numbers.members
        return np.asarray(np.bincount(items, weights=nodes[members], minlength=len(numbers.values)), dtype=np.float64)

    def people(self, numbers: NodeNumbers) -> Floats:
        """How many people the table sends to each."""
        if numbers.members is not None:
            return self.of(np.ones(len(self.leaf)), numbers)
        if self._people is None:
            self._people = self.of(np.ones(len(self.leaf)), numbers)
        return self._people

    def people_by_class(self, numbers: NodeNumbers, amounts: Floats | None = None) -> Floats:
        """How many people of each class the table sends to each number, or the sum of their `amounts`.

        Returns:
            Shape (n_numbers, n_classes), classes in the file's order.
        """
        codes = self.check.table.codes(self.check.release.target)
        amounts = np.ones(len(codes)) if amounts is None else amounts
        return np.column_stack([self.of((codes == column) * amounts, numbers) for column in self.check.columns])


class _Scores:
    """Everybody's scores after the rounds before this one, and the second derivatives that follow from them."""

    def __init__(self, check: _Check) -> None:
        assert check.numbers.hessians is not None
        self.check, self.form = check, check.numbers.hessians
        self.round = 0
        table, release = check.table, check.release
        several = len(check.columns) if self.form.loss == "softmax" else 1
        codes = None if not check.columns else table.codes(release.target)
        self.last = np.zeros(len(table), dtype=bool) if codes is None else codes == check.columns[-1]
        start = self.form.start if self.form.start is not None else self._average(codes)
        self.scores = np.tile(np.array(start, dtype=np.float64)[-several:], (len(table), 1))
        self.added = np.zeros_like(self.scores)
        self.grown = self.form.start is not None  # else the first tree's scores hold what it starts from
        self._hessians: Floats | None = None

    @property
    def known(self) -> bool:
        return self.form.known(self.round)

    @property
    def constant(self) -> bool:
        """Is the second derivative that of everybody, so that its sum is a number of people?"""
        same = self.form.loss == "constant" or (self.round == 0 and self.form.loss != "hinge")
        return same and self.form.positive == 1.0 and self.form.start is not None

    def largest(self, output: int | None) -> float:
        """The largest second derivative of anybody."""
        return float(self.hessians(output).max(initial=0.0))

    def _average(self, codes: Ids | None) -> tuple[float, ...]:
        """The link of the classes' shares in the table."""
        assert codes is not None
        weight, least = self.check.weight, 1e-15
        shares = np.array([weight[codes == column].sum() for column in self.check.columns]) / self.check.people
        if self.form.loss == "softmax":
            return tuple(np.log(np.clip(shares, least, 1)).tolist())
        p = float(np.clip(shares[-1], least, 1 - least))
        return (math.log(p / (1 - p)) / self.form.scale,)

    def enter(self, tree: int) -> None:
        """Go on to the round of this tree."""
        now = self.form.rounds[tree]
        if now != self.round:
            self.scores = self.scores + self.added if self.grown else self.added
            self.added = np.zeros_like(self.scores)
            self.grown, self.round, self._hessians = True, now, None

    def _all(self) -> Floats:
        """Everybody's second derivatives, a column for each score."""
        if self._hessians is None:
            form, scores = self.form, self.scores
            if form.loss == "constant":
                found = np.full(scores.shape, form.factor)
            elif form.loss == "hinge":
                found = (scores * np.where(self.last, 1.0, -1.0)[:, None] < 1).astype(np.float64)
            elif form.loss == "exponential":
                found = form.factor * np.exp(np.clip(scores, -80, 80))
            elif form.loss == "logistic":
                p = 1 / (1 + np.exp(-np.clip(form.scale * scores, -500, 500)))
                found = form.factor * form.scale**2 * p * (1 - p)
            else:
                parts = np.exp(scores - scores.max(axis=1, keepdims=True))
                p = parts / parts.sum(axis=1, keepdims=True)
                found = form.factor * p * (1 - p)
            self._hessians = found * np.where(self.last, form.positive, 1.0)[:, None]
        return self._hessians

    def hessians(self, output: int | None) -> Floats:
        """Everybody's second derivative of the score that a tree is about; where it is about all, their sum."""
        if self.form.loss != "softmax":
            return self._all()[:, -1]
        return self._all().sum(axis=1) if output is None else self._all()[:, output]

    def add(self, leaves: Sequence[object], leaf: Ids, output: int | None) -> None:
        """Add what a tree says to the scores of the rounds to come."""
        if self.form.loss in {"constant", "exponential"}:
            return
        names = self.check.numbers.classes
        is_softmax = self.form.loss == "softmax"
        several = range(len(names)) if output is None else [output]
        for column in several if is_softmax else [len(names) - 1]:
            said = [(getattr(one, "scores", None) or {}).get(names[column], 0.0) for one in leaves]
            self.added[:, column if is_softmax else 0] += np.array([*said, 0.0])[leaf]


def _root(values: Floats) -> float:
    """The number of the root, over all classes."""
    return float(np.nansum(values[0]))


def _depth_of(tree: TreeNumbers, numbers: NodeNumbers) -> Positions:
    """The tests above each number's nodes, at most."""
    if numbers.members is None:
        return tree.depth
    depth = np.zeros(len(numbers.values), dtype=np.int32)
    np.maximum.at(depth, numbers.members[0], tree.depth[numbers.members[1]])
    return depth


def _log_improbability(people: Floats | float, share: Floats, rate: Floats) -> Floats:
    """The negative logarithm of the Chernoff bound on a share of so many people, each drawn at the rate.

    It is the number of people times the Kullback-Leibler divergence of the two Bernoulli laws in nats: infinite where
    the rate excludes the share, and 0 where there is nobody to be drawn.
    """
    with np.errstate(all="ignore"):
        taken = np.where(share > 0, share * np.log(share / rate), 0.0)
        left = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - rate)), 0.0)
        divergence = np.nan_to_num(taken + left, nan=np.inf, posinf=np.inf)
        return np.asarray(np.where(np.asarray(people) > 0, people * divergence, 0.0))


def _log_tests(release: Release, table: Table) -> float:
    """Logarithm of how many different tests, with both their ways, a node of this table may ask."""
    rows, total = max(2, len(table)), -math.inf
    for column in release.schema.columns:
        if column.name in table.schema and column.name != release.schema.target.name:
            sets = min(len(column.values), rows) * math.log(2) if column.values is not None else math.log(rows)
            total = float(np.logaddexp(total, sets))
    return max(math.log(2), total) + math.log(2)
