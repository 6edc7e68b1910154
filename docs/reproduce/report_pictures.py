"""The pictures of docs/gallery.md and docs/how-to/reports.md: pages of audits of the demo's people in a browser.

python docs/reproduce/report_pictures.py        writes docs/images/*.png; needs playwright and Chromium
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

from leafgate.cli import run
from leafgate.commands.demo.audits import policy_text, run_demo

IMAGES = Path(__file__).resolve().parents[1] / "images"
DESK, NARROW, PHONE = (1280, 860), (800, 860), (390, 844)
"""Width and height of the window, in pixels."""
MEMBERSHIP = """
attacks:
  - {use: loss_threshold}
  - {use: leaf_exclusion}
metrics:
  - {use: membership_auc, of: loss_threshold, at_most: 0.55}
  - {use: membership_excluded, at_most: 0}
"""
ATTRIBUTES = """
knows: {class: true, auxiliary: 1000}
attacks:
  - {use: leaf_constraints}
  - {use: likelihood}
metrics:
  - {use: attribute_certain, at_most: 0}
  - {use: attribute_leak, of: likelihood, at_most: 0.2}
"""
AUDITS: Mapping[str, str] = {"membership": MEMBERSHIP, "attributes": ATTRIBUTES}
"""Audits beside the demo's two: its unprotected tree, attacked in another way."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """What a picture shows of the page of an audit: the first screen, one section, or an opened leaf."""

    audit: str
    size: tuple[int, int] = DESK
    colours: Literal["light", "dark"] = "light"
    section: str | None = None
    opened: str | None = None


PICTURES: Mapping[str, Picture] = {
    "report-fail": Picture(audit="unprotected"),
    "report-tree": Picture(audit="unprotected", section="tree"),
    "report-leaf": Picture(audit="unprotected", opened="a:has(circle.leaf.past)"),
    "report-pass": Picture(audit="kadet", colours="dark"),
    "report-phone": Picture(audit="kadet", size=PHONE),
    "report-membership": Picture(audit="membership", size=NARROW, section="curves"),
    "report-attributes": Picture(audit="attributes", section="inferences"),
}


def main() -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("The pictures need Chromium: install it, or put it on the PATH.")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as started:
        run_demo(Path(name))
        for audit in AUDITS:
            _run_audit(Path(name), audit)
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for picture in PICTURES:
            _take(browser, Path(name), picture)


def _run_audit(folder: Path, audit: str) -> None:
    """Write one policy of AUDITS into the demo's folder and audit it."""
    policy = folder / f"{audit}.yaml"
    data = policy_text("unprotected").partition("\nattacks:")[0].replace("  test: test.csv", "  control: test.csv")
    policy.write_text(data + AUDITS[audit], encoding="utf-8")
    report = ["--out", str(folder / audit), "--to", "html", "--audience", "auditor", "--no-remedies"]
    if run(["audit", str(policy), *report]) != 1:
        sys.exit(f"The audit {audit} of the unprotected tree did not fail.")


def _take(browser: Browser, folder: Path, name: str) -> None:
    picture = PICTURES[name]
    width, height = picture.size
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=picture.colours)
    page.goto((folder / picture.audit / "report.html").as_uri())
    path = IMAGES / f"{name}.png"
    if picture.section:
        page.locator(f"section[aria-labelledby={picture.section}]").screenshot(path=path)
    else:
        if picture.opened:
            page.locator("#tree").evaluate("title => title.scrollIntoView()")
            page.locator(picture.opened).first.click()
        page.screenshot(path=path)
    page.close()


if __name__ == "__main__":
    main()
