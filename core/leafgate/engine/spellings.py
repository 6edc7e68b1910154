"""Values of a secret or a class that may be one value in several spellings: findings, and limits with them merged.

Half of the ill, spelled otherwise than the other half, make a street in which everybody is ill look mixed. So where
nobody says what such values mean, no audit passes, and each limit is judged a second time with them merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leafgate.api.registry import Plugins
from leafgate.engine.build import with_policy_columns
from leafgate.engine.checks import at_builder
from leafgate.engine.knowledge import Adversaries
from leafgate.engine.rejudging import Judge, judge_again, what_follows
from leafgate.errors import InconclusiveError
from leafgate.kernel.arrays import Floats, Ids
from leafgate.kernel.evidence import AuditorOnly
from leafgate.kernel.findings import SPELLING, Finding, Remedy
from leafgate.kernel.leaf import LeafStatistics, Numbers, Statistic
from leafgate.kernel.release import Records, Release
from leafgate.kernel.schema import Column
from leafgate.kernel.spelling import loose_form, same_form, similar_form
from leafgate.kernel.table import Table
from leafgate.kernel.tree import Fan, Node, TreeArrays, tree_arrays

SAME = (
    "some of its values differ only in blanks, invisible characters, quotes, dashes or marks at the end: they are one "
    "value, and were audited as several"
)
SIMILAR = (
    "some of its values differ only in case, in compatibility characters or in how a number is written: they may be "
    "one value, and were audited as several"
)
LOOSE = (
    "some of its values differ only in accents, blanks, punctuation or letters that look alike: they may be one value, "
    "and were audited as several"
)
MERGED = "it does not hold where values of {} that are spelled alike are taken for one value"
ONE = "they are one value"
HOLDS = f"if {ONE}, every limit that holds now holds then"

ONE_VALUE = "If they are one value, say so: `aliases` of the column lead each spelling to the value it means."
DIFFERENT = "If they are different things, list them: `distinct` of the column, such as `[[AA, Aa]]`."

SETTLE = Remedy(action="advise", text="First say what the values that are spelled alike mean, as `spelling` asks.")

Merged = Mapping[str, Mapping[str, str]]
"""By the names of columns the value that each of several spellings is merged into, itself among them."""


@dataclass(frozen=True)
class Spellings:
    """Values of one column of which nobody says whether they are one value.

    Attributes:
        column: the secret or the class.
        same: those with the same form, the values of each form together.
        similar: those with a similar form, where these are more.
        loose: those with a loose form, where these are more: they matter where limits break if they are one value.
    """

    column: Column
    same: tuple[tuple[str, ...], ...]
    similar: tuple[tuple[str, ...], ...]
    loose: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, column: Column) -> Spellings:
        """The values of a column that nobody calls distinct."""
        same, similar, loose = map(column.spelled_alike, (same_form, similar_form, loose_form))
        more = tuple(each for each in similar if each not in same)
        return cls(column, same, more, tuple(each for each in loose if each not in (*same, *similar)))

    @property
    def alike(self) -> tuple[tuple[str, ...], ...]:
        """All of them."""
        return (*self.same, *self.similar, *self.loose)

    @property
    def problem(self) -> str:
        """What is doubtful about them."""
        return SAME if self.same else SIMILAR if self.similar else LOOSE


@dataclass(frozen=True)
class SpellingAudit:
    """The findings about values that may be one value, and the limits where they are merged.

    Attributes:
        adversaries: those of the audit as the values are spelled.
        columns: the secrets and the class with such values.
        plugins: those that the policy trusts.
    """

    adversaries: Adversaries
    columns: Sequence[Column]
    plugins: Plugins

    def completed(self, findings: Sequence[Finding], judge: Judge) -> list[Finding]:
        """The findings, and one about each column; a limit that is broken where the same values are merged is broken.

        What merging similar values would give is stated, and not judged. Values with no more than a loose form are a
        finding only where a limit does not hold then.

        Args:
            findings: of the audit as the values are spelled.
            judge: returns the findings about merged values.
        """
        doubts = [Spellings.of(column) for column in self.columns]
        judged, unjudged = self._judged(merged_spellings(doubts, with_similar=False), judge)
        shown, unshown = self._judged(merged_spellings(doubts, with_similar=True), judge)
        names = ", ".join(repr(each.column.name) for each in doubts if each.same)
        found = [_compared(each, judged.get(each.id), names) for each in findings]
        outcome = what_follows(findings, shown or judged, unshown or unjudged, ONE)
        if not outcome:
            doubts = [each for each in doubts if each.same or each.similar]
        return [*at_builder(self.adversaries.policy, self._findings(doubts, outcome or HOLDS)), *found]

    def _findings(self, doubts: Sequence[Spellings], outcome: str) -> Iterator[Finding]:
        for each in doubts:
            name = each.column.name
            place = f"data.columns.{name}"
            yield Finding(
                f"{SPELLING}#{name}",
                SPELLING,
                passed=None,
                secret=name,
                evidence={
                    "problem": each.problem,
                    "reason": outcome,
                    "values": AuditorOnly([list(values) for values in each.alike]),
                },
                plugin=self.plugins.origin(self.adversaries.policy.build),
                plain_failure="people with one value of a secret were taken for people with several",
                remedies=(
                    Remedy(action="set", text=ONE_VALUE, place=f"{place}.aliases"),
                    Remedy(action="set", text=DIFFERENT, place=f"{place}.distinct"),
                ),
            )

    def _judged(self, merged: Merged, judge: Judge) -> tuple[dict[str, Finding], str]:
        """The findings on merged values by their ids, and why there are none where that is so."""
        if not merged:
            return {}, ""
        if self.adversaries.artifact.release.claims_differential_privacy:
            return {}, "the release claims differential privacy, of the values as they are spelled"
        return judge_again(lambda: with_merged_values(self.adversaries, merged), judge)


def with_merged_values(adversaries: Adversaries, merged: Merged) -> Adversaries:
    """The adversaries of the same people and the same release, who take these values for one."""
    policy, tables, artifact = adversaries.policy, adversaries.tables, adversaries.artifact
    table, row = adversaries.table.with_merged_values(merged)
    origins = None if artifact.origins is None else tuple(row[list(artifact.origins)].tolist())
    # What a file counts at its inner nodes is of the classes as they are spelled.
    provenance = replace(artifact.provenance, node_numbers=None, training_rows=None, mapped_classes={})
    release = merged_release(artifact.release, merged)
    return adversaries.of_others(
        tables.changed(table, lambda each: _merged_table(each, merged)),
        replace(artifact, release=release, origins=origins, provenance=provenance),
        policy.model_copy(update={"metrics": _on_merged(policy.metrics, merged)}),
    )


def merged_spellings(doubts: Sequence[Spellings], *, with_similar: bool) -> Merged:
    """What each value is merged into: the first with its form; empty where there is nothing more than the same."""
    if with_similar and not any(each.similar or each.loose for each in doubts):
        return {}
    found: dict[str, dict[str, str]] = {}
    for each in doubts:
        for values in each.alike if with_similar else each.same:
            found.setdefault(each.column.name, {}).update(dict.fromkeys(values, values[0]))
    return found


def _compared(finding: Finding, merged: Finding | None, names: str) -> Finding:
    """The finding; where what an attack believes of people breaks the limit with merged values alone, as it is then."""
    if merged is None or not merged.fails or finding.passed is False or finding.attack is None:
        return finding
    reason = MERGED.format(names)
    # Figures are drawn of the records as they are spelled, and merged records have no scores of these.
    evidence = {**merged.evidence, "reason": reason}
    return replace(merged, where=finding.where, scored_people=None, evidence=evidence, remedies=(SETTLE,))


def _on_merged(metrics: Sequence[Any], merged: Merged) -> tuple[Any, ...]:
    """The metrics; those that judge some values alone judge what these are merged into."""
    into = {spelling: value for each in merged.values() for spelling, value in each.items()}

    def changed(metric: Any) -> Any:
        values = getattr(metric, "values", None)
        if not isinstance(values, tuple):
            return metric
        return metric.model_copy(update={"values": tuple(dict.fromkeys(into.get(each, each) for each in values))})

    return tuple(map(changed, metrics))


def _merged_table(table: Table, merged: Merged) -> Table:
    return table.with_merged_values({name: each for name, each in merged.items() if name in table.schema})[0]


def merged_release(release: Release, merged: Merged) -> Release:
    """The release as somebody reads it who takes several values of a column for one.

    Leaves count the people of each merged class together. What the release states of its making, and its claims, are
    about the values as they are spelled, and are left out.

    Raises:
        InconclusiveError: the model is no tree, so that its classes cannot be added up; or a tree tells merged values
            apart.
    """
    if release.bayes is not None:
        raise InconclusiveError("the classes of naive Bayes cannot be added up")
    schema = release.schema.with_merged_values(merged)
    of_class = merged.get(release.target, {}) if release.schema.having("class") else {}

    def changed(tree: Node) -> Node:
        return _merged_tree(tree_arrays(tree), merged, of_class).root

    level = release.publish.leaves
    leaves = "labels" if level == "error_rates" and of_class else level
    return with_policy_columns(
        replace(
            release,
            trees=tuple(map(changed, release.trees)),
            alternatives={name: changed(tree) for name, tree in release.alternatives.items()},
            records=None if release.records is None else _merged_records(release.records, merged),
            publish=release.publish.model_copy(update={"leaves": leaves, "measure": False}),
            selection=None,
            guarantee={},
            calibrated_sums=() if of_class else release.calibrated_sums,
        ),
        schema,
    )


def _merged_tree(tree: TreeArrays, merged: Merged, of_class: Mapping[str, str]) -> TreeArrays:
    fans = tuple(_merged_fan(fan, merged[fan.column]) if fan.column in merged else fan for fan in tree.fans)
    content = _merged_statistics(tree.statistics, of_class) if of_class else tree.content
    return replace(tree, fans=fans, content=content, _numbers={})


def _merged_fan(fan: Fan, merged: Mapping[str, str]) -> Fan:
    """A test of merged values, which must all go one way; InconclusiveError where they do not."""
    way = {value: i for i, values in enumerate(fan.branches) for value in values}
    if any(way.get(spelling) != way.get(value) for spelling, value in merged.items()):
        raise InconclusiveError(f"a tree tells values of {fan.column!r} apart that are spelled alike")
    branches = (tuple(dict.fromkeys(merged.get(v, v) if v is not None else v for v in each)) for each in fan.branches)
    return replace(fan, branches=tuple(branches))


def _merged_statistics(leaves: LeafStatistics, merged: Mapping[str, str]) -> LeafStatistics:
    """What leaves publish, with the numbers of merged classes added up; an error rate is of one class, and left out.

    The label of a leaf that publishes numbers of classes is the class with the largest. Scores do not add up: they are
    0, from which nothing follows, and limits are judged by who is in a group.
    """
    classes = tuple(dict.fromkeys(merged.get(name, name) for name in leaves.classes))
    sums = np.array([[merged.get(name, name) == each for each in classes] for name in leaves.classes], dtype=np.float64)
    numbers: dict[Statistic, Numbers] = {}
    for name, each in leaves.numbers.items():
        if name in ("counts", "shares"):
            numbers[name] = Numbers(each.values @ sums, each.whole is True)
        elif name == "scores":
            numbers[name] = Numbers(0 * (each.values @ sums), False)
        elif name != "error_rate":
            numbers[name] = each
    into = [merged.get(label, label) for label in leaves.labels]
    labels = tuple(dict.fromkeys([*into, *classes]))
    label = np.array([*map(labels.index, into), -1], dtype=np.int64)[leaves.label]
    for name in ("counts", "shares"):
        if name in numbers:
            label = _largest(label, numbers[name].values, np.array([labels.index(each) for each in classes]))
    return LeafStatistics(label, labels, classes, numbers)


def _largest(label: Ids, numbers: Floats, position: Ids) -> Ids:
    """The label of each leaf: the class with the largest number, of several the one that is the label."""
    labelled = np.flatnonzero((label >= 0) & (numbers.sum(axis=1) > 0))
    own = position[np.newaxis, :] == label[labelled, np.newaxis]
    changed = label.copy()
    changed[labelled] = position[np.lexsort((own, numbers[labelled]), axis=1)[:, -1]]
    return changed


def _merged_records(records: Records, merged: Merged) -> Records:
    """The records with merged cells; a set of values has each of them once."""
    into = [merged.get(name, {}) for name in records.columns]

    def cell(content: Any, values: Mapping[str, str]) -> Any:
        if isinstance(content, str):
            return values.get(content, content)
        if isinstance(content, dict) and "in" in content:
            return {"in": list(dict.fromkeys(values.get(each, each) for each in content["in"]))}
        return content

    rows = (tuple(map(cell, row, into)) for row in records.rows)
    return replace(records, rows=tuple(rows))
