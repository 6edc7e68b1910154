"""A leader board of attacks: leafgate's, SACRO-ML's and ART's on six kinds of models of three tables.

    OMP_NUM_THREADS=1 python docs/reproduce/leader_board.py --root DIR [--data ...] [--models ...]

DIR holds the folders `adult`, `default_credit_card_clients` and `german_credit`. Models, seeds and parameters are those
of leader_board_setting.py. Rows are written to docs/results/leader-board.csv as they come, and the measured part of the
page is written anew. With `--data`, `--models` or `--tables` only their rows are measured anew, the others stay.
SACRO-ML and ART have no rows of numbers where they are not installed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from leader_board_runs import attacked, load_peers
from leader_board_setting import DATA, MODELS, TABLES, Draw, Row
from peer_attacks import peers_beside
from writing import MINUS, count, fixed, put, read_rows, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
PAGE = "measurements/leader-board.md"
CONTENDERS = ("leafgate", "SACRO-ML", "ART")
"""The libraries whose attacks are compared."""


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    if os.environ.get("OMP_NUM_THREADS") != "1":
        raise SystemExit("set OMP_NUM_THREADS=1: attacks run in forked processes, which lack the threads of this one")
    load_peers()
    results = options.out / "leader-board.csv"
    rows = read_rows(results, Row) if results.exists() else []
    for data in options.data:
        draw = Draw.of(data, options.root)
        for model in options.models:
            anew = [
                row
                for row in rows
                if (row.data, row.model) == (data, model) and (row.attack in TABLES or not options.tables)
            ]
            at = rows.index(anew[0]) if anew else len(rows)
            rows = [row for row in rows if row not in anew]
            for row in attacked(draw, model, tables_alone=options.tables):
                rows.insert(at, row)
                at += 1
                write_csv(results, in_order(rows))
                print(data, model, row.attack, row.reason or "done", flush=True)
    put(options.page, lines(read_rows(results, Row)))


def in_order(rows: Iterable[Row]) -> list[Row]:
    """By table and model, as they are listed in the script; the attacks on a model stay in their order."""
    return sorted(rows, key=lambda row: (list(DATA).index(row.data), list(MODELS).index(row.model)))


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The measured part of the page."""
    head = ["table", "model", *CONTENDERS, "secrets proved", "outsiders proved", "cells: right, proved"]
    body = [
        [DATA[data][0], model, *beside([row for row in rows if (row.data, row.model) == (data, model)])]
        for data in DATA
        for model in MODELS
        if any((row.data, row.model) == (data, model) for row in rows)
    ]
    yield from table(head, body, "ll" + "r" * (len(head) - 2))
    yield ""
    yield f"Versions: {', '.join(versions(rows))}."


def beside(rows: Sequence[Row]) -> list[str]:
    """The cells of one model: the best AUC and TPR of each library, what leafgate proves, and what it rebuilds."""
    areas = [best(rows, library, "auc") for library in CONTENDERS]
    rates = [best(rows, library, "tpr") for library in CONTENDERS]
    cells = [f"{bold(area, areas, 1, 3)}, {bold(rate, rates, 100, 1)}" for area, rate in zip(areas, rates, strict=True)]
    by_attack = {row.attack: row for row in rows}
    rebuilt = by_attack["rebuild"]
    proofs = [count(by_attack[attack].proved) for attack in ("leaf_constraints", "leaf_exclusion")]
    if rebuilt.right is None or rebuilt.baseline is None:
        return [*cells, *proofs, "-"]
    proved = "-" if rebuilt.proved_cells is None else f"{100 * rebuilt.proved_cells:.0f} %"
    beyond = f"{100 * (rebuilt.right - rebuilt.baseline):+.1f}".replace("-", MINUS)
    return [*cells, *proofs, f"{beyond}, {proved}"]


def best(rows: Iterable[Row], library: str, number: str) -> float | None:
    """The highest number of any attack of a library; None where no attack has one."""
    found = [getattr(row, number) for row in rows if row.library == library]
    return max((each for each in found if each is not None), default=None)


def bold(value: float | None, among: Sequence[float | None], factor: int, decimals: int) -> str:
    """A number, bold where none of the others is higher as they are written; with a factor of 100 in per cent."""
    if value is None:
        return "-"
    text, unit = fixed(factor * value, decimals), " %" if factor == 100 else ""
    highest = max(float(fixed(factor * each, decimals)) for each in among if each is not None)
    return f"**{text}{unit}**" if float(text) == highest else f"{text}{unit}"


def versions(rows: Iterable[Row]) -> list[str]:
    """The libraries whose attacks were run, and those that fitted the models."""
    every = [row.library_version for row in rows], [row.model_version for row in rows]
    return list(dict.fromkeys(name for names in every for name in names if name))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A leader board of attacks on six kinds of models of three tables.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds `adult` and the others")
    parser.add_argument("--data", nargs="*", choices=list(DATA), default=list(DATA), help="these tables alone")
    parser.add_argument("--models", nargs="*", choices=list(MODELS), default=list(MODELS), help="these models alone")
    parser.add_argument("--tables", action="store_true", help="run what rebuilds tables and links people alone")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV file goes")
    parser.add_argument("--page", type=Path, default=DOCS / PAGE, help="the page to bring up to date")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    with peers_beside():
        main()
