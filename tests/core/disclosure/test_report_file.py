from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import LeafgateError
from leafgate.api import InvalidError
from leafgate.app import document, open_session, parse_report, read_report, readable
from survey import survey

FIRST = {"id": "W-1", "owner": "a", "approved_by": "b", "reason": "c", "issued": "2026-01-01", "expires": "2026-01-02"}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = survey(tmp_path_factory.mktemp("survey"), {"build": {"use": "c45"}, "metrics.0.at_least": 20})
    return readable(document(open_session(path).audit().report, "public"))


def refused(content: bytes) -> str:
    with pytest.raises(InvalidError) as error:
        parse_report(content, "report.json")
    assert error.value.exit_code == 2
    return str(error.value)


def changed(stored: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    document = json.loads(stored)
    change(document)
    return json.dumps(document).encode()


@pytest.mark.parametrize("audience", ["public", "auditor"])
@pytest.mark.parametrize("build", [{"use": "c45"}, {"use": "kadet", "k": 3}, {"use": "kadet", "k": 30}])
def test_what_an_audit_writes_can_be_read_back(tmp_path: Path, build: dict[str, Any], audience: Any) -> None:
    fields = document(open_session(survey(tmp_path, {"build": build})).audit().report, audience)
    (tmp_path / "report.json").write_bytes(readable(fields))
    assert read_report(tmp_path / "report.json") == json.loads(readable(fields))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda value: value.update(verdict="pass"), "its findings make it 'fail' with 0 waived"),
        (lambda value: value.update(waived=1), "its findings make it 'fail' with 0 waived"),
        (lambda value: value["findings"][0].update(waiver=FIRST), "its findings make it 'pass' with 1 waived"),
        (lambda value: value["findings"][0].update(waiver=FIRST, passed=True), "is waived, though it did not fail"),
        (lambda value: value["findings"].clear(), "its findings make it 'inconclusive'"),
        (lambda value: value.update(format="leafgate/report/2"), "is no report"),
        (lambda value: value.update(new=1), "has a key that this version does not know"),
        (lambda value: value.pop("notes"), "has no 'notes'"),
        (lambda value: value["findings"][0].pop("passed"), "findings[0]: has no 'passed'"),
        (lambda value: value["findings"][0].update(passed="no"), "findings[0].passed: should be a valid boolean"),
        (lambda value: value["findings"][0].update(people=-1), "findings[0].people: "),
        (
            lambda value: value["findings"][0].update(value={"from": 3, "to": 2}),
            "findings[0].value: `from` is above `to`",
        ),
        (lambda value: value["findings"][0].update(value={"about": 3}), "findings[0].value: "),
        (lambda value: value["findings"][0].update(where=3), "findings[0].where: should be an object"),
        (lambda value: value["policy"].update(sha256="abc"), "policy.sha256: string should match pattern"),
        (lambda value: value.update(affected=3), "has `affected`, which is for auditors"),
        (lambda value: value.update(findings={}), "findings: should be a valid array"),
    ],
)
def test_what_is_not_a_report_is_refused_with_its_place(
    stored: bytes, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    assert parse_report(stored, "report.json")
    assert message in refused(changed(stored, change))


def first(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["findings"][0]
    return found


@pytest.fixture(scope="module")
def waived(stored: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    release = json.loads(stored)["release"]["sha256"]
    waiver = FIRST | {"finding": "k_anonymity@linking#ill", "release": release}
    changes = {"build": {"use": "c45"}, "metrics.0.at_least": 20, "waivers": [waiver]}
    path = survey(tmp_path_factory.mktemp("waived"), changes)
    return readable(document(open_session(path).audit(date(2026, 1, 1)).report, "public"))


def on_both(document: dict[str, Any], **change: str) -> None:
    """Change the waiver on the finding and the one in the list."""
    first(document)["waiver"].update(change)
    document["waivers"][0].update(change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda value: on_both(value, expires="2026-02-31"), "day is out of range"),
        (lambda value: first(value)["limit"].update(at_least=1.0, at_most=2.0), "limits both ways"),
        (lambda value: first(value)["limit"].update(allow=-1.0), "greater than or equal to 0"),
        (lambda value: value.pop("judged_on"), "no day on which they were judged"),
        (lambda value: first(value).update(waiver=None), "findings[0].waiver: should be an object"),
    ],
)
def test_a_waiver_that_cannot_be_one_is_refused(
    waived: bytes, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    assert parse_report(waived, "report.json")["verdict"] == "pass"
    assert message in refused(changed(waived, change))


BAR = {"from": 1.0, "to": 2.0, "people": 24, "past": None}
BELIEF = {"attack": "a", "secret": "s", "believed": {"yes": 1}, "true": {"yes": 1}}
UNSURE = BELIEF | {"believed": {}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda value: value["tree"]["nodes"][-1].update(beliefs=[BELIEF]),
            "has beliefs about people it does not count",
        ),
        (
            lambda value: value["tree"]["nodes"][-1].update(people=1, beliefs=[UNSURE]),
            "at least 1",
        ),
        (lambda value: first(value)["evidence"].update(worst=5), "evidence.worst: should be a valid array"),
        (lambda value: first(value)["evidence"].update(worst=[{}]), "evidence.worst[0]: has no 'people'"),
        (lambda value: first(value)["evidence"].update(tried={"a": 1}), "evidence.tried.a: should be an object"),
        (lambda value: first(value)["evidence"].update(discloses=[1]), "evidence.discloses[0]: should be an object"),
        (lambda value: first(value).update(where={"file": "x"}), "where: has no 'line'"),
        (lambda value: first(value).update(limit={}, distribution=[BAR]), "has people's scores, and no limit"),
        (lambda value: first(value).update(limit={"at_least": None}), "limit.at_least: should be a valid number"),
        (lambda value: first(value).update(distribution=[BAR | {"people": 10**400}]), "people: should be less"),
    ],
)
def test_what_no_view_could_show_is_refused(
    stored: bytes, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    assert message in refused(changed(stored, change))


@pytest.mark.parametrize("content", [b"", b"[]", b"3", b"{", b'{"a": 1, "a": 2}', b"\xff", b"[" * 10**5, b"NaN"])
def test_what_is_not_even_json_is_refused(content: bytes) -> None:
    assert refused(content).startswith("report.json: ")


def test_keys_that_are_not_required_may_be_missing(stored: bytes) -> None:
    def without(document: dict[str, Any]) -> None:
        del document["policy"]["file"], document["findings"][0]["where"]

    assert parse_report(changed(stored, without), "report.json")["verdict"] == "fail"


def test_a_file_that_is_not_there_or_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="cannot be read: No such file"):
        read_report(tmp_path / "none.json")
    (tmp_path / "large.json").write_bytes(b" " * (64 * 2**20 + 1))
    with pytest.raises(InvalidError, match="larger than 64 MB"):
        read_report(tmp_path / "large.json")


SECRET = "of_jane_doe"


@given(data=st.data())
def test_whatever_stands_anywhere_is_read_or_refused_without_quoting_it(stored: bytes, data: st.DataObject) -> None:
    document = json.loads(stored)
    here, keys = document, data.draw(st.lists(st.integers(0, 20), min_size=1, max_size=4))
    for key in keys[:-1]:
        inner = list(here.values() if isinstance(here, dict) else here)
        here = inner[key % len(inner)] if inner and isinstance(inner[key % len(inner)], dict | list) else here
    strange = data.draw(st.sampled_from([None, True, -1, 0.5, SECRET, [], [SECRET], {}, {SECRET: SECRET}]))
    if isinstance(here, dict) and here:
        here[list(here)[keys[-1] % len(here)]] = strange
    elif isinstance(here, list):
        here.insert(0, strange)
    assert SECRET not in trouble_with(json.dumps(document).encode())


def trouble_with(content: bytes) -> str:
    """Why these bytes are no report; nothing when they are one."""
    try:
        parse_report(content, "report.json")
    except LeafgateError as error:
        return str(error)
    return ""
