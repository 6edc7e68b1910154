"""The linking attack: from a release and the public columns to one belief for each secret, with each group in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from leafgate import api
from leafgate.algorithms.derivable import mark_unmodelled_scores
from leafgate.algorithms.equivalence import CompactNumbers, Reached, ResidualTrees, distinct_ids, group_by_keys
from leafgate.algorithms.feasible import conditions, conditions_in_words, intersect_paths
from leafgate.algorithms.prediction import classes_at_leaves
from leafgate.kernel.belief import Certainty
from leafgate.kernel.table import distinct_rows
from leafgate_plugins.linking.posterior import LeafReader, combine_trees, more_certain, shares_of_matches, smooth
from leafgate_plugins.linking.record_matching import Matches, matches

MAX_LEAVES = 4
"""Leaves of a group that its description lists."""


def group_words(reached: Sequence[Reached], schema: api.Schema) -> str:
    """The public conditions the group's people meet, then each leaf under its private ones."""
    if not reached:
        return "no leaf"
    public = intersect_paths((each.possible for each in reached), lambda name: schema[name].public)
    shared = " and ".join(conditions(public, schema)) or "everyone"
    if len(reached) == 1:
        return f"{shared} -> {reached[0].leaf.words}"
    items = []
    for each in reached[:MAX_LEAVES]:
        private = {name: rest for name, rest in each.possible.items() if not schema[name].public}
        items.append(f"({' and '.join(conditions(private, schema))}: {each.leaf.words})")
    more = f" or {len(reached) - MAX_LEAVES} more" if len(reached) > MAX_LEAVES else ""
    return f"{shared} -> {' or '.join(items)}{more}"


def record_words(records: api.Records, rows: api.Ids, schema: api.Schema) -> str:
    """The public cells of the first matching record, and how many records match."""
    if not len(rows):
        return "no record"
    cells = zip(records.columns, records.rows[int(rows[0])], strict=True)
    text = " and ".join(_cell(schema[name], cell) for name, cell in cells if schema[name].public)
    return ("1 record: " if len(rows) == 1 else f"{len(rows)} records, such as ") + (text or "anything")


def _cell(column: api.Column, cell: Any) -> str:
    """One published cell: a value, several, a range, or nothing."""
    if not isinstance(cell, dict):
        return f"{column.name} = {'missing' if cell is None else f'{cell:g}' if column.numeric else cell}"
    if "from" in cell:
        return f"{cell['from']:g} <= {column.name} <= {cell['to']:g}"
    if "in" in cell:
        return f"{column.name} in {{{', '.join('missing' if v is None else str(v) for v in cell['in'])}}}"
    return f"{column.name} withheld"


@dataclass(frozen=True)
class Linked:
    """Everyone's equivalence class, and for each class (group) its residual tree of every tree.

    `residual_of` has for each tree the number of each public record's residual tree, `residuals` the residual trees
    that these numbers stand for. `first_record` is the position of one record of each group.
    """

    release: api.Release
    known: api.AdversaryKnowledge
    groups: api.Ids
    residual_of: Sequence[CompactNumbers]
    residuals: Sequence[ResidualTrees]
    first_record: api.Ids
    matches: Matches | None
    record_set: api.Ids
    class_value: Sequence[str | None]
    population: api.Ids | None = None

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self.class_value)

    @property
    def numbers(self) -> Iterator[api.Ids]:
        """For each tree in turn the numbers of the groups' residual trees."""
        return (compact.of(self.first_record) for compact in self.residual_of)

    def reached(self, group: int) -> list[list[Reached]]:
        """The leaves a group can reach, tree by tree."""
        record = self.first_record[group : group + 1]
        numbers = (int(compact.of(record)[0]) for compact in self.residual_of)
        return [residual.leaves(number) for residual, number in zip(self.residuals, numbers, strict=True)]

    def conditions(self, group: int) -> list[str]:
        """What the public cells of a group's people have in common, by all trees, in words."""
        schema = self.known.schema
        paths = (each.possible for leaves in self.reached(group) for each in leaves)
        public = intersect_paths(paths, lambda name: schema[name].public)
        return conditions_in_words(public, schema, self.whole)

    @cached_property
    def whole(self) -> frozenset[str]:
        """The public columns that hold whole numbers alone."""
        numbers = self.known.records[[column.name for column in self.known.schema.public if column.numeric]]
        return frozenset(str(name) for name, cells in numbers.items() if (cells.dropna() % 1 == 0).all())


def infer(release: api.Release, known: api.AdversaryKnowledge) -> list[api.SecretBelief] | list[api.GroupBelief]:
    """One belief for each sensitive column; with none, one belief of groups only."""
    linked = link(release, known)
    people = np.bincount(linked.groups, weights=known.weight, minlength=linked.size).astype(np.float64)
    there = _people_by(known, linked.groups, linked.size)[people > 0]
    evidence: dict[str, Any] = {"groups": len(there), "smallest_group": api.PeopleCount(int(there.min()))}
    if release.publish.leaves == "labels" and not release.predicts_numbers:
        evidence["labels"] = api.AuditorOnly(_labels(linked))
    secrets = [column for column in known.schema.secrets if column.countable]
    said: Any = {"explain": _explain(linked), "conditions": linked.conditions, "population_groups": linked.population}
    if not secrets:
        return [api.GroupBelief(linked.groups, evidence=evidence, **said)]
    certainties = {secret.name: _certainty(linked, secret.name, people) for secret in secrets}
    beliefs = [
        api.SecretBelief(
            secret.name,
            _posterior(linked, secret, certainties[secret.name]),
            equivalence_class=linked.groups,
            evidence=evidence,
            certainty=certainties[secret.name],
            **said,
        )
        for secret in secrets
    ]
    return [mark_unmodelled_scores(belief, release) for belief in beliefs]


def _labels(linked: Linked) -> dict[str, api.PeopleCount]:
    """People by the label of every leaf they can reach; people who can reach several labels count as `several`."""
    known: dict[str, int] = {}
    first, several = np.full(linked.size, -1), np.zeros(linked.size, dtype=bool)
    for residual, of in zip(linked.residuals, linked.numbers, strict=True):
        numbers, which = distinct_ids(of)
        label_sets = [{str(label) for label in residual.labels(number)} for number in numbers.tolist()]
        codes = np.array(
            [known.setdefault(min(labels), len(known)) if len(labels) == 1 else -1 for labels in label_sets]
        )[which]
        several |= (codes == -1) | ((first != -1) & (codes != first))
        first = codes
    names = [*known, "several"]
    label_of = np.where(several, len(known), first)[linked.groups]
    people = _people_by(linked.known, label_of, len(names)).tolist()
    return {label: api.PeopleCount(int(count)) for label, count in sorted(zip(names, people, strict=True)) if count}


def _people_by(known: api.AdversaryKnowledge, group: api.Ids, size: int) -> api.Floats | api.Ids:
    """How many people the adversary knows in each group; where a person has several rows, different persons."""
    if known.public.person_rows is None:
        return np.bincount(group, weights=known.weight, minlength=size)
    return known.public.people_by(group, size)


def link(release: api.Release, known: api.AdversaryKnowledge) -> Linked:
    """Group the people by their residual trees of every tree, their matching records, and a public class.

    People of a declared population are grouped along with them.
    """
    public, rows, population_rows = _everyone(known)
    schema = known.schema
    residuals = [ResidualTrees(tree, public, schema) for tree in release.fitted_trees]
    residual_of = [residual.compact_numbers() for residual in residuals]
    keys = [compact.ids for compact in residual_of]
    matched = None
    if release.records is not None:
        _refuse_noise(release, schema)
        matched = matches(release.records, public, schema, release.noise)
        keys.append(matched.which)
    target = schema.having("class")
    own_class = public.codes(target[0].name) if target and target[0].public and residuals else None
    if own_class is not None:
        keys.append(own_class)
    groups, first = group_by_keys(keys or [np.zeros(len(public), dtype=np.int64)])
    return Linked(
        release,
        known,
        groups[rows],
        residual_of=residual_of,
        residuals=residuals,
        first_record=first,
        matches=matched,
        record_set=np.zeros(len(first), dtype=np.int64) if matched is None else matched.which[first],
        class_value=[None if own_class is None else schema.classes[own_class[row]] for row in first],
        population=None if known.population is None else groups[population_rows],
    )


def _refuse_noise(release: api.Release, schema: api.Schema) -> None:
    """Refuse noisy public cells: which records match them has a probability that this attack does not compute."""
    columns = () if release.records is None else release.records.columns
    noisy = [name for name in columns if name in release.noise and schema[name].public]
    if noisy:
        raise api.InconclusiveError(
            f"cannot match people with records by the noisy column {noisy[0]!r}",
            remedy="ignore the column, or use attacks that assume every record's owner is known",
        )


def _everyone(known: api.AdversaryKnowledge) -> tuple[api.Table, api.Ids, api.Ids]:
    """The distinct public records of table and population together, and the position of each one's rows in them."""
    rows = np.arange(len(known.public))
    if known.population is None:
        return known.public, rows, rows[:0]
    schema = known.public.schema
    frame = pd.concat([known.public.frame, known.population.frame], ignore_index=True)
    first, where = distinct_rows(frame, schema)
    together = api.Table(schema, frame.iloc[first].reset_index(drop=True), np.ones(len(first), dtype=np.int64))
    return together, where[: len(rows)], where[len(rows) :]


def _posterior(linked: Linked, secret: api.Column, certainty: Certainty) -> pd.DataFrame:
    """The posterior of a secret, a row for each public record: all sources combined, the prior where none has any."""
    granted = linked.known.distribution.get(secret.name)
    domain = list(secret.domain)
    prior = np.full(len(domain), 1 / len(domain)) if granted is None else np.array([granted[str(v)] for v in domain])
    exact = linked.release.count_semantics == "exact"
    sources = [_by_records(linked, secret, prior)]
    if certainty != "shares":  # records that show each group's composition need no addition
        reader = LeafReader(linked.release, secret, prior, linked.known.label_accuracies)
        votes = replace(reader, release=replace(linked.release, combine="vote"))
        predictions = [reader, replace(votes, label_accuracies=linked.known.vote_accuracies)]
        labels = [_by_ensemble(linked, each) for each in predictions]
        sources += [_by_trees(linked, reader), *(each for each in labels if each is not None)]
    posterior = more_certain(sources, exact=exact)
    posterior = np.where(np.isnan(posterior).any(axis=1, keepdims=True), prior, posterior)
    return pd.DataFrame(posterior[linked.groups], columns=pd.Index(domain))


def _by_records(linked: Linked, secret: api.Column, prior: api.Floats) -> api.Floats:
    """The posterior of each group by its records; NaN if it matches none, or they do not show the secret."""
    silent = np.full((linked.size, len(prior)), np.nan)
    if linked.matches is None or linked.release.records is None or secret.name in linked.release.noise:
        return silent
    found = shares_of_matches(linked.release.records, secret, linked.matches, prior)
    if found is None:
        return silent
    shares, people = found
    if linked.release.approximate:
        shares = np.stack([smooth(row, n) for row, n in zip(shares, people.tolist(), strict=True)])
    shares, people = shares[linked.record_set], people[linked.record_set]
    return np.where((people == 0)[:, None], silent, shares)


def _by_trees(linked: Linked, reader: LeafReader) -> api.Floats:
    """The posterior of each group by all trees, computed once for groups with the same residual tree."""
    silent = np.full(len(reader.prior), np.nan)
    if not linked.residuals:
        return np.tile(silent, (linked.size, 1))
    classes = list(dict.fromkeys(linked.class_value))
    own = np.array([classes.index(value) for value in linked.class_value]) if len(classes) > 1 else 0

    def beliefs() -> Iterator[tuple[api.Floats, api.Ids]]:
        for residual, of in zip(linked.residuals, linked.numbers, strict=True):
            keys, which = distinct_ids(of * len(classes) + own)
            numbers, own_class = np.divmod(keys, len(classes))
            rows = reader.beliefs_at_leaves(residual, numbers)
            for i in np.flatnonzero(np.isnan(rows).any(axis=1)).tolist():
                number = int(numbers[i])
                row = reader.belief(residual.leaves(number), classes[own_class[i]], residual.ends_nowhere(number))
                rows[i] = silent if row is None else row
            yield rows, which

    return combine_trees(beliefs(), exact=linked.release.count_semantics == "exact")


def _by_ensemble(linked: Linked, reader: LeafReader) -> api.Floats | None:
    """The posterior of each group by the class that several trees together predict; None where it adds nothing.

    People can have several predictions if the trees test columns that the adversary does not know: their posterior is
    the mean of those by the labels that they can reach.
    """
    release = reader.release
    if reader.secret.name != release.target or reader.label_accuracies is None or len(release.fitted_trees) == 1:
        return None
    silent = np.full(len(reader.prior), np.nan)
    label_rows = [reader.label_row(label) for label in release.classes]
    rows = np.array([silent if row is None else row for row in label_rows])
    if all(linked.known.schema[name].public for tree in release.trees for name in api.columns_asked(tree)):
        own = linked.residuals[: len(release.trees)]
        leaves = lambda: (residual.single_leaves(of) for residual, of in zip(own, linked.numbers, strict=False))  # noqa: E731
        return np.vstack([rows, silent])[classes_at_leaves(release, leaves, linked.size)]
    weight = np.zeros((linked.size, len(rows)))
    for residual, of in zip(linked.residuals[: len(release.trees)], linked.numbers, strict=False):
        numbers, which = distinct_ids(of)
        weight += np.array([_label_weights(residual.labels(n), release.classes) for n in numbers.tolist()])[which]
    known = ~np.isnan(rows).any(axis=1)
    weight = np.where(known, weight, 0)
    total = weight.sum(axis=1, keepdims=True)
    mixed = weight @ np.where(known[:, None], rows, 0)
    return np.asarray(np.divide(mixed, total, where=total > 0, out=np.full_like(mixed, np.nan)))


def _label_weights(labels: Sequence[str | None], classes: Sequence[str]) -> list[float]:
    """The share of the leaves that have each label."""
    return [sum(each == label for each in labels) / max(len(labels), 1) for label in classes]


def _certainty(linked: Linked, secret: str, people: api.Floats) -> Certainty:
    """What of a belief follows from exact counts of people: nothing if somebody may reach no leaf."""
    release = linked.release
    if (
        release.count_semantics != "exact"
        or release.noise
        or any(residual.may_end_nowhere for residual in linked.residuals)
    ):
        return "guess"
    if _own_records(linked, secret, people):
        return "shares"
    reads_labels = secret == release.target or linked.class_value[0] is not None
    return "guess" if reads_labels and linked.known.label_accuracies is not None else "certain"


def _own_records(linked: Linked, secret: str, people: api.Floats) -> bool:
    """Does each group match records of its own, as many as its people, that show the secret exactly?"""
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
