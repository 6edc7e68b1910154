"""Reproduce section 5 of the MaxEnt paper on Adult, and ask what anonymity and knowledge change.

    python docs/reproduce/maxent_on_adult.py --root DIR \
        [--out docs/results] [--page docs/measurements/maxent-on-adult.md]

DIR holds the folder `adult` with the UCI files. Attacks trees that tell education (policies/adult-education.yaml),
each in a process of its own; then kADET's releases; then sweeps over what the adversary knows. Writes the
tables as CSV and the pictures to `--out`, and the measured part of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from maxent_claims import claims
from maxent_findings import LEVELS, MEASURES, Findings, find
from maxent_page import lines
from maxent_pictures import draw, draw_knowledge
from maxent_rows import cost, line
from writing import put, write_csv

DOCS = Path(__file__).resolve().parents[1]


def main() -> None:
    options = _options()
    found = find(options.root)
    options.out.mkdir(parents=True, exist_ok=True)
    write(options.out, found)
    put(options.page, lines([line(each) for each in found.attacks]))


def write(out: Path, found: Findings) -> None:
    """The CSV files and the pictures."""
    pairs = [(measure, level) for level in LEVELS[1:] for measure in MEASURES]
    tables: dict[str, Iterable[Any]] = {
        "runs": map(line, found.attacks),
        "costs": map(cost, found.attacks),
        "top": (top for measure, level in pairs for top in found.top(measure, level)),
        "averages": (mean for measure, level in pairs for mean in found.averages(measure, level)),
        "claims": claims(found),
        "kadet": found.holds,
        "people": found.people,
        "facts": found.facts,
    }
    for name, rows in tables.items():
        write_csv(out / f"maxent-adult-{name}.csv", rows)
    draw(out / "maxent-adult.svg", found)
    draw_knowledge(out / "maxent-adult-knowledge.svg", found)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Reproduce section 5 of the MaxEnt paper on Adult.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds `adult`")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV files and the pictures go")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "measurements/maxent-on-adult.md", help="the page to bring up to date"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
