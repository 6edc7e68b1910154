"""Mappings: no clause is called met, what no finding answers is said, and an own file is checked strictly."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from leafgate.api import AttackModel, Metric
from leafgate.api.registry import use_of
from leafgate.app import load_plugins
from leafgate.commands.mapping.document import mapped
from leafgate.commands.mapping.facts import FACTS, TITLES, FactName
from leafgate.commands.mapping.framework import FrameworkFile, bundled_names, parse_framework, read_framework
from leafgate.commands.mapping.views import markdown, page
from leafgate.commands.stored_report import StoredReport
from leafgate.disclosure.questions import CHECKS, QUESTION_BY_NAME
from leafgate.errors import InvalidError
from reports import HOSTILE, audited, minimal_report, renamed
from survey import survey

NAMES = bundled_names()
ENDINGS: dict[str, dict[str, Any]] = {
    "pass": {},
    "fail": {"metrics": [{"use": "k_anonymity", "at_least": 24}, {"use": "exposure", "at_most": 0}]},
    "inconclusive": {"metrics": [{"use": "accuracy", "at_least": 0.5}]},
    "no release": {"build.k": 25},
}
CLAIMS = re.compile(
    r"\b(fulfil\w*|satisf\w*|complian\w*|complies|conform\w*|certif\w*|is met|anonymous|authori[sz]\w*)\b", re.I
)
"""Words by which a mapping would seem to say that a clause is met."""
MINIMAL = minimal_report()
OWN = """
framework: 1
name: house
title: Rules of the house
edition: "3"
source: the intranet
about: What our committee asks.
clauses:
  - clause: A
    asks: Groups are large enough.
    answers: part
    evidence: {metrics: [k_anonymity]}
    to_judge: [Whether five is enough.]
"""


def stored(report: dict[str, Any]) -> StoredReport:
    return StoredReport(document=report, sha256="0" * 64)


def clauses_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {clause["clause"]: clause for clause in document["clauses"]}


@pytest.fixture(scope="module", params=ENDINGS)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return audited(tmp_path_factory.mktemp("audit"), ENDINGS[request.param], audience="public")


@pytest.mark.parametrize("name", NAMES)
def test_no_clause_is_ever_called_met(report: dict[str, Any], name: str) -> None:
    document = mapped(read_framework(name), stored(report))
    assert {clause["answers"] for clause in document["clauses"]} <= {"part", "no"}
    assert all(clause["to_judge"] for clause in document["clauses"])
    for text in (markdown(document).decode(), page(document).decode(), json.dumps(document)):
        assert [match[0] for match in CLAIMS.finditer(text)] in ([], ["is met"])  # of the sentence that says it is none
    assert "It says of no clause that it is met" in markdown(document).decode()


@pytest.mark.parametrize("name", NAMES)
def test_each_framework_names_only_what_leafgate_has(name: str) -> None:
    plugins = load_plugins(["leafgate"])
    metrics = {use_of(metric) for metric in plugins.kind(Metric)} | CHECKS
    attacks = {use_of(attack) for attack in plugins.kind(AttackModel)}
    for _, evidence in read_framework(name).framework.evidence:
        assert set(evidence.metrics) <= metrics
        assert set(evidence.attacks) <= attacks


def test_the_frameworks_that_the_documentation_promises_are_there() -> None:
    assert NAMES == ["aisvs", "dpia", "edpb", "nist_800_226", "satre", "wp216"]
    clauses = {name: [c.clause for c in read_framework(name).framework.clauses] for name in NAMES}
    for name, numbers in {
        "satre": ("3.3.07", "3.3.09"),
        "aisvs": ("C11.2.4", "C11.2.5", "C3.1.2", "C3.1.3", "C6.2.1", "C6.2.2", "C6.2.3"),
        "wp216": ("Singling out", "Linkability", "Inference"),
        "dpia": ("35(7)(c)", "5(2)"),
    }.items():
        for number in numbers:
            assert [clause for clause in clauses[name] if clause.startswith(number)], (name, number)


def test_the_opinion_of_the_board_says_that_means_reasonably_likely_are_not_assessed(report: dict[str, Any]) -> None:
    text = markdown(mapped(read_framework("edpb"), stored(report))).decode()
    assert "Which means these are, and which data held elsewhere are among them, is not assessed" in text


def test_what_no_finding_answers_is_said(report: dict[str, Any]) -> None:
    clause = clauses_of(mapped(read_framework("aisvs"), stored(report)))["C11.2.5 Simulated membership inference"]
    assert clause["answers"] == "no"
    assert clause["because"] == "No finding of this report answers it: the policy asks for nothing of the kind."
    assert clause["evidence"]["missing"] == ["Can it be seen who is in the data?"]


def test_a_question_that_could_not_be_determined_answers_nothing(tmp_path: Path) -> None:
    changes = {"metrics": [{"use": "accuracy", "at_least": 0.5}, {"use": "k_anonymity", "at_least": 3}]}
    document = audited(tmp_path, changes, audience="public")
    for finding in document["findings"]:
        finding["passed"] = None
    clause = clauses_of(mapped(read_framework("wp216"), stored(document)))["Singling out"]
    assert (clause["answers"], "could not be determined" in clause["because"]) == ("no", True)


def test_a_broken_limit_is_an_answer_and_is_called_broken(tmp_path: Path) -> None:
    document = mapped(read_framework("wp216"), stored(audited(tmp_path, ENDINGS["fail"], audience="public")))
    clause = clauses_of(document)["Singling out"]
    assert clause["answers"] == "part"
    assert [finding["state"] for finding in clause["evidence"]["findings"]].count("failed") == 1


def test_facts_alone_do_not_answer_a_clause_that_asks_for_findings(tmp_path: Path) -> None:
    document = mapped(read_framework("nist_800_226"), stored(audited(tmp_path, audience="public")))
    assert clauses_of(document)["Several releases of the same data"]["answers"] == "no"


def test_the_record_has_every_criterion_with_its_limit_and_outcome_linked_by_digests(report: dict[str, Any]) -> None:
    document = mapped(read_framework("satre"), stored(report))
    assert [each["id"] for each in document["criteria"]] == [finding["id"] for finding in report["findings"]]
    for criterion, finding in zip(document["criteria"], report["findings"], strict=True):
        assert criterion["limit"] == finding["limit"]
        assert (criterion["outcome"] == "passed") == (finding["passed"] is True)
    assert document["report"]["policy"]["sha256"] == report["policy"]["sha256"]
    release = report["release"]
    assert document["report"]["release"] == (None if release is None else {"sha256": release["sha256"]})


def test_risks_that_nobody_asked_about_are_not_called_examined(tmp_path: Path) -> None:
    document = mapped(read_framework("satre"), stored(audited(tmp_path, audience="public")))
    status = {each["risk"]: each["status"] for each in document["residual_risks"]}
    assert status["It can be seen that somebody is in the data."] == "not examined"
    assert status["Somebody is told apart from all others by what the output divides people by."].endswith(
        "no limit is broken"
    )


@pytest.mark.parametrize("form", ["markdown", "html", "json"])
def test_the_command_writes_each_format(tmp_path: Path, form: str) -> None:
    leafgate("audit", survey(tmp_path), "--out", tmp_path / "out")
    words = ("map", tmp_path / "out" / "report.json", "satre", "--to", form)
    printed, out = leafgate(*words), tmp_path / "map"
    assert leafgate(*words, "--out", out).code == printed.code == 0
    assert out.read_text(encoding="utf-8") == printed.out
    assert "3.3.09" in printed.out
    assert form != "json" or printed.document["format"] == "leafgate/map/1"
    assert form != "html" or not re.search(r"<script|src=|https?://", printed.out)


def test_the_frameworks_are_listed(tmp_path: Path) -> None:
    listed = leafgate("map", "--list")
    assert [line.partition(":")[0] for line in listed.out.splitlines()] == NAMES


def test_an_own_framework_is_read_from_its_file(tmp_path: Path) -> None:
    leafgate("audit", survey(tmp_path), "--out", tmp_path / "out")
    (tmp_path / "house.yaml").write_text(OWN, encoding="utf-8")
    ended = leafgate("map", tmp_path / "out" / "report.json", tmp_path / "house.yaml")
    assert ended.code == 0
    assert "This report answers a part. By findings: 2 passed." in ended.out


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("answers: part", "answers: yes", "clauses[0].answers: should be 'part' or 'no'"),
        ("answers: part", "answers: all", "clauses[0].answers: should be 'part' or 'no'"),
        ("    to_judge: [Whether five is enough.]\n", "", "clauses[0].to_judge: is missing"),
        ("[Whether five is enough.]", "[]", "clauses[0].to_judge: tuple should have at least 1 item"),
        ("k_anonymity", "k_anonimity", "nobody offers 'k_anonimity' (did you mean 'k_anonymity'?)"),
        ("metrics:", "metric:", "clauses[0].evidence.metric: is no key that is known here (did you mean 'metrics'?)"),
        ("    evidence: {metrics: [k_anonymity]}\n", "", "clauses[0]: answers a part, and names no evidence"),
        ("answers: part", 'answers: "no"', "clauses[0]: answers nothing, and names evidence"),
        ("framework: 1", "framework: 2", "framework: should be 1"),
        ("name: house", "name: House!", "name: string should match pattern"),
        ("metrics: [k_anonymity]", "questions: [who]", "clauses[0].evidence.questions[0]: should be"),
        ("metrics: [k_anonymity]", "facts: [weather]", "clauses[0].evidence.facts[0]: should be"),
        (OWN, "- list\n", "is not a mapping"),
        ("about: What", "about: [What", "house.yaml, line"),
    ],
)
def test_an_own_framework_that_is_wrong_is_one_clear_error(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in OWN
    leafgate("audit", survey(tmp_path), "--out", tmp_path / "out")
    (tmp_path / "house.yaml").write_text(OWN.replace(old, new), encoding="utf-8")
    ended = leafgate("map", tmp_path / "out" / "report.json", tmp_path / "house.yaml")
    assert ended.code == 2
    assert problem in ended.err
    assert "house.yaml" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "REPORT: is missing"),
        (("report.json",), "FRAMEWORK: is missing (leafgate map REPORT FRAMEWORK; frameworks: aisvs"),
        (("report.json", "sartre"), "nobody knows the framework 'sartre' (did you mean 'satre'?"),
        (("report.json", "nowhere.yaml"), "nowhere.yaml: cannot be read"),
        (("nowhere.json", "satre"), "nowhere.json: cannot be read"),
    ],
)
def test_a_command_line_that_is_wrong_is_one_clear_error(words: tuple[str, ...], problem: str) -> None:
    ended = leafgate("map", *words)
    assert ended.code == 2
    assert problem in ended.err


def test_a_mapping_of_an_auditors_report_is_for_its_owner_only(tmp_path: Path) -> None:
    leafgate("audit", survey(tmp_path), "--out", tmp_path / "out", "--audience", "auditor")
    words = ("map", tmp_path / "out" / "report.json", "wp216")
    assert leafgate(*words).code == 2
    assert leafgate(*words, "--out", tmp_path / "map.md").code == 0
    assert stat.S_IMODE((tmp_path / "map.md").stat().st_mode) == 0o600
    assert "For the owner only" in (tmp_path / "map.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_mapping_escapes_every_name_of_a_report(tmp_path: Path, name: str) -> None:
    document = mapped(read_framework("satre"), stored(renamed(audited(tmp_path, ENDINGS["fail"]), name)))
    assert b"<script" not in page(document)
    text = markdown(document).decode()
    assert "<script" not in text
    assert not re.search(r"(?<!\\)\]\(javascript", text)
    assert not re.search(r"^\|([^\n|]*\|){4,}$", text, re.MULTILINE)  # no name adds a cell


def test_each_fact_has_a_title_and_a_line_of_every_report(report: dict[str, Any]) -> None:
    assert list(TITLES) == list(FACTS) == list(FactName.__args__)  # type: ignore[attr-defined]
    assert all(isinstance(line(report), str) for line in FACTS.values())


PAGE = (Path(__file__).resolve().parents[3] / "docs/how-to/decision-sheet.md").read_text(encoding="utf-8")


def test_the_framework_that_the_documentation_shows_is_one() -> None:
    [shown] = re.findall(r"^```yaml\n(framework: 1.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert parse_framework(shown.encode(), "house.yaml").name == "house"


def test_the_documentation_lists_each_name_that_evidence_may_have() -> None:
    listed = PAGE.partition("`questions` are")[2]
    for name in (*QUESTION_BY_NAME, *FACTS, *CHECKS):
        assert f"`{name}`" in listed
    keys = PAGE.partition("| key | content |")[2]
    assert all(f"`{key}`" in keys for key in mapped(read_framework("wp216"), stored(MINIMAL)))


def test_a_report_without_findings_answers_nothing_by_findings() -> None:
    document = mapped(read_framework("wp216"), stored(MINIMAL))
    assert {clause["answers"] for clause in document["clauses"]} == {"no"}


@given(st.text(max_size=2000))
def test_a_text_that_is_no_framework_is_one_error(text: str) -> None:
    with pytest.raises(InvalidError) as error:
        parse_framework(text.encode("utf-8", "surrogatepass"), "own.yaml")
    assert error.value.problems


def test_equal_files_give_equal_documents(report: dict[str, Any]) -> None:
    content = OWN.encode()
    files = [FrameworkFile(framework=parse_framework(content, "a"), sha256="1" * 64, own=True) for _ in range(2)]
    assert page(mapped(files[0], stored(report))) == page(mapped(files[1], stored(report)))
