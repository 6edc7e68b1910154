"""Two people decide in desks of their own about a result; whatever is changed afterwards voids it visibly."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
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
from clock import set_today
from command_line import leafgate
from decided_cases import is_approved
from desk_client import Attacker
from desk_visits import Person, RunningDesk, audited, small_case, violations
from leafgate.commands.attest.keys import signer_of
from leafgate.commands.desk import command
from leafgate.commands.desk.cases import FACTS, POLICY, Answer, Case
from leafgate.commands.desk.decisions import Decider, decided_about
from leafgate.commands.desk.jobs import Job, ask_job
from leafgate.commands.desk.policy_text import PolicyText
from leafgate.errors import InvalidError

EVERY_PAGE = ["", "/check", "/policy", "/requester", "/questions/people", "/runs/1", "/runs/1/decision"]
DECISION = "/cases/a/runs/1/decision"
RUN = Path("a", "runs", "1")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a case whose run 1 passed a policy that asks for two people."""
    folder = tmp_path_factory.mktemp("decided") / "a"
    case = small_case(folder)
    text = case.policy.text
    case.save(policy=PolicyText(f"{text}\napprovals: {{decisions: 2}}\n"))
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

    def answer(text: str) -> str:
        asked.append(text)
        return "open"

    monkeypatch.setattr(command, "getpass", answer)
    signer = command._decider(path, None, None).signer
    assert signer is not None
    assert signer.public == signer_of(private_pem()).public
    assert asked == [f"Passphrase of {path}: "]
    with pytest.raises(InvalidError, match="cannot be decrypted with this passphrase"):
        signer_of(path.read_bytes(), b"another")


class Checker:
    """Somebody who decides by forms that she sends without a browser."""

    def __init__(self, folder: Path, seed: int | None, **ledger: Any) -> None:
        signer = None if seed is None else signer_of(private_pem(seed))
        self.desk = Attacker(folder, is_in=True, decider=Decider(signer, **ledger))

    def decide(self, by: str, choice: str = "approve", **fields: str) -> Any:
        """Sign a decision, by a form in which everything is said."""
        page = self.desk.get(DECISION).text
        given = {"by": by, "decision": choice, "reason": f"The words of {by}", "do": "sign"}
        for key in re.findall(r'<fieldset class="field" id="(q\d+)"', page):
            given |= {key: "yes", f"{key}-why": "12 people at most"}
        about = re.findall(r'name="about" value="(\w+)"', page)
        return self.desk.post(DECISION, {**self.desk.seen("a"), "about": "".join(about), **given, **fields})


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "desk"))


def test_nobody_decides_without_a_key_or_about_what_she_did_not_see(folder: Path) -> None:
    keyless, first = Checker(folder, None), Checker(folder, 1)
    assert "start it with your key" in keyless.desk.get(DECISION).text
    about = re.findall(r'name="about" value="(\w+)"', first.desk.get(DECISION).text)[0]
    assert keyless.decide("M. Keller", about=about).status_code == 422
    report = folder / RUN / "public.json"
    report.write_text(report.read_text().replace('"waived": 0', '"waived":  0'))
    refused = first.decide("M. Keller", about=about)
    assert (refused.status_code, "Nothing was recorded" in refused.text) == (422, True)
    assert not (folder / RUN / "case.json").exists()
    (folder / RUN / "case.json").symlink_to(folder / "a" / "policy.yaml")
    assert "links are not followed" in first.desk.get(DECISION).text
    assert first.decide("M. Keller", about=about).status_code == 400


def test_what_failed_is_not_offered_for_approval_and_is_not_approved(folder: Path) -> None:
    text = Case(folder / "a").policy.text
    Case(folder / "a").save(policy=PolicyText(text.replace("at_least: 5", "at_least: 500")))
    shutil.rmtree(folder / RUN)
    audited(Case(folder / "a"))
    checker = Checker(folder, 1)
    page = checker.desk.get(DECISION).text
    assert "Not possible to approve: the audit did not pass." in page
    assert 'value="approve"' not in page
    refused = checker.decide("M. Keller")
    assert (refused.status_code, "it approves, and the verdict is fail" in refused.text) == (422, True)
    assert checker.decide("M. Keller", "reject").status_code == 303


@pytest.mark.thorough
def test_the_overview_has_neither_hidden_decisions_nor_words_and_the_ledger_what_left(
    folder: Path, tmp_path: Path
) -> None:
    ledger, key = tmp_path / "ledger.jsonl", tmp_path / "ledger.key"
    key.write_bytes(bytes(range(32)))
    assert leafgate("ledger", "new", ledger, "--key", key).code == 0
    given = {"ledger": ledger, "ledger_key": key.read_bytes()}
    first, second = Checker(folder, 1, **given), Checker(folder, 2, **given)
    assert "Nothing." in first.desk.get("/ledger").text
    assert first.decide("M. Keller", requester="R. Requester").status_code == 303
    opened = f"open,a,Waiting for a second person,{datetime.now(UTC).date()}\r\n"
    assert first.desk.get("/overview?as=csv").text == f"part,name,detail,value\r\n{opened}"
    assert second.decide("S. Other", "changes").status_code == 303
    rows = second.desk.get("/overview?as=csv").text
    month = datetime.now(UTC).strftime("%Y-%m")
    assert f"decisions,{month},approve,1\r\ndecisions,{month},changes,1\r\n" in rows
    assert "reasons,changes,membership: acceptable,1\r\n" in rows
    page = second.desk.get("/overview").text
    assert all(word not in rows + page for word in ("words of", "Keller", "12 people"))
    assert "R. Requester" in second.desk.get("/cases/a/runs/1/sheet").text
    assert "SATRE" in second.desk.get("/cases/a/runs/1/sheet?mapping=satre").text
    (folder / RUN / "case.json").unlink()
    assert first.decide("M. Keller").status_code == 303
    assert second.decide("S. Other").status_code == 303
    left = second.desk.get("/ledger").text
    assert "<h2>desk/a/people.csv</h2>" in left
    assert "Together with what left before it: No limit of the policy is about it." in left
    (folder / RUN / "job.json").write_text("{")
    assert "open,a,Problem: a/runs/1/job.json cannot be read," in second.desk.get("/overview?as=csv").text
    assert "<h2>desk/a/people.csv</h2>" in second.desk.get("/ledger").text


def test_a_waiver_that_is_over_lets_nothing_pass_any_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(folder / "a")
    (case.folder / POLICY).write_text(case.policy.text.replace("at_least: 5", "at_least: 500"))
    failed = audited(Case(folder / "a")).report
    assert failed is not None
    today = datetime.now(UTC).date()
    waiver = {
        "id": "W1",
        "finding": next(each["id"] for each in failed["findings"] if each["passed"] is False),
        "release": failed["release"]["sha256"],
        "owner": "R. Requester",
        "approved_by": "M. Keller",
        "reason": "Nobody is there.",
        "issued": str(today),
        "expires": str(today),
    }
    text = Case(folder / "a").policy.text
    (case.folder / POLICY).write_text(f"{text}\nwaivers: {json.dumps([waiver])}\n")
    job = audited(Case(folder / "a"))
    assert (job.report or {})["verdict"] == "pass"
    desk = Checker(folder, 1).desk
    assert "<td>Pass, not decided" in desk.get("/").text
    set_today(monkeypatch, today + timedelta(days=1))
    assert "<td>Fail" in desk.get("/").text
    assert "Fail: do not release this file" in desk.get(f"/cases/a/runs/{job.number}").text
    assert Job(job.case, job.number).differences == []


def fail_in(report: Path) -> None:
    """What a second audit into the folder of a run leaves there, while its report for the public is printed."""
    document = json.loads(report.read_text())
    document["findings"][0]["passed"], document["verdict"] = False, "fail"
    report.write_text(json.dumps(document))


@pytest.mark.parametrize("change", [fail_in, Path.unlink])
@pytest.mark.thorough
def test_nobody_decides_where_the_two_reports_are_not_of_one_audit(
    folder: Path, change: Callable[[Path], None]
) -> None:
    assert Checker(folder, 1).decide("M. Keller").status_code == 303
    change(folder / RUN / "results" / "report.json")
    second = Checker(folder, 2)
    assert "Out of date" in second.desk.get(DECISION).text
    about = decided_about(Job(Case(folder / "a"), 1))
    assert about is not None
    assert second.decide("S. Other", about=about.seen).status_code == 400
    assert ("<td>Void" if change is fail_in else "<td>Waiting") in second.desk.get("/").text


def test_nothing_is_approved_that_a_later_audit_of_the_same_files_did_not_pass(folder: Path) -> None:
    """A newer version or another plugin may find what an older one did not."""
    again = Path(shutil.copytree(folder / RUN, folder / "a" / "runs" / "2"))
    fail_in(again / "results" / "report.json")
    fail_in(again / "public.json")
    checker = Checker(folder, 1)
    refused = checker.decide("M. Keller")
    assert (refused.status_code, "Run 2 is a later audit" in refused.text) == (422, True)
    assert checker.decide("M. Keller", "reject").status_code == 303


def test_a_decision_about_a_remedy_is_void_when_the_policy_of_the_case_changes(folder: Path) -> None:
    run, policy = folder / RUN, folder / "a" / POLICY
    shutil.copy(policy, run)
    (run / "job.json").write_text((run / "job.json").read_text().replace('"kind": "audit"', '"kind": "set"'))
    first, second = Checker(folder, 1), Checker(folder, 2)
    assert [first.decide("M. Keller").status_code, second.decide("S. Other").status_code] == [303, 303]
    policy.write_text(f"# a remark\n{policy.read_text()}")
    assert "<td>Approved" in second.desk.get("/").text
    policy.write_text(policy.read_text().replace("at_least: 5", "at_least: 500"))
    assert "<td>Void" in second.desk.get("/").text
    page = second.desk.get(DECISION).text
    assert "runs/1/policy.yaml: is not the policy of the case" in page
    assert [words for words in ("Approved", "may leave: ", "Make it anew") if words in page] == []
    ask_job(Case(folder / "a"), "audit").save(asked=datetime.now(UTC) + timedelta(minutes=1))
    assert "is void" not in second.desk.get("/cases/a").text


def test_what_nobody_knows_is_asked_too_where_the_facts_are_gone(folder: Path) -> None:
    answers = {
        "people": Answer(fields={"who": "doubt"}, by="r", at="2026-03-03"),
        "file": Answer(fields={}, by="", at=""),
    }
    Case(folder / "a").save(answers=answers)
    desk, asks = Checker(folder, 1).desk, "Is each row of the table one person?"
    assert desk.get("/cases/a/check").status_code == 200
    assert asks in desk.get(DECISION).text
    (folder / "a" / FACTS).unlink()
    assert asks in desk.get(DECISION).text
