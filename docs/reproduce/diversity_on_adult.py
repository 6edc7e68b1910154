"""Reproduce what section 4 of the kADET paper says of diversity and of TDS, on Adult.

    python docs/reproduce/diversity_on_adult.py --root DIR \
        [--out docs/results] [--page docs/measurements/diversity-on-adult.md]

DIR holds the folder `adult` with the UCI files and `adult/hierarchies`. Writes the tables as CSV and
the picture to `--out`, and the measured part of the page.
"""

from __future__ import annotations

import argparse
from pathlib import Path

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
    write_csv(options.out / "diversity-adult-builders.csv", found.rows)
    write_csv(options.out / "diversity-adult-limits.csv", found.limits)
    write_csv(options.out / "diversity-adult-variations.csv", flat(found.variations))
    write_csv(options.out / "diversity-adult-private.csv", found.hidden)
    draw(options.out / "diversity-adult.svg", found)
    put(options.page, lines(found, picture="../results/diversity-adult.svg"))


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
