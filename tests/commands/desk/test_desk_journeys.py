"""Somebody goes from an empty folder to a verdict and a repaired pass, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desk_visits import CHROMIUM, Person, RunningDesk
from leafgate.cli import run
from leafgate.commands.demo.audits import policy_text
from leafgate.commands.demo.people import people_csv

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: set LEAFGATE_CHROMIUM")
KNOWN = {
    "Is each row one person": "Yes",
    "Must nobody learn it": "Nobody may learn it",
    "What will leave": "Numbers of people",
    "name": "Not used",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def person(browser: Any) -> Iterator[Person]:
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.set_default_timeout(30_000)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield Person(page)
    page.close()
    assert complaints == []


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[RunningDesk]:
    folder = tmp_path / "desk"
    folder.mkdir()
    running = RunningDesk(folder)
    yield running
    if running.process.poll() is None:
        running.stop()


def demo_files(folder: Path) -> None:
    """The demonstration's people, and the tree that fails."""
    (folder / "people.csv").write_bytes(people_csv(3000, 1))
    (folder / "test.csv").write_bytes(people_csv(3000, 2))
    (folder / "unprotected.yaml").write_text(policy_text("unprotected"), encoding="utf-8")
    assert run(["build", str(folder / "unprotected.yaml"), "--out", str(folder / "tree.json")]) == 0


def violations(page: Any) -> list[tuple[str, str, str]]:
    """What hinders people who cannot see a page, or use no mouse."""
    found = axe.Axe().run(page, options={"iframes": False}).response["violations"]
    return [(page.url, each["id"], each["nodes"][0]["html"][:200]) for each in found]


@pytest.mark.thorough
def test_the_failing_tree_of_the_demo_comes_to_a_verdict_and_a_protected_pass(
    person: Person, desk: RunningDesk
) -> None:
    demo_files(desk.folder)
    person.opens(desk)
    assert "No cases yet" in person.page.locator("main").inner_text()
    person.begins(desk, "demo", model="tree.json", table="people.csv", test="test.csv")
    headings = person.answers(desk, "demo", KNOWN)
    assert "What could somebody outside know of every person?" in headings
    assert person.runs(desk, "demo").startswith("Fail: do not release this file")
    page = person.page
    assert "2,592 of 3,000 people" in page.locator(".verdict").inner_text()
    assert page.frame_locator("iframe").locator("svg").count()
    given = page.url
    page.get_by_role("button", name="Try a protected tree").click()
    assert person.reads().startswith("Pass: no limit is broken")
    page.goto(given)
    compared = page.get_by_role("region", name="side by side").locator("tr:has(th[scope=row])")
    rows = {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in compared.all()}
    assert [cell.strip() for cell in rows["Verdict"]] == ["fail", "pass"]
    assert all(re.fullmatch(r"0\.\d\d", cell) for cell in rows["How well it predicts others (0.5 is chance)"])
    page.get_by_role("link", name="Public sees").click()
    assert not page.get_by_role("heading", name="Who is exposed").count()
    assert hindrances(page, desk, "demo") == []


def hindrances(page: Any, desk: RunningDesk, case: str) -> list[tuple[str, str, str]]:
    """What axe finds on every screen, wide and narrow, and what is wider than a narrow window."""
    at = f"{desk.root}/cases/{case}"
    screens = ["/", "/new", "/security", "/nowhere"]
    below = ["", "/policy", "/requester", "/check", "/runs/1", "/runs/2", "/runs/2?view=public"]
    below += [f"/questions/{name}" for name in ("people", "predicted", "outsiders", "harmless", "publish", "limits")]
    found = []
    for path in screens + below:
        address = f"{desk.root if path in screens else at}{path}"
        page.set_viewport_size({"width": 1300, "height": 900})
        page.goto(address)
        found += violations(page)
        if path in {"/runs/2", "/questions/outsiders"}:
            page.emulate_media(color_scheme="dark")
            page.set_viewport_size({"width": 400, "height": 800})
            found += violations(page)
            page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 320, "height": 800})
        if page.evaluate("document.documentElement.scrollWidth") > 320:
            found.append((address, "is wider than 320 px", ""))
    return found
