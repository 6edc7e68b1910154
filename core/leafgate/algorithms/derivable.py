"""What follows from what is published: which true numbers anyone can compute from a release and the public columns.

A public report may contain a number that depends on true secrets only where that number is derivable. Each answer here
depends on the release and the public columns alone, never on a secret: otherwise the presence of the number in a report
would itself disclose something.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd

from leafgate.algorithms.consistency import share_tolerance
from leafgate.algorithms.routing import NOWHERE, route
from leafgate.kernel.arrays import Floats, Ids
from leafgate.kernel.belief import SecretBelief, classes_of, secret_of
from leafgate.kernel.context import Observation, ScoringContext
from leafgate.kernel.knowledge import background_of
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import Release
from leafgate.kernel.schema import Column
from leafgate.kernel.table import Table
from leafgate.kernel.tree import Node, columns_asked, leaves

if TYPE_CHECKING:
    from leafgate.kernel.components import AttackModel


class RanAttack(Protocol):
    """The result of running an attack: here only which attack it was."""

    @property
    def attack(self) -> AttackModel: ...


def asks_public(release: Release, table: Table) -> bool:
    """Return whether the trees test public columns only, so that anyone knows who is in which leaf."""
    asked = {name for tree in release.fitted_trees for name in columns_asked(tree)}
    return asked <= {column.name for column in table.schema.public}


def leaf_counts_derivable(case: ScoringContext) -> bool:
    """Return whether the leaves of each tree count exactly the people in them, and together everybody."""
    return bool(case.release.fitted_trees) and all(_counts_all(tree, case) for tree in case.release.fitted_trees)


def leaf_classes_derivable(case: ScoringContext) -> bool:
    """Return whether the leaves disclose their people's classes, by counts or by shares of publicly known people.

    The shares of two tables that agree with the same release differ by at most twice its tolerance, and one person of
    another class changes the shares of a leaf of n people by 1 / n. So rounded shares disclose the classes of small
    leaves alone.
    """
    release, table = case.release, case.table
    if case.inconsistency or release.count_semantics != "exact" or release.target not in table.schema:
        return False
    if leaf_counts_derivable(case):
        return True
    with_shares = all(_has_shares(leaf, release) for tree in release.fitted_trees for leaf in leaves(tree))
    if not (with_shares and asks_public(release, table)):
        return False
    most_people = 1 / (2 * share_tolerance(release))
    return all(_largest_leaf(tree, table) < most_people for tree in release.fitted_trees)


def overall_shares_derivable(case: ScoringContext) -> bool:
    """Return whether the shares of the secret's values among all people are derivable."""
    if case.inconsistency or case.release.count_semantics != "exact":
        return False
    by_leaves = "class" in case.secret.roles and any(_counts_all(tree, case) for tree in case.release.trees)
    return by_leaves or _in_records(case.secret, case) or group_shares_derivable(case)


def group_shares_derivable(case: ScoringContext, *, alike: bool = False) -> bool:
    """Return whether the true shares of the secret's values in each equivalence class are derivable.

    Args:
        case: the belief, the release and the table.
        alike: whether an equivalence class is divided further, into people with the same posterior; without classes
            these alone divide people.
    """
    belief = case.belief
    if not isinstance(belief, SecretBelief) or case.inconsistency or case.release.count_semantics != "exact":
        return False
    if belief.equivalence_class is None and not alike:
        return False
    return belief.certainty == "shares" or _by_leaves(
        case, _believed_alike(case) if alike else case.equivalence_class.to_numpy()
    )


def _counts_all(tree: Node, case: ScoringContext) -> bool:
    if case.inconsistency or case.release.count_semantics != "exact":
        return False
    items = [leaf.counts for leaf in leaves(tree)]
    return (
        sum(sum(counts.values()) for counts in items if counts is not None) == case.everyone.total_weight
        and None not in items
    )


def _in_records(secret: Column, case: ScoringContext) -> bool:
    """Do the published records contain everybody's secret unchanged?"""
    records = case.release.records
    return (
        records is not None
        and case.release.shows_exactly(secret.name)
        and sum(records.weight) == case.everyone.total_weight
    )


def _by_leaves(case: ScoringContext, parts: Ids) -> bool:
    """Is each part the union of publicly known leaves that publish the shares of the secret's values?"""
    trees, table = case.release.fitted_trees, case.table
    if len(trees) != 1 or "class" not in case.secret.roles or not asks_public(case.release, table):
        return False
    leaf = _leaf(trees[0], table)
    return leaf_classes_derivable(case) and _count(_combined([leaf, parts])) == _count(leaf)


def _combined(columns: Sequence[Ids | Floats]) -> Ids:
    """The number of each row's distinct record, from 0 in the order in which they first occur."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        codes, values = pd.factorize(column, use_na_sentinel=False)
        number = pd.factorize(number * len(values) + codes)[0].astype(np.int64)
    return number


def _count(numbers: Ids) -> int:
    """How many different numbers there are."""
    return len(pd.unique(numbers))


def _leaf(tree: Node, table: Table) -> Ids:
    """The leaf of each row of the table, in a tree that tests public columns only."""
    public, row_of = table.public
    return route(tree, public).leaf[row_of]


def _largest_leaf(tree: Node, table: Table) -> float:
    """The people in the largest leaf of a tree that tests public columns only; infinite where some reach no leaf."""
    leaf = _leaf(tree, table)
    return math.inf if (leaf == NOWHERE).any() else float(np.bincount(leaf, weights=table.weight).max(initial=0))


def _has_shares(leaf: Leaf, release: Release) -> bool:
    has_classes = leaf.counts is not None or leaf.shares is not None
    return has_classes or (leaf.error_rate is not None and len(release.classes) == 2)


def _believed_alike(case: ScoringContext) -> Ids:
    """The number of each row's part: people of one equivalence class with the same posterior are one part."""
    believed = case.with_own_record().posterior.to_numpy(dtype=float).round(12)
    classes = [] if classes_of(case.belief) is None else [case.equivalence_class.to_numpy()]
    return _combined([*classes, *believed.T])


def undisclosed_reads(case: ScoringContext) -> frozenset[Observation]:
    """What a metric has read of this context that follows neither from the release nor from the public columns."""
    derivable: dict[Observation, Callable[[ScoringContext], bool]] = {
        Observation.OVERALL: overall_shares_derivable,
        Observation.TRUTH: partial(group_shares_derivable, alike=True),
        Observation.COMPOSITION: group_shares_derivable,
    }
    derivable[Observation.NUMBERS] = lambda case: False  # what is published of numbers are means and intervals
    whose = case.table.person_rows is not None and Observation.PEOPLE in case.observed
    if whose or vars(case)["scored"] == "by_persons":  # a release counts rows, and does not say whose they are
        derivable = dict.fromkeys([*derivable, *([Observation.PEOPLE] if whose else [])], lambda case: False)
    undisclosed = {read for read, is_derivable in derivable.items() if read in case.observed and not is_derivable(case)}
    return frozenset(undisclosed | (case.observed & {Observation.MEMBERSHIP}))


def uses_background_knowledge(case: ScoringContext, result: RanAttack | None) -> bool:
    """Does an attack use knowledge that the policy grants it and that is not derivable from the release?

    Args:
        case: the context of the attack's belief; its `known` is what this attack was granted.
        result: of this attack; None for a metric of the release, which uses no knowledge of an adversary.
    """
    held = background_of(case.known)
    if "distribution" in held and secret_of(case.belief) is not None and overall_shares_derivable(case):
        held.discard("distribution")
    if "label_accuracies" in held and not _may_use_label_accuracies(case):
        held.discard("label_accuracies")
    return result is not None and not held.isdisjoint(result.attack.needs)


def _may_use_label_accuracies(case: ScoringContext) -> bool:
    """Can a belief depend on the accuracies of labels?

    It can where the secret is the class or a column that a tree tests (people are more likely in the leaf whose class
    is less certain), or where the class of people is known.
    """
    secret = secret_of(case.belief)
    return secret is not None and (secret in columns_spoken_of(case.release) or case.table.schema.target.public)


def columns_spoken_of(release: Release) -> frozenset[str]:
    """Return the columns that a release has information on: its target, those it tests or models, published ones."""
    trees = (*release.trees, *release.alternatives.values())
    predicts = bool(trees) or release.bayes is not None
    target = {column.name for column in release.schema.having("class")} if predicts else set[str]()
    modelled = () if release.bayes is None else release.bayes.normals
    return frozenset(target.union(modelled, _columns_published(release), *map(columns_asked, trees)))


def _columns_published(release: Release) -> list[str]:
    """The columns of the published records without those that are withheld in every record."""
    records = release.records
    if records is None:
        return []
    withheld = {"withheld": True}
    return [name for i, name in enumerate(records.columns) if any(row[i] != withheld for row in records.rows)]


CALIBRATION = "calibration"
"""The kind of disclosure of a file that counts people by class beside leaves with other shares."""

UNREAD = "the leaves publish numbers on the class that this attack does not evaluate: any belief is possible"


def mark_unmodelled_scores(belief: SecretBelief, release: Release) -> SecretBelief:
    """Return the belief, marked as incomplete where leaf scores or means disclose more of the class than it uses.

    A limit on such a belief is inconclusive unless it holds for every certain class.
    """
    scored = _has_unverified_scores(release)
    unread = (scored or release.discloses_numbers) and belief.secret == release.target
    if not unread:
        return belief
    others = (*belief.alternative_posteriors, *_certain(belief.posterior))
    return replace(
        belief, evidence={**belief.evidence, "unread": UNREAD}, alternative_posteriors=others, incomplete=True
    )


def _has_unverified_scores(release: Release) -> bool:
    """Do leaves have scores of the classes, or a file counts beside them, that no part of the audit evaluates?

    Scores next to exact counts follow from these counts, which every audit compares with the table. Scores next to a
    claim of differential privacy are recomputed by the check of the claim.
    """
    if release.file is not None and any(item.kind == CALIBRATION for item in release.file.discloses):
        return True
    if release.combine != "boost" and not release.discloses_scores:
        return False
    verified = release.count_semantics == "exact" or release.claims_differential_privacy
    return release.file is not None or release.publish.leaves != "counts" or not verified


def _certain(posterior: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    """For each class the posterior in which everybody certainly has it."""
    return tuple((posterior * 0).assign(**{str(name): 1.0}) for name in posterior.columns)
