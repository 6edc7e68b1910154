"""A report as one HTML page that needs nothing else: no script, no request, light and dark, fit to be printed."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from leafgate.disclosure.text import (
    audited_file,
    idle_waivers,
    number,
    people_words,
    quoted,
    release_words,
    verdict_words,
)
from leafgate.reports.common import (
    again,
    alarmed,
    clean,
    command,
    counted,
    data_digest,
    explained,
    findings_by_urgency,
    sentence,
    shortly,
    state,
    way_to,
)
from leafgate.reports.interpretation import meaning, method_lines
from leafgate.reports.svg_histogram import histogram
from leafgate.reports.svg_tree import RISKS, class_words, tree_picture

if TYPE_CHECKING:
    from leafgate.types.release import Release

WORST, LISTED, DRAWN, CARDS, LINES = 3, 400, 24, 200, 4
"""So many findings stand first, are listed, and are drawn; so many nodes have a card, with so many limits on it."""


def html(report: Mapping[str, Any], frontier: bytes = b"") -> bytes:
    """The page of a report, with the picture of a sweep where there is one; equal reports give equal bytes."""
    picture = f"data:image/svg+xml;base64,{b64encode(frontier).decode()}" if frontier else ""
    page = environment().get_template("report.html.j2").render(**template_context(report), frontier=Markup(picture))  # noqa: S704
    return page.encode() + b"\n"


def tree_page(release: Release) -> str:
    """The first tree of a release that asks anything as a page, with whatever the release tells."""
    from leafgate.disclosure.masking import CountMask, redact_object
    from leafgate.engine.figures import bare_view

    unmasked = CountMask(1, released=True)
    nodes = [redact_object(node, unmasked, "auditor") for node in bare_view(release)] if release.trees else []
    picture = tree_picture(nodes) if nodes else None
    facts = {"use": release.builder.get("use", "?"), "trees": len(release.trees), "picture": picture}
    return environment().get_template("tree.html.j2").render(**facts)


@cache
def environment() -> Environment:
    """Templates that escape whatever they are given and refuse what they are not."""
    made = Environment(
        loader=PackageLoader("leafgate.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda said: clean(said, 1000) if type(said) is str else said,
    )
    made.filters["number"] = number
    made.globals["state"] = state
    made.globals["alarmed"] = alarmed
    made.globals["explained"] = explained
    made.globals["sentence"] = sentence
    made.globals["shortly"] = shortly
    made.filters["quoted"] = quoted
    made.filters["people_words"] = people_words
    made.globals["short"] = lambda name: clean(name, 60)
    return made


def template_context(report: Mapping[str, Any]) -> dict[str, Any]:
    """Everything the template shows."""
    findings = findings_by_urgency(report)
    tree = report.get("tree")
    nodes = tree["nodes"] if tree else []
    drawn = list(_drawn(findings))
    return {
        "report": report,
        "verdict": verdict_words(report),
        "counted": counted(report),
        "data_digest": data_digest(report),
        "file": audited_file(report),
        "size": release_words(report["release"]) if report["release"] else "",
        "worst": [finding for finding in findings if state(finding) != "passed"][:WORST],
        "findings": findings[:LISTED],
        "more": max(len(findings) - LISTED, 0),
        "tree": tree,
        "picture": tree_picture(nodes) if nodes else None,
        "larger_classes": any("equivalence_class" in node for node in nodes),
        "cards": [_card(nodes, i) for i in range(len(nodes))][:CARDS],
        "histograms": [histogram(finding) for finding in drawn[:DRAWN]],
        "averaged": any(finding["limit"].get("average") for finding in drawn),
        "guesses": report.get("guesses", [])[:DRAWN],
        "idle": list(idle_waivers(report))[:LISTED],
        "meaning": meaning(report),
        "method": list(method_lines(report)),
        "again": again(report),
        "command": command(report),
    }


def _drawn(findings: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The findings with a histogram, each histogram once: a claim is often a limit of the policy too."""
    seen = []
    for finding in findings:
        bars = finding.get("distribution", ())
        if bars and (bars, finding["limit"]) not in seen:
            seen.append((bars, finding["limit"]))
            yield finding


def _card(nodes: list[Mapping[str, Any]], i: int) -> dict[str, Any]:
    """What is told of one node when it is opened."""
    node = nodes[i]
    return {
        "place": i,
        "kind": node["kind"],
        "leaves": node["leaves"],
        "leaves_past": node.get("leaves_past"),
        "risk": RISKS[node.get("risk") or ""],
        "mark": node.get("risk") or "",
        "way": way_to(nodes, i),
        "words": node.get("words"),
        "people": node.get("people"),
        "class_words": class_words(node),
        "past": _most(node.get("past", {})),
        "past_more": max(len(node.get("past", {})) - LINES, 0),
        "beliefs": [_belief(belief) for belief in node.get("beliefs", ())],
    }


def _most(past: Mapping[str, Any]) -> dict[str, Any]:
    """The limits that most people of a node are past."""
    ordered = sorted(past.items(), key=lambda one: -int(one[1]) if isinstance(one[1], int) else 0)
    return dict(ordered[:LINES])


def _belief(belief: Mapping[str, Any]) -> str:
    [(value, chance)] = belief["believed"].items()
    true = ", ".join(f"{number(count)} {name}" for name, count in belief["true"].items())
    return f"{belief['attack']} believes {belief['secret']} is {value} ({100 * chance:.3g} %); in truth: {true}"
