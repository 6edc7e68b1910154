"""Near-copies in a control: the score against pairs counted one by one, and what the test finds and lets through."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from leafgate.algorithms.near_copies import _scores, near_copies, shares_keys
from leafgate.api import Column, Schema, Table, make_table
from random_tables import categorical, numeric

PUBLIC = frozenset({"quasi_identifier"})
TOWNS, JOBS = ("Hill", "Mill", "Port"), tuple("abcdefgh")
COLUMNS = (
    Column("age", PUBLIC, bounds=(0.0, 200.0)),
    Column("income", PUBLIC, bounds=(0.0, 1e9)),
    Column("town", PUBLIC, values=TOWNS),
    Column("job", PUBLIC, values=JOBS),
    Column("ill", frozenset({"class", "sensitive"}), values=("no", "yes")),
)


def people(n: int, seed: int, richer: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "income": np.round(rng.lognormal(10 + richer, 0.6, n), -2),
            "town": rng.choice(TOWNS, n),
            "job": rng.choice(JOBS, n),
            "ill": rng.choice(["no", "yes"], n, p=[0.8, 0.2]),
        }
    )


def table_of(cells: pd.DataFrame, columns: tuple[Column, ...] = COLUMNS) -> Table:
    typed = {
        column.name: cells[column.name]
        if column.values is None
        else pd.Categorical(cells[column.name], categories=list(column.values))
        for column in columns
    }
    return make_table(Schema(columns), pd.DataFrame(typed))


def p_value_of(first: pd.DataFrame, second: pd.DataFrame, seed: int = 0) -> float:
    return near_copies(table_of(first), table_of(second), np.random.default_rng(seed)).p_value


TABLE, OTHERS = people(600, 0), people(500, 1)


def a_cent(cells: pd.DataFrame) -> pd.DataFrame:
    return cells.assign(income=cells["income"] + 0.01)


def another_rounding(cells: pd.DataFrame) -> pd.DataFrame:
    return cells.assign(income=(cells["income"] / 1000).round() * 1000, age=(cells["age"] / 5).round() * 5)


def last_year(cells: pd.DataFrame) -> pd.DataFrame:
    return cells.assign(income=(cells["income"] * 0.97).round(2), age=cells["age"] - 1)


def other_towns(cells: pd.DataFrame) -> pd.DataFrame:
    return cells.assign(town=cells["town"].map(dict(zip(TOWNS, (*TOWNS[1:], TOWNS[0]), strict=True))))


@pytest.mark.parametrize("seed", range(5))
def test_the_score_is_that_of_pairs_counted_one_by_one(seed: int) -> None:
    """Its mean over all divisions into files of these sizes is 0, and its numerator counts pairs."""
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(0, 3, 9))
    sizes = np.bincount(group, minlength=3)
    kept = sizes > 1
    divisions = [np.isin(np.arange(9), chosen) for chosen in combinations(range(9), 4)]
    inside = np.array([np.bincount(group[division], minlength=3)[kept] for division in divisions]).T.astype(float)
    scores = _scores(inside, sizes[kept][:, None].astype(float), np.zeros(1, dtype=np.int64))[0]
    for division, score in zip(divisions, scores, strict=True):
        several = np.flatnonzero(kept[group])
        apart = sum(
            (division[i] != division[j]) / (sizes[group[i]] - 1)
            for i in several
            for j in several
            if i != j and group[i] == group[j]
        )
        pairs = [(i, j) for i in several for j in several if i != j]
        expected = len(several) * np.mean([division[i] != division[j] for i, j in pairs])
        share = division[several].mean()
        deviation = np.sqrt(8 * sum(s / (s - 1) for s in sizes[kept])) * share * (1 - share)
        assert score == pytest.approx((apart - expected) / deviation if deviation else 0)
    if kept.all():
        assert scores.mean() == pytest.approx(0)


@pytest.mark.parametrize("changed", [a_cent, another_rounding, last_year, other_towns])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_near_copies_are_found(changed: object, share: float) -> None:
    assert callable(changed)
    copies = changed(TABLE.iloc[: round(share * 500)])
    assert p_value_of(TABLE, pd.concat([copies, OTHERS.iloc[len(copies) :]])) <= 0.001


@pytest.mark.parametrize("changed", [a_cent, another_rounding, last_year, other_towns])
def test_other_people_with_the_same_change_are_a_control(changed: object) -> None:
    assert callable(changed)
    assert p_value_of(TABLE, changed(OTHERS)) > 0.01


@pytest.mark.thorough
def test_p_values_of_random_splits_are_spread_evenly() -> None:
    """At most a tenth is below 0.1, a half below 0.5, up to four standard deviations."""
    pool = people(160, 3).assign(income=0.0)
    p_values = []
    for seed in range(60):
        order = np.random.default_rng(seed).permutation(len(pool))
        p_values.append(p_value_of(pool.iloc[order[:100]], pool.iloc[order[100:]], seed))
    for level in (0.1, 0.5):
        assert np.mean(np.array(p_values) <= level) <= level + 4 * np.sqrt(level * (1 - level) / 60)


@pytest.mark.parametrize("size", [60, 500])
def test_a_control_of_another_population_is_no_copy(size: int) -> None:
    """Also one that is much smaller, and that lives where the table has most people."""
    crowded = people(size, 5).assign(job="a", town="Hill", age=40.0)
    assert p_value_of(TABLE, people(size, 4, richer=1.0)) > 0.01
    assert p_value_of(TABLE.assign(job=np.where(TABLE["age"] < 60, "a", TABLE["job"])), crowded) > 0.01


def test_a_table_of_few_different_records_is_not_tested() -> None:
    """A split that is stratified by all columns has the same records in both files, and is no copy."""
    few = COLUMNS[2:3] + COLUMNS[4:]
    cells = people(600, 6).sort_values(["town", "ill"])
    result = near_copies(table_of(cells.iloc[::2], few), table_of(cells.iloc[1::2], few), np.random.default_rng(0))
    assert result.p_value == 1
    assert result.described == {"from_share": None, "unless_they_differ_in": ["town", "ill"]}


@pytest.mark.thorough
def test_a_stated_share_of_copies_is_found() -> None:
    """Of ten controls of which so many are copies with another town at least nine are refused, and no honest one."""
    honest = near_copies(table_of(TABLE), table_of(OTHERS), np.random.default_rng(0))
    share = honest.seen_from["town"]
    assert share is not None
    assert share < 1
    found = []
    for seed in range(10):
        inside, outside = people(600, 100 + seed), people(500, 200 + seed)
        copies = other_towns(inside.iloc[: round(share * 500)])
        found.append(p_value_of(inside, pd.concat([copies, outside.iloc[len(copies) :]]), seed) <= 0.001)
        assert p_value_of(inside, outside, seed) > 0.001
    assert sum(found) >= 9


def test_of_many_people_a_sample_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leafgate.algorithms.near_copies.MAX_MEMBERS", 30 * 400)
    honest = near_copies(table_of(TABLE), table_of(OTHERS), np.random.default_rng(0))
    assert not honest.has_copies
    assert honest.seen_from["town"] is not None
    monkeypatch.undo()
    whole = near_copies(table_of(TABLE), table_of(OTHERS), np.random.default_rng(0)).seen_from["town"]
    assert whole is not None
    assert honest.seen_from["town"] > whole


def test_a_key_in_both_files_is_noticed() -> None:
    keyed = (Column("id", frozenset({"key"}), values=("1", "2", "3")), *COLUMNS[2:])
    tables = [table_of(people(2, 9).assign(id=ids), keyed) for ids in (["1", "2"], ["2", "3"], ["3", "3"])]
    assert shares_keys(tables[0], tables[1])
    assert not shares_keys(tables[0], tables[2])
    assert not shares_keys(table_of(TABLE), table_of(TABLE))


def numbered(people: int, seed: int, cells: int) -> Table:
    """People of one number from 0 below `cells`, a private input and a class."""
    rng = np.random.default_rng(seed)
    columns = (numeric("x", "quasi_identifier", bounds=(0.0, 1e9)), categorical("s", "private", values=["a", "b"]))
    frame = pd.DataFrame({"x": rng.integers(cells, size=people).astype(float)})
    frame["s"] = pd.Categorical(rng.choice(["a", "b"], people), categories=["a", "b"])
    frame["y"] = pd.Categorical(rng.choice(["no", "yes"], people), categories=["no", "yes"])
    return make_table(Schema((*columns, categorical("y", "class", values=["no", "yes"]))), frame)


@pytest.mark.parametrize("cells", [3, 100, 2_000, 10**8])
def test_people_who_are_identical_by_chance_are_a_control(cells: int) -> None:
    found = near_copies(numbered(500, 1, cells), numbered(900, 2, cells), np.random.default_rng(0))
    assert (found.p_value > 0.001, found.has_copies) == (True, False)


@pytest.mark.parametrize("copied", [0.4, 1.0])
def test_copies_of_people_of_the_table_are_no_control(copied: float) -> None:
    """They would teach the imputation the secrets, so that the model would seem to add nothing."""
    table, others = numbered(500, 1, 10**8), numbered(900, 2, 10**8)
    copies = pd.concat([table.frame] * 2).head(int(900 * copied))
    frame = pd.concat([copies, others.frame]).head(900).sample(frac=1, random_state=1).reset_index(drop=True)
    assert near_copies(table, make_table(table.schema, frame), np.random.default_rng(0)).has_copies
