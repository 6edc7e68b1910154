"""How many near-copies in a control the test sees, and how many controls of other people it refuses.

    python docs/reproduce/near_copies.py --root DIR [--tables ...] [--out DIR] [--page FILE]

DIR holds the folders `adult`, `default_credit_card_clients`, `german_credit` and `nursery`.
The table is written to docs/results/near-copies.csv, and the measured part of the page is written anew. With `--tables`
the rows of the other tables stay as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from data_sets import german, nursery
from leafgate.algorithms.near_copies import near_copies
from leafgate.api import Column, Schema, Table, make_table
from membership_setting import adult, credit
from writing import put, read_rows, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
PAGE = "measurements/how-the-audit-is-tested.md"
DATA: Mapping[str, tuple[str, Callable[[Path], tuple[pd.DataFrame, str]]]] = {
    "adult": ("Adult", adult),
    "credit": ("Credit card clients", credit),
    "german": ("German credit", german),
    "nursery": ("Nursery", nursery),
}
PEOPLE = 1_000
"""People of the table, and as many of the control; half of the file where that has fewer than twice as many."""
HONEST = 150
"""Random splits, and as many that are stratified by the class."""
SHIFTED = 50
"""Controls of another population."""
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
REPETITIONS = 5
"""Controls with each share of each kind of copies."""
CENT = "a hundredth of its deviation more in one number"
JITTER = "all numbers up to 1 % more or less"
ROUNDED = "all numbers rounded to a tenth of their deviation"
SHIFT = "one column changed for everybody"
COPIES = (CENT, JITTER, ROUNDED, SHIFT)
SPLIT, STRATIFIED, OTHERS = "random split", "stratified by the class", "another population"


@dataclass(frozen=True)
class Row:
    """Controls of one kind: `share` of them are copies, `stated` is what the finding states (None: none is seen)."""

    data: str
    kind: str
    share: float
    stated: float | None
    controls: int
    found: int


@dataclass(frozen=True)
class People:
    """The people of a file, and their schema."""

    cells: pd.DataFrame
    schema: Schema

    @staticmethod
    def of(data: str, root: Path) -> People:
        cells, target = DATA[data][1](root)
        columns = []
        for name in cells.columns:
            roles = frozenset({"class"} if name == target else {"quasi_identifier"})
            texts = None if pd.api.types.is_numeric_dtype(cells[name]) else tuple(sorted(cells[name].unique()))
            columns.append(Column(name, roles, values=texts))
        return People(cells, Schema(tuple(columns)))

    @property
    def size(self) -> int:
        """People in each file."""
        return min(PEOPLE, len(self.cells) // 2)

    @property
    def numbers(self) -> list[str]:
        return [column.name for column in self.schema.columns if column.numeric]

    def table(self, cells: pd.DataFrame) -> Table:
        typed = {
            column.name: cells[column.name].to_numpy(dtype=float)
            if column.numeric
            else pd.Categorical(cells[column.name], categories=list(column.values or ()))
            for column in self.schema.columns
        }
        return make_table(self.schema, pd.DataFrame(typed))

    def split(self, rng: np.random.Generator, by: pd.Series | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Random people, half and half, in each class where they are split by it."""
        drawn = self.cells.iloc[rng.permutation(len(self.cells))[: 2 * self.size]]
        if by is not None:
            drawn = drawn.iloc[np.argsort(by[drawn.index], kind="stable")]
            return drawn.iloc[::2], drawn.iloc[1::2]
        return drawn.iloc[: self.size], drawn.iloc[self.size :]

    def other_population(self, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
        """A table of random people, and a control of people with the more frequent values of one random column."""
        name = self.schema.columns[rng.integers(len(self.schema.columns))].name
        frequency = self.cells.groupby(name)[name].transform("size").rank(pct=True, method="first").to_numpy()
        order = rng.permutation(len(self.cells))
        chosen = order[rng.random(len(order)) < frequency[order] ** 2][: self.size]
        rest = order[~np.isin(order, chosen)][: self.size]
        return self.cells.iloc[rest], self.cells.iloc[chosen]

    def copied(self, cells: pd.DataFrame, kind: str, rng: np.random.Generator) -> pd.DataFrame:
        """Near-copies of some people."""
        copy, numbers = cells.copy(), self.numbers
        copy[numbers] = copy[numbers].astype(float)
        deviation = self.cells[numbers].std().replace(0, 1.0)
        if kind == CENT:
            name = numbers[rng.integers(len(numbers))]
            copy[name] += deviation[name] / 100
        elif kind == JITTER:
            copy[numbers] *= rng.uniform(0.99, 1.01, (len(copy), len(numbers)))
        elif kind == ROUNDED:
            copy[numbers] = (copy[numbers] / (deviation / 10)).round() * (deviation / 10)
        else:
            column = self.schema.columns[rng.integers(len(self.schema.columns))]
            if column.values is None:
                copy[column.name] += deviation[column.name]
            else:
                following = dict(zip(column.values, (*column.values[1:], column.values[0]), strict=True))
                copy[column.name] = copy[column.name].map(following)
        return copy


def found(people: People, files: tuple[pd.DataFrame, pd.DataFrame], seed: int) -> bool:
    """Does the test find copies?"""
    return near_copies(people.table(files[0]), people.table(files[1]), np.random.default_rng([seed, 1])).has_copies


def measured(data: str, root: Path) -> Iterator[Row]:
    """The rows of one table."""
    people = People.of(data, root)
    by = people.cells[next(column.name for column in people.schema.columns if "class" in column.roles)]
    first, second = people.split(np.random.default_rng(0))
    stated = near_copies(people.table(first), people.table(second), np.random.default_rng(0)).described["from_share"]
    splits: dict[str, tuple[int, Callable[[np.random.Generator], tuple[pd.DataFrame, pd.DataFrame]]]] = {
        SPLIT: (HONEST, people.split),
        STRATIFIED: (HONEST, lambda rng: people.split(rng, by)),
        OTHERS: (SHIFTED, people.other_population),
    }
    for kind, (runs, files) in splits.items():
        refused = sum(found(people, files(np.random.default_rng(seed)), seed) for seed in range(runs))
        yield Row(data, kind, 0.0, stated, runs, refused)
    for kind in COPIES:
        if kind != SHIFT and not people.numbers:
            continue
        for share in SHARES:
            seen = 0
            for seed in range(REPETITIONS):
                rng = np.random.default_rng([seed, round(1000 * share), COPIES.index(kind)])
                inside, outside = people.split(rng)
                copies = people.copied(
                    inside.iloc[rng.permutation(len(inside))[: round(share * len(inside))]], kind, rng
                )
                seen += found(people, (inside, pd.concat([outside.iloc[len(copies) :], copies])), seed)
            yield Row(data, kind, share, stated, REPETITIONS, seen)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The measured part of the page: which controls are refused, of other people and with copies."""
    body = []
    for data, (name, _) in DATA.items():
        here = [row for row in rows if row.data == data]
        if here:
            copies = [row for row in here if row.kind in COPIES and row.stated is not None]
            stated = next((f"{100 * row.stated:g} %" for row in copies if row.stated is not None), "none")
            seen = [row for row in copies if row.share >= (row.stated or 0.0)]
            honest = (_refused([row for row in here if row.kind == kind]) for kind in (SPLIT, STRATIFIED, OTHERS))
            body.append([name, *honest, stated, _refused(seen)])
    head = ["table", SPLIT, "stratified", OTHERS, "stated share", "that share or more"]
    yield from table(head, body, "lrrrrr")


def _refused(rows: Sequence[Row]) -> str:
    return f"{sum(row.found for row in rows)} of {sum(row.controls for row in rows)}"


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    results = options.out / "near-copies.csv"
    rows = read_rows(results, Row) if results.exists() else []
    for data in options.tables:
        rows = [row for row in rows if row.data != data] + list(measured(data, options.root))
        rows.sort(key=lambda row: list(DATA).index(row.data))
        write_csv(results, rows)
        print(data, flush=True)
    put(options.page, lines(read_rows(results, Row)), "near-copies")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How many near-copies in a control the test sees.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds `adult` and the others")
    parser.add_argument("--tables", nargs="*", choices=list(DATA), default=list(DATA), help="these tables alone")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV file goes")
    parser.add_argument("--page", type=Path, default=DOCS / PAGE, help="the page to bring up to date")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
