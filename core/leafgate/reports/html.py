"""A report as one self-contained HTML page: no script, no request, for light, dark and print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from leafgate.disclosure import wording
from leafgate.disclosure.questions import ANSWER_STATES, answers
from leafgate.disclosure.summary import findings_by_urgency, in_short, remedies_once
from leafgate.io.json import JsonDocument, JsonObject
from leafgate.io.text import clean
from leafgate.reports.common import MAX_LISTED, exposed_groups, limit_row, path_conditions, report_values
from leafgate.reports.markdown import MAX_TEXT
from leafgate.reports.svg_histogram import histogram
from leafgate.reports.svg_roc import roc_figures
from leafgate.reports.svg_tree import RISKS, class_words, tree_picture

CODE = re.compile(r"`([^`]+)`")
"""What texts mark as code."""
MAX_EXPOSED = 20
"""Broken limits whose groups of people are listed."""
MAX_FIGURES = 24
"""Histograms, curves, and accuracies of attacks."""
MAX_CARDS = 200
"""Nodes of the tree that can be opened."""
MAX_LIMITS_ON_CARD = 4


def html(report: JsonObject) -> bytes:
    """The page of a report; equal reports give equal bytes."""
    return environment().get_template("report.html.j2").render(**template_context(report)).encode() + b"\n"


def tree_page(tree: JsonObject) -> str:
    """The page of a tree, from its builder, the number of trees of its release, and its nodes."""
    picture = tree_picture(tree["nodes"]) if tree["nodes"] else None
    return environment().get_template("tree.html.j2").render(use=tree["builder"], trees=tree["trees"], picture=picture)


@cache
def environment() -> Environment:
    """The templates of pages, with what they call: every value is escaped, and a missing one is an error."""
    templates = Environment(
        loader=PackageLoader("leafgate.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value, MAX_TEXT) if type(value) is str else value,
    )
    templates.filters["number"] = wording.number_words
    templates.filters["quoted"] = wording.quoted_name
    templates.filters["with_code"] = with_code
    templates.filters["people_words"] = wording.people_words
    templates.globals["short"] = lambda name: clean(name, 60)
    return templates


def with_code(text: str) -> Markup:
    """A line of text, escaped, with what stands between backticks as code.

    >>> str(with_code("set `build.k` to 20; 1 < 2"))
    'set <code>build.k</code> to 20; 1 &lt; 2'
    """
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(clean(text, 1000)))))  # noqa: S704  # it is escaped


def template_context(report: JsonObject) -> JsonDocument:
    """The values that the template prints."""
    findings = findings_by_urgency(report)
    tree = report.get("tree")
    nodes = tree["nodes"] if tree else []
    drawn = list(_drawn(findings))
    labelled = tree is not None and bool(tree["coloured"] or "words" in nodes[0])
    names = {finding["id"]: wording.metric_words(finding) for finding in findings}
    return report_values(report) | {
        "size": wording.release_words(report["release"]) if report["release"] else "",
        "answers": sorted(answers(report), key=lambda answer: ANSWER_STATES.index(answer.state)),
        "exposed": list(islice(exposed_groups(findings), MAX_EXPOSED)),
        "limits": [limit_row(finding) for finding in findings[:MAX_LISTED]],
        "more": max(len(findings) - MAX_LISTED, 0),
        "tree": tree,
        "picture": tree_picture(nodes) if labelled else None,
        "hidden_tree": bool(nodes) and not labelled,
        "of_release": any(wording.finding_state(each) != "passed" and each["beyond"] is None for each in findings),
        "larger_classes": any("equivalence_class" in node for node in nodes),
        "cards": [_card(nodes, i, names) for i in range(len(nodes))][:MAX_CARDS] if labelled else [],
        "histograms": [histogram(finding) for finding in drawn[:MAX_FIGURES]],
        "averaged": any(finding["limit"].get("average") for finding in drawn),
        "curves": list(islice(roc_figures(findings), MAX_FIGURES)),
        "guesses": report.get("guesses", [])[:MAX_FIGURES],
        "hidden_guesses": _hides_guesses(report),
        "in_short": list(_in_short(report)),
    }


def _in_short(report: JsonObject) -> Iterator[tuple[str, list[str]]]:
    """The short words about a report, without what the answers to questions say, and with every remedy."""
    for heading, lines in in_short(report):
        every = remedies_once(report) if heading == "What to change" else lines
        if every and heading != "How":
            yield heading, every


def _hides_guesses(report: JsonObject) -> bool:
    """Is a public report without the accuracy of attacks that infer a secret?"""
    infers = any(finding["attack"] is not None and finding["secret"] is not None for finding in report["findings"])
    return infers and report["audience"] == "public" and not report.get("guesses")


def _drawn(findings: list[JsonObject]) -> Iterator[JsonObject]:
    """The findings with a histogram, each histogram once: a claim and a limit of the policy may have the same."""
    drawn = []
    for finding in findings:
        bars = finding.get("distribution", ())
        if bars and (bars, finding["limit"]) not in drawn:
            drawn.append((bars, finding["limit"]))
            yield finding


def _card(nodes: list[JsonObject], i: int, names: Mapping[str, str]) -> JsonDocument:
    """The card of a node, which opens when it is selected."""
    node = nodes[i]
    return {
        "place": i,
        "kind": node["kind"],
        "leaves": node["leaves"],
        "leaves_past": node.get("leaves_past"),
        "risk": RISKS[node.get("risk") or ""],
        "mark": node.get("risk") or "",
        "way": path_conditions(nodes, i),
        "words": node.get("words"),
        "people": node.get("people"),
        "class_words": class_words(node),
        "past": [(names.get(limit, limit), people) for limit, people in _most(node.get("past", {}))],
        "past_more": max(len(node.get("past", {})) - MAX_LIMITS_ON_CARD, 0),
        "beliefs": [_belief(belief) for belief in node.get("beliefs", ())],
    }


def _most(past: JsonObject) -> list[tuple[str, object]]:
    """The limits that the most people of a node are outside of."""
    ordered = sorted(past.items(), key=lambda item: -int(item[1]) if isinstance(item[1], int) else 0)
    return ordered[:MAX_LIMITS_ON_CARD]


def _belief(belief: JsonObject) -> str:
    [(value, chance)] = belief["believed"].items()
    true = ", ".join(f"{wording.number_words(count)} {name}" for name, count in belief["true"].items())
    return f"{belief['attack']} believes {belief['secret']} is {value} ({100 * chance:.3g} %); in truth: {true}"
