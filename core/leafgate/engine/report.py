"""The report of an audit: its findings with remedies, the people who were left out, figures, and seconds a step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from leafgate.algorithms.equivalence import dependent_columns
from leafgate.api.registry import Plugins
from leafgate.engine.audit import Announce, AuditOutcome, apply_waivers, audit, audit_others
from leafgate.engine.checks import at_builder
from leafgate.engine.figures import affected, guesses, tree_view
from leafgate.engine.knowledge import ControlCheck
from leafgate.engine.remedies.static import from_error, with_static_remedies
from leafgate.engine.report_facts import files_of, report_of
from leafgate.errors import NoReleaseError
from leafgate.io.release_codec import SealedRelease
from leafgate.kernel.answers import unstated_answers
from leafgate.kernel.evidence import AuditorOnly, PeopleCount
from leafgate.kernel.findings import SPELLING, Finding, Report
from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.policy import Policy
from leafgate.kernel.table import Table
from leafgate.kernel.tables import Tables
from leafgate.progress import progress_step

if TYPE_CHECKING:
    from leafgate.engine.rejudging import Rejudging


@dataclass(frozen=True, repr=False)
class Audit:
    """A report, the release it is about (None if nothing could be built), and seconds a step.

    Its repr says the verdict alone: a notebook keeps it beside the page.
    """

    report: Report
    artifact: SealedRelease | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Audit(verdict={self.report.verdict!r})"


def audit_and_report(
    policy: Policy,
    plugins: Plugins,
    tables: Tables,
    *,
    today: date | None = None,
    announce: Announce = lambda line: None,
    search: Search | None = None,
) -> Audit:
    """Audit by a policy, and report it.

    Args:
        policy: what is audited by.
        plugins: those that the policy trusts.
        tables: the people, and the others whom the policy names.
        today: the day on which waivers are judged, the present day in UTC when left out; without waivers no clock is
            read.
        announce: is called with a line before an attack that forecasts how long it will take.
        search: where a limit fails, looks for remedies by further audits; not for a LargeTable.

    Raises:
        InvalidError: the policy or the data are wrong.
        InconclusiveError: the builder failed.
    """
    incomplete = tables.people.incomplete
    if incomplete is not None:
        tables = replace(tables, people=replace(tables.people, incomplete=None))
    auditing = Auditing(policy, plugins, tables, incomplete, today)
    audited = auditing.audited(policy, announce)
    artifact = audited.artifact
    unsettled = any(each.metric == SPELLING for each in audited.report.findings)  # no setting would pass
    wanted = audited.report.verdict == "fail" and not unsettled
    if search is None or not wanted or artifact is None or not len(tables.in_memory):
        return audited
    stopwatch = Stopwatch(dict(audited.seconds))
    with stopwatch("remedies"):
        report = search(auditing, audited.report, artifact)
    return replace(audited, report=report, seconds=stopwatch.seconds)


@dataclass(frozen=True)
class Stopwatch:
    """Seconds by the names of steps; each step is reported as progress, with its position among such steps."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, step: str, position: str = "") -> Iterator[None]:
        start = time.perf_counter()
        with progress_step(f"{step}{position}"):
            yield
        self.seconds[step] = time.perf_counter() - start


@dataclass(frozen=True)
class Auditing:
    """What all audits of one run share: that by the policy, and those of a search for remedies.

    Attributes:
        policy: of the run; those of a search differ from it by a setting.
        plugins: those that it trusts.
        tables: the people, and the others whom it names.
        incomplete: people who were left out of the table for missing cells.
        today: the day on which waivers are judged.
        check: whether the control are other people.
    """

    policy: Policy
    plugins: Plugins
    tables: Tables
    incomplete: Table | None
    today: date | None
    check: ControlCheck = field(default_factory=ControlCheck)

    @cached_property
    def identity(self) -> Mapping[str, str]:
        """The policy's name and digests.

        It is read after a build, because it reads the files that belong to the policy: one that cannot be read is then
        the builder's error. It is read before the attacks, so that nothing they find changes what they are judged by.
        """
        return self.policy.identity

    def audited(self, policy: Policy, announce: Announce = lambda line: None) -> Audit:
        """The audit without a search. What attacks believe is freed with its end: a search needs only what it returns.

        `policy` is that of the run, or differs from it by a setting.
        """
        stopwatch, plugins, data = Stopwatch(), self.plugins, self.tables.people
        files = files_of(policy, self.tables)
        try:
            outcome = audit(
                policy,
                plugins,
                self.tables,
                check=self.check,
                today=self.today,
                step=stopwatch,
                announce=announce,
                before_attacks=lambda: self.identity,
            )
        except NoReleaseError as error:
            refused = at_builder(policy, [_no_release(policy, plugins, error)])
            refused = with_static_remedies(refused, policy, plugins, None)
            _, waivers = apply_waivers(policy, None, [], refused, lambda waiver: False, self.today)
            return Audit(report_of(policy, self.identity, plugins, data, files, None, refused, waivers))
        artifact = outcome.adversaries.artifact
        judged = outcome.findings
        for name, rejudging in self._rejudged(outcome):
            with stopwatch(name):
                judged = rejudging.completed(judged, partial(audit_others, plugins=plugins, today=self.today))
        findings = with_static_remedies(judged, policy, plugins, artifact.release)
        with stopwatch("draw"):
            tree, accuracies = tree_view(outcome.state, findings, artifact.starting_trees), guesses(outcome.state)
        report = report_of(policy, self.identity, plugins, data, files, artifact, findings, outcome.waivers)
        people = affected(outcome.state, findings)
        report = replace(report, tree=tree, guesses=accuracies, affected=people)
        return Audit(report, artifact, stopwatch.seconds)

    def _rejudged(self, outcome: AuditOutcome) -> Iterator[tuple[str, Rejudging]]:
        """What judges the limits again as if the people were others than the table states, by the names of steps."""
        adversaries, plugins = outcome.adversaries, self.plugins
        artifact, table = adversaries.artifact, adversaries.table
        read_from_file = not artifact.built and not artifact.release.claims_differential_privacy
        if self.incomplete is not None and read_from_file:
            from leafgate.engine.dropped_people import DroppedPeople

            yield "people left out", DroppedPeople(adversaries, self.incomplete, self.tables.people.dropped, plugins)
        if table.suspected:
            from leafgate.engine.person_columns import PersonColumnAudit

            yield "persons", PersonColumnAudit(adversaries, plugins)
        if spelled := [column for column in table.schema.columns if column.asks_for_spellings]:
            from leafgate.engine.spellings import SpellingAudit

            yield "spellings", SpellingAudit(adversaries, spelled, plugins)
        if unanswered := {each.name: found for each in table.schema.secrets if (found := unstated_answers(each))}:
            from leafgate.engine.column_meanings import AnswerAudit

            yield "answers", AnswerAudit(adversaries, unanswered, plugins)
        people = self.tables.people  # of which the table has representatives where they are read in blocks
        some = next(people.tables(), table) if isinstance(people, LargeTable) else table
        if determined := list(dependent_columns(some)):
            from leafgate.engine.column_meanings import DependencyAudit

            yield "dependencies", DependencyAudit(adversaries, determined, plugins)


Search = Callable[[Auditing, Report, SealedRelease], Report]
"""Puts remedies that it found into the report of a failing audit."""


def _no_release(policy: Policy, plugins: Plugins, error: NoReleaseError) -> Finding:
    """The finding where the builder cannot make a release."""
    evidence: dict[str, Any] = {"reason": error.problems[0].message, "remedy": error.problems[0].hint}
    if error.people is not None:
        evidence["people"] = PeopleCount(error.people)
    if error.details:
        evidence["reason_in_full"] = AuditorOnly(error.details)
    return Finding(
        "build",
        "build",
        passed=False,
        evidence=evidence,
        plugin=plugins.origin(policy.build),
        plain_failure="no release could be built",
        remedies=from_error(error),
    )
