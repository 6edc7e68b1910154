"""Membership inference on scikit-learn's models of Adult and of credit card clients.

    python docs/reproduce/membership_on_adult.py --root DIR [--targets 8] [--models ...] [--data ...] [--peers]

DIR holds the folders `adult` and `default_credit_card_clients`. Of each data set 10,000 people are drawn; a target is a
model of one half of them, saved as a skops file, and the other half is the control. leafgate attacks the file by a
policy, in a folder of its own that is removed again. With --peers SACRO-ML and ART attack the same file and candidates:
the page lists what must be installed. What is in docs/results/membership.csv already is not run again; the measured
part of the page is written anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path

from membership_page import lines
from membership_setting import DATA, DP, MODELS, OWN, PEERS, Attacks, Draw, Row, attacked
from peer_attacks import peers_beside
from writing import put, read_rows, write_csv

Case = tuple[str, str, int]
"""A data set, a model and the number of the target."""
DOCS = Path(__file__).resolve().parents[1]


def main() -> None:
    options = _options()
    results = options.out / "membership.csv"
    rows = read_rows(results, Row) if results.exists() else []
    for (data, model, target), attacks in unmeasured(options, rows):
        rows += attacked(people(data, options.root), model, target, attacks)
        write_csv(results, rows)
        print(data, model, target, flush=True)
    put(options.page, lines(rows))


def unmeasured(options: argparse.Namespace, rows: Sequence[Row]) -> list[tuple[Case, Attacks]]:
    """The targets, and the attacks on each of them, of which nothing is in `rows`."""
    done = {(row.data, row.model, row.target, row.attack) for row in rows}
    wanted = {**OWN, **(PEERS if options.peers else {})}
    cases: list[Case] = list(product(options.data, options.models, range(options.targets)))
    asked = [
        (case, {name: wanted[name] for name in wanted if name in options.attacks and (*case, name) not in done})
        for case in cases
    ]
    return [(case, attacks) for case, attacks in asked if attacks]


@cache
def people(data: str, root: Path) -> Draw:
    """The people of a data set, read once."""
    return Draw.of(data, root)


def _options(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Membership inference on Adult and on credit card clients.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds the data sets' folders")
    parser.add_argument("--targets", type=int, default=8, help="how many models of each kind are attacked")
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--models", nargs="+", choices=[*MODELS, DP], default=[*MODELS, DP])
    parser.add_argument("--attacks", nargs="+", choices=[*OWN, *PEERS], default=[*OWN, *PEERS])
    parser.add_argument("--peers", action="store_true", help="run SACRO-ML's and ART's attacks too")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV file goes")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "measurements/membership-on-adult.md", help="the page to bring up to date"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    with peers_beside():
        main()
