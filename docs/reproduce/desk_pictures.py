"""The pictures of docs/how-to/decide.md: somebody decides in the desk about a tree of the demo's people.

python docs/reproduce/desk_pictures.py        writes docs/images/desk-*.png; needs playwright and Chromium
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from playwright.sync_api import Page, sync_playwright

from leafgate.commands.demo.people import people_csv

IMAGES = Path(__file__).resolve().parents[1] / "images"
PATIENCE = 300_000
"""How long an audit may take, in milliseconds."""


def main() -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("The pictures need Chromium: install it, or put it on the PATH.")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as started:
        folder, key = Path(name) / "cases", Path(name) / "keller.pem"
        folder.mkdir()
        (folder / "people.csv").write_bytes(people_csv(1000, 1))
        private = Ed25519PrivateKey.generate()
        key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        words = [sys.executable, "-m", "leafgate", "desk", str(folder), "--no-browser", "--key", str(key)]
        environment = {**os.environ, "LOGNAME": "m.keller"}
        desk = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)  # noqa: S603  # our own words
        try:
            assert desk.stdout is not None
            browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 860})
            page.set_default_timeout(PATIENCE)
            page.goto(desk.stdout.readline().split()[-1])
            page.wait_for_selector("h1:has-text('Cases')")
            _decide(page, folder)
        finally:
            desk.terminate()
            desk.wait()


def _decide(page: Page, folder: Path) -> None:
    """Begin a case, audit it as `leafgate init` proposes, and approve it as the first of two people."""
    page.get_by_role("link", name="New case").click()
    page.get_by_label("Name of the case").fill("clinic")
    page.select_option("#table", "people.csv")
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_selector("h1:has-text('What the files are')")
    with (folder / "clinic" / "policy.yaml").open("a") as policy:
        policy.write("\napprovals: {decisions: 2}\n")
    page.get_by_role("link", name="Continue to the questions").click()
    page.get_by_role("link", name="Check your answers and run").click()
    page.get_by_role("button", name="Run the audit").click()
    page.wait_for_selector(".verdict")
    page.get_by_role("link", name="Decide", exact=True).click()
    first = page.get_by_role("group").filter(has_text="Acceptable here").first
    first.get_by_label("Acceptable here").check()
    first.get_by_label("Why").fill("Everybody in the district was asked: it is known who is in the data.")
    page.screenshot(path=IMAGES / "desk-decide.png")
    for question in page.get_by_role("group").filter(has_text="Acceptable here").all()[1:]:
        question.get_by_label("Acceptable here").check()
        question.get_by_label("Why").fill("The limits on groups hold.")
    page.get_by_label("Approve").check()
    page.get_by_label("Reason").fill("Published with the paper.")
    page.get_by_label("Your name").fill("M. Keller")
    page.get_by_role("button", name="Check before you sign").click()
    page.screenshot(path=IMAGES / "desk-sign.png")


if __name__ == "__main__":
    main()
