"""What a report states besides its findings, each as a line; a framework names what it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from leafgate.disclosure.summary import FINDING_STATES, finding_state, what_to_change
from leafgate.disclosure.text import audited_file, file_words, ledger_words, people_words, release_words
from leafgate.io.json import JsonObject
from leafgate.reports.common import command, data_digest
from leafgate.reports.interpretation import method_lines

FactName = Literal[
    "adversary",
    "attacks",
    "claims",
    "data",
    "earlier_releases",
    "limits",
    "masking",
    "notes",
    "policy",
    "published",
    "release",
    "remedies",
    "reproduction",
    "versions",
    "waivers",
]


def fact_line(report: JsonObject, name: FactName) -> str:
    """What a report states, in one sentence or list; empty where it states nothing of the kind."""
    return FACTS[name](report)


def _method(report: JsonObject, *headings: str) -> str:
    """The lines of the threat model whose headings begin with one of these words."""
    lines = [(what, line) for what, line in method_lines(report) if what.startswith(headings)]
    if len(headings) == 1 and len(lines) == 1:
        return lines[0][1]
    return "; ".join(f"{what[:1].lower()}{what[1:]}: {line}" for what, line in lines)


def _attacks(report: JsonObject) -> str:
    return ", ".join(str(attack["name"]) for attack in (report.get("method") or {"attacks": ()})["attacks"])


def _claims(report: JsonObject) -> str:
    return _method(report, "The release claims")


def _data(report: JsonObject) -> str:
    if "people" not in report["data"]:
        return ""
    what, digest = data_digest(report)
    return f"{people_words(report['data'])}; {what}{f' {digest}' if digest else ''}"


def _earlier_releases(report: JsonObject) -> str:
    others = (report.get("method") or {}).get("other_releases", 0)
    had = [f"{others} other release{'' if others == 1 else 's'} of these people"] if others else []
    return "; ".join([*had, *filter(None, [ledger_words(report)])])


def _limits(report: JsonObject) -> str:
    states = [finding_state(finding) for finding in report["findings"]]
    return ", ".join(f"{states.count(state)} {state}" for state in FINDING_STATES if state in states)


def _masking(report: JsonObject) -> str:
    if report["audience"] == "auditor":
        return "none: this report is for auditors, with exact numbers and the paths of exposed people"
    return "the report is public: numbers of few people are suppressed, all others rounded to one grid"


def _notes(report: JsonObject) -> str:
    return " ".join(report["notes"])


def _policy(report: JsonObject) -> str:
    policy = report["policy"]
    waivers = f"; its waivers sha256 {policy['waivers_sha256']}" if policy.get("waivers_sha256") else ""
    return f"{policy['name']}, sha256 {policy['sha256']}{waivers}"


def _published(report: JsonObject) -> str:
    return _method(report, "Published")


def _release(report: JsonObject) -> str:
    release, file = report["release"], audited_file(report)
    if release is None:
        return ""
    read_from = f"; read from the file {file_words(file)}" if file else ""
    return f"{release_words(release)}, sha256 {release['sha256']}{read_from}"


def _remedies(report: JsonObject) -> str:
    return " ".join(what_to_change(report))


def _reproduction(report: JsonObject) -> str:
    return command(report)


def _versions(report: JsonObject) -> str:
    return ", ".join(f"{name} {version}" for name, version in report["versions"].items())


def _waivers(report: JsonObject) -> str:
    lines = [
        f"{waiver['id']} of {waiver['finding']} until {waiver['expires']}, asked for by {waiver['owner']}, approved by "
        f"{waiver['approved_by']} ({waiver['status'].replace('_', ' ')})"
        for waiver in report.get("waivers", ())
    ]
    return "; ".join(lines) or "none"


FACTS: Mapping[FactName, Callable[[JsonObject], str]] = {
    "adversary": lambda report: _method(report, "The adversary knows", "It does not know", "Secret"),
    "attacks": _attacks,
    "claims": _claims,
    "data": _data,
    "earlier_releases": _earlier_releases,
    "limits": _limits,
    "masking": _masking,
    "notes": _notes,
    "policy": _policy,
    "published": _published,
    "release": _release,
    "remedies": _remedies,
    "reproduction": _reproduction,
    "versions": _versions,
    "waivers": _waivers,
}
TITLES: Mapping[FactName, str] = {
    "adversary": "what the adversary knows",
    "attacks": "attacks that were run",
    "claims": "what the output promises",
    "data": "the data",
    "earlier_releases": "earlier outputs about these people",
    "limits": "limits by their outcome",
    "masking": "masking of the report",
    "notes": "notes of the report",
    "policy": "the policy",
    "published": "what is published",
    "release": "the output",
    "remedies": "what would help",
    "reproduction": "the command that makes the report again",
    "versions": "versions of the programs",
    "waivers": "waivers",
}
"""What documents for people call each fact."""
