"""Who may see the numbers of a score: decided here, right after scoring. Checks of the core state it themselves.

The release, the public columns, the options of the policy and the record of what a metric has read decide, and
nobody's secrets: otherwise the absence of a number in a public report would itself disclose something.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import get_args

from leafgate.algorithms.derivable import (
    RanAttack,
    group_shares_derivable,
    undisclosed_reads,
    uses_background_knowledge,
)
from leafgate.api.registry import Plugins, isolate_plugin_errors
from leafgate.engine.attack import AttackResult
from leafgate.errors import InconclusiveError
from leafgate.kernel.belief import AttributeBelief, MembershipBelief
from leafgate.kernel.context import Observation, ScoringContext
from leafgate.kernel.evidence import AuditorOnly
from leafgate.kernel.findings import Finding, Public, Unit, VisibleTo
from leafgate.kernel.metrics import Metric


def audience_of_score(
    metric: Metric,
    plugins: Plugins,
    cases: Iterable[ScoringContext],
    result: RanAttack | None,
    sensitivity: float = 0.0,
) -> VisibleTo:
    """Who may see the numbers of a score that a metric computed from these contexts.

    Args:
        metric: its unit and its own `public_in` are asked.
        plugins: where the metric comes from, for its errors.
        cases: what it has scored, each with the record of its reads; asking adds nothing to the record.
        result: of the attack whose belief was scored; None for a metric of the release.
        sensitivity: what its score states, from 0 up.

    Raises:
        InconclusiveError: the metric's own `public_in` raised, or returned something else.
    """
    cases = list(cases)
    with isolate_plugin_errors(metric, plugins):
        public = {_public_in(metric, case) for case in cases}
    counts_nobody = Unit(metric.unit) in {Unit.NONE, Unit.TABLE}  # nothing would mask a small number of people
    unmasked = {Observation.SIZES} | (set() if sensitivity else {Observation.TABLES})
    if counts_nobody and any(unmasked & case.observed for case in cases):
        return VisibleTo.AUDITORS
    if "verdict" in public or any(_follows_from_data(case, result, sensitivity) for case in cases):
        return VisibleTo.AUDITORS
    return VisibleTo.EVERYBODY if public == {"number"} and not Unit(metric.unit).is_of_everyone else VisibleTo.MASKED


def _public_in(metric: Metric, case: ScoringContext) -> Public:
    """What the metric lets the public see of its score; its own reads are not recorded."""
    public = metric.public_in(case.with_own_record())
    if not isinstance(public, str) or public not in get_args(Public):
        raise InconclusiveError(f"`public_in` of {metric.use} answers none of {', '.join(get_args(Public))}")
    return public


def _follows_from_data(case: ScoringContext, result: RanAttack | None, sensitivity: float) -> bool:
    """Would the numbers disclose what follows neither from the release nor from the public columns?

    A score of candidates or targets with a sensitivity is a rate that public reports round, so that few of them cannot
    move it by a step: it need not be hidden.
    """
    read = case.observed & {Observation.POSTERIOR, Observation.PRIOR}
    of_candidates = isinstance(case.belief, MembershipBelief | AttributeBelief)
    undisclosed = undisclosed_reads(case)
    if of_candidates and not read and sensitivity > 0:
        return bool(undisclosed - {Observation.MEMBERSHIP})
    granted = (bool(read) or of_candidates) and uses_background_knowledge(case, result)
    return granted or bool(undisclosed)


def audience_of_guesses(case: ScoringContext, result: RanAttack) -> VisibleTo:
    """Who may see for how many people an attack's best guess is right, in this context of its belief."""
    derivable = group_shares_derivable(case, alike=True) and not case.table.weighted
    is_private = uses_background_knowledge(case, result) or not derivable or case.release.claims_differential_privacy
    return VisibleTo.AUDITORS if is_private else VisibleTo.MASKED


def audience_of_evidence(case: ScoringContext, result: AttackResult | None) -> VisibleTo:
    """Who may see the evidence of the belief of this context.

    An attack may state the same of all its beliefs, such as how well a solver converged: what one of them rests on is
    then seen in the evidence of the others.
    """
    beliefs = [case.belief] if result is None else result.beliefs
    cases = (replace(case.with_own_record(), belief=belief) for belief in beliefs)
    return VisibleTo.AUDITORS if any(uses_background_knowledge(each, result) for each in cases) else VisibleTo.EVERYBODY


def beside_claim(findings: Sequence[Finding]) -> list[Finding]:
    """The findings as they stand beside a claim of differential privacy, which covers what follows from the release.

    Whether any other limit holds was computed from the data, so all other numbers are for auditors.
    """
    return [each if each.audience == VisibleTo.EVERYBODY else _for_auditors(each) for each in findings]


def _for_auditors(finding: Finding) -> Finding:
    """The finding with its numbers for auditors alone, the one by what the adversary derives among them."""
    derived = finding.evidence.get("derived")
    is_shown = derived is not None and not isinstance(derived, AuditorOnly)
    evidence = {**finding.evidence, "derived": AuditorOnly(derived)} if is_shown else finding.evidence
    return replace(finding, audience=VisibleTo.AUDITORS, evidence=evidence)
