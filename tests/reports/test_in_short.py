"""The first words of a page: who is affected, how, and what to change; or why it passes and what that does not mean."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate
from leafgate.app import in_short
from reports import Page, audited, shown_command, view
from survey import survey

FAILS: dict[str, Any] = {"build": {"use": "id3"}, "metrics.0.at_least": 4}


def test_a_failing_report_says_who_is_affected_how_and_what_to_change(tmp_path: Path) -> None:
    report = audited(tmp_path, FAILS)
    said = dict(in_short(report))
    assert list(said) == ["Who is affected", "How", "What to change", "What that costs in use"]
    beyond = report["findings"][0]["beyond"]
    assert said["Who is affected"] == [f"{beyond} of the 24 people whom the release was made from."]
    assert said["How"] == [f"{beyond} of 24 people stand in groups that are too small."]
    assert "kadet" in " ".join(said["What to change"])


def test_these_words_are_the_first_on_the_page_below_the_verdict(tmp_path: Path) -> None:
    texts = Page(view(audited(tmp_path, FAILS, audience="public"), "html")).texts
    assert texts.index("Who is affected") < texts.index("What to change") < texts.index("Policy")


@pytest.mark.parametrize("audience", ["public", "auditor"])
@pytest.mark.parametrize("changes", [FAILS, {}])
def test_pages_and_markdown_state_the_same_in_short(tmp_path: Path, audience: str, changes: dict[str, Any]) -> None:
    report = audited(tmp_path, changes, audience=audience)
    page, markdown = Page(view(report, "html")).text, view(report, "markdown").decode()
    plain = html.unescape(re.sub(r"\\(.)", r"\1", markdown)).replace("`", "")
    for heading, sentences in in_short(report):
        assert sentences
        assert f"**{heading}**" in markdown
        for sentence in [heading, *sentences]:
            assert sentence.replace("`", "") in page
            assert sentence.replace("`", "") in plain


def test_who_is_affected_is_masked_for_the_public(tmp_path: Path) -> None:
    report = audited(tmp_path, FAILS, audience="public")
    [line] = dict(in_short(report))["Who is affected"]
    assert not isinstance(report["findings"][0]["beyond"], int)
    assert line.startswith(("Fewer than 10", "10 to", "20 to"))


def test_a_passing_report_says_why_and_what_that_does_not_mean(tmp_path: Path) -> None:
    said = dict(in_short(audited(tmp_path)))
    assert list(said) == ["Why it passes", "What that does not mean"]
    why, not_meant = (" ".join(lines) for lines in said.values())
    assert "linking" in why
    assert "k-anonymity (ill) is" in why
    for phrase in ("attacks that were not tried", "no differential privacy", "other releases of the same people"):
        assert phrase in not_meant


def test_the_public_page_of_a_failing_release_draws_no_tree(tmp_path: Path) -> None:
    public, auditor = (Page(view(audited(tmp_path, FAILS, audience=who), "html")) for who in ("public", "auditor"))
    assert [each.values("role").count("group") for each in (public, auditor)] == [0, 1]
    assert "What the public may know" in public.texts
    assert "What the public may know" not in auditor.texts


def test_the_public_page_of_a_passing_release_draws_its_tree(tmp_path: Path) -> None:
    words = Page(view(audited(tmp_path, audience="public"), "html"))
    assert words.values("role").count("group") == 1
    assert "What the public may know" not in words.texts


def test_an_inconclusive_report_says_what_is_missing(tmp_path: Path) -> None:
    said = dict(
        in_short(
            audited(
                tmp_path, {"metrics": [{"use": "k_anonymity", "at_least": 2}, {"use": "accuracy", "at_least": 0.5}]}
            )
        )
    )
    assert said["Who is affected"] == ["That could not be determined, so it must be taken for everybody."]
    assert said["What to change"] == ["`data.test`: Name one, or give --test FILE."]


@pytest.mark.parametrize("options", [[], ["--no-remedies"]])
def test_the_command_of_a_report_makes_it_again_with_or_without_a_search(tmp_path: Path, options: list[str]) -> None:
    path = survey(tmp_path, FAILS)
    leafgate("audit", path, "--out", tmp_path / "out", *options)
    report = json.loads((tmp_path / "out" / "report.json").read_bytes())
    tried = any(remedy["tried"] for finding in report["findings"] for remedy in finding["remedies"])
    assert tried == (options == [])
    assert shown_command(report).split()[3:-2] == options
