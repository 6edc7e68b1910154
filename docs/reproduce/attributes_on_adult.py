"""Attribute inference on scikit-learn's models of Adult and two further data sets, and on kADET's trees of Adult.

    python docs/reproduce/attributes_on_adult.py --root DIR [--data ...] [--models ...] [--peers]

DIR holds the folders `adult`, `default_credit_card_clients` and `nursery`. A model is fitted on some people, saved as a
skops file, and attacked by a policy beside as many people whom it has never seen. With --peers ART and SACRO-ML attack
the same file and people: "leafgate[sacroml,art]" must be installed. What is in docs/results/attributes.csv already is
not run again; the measured part of the page is written anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from attributes_kadet import KADET, audited
from attributes_setting import DATA, MODELS, OWN, PEERS, Attacks, Draw, Row, attacked
from writing import fixed, put, read_rows, section, signed, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
NAMES = {
    "adult": "Adult: married or not",
    "credit": "Credit card clients: married or not",
    "nursery": "Nursery: the family's health, of three values",
}


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
    """The measured part of the page."""
    for data, name in NAMES.items():
        here = [row for row in rows if row.data == data and row.model in MODELS]
        if here:
            yield from section(name, four_columns(here))
    yield from section("What leaves prove", proofs(rows))
    yield from section("Every attack", everything(rows))
    if any(row.model == KADET for row in rows):
        yield from section("Trees built by kADET", kadet(rows))


def four_columns(rows: Sequence[Row]) -> Iterator[str]:
    """Of each model the attack with the largest gain over imputation, in four columns, and both leaks."""
    head = ("model", "attack", "prior", "imputation", "attack", "attack on control", "leak", "leak beyond control")
    yield from table(head, (_best(list(each)) for _, each in groupby(rows, key=lambda row: row.model)), "llrrrrrr")


def _best(rows: Sequence[Row]) -> list[str]:
    own = [row for row in rows if row.leak is not None and row.attack in OWN]
    best = max(own, key=lambda row: row.leak or 0)
    numbers = (best.prior, best.imputed, best.attacked, best.attacked_control)
    leaks = (_leak(best.leak, best.leak_low, best.leak_high), _leak(best.gap, best.gap_low, best.gap_high))
    return [best.model, best.attack, *(fixed(number, 3) for number in numbers), *leaks]


def _leak(value: float | None, low: float | None, high: float | None) -> str:
    """A leak in points of a hundred, with its interval."""
    if value is None or low is None or high is None:
        return "-"
    return f"{signed(100 * value)} ({signed(100 * low)} to {signed(100 * high)})"


def proofs(rows: Sequence[Row]) -> Iterator[str]:
    """How many people's values are certain, and what the same proof is worth for people of the control."""
    head = ("data", "model", "certain", "of them wrong", "control people with a proof", "right for")
    body = [
        (_short(row), row.model, str(row.certain), str(row.wrong), str(row.control_proofs), _right(row))
        for row in rows
        if row.attack == "leaf_constraints" and row.certain is not None and row.model in MODELS
    ]
    yield from table(head, body, "llrrrr")


def _short(row: Row) -> str:
    """The data set's name without the secret."""
    return NAMES[row.data].split(":")[0]


def _right(row: Row) -> str:
    return "-" if not row.control_proofs else f"{100 * (row.control_right or 0) / row.control_proofs:.1f} %"


def everything(rows: Sequence[Row]) -> Iterator[str]:
    """Every attack on every model."""
    head = (
        *("data", "model", "attack", "imputation", "attack", "on control", "leak", "leak beyond control"),
        *("PPV of 100 surest", "that of imputation", "MCC", "that of imputation", "seconds"),
    )
    body = [
        [
            *(_short(row), row.model, row.attack),
            *(fixed(number, 3) for number in (row.imputed, row.attacked, row.attacked_control)),
            _leak(row.leak, row.leak_low, row.leak_high),
            _leak(row.gap, row.gap_low, row.gap_high),
            *(fixed(number, 3) for number in (row.ppv, row.ppv_imputed, row.mcc, row.mcc_imputed)),
            fixed(row.seconds, 1),
        ]
        for row in rows
        if row.model in MODELS
    ]
    yield from table(head, body, "lllrrrrrrrrrr")


def kadet(rows: Sequence[Row]) -> Iterator[str]:
    """Who is certain of kADET's trees, by what the adversary knows."""
    head = ("tree, adversary", "attack", "certain", "of them wrong", "leak", "leak beyond control")
    body = [
        [
            row.attack,
            "leaf_constraints",
            str(row.certain),
            str(row.wrong),
            _leak(row.leak, row.leak_low, row.leak_high),
            _leak(row.gap, row.gap_low, row.gap_high),
        ]
        for row in rows
        if row.model == KADET
    ]
    yield from table(head, body, "llrrrr")


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
    main()
