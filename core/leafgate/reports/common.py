"""Texts and orders that several views share, without control characters and of bounded length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from leafgate.disclosure import wording
from leafgate.disclosure.questions import questions_not_examined
from leafgate.disclosure.summary import counted_meaning, plain_meaning
from leafgate.io.json import JsonDocument, JsonObject
from leafgate.io.text import LONGEST, clean
from leafgate.kernel.findings import FINDING_STATES
from leafgate.reports import inference_table
from leafgate.reports.count_tables import MAX_TABLES, TITLE, count_tables
from leafgate.reports.inference_table import HEADINGS, READING, inference_rows
from leafgate.reports.interpretation import meaning, method_lines

MAX_LISTED = 400
"""Findings in the table of a page, and notes of one kind."""
MAX_INFERENCES = 100
"""Rows of the table of inferred inputs."""


def report_values(report: JsonObject) -> JsonDocument:
    """The values that a report's page and its Markdown both print."""
    inferences, counts = list(inference_rows(report["findings"])), count_tables(report["findings"])
    return {
        "report": report,
        "verdict": wording.verdict_words(report),
        "counted": state_counts(report),
        "data_digest": data_digest(report),
        "file": wording.audited_file(report),
        "not_examined": questions_not_examined(report),
        "inference": {"title": inference_table.TITLE, "reading": READING, "headings": HEADINGS},
        "inferences": inferences[:MAX_INFERENCES],
        "more_inferences": max(len(inferences) - MAX_INFERENCES, 0),
        "counts": {"title": TITLE, "tables": counts[:MAX_TABLES], "more": max(len(counts) - MAX_TABLES, 0)},
        "decisions": wording.decisions(report["notes"])[:MAX_LISTED],
        "notes": wording.statements(report["notes"]),
        "idle": list(wording.idle_waiver_lines(report))[:MAX_LISTED],
        "meaning": meaning(report),
        "method": list(method_lines(report)),
        "again": reproduction_note(report),
        "command": command(report),
    }


def sentence(finding: JsonObject) -> str:
    """A finding in one line."""
    return clean(wording.finding_headline(finding), 4 * LONGEST)


def message(finding: JsonObject) -> str:
    """The meaning and the result of a finding in one line."""
    return " ".join(filter(None, [plain_meaning(finding), sentence(finding)]))


def detail_lines(finding: JsonObject) -> list[str]:
    """The details of a finding, a line each."""
    return [clean(line, 4 * LONGEST) for line in wording.finding_details(finding)]


def limit_row(finding: JsonObject) -> JsonDocument:
    """A limit for readers: its state, what it means, its score, details without remedies and groups, and its id."""
    evidence = {key: value for key, value in finding["evidence"].items() if key != "worst"}
    state = wording.finding_state(finding)
    counted = {"beyond": None} if state == "failed" else {}  # what it means has the number
    details = wording.finding_details({**finding, "evidence": evidence, "remedies": (), **counted})
    return {
        "state": state,
        "means": counted_meaning(finding),
        "result": wording.as_sentence(wording.finding_result(finding)),
        "details": [clean(line, 4 * LONGEST) for line in details],
        "id": finding["id"],
        "where": finding.get("where"),
        "plugin": finding["plugin"],
    }


def exposed_groups(findings: Sequence[JsonObject]) -> Iterator[tuple[str, list[str]]]:
    """What each broken limit means, with its worst groups of people, each group once."""
    shown = set[str]()
    for finding in findings:
        groups = finding["evidence"].get("worst", ()) if wording.finding_state(finding) == "failed" else ()
        lines = dict.fromkeys(clean(wording.exposed_words(group, finding["secret"]), 4 * LONGEST) for group in groups)
        if lines:
            new = [line for line in lines if line not in shown]
            yield counted_meaning(finding), new or ["The same people as above."]
            shown.update(new)


def state_counts(report: JsonObject) -> dict[str, int]:
    """The number of findings in each state, the most urgent first."""
    states = [wording.finding_state(finding) for finding in report["findings"]]
    return {kind: states.count(kind) for kind in FINDING_STATES}


def marked_leaves(report: JsonObject) -> Iterator[tuple[int, JsonObject]]:
    """The drawn leaves with people outside a limit, with their node numbers; none in an uncoloured tree."""
    tree = report.get("tree")
    for i, node in enumerate(tree["nodes"] if tree and tree["coloured"] else ()):
        if node["kind"] == "leaf" and node["risk"] == "past":
            yield i, node


def path_conditions(nodes: Sequence[JsonObject], place: int) -> list[str]:
    """The conditions on the path from the root to a node, as far as the report has them, without implied ones."""
    document: dict[tuple[str, str], str] = {}
    while (parent := nodes[place]["parent"]) is not None:
        if "way" in nodes[place] and "words" in nodes[parent]:
            column, way = nodes[parent]["words"], nodes[place]["way"]
            document.setdefault((column, way[0] if way.startswith(("<", ">")) else ""), f"{column} {way}")
        place = parent
    return list(document.values())[::-1]


def path_from_root(report: JsonObject, file: str) -> str:
    """The path of a file of the policy from the repository's root."""
    folder = report["policy"].get("folder")
    return f"{folder}/{file}" if folder else file


def place(report: JsonObject, where: JsonObject) -> str:
    """The path of a file from the root of its repository, as far as the report has it, where code views look for it."""
    folder = where.get("folder", report["policy"].get("folder", ""))
    return f"{folder}/{where['file']}" if folder else str(where["file"])


def command(report: JsonObject) -> str:
    """The command that reproduces the report; words in capitals stand for names that reports do not have.

    A release that must not be drawn again gets the line of a policy that audits its file instead.
    """
    if report["release"] and report["release"].get("drawn_once"):
        return "build: {use: published, path: release.json}"
    from leafgate.policy.sources import display_path

    file = path_from_root(report, str(report["policy"].get("file") or ""))
    words = ["leafgate", "audit", display_path(Path(file), "POLICY") if file else "POLICY"]
    for word in report["policy"].get("given", ()):
        words.append(word if word in OPTIONS else display_path(Path(word), "FILE"))
    return " ".join([*words, "--out results", *(["--audience auditor"] if report["audience"] == "auditor" else [])])


OPTIONS = frozenset({"--root", "--org", "--test", "--no-remedies", "--ledger", "--ledger-key", "--roll-key"})


def reproduction_note(report: JsonObject) -> str:
    """The sentence before the command: what running it reproduces."""
    if report["release"] and report["release"].get("drawn_once"):
        return (
            "The release was drawn once, with coins nobody can draw again. A second draw is another release, and "
            "whoever sees both has a weaker promise: draw none. To audit this one again, write in the policy:"
        )
    day = f", judged on the same day ({report['judged_on']})," if report.get("judged_on") else ""
    return f"The same policy, data and versions{day} give the same report:"


DIGESTS = {"sha256": "data", "keyed_sha256": "data, keyed"}


def data_digest(report: JsonObject) -> tuple[str, str]:
    """The name of the data's digest, and the digest; empty where the report has none, which the name then explains."""
    items = ((name, report["data"][key]) for key, name in DIGESTS.items() if report["data"].get(key))
    return next(items, ("the data's digest is for auditors", ""))
