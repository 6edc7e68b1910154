"""What a page says beside its findings: how it was checked, and the command that makes it again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate
from reports import audited, method_lines, minimal_report, shown_command, view
from survey import ALLOWED, PEOPLE, survey

FORESTS: dict[str, Any] = {
    "build": {"use": "dp_random_trees", "trees": 4, "k": 5, "beta": 0.2, "delta": 0.01, "combine": "sum"},
    "attacks": [{"use": "distinguish"}],
    "metrics": [{"use": "differential_privacy", "at_most": 9, "delta": 0.01}],
}


def test_the_command_makes_the_same_report_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()  # the command is told from the repository's root
    for folder, file in (("gov", "org.yaml"), ("data", "known.csv"), ("here", "mine.csv")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text(PEOPLE)
    limits = "metrics: [{use: k_anonymity, at_least: 2}, {use: confidence, at_most: 0.99, allow: 0.9}]\n"
    (tmp_path / "gov" / "org.yaml").write_text(f"leafgate: 1\n{limits}{ALLOWED}")
    survey(tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    given = ["here/policy.yaml", "here/mine.csv", "--root", "data", "--org", "gov/org.yaml", "--test", "here/mine.csv"]
    assert leafgate("audit", *given, "--out", "first").code == 0
    document = json.loads(Path("first/report.json").read_bytes())
    words = shlex.split(shown_command(document))
    assert words == ["leafgate", "audit", *given, "--out", "results"]
    assert leafgate(*words[1:]).code == 0
    assert Path("results/report.json").read_bytes() == Path("first/report.json").read_bytes()


def test_a_path_of_the_machine_is_a_word_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "gov").mkdir()
    path = survey(tmp_path / "gov")
    (tmp_path / "people.csv").write_text(PEOPLE)
    assert leafgate("audit", path, tmp_path / "people.csv", "--root", tmp_path, "--out", tmp_path / "out").code == 0
    content = (tmp_path / "out" / "report.json").read_text()
    assert str(tmp_path) not in content
    assert shown_command(json.loads(content)) == "leafgate audit policy.yaml DATA --root FOLDER --out results"


@pytest.mark.parametrize("word", ["; rm -rf x", "$(x)", "-rf", "--to", "a b", "/etc/passwd"])
def test_a_stored_report_puts_no_words_of_its_own_into_the_command(tmp_path: Path, word: str) -> None:
    audit = audited(tmp_path)
    audit["policy"]["given"] = [word]
    assert shown_command(audit).split()[3:6] == ["FILE", "--out", "results"]


@pytest.mark.thorough
def test_what_was_drawn_once_is_not_to_be_drawn_again(tmp_path: Path) -> None:
    drawn = audited(tmp_path, FORESTS)
    assert drawn["release"]["drawn_once"]
    assert "draw none" in view(drawn, "markdown").decode()
    assert shown_command(drawn) == "build: {use: published, path: release.json}"
    assert "same report" not in view(drawn, "html").decode()


def test_the_page_says_who_knows_what_and_what_is_published(tmp_path: Path) -> None:
    changes = {
        "knows": {"distribution": True, "sample": 0.25},
        "publish.leaves": "labels",
        "attacks": [{"use": "linking"}, {"use": "maxent"}],
    }
    lines = method_lines(audited(tmp_path, changes))
    assert lines["Published"] == "the tests of each tree, and what its leaves predict"
    assert lines["Secret"] == "ill"
    assert lines["It does not know"] == "smoker"
    knows = lines["The adversary knows"]
    assert knows.startswith("of everybody: age, sex; ")
    assert "how common each value" in knows
    assert "the secrets of 25 % of the people" in knows
    assert lines["Attack linking"].startswith("The adversary has the release")
    assert lines["The release claims k"] == "3"


@pytest.mark.parametrize("verdict", ["pass", "fail", "inconclusive"])
def test_a_verdict_says_what_it_means_and_what_a_pass_does_not(verdict: str) -> None:
    said, waived = (meaning(minimal_report(verdict=verdict, waived=waived)) for waived in (0, 1))
    assert (len(waived) > len(said)) == (verdict == "pass")
    assert "It says nothing about attacks that were not tried" in " ".join(said)
    assert (len(said) == 2) == (verdict == "pass")


def meaning(report: dict[str, Any]) -> list[str]:
    """The sentences that say what a verdict means."""
    return [line for line in view(report, "markdown").decode().splitlines() if line.startswith("> ")]


def test_tests_of_the_tree_are_told_once_it_may_be_published(tmp_path: Path) -> None:
    for verdict, changes in (("pass", {}), ("fail", {"metrics": [{"use": "k_anonymity", "at_least": 24}]})):
        (tmp_path / verdict).mkdir()
        audit = audited(tmp_path / verdict, changes, audience="public")
        assert audit["verdict"] == verdict
        words = [node for node in audit["tree"]["nodes"] if "words" in node]
        assert bool(words) == (verdict == "pass")
        assert {node["words"] for node in words if node["kind"] == "leaf"} <= {"yes", "no"}
        assert not [node for node in audit["tree"]["nodes"] if {"people", "beliefs", "past"} & set(node)]


def test_a_card_names_few_of_many_limits(tmp_path: Path) -> None:
    many = [{"use": "k_anonymity", "name": f"k{i}", "at_least": 13 + i} for i in range(12)]
    page = view(audited(tmp_path, {"metrics": many, "build": {"use": "c45", "prune": False}}), "html").decode()
    assert "and people past 8 more limits" in page
    assert page.count("outside the limit of k") <= 4 * page.count("<section class=")
