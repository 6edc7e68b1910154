"""Proof by leaves: which values of a hidden input contradict the numbers that leaves publish.

A tree that was trained on all rows counts each of them at the leaf that the row reaches. So a value with which a person
reaches only leaves that count nobody of this person's class is not the person's value. Where one value remains, it is
proved. Where the adversary lists everybody in the table, leaves must also count just as many people as reach them,
which excludes more values. Of a forest whose trees were each trained on a bootstrap, how many trees exclude a value is
evidence, and proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from leafgate import api
from leafgate_plugins.inference.attributes.counting import occurring_bins
from leafgate_plugins.inference.attributes.targets import InputAttack
from leafgate_plugins.inference.game import own_classes

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.algorithms.feasible import Domain
    from leafgate.api import Column, Floats, Leaf, Mask, Node
else:
    np, pd = api.lazy("numpy"), api.lazy("pandas")

MAX_REACHED = 20_000_000
"""Up to so many combinations of a person, a value and a leaf that she reaches with it are listed for one tree."""
MAX_PAIRS = 2_000_000
"""Up to so many pairs of people and bins are compared with the counts of one tree."""
MAX_ROUNDS = 10
"""Counts of all trees are compared with the values that remain at most so often."""
MAX_FLOWS = 200
"""Counts of so many trees, rounds taken together, are compared for each group of people."""
SMALL_P_VALUE = 0.001
"""Evidence counts people of whom all values but one have no larger p-value."""


class LeafConstraints(InputAttack):
    """Exclude values of a hidden input that contradict what leaves count; the one value that remains is proved.

    Trees of all rows exclude for certain; how often bootstraps exclude is evidence.
    """

    use: Literal["leaf_constraints"] = "leaf_constraints"

    reads = frozenset({"exact", "bootstrap", "unknown"})
    access_levels = frozenset({"file"})
    parts = frozenset({"trees", "alternatives"})
    threat_model = (
        "The adversary believes of each target that this person is in the table, knows all columns but the secret (or "
        "those that the policy says, and the class where it says so), how many people are in the table, all columns of "
        "some other people, and has the release file. Who lists everybody in the table uses the counts of leaves too."
    )
    formula = (
        "excluded(x, s) where each leaf that x reaches with s counts nobody of the class of x; of everybody in the "
        "table also where no assignment of the people to leaves with s for x has the published counts; posterior(s) = "
        "imputation(s) over the values that remain; bootstraps: imputation(s) * R(number of trees that exclude s), R "
        "the ratio of its probabilities with the own value and with another"
    )
    source = (
        "leafgate; counting: J.-C. Regin, Generalized arc consistency for global cardinality constraint, AAAI 1996, "
        "pages 209-215"
    )

    def conclude(
        self, source: api.Release | api.PredictionOracle, known: api.AdversaryKnowledge, targets: api.Targets
    ) -> api.AttributeBelief:
        from leafgate.algorithms.exclusion import absence_probability
        from leafgate_plugins.inference.attributes.imputation import impute

        if isinstance(source, api.PredictionOracle):
            raise api.InconclusiveError("answers publish no leaves", remedy="give the attack `access: file`")
        out_of_bag = absence_probability(
            source, people=targets.table_size, at_least=1, weighted=targets.training_weighted
        )
        prior = impute(targets, known.seed).posterior
        if out_of_bag:
            return _belief_of_bootstraps(source, known.schema, targets, prior, out_of_bag)
        return _belief_of_all_rows(source, known.schema, targets, prior)


def _belief_of_all_rows(
    release: api.Release, schema: api.Schema, targets: api.Targets, prior: Floats
) -> api.AttributeBelief:
    """What follows from trees that were trained on all rows: proofs."""
    by_leaves, by_counts = possible_values(release, schema, targets)
    only = _only_value(by_counts)

    proved = np.split(np.stack([_only_value(by_leaves) >= 0, only >= 0, ~by_counts.any(axis=1)]), [_first(targets)], 1)
    by_group = [part.sum(axis=1).tolist() for part in proved]
    evidence = {
        "trees": len(release.fitted_trees),
        "trained_on": "all rows",
        "proved_by_leaves": api.AuditorOnly([of_leaves for of_leaves, _, _ in by_group]),
        "proved_by_counting": api.AuditorOnly([of_both - of_leaves for of_leaves, of_both, _ in by_group]),
        "contradicted": api.AuditorOnly([contradictions for _, _, contradictions in by_group]),
    }
    if targets.set_apart is not None:
        number = targets.set_apart.total_weight
        evidence["not_judged"] = api.AuditorOnly(f"{number} people with missing cells that hardly anybody has")
    name = targets.secret.name
    return api.AttributeBelief(name, restricted(prior, by_counts), certain=only, evidence=evidence)


def _belief_of_bootstraps(
    release: api.Release, schema: api.Schema, targets: api.Targets, prior: Floats, out_of_bag: float
) -> api.AttributeBelief:
    """What follows from trees that were each trained on a bootstrap: no proof of anybody."""
    from leafgate.algorithms.exclusion import exclusion_p_values

    trees = len(release.trees)
    excluding, reference = excluding_by_value(release, schema, targets)
    ratios = bootstrap_ratios(trees, out_of_bag, reference.ravel())

    p_values = exclusion_p_values(excluding.min(axis=2), trees, out_of_bag)
    nearly = np.split((p_values > SMALL_P_VALUE).sum(axis=1) == 1, [_first(targets)])
    evidence = {
        "trees": trees,
        "trained_on": "bootstraps",
        "out_of_bag": api.AuditorOnly(out_of_bag),
        "one_value_above_p_0.001": api.AuditorOnly([int(group.sum()) for group in nearly]),
    }
    posterior = _reweighted(prior, ratios[excluding].mean(axis=2))
    return api.AttributeBelief(targets.secret.name, posterior, evidence=evidence)


def _first(targets: api.Targets) -> int:
    return len(targets.groups[0])


def _only_value(possible: Mask) -> NDArray[np.int64]:
    """The position of the only value that each person can have; -1 where there are several, or none."""
    return np.where(possible.sum(axis=1) == 1, possible.argmax(axis=1), -1)


def restricted(prior: Floats, possible: Mask) -> Floats:
    """A prior given that the value is one of those that are possible.

    Args:
        prior: shape (n_people, n_values), rows sum to 1.
        possible: the same shape.

    Returns:
        The same shape, rows sum to 1. Where no value is possible, which contradicts what the adversary believes of this
        person, it is the prior; where the prior gives all possible values nothing, they are equally likely.

    >>> restricted(np.array([[0.5, 0.3, 0.2]]), np.array([[True, False, True]])).round(3).tolist()
    [[0.714, 0.0, 0.286]]
    """
    contradicted = ~possible.any(axis=1, keepdims=True)
    remaining = np.where(contradicted, prior, np.where(possible, prior, 0.0))
    empty = remaining.sum(axis=1, keepdims=True) <= 0
    remaining = np.where(empty, possible.astype(np.float64), remaining)
    result: Floats = remaining / remaining.sum(axis=1, keepdims=True)
    return result


def _reweighted(prior: Floats, likelihood: Floats) -> Floats:
    """The prior times the likelihood of each value, which is positive; rows sum to 1, as those of the prior do."""
    product = prior * likelihood / likelihood.max(axis=1, keepdims=True)
    total = product.sum(axis=1, keepdims=True)
    return np.where(total > 0, product / np.where(total > 0, total, 1.0), prior)


def bootstrap_ratios(trees: int, out_of_bag: float, reference: NDArray[np.int64]) -> Floats:
    """How much likelier each number of excluding trees is with the value of somebody in the table than with others.

    A tree excludes the own value of somebody in the table only if it did not draw this person, with probability q. Let
    a be the probability that a tree which did not draw a person excludes a value. The number of trees that exclude the
    own value has then the law Binomial(T, q a), and that of another value Binomial(T, a), because whether a tree drew
    the person does not decide what it counts where the person is not. The rate a differs from person to person. It has
    the distribution of the rates of people who are not in the table, with all values.

    That trees exclude an own value more rarely for its cells alone is left out: imputation has seen these.

    Args:
        trees: T, from 1.
        out_of_bag: q, in (0, 1).
        reference: shape (n,), from 0 to T: how many trees exclude values of people who are not in the table.

    Returns:
        Shape (trees + 1,): for each number of trees, from 0, the ratio of the two probabilities, positive; 1 everywhere
        where `reference` is empty. It need not fall at every step: a mixture of rates may have several modes.

    >>> bootstrap_ratios(2, 0.25, np.array([1])).round(3).tolist()
    [3.062, 0.438, 0.063]
    """
    if not len(reference):
        return np.ones(trees + 1)
    seen, times = np.unique(reference, return_counts=True)
    rates = (seen + 0.5) / (trees + 1)
    numbers = np.arange(trees + 1)
    own = _mixed(numbers, trees, out_of_bag * rates, times)
    other = _mixed(numbers, trees, rates, times)
    return np.asarray(np.exp(np.clip(own - other, -MAX_LOG_RATIO, MAX_LOG_RATIO)))


MAX_LOG_RATIO = 300.0
"""Ratios are kept within the range of floats."""


def _mixed(numbers: NDArray[np.int64], trees: int, rates: Floats, times: NDArray[np.int64]) -> Floats:
    """The logarithm, up to a term of each number alone, of its probability in a mixture of binomial laws."""
    from scipy.special import logsumexp

    logs = numbers[:, None] * np.log(rates) + (trees - numbers)[:, None] * np.log1p(-rates)
    return np.asarray(logsumexp(logs, b=times, axis=1), dtype=np.float64)


@dataclass(frozen=True)
class Reached:
    """Which leaves of one tree people reach with which values: combinations of the three.

    Attributes:
        person: shape (n,), positions of people.
        value: shape (n,), positions of values in the secret's domain.
        leaf: shape (n,), positions in `leaves`; -1 for people who reach no leaf with this value.
        leaves: the leaves of the tree, in any order.
    """

    person: NDArray[np.int32]
    value: NDArray[np.int32]
    leaf: NDArray[np.int32]
    leaves: tuple[Leaf, ...]


def reachable_leaves(tree: Node, people: api.Table, schema: api.Schema, secret: Column) -> Reached:
    """The leaves that each person can reach with each value of the secret, whatever unknown columns hold.

    The tests on a path bound each column separately. So somebody reaches a leaf with a value just if the known cells
    pass the tests on them, the value is among what the tests on the secret leave, and those on every other column leave
    anything. A bin stands for all of its numbers.

    Args:
        tree: tests columns of the schema.
        people: with the columns that are known of them; not the secret.
        schema: every column that the tree may test.
        secret: a column of the schema, with values or bins.

    Returns:
        Each combination once.

    Raises:
        InconclusiveError: there are more than MAX_REACHED combinations.
    """
    tree_leaves: list[Leaf] = []
    rows_of: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    values_of: list[Mask] = [np.zeros(len(secret.domain), dtype=bool)]
    places = [0]
    listed = 0
    for leaf, rows, values in _regions(tree, people, schema, secret):
        rows_of.append(rows)
        values_of.append(values)
        places.append(-1 if leaf is None else len(tree_leaves))
        tree_leaves += () if leaf is None else (leaf,)
        listed += len(rows) * len(values)
        if listed > MAX_REACHED:
            raise api.InconclusiveError(
                f"people can reach the leaves of one tree in more than {MAX_REACHED:,} ways",
                remedy="state fewer people in `knows: {candidates: ...}`, or that the adversary knows more columns",
            )
    person = np.concatenate(rows_of).astype(np.int32)
    region = np.repeat(np.arange(len(places)), [len(rows) for rows in rows_of])
    combination, value = np.nonzero(np.array(values_of)[region])
    leaf_of = np.array(places, dtype=np.int32)[region[combination]]
    reached = Reached(person[combination], value.astype(np.int32), leaf_of, tuple(tree_leaves))
    return _without_repetitions(reached, len(secret.domain)) if -1 in places else reached


def _without_repetitions(reached: Reached, n_values: int) -> Reached:
    """The same, where somebody can reach no leaf in several ways; leaves are reached in one way only."""
    keys = (reached.person.astype(np.int64) * n_values + reached.value) * (len(reached.leaves) + 1) + reached.leaf
    _, first = np.unique(keys, return_index=True)
    return Reached(reached.person[first], reached.value[first], reached.leaf[first], reached.leaves)


def _regions(
    tree: Node, people: api.Table, schema: api.Schema, secret: Column
) -> Iterator[tuple[Leaf | None, NDArray[np.int64], Mask]]:
    """For each leaf, and for each way to reach none (None), who gets there, and with which values of the secret."""
    from leafgate.algorithms.feasible import branch_domains, unrouted_values
    from leafgate.algorithms.routing import split_rows
    from leafgate.api import Leaf

    known_values: dict[Domain | None, Mask] = {}

    def values_within(remaining: Mapping[str, Domain]) -> Mask:
        rest = remaining.get(secret.name)
        if rest not in known_values:
            known_values[rest] = _values_within(secret, remaining)
        return known_values[rest]

    waiting: list[tuple[Node, NDArray[np.int64], Mapping[str, Domain]]] = [(tree, np.arange(len(people)), {})]
    while waiting:
        node, rows, remaining = waiting.pop()
        if isinstance(node, Leaf):
            yield node, rows, values_within(remaining)
        elif node.column in people.schema:
            below = list(split_rows(node, people, rows))
            waiting.extend((child, part, remaining) for child, part in below if len(part))
            if sum(len(part) for _, part in below) < len(rows):
                lost = np.setdiff1d(rows, np.concatenate([part for _, part in below]), assume_unique=True)
                yield None, lost, values_within(remaining)
        else:
            for child, rest in branch_domains(node, remaining, schema):
                if rest:
                    waiting.append((child, rows, {**remaining, node.column: rest}))
            lost_values = unrouted_values(node, remaining, schema)
            if lost_values:
                yield None, rows, values_within({**remaining, node.column: lost_values})


def _values_within(secret: Column, remaining: Mapping[str, Domain]) -> Mask:
    """Which values, or bins, of the secret have something in common with what the tests on a path leave of it."""
    from leafgate.algorithms.feasible import Interval, rest_of
    from leafgate.kernel.schema import bins_between

    rest = rest_of(secret, remaining)
    if not isinstance(rest, Interval):
        return np.array([value in rest for value in secret.domain], dtype=bool)
    edges = (-math.inf, *(secret.bins or ())[1:-1], math.inf)
    within = bins_between(edges, rest.low, rest.high, open_low=True) & (rest.low < rest.high)
    within[-1] |= rest.missing
    return within


@dataclass(frozen=True)
class _People:
    """The people of both groups, or others, with what is known of them, and the classes that they can have.

    `classes` has shape (n, 1) where the class is known, else (n, n_classes), its positions in the domain; n_classes
    stands for a missing class, which leaves do not count.
    """

    table: api.Table
    schema: api.Schema
    secret: Column
    classes: NDArray[np.int64]

    @classmethod
    def of(cls, tables: Sequence[api.Table], schema: api.Schema, secret: Column) -> _People:
        """The people of tables with equal columns."""
        columns = tables[0].schema
        frame = pd.DataFrame(
            {
                column.name: pd.concat([table.frame[column.name] for table in tables], ignore_index=True)
                for column in columns.columns
            },
            index=range(sum(map(len, tables))),
        )
        people = api.Table(columns, frame, np.ones(len(frame), dtype=np.int64))
        if schema.target.name in columns:
            return cls(people, schema, secret, own_classes(people, schema)[:, None])
        n_classes = len(schema.classes) + schema.target.missing
        return cls(people, schema, secret, np.tile(np.arange(n_classes), (len(people), 1)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many people, values, and classes that each of them can have."""
        return len(self.table), len(self.secret.domain), self.classes.shape[1]

    @cached_property
    def any_class_is_missing(self) -> bool:
        return bool((self.classes >= len(self.schema.classes)).any())

    def reach(self, tree: Node) -> Reached:
        return reachable_leaves(tree, self.table, self.schema, self.secret)

    def remaining(self, reached: Reached, release: api.Release) -> Mask:
        """Which values and classes a tree does not exclude: shape (n_people, n_values, n_classes of each)."""
        from leafgate.algorithms.exclusion import absent_classes

        counted = ~absent_classes(reached.leaves, release, release.classes)
        n, n_values, n_classes = self.shape
        states = reached.person.astype(np.int64) * n_values + reached.value
        result = np.zeros((n * n_values, n_classes), dtype=bool)
        for k in range(n_classes):
            result[states[counted[reached.leaf, self.classes[reached.person, k]]], k] = True
        return result.reshape(n, n_values, n_classes)


def excluding_by_value(
    release: api.Release, schema: api.Schema, targets: api.Targets
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many trees of the release exclude each value of each target, and of each auxiliary person.

    Returns:
        Shape (n_targets, n_values, n_classes), from 0 to the number of trees, for each class that the person can have:
        one where the class is known. And shape (n_auxiliary, n_values), with the own class.
    """
    known = {column.name for column in targets.groups[0].schema.columns} | {schema.target.name}
    columns = api.Schema(tuple(column for column in targets.auxiliary.schema.columns if column.name in known))
    names = [column.name for column in columns.columns]
    auxiliary = api.Table(columns, targets.auxiliary.frame.loc[:, names], targets.auxiliary.weight)
    counted = []
    for tables in (targets.groups, (auxiliary,)):
        people = _People.of(tables, schema.with_column(targets.secret), targets.secret)
        excluding = np.zeros(people.shape, dtype=np.int64)
        for tree in release.trees:
            excluding += ~people.remaining(people.reach(tree), release)
        counted.append(excluding)
    return counted[0], counted[1][:, :, 0]


def possible_values(release: api.Release, schema: api.Schema, targets: api.Targets) -> tuple[Mask, Mask]:
    """Which values of the secret trees that were trained on all rows leave possible, if the targets are in the table.

    Args:
        release: what is published; `absence_probability` must be 0 for it.
        schema: every column.
        targets: the people.

    Returns:
        Twice the shape (n_targets, n_values): what follows for each person from the leaves that this person can reach,
        and what follows from the counts of leaves too, where the targets are everybody in the table.
    """
    people = _People.of(targets.groups, schema.with_column(targets.secret), targets.secret)
    reached = [people.reach(tree) for tree in release.fitted_trees]
    states = np.ones(people.shape, dtype=bool)
    for each in reached:
        states &= people.remaining(each, release)
    by_leaves: Mask = np.asarray(states.any(axis=2))
    counted = release.publish.leaves == "counts" and release.count_semantics == "exact"
    if not targets.complete or not counted or people.any_class_is_missing:
        return by_leaves, by_leaves
    counts = [
        _counts_of(each, tree, release.classes, targets, schema)
        for each, tree in zip(reached, release.fitted_trees, strict=True)
    ]
    apart = 0 if targets.set_apart is None else targets.set_apart.total_weight
    totals = [_totals(tree, release.classes) - apart for tree in release.fitted_trees]
    by_counts = by_leaves.copy()
    for group in np.split(np.arange(len(targets)), [_first(targets)]):
        remaining = _remaining_by_counts(people, reached, counts, totals, group, states)
        if remaining is not None:
            by_counts[group] = remaining.any(axis=2)
    return by_leaves, by_counts


def _totals(tree: Node, classes: Sequence[str]) -> float:
    """How many people all leaves of a tree count."""
    from leafgate.api import leaves

    return float(sum((leaf.counts or {}).get(name, 0) for leaf in leaves(tree) for name in classes))


def _remaining_by_counts(
    people: _People,
    reached: Sequence[Reached],
    counts: Sequence[Floats],
    totals: Sequence[float],
    group: NDArray[np.int64],
    states: Mask,
) -> Mask | None:
    """Which of the states (value, class) of a group's people occur where the group is everybody whom leaves count.

    Returns:
        Shape (n_group, n_values, n_classes); None where the group cannot be everybody in the table.
    """
    remaining = states[group]
    own = people.classes[group]
    if any(total != len(group) for total in totals) or not remaining.any(axis=(1, 2)).all():
        return None
    within = [_within(each, group) for each in reached]
    flows = 0
    for _ in range(MAX_ROUNDS):
        before = int(remaining.sum())
        for each, counted in zip(within, counts, strict=True):
            flows += 1
            if flows > MAX_FLOWS:
                return remaining
            kept = _states_with_counts(each, counted, own, remaining)
            if kept is None:
                return None
            remaining = kept
        if len(within) == 1 or int(remaining.sum()) == before:
            break
    return remaining


def _within(reached: Reached, group: NDArray[np.int64]) -> Reached:
    """The combinations of the people of a group, who stand at consecutive positions; they are numbered from 0."""
    first = int(group[0]) if len(group) else 0
    mine = (reached.person >= first) & (reached.person < first + len(group))
    return Reached(reached.person[mine] - first, reached.value[mine], reached.leaf[mine], reached.leaves)


def _counts_of(
    reached: Reached, tree: Node, classes: Sequence[str], targets: api.Targets, schema: api.Schema
) -> Floats:
    """How many people of each class leaves count, but for those who are set apart: shape (n_leaves, n_classes)."""
    counts = np.array([[float((leaf.counts or {}).get(name, 0)) for name in classes] for leaf in reached.leaves])
    counts = counts.reshape(-1, len(classes))
    if targets.set_apart is not None:
        number = {id(leaf): i for i, leaf in enumerate(reached.leaves)}
        own = own_classes(targets.set_apart, schema)
        for leaf, rows, _ in _regions(tree, targets.set_apart, schema, targets.secret):
            if id(leaf) in number:
                np.subtract.at(counts[number[id(leaf)]], own[rows], targets.set_apart.weight[rows])
    return counts


def _states_with_counts(reached: Reached, counts: Floats, own: NDArray[np.int64], states: Mask) -> Mask | None:
    """Which states occur in an assignment of the people to leaves that has the counts of one tree.

    Args:
        reached: the leaves that people reach with each value.
        counts: shape (n_leaves, n_classes), how many people of each class its leaves count.
        own: shape (n_people, n_own), the classes that each person can have.
        states: shape (n_people, n_values, n_own), which values and classes are possible so far.

    Returns:
        The same shape; None where there is no such assignment. `states` itself where there are too many pairs.
    """
    if (counts != np.floor(counts)).any() or (counts < 0).any():
        return None
    combination, k = np.nonzero(states[reached.person, reached.value] & (reached.leaf >= 0)[:, None])
    person, value = reached.person[combination].astype(np.int64), reached.value[combination]
    bins = reached.leaf[combination].astype(np.int64) * counts.shape[1] + own[person, k]
    n_bins = counts.size
    pairs, pair_of = np.unique(person * n_bins + bins, return_inverse=True)
    if len(pairs) > MAX_PAIRS:
        return states
    occurs = occurring_bins(pairs // n_bins, pairs % n_bins, len(own), counts.ravel().astype(np.int64))
    if occurs is None:
        return None
    kept = occurs[pair_of]
    result = np.zeros_like(states)
    result[person[kept], value[kept], k[kept]] = True
    return result
