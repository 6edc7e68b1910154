"""Every bad input ends in its exit code, with a message that says what is wrong and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate
from survey import HEADER, PEOPLE, ROWS, survey, write_policy

FIRST, *OTHERS = ROWS
BOMB = "a: &a [x, x]\n" + "".join(f"{n}: &{n} [*{o}, *{o}]\n" for o, n in zip("abcdefgh", "bcdefghi", strict=True))


def table(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, *rows]) + "\n"


def column(number: int, cell: str) -> str:
    """The people, one column's cells all the same."""
    rows = [row.split(",") for row in ROWS]
    return table(*(",".join([*row[:number], cell, *row[number + 1 :]]) for row in rows))


DATA = {
    "empty file": ("", "people.csv", "the file is empty"),
    "blank file": (" \n\n", "people.csv", "the file is empty"),
    "no rows": (HEADER + "\n", "people.csv", "the file holds no rows"),
    "wrong header": (table(*ROWS, header="age,sex,smokes,ill"), "people.csv", "the header has no column 'smoker'"),
    "no header": (table(*OTHERS, header=FIRST), "people.csv", "the header has no column 'age'"),
    "one column more": (table(*(f"{row},1" for row in ROWS), header=f"{HEADER},x"), "people.csv", "not in the policy"),
    "another delimiter": (PEOPLE.replace(",", ";"), "people.csv", 'the delimiter seems to be ";", and not ","'),
    "duplicate columns": (table(*ROWS, header="age,sex,sex,ill"), "people.csv", "stand twice in the header"),
    "unknown category": (table(*ROWS, "30,x,no,no"), "column 'sex'", "some cells are outside the `values`"),
    "number out of bounds": (table(*ROWS, "130,f,no,no"), "column 'age'", "some cells are outside the `bounds`"),
    "text in a numeric column": (table(*ROWS, "old,f,no,no"), "column 'age'", "some cells are not a finite number"),
    "nan in a numeric column": (table(*ROWS, "nan,f,no,no"), "column 'age'", "some cells are not a finite number"),
    "number with underscore": (table(*ROWS, "3_0,f,no,no"), "column 'age'", "some cells are not a finite number"),
    "all-missing column": (column(0, ""), "column 'age'", "every cell is missing"),
    "missing cells": (table(*ROWS, ",f,no,no"), "column(s) 'age'", "some rows have missing cells"),
    "missing class": (table(*ROWS, "30,f,no,"), "column 'ill'", "of the class or of a secret are missing"),
    "one class": (column(3, "no"), "column 'ill'", "everybody has the same class"),
    "short row": (table(*ROWS, "30,f,no"), "people.csv", "1 row(s) have another number of cells"),
    "long row": (table(*ROWS, "30,f,no,no,no"), "people.csv", "1 row(s) have another number of cells"),
    "open quote": (table(*ROWS, '30,"f,no,no'), "people.csv", "not a table"),
    "not utf-8": (b"\xff" + PEOPLE.encode(), "people.csv", "is not utf-8-sig text"),
}


@pytest.mark.parametrize(("people", "place", "message"), DATA.values(), ids=DATA)
def test_data_that_does_not_fit_the_policy_is_invalid(
    tmp_path: Path, people: str | bytes, place: str, message: str
) -> None:
    policy = survey(tmp_path, people=people)
    ended = leafgate("audit", policy)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("leafgate: ")
    assert place in ended.err
    assert message in ended.err
    output = leafgate("audit", policy, "--json")
    assert (output.code, output.err) == (2, "")
    assert any(place in problem["place"] and message in problem["message"] for problem in output.problems)


POLICIES: dict[str, tuple[dict[str, Any], str, str]] = {
    "missing file": ({"data.path": "nobody.csv"}, "nobody.csv", "there is no such file"),
    "no file": ({"data.path": ...}, "data.path", "says not where the table is"),
    "missing test file": ({"data.test": "nobody.csv"}, "nobody.csv", "there is no such file"),
    "missing hierarchy": ({"data.columns.sex.hierarchy": "x.csv"}, "data.columns.sex.hierarchy", "cannot be read"),
    "no quasi-identifier": (
        {"data.columns.age.role": "private", "data.columns.sex.role": "private"},
        "data.columns",
        "no column is a quasi_identifier",
    ),
    "no class": ({"data.columns.ill.role": "sensitive"}, "build", "needs a column with the role `class`"),
    "k below 1": ({"build.k": 0}, "build.k", "greater than or equal to 1"),
    "nothing to attack": ({"attacks": []}, "attacks", "list at least one"),
    "path with ..": ({"data.path": "../people.csv"}, "data.path", "leaves the policy's folder"),
    "absolute path": ({"data.path": "/etc/hostname"}, "data.path", "leaves the policy's folder"),
    "path through a link": ({"data.path": "link/people.csv"}, "data.path", "leaves the policy's folder"),
    "link to itself": ({"data.path": "loop"}, "data.path", ""),
    "a folder for a file": ({"data.path": "."}, "", "Is a directory"),
    "wrong direction": ({"metrics.0": {"use": "k_anonymity", "at_most": 3}}, "metrics[0].at_most", "`at_least`"),
    "missing secret": (
        {"data.columns.smoker.role": "sensitive", "data.missing": ["yes"], "data.columns.ill.role": "class"},
        "column 'smoker'",
        "of the class or of a secret are missing",
    ),
}


@pytest.mark.parametrize(("changes", "place", "message"), POLICIES.values(), ids=POLICIES)
def test_a_policy_that_cannot_be_meant_is_invalid(
    tmp_path: Path, changes: dict[str, Any], place: str, message: str
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    (inside / "loop").symlink_to("loop")
    (tmp_path / "people.csv").write_text(PEOPLE)
    output = leafgate("audit", survey(inside, changes), "--json")
    assert (output.code, output.err) == (2, "")
    assert any(place in problem["place"] and message in problem["message"] for problem in output.problems)


def test_a_table_that_is_not_there_may_be_below_another_folder(tmp_path: Path) -> None:
    ended = leafgate("audit", survey(tmp_path, {"data.path": "nobody.csv"}))
    assert "there is no such file (correct `data.path`, or name the folder that it is below: --root)" in ended.err


WRITTEN = {
    "duplicate keys": ("seed: 1\nseed: 2\n", "line 2", "the key 'seed' stands twice"),
    "alias bomb": (BOMB, "line 1", "anchors and aliases are not allowed"),
    "10 MB of [": ("[" * 10_000_000, "policy.yaml", "larger than 256 KB"),
    "256 KB of [": ("[" * 256 * 1024, "line 1", "nested deeper"),
    "a Python object": ("a: !!python/object/apply:os.system [x]\n", "line 1", "tag"),
    "nothing": ("", "policy.yaml", "not a mapping"),
    "no YAML": ("{", "line 1", ""),
    "another encoding": ("name: é".encode("latin-1"), "policy.yaml", "is not UTF-8 text"),
}


@pytest.mark.parametrize("command", ["audit", "validate"])
@pytest.mark.parametrize(("content", "place", "message"), WRITTEN.values(), ids=WRITTEN)
@pytest.mark.thorough
def test_a_policy_that_cannot_be_read_is_invalid(
    tmp_path: Path, command: str, content: str | bytes, place: str, message: str
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    output = leafgate(command, path, "--json")
    assert (output.code, output.err) == (2, "")
    (problem,) = output.problems
    assert place in problem["place"]
    assert message in problem["message"]


@pytest.mark.parametrize("limit", [".nan", ".inf"])
def test_a_limit_that_is_no_number_is_invalid(tmp_path: Path, limit: str) -> None:
    path = write_policy(tmp_path, {"metrics.0.at_least": 77})
    path.write_text(path.read_text().replace("77", limit))
    (problem,) = leafgate("validate", path, "--json").problems
    assert problem["place"] == "metrics[0].at_least"


@pytest.mark.parametrize("name", ["nobody.yaml", "."])
def test_a_policy_that_is_not_there_is_invalid(tmp_path: Path, name: str) -> None:
    assert leafgate("audit", tmp_path / name).code == 2


def test_a_k_larger_than_the_table_has_no_release(tmp_path: Path) -> None:
    ended = leafgate("audit", survey(tmp_path, {"build.k": 25}))
    assert ended.code == 1
    assert "FAIL: do not publish" in ended.out
    assert "no tree, not even a single leaf" in ended.out
    document = leafgate("audit", tmp_path / "policy.yaml", "--json").document
    assert (document["verdict"], document["release"], document["findings"][0]["passed"]) == ("fail", None, False)


def test_a_policy_that_is_wrong_in_five_places_lists_five_problems_with_their_places(tmp_path: Path) -> None:
    wrong = {
        "sead": 1,
        "data.columns.age.bounds": [9, 1],
        "build.k": 0,
        "metrics.0.at_most": 3,
        "metrics.0.of": "nobody",
    }
    path = survey(tmp_path, wrong)
    places = {problem["place"] for problem in leafgate("validate", path, "--json").problems}
    assert places == {"sead", "data.columns.age", "build.k", "metrics[0].at_most", "metrics[0].of"}
    ended = leafgate("validate", path)
    assert (ended.code, len(ended.err.splitlines())) == (2, 5)
    assert all(f"leafgate: {place}: " in ended.err for place in places)
