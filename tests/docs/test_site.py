"""The documentation site, built with warnings as errors and read in a browser."""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from documentation_site import COMMAND

pytestmark = pytest.mark.thorough

TOP = Path(__file__).resolve().parents[2]
CHROMIUM = os.environ.get("LEAFGATE_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: set LEAFGATE_CHROMIUM")
PHONE, DESK = (390, 844), (1280, 800)
STYLE_URL = re.compile(r"""url\(\s*["']?\s*((?:https?:)?//[^)"']+)|@import\s+["']([^"']+)""")
LINKING = {("a", "href")}
"""Where an address is a citation that a reader may follow; everywhere else the browser would load it."""
LOADING = ("src", "srcset", "href", "xlink:href", "data", "poster", "action", "formaction", "background", "ping")
THEME_SITES = {"pradyunsg.me", "www.sphinx-doc.org", "readthedocs.org", "github.com/pradyunsg/furo"}
LARGEST_PICTURE = 200_000
"""Bytes of a file."""
AXE_PAGES = [
    "index.html",
    "gallery.html",
    "tutorials/first-audit.html",
    "reference/policy.html",
    "measurements/kadet-on-adult.html",
    "notebooks/audit-a-model.html",
    "notebooks/compare-attacks.html",
    "search.html",
]
SEARCHES = {
    "l-diversity": "Group metrics",
    "membership": "Membership",
    "exit codes": "Exit codes",
    "small cell": "Disclosure control",
    "differencing": "trained anew",
    "egress": "Decision sheet",
    "how many people": "Read and share reports",
    "what does inconclusive mean": "Threat model",
    "output checker": "You were handed a model",
    "threshold rule": "Structural",
    "membership inference": "Membership",
    "k-anonymity": "k-anonymous trees",
    "class disclosure": "Structural",
    "differential privacy budget": "differential privacy",
    "pickle": "Audit the file of a model",
    "ONNX": "Model files",
    "GitHub Actions": "Block a pipeline",
    "waiver": "waivers",
    "shadow models": "Membership",
    "re-identification": "Group metrics",
    "model card": "Read and share reports",
    "DPIA": "Decision sheet",
    "attribute inference": "Attributes",
}
"""What a reader types, and a word in the title of a page that must be among the first results."""


@pytest.fixture(scope="session")
def pages(site: Path) -> list[str]:
    """The path of every page below the site."""
    return sorted(str(path.relative_to(site)) for path in site.rglob("*.html") if "_downloads" not in path.parts)


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The address at which the site is served, on this machine alone."""
    handler = functools.partial(_QuietHandler, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Page(HTMLParser):
    """What a page loads, where it links to, its styles, and the pictures that lack a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.styles: list[str] = []
        self.ids: set[str] = set()
        self.pictures_without_text: list[str] = []
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"
        values = {name: value or "" for name, value in attrs}
        if "srcdoc" in values:
            framed = Page(values["srcdoc"])
            self.loaded += framed.loaded
            self.styles += framed.styles
        for name in LOADING:
            if name in values:
                (self.links if (tag, name) in LINKING else self.loaded).append(values[name])
        self.styles.append(values.get("style", ""))
        self.ids.update(filter(None, (values.get("id"), values.get("name"))))
        if tag == "img" and not values.get("alt", "").strip():
            self.pictures_without_text.append(values.get("src", ""))

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.styles.append(data)


@pytest.fixture(scope="session")
def parsed(site: Path, pages: list[str]) -> dict[str, Page]:
    return {page: Page((site / page).read_text(encoding="utf-8")) for page in pages}


def is_external(url: str) -> bool:
    return bool(urlsplit(url.strip()).netloc)


@pytest.mark.parametrize("file", ["docs/how-to/contribute.md", "docs/conf.py"])
def test_the_command_that_builds_the_site_is_documented(file: str) -> None:
    assert COMMAND in (TOP / file).read_text(encoding="utf-8").splitlines()


def test_every_page_of_the_documentation_is_in_the_site(pages: list[str]) -> None:
    excluded = {"ci", "reproduce", "results"}
    sources = [path.relative_to(TOP / "docs") for path in (TOP / "docs").rglob("*") if path.suffix in {".md", ".ipynb"}]
    expected = {str(path.with_suffix(".html")) for path in sources if path.parts[0] not in excluded}
    assert expected <= set(pages)


def test_no_page_loads_anything_from_another_site(parsed: dict[str, Page]) -> None:
    assert [(page, url) for page, seen in parsed.items() for url in seen.loaded if is_external(url)] == []
    assert [page for page, seen in parsed.items() if any(map(STYLE_URL.search, seen.styles))] == []


def test_no_style_sheet_of_the_site_loads_anything_from_another_site(site: Path) -> None:
    sheets = {path.name: path.read_text(encoding="utf-8") for path in site.rglob("*.css")}
    assert "furo.css" in sheets
    assert [name for name, text in sheets.items() if STYLE_URL.search(text)] == []


def test_no_page_links_to_who_made_the_theme_or_to_its_own_source(parsed: dict[str, Page]) -> None:
    links = [link for seen in parsed.values() for link in seen.links]
    assert [link for link in links if any(site in link for site in THEME_SITES) or "_sources/" in link] == []


def test_every_link_within_the_site_leads_to_a_page_or_a_file(site: Path, parsed: dict[str, Page]) -> None:
    broken = []
    for page, seen in parsed.items():
        for link in seen.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (site / page).parent.joinpath(parts.path).resolve() if parts.path else site / page
            name = str(target.relative_to(site.resolve())) if target.is_relative_to(site.resolve()) else ""
            if not target.exists() or (parts.fragment and name in parsed and parts.fragment not in parsed[name].ids):
                broken.append((page, link))
    assert broken == []


def test_every_picture_has_a_text(parsed: dict[str, Page]) -> None:
    assert {page: seen.pictures_without_text for page, seen in parsed.items() if seen.pictures_without_text} == {}


def test_the_titles_in_the_navigation_are_short(site: Path) -> None:
    navigation = (site / "index.html").read_text(encoding="utf-8").partition('class="sidebar-tree"')[2]
    titles = re.findall(r'class="reference internal"[^>]*>([^<]+)</a>', navigation.partition("</aside>")[0])
    assert len(titles) > 40
    assert [title for title in titles if len(title) > 32] == []


@needs_browser
def test_no_page_asks_another_site_or_scrolls_sideways_on_a_phone(browser: Any, address: str, pages: list[str]) -> None:
    context = browser.new_context(viewport={"width": PHONE[0], "height": PHONE[1]})
    page = context.new_page()
    asked: list[str] = []
    failed: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.on("response", lambda response: failed.append(response.url) if response.status >= 400 else None)
    wide = {}
    for name in pages:
        page.goto(f"{address}/{name}")
        width = page.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
        if width > PHONE[0]:
            wide[name] = width
    context.close()
    assert wide == {}
    assert [url for url in asked if not url.startswith((address, "data:"))] == []
    assert failed == []


@needs_browser
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, address: str, colours: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    context = browser.new_context(viewport={"width": DESK[0], "height": DESK[1]}, color_scheme=colours)
    page = context.new_page()
    violations_of = {}
    for name in AXE_PAGES:
        page.goto(f"{address}/{name}")
        violations = axe.Axe().run(page).response["violations"]
        serious = [
            (rule["id"], rule["nodes"][0]["target"], len(rule["nodes"]))
            for rule in violations
            if rule["impact"] in {"serious", "critical"}
        ]
        if serious:
            violations_of[name] = serious
    context.close()
    assert violations_of == {}


@needs_browser
@pytest.mark.parametrize(("words", "title"), SEARCHES.items(), ids=SEARCHES)
def test_the_search_finds_the_page_about(browser: Any, address: str, words: str, title: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}/index.html")
    page.locator("input[name=q]").first.fill(words)
    page.keyboard.press("Enter")
    page.locator("#search-results .search li").first.wait_for()
    page.wait_for_function("document.querySelector('#search-results p').textContent.includes('finished')")
    titles = page.locator("#search-results .search li > a").all_inner_texts()
    page.close()
    assert any(title.lower() in found.lower() for found in titles[:5]), titles[:8]


def test_pictures_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in (TOP / "docs/images").iterdir()}
    assert {name for name, size in sizes.items() if size >= LARGEST_PICTURE} == set()
