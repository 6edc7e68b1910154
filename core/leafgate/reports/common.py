"""What every view says of a report, in words that are safe to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from leafgate.disclosure.text import alarm, details, group_words, headline, printable
from leafgate.policy.sources import display_path

LONGEST = 200
"""So many signs of a name are shown; the JSON has all of them."""
State = Literal["failed", "inconclusive", "waived", "passed"]
ORDER: Sequence[State] = ("failed", "inconclusive", "waived", "passed")


def state(finding: Mapping[str, Any]) -> State:
    """What became of a finding; a waived one is never called passed."""
    if "waiver" in finding:
        return "waived"
    return "inconclusive" if finding["passed"] is None else "passed" if finding["passed"] else "failed"


def clean(text: object, longest: int = LONGEST) -> str:
    """A text without control signs, marks of direction or line ends, and no longer than can be read."""
    result = printable(str(text))
    return result if len(result) <= longest else f"{result[: longest - 1]}…"


def findings_by_urgency(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Broken limits first, then what could not be told, what is waived, what holds; each in the policy's order."""
    return sorted(report["findings"], key=lambda finding: ORDER.index(state(finding)))


def sentence(finding: Mapping[str, Any]) -> str:
    """A finding in one line."""
    return clean(headline(finding), 4 * LONGEST)


def alarmed(finding: Mapping[str, Any]) -> str:
    """What it means, for people who know no metrics; empty where a limit holds, or nobody says so."""
    return clean(alarm(finding), 4 * LONGEST)


def message(finding: Mapping[str, Any]) -> str:
    """What it means and what was found, in one line."""
    return " ".join(filter(None, [alarmed(finding), sentence(finding)]))


def explained(finding: Mapping[str, Any]) -> list[str]:
    """The lines below it."""
    return [clean(line, 4 * LONGEST) for line in details(finding)]


def shortly(finding: Mapping[str, Any]) -> list[str]:
    """What most needs to be known of a finding: how many people, and its two worst groups."""
    worst = [group_words(group, finding["secret"]) for group in finding["evidence"].get("worst", ())]
    lines = [line for line in details(finding) if not worst or line in worst or "past the limit" in line]
    return [clean(line, 2 * LONGEST) for line in lines[:WORDS]]


WORDS = 3


def counted(report: Mapping[str, Any]) -> dict[State, int]:
    """How many findings there are of each kind."""
    states = [state(finding) for finding in report["findings"]]
    return {kind: states.count(kind) for kind in ORDER}


def marked_leaves(report: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The drawn leaves with people past a limit, by their place among the drawn nodes; none of a tree not coloured."""
    tree = report.get("tree")
    for i, node in enumerate(tree["nodes"] if tree and tree["coloured"] else ()):
        if node["kind"] == "leaf" and node["risk"] == "past":
            yield i, node


def way_to(nodes: Sequence[Mapping[str, Any]], place: int) -> list[str]:
    """The answers from the root to a node, in words, as far as the report tells them, without what later ones imply."""
    document: dict[tuple[str, str], str] = {}
    while (parent := nodes[place]["parent"]) is not None:
        if "way" in nodes[place] and "words" in nodes[parent]:
            column, way = nodes[parent]["words"], nodes[place]["way"]
            document.setdefault((column, way[0] if way.startswith(("<", ">")) else ""), f"{column} {way}")
        place = parent
    return list(document.values())[::-1]


def below(report: Mapping[str, Any], file: str) -> str:
    """A file of the policy, by its folder from the repository's root."""
    folder = report["policy"].get("folder")
    return f"{folder}/{file}" if folder else file


def place(report: Mapping[str, Any], where: Mapping[str, Any]) -> str:
    """A file from the root of its repository, as far as the report tells: where views of code look for it."""
    policy = report["policy"]
    folder = where.get("folder", policy.get("repository", policy.get("folder", "")))  # `repository`: older reports
    return f"{folder}/{where['file']}" if folder else str(where["file"])


def command(report: Mapping[str, Any]) -> str:
    """The command that makes the report again; words in capitals stand for names that are not told.

    Of a release that is not to be drawn again: what the policy must say, so that this one is audited.
    """
    if report["release"] and report["release"].get("drawn_once"):
        return "build: {use: published, path: release.json}"
    file = below(report, str(report["policy"].get("file") or ""))
    words = ["leafgate", "audit", display_path(Path(file), "POLICY") if file else "POLICY"]
    for word in report["policy"].get("given", ()):
        words.append(word if word in OPTIONS else display_path(Path(word), "FILE"))
    return " ".join([*words, "--out results", *(["--audience auditor"] if report["audience"] == "auditor" else [])])


OPTIONS = frozenset({"--root", "--org", "--test"})


def again(report: Mapping[str, Any]) -> str:
    """What comes of running the command again."""
    if report["release"] and report["release"].get("drawn_once"):
        return (
            "The release was drawn once, with coins nobody can draw again. A second draw is another release, and "
            "whoever sees both has a weaker promise: draw none. To audit this one again, write in the policy:"
        )
    day = f", judged on the same day ({report['judged_on']})," if report.get("judged_on") else ""
    return f"The same policy, data and versions{day} give the same report:"


DIGESTS = {"sha256": "data", "keyed_sha256": "data, keyed"}


def data_digest(report: Mapping[str, Any]) -> tuple[str, str]:
    """What to call the digest of the data, and the digest; where there is none to see, whom it is for."""
    items = ((name, report["data"][key]) for key, name in DIGESTS.items() if report["data"].get(key))
    return next(items, ("the data's digest is for auditors", ""))
