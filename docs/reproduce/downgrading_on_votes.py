"""Downgrade the congressional votes, and attack the result.

    python docs/reproduce/downgrading_on_votes.py --root DIR [--draws 20]

DIR holds the folder `congressional_voting`. Hides the party of a random third of the members, `--draws` times,
downgrades in several ways, lets four adversaries at each release, and draws the frontier of protection against withheld
votes, with the least that anyone could withhold beside it. Writes the tables and the picture to `--out`, and the
measured part of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from downgrading_bound import fewest, share_for_nine_in_ten
from downgrading_page import draw_frontier, lines
from downgrading_votes import EVERY, Attacked, attacked, mean
from writing import put, write_csv

DOCS = Path(__file__).resolve().parents[1]
TAU, TAUS = 0.7, (0.65, 0.7, 0.8, 0.9, 0.95)
TREE, RESTORED = ["tree_inference"], ["tree_inference", "restoration"]
WAYS: dict[str, dict[str, Any]] = {
    "party alone withheld": {"against": TREE, "ramify": False, "tau": 1.0},
    "against the tree": {"against": TREE, "ramify": False},
    "against the tree, ramified": {"against": TREE, "allow": 0.1},
    "against tree and restoration": {"against": RESTORED, "ramify": False, "allow": 0.1},
    "against all four": {"against": list(EVERY), "ramify": False, "allow": 0.1},
    "against all four, ramified": {"against": list(EVERY), "allow": 0.1},
}
FRONTIER = ("against the tree", "against tree and restoration", "against all four")
FEW = 3
"""Draws of the frontier and of the bound, which take longest."""


@dataclass(frozen=True)
class WayRow:
    """One way, the mean over all draws."""

    way: str
    draws: int
    failed: int
    slowest: float
    withheld: float | None = None
    right_tree: float | None = None
    right_conditioning: float | None = None
    right_bayes: float | None = None
    right_restoration: float | None = None
    held_tree: float | None = None
    held_all: float | None = None


@dataclass(frozen=True)
class FrontierRow:
    """One way at one tau: the share withheld; for the bound the least that protects nine in ten."""

    way: str
    tau: float
    kind: str
    withheld: float | None


def way_row(way: str, found: Sequence[Attacked]) -> WayRow:
    held = [one for one in found if one.right is not None and one.held is not None]
    row = WayRow(way, len(found), len(found) - len(held), slowest=max(one.seconds for one in found))
    if not held:
        return row
    right = {use: mean([one.right[use] for one in held if one.right]) for use in EVERY}
    return replace(
        row,
        withheld=mean([one.withheld for one in held if one.withheld is not None]),
        right_tree=right["tree_inference"],
        right_conditioning=right["conditioning"],
        right_bayes=right["naive_bayes"],
        right_restoration=right["restoration"],
        held_tree=mean([one.held["tree_inference"] for one in held if one.held]),
        held_all=mean([min(one.held.values()) for one in held if one.held]),
    )


def frontier(root: Path, draws: int) -> list[FrontierRow]:
    rows = []
    for way in FRONTIER:
        for tau in TAUS:
            found = [attacked(root, draw, way, {**WAYS[way], "allow": 0.1}, tau) for draw in range(draws)]
            shares = [one.withheld for one in found if one.withheld is not None]
            rows.append(FrontierRow(way, tau, "built", mean(shares) if shares else None))
    bounds = [fewest(root, draw, TAUS) for draw in range(draws)]
    for name, tau in bounds[0]:
        share = mean([share_for_nine_in_ten(bound[name, tau]) for bound in bounds])
        rows.append(FrontierRow(name, tau, "least possible", share))
    return rows


def main() -> None:
    options = _options()
    ways = []
    for way, chosen in WAYS.items():
        ways.append(way_row(way, [attacked(options.root, d, way, chosen, TAU) for d in range(options.draws)]))
        print(ways[-1], flush=True)
    edge = frontier(options.root, min(FEW, options.draws))
    options.out.mkdir(parents=True, exist_ok=True)
    write_csv(options.out / "downgrading-votes.csv", ways)
    write_csv(options.out / "downgrading-frontier.csv", edge)
    draw_frontier(options.out / "downgrading-frontier.svg", edge)
    put(options.page, lines(ways))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Downgrade the congressional votes, and attack the result.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds `congressional_voting`")
    parser.add_argument("--draws", type=int, default=20, help="how often a third of the members is drawn")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the tables and the picture go")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "measurements/downgrading-on-votes.md", help="the page to bring up to date"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
