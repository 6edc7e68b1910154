"""What an audience may see of a report: everything (auditor), or nothing of a person (public)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from leafgate.disclosure.figures import accuracies_shown, distributions, tree_figure
from leafgate.disclosure.limit_leakage import leakage_notes
from leafgate.disclosure.masking import (
    COARSEST,
    Audience,
    CountMask,
    has_small_groups,
    is_plain,
    redact,
    round_coarsely,
    round_to_grid,
    rounding_base,
    score_shown,
    share_count,
    shown_in,
)
from leafgate.types.evidence import AuditorOnly
from leafgate.types.report import FORMAT, Finding, Report, SecondaryScore, Unit


def document(report: Report, audience: Audience) -> dict[str, Any]:
    """The report as JSON (design 4.4): same input, same document; no clock is read."""
    smallest = report.smallest_cell if audience == "public" else 1
    shown = shown_in(report, smallest)
    hide_data = audience == "public" and report.differentially_private
    findings = [
        _finding(finding, shown, audience, hide_data) | {"distribution": bars}
        for finding, bars in zip(report.findings, distributions(report, shown, audience), strict=True)
    ]
    telling = leakage_notes(report, findings) if audience == "public" else []
    return {
        "format": FORMAT,
        "verdict": report.verdict,
        "audience": audience,
        "waived": report.waived,
        **({"judged_on": report.judged_on} if report.waivers else {}),
        "policy": dict(report.policy),
        "data": {} if hide_data else _data(report.data, shown, audience),
        "release": None if report.release is None else redact(report.release, shown, audience),
        "findings": findings,
        "method": dict(report.method),
        **({"waivers": [dict(waiver) for waiver in report.waivers]} if report.waivers else {}),
        "guesses": [] if hide_data else accuracies_shown(report, shown, audience),
        "tree": tree_figure(report, shown, audience),
        "versions": dict(report.versions),
        "notes": [
            *report.notes,
            *(report.auditor_notes if audience == "auditor" else ()),
            *telling,
            *([_OUTSIDE] if hide_data else []),
        ],
    }


_OUTSIDE = (
    "The release claims differential privacy. Whether limits hold was worked out from the data: these answers are "
    "outside that guarantee, and their numbers are for auditors."
)


def _data(data: Mapping[str, Any], shown: CountMask, audience: Audience) -> dict[str, Any]:
    """What is told of the table; how many people it has as they are, for all counts are of these."""
    everyone = {} if shown.total is None else {"people": shown.total_count(shown.total)}
    seen: dict[str, Any] = redact(data, shown, audience)
    return seen | everyone


def _finding(finding: Finding, shown: CountMask, audience: Audience, hide_data: bool) -> dict[str, Any]:
    total, beyond = finding.people, finding.violations
    if audience == "public":
        finding, beyond = _without_secrets(finding, hide_data), None if finding.private else beyond
        finding = replace(finding, evidence=_few_worst(finding, shown.smallest))
    known = total is not None and not hide_data
    step = rounding_base(finding, shown.smallest) if finding.value is not None else 0.0
    return {
        "id": finding.id,
        "attack": finding.attack,
        "secret": finding.secret,
        "metric": finding.metric,
        **({"use": finding.use} if finding.use else {}),
        "value": _in_steps(finding, step) if step else _value(finding, shown, hide_data),
        **({"step": step} if 0 < step <= COARSEST else {}),
        "limit": {} if finding.limit is None else finding.limit.document(),
        "passed": finding.passed,
        "people": shown.total_count(total) if known and total is not None else None,
        "beyond": None if beyond is None or total is None or hide_data else shown.part(beyond, total),
        "evidence": redact(_with_secondary_scores(finding, shown, hide_data), shown, audience),
        **({"alarm": finding.plain_failure} if finding.plain_failure else {}),
        "plugin": finding.plugin,
        "where": dict(finding.where),
        **({"waiver": dict(finding.waiver)} if finding.waiver is not None else {}),
    }


def _without_secrets(finding: Finding, hide_data: bool) -> Finding:
    """The finding without numbers that follow from the data and not from the release, which may promise more."""
    if hide_data and not finding.of_release:
        return replace(finding, value=None, evidence=_among(finding.evidence, {"claim", "problem", "scored_because"}))
    if finding.private:
        kept = {"claim", "derived", "problem", "scored_because"}
        return replace(finding, value=None, evidence=_among(finding.evidence, kept))
    return finding


def _among(evidence: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {key: result for key, result in evidence.items() if key in keys}


def _few_worst(finding: Finding, smallest: int) -> Mapping[str, Any]:
    """The evidence; of worst groups with small ones among them the worst alone: the others may be all the rest."""
    evidence, worst = dict(finding.evidence), finding.evidence.get("worst")
    if smallest > 1 and has_small_groups(finding, smallest):
        evidence.pop("groups", None)  # of few people in all, how many groups there are tells how small they are
    if isinstance(worst, list) and any(group["people"].count < smallest for group in worst):
        evidence["worst"] = worst[:1]
    return evidence


def _with_secondary_scores(finding: Finding, shown: CountMask, hide_data: bool) -> dict[str, Any]:
    """The evidence with each secondary score as the finding's own would be shown, and without it where that would not.

    A secondary average is rounded as a judged one: so few people as must not be shown cannot move it by a step.
    """
    evidence = dict(finding.evidence)
    for key, content in finding.evidence.items():
        score = content.content if isinstance(content, AuditorOnly) else content
        if not isinstance(score, SecondaryScore):
            continue
        judged = replace(finding, value=score.value, score_range=score.spread, people_at_value=score.fewest)
        value = _value(judged, shown, hide_data)
        if value is None and score.value is not None:
            del evidence[key]
        else:
            evidence[key] = AuditorOnly(value) if isinstance(content, AuditorOnly) else value
    return evidence


def _value(finding: Finding, shown: CountMask, hide_data: bool) -> Any:
    """A score; one that is itself a count or a share of people is shown like a count."""
    value, total, people = finding.value, finding.people, share_count(finding)
    average = finding.average and finding.unit != Unit.SHARE
    if value is None or shown.smallest == 1:
        return value
    if is_plain(finding):
        return score_shown(value, finding, shown.smallest)
    if average:
        return _average(value, finding, shown)
    if finding.unit == Unit.PEOPLE:
        result = shown.count(int(value))
        return result if isinstance(result, dict) else value
    if finding.unit == Unit.ONE_OVER_PEOPLE:
        result = shown.count(round(1 / value))
        return _one_over(result) if isinstance(result, dict) else value
    if finding.unit == Unit.PEOPLE_LEFT and total is not None:
        result = shown.total_count(total)
        return {key: n - total + int(value) for key, n in result.items()} if isinstance(result, dict) else value
    if people is None or total is None:
        return value
    if hide_data or isinstance(shown.total_count(total), dict):
        return None
    result = shown.part(people, total)
    return {key: round(n / total, 6) for key, n in result.items()} if isinstance(result, dict) else value


def _average(value: float, finding: Finding, shown: CountMask) -> Any:
    """An average of people's scores; of groups that are all alike it is each one's."""
    if not finding.unit and has_small_groups(finding, shown.smallest):
        return round_to_grid(value)
    few = finding.unit == Unit.PEOPLE and 0 < value < shown.smallest
    return {"fewer_than": shown.smallest} if few else _coarse(value, finding, shown)


def _in_steps(finding: Finding, step: float) -> float | None:
    """A score in steps that fewer people than the smallest cell cannot move it by; None where too coarse."""
    return None if finding.value is None or step > COARSEST else round_coarsely(finding.value, step)


def _coarse(value: float, finding: Finding, shown: CountMask) -> float:
    """An average, so coarse that fewer people than the smallest cell cannot move it by a step."""
    return round_coarsely(value, shown.smallest * finding.score_range / max(finding.people or 1, 1))


def _one_over(document: Mapping[str, int]) -> dict[str, float]:
    """One over a veiled count."""
    if "fewer_than" in document:
        return {"more_than": round(1 / document["fewer_than"], 6)}
    return {"from": round(1 / document["to"], 6), "to": round(1 / document["from"], 6)}
