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
from repair_use_judgement import METHODS, Cell, Difference, OverCells, judged
from repair_use_methods import (
    ANY,
    CONSTANT,
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
from writing import count, fixed, put, read_rows, section, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
SPLITS = 10
WORKERS = 2
REPAIR_SECONDS = 6.0
"""How long one repair may take."""
NAMES = {GIVEN: "given", REPAIR: "repair", KADET: "kADET", REFIT: "best refit", CONSTANT: "constant"}
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
    """The measured part of the page."""
    cells, over = judged(rows)
    yield from section("What holds", verdicts(cells, over))
    for data in dict.fromkeys(cell.data for cell in cells):
        for policy in dict.fromkeys(cell.policy for cell in cells if cell.data == data):
            here = [cell for cell in cells if (cell.data, cell.policy) == (data, policy)]
            yield from section(f"{DATA[data].name}, `{policy}`", areas(here))
    yield from section("Seconds", seconds(cells))


def verdicts(cells: Sequence[Cell], over: Sequence[OverCells]) -> Iterator[str]:
    """How many cells fail and which, and the mean differences of the data sets."""
    known = [cell for cell in cells if cell.is_judged]
    splits = sorted({len(cell.rows[REPAIR]) for cell in cells})
    words = " to ".join(str(each) for each in dict.fromkeys((splits[0], splits[-1]))) if splits else "no"
    yield f"Of {len(cells)} cells, of {words} split(s) each, {len(known)} can be judged: it takes two splits."
    yield f"Of these, {sum(cell.fails for cell in known)} fail.\n"
    body = []
    for policy in POLICIES:
        for kind in KINDS:
            here = [cell for cell in known if (cell.policy, cell.kind) == (policy, kind)]
            names = ", ".join(DATA[cell.data].name for cell in here if cell.fails)
            if here:
                body.append([f"`{policy}`", KINDS[kind].name, str(len(here)), names or "none"])
    yield from table(("policy", "model", "data sets judged", "cells that fail"), body, "llrl")
    yield ""
    body = [
        [
            *(DATA[each.data].name, NAMES[each.other], _signed(each.difference.mean)),
            *(_bound(each.difference.low), _judgement(each.fails, each.difference)),
        ]
        for each in over
    ]
    yield from table(("data", "repair less", "mean over its cells", "lower bound", "holds"), body, "llrrl")


def areas(cells: Sequence[Cell]) -> Iterator[str]:
    """Mean areas and differences of cells, then balanced accuracies and sizes."""
    constant = cells[0].rows[CONSTANT]
    passing = sum(row.passes == "yes" for row in constant)
    yield f"The constant has the area 0.500, and passes in {passing} of {len(constant)} split(s).\n"
    methods = (GIVEN, REPAIR, KADET, REFIT)
    yield from table(
        (
            *("model", *(f"{NAMES[each]}: area, passes" for each in methods)),
            *("less kADET", "less best refit", "less constant", "holds"),
        ),
        (
            [
                *(KINDS[cell.kind].name, *(_area(cell.rows[each]) for each in methods)),
                *(_interval(cell.differences[each]) for each in (KADET, REFIT, CONSTANT)),
                _judgement(cell.fails, cell.differences[KADET]),
            ]
            for cell in cells
        ),
        "lrrrrrrrl",
    )
    yield ""
    yield from table(
        (
            *("model", *(f"{NAMES[each]}: balanced accuracy" for each in methods)),
            *(f"{NAMES[each]}: trees, leaves" for each in methods),
        ),
        (
            [
                *(KINDS[cell.kind].name, *(fixed(_mean([row.balanced for row in cell.rows[m]]), 3) for m in methods)),
                *(_size(cell.rows[method]) for method in methods),
            ]
            for cell in cells
        ),
        "lrrrrrrrr",
    )


def seconds(cells: Sequence[Cell]) -> Iterator[str]:
    """The mean seconds of each method by the kind of models, over all cells."""
    methods = [method for method in METHODS if method != CONSTANT]
    body = []
    for kind in KINDS:
        here = [cell for cell in cells if cell.kind == kind]
        if here:
            spent = ([row.seconds for cell in here for row in cell.rows[method]] for method in methods)
            body.append([KINDS[kind].name, *(fixed(_mean(some), 1) for some in spent)])
    yield from table(("model", *(f"{NAMES[method]}: seconds" for method in methods)), body, "lrrrr")


def _mean(numbers: Sequence[float]) -> float:
    return float(np.mean(numbers))


def _area(rows: Sequence[Row]) -> str:
    passing = sum(row.passes == "yes" for row in rows)
    return f"{fixed(_mean([row.auc for row in rows]), 3)}, {passing} of {len(rows)}"


def _size(rows: Sequence[Row]) -> str:
    """The median numbers of trees and leaves where there is a model."""
    some = [(row.trees, row.leaves) for row in rows if row.trees is not None and row.leaves is not None]
    if not some:
        return "nothing passes"
    return ", ".join(count(int(np.median(each))) for each in zip(*some, strict=True))


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")


def _bound(value: float) -> str:
    return _signed(value) if np.isfinite(value) else "-"


def _interval(difference: Difference) -> str:
    return f"{_signed(difference.mean)} ({_bound(difference.low)} to {_bound(difference.high)})"


def _judgement(fails: bool, difference: Difference) -> str:
    return "-" if not np.isfinite(difference.low) else "**fails**" if fails else "yes"


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
