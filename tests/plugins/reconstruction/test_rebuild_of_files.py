"""Tables rebuilt from the rows that a model's file counts: regression trees, boosting, and draws of bootstraps."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from command_line import leafgate
from leafgate.algorithms import routing
from leafgate.api import (
    AdversaryKnowledge,
    Column,
    Ids,
    InconclusiveError,
    Leaf,
    Node,
    NumericSplit,
    Release,
    Table,
    TableBelief,
    bin_names,
    leaves,
)
from leafgate.kernel.training_rows import TrainingRows
from leafgate.testing import grant_knowledge, validate_belief
from leafgate_plugins.reconstruction.forest.bounds import bounds_by_columns, bounds_of_columns, forest_bounds
from leafgate_plugins.reconstruction.forest.regions import EVERYBODY, Forest
from leafgate_plugins.reconstruction.forest.targets import LeafSums, predicted_cells
from leafgate_plugins.reconstruction.rebuild import Rebuild
from random_tables import numeric, table_of
from rebuilt_tables import Case, multisets, random_case
from sklearn_zoo import skops_bytes

EDGES = tuple(range(0, 110, 10))
AGE = numeric("age", "quasi_identifier", bounds=(0.0, 100.0))
PAY = Column("pay", frozenset({"class"}), values=bin_names(EDGES), bounds=(0.0, 100.0), edges=EDGES)


def rows_of(trees: tuple[Node, ...], table: Table, **more: Any) -> TrainingRows:
    """The rows of a table on the leaves of trees."""
    counts = [np.bincount(routing.leaf_numbers(tree, table), table.weight).astype(np.float64) for tree in trees]
    return TrainingRows(people=table.total_weight, on_leaves=tuple(counts), **more)


def rebuilt(release: Release, known: AdversaryKnowledge, **options: Any) -> TableBelief:
    """What the attack believes, validated as in an audit."""
    (belief,) = Rebuild(**options).infer(release, known)
    checked = validate_belief(belief, known, release)
    assert isinstance(checked, TableBelief)
    return checked


def means(table: Table, *thresholds: float) -> Node:
    """A tree that divides ages, with the mean pay on its leaves."""
    ages, pay = np.repeat(table.numbers("age"), table.weight), np.repeat(table.numbers("pay"), table.weight)
    ends = (-math.inf, *thresholds, math.inf)
    own = [pay[(ages > low) & (ages <= high)] for low, high in itertools.pairwise(ends)]
    node: Node = Leaf(value=float(own[-1].mean()))
    for at, inside in zip(reversed(thresholds), reversed(own[:-1]), strict=True):
        node = NumericSplit("age", at, Leaf(value=float(inside.mean())), node)
    return node


def sums_of(trees: tuple[Node, ...], table: Table) -> tuple[Any, ...]:
    weights = table.numbers("pay") * table.weight
    return tuple(np.bincount(routing.leaf_numbers(tree, table), weights=weights) for tree in trees)


def paid(*people: tuple[float, float]) -> Table:
    """People of these ages and pays."""
    return table_of((AGE, PAY), people)


PEOPLE = paid((5, 12), (25, 33), (45, 48), (65, 81), (85, 99))


def test_a_regression_forest_gives_back_ages_and_pays() -> None:
    trees = (means(PEOPLE, 20, 40), means(PEOPLE, 40, 60), means(PEOPLE, 60, 80), means(PEOPLE, 20, 80))
    release = Release({}, PEOPLE.schema, trees, combine="mean_per_tree")
    assert release.predicts_numbers
    outputs = (None,) * len(trees)
    rows = rows_of(trees, PEOPLE, sums=sums_of(trees, PEOPLE), outputs=outputs)
    known = grant_knowledge(PEOPLE)
    belief = rebuilt(release, AdversaryKnowledge(known.schema, known.public, rows=rows))
    found = belief.records.sort_values("age")
    assert (found["age"].to_numpy() // 20).tolist() == [0, 1, 2, 3, 4]
    assert found["pay"].astype(str).tolist() == [PAY.domain[i] for i in (1, 3, 4, 8, 9)]
    assert "what the trees predict was not used" in belief.unfinished
    assert belief.evidence["agrees"]
    assert belief.proved_most is not None  # the means may prove more


def test_of_one_tree_nothing_is_left_out() -> None:
    tree = means(PEOPLE, 20, 40)
    release = Release({}, PEOPLE.schema, (tree,))
    rows = rows_of((tree,), PEOPLE, sums=sums_of((tree,), PEOPLE), outputs=(None,))
    known = grant_knowledge(PEOPLE)
    belief = rebuilt(release, AdversaryKnowledge(known.schema, known.public, rows=rows))
    assert belief.unfinished == ""
    assert belief.proved_most is None


def test_known_people_are_taken_out_of_counts_and_sums() -> None:
    trees = (means(PEOPLE, 20, 40), means(PEOPLE, 40, 60), means(PEOPLE, 60, 80), means(PEOPLE, 20, 80))
    release = Release({}, PEOPLE.schema, trees, combine="mean_per_tree")
    rows = rows_of(trees, PEOPLE, sums=sums_of(trees, PEOPLE), outputs=(None,) * len(trees))
    known = grant_knowledge(PEOPLE)
    granted = AdversaryKnowledge(known.schema, known.public, people=paid((45, 48), (85, 99)), rows=rows)
    found = rebuilt(release, granted).records.sort_values("age")
    assert (found["age"].to_numpy() // 20).tolist() == [0, 1, 3]
    assert found["pay"].astype(str).tolist() == [PAY.domain[i] for i in (1, 3, 8)]


def test_nothing_is_rebuilt_of_a_release_that_counts_nobody() -> None:
    trees = (means(PEOPLE, 40),)
    release = Release({}, PEOPLE.schema, trees)
    with pytest.raises(InconclusiveError, match="no file of a model says how many people they have"):
        Rebuild().infer(release, grant_knowledge(PEOPLE))


def test_sums_that_are_not_stated_leave_limits_on_the_class_open() -> None:
    trees = (means(PEOPLE, 40), means(PEOPLE, 60))
    release = Release({}, PEOPLE.schema, trees, combine="mean_per_tree")
    known = grant_knowledge(PEOPLE)
    sums = (sums_of(trees, PEOPLE)[0], None)
    rows = rows_of(trees, PEOPLE, sums=sums, outputs=(None, None))
    belief = rebuilt(release, AdversaryKnowledge(known.schema, known.public, rows=rows))
    assert "what the trees predict" in belief.unfinished
    without = rebuilt(release, AdversaryKnowledge(known.schema, known.public, rows=rows_of(trees, PEOPLE)))
    assert "what the trees predict" in without.unfinished
    assert list(without.records.columns) == ["age"]


def test_the_base_of_boosting_is_no_tree_that_was_left_out() -> None:
    trees = (Leaf(value=50.0), means(PEOPLE, 40))
    release = Release({}, PEOPLE.schema, trees, combine="sum")
    known = grant_knowledge(PEOPLE)
    rows = TrainingRows(people=5, on_leaves=(None, np.array([2.0, 3.0])))
    belief = rebuilt(release, AdversaryKnowledge(known.schema, known.public, rows=rows))
    assert belief.evidence["trees"] == 1
    assert "unused" not in belief.evidence


# --- What the model predicts ---


def outputs_of(forest_sums: dict[str | None, list[list[float]]], people: list[list[float]]) -> list[LeafSums]:
    n = len(people)
    return [
        LeafSums(name, tuple(range(n)), tuple(map(np.array, sums)), tuple(map(np.array, people)))
        for name, sums in forest_sums.items()
    ]


def test_each_leaf_has_as_many_of_two_classes_as_it_counts() -> None:
    leaf = np.array([[0], [0], [0], [1], [1]])
    outputs = outputs_of({"high": [[2, 1]]}, [[3, 2]])
    cells = predicted_cells(outputs, leaf, Column("y", frozenset({"class"}), values=("high", "low")))
    assert [int((cells[leaf[:, 0] == k] == "high").sum()) for k in range(2)] == [2, 1]


def test_of_several_classes_each_has_as_many_as_are_stated() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    leaf = np.column_stack([truth, (truth + rng.integers(0, 2, 60)) % 3])
    outputs = [
        LeafSums(
            name,
            (k % 2,),
            (np.bincount(leaf[:, k % 2], truth == k, 3).astype(np.float64),),
            (np.bincount(leaf[:, k % 2], minlength=3).astype(float),),
        )
        for k, name in enumerate("abc")
    ]
    cells = predicted_cells(outputs, leaf, Column("y", frozenset({"class"}), values=("a", "b", "c")))
    assert [int((cells == name).sum()) for name in "abc"] == np.bincount(truth, minlength=3).tolist()
    assert (cells == np.array(list("abc"))[truth]).mean() > 0.9


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_those_of_least_squares(seed: int) -> None:
    """Compared with the solution that the pseudo-inverse gives of the same means."""
    rng = np.random.default_rng(seed)
    n, trees = 12, 5
    leaf, truth = rng.integers(0, 4, (n, trees)), rng.random(n)
    people = [np.bincount(leaf[:, t], minlength=4).astype(float) for t in range(trees)]
    sums = [np.bincount(leaf[:, t], truth, 4).astype(np.float64) for t in range(trees)]
    found = LeafSums(None, tuple(range(trees)), tuple(sums), tuple(people)).likeliest(leaf)
    matrix = np.concatenate([np.eye(4)[leaf[:, t]].T for t in range(trees)])
    expected = truth.mean() + np.linalg.pinv(matrix) @ (np.concatenate(sums) - matrix.sum(axis=1) * truth.mean())
    assert found == pytest.approx(expected, abs=0.01)


# --- What is proved ---


def of_one_class(seed: int) -> Case:
    """A random case, all of whose people have the first class."""
    case = random_case(seed)
    records = tuple(record for record in case.records if record[2] == "a")
    return Case(case.schema, case.release, records, tuple(i // 2 for i in case.people))


def counted_on(case: Case, people: Ids) -> tuple[Any, ...]:
    """How many of these people are on each leaf of each tree."""
    counts = []
    for t, tree in enumerate(case.release.trees):
        n = len([*leaves(tree)])
        counts.append(np.bincount(case.leaf_of[people, t], minlength=n).astype(float))
    return tuple(counts)


def limits_by_enumeration(case: Case, worlds: Ids, part: Ids, n_parts: int) -> tuple[Ids, Ids]:
    n = np.array([(part[worlds] == p).sum(axis=1) for p in range(n_parts)])
    return n.min(axis=1), n.max(axis=1)


def part_of(parts: Any, case: Case) -> Ids:
    if parts.values:
        return np.array([parts.values.index(record[1]) for record in case.records])
    return np.searchsorted(parts.ends, np.array([record[0] for record in case.records], dtype=np.float64))


@pytest.mark.parametrize("seed", range(60))
def test_limits_without_classes_are_those_of_all_tables(seed: int) -> None:
    case = of_one_class(seed)
    rows = TrainingRows(people=len(case.people), on_leaves=counted_on(case, np.array(case.people)))
    forest = Forest.of_rows(case.release, case.schema, rows)
    assert forest.classes == EVERYBODY
    bounds = forest_bounds(forest, bounds_of_columns(forest, [0.0] * len(forest.columns)), math.inf)
    truth = counted_on(case, np.array(case.people))
    worlds = multisets(len(case.records), len(case.people))
    for t, counts in enumerate(truth):
        own = np.array([np.bincount(row, minlength=len(counts)) for row in case.leaf_of[worlds, t]])
        keep = (own == counts).all(axis=1)
        worlds = worlds[keep]
    for column, limits in zip(bounds.columns, bounds.limits, strict=True):
        low, high = limits_by_enumeration(case, worlds, part_of(column.parts, case), column.parts.n_parts)
        assert (limits.low[:, 0] == low).all()
        assert (limits.high[:, 0] == high).all()


@pytest.mark.thorough
def test_limits_of_draws_hold_in_every_table_of_which_these_may_be_drawn() -> None:
    """Whoever has at least the rows that each leaf counts may have been drawn from; nobody else."""
    best = total = 0
    for seed in range(80):
        case = of_one_class(seed)
        rng, n = np.random.default_rng(seed), len(case.people)
        drawn = [np.unique(rng.integers(0, n, n)) for _ in case.release.trees]
        on_leaves = tuple(counted_on(case, np.array(case.people)[own])[t] for t, own in enumerate(drawn))
        rows = TrainingRows(people=n, on_leaves=on_leaves, drawn=on_leaves)
        forest = Forest.of_rows(case.release, case.schema, rows)
        bounds = bounds_by_columns(bounds_of_columns(forest, [0.0] * len(forest.columns)))
        worlds = multisets(len(case.records), n)
        for t, counts in enumerate(on_leaves):
            own = np.array([np.bincount(row, minlength=len(counts)) for row in case.leaf_of[worlds, t]])
            worlds = worlds[(own >= counts).all(axis=1)]
        for column, limits in zip(bounds.columns, bounds.limits, strict=True):
            low, high = limits_by_enumeration(case, worlds, part_of(column.parts, case), column.parts.n_parts)
            assert (limits.low[:, 0] <= low).all()
            assert (limits.high[:, 0] >= high).all()
            best += int((limits.low[:, 0] == low).sum())
            total += len(low)
    assert best > 0.9 * total


# --- A file, as a user audits it ---


def written(folder: Path, model: Any, numeric_class: bool) -> Path:
    """A policy with a table of 60 people, and the file of a model that is fitted on them."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"age": rng.integers(18, 80, 60), "visits": rng.integers(0, 20, 60)})
    score = (x["age"] / 10 + x["visits"] + rng.normal(0, 2, 60)).clip(0)
    label = score.round(1) if numeric_class else np.where(score > score.median(), "yes", "no")
    x.assign(y=label).to_csv(folder / "people.csv", index=False)
    (folder / "model.skops").write_bytes(skops_bytes(model.fit(x, label)))
    target = {"bins": [0, 10, 15, 20, 40]} if numeric_class else {"values": ["no", "yes"]}
    columns = {name: {"role": "quasi_identifier", "bounds": [0, 90]} for name in ("age", "visits")}
    policy = {
        "leafgate": 1,
        "name": "file",
        "data": {"path": "people.csv", "columns": {**columns, "y": {"role": "class", **target}}},
        "build": {"use": "published", "path": "model.skops"},
        "attacks": [{"use": "rebuild", "time_limit": 4}],
        "metrics": [{"use": "reconstructed_cells", "counted": "proved", "at_most": 0.1}],
    }
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(policy))
    return path


@pytest.mark.parametrize(
    ("kind", "numeric_class"),
    [
        ("DecisionTreeRegressor", True),
        ("RandomForestRegressor", True),
        ("RandomForestClassifier", False),
        ("GradientBoostingClassifier", False),
        ("HistGradientBoostingClassifier", False),
    ],
)
def test_the_file_of_a_model_fails_its_audit(tmp_path: Path, kind: str, numeric_class: bool) -> None:
    modules = [pytest.importorskip(name) for name in ("sklearn.tree", "sklearn.ensemble")]
    make = next(getattr(module, kind) for module in modules if hasattr(module, kind))
    options = {"n_estimators": 5} if kind.startswith(("Random", "Gradient")) else {}
    path = written(tmp_path, make(random_state=0, **options), numeric_class)
    result = leafgate("audit", path, "--audience", "auditor", "--out", tmp_path / "run")
    assert result.code == 1, result.out
    report = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    (finding,) = [each for each in report["findings"] if each["id"].startswith("reconstructed_cells")]
    assert finding["passed"] is False
    assert finding["value"] > 0.1
    assert "leafgate scrub" in finding["evidence"]["remedy"]


def test_rows_are_not_used_where_training_had_weights(tmp_path: Path) -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    path = written(tmp_path, ensemble.RandomForestRegressor(3, bootstrap=False, random_state=0), True)
    policy = yaml.safe_load(path.read_text())
    policy["build"]["trained_by"] = {"weighted": True}
    path.write_text(yaml.safe_dump(policy))
    result = leafgate("audit", path)
    assert result.code == 3, result.out
    assert "no file of a model says how many people they have" in result.out
