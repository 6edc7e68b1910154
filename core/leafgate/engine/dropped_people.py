"""The people whom `on_missing: drop` left out: could a release that was read from a file be about them too?

No file says for certain who was in the training. So the people are sent down the trees as the file sends missing cells.
A leaf that they alone reach discloses something of nobody else, and the limits are judged a second time, with them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.consistency import inconsistent_leaves
from leafgate.algorithms.node_counts import counts_exactly
from leafgate.algorithms.routing import NOWHERE, branch_of_code, route
from leafgate.api.registry import Plugins
from leafgate.engine.build import build, with_policy_columns
from leafgate.engine.checks import at_builder
from leafgate.engine.knowledge import Adversaries
from leafgate.engine.rejudging import Judge
from leafgate.engine.remedies.static import KEEP
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.io.release_codec import SealedRelease
from leafgate.kernel.arrays import Ids
from leafgate.kernel.evidence import PeopleCount
from leafgate.kernel.findings import Finding, Remedy
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import Release
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import Table
from leafgate.kernel.tables import Tables
from leafgate.kernel.tree import CategoricalSplit, NumericSplit, iterate_nodes

MOST_COPIES = 200_000
"""So many records at most stand for people whose missing cells can go several ways: more take minutes and gigabytes."""

ALONE = (
    "a leaf that nobody of the table reaches, and people with missing cells do, whom `on_missing: drop` left out, may "
    "be about them: audit them too (`on_missing: keep`)"
)
BROKEN_WITH_THEM = (
    "the limit holds for the people of the table, but not with those whom `on_missing: drop` left out, and the file "
    "may have been learned from them too"
)
UNJUDGED_WITH_THEM = "whether the limit holds with the people whom `on_missing: drop` left out could not be judged: {}"
UNKNOWN_CELLS = (
    "the class or a secret of some of them is no value that the policy declares, or they do not fit into memory"
)

STATE = Remedy(
    action="set",
    text="If nobody with a missing cell was in the training, state it: `complete_rows: true` in `build.trained_by`.",
    place="build.trained_by.complete_rows",
    value=True,
)

EXPORT = Remedy(
    action="advise",
    text="If the model was fitted on them, save it in a format that states where missing cells go, and audit them too.",
)


@dataclass(frozen=True)
class DroppedPeople:
    """The people who were left out of a table for missing cells, and a release that may be about them.

    Attributes:
        adversaries: those of the table without them, with the release as it is audited.
        incomplete: those of them whose class and secrets are known.
        count: how many people were left out.
        plugins: those that the policy trusts.
    """

    adversaries: Adversaries
    incomplete: Table
    count: int
    plugins: Plugins

    def completed(self, findings: Sequence[Finding], judge: Judge) -> list[Finding]:
        """The findings, inconclusive where they may not hold with the people who were left out.

        A leaf that nobody else reaches is a finding of its own. Limits are judged with these people where everything
        else passes, unless the file's own numbers or its owner's statement say that they were not in the training.

        Args:
            findings: of the audit without them.
            judge: returns the findings about other people.
        """
        passing = all(finding.passed or finding.waiver is not None for finding in findings)
        try:
            everybody = self._everybody()
            if self._has_leaf_of_its_own(everybody):
                counted = any(finding.id == "counted" for finding in findings)
                return [*([] if counted else self._doubt(ALONE)), *findings]
            if not passing or self._were_not_in_training(everybody):
                return list(findings)
            if self.incomplete.people_among() < self.count:
                raise InconclusiveError(UNKNOWN_CELLS)
            judged = {finding.id: finding for finding in judge(everybody)}
        except LeafgateError as error:
            return [*(self._doubt(UNJUDGED_WITH_THEM.format(error)) if passing else []), *findings]
        return [self._compared(finding, judged.get(finding.id)) for finding in findings]

    def _everybody(self) -> Adversaries:
        """The adversaries of the table with these people, and the release that the file is for their columns."""
        own, artifact = self.adversaries, self.adversaries.artifact
        schema = _may_be_missing(self.incomplete.schema, own.table.schema, artifact.provenance.unspecified_missing)
        table = _joined(own.table, self.incomplete, schema)
        if self._is_of_others_model:
            artifact = self._rebuilt(table)
        else:
            artifact = replace(artifact, release=with_policy_columns(artifact.release, schema))
        incomplete = all_ways(_with_columns(self.incomplete, schema), artifact.release)
        table = _joined(own.table, incomplete, schema)
        of_run = own.tables
        tables = Tables(
            table,
            test=None if of_run.test is None else _with_columns(of_run.test, schema),
            control=_with_their_own(of_run.test if of_run.control is None else of_run.control, schema),
            population=_with_their_own(of_run.population, schema),
            known=None if of_run.known is None else _with_columns(of_run.known, schema),
            known_by_attack={name: _with_columns(each, schema) for name, each in of_run.known_by_attack.items()},
        )
        # What the file counts is not of these people.
        provenance = replace(artifact.provenance, node_numbers=None, training_rows=None)
        return own.of_others(tables, replace(artifact, provenance=provenance))

    def _rebuilt(self, table: Table) -> SealedRelease:
        """The file's model over the columns of this table; without missing cells it has no tests for them.

        Raises InconclusiveError where the file was changed meanwhile.
        """
        own = self.adversaries
        rebuilt = build(own.policy, self.plugins, table, own.tables.test)
        if rebuilt.provenance.audited_file != own.artifact.provenance.audited_file:
            raise InconclusiveError("the file was changed while it was audited", remedy="audit it again")
        unspecified = own.artifact.provenance.unspecified_missing
        return replace(rebuilt, provenance=replace(rebuilt.provenance, unspecified_missing=unspecified))

    def _has_leaf_of_its_own(self, everybody: Adversaries) -> bool:
        """Does a leaf that discloses something have people with missing cells, and nobody of the table?

        Each leaf of somebody else's model had somebody of its training. Release files of leafgate's own have leaves for
        values that nobody has: there people count only in leaves that their own cells lead to, and not where the owner
        states that they were not in the training.
        """
        table, release = everybody.table, everybody.artifact.release
        complete = len(self.adversaries.table)
        others = None
        if not self._is_of_others_model:
            if everybody.artifact.provenance.complete_rows:
                return False
            others = _with_columns(self.incomplete, table.schema)
        for tree in release.fitted_trees:
            routed = route(tree, table)
            reached = np.zeros((2, routed.n_leaves + 1), dtype=bool)
            reached[0, routed.leaf[:complete]] = True  # NOWHERE is the last
            reached[1, routed.leaf[complete:] if others is None else route(tree, others).leaf] = True
            alone = np.flatnonzero(reached[1, :NOWHERE] & ~reached[0, :NOWHERE])
            if any(_discloses(routed.leaves[i], release) for i in alone.tolist()):
                return True
        return False

    def _were_not_in_training(self, everybody: Adversaries) -> bool:
        """Does the file count the table's people and nobody else, or does its owner state so?

        The findings say where these numbers contradict the table.
        """
        artifact, table = self.adversaries.artifact, self.adversaries.table
        numbers = artifact.provenance.node_numbers
        if artifact.provenance.complete_rows:
            return True
        if numbers is not None and counts_exactly(numbers, table.total_weight):
            return True
        release = everybody.artifact.release
        if release.count_semantics != "exact" or artifact.provenance.unspecified_missing:
            return False
        return release.records is not None or inconsistent_leaves(release, everybody.table) > 0

    def _compared(self, finding: Finding, with_them: Finding | None) -> Finding:
        """The finding, inconclusive where it passes without these people and does not with them."""
        if not finding.passed or (with_them is not None and with_them.passed):
            return finding
        if with_them is None or with_them.passed is None:
            reason = "there is no belief to read" if with_them is None else with_them.evidence.get("problem", "")
            problem = UNJUDGED_WITH_THEM.format(reason)
        else:
            problem = BROKEN_WITH_THEM
        evidence = {**finding.evidence, "problem": problem, "dropped": PeopleCount(self.count)}
        return replace(finding, passed=None, evidence=evidence, remedies=self._remedies)

    def _doubt(self, problem: str) -> list[Finding]:
        doubt = Finding(
            "counted",
            "counted",
            None,
            evidence={"problem": problem, "dropped": PeopleCount(self.count)},
            plugin=self.plugins.origin(self.adversaries.policy.build),
            plain_failure="the release discloses more than the limits allow",
            remedies=self._remedies[:1] if problem == ALONE and self._is_of_others_model else self._remedies,
        )
        return at_builder(self.adversaries.policy, [doubt])

    @property
    def _is_of_others_model(self) -> bool:
        """Was the release made of the file of somebody else's model?"""
        return self.adversaries.artifact.release.file is not None

    @property
    def _remedies(self) -> tuple[Remedy, ...]:
        """What to do: audit these people too, if the model was fitted on them, or state that it was not."""
        return (EXPORT if self.adversaries.artifact.provenance.unspecified_missing else KEEP), STATE


def _discloses(leaf: Leaf, release: Release) -> bool:
    """Does a leaf have a label or a number, other than that it counts nobody?"""
    statistics = (leaf.label, leaf.counts, leaf.shares, leaf.error_rate, leaf.value, leaf.scores)
    return not release.is_empty(leaf) and any(each is not None for each in statistics)


def _may_be_missing(schema: Schema, complete: Schema, unspecified: frozenset[str]) -> Schema:
    """The columns whose cells may be missing, but those of which the file does not state where such cells go."""
    columns = (complete[column.name] if column.name in unspecified else column for column in schema.columns)
    return Schema(tuple(columns), dropped=schema.dropped)


def _with_columns(table: Table, schema: Schema) -> Table:
    """The same people, by those of these columns that they have."""
    columns = tuple(schema[column.name] for column in table.schema.columns)
    return replace(table, schema=Schema(columns, dropped=table.schema.dropped), incomplete=None, _codes={})


def _with_their_own(table: Table | None, schema: Schema) -> Table | None:
    """The table with the people whom it left out itself."""
    if table is None:
        return None
    return _with_columns(table, schema) if table.incomplete is None else _joined(table, table.incomplete, schema)


def _joined(table: Table, incomplete: Table, schema: Schema) -> Table:
    """The people of both tables: no record of one is in the other."""
    both = table, incomplete
    frame = pd.concat([each.frame for each in both], ignore_index=True)
    marks = {
        name: np.concatenate([each.protected.get(name, np.zeros(len(each), dtype=np.bool_)) for each in both])
        for name in table.protected
    }
    rows = [each.rows for each in both if each.rows is not None]
    persons = table.person_rows
    if persons is not None and incomplete.person_rows is not None:
        persons = persons.followed_by(incomplete.person_rows, len(table))
    joined = replace(
        table,
        frame=frame,
        weight=np.concatenate([each.weight for each in both]),
        rows=np.concatenate(rows) if len(rows) == len(both) else None,
        person_rows=persons,
        without_id=table.without_id + incomplete.without_id,
        protected=marks,
        dropped=0,
        _codes={},
    )
    return _with_columns(joined, schema)


def all_ways(people: Table, release: Release) -> Table:
    """The people, with every combination of cells in place of missing ones of which the trees leave open where they go.

    Args:
        people: records with missing cells. A test leaves open where a missing cell of its column goes if it states no
            way for it, or if the column is one whose cells cannot be missing.
        release: the trees.

    Returns:
        A table with one record for each combination of leaves that a person can reach: where there is one tree, each
        leaf has everybody who can reach it once. Ways that lead to no leaf of any tree are left out.

    Raises:
        InconclusiveError: there are more than MOST_COPIES such records before those that lead to the same leaves are
            joined.
    """
    tests = _tests_by_column(release)
    gaps_of = {name: people.frame[name].isna().to_numpy() for name in tests if name in people.schema}
    cells = {
        name: _ways(name, tests[name], people)
        for name, gaps in gaps_of.items()
        if gaps.any() and (not people.schema[name].missing or not all(map(_states_way, tests[name])))
    }
    if not cells:
        return people
    names = list(cells)
    patterns, which = np.unique(np.column_stack([gaps_of[name] for name in names]), axis=0, return_inverse=True)
    which = which.reshape(-1)
    sizes = [math.prod(len(cells[name]) for name in itertools.compress(names, pattern)) for pattern in patterns]
    if sum(size * int((which == i).sum()) for i, size in enumerate(sizes)) > MOST_COPIES:
        raise InconclusiveError("the file does not state where missing cells go, and they can go too many ways")
    parts, origins = [], []
    for i, pattern in enumerate(patterns):
        rows, asked = np.flatnonzero(which == i), list(itertools.compress(names, pattern))
        frame = people.frame.iloc[np.repeat(rows, sizes[i])].reset_index(drop=True)
        for name, each in zip(asked, np.meshgrid(*(cells[name] for name in asked), indexing="ij"), strict=True):
            frame[name] = _typed(np.tile(each.reshape(-1), len(rows)), people, name)
        parts.append(frame)
        origins.append(np.repeat(rows, sizes[i]))
    origin = np.concatenate(origins)
    copies = _rows_of(people, pd.concat(parts, ignore_index=True), origin)
    key, reached = origin, np.zeros(len(origin), dtype=np.bool_)
    for tree in release.fitted_trees:
        leaf = route(tree, copies).leaf
        reached |= leaf != NOWHERE
        key = np.unique(key * (int(leaf.max(initial=0)) + 2) + leaf + 1, return_inverse=True)[1].reshape(-1)
    first = np.sort(np.unique(key, return_index=True)[1])
    first = first[reached[first]]
    return _rows_of(people, copies.frame.iloc[first].reset_index(drop=True), origin[first])


def _tests_by_column(release: Release) -> dict[str, list[NumericSplit | CategoricalSplit]]:
    """Every test of the trees that people are sent down, by its column."""
    tests: dict[str, list[NumericSplit | CategoricalSplit]] = {}
    for node in iterate_nodes(*release.fitted_trees):
        if not isinstance(node, Leaf):
            tests.setdefault(node.column, []).append(node)
    return tests


def _states_way(test: NumericSplit | CategoricalSplit) -> bool:
    """Does a test state where a missing cell goes?"""
    if isinstance(test, NumericSplit):
        return test.missing is not None
    return test.default is not None or any(None in branch.values for branch in test.branches)


def _rows_of(people: Table, frame: pd.DataFrame, origin: Ids) -> Table:
    """A table of these cells, each row standing for as many people as the row of `people` that it comes from."""
    rows = None if people.rows is None else people.rows[origin]
    persons = None if people.person_rows is None else people.person_rows.taken(origin)
    marks = {name: marks[origin] for name, marks in people.protected.items()}
    weight = people.weight[origin]
    return replace(people, frame=frame, weight=weight, rows=rows, person_rows=persons, protected=marks, _codes={})


def _typed(cells: NDArray[Any], people: Table, name: str) -> pd.Series:
    """Numbers, or positions in the domain, as cells of a column."""
    values = people.schema[name].values
    if values is None:
        return pd.Series(cells)
    codes = np.where(cells < len(values), cells, -1).astype(np.int64)
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(values)))


def _ways(name: str, tests: Sequence[NumericSplit | CategoricalSplit], people: Table) -> NDArray[Any]:
    """Cells of a column of which each takes other ways at the tests, together all ways that there are.

    Returns:
        Numbers, or positions in the domain of the column. Where some tests state a way for a missing cell, and some do
        not, a missing cell is among them.
    """
    column = people.schema[name]
    stated = column.missing and any(map(_states_way, tests))
    if column.values is not None:
        codes = np.arange(len(column.values))
        fans = dict.fromkeys(test.fan for test in tests if not isinstance(test, NumericSplit))
        sides = [branch_of_code(fan, people)[codes] for fan in fans]
        return np.append(codes[_first_of_different(sides, len(codes))], [len(codes)] * stated)
    cuts = {(test.strict, test.float32, test.at) for test in tests if isinstance(test, NumericSplit)}
    at = np.array(sorted({cut[2] for cut in cuts}), dtype=np.float64)
    with np.errstate(over="ignore"):
        near = [
            np.nextafter(each, each.dtype.type(end))
            for each in (at, at.astype(np.float32))
            for end in (-np.inf, np.inf)
        ]
        numbers = np.unique(np.concatenate([at, *(each.astype(np.float64) for each in near)]))
        numbers = numbers[np.isfinite(numbers)]
        sides = []
        for strict, float32 in sorted({cut[:2] for cut in cuts}):
            edges = np.array(sorted(cut[2] for cut in cuts if cut[:2] == (strict, float32)))
            seen = numbers.astype(np.float32).astype(np.float64) if float32 else numbers
            sides.append(np.searchsorted(edges, seen, side="right" if strict else "left"))
    return np.append(numbers[_first_of_different(sides, len(numbers))], [np.nan] * stated)


def _first_of_different(sides: Sequence[Ids], size: int) -> Ids:
    """The positions of the first of all rows with equal sides."""
    together = np.column_stack([np.zeros(size, dtype=np.int64), *sides])
    return np.asarray(np.sort(np.unique(together, axis=0, return_index=True)[1]))
