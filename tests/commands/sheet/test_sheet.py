"""The decision sheet: what it knows, what it leaves blank, what it never says, and that it prints on two pages."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import more
from command_line import Ended, leafgate
from leafgate.app import document as report_document
from leafgate.commands.sheet.facts import SheetFacts
from leafgate.commands.sheet.page import sheet_page
from leafgate.commands.stored_report import StoredReport
from nightly import tonight
from reports import HOSTILE, KEPT, audited, minimal_report, renamed
from survey import survey

ENDINGS: dict[str, dict[str, Any]] = {
    "pass": {},
    "fail": {"metrics": [{"use": "k_anonymity", "at_least": 24}, {"use": "exposure", "at_most": 0}]},
    "inconclusive": {"metrics": [{"use": "accuracy", "at_least": 0.5}]},
    "no release": {"build.k": 25},
}
DECIDING = re.compile(
    r"\b(anonym\w*|authori[sz]\w*|approv\w*|release[sd]?|releasing|safe|compl(?:y|ies|iant)\w*)\b", re.I
)
"""Words by which a sheet would seem to decide."""
QUOTED = re.compile(r"\b(the|no|this) release\b", re.I)
"""The thing that was audited, as sentences of reports call it that a sheet quotes."""
FACTS = """
project: Ward planning
permission: "Art. 6(1)(e) GDPR, approval 2026-14"
requester: A. Reader
author: M. Maker
recipients: ward managers
licence: internal
kind: file
earlier_outputs: [the tree of May]
conditions: no linkage
review: "2027-06-30"
retention: ten years
checker: C. One
second_checker: S. Two
"""


class Read(HTMLParser):
    """The text of a page, its tags and its addresses."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.tags, self.links, self.style = "", list[str](), list[str](), False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "action"}]
        self.style = tag == "style"

    def handle_data(self, data: str) -> None:
        self.text += "" if self.style else f"{data} "


def written(folder: Path, changes: Mapping[str, Any] | None = None, *words: object) -> tuple[str, Ended]:
    """The sheet of an audit of the survey, and how the command ended."""
    leafgate("audit", survey(folder, changes), "--out", folder / "out")
    ended = leafgate("sheet", folder / "out" / "report.json", "--out", folder / "sheet.html", *words)
    path = folder / "sheet.html"
    return path.read_text(encoding="utf-8") if path.exists() else "", ended


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_sheet_never_uses_a_word_that_decides(tmp_path: Path, ending: str) -> None:
    page, ended = written(tmp_path, ENDINGS[ending])
    assert ended.code == 0
    assert DECIDING.findall(QUOTED.sub("", Read(page).text)) == []


def test_the_words_of_the_sheet_itself_never_name_a_release() -> None:
    page = sheet_page(StoredReport(document=MINIMAL, sha256="0" * 64), SheetFacts()).decode()
    assert DECIDING.findall(Read(page).text) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_decision_and_the_signatures_are_blank(tmp_path: Path, ending: str) -> None:
    page, _ = written(tmp_path, ENDINGS[ending])
    decision = page.partition('class="decision"')[2]
    assert decision.count('class="blank"') == 2
    assert re.findall(r"<tr><th scope=\"row\">[^<]*</th>(.*?)</tr>", decision) == ["<td></td><td></td><td></td>"] * 2
    assert not DECIDING.search(Read(decision).text)


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        ("pass", "No limit is broken: 2 of 2 hold."),
        ("fail", "2 of 3 limits are broken."),
        ("inconclusive", "It could not be determined whether 2 of 3 limits hold."),
    ],
)
def test_a_sheet_says_how_many_limits_are_broken(tmp_path: Path, ending: str, outcome: str) -> None:
    page, _ = written(tmp_path, ENDINGS[ending])
    assert outcome in Read(page).text


def test_a_sheet_asks_nobody_for_anything(tmp_path: Path) -> None:
    read = Read(written(tmp_path)[0])
    assert not {"script", "img", "iframe", "form"} & set(read.tags)
    assert read.links == ["data:,"]


def test_what_the_report_does_not_know_is_a_blank_line_until_facts_give_it(tmp_path: Path) -> None:
    empty, _ = written(tmp_path)
    (tmp_path / "facts.yaml").write_text(FACTS, encoding="utf-8")
    filled, ended = written(tmp_path, None, "--facts", tmp_path / "facts.yaml")
    assert ended.code == 0
    assert empty.count('class="blank"') == 7 + 3 + 2
    assert filled.count('class="blank"') == 2  # the decision and its reasons
    text = Read(filled).text
    for fact in (
        "Art. 6(1)(e) GDPR, approval 2026-14",
        "the tree of May",
        "2027-06-30",
        "C. One",
        "S. Two",
        "M. Maker",
    ):
        assert fact in text
    assert filled.count('<span class="box">X</span>') == 1


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ("checker: M. Maker\nauthor: m.  maker", "`checker` and `author` are the same person"),
        ("checker: A\nsecond_checker: a", "`second_checker` and `checker` are the same person"),
        ("decision: go", "the decision and the signatures are made by hand"),
        ("requestor: A", "requestor: is no key that is known here (did you mean 'requester'?)"),
        ("kind: carrier pigeon", "kind: should be 'file', 'query' or 'other environment'"),
        ("review: soon", "review: string should match pattern"),
        ("- a list", "is not a mapping"),
        ("project: [", "facts.yaml, line 1: expected the node content"),
        (f"project: {'x' * 101}", "project: string should have at most 100 characters"),
    ],
)
def test_facts_that_are_wrong_are_one_clear_error(tmp_path: Path, facts: str, problem: str) -> None:
    (tmp_path / "facts.yaml").write_text(facts, encoding="utf-8")
    page, ended = written(tmp_path, None, "--facts", tmp_path / "facts.yaml")
    assert (page, ended.code) == ("", 2)
    assert problem in ended.err
    assert "carrier pigeon" not in ended.err
    assert "Traceback" not in ended.err


def test_the_documentation_lists_each_fact() -> None:
    page = Path(__file__).resolve().parents[3] / "docs/how-to/decision-sheet.md"
    keys = page.read_text(encoding="utf-8").partition("| key | content |")[2]
    assert all(f"`{key}`" in keys for key in SheetFacts.model_fields)


def test_questions_that_no_limit_is_about_are_named_as_not_tried(tmp_path: Path) -> None:
    section = written(tmp_path)[0].partition('id="nottried"')[2].partition("</section>")[0]
    assert "Can it be seen who is in the data?" in section
    assert "Can a person be told apart" not in section


def test_other_outputs_that_the_attacks_had_are_on_the_sheet(tmp_path: Path) -> None:
    report = tonight(tmp_path, nights=2).audit().report
    document = {**dict(report_document(report, "public")), "ledger": {"number": 2, "sha256": "a" * 64}}
    page = sheet_page(StoredReport(document=document, sha256="0" * 64), SheetFacts()).decode()
    assert f"2 that the attacks had; ledger of 2 releases, sha256 {'a' * 64}" in page


def test_a_sheet_of_an_auditors_report_is_marked_and_for_its_owner_only(tmp_path: Path) -> None:
    leafgate("audit", survey(tmp_path), "--out", tmp_path / "out", "--audience", "auditor")
    out = tmp_path / "sheet.html"
    ended = leafgate("sheet", tmp_path / "out" / "report.json", "--out", out)
    assert "OWNER ONLY" in out.read_text(encoding="utf-8")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "for the owner only" in ended.out


def test_a_public_sheet_has_no_number_that_its_report_lacks(tmp_path: Path) -> None:
    changes = {"build": {"use": "c45"}, "metrics": [{"use": "k_anonymity", "at_least": 10}]}
    page, _ = written(tmp_path, changes)
    report = (tmp_path / "out" / "report.json").read_text(encoding="utf-8")
    section = Read(page.partition('id="asked"')[2].partition('id="conditions"')[0]).text
    numbers = {number.replace(",", "") for number in re.findall(r"\b\d[\d,]*\b", section)}
    structural = {"1", "2", "3", "4", "5", "6", "7", "8"}  # of sections, pages and limits
    assert numbers - structural <= set(re.findall(r"\b\d+\b", report))


def test_a_sheet_of_another_file_is_refused(tmp_path: Path) -> None:
    page, ended = written(tmp_path, None, "--expect-release", "0" * 64)
    assert (page, ended.code) == ("", 2)
    assert "000 is expected" in ended.err


def test_a_sheet_does_not_overwrite_its_report(tmp_path: Path) -> None:
    leafgate("audit", survey(tmp_path), "--out", tmp_path / "out")
    report = tmp_path / "out" / "report.json"
    assert leafgate("sheet", report, "--out", report).code == 2
    assert json.loads(report.read_bytes())["verdict"] == "pass"


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_names_that_nobody_would_choose_stay_text(tmp_path: Path, name: str) -> None:
    report = renamed(audited(tmp_path, ENDINGS["fail"]), name)
    page = sheet_page(StoredReport(document=report, sha256="0" * 64), SheetFacts(project=(name or "x")[:100])).decode()
    assert not {"script", "img"} & set(Read(page).tags)
    assert "\u202e" not in page
    assert "\x1b" not in page


MINIMAL = minimal_report(method={"known": [], "secret": [], "unknown": [], "granted": [], "attacks": []})


@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=60))
def test_any_names_of_checkers_are_printed_or_refused(checker: str, author: str) -> None:
    same = " ".join(checker.split()).casefold() == " ".join(author.split()).casefold()
    document = json.dumps({"checker": checker, "author": author})
    if same:
        with pytest.raises(ValueError, match="same person"):
            SheetFacts.model_validate_json(document)
        return
    facts = SheetFacts.model_validate_json(document)
    assert sheet_page(StoredReport(document=MINIMAL, sha256="0" * 64), facts)


CHROMIUM = os.environ.get("LEAFGATE_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium here: set LEAFGATE_CHROMIUM")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def fullest(report: dict[str, Any]) -> tuple[dict[str, Any], SheetFacts]:
    """A report with as much of everything as there may be, in long words, and facts as long as they may be."""
    words = "Many words of some length follow one another until the line is full. " * 40
    big = renamed(report, " " + words)
    big["findings"] *= 20
    big["notes"] = [f"{i}: {words}" for i in range(20)]
    big["guesses"] = [{"attack": f"a{i}{words}", "secret": words, "right": 0.5, "commonest": 0.25} for i in range(9)]
    big["method"]["known"] = [f"column {i} {words}" for i in range(60)]
    big["release"]["file"] = {"name": words, "format": words, "sha256": "0" * 64}
    line, long, name = words[:100], words[:240], words[:58]
    facts = dict.fromkeys(("project", "permission", "recipients", "licence", "retention"), line)
    people = {"requester": name, "author": f"A {name}", "checker": f"B {name}", "second_checker": f"C {name}"}
    earlier = [f"{i} {name}" for i in range(4)]
    return big, SheetFacts.model_validate({**facts, **people, "earlier_outputs": tuple(earlier), "conditions": long})


def cut(thing: Any, longest: int, key: str = "") -> Any:
    """The document with every text that somebody chose cut to a length."""
    if isinstance(thing, dict):
        return {name: cut(value, longest, name) for name, value in thing.items()}
    if isinstance(thing, list):
        return [cut(one, longest, key) for one in thing]
    return thing[:longest] if isinstance(thing, str) and key not in KEPT else thing


def pages(browser: Any, file: Path) -> int:
    """How many pages a file prints on; it asks for nothing besides itself."""
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url != file.as_uri() else None)
    page.goto(file.as_uri())
    printed: bytes = page.pdf(prefer_css_page_size=True)
    page.close()
    assert asked == []
    return len(re.findall(rb"/Type\s*/Page\b", printed))


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_sheet_prints_on_two_pages(browser: Any, tmp_path: Path, ending: str) -> None:
    written(tmp_path, ENDINGS[ending])
    assert pages(browser, tmp_path / "sheet.html") == 2


@pytest.mark.thorough
@pytest.mark.parametrize("longest", [1, 5, 12, *more(20, 30, 45, 60, 80, 120), 5000])
@pytest.mark.parametrize("letters", ["words", "capitals"])
def test_the_fullest_sheet_prints_on_two_pages_too(browser: Any, tmp_path: Path, longest: int, letters: str) -> None:
    report, facts = fullest(audited(tmp_path, ENDINGS["fail"], audience="public"))
    report = cut(report, longest)
    if letters == "capitals":
        report = widened(report)
    for given_facts in (facts, SheetFacts()):
        file = tmp_path / "sheet.html"
        file.write_bytes(sheet_page(StoredReport(document=report, sha256="0" * 64), given_facts))
        assert pages(browser, file) == 2


def widened(thing: Any, key: str = "") -> Any:
    """The document with the widest letter in place of every other one."""
    if isinstance(thing, dict):
        return {name: widened(value, name) for name, value in thing.items()}
    if isinstance(thing, list):
        return [widened(one, key) for one in thing]
    return re.sub(r"\w", "W", thing) if isinstance(thing, str) and key not in KEPT else thing
