"""The file of a case: no edit of it or of what it is about stays approved; a second implementation agrees."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from attested import private_pem
from decided_cases import is_approved, sha256
from leafgate.api import InvalidError
from leafgate.commands.attest.keys import signer_of
from leafgate.commands.case.record import (
    CaseRecord,
    Request,
    Subject,
    parse_case,
    state_of,
    with_decision,
)
from leafgate.reports.sheet import SheetFacts

FILES = {name: f"{name} of the case".encode() for name in ("policy", "report", "release", "file")}
QUESTIONS = ("membership", "usefulness")
PEOPLE = ("M. Keller", "S. Other")


def subject(files: Mapping[str, bytes], **changes: Any) -> Subject:
    """What a case is about, where its files have this content."""
    digests: dict[str, str | None] = {name: sha256(content) for name, content in files.items()}
    return replace(Subject({**digests, "waivers": None}, "pass", dict.fromkeys(QUESTIONS, "asked"), 2), **changes)


def decided(*choices: str, names: tuple[str, ...] = PEOPLE, keys: tuple[int, ...] = (1, 2)) -> CaseRecord:
    """A case with these decisions about `FILES`, each by the next person and key."""
    record = CaseRecord(request=Request(facts=SheetFacts(requester="R. Requester"), policy="policy.yaml"))
    for choice, name, key in zip(choices, names, keys, strict=False):
        record = with_decision(
            record,
            {
                "decision": choice,
                "reason": f"The reason of {name}",
                "by": name,
                "about": digests(FILES),
                "questions": [{"question": each, "acceptable": True, "because": "few people"} for each in QUESTIONS],
            },
            signer_of(private_pem(key)),
        )
    return record


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: sha256(content) for name, content in files.items()}


Edit = Callable[[random.Random, bytes, dict[str, bytes]], tuple[bytes, dict[str, bytes]]]


def edit_of_bytes(rng: random.Random, case: bytes, files: dict[str, bytes]) -> tuple[bytes, dict[str, bytes]]:
    """A bit of the case flipped, a byte more, or the end cut off."""
    at = rng.randrange(len(case))
    flipped = case[:at] + bytes([case[at] ^ (1 << rng.randrange(8))]) + case[at + 1 :]
    return rng.choice([flipped, case[:at] + b" " + case[at:], case[:at], case + b"\n"]), files


def edit_of_files(rng: random.Random, case: bytes, files: dict[str, bytes]) -> tuple[bytes, dict[str, bytes]]:
    """A byte of a file changed, two files exchanged, or all of another release, as where the case is copied there."""
    one, other = rng.sample([*files], 2)
    at = rng.randrange(len(files[one]))
    changed = {**files, one: files[one][:at] + b"~" + files[one][at + 1 :]}
    exchanged = {**files, one: files[other], other: files[one]}
    return case, rng.choice([changed, exchanged, {name: content + b" of another" for name, content in files.items()}])


def edit_of_fields(rng: random.Random, case: bytes, files: dict[str, bytes]) -> tuple[bytes, dict[str, bytes]]:
    """A text, a digest or an answer edited, or a field taken from the other decision."""
    document = json.loads(case)
    one, other = rng.sample(document["decisions"], 2)
    text, field = rng.choice(["reason", "by", "at", "decision"]), rng.choice([*one])
    edits: list[tuple[dict[str, Any], str, Any]] = [
        (one, text, one[text] + "."),
        (one, text, rng.choice(["approve", "2026-01-01T00:00:00+00:00"])),
        (one, field, other[field]),
        (one["about"], rng.choice([*files]), sha256(rng.randbytes(8))),
        (rng.choice(one["questions"]), "because", "another reason"),
        (document["request"]["facts"], "requester", "Somebody else"),
    ]
    edited, key, entry = rng.choice(edits)
    edited[key] = entry
    return written(document), files


def edit_of_order(rng: random.Random, case: bytes, files: dict[str, bytes]) -> tuple[bytes, dict[str, bytes]]:
    """Decisions swapped, removed or repeated."""
    document = json.loads(case)
    first, second = document["decisions"]
    document["decisions"] = rng.choice([[second, first], [first], [second], [first, first], [second] * 2, []])
    return written(document), files


EDITS: tuple[Edit, ...] = (edit_of_bytes, edit_of_files, edit_of_fields, edit_of_order)


def written(document: object) -> bytes:
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def state_name(case: bytes, files: Mapping[str, bytes]) -> str:
    try:
        return state_of(parse_case(case, "case.json"), subject(files)).name
    except InvalidError:
        return "refused"


@pytest.mark.parametrize("edits", [60, pytest.param(500, marks=pytest.mark.thorough)])
def test_no_edit_of_the_files_of_a_case_stays_approved(edits: int) -> None:
    rng, case = random.Random(edits), decided("approve", "approve").content
    assert state_name(case, FILES) == "approved"
    assert is_approved(case, digests(FILES))
    for _ in range(edits):
        edited, files = rng.choice(EDITS)(rng, case, FILES)
        if (edited, files) != (case, FILES):
            assert state_name(edited, files) != "approved", edited
            try:
                stays = is_approved(edited, digests(files))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            assert not stays or json.loads(edited) == json.loads(case), edited  # white space alone was changed


def test_a_decision_by_a_key_that_is_not_trusted_does_not_count() -> None:
    record = decided("approve", "approve")
    trusted = {record.decisions[0].key}
    assert state_of(record, subject(FILES), trusted).name == "waiting"
    assert state_of(record, subject(FILES), {each.key for each in record.decisions}).name == "approved"


def test_a_question_that_nobody_examined_is_answered_by_everybody_who_approves() -> None:
    asked = subject(FILES, not_examined=dict.fromkeys((*QUESTIONS, "training"), "asked"))
    state = state_of(decided("approve", "reject"), asked)
    assert [len(each.void) for each in state.decisions] == [1, 0]
    assert "training" in state.decisions[0].void[0]


def test_an_error_names_the_place_and_quotes_nothing() -> None:
    document = json.loads(decided("approve").content)
    document["decisions"][0]["reason"] = "Planted"
    for broken in (document, {**document, "Planted": 1}, cast("Any", ["Planted"])):
        with pytest.raises(InvalidError) as refused:
            parse_case(json.dumps(broken).encode(), "case.json")
        assert "Planted" not in str(refused.value)
        assert refused.value.problems[0].location.startswith("case.json")
