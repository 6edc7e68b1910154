"""How a policy may have its files read where what it extends lists no columns: so that nobody is removed or renamed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate
from data_files import DATA
from leafgate import PolicyError
from leafgate.app import load_policy, open_session, parse_yaml
from survey import survey

ORG: dict[str, Any] = {
    "leafgate": 1,
    "attacks": [{"use": "linking"}],
    "metrics": [{"use": "k_anonymity", "at_least": 10}, {"use": "confidence", "at_most": 0.99, "allow": 0.9}],
}
"""An organisation's policy that lists no columns."""
NEUTRAL: dict[str, Any] = {
    "format": "leafgate/model/1", "from": "skops", "producer": "scrubbed", "says": "labels", "combine": "one",
    "base": [], "counted": "unknown", "discloses": [],
    "trees": [
        {
            "feature": [0, -1, -1], "threshold": [0.5, None, None], "low": [1, -1, -1], "high": [2, -1, -1],
            "says": [None, [1.0, 0.0], [0.0, 1.0]], "counts": None, "size": None, "output": None, "strict": False,
            "float32": False, "missing_low": False, "subsets": {},
        }
    ],
}  # fmt: skip
LEAVING = ORG | {"data": {"reading": "child"}}
HEADER = "village,age,disease,ill"
ROWS = [
    *(f"Mill,{40 + i},flu,yes" for i in range(3)),
    *(f"Ford,{30 + i % 9},{'flu' if i % 4 else 'none'},{'no' if i % 4 else 'yes'}" for i in range(48)),
    *(f"Hill,{50 + i % 9},none,no" for i in range(20)),
]
"""The three people of Mill have a leaf of their own in every tree that asks about the village."""
COLUMNS: dict[str, Any] = {
    "village": {"role": "quasi_identifier", "values": ["Ford", "Hill", "Mill"]},
    "age": {"role": "quasi_identifier", "bounds": [0, 99]},
    "disease": {"role": ["quasi_identifier"], "values": ["flu", "none"]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}


def child(folder: Path, data: Mapping[str, Any], columns: Mapping[str, Any], rows: list[str]) -> Path:
    """A policy that the organisation's is given to, and its table."""
    (folder / "people.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    policy = {
        "leafgate": 1,
        "name": "child",
        "data": {"path": "people.csv", **data, "columns": {**COLUMNS, **columns}},
        "build": {"use": "c45", "min_leaf": 1, "prune": False},
    }
    path = folder / "policy.yaml"
    path.write_text(json.dumps({key: value for key, value in policy.items() if value is not None}, indent=1))
    return path


def org(folder: Path, policy: Mapping[str, Any] = ORG) -> Path:
    path = folder / "org.yaml"
    path.write_text(json.dumps(policy, indent=1))
    return path


def village(*values: str, **more: Any) -> dict[str, Any]:
    return {"village": {"role": "quasi_identifier", **({"values": list(values)} if values else {}), **more}}


def replaced(rows: list[str], old: str, new: str) -> list[str]:
    return [row.replace(old, new) for row in rows]


UNKNOWN = [*ROWS, *("?,33,none,no" for _ in range(6)), *(",34,none,no" for _ in range(6))]
SPELLED = replaced(ROWS[:1], "Mill", "mill") + ROWS[1:]
COMMENTED = ["# Mill is the northern part, since 1990", *ROWS]
HONEST: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "nothing stated": ({}, {}, ROWS),
    "unknown cells kept": ({"missing": ["", "?"], "on_missing": "keep"}, {}, UNKNOWN),
    "nothing is missing": ({"missing": []}, village("Ford", "Hill", "Mill", "?", ""), UNKNOWN),
    "comments that are no rows": ({"csv": {"comment": "#"}}, {}, COMMENTED),
    "another delimiter": ({"csv": {"delimiter": ";"}}, {}, replaced(ROWS, ",", ";")),
    "a second spelling": ({}, village("Ford", "Hill", "Mill", aliases={"mill": "Mill"}), SPELLED),
    "a code for its meaning": (
        {},
        village("Ford", "Hill", "Mill", aliases={"M": "Mill"}),
        replaced(ROWS, "Mill", "M"),
    ),
    "a full stop after the class": (
        {},
        {"ill": COLUMNS["ill"] | {"aliases": {"no.": "no"}}},
        [ROWS[0], f"{ROWS[-1]}.", *ROWS[1:-1]],
    ),
    "a mark of secrets that are not recorded": (
        {},
        {"disease": {"role": "sensitive", "values": ["none", "flu", "gout"], "no_answer": ["?"]}},
        [*ROWS, "Mill,40,?,no"],
    ),
    "numbers spelled otherwise": (
        {},
        {"age": COLUMNS["age"] | {"aliases": {"40.0": "40"}}},
        [ROWS[0].replace("40", "40.0"), *ROWS[1:]],
    ),
}  # fmt: skip
SOME = {"use": "duckdb", "database": "people.duckdb", "query": "SELECT * FROM people WHERE village <> 'Mill'"}
REMOVING: dict[str, tuple[dict[str, Any], dict[str, Any], list[str], str]] = {
    "declared and missing, dropped": (
        {"missing": ["Mill"], "on_missing": "drop"}, {}, ROWS, "is a declared value of 'village'"
    ),
    "declared and missing, kept": (
        {"missing": ["Mill"], "on_missing": "keep"}, {}, ROWS, "is a declared value of 'village'"
    ),
    "a number within the bounds": (
        {"missing": ["41"], "on_missing": "keep"}, {}, ROWS, "is a declared value of 'age'"
    ),
    "not declared, and dropped": (
        {"missing": ["Mill"], "on_missing": "drop"}, village("Ford", "Hill"), ROWS, "data.missing: takes for missing"
    ),
    "not declared, and kept": (
        {"missing": ["Mill"], "on_missing": "keep"}, village(), ROWS, "data.missing: takes for missing"
    ),
    "a number where no bounds are": (
        {"missing": ["41"], "on_missing": "keep"}, {"age": {"role": "quasi_identifier"}}, ROWS,
        "data.missing: takes for missing",
    ),
    "unknown cells dropped": (
        {"missing": ["", "?"], "on_missing": "drop"}, {}, UNKNOWN,
        "data.on_missing: leaves out people with missing cells, which what it extends does not allow",
    ),
    "comments that are people": (
        {"csv": {"comment": "Mill"}}, {}, ROWS, "people.csv: `data.csv.comment` skips lines with as many cells"
    ),
    "the header as a comment": (
        {"csv": {"comment": "village"}}, {}, ROWS, "has no column"
    ),
    "a letter as quote": (
        {"csv": {"quote": "M"}}, {}, ROWS, "data.csv: has a quote other than \""
    ),
    "some rows of a database": (
        {"path": None, "source": SOME}, {}, ROWS, "data.source: may read some of the rows alone (query)"
    ),
    "another number": (
        {}, {"age": COLUMNS["age"] | {"aliases": {"41": "31"}}}, ROWS, "age.aliases: makes another number of a number"
    ),
    "missing by an alias": (
        {"on_missing": "keep"}, village(aliases={"Mill": ""}), ROWS, "village.aliases: makes missing cells of values"
    ),
    "no longer missing by an alias": (
        {}, village("Ford", "Hill", "Mill", aliases={"?": "Ford", "": "Ford"}), UNKNOWN,
        "village.aliases: makes values of missing cells",
    ),
    "two values of a secret as one": (
        {}, {"disease": {"role": "sensitive", "values": ["none", "gout"], "aliases": {"flu": "none"}}}, ROWS,
        "'disease': the `aliases` make 1 value(s) of several that occur",
    ),
    "a value that limits do not judge": (
        {}, {"disease": {"role": "sensitive", "values": ["none", "flu", "gout"], "no_answer": ["flu"]}}, ROWS,
        "disease.no_answer: leaves people with a value unjudged",
    ),
    "a value that means a mark": (
        {}, {"disease": {"role": "sensitive", "values": ["none", "gout"], "aliases": {"flu": "?"}, "no_answer": ["?"]}},
        ROWS, "disease.aliases: makes missing cells of values",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "columns", "rows"), HONEST.values(), ids=HONEST)
def test_a_child_whose_reading_removes_nobody_is_judged(
    tmp_path: Path, data: dict[str, Any], columns: dict[str, Any], rows: list[str]
) -> None:
    path = child(tmp_path, data, columns, rows)
    if "delimiter" in (data.get("csv") or {}):
        people = tmp_path / "people.csv"
        people.write_text(people.read_text().replace(",", ";"))
    ended = leafgate("audit", path, "--org", org(tmp_path), "--json")
    assert ended.code == 1, ended.err
    assert ended.document["data"]["people"] != {}
    assert "commented" not in ended.document["data"]


@pytest.mark.parametrize(("data", "columns", "rows", "message"), REMOVING.values(), ids=REMOVING)
def test_a_child_whose_reading_removes_or_renames_somebody_is_refused(
    tmp_path: Path, data: dict[str, Any], columns: dict[str, Any], rows: list[str], message: str
) -> None:
    path = child(tmp_path, data, columns, rows)
    ended = leafgate("audit", path, "--org", org(tmp_path))
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_two_values_that_a_published_file_may_tell_apart_are_not_made_one(tmp_path: Path) -> None:
    """The tree asks about Hill alone; a policy that has people of Mill read as Hill would send them its way."""
    tree = {**NEUTRAL, "features": ["village_Hill"], "origins": None, "classes": ["yes", "no"]}
    (tmp_path / "model.json").write_text(json.dumps(tree))
    codes: tuple[tuple[dict[str, Any], int], ...] = (
        ({}, 0),
        ({"values": ["Ford", "Hill"], "aliases": {"Mill": "Hill"}}, 2),
    )
    for more, code in codes:
        path = child(tmp_path, {}, {"village": COLUMNS["village"] | more}, ROWS)
        document = json.loads(path.read_text()) | {"build": {"use": "published", "path": "model.json"}}
        path.write_text(json.dumps(document))
        ended = leafgate("audit", path, "--org", org(tmp_path))
        assert ended.code == code, ended.err
        assert ("'village': the `aliases` make 1 value(s) of several that occur" in ended.err) is (code == 2)


def test_a_child_may_name_a_table_of_a_database_and_no_rows_of_it(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    source = {"use": "duckdb", "database": "people.duckdb", "table": "people", "memory": 1, "threads": 1}
    whole = child(tmp_path, {"path": None, "source": source}, {}, ROWS)
    with duckdb.connect(str(tmp_path / "people.duckdb")) as database:
        database.execute(f"CREATE TABLE people AS FROM read_csv('{tmp_path / 'people.csv'}', all_varchar=true)")
    assert leafgate("audit", whole, "--org", org(tmp_path)).code == 1
    some = child(tmp_path, {"path": None, "source": SOME}, {}, ROWS)
    assert leafgate("audit", some, "--org", org(tmp_path)).code == 2
    listed = org(tmp_path, ORG | {"data": {"source": SOME}})
    findings = leafgate("audit", child(tmp_path, {"path": None}, {}, ROWS), "--org", listed, "--json").document[
        "findings"
    ]
    assert [each["passed"] for each in findings if each["metric"] == "k_anonymity"] == [True]


def test_rows_with_missing_cells_are_left_out_and_counted_where_the_parent_leaves_the_reading_to_its_child(
    tmp_path: Path,
) -> None:
    path = child(tmp_path, {"missing": ["", "?"], "on_missing": "drop"}, {}, UNKNOWN)
    ended = leafgate("audit", path, "--org", org(tmp_path, LEAVING), "--json")
    assert (ended.code, ended.document["data"]["dropped"]) == (1, {"from": 10, "to": 19})
    for data in ({"missing": ["Mill"], "on_missing": "drop"}, {"csv": {"comment": "Mill"}}, {"csv": {"quote": "M"}}):
        assert leafgate("audit", child(tmp_path, data, {}, ROWS), "--org", org(tmp_path, LEAVING)).code == 2


def test_what_the_parent_states_is_no_statement_of_the_child(tmp_path: Path) -> None:
    stated = ORG | {"data": {"csv": {"comment": "Mill"}}}
    path = child(tmp_path, {}, {}, ROWS)
    table = open_session(path, org=org(tmp_path, stated)).table
    assert (table.total_weight, table.commented) == (len(ROWS) - 3, 3)
    org(tmp_path)
    team = tmp_path / "team.yaml"  # a child of the organisation
    team.write_text(json.dumps({"leafgate": 1, "extends": "org.yaml", "data": stated["data"]}))
    ended = leafgate("audit", path, "--org", team)
    assert (ended.code, "skips lines" in ended.err) == (2, True)


def test_only_the_policy_that_is_extended_leaves_the_reading_to_its_child(tmp_path: Path) -> None:
    path = child(tmp_path, {"reading": "child"}, {}, ROWS)
    with pytest.raises(PolicyError, match=r"data\.reading: loosens what it extends: parent became child"):
        load_policy(path, org=org(tmp_path))
    assert load_policy(path, org=org(tmp_path, LEAVING)).policy.data.reading == "child"
    digest = load_policy(survey(tmp_path)).policy.sha256
    assert load_policy(survey(tmp_path, {"data.reading": "child"})).policy.sha256 == digest


POLICIES = sorted((Path(__file__).resolve().parents[3] / "policies").glob("*.yaml"))
ANY_ROLE = {"unlisted": ["quasi_identifier", "sensitive", "private", "ignored", "identifier", "key", "weight"]}


@pytest.mark.thorough
@pytest.mark.parametrize("path", POLICIES, ids=[path.stem for path in POLICIES])
def test_an_example_policy_runs_under_an_organisations_policy_that_lists_no_columns(path: Path, tmp_path: Path) -> None:
    """Those that leave out people with missing cells need `reading: child`, and nothing else does."""
    data = parse_yaml(path.read_bytes(), path.name)["data"]
    root = None if (path.parent / data.get("path", "")).exists() else DATA
    if root is not None and not root.exists():
        pytest.skip("the benchmark data is not here")
    lenient = {"leafgate": 1, "report": {"smallest_cell": 1}}
    strict, leaving = (lenient | {"data": ANY_ROLE | more} for more in ({}, {"reading": "child"}))
    if data.get("on_missing") == "drop":
        with pytest.raises(PolicyError) as refused:
            load_policy(path, root, org(tmp_path, strict))
        assert [problem.location for problem in refused.value.problems] == ["data.on_missing"]
    else:
        assert load_policy(path, root, org(tmp_path, strict))
    loaded = load_policy(path, root, org(tmp_path, leaving))
    if loaded.policy.data.path is not None and loaded.policy.data.path.exists():
        assert open_session(path, root=root, org=org(tmp_path, leaving)).table.total_weight
