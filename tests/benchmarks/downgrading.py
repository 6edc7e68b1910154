"""Downgrading at full size: python tests/benchmarks/downgrading.py --root DIR [--write CSV].

DIR holds the folder `adult`. Hides the occupation of some people drawn at random, against all four adversaries; says
how long it takes, how that grows with the table, what it costs, and what it saves to keep trees whose records have not
changed. No time is asserted anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from leafgate.api import Column
from leafgate_plugins.downgrading.c45_missing import Node
from leafgate_plugins.downgrading.grid import Cells
from leafgate_plugins.downgrading.options import Conditioning, NaiveBayes, Restoration, TreeInference
from leafgate_plugins.downgrading.search import Objective, Search, search_cells_to_withhold
from timing import command

START, END = "<!-- downgrading -->", "<!-- /downgrading -->"
ADULT = "age workclass fnlwgt education education-num marital occupation relationship race sex gain loss hours country"
AGAINST = (TreeInference(), Conditioning(), NaiveBayes(), Restoration())
WORKS = ((500, 25), (1000, 50), (2000, 100))
"""People, and how many of their occupations are secret."""


class Forgetful(dict[tuple[object, ...], Node]):
    """Remembers no tree once it was taken out, and counts how many were grown."""

    grown = 0

    def __contains__(self, key: object) -> bool:
        return False

    def __setitem__(self, key: tuple[object, ...], tree: Node) -> None:
        self.grown += 1
        super().__setitem__(key, tree)


def adult(root: Path) -> pd.DataFrame:
    names = [*ADULT.split(), "income"]
    frame = pd.read_csv(root / "adult" / "adult.data", names=names, skipinitialspace=True)
    return frame[(frame != "?").all(axis=1)].drop(columns="fnlwgt")


def cells_of(frame: pd.DataFrame) -> Cells:
    """Every column private: texts by their values, numbers as they are."""
    columns, cells = [], []
    for name in frame:
        result = frame[name]
        if pd.api.types.is_numeric_dtype(result):
            columns.append(Column(str(name), frozenset({"private"}), bounds=(float(result.min()), float(result.max()))))
            cells.append(result.to_numpy(dtype=float))
        else:
            values = tuple(sorted(result.unique()))
            columns.append(Column(str(name), frozenset({"private"}), values=values))
            cells.append(pd.Categorical(result, categories=list(values)).codes.astype(np.int64))
    return Cells(tuple(columns), tuple(cells), np.ones(len(frame)))


def timed(frame: pd.DataFrame, secret: str, people: int, kept: Forgetful | None) -> tuple[float, Search, float]:
    """Seconds, the search, and the share of cells withheld among the other cells of the people concerned."""
    cells = cells_of(frame)
    protected = np.zeros(frame.shape, dtype=np.bool_)
    protected[np.random.default_rng(0).choice(len(frame), people, replace=False), list(frame).index(secret)] = True
    columns = frame.shape[1]
    aim = Objective(AGAINST, 0.7, 0.7, 0.05, np.ones(columns), np.ones(columns, dtype=np.bool_))
    start = time.perf_counter()
    search = search_cells_to_withhold(cells, protected, aim, kept)
    seconds = time.perf_counter() - start
    return seconds, search, float((search.hidden & ~protected).sum() / (people * (columns - 1)))


def rows(root: Path) -> Iterator[Sequence[str]]:
    whole = adult(root)
    for size, people in WORKS:
        frame = whole.sample(size, random_state=1)
        seconds, search, share = timed(frame, "occupation", people, None)
        forgetful = Forgetful()
        slow, _, _ = timed(frame, "occupation", people, forgetful)
        outcome = f"{len(search.given_up)} given up" if search.given_up else "all held"
        items = [f"{size:,}", str(people), f"{seconds:.1f} s", str(search.rounds), outcome, f"{100 * share:.1f} %"]
        yield [*items, f"{search.loss:+.3f}", f"{len(search.kept)} of {forgetful.grown}", f"{slow:.1f} s"]


def report(root: Path) -> str:
    """A table of all works."""
    head = ["people", "secret cells", "time", "rounds", "tau = rho = 0.7", "further cells", "loss F"]
    head += ["trees grown of asked for", "growing all"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows(root)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    command(report, START, END)
