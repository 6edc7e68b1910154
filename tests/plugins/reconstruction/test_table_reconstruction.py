"""Records that are reconstructed from a tree's leaves, and the limit on how many of their cells are right."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from leafgate import InconclusiveError, Release, Table
from leafgate.algorithms import table_matching
from leafgate.algorithms.routing import route
from leafgate.algorithms.table_matching import baseline, true_cells
from leafgate.api import (
    Branch,
    CategoricalSplit,
    Column,
    Leaf,
    Node,
    NumericSplit,
    ScoringContext,
    TableBelief,
    leaves,
    typed_column,
)
from leafgate.testing import grant_knowledge, validate_belief
from leafgate.testing.scenarios import written_out
from leafgate_plugins.reconstruction import table_metric
from leafgate_plugins.reconstruction.leaf_records import Parts, TableReconstruction, part_shares, spread_cells
from leafgate_plugins.reconstruction.table_metric import ReconstructedCells
from random_tables import categorical, numeric, table_of, tables
from random_trees import counted, forests


def reconstructed(table: Table, *trees: Node, distribution: bool = False, **facts: Any) -> pd.DataFrame:
    """The records that the attack writes down, validated as in an audit."""
    release = Release({}, table.schema, trees, combine="one" if len(trees) == 1 else "vote", **facts)
    known = grant_knowledge(table, distribution=distribution)
    (belief,) = TableReconstruction().infer(release, known)
    valid = validate_belief(belief, known, release)
    assert isinstance(valid, TableBelief)
    return valid.records


@st.composite
def counted_trees(draw: st.DrawFn) -> tuple[Table, Node]:
    """Any table without missing cells, and any tree with its people counted on the leaves."""
    table = draw(tables(most=12, gaps=False))
    return table, draw(forests(table, most=1))[0]


@pytest.mark.parametrize("distribution", [False, True])
@given(counted_trees())
def test_each_leaf_counts_its_reconstructed_records_by_class(distribution: bool, both: tuple[Table, Node]) -> None:
    """Sent down the tree, the records give its counts again: they are a table that the tree could come from."""
    table, tree = both
    records = reconstructed(table, tree, distribution=distribution)
    names = [column.name for column in table.schema.columns]
    filled = written_out(table).frame.assign(**{name: records[name] for name in records.columns})
    people = Table(table.schema, filled[names], np.ones(len(filled), dtype=np.int64))
    classes = [str(name) for name in records[table.schema.target.name]]
    found = Counter(zip(route(tree, people).leaf.tolist(), classes, strict=True))
    stated = {(i, name): n for i, leaf in enumerate(leaves(tree)) for name, n in (leaf.counts or {}).items() if n}
    assert dict(found) == stated


TOWN = categorical("town", "quasi_identifier", values=("Hill", "Mill", "Port"))
AGE = numeric("age", "private", bounds=(0.0, 100.0))
RISK = categorical("risk", "class", "sensitive", values=("low", "high"))
PEOPLE = table_of(
    (TOWN, AGE, RISK),
    [(town, age, risk) for town, risk in (("Hill", "low"), ("Mill", "high")) for age in (10.0, 30.0, 50.0, 70.0)],
)


def ages(*, by: float) -> Node:
    """A tree that divides ages at multiples of a number."""
    node: Node = Leaf()
    for at in np.arange(100 - by, 0, -by).tolist():
        node = NumericSplit("age", at, Leaf(), node)
    return node


def towns(below: Node) -> Node:
    return CategoricalSplit("town", tuple(Branch((town,), below) for town in ("Hill", "Mill", "Port")))


def scored(table: Table, records: pd.DataFrame, **options: Any) -> Any:
    known = grant_knowledge(table)
    belief = validate_belief(TableBelief(records), known)
    metric = ReconstructedCells.model_validate({"use": "reconstructed_cells", "at_most": 0.1, **options})
    return metric.score(ScoringContext(table, None, Release({}, table.schema), known, belief))


def test_a_leaf_for_each_person_gives_the_table_back() -> None:
    records = reconstructed(PEOPLE, counted(towns(ages(by=4.0)), PEOPLE))
    score = scored(PEOPLE, records)
    names = ["age", "risk", "town"]
    without = baseline(true_cells(PEOPLE, names), PEOPLE.total_weight, 0)
    assert without.value < 0.9
    assert score.value == pytest.approx(1 - without.value)
    assert score.largest == pytest.approx(1 - without.value)
    assert score.interval == pytest.approx((1 - without.high, 1 - without.low))


@given(tables(most=10, numbers=False))
def test_the_table_itself_scores_one_less_the_baseline(table: Table) -> None:
    names = [column.name for column in table.schema.columns]
    score = scored(table, written_out(table).frame[names])
    assert score.value == pytest.approx(1 - baseline(true_cells(table, sorted(names)), table.total_weight, 0).value)


def test_a_tree_of_one_leaf_gives_no_more_than_the_distribution_of_the_class() -> None:
    records = reconstructed(PEOPLE, counted(Leaf(), PEOPLE))
    assert list(records.columns) == ["risk"]
    score = scored(PEOPLE, records, at_most=0.01)
    assert (score.value, score.interval, score.insufficient) == (0, (0, 0), "")


def test_compared_with_domains_alone_the_counts_of_one_leaf_say_something() -> None:
    skewed = table_of((TOWN, RISK), [("Hill", "low"), ("Hill", "high")], [90, 10])
    records = reconstructed(skewed, counted(Leaf(), skewed))
    assert scored(skewed, records, baseline="domains").value == pytest.approx(0.4, abs=0.1)
    assert scored(skewed, records).value == 0


def test_wrong_records_score_below_0_and_show_nothing() -> None:
    frame = written_out(PEOPLE).frame[["age", "risk"]].assign(age=99.0)
    score = scored(PEOPLE, frame, at_most=0.01)
    assert score.value < 0
    assert (score.insufficient, score.remedy) == (table_metric.WORSE, table_metric.GRANT + table_metric.STRONGER)


def test_whole_numbers_are_written_down_where_every_test_lies_between_them() -> None:
    """The cells of a table of bits, which even distances would miss by a quarter."""
    bit = numeric("age", "quasi_identifier", bounds=(0, 1))
    people = table_of((bit, RISK), [(0.0, "low"), (1.0, "high")], [3, 2])
    tree = counted(NumericSplit("age", 0.5, Leaf(), Leaf()), people)
    records = reconstructed(people, tree)
    assert sorted(zip(records["age"], records["risk"], strict=True)) == [(0, "low")] * 3 + [(1, "high")] * 2


def test_a_limit_that_the_whole_table_would_keep_is_no_limit() -> None:
    frame = written_out(PEOPLE).frame
    vacuous = scored(PEOPLE, frame, at_most=0.6)
    assert (vacuous.insufficient, vacuous.remedy) == (table_metric.UNBREAKABLE, table_metric.LOWER_LIMIT)
    largest = vacuous.largest
    assert scored(PEOPLE, frame, at_most=largest * 0.51).insufficient == table_metric.UNBREAKABLE
    assert scored(PEOPLE, frame, at_most=largest * 0.49).insufficient == ""


def test_weights_that_count_no_people_leave_the_limit_inconclusive() -> None:
    rows = np.ones(len(PEOPLE), dtype=np.int64)
    table = replace(PEOPLE, weight=rows * 3, rows=rows, counts_people=False, _codes={})
    with pytest.raises(InconclusiveError, match="weights count no people"):
        scored(table, PEOPLE.frame)


def test_of_a_forest_the_tree_with_the_most_leaves_is_used() -> None:
    small, large = (counted(tree, PEOPLE) for tree in (Leaf(), towns(Leaf())))
    assert list(reconstructed(PEOPLE, small, large).columns) == ["town", "risk"]
    silent = Leaf("low")
    assert list(reconstructed(PEOPLE, small, towns(silent)).columns) == ["risk"]


@pytest.mark.parametrize(
    "leaf", [Leaf("low"), Leaf("low", {"low": 2.5, "high": 1}), Leaf("low", {"low": 0, "high": 0})]
)
def test_leaves_that_count_no_whole_people_are_inconclusive(leaf: Leaf) -> None:
    with pytest.raises(InconclusiveError):
        reconstructed(PEOPLE, leaf)


def test_counts_of_more_people_than_the_table_has_are_inconclusive() -> None:
    with pytest.raises(InconclusiveError, match="as many `records` as the table has people"):
        reconstructed(PEOPLE, Leaf("low", {"low": 8, "high": 1}))


def test_cells_of_many_small_leaves_follow_the_shares_together() -> None:
    """Ten leaves of one person each, whose town is open: none of them could follow the shares by itself."""
    reach = np.ones((12, 2), dtype=bool)
    reach[0], reach[1] = [True, False], [False, True]
    parts = Parts(column=TOWN, values=("Hill", "Mill"), starts=np.zeros(0), ends=np.zeros(0), reach=reach)
    people = np.array([4, 6, *[1] * 10])
    assert part_shares(parts, people)[2].round(6).tolist() == [0.4, 0.6]
    cells = Counter(spread_cells(parts, people, np.random.default_rng(0)).tolist())
    assert cells == {"Hill": 8, "Mill": 12}


def test_a_leaf_for_a_bound_alone_has_the_bound() -> None:
    age = numeric("age", "private", bounds=(18.0, 90.0))
    table = table_of((age, RISK), [(18.0, "low"), (18.5, "high"), (90.0, "low")])
    tree = NumericSplit("age", 18.0, Leaf(), NumericSplit("age", 90.0, Leaf(), Leaf(), strict=True))
    assert sorted(reconstructed(table, counted(tree, table))["age"].tolist()) == [18, pytest.approx(54), 90]


def test_numbers_without_bounds_end_a_mean_distance_beyond_the_thresholds() -> None:
    table = table_of((Column("age", frozenset({"private"})), RISK), [(float(age), "low") for age in range(8)])
    tree = counted(NumericSplit("age", 2.2, Leaf(), NumericSplit("age", 5.2, Leaf(), Leaf())), table)
    ages = sorted(reconstructed(table, tree)["age"].tolist())
    assert ages == pytest.approx([-0.3, 0.7, 1.7, 2.7, 3.7, 4.7, 5.95, 7.45])


def test_secret_numbers_are_reconstructed_in_their_bins() -> None:
    pay = Column("pay", frozenset({"sensitive"}), bounds=(0.0, 40.0), bins=(0.0, 20.0, 40.0), ordered=True)
    frame = pd.DataFrame({"pay": [5.0, 25.0], "risk": typed_column(RISK, ["low", "high"])})
    table = Table(table_of((pay, RISK), [(5.0, "low")]).schema, frame, np.ones(2, dtype=np.int64))
    records = reconstructed(table, counted(NumericSplit("pay", 20.0, Leaf(), Leaf()), table))
    assert sorted(map(tuple, records.astype(str).to_numpy().tolist())) == [("[0, 20)", "low"), ("[20, 40]", "high")]


def write(folder: Path, **changes: Any) -> Path:
    """A policy on 60 people, each with town, job and age, and a tree that is grown to the last person."""
    rng = random.Random(2)
    rows = [
        f"{rng.randint(18, 90)},{rng.choice('abcd')},{rng.choice('vwxyz')},{rng.choice(['low', 'high'])}"
        for _ in range(60)
    ]
    (folder / "people.csv").write_text("\n".join(["age,town,job,risk", *rows]) + "\n")
    columns: dict[str, Any] = {
        "age": {"role": "quasi_identifier", "bounds": [18, 90]},
        "town": {"role": "quasi_identifier", "values": [*"abcd"]},
        "job": {"role": "private", "values": [*"vwxyz"]},
        "risk": {"role": ["class", "sensitive"], "values": ["low", "high"]},
    }
    policy = {
        "leafgate": 1,
        "name": "rebuilt",
        "data": {"path": "people.csv", "columns": columns},
        "build": {"use": "c45", "prune": False, "min_leaf": 1},
        "attacks": [{"use": "table_reconstruction"}],
        "metrics": [{"use": "reconstructed_cells", "at_most": 0.05}],
        **changes,
    }
    path = folder / "policy.yaml"
    path.write_text(json.dumps(policy))
    return path


def test_an_overfitted_tree_fails_and_a_tree_of_one_leaf_passes(tmp_path: Path) -> None:
    overfitted = leafgate("audit", write(tmp_path), "--json")
    assert (overfitted.code, overfitted.document["verdict"]) == (1, "fail")
    one_leaf = leafgate("audit", write(tmp_path, build={"use": "c45", "min_leaf": 60}), "--json")
    assert (one_leaf.document["release"]["leaves"], one_leaf.code) == (1, 0)


def test_a_limit_that_is_inconclusive_for_an_attack_that_knows_too_little_passes_with_known_distributions(
    tmp_path: Path,
) -> None:
    """A tree whose leaves have many people: without the distributions fewer cells are right than of made-up records."""
    tree = {"use": "c45", "prune": False, "min_leaf": 20}
    attacks = [{"use": "table_reconstruction"}, {"use": "rebuild"}]
    limits = [
        {"use": "reconstructed_cells", "name": f"cells_{use}", "of": use, "at_most": 0.08}
        for use in ("table_reconstruction", "rebuild")
    ]
    settings = {"build": tree, "attacks": attacks, "metrics": limits}
    unknown = leafgate("audit", skewed(write(tmp_path, **settings)), "--json")
    found = [each for each in unknown.document["findings"] if each["metric"].startswith("cells_")]
    assert (unknown.code, [each["passed"] for each in found]) == (3, [None, None])
    for each in found:
        assert each["evidence"]["problem"] == table_metric.WORSE
        assert "knows: {distribution: true}" in each["remedies"][0]["text"]
    known = leafgate("audit", skewed(write(tmp_path, knows={"distribution": True}, **settings)), "--json")
    found = [each for each in known.document["findings"] if each["metric"].startswith("cells_")]
    assert (known.code, [each["passed"] for each in found]) == (0, [True, True])
    assert [each["value"] for each in found] == [None, None]  # what granted knowledge decides is for auditors


def skewed(policy: Path) -> Path:
    """The policy with 150 people, most of whom have small numbers."""
    rng = random.Random(3)
    numbers = [[int(100 * rng.random() ** 4) for _ in range(4)] for _ in range(150)]
    rows = [f"{','.join(map(str, cells))},{'high' if sum(cells) > 60 else 'low'}" for cells in numbers]
    (policy.parent / "people.csv").write_text("\n".join(["age,hours,pay,rent,risk", *rows]) + "\n")
    document = json.loads(policy.read_text())
    number = {"role": "quasi_identifier", "bounds": [0, 100]}
    risk = document["data"]["columns"]["risk"]
    document["data"]["columns"] = {**dict.fromkeys(["age", "hours", "pay", "rent"], number), "risk": risk}
    policy.write_text(json.dumps(document))
    return policy


def test_the_public_reads_nothing_of_the_records_and_auditors_their_number_and_shares(tmp_path: Path) -> None:
    leafgate("audit", write(tmp_path), "--out", tmp_path / "out", "--audience", "auditor")
    public = leafgate("audit", tmp_path / "policy.yaml", "--json").document["findings"][0]
    (auditor,) = json.loads((tmp_path / "out" / "report.json").read_text())["findings"]
    assert (public["passed"], public["value"]) == (False, None)
    assert set(public["evidence"]) <= {"remedy", "problem"}
    facts = auditor["evidence"]["reconstruction"]
    assert (facts["records"], facts["columns"]) == (60, ["age", "job", "risk", "town"])
    assert auditor["value"] == pytest.approx(facts["right"] - facts["baseline"]["drawn"][3], abs=1e-5)
    assert set(facts) == {"records", "columns", "right", "baseline"}


def test_a_table_that_is_too_large_to_match_passes_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_matching, "MAX_PAIRS", 60 * 60 - 1)
    ended = leafgate("audit", write(tmp_path, build={"use": "c45", "min_leaf": 60}), "--json")
    assert (ended.code, ended.document["verdict"]) == (3, "inconclusive")
    assert "no best matching is computed" in ended.document["findings"][0]["evidence"]["problem"]


def test_a_limit_within_what_draws_of_the_baseline_differ_by_is_inconclusive(tmp_path: Path) -> None:
    leafgate("audit", write(tmp_path), "--out", tmp_path / "out", "--audience", "auditor")
    ends = json.loads((tmp_path / "out" / "report.json").read_text())["findings"][0]["evidence"]["interval"]
    assert ends["low"] < ends["high"]
    verdicts = []
    for at_most in (ends["low"] - 0.001, (ends["low"] + ends["high"]) / 2, ends["high"] + 0.001):
        limit = {"use": "reconstructed_cells", "at_most": at_most}
        verdicts.append(leafgate("audit", write(tmp_path, metrics=[limit]), "--json").document["verdict"])
    assert verdicts == ["fail", "inconclusive", "pass"]


def test_labels_alone_leave_the_attack_inconclusive_with_what_to_do(tmp_path: Path) -> None:
    ended = leafgate("audit", write(tmp_path, publish={"leaves": "labels"}), "--json")
    assert ended.code == 3
    failed = next(each for each in ended.document["findings"] if each["id"] == "attack:table_reconstruction")
    assert "publish counts on leaves, or leave this attack out" in str(failed)


def test_a_limit_without_an_attack_names_the_one_that_suits_it(tmp_path: Path) -> None:
    ended = leafgate("audit", write(tmp_path, attacks=[{"use": "linking"}]), "--json")
    assert ended.code == 3
    (found,) = (each for each in ended.document["findings"] if each["metric"] == "reconstructed_cells")
    assert found["remedies"][0]["value"] == {"use": "table_reconstruction"}


def test_a_belief_is_written_as_its_records(tmp_path: Path) -> None:
    policy = write(tmp_path)
    assert leafgate("build", policy, "--out", tmp_path / "release.json").code == 0
    out = tmp_path / "records.csv"
    words = ("--release", tmp_path / "release.json", "--use", "table_reconstruction", "--out", out)
    ended = leafgate("attack", policy, *words)
    assert ended.code == 0
    assert "nobody's in particular" in ended.out
    lines = out.read_text().splitlines()
    assert (lines[0], len(lines)) == ("age,town,job,risk", 61)
