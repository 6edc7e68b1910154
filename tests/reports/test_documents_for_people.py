"""The paragraph for managers, the section of a model card, and the chart of attacks on the public page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reports import HOSTILE, audited, renamed, view

ENDINGS: dict[str, dict[str, Any]] = {
    "pass": {},
    "fail": {"metrics": [{"use": "k_anonymity", "at_least": 24}, {"use": "exposure", "at_most": 0}]},
    "inconclusive": {"metrics": [{"use": "accuracy", "at_least": 0.5}]},
    "no release": {"build.k": 25},
}
KNOWN = {"data.columns.smoker.role": "quasi_identifier", "publish": {"leaves": "counts"}}
"""Where the adversary knows every input, the leaves count the people of each group."""


def paragraph(report: dict[str, Any]) -> str:
    return view(report, "manager").decode()


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_paragraph_is_one_line_without_names_of_metrics(tmp_path: Path, ending: str) -> None:
    text = paragraph(audited(tmp_path, ENDINGS[ending], audience="public"))
    assert text.count("\n") == 1
    assert not re.search(r"@|#|k_anonymity|at_least|`", text.partition("What would help")[0])
    assert text.rstrip().endswith("Whether it may leave is decided by people, and not by this text.")


def test_the_paragraph_of_an_auditors_report_says_that_it_is_for_its_owner(tmp_path: Path) -> None:
    text = paragraph(audited(tmp_path, {}, audience="auditor"))
    assert text.startswith("Made from an auditor's report: for its owner alone.")
    assert not paragraph(audited(tmp_path, {}, audience="public")).startswith("Made from")


def test_the_paragraph_of_a_broken_limit_says_what_it_means_and_for_how_many(tmp_path: Path) -> None:
    changes = {"build": {"use": "c45"}, "metrics": [{"use": "k_anonymity", "at_least": 20}]}
    text = paragraph(audited(tmp_path, changes, audience="public"))
    assert "1 of 1 limits is broken." in text
    assert "People stand in groups that are too small." in text
    assert re.search(r"At least \d+ of the 24 people are affected\.", text)


def test_the_paragraph_of_a_pass_says_that_it_proves_little(tmp_path: Path) -> None:
    text = paragraph(audited(tmp_path, audience="public"))
    assert "No limit is broken: 2 of 2 hold." in text
    assert "does not mean that nothing can be learned about anybody" in text
    assert "affected" not in text


def test_the_paragraph_of_something_undetermined_never_says_that_limits_hold(tmp_path: Path) -> None:
    text = paragraph(audited(tmp_path, ENDINGS["inconclusive"], audience="public"))
    assert "It could not be determined whether" in text
    assert "No limit is broken" not in text
    assert "it may be all of them" in text


def test_the_paragraph_names_the_questions_that_nobody_asked(tmp_path: Path) -> None:
    text = paragraph(audited(tmp_path, audience="public"))
    assert "Nobody examined: Can the secret of a person be inferred? Can it be seen who is in the data?" in text


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_paragraph_stays_one_line_whatever_names_there_are(tmp_path: Path, name: str) -> None:
    text = paragraph(renamed(audited(tmp_path, ENDINGS["fail"]), name))
    assert len(text.splitlines()) == 1
    assert "\x1b" not in text


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_model_card_has_the_outcome_the_limits_and_the_digests(tmp_path: Path, ending: str) -> None:
    report = audited(tmp_path, ENDINGS[ending], audience="public")
    card = view(report, "model_card").decode()
    assert card.startswith("## Privacy audit\n")
    assert report["policy"]["sha256"] in card
    assert report["release"] is None or report["release"]["sha256"] in card
    rows = re.findall(r"^\| (failed|inconclusive|passed|waived) \|", card, re.MULTILINE)
    assert len(rows) == len(report["findings"])
    assert ("No limit is broken" in card) == (report["verdict"] == "pass")
    assert "Do not publish it" not in card


def test_a_model_card_of_an_auditors_report_says_that_it_must_not_be_published(tmp_path: Path) -> None:
    assert b"Do not publish it" in view(audited(tmp_path, audience="auditor"), "model_card")


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_model_card_escapes_every_name(tmp_path: Path, name: str) -> None:
    card = view(renamed(audited(tmp_path, ENDINGS["fail"]), name), "model_card").decode()
    assert "<script" not in card
    assert not re.search(r"(?<!\\)\]\(javascript", card)
    assert not re.search(r"^\|[^\n]*\|[^\n]*\|[^\n]*\|[^\n]*\|", card, re.MULTILINE)  # no name adds a cell


def test_the_public_page_has_the_chart_of_attacks_where_it_follows_from_the_release(tmp_path: Path) -> None:
    report = audited(tmp_path, {**KNOWN, "report": {"smallest_cell": 1}}, audience="public")
    assert report["guesses"]
    page = view(report, "html").decode()
    assert page.count('class="attack"') == page.count('class="prior"') == len(report["guesses"])


def test_the_public_page_says_why_it_has_no_chart_of_attacks(tmp_path: Path) -> None:
    report = audited(tmp_path, audience="public")  # whether somebody smokes is private: groups are wider than leaves
    page = view(report, "html").decode()
    assert not report["guesses"]
    assert 'class="attack"' not in page
    assert "is in the auditor's report" in page.replace("&#39;", "'")


def test_the_auditors_page_has_the_chart_of_attacks(tmp_path: Path) -> None:
    page = view(audited(tmp_path, audience="auditor"), "html").decode()
    assert 'class="attack"' in page
    assert "The public sees it only" not in page
