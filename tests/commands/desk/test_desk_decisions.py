"""Two people decide in desks of their own about a result; whatever is changed afterwards voids it visibly."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from attested import private_pem, write_keys
from command_line import leafgate
from decided_cases import is_approved
from desk_visits import Person, RunningDesk, audited, violations
from leafgate.commands.desk import command
from leafgate.commands.desk.cases import Case
from leafgate.commands.desk.policy_text import PolicyText
from leafgate.commands.desk.reading import read_files

EVERY_PAGE = ["", "/check", "/policy", "/requester", "/questions/people", "/runs/1", "/runs/1/decision"]
DECISION = "/cases/a/runs/1/decision"
RUN = Path("a", "runs", "1")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a case whose run 1 passed a policy that asks for two people."""
    folder = tmp_path_factory.mktemp("decided") / "a"
    folder.mkdir()
    rows = [f"{20 + number % 40},{'AB'[number % 2]},{('yes', 'no')[number % 3 > 0]}" for number in range(120)]
    (folder / "people.csv").write_text("\n".join(["age,ward,ill", *rows]) + "\n")
    Case(folder).save(files={"table": "people.csv"})
    read_files(folder)
    text = Case(folder).policy.text
    Case(folder).save(policy=PolicyText(f"{text}\napprovals: {{decisions: 2}}\n"))
    audited(Case(folder))
    return folder.parent


def fill(page: Any, by: str, reason: str, choice: str = "Approve") -> None:
    """Say of every question why it is acceptable, and what is decided."""
    for question in page.get_by_role("group").filter(has_text="Acceptable here").all():
        question.get_by_label("Acceptable here").check()
        question.get_by_label("Why").fill(f"few people, says {by}")
    page.get_by_label(choice).check()
    page.get_by_label("Reason").fill(reason)
    page.get_by_label("Your name").fill(by)


def sign(page: Any) -> str:
    """Look at the decision once more and sign it; what the page shows then."""
    page.get_by_role("button", name="Check before you sign").click()
    page.get_by_role("button", name="Sign and record").click()
    page.wait_for_selector("h1:has-text('Decide about')")
    return str(page.locator("main").inner_text())


def change_release(folder: Path) -> None:
    with (folder / RUN / "results" / "release.json").open("a") as file:
        file.write("\n")


def swap_report(folder: Path) -> None:
    shutil.copy(folder / "b" / "runs" / "2" / "public.json", folder / RUN)


def edit_reason(folder: Path) -> None:
    case = folder / RUN / "case.json"
    case.write_text(case.read_text().replace("The first reason", "Another reason"))


def empty_report(folder: Path) -> None:
    (folder / RUN / "public.json").write_text("{}")


VOIDED: Mapping[Callable[[Path], None], str] = {
    change_release: "the release is not what was decided about: ",
    swap_report: "the report is not what was decided about: ",
    edit_reason: "decision 1 is not as it was signed",
    empty_report: "public.json",
}
"""What is done to the folder of an approved case, and what its pages say then."""


@pytest.mark.thorough
def test_a_pass_comes_to_a_decision_by_two_keys_which_every_change_voids(
    person: Person, made: Path, tmp_path: Path
) -> None:
    folder, page = Path(shutil.copytree(made, tmp_path / "desk")), person.page
    write_keys(tmp_path)
    first = RunningDesk(folder, options=["--key", str(tmp_path / "private.pem")])
    person.opens(first)
    page.get_by_role("link", name="a", exact=True).click()
    page.get_by_role("link", name="Decide").click()
    hindered = seen_by_everybody(page)
    page.get_by_role("button", name="Check before you sign").click()
    assert page.title().startswith("Error: ")
    assert page.locator(".trouble li").all_inner_texts()[-1] == "Write your name."
    hindered += violations(page)
    fill(page, "M. Keller", "The first reason")
    page.get_by_role("button", name="Check before you sign").click()
    hindered += seen_by_everybody(page)
    page.get_by_role("button", name="Change it").click()
    waiting = sign(page)
    assert "Waiting for a second person" in waiting
    assert "The first reason" not in waiting
    fill(page, "Somebody Else", "The same key")
    page.get_by_role("button", name="Check before you sign").click()
    assert "decided already, as M. Keller" in page.locator(".field:has(#by)").inner_text()
    first.stop()

    second = RunningDesk(folder, options=["--key", str(tmp_path / "other-private.pem")])
    try:
        person.opens(second)
        assert "Waiting for a second person" in page.locator("main").inner_text()
        page.goto(f"{second.root}{DECISION}")
        assert "few people" not in page.content()
        fill(page, "m.  KELLER", "The same name")
        page.get_by_role("button", name="Check before you sign").click()
        assert "decided already, as M. Keller" in page.locator(".field:has(#by)").inner_text()
        fill(page, "S. Other", "The second reason")
        approved = sign(page)
        assert "Approved" in approved
        assert "The first reason" in approved
        assert "The second reason" in approved
        assert hindered + seen_by_everybody(page) == []
        is_verified(folder, tmp_path)
        audit_another(shutil.copytree(made / "a", folder / "b"))
        shutil.copy(folder / RUN / "case.json", folder / "b" / "runs" / "2")
        shows_void(page, second, "b", "the report is not what was decided about: ", "/runs/2/decision")
        for change, words in VOIDED.items():
            kept = shutil.copytree(folder / "a", tmp_path / change.__name__)
            change(folder)
            shows_void(page, second, "a", words, *(EVERY_PAGE if change is change_release else [""]))
            shutil.copytree(kept, folder / "a", dirs_exist_ok=True)
        page.goto(f"{second.root}{DECISION}")
        assert not page.locator("strong", has_text="is void").count()
    finally:
        second.stop()


def seen_by_everybody(page: Any) -> list[tuple[str, str, str]]:
    """What axe finds on a page in light and dark, and whether it is wider than a narrow window."""
    found = violations(page)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 320, "height": 800})
    found += violations(page)
    if page.evaluate("document.documentElement.scrollWidth") > 320:
        found.append((page.url, "is wider than 320 px", ""))
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1300, "height": 900})
    return found


def is_verified(folder: Path, keys: Path) -> None:
    """The command line and a second implementation read the decision that the desk wrote."""
    report, statements = folder / RUN / "public.json", keys / "statements"
    attested = leafgate("attest", report, "--key", keys / "private.pem", "--out", statements)
    assert attested.code == 0, attested.err
    verified = leafgate("verify", statements, "--key", keys / "public.pem", "--policy", folder / "a" / "policy.yaml")
    assert (verified.code, "approved by M. Keller, S. Other" in verified.out) == (0, True), verified.err
    case = folder / RUN / "case.json"
    assert is_approved(case.read_bytes(), json.loads(case.read_bytes())["decisions"][0]["about"])


def audit_another(folder: Path) -> None:
    """Audit a case by another policy."""
    text = Case(folder).policy.text
    Case(folder).save(policy=PolicyText(text.replace("at_most: 0.95", "at_most: 0.99")))
    audited(Case(folder))


def shows_void(page: Any, desk: RunningDesk, case: str, words: str, *paths: str) -> None:
    """The list and these pages of a case say that its decision is void, and why."""
    page.goto(f"{desk.root}/")
    assert page.locator(f"tr:has(a:text-is('{case}'))").inner_text().split()[1] == "Void"
    for path in paths:
        page.goto(f"{desk.root}/cases/{case}{path}")
        assert words in page.locator(".late:has-text('is void')").inner_text(), path


def test_the_passphrase_of_a_key_is_asked_for_in_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = load_pem_private_key(private_pem(), None)
    path = tmp_path / "key.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"open")))
    asked: list[str] = []
    monkeypatch.setattr(command, "getpass", lambda text: asked.append(text) or "open")
    public = command._decider(path, None, None).signer.public
    assert (asked, len(public)) == ([f"Passphrase of {path}: "], 64)
