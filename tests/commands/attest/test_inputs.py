"""What an audit read beside its policy: another table, another root, no organisation's policy, a ledger that grew."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
from pathlib import Path

import pytest

from attested import STATEMENTS, attest, statement, verify, write_keys
from command_line import Ended, leafgate
from nights import Nights
from survey import ALLOWED, PEOPLE, survey

FILES = "statements.files.json"
EASY = PEOPLE + "".join(PEOPLE.splitlines(keepends=True)[1:]) * 9
"""The same people ten times: groups are ten times as large."""


def audited(folder: Path, *words: object, code: int = 0) -> Path:
    """Audit by the policy in the folder with these further arguments, and attest it into `statements`."""
    write_keys(folder)
    shutil.rmtree(folder / "statements", ignore_errors=True)
    out = ("--out", folder / "statements", "--attest", folder / "private.pem", "--no-remedies", "-q")
    ended = leafgate("audit", folder / "policy.yaml", *words, *out)
    assert ended.code == code, ended.err
    return folder


def verified(folder: Path, *words: object) -> Ended:
    """Verify the statements by the policy in the folder."""
    return verify(folder, "--policy", folder / "policy.yaml", *words)


def refused(ended: Ended, words: str) -> bool:
    assert (ended.code, words in ended.err) == (2, True), ended
    return True


@pytest.fixture
def failing(tmp_path: Path) -> Path:
    """A policy that its own table fails, and another table that passes."""
    survey(tmp_path, {"metrics.0.at_least": 24})
    (tmp_path / "easy.csv").write_text(EASY)
    audited(tmp_path, code=1)
    return tmp_path


def test_a_pass_of_another_table_than_the_policy_names_is_refused(failing: Path) -> None:
    audited(failing, failing / "easy.csv")
    assert refused(verified(failing), "data.path: is another file than the policy names")
    assert refused(verified(failing, "--data", failing / "people.csv"), "data.path")
    report = failing / "statements" / "report.json"
    assert refused(leafgate("report", report, "--expect-policy", failing / "policy.yaml"), "data.path: is another file")


def test_a_given_table_with_the_bytes_of_the_one_that_the_policy_names_is_that_one(tmp_path: Path) -> None:
    survey(tmp_path)
    shutil.copy(tmp_path / "people.csv", tmp_path / "copy.csv")
    audited(tmp_path, tmp_path / "copy.csv")
    assert "given_files" not in statement(tmp_path)["predicate"]["policy"]
    assert verified(tmp_path).code == 0


def test_a_table_that_stood_in_the_place_of_the_policys_is_refused_by_its_digest(failing: Path, tmp_path: Path) -> None:
    """The policy was copied to a folder with another table of this name."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(failing / "policy.yaml", elsewhere)
    (elsewhere / "people.csv").write_text(EASY)
    audited(elsewhere)
    assert verified(elsewhere).code == 0
    assert refused(verify(elsewhere, "--policy", failing / "policy.yaml"), "data.path: another file was read")
    (elsewhere / "statements" / FILES).unlink()
    assert refused(verify(elsewhere, "--policy", failing / "policy.yaml"), f"{FILES}: cannot be read")
    (failing / "people.csv").unlink()  # whoever verifies has no data: nothing is known against it
    assert verify(elsewhere, "--policy", failing / "policy.yaml").code == 0


@pytest.fixture
def unnamed(tmp_path: Path) -> Path:
    """A policy that names no table, audited with one."""
    survey(tmp_path, {"data.path": ...})
    return audited(tmp_path, tmp_path / "people.csv")


def test_a_table_that_the_policy_does_not_name_is_demanded(unnamed: Path) -> None:
    table = unnamed / "people.csv"
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    (unnamed / "easy.csv").write_text(EASY)
    assert refused(verified(unnamed), "say which file it must be: --data")
    for accepted in (table, digest, digest.upper()):
        assert verified(unnamed, "--data", accepted).code == 0
    for other in (unnamed / "easy.csv", "0" * 64):
        assert refused(verified(unnamed, "--data", other), "data.path: another file was read")
    assert refused(verified(unnamed, "--data", "nowhere.csv"), "--data: is neither a SHA-256 nor a file")
    assert refused(verified(unnamed, "--data", table, "--test", table), "data.test: no such file was read")
    report = unnamed / "statements" / "report.json"
    assert leafgate("report", report, "--expect-policy", unnamed / "policy.yaml").code == 0


def test_statements_have_no_digest_of_a_table_and_the_owner_alone_reads_the_file_that_has_them(unnamed: Path) -> None:
    digest = hashlib.sha256((unnamed / "people.csv").read_bytes()).hexdigest()
    path = unnamed / "statements" / FILES
    content = path.read_bytes()
    assert json.loads(content)["files"] == {"data.path": digest}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    predicate = statement(unnamed)["predicate"]
    assert predicate["policy"]["given_files"] == {"data.path": "given"}
    assert predicate["data"]["files_sha256"] == hashlib.sha256(content).hexdigest()
    assert digest not in json.dumps(statement(unnamed)) + (unnamed / "statements" / "report.json").read_text()
    audited(unnamed, unnamed / "people.csv")
    assert statement(unnamed)["predicate"]["data"]["files_sha256"] != predicate["data"]["files_sha256"]


def test_a_file_of_digests_that_was_changed_is_refused(unnamed: Path) -> None:
    path = unnamed / "statements" / FILES
    path.write_bytes(path.read_bytes().replace(b'"random": "', b'"random": "0', 1))
    assert refused(verified(unnamed, "--data", unnamed / "people.csv"), f"{FILES}: is not what the statements say")


def test_statements_of_a_report_alone_do_not_say_which_table_was_read(unnamed: Path) -> None:
    (unnamed / "statements").rename(unnamed / "out")
    (unnamed / "out" / STATEMENTS).unlink()
    attest(unnamed)
    assert not (unnamed / "statements" / FILES).exists()
    assert refused(verified(unnamed, "--data", unnamed / "people.csv"), "audit again with --attest")
    assert refused(verified(unnamed), "data.path: was given to the audit")


def test_a_report_that_is_attested_again_keeps_which_table_was_read_unless_it_is_another_report(unnamed: Path) -> None:
    (unnamed / "statements").rename(unnamed / "out")
    assert attest(unnamed).code == 0
    assert verified(unnamed, "--data", unnamed / "people.csv").code == 0
    report = unnamed / "out" / "report.json"
    report.write_bytes(report.read_bytes().replace(b'"seconds"', b'"seconds" ') + b"\n")
    attest(unnamed)
    assert not (unnamed / "statements" / FILES).exists()


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.thorough
def test_another_test_table_is_refused_until_it_is_demanded(tmp_path: Path, named: bool) -> None:
    survey(tmp_path, {"data.test": "test.csv"} if named else {})
    for name in ("test.csv", "other.csv"):
        (tmp_path / name).write_text(PEOPLE + "\n" * (name == "other.csv"))
    audited(tmp_path, "--test", tmp_path / "other.csv")
    words = "data.test: is another file than" if named else "say which file it must be: --test"
    assert refused(verified(tmp_path), words)
    audited(tmp_path, "--test", tmp_path / "test.csv")
    assert verified(tmp_path, *([] if named else ["--test", tmp_path / "test.csv"])).code == 0


@pytest.mark.thorough
def test_files_of_another_root_are_refused_until_it_is_named(failing: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "people.csv").write_text(EASY)
    audited(failing, "--root", root)
    assert refused(verified(failing), "data.path: is another file than the policy names")
    assert verified(failing, "--root", root).code == 0
    (failing / "people.csv").unlink()
    audited(failing, "--root", root)
    assert refused(verified(failing), "data.path: was given to the audit")
    assert verified(failing, "--data", root / "people.csv").code == 0
    (root / "people.csv").write_text(PEOPLE)
    assert refused(verified(failing, "--root", root), "data.path: another file was read")


def test_an_audit_that_was_not_held_to_the_organisations_policy_is_refused(tmp_path: Path) -> None:
    survey(tmp_path)
    org = tmp_path / "org.yaml"
    org.write_text(f"leafgate: 1\nname: org\n{ALLOWED}")
    audited(tmp_path)
    assert refused(verified(tmp_path, "--org", org), "was not held to the organisation's policy")


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    """Two nights that pass alone, audited and attested at the head of one ledger without releases."""
    nights = Nights(tmp_path)
    write_keys(tmp_path)
    assert nights.begin().code == 0
    for night in range(2):
        assert nights.audit(night, "--attest", tmp_path / "private.pem", ledger=True).code == 0
    return nights


def verify_night(nights: Nights, night: int, *words: object) -> Ended:
    policy = nights.folder / f"{night}.yaml"
    return verify(nights.folder, "--policy", policy, *words, out=f"out{night}")


@pytest.mark.thorough
def test_a_release_that_did_not_see_the_ledger_as_it_is_now_is_refused(nights: Nights) -> None:
    head = nights.verify("--key", nights.key, "--json").document["sha256"]
    assert [verify_night(nights, night, "--ledger", nights.ledger).code for night in range(2)] == [0, 0]
    assert verify_night(nights, 0, "--ledger", head).code == 0
    assert "note: name --ledger" in verify_night(nights, 0).err
    assert nights.add(0).code == 0
    assert verify_night(nights, 0, "--ledger", nights.ledger).code == 0  # the line is its own
    ended = verify_night(nights, 1, "--ledger", nights.ledger)
    assert refused(ended, "audit again, with the ledger as it is now")
    assert refused(verify_night(nights, 1, "--ledger", "0" * 64), "is of an audit at head 0")
    assert nights.audit(1, "--attest", nights.folder / "private.pem", ledger=True).code == 1
    assert verify_night(nights, 1, "--ledger", nights.ledger).code == 1


def test_a_policy_that_requires_a_ledger_is_verified_with_it(nights: Nights) -> None:
    nights.policy(0, ledger="required")
    assert nights.audit(0, "--attest", nights.folder / "private.pem", ledger=True).code == 0
    assert refused(verify_night(nights, 0), "--ledger: is missing, and the policy requires a ledger")
    assert verify_night(nights, 0, "--ledger", nights.ledger).code == 0
    nights.policy(0)
    assert nights.audit(0, "--attest", nights.folder / "private.pem").code == 0
    assert refused(verify_night(nights, 0, "--ledger", nights.ledger), "is of an audit without a ledger")


def test_older_digests_are_set_aside_with_the_statements(unnamed: Path) -> None:
    assert leafgate("audit", unnamed / "nowhere.yaml", "--out", unnamed / "statements").code == 2
    kept = {path.name for path in (unnamed / "statements").iterdir()}
    assert {f"earlier-{STATEMENTS}", f"earlier-{FILES}", "earlier-release.json"} <= kept
