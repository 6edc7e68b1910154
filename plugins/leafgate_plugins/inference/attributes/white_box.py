"""Model inversion with the counts of leaves: the white-box attack of Fredrikson, Jha and Ristenpart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from leafgate import api
from leafgate.kernel.schema import bins_between
from leafgate_plugins.inference.attributes.targets import InputAttack, class_is_known, repeating, value_shares
from leafgate_plugins.inference.game import Answers, own_classes

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from leafgate.kernel.schema import Value
else:
    np, pd = api.lazy("numpy"), api.lazy("pandas")


class Fredrikson(InputAttack):
    """Weigh each value by how many people of the table are in the leaf to which it leads, and by its prior."""

    use: Literal["fredrikson"] = "fredrikson"

    access_levels = frozenset({"file"})
    formula = (
        "posterior(v) is proportional to prior(v) * (sum of p over the leaves that are consistent with the known "
        "columns and v) / (sum of p over all leaves that are consistent with v); p = a leaf's share of the people, "
        "above the line those of the person's class where it is known; the mean over the trees"
    )
    source = "Fredrikson, Jha, Ristenpart, CCS 2015, doi:10.1145/2810103.2813677, section 4: white-box with counts"

    def conclude(
        self, source: api.Release | api.PredictionOracle, known: api.AdversaryKnowledge, targets: api.Targets
    ) -> api.AttributeBelief:
        if isinstance(source, api.PredictionOracle):
            raise api.InconclusiveError("the attack reads the leaves of the trees", remedy="grant it `access: file`")
        prior = value_shares(targets)
        classes = known.schema.classes if class_is_known(targets, known.schema) else ()
        numbers = [leaf_numbers(tree, classes, targets.auxiliary) for tree in source.trees]
        posteriors = []
        for group in targets.groups:
            own = own_classes(group, known.schema) if classes else np.zeros(len(group), dtype=np.int64)
            by_tree = [
                white_box_posterior(prior, *consistent_shares(tree, group, targets.secret, numbers_of, own))
                for tree, numbers_of in zip(source.trees, numbers, strict=True)
            ]
            posteriors.append(np.mean(by_tree, axis=0))
        even = Answers(np.full((len(targets), len(prior), 2), 0.5), np.zeros(len(targets), dtype=np.int64))
        everywhere = np.ones(len(prior))
        return api.AttributeBelief(
            targets.secret.name,
            np.concatenate(posteriors),
            planted=repeating(
                even, known.seed, lambda leaky, _: white_box_posterior(prior, leaky.of_own_class, everywhere)
            ),
            evidence={"trees": len(source.trees), "class_known": bool(classes)},
        )


def white_box_posterior(prior: api.Floats, consistent: api.Floats, by_value: api.Floats) -> api.Floats:
    """The posterior of the secret by the white-box attack with counts.

    Args:
        prior: shape (V,), above 0, sums to 1.
        consistent: shape (n, V), the sum of p_i over the leaves that are consistent with the person's known columns and
            with each value.
        by_value: shape (V,), the sum of p_j over all leaves that are consistent with each value.

    Returns:
        Shape (n, V), rows sum to 1; the prior for somebody to whom all leaves give 0.

    Source: Fredrikson, Jha, Ristenpart, CCS 2015, section 4, the estimator "white-box with counts":
        Pr(x1 = v | paths, known columns) is proportional to
        (sum over paths i of p_i phi_i(v)) Pr(x1 = v) / (sum over paths j of p_j phi_j(v)).
    """
    weights = prior * np.divide(consistent, by_value, out=np.zeros_like(consistent), where=by_value > 0)
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, weights / np.where(total > 0, total, 1), prior))


def leaf_numbers(tree: api.Node, classes: tuple[str, ...], auxiliary: api.Table) -> api.Floats:
    """The share of the table's people who are in each leaf: of each class, and in all.

    Args:
        tree: of a release.
        classes: the classes; empty where the attack does not use the class.
        auxiliary: other people with all columns. Where leaves have shares of classes and no counts, how many people are
            in a leaf is estimated by how many of these reach it, and one more.

    Returns:
        Shape (n_leaves, n_classes + 1), leaves from left to right, at least 0; the last column is that of all people.

    Raises:
        InconclusiveError: a leaf has neither counts nor shares.

    Departure: the paper has the counts of training people. Counts below 0, which noise makes, count as 0.
    """
    from leafgate.algorithms.routing import route

    routed = route(tree, auxiliary)
    leaves: tuple[api.Leaf, ...] = routed.leaves
    if all(leaf.counts is not None for leaf in leaves):
        parts = [[max(0.0, float((leaf.counts or {}).get(name, 0))) for name in classes] for leaf in leaves]
        sizes = [sum(max(0.0, float(count)) for count in (leaf.counts or {}).values()) for leaf in leaves]
    elif all(leaf.counts is not None or leaf.shares is not None for leaf in leaves):
        reached = np.bincount(routed.leaf[routed.leaf >= 0], minlength=len(leaves)) + 1.0
        parts = [
            [float(size * (leaf.shares or {}).get(name, 0.0)) for name in classes]
            for size, leaf in zip(reached, leaves, strict=True)
        ]
        sizes = reached.tolist()
    else:
        raise api.InconclusiveError(
            "the leaves publish neither counts nor shares of classes, which the attack weighs values by",
            remedy="it judges releases that publish counts; `likelihood` judges any",
        )
    numbers = np.column_stack([np.array(parts, dtype=np.float64).reshape(len(leaves), -1), np.array(sizes)])
    total = numbers[:, -1].sum()
    return np.asarray(numbers / total if total > 0 else numbers)


def consistent_shares(
    tree: api.Node, people: api.Table, secret: api.Column, numbers: api.Floats, own: NDArray[np.int64]
) -> tuple[api.Floats, api.Floats]:
    """What the paper's estimator adds up: p of the leaves that known columns and a value leave possible.

    Args:
        tree: of a release.
        people: the targets, with the columns that are known of them. At a test of another column than these and the
            secret a person may go to every child.
        secret: the column to infer; a bin of a number goes to both children where it lies on both sides of a test.
        numbers: shape (n_leaves, n_classes + 1), the result of `leaf_numbers`.
        own: shape (n,), the position of each person's class. Somebody whose class is missing, and everybody where
            `numbers` has no classes, is counted with the people of all classes.

    Returns:
        Shape (n, V), the sum of the shares of the own class for each person and value; and shape (V,), that of all
        people for each value over all leaves.

    Source: Fredrikson, Jha, Ristenpart, CCS 2015, section 4.
    Departure: the paper counts all training people of a path. Where the class is known those of this class are counted,
        so that the estimator is Bayes' rule for the path and the class.
    """
    own = np.minimum(own, numbers.shape[1] - 1)
    nobody = people.without_rows
    _, by_value = _summed_over_leaves(tree, nobody, secret, numbers, own[:0])
    hidden = api.columns_asked(tree) - {secret.name} - {column.name for column in people.schema.columns}
    if secret.values is None or hidden:
        return _summed_over_leaves(tree, people, secret, numbers, own)[0], by_value
    return _of_one_leaf(tree, people, secret, numbers, own), by_value


def _of_one_leaf(
    tree: api.Node, people: api.Table, secret: api.Column, numbers: api.Floats, own: NDArray[np.int64]
) -> api.Floats:
    """The shares of the own class, where each person reaches one leaf with each value: shape (n, V)."""
    from leafgate.algorithms.routing import route

    schema = api.Schema((*people.schema.columns, secret))
    padded = np.vstack([numbers, np.zeros_like(numbers[:1])])  # the last row is of people whom no branch takes
    consistent = np.empty((len(people), len(secret.domain)))
    for code, value in enumerate(secret.domain):
        codes = np.full(len(people), -1 if value is None else code)
        cells = pd.Categorical.from_codes(codes, categories=pd.Index(secret.values or ()))
        completed = api.Table(schema, people.frame.assign(**{secret.name: cells}), people.weight)
        consistent[:, code] = padded[route(tree, completed).leaf, own]
    return consistent


def _summed_over_leaves(
    tree: api.Node, people: api.Table, secret: api.Column, numbers: api.Floats, own: NDArray[np.int64]
) -> tuple[api.Floats, api.Floats]:
    """Both sums of `consistent_shares`, by going down every path that people and values may take."""
    from leafgate.algorithms.routing import split_rows

    n_values = len(secret.domain)
    consistent, by_value = np.zeros((len(people), n_values)), np.zeros(n_values)
    waiting: list[tuple[api.Node, NDArray[np.int64], api.Mask]]
    waiting = [(tree, np.arange(len(people)), np.ones(n_values, dtype=np.bool_))]
    leaf_number = 0
    while waiting:
        node, rows, possible = waiting.pop()
        if isinstance(node, api.Leaf):
            if len(rows):
                consistent[np.ix_(rows, possible)] += numbers[leaf_number, own[rows]][:, None]
            by_value[possible] += numbers[leaf_number, -1]
            leaf_number += 1
        elif node.column == secret.name:
            sides = zip(api.children(node), values_of_children(node, secret), strict=True)
            waiting.extend(reversed([(child, rows, possible & values) for child, values in sides]))
        elif len(rows) and node.column in people.schema:
            sent = list(split_rows(node, people, rows))
            waiting.extend(reversed([(child, some, possible) for child, some in sent]))
        else:
            waiting.extend(reversed([(child, rows, possible) for child in api.children(node)]))
    return consistent, by_value


def values_of_children(node: api.NumericSplit | api.CategoricalSplit, secret: api.Column) -> list[api.Mask]:
    """Which values, or bins, of the secret may go to each child of a test of the secret: shape (V,) for each.

    What lies outside all bins belongs to the first or to the last.
    """
    if isinstance(node, api.CategoricalSplit):
        taken = np.array([_branch(node, value) for value in secret.domain])
        return [taken == number for number in range(len(api.children(node)))]
    from leafgate.algorithms.feasible import largest_value_going_low

    edges = (-math.inf, *(secret.bins or ())[1:-1], math.inf)
    last = largest_value_going_low(node)
    return [bins_between(edges, -math.inf, last), bins_between(edges, last, math.inf, open_low=True)]


def _branch(node: api.CategoricalSplit, value: Value) -> int:
    """The position of the child that takes a value; -1 if none does."""
    for number, branch in enumerate(node.branches):
        if value in branch.values:
            return number
    return -1 if node.default is None else len(node.branches)
