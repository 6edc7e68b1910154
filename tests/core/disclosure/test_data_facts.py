"""Which digests of files about people a report tells, and to whom."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate
from leafgate import PolicyError
from leafgate.app import document, open_session, parse_report, readable
from reports import FILES, FOR_PEOPLE, view
from survey import PEOPLE, survey

KEY = bytes(range(32))
KEYED = {"report.digest_key": "secret.key"}
MORE = PEOPLE + "20,f,no,no\n"
PLAIN = hashlib.sha256(PEOPLE.encode()).hexdigest()


def with_key(folder: Path, changes: dict[str, Any] | None = None, key: bytes = KEY) -> Path:
    (folder / "secret.key").write_bytes(key)
    return survey(folder, KEYED | (changes or {}))


def hmac_of(*lines: str) -> str:
    return hmac.new(KEY, "\n".join(lines).encode(), hashlib.sha256).hexdigest()


def stored_report(policy: Path, audience: str) -> dict[str, Any]:
    """The report, as it is written and read back."""
    report = readable(document(open_session(policy).audit().report, audience))  # type: ignore[arg-type]
    data: dict[str, Any] = parse_report(report, "report")["data"]
    return data


def test_a_plain_digest_of_the_data_is_for_auditors(tmp_path: Path) -> None:
    assert stored_report(survey(tmp_path), "auditor")["sha256"] == PLAIN
    public = open_session(survey(tmp_path)).audit().report
    assert PLAIN not in readable(document(public, "public")).decode()
    for form in FILES:
        shown = view(document(public, "public"), form).decode()
        assert PLAIN[:16] not in shown
        assert ("digest is for auditors" in shown) == (form in {"html", "markdown", *FOR_PEOPLE})


def test_with_a_key_everyone_sees_a_digest_that_only_its_owner_can_confirm(tmp_path: Path) -> None:
    policy = with_key(tmp_path)
    assert (
        stored_report(policy, "public")["keyed_sha256"]
        == stored_report(policy, "auditor")["keyed_sha256"]
        == hmac_of(PLAIN)
    )
    assert "sha256" not in stored_report(policy, "public")
    page = view(document(open_session(policy).audit().report, "public"), "markdown").decode()
    assert f"data, keyed `{hmac_of(PLAIN)[:16]}`" in page
    other = with_key(tmp_path, key=KEY[::-1])
    assert stored_report(other, "public")["keyed_sha256"] != hmac_of(PLAIN)


def test_other_files_about_people_are_part_of_the_keyed_digest_and_named_to_auditors(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text(PEOPLE)
    (tmp_path / "known.csv").write_text("\n".join(PEOPLE.splitlines()[:2]) + "\n")
    files = {"data.test": "test.csv", "knows.people": "known.csv", "attacks": [{"use": "maxent"}]}
    policy = with_key(tmp_path, files)
    digests = {
        name: hashlib.sha256((tmp_path / f"{file}.csv").read_bytes()).hexdigest()
        for name, file in (("people", "known"), ("test", "test"))
    }
    assert stored_report(policy, "auditor")["files"] == digests
    public = stored_report(policy, "public")
    assert "files" not in public
    assert public["keyed_sha256"] == hmac_of(PLAIN, *(f"{name} {digest}" for name, digest in digests.items()))


def test_of_a_differentially_private_release_auditors_see_the_keyed_digest_alone(tmp_path: Path) -> None:
    build = {"use": "dp_random_trees", "epsilon": 1, "trees": 1, "depth": 1, "rehearsal": True}
    columns = {"data.columns.smoker.role": "quasi_identifier", "build": build}
    report = open_session(with_key(tmp_path, columns)).audit().report
    assert report.differentially_private
    assert document(report, "public")["data"] == {}
    auditor = document(report, "auditor")["data"]
    assert (auditor["keyed_sha256"], "sha256" in auditor) == (hmac_of(PLAIN), False)
    (tmp_path / "secret.key").unlink()
    assert stored_report(survey(tmp_path, columns), "auditor")["sha256"] == PLAIN


@pytest.mark.parametrize("key", [b"", b"x" * 15, b"x" * 4097, None])
def test_what_is_no_key_is_refused_before_the_work_begins_and_never_told(tmp_path: Path, key: bytes | None) -> None:
    policy = with_key(tmp_path, key=key or b"")
    if key is None:
        (tmp_path / "secret.key").unlink()
    with pytest.raises(PolicyError, match=r"report\.digest_key") as caught:
        open_session(policy).audit()
    assert "xx" not in str(caught.value)


def test_the_key_is_in_no_file_that_an_audit_leaves(tmp_path: Path) -> None:
    key = b"planted-secret-of-the-owner"
    policy = with_key(tmp_path, key=key)
    ended = leafgate("audit", policy, "--out", tmp_path / "out", "--audience", "auditor", "--to", "html")
    assert ended.code in {0, 1}
    left = [path.read_bytes() for path in (tmp_path / "out").iterdir()]
    assert left
    assert not any(key in content or hashlib.sha256(key).hexdigest().encode() in content for content in left)


def test_a_policy_that_extends_another_may_add_a_key_and_not_take_its_place(tmp_path: Path) -> None:
    (tmp_path / "own.key").write_bytes(KEY)
    survey(tmp_path)
    child = tmp_path / "child.yaml"
    child.write_text("leafgate: 1\nextends: policy.yaml\nreport: {digest_key: own.key}\n")
    assert stored_report(child, "public")["keyed_sha256"] == hmac_of(PLAIN)
    with_key(tmp_path)
    with pytest.raises(PolicyError, match=r"report\.digest_key"):
        open_session(child)


def test_nobody_but_its_owner_reads_by_what_a_sweep_knows_finished_points_again(tmp_path: Path) -> None:
    leafgate("sweep", survey(tmp_path), "--over", "build.k=3,6", "--out", tmp_path / "swept", "--workers", 1)
    points = list((tmp_path / "swept").glob("*/point.json"))
    assert [path.stat().st_mode & 0o777 for path in points] == [0o600, 0o600]
    assert PLAIN not in "".join(path.read_text() for path in (tmp_path / "swept").rglob("*.json"))


def test_another_key_makes_another_report_of_every_point(tmp_path: Path) -> None:
    seen = []
    for key in (KEY, KEY[::-1]):
        sweep = ("--over", "build.k=3,6", "--out", tmp_path / "swept", "--workers", 1)
        leafgate("sweep", with_key(tmp_path, key=key), *sweep)
        reports = (json.loads(path.read_text()) for path in (tmp_path / "swept").glob("*/report.json"))
        seen.append({report["data"]["keyed_sha256"] for report in reports})
    assert len(seen[0] | seen[1]) == 2


def test_a_test_table_that_is_the_table_is_noted(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text(PEOPLE)
    for name, content, noted in (("people.csv", PEOPLE, True), ("test.csv", PEOPLE, True), ("test.csv", MORE, False)):
        (tmp_path / "test.csv").write_text(content)
        report = open_session(survey(tmp_path, {"data.test": name})).audit().report
        assert any(note.startswith("To decide: The test table is the table") for note in report.notes) == noted
