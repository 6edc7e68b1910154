"""Whatever is wrong with a file, no error tells what stands in one of its cells."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from sklearn_zoo import skops_bytes
from survey import HEADER, PEOPLE, ROWS, survey

PLANTED = "Zebulon-77"
Cells = list[list[str]]


def planted(rows: Cells, row: int, column: int, cell: str = PLANTED) -> Cells:
    """The rows with something else in one cell."""
    changed = [list(old) for old in rows]
    changed[row][column] = cell
    return changed


def written(rows: Cells, header: str = HEADER) -> str:
    return "\n".join([header, *(",".join(row) for row in rows)]) + "\n"


KINDS: dict[str, Callable[[Cells], str | bytes]] = {
    "as it is": written,
    "a cell short": lambda rows: written([*rows[:3], rows[3][:-1], *rows[4:]]),
    "a cell long": lambda rows: written([*rows[:3], [*rows[3], PLANTED], *rows[4:]]),
    "an open quote": lambda rows: written([*rows, ['"' + PLANTED, *rows[0][1:]]]),
    "a quote inside": lambda rows: written([*rows, [f'"{PLANTED}"x', *rows[0][1:]]]),
    "no header": lambda rows: written(rows[1:], ",".join(rows[0])),
    "a cell for a header": lambda rows: written(rows, f"age,{PLANTED},smoker,ill"),
    "twice in the header": lambda rows: written(rows, f"age,{PLANTED},{PLANTED},ill"),
    "not utf-8": lambda rows: written(rows).encode() + f"30,{PLANTED}é,no,no\n".encode("latin-1"),
    "a NUL": lambda rows: written(planted(rows, 2, 1, PLANTED + "\0")),
    "a long cell": lambda rows: written([*rows, [f'"{PLANTED * 20000}"', *rows[0][1:]]]),
    "one class": lambda rows: written([[*row[:3], PLANTED] for row in rows]),
    "no rows": lambda rows: written([]),
    "semicolons": lambda rows: written(rows).replace(",", ";"),
}
ROLES = ["quasi_identifier", "private", "sensitive", "weight", "key", "ignored"]


@given(
    st.sampled_from(sorted(KINDS)),
    st.integers(0, len(ROWS) - 1),
    st.integers(0, 3),
    st.sampled_from(ROLES),
    st.booleans(),
    st.sampled_from(["audit", "json", "test", "build"]),
)
@pytest.mark.thorough
def test_no_error_tells_a_cell(
    tmp_path_factory: pytest.TempPathFactory, kind: str, row: int, column: int, role: str, declared: bool, way: str
) -> None:
    folder = tmp_path_factory.mktemp("cells")
    bad = KINDS[kind](planted([line.split(",") for line in ROWS], row, column))
    first: dict[str, Any] = {"role": role} | ({"bounds": [0, 120]} if declared and role == ROLES[0] else {})
    policy = survey(folder, {"data.columns.age": first}, PEOPLE if way == "test" else bad)
    (folder / "bad.csv").write_bytes(bad.encode() if isinstance(bad, str) else bad)
    words: dict[str, list[object]] = {
        "audit": ["audit", policy],
        "json": ["audit", policy, "--json"],
        "test": ["audit", policy, "--test", folder / "bad.csv"],
        "build": ["build", policy, "--out", folder / "release.json"],
    }
    ended = leafgate(*words[way])
    assert PLANTED not in ended.out + ended.err
    assert ended.code in {0, 1, 2}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [["--class", "nobody"], ["--class", "nobody", "--no-header"], ["--header"]])
def test_no_refusal_of_a_first_policy_tells_a_cell(tmp_path: Path, kind: str, words: list[str]) -> None:
    bad = KINDS[kind](planted([line.split(",") for line in ROWS], 0, 1))
    (tmp_path / "people.csv").write_bytes(bad.encode() if isinstance(bad, str) else bad)
    ended = leafgate("init", tmp_path / "people.csv", *words)
    assert ended.code in {0, 2}
    assert PLANTED not in ended.err


def test_an_internal_error_tells_its_kind_and_no_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*words: object, **options: object) -> None:
        raise LookupError(PLANTED)

    monkeypatch.setattr("leafgate.engine.audit.build", broken)
    for words in ([], ["--json"]):
        ended = leafgate("audit", survey(tmp_path), *words)
        assert ended.code == 4
        assert "internal error: LookupError" in (ended.problems[0]["message"] if words else ended.err)
        assert PLANTED not in ended.out + ended.err


DISTINCT, COPIES = 617, 383


@pytest.mark.thorough
def test_no_command_prints_how_many_distinct_records_there_are(tmp_path: Path) -> None:
    rows = [f"{i % 89},{'abcdefg'[i // 89]},{'ny'[i % 89 > 44]}" for i in range(DISTINCT)]
    people = "\n".join(["age,ward,ill", *rows, *rows[:COPIES]]) + "\n"
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [0, 120]},
        "ward": {"role": "quasi_identifier", "values": list("abcdefg")},
        "ill": {"role": ["class", "sensitive"], "values": ["n", "y"]},
    }
    path = survey(tmp_path, {"data.columns": columns}, people)
    frame = pd.read_csv(tmp_path / "people.csv")
    model = DecisionTreeClassifier(max_depth=2).fit(frame[["age"]], frame["ill"])
    (tmp_path / "m.skops").write_bytes(skops_bytes(model))
    document = json.loads(path.read_text()) | {"build": {"use": "published", "path": "m.skops"}}
    (tmp_path / "scrubbing.yaml").write_text(json.dumps(document))
    scrub = ["scrub", tmp_path / "m.skops", tmp_path / "s.json", "--leaves", "labels", "--policy"]
    commands: list[list[object]] = [
        ["validate", path],
        ["init", tmp_path / "people.csv"],
        ["audit", path],
        ["audit", path, "--json"],
        ["audit", path, "--audience", "auditor", "--out", tmp_path / "out"],
        ["build", path, "--out", tmp_path / "release.json"],
        ["attack", path, "--release", tmp_path / "release.json", "--use", "linking", "--out", tmp_path / "belief.csv"],
        ["sweep", path, "--over", "build.k=3,4", "--out", tmp_path / "swept", "--workers", 1],
        ["convert", tmp_path / "m.skops", tmp_path / "m.json"],
        [*scrub, tmp_path / "scrubbing.yaml"],
        ["repair", tmp_path / "m.skops", "--policy", tmp_path / "scrubbing.yaml", "--out", tmp_path / "r.json"],
    ]
    for command in commands:
        ended = leafgate(*command)
        assert ended.code == 0, (command, ended.err)
        said = (ended.out + ended.err).replace(str(tmp_path), "").replace(",", "")
        numbers = re.findall(r"[0-9]+", re.sub(r"sha256:[0-9a-f]+", "", said))  # a digest may hold any number by chance
        assert str(DISTINCT) not in numbers, command
    assert json.loads((tmp_path / "out" / "report.json").read_text())["data"]["distinct"] == DISTINCT
