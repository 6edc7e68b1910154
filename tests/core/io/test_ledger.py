"""Ledgers: whatever is changed is found and named, and whatever ends a process leaves the ledger whole."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import leafgate.io.ledger
from leafgate.errors import LedgerError, OutputError
from leafgate.io.ledger import append_line, parse_ledger, read_ledger
from leafgate.kernel.origin import EMPTY_LEDGER, LedgerHead
from ledgers import KEY, PREPARED, content, first_difference, random_change, written

SUPPORT = Path(__file__).parents[2] / "support"
LINES = 9

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="there are no locks")


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def refused(changed: bytes, key: bytes | None = KEY) -> LedgerError:
    with pytest.raises(LedgerError) as caught:
        parse_ledger(changed, "L", key)
    return caught.value


def test_a_line_has_a_code_of_everything_in_it_and_the_digest_of_the_line_before(ledger: Path) -> None:
    heads = written(ledger, 3)
    raw = ledger.read_bytes().splitlines()
    previous = "0" * 64
    for number, (line, head) in enumerate(zip(raw, heads, strict=True), 1):
        document = json.loads(line)
        mac = document.pop("mac")
        covered = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        assert mac == hmac.new(KEY, covered, hashlib.sha256).hexdigest()
        assert (document["previous"], document["number"]) == (previous, number)
        previous = hashlib.sha256(line).hexdigest()
        assert head == LedgerHead(number, previous)
    assert read_ledger(ledger, KEY).head == heads[-1]


def test_the_same_lines_give_the_same_bytes(tmp_path: Path) -> None:
    assert written(tmp_path / "a", 3) == written(tmp_path / "b", 3)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_empty_file_is_a_ledger_without_lines(ledger: Path) -> None:
    ledger.write_bytes(b"")
    assert read_ledger(ledger, KEY).head == EMPTY_LEDGER
    assert append_line(ledger, content(1), KEY).number == 1


def test_every_one_of_1000_random_changes_is_found_in_the_line_where_it_begins_or_only_cuts_lines_off(
    ledger: Path,
) -> None:
    heads = written(ledger, LINES)
    original, rng, changes, cut = ledger.read_bytes(), random.Random(45), 0, 0
    ends = {0, *(i + 1 for i, byte in enumerate(original) if byte == ord("\n"))}
    kinds = set()
    while changes < 1000:
        kind, changed = random_change(original, rng)
        if changed == original:
            continue
        changes += 1
        if original.startswith(changed) and len(changed) in ends:
            cut += 1
            rest = parse_ledger(changed, "L", KEY)
            assert heads[-1].sha256 not in rest.digests
            continue
        kinds.add(kind)
        problem = refused(changed).problems[0]
        assert problem.location == f"L: line {first_difference(original, changed)}", kind
    assert len(kinds) == 12
    assert 0 < cut < 300


def test_without_the_key_every_change_is_found_or_takes_the_head_away(ledger: Path) -> None:
    head = written(ledger, LINES)[-1]
    original, rng, unfound = ledger.read_bytes(), random.Random(46), 0
    for _ in range(1000):
        _, changed = random_change(original, rng)
        if changed == original:
            continue
        try:
            digests = parse_ledger(changed, "L", None).digests
        except LedgerError:
            assert refused(changed, None).problems[0].location.startswith("L: line ")
            continue
        unfound += 1
        assert head.sha256 not in digests
    assert unfound


def test_lines_that_somebody_without_the_key_chains_anew_are_found(ledger: Path) -> None:
    written(ledger, 4)
    lines = [json.loads(line) for line in ledger.read_bytes().splitlines()]
    lines[1]["verdict"] = "fail"
    chained, previous = [], "0" * 64
    for line in lines:
        raw = json.dumps({**line, "previous": previous}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        chained.append(raw)
        previous = hashlib.sha256(raw.encode()).hexdigest()
    changed = "".join(f"{line}\n" for line in chained).encode()
    assert [each.location for each in refused(changed).problems] == ["L: line 2", "L: line 3", "L: line 4"]
    assert len(parse_ledger(changed, "L", None).lines) == 4


@pytest.mark.parametrize("key", [KEY, None])
def test_spaces_and_the_order_of_keys_in_the_last_line_are_part_of_it(ledger: Path, key: bytes | None) -> None:
    written(ledger, 2)
    first, last = ledger.read_bytes().splitlines(keepends=True)
    turned = json.dumps(dict(reversed(json.loads(last).items())), separators=(",", ":"), ensure_ascii=False)
    for other in (last.replace(b",", b", ", 1), b" " + last, last[:-1] + b"\r\n", f"{turned}\n".encode()):
        assert [each.location for each in refused(first + other, key).problems] == ["L: line 2"]


def test_a_line_of_another_ledger_with_the_same_key_is_found(tmp_path: Path) -> None:
    written(tmp_path / "one", 3)
    append_line(tmp_path / "two", content(7), KEY)
    append_line(tmp_path / "two", content(8), KEY)
    lines = (tmp_path / "one").read_bytes().splitlines(keepends=True)
    lines[1] = (tmp_path / "two").read_bytes().splitlines(keepends=True)[1]
    problems = refused(b"".join(lines)).problems
    assert [(each.location, "does not follow" in each.message) for each in problems] == [
        ("L: line 2", True),
        ("L: line 3", True),
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"a":1,"a":2}',
        b"[" * 100_000,
        b'{"number":NaN}',
        b'"\\ud800"',
        b"9" * 5000,
    ],
)
@pytest.mark.parametrize("key", [KEY, None])
def test_a_line_of_something_else_is_refused(ledger: Path, line: bytes, key: bytes | None) -> None:
    written(ledger, 1)
    error = refused(ledger.read_bytes() + line + b"\n", key)
    assert [(each.location, each.message) for each in error.problems] == [
        ("L: line 2", "is not as leafgate wrote it: it was changed")
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("number", "2"),
        ("number", 2.0),
        ("number", 2),
        ("date", "2026-02-30"),
        ("waived", -1),
        ("verdict", "maybe"),
        ("more", 1),
    ],
)
def test_a_line_whose_code_fits_and_whose_entries_do_not_is_refused(ledger: Path, key: str, value: object) -> None:
    written(ledger, 1)
    line = json.loads(ledger.read_bytes())
    line[key] = value
    del line["mac"]
    covered = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    line["mac"] = hmac.new(KEY, covered, hashlib.sha256).hexdigest()
    raw = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert refused(raw + b"\n").problems[0].location == "L: line 1"


def test_a_release_with_the_same_table_and_report_is_added_once(ledger: Path) -> None:
    written(ledger, 2)
    before = ledger.read_bytes()
    with pytest.raises(LedgerError, match="line 1: has this release, its table and this report already"):
        append_line(ledger, content(1, date="2026-12-01"), KEY)
    assert ledger.read_bytes() == before
    assert append_line(ledger, content(1, report={"audience": "public", "sha256": "0" * 64}), KEY).number == 3


@pytest.mark.parametrize("cut", [1, 2, 100])
def test_nothing_is_added_after_an_incomplete_line_and_nothing_is_lost(ledger: Path, cut: int) -> None:
    written(ledger, 3)
    whole = ledger.read_bytes()
    ledger.write_bytes(whole[:-cut])
    with pytest.raises(LedgerError, match="line 3: is incomplete") as caught:
        append_line(ledger, content(4), KEY)
    assert "delete what is left of this line" in caught.value.problems[0].hint
    assert ledger.read_bytes() == whole[:-cut]
    ledger.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    assert append_line(ledger, content(3), KEY).number == 3
    assert ledger.read_bytes() == whole


def test_a_new_ledger_is_its_owners_and_an_old_one_keeps_its_mode(ledger: Path) -> None:
    written(ledger, 1)
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600
    ledger.chmod(0o640)
    append_line(ledger, content(2), KEY)
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o640
    assert os.listdir(ledger.parent) == [ledger.name]


def test_a_link_to_a_ledger_stays_a_link(tmp_path: Path) -> None:
    written(tmp_path / "target", 1)
    (tmp_path / "link").symlink_to("target")
    append_line(tmp_path / "link", content(2), KEY)
    assert (tmp_path / "link").is_symlink()
    assert len(read_ledger(tmp_path / "target", KEY).lines) == 2


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_what_is_no_file_is_no_ledger(ledger: Path, kind: str) -> None:
    make: dict[str, Callable[[], object]] = {
        "folder": ledger.mkdir,
        "pipe": lambda: os.mkfifo(ledger),
        "device": lambda: ledger.symlink_to("/dev/null"),
    }
    make[kind]()
    with pytest.raises(OutputError, match="is no file"):
        append_line(ledger, content(1), KEY)
    with pytest.raises(LedgerError, match="is no file"):
        read_ledger(ledger, KEY)


def test_a_ledger_that_is_not_there_or_too_large_is_refused(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LedgerError, match="cannot be read: No such file"):
        read_ledger(ledger, KEY)
    written(ledger, 1)
    monkeypatch.setattr(leafgate.io.ledger, "MAX_LEDGER_BYTES", 10)
    with pytest.raises(LedgerError, match="is larger than"):
        read_ledger(ledger, KEY)


def script(lines: str, *words: object) -> subprocess.Popen[str]:
    """A process that runs these lines after those of PREPARED."""
    command = [sys.executable, "-c", PREPARED.format(path=[str(SUPPORT)]) + lines, *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


APPEND_MANY = """
first, count = int(sys.argv[2]), int(sys.argv[3])
for number in range(first, first + count):
    print(append_line(Path(sys.argv[1]), content(number), KEY).number, flush=True)
"""


@needs_locks
def test_processes_that_append_side_by_side_wait_for_each_other(ledger: Path) -> None:
    running = [script(APPEND_MANY, ledger, 1000 * i, 20) for i in range(1, 5)]
    outputs = [each.communicate(timeout=120) for each in running]
    assert [each.returncode for each in running] == [0] * 4, outputs
    numbers = sorted(int(number) for out, _ in outputs for number in out.split())
    assert numbers == list(range(1, 81))
    found = read_ledger(ledger, KEY)
    assert len({line.release.sha256 for line in found.lines}) == len(found.lines) == 80


@needs_locks
def test_whoever_waits_too_long_for_a_ledger_is_told_so(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(ledger, 1)
    monkeypatch.setattr(leafgate.io.files, "PATIENCE_SECONDS", 0.1)
    lines = """
from leafgate.io.locks import locked_file
with locked_file(Path(sys.argv[1]), 0) as locked:
    print(locked, flush=True)
    sys.stdin.read()
"""
    command = [sys.executable, "-c", PREPARED.format(path=[str(SUPPORT)]) + lines, str(ledger)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        with pytest.raises(OutputError, match="another process is writing it"):
            append_line(ledger, content(2), KEY)
        holder.communicate()
    assert append_line(ledger, content(2), KEY).number == 2


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing is killed so here")
@pytest.mark.parametrize("seed", range(4))
def test_whenever_a_process_is_killed_every_line_that_it_reported_is_there(ledger: Path, seed: int) -> None:
    running = script(APPEND_MANY, ledger, 1, 100_000)
    assert running.stdout is not None
    reported = int(running.stdout.readline())
    time.sleep(random.Random(seed).uniform(0, 0.2))
    running.kill()
    rest, _ = running.communicate(timeout=60)
    reported = max([reported, *map(int, rest.split("\n")[:-1])])
    assert reported <= len(read_ledger(ledger, KEY).lines) <= reported + 1


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of files")
@pytest.mark.parametrize("room", [0, 10, 700])
def test_a_process_without_room_on_the_disk_leaves_the_old_ledger_and_says_so(ledger: Path, room: int) -> None:
    written(ledger, 2)
    before = ledger.read_bytes()
    lines = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before) + room}, resource.RLIM_INFINITY))
try:
    append_line(Path(sys.argv[1]), content(3), KEY)
except LeafgateError as error:
    print(error, int(error.exit_code))
"""
    out, err = script(lines, ledger).communicate(timeout=60)
    assert "could not be written: File too large (make room, run again) 4" in out, err
    assert ledger.read_bytes() == before
    assert append_line(ledger, content(3), KEY).number == 3
