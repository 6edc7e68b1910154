"""Reproduce section 4 of the kADET paper on Adult.

    python docs/reproduce/kadet_on_adult.py --root DIR [--out docs/results] [--page docs/measurements/kadet-on-adult.md]

DIR holds the folder `adult` with the UCI files and `adult/hierarchies`. Audits policies/adult-id3.yaml
and policies/adult-all.yaml for every k of the grid, and the trees without k beside them. Writes the
tables as CSV and the picture to `--out`, and the measured part of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kadet_claims import claims
from kadet_findings import find
from kadet_page import drawn, lines
from kadet_picture import draw
from writing import put, write_csv

DOCS = Path(__file__).resolve().parents[1]


def main() -> None:
    options = _options()
    found = find(options.root)
    options.out.mkdir(parents=True, exist_ok=True)
    tables: dict[str, Iterable[Any]] = {
        "id3": found.id3.rows,
        "all": found.all.rows,
        "claims": claims(found),
        "root-tests": found.root_tests,
        "hierarchies": found.root_changes,
        "disagreements": found.differ,
        "changes": found.shifts,
    }
    for name, rows in tables.items():
        write_csv(options.out / f"kadet-adult-{name}.csv", rows)
    (options.out / "kadet-adult-trees.txt").write_text("\n".join(drawn(found)), encoding="utf-8")
    draw(options.out / "kadet-adult.svg", found)
    put(options.page, lines(found))
    print(f"slowest k: {found.id3.slowest:.2f} s (ID3), {found.all.slowest:.2f} s (C4.5)")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Reproduce section 4 of the kADET paper on Adult.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds `adult`")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV files and the picture go")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "measurements/kadet-on-adult.md", help="the page to bring up to date"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
