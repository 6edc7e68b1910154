"""How often each interval that an audit prints misses the true value, under seven laws and with samples of three sizes.

    python docs/reproduce/interval_coverage.py [--runs 10000] [--parts ...] [--out DIR] [--page FILE]

Nothing but random numbers is needed. Every cell is written to docs/results/interval-coverage.csv, and the measured part
of the page anew; with `--parts` the cells of the other parts stay as they are. The exit code is 1 where a cell fails:
Clopper and Pearson's lower bound of its miss rate, jointly for all cells at .001, is above what is stated.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from interval_coverage_attributes import LEAKS, PROOFS, leak_misses, proof_misses
from interval_coverage_attributes import SIZES as TARGETS
from interval_coverage_cells import ERROR, Cell, Miss
from interval_coverage_distinguish import ALARMS, CANARIES, alarm_misses, canary_misses
from interval_coverage_distinguish import SIZES as RUNS
from interval_coverage_membership import (
    EXCLUSIONS,
    IDENTIFICATIONS,
    SCORES,
    exclusion_misses,
    identification_misses,
    score_misses,
)
from interval_coverage_membership import SIZES as CANDIDATES
from writing import put, read_rows, section, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
PAGE = "measurements/interval-coverage.md"
RESULTS = "interval-coverage.csv"
SIZE_NAMES = ("small", "middle", "large")


@dataclass(frozen=True)
class Simulation:
    """Laws and sizes of samples, and what draws one sample and yields which intervals miss."""

    laws: Mapping[str, Any]
    sizes: Sequence[Any]
    misses: Callable[[Any, Any, np.random.Generator], Iterator[Miss]]


SIMULATIONS: Mapping[str, Simulation] = {
    "scores": Simulation(SCORES, CANDIDATES, score_misses),
    "exclusions": Simulation(EXCLUSIONS, CANDIDATES, exclusion_misses),
    "identifications": Simulation(IDENTIFICATIONS, CANDIDATES, identification_misses),
    "leaks": Simulation(LEAKS, TARGETS, leak_misses),
    "proofs": Simulation(PROOFS, TARGETS, proof_misses),
    "many_runs": Simulation(ALARMS, RUNS, alarm_misses),
    "one_run": Simulation(CANARIES, RUNS, canary_misses),
}


def cells_of(simulation: Simulation, law: str, size: int, runs: int) -> Iterator[Cell]:
    """The cells of one law and one size, by so many runs."""
    missed: Counter[str] = Counter()
    rng = np.random.default_rng([crc32(f"{simulation.misses.__name__} {law}".encode()), size])
    for _ in range(runs):
        for interval, miss in simulation.misses(simulation.laws[law], simulation.sizes[size], rng):
            missed[interval] += int(miss)
    for interval, misses in missed.items():
        yield Cell(interval, law, SIZE_NAMES[size], ERROR, runs, misses)


def simulated(part: str, runs: int) -> Iterator[Cell]:
    """The cells of one part."""
    for law in SIMULATIONS[part].laws:
        for size in range(len(SIZE_NAMES)):
            yield from cells_of(SIMULATIONS[part], law, size, runs)


def updated(cells: Sequence[Cell], new: Sequence[Cell]) -> list[Cell]:
    """The cells with those of a part replaced, intervals in alphabetical order."""
    names = {cell.interval for cell in new}
    return sorted([*(cell for cell in cells if cell.interval not in names), *new], key=lambda cell: cell.interval)


def lines(cells: Sequence[Cell]) -> Iterator[str]:
    """The measured part of the page."""
    failed = [cell for cell in cells if cell.fails(len(cells))]
    runs = min(cell.runs for cell in cells)
    yield f"Of {len(cells)} cells of {runs:,} runs {len(failed)} fail.\n"
    body = []
    for name in dict.fromkeys(cell.interval for cell in cells):
        worst = max(cell.rate for cell in cells if cell.interval == name)
        metric, _, rest = name.partition(" ")
        body.append([f"`{metric}` {rest}".strip(), _percent(worst)])
    yield from table(["interval", "largest miss rate"], body, "lr")
    if failed:
        yield ""
        body = [[cell.interval, cell.law, cell.sizes, _percent(cell.rate)] for cell in failed]
        yield from section("Cells that fail", table(["interval", "law", "size", "missed"], body, "lllr"))


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    results = options.out / RESULTS
    options.out.mkdir(parents=True, exist_ok=True)
    cells = read_rows(results, Cell) if results.exists() else []
    for part in options.parts:
        cells = updated(cells, list(simulated(part, options.runs)))
        write_csv(results, cells)
        print(part, flush=True)
    put(options.page, lines(cells))
    print("\n".join(lines(cells)))
    return int(any(cell.fails(len(cells)) for cell in cells))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How often each interval that an audit prints misses the true value.")
    parser.add_argument("--runs", type=int, default=10_000, help="samples drawn for each law and size")
    parser.add_argument(
        "--parts", nargs="*", choices=list(SIMULATIONS), default=list(SIMULATIONS), help="these parts alone"
    )
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV file goes")
    parser.add_argument("--page", type=Path, default=DOCS / PAGE, help="the page to bring up to date")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
