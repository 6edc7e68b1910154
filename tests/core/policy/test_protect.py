"""Single cells that are secret: what a policy may say of them, and how the table keeps them apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from components import new_attack
from leafgate import DataError, LeafgateError, PolicyError
from leafgate.app import Session, build_release, granted_knowledge, load_policy, open_session

ROWS = "id,zip,age,ill\na,1,30,flu\nb,1,30,flu\nc,2,50,cold\n4,2,60,flu\n"


def prepared(folder: Path, *protect: Any, **columns: Any) -> Session:
    """A policy over four people, read with its table."""
    (folder / "ill.csv").write_text(ROWS)
    fields = {
        "id": {"role": "key"},
        "zip": {"role": "private", "values": ["1", "2"]},
        "age": {"role": "private", "bounds": [0, 99]},
        "ill": {"role": "class", "values": ["flu", "cold"]},
    }
    policy = {
        "leafgate": 1,
        "name": "ill",
        "data": {"path": "ill.csv", "columns": fields | columns, "protect": list(protect)},
        "build": {"use": "table"},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "confidence", "at_most": 1}],
    }
    (folder / "ill.yaml").write_text(yaml.safe_dump(policy, sort_keys=False))
    return open_session(folder / "ill.yaml")


def marked(run: Session, column: str) -> list[str]:
    """The keys of the records whose cell is secret."""
    return run.table.frame["id"][run.table.protected[column]].tolist()


@pytest.mark.parametrize(
    ("protect", "keys"),
    [
        ({"column": "ill", "keys": ["a", 4]}, ["4", "a"]),
        ({"column": "ill", "keys": ["a ", "4."]}, ["4", "a"]),
        ({"column": "ill", "where": {"id": ["b", "c"]}}, ["b", "c"]),
        ({"column": "ill", "where": {"zip": "2"}}, ["4", "c"]),
        ({"column": "ill", "where": {"age": {"from": 40, "to": 55}}}, ["c"]),
    ],
)
def test_cells_are_named_by_key_or_by_condition(tmp_path: Path, protect: dict[str, Any], keys: list[str]) -> None:
    assert sorted(marked(prepared(tmp_path, protect), "ill")) == keys


def test_rules_about_one_column_add_up(tmp_path: Path) -> None:
    run = prepared(tmp_path, {"column": "ill", "keys": ["a"]}, {"column": "ill", "keys": ["c"]})
    assert sorted(marked(run, "ill")) == ["a", "c"]


def test_people_who_differ_only_in_what_is_secret_stay_apart_without_their_key(tmp_path: Path) -> None:
    """a and b are alike; only where a is protected are they two records."""
    assert len(prepared(tmp_path, {"column": "ill", "keys": ["c"]}).table.without_key) == 3
    table = prepared(tmp_path, {"column": "ill", "keys": ["a"]}).table.without_key
    assert len(table) == 4
    assert table.weight[table.protected["ill"]].tolist() == [1]
    assert not table.protected["ill"].flags.writeable


def test_no_attack_is_told_which_cells_are_secret(tmp_path: Path) -> None:
    run = prepared(tmp_path, {"column": "ill", "keys": ["a"]}, zip={"role": "quasi_identifier", "values": ["1", "2"]})
    artifact = build_release(run.policy, run.plugins, run.table)
    known = granted_knowledge(run.policy, new_attack("linking"), run.tables, artifact)
    assert not known.public.protected
    assert known.weight.tolist() == [2, 2]


def test_a_table_whose_cells_are_protected_needs_no_quasi_identifier(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="no column is a quasi_identifier"):
        prepared(tmp_path)
    assert len(prepared(tmp_path, {"column": "ill", "keys": ["a"]}).table.public[0]) == 1


@pytest.mark.parametrize(
    ("protect", "place", "what"),
    [
        ({"column": "il", "keys": ["a"]}, "data.protect[0].column", "there is no column 'il'.*did you mean 'ill'"),
        ({"column": "zip", "keys": ["a"]}, "data.protect[0].column", "adversary knows this column of everyone"),
        ({"column": "id", "keys": ["a"]}, "data.protect[0].column", "not in the table that builders see"),
        ({"column": "age", "keys": ["a"]}, "data.protect[0].column", "a secret of numbers.*`bins`"),
        ({"column": "ill"}, "data.protect[0]", "to say whose"),
        ({"column": "ill", "keys": []}, "data.protect[0]", "to say whose"),
        ({"column": "ill", "keys": ["a"], "where": {"zip": "1"}}, "data.protect[0]", "to say whose"),
        ({"column": "ill", "where": {"zipp": "1"}}, "data.protect[0].where.zipp", "did you mean 'zip'"),
        ({"column": "ill", "where": {"zip": "3"}}, "data.protect[0].where.zip", "'3' is no value of the column"),
        ({"column": "ill", "where": {"age": "30"}}, "data.protect[0].where.age", "the column is numeric"),
        ({"column": "ill", "where": {"zip": {"from": 1}}}, "data.protect[0].where.zip", "has values, not numbers"),
        ({"column": "ill", "where": {"id": {"from": 1}}}, "data.protect[0].where.id", "keys are texts"),
        ({"column": "ill", "keys": ["a"], "row": 3}, "data.protect[0].row", "unknown key"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused_with_its_place(
    tmp_path: Path, protect: dict[str, Any], place: str, what: str
) -> None:
    with pytest.raises(PolicyError, match=what) as caught:
        prepared(tmp_path, protect, zip={"role": "quasi_identifier", "values": ["1", "2"]})
    assert place in [problem.location for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("protect", "place", "what"),
    [
        ({"column": "ill", "keys": ["a", "x", "y"]}, "data.protect[0].keys", "no record has 2 of these keys"),
        ({"column": "ill", "where": {"id": ["a", "x"]}}, "data.protect[0].where.id", "no record has 1 of these keys"),
        ({"column": "ill", "where": {"zip": "1", "age": {"from": 50}}}, "data.protect[0].where", "nobody in the table"),
    ],
)
def test_cells_of_nobody_are_refused(tmp_path: Path, protect: dict[str, Any], place: str, what: str) -> None:
    with pytest.raises(DataError, match=what) as caught:
        prepared(tmp_path, protect)
    assert caught.value.problems[0].location == place


def test_keys_need_a_key(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="no column has the role `key`"):
        prepared(tmp_path, {"column": "ill", "keys": ["a"]}, id={"role": "ignored"})


def test_a_column_that_is_secret_as_a_whole_has_no_single_secret_cells(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="every cell of this column is secret already"):
        prepared(
            tmp_path, {"column": "ill", "keys": ["a"]}, ill={"role": ["class", "sensitive"], "values": ["flu", "cold"]}
        )


def test_rules_are_part_of_the_policys_digest(tmp_path: Path) -> None:
    one, other = (prepared(tmp_path, {"column": "ill", "keys": [key]}).policy.sha256 for key in ("a", "c"))
    assert one != other


def test_numbers_with_bins_may_be_protected(tmp_path: Path) -> None:
    run = prepared(tmp_path, {"column": "age", "keys": ["c"]}, age={"role": "private", "bins": [0, 40, 99]})
    assert marked(run, "age") == ["c"]
    assert np.bincount(run.table.codes("age")).tolist() == [2, 2]


def test_cells_of_people_who_are_left_out_are_protected_by_the_same_rules(tmp_path: Path) -> None:
    run = prepared(tmp_path, {"column": "ill", "where": {"zip": "1"}})
    (tmp_path / "ill.csv").write_text(ROWS + "d,1,,cold\ne,2,,cold\n")
    document = yaml.safe_load((tmp_path / "ill.yaml").read_text())
    document["data"]["on_missing"] = "drop"
    (tmp_path / "ill.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    incomplete = open_session(tmp_path / "ill.yaml").table.incomplete
    assert (marked(run, "ill"), incomplete is not None) == (["a", "b"], True)
    assert incomplete is not None
    assert incomplete.frame["id"][incomplete.protected["ill"]].tolist() == ["d"]


def test_a_mistake_in_a_rule_tells_no_cell(tmp_path: Path) -> None:
    with pytest.raises(LeafgateError) as caught:
        prepared(tmp_path, {"column": "ill", "keys": ["a", "z"]})
    assert "cold" not in str(caught.value)


def test_a_policy_with_rules_can_be_checked_without_its_data(tmp_path: Path) -> None:
    prepared(tmp_path, {"column": "ill", "keys": ["a"]})
    (tmp_path / "ill.csv").unlink()
    assert load_policy(tmp_path / "ill.yaml").policy.data.protect[0].keys == ("a",)
