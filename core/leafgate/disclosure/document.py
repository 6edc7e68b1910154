"""The document of a report that an audience may see: everything (auditor), or no number of few people (public)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from leafgate.disclosure.figures import attack_accuracies, distributions, tree_figure
from leafgate.disclosure.limit_leakage import leakage_notes
from leafgate.disclosure.masking import (
    COUNTING_UNITS,
    MAX_ROUNDING_BASE,
    Audience,
    CountMask,
    count_behind_share,
    has_small_groups,
    is_individual_score,
    mask_score,
    redact_object,
    round_coarsely,
    round_to_grid,
    rounding_base,
)
from leafgate.disclosure.schema import (
    BarDocument,
    DataDocument,
    EvidenceDocument,
    FewerThan,
    FindingDocument,
    FromTo,
    LimitDocument,
    MaskedScore,
    MethodDocument,
    MoreThan,
    PolicyDocument,
    ReleaseDocument,
    RemedyDocument,
    ReportDocument,
)
from leafgate.io.json import JsonDocument
from leafgate.kernel.evidence import AuditorOnly
from leafgate.kernel.findings import FORMAT, Finding, Remedy, Report, SecondaryScore, Unit

OUTSIDE_GUARANTEE = (
    "The release claims differential privacy. Whether limits hold was computed from the data: these answers are "
    "outside that guarantee, and their numbers are for auditors."
)


def document(report: Report, audience: Audience) -> JsonDocument:
    """The report as JSON; equal reports give equal documents, and no clock is read."""
    return report_document(report, audience).json_document()


def report_document(report: Report, audience: Audience) -> ReportDocument:
    """The report as its audience may see it.

    The numbers of a public report are masked by its smallest cell (`leafgate.disclosure.masking`). Where the release
    claims differential privacy, a public report holds no number that was computed from the data.
    """
    mask = CountMask.of_report(report, report.smallest_cell if audience == "public" else 1)
    hide_data = audience == "public" and report.differentially_private
    findings = tuple(
        _finding_document(finding, bars, mask, audience, hide_data)
        for finding, bars in zip(report.findings, distributions(report, mask, audience), strict=True)
    )
    notes = [*report.notes, *(report.auditor_notes if audience == "auditor" else ())]
    notes += leakage_notes(report, findings) if audience == "public" else ()
    notes += [OUTSIDE_GUARANTEE] if hide_data else ()
    return ReportDocument.of(
        {
            "format": FORMAT,
            "verdict": report.verdict,
            "audience": audience,
            "waived": report.waived,
            **({"judged_on": report.judged_on, "waivers": report.waivers} if report.waivers else {}),
            "policy": PolicyDocument.of(report.policy),
            "data": DataDocument.of({} if hide_data else _data_facts(report, mask, audience)),
            "release": report.release and ReleaseDocument.of(redact_object(report.release, mask, audience)),
            "findings": findings,
            "method": MethodDocument.of(redact_object(report.method, mask, audience)) if report.method else None,
            "guesses": () if hide_data else attack_accuracies(report, mask, audience),
            "tree": tree_figure(report, mask, audience),
            "versions": report.versions,
            "notes": notes,
        }
    )


def _data_facts(report: Report, mask: CountMask, audience: Audience) -> JsonDocument:
    """The facts about the table, its number of people exact: all other counts are parts of it."""
    everyone = {} if mask.total is None else redact_object({"people": mask.total_count(mask.total)}, mask, audience)
    return redact_object(report.data, mask, audience) | everyone


def _finding_document(
    finding: Finding, bars: tuple[BarDocument, ...], mask: CountMask, audience: Audience, hide_data: bool
) -> FindingDocument:
    total, beyond = finding.people, finding.violations
    if audience == "public":
        finding, beyond = _without_private_numbers(finding, hide_data), None if finding.private else beyond
        finding = replace(finding, evidence=_without_small_groups(finding, mask.smallest))
    if hide_data:
        total = beyond = None
    base = rounding_base(finding, mask.smallest) if finding.value is not None else 0.0
    evidence = redact_object(_with_secondary_scores(finding, mask, hide_data), mask, audience)
    return FindingDocument.of(
        {
            "id": finding.id,
            "attack": finding.attack,
            "secret": finding.secret,
            "metric": finding.metric,
            **({"use": finding.use} if finding.use else {}),
            "value": _rounded_score(finding, base) if base else _masked_value(finding, mask, hide_data),
            **({"step": base} if 0 < base <= MAX_ROUNDING_BASE else {}),
            "limit": LimitDocument.of({} if finding.limit is None else finding.limit.document()),
            "passed": finding.passed,
            "people": None if total is None else mask.total_count(total),
            "beyond": None if beyond is None or total is None else mask.part(beyond, total),
            "evidence": EvidenceDocument.of(evidence),
            **({"alarm": finding.plain_failure} if finding.plain_failure else {}),
            "plugin": finding.plugin,
            "where": finding.where,
            **({"waiver": finding.waiver} if finding.waiver is not None else {}),
            **({"remedies": [_remedy(each, audience) for each in finding.remedies]} if finding.remedies else {}),
            "distribution": bars,
        }
    )


def _remedy(remedy: Remedy, audience: Audience) -> RemedyDocument:
    """The remedy with what its action needs; numbers that follow from the data are for auditors."""
    return RemedyDocument.of(
        {
            "action": remedy.action,
            "text": remedy.text,
            **({"details": remedy.details} if remedy.details and audience == "auditor" else {}),
            **({"place": remedy.place} if remedy.place else {}),
            **({"value": remedy.value} if remedy.value is not None else {}),
            **({"parameters": remedy.parameters} if remedy.parameters else {}),
            **({"command": remedy.command} if remedy.command else {}),
            "tried": remedy.tried,
        }
    )


def _without_private_numbers(finding: Finding, hide_data: bool) -> Finding:
    """The finding without numbers that follow from the data and not from the release."""
    kept = {"claim", "problem", "scored_because"}
    if hide_data and not finding.of_release:
        return replace(finding, value=None, evidence=_selected(finding.evidence, kept))
    if finding.private:
        return replace(finding, value=None, evidence=_selected(finding.evidence, kept | {"derived"}))
    return finding


def _selected(evidence: Mapping[str, object], keys: Collection[str]) -> dict[str, object]:
    return {key: content for key, content in evidence.items() if key in keys}


def _without_small_groups(finding: Finding, smallest: int) -> Mapping[str, object]:
    """The evidence; where one of the worst groups is below the smallest cell, that group alone and no number of groups.

    The other groups might be all the rest of the people, and the number of groups would disclose how small they are.
    """
    evidence, worst = dict(finding.evidence), finding.evidence.get("worst")
    if smallest > 1 and has_small_groups(finding, smallest):
        evidence.pop("groups", None)
    if isinstance(worst, list) and any(group["people"].count < smallest for group in worst):
        evidence["worst"] = worst[:1]
    return evidence


def _with_secondary_scores(finding: Finding, mask: CountMask, hide_data: bool) -> dict[str, object]:
    """The evidence with each secondary score masked as the finding's own would be; suppressed ones are left out.

    A secondary average is rounded as a judged one: fewer people than the smallest cell cannot move it by a step.
    """
    evidence: dict[str, object] = dict(finding.evidence)
    for key, content in finding.evidence.items():
        score = content.content if isinstance(content, AuditorOnly) else content
        if not isinstance(score, SecondaryScore):
            continue
        judged = replace(finding, value=score.value, score_range=score.spread, people_at_value=score.fewest)
        value = _masked_value(judged, mask, hide_data)
        if value is None and score.value is not None:
            del evidence[key]
        else:
            evidence[key] = AuditorOnly(value) if isinstance(content, AuditorOnly) else value
    return evidence


def _masked_value(finding: Finding, mask: CountMask, hide_data: bool) -> MaskedScore | None:
    """The score of a finding; one that is itself a count or a share of people is masked like a count."""
    value, total, people = finding.value, finding.people, count_behind_share(finding)
    if value is None or mask.smallest == 1:
        return value
    if is_individual_score(finding):
        return mask_score(value, finding, mask.smallest)
    if finding.average and finding.unit != Unit.SHARE:
        return _masked_average(value, finding, mask)
    if finding.unit == Unit.PEOPLE:
        size = mask.count(1 if 0 < value < 1 else int(value))
        return value if isinstance(size, int) else size
    if finding.unit == Unit.ONE_OVER_PEOPLE:
        size = mask.count(round(1 / value))
        return value if isinstance(size, int) else _one_over(size)
    if finding.unit == Unit.PEOPLE_LEFT and total is not None:
        everyone, known = mask.total_count(total), total - int(value)
        return value if isinstance(everyone, int) else _transformed(everyone, lambda count: count - known)
    if people is None or total is None:
        return value
    if hide_data or not isinstance(mask.total_count(total), int):
        return None
    part = mask.part(people, total)
    return value if isinstance(part, int) else _transformed(part, lambda count: round(count / total, 6))


def _masked_average(value: float, finding: Finding, mask: CountMask) -> MaskedScore:
    """An average of people's scores, rounded so coarsely that fewer people than the smallest cell move it by no step.

    The average of a small group whose people have equal scores is each person's score, and is masked as one.
    """
    if finding.unit not in COUNTING_UNITS and has_small_groups(finding, mask.smallest):
        return round_to_grid(value)
    if finding.unit == Unit.PEOPLE and 0 < value < mask.smallest:
        return FewerThan(fewer_than=mask.smallest)
    return round_coarsely(value, mask.smallest * finding.score_range / max(finding.people or 1, 1))


def _rounded_score(finding: Finding, base: float) -> float | None:
    """The score rounded to its rounding base; None where that is too coarse."""
    return None if finding.value is None or base > MAX_ROUNDING_BASE else round_coarsely(finding.value, base)


def _transformed(count: FewerThan | FromTo, transform: Callable[[float], float]) -> FewerThan | FromTo:
    """The masked number after an increasing transformation."""
    if isinstance(count, FewerThan):
        return FewerThan(fewer_than=transform(count.fewer_than))
    return FromTo.between(transform(count.low), transform(count.high))


def _one_over(count: FewerThan | FromTo) -> MoreThan | FromTo:
    """One over a masked count."""
    if isinstance(count, FewerThan):
        return MoreThan(more_than=round(1 / count.fewer_than, 6))
    return FromTo.between(round(1 / count.high, 6), round(1 / count.low, 6))
