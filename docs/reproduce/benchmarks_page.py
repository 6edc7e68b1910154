"""The measured part of docs/measurements/benchmarks.md: python docs/reproduce/benchmarks_page.py.

The scripts in tests/benchmarks measure, and keep what they print in docs/results/benchmarks.csv. The page has one table
with the rows that say most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from writing import put, read_rows, table

DOCS = Path(__file__).resolve().parents[1]
RESULTS = DOCS / "results" / "benchmarks.csv"
PAGE = DOCS / "measurements" / "benchmarks.md"


@dataclass(frozen=True)
class Cell:
    """A cell of a benchmark's table."""

    benchmark: str
    table: int
    row: int
    measure: str
    value: str


@dataclass(frozen=True)
class Shown:
    """A row of the page: which row of which benchmark, in which columns its seconds are, and what the peer is."""

    work: str
    benchmark: str
    table: int
    row: int
    ours: str = "leafgate (s)"
    theirs: str = ""
    peer: str = "-"


SCIKIT = "scikit-learn (s)"
APPLY = "scikit-learn apply (s)"
SHOWN = (
    Shown("grow a kADET tree, 30,162 people", "speed", 1, 1, theirs=SCIKIT, peer="scikit-learn tree"),
    Shown("the same, 1,000,000 people drawn", "speed", 1, 3, theirs=SCIKIT, peer="scikit-learn tree"),
    Shown("link 1,000,000 different people with a tree", "speed", 2, 3, theirs=APPLY, peer="scikit-learn apply"),
    Shown("link 100,000 different people with 100 trees", "models", 1, 1, theirs=APPLY, peer="scikit-learn apply"),
    Shown("six group metrics, 1,000,000 rows", "diversity", 2, 7, "from rows (s)", "pyCANON (s)", "pyCANON"),
    Shown("read a forest of 1,000,500 nodes", "models", 2, 3, "read and checked (s)"),
    Shown("MaxEnt, counts", "maxent", 1, 1, "seconds"),
    Shown("MaxEnt, error rates and choices", "maxent", 1, 8, "seconds"),
    Shown("64 private trees with scores", "dp", 1, 3, theirs="ExtraTrees (s)", peer="ExtraTrees"),
    Shown("learn from shared numbers, `deconvolved`", "ppdtc45", 1, 3, theirs="c45 (s)", peer="`c45`"),
    Shown("reconstruct 1,000,000 shared ages", "reconstruction", 1, 5, theirs=SCIKIT, peer="scikit-learn tree"),
    Shown("`leafgate --help`", "speed", 4, 1, theirs="import pandas (s)", peer="importing pandas"),
)


def lines(cells: Sequence[Cell]) -> Iterator[str]:
    """The table of the page."""
    found = {(cell.benchmark, cell.table, cell.row, cell.measure): cell.value for cell in cells}

    def value(shown: Shown, measure: str) -> str:
        return found[shown.benchmark, shown.table, shown.row, measure] if measure else "-"

    body = ([each.work, value(each, each.ours), value(each, each.theirs), each.peer] for each in SHOWN)
    yield from table(("work", "leafgate (s)", "peer (s)", "peer"), body, "lrrl")


if __name__ == "__main__":
    put(PAGE, lines(read_rows(RESULTS, Cell)))
