"""`data.control`: people who are not in the table, read as the table is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import leafgate
from leafgate.api import DataError
from leafgate.app import load_policy, open_session
from stranger import install
from survey import HEADER, PEOPLE, survey

OTHERS = f"{HEADER}\n33,f,no,no\n44,m,yes,yes\n"
COUNTING = """
from typing import Literal
from leafgate.api import AttackModel, Belief, InconclusiveError, hookimpl
leafgate_api = ">=3,<4"

class Counting(AttackModel):
    use: Literal["counting_candidates"] = "counting_candidates"
    needs = frozenset({"candidates"})
    access_levels = frozenset({"labels", "scores", "file"})

    def infer(self, release, known):
        people = known.candidates
        raise InconclusiveError(f"{people.in_table} and {people.not_in_table}")

@hookimpl
def attack_models():
    return [Counting]
"""
ATTACKS = [{"use": "linking"}, {"use": "counting_candidates"}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, with an attack installed that says how many candidates there are."""
    install(tmp_path, "leafgate_counting_candidates", COUNTING)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "others.csv").write_text(OTHERS)
    return tmp_path


def counted(path: Path, *words: str | Path) -> str:
    """What the attack says."""
    document = leafgate("audit", path, "--json", *words).document
    (problem,) = (each for each in document["findings"] if each["id"] == "attack:counting_candidates")
    return str(problem["evidence"]["problem"])


def test_people_of_the_control_are_candidates(folder: Path) -> None:
    path = survey(folder, {"data.control": "others.csv", "attacks": ATTACKS})
    assert counted(path) == "24 and 2"


def test_the_test_file_of_the_command_line_is_the_control(folder: Path) -> None:
    path = survey(folder, {"attacks": ATTACKS})
    assert "no people who are not in the table" in counted(path)
    assert counted(path, "--test", folder / "others.csv") == "24 and 2"


def test_a_test_table_that_is_the_table_itself_is_no_control(folder: Path) -> None:
    path = survey(folder, {"attacks": ATTACKS, "data.test": "people.csv"})
    assert "the test table is the table itself" in counted(path)


def test_a_control_that_is_the_table_itself_is_refused(folder: Path) -> None:
    (folder / "same.csv").write_text(PEOPLE)
    with pytest.raises(DataError, match=r"data\.control: is the table itself"):
        open_session(survey(folder, {"data.control": "same.csv"}))


KEYED = {"data.columns.id": {"role": "key"}}


def with_ids(content: str, first: int) -> str:
    """The same people, each with a number."""
    head, *rows = content.splitlines()
    return "\n".join([f"id,{head}", *(f"{number},{row}" for number, row in enumerate(rows, first))]) + "\n"


def test_a_key_of_the_table_in_the_control_is_refused(folder: Path) -> None:
    """And not one of other people, nor a column that only numbers the rows of each file."""
    path = survey(folder, {"data.control": "others.csv", "attacks": ATTACKS, **KEYED})
    (folder / "people.csv").write_text(with_ids(PEOPLE, 1000))
    for first, code, problem in ((1001, 2, "have the key of somebody in the table"), (2000, 3, "24 and 2")):
        (folder / "others.csv").write_text(with_ids(OTHERS, first))
        ended = leafgate("audit", path, "--json")
        assert ended.code == code
        assert problem in str(ended.document)
        assert "1001" not in str(ended.document)
    path = survey(folder, {"data.control": "others.csv", "attacks": ATTACKS, "data.columns.id": {"role": "ignored"}})
    for name, content in (("people.csv", PEOPLE), ("others.csv", OTHERS)):
        (folder / name).write_text(with_ids(content, 1))
    assert counted(path) == "24 and 2"


def test_a_key_of_the_table_in_the_test_table_leaves_attacks_on_it_inconclusive(folder: Path) -> None:
    path = survey(folder, {"data.test": "others.csv", "attacks": ATTACKS, **KEYED})
    (folder / "people.csv").write_text(with_ids(PEOPLE, 1000))
    (folder / "others.csv").write_text(with_ids(OTHERS, 1001))
    assert "have the key of somebody in the table" in counted(path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (OTHERS.replace("33", "133"), "outside the `bounds`"),
        (OTHERS.replace("33", ""), "have missing cells"),
        (OTHERS.replace("smoker,", ""), "smoker"),
    ],
)
def test_a_control_that_does_not_fit_the_policy_is_refused(folder: Path, content: str, why: str) -> None:
    (folder / "others.csv").write_text(content)
    ended = leafgate("audit", survey(folder, {"data.control": "others.csv"}), "--json")
    assert ended.code == 2
    assert why in str(ended.problems)
    assert "others.csv" in str(ended.problems)


def test_people_of_the_control_with_missing_cells_are_dropped_where_the_policy_says_so(folder: Path) -> None:
    (folder / "others.csv").write_text(f"{OTHERS},m,no,no\n")
    said = {"data.control": "others.csv", "attacks": ATTACKS, "data.on_missing": "drop"}
    assert counted(survey(folder, said)) == "24 and 2"


def test_an_auditor_sees_the_digest_of_the_control_and_the_public_does_not(folder: Path) -> None:
    path, out = survey(folder, {"data.control": "others.csv"}), folder / "out"
    assert leafgate("audit", path, "--out", out, "--audience", "auditor").code == 0
    assert json.loads((out / "report.json").read_text())["data"]["files"].keys() == {"control"}
    assert "control" not in json.dumps(leafgate("audit", path, "--json").document["data"])


def test_a_policys_digest_tells_only_that_there_is_a_control(folder: Path) -> None:
    path = survey(folder, {"data.control": "others.csv"})
    first = load_policy(path).policy.sha256
    (folder / "others.csv").write_text(PEOPLE)
    assert load_policy(path).policy.sha256 == first
    assert load_policy(survey(folder)).policy.sha256 != first


def test_policies_that_differ_in_the_control_are_read_apart(folder: Path) -> None:
    plain, controlled = (open_session(survey(folder, said)) for said in ({}, {"data.control": "others.csv"}))
    assert plain.tables.control is None
    assert controlled.tables.control is not None


def test_candidates_that_no_attack_uses_are_refused(folder: Path) -> None:
    ended = leafgate("validate", survey(folder, {"knows.candidates": 100}), "--json")
    assert [problem["place"] for problem in ended.problems] == ["knows.candidates"]


def test_a_report_counts_the_candidates_masked_for_the_public(folder: Path) -> None:
    path, out = survey(folder, {"data.control": "others.csv", "attacks": ATTACKS}), folder / "out"
    for audience, counts in (("public", [{"from": 10, "to": 24}, {"fewer_than": 10}]), ("auditor", [24, 2])):
        formats = [word for name in ("markdown", "html", "sarif", "junit", "text") for word in ("--to", name)]
        leafgate("audit", path, "--out", out, "--audience", audience, *formats)
        document = json.loads((out / "report.json").read_text())
        (problem,) = (each for each in document["findings"] if each["id"] == "attack:counting_candidates")
        candidates = problem["evidence"]["candidates"]
        assert [candidates["in_table"], candidates["not_in_table"]] == counts
        (attack,) = (each for each in document["method"]["attacks"] if each["name"] == "counting_candidates")
        assert attack["candidates"] == 10_000
        assert "at most 10000 people of the table and as many others" in (out / "report.md").read_text()
