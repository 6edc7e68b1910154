"""What reports say to do about findings that are not ok, where nothing is tried."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from leafgate.api import InvalidError, Remedy
from leafgate.app import Report, document, open_session, parse_report, readable, summary
from reports import OF_FINDINGS, view
from survey import survey

UNPROTECTED = {"build": {"use": "id3"}, "metrics.0.at_least": 4}


def report_of(folder: Path, changes: Mapping[str, Any]) -> Report:
    return open_session(survey(folder, changes)).audit().report


def remedies_of(report: Report, id: str) -> tuple[Remedy, ...]:
    [finding] = [each for each in report.findings if each.id == id]
    return finding.remedies


def test_a_finding_that_holds_has_no_remedy(tmp_path: Path) -> None:
    report = report_of(tmp_path, {})
    assert report.verdict == "pass"
    assert all(finding.remedies == () for finding in report.findings)
    assert all("remedies" not in finding for finding in document(report, "auditor")["findings"])


@pytest.mark.parametrize(
    "changes",
    [
        UNPROTECTED,
        {"build": {"use": "kadet", "k": 25}},
        {"metrics.0": {"use": "accuracy", "at_least": 0.5}},
        {"metrics.0": {"use": "membership_advantage", "at_most": 0.6}},
        {"metrics.0": {"use": "membership_advantage", "at_most": 0.1}, "attacks.0": {"use": "loss_threshold"}},
        {"build": {"use": "dp_random_trees", "epsilon": 3, "depth": 1, "rehearsal": True}},
    ],
    ids=["failed", "no release", "no test table", "no such belief", "no candidates", "rehearsal"],
)
@pytest.mark.thorough
def test_every_finding_that_is_not_ok_says_what_to_do(tmp_path: Path, changes: dict[str, Any]) -> None:
    report = report_of(tmp_path, changes)
    assert report.verdict != "pass"
    for finding in report.findings:
        assert bool(finding.remedies) == (finding.passed is not True), finding.id


def test_an_unprotected_builder_is_told_to_make_larger_groups(tmp_path: Path) -> None:
    [remedy] = remedies_of(report_of(tmp_path, UNPROTECTED), "k_anonymity@linking#ill")
    assert (remedy.action, remedy.tried) == ("advise", False)
    assert "`build.min_leaf`" in remedy.text


def test_a_missing_test_table_is_added_where_the_policy_names_it(tmp_path: Path) -> None:
    [remedy] = remedies_of(report_of(tmp_path, {"metrics.0": {"use": "accuracy", "at_least": 0.5}}), "accuracy")
    assert (remedy.action, remedy.place) == ("add", "data.test")
    assert remedy.text == "`data.test`: Name one, or give --test FILE."


def test_a_limit_whose_attack_failed_refers_to_what_that_asks_for(tmp_path: Path) -> None:
    """And names no other attacks, which would fail for the same reason; without such an attack it names them."""
    limit = {"metrics.0": {"use": "membership_advantage", "at_most": 0.1}}
    report = report_of(tmp_path, {**limit, "attacks.0": {"use": "loss_threshold"}})
    assert [each.place for each in remedies_of(report, "attack:loss_threshold")] == ["data.control"]
    [remedy] = remedies_of(report, "membership_advantage@any")
    assert "`attack:loss_threshold`" in remedy.text
    others = remedies_of(report_of(tmp_path, limit), "membership_advantage@any")
    assert others
    assert all(each.action == "add" and each.place == "attacks" for each in others)


def test_details_are_for_auditors(tmp_path: Path) -> None:
    from dataclasses import replace

    report = report_of(tmp_path, UNPROTECTED)
    remedy = Remedy(action="set", text="Set it.", details="The smallest group has 31.", place="build.k", value=80)
    report = replace(report, findings=[replace(each, remedies=(remedy,)) for each in report.findings])
    public, full = (json.loads(readable(document(report, audience))) for audience in ("public", "auditor"))
    assert public["findings"][0]["remedies"] == [
        {"action": "set", "text": "Set it.", "place": "build.k", "value": 80, "tried": False}
    ]
    assert full["findings"][0]["remedies"][0]["details"] == "The smallest group has 31."
    assert "31" not in summary(public).replace(public["policy"]["sha256"], "")


def test_every_format_says_what_to_do(tmp_path: Path) -> None:
    report = json.loads(readable(document(report_of(tmp_path, UNPROTECTED), "public")))
    for form in OF_FINDINGS:
        assert "so that groups of people become larger" in view(report, form).decode(), form
    [result] = json.loads(view(report, "sarif"))["runs"][0]["results"]
    assert result["properties"]["remedies"] == report["findings"][0]["remedies"]


@pytest.mark.parametrize(
    "remedy",
    [
        {"action": "set", "text": "Do.", "tried": False},
        {"action": "run", "text": "Do.", "tried": False},
        {"action": "retrain", "text": "Do.", "parameters": {}, "tried": False},
        {"action": "dance", "text": "Do.", "tried": False},
        {"action": "advise", "text": "", "tried": False},
    ],
)
def test_a_stored_remedy_that_says_nothing_is_refused(tmp_path: Path, remedy: dict[str, Any]) -> None:
    report = json.loads(readable(document(report_of(tmp_path, UNPROTECTED), "public")))
    report["findings"][0]["remedies"] = [remedy]
    with pytest.raises(InvalidError, match="remedies"):
        parse_report(json.dumps(report).encode(), "report.json")


def test_a_finding_that_passes_with_remedies_is_refused(tmp_path: Path) -> None:
    report = json.loads(readable(document(report_of(tmp_path, {}), "public")))
    report["findings"][0]["remedies"] = [{"action": "advise", "text": "Do.", "tried": False}]
    with pytest.raises(InvalidError, match="passes"):
        parse_report(json.dumps(report).encode(), "report.json")
