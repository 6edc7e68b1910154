"""Is a repaired model of use? Eight kinds of models on six data sets under two policies, beside what else passes.

    pip install ".[sklearn,xgboost,lightgbm]"
    python docs/reproduce/repair_use.py [--root DIR] [--data ...] [--models ...] [--policies ...] [--splits 10]

DIR, by default LEAFGATE_DATA, holds the folders `adult`, `default_credit_card_clients`, `lendingclub` and `nursery`.
What is in docs/results/repair-use.csv already is not run again, unless `--again` names its method; the measured part of
docs/measurements/repair-use.md is written anew. All of it takes less than two hours in two processes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from repair_use_data import DATA, KINDS, POLICIES, Sizes
from repair_use_judgement import METHODS, judged
from repair_use_methods import (
    ANY,
    GIVEN,
    KADET,
    OF_MODEL,
    REFIT,
    REPAIR,
    SHARED,
    Row,
    Task,
    measured,
    methods_of,
)
from writing import fixed, put, read_rows, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
SPLITS = 10
WORKERS = 2
REPAIR_SECONDS = 6.0
"""How long one repair may take."""
NAMES = {GIVEN: "given", REPAIR: "repair", KADET: "kADET", REFIT: "best refit"}
"""What methods are called on the page."""


def main() -> None:
    options = _options()
    results = options.out / "repair-use.csv"
    rows = [row for row in _rows_in(results) if not _is_again(row, options)]
    tasks, broken = list(_tasks(rows, options)), list[str]()
    os.environ["OMP_NUM_THREADS"] = "1"  # of the workers, which import the libraries anew
    with ProcessPoolExecutor(options.workers, multiprocessing.get_context("spawn")) as pool:
        sizes = Sizes(*options.people)
        running = {pool.submit(measured, task, options.root, sizes, options.time_limit): task for task in tasks}
        for number, future in enumerate(as_completed(running), 1):
            task, error = running[future], future.exception()
            if error is None:
                rows = sorted([*rows, *future.result()], key=_place)
                write_csv(results, rows)
            else:
                broken.append(f"{task}: {error!r}")
            print(f"{number} of {len(tasks)}:", task.data, task.policy, task.split, task.kind, flush=True)
    put(options.page, lines(_rows_in(results)))
    if broken:
        raise SystemExit("\n".join(["these broke off, and are tried again by the next run:", *broken]))


def _is_again(row: Row, options: argparse.Namespace) -> bool:
    """Is it to be measured anew?"""
    chosen = row.data in options.data and row.policy in options.policies and row.split < options.splits
    return chosen and row.kind in {ANY, *options.models} and row.method in options.again


def _rows_in(file: Path) -> list[Row]:
    return read_rows(file, Row) if file.exists() else []


def _tasks(rows: Sequence[Row], options: argparse.Namespace) -> Iterator[Task]:
    """What is not measured yet, one split after another."""
    done = {(row.data, row.policy, row.split, row.kind, row.method) for row in rows}
    for split in range(options.splits):
        for data in options.data:
            for policy in options.policies:
                for kind in (ANY, *options.models):
                    methods = [each for each in methods_of(kind) if (data, policy, split, kind, each) not in done]
                    if methods:
                        yield Task(data, policy, split, kind, tuple(methods))


def _place(row: Row) -> tuple[int, ...]:
    """Where a row stands in the results."""
    kinds, methods = [ANY, *KINDS], [*SHARED, *OF_MODEL]
    places = (list(DATA).index(row.data), list(POLICIES).index(row.policy))
    return (*places, kinds.index(row.kind), methods.index(row.method), row.split)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The measured part of the page: for each data set the mean areas over its cells, and the bounds of differences."""
    cells, over = judged(rows)
    methods = (GIVEN, REPAIR, KADET, REFIT)
    head = (
        *("data set", *(NAMES[each] for each in methods)),
        *(f"repair less {NAMES[each]}, at least" for each in (KADET, REFIT)),
    )
    body = []
    for data in dict.fromkeys(cell.data for cell in cells):
        here = [cell for cell in cells if cell.data == data]
        areas = [fixed(_mean([row.auc for cell in here for row in cell.rows[each]]), 3) for each in methods]
        lows = [_signed(each.difference.low) for each in over if each.data == data]
        body.append([DATA[data].name, *areas, *lows])
    yield from table(head, body, "lrrrrrr")
    yield ""
    known = [cell for cell in cells if cell.is_judged]
    yield f"Of {len(known)} cells {sum(cell.fails for cell in known)} fail."


def _mean(numbers: Sequence[float]) -> float:
    return float(np.mean(numbers))


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "\N{MINUS SIGN}") if np.isfinite(value) else "-"


def _options(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Is a repaired model of use?")
    root = os.environ.get("LEAFGATE_DATA")
    parser.add_argument("--root", type=Path, default=root, required=root is None, help="the folder of the data sets")
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--models", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--policies", nargs="+", choices=list(POLICIES), default=list(POLICIES))
    parser.add_argument("--splits", type=int, default=SPLITS, help="how many splits of each data set")
    parser.add_argument("--workers", type=int, default=WORKERS, help="how many processes")
    parser.add_argument("--time-limit", type=float, default=REPAIR_SECONDS, help="seconds that one repair may take")
    parser.add_argument("--again", nargs="+", choices=METHODS, default=[], help="methods that are measured anew")
    sizes = Sizes()
    parser.add_argument(
        "--people",
        type=int,
        nargs=3,
        metavar=("TABLE", "TEST", "EVALUATION"),
        default=[sizes.table, sizes.test, sizes.evaluation],
        help="how many people of a split are learned from, in data.test, and seen by no method",
    )
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV file goes")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "measurements/repair-use.md", help="the page to bring up to date"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
