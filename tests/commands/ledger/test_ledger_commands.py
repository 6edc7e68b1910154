"""`leafgate ledger`: what is written about a release, what is shown of it, and what `verify` says it cannot see."""

from __future__ import annotations

import hashlib
import json
import shutil
from datetime import date
from pathlib import Path

import pytest

from clock import set_today
from command_line import leafgate, process
from ledgers import keyed_digest
from nights import KEY, Nights


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    nights = Nights(tmp_path_factory.mktemp("nights"))
    for night in range(2):
        assert nights.audit(night).code == 0
    return nights


@pytest.fixture
def nights(audited: Nights, tmp_path: Path) -> Nights:
    """A copy of the folder of two audited nights."""
    shutil.copytree(audited.folder, tmp_path / "copy")
    return Nights(tmp_path / "copy")


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def sha256(path: Path) -> str:
    return sha256_of(path.read_bytes())


def test_a_line_states_the_release_its_report_its_policy_and_its_table_under_the_key(nights: Nights) -> None:
    ended = nights.add(0, "--date", "2026-11-02")
    raw = nights.ledger.read_bytes().removesuffix(b"\n")
    head = hashlib.sha256(raw).hexdigest()
    assert (ended.code, ended.out, ended.err) == (0, f"{nights.ledger}: head 1 {head}\n", "")
    report, release = nights.report(0), sha256(nights.out(0) / "release.json")
    line = json.loads(raw)
    assert line == {
        "format": "leafgate/ledger/1",
        "number": 1,
        "date": "2026-11-02",
        "release": {"path": "out0/release.json", "sha256": release, "release_sha256": release},
        "data": {"path": "0.csv", "keyed_sha256": keyed_digest(KEY, "data", sha256(nights.folder / "0.csv"))},
        "report": {"audience": "public", "sha256": sha256(nights.out(0) / "report.json")},
        "policy": {"name": "nightly", "sha256": report["policy"]["sha256"]},
        "publishes": "counts",
        "claims": {"k": 5},
        "verdict": "pass",
        "waived": 0,
        "previous": "0" * 64,
        "mac": line["mac"],
    }
    assert sha256(nights.folder / "0.csv") not in raw.decode()


def test_a_report_for_auditors_stands_there_by_a_digest_under_the_key(nights: Nights) -> None:
    assert nights.audit(0, "--audience", "auditor").code == 0
    assert nights.add(0).code == 0
    line = json.loads(nights.ledger.read_bytes())
    report = sha256(nights.out(0) / "report.json")
    assert line["report"] == {"audience": "auditor", "keyed_sha256": keyed_digest(KEY, "report", report)}
    other = nights.add(0, "--data", nights.folder / "1.csv", data=False)
    assert (other.code, "1.csv: is not the table of the report" in other.err) == (2, True)


def test_the_only_clock_is_the_date_of_a_line_without_one(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    set_today(monkeypatch, date(2031, 5, 6))
    nights.add(0)
    nights.add(1, "--date", "2026-11-02")
    dates = [json.loads(line)["date"] for line in nights.ledger.read_bytes().splitlines()]
    assert dates == ["2031-05-06", "2026-11-02"]


def test_show_prints_a_line_for_each_release_and_the_head(nights: Nights) -> None:
    nights.add(0, "--date", "2026-11-02")
    nights.add(1, "--date", "2026-11-03", data=False)
    first, second, head = leafgate("ledger", "show", nights.ledger, "--key", nights.key).out.splitlines()
    assert first.startswith("1  2026-11-02  pass; out0/release.json sha256 ")
    assert "publishes counts; claims k 5; policy 'nightly' " in first
    assert (first.endswith("people of 0.csv"), second.endswith("people of a table that nobody named")) == (True, True)
    document = leafgate("ledger", "show", nights.ledger, "--json").document
    assert head == f"{nights.ledger}: head 2 {document['head']['sha256']}"
    lines = [json.loads(line) for line in nights.ledger.read_bytes().splitlines()]
    assert document == {"format": "leafgate/lines/1", "head": document["head"], "lines": document["lines"]}
    assert document["lines"] == lines
    assert "cannot be seen without --key" in leafgate("ledger", "show", nights.ledger).out


def test_verify_says_which_line_was_changed_and_ends_in_2(nights: Nights) -> None:
    nights.add(0)
    nights.add(1)
    assert nights.verify("--key", nights.key).code == 0
    nights.ledger.write_bytes(nights.ledger.read_bytes().replace(b'"date":"20', b'"date":"19', 1))
    ended = nights.verify("--key", nights.key)
    assert (ended.code, ended.out) == (2, "")
    assert f"{nights.ledger}: line 1: was changed" in ended.err
    assert nights.verify("--key", nights.key, "--json").problems[0]["place"] == f"{nights.ledger}: line 1"


def test_a_cut_tail_is_found_by_the_head_and_without_one_verify_says_that_it_cannot_be_seen(nights: Nights) -> None:
    nights.add(0)
    head = nights.add(1, "--json").document
    whole = nights.verify("--key", nights.key, "--head", head["sha256"])
    assert (whole.code, "all lines are there" in whole.out) == (0, True)
    nights.ledger.write_bytes(nights.ledger.read_bytes().splitlines(keepends=True)[0])
    unseen = nights.verify("--key", nights.key)
    assert (unseen.code, "Whether lines were cut off at the end cannot be seen without --head." in unseen.out) == (
        0,
        True,
    )
    for words in (["--key", nights.key], []):
        ended = nights.verify("--head", head["sha256"].upper(), *words)
        assert (ended.code, ended.out) == (2, "")
        assert f"{nights.ledger}: after line 1: no line is the head {head['sha256'][:16]}" in ended.err


def test_an_older_head_covers_the_lines_up_to_it(nights: Nights) -> None:
    head = nights.add(0, "--json").document["sha256"]
    nights.add(1)
    ended = nights.verify("--head", head)
    assert (ended.code, "The head is line 1" in ended.out, "1 line was added since" in ended.out) == (0, True, True)
    assert "cannot be seen without --key" in ended.out
    assert "without --key" not in nights.verify("--head", head, "--key", nights.key).out


def test_the_head_of_an_empty_ledger_covers_nothing_of_another_one(nights: Nights) -> None:
    """A report of the first audit states it, and every ledger begins with it, also a changed one."""
    nights.add(0)
    changed = nights.ledger.read_bytes().replace(b'"date":"2', b'"date":"3', 1)
    empty = "0" * 64
    assert nights.verify("--key", nights.key, "--head", empty).code == 0
    ended = nights.verify("--head", empty)
    assert ended.code == 2
    assert "--head: is the head of an empty ledger" in ended.err
    nights.ledger.write_bytes(changed)
    assert nights.verify("--head", empty).code == 2


@pytest.mark.thorough
def test_verify_takes_the_head_from_a_report(nights: Nights) -> None:
    nights.add(0)
    nights.audit(1, ledger=True)
    report = nights.out(1) / "report.json"
    assert nights.verify("--head", report).code == 0
    nights.ledger.write_bytes(b"")
    ended = nights.verify("--head", report)
    assert (ended.code, "after line 0: no line is the head" in ended.err) == (2, True)
    other = nights.verify("--head", nights.out(0) / "report.json")
    assert (other.code, "is of an audit without a ledger" in other.err) == (2, True)


@pytest.mark.thorough
def test_a_ledger_that_was_written_anew_is_found_by_the_head_of_a_report(nights: Nights) -> None:
    nights.add(0)
    nights.audit(1, ledger=True)
    nights.ledger.unlink()
    nights.add(0, "--date", "2020-01-01")
    ended = nights.verify("--key", nights.key, "--head", nights.out(1) / "report.json")
    assert (ended.code, f"{nights.ledger}: line 1: no line is the head" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "ledger.jsonl", "out0/report.json", "--key", "nobody"], "nobody: cannot be read: No such file"),
        (["add", "ledger.jsonl", "out0/report.json", "--key", "short"], "short: is no key"),
        (["add", "ledger.jsonl", "out0/report.json"], "Missing option '--key'"),
        (["add", "ledger.jsonl", "nobody.json", "--key", "key"], "nobody.json: cannot be read"),
        (["add", "ledger.jsonl", "0.csv", "--key", "key"], "0.csv: is not JSON"),
        (["add", "ledger.jsonl", "out0/report.json", "--key", "key", "--date", "2026-1-1"], "--date: is no day"),
        (["add", "ledger.jsonl", "out0/report.json", "--key", "key", "--date", "2026-02-30"], "--date: is no day"),
        (
            ["add", "ledger.jsonl", "out0/report.json", "--key", "key", "--release", "out1/release.json"],
            "out1/release.json: is not the audited release of the report",
        ),
        (
            ["add", "ledger.jsonl", "out0/report.json", "--key", "key", "--release", "none.json"],
            "none.json: cannot be read",
        ),
        (["add", "ledger.jsonl", "out0/report.json", "--key", "key", "--data", "none"], "none: cannot be read"),
        (["add", ".", "out0/report.json", "--key", "key"], "is no file that can be written"),
        (["show", "nobody.jsonl"], "nobody.jsonl: cannot be read"),
        (["show", "0.csv"], "0.csv: is no ledger"),
        (["verify", "nobody.jsonl", "--key", "key"], "nobody.jsonl: cannot be read"),
        (["verify", "empty.jsonl"], "needs --key, or --head, or both"),
        (["verify", "empty.jsonl", "--head", "abc"], "--head: is no SHA-256, and no file"),
        (["verify", "empty.jsonl", "--head", "0.csv"], "0.csv: is not JSON"),
        (["audit", "0.yaml", "--ledger", "empty.jsonl"], "--ledger-key: is needed beside --ledger"),
        (["audit", "0.yaml", "--ledger-key", "key"], "--ledger: is needed beside --ledger-key"),
        (["audit", "0.yaml", "--ledger", "nobody", "--ledger-key", "key"], "nobody: cannot be read"),
        (["audit", "0.yaml", "--ledger", "empty.jsonl", "--ledger-key", "short"], "short: is no key"),
    ],
)
def test_what_is_wrong_is_one_error_with_what_to_do_and_writes_nothing(
    nights: Nights, words: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(nights.folder)
    Path("short").write_bytes(b"123")
    Path("empty.jsonl").write_bytes(b"")
    ended = leafgate(*([] if words[0] == "audit" else ["ledger"]), *words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert not nights.ledger.exists()


@pytest.mark.thorough
def test_of_two_releases_that_were_audited_at_one_head_the_second_is_audited_again(nights: Nights) -> None:
    """Each passes alone; together they prove what somebody's secret is."""
    assert nights.begin().code == 0
    assert (nights.audit(0, ledger=True).code, nights.audit(1, ledger=True).code) == (0, 0)
    assert nights.add(0).code == 0
    ended = nights.add(1)
    assert (ended.code, "at head 0, another one (audit again" in ended.err) == (2, True)
    assert nights.add(0, data=False).code == 0  # the first left already
    assert nights.audit(1, ledger=True).code == 1
    assert nights.add(1).code == 0


def test_a_new_ledger_has_a_head_of_its_own_and_is_begun_once(nights: Nights) -> None:
    head = leafgate("ledger", "new", nights.ledger, "--key", nights.key, "--json").document
    assert head["sha256"] == sha256_of(nights.ledger.read_bytes().removesuffix(b"\n"))
    content = nights.ledger.read_bytes()
    ended = nights.begin()
    assert (ended.code, "is there already" in ended.err, nights.ledger.read_bytes()) == (2, True, content)
    nights.add(0)
    assert nights.verify("--head", head["sha256"]).code == 0
    nights.ledger.unlink()
    nights.begin()
    assert nights.verify("--head", head["sha256"]).code == 2


def test_a_report_of_no_release_is_not_added(nights: Nights) -> None:
    nights.policy(0, build={"use": "kadet", "k": 5000})
    assert nights.audit(0).code == 1
    ended = nights.add(0)
    assert (ended.code, "is of no release" in ended.err, nights.ledger.exists()) == (2, True, False)


def test_the_file_of_a_model_stands_there_by_its_own_digest_and_that_of_its_release(nights: Nights) -> None:
    nights.release_as_policy(0)
    audited = leafgate("audit", nights.folder / "0.yaml", "--out", nights.folder / "again")
    assert audited.code == 0
    report = nights.folder / "again" / "report.json"
    words = ["--key", nights.key, "--release", nights.out(0) / "release.json"]
    assert leafgate("ledger", "add", nights.ledger, report, *words).code == 0
    line = json.loads(nights.ledger.read_bytes())
    document = json.loads(report.read_bytes())["release"]
    assert line["release"]["sha256"] == document["file"]["sha256"]
    assert line["release"]["release_sha256"] == document["sha256"]


def test_two_commands_without_room_or_turn_end_in_their_codes(nights: Nights) -> None:
    nights.add(0)
    before = nights.ledger.read_bytes()
    full = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before) + 9}, resource.RLIM_INFINITY))"
    report = nights.out(1) / "report.json"
    ended = process("ledger", "add", nights.ledger, report, "--key", nights.key, before=full)
    assert (ended.code, "make room, run again" in ended.err) == (4, True)
    assert nights.ledger.read_bytes() == before
