"""The page in a real browser: nothing is asked for, the verdict is seen first, every node opens."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from adult import kadet, unprotected
from cases import more
from leafgate.app import document
from reports import notebook_frame, view

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
CHROMIUM = os.environ.get("LEAFGATE_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: set LEAFGATE_CHROMIUM"),
]
SIZES = {"desk": (1280, 720), "phone": (390, 844)}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module", params=["fail-auditor", "pass-public", *more("fail-public", "pass-auditor")])
def page_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a real audit of Adult."""
    verdict, _, who = str(request.param).partition("-")
    audience: Literal["public", "auditor"] = "auditor" if who == "auditor" else "public"
    audited = unprotected("adult-all", 50) if verdict == "fail" else kadet("adult-all", 50)
    assert audited.report.verdict == verdict
    file = tmp_path_factory.mktemp("page") / "report.html"
    for form, name in (("html", "report.html"), ("sheet", "sheet.html")):
        file.with_name(name).write_bytes(view(document(audited.report, audience), form))
    return file


def opened(browser: Any, file: Path, size: tuple[int, int], **options: Any) -> tuple[Any, list[str]]:
    """The page, and all it has complained about or asked for besides itself."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, **options)
    seen: list[str] = []
    page.on("console", lambda message: seen.append(message.text))
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("request", lambda request: seen.append(request.url) if request.url != file.as_uri() else None)
    page.goto(file.as_uri())
    return page, seen


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_the_verdict_is_seen_without_scrolling_and_nothing_is_asked_for(
    browser: Any, page_file: Path, size: tuple[int, int]
) -> None:
    page, seen = opened(browser, page_file, size)
    box = page.locator("h1").bounding_box()
    assert page.locator("h1").inner_text().startswith(("PASS", "FAIL"))
    assert 0 <= box["y"] < box["y"] + box["height"] <= size[1]
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert seen == []
    page.close()


def without_a_tree(page_file: Path) -> bool:
    """Is it the public page of a release that fails, which draws no tree?"""
    return "What the public may know" in page_file.read_text(encoding="utf-8")


def test_every_node_of_the_tree_opens_without_a_script(browser: Any, page_file: Path) -> None:
    page, seen = opened(browser, page_file, SIZES["desk"], java_script_enabled=False)
    if without_a_tree(page_file):
        assert page.locator("svg[role=group], .card").count() == 0
        return
    nodes = page.locator("svg a[href^='#node-']")
    assert nodes.count() > 1
    assert page.locator(".card:visible").count() == 0
    for place in (0, nodes.count() // 2, nodes.count() - 1):
        nodes.nth(place).click()
        assert page.locator(".card:visible").count() == 1
        assert page.locator(f"#node-{place}").is_visible()
        assert nodes.nth(place).evaluate(IN_VIEW)  # the tree stays where it was, its open node marked
        assert nodes.nth(place).locator(".at").evaluate("node => getComputedStyle(node).strokeWidth") == "4px"
    page.locator(".card:visible .close").click()
    assert page.locator(".card:visible").count() == 0
    assert seen == []
    page.close()


IN_VIEW = "node => { const box = node.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight }"


def test_a_node_in_a_notebook_opens_in_its_cell(browser: Any, page_file: Path) -> None:
    cell = page_file.with_name("notebook.html")
    cell.write_text(f"<p>In [1]: audit</p>{notebook_frame(page_file.read_text(encoding='utf-8'))}", encoding="utf-8")
    page, seen = opened(browser, cell, SIZES["desk"], java_script_enabled=False)
    frame = page.frame_locator("iframe")
    assert frame.locator("h1").count() == 1
    if not without_a_tree(page_file):
        frame.locator("a[href='#node-0']").click()
        assert frame.locator("#node-0").is_visible()
    assert seen == []
    page.close()


def test_nothing_of_the_findings_is_cut_off_on_a_phone(browser: Any, page_file: Path) -> None:
    page, _ = opened(browser, page_file, SIZES["phone"])
    for table in page.locator("table").all():
        assert table.evaluate(
            "one => one.getBoundingClientRect().right <= one.parentElement.getBoundingClientRect().right + 1"
        )
        assert all(cell.bounding_box()["width"] > 200 for cell in table.locator("td:visible").all()[:8])
    page.close()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_a_reader_who_cannot_see_it_finds_no_serious_hindrance(browser: Any, page_file: Path, colours: str) -> None:
    page, _ = opened(browser, page_file, SIZES["desk"], color_scheme=colours)
    found = axe.Axe().run(page).response["violations"]
    assert [(v["id"], v["help"]) for v in found if v["impact"] in {"moderate", "serious", "critical"}] == []
    page.close()


def test_it_can_be_printed(browser: Any, page_file: Path) -> None:
    page, _ = opened(browser, page_file, SIZES["desk"])
    assert page.pdf().startswith(b"%PDF")
    page.close()


def test_a_sheet_prints_on_at_most_three_pages_of_which_none_is_wider_than_the_paper(
    browser: Any, page_file: Path
) -> None:
    page, seen = opened(browser, page_file.with_name("sheet.html"), (700, 1000))  # an A4 page between its margins
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) <= 3
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    found = axe.Axe().run(page).response["violations"]
    assert [(v["id"], v["help"]) for v in found if v["impact"] in {"moderate", "serious", "critical"}] == []
    assert seen == []
    page.close()


def test_it_stays_below_a_megabyte(page_file: Path) -> None:
    assert page_file.stat().st_size < 1_000_000
