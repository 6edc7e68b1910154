"""What a sweep came to: a row for each point, and the most accurate release that passes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leafgate.api import Metric
from leafgate.commands.sweep.words import SWEEP_FORMAT, near_end, setting_words, worst_finding
from leafgate.commands.sweep.worker import Result
from leafgate.disclosure.wording import number_words
from leafgate.io.json import JsonObject
from leafgate.io.text import shorten
from leafgate.kernel.findings import EXIT_CODES
from leafgate.kernel.policy import Policy
from leafgate.search.picture import Dot, picture

MARKS = {"pass": "pass", "fail": "FAIL", "inconclusive": "????"}


@dataclass(frozen=True)
class SweepOutcome:
    """All results in order; the findings to plot and to choose by: `utility` and `protection`, where there are any.

    `policy` is the name of the policy they are points of.
    """

    results: Sequence[Result]
    utility: str | None
    protection: str | None
    policy: str = ""

    @property
    def best(self) -> Result | None:
        """The passing point with the best utility, the first among equals; without utility, the first that passes."""
        passing = [result for result in self.results if result.verdict == "pass"]
        if self.utility is None or not passing:
            return passing[0] if passing else None
        return max(passing, key=lambda result: _utility(result, self.utility))

    @property
    def exit_code(self) -> int:
        """0 when some release passes, 1 when one fails and none passes, else 3."""
        verdicts = {result.verdict for result in self.results}
        return EXIT_CODES["pass" if "pass" in verdicts else "fail" if "fail" in verdicts else "inconclusive"]


def outcome_of(results: Sequence[Result], policies: Sequence[Policy]) -> SweepOutcome:
    """The outcome, with the policy's first utility metric (else its first cost) and its first protection metric."""
    metrics: list[Metric] = [metric for policy in policies for metric in policy.metrics]
    whole = [metric for metric in metrics if not metric.judges]
    utility = [metric.called for of in ("use", "cost") for metric in whole if metric.measures == of]
    protection = [metric.called for metric in metrics if metric.judges]
    return SweepOutcome(results, _first(utility), _first(protection), policies[0].name)


def _first(names: Sequence[str]) -> str | None:
    return names[0] if names else None


def finding_of(result: Result, metric: str | None) -> Mapping[str, Any] | None:
    """The worst finding of a metric at one point, if it has any."""
    return worst_finding([] if result.report is None else result.report["findings"], metric)


def _utility(result: Result, metric: str | None) -> float:
    """The value, the more the better; of a cost its negative."""
    finding = finding_of(result, metric)
    value = None if finding is None else near_end(finding["value"])
    if finding is None or value is None:
        return float("-inf")
    return value if "at_least" in finding["limit"] else -value


def value_of(result: Result, metric: str | None) -> Any:
    finding = finding_of(result, metric)
    return None if finding is None else finding["value"]


def columns_of(outcome: SweepOutcome) -> list[str]:
    """Every limit that some point was held against, in the order they first appear."""
    reports = [result.report for result in outcome.results if result.report is not None]
    return list(dict.fromkeys(f["id"] for report in reports for f in report["findings"] if f["limit"]))


def as_csv(outcome: SweepOutcome) -> bytes:
    """One line a point: swept values, verdict, the value of each finding (masked counts in words), broken limits."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    ids = columns_of(outcome)
    out.writerow(map(_as_text, [*outcome.results[0].point.values, "verdict", *ids, "problem", "fails on"]))
    for result in outcome.results:
        findings = {} if result.report is None else {f["id"]: f for f in result.report["findings"]}
        values = [_cell(findings[each]) if each in findings else "" for each in ids]
        swept = map(setting_words, result.point.values.values())
        out.writerow(map(_as_text, [*swept, result.verdict, *values, result.problem, ", ".join(result.fails_on)]))
    return text.getvalue().encode()


def _as_text(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: numbers as they are, an apostrophe before what looks like one."""
    number = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|-inf", cell, re.ASCII | re.IGNORECASE)
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) and not number else cell


def _cell(finding: Mapping[str, Any]) -> str:
    """A number as it is; a veiled one, and a limit that is only said to hold or not, in words."""
    value = finding["value"]
    if value is None:
        return {True: "holds", False: "broken", None: ""}[finding["passed"]]
    return number_words(value) if isinstance(value, Mapping) else repr(float(value))


def as_document(outcome: SweepOutcome, audience: str, *, numbers: bool = True) -> dict[str, Any]:
    """The outcome as JSON; each point names the folder its files went to, and with `numbers` its findings."""
    best = outcome.best
    return {
        "format": SWEEP_FORMAT,
        "audience": audience,
        "policy": outcome.policy,
        "utility": outcome.utility,
        "protection": outcome.protection,
        "best": None if best is None else best.folder,
        "points": [_point(result, numbers=numbers) for result in outcome.results],
    }


def _point(result: Result, *, numbers: bool) -> dict[str, Any]:
    findings = result.report["findings"] if result.report is not None and numbers else []
    kept = ("id", "metric", "value", "limit", "passed")
    return {
        "values": dict(result.point.values),
        "folder": result.folder,
        "verdict": result.verdict,
        "problem": result.problem,
        "findings": [{key: finding[key] for key in kept} for finding in findings],
        "fails_on": [*result.fails_on] if numbers else [],
    }


def table_lines(outcome: SweepOutcome, *, numbers: bool = True) -> Iterator[str]:
    """The outcome as a table for people, and the release to take; without `numbers` the verdicts alone."""
    metrics = [name for name in (outcome.protection, outcome.utility) if name is not None and numbers]
    rows = [[*outcome.results[0].point.values, *metrics, "verdict"]]
    for result in outcome.results:
        words = [_word(finding_of(result, name)) for name in metrics]
        rows.append([*map(setting_words, result.point.values.values()), *words, MARKS[result.verdict]])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    reasons = [", ".join(result.fails_on) if numbers else "" for result in outcome.results]
    broken = ["fails on", *reasons] if any(reasons) else [""] * len(rows)
    for row, reason in zip(rows, broken, strict=True):
        cells = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        yield f"{cells}  {reason}".rstrip()
    for result in outcome.results:
        if result.problem:
            yield f"{result.point.label}: {result.problem}"
    yield _verdict(outcome, numbers=numbers)


def _word(finding: Mapping[str, Any] | None) -> str:
    if finding is None or (finding["value"] is None and finding["passed"] is None):
        return "-"
    return number_words(finding["value"]) if finding["value"] is not None else _cell(finding)


def _verdict(outcome: SweepOutcome, *, numbers: bool) -> str:
    best = outcome.best
    if best is None:
        return "No release passes the policy."
    value = value_of(best, outcome.utility)
    if value is None:
        return (
            f"The first release that passes: {best.point.label} ({best.folder}); no number says which is most useful."
        )
    text = f"{number_words(value)} with " if numbers else ""
    return f"The best {outcome.utility} that passes: {text}{best.point.label} ({best.folder})"


MAX_SHORT_LENGTH = 32


def sweep_picture(sweep: JsonObject) -> bytes:
    """The picture of a sweep: each point is named by its values.

    Across: protection; up: utility. Without a utility metric protection is drawn over the points in
    their order. Equal documents give equal bytes.
    """
    named = (sweep["protection"], sweep["utility"])
    if None in named:
        named = ("point", sweep["protection"] or sweep["utility"])
    dots, limits = [], (_limit(sweep, named[0]), _limit(sweep, named[1]))
    for i, point in enumerate(sweep["points"]):
        x = float(i + 1) if named[0] == "point" else _score(point, named[0])
        y = _score(point, named[1])
        if x is not None and y is not None:
            label = ", ".join(map(_short_words, point["values"].values()))
            dots.append(Dot(x, y, point["verdict"], label))
    return picture(dots, (str(named[0]), str(named[1])), limits)


def _short_words(value: Any) -> str:
    """The value of an option in few letters: of a mapping only its values."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    text = " ".join(map(_short_words, parts)) if isinstance(value, dict | list) and value else setting_words(value)
    return shorten(text, MAX_SHORT_LENGTH)


def _score(point: JsonObject, metric: str | None) -> float | None:
    finding = worst_finding(point["findings"], metric)
    return None if finding is None else near_end(finding["value"])


def _limit(sweep: JsonObject, metric: str | None) -> float | None:
    """The metric's limit, if it is the same at every point."""
    findings = [worst_finding(point["findings"], metric) for point in sweep["points"]]
    limits = {limit for f in findings if f is not None for key, limit in f["limit"].items() if key.startswith("at_")}
    return float(limits.pop()) if len(limits) == 1 else None
