"""Reproduce the experiments on random trees without noise, and hold them against other ways at equal epsilon.

    python docs/reproduce/dp_random_trees.py --root DIR [--ebm PYTHON] [--diffprivlib PYTHON]
        [--out docs/results] [--page docs/measurements/dp-random-trees-results.md]

DIR holds the folders `adult`, `nursery`, `mushroom` and `lendingclub`. PYTHON is a Python that has the library
`interpret`, or `diffprivlib`; without it that library is left out. Writes the tables as CSV and the pictures to
`--out`, and the measured part of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dp_claims import claims
from dp_findings import Findings, find
from dp_forests import sampling_rates
from dp_frontier import SCRIPTS
from dp_page import lines
from dp_pictures import draw_deltas, draw_frontier
from writing import put, write_csv

DOCS = Path(__file__).resolve().parents[1]


def main() -> None:
    options = _options()
    given = {"DP-EBM": options.ebm, "diffprivlib": options.diffprivlib}
    pythons = {name: python for name, python in given.items() if python is not None}
    found = find(options.root, pythons, tuple(name for name in SCRIPTS if name not in pythons))
    options.out.mkdir(parents=True, exist_ok=True)
    write(options.out, found)
    for name in found.without:
        print(f"{name} was left out: no Python that has it was given")
    put(options.page, lines(found.points))


def write(out: Path, found: Findings) -> None:
    """The CSV files and the pictures."""
    tables: dict[str, Iterable[Any]] = {
        "deltas": found.deltas,
        "epsilons": found.epsilons,
        "forests": found.cells,
        "plain": found.plain,
        "frontier": found.points,
        "sampling-rates": sampling_rates(),
        "claims": claims(found),
    }
    for name, rows in tables.items():
        write_csv(out / f"dp-{name}.csv", rows)
    draw_frontier(out / "dp-frontier.svg", found)
    draw_deltas(out / "dp-deltas.svg", found)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Reproduce the experiments on random trees without noise.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds the data sets")
    parser.add_argument("--ebm", type=Path, help="a Python that has the library interpret")
    parser.add_argument("--diffprivlib", type=Path, help="a Python that has the library diffprivlib")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV files and the pictures go")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "measurements/dp-random-trees-results.md", help="the page to bring up"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
