"""The commands `leafgate case show` and `decide` on audited releases."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from attested import TODAY, attest, audited, audited_model, statement, verify, waived
from clock import set_today
from command_line import Ended, leafgate

CASE = "case.json"
TWO = {"approvals": {"decisions": 2}}
KEYS = {"M. Keller": "", "S. Other": "other-"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with audits that nobody has decided about."""
    top = tmp_path_factory.mktemp("cases")
    folders = {
        "pass": audited(top / "pass", changes=TWO),
        "fail": audited(top / "fail", "fail"),
        "model": audited_model(top / "model"),
    }
    (top / "pass" / "facts.yaml").write_text("requester: R. Requester\nproject: Clinic\n")
    return {**folders, "approved": approved(shutil.copytree(folders["pass"], top / "approved"))}


@pytest.fixture
def copied(made: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """Copies one of these folders."""
    return lambda name: shutil.copytree(made[name], tmp_path / name)


def show(folder: Path, *words: object) -> Ended:
    return leafgate("case", "show", folder / "out", "--policy", folder / "policy.yaml", *words)


def decide(folder: Path, by: str, *words: object, choice: str = "--approve", key: str | None = None) -> Ended:
    """Decide with answers to all questions that nobody examined; a reason that names the author."""
    questions = show(folder, "--json").document["not_examined"]
    answered = [word for name in questions for word in ("--question", f"{name}=few people, says {by}")]
    private = folder / f"{KEYS.get(by, '') if key is None else key}private.pem"
    given = ["--policy", folder / "policy.yaml", choice, "--reason", f"The words of {by}", "--by", by, "--key", private]
    return leafgate("case", "decide", folder / "out", *given, *answered, *words)


def approved(folder: Path, *words: object) -> Path:
    """The folder, which two people approved."""
    for code, by in ((3, "M. Keller"), (0, "S. Other")):
        ended = decide(folder, by, *words)
        assert ended.code == code, ended.err
    return folder


@pytest.mark.thorough
def test_two_people_approve_and_the_first_decision_is_hidden_until_then(copied: Callable[[str], Path]) -> None:
    folder = copied("pass")
    asked = show(folder)
    assert (asked.code, asked.out.splitlines()[-1]) == (3, f"{folder / 'out'}: nobody decided (the verdict is pass)")
    first = decide(folder, "M. Keller", "--facts", folder / "facts.yaml")
    assert (first.code, first.err) == (3, "")
    for ended in (first, show(folder), show(folder, "--json")):
        assert "words of" not in ended.out
        assert "few people" not in ended.out
        assert "approve:" not in ended.out
        assert '"approve"' not in ended.out
    second = decide(folder, "S. Other", "--json")
    assert (second.code, second.document["state"]) == (0, "approved")
    assert second.document["facts"] == {"requester": "R. Requester", "project": "Clinic", "earlier_outputs": []}
    keys = ("--key", folder / "public.pem", "--key", folder / "other-public.pem")
    shown = leafgate("case", "show", folder / "out", *keys)  # the case knows where the policy is
    assert (shown.code, shown.err) == (0, "")
    assert "approve: The words of M. Keller" in shown.out
    assert "note: name the keys" in show(folder).err
    assert show(folder, *keys[:2]).code == 3
    assert (folder / "out" / CASE).stat().st_mode & 0o777 == 0o600


def test_the_stricter_of_two_decisions_counts_and_the_first_stays_hidden_from_the_exit_code(
    copied: Callable[[str], Path],
) -> None:
    folder = copied("pass")
    assert decide(folder, "M. Keller", choice="--reject").code == 3
    ended = decide(folder, "S. Other")
    assert (ended.code, ended.out.splitlines()[-1]) == (
        1,
        f"{folder / 'out'}: rejected by M. Keller, S. Other (the verdict is pass)",
    )


@pytest.mark.parametrize(
    ("by", "key", "words"),
    [
        ("m.  KELLER", "other-", "decided already, as M. Keller"),
        ("S. Other", "", "decided already, as M. Keller"),
        ("r. requester", "other-", "is the requester"),
    ],
)
def test_one_person_does_not_decide_twice_nor_about_her_own_request(
    copied: Callable[[str], Path], by: str, key: str, words: str
) -> None:
    folder = copied("pass")
    decide(folder, "M. Keller", "--facts", folder / "facts.yaml")
    before = (folder / "out" / CASE).read_bytes()
    ended = decide(folder, by, key=key)
    assert (ended.code, ended.err) == (2, f"leafgate: --by: {words} (let somebody else decide)\n")
    assert (folder / "out" / CASE).read_bytes() == before


def exchange_report(folder: Path) -> None:
    report = folder / "out" / "report.json"
    report.write_text(report.read_text().replace('"waived": 0', '"waived":  0'))


def change_release(folder: Path) -> None:
    with (folder / "out" / "release.json").open("a") as file:
        file.write("\n")


def change_policy(folder: Path) -> None:
    policy = json.loads((folder / "policy.yaml").read_text())
    policy["metrics"][0]["at_least"] = 2
    (folder / "policy.yaml").write_text(json.dumps(policy))


def ask_for_one(folder: Path) -> None:
    policy = json.loads((folder / "policy.yaml").read_text())
    (folder / "policy.yaml").write_text(json.dumps({**policy, "approvals": None}))


def remove_policy(folder: Path) -> None:
    (folder / "policy.yaml").unlink()


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (exchange_report, "report"),
        (change_release, "release"),
        (change_policy, "policy"),
        (ask_for_one, "policy"),
        (remove_policy, "policy"),
    ],
)
@pytest.mark.thorough
def test_a_decision_is_void_where_a_file_is_no_longer_what_it_was_about(
    copied: Callable[[str], Path], change: Callable[[Path], None], part: str
) -> None:
    folder = copied("approved")
    change(folder)
    shown = leafgate("case", "show", folder / "out", "--json")
    assert (shown.code, shown.document["state"]) == (3, "void")
    for decision in shown.document["decisions"]:
        [reason] = decision["void"]
        assert reason.startswith(f"the {part} is not what was decided about: {decision['about'][part][:16]} then, ")
    assert f"void: the {part} is not" in leafgate("case", "show", folder / "out").out
    again = decide(folder, "M. Keller")  # another report that passed is one to decide about
    assert again.code == (3 if part == "report" else 2), again.err


def test_a_case_copied_beside_another_report_and_an_edited_reason(
    copied: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = copied("approved")
    other = copied("fail")
    shutil.copy(folder / "out" / CASE, other / "out" / CASE)
    assert show(other, "--json").document["state"] == "void"
    case = folder / "out" / CASE
    case.write_text(case.read_text().replace("The words of", "The word of"))
    ended = show(folder)
    assert (ended.code, "decision 1 is not as it was signed" in ended.err) == (2, True), ended.err


@pytest.mark.thorough
def test_void_decisions_stay_and_the_same_people_decide_again_about_the_new_audit(
    copied: Callable[[str], Path],
) -> None:
    folder = copied("approved")
    change_policy(folder)
    assert leafgate("audit", folder / "policy.yaml", "--out", folder / "out").code == 0
    assert show(folder).code == 3
    assert approved(folder)
    decisions = show(folder, "--json").document["decisions"]
    assert [bool(each["void"]) for each in decisions] == [True, True, False, False]


def test_what_failed_is_rejected_and_not_approved(copied: Callable[[str], Path]) -> None:
    folder = copied("fail")
    refused = decide(folder, "M. Keller")
    assert refused.code == 2
    assert refused.err.startswith("leafgate: --approve: it approves, and the verdict is fail (only what passed is")
    assert not (folder / "out" / CASE).exists()
    assert decide(folder, "M. Keller", choice="--reject").code == 1


@pytest.mark.thorough
def test_an_approval_ends_with_the_waiver_that_it_relies_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = waived(tmp_path, days=1)
    assert decide(folder, "M. Keller").code == 0
    set_today(monkeypatch, TODAY + timedelta(days=2))
    ended = show(folder)
    assert (ended.code, "void: it approves, and the verdict is fail" in ended.out) == (1, True)


def test_the_file_of_a_model_is_what_is_decided_about(copied: Callable[[str], Path]) -> None:
    folder = copied("model")
    assert decide(folder, "M. Keller").code == 0
    with (folder / "model.skops").open("ab") as file:
        file.write(b"\0")
    shown = show(folder, "--json").document
    assert shown["state"] == "void"
    assert "the file is not what was decided about" in " ".join(shown["decisions"][0]["void"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "names no decision, or several"),
        (["--approve", "--reject"], "names no decision, or several"),
        (["--approve"], "it approves, and says nothing about what nobody examined: "),
        (["--approve", "--question", "membership"], "questions[0].because: "),
        (["--approve", "--not-acceptable", "membership=many"], "cannot be `approve`"),
    ],
)
def test_an_incomplete_decision_is_refused(copied: Callable[[str], Path], words: list[str], message: str) -> None:
    folder = copied("pass")
    given = ["--policy", folder / "policy.yaml", "--reason", "x", "--by", "A", "--key", folder / "private.pem"]
    ended = leafgate("case", "decide", folder / "out", *given, *words)
    assert (ended.code, message in ended.err) == (2, True), ended.err
    assert not (folder / "out" / CASE).exists()


@pytest.mark.thorough
def test_an_approved_release_is_added_to_the_ledger_at_whose_head_it_was_audited(
    copied: Callable[[str], Path], made: dict[str, Path]
) -> None:
    folder = copied("pass")
    ledger, key = folder / "ledger.jsonl", folder / "ledger.key"
    key.write_bytes(bytes(range(32)))
    assert leafgate("ledger", "new", ledger, "--key", key).code == 0
    policy = folder / "policy.yaml"
    written = json.loads(policy.read_text())
    joint = {"attacks": [{"use": "linking"}, {"use": "joint"}]}
    policy.write_text(json.dumps({**written, **joint, "ledger": "required"}))
    ended = leafgate("audit", policy, "--out", folder / "out", "--ledger", ledger, "--ledger-key", key)
    assert ended.code == 0, ended.err
    begun = ledger.read_bytes()
    assert decide(folder, "M. Keller").code == 3
    missing = decide(folder, "S. Other")
    assert (missing.code, "--ledger: is missing" in missing.err) == (2, True)
    named = ("--ledger", ledger, "--ledger-key", key)
    before = (folder / "out" / CASE).read_bytes()
    other = copied("model")
    assert leafgate("ledger", "add", ledger, other / "out" / "report.json", "--key", key, "--release",
                    other / "model.skops").code == 0  # fmt: skip
    refused = decide(folder, "S. Other", *named)
    assert (refused.code, "another one" in refused.err) == (2, True), refused.err
    assert (folder / "out" / CASE).read_bytes() == before
    ledger.write_bytes(begun)
    assert decide(folder, "S. Other", *named).code == 0
    [line] = leafgate("ledger", "show", ledger, "--json").document["lines"]
    assert (line["release"]["path"], line["data"] is not None) == ("out/release.json", True)
    (folder / "out" / CASE).write_bytes(before)  # as where a decision was interrupted
    assert decide(folder, "S. Other", *named).code == 0
    assert len(leafgate("ledger", "show", ledger, "--json").document["lines"]) == 1


def test_a_release_audited_without_the_ledger_is_not_added_where_others_left(copied: Callable[[str], Path]) -> None:
    folder, other = copied("pass"), copied("model")
    ledger, key = folder / "ledger.jsonl", folder / "ledger.key"
    key.write_bytes(bytes(range(32)))
    added = ("ledger", "add", ledger, other / "out" / "report.json", "--key", key, "--release", other / "model.skops")
    assert leafgate(*added).code == 0
    assert decide(folder, "M. Keller").code == 3
    refused = decide(folder, "S. Other", "--ledger", ledger, "--ledger-key", key)
    assert (refused.code, "audited without a ledger" in refused.err) == (2, True)


def verify_all(folder: Path) -> Ended:
    return verify(folder, "--policy", folder / "policy.yaml", "--release", folder / "out" / "release.json")


def test_a_statement_has_the_digest_of_the_case_and_is_verified_with_it(copied: Callable[[str], Path]) -> None:
    folder = copied("approved")
    ended = attest(folder)
    assert (ended.code, ended.out.splitlines()[-1]) == (0, f"{folder / 'out'}: approved by M. Keller, S. Other")
    case = folder / "statements" / CASE
    stated = statement(folder)["predicate"]["case"]
    assert (stated["sha256"], stated["decisions"]) == (hashlib.sha256(case.read_bytes()).hexdigest(), 2)
    assert "membership" in stated["not_examined"]
    verified = verify_all(folder)
    assert (verified.code, "verified: pass, approved by M. Keller, S. Other (" in verified.out) == (0, True)
    for content in (case.read_bytes().replace(b"The words", b"Other words"), None):
        case.unlink() if content is None else case.write_bytes(content)
        refused = verify_all(folder)
        assert (refused.code, str(case) in refused.err) == (2, True), refused.err


@pytest.mark.parametrize("name", ["private.pem", "other-private.pem"])
def test_a_statement_of_a_case_keeps_which_files_the_same_key_said_were_read(
    copied: Callable[[str], Path], name: str
) -> None:
    folder = copied("pass")
    at_audit = ("--out", folder / "out", "--attest", folder / name)
    assert leafgate("audit", folder / "policy.yaml", *at_audit).code == 0
    approved(folder)
    assert attest(folder, out="out").code == 0
    verified = verify(folder, "--policy", folder / "policy.yaml", "--data", folder / "people.csv", out="out")
    assert verified.code == (0 if name == "private.pem" else 2), verified.err
    (folder / "people.csv").write_text((folder / "people.csv").read_text() + "\n")
    assert verify(folder, "--data", folder / "people.csv", out="out").code == 2


@pytest.mark.parametrize(
    ("choices", "code", "words"),
    [
        (["--approve"], 3, "waiting for a second person: decided by M. Keller"),
        (["--approve", "--reject"], 1, "rejected by M. Keller, S. Other"),
        (["--changes", "--approve"], 1, "changes wanted by M. Keller, S. Other"),
    ],
)
@pytest.mark.thorough
def test_statements_of_a_pass_that_nobody_approved_end_as_the_case(
    copied: Callable[[str], Path], choices: list[str], code: int, words: str
) -> None:
    folder = copied("pass")
    for by, choice in zip(KEYS, choices, strict=False):
        decide(folder, by, choice=choice)
    assert attest(folder).code == code
    verified = verify_all(folder)
    assert (verified.code, f"verified: pass, {words} (" in verified.out) == (code, True), verified.out + verified.err


def test_a_void_case_is_not_attested_and_a_pass_without_the_decisions_of_its_policy_is_refused(
    copied: Callable[[str], Path],
) -> None:
    folder = copied("approved")
    assert attest(folder).code == 0
    (folder / "out" / CASE).rename(folder / "kept.json")
    assert attest(folder, out="undecided").code == 0
    refused = verify(folder, "--policy", folder / "policy.yaml", out="undecided")
    assert (refused.code, "the policy asks 2 people to decide" in refused.err) == (2, True), refused.err
    (folder / "kept.json").rename(folder / "out" / CASE)
    change_release(folder)
    void = attest(folder)
    assert (void.code, "every decision is void: the release is not" in void.err) == (2, True), void.err
    assert not (folder / "statements" / "statements.intoto.jsonl").exists()
