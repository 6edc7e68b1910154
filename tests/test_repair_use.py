"""Whether repaired models are of use: the page, the judgement of cells, and one cell again.

The page is docs/measurements/repair-use.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
Scripts = Callable[[str], ModuleType]
RESULTS = DOCS / "results" / "repair-use.csv"


def cell_of(scripts: Scripts, kind: str, areas: Mapping[str, Sequence[float]]) -> list[Any]:
    """The rows of a cell: by method its area in each split."""
    methods = scripts("repair_use_methods")
    return [
        methods.Row("adult", "k20", split, methods.ANY if method in methods.SHARED else kind, method, "yes", area, 0.5)
        for method, some in areas.items()
        for split, area in enumerate(some)
    ]


SHARED = {"kadet": [0.8, 0.7, 0.9], "constant": [0.5, 0.5, 0.5], "given": [0.9, 0.9, 0.9]}


def test_every_method_was_measured_in_every_cell(scripts: Scripts) -> None:
    data, rows = scripts("repair_use_data"), pd.read_csv(RESULTS)
    cells = len(data.DATA) * len(data.POLICIES)
    assert not rows.duplicated(["data", "policy", "split", "kind", "method"]).any()
    for _, split in rows.groupby("split"):
        assert len(split) == cells * (3 * len(data.KINDS) + 2)


def test_what_does_not_pass_has_the_area_of_a_constant() -> None:
    rows = pd.read_csv(RESULTS)
    nothing = rows[(rows["passes"] == "no") & (rows["method"] != "given")]
    assert (nothing["auc"] == 0.5).all()


def test_an_interval_is_students(scripts: Scripts) -> None:
    found = scripts("repair_use_judgement").Difference.of([0.01, 0.03], 0.05)
    width = 12.706204736  # the 97.5 % point of Student's distribution with one degree of freedom, by 0.01 / 1
    assert (found.mean, found.low, found.high) == pytest.approx((0.02, 0.02 - width / 100, 0.02 + width / 100))


def test_a_difference_of_one_split_has_no_interval(scripts: Scripts) -> None:
    found = scripts("repair_use_judgement").Difference.of([-0.4], 0.05)
    assert (found.low, found.high) == (-float("inf"), float("inf"))


@pytest.mark.parametrize(
    ("repair", "refit", "fails"),
    [
        ([0.8, 0.7, 0.9], [0.8, 0.7, 0.9], False),
        ([0.78, 0.68, 0.88], [0.5, 0.5, 0.5], True),  # 0.02 worse than kADET in every split
        ([0.795, 0.695, 0.895], [0.5, 0.5, 0.5], False),  # 0.005 worse
        ([0.9, 0.8, 0.95], [0.92, 0.82, 0.97], True),  # 0.02 worse than the best refit
        ([0.9, 0.5, 0.9], [0.5, 0.5, 0.5], False),  # 0.03 worse than kADET in the mean, by noise
    ],
)
def test_a_cell_fails_where_the_repair_is_worse_by_more_than_margin_and_noise(
    scripts: Scripts, repair: list[float], refit: list[float], fails: bool
) -> None:
    rows = cell_of(scripts, "tree", {**SHARED, "repair": repair, "refit": refit})
    cells, _ = scripts("repair_use_judgement").judged(rows)
    assert [cell.fails for cell in cells] == [fails]


def test_a_cell_fails_where_the_repair_is_worse_than_a_constant(scripts: Scripts) -> None:
    low = [0.495, 0.495, 0.495]
    rows = cell_of(scripts, "tree", {**SHARED, "kadet": low, "repair": low, "refit": low})
    cells, _ = scripts("repair_use_judgement").judged(rows)
    assert [cell.fails for cell in cells] == [True]


def test_a_data_set_is_judged_by_the_lower_bound_of_the_mean_over_its_cells(
    scripts: Scripts,
) -> None:
    shared, own = {"kadet": [0.8, 0.7, 0.9], "constant": [0.5] * 3}, {"given": [0.9] * 3, "refit": [0.5] * 3}
    better, worse = [0.83, 0.73, 0.93], [0.78, 0.68, 0.88]
    rows = cell_of(scripts, "tree", {**shared, **own, "repair": better})
    rows += cell_of(scripts, "xgboost", {**own, "repair": worse})
    judgement = scripts("repair_use_judgement")
    kadet, refit = judgement.judged(rows)[1]
    assert (kadet.other, kadet.fails) == ("kadet", False)
    assert (kadet.difference.mean, kadet.difference.low) == pytest.approx((0.005, 0.005))
    # 0.305, 0.205 and 0.405 with a standard error of 0.1 / sqrt(3); two bounds at once: 97.5 % of each on one side
    assert (refit.difference.mean, refit.difference.low) == pytest.approx((0.305, 0.305 - 4.302652730 * 0.1 / 3**0.5))


def test_a_split_in_which_a_method_is_missing_is_left_out(scripts: Scripts) -> None:
    rows = cell_of(scripts, "tree", {**SHARED, "repair": [0.8, 0.7, 0.1], "refit": [0.8, 0.7]})
    cells, _ = scripts("repair_use_judgement").judged(rows)
    assert [row.split for row in cells[0].rows["repair"]] == [0, 1]


def test_refits_have_the_settings_of_a_fixed_draw(scripts: Scripts) -> None:
    kinds = scripts("repair_use_data").KINDS
    assert all(len(kind.refits()) == 20 and kind.refits() == kind.refits() for kind in kinds.values())
    assert all(1 <= each["n_estimators"] <= 30 for each in kinds["forest100"].refits())
    assert all(each["class_weight"] == "balanced" for each in kinds["balanced"].refits())
