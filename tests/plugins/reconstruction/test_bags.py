"""Tables of which bootstraps were drawn, where it is known how often each tree drew each row."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from command_line import leafgate
from leafgate.api import AdversaryKnowledge, Floats, Table, leaves, make_table, typed_column
from leafgate.kernel.training_rows import Bags, TrainingRows
from leafgate.testing import grant_knowledge
from leafgate_plugins.reconstruction.forest import bags as bags_module
from leafgate_plugins.reconstruction.forest.bags import RowSearch
from leafgate_plugins.reconstruction.rebuild import Rebuild
from rebuilt_tables import Case, bagged_case, drawn_case, leaf_of
from sklearn_zoo import skops_bytes

FOREVER = float("inf")


def known_of(case: Case, bags: Bags | None) -> AdversaryKnowledge:
    rows = None if bags is None else TrainingRows(people=None, on_leaves=(), bags=bags)
    return replace(grant_knowledge(table_of(case)), rows=rows)


def table_of(case: Case) -> Table:
    rows = [case.records[i] for i in case.people]
    cells = {column.name: [row[j] for row in rows] for j, column in enumerate(case.schema.columns)}
    frame = pd.DataFrame({column.name: typed_column(column, cells[column.name]) for column in case.schema.columns})
    return make_table(case.schema, frame)


def leaves_of(case: Case, records: pd.DataFrame) -> Counter[tuple[int | str, ...]]:
    """How many records are in the same leaf of each tree, by class: what leaves can say of a table."""
    return Counter(
        (*(leaf_of(tree, (x, z, y)) for tree in case.release.trees), y)
        for x, z, y in records[["x", "z", "y"]].itertuples(index=False)
    )


def random_search(seed: int) -> RowSearch:
    """Some rows over random trees of three binary columns and two classes."""
    rng = np.random.default_rng(seed)
    n_rows, n_trees = rng.integers(4, 31), rng.integers(2, 31)
    leaf = rng.integers(0, 4, (8, n_trees)).repeat(2, axis=0)
    label = np.tile([0, 1], 8)
    truth = rng.integers(0, 16, n_rows)
    draws = rng.poisson(1.0, (n_rows, n_trees))
    people = [np.zeros((4, 2), dtype=np.int64) for _ in range(n_trees)]
    for tree, each in enumerate(people):
        np.add.at(each, (leaf[truth, tree], label[truth]), draws[:, tree])
    search = RowSearch.of(leaf, label, rng.random(16) + np.bincount(truth, minlength=16), people, draws)
    assert search is not None
    return search


def tables_that_agree(search: RowSearch) -> set[tuple[int, ...]]:
    """The options of every table that has all counts, in their order; found by trying each row in each option."""
    number, draws = search.number, search.draws
    found = set[tuple[int, ...]]()

    def place(row: int, left: Floats, chosen: list[int]) -> None:
        if row == len(draws):
            if not left.any():
                found.add(tuple(sorted(chosen)))
            return
        for option in range(len(number)):
            rest = left.copy()
            rest[number[option]] -= draws[row]
            if (rest >= 0).all():
                place(row + 1, rest, [*chosen, option])

    place(0, search.counts.astype(np.float64), [])
    return found


@pytest.mark.parametrize("seed", range(1, 12))
def test_small_tables_are_given_back(seed: int) -> None:
    case, bags = bagged_case(seed, 12 + seed, 30)
    truth = Counter((*case.leaf_of[i].tolist(), case.records[i][2]) for i in case.people)
    (belief,) = Rebuild().infer(case.release, known_of(case, bags))
    assert belief.evidence["bags"] == "drawn from the seeds"
    assert belief.evidence["agrees"]
    assert belief.evidence["in_a_wrong_leaf"] == 0
    assert belief.unfinished == ""
    assert belief.proved_cells is None
    assert leaves_of(case, belief.records) == truth


@given(st.integers(0, 2**32))
def test_a_table_that_agrees_is_one_of_those_that_trying_every_one_finds(seed: int) -> None:
    search = random_search(seed)
    if len(search.draws) > 12 or search.draws.shape[1] < 8:
        return
    choice, wrong = search.anneal(np.random.default_rng(0), FOREVER)
    solved = search.solve(FOREVER)
    assert solved is not None
    alike = np.unique(search.number, axis=0, return_inverse=True)[1].reshape(-1)  # options that no tree divides
    tables = {tuple(sorted(alike[list(table)].tolist())) for table in tables_that_agree(search)}
    assert tuple(sorted(alike[solved].tolist())) in tables
    assert wrong or tuple(sorted(alike[choice].tolist())) in tables


def test_the_solver_finds_what_annealing_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bags_module, "SWEEPS", ())
    case, bags = bagged_case(3, 15, 30)
    (solved,) = Rebuild().infer(case.release, known_of(case, bags))
    assert solved.evidence["agrees"]
    monkeypatch.setattr(bags_module, "MAX_SOLVED", 0)
    (annealed,) = Rebuild().infer(case.release, known_of(case, bags))
    assert not annealed.evidence["agrees"]


@given(st.integers(0, 2**32), st.sampled_from([0.0, FOREVER]))
def test_no_more_draws_are_in_a_wrong_leaf_than_of_the_likeliest_table(seed: int, deadline: float) -> None:
    search = random_search(seed)
    start = search.beyond(search.start(np.random.default_rng(seed)))
    choice, wrong = search.anneal(np.random.default_rng(seed), deadline)
    found = search.beyond(choice)
    assert wrong == np.maximum(found, 0).sum() <= np.maximum(start, 0).sum()


def test_time_that_is_over_between_two_rounds_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 1.1, 5.0, 5.1])  # a round of one sweep, and one that begins too late
    monkeypatch.setattr(bags_module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(bags_module, "SWEEPS", (1, 1))
    search = random_search(1)
    choice, wrong = search.anneal(np.random.default_rng(0), 1.5)
    assert wrong == np.maximum(search.beyond(choice), 0).sum() > 0


def test_rows_that_a_file_counts_once_leave_limits_open_where_they_place_nobody() -> None:
    case = drawn_case(0, 30, 8)
    known = known_of(case, None)
    once = tuple(
        np.minimum([sum((leaf.counts or {}).values()) for leaf in leaves(tree)], 1.0) for tree in case.release.trees
    )
    rows = TrainingRows(people=30, on_leaves=once, drawn=once)
    (plain,) = Rebuild().infer(case.release, known)
    (belief,) = Rebuild().infer(case.release, replace(known, rows=rows))
    assert plain.unfinished == ""
    assert "did not use all trees, all counts" in belief.unfinished
    assert belief.proved_cells is not None


def test_bags_of_other_draws_are_not_used() -> None:
    case, bags = bagged_case(0, 20, 10)
    (likeliest,) = Rebuild().infer(case.release, known_of(case, None))
    for other in (replace(bags, n_draws=19), replace(bags, seeds=bags.seeds[:9])):
        (belief,) = Rebuild().infer(case.release, known_of(case, other))
        assert belief.evidence == likeliest.evidence
        assert belief.records.equals(likeliest.records)


def test_a_table_that_does_not_agree_in_time_is_unfinished() -> None:
    case, bags = bagged_case(3, 60, 20)
    (belief,) = Rebuild(time_limit=1e-9).infer(case.release, known_of(case, bags))
    assert not belief.evidence["agrees"]
    assert belief.evidence["in_a_wrong_leaf"] > 0
    assert "does not agree with all counts" in belief.unfinished


def test_rows_that_are_too_many_leave_the_likeliest_table_unfinished(monkeypatch: pytest.MonkeyPatch) -> None:
    case, bags = bagged_case(3, 60, 20)
    monkeypatch.setattr(bags_module, "MAX_OPTIONS", 10)
    (belief,) = Rebuild().infer(case.release, known_of(case, bags))
    (likeliest,) = Rebuild().infer(case.release, known_of(case, None))
    assert belief.records.equals(likeliest.records)
    assert "rows and cells are too many" in belief.evidence["unused"][0]
    assert "did not use all trees" in belief.unfinished


POLICY = """
leafgate: 1
name: bags
data:
  path: people.csv
  columns:
    a: {role: quasi_identifier, values: ["0", "1"]}
    b: {role: quasi_identifier, values: ["0", "1", "2", "3"]}
    c: {role: quasi_identifier, bounds: [0, 10]}
    y: {role: [class, sensitive], values: ["0", "1"]}
build: {use: published, path: model.skops, encoding: {}}
attacks: [{use: rebuild}]
metrics: [{use: reconstructed_cells, counted: records, at_most: 1}]
"""


@pytest.mark.thorough
def test_a_default_forest_in_a_file_gives_back_every_record(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 40), "b": rng.integers(0, 4, 40), "c": rng.integers(0, 10, 40)})
    frame["y"] = (frame["a"] + frame["c"] / 5 + rng.normal(0, 0.5, 40) > 1.5).astype(int)
    model = RandomForestClassifier(60, random_state=0).fit(frame[["a", "b", "c"]], frame["y"])
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "model.skops").write_bytes(skops_bytes(model))
    (tmp_path / "policy.yaml").write_text(POLICY)
    ended = leafgate("audit", tmp_path / "policy.yaml", "--out", tmp_path / "out", "--audience", "auditor")
    assert ended.code in {0, 1, 3}, ended.err
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    (finding,) = [each for each in report["findings"] if each["id"].startswith("reconstructed_cells")]
    assert finding["evidence"]["bags"] == "drawn from the seeds"
    assert finding["evidence"]["agrees"] is True
