"""Whatever a policy and a table say, a command ends in a code that was meant: never 4."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from survey import survey

CELLS = {"age": ["1", "2.5", "-3", ""], "sex": ["f", "m", "x", ""], "smoker": ["no", "yes"]}
CERTAIN = [("1", "f", "no", "no"), ("2.5", "m", "yes", "yes")]
"""Rows that are always there, so that every column has cells and there are two classes."""
ROLES: dict[str, list[Any]] = {
    "age": ["quasi_identifier"],
    "sex": ["quasi_identifier", "private", "ignored", "identifier", "key"],
    "smoker": ["quasi_identifier", "private", "sensitive", ["private"]],
}
BUILDS: list[dict[str, Any]] = [
    {"use": "kadet", "k": 1, "prune": False},
    {"use": "kadet", "k": 2, "measure": "gini", "publish_table": True},
    {"use": "kadet", "k": 3, "measure": "gain_ratio"},
    {"use": "id3"},
    {"use": "c45", "min_leaf": 1},
    {"use": "c45", "prune": False},
]
METRICS = [
    {"use": "k_anonymity", "at_least": 2},
    {"use": "confidence", "at_most": 0.9, "allow": 0.2},
    {"use": "exposure", "at_most": 0.1, "average": True},
    {"use": "accuracy", "at_least": 0.5},
]
DOMAINS: dict[str, list[dict[str, Any]]] = {
    "age": [{}, {"bounds": [-5, 10]}, {"values": ["1", "2.5", "-3", "007"], "ordered": True}],
    "sex": [{}, {"values": ["x", "m", "f"]}],
    "smoker": [{}, {"values": ["no", "yes"]}],
    "ill": [{}, {"values": ["no", "yes", "maybe"]}],
}
ROWS = st.lists(
    st.tuples(*(st.sampled_from(cells) for cells in CELLS.values()), st.sampled_from(["no", "yes"])),
    max_size=12,
)


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Any]:
    """Something else in many places of the survey's policy."""
    columns: dict[str, dict[str, Any]] = {
        name: draw(st.sampled_from(DOMAINS[name])) | {"role": draw(st.sampled_from(ROLES[name]))} for name in CELLS
    }
    for column in columns.values():
        if column["role"] in ("ignored", "identifier", "key"):
            column.pop("values", None)
    target = draw(st.sampled_from(["class", ["class", "sensitive"], ["class", "quasi_identifier"]]))
    return {
        "data.columns": columns | {"ill": draw(st.sampled_from(DOMAINS["ill"])) | {"role": target}},
        "data.on_missing": draw(st.sampled_from(["drop", "keep", "keep", None])),
        "build": draw(st.sampled_from(BUILDS)),
        "publish": {
            "leaves": draw(st.sampled_from(["labels", "error_rates", "shares", "counts"])),
            "measure": draw(st.booleans()),
        },
        "knows": {"distribution": draw(st.booleans())},
        "metrics": METRICS,
        "data.test": draw(st.sampled_from(["people.csv", None])),
    }


@given(changes(), ROWS, st.sampled_from(["public", "auditor"]))
@pytest.mark.thorough
def test_an_audit_ends_in_a_code_that_was_meant(
    tmp_path_factory: pytest.TempPathFactory, wanted: dict[str, Any], rows: list[tuple[str, ...]], audience: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    people = "\n".join([",".join(row) for row in [("age", "sex", "smoker", "ill"), *CERTAIN, *rows]]) + "\n"
    policy = survey(folder, wanted, people)
    ended = leafgate("audit", policy, "--json", "--out", folder / "out", "--audience", audience)
    assert ended.code in {0, 1, 2, 3}, ended.problems
    assert ended.err == ""
    if ended.code != 2 and (folder / "out" / "release.json").exists():
        again = survey(folder, wanted | {"build": {"use": "published", "path": "out/release.json"}}, people)
        assert leafgate("audit", again, "--json").document["verdict"] == ended.document["verdict"]


EDITS = st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 3), st.binary(max_size=4)), min_size=1, max_size=5)


def edited(content: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """The content with some bytes here and there replaced by others."""
    for start, length, new in edits:
        at = start % (len(content) + 1)
        content = content[:at] + new + content[at + length :]
    return content


@given(st.sampled_from(["policy.yaml", "people.csv", "sex.csv", "out/release.json"]), EDITS)
@pytest.mark.thorough
def test_a_damaged_file_ends_in_a_code_that_was_meant(
    tmp_path_factory: pytest.TempPathFactory, name: str, edits: list[tuple[int, int, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "sex.csv").write_text("f;person;*\nm;person;*\n")
    hierarchy = {"data.columns.sex.hierarchy": "sex.csv"}
    policy = survey(folder, hierarchy)
    assert leafgate("build", policy, "--out", folder / "out" / "release.json").code == 0
    if name == "out/release.json":
        policy = survey(folder, hierarchy | {"build": {"use": "published", "path": name}})
    (folder / name).write_bytes(edited((folder / name).read_bytes(), edits))
    ended = leafgate("audit", policy, "--json")
    assert ended.code in {0, 1, 2, 3}, ended.problems
    assert ended.document["format"] in {"leafgate/report/1", "leafgate/error/1"}
