"""Verification: what is refused, what it is called, and how the command ends."""

from __future__ import annotations

import json
import random
import re
import shutil
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from securesystemslib.signer import SSlibKey

from attested import (
    CODES,
    FINDING,
    OUTCOMES,
    STATEMENTS,
    TODAY,
    attest,
    audited,
    audited_model,
    certificate_pem,
    envelope,
    private_pem,
    public_pem,
    statement,
    verify,
    waived,
)
from cases import more
from clock import set_today
from command_line import Ended, leafgate
from leafgate.api import InvalidError
from leafgate.commands.attest.inputs import ExpectedInputs
from leafgate.commands.attest.keys import public_key, sealing
from leafgate.commands.attest.verification import verify_statement
from leafgate.io.json import canonical
from leafgate.kernel.paths import paths_of
from leafgate.session.expected_run import ExpectedRun, judge_waivers_again
from survey import survey


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with attested audits."""
    top = tmp_path_factory.mktemp("verified")
    folders = {outcome: audited(top / outcome, outcome) for outcome in OUTCOMES}
    folders |= {"waived": waived(top / "waived"), "model": audited_model(top / "model")}
    for name, folder in folders.items():
        assert attest(folder).code == CODES.get(name, 0)
    return folders


@pytest.fixture
def copied(made: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """Copies one of these folders."""
    return lambda name: shutil.copytree(made[name], tmp_path / name)


def everything(folder: Path) -> list[object]:
    """The options by which statements of the folder's own audit are accepted."""
    model = ["--file", folder / "model.skops"] if (folder / "model.skops").exists() else []
    return ["--policy", folder / "policy.yaml", "--release", folder / "out" / "release.json", *model]


@pytest.mark.parametrize("name", ["pass", "waived", "model"])
def test_a_pass_is_verified_without_the_data(copied: Callable[[str], Path], name: str) -> None:
    folder = copied(name)
    (folder / "people.csv").unlink()
    ended = verify(folder, *everything(folder))
    assert (ended.code, ended.err) == (0, "")
    assert "verified: pass" in ended.out


@pytest.mark.parametrize("name", ["fail", "inconclusive"])
def test_what_is_no_pass_never_verifies_as_one(made: dict[str, Path], name: str) -> None:
    ended = verify(made[name])
    assert ended.code == CODES[name]
    assert f"no pass: {name}" in ended.out
    assert "verified: pass" not in ended.out
    refused = verify(made[name], "--release", made[name] / "out" / "release.json")
    assert (refused.code, "release.sha256: names none" in refused.err) == (2, True)


def test_without_a_policy_and_a_file_a_note_says_what_is_not_compared(made: dict[str, Path]) -> None:
    ended = verify(made["pass"])
    assert (ended.code, "note: name --policy" in ended.err) == (0, True)


@pytest.mark.parametrize("option", ["--policy", "--release", "--file"])
def test_statements_of_something_else_are_refused(made: dict[str, Path], option: str) -> None:
    folder, other = made["model"], made["pass"]
    wrong = {
        "--policy": other / "policy.yaml",
        "--release": other / "out" / "release.json",
        "--file": other / "people.csv",
    }
    for value in (wrong[option], "0" * 64, "not a digest", ""):
        ended = verify(folder, *everything(folder), option, value)
        assert ended.code == 2
        assert "of another run" in ended.err or option in ended.err
        assert STATEMENTS in ended.err or option in ended.err


def test_a_policy_with_other_waivers_is_another_one(copied: Callable[[str], Path]) -> None:
    folder = copied("waived")
    survey(folder, OUTCOMES["fail"])
    ended = verify(folder, "--policy", folder / "policy.yaml")
    assert (ended.code, "policy.waivers_sha256" in ended.err) == (2, True)


def test_a_waiver_that_is_over_ends_the_pass(made: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made["waived"]
    for days, code in ((0, 0), (10, 0), (11, 1)):
        ended = verify(folder, *everything(folder), "--as-of", (TODAY + timedelta(days=days)).isoformat())
        assert ended.code == code
        assert ("no pass: fail" in ended.out) == (code == 1)
    assert verify(folder, "--as-of", (TODAY - timedelta(days=1)).isoformat()).code == 2
    assert verify(folder, "--as-of", "tomorrow").code == 2
    set_today(monkeypatch, TODAY + timedelta(days=11))
    late = verify(folder, *everything(folder))
    assert late.code == 1
    assert f"the waiver W-1 of {FINDING} does not apply any more" in late.err


def test_a_key_counts_on_the_days_of_its_certificate(copied: Callable[[str], Path]) -> None:
    folder = copied("pass")
    first, last = TODAY - timedelta(days=5), TODAY + timedelta(days=5)
    (folder / "certificate.pem").write_bytes(certificate_pem(first, last))
    for days, words in ((0, ""), (5, ""), (6, "expired on"), (-5, ""), (-6, "is valid from")):
        day = TODAY + timedelta(days=days)
        ended = verify(folder, "--as-of", day.isoformat(), key="certificate.pem")
        assert ended.code == (2 if words else 0)
        assert words in ended.err
    (folder / "certificate.pem").write_bytes(certificate_pem(date(2020, 1, 1), date(2020, 2, 1)))
    assert "the key expired on 2020-02-01" in verify(folder, key="certificate.pem").err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (public_pem(2), "is not signed by"),
        (private_pem(), "is a private key"),
        (b"", "is empty"),
        (b"planted-key", "is no public key in PEM"),
        (b"-----BEGIN CERTIFICATE-----\nplanted\n", "is no public key in PEM"),
        (b"x" * 100_000, "is larger than"),
    ],
    ids=["another", "private", "empty", "no key", "no certificate", "large"],
)
def test_a_key_that_cannot_be_it_is_refused(copied: Callable[[str], Path], content: bytes, words: str) -> None:
    folder = copied("pass")
    (folder / "public.pem").write_bytes(content)
    ended = verify(folder)
    assert (ended.code, words in ended.err) == (2, True), ended.err
    assert "planted" not in ended.err
    (folder / "public.pem").unlink()
    assert verify(folder).code == 2


def test_a_payload_is_signed_by_one_key_and_every_byte_counts(tmp_path: Path) -> None:
    (tmp_path / "public.pem").write_bytes(public_pem())
    (tmp_path / "other.pem").write_bytes(public_pem(2))
    key, line = public_key(tmp_path / "public.pem"), sealing(private_pem())(b"{}")
    own = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32).public_key()
    assert key.key.keyid == SSlibKey.from_crypto(own).keyid
    assert key.payload(line, "m") == b"{}"
    with pytest.raises(InvalidError, match="is not signed by"):
        public_key(tmp_path / "other.pem").payload(line, "m")
    for place in range(len(line)):
        changed = bytes(byte ^ (place == i) for i, byte in enumerate(line))
        with pytest.raises(InvalidError):
            key.payload(changed, "m")


def resigned(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Ended:
    """Verify a statement that its owner changed and signed again."""
    document = statement(folder)
    change(document)
    (folder / "statements" / STATEMENTS).write_bytes(sealing(private_pem())(canonical(document)))
    return verify(folder)


def set_at(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        here: Any = document
        for step in path[:-1]:
            here = here[step]
        here[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("fail", set_at("predicate", "verdict", to="pass"), "its limits make it 'fail' with 0 waived"),
        ("inconclusive", set_at("predicate", "verdict", to="pass"), "its limits make it 'inconclusive'"),
        ("fail", set_at("predicate", "limits", 0, "waiver", to="W"), "its limits make it 'pass' with 0 waived"),
        ("pass", set_at("predicate", "limits", to=[]), "its limits make it 'inconclusive'"),
        ("pass", set_at("predicate", "unknown", to=1), "cannot be read by this version"),
        ("pass", set_at("predicateType", to="leafgate:predicate/audit/9"), "has no statement of type"),
        ("pass", set_at("subject", 0, "digest", "sha256", to="0" * 64), "its subjects are not"),
        ("pass", set_at("subject", to=[]), "its subjects are not"),
        ("waived", set_at("predicate", "waivers", to=[]), "its limits make it 'pass' with 0 waived"),
    ],
)
def test_a_statement_that_contradicts_itself_is_refused_although_it_is_signed(
    copied: Callable[[str], Path], name: str, change: Callable[[Any], Any], words: str
) -> None:
    ended = resigned(copied(name), change)
    assert (ended.code, words in ended.err) == (2, True), ended.err


Change = Callable[[Path, random.Random], str]
"""Changes something in a folder, and returns a pattern of what the refusal names; empty where nothing has changed."""


def flipped_byte(folder: Path, rng: random.Random) -> str:
    path = folder / "statements" / STATEMENTS
    content = bytearray(path.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    return re.escape(STATEMENTS)


def inserted_or_deleted_bytes(folder: Path, rng: random.Random) -> str:
    path = folder / "statements" / STATEMENTS
    content = path.read_bytes()
    position = rng.randrange(len(content))
    changed = content[:position] + rng.randbytes(rng.randrange(3)) + content[position + rng.randrange(3) :]
    path.write_bytes(changed)
    return "" if changed == content else re.escape(STATEMENTS)


def edited_value(folder: Path, rng: random.Random) -> str:
    """Another value somewhere in a statement, whose signature stays."""
    document, changed = envelope(folder), statement(folder)
    edit(changed, rng)
    unchanged = canonical(changed) == canonical(statement(folder))
    document["payload"] = b64encode(canonical(changed)).decode()
    (folder / "statements" / STATEMENTS).write_bytes(canonical(document) + b"\n")
    return "" if unchanged else "the signature is not of this payload"


def edited_envelope(folder: Path, rng: random.Random) -> str:
    document = envelope(folder)
    edit(document, rng)
    unchanged = canonical(document) == canonical(envelope(folder))
    (folder / "statements" / STATEMENTS).write_bytes(canonical(document) + b"\n")
    return "" if unchanged else re.escape(STATEMENTS)


def swapped_signatures(folder: Path, rng: random.Random) -> str:
    """The payload with the genuine signature of another audit, by the same key."""
    other = rng.choice([name for name in ("pass", "fail", "inconclusive", "waived", "model") if name != folder.name])
    document = envelope(folder) | {"signatures": envelope(folder.parent / other)["signatures"]}
    (folder / "statements" / STATEMENTS).write_bytes(canonical(document) + b"\n")
    return "the signature is not of this payload"


def changed_report(folder: Path, rng: random.Random) -> str:
    """Another byte, or another value, in the report that lies beside the statements."""
    path = folder / "statements" / "report.json"
    shutil.copy(folder / "out" / "report.json", path)
    content = path.read_bytes()
    if rng.random() < 0.5:
        position = rng.randrange(len(content))
        changed = content[:position] + bytes([content[position] ^ 1 << rng.randrange(8)]) + content[position + 1 :]
    else:
        document = json.loads(content)
        edit(document, rng)
        changed = json.dumps(document, indent=1).encode()
    path.write_bytes(changed)
    return "" if changed == content else r"report\.json"


def changed_release(folder: Path, rng: random.Random) -> str:
    return changed_file(folder / "out" / "release.json", rng, r"release\.sha256")


def changed_model(folder: Path, rng: random.Random) -> str:
    path = folder / "model.skops"
    return changed_file(path, rng, r"release\.file\.sha256") if path.exists() else changed_release(folder, rng)


def changed_file(path: Path, rng: random.Random, named: str) -> str:
    content = bytearray(path.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    return named


def changed_policy(folder: Path, rng: random.Random) -> str:
    document = json.loads((folder / "policy.yaml").read_text())
    limit = document["metrics"][0]
    limit["at_least"] += rng.randrange(1, 5)
    (folder / "policy.yaml").write_text(json.dumps(document))
    return r"policy\.sha256"


def edit(document: Any, rng: random.Random) -> None:
    """Change a value, take it away, or add a key beside it."""
    path = rng.choice([path for path in paths_of(document) if path])
    above = document
    for step in path[:-1]:
        above = above[step]
    kind = rng.randrange(3)
    if kind == 0:
        del above[path[-1]]
    elif kind == 1:
        above[path[-1]] = rng.choice([None, True, 0, -1, 0.5, "", "pass", "0" * 64, [], {}, "2020-01-01"])
    elif isinstance(above, dict):
        above[rng.choice(["added", "waiver", "verdict", "passed"])] = rng.choice([1, "pass", True])
    else:
        above.append(above[0])


CHANGES: dict[Change, int] = {
    flipped_byte: 300,
    inserted_or_deleted_bytes: 100,
    edited_value: 200,
    edited_envelope: 100,
    swapped_signatures: 40,
    changed_report: 150,
    changed_release: 60,
    changed_model: 60,
    changed_policy: 20,
}
"""How often each change is tried: more than a thousand together."""


def refusal(folder: Path) -> str:
    """What verification says of a folder whose pass is expected; empty where it accepts it."""
    model = folder / "model.skops"
    expected = ExpectedRun(
        policy=str(folder / "policy.yaml"),
        release=str(folder / "out" / "release.json"),
        file=str(model) if model.exists() else None,
        option_prefix="--",
    )
    try:
        key = public_key(folder / "public.pem")
        verified = verify_statement(folder / "statements", key, expected, ExpectedInputs())
    except InvalidError as error:
        return str(error)
    return "" if verified.verdict == "pass" else f"the verdict is {verified.verdict}"


@pytest.mark.parametrize("part", [0.1, *more(1)])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.thorough
def test_of_a_thousand_random_changes_each_is_refused_and_named(
    made: dict[str, Path], tmp_path: Path, change: Change, part: float
) -> None:
    rng, outcomes = random.Random(change.__name__), Counter[str]()
    for name in made:
        shutil.copytree(made[name], tmp_path / name)
        assert name in {"fail", "inconclusive"} or refusal(tmp_path / name) == ""
    while outcomes["refused"] < part * CHANGES[change]:
        name = rng.choice(["pass", "waived", "model"])
        folder = tmp_path / name
        named = change(folder, rng)
        said = refusal(folder)
        assert bool(said) == bool(named), f"{change.__name__}: {said or 'accepted'}"
        assert re.search(named, said, re.DOTALL), f"{named} is not in {said}"
        outcomes["refused" if named else "unchanged"] += 1
        shutil.rmtree(folder)
        shutil.copytree(made[name], folder)
    assert outcomes["unchanged"] <= outcomes["refused"]


def test_more_than_a_thousand_changes_are_tried() -> None:
    assert sum(CHANGES.values()) > 1000


def test_a_report_of_what_is_no_pass_is_compared_with_what_the_statement_says_of_it(
    copied: Callable[[str], Path],
) -> None:
    folder = copied("fail")
    report = json.loads((folder / "out" / "report.json").read_bytes())
    for path, to, code in (
        (("findings", 0, "limit", "at_least"), 23.0, 2),
        (("policy", "name"), "planted", 2),
        (("findings", 0, "alarm"), "not covered", 1),
        (("release", "sha256"), "0" * 64, 1),
    ):
        changed = json.loads(json.dumps(report))
        set_at(*path, to=to)(changed)
        (folder / "statements" / "report.json").write_text(json.dumps(changed))
        ended = verify(folder)
        assert ended.code == code
        assert ("is not the report that the statement is about" in ended.err) == (code == 2)
        assert "planted" not in ended.err


def test_an_auditors_report_beside_the_statement_is_another_one(copied: Callable[[str], Path]) -> None:
    folder = copied("pass")
    leafgate("audit", folder / "policy.yaml", "--out", folder / "statements", "--audience", "auditor")
    assert not (folder / "statements" / STATEMENTS).exists()  # the audit sets the statements of the last one aside
    attest(folder)
    ended = verify(folder)
    assert (ended.code, "is not the report that the statement is about" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not JSON"),
        (b"{}\n", "is no envelope"),
        (b"[]\n", "is no envelope"),
        (b"planted\n", "is not JSON"),
        (b"\xff\n", "is not UTF-8"),
        (b"[" * 100_000 + b"\n", "is nested too deeply"),
    ],
    ids=["empty", "object", "list", "text", "bytes", "deep"],
)
def test_what_is_no_file_of_statements_is_named(copied: Callable[[str], Path], content: bytes, words: str) -> None:
    folder = copied("pass")
    (folder / "statements" / STATEMENTS).write_bytes(content)
    ended = verify(folder)
    assert (ended.code, STATEMENTS in ended.err, words in ended.err) == (2, True, True), ended.err
    assert "planted" not in ended.err
    (folder / "statements" / STATEMENTS).unlink()
    assert (verify(folder).code, "cannot be read" in verify(folder).err) == (2, True)


@pytest.mark.thorough
def test_judging_again_never_lets_more_through(tmp_path: Path) -> None:
    waived(tmp_path)
    report: dict[str, Any] = json.loads((tmp_path / "out" / "report.json").read_bytes())
    same, lines = judge_waivers_again(report, TODAY)
    assert (same is report, lines) == (True, [])
    late, lines = judge_waivers_again(report, TODAY + timedelta(days=11))
    assert (late["verdict"], late["waived"], late["waivers"][0]["status"], len(lines)) == ("fail", 0, "expired", 1)
    back, lines = judge_waivers_again(late, TODAY)
    assert (back is late, lines) == (True, [])
