"""From a release and the public columns to one belief for each secret."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leafgate import Belief, Known, Release
from leafgate.report import People
from leafgate.schema import Column
from leafgate_linking.grouping import Ids, Reached, grouped, remainders
from leafgate_linking.records import matches, told_of
from leafgate_linking.telling import Shares, doubted, joined, told_by_leaves
from leafgate_linking.words import group_words


@dataclass(frozen=True)
class Linked:
    """Everyone divided: each public row's group, and for each group what it reaches in every tree."""

    release: Release
    known: Known
    groups: Ids
    reached: Sequence[Sequence[Sequence[Reached]]]
    records: Sequence[Ids]
    class_value: Sequence[str | None]


def infer(release: Release, known: Known) -> list[Belief]:
    """One belief for each sensitive column; with none, one belief of groups only."""
    linked = link(release, known)
    people = np.bincount(linked.groups, weights=known.weight).astype(np.float64)
    evidence: dict[str, Any] = {"groups": len(people), "smallest_group": People(int(people.min()))}
    if release.publish.leaves == "labels":
        evidence["labels"] = _labels(linked, people)
    secrets = [column for column in known.schema.secrets if column.values is not None]
    if not secrets:
        return [Belief(None, linked.groups, evidence=evidence, explain=_explain(linked))]
    return [
        Belief(secret.name, linked.groups, _chances(linked, secret), evidence=evidence, explain=_explain(linked))
        for secret in secrets
    ]


def _labels(linked: Linked, people: Shares) -> dict[str, People]:
    """People by the label of every leaf they can reach; those who can reach several labels apart."""
    found: dict[str, int] = {}
    for reached, count in zip(linked.reached, people.tolist(), strict=True):
        labels = {str(each.leaf.label) for leaves in reached for each in leaves}
        label = labels.pop() if len(labels) == 1 else "several"
        found[label] = found.get(label, 0) + int(count)
    return {label: People(count) for label, count in sorted(found.items())}


def link(release: Release, known: Known) -> Linked:
    """Divide the people by their remainders of every tree, their matching records, and a public class."""
    public, schema = known.public, known.schema
    published = (*release.trees, *release.alternatives.values())
    trees = [remainders(tree, public, schema) for tree in published]
    keys = [ids for ids, _ in trees]
    sets: list[Ids] = []
    if release.records is not None:
        which, sets = matches(release.records, public, schema)
        keys.append(which)
    target = schema.having("class")
    own_class = public.codes(target[0].name) if target and target[0].public else None
    if own_class is not None:
        keys.append(own_class)
    groups, first = grouped(keys or [np.zeros(len(public), dtype=np.int64)])
    return Linked(
        release,
        known,
        groups,
        reached=[[found.leaves(int(ids[row])) for ids, found in trees] for row in first],
        records=[sets[which[row]] for row in first] if sets else [np.zeros(0, dtype=np.int64)] * len(first),
        class_value=[None if own_class is None else schema.classes[own_class[row]] for row in first],
    )


def _chances(linked: Linked, secret: Column) -> pd.DataFrame:
    granted = linked.known.distribution.get(secret.name)
    domain = list(secret.domain)
    prior = np.full(len(domain), 1 / len(domain)) if granted is None else np.array([granted[str(v)] for v in domain])
    rows = [_belief(linked, group, secret, prior) for group in range(len(linked.reached))]
    return pd.DataFrame(np.array(rows)[linked.groups], columns=pd.Index(domain))


def _belief(linked: Linked, group: int, secret: Column, prior: Shares) -> Shares:
    """Records tell a group's own shares and go first; else the trees, joined."""
    release = linked.release
    if release.records is not None:
        told = told_of(release.records, secret, linked.records[group], prior)
        if told is not None:
            people = sum(release.records.weight[row] for row in linked.records[group].tolist())
            return told if release.counted == "exact" else doubted(told, people)
    beliefs = [
        told_by_leaves(leaves, secret, release, prior, linked.class_value[group]) for leaves in linked.reached[group]
    ]
    return joined(beliefs, exact=release.counted == "exact") if beliefs else prior


def _explain(linked: Linked) -> Callable[[int], str]:
    def explain(group: int) -> str:
        told = [group_words(leaves, linked.known.schema) for leaves in linked.reached[group]]
        return "; ".join(told) or "the published records that match"

    return explain
