from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leafgate.disclosure import document
from leafgate.errors import LeafgateError, ReportError
from leafgate.report_file import MAX_BYTES, parse_report, read_report
from leafgate.running import prepare
from leafgate.strict_json import readable
from survey import survey

FIRST = {"id": "W-1", "owner": "a", "approved_by": "b", "reason": "c", "issued": "2026-01-01", "expires": "2026-01-02"}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = survey(tmp_path_factory.mktemp("survey"), {"build": {"use": "c45"}, "metrics.0.at_least": 20})
    return readable(document(prepare(path).audit().report, "public"))


def refused(content: bytes) -> str:
    with pytest.raises(ReportError) as error:
        parse_report(content, "report.json")
    assert error.value.exit_code == 2
    return str(error.value)


def changed(stored: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    told = json.loads(stored)
    change(told)
    return json.dumps(told).encode()


@pytest.mark.parametrize("audience", ["public", "auditor"])
@pytest.mark.parametrize("build", [{"use": "c45"}, {"use": "kadet", "k": 3}, {"use": "kadet", "k": 30}])
def test_what_an_audit_writes_can_be_read_back(tmp_path: Path, build: dict[str, Any], audience: Any) -> None:
    told = document(prepare(survey(tmp_path, {"build": build})).audit().report, audience)
    (tmp_path / "report.json").write_bytes(readable(told))
    assert read_report(tmp_path / "report.json") == json.loads(readable(told))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda told: told.update(verdict="pass"), "its findings make it 'fail' with 0 waived"),
        (lambda told: told.update(waived=1), "its findings make it 'fail' with 0 waived"),
        (lambda told: told["findings"][0].update(waiver=FIRST), "its findings make it 'pass' with 1 waived"),
        (lambda told: told["findings"][0].update(waiver=FIRST, passed=True), "is waived, though it did not fail"),
        (lambda told: told["findings"].clear(), "its findings make it 'inconclusive'"),
        (lambda told: told.update(format="leafgate/report/2"), "is no report"),
        (lambda told: told.update(new=1), "has a key that this version does not know"),
        (lambda told: told.pop("notes"), "has no 'notes'"),
        (lambda told: told["findings"][0].pop("passed"), "findings[0]: has no 'passed'"),
        (lambda told: told["findings"][0].update(passed="no"), "findings[0].passed: should be a valid boolean"),
        (lambda told: told["findings"][0].update(people=-1), "findings[0].people: "),
        (
            lambda told: told["findings"][0].update(value={"from": 3, "to": 2}),
            "findings[0].value: `from` is above `to`",
        ),
        (lambda told: told["findings"][0].update(value={"about": 3}), "findings[0].value: "),
        (lambda told: told["findings"][0].update(where=3), "findings[0].where: should be an object"),
        (lambda told: told["policy"].update(sha256="abc"), "policy.sha256: string should match pattern"),
        (lambda told: told.update(findings={}), "findings: should be a valid array"),
    ],
)
def test_what_is_not_a_report_is_refused_with_its_place(
    stored: bytes, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    assert parse_report(stored, "report.json")
    assert message in refused(changed(stored, change))


@pytest.mark.parametrize("content", [b"", b"[]", b"3", b"{", b'{"a": 1, "a": 2}', b"\xff", b"[" * 10**5, b"NaN"])
def test_what_is_not_even_json_is_refused(content: bytes) -> None:
    assert refused(content).startswith("report.json: ")


def test_a_report_without_what_came_later_is_still_read(stored: bytes) -> None:
    def older(told: dict[str, Any]) -> None:
        del told["policy"]["file"], told["findings"][0]["where"]

    assert parse_report(changed(stored, older), "report.json")["verdict"] == "fail"


def test_a_file_that_is_not_there_or_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="cannot be read: No such file"):
        read_report(tmp_path / "none.json")
    (tmp_path / "large.json").write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(ReportError, match="larger than 64 MB"):
        read_report(tmp_path / "large.json")


SECRET = "of_jane_doe"


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_stands_anywhere_is_read_or_refused_without_quoting_it(stored: bytes, data: st.DataObject) -> None:
    told = json.loads(stored)
    here, keys = told, data.draw(st.lists(st.integers(0, 20), min_size=1, max_size=4))
    for key in keys[:-1]:
        inner = list(here.values() if isinstance(here, dict) else here)
        here = inner[key % len(inner)] if inner and isinstance(inner[key % len(inner)], dict | list) else here
    strange = data.draw(st.sampled_from([None, True, -1, 0.5, SECRET, [], [SECRET], {}, {SECRET: SECRET}]))
    if isinstance(here, dict) and here:
        here[list(here)[keys[-1] % len(here)]] = strange
    elif isinstance(here, list):
        here.insert(0, strange)
    assert SECRET not in trouble_with(json.dumps(told).encode())


def trouble_with(content: bytes) -> str:
    """Why these bytes are no report; nothing when they are one."""
    try:
        parse_report(content, "report.json")
    except LeafgateError as error:
        return str(error)
    return ""
