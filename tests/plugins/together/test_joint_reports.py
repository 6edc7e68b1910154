"""What reports of several releases show: which of them prove together whose secret, to auditors and to the public."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import pytest
from jsonschema import Draft4Validator

from leafgate.app import document
from nightly import JOIN, LEAVE, tonight
from reports import FILES, OF_FINDINGS, Page, view

SARIF_SCHEMA = json.loads((Path(__file__).parents[2] / "support" / "sarif-schema-2.1.0.json").read_bytes())
TOGETHER = "by this release together with releases[0] (old0.json) and releases[1] (old1.json)"
TITLE = "Counts of people"
HEADINGS = ["part", "people", "proved together", "proved by this release alone", "proved by the other alone"]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[Literal["public", "auditor"], dict[str, Any]]:
    """Both reports of an audit beside two earlier nights."""
    report = tonight(tmp_path_factory.mktemp("nights"), seed=0, nights=2).audit().report
    return {"auditor": dict(document(report, "auditor")), "public": dict(document(report, "public"))}


def exposure(report: dict[str, Any]) -> dict[str, Any]:
    return next(each for each in report["findings"] if each["id"] == "exposure@joint#ill")


def text_of(report: dict[str, Any], form: str) -> str:
    """The report in a format, without what escapes in Markdown and HTML."""
    text = view(report, form).decode()
    return re.sub(r"\\([\\`*_{}\[\]#~$])", r"\1", text) if form == "markdown" else text


def test_the_auditors_page_has_a_table_for_each_other_release(
    reports: dict[Literal["public", "auditor"], dict[str, Any]],
) -> None:
    counted = exposure(reports["auditor"])["evidence"]["came_and_left"]
    tables = Page(text_of(reports["auditor"], "html"), "scroll parts").tables
    assert len(tables) == len(counted) == 2
    for (headings, *rows), parts, nights in zip(tables, counted.values(), (1, 2), strict=True):
        assert headings == HEADINGS
        assert [row[:2] for row in rows] == [
            ["came", f"{JOIN * nights}"],
            ["left", f"{LEAVE}"],
            ["stayed", f"{200 - JOIN * nights - LEAVE}"],
        ]
        assert [row[1:] for row in rows] == [[f"{count}" for count in part.values()] for part in parts.values()]
    together = counted["releases[0] (old0.json)"]
    beyond = exposure(reports["auditor"])["beyond"]
    assert sum(together[part]["proved_together"] for part in ("came", "stayed")) == beyond == 12


def test_auditors_read_the_same_tables_in_markdown(reports: dict[Literal["public", "auditor"], dict[str, Any]]) -> None:
    text = text_of(reports["auditor"], "markdown").partition(f"**{TITLE}**")[2]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert rows == [row for table in Page(text_of(reports["auditor"], "html"), "scroll parts").tables for row in table]
    assert "joint on ill: came and left, releases[1] (old1.json)" in text


@pytest.mark.parametrize("form", OF_FINDINGS)
def test_auditors_read_who_stayed_and_is_proved_beside_either_release_alone(
    reports: dict[Literal["public", "auditor"], dict[str, Any]], form: str
) -> None:
    says = exposure(reports["auditor"])["evidence"]["says"]
    assert says.startswith(f"ill of 12 people is proved to outsiders {TOGETHER}. Since releases[0] (old0.json): ")
    stayed = exposure(reports["auditor"])["evidence"]["came_and_left"]["releases[0] (old0.json)"]["stayed"]
    alone = stayed["proved_by_this_release_alone"]
    assert stayed["proved_together"] > alone > 0
    assert f"{stayed['proved_together']} of {stayed['people']} who stayed; of those who stayed this release" in says
    assert f"alone proves {alone}, and that one alone 0" in says
    assert f"joint: {says}" in text_of(reports["auditor"], form)


@pytest.mark.parametrize("form", OF_FINDINGS)
@pytest.mark.parametrize("audience", ["auditor", "public"])
def test_every_report_names_the_releases_that_expose_people_together(
    reports: dict[Literal["public", "auditor"], dict[str, Any]], form: str, audience: Literal["public", "auditor"]
) -> None:
    counted = (form, audience) == ("html", "auditor")
    certain = (
        "For 12 of 195 people, it is certain what their ill is"
        if counted
        else "It is certain what some people's ill is"
    )
    text = text_of(reports[audience], form).replace("&#39;", "'")
    assert f"{certain}, {TOGETHER}." in text


def test_sarif_names_the_releases_in_its_messages(reports: dict[Literal["public", "auditor"], dict[str, Any]]) -> None:
    for report in reports.values():
        log = json.loads(view(report, "sarif"))
        Draft4Validator(SARIF_SCHEMA).validate(log)
        messages = [each["message"]["text"] for each in log["runs"][0]["results"]]
        assert len(messages) == 2
        assert all(TOGETHER in message.partition(".\n")[0] for message in messages)


@pytest.mark.parametrize("form", ["json", *FILES])
def test_the_public_reads_no_count_of_who_came_left_or_is_proved(
    reports: dict[Literal["public", "auditor"], dict[str, Any]], form: str
) -> None:
    public = reports["public"]
    assert set(exposure(public)["evidence"]) == {"scored_because"}
    text = json.dumps(public) if form == "json" else text_of(public, form)
    for words in (TITLE, "came", "stayed", "proved together", "to outsiders", "alone proves", "proofs", "person alone"):
        assert words not in text, words


def test_a_release_alone_is_named_with_no_other(tmp_path: Path) -> None:
    report = document(tonight(tmp_path, nights=0).audit().report, "auditor")
    finding = exposure(dict(report))
    assert finding["alarm"] == "it is certain what some people's ill is"
    assert "says" not in finding["evidence"]
    assert TITLE not in text_of(report, "html")


def test_many_releases_are_named_in_part_and_have_a_table_each(tmp_path: Path) -> None:
    report = document(tonight(tmp_path, n=100, nights=5).audit().report, "auditor")
    finding = exposure(dict(report))
    assert finding["alarm"].endswith("releases[1] (old1.json), releases[2] (old2.json) and 2 more")
    assert finding["evidence"]["says"].endswith(". 2 more releases are compared in the tables")
    assert len(Page(text_of(report, "html"), "scroll parts").tables) == 5
