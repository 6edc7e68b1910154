"""An audit: build a release, attack it, check what no limit asks for, score what the attacks believe, and waive.

`leafgate.engine.report` makes the report of it: with remedies, figures, the people who were left out, and seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from leafgate.api.registry import Plugins
from leafgate.engine.attack import AttackResult, run_as_granted, run_attack
from leafgate.engine.build import build
from leafgate.engine.checks import at_builder, at_limits, check_claims, soundness_checks, verified, verified_total
from leafgate.engine.knowledge import Adversaries, ControlCheck
from leafgate.engine.large_tables import representatives_of
from leafgate.engine.limits import judge
from leafgate.engine.reading import reading_check
from leafgate.engine.state import AuditState, state_of
from leafgate.io.release_codec import SealedRelease
from leafgate.kernel.components import AttackModel
from leafgate.kernel.findings import Finding
from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.metrics import Metric
from leafgate.kernel.policy import Policy
from leafgate.kernel.tables import Tables
from leafgate.kernel.waivers import Holds, Waiver, WaiverReview, metric_of, utc_today
from leafgate.models.checks import file_disclosure_check

Announce = Callable[[str], None]
"""Is called with a line before what may take long."""
Step = Callable[[str, str], AbstractContextManager[None]]
"""Is entered for each step of an audit, with its name and its position among steps of its kind."""
IN_BLOCKS = "the distinct records do not fit into memory, so they are read block by block"


@dataclass(frozen=True)
class AuditOutcome:
    """What an audit found out about one release.

    Attributes:
        adversaries: what each attack knew, with the tables and the release as it is published.
        state: everything that the findings were computed from.
        findings: in the order of the report, with the waivers that apply.
        waivers: what the report states of the policy's waivers.
    """

    adversaries: Adversaries
    state: AuditState
    findings: Sequence[Finding]
    waivers: Mapping[str, Any]


def audit(
    policy: Policy,
    plugins: Plugins,
    tables: Tables,
    *,
    check: ControlCheck,
    today: date | None,
    step: Step,
    announce: Announce,
    before_attacks: Callable[[], object] = lambda: None,
) -> AuditOutcome:
    """Build or load the release, attack it, and compare the scores with the policy's limits.

    Where the people are a LargeTable, attacks and metrics get representatives, one for all whom the trees treat alike.

    Args:
        policy: what is built, which attacks are tried with what knowledge, and the limits.
        plugins: those that the policy trusts.
        tables: the people, and the others whom the policy names.
        check: whether the control are other people; audits of one table share it.
        today: the day on which waivers are judged.
        step: is entered for each step.
        announce: is called before attacks that take long.
        before_attacks: is called once the release is there, and before the first attack.

    Raises:
        NoReleaseError: the builder cannot make a release of these people.
        InvalidError: the policy or the data are wrong.
        InconclusiveError: the builder fails. A failing attack or metric is a finding and takes nothing else down.
    """
    with step("build", ""):
        artifact = build(policy, plugins, tables.people, tables.test)
    before_attacks()
    if isinstance(tables.people, LargeTable):
        announce(IN_BLOCKS)
        with step("route", ""):
            tables = replace(tables, people=representatives_of(tables.people, artifact.release))
    adversaries = Adversaries(policy, tables, artifact, plugins.readers, check)
    results = attack(adversaries, plugins, step, announce)
    with step("judge", ""):
        return score_and_check(adversaries, results, plugins, today)


def audit_others(adversaries: Adversaries, plugins: Plugins, today: date | None) -> Sequence[Finding]:
    """The findings on a release that was built already, with `adversaries` of other people than it was audited with."""
    results = attack(adversaries, plugins, lambda name, position: nullcontext(), lambda line: None)
    return score_and_check(adversaries, results, plugins, today).findings


def attack(adversaries: Adversaries, plugins: Plugins, step: Step, announce: Announce) -> list[AttackResult]:
    """Run each attack of the policy with what the policy grants it."""
    attacks, results = adversaries.policy.attacks, []
    for number, each in enumerate(attacks, 1):
        with step(f"attack {each.called}", f" ({number} of {len(attacks)})"):
            results.append(run_as_granted(each, adversaries, plugins, announce))
    return results


def score_and_check(
    adversaries: Adversaries, results: Sequence[AttackResult], plugins: Plugins, today: date | None
) -> AuditOutcome:
    """Check the release and its claims, score what the attacks believe, and apply the waivers.

    Claims are checked before limits are judged: what is verified decides by which distribution a limit is judged.
    """
    policy, artifact = adversaries.policy, adversaries.artifact
    state = state_of(adversaries, results, plugins)

    def run_for_claim(attack: AttackModel) -> AttackResult:
        known, membership = adversaries.knowledge_of(attack), adversaries.membership_of(attack)
        return run_attack(attack, artifact, known, plugins, membership=membership)

    doubts = at_builder(policy, soundness_checks(policy, plugins, state))
    claims = at_builder(policy, check_claims(state, run_for_claim))
    state = replace(state, verified_claims=verified(claims))
    state = replace(state, private_total=verified_total(policy, state))
    judged = at_limits(policy, judge(policy.metrics, state))
    disclosed = at_builder(policy, file_disclosure_check(policy, plugins, artifact))
    read = at_builder(policy, reading_check(policy, plugins, state, artifact.provenance))
    others, holds = [*doubts, *read, *disclosed, *claims], passes(state, policy.metrics)
    judged, waivers = apply_waivers(policy, artifact, judged, others, holds, today)
    return AuditOutcome(adversaries, state, [*doubts, *read, *disclosed, *judged, *claims], waivers)


def apply_waivers(
    policy: Policy,
    artifact: SealedRelease | None,
    limits: list[Finding],
    others: Sequence[Finding],
    holds: Holds,
    today: date | None,
) -> tuple[list[Finding], Mapping[str, Any]]:
    """The limits' findings as the policy's waivers leave them, and what the report states of these."""
    if not policy.waivers:
        return limits, {}
    day, release = today or utc_today(), None if artifact is None else artifact.sha256
    audited = None if artifact is None else artifact.provenance.audited_file
    file = None if audited is None else audited.sha256
    of_model = artifact is not None and artifact.release.file is not None
    review = WaiverReview(policy.waivers, day, release, limits, others, holds, file, of_model, policy.origin.lines)
    findings, result = review.outcome()
    return findings, {"waivers": result, "judged_on": day.isoformat()}


def passes(state: AuditState, metrics: Sequence[Metric]) -> Holds:
    """Return whether findings of these metrics pass by a waiver's limit: each belief is scored anew."""

    def holds(waiver: Waiver) -> bool:
        metric = metric_of(waiver, metrics)
        judged = [] if metric is None else judge([waiver.weaker(metric)], state)
        return [finding.passed for finding in judged if finding.id == waiver.finding] == [True]

    return holds
