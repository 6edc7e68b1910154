"""The audit from a table to a verdict: build, attack, score, and compare with the policy's limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from typing import Any

from leafgate.algorithms.consistency import Consistency
from leafgate.algorithms.representatives import representatives
from leafgate.api.registry import Plugins
from leafgate.engine.attack import AttackResult, announce_attack, run_attack
from leafgate.engine.build import build
from leafgate.engine.checks import check_claims, plugin_checks, soundness_checks, verified
from leafgate.engine.dropped_people import DroppedPeople
from leafgate.engine.figures import guesses, tree_view
from leafgate.engine.keepable import UnkeepableLimit, unkeepable_limits
from leafgate.engine.knowledge import Adversaries, ControlCheck, secret_inputs
from leafgate.engine.limits import judge
from leafgate.engine.reading import reading_check
from leafgate.engine.remedies.search import with_searched_remedies
from leafgate.engine.remedies.static import from_error, with_static_remedies
from leafgate.engine.remedies.trials import Trial, has_own_command
from leafgate.engine.report_facts import files_of, report_of
from leafgate.engine.state import AuditState, comparisons
from leafgate.engine.waivers import SourceLocations, Waivers, apply_waivers, never, passes
from leafgate.errors import InconclusiveError, NoReleaseError
from leafgate.io.release_codec import ReleaseArtifact
from leafgate.kernel.components import AttackModel
from leafgate.kernel.evidence import AuditorOnly, PeopleCount
from leafgate.kernel.findings import Finding, Remedy, Report
from leafgate.kernel.knowledge import limit_knowledge
from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.policy import Policy
from leafgate.kernel.release import Release
from leafgate.kernel.table import Table
from leafgate.kernel.tables import Tables
from leafgate.models.checks import file_disclosure_check
from leafgate.progress import progress_step


@dataclass(frozen=True, repr=False)
class Audit:
    """A report, the release it is about (None if nothing could be built), and seconds a step.

    Its repr says the verdict alone: a notebook keeps it beside the page.
    """

    report: Report
    artifact: ReleaseArtifact | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Audit(verdict={self.report.verdict!r})"


def audit(
    policy: Policy,
    plugins: Plugins,
    tables: Tables,
    *,
    today: date | None = None,
    announce: Callable[[str], None] = lambda line: None,
    search_remedies: bool = False,
) -> Audit:
    """Build or load the release, attack it, and hold the scores against the policy's limits.

    Where the people are a LargeTable, attacks and metrics get representatives, one for all whom the trees treat alike;
    `records_needed_by` says who cannot do with these. No settings are searched.
    `announce` is called with a line before an attack that forecasts how long it will take. `search_remedies`: where a
    limit fails, audit again with other settings, to say which passes.
    Waivers are judged on the day `today`, the present day in UTC when left out; without waivers no clock is read.
    Raises InvalidError for what the policy or data get wrong and InconclusiveError when the builder
    itself fails; a failing attack or metric is a finding and takes nothing else down.
    """
    incomplete = tables.people.incomplete
    if incomplete is not None:
        tables = replace(tables, people=replace(tables.people, incomplete=None))
    data, check = tables.people, ControlCheck()
    identity = cache(lambda: policy.identity)
    audited = _audited(
        policy, plugins, tables, incomplete, identity=identity, check=check, today=today, announce=announce
    )
    artifact = audited.artifact
    wanted = search_remedies and audited.report.verdict == "fail"
    if not wanted or artifact is None or isinstance(data, LargeTable):
        return audited
    private = artifact.release.claims_differential_privacy
    if not private and (
        impossible := unkeepable_limits(policy.metrics, plugins, data, of_model=artifact.release.predicts_numbers)
    ):
        return replace(audited, report=_with_impossible(audited.report, impossible))

    def run(changed: Policy) -> Trial:
        changed = changed.with_origin(policy.origin)
        tried = _audited(changed, plugins, tables, incomplete, identity=identity, check=check, today=today)
        return Trial(tried.report, tried.artifact)

    seconds = dict(audited.seconds)
    with _timed(seconds, "remedies"):
        report = with_searched_remedies(policy, plugins, data, audited.report, artifact, run)
    return replace(audited, report=report, seconds=seconds)


def _with_impossible(report: Report, impossible: Sequence[UnkeepableLimit]) -> Report:
    """The report; what is to be done about limits that no release of the table can keep is to change them.

    What would be done about the other broken limits waits for that, so that nothing is recommended that cannot pass.
    """
    names = ", ".join(f"`{limit.metric.called}`" for limit in impossible)
    wait = Remedy(action="advise", text=f"First change what no release of this table can keep, the limit of {names}.")
    remedies = {limit.metric.called: (limit.remedy,) for limit in impossible}
    findings = [
        replace(each, remedies=remedies.get(each.metric, (wait, *each.remedies)))
        if each.fails and not has_own_command(each)
        else each
        for each in report.findings
    ]
    return replace(report, findings=findings)


def _audited(
    policy: Policy,
    plugins: Plugins,
    tables: Tables,
    incomplete: Table | None,
    *,
    identity: Callable[[], Mapping[str, str]],
    check: ControlCheck,
    today: date | None,
    announce: Callable[[str], None] = lambda line: None,
) -> Audit:
    """The audit without a search. What attacks believe is freed with its end: a search needs only what it returns.

    `identity` returns the policy's name and digests. It is called after the build, because it reads the files that
    belong to the policy: one that cannot be read is then the builder's error.
    """
    seconds: dict[str, float] = {}
    locations = SourceLocations(policy)
    data, files = tables.people, files_of(policy, tables)
    try:
        with _timed(seconds, "build"):
            artifact = build(policy, plugins, data, tables.test)
    except NoReleaseError as error:
        refused = with_static_remedies(locations.of_build([_no_release(policy, plugins, error)]), policy, plugins, None)
        _, waivers = apply_waivers(policy, None, [], refused, never, today)
        return Audit(report_of(policy, identity(), plugins, data, files, None, refused, waivers))
    if isinstance(data, LargeTable):
        announce("the distinct records do not fit into memory, so they are read block by block")
        with _timed(seconds, "route"):
            tables = replace(tables, people=_representatives(data, artifact.release))
    adversaries = Adversaries(policy, tables, artifact, plugins.readers, check)
    results = []
    for number, attack in enumerate(policy.attacks, 1):
        with _timed(seconds, f"attack {attack.called}", f" ({number} of {len(policy.attacks)})"):
            results.append(_attacked(attack, adversaries, plugins, announce))

    with _timed(seconds, "judge"):
        state = _state(adversaries, results, plugins)
        state, judged, waivers = _judged(policy, state, adversaries, locations, today)
    if incomplete is not None and not artifact.built and not artifact.release.claims_differential_privacy:
        dropped = DroppedPeople(adversaries, incomplete, data.dropped, plugins, locations)

        def judge_others(others: Adversaries) -> list[Finding]:
            results = [_attacked(attack, others, plugins, lambda line: None) for attack in policy.attacks]
            return _judged(policy, _state(others, results, plugins), others, locations, today)[1]

        with _timed(seconds, "people left out"):
            judged = dropped.completed(judged, judge_others)
    findings = with_static_remedies(judged, policy, plugins, artifact.release)
    with _timed(seconds, "draw"):
        tree, accuracies = tree_view(state, findings, artifact.starting_trees), guesses(state)
    report = report_of(policy, identity(), plugins, data, files, artifact, findings, waivers)
    report = replace(report, tree=tree, guesses=accuracies)
    return Audit(report, artifact, seconds)


def _state(adversaries: Adversaries, results: Sequence[AttackResult], plugins: Plugins) -> AuditState:
    """Everything that findings are computed from, once the attacks have run."""
    policy, table, artifact = adversaries.policy, adversaries.table, adversaries.artifact
    return AuditState(
        table,
        adversaries.tables.test,
        artifact.release,
        adversaries.default,
        results,
        plugins,
        Consistency(table, artifact.release, artifact.node_numbers),
        artifact.origins,
        built=artifact.built,
        smallest_cell=policy.report.smallest_cell,
        comparisons=comparisons(policy, len(secret_inputs(artifact.release, table.schema))),
        mapped_classes=artifact.mapped_classes,
    )


def _judged(
    policy: Policy,
    state: AuditState,
    adversaries: Adversaries,
    locations: SourceLocations,
    today: date | None,
) -> tuple[AuditState, list[Finding], Waivers]:
    """The state with the verified claims, all findings in the order of the report, and the waivers of the report."""
    artifact, plugins = adversaries.artifact, state.plugins

    def run_for_claim(attack: AttackModel) -> AttackResult:
        known, membership = adversaries.knowledge_of(attack), adversaries.membership_of(attack)
        return run_attack(attack, artifact, known, plugins, membership=membership)

    doubts = locations.of_build(soundness_checks(policy, plugins, state))
    claims = locations.of_build(check_claims(state, run_for_claim))
    state = replace(state, verified_claims=verified(claims))
    limits = locations.of_limits(judge(policy.metrics, state))
    disclosed = locations.of_build(file_disclosure_check(policy, plugins, artifact.release))
    read = locations.of_build(reading_check(policy, plugins, state, artifact.reading, artifact.witness))
    limits += locations.of_build(plugin_checks(state))
    others, holds = [*doubts, *read, *disclosed, *claims], passes(state, policy.metrics)
    limits, waivers = apply_waivers(policy, artifact, limits, others, holds, today)
    return state, [*doubts, *read, *disclosed, *limits, *claims], waivers


def _representatives(data: LargeTable, release: Release) -> Table:
    """One record for all people whom the trees treat alike, and what is known of the file."""
    return replace(
        representatives(data.tables(), data.schema, release),
        dropped=data.dropped,
        repeated_identifiers=data.repeated_identifiers,
        sha256=data.sha256,
    )


def _attacked(
    attack: AttackModel, adversaries: Adversaries, plugins: Plugins, announce: Callable[[str], None]
) -> AttackResult:
    """The result of an attack of the policy with what it is granted; a problem where that cannot be granted."""
    artifact, section = adversaries.artifact, adversaries.policy.knows_place(attack)
    try:
        known, membership = adversaries.knowledge_of(attack), adversaries.membership_of(attack)
        copies = adversaries.near_copies_for(attack)
    except InconclusiveError as error:
        nothing = limit_knowledge(adversaries.default, attack.needs)
        return AttackResult(attack, plugins.origin(attack), nothing, problem=str(error), remedies=from_error(error))
    announce_attack(attack, artifact, known, plugins, announce)
    return replace(run_attack(attack, artifact, known, plugins, section, membership), near_copies=copies)


@contextmanager
def _timed(seconds: dict[str, float], step: str, position: str = "") -> Iterator[None]:
    """Note the seconds of a step under its name, and report it as progress with its position among such steps."""
    start = time.perf_counter()
    with progress_step(f"{step}{position}"):
        yield
    seconds[step] = time.perf_counter() - start


def _no_release(policy: Policy, plugins: Plugins, error: NoReleaseError) -> Finding:
    evidence: dict[str, Any] = {"reason": error.problems[0].message, "remedy": error.problems[0].hint}
    if error.people is not None:
        evidence["people"] = PeopleCount(error.people)
    if error.details:
        evidence["reason_in_full"] = AuditorOnly(error.details)
    origin = plugins.origin(policy.build)
    return Finding(
        "build",
        "build",
        passed=False,
        evidence=evidence,
        plugin=origin,
        plain_failure="no release could be built",
        remedies=from_error(error),
    )
