"""The sheet, the model card and the mapping: each question once, nothing cut, nothing that decides, blanks to sign."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from command_line import Ended, leafgate
from leafgate.api import InvalidError
from leafgate.app import document as report_document
from leafgate.disclosure.questions import OTHER, QUESTIONS
from leafgate.reports.decision_document import FactName, facts
from leafgate.reports.mapping import bundled_frameworks, parse_framework
from leafgate.reports.sheet import SheetFacts, sheet
from nightly import tonight
from reports import FOR_PEOPLE, HOSTILE, Page, audited, minimal_report, renamed, view
from survey import survey

ENDINGS: dict[str, dict[str, Any]] = {
    "pass": {},
    "fail": {"metrics": [{"use": "k_anonymity", "at_least": 24}, {"use": "exposure", "at_most": 0}]},
    "inconclusive": {"metrics": [{"use": "accuracy", "at_least": 0.5}]},
    "no release": {"build.k": 25},
}
OUTCOMES = {
    "pass": "No limit is broken: 2 of 2 hold.",
    "fail": "2 of 3 limits are broken.",
    "inconclusive": "It could not be determined whether 2 of 3 limits hold.",
}
KNOWN = {"data.columns.smoker.role": "quasi_identifier", "publish": {"leaves": "counts"}}
"""Where the adversary knows every input, the leaves count the people of each group."""
DECIDING = re.compile(
    r"\b(anonym\w*|authori[sz]\w*|approv\w*|release[sd]?|releasing|safe|compl(?:y|ies|iant)\w*)\b", re.I
)
"""Words by which a sheet would seem to decide."""
QUOTED = re.compile(r"\b(the|no|this) release\b|\bk-anonymity\b", re.I)
"""The thing that was audited and a metric, as sentences of reports call them that a sheet quotes."""
CLAIMS = re.compile(
    r"\b(fulfil\w*|satisf\w*|complian\w*|complies|conform\w*|certif\w*|is met|anonymous|authori[sz]\w*)\b", re.I
)
"""Words by which a mapping would seem to say that a clause is met."""
FACTS = """
project: Ward planning
permission: "Art. 6(1)(e) GDPR, approval 2026-14"
requester: A. Reader
author: M. Maker
recipients: ward managers
licence: internal
kind: file
earlier_outputs: [the tree of May, the tree of June, a table, a figure, a forest]
conditions: no linkage
review: "2027-06-30"
retention: ten years
checker: C. One
second_checker: S. Two
"""
HOUSE = """
framework: 1
name: house
title: Rules of the house
edition: "3"
source: the intranet
about: What our committee asks.
clauses:
  - clause: A
    asks: Groups are large enough.
    questions: [singling_out]
    to_judge: [Whether five is enough.]
"""
DOCUMENTS = [*FOR_PEOPLE[:2], *(f"mapping:{name}" for name in bundled_frameworks())]
PAGE = (Path(__file__).resolve().parents[2] / "docs/how-to/decision-sheet.md").read_text(encoding="utf-8")


def text_of(page: str) -> str:
    """The texts of a page with blanks between them."""
    return " ".join(Page(page).texts)


def answers_of(page: str) -> list[tuple[str, str]]:
    """The questions of a sheet with their outcomes."""
    table = page.partition('id="asked"')[2].partition("</tbody>")[0]
    rows = re.findall(r"<tr><td>(.*?)</td><td[^>]*>(.*?)</td>", table)
    return [(question, text_of(outcome)) for question, outcome in rows]


def written(folder: Path, *words: object, changes: dict[str, Any] | None = None) -> tuple[str, Ended]:
    """The sheet of a stored report, and how the command ended."""
    leafgate("audit", survey(folder, changes), "--out", folder / "out")
    out = folder / "sheet.html"
    ended = leafgate("report", folder / "out" / "report.json", "--to", "sheet", "--out", out, *words)
    return out.read_text(encoding="utf-8") if out.exists() else "", ended


@pytest.fixture(scope="module", params=[f"{ending}, {who}" for ending in ENDINGS for who in ("public", "auditor")])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    ending, _, audience = str(request.param).partition(", ")
    return audited(tmp_path_factory.mktemp("audit"), ENDINGS[ending], audience=audience)


def test_a_sheet_has_each_question_once_and_nothing_is_cut(report: dict[str, Any]) -> None:
    page = view(report, "sheet").decode()
    questions = [question for question, _ in answers_of(page)]
    assert len(set(questions)) == len(questions)
    assert set(questions) <= {question.asks for question in (*QUESTIONS, OTHER)}
    text = text_of(page)
    assert all(text.count(question) == 1 for question in questions)
    assert "…" not in text
    assert all(f"{finding['id']} " in f"{text} " for finding in report["findings"])
    assert "Can it be seen who is in the data?" in questions


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=6))
def test_a_question_has_the_worst_answer_of_its_limits(passed: list[bool | None]) -> None:
    one = {"attack": None, "secret": None, "people": None, "beyond": None, "value": None, "plugin": "leafgate 1"}
    release = {"sha256": "0" * 64, "trees": 1, "leaves": 2, "builder": {}}
    file = {"name": "a", "format": "b", "sha256": "0" * 64}
    metrics = [("file_disclosure", "published_file")[i % 2] for i in range(len(passed))]
    findings: list[dict[str, Any]] = [
        one | {"id": f"{metric}{i}", "metric": metric, "passed": each, "limit": {}, "evidence": {}, "alarm": "it leaks"}
        for i, (metric, each) in enumerate(zip(metrics, passed, strict=True))
    ]
    page = view(minimal_report(release=release | {"file": file}, findings=findings), "sheet").decode()
    worst = "failed" if False in passed else "inconclusive" if None in passed else "passed"
    about = [answer for answer in answers_of(page) if answer[0].startswith("Does the file hold more")]
    assert [outcome for _, outcome in about] == [worst]
    answers = page.partition('id="asked"')[2].partition("</tbody>")[0]
    assert not ("It leaks." in answers and "whether it leaks." in answers)


def test_every_state_is_told_by_a_sign_of_its_own_and_its_word(report: dict[str, Any]) -> None:
    page = view(report, "sheet").decode()
    signs = re.findall(r'<td class="state [^"]*">(<svg.*?</svg>) ([a-z ]+)</td>', page)
    assert len({sign for sign, _ in signs}) == len({word for _, word in signs}) == len(set(signs))


@pytest.mark.parametrize("form", DOCUMENTS)
def test_no_document_decides_or_calls_a_clause_met(report: dict[str, Any], form: str) -> None:
    content = view(report, form).decode()
    text = text_of(content) if form == "sheet" else content
    assert [match[0] for match in CLAIMS.finditer(text)] == (["is met"] if "mapping" in form else [])
    if form == "sheet":
        assert DECIDING.findall(QUOTED.sub("", text)) == []


@pytest.mark.parametrize("form", DOCUMENTS)
def test_a_document_has_the_outcome_the_limits_and_the_digests(report: dict[str, Any], form: str) -> None:
    text = view(report, form).decode()
    assert ("No limit is broken" in text) == (report["verdict"] == "pass")
    assert report["policy"]["sha256"] in text
    assert report["release"] is None or report["release"]["sha256"] in text
    if form != "sheet":
        assert len(re.findall(r"^\| (failed|inconclusive|passed) \|", text, re.MULTILINE)) == len(report["findings"])
    assert bool(re.search("owner only|do not publish it", text, re.IGNORECASE)) == (report["audience"] == "auditor")


@pytest.mark.parametrize("ending", OUTCOMES)
def test_the_outcome_says_how_many_limits_are_broken(tmp_path: Path, ending: str) -> None:
    report = audited(tmp_path, ENDINGS[ending], audience="public")
    assert all(OUTCOMES[ending] in view(report, form).decode() for form in FOR_PEOPLE)


def test_the_decision_and_the_signatures_are_blank_and_nobody_is_asked_for_anything(report: dict[str, Any]) -> None:
    page = view(report, "sheet").decode()
    decision = page.partition('class="decision"')[2].partition("</section>")[0]
    assert decision.count('class="blank"') == 2
    assert re.findall(r"<tr><th scope=\"row\">[^<]*</th>(.*?)</tr>", decision) == ["<td></td><td></td><td></td>"] * 2
    read = Page(page)
    assert not {"script", "img", "iframe", "form"} & set(read.tags)
    assert read.values("href", "src", "action") == ["data:,"]


def test_what_the_report_does_not_know_is_a_blank_line_until_facts_give_it(tmp_path: Path) -> None:
    empty, _ = written(tmp_path)
    (tmp_path / "facts.yaml").write_text(FACTS, encoding="utf-8")
    filled, ended = written(tmp_path, "--facts", tmp_path / "facts.yaml")
    assert ended.code == 0
    assert empty.count('class="blank"') == 7 + 3 + 2
    assert filled.count('class="blank"') == 2  # the decision and its reasons
    given_facts = SheetFacts.model_validate({**yaml.safe_load(FACTS), "earlier_outputs": ()})
    for fact in given_facts.model_dump(exclude={"kind", "earlier_outputs"}).values():
        assert fact in text_of(filled)
    assert "the tree of May; the tree of June; a table; a figure; a forest" in filled
    assert filled.count('<span class="box">X</span>') == 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("checker: M. Maker\nauthor: m.  maker", "`checker` and `author` are the same person"),
        ("checker: A\nsecond_checker: a", "`second_checker` and `checker` are the same person"),
        ("decision: go", "the decision and the signatures are made by hand"),
        ("requestor: A", "requestor: is no key that is known here (did you mean 'requester'?)"),
        ("kind: carrier pigeon", "kind: should be 'file', 'query' or 'other environment'"),
        ("review: soon", "review: string should match pattern"),
        ("- a list", "is not a mapping"),
        ("project: [", "--facts, line 1: expected the node content"),
        (f"project: {'x' * 101}", "project: string should have at most 100 characters"),
    ],
)
def test_facts_that_are_wrong_are_one_clear_error(content: str, problem: str) -> None:
    with pytest.raises(InvalidError) as error:
        sheet(minimal_report(), content.encode())
    assert problem in str(error.value)
    assert "carrier pigeon" not in str(error.value)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--to", "mapping"), "--to: names no framework: write `mapping:NAME` (known: aisvs, dpia"),
        (("--to", "mapping:sartre"), "nobody knows the framework 'sartre' (did you mean 'satre'?"),
        (("--to", "mapping:nowhere.yaml"), "nowhere.yaml: cannot be read"),
        (("--to", "html:satre"), "nobody offers the report format 'html:satre'"),
        (("--to", "html", "--facts", "policy.yaml"), "--facts: the format 'html' prints no facts (add --to sheet)"),
        (("--to", "sheet", "--facts", "policy.yaml"), "--facts: leafgate: is no key that is known here"),
        (("--to", "sheet", "--expect-release", "0" * 64), "000 is expected"),
    ],
)
def test_a_command_line_that_is_wrong_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], problem: str
) -> None:
    leafgate("audit", survey(tmp_path), "--out", tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    ended = leafgate("report", "out/report.json", *words)
    assert (ended.code, problem in ended.err) == (2, True)
    assert leafgate("audit", "policy.yaml", "--out", "again", "--to", "mapping:sartre").code == 2
    assert not Path("again/report.json").exists()


def test_an_own_framework_is_read_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("house.yaml").write_text(HOUSE, encoding="utf-8")
    ended = leafgate("audit", survey(tmp_path), "--out", "out", "--to", "mapping:house.yaml", "--audience", "auditor")
    assert ended.code == 0
    file = Path("out/report.mapping.house.md")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "This report answers a part.\n\n- passed: Can a person be told apart" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("    to_judge: [Whether five is enough.]\n", "", "clauses[0].to_judge: is missing"),
        ("[Whether five is enough.]", "[]", "clauses[0].to_judge: tuple should have at least 1 item"),
        ("questions:", "question:", "clauses[0].question: is no key that is known here (did you mean 'questions'?)"),
        ("framework: 1", "framework: 2", "framework: should be 1"),
        ("name: house", "name: House!", "name: string should match pattern"),
        ("[singling_out]", "[who]", "clauses[0].questions[0]: should be"),
        ("questions: [singling_out]", "facts: [weather]", "clauses[0].facts[0]: should be"),
        (HOUSE, "- list\n", "is not a mapping"),
        ("about: What", "about: [What", "house.yaml, line"),
    ],
)
def test_an_own_framework_that_is_wrong_is_one_clear_error(old: str, new: str, problem: str) -> None:
    assert old in HOUSE
    with pytest.raises(InvalidError) as error:
        parse_framework(HOUSE.replace(old, new).encode(), "house.yaml")
    assert problem in str(error.value)


@given(st.text(max_size=2000))
def test_a_text_that_is_no_framework_is_one_error(text: str) -> None:
    with pytest.raises(InvalidError) as error:
        parse_framework(text.encode("utf-8", "surrogatepass"), "own.yaml")
    assert error.value.problems


def test_the_clauses_that_the_documentation_promises_are_there() -> None:
    clauses = {
        name: [each.clause for each in parse_framework(content, name).clauses]
        for name, content in bundled_frameworks().items()
    }
    assert list(clauses) == ["aisvs", "dpia", "edpb", "nist_800_226", "satre", "wp216"]
    for name, numbers in {
        "satre": ("3.3.07", "3.3.09"),
        "aisvs": ("C11.2.4", "C11.2.5", "C3.1.2", "C3.1.3", "C6.2.1", "C6.2.2", "C6.2.3"),
        "wp216": ("Singling out", "Linkability", "Inference"),
        "dpia": ("35(7)(c)", "5(2)"),
    }.items():
        assert all(any(clause.startswith(number) for clause in clauses[name]) for number in numbers)


def test_a_clause_is_answered_by_what_was_determined_and_by_nothing_else(tmp_path: Path) -> None:
    document = audited(tmp_path, ENDINGS["fail"], audience="public")
    sections = view(document, "mapping:wp216").decode().split("\n## ")
    [singling_out] = [section for section in sections if section.startswith("Singling out")]
    assert "This report answers a part.\n\n- failed: Can a person be told apart" in singling_out
    for finding in document["findings"]:
        finding["passed"] = None
    document["verdict"] = "inconclusive"
    mapped = view(document, "mapping:wp216").decode()
    assert "This report answers a part." not in mapped
    assert "- inconclusive: Can a person be told apart" in mapped
    budget = view(document, "mapping:nist_800_226").decode().partition("## Several releases")[2].partition("##")[0]
    assert "answers nothing" in budget  # although facts are stated: that an attack is listed proves nothing
    risks = view(document, "mapping:satre").decode().partition("## Residual risks")[2]
    assert "- It can be seen that somebody is in the data.\n  - not examined:" in risks


def test_the_opinion_of_the_board_says_that_means_reasonably_likely_are_not_assessed() -> None:
    text = view(minimal_report(), "mapping:edpb").decode()
    assert "Which means these are, and which data held elsewhere are among them, is not assessed" in text


def test_the_documentation_lists_each_fact_question_and_key() -> None:
    [shown] = re.findall(r"^```yaml\n(framework: 1.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert parse_framework(shown.encode(), "house.yaml").name == "house"
    keys, _, names = PAGE.partition("| key | content |")[2].partition("`questions` are")
    assert all(f"`{key}`" in keys for key in SheetFacts.model_fields)
    every = [*(question.name for question in (*QUESTIONS, OTHER)), *FactName.__args__]  # type: ignore[attr-defined]
    assert all(f"`{name}`" in names for name in every)


def test_other_outputs_that_the_attacks_had_are_stated(tmp_path: Path) -> None:
    report = tonight(tmp_path, nights=2).audit().report
    document = {**dict(report_document(report, "public")), "ledger": {"number": 2, "sha256": "a" * 64}}
    assert facts(document)["earlier_outputs"] == f"2 that the attacks had; ledger of 2 releases, sha256 {'a' * 64}"


def test_a_public_sheet_has_no_number_that_its_report_lacks(tmp_path: Path) -> None:
    changes = {"build": {"use": "c45"}, "metrics": [{"use": "k_anonymity", "at_least": 10}]}
    page, _ = written(tmp_path, changes=changes)
    report = (tmp_path / "out" / "report.json").read_text(encoding="utf-8")
    section = text_of(page.partition('id="asked"')[2].partition('id="conditions"')[0])
    numbers = {number.replace(",", "") for number in re.findall(r"\b\d[\d,]*\b", section)}
    assert numbers - {"2", "3", "4"} <= set(re.findall(r"\b\d+\b", report))  # but for the sections' own


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_names_that_nobody_would_choose_stay_text(tmp_path: Path, name: str) -> None:
    document = renamed(audited(tmp_path, ENDINGS["fail"]), name)
    for form in FOR_PEOPLE:
        text = view(document, form).decode()
        assert not re.search(r"<script|<img|\u202e|\x1b", text)
        assert form == "sheet" or not re.search(r"(?<!\\)\]\(javascript", text)
        assert not re.search(r"^\|([^\n|]*\|){4,}$", text, re.MULTILINE)  # no name adds a cell


@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=60))
def test_any_names_of_checkers_are_printed_or_refused(checker: str, author: str) -> None:
    same = " ".join(checker.split()).casefold() == " ".join(author.split()).casefold()
    document = json.dumps({"checker": checker, "author": author})
    if same:
        with pytest.raises(ValueError, match="same person"):
            SheetFacts.model_validate_json(document)
    else:
        assert SheetFacts.model_validate_json(document).checker == checker


def test_the_public_page_has_the_chart_of_attacks_where_it_follows_from_the_release(tmp_path: Path) -> None:
    report = audited(tmp_path, {**KNOWN, "report": {"smallest_cell": 1}}, audience="public")
    assert report["guesses"]
    page = view(report, "html").decode()
    assert page.count('class="attack"') == page.count('class="prior"') == len(report["guesses"])
    assert view(report, "sheet").count(b"The best guess of") == len(report["guesses"])


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


@pytest.mark.parametrize(("known", "said"), [(7, "column6 and 1 more column of"), (8, "column6 and 2 more columns of")])
def test_a_sheet_counts_the_columns_that_it_does_not_list(tmp_path: Path, known: int, said: str) -> None:
    report = audited(tmp_path, {})
    report["method"]["known"] = [f"column{i}" for i in range(1, known + 1)]
    assert said in Page(view(report, "sheet")).text
