"""A report as Markdown, for a CI job's summary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from leafgate.disclosure.text import audited_file, idle_waivers, people_words, quoted, verdict_words
from leafgate.reports.common import (
    LONGEST,
    again,
    alarmed,
    clean,
    command,
    counted,
    data_digest,
    explained,
    findings_by_urgency,
    sentence,
    state,
)
from leafgate.reports.interpretation import meaning, method_lines

LINKED = re.compile(r"(?i)(www|https?|ftp|mailto|xmpp)([.:])")
SIGNS = {"failed": "❌", "inconclusive": "❓", "waived": "⚠️", "passed": "✅"}
DETAILED, LISTED = 20, 1000
"""So many findings are explained and listed: a job's summary holds a megabyte."""


def markdown(report: Mapping[str, Any]) -> bytes:
    """The verdict, the findings as a table and the worst explained; whatever comes from a policy is escaped."""
    return "".join(f"{line}\n" for line in _lines(report)).encode()


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {_safe(report['policy']['name'])}: {_safe(verdict_words(report))}"
    yield ""
    release, data = report["release"], report["data"]
    if file := audited_file(report):
        yield f"- audited file {_safe(quoted(file['name']))} ({_safe(file['format'])}), sha256 `{file['sha256']}`"
    yield f"- policy `{report['policy']['sha256'][:16]}`"
    if release is not None:
        yield f"- release `{release['sha256'][:16]}` by {_safe(release['builder'].get('use', '?'))}"
    if "people" in data:
        what, digest = data_digest(report)
        yield f"- {_safe(people_words(data))}, {what}" + (f" `{digest[:16]}`" if digest else "")
    yield "- " + ", ".join(f"{count} {kind}" for kind, count in counted(report).items() if count)
    yield ""
    yield "| | finding | line |"
    yield "|---|---|---|"
    findings = findings_by_urgency(report)
    for finding in findings[:LISTED]:
        where = finding.get("where") or {}
        line = f"{_safe(where['file'])}:{where['line']}" if where else ""
        yield f"| {SIGNS[state(finding)]} | {_found(finding)} | {line} |"
    if len(findings) > LISTED:
        yield f"| | and {len(findings) - LISTED} more | |"
    for finding in [one for one in findings if state(one) != "passed"][:DETAILED]:
        yield from _explained(finding)
    yield from _ending(report)


def _found(finding: Mapping[str, Any]) -> str:
    """A cell of the table: what it means, and below it what was found."""
    said = alarmed(finding)
    return (f"**{_safe(said)}**<br>" if said else "") + _safe(sentence(finding))


def _explained(finding: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield f"**{_safe(finding['id'])}** ({state(finding)})"
    yield ""
    yield from (f"- {_safe(line)}" for line in explained(finding))


def _ending(report: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    items = [*idle_waivers(report), *report["notes"], *meaning(report)]
    yield from (f"> {_safe(line)}  " for line in items[:LISTED])
    yield ""
    yield from (f"- **{_safe(what)}**: {_safe(line)}" for what, line in list(method_lines(report))[:LISTED])
    yield ""
    yield f"{_safe(again(report))} `{command(report)}`"


def _safe(text: object) -> str:
    """A text that Markdown and HTML take as it is."""
    escaped = re.sub(r"([\\`*_{}\[\]()#+!|<>&~@$:-])", _escaped, clean(text, 4 * LONGEST))
    return LINKED.sub(lambda link: f"{link[1]}&#{ord(link[2])};", escaped)  # no address becomes a link


def _escaped(found: re.Match[str]) -> str:
    sign = found.group(1)
    return {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;", "|": "&#124;"}.get(
        sign, sign if sign in ":-()+!" else f"\\{sign}"
    )
