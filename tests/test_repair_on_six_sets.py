"""Repairs beside pruning, refits and kADET: the page, what must hold, a few rows again.

The page is docs/measurements/repair-measured.md.
"""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from data_files import DATA

DOCS = Path(__file__).resolve().parents[1] / "docs"
COMMAND = DOCS / "reproduce" / "repair_on_six_sets.py"
RESULTS = DOCS / "results" / "repair.csv"
PAGE = DOCS / "measurements/repair-measured.md"
PRIVATE = "k10, private"
Scripts = Callable[[str], ModuleType]


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Scripts:
    """Imports the page's scripts."""
    monkeypatch.syspath_prepend(str(DOCS / "reproduce"))
    return importlib.import_module


def refuse_worse_repairs(rows: pd.DataFrame) -> None:
    """What must hold: repairs pass, are the best where they say so, and their files predict what was audited."""
    repairs = rows[rows["method"] == "repair"].set_index(["data", "policy"])
    assert (repairs["passes"] == "yes").all()
    assert (repairs["same"] == repairs["people"] + repairs["test_people"]).all()
    bounded = repairs.dropna(subset=["at_most"])
    assert (bounded["right"] <= bounded["at_most"]).all()
    exact = repairs[repairs["exact"] == "yes"]
    assert (exact["right"] == exact["at_most"]).all()
    subtrees = rows[(rows["method"] == "ccp_alpha") & (rows["passes"] == "yes") & (rows["policy"] != PRIVATE)]
    subtrees = subtrees.set_index(["data", "policy"])
    assert len(subtrees) > 0
    assert (repairs.loc[subtrees.index, "right"] >= subtrees["right"]).all()


def test_the_page_is_made_of_the_results(scripts: Scripts) -> None:
    page = scripts("repair_on_six_sets")
    measured = PAGE.read_text(encoding="utf-8").partition("<!-- results -->\n\n")[2].partition("\n<!-- /results -->")[0]
    assert "\n".join(page.lines(scripts("writing").read_rows(RESULTS, page.Row))) == measured


def test_every_way_was_measured_on_every_data_set_under_every_policy(scripts: Scripts) -> None:
    page, rows = scripts("repair_on_six_sets"), pd.read_csv(RESULTS)
    six = rows[rows["data"] != page.SIZE]
    assert len(six) == len(page.DATA) * len(page.POLICIES) * (1 + len(page.METHODS))
    assert not six.duplicated(["data", "policy", "method"]).any()


def test_no_repair_without_private_columns_is_worse_than_the_best_cost_complexity_subtree() -> None:
    refuse_worse_repairs(pd.read_csv(RESULTS))


def data_there(folder: str) -> None:
    """Skips the test where a folder of data is not there."""
    if not (DATA / folder).is_dir():
        pytest.skip(f"set LEAFGATE_DATA to the folder that holds `{folder}`")


@pytest.mark.slow
def test_a_few_rows_come_out_again(tmp_path: Path) -> None:
    data_there("german_credit")
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    options = ["--root", str(DATA), "--out", str(tmp_path), "--page", str(page), "--data", "german"]
    policies = ["--policies", "k10", "k50, labels", PRIVATE]
    subprocess.run([sys.executable, COMMAND, *options, *policies], check=True, capture_output=True)
    again, rows = pd.read_csv(tmp_path / "repair.csv"), pd.read_csv(RESULTS)
    refuse_worse_repairs(again)
    key, clocks = ["data", "policy", "method"], ["seconds", "user_seconds"]
    stood = rows.merge(again[key], on=key)
    assert len(stood) == 15
    pd.testing.assert_frame_equal(
        again.drop(columns=clocks).sort_values(key, ignore_index=True),
        stood.drop(columns=clocks).sort_values(key, ignore_index=True),
        check_dtype=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "folder"),
    [
        ("adult", "adult"),
        ("credit", "default_credit_card_clients"),
        ("german", "german_credit"),
        ("nursery", "nursery"),
        ("mushroom", "mushroom"),
        ("lending", "lendingclub"),
    ],
)
def test_repair_under_k_anonymity_is_what_a_recursion_over_scikit_learns_tree_finds(
    data: str, folder: str, scripts: Scripts
) -> None:
    data_there(folder)
    module = scripts("repair_data")
    draw = module.Draw.of(module.DATA[data], DATA)
    rows = pd.read_csv(RESULTS)
    row = rows[(rows["data"] == data) & (rows["policy"] == "k10") & (rows["method"] == "repair")].iloc[0]
    assert row["people"] - row["right"] == fewest_errors(draw, 10)


def fewest_errors(draw: Any, k: int) -> float:
    """The fewest training people whom a pruning of the given tree predicts wrongly, each leaf with k people or more."""
    model = draw.given()
    tree, paths = model.tree_, model.decision_path(draw.known).toarray().astype(bool)
    number = np.searchsorted(model.classes_, draw.labels)
    people = np.array([np.bincount(number[at], minlength=len(model.classes_)) for at in paths.T])

    def below(node: int) -> float:
        if people[node].sum() < k:
            return math.inf
        own = float(people[node].sum() - people[node].max())
        low, high = tree.children_left[node], tree.children_right[node]
        return own if low < 0 else min(own, below(low) + below(high))

    return below(0)
