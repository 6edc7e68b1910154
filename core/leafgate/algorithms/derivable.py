"""What a release itself tells of true secrets: decided by it and by what is public, never by anybody's secret.

A number that compares with the truth may be shown to the public where the release tells as much, and nowhere else. If
it were shown where it happens to come out the same, that it is shown would tell what the release does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.routing import NOWHERE, route
from leafgate.api.context import Observation, ScoringContext
from leafgate.types.belief import Belief
from leafgate.types.release import Release
from leafgate.types.schema import Column
from leafgate.types.table import Table
from leafgate.types.tree import Leaf, Node, columns_asked, leaves

if TYPE_CHECKING:
    import pandas as pd

    from leafgate.api.components import AttackModel
    from leafgate.api.metrics import Metric


Ids = NDArray[np.int64]


class RanAttack(Protocol):
    """The result of running an attack: here only which attack it was."""

    @property
    def attack(self) -> AttackModel: ...


def asks_public(release: Release, table: Table) -> bool:
    """Do the trees ask for public columns alone, so that anyone knows who is in which leaf?"""
    asked = {name for tree in release.fitted_trees for name in columns_asked(tree)}
    return asked <= {column.name for column in table.schema.public}


def leaf_counts_derivable(case: ScoringContext) -> bool:
    """Do the leaves of each tree count exactly the people who are in them, and leave out nobody?"""
    return bool(case.release.fitted_trees) and all(_counts_all(tree, case) for tree in case.release.fitted_trees)


def leaf_classes_derivable(case: ScoringContext) -> bool:
    """Do the leaves tell their people's classes: by counts, or by shares of people whom anyone knows to be there?"""
    release, table = case.release, case.table
    if case.inconsistency or release.count_semantics != "exact" or release.target not in table.schema:
        return False
    if leaf_counts_derivable(case):
        return True
    result = all(_tells_shares(leaf, release) for tree in release.fitted_trees for leaf in leaves(tree))
    if not (result and asks_public(release, table)):
        return False
    return all((_leaf(tree, table) != NOWHERE).all() for tree in release.fitted_trees)


def overall_shares_derivable(case: ScoringContext) -> bool:
    """Are the secret's shares among everyone told?"""
    if case.inconsistency or case.release.count_semantics != "exact":
        return False
    by_leaves = "class" in case.secret.roles and any(_counts_all(tree, case) for tree in case.release.trees)
    return by_leaves or _in_records(case.secret, case) or group_shares_derivable(case)


def group_shares_derivable(case: ScoringContext, *, alike: bool = False) -> bool:
    """Are the secret's true shares in each group told? Where `alike`, among those in it who are believed alike."""
    belief = case.belief
    if (
        belief is None
        or belief.record_positions is not None
        or case.inconsistency
        or case.release.count_semantics != "exact"
    ):
        return False
    return belief.certainty == "shares" or _by_leaves(
        case, _believed_alike(case) if alike else case.equivalence_class.to_numpy()
    )


def _counts_all(tree: Node, case: ScoringContext) -> bool:
    if case.inconsistency or case.release.count_semantics != "exact":
        return False
    items = [leaf.counts for leaf in leaves(tree)]
    return (
        sum(sum(counts.values()) for counts in items if counts is not None) == case.table.people and None not in items
    )


def _in_records(secret: Column, case: ScoringContext) -> bool:
    """Do the published records show the secret of everyone, as it is?"""
    records = case.release.records
    return records is not None and case.release.shows_exactly(secret.name) and sum(records.weight) == case.table.people


def _by_leaves(case: ScoringContext, parts: Ids) -> bool:
    """Is each part all people of some leaves, whom anyone knows, and do these tell the secret's shares?"""
    trees, table = case.release.fitted_trees, case.table
    if len(trees) != 1 or "class" not in case.secret.roles or not asks_public(case.release, table):
        return False
    leaf = _leaf(trees[0], table)
    return leaf_classes_derivable(case) and len(set(zip(leaf.tolist(), parts.tolist(), strict=True))) == len(
        set(leaf.tolist())
    )


def _leaf(tree: Node, table: Table) -> Ids:
    """The leaf of each row of the table, of a tree that asks for public columns alone."""
    public, mine = table.public
    return route(tree, public).leaf[mine]


def _tells_shares(leaf: Leaf, release: Release) -> bool:
    result = leaf.counts is not None or leaf.shares is not None
    return result or (leaf.error_rate is not None and len(release.classes) == 2)


def _believed_alike(case: ScoringContext) -> Ids:
    """The number of each row's part: people of one equivalence class with the same posterior are one part."""
    posterior = case.with_own_record().posterior
    believed = np.column_stack([case.equivalence_class.to_numpy(), posterior.to_numpy(dtype=float).round(12)])
    return np.unique(believed, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def undisclosed_reads(case: ScoringContext) -> frozenset[Observation]:
    """What a metric has read of this context that follows neither from the release nor from the public columns."""
    derivable: dict[Observation, Callable[[ScoringContext], bool]] = {
        Observation.OVERALL: overall_shares_derivable,
        Observation.TRUTH: partial(group_shares_derivable, alike=True),
        Observation.COMPOSITION: group_shares_derivable,
    }
    return frozenset(
        read for read, is_derivable in derivable.items() if read in case.observed and not is_derivable(case)
    )


def uses_background_knowledge(case: ScoringContext, attempt: RanAttack | None) -> bool:
    """Does an attack take in what the policy grants it, and the release does not tell?"""
    known, belief = case.known, case.belief
    shares = bool(known.distribution) and not (
        belief is not None and belief.secret is not None and overall_shares_derivable(case)
    )
    granted = {"distribution": shares, "people": known.people is not None, "facts": bool(known.facts)}
    granted["label_accuracies"] = known.label_accuracies is not None and _may_use_label_accuracies(case)
    items = {name for name, what in granted.items() if what}
    return attempt is not None and bool(items & attempt.attack.uses)


def _may_use_label_accuracies(case: ScoringContext) -> bool:
    """Can a belief rest on how often labels are right?

    It can where the secret is the class or a column that a tree tests (people are more likely in the leaf whose class
    is less certain), or where the class of people is known.
    """
    secret = None if case.belief is None else case.belief.secret
    return secret is not None and (secret in columns_spoken_of(case.release) or case.table.schema.target.public)


def must_hide(metric: Metric, case: ScoringContext, attempt: RanAttack | None) -> bool:
    """Would the numbers of a score disclose what follows neither from the release nor from the public columns?

    These and the record of what the metric has read decide, and nobody's secrets. Asking adds nothing to the record.
    """
    granted = Observation.POSTERIOR in case.observed and uses_background_knowledge(case, attempt)
    return metric.private or metric.must_hide(case.with_own_record()) or granted or bool(undisclosed_reads(case))


def columns_spoken_of(release: Release) -> frozenset[str]:
    """The columns that a release says something of: its target, those it tests or models, and published ones."""
    trees = (*release.trees, *release.alternatives.values())
    predicts = bool(trees) or release.bayes is not None
    target = {column.name for column in release.schema.having("class")} if predicts else set[str]()
    modelled = () if release.bayes is None else release.bayes.normals
    return frozenset(target.union(modelled, _columns_published(release), *map(columns_asked, trees)))


def _columns_published(release: Release) -> list[str]:
    """The columns of the published records, but those withheld in every record: these tell nothing of the column."""
    records = release.records
    if records is None:
        return []
    withheld = {"withheld": True}
    return [name for i, name in enumerate(records.columns) if any(row[i] != withheld for row in records.rows)]


# --- Scores of boosted trees and means of regression trees tell of the class what attacks do not work out ---

UNREAD = "what the leaves say tells of the class what this attack does not work out: any belief is possible"


def mark_unmodelled_scores(belief: Belief, release: Release) -> Belief:
    """The belief, open about the class where scores were not read: a limit that it might break cannot be told."""
    scored = _has_unverified_scores(release)
    unread = (scored or release.discloses_numbers) and belief.secret == release.target
    if not unread or belief.posterior is None:
        return belief
    others = (*belief.alternative_posteriors, *_certain(belief.posterior))
    return replace(
        belief, evidence={**belief.evidence, "unread": UNREAD}, alternative_posteriors=others, incomplete=True
    )


def _has_unverified_scores(release: Release) -> bool:
    """Do leaves have scores of the classes that nothing in the audit holds against the table?

    Scores beside exact counts are made of these counts, which every audit compares with the table; those beside a
    claim of differential privacy are recomputed by the check of the claim.
    """
    if release.combine != "boost" and not release.discloses_scores:
        return False
    verified = release.count_semantics == "exact" or "epsilon" in release.guarantee
    return release.file is not None or release.publish.leaves != "counts" or not verified


def _certain(chances: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    """Everyone's class for certain, once for each class."""
    return tuple((chances * 0).assign(**{str(name): 1.0}) for name in chances.columns)
