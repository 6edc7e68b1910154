"""Reproduce the experiments on learning from perturbed data, and hold better ways against them.

    python docs/reproduce/ppdtc45_on_adult.py --root DIR [--draws N] [--out docs/results]
        [--page docs/measurements/ppdtc45-on-adult.md]

DIR holds the folder `adult`. Writes the tables as CSV and the picture to `--out`, and the measured part of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ppdtc45_claims import claims
from ppdtc45_page import lines, printed
from ppdtc45_parts import estimates, losses, parts, thresholds
from ppdtc45_picture import draw_thresholds
from ppdtc45_runs import draw, scores
from ppdtc45_setting import LAWS, read
from writing import put, write_csv

DOCS = Path(__file__).resolve().parents[1]
FIGURE_DRAWS = 5


def main() -> None:
    options = _options()
    everyone, test = read(options.root)
    measured = [
        score
        for number in range(options.draws)
        for name in LAWS
        for score in scores(draw(name, number, everyone, test))
    ]
    lost, partial = list(losses(everyone)), list(parts(everyone, test))
    moved = list(thresholds(everyone, test, min(options.draws, FIGURE_DRAWS)))
    attacked = list(estimates(everyone))
    tables: dict[str, Iterable[Any]] = {
        "scores": measured,
        "losses": lost,
        "parts": partial,
        "thresholds": moved,
        "attacks": attacked,
        "claims": claims(measured, attacked),
        "printed": printed(measured, lost, partial),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        write_csv(options.out / f"ppdtc45-{name}.csv", rows)
    draw_thresholds(options.out / "ppdtc45-thresholds.svg", moved)
    put(options.page, lines(measured))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Reproduce the experiments on learning from perturbed data.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds `adult`")
    parser.add_argument("--draws", type=int, default=20, help="of people and noise, for each kind of noise")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV files and the picture go")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "measurements/ppdtc45-on-adult.md", help="the page to bring up"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
