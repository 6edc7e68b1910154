"""People whom `on_missing: drop` leaves out are people: a file that may be about them does not pass without them."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import Ended, leafgate
from installed_readers import neutral_file
from leafgate import Release, Table
from leafgate.algorithms.routing import NOWHERE, route
from leafgate.api import CategoricalSplit, Column, LargeTable, Leaf, Node, NumericSplit, Publish, Schema, typed_column
from leafgate.app import open_session
from leafgate.engine import dropped_people
from leafgate.engine.dropped_people import all_ways
from leafgate.io.tables import people, reader, records
from leafgate.readers import LEAF, ModelIR, TreeIR
from oracles import nodes
from random_tables import categorical, numeric
from random_trees import THRESHOLDS, trees

MOST = float(np.finfo(np.float64).max)
Row = tuple[int | str, int, str]
COLUMNS: dict[str, dict[str, Any]] = {
    "income": {"role": "quasi_identifier", "bounds": [0, 1000]},
    "age": {"role": "quasi_identifier", "bounds": [0, 120]},
    "state": {"role": ["class", "sensitive"], "values": ["ill", "well"]},
}


def model(tests: Sequence[tuple[int, float]], labels: Sequence[str], **changes: Any) -> ModelIR:
    """A chain of tests, whose low ways are leaves; a missing cell goes high. Leaves have labels alone."""
    inner, size = len(tests), 2 * len(tests) + 1
    feature, threshold = np.full(size, LEAF), np.full(size, np.nan)
    low, high = np.full(size, -1), np.full(size, -1)
    for i, (column, at) in enumerate(tests):
        feature[i], threshold[i] = column, at
        low[i], high[i] = inner + i, i + 1 if i + 1 < inner else size - 1
    values = np.zeros((size, 2))
    values[inner:] = [[label == "ill", label == "well"] for label in labels]
    tree = TreeIR(feature, threshold, low, high, values, **changes.pop("tree", {}))
    fields = {"discloses": (), "combine": "one", **changes}
    return ModelIR("skops", ("income", "age"), ("ill", "well"), (tree,), "labels", **fields)


def audited(folder: Path, file: ModelIR | bytes, people: Sequence[Row], at_most: float = 0.8, **changes: Any) -> Ended:
    """The audit of a model's file by a limit on what is known of anybody's state."""
    cells = "\n".join(f"{income},{age},{state}" for income, age, state in people)
    (folder / "people.csv").write_text(f"income,age,state\n{cells}\n")
    (folder / "model.json").write_bytes(file if isinstance(file, bytes) else neutral_file(file))
    data = {"path": "people.csv", "missing": [""], "on_missing": "drop", "columns": COLUMNS, **changes.pop("data", {})}
    document = {
        "leafgate": 1,
        "name": "dropped",
        "data": data,
        "build": {"use": "published", "path": "model.json", **changes.pop("build", {})},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "confidence", "at_most": at_most}],
        **changes,
    }
    (folder / "policy.yaml").write_text(json.dumps(document))
    return leafgate("audit", folder / "policy.yaml", "--json")


def findings(ended: Ended) -> dict[str, Any]:
    return {finding["id"]: finding for finding in ended.document["findings"]}


def mixed(income: int, people: int, ill: int) -> list[Row]:
    return [(income, 20 + i % 50, "ill" if i < ill else "well") for i in range(people)]


def dropped(people: int, state: str = "ill") -> list[Row]:
    return [("", 20 + i % 50, state) for i in range(people)]


COMPLETE = [*mixed(10, 300, 140), *mixed(90, 300, 160)]
MISSING_IS_ILL = model([(0, MOST), (0, 50.0)][::-1], ["well", "ill", "ill"])
"""Below 50, above, and missing: a leaf for each."""
HIGH_OR_MISSING = model([(0, 50.0)], ["well", "ill"])
DOUBTED: list[Row] = [*mixed(10, 300, 140), *mixed(90, 10, 7), *dropped(200)]
"""With those who were dropped the second leaf has 207 of 210 people ill."""
LIMIT = "confidence@linking#state"


def test_a_leaf_that_only_dropped_people_reach_is_inconclusive(tmp_path: Path) -> None:
    people = [*COMPLETE, *dropped(97)]
    ended = audited(tmp_path, MISSING_IS_ILL, people)
    assert (ended.code, findings(ended)["counted"]["passed"]) == (3, None)
    assert "on_missing: keep" in findings(ended)["counted"]["evidence"]["problem"]
    assert findings(ended)["counted"]["evidence"]["dropped"] == {"from": 90, "to": 99}
    assert audited(tmp_path, MISSING_IS_ILL, people, data={"on_missing": "keep"}).code == 1
    assert audited(tmp_path, MISSING_IS_ILL, COMPLETE).code == 0


def test_a_limit_that_dropped_people_of_a_leaf_break_is_inconclusive(tmp_path: Path) -> None:
    ended = audited(tmp_path, HIGH_OR_MISSING, DOUBTED)
    finding = findings(ended)[LIMIT]
    assert (ended.code, finding["passed"]) == (3, None)
    assert "the file may have been learned from them too" in finding["evidence"]["problem"]
    assert {remedy.get("place") for remedy in finding["remedies"]} == {
        "data.on_missing",
        "build.trained_by.complete_rows",
    }
    assert "counted" not in findings(ended)
    assert audited(tmp_path, HIGH_OR_MISSING, DOUBTED, data={"on_missing": "keep"}).code == 1
    assert audited(tmp_path, HIGH_OR_MISSING, DOUBTED[:310]).code == 0


def test_a_model_fitted_on_complete_rows_passes_though_people_were_dropped(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    people: list[Row] = [
        (int(income) if rng.random() > 0.2 else "", int(age), "ill" if rng.random() < 0.4 + age / 300 else "well")
        for income, age in zip(rng.integers(0, 100, 900), rng.integers(18, 90, 900), strict=True)
    ]
    ended = audited(tmp_path, model([(1, 60.0), (0, 40.0)], ["well", "ill", "ill"]), people)
    assert (ended.code, findings(ended)[LIMIT]["passed"]) == (0, True)


@given(st.integers(0, 2**32))
@pytest.mark.thorough
def test_a_pass_without_dropped_people_is_one_with_them(seed: int) -> None:
    """The oracle is `keep`, by which the same people are read, routed and judged in another way."""
    rng = np.random.default_rng(seed)
    thresholds = sorted(rng.choice([0.5, 1.5, 2.5, 3.5, 4.5], int(rng.integers(1, 4)), replace=False).tolist())
    tests = [(int(rng.integers(2)), at) for at in thresholds]
    labels = [str(label) for label in rng.choice(["ill", "well"], len(tests) + 1)]
    file = model(tests, labels, tree={"missing_low": rng.random(2 * len(tests) + 1) < 0.5})
    people: list[Row] = []
    for income, age in rng.integers(0, 7, (int(rng.integers(60, 200)), 2)).tolist():
        missing = rng.random() < 0.3
        people.append(("" if missing else income, age, "ill" if rng.random() < (0.8 if missing else 0.5) else "well"))
    complete = [row for row in people if row[0] != ""]
    at_most = float(rng.uniform(0.6, 0.8))
    with tempfile.TemporaryDirectory() as folder:
        kept, without, ended = (
            audited(Path(folder), file, rows, at_most, data={"on_missing": word})
            for rows, word in ((people, "keep"), (complete, "drop"), (people, "drop"))
        )
    alone = "counted" in findings(ended)
    by_chance = not findings(ended)["reading"]["passed"]  # the model is drawn without the people
    assert ended.code == (1 if without.code == 1 else 3 if kept.code == 1 or alone or by_chance else 0)


SIZED = model([(0, 50.0)], ["well", "ill"], tree={"size": np.array([310.0, 300.0, 10.0])}, counted="exact")


def test_a_file_that_counts_the_tables_people_was_not_learned_from_others(tmp_path: Path) -> None:
    assert audited(tmp_path, SIZED, DOUBTED).code == 0
    everybody = replace(SIZED, trees=(replace(SIZED.trees[0], size=np.array([510.0, 300.0, 210.0])),))
    ended = audited(tmp_path, everybody, DOUBTED)
    assert (ended.code, findings(ended)["counted"]["evidence"]["dropped"]) == (3, {"from": 200, "to": 209})


STATED = {"trained_by": {"complete_rows": True}}


def test_an_owner_may_state_that_nobody_with_a_missing_cell_was_in_the_training(tmp_path: Path) -> None:
    assert audited(tmp_path, HIGH_OR_MISSING, DOUBTED, build=STATED).code == 0
    assert audited(tmp_path, HIGH_OR_MISSING, DOUBTED, build={"trained_by": {"complete_rows": False}}).code == 3


def test_a_statement_about_the_training_that_the_file_contradicts_is_no_pass(tmp_path: Path) -> None:
    everybody = replace(SIZED, trees=(replace(SIZED.trees[0], size=np.array([510.0, 300.0, 210.0])),))
    assert audited(tmp_path, everybody, DOUBTED, build=STATED).code == 3
    ended = audited(tmp_path, MISSING_IS_ILL, [*COMPLETE, *dropped(97)], build=STATED)
    assert (ended.code, findings(ended)["counted"]["passed"]) == (3, None)


def test_a_policy_that_extends_another_cannot_state_who_was_in_the_training(tmp_path: Path) -> None:
    assert audited(tmp_path, HIGH_OR_MISSING, DOUBTED).code == 3
    build = {"use": "published", "path": "model.json", **STATED}
    child = {"leafgate": 1, "name": "child", "extends": "policy.yaml", "build": build}
    (tmp_path / "child.yaml").write_text(json.dumps(child))
    ended = leafgate("audit", tmp_path / "child.yaml")
    assert (ended.code, "trained_by" in ended.err) == (2, True)


OPEN = replace(HIGH_OR_MISSING, unspecified_missing="the ONNX file does not say what becomes of its missing cells")
"""Below 50 and above, of a file that does not state where missing cells go."""


def test_where_a_file_leaves_open_where_missing_cells_go_they_go_all_ways(tmp_path: Path) -> None:
    file = replace(OPEN, unspecified_missing_features=frozenset({"income"}))
    ended = audited(tmp_path, file, DOUBTED)
    assert (ended.code, findings(ended)[LIMIT]["passed"]) == (3, None)
    places = [remedy.get("place") for remedy in findings(ended)[LIMIT]["remedies"]]
    assert places == [None, "build.trained_by.complete_rows"]  # `keep` is refused
    low_too = [*mixed(10, 10, 3), *mixed(90, 300, 140), *dropped(200)]
    assert audited(tmp_path, HIGH_OR_MISSING, low_too).code == 0  # missing cells go high
    assert audited(tmp_path, file, low_too).code == 3
    assert audited(tmp_path, file, [*COMPLETE, *dropped(40), *dropped(40, "well")]).code == 0
    assert audited(tmp_path, file, DOUBTED, build=STATED).code == 0


def test_too_many_ways_are_inconclusive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = [*COMPLETE, *dropped(40), *dropped(40, "well")]
    monkeypatch.setattr(dropped_people, "MOST_COPIES", 100)
    ended = audited(tmp_path, OPEN, people)
    assert (ended.code, "too many ways" in findings(ended)["counted"]["evidence"]["problem"]) == (3, True)


SCHEMA = Schema(
    (
        numeric("n", "quasi_identifier", bounds=(0.0, 10.0), missing=True),
        numeric("open", "quasi_identifier", bounds=(0.0, 10.0)),
        categorical("c", "quasi_identifier", values=("u", "v", "w"), missing=True),
        categorical("d", "quasi_identifier", values=("x", "y", "z")),
        categorical("b", "class", "sensitive", values=("no", "yes")),
    )
)
UNCHECKED = SCHEMA.with_missing_cells
"""The same columns, which take missing cells wherever they are."""
GRID = tuple(sorted({edge + by for edge in THRESHOLDS for by in (-0.01, 0.0, 0.01)}))


def cells_tried(column: Column, cell: Any, tests: list[NumericSplit | CategoricalSplit]) -> Sequence[Any]:
    """The cell; in place of a missing one whose way is left open, every number of the grid or every value."""
    stated = [column.missing and states_way(test) for test in tests if test.column == column.name]
    if not pd.isna(cell) or all(stated):
        return [cell]
    return [*(GRID if column.values is None else column.values), *([None] if any(stated) else [])]


def states_way(test: NumericSplit | CategoricalSplit) -> bool:
    if isinstance(test, NumericSplit):
        return test.missing is not None
    return test.default is not None or any(None in branch.values for branch in test.branches)


def leaves_reached(grown: Sequence[Node], people: Table) -> list[tuple[int, ...]]:
    return list(zip(*(route(tree, people).leaf.tolist() for tree in grown), strict=True))


@given(st.lists(trees(SCHEMA, depth=3, whole=False), min_size=1, max_size=2), st.integers(0, 2**32))
def test_all_ways_are_those_that_some_cells_take(grown: list[Node], seed: int) -> None:
    """The oracle sends every combination of cells of a fine grid down the trees."""
    rng = np.random.default_rng(seed)
    domains: list[list[Any]] = [[None, 1.0, 4.0], [None, 2.25], [None, "u", "w"], [None, "x"], ["no", "yes"]]
    person = [domain[rng.integers(len(domain))] for domain in domains]
    found = all_ways(
        people_with([person]), Release({"use": "c45"}, SCHEMA, tuple(grown), Publish(leaves="labels", measure=False))
    )
    tests = [node for tree in grown for node in nodes(tree) if not isinstance(node, Leaf)]
    tried = [cells_tried(column, cell, tests) for column, cell in zip(SCHEMA.columns, person, strict=True)]
    expected = set(leaves_reached(grown, people_with(list(itertools.product(*tried)))))
    if any(len(cells) > 1 for cells in tried):
        expected = {numbers for numbers in expected if max(numbers) > NOWHERE}
    assert sorted(leaves_reached(grown, found)) == sorted(expected)
    assert set(found.weight.tolist()) <= {1}


def people_with(rows: Sequence[Sequence[Any]]) -> Table:
    """A row for each, in the same order."""
    cells = {c.name: typed_column(c, [row[i] for row in rows]) for i, c in enumerate(UNCHECKED.columns)}
    return Table(SCHEMA, pd.DataFrame(cells), np.ones(len(rows), dtype=np.int64))


def test_people_whose_class_is_no_value_are_not_passed_over(tmp_path: Path) -> None:
    strange: list[Row] = [*COMPLETE, *dropped(40), *dropped(40, "well"), ("", 30, "unknown")]
    ended = audited(tmp_path, HIGH_OR_MISSING, strange)
    assert ended.code == 3
    assert "no value that the policy declares" in findings(ended)["counted"]["evidence"]["problem"]
    assert audited(tmp_path, HIGH_OR_MISSING, strange, build=STATED).code == 0
    assert audited(tmp_path, HIGH_OR_MISSING, strange[:-1]).code == 0
    only = [*COMPLETE, ("", 30, "unknown")]
    assert audited(tmp_path, HIGH_OR_MISSING, only).code == 3


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.thorough
def test_dropped_people_of_a_table_in_blocks_are_people(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(records, "BLOCK_RECORDS", 100)
    data, limits = {"source": {"use": engine}}, [{"use": "exposure", "at_most": 0, "insiders": 9}]
    ended = audited(tmp_path, MISSING_IS_ILL, [*COMPLETE, *dropped(97)], data=data)
    assert (ended.code, "counted" in findings(ended)) == (3, True)
    ended = audited(tmp_path, HIGH_OR_MISSING, DOUBTED, data=data)
    assert (ended.code, findings(ended)[LIMIT]["passed"]) == (3, None)
    assert isinstance(open_session(tmp_path / "policy.yaml", any_size_for="audit").tables.people, LargeTable)
    fair = [*COMPLETE, *dropped(40), *dropped(40, "well")]
    assert audited(tmp_path, HIGH_OR_MISSING, fair, data=data).code == 0
    assert audited(tmp_path, HIGH_OR_MISSING, fair, data=data, metrics=limits).code == 0
    monkeypatch.setattr(people, "MOST_INCOMPLETE", 79)
    ended = audited(tmp_path, HIGH_OR_MISSING, fair, data=data)
    assert (ended.code, "fit into memory" in findings(ended)["counted"]["evidence"]["problem"]) == (3, True)


def test_dropped_people_are_in_the_population_and_among_the_weights_too(tmp_path: Path) -> None:
    people = [*COMPLETE, *dropped(40), *dropped(40, "well")]
    (tmp_path / "everybody.csv").write_text("income,age\n" + "".join(f"{row[0]},{row[1]}\n" for row in people) * 2)
    limits = [{"use": "confidence", "at_most": 0.8}, {"use": "k_map", "at_least": 20}]
    ended = audited(tmp_path, HIGH_OR_MISSING, people, data={"population": "everybody.csv"}, metrics=limits)
    assert ended.code == 0
    columns = COLUMNS | {"age": {"role": "weight", "counts": "people", "reason": "households"}}
    file = replace(HIGH_OR_MISSING, features=("income",))
    ended = audited(tmp_path, file, DOUBTED, data={"columns": columns})
    assert (ended.code, findings(ended)[LIMIT]["passed"]) == (3, None)


def test_release_files_of_leafgates_own_are_judged_with_dropped_people(tmp_path: Path) -> None:
    low, high = ({"kind": "leaf", "label": label} for label in ("well", "ill"))
    tree = {"kind": "cut", "column": "income", "at": 50, "low": low, "high": high}
    schema = {name: {**column, "role": [*np.atleast_1d(column["role"])]} for name, column in COLUMNS.items()}

    def release(tree: dict[str, Any]) -> bytes:
        document: dict[str, Any] = {"format": "leafgate/release/1", "builder": {"use": "c45"}, "counted": "exact"}
        document |= {"schema": schema, "target": "state", "classes": ["ill", "well"], "trees": [tree]}
        return json.dumps(document | {"publish": {"leaves": "labels", "measure": None}}).encode()

    assert audited(tmp_path, release(tree | {"missing": "low"}), DOUBTED).code == 0
    assert audited(tmp_path, release(tree | {"missing": "high"}), DOUBTED).code == 3
    assert audited(tmp_path, release(tree), DOUBTED).code == 3
    assert audited(tmp_path, release(tree), DOUBTED, build=STATED).code == 0


def test_no_plugin_gets_the_people_who_were_dropped(tmp_path: Path) -> None:
    audited(tmp_path, HIGH_OR_MISSING, DOUBTED)
    session = open_session(tmp_path / "policy.yaml")
    assert session.table.incomplete is not None
    assert (session.table.incomplete.total_weight, session.table.dropped) == (200, 200)
    assert session.table.defensive_copy().incomplete is None
