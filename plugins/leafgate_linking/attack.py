"""From a release and the public columns to one belief for each secret."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from leafgate import AdversaryKnowledge, Belief, InconclusiveError, Release
from leafgate.algorithms.derivable import mark_unmodelled_scores
from leafgate.algorithms.equivalence import Ids, Reached, Remainders, grouped, remainders
from leafgate.algorithms.prediction import predicted_classes
from leafgate.types.belief import Certainty
from leafgate.types.evidence import AuditorOnly, PeopleCount
from leafgate.types.schema import Column, Schema
from leafgate.types.table import Table, distinct_rows
from leafgate.types.tree import columns_asked
from leafgate_linking.explain import group_words, record_words
from leafgate_linking.posterior import LeafReader, Shares, joined, more_certain, shares_of_matches, smoothed
from leafgate_linking.record_matching import Matches, matches


@dataclass(frozen=True)
class Linked:
    """Everyone divided: each public row's group, and for each group its remainder of every tree.

    `numbers` has an array a tree, over the groups; `remainders` says what the numbers of each tree mean. `first` has
    the public cells of one person of each group.
    """

    release: Release
    known: AdversaryKnowledge
    groups: Ids
    numbers: Sequence[Ids]
    remainders: Sequence[Remainders]
    matches: Matches | None
    record_set: Ids
    class_value: Sequence[str | None]
    first: Table
    population: Ids | None = None

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self.class_value)

    def reached(self, group: int) -> list[list[Reached]]:
        """The leaves a group can reach, tree by tree."""
        return [left.leaves(int(of[group])) for left, of in zip(self.remainders, self.numbers, strict=True)]


def infer(release: Release, known: AdversaryKnowledge) -> list[Belief]:
    """One belief for each sensitive column; with none, one belief of groups only."""
    linked = link(release, known)
    people = np.bincount(linked.groups, weights=known.weight, minlength=linked.size).astype(np.float64)
    there = people[people > 0]
    evidence: dict[str, Any] = {"groups": len(there), "smallest_group": PeopleCount(int(there.min()))}
    if release.publish.leaves == "labels" and not release.predicts_numbers:
        evidence["labels"] = AuditorOnly(_labels(linked, people))
    secrets = [column for column in known.schema.secrets if column.countable]
    certainty = {name: _told(linked, name, people) for name in [None, *(s.name for s in secrets)]}
    about: list[tuple[str | None, pd.DataFrame | None]] = [
        (s.name, _chances(linked, s, certainty[s.name])) for s in secrets
    ]
    beliefs = [
        Belief(
            name,
            linked.groups,
            chances,
            evidence=evidence,
            explain=_explain(linked),
            population_groups=linked.population,
            certainty=certainty[name],
        )
        for name, chances in about or [(None, None)]
    ]
    return [mark_unmodelled_scores(belief, release) for belief in beliefs]


def _labels(linked: Linked, people: Shares) -> dict[str, PeopleCount]:
    """People by the label of every leaf they can reach; those who can reach several labels apart."""
    known: dict[str, int] = {}
    first, several = np.full(linked.size, -1), np.zeros(linked.size, dtype=bool)
    for left, of in zip(linked.remainders, linked.numbers, strict=True):
        numbers, which = np.unique(of, return_inverse=True)
        labels = [{str(each.leaf.label) for each in left.leaves(int(number))} for number in numbers]
        codes = np.array([known.setdefault(min(one), len(known)) if len(one) == 1 else -1 for one in labels])[which]
        several |= (codes == -1) | ((first != -1) & (codes != first))
        first = codes
    names = [*known, "several"]
    found: dict[str, int] = {}
    for code, count in zip(np.where(several, len(known), first).tolist(), people.tolist(), strict=True):
        found[names[code]] = found.get(names[code], 0) + int(count)
    return {label: PeopleCount(count) for label, count in sorted(found.items()) if count}


def link(release: Release, known: AdversaryKnowledge) -> Linked:
    """Divide the people by their remainders of every tree, their matching records, and a public class.

    People of a declared population are divided along with them.
    """
    public, mine, others = _everyone(known)
    schema = known.schema
    trees = [remainders(tree, public, schema) for tree in release.fitted_trees]
    keys = [ids for ids, _ in trees]
    found = None
    if release.records is not None:
        _refuse_noise(release, schema)
        found = matches(release.records, public, schema, release.noise)
        keys.append(found.which)
    target = schema.having("class")
    own_class = public.codes(target[0].name) if target and target[0].public and trees else None
    if own_class is not None:
        keys.append(own_class)
    groups, first = grouped(keys or [np.zeros(len(public), dtype=np.int64)])
    return Linked(
        release,
        known,
        groups[mine],
        numbers=[ids[first] for ids, _ in trees],
        remainders=[left for _, left in trees],
        matches=found,
        record_set=np.zeros(len(first), dtype=np.int64) if found is None else found.which[first],
        class_value=[None if own_class is None else schema.classes[own_class[row]] for row in first],
        first=Table(public.schema, public.frame.iloc[first].reset_index(drop=True), np.ones(len(first), np.int64)),
        population=None if known.population is None else groups[others],
    )


def _refuse_noise(release: Release, schema: Schema) -> None:
    """Whose record a noisy public cell could be is a matter of chance, which this attack does not weigh."""
    columns = () if release.records is None else release.records.columns
    noisy = [name for name in columns if name in release.noise and schema[name].public]
    if noisy:
        raise InconclusiveError(
            f"cannot tell whose records are whose by the noisy column {noisy[0]!r}",
            remedy="ignore the column, or use attacks that take every record's owner for known",
        )


def _everyone(known: AdversaryKnowledge) -> tuple[Table, Ids, Ids]:
    """The public records of the table and of the population together, and where the rows of each went."""
    mine = np.arange(len(known.public))
    if known.population is None:
        return known.public, mine, mine[:0]
    schema = known.public.schema
    frame = pd.concat([known.public.frame, known.population.frame], ignore_index=True)
    first, where = distinct_rows(frame, schema)
    together = Table(schema, frame.iloc[first].reset_index(drop=True), np.ones(len(first), dtype=np.int64))
    return together, where[: len(mine)], where[len(mine) :]


def _chances(linked: Linked, secret: Column, certainty: Certainty) -> pd.DataFrame:
    """The belief about a secret, a row for each public record: all sources together, the prior where none speaks."""
    granted = linked.known.distribution.get(secret.name)
    domain = list(secret.domain)
    prior = np.full(len(domain), 1 / len(domain)) if granted is None else np.array([granted[str(v)] for v in domain])
    exact = linked.release.count_semantics == "exact"
    sources = [_by_records(linked, secret, prior)]
    if certainty != "shares":  # records that are the composition of each group leave nothing to add
        reader = LeafReader(linked.release, secret, prior, linked.known.label_accuracies)
        votes = replace(reader, release=replace(linked.release, combine="vote"))
        predictions = [reader, replace(votes, label_accuracies=linked.known.vote_accuracies)]
        labels = [_by_ensemble(linked, each) for each in predictions]
        sources += [_by_trees(linked, reader), *(each for each in labels if each is not None)]
    believed = more_certain(sources, exact=exact)
    believed = np.where(np.isnan(believed).any(axis=1, keepdims=True), prior, believed)
    return pd.DataFrame(believed[linked.groups], columns=pd.Index(domain))


def _by_records(linked: Linked, secret: Column, prior: Shares) -> Shares:
    """What the records say of each group, a row for each; NaN for those who match none, or where it is not shown."""
    silent = np.full((linked.size, len(prior)), np.nan)
    if linked.matches is None or linked.release.records is None or secret.name in linked.release.noise:
        return silent
    found = shares_of_matches(linked.release.records, secret, linked.matches, prior)
    if found is None:
        return silent
    shares, people = found
    if linked.release.approximate:
        shares = np.stack([smoothed(row, n) for row, n in zip(shares, people.tolist(), strict=True)])
    shares, people = shares[linked.record_set], people[linked.record_set]
    return np.where((people == 0)[:, None], silent, shares)


def _by_trees(linked: Linked, reader: LeafReader) -> Shares:
    """What the trees say of each group, joined, a row for each; what the same leaves say is worked out once."""
    silent = np.full(len(reader.prior), np.nan)
    if not linked.remainders:
        return np.tile(silent, (linked.size, 1))
    classes = list(dict.fromkeys(linked.class_value))
    own = np.array([classes.index(value) for value in linked.class_value]) if len(classes) > 1 else 0
    beliefs = []
    for left, of in zip(linked.remainders, linked.numbers, strict=True):
        keys, which = np.unique(of * len(classes) + own, return_inverse=True)
        places = [divmod(int(key), len(classes)) for key in keys]
        rows = [reader.belief(left.leaves(n), classes[c], left.ends_nowhere(n)) for n, c in places]
        beliefs.append((np.array([silent if row is None else row for row in rows]), which))
    return joined(beliefs, exact=linked.release.count_semantics == "exact")


def _by_ensemble(linked: Linked, reader: LeafReader) -> Shares | None:
    """What the predicted class of several trees together says, a row for each group; None where it adds nothing.

    Whom the trees ask about unknown columns can have several predictions: theirs is the mean of what the labels say
    that they can reach.
    """
    release = reader.release
    if reader.secret.name != release.target or reader.label_accuracies is None or len(release.fitted_trees) == 1:
        return None
    silent = np.full(len(reader.prior), np.nan)
    found = [reader.label_row(label) for label in release.classes]
    rows = np.array([silent if row is None else row for row in found])
    if all(linked.known.schema[name].public for tree in release.trees for name in columns_asked(tree)):
        return np.vstack([rows, silent])[predicted_classes(release, linked.first)]
    weight = np.zeros((linked.size, len(rows)))
    for left, of in zip(linked.remainders[: len(release.trees)], linked.numbers, strict=False):
        numbers, which = np.unique(of, return_inverse=True)
        weight += np.array([_label_weights(left.leaves(int(n)), release.classes) for n in numbers])[which]
    known = ~np.isnan(rows).any(axis=1)
    weight = np.where(known, weight, 0)
    total = weight.sum(axis=1, keepdims=True)
    mixed = weight @ np.where(known[:, None], rows, 0)
    return np.asarray(np.divide(mixed, total, where=total > 0, out=np.full_like(mixed, np.nan)))


def _label_weights(reached: Sequence[Reached], classes: Sequence[str]) -> list[float]:
    """The part of the leaves that have each label."""
    return [sum(each.leaf.label == label for each in reached) / max(len(reached), 1) for label in classes]


def _told(linked: Linked, secret: str | None, people: Shares) -> Certainty:
    """What of a belief follows from numbers that count people exactly: nothing where somebody may be in no leaf."""
    release = linked.release
    if release.count_semantics != "exact" or release.noise or any(left.may_end_nowhere for left in linked.remainders):
        return "guess"
    if secret is not None and _own_records(linked, secret, people):
        return "shares"
    reads_labels = secret is not None and (secret == release.target or linked.class_value[0] is not None)
    return "guess" if reads_labels and linked.known.label_accuracies is not None else "certain"


def _own_records(linked: Linked, secret: str, people: Shares) -> bool:
    """Has each group records of its own, as many as its people, that show the secret as it is?"""
    records, found = linked.release.records, linked.matches
    if records is None or found is None or not linked.release.shows_exactly(secret):
        return False
    weight = np.array(records.weight, dtype=np.float64)
    sets = np.repeat(np.arange(len(found.start) - 1), np.diff(found.start))
    theirs = np.bincount(sets, weights=weight[found.records], minlength=len(found.start) - 1)[linked.record_set]
    apart = len(np.unique(found.records)) == len(found.records) and len(np.unique(linked.record_set)) == linked.size
    return bool(apart and (theirs == people).all())


def _explain(linked: Linked) -> Callable[[int], str]:
    def explain(group: int) -> str:
        items = [group_words(leaves, linked.known.schema) for leaves in linked.reached(group)]
        if linked.matches is not None and linked.release.records is not None:
            mine = linked.matches.set_of(int(linked.record_set[group]))
            items.append(record_words(linked.release.records, mine, linked.known.schema))
        return "; ".join(items)

    return explain
