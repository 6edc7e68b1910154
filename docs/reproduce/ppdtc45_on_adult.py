"""Reproduce the experiments on learning from perturbed data, and hold better ways against them.

    python docs/reproduce/ppdtc45_on_adult.py --root DIR [--draws N] [--out docs/results]
        [--page docs/measurements/ppdtc45-on-adult.md]

DIR holds the folder `adult`. Writes the tables as CSV and the picture to `--out`, and the measured part of the page.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ppdtc45_page import Findings, lines
from ppdtc45_parts import estimates, losses, parts, thresholds
from ppdtc45_picture import draw_thresholds
from ppdtc45_runs import draw, scores
from ppdtc45_setting import LAWS, read
from writing import put, write_csv

DOCS = Path(__file__).resolve().parents[1]
FIGURE_DRAWS = 5


def main() -> None:
    options = _options()
    found = find(options.root, options.draws)
    options.out.mkdir(parents=True, exist_ok=True)
    tables = {"scores": found.scores, "losses": found.losses, "parts": found.parts, "thresholds": found.thresholds}
    for name, rows in (tables | {"attacks": found.estimates}).items():
        write_csv(options.out / f"ppdtc45-{name}.csv", rows)
    draw_thresholds(options.out / "ppdtc45-thresholds.svg", found.thresholds)
    put(options.page, lines(found, "../results/ppdtc45-thresholds.svg"))


def find(root: Path, draws: int) -> Findings:
    """Everything that is measured, on so many draws of people and noise."""
    everyone, test = read(root)
    return Findings(
        [score for number in range(draws) for name in LAWS for score in scores(draw(name, number, everyone, test))],
        list(losses(everyone)),
        list(parts(everyone, test)),
        list(thresholds(everyone, test, min(draws, FIGURE_DRAWS))),
        list(estimates(everyone)),
    )


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
