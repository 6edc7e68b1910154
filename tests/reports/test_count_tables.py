"""Tables of counts on pages: whatever attack or metric states counts of parts of people, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pytest

from leafgate.api import AuditorOnly, PeopleCount
from leafgate.app import Finding, Report, document
from reports import HOSTILE, Page, view

PARTS: Mapping[str, Any] = {
    "old": {
        "came": {"people": PeopleCount(34), "proved": PeopleCount(3)},
        "left": {"people": PeopleCount(0), "proved": 0},
    }
}


def reported(evidence: Mapping[str, Any], audience: Literal["public", "auditor"] = "auditor") -> dict[str, Any]:
    """The report of two findings on one attack with this evidence."""
    findings = [
        Finding(f"{name}@seer#ill", name, False, attack="seer", secret="ill", evidence=evidence) for name in "ab"
    ]
    report = Report({"name": "p", "sha256": "0" * 64}, {"people": PeopleCount(100)}, None, findings, {}, 10)
    return dict(document(report, audience))


def tables_of(evidence: Mapping[str, Any], audience: Literal["public", "auditor"] = "auditor") -> list[list[list[str]]]:
    """The tables of counts on the page of the report, each with its headings."""
    return Page(view(reported(evidence, audience), "html"), "scroll parts").tables


def test_counts_of_parts_are_a_table_once_for_all_limits_on_an_attack() -> None:
    (table,) = tables_of({"came_and_left": PARTS, "groups": 3})
    assert table == [["part", "people", "proved"], ["came", "34", "3"], ["left", "0", "0"]]
    assert b"seer on ill: came and left, old" in view(reported({"came_and_left": PARTS}), "html")


def test_public_tables_have_masked_counts_and_none_that_is_for_auditors() -> None:
    (table,) = tables_of({"came_and_left": PARTS}, "public")
    assert table[1:] == [["came", "30 to 39", "fewer than 10"], ["left", "0", "0"]]
    assert tables_of({"came_and_left": AuditorOnly(PARTS)}, "public") == []
    assert tables_of({"came_and_left": {"old": AuditorOnly(PARTS["old"])}}, "public") == []


OTHERS: Mapping[str, Any] = {
    "a count": 3,
    "counts": {"came": 3},
    "counts of values": {"old": {"came": 3}},
    "shares": {"old": {"came": {"people": 0.5}}},
    "truths": {"old": {"came": {"people": True}}},
    "parts with other counts": {"old": {"came": {"people": 3}, "left": {"proved": 3}}},
    "numbers that are no counts": {"old": {"came": {"people": -1}}},
    "no parts": {"old": {}},
    "no counts": {"old": {"came": {}}},
}


@pytest.mark.parametrize("content", OTHERS.values(), ids=OTHERS)
def test_other_evidence_is_no_table(content: object) -> None:
    assert tables_of({"came_and_left": content}) == []


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_names_of_counts_are_nothing_but_text(name: str) -> None:
    report = reported({f"key{name}": {f"old{name}": {f"came{name}": {f"people{name}": 3}}}})
    page, text = view(report, "html").decode(), view(report, "markdown").decode()
    assert "<script" not in page + text
    assert page.count("<td data-heading=") == 2
    assert [line.count("|") for line in text.splitlines() if line.startswith("| came")] == [3]
    assert not [sign for sign in text if not sign.isprintable() and sign != "\n"]
