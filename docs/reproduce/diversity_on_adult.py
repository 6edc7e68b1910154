"""Reproduce what section 4 of the kADET paper says of diversity and of TDS, on Adult.

    python docs/reproduce/diversity_on_adult.py --root DIR \
        [--out docs/results] [--page docs/measurements/diversity-on-adult.md]

DIR holds the folder `adult` with the UCI files and `adult/hierarchies`. Writes the tables as CSV and
the picture to `--out`, and the measured part of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from diversity_claims import claims
from diversity_findings import find
from diversity_page import lines
from diversity_picture import draw
from diversity_variations import flat
from writing import put, write_csv

DOCS = Path(__file__).resolve().parents[1]


def main() -> None:
    options = _options()
    found = find(options.root)
    options.out.mkdir(parents=True, exist_ok=True)
    tables: dict[str, Iterable[Any]] = {
        "builders": found.rows,
        "limits": found.limits,
        "variations": flat(found.variations),
        "private": found.hidden,
        "claims": claims(found),
        "tds": found.statements,
        "mondrian": found.orders,
        "case-groups": found.groups,
        "case-leaves": found.shared,
    }
    for name, rows in tables.items():
        write_csv(options.out / f"diversity-adult-{name}.csv", rows)
    draw(options.out / "diversity-adult.svg", found)
    put(options.page, lines(found))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Reproduce what the kADET paper says of diversity, on Adult.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds `adult`")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV files and the picture go")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "measurements/diversity-on-adult.md", help="the page to bring up to date"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
