"""The document of a report that an audience may see: everything (auditor), or no number of few people (public)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from leafgate.disclosure import schema
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
from leafgate.disclosure.wording import decisions, statements
from leafgate.io.evidence import EvidenceDocument, FewerThan, FromTo, MaskedScore, MoreThan
from leafgate.io.json import JsonDocument
from leafgate.kernel.evidence import AuditorOnly
from leafgate.kernel.findings import FORMAT, Finding, Masking, Remedy, Report, SecondaryScore, Unit, VisibleTo

OUTSIDE_GUARANTEE = (
    "The release claims differential privacy. Whether limits hold was computed from the data: these answers are "
    "outside that guarantee, and their numbers are for auditors."
)


def document(report: Report, audience: Audience) -> JsonDocument:
    """The report as JSON; equal reports give equal documents, and no clock is read."""
    return report_document(report, audience).json_document()


def report_document(report: Report, audience: Audience) -> schema.ReportDocument:
    """The report as its audience may see it.

    Each finding states who may see its numbers. Those of a public report are masked by its smallest cell
    (`leafgate.disclosure.masking`). Where the release claims differential privacy, a public report contains no number
    that was computed from the data, nor how many people there are.
    """
    mask = CountMask.of_report(report, report.smallest_cell if audience == "public" else 1)
    hide_data = audience == "public" and report.differentially_private
    findings = tuple(
        _finding_document(finding, bars, mask, audience, hide_totals=hide_data)
        for finding, bars in zip(report.findings, distributions(report, mask, audience), strict=True)
    )
    notes = [*report.notes, *(report.auditor_notes if audience == "auditor" else ())]
    notes += leakage_notes(report, findings) if audience == "public" else ()
    notes += [OUTSIDE_GUARANTEE] if hide_data else ()
    notes = [*decisions(notes), *statements(notes)]
    return schema.ReportDocument.of(
        {
            "format": FORMAT,
            "verdict": report.verdict,
            "audience": audience,
            "waived": report.waived,
            **({"judged_on": report.judged_on, "waivers": report.waivers} if report.waivers else {}),
            "policy": schema.PolicyDocument.of(report.policy),
            "data": schema.DataDocument.of({} if hide_data else _data_facts(report, mask, audience)),
            "release": report.release and schema.ReleaseDocument.of(redact_object(report.release, mask, audience)),
            **({"ledger": asdict(report.ledger)} if report.ledger is not None else {}),
            **({} if audience == "public" or report.affected is None else {"affected": report.affected}),
            "findings": findings,
            "method": schema.MethodDocument.of(redact_object(report.method, mask, audience)) if report.method else None,
            "guesses": attack_accuracies(report, mask, audience),
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
    finding: Finding, bars: tuple[schema.BarDocument, ...], mask: CountMask, audience: Audience, *, hide_totals: bool
) -> schema.FindingDocument:
    visible = audience == "auditor" or finding.audience != VisibleTo.AUDITORS
    total = None if hide_totals else finding.people
    beyond = finding.violations if visible else None
    value = finding.value if visible else None
    base = 0.0 if value is None else rounding_base(finding.masking.sensitivity, mask.smallest)
    return schema.FindingDocument.of(
        {
            "id": finding.id,
            "attack": finding.attack,
            "secret": finding.secret,
            "metric": finding.metric,
            **({"use": finding.use} if finding.use else {}),
            "value": _rounded_score(value, base) if base else _masked_value(value, finding.masking, finding, mask),
            **({"step": base} if 0 < base <= MAX_ROUNDING_BASE else {}),
            "limit": schema.LimitDocument.of({} if finding.limit is None else finding.limit.document()),
            "passed": finding.passed,
            "people": None if total is None else mask.total_count(total),
            "beyond": None if beyond is None or total is None else mask.part(beyond, total),
            "evidence": EvidenceDocument.of(_evidence(finding, mask, audience, visible=visible)),
            **({"alarm": finding.plain_failure} if finding.plain_failure else {}),
            "plugin": finding.plugin,
            "where": finding.where,
            **({"waiver": finding.waiver} if finding.waiver is not None else {}),
            **({"remedies": [_remedy(each, audience) for each in finding.remedies]} if finding.remedies else {}),
            "distribution": bars,
        }
    )


WITHOUT_NUMBERS = frozenset({"claim", "covered_by", "derived", "problem", "scored_because"})
"""The evidence of a finding whose numbers are for auditors that the public sees all the same; `derived` is a score by
what the adversary derives, which may follow from the release where the judged one does not."""


def _evidence(finding: Finding, mask: CountMask, audience: Audience, *, visible: bool) -> JsonDocument:
    """The evidence that the audience may see; of each secondary score as much as it would see of the finding's own.

    Where one of the worst groups is below the smallest cell, that group alone and no number of groups is published: the
    other groups might be all the rest of the people, and the number of groups would disclose how small they are.
    """
    evidence = {key: each for key, each in finding.evidence.items() if visible or key in WITHOUT_NUMBERS}
    if audience == "public" and has_small_groups(finding.masking, mask.smallest):
        evidence.pop("groups", None)
    worst = evidence.get("worst", ())
    if (
        audience == "public"
        and isinstance(worst, list | tuple)
        and any(each["people"].count < mask.smallest for each in worst)
    ):
        evidence["worst"] = worst[:1]
    for key, content in list(evidence.items()):
        score = content.content if isinstance(content, AuditorOnly) else content
        if not isinstance(score, SecondaryScore):
            continue
        value = _masked_value(score.value, score.masking, finding, mask)
        if value is None and score.value is not None:
            del evidence[key]
        else:
            evidence[key] = AuditorOnly(value) if isinstance(content, AuditorOnly) else value
    return redact_object(evidence, mask, audience)


def _remedy(remedy: Remedy, audience: Audience) -> schema.RemedyDocument:
    """The remedy with what its action needs; numbers that follow from the data are for auditors."""
    return schema.RemedyDocument.of(
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


def _masked_value(value: float | None, masking: Masking, finding: Finding, mask: CountMask) -> MaskedScore | None:
    """A score of a finding's people; one that is itself a count or a share of people is masked like a count.

    A secondary average is rounded as a judged one: fewer people than the smallest cell cannot move it by a step.
    """
    total, people = finding.people, count_behind_share(value, finding)
    if value is None or mask.smallest == 1:
        return value
    if is_individual_score(finding):
        return mask_score(value, masking, mask.smallest)
    if finding.average and finding.unit != Unit.SHARE:
        return _masked_average(value, masking, finding, mask)
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
    if not isinstance(mask.total_count(total), int):
        return None
    part = mask.part(people, total)
    return value if isinstance(part, int) else _transformed(part, lambda count: round(count / total, 6))


def _masked_average(value: float, masking: Masking, finding: Finding, mask: CountMask) -> MaskedScore:
    """An average of people's scores, rounded so coarsely that fewer people than the smallest cell move it by no step.

    The average of a small group whose people have equal scores is each person's score, and is masked as one.
    """
    if finding.unit not in COUNTING_UNITS and has_small_groups(masking, mask.smallest):
        return round_to_grid(value)
    if finding.unit == Unit.PEOPLE and 0 < value < mask.smallest:
        return FewerThan(fewer_than=mask.smallest)
    return round_coarsely(value, mask.smallest * masking.score_range / max(finding.people or 1, 1))


def _rounded_score(value: float | None, base: float) -> float | None:
    """The score rounded to its rounding base; None where that is too coarse."""
    return None if value is None or base > MAX_ROUNDING_BASE else round_coarsely(value, base)


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
