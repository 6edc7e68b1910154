"""The attack that rebuilds a table from all trees, and limits on what it gets right and proves."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components import inferred, new_metric
from leafgate import InconclusiveError, Release, Table
from leafgate.algorithms.table_matching import Cells, baseline, commonest_right, most_right, true_cells
from leafgate.api import (
    AuditorOnly,
    Branch,
    CategoricalSplit,
    Leaf,
    Node,
    NumericSplit,
    Schema,
    ScoringContext,
    TableBelief,
    leaves,
)
from leafgate.testing import grant_knowledge, validate_belief
from random_tables import categorical, numeric, table_of
from random_trees import counted
from rebuilt_tables import Case, leaf_of, random_case

TOWN = categorical("town", "quasi_identifier", values=("Hill", "Mill", "Port"))
AGE = numeric("age", "quasi_identifier", bounds=(0.0, 100.0))
RISK = categorical("risk", "class", "sensitive", values=("low", "high"))
PEOPLE = table_of(
    (TOWN, AGE, RISK),
    [(town, age, risk) for town, risk in (("Hill", "low"), ("Mill", "high")) for age in (12.0, 32.0, 52.0, 72.0)],
)


def ages(*at: float) -> Node:
    """A tree that divides ages at these numbers, which rise."""
    node: Node = Leaf()
    for each in reversed(at):
        node = NumericSplit("age", each, Leaf(), node)
    return node


def towns(below: Node) -> Node:
    return CategoricalSplit("town", tuple(Branch((town,), below) for town in ("Hill", "Mill", "Port")))


def rebuilt(table: Table, *trees: Node, people: Table | None = None, **options: Any) -> TableBelief:
    """What the attack believes, validated as in an audit."""
    release = Release({}, table.schema, trees, combine="one" if len(trees) == 1 else "vote")
    known = replace(grant_knowledge(table), people=people)
    (belief,) = inferred("rebuild", release, known, **options)
    valid = validate_belief(belief, known, release)
    assert isinstance(valid, TableBelief)
    return valid


def scored(table: Table, belief: TableBelief, **options: Any) -> Any:
    metric = new_metric("reconstructed_cells", **{"at_most": 0.1, **options})
    known = grant_knowledge(table)
    return metric.score(ScoringContext(table, None, Release({}, table.schema), known, validate_belief(belief, known)))


@pytest.mark.parametrize("seed", range(40))
def test_the_rebuilt_records_have_the_counts_of_every_leaf(seed: int) -> None:
    """Sent down every tree, they give its counts again."""
    case = random_case(seed, missing=seed % 3 == 0)
    known = replace(grant_knowledge(true_table(case)), people=None)
    (belief,) = inferred("rebuild", case.release, known)
    assert belief.evidence["agrees"] is True
    records = [
        (None if pd.isna(row.get("x")) else row.get("x"), row.get("z"), row["y"])
        for row in belief.records.astype(object).to_dict("records")
    ]
    for tree in case.release.trees:
        asked = {"x", "z"} & set(belief.records.columns)
        filled: list[Any] = [(x if "x" in asked else 0.5, z if "z" in asked else "p", y) for x, z, y in records]
        found = Counter((leaf_of(tree, record), record[2]) for record in filled)
        stated = {(i, y): n for i, leaf in enumerate(leaves(tree)) for y, n in (leaf.counts or {}).items() if n}
        assert dict(found) == stated


def true_table(case: Case) -> Table:
    """The people of a case."""
    return table_of(case.schema.columns, [case.records[i] for i in case.people])


def test_a_leaf_for_each_person_proves_the_table_and_rebuilds_it() -> None:
    """Each age is alone in an interval of a tenth of all ages: all 16 cells are proved, and all records are right."""
    fine = counted(towns(ages(10, 14, 30, 34, 50, 54, 70, 74)), PEOPLE)
    belief = rebuilt(PEOPLE, fine)
    assert belief.proved_cells == 16
    assert scored(PEOPLE, belief, counted="proved").value == 1
    records = scored(PEOPLE, belief, counted="records")
    without = baseline(true_cells_of(PEOPLE), 8, 0, counted="records")
    assert records.value == pytest.approx(1 - without.value)
    assert records.largest == pytest.approx(1 - without.value)
    assert without.value < 0.9


def true_cells_of(table: Table) -> tuple[Cells, ...]:
    return true_cells(table, sorted(column.name for column in table.schema.columns))


def test_two_trees_prove_what_neither_proves_alone() -> None:
    """At most 12 and above 10: one person, whom only both trees together isolate."""
    one, two = (counted(ages(at), PEOPLE) for at in (14, 10))
    assert rebuilt(PEOPLE, one).proved_cells == 0
    assert rebuilt(PEOPLE, two).proved_cells == 0
    assert rebuilt(PEOPLE, one, two).proved_cells == 2  # one of each class


def test_trees_that_test_nothing_prove_nothing() -> None:
    belief = rebuilt(PEOPLE, counted(Leaf(), PEOPLE))
    assert belief.proved_cells == 0
    assert list(belief.records.columns) == ["risk"]
    assert scored(PEOPLE, belief, counted="proved").value == 0


def test_known_people_are_taken_out_and_leave_less_open() -> None:
    trees = [counted(towns(ages(40)), PEOPLE)]
    rows = PEOPLE.frame.iloc[[0, 5]]
    people = Table(PEOPLE.schema, rows.reset_index(drop=True), np.ones(2, dtype=np.int64))
    belief = rebuilt(PEOPLE, *trees, people=people)
    assert len(belief.records) == 6
    assert belief.evidence["known_people"].content == 2
    assert all(isinstance(each, AuditorOnly) for each in belief.evidence.values())
    left = Counter(zip(belief.records["town"], belief.records["risk"], belief.records["age"] <= 40, strict=True))
    assert left == {
        ("Hill", "low", True): 1,
        ("Hill", "low", False): 2,
        ("Mill", "high", True): 1,
        ("Mill", "high", False): 2,
    }


def test_people_of_whom_not_all_tested_cells_are_known_are_not_used() -> None:
    rows = PEOPLE.frame[["town", "risk"]].iloc[[0]].reset_index(drop=True)
    schema = type(PEOPLE.schema)((TOWN, RISK))
    people = Table(schema, rows, np.ones(1, dtype=np.int64))
    belief = rebuilt(PEOPLE, counted(towns(ages(40)), PEOPLE), people=people)
    assert len(belief.records) == 8
    assert "cells in some tested columns are not" in belief.evidence["unused"][0]


def test_known_people_whom_the_trees_do_not_count_are_refused() -> None:
    stranger = table_of((TOWN, AGE, RISK), [("Port", 12.0, "low")])
    with pytest.raises(InconclusiveError, match="not among those that the trees count"):
        rebuilt(PEOPLE, counted(towns(ages(40)), PEOPLE), people=stranger)


def test_labels_and_boosted_trees_are_refused() -> None:
    with pytest.raises(InconclusiveError, match="count no people by class, and no file of a model"):
        rebuilt(PEOPLE, NumericSplit("age", 40.0, Leaf("low"), Leaf("high")))
    scores = NumericSplit("age", 40.0, Leaf(scores={"low": 1.0, "high": -1.0}), Leaf(scores={"low": -1.0, "high": 1.0}))
    release = Release({}, PEOPLE.schema, (scores,), combine="boost")
    with pytest.raises(InconclusiveError, match="count no people by class, and no file of a model"):
        inferred("rebuild", release, grant_knowledge(PEOPLE))


def test_without_time_a_table_is_written_down_and_what_is_proved_holds() -> None:
    belief = rebuilt(PEOPLE, counted(towns(ages(40)), PEOPLE), counted(ages(30, 60), PEOPLE), time_limit=1e-9)
    assert len(belief.records) == 8
    assert belief.proved_cells is not None
    assert belief.proved_cells >= 8  # the town of everybody


def test_a_table_that_does_not_agree_leaves_limits_that_hold_inconclusive() -> None:
    trees = [counted(towns(ages(at)), PEOPLE) for at in (20, 40, 60)]
    belief = rebuilt(PEOPLE, *trees, time_limit=1e-9)
    assert belief.evidence["agrees"] is False
    assert "does not agree with all counts" in belief.unfinished
    score = scored(PEOPLE, replace(belief, records=PEOPLE.frame.assign(age=50.0)), at_most=0.02)
    assert "does not agree with all counts" in score.insufficient
    assert rebuilt(PEOPLE, *trees).unfinished == ""


def test_what_a_longer_search_might_prove_is_within_the_interval_of_the_score() -> None:
    one, two = (counted(ages(at), PEOPLE) for at in (14, 10))
    assert rebuilt(PEOPLE, one).proved_most is None  # the limits of one tree are the narrowest
    belief = rebuilt(PEOPLE, one, two)
    assert (belief.proved_cells, belief.proved_most) == (2, 8)  # of numbers of two trees nobody says so
    score = scored(PEOPLE, belief, counted="proved")
    assert score.interval == (2 / 16, 8 / 16)
    values = [counted(towns(Leaf()), PEOPLE)] * 2
    assert rebuilt(PEOPLE, *values).proved_most is None  # tables were found that have no more
    odd = counted(ages(50), PEOPLE)
    partly = rebuilt(PEOPLE, *values, NumericSplit("age", 50.0, Leaf("low"), Leaf("high")))  # a tree without counts
    assert (partly.proved_most, "did not use all trees" in partly.unfinished) == (8, True)
    missing = Table(Schema((TOWN, replace(AGE, missing=True), RISK)), PEOPLE.frame, PEOPLE.weight)
    assert rebuilt(missing, odd).proved_most == 8  # runs of parts are not looked at beside missing cells
    with pytest.raises(InconclusiveError, match="proved_most"):
        validate_belief(replace(belief, proved_most=1), grant_knowledge(PEOPLE))


def test_people_who_are_known_and_not_used_leave_the_search_unfinished() -> None:
    rows = PEOPLE.frame.iloc[[0, 5]][["age", "risk"]].reset_index(drop=True)
    people = Table(Schema((AGE, RISK)), rows, np.ones(2, dtype=np.int64))
    belief = rebuilt(PEOPLE, counted(towns(ages(40)), PEOPLE), people=people)
    assert "all known people" in belief.unfinished
    assert belief.proved_most == 16


def test_an_attack_that_proves_nothing_leaves_the_limit_inconclusive() -> None:
    belief = TableBelief(rebuilt(PEOPLE, counted(ages(40), PEOPLE)).records)
    with pytest.raises(InconclusiveError, match="proves no cells"):
        scored(PEOPLE, belief, counted="proved")


def test_more_proved_cells_than_cells_are_refused() -> None:
    belief = rebuilt(PEOPLE, counted(ages(40), PEOPLE))
    for wrong in (-1, 9, 0.5):
        with pytest.raises(InconclusiveError, match="proved_cells"):
            validate_belief(replace(belief, proved_cells=wrong), grant_knowledge(PEOPLE))  # type: ignore[arg-type]


def test_whole_records_are_right_by_the_largest_matching() -> None:
    """Compared with every way to match three records and people."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        true, made = rng.integers(0, 2, (3, 2)), rng.integers(0, 2, (3, 2))
        columns = [Cells(name=str(j), true=true[:, j].astype(float)) for j in range(2)]
        right = most_right(columns, {str(j): made[:, j].astype(float) for j in range(2)}, "records")
        ways = itertools.permutations(range(3))
        best = max(sum((made[i] == true[p]).all() for i, p in enumerate(way)) for way in ways)
        assert right == pytest.approx(best / 3)
    alike = [Cells(name=str(j), true=np.array([0.0, 0.0, 1.0])) for j in range(2)]
    assert commonest_right(alike, 3, "records") == pytest.approx(2 / 3)
    assert commonest_right(alike, 1, "records") == 1
