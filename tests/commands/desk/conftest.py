"""A browser, and a person who uses it; whatever the browser complains about on the way fails the test."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from desk_visits import CHROMIUM, Person


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    for module in ("playwright.sync_api", "axe_playwright_python.sync_playwright"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium here: set LEAFGATE_CHROMIUM")
    with import_module("playwright.sync_api").sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def person(browser: Any) -> Iterator[Person]:
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    page = context.new_page()
    page.set_default_timeout(30_000)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield Person(page)
    context.close()
    refused = ("400", "403", "422", "ERR_CONNECTION_REFUSED")
    assert [each for each in complaints if not any(code in each for code in refused)] == []
