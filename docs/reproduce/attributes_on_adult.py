"""Attribute inference on scikit-learn's models of Adult and two further data sets, and on kADET's trees of Adult.

    python docs/reproduce/attributes_on_adult.py --root DIR [--data ...] [--models ...] [--peers]

DIR holds the folders `adult`, `default_credit_card_clients` and `nursery`. A model is fitted on some people, saved as a
skops file, and attacked by a policy beside as many people whom it has never seen. With --peers ART and SACRO-ML attack
the same file and people; the page lists what must be installed. What is in docs/results/attributes.csv already is not
run again; the measured part of the page is written anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from attributes_kadet import KADET, audited
from attributes_setting import DATA, MODELS, OWN, PEERS, PEOPLE, Attacks, Draw, Row, attacked
from peer_attacks import peers_beside
from writing import put, read_rows, signed, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
NAMES = {"adult": "Adult", "credit": "clients", "nursery": "Nursery"}


def main() -> None:
    options = _options()
    results = options.out / "attributes.csv"
    rows = read_rows(results, Row) if results.exists() else []
    wanted = {**OWN, **(PEERS if options.peers else {})}
    for data in options.data:
        draw = Draw.of(data, options.root)
        models = [*options.models, *([KADET] if data == "adult" else [])]
        for model in models:
            attacks = _unmeasured(rows, data, model, wanted)
            if attacks:
                rows += audited(draw) if model == KADET else attacked(draw, model, attacks)
                write_csv(results, rows)
                print(data, model, flush=True)
    put(options.page, lines(rows))


def _unmeasured(rows: Sequence[Row], data: str, model: str, wanted: Attacks) -> Attacks:
    """The attacks on a model of which nothing is in `rows`; all of them, or none, of kADET's trees."""
    done = {row.attack for row in rows if (row.data, row.model) == (data, model)}
    return {} if model == KADET and done else {name: options for name, options in wanted.items() if name not in done}


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The measured part of the page: for each model the largest leak, and the share of people with a proved value."""
    columns = [(data, cell) for cell in (_leak, _proved) for data in NAMES]
    head = ("model", *(f"{NAMES[data]}: {HEADS[cell]}" for data, cell in columns))
    body = [[model, *(cell(_of(rows, data, model), data) for data, cell in columns)] for model in MODELS]
    yield from table(head, body, "l" + "r" * len(columns))


def _of(rows: Sequence[Row], data: str, model: str) -> list[Row]:
    return [row for row in rows if (row.data, row.model) == (data, model)]


def _leak(rows: Sequence[Row], data: str) -> str:
    """The largest leak of one of leafgate's attacks, in points of a hundred."""
    leaks = [row.leak for row in rows if row.leak is not None and row.attack in OWN]
    return signed(100 * max(leaks)) if leaks else "-"


def _proved(rows: Sequence[Row], data: str) -> str:
    """The share of the people in the table whose value follows from the leaves."""
    certain = [row.certain for row in rows if row.attack == "leaf_constraints" and row.certain is not None]
    return f"{100 * certain[0] / PEOPLE[data]:.0f} %" if certain else "-"


HEADS = {_leak: "leak", _proved: "proved"}


def _options(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Attribute inference on Adult and two further data sets.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds the data sets' folders")
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--peers", action="store_true", help="run ART's and SACRO-ML's attacks too")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV file goes")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "measurements/attributes-on-adult.md", help="the page to bring up to date"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    with peers_beside():
        main()
