"""The pictures of docs/how-to/reports.md: pages of the demo's two audits, as a browser shows them.

python docs/reproduce/report_pictures.py        writes docs/images/*.png; needs playwright and Chromium
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

from leafgate_demo.audits import run_demo

IMAGES = Path(__file__).resolve().parents[1] / "images"
Colours = Literal["light", "dark"]
PAGES: dict[str, tuple[str, int, int, Colours, str]] = {
    "report-fail": ("unprotected", 1280, 1320, "light", ""),
    "report-leaf": ("unprotected", 1280, 860, "light", "a:has(circle.leaf.past)"),
    "report-pass": ("kadet", 1280, 1000, "dark", ""),
    "report-phone": ("kadet", 390, 844, "light", ""),
}


def main() -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("no Chromium here")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as started:
        run_demo(Path(name))
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for picture in PAGES:
            _take(browser, Path(name), picture)


def _take(browser: Browser, folder: Path, picture: str) -> None:
    which, width, height, colours, node = PAGES[picture]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=colours)
    page.goto((folder / which / "report.html").as_uri())
    if node:
        page.locator("#tree").evaluate("title => title.scrollIntoView()")
        page.locator(node).first.click()
    page.screenshot(path=IMAGES / f"{picture}.png")
    page.close()


if __name__ == "__main__":
    main()
