"""Texts and numbers of a model's file that are the cells of a few people of the table."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from leafgate.algorithms.certainty import is_multiple
from leafgate.io.json import parse_number
from leafgate.ir.content import FileContent
from leafgate.ir.features import ArithmeticStep
from leafgate.kernel.arrays import Floats, Mask
from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.release import NOT_STATED, RARE_CLASSES, FileDisclosure, Severity
from leafgate.kernel.schema import Column
from leafgate.kernel.table import CellCounts, Table
from leafgate.models.lowering.encoding import as_number
from leafgate.models.lowering.tests import apply_steps, in_single_precision

TEXTS = "texts that fewer than {few} people of the table have: they may name them"
NUMBERS = "numbers that fewer than {few} people of the table have, finer than `step` makes public"
STRANGE = "values that neither the policy declares nor the table has: they may name people"
CLASSES = "names of classes that fewer than {few} people of the table have: they may name them"
WHOLE_LIST = "every value that the policy declares of a column with `domain: public`, values of a few people among them"
UNCOUNTED = "texts that were not compared with a column, which has too many different ones"

WORDS = re.compile(r"[^\W_]+")
"""What stands between separators in the name of a feature: words of its column, and of a value, as `name[T.Anna]`."""

MAX_WORDS = 8
"""A cell of more words is looked for at the end of a name alone."""

LEAST_LETTERS = 2
"""Shorter texts of no column are nobody's."""

LEAST_DIGITS = 5
"""A number of fewer digits that belongs to no column is a count, a position or a setting."""

MAX_SCALES = 4
"""So many numbers of scalers may be cells of their column: its median, a range of quartiles, and its extremes."""


def cells_disclosed(content: FileContent, table: Table | LargeTable, smallest_cell: int) -> tuple[FileDisclosure, ...]:
    """What the file discloses of the cells of a few people: an item of severity `high` for texts, and for numbers.

    Args:
        content: the texts and numbers of the file, by the column that each comes from.
        table: the people. Where nobody has counted the cells of its file, those of the columns that it keeps count.
        smallest_cell: a cell that so many people share is nobody's.

    Values of a column with `domain: public` are an item of severity `medium` where the file holds all of them; numbers
    count where they are no multiple of the column's `step`. A value that neither the policy declares nor the table has
    was compared with nothing, and is an item of severity `high`, too.
    """
    judged = _Judgement(table, smallest_cell)
    for name, values in sorted(content.values.items()):
        judged.values_of(name, values)
    for values in content.unplaced:
        judged.values_of_some_column(values)
    for numbers in content.numbers:
        judged.numbers_of(numbers.column, numbers.numbers, numbers.steps)
    for name, scales in content.scales.items():
        judged.scales_of(name, scales)
    judged.names(content.names)
    if content.classes:
        judged.classes(table.schema.target.name, content.classes)
    return tuple(judged.disclosures())


def as_in_names(text: str) -> str:
    """A text as libraries may write it into names: small letters, with `_` for each sign that is no letter."""
    return re.sub(r"\W", "_", text).lower()


@dataclass(frozen=True)
class ColumnCells:
    """The cells of one column, by text and by number, with the people who have each.

    Attributes:
        counts: the people with each text, by the text.
        few: a cell that so many people share is nobody's.
        step: multiples of it are public; None where no number is.
    """

    counts: pd.Series
    few: int
    step: float | None = None

    @cached_property
    def by_spelling(self) -> Mapping[str, float]:
        """The people with each text, as libraries may write it."""
        sums: dict[str, float] = {}
        for text, people in self.counts.items():
            spelling = as_in_names(str(text))
            sums[spelling] = sums.get(spelling, 0.0) + people
        return sums

    @cached_property
    def by_number(self) -> pd.Series:
        """The people with each number, by the numbers in rising order."""
        numbers = np.array([as_number(str(text)) for text in self.counts.index], dtype=np.float64)
        people = pd.Series(self.counts.to_numpy(), index=numbers)
        return people[np.isfinite(numbers)].groupby(level=0).sum()

    @cached_property
    def rare_numbers(self) -> Floats:
        """The numbers that few people have, finer than is public."""
        rare = self.by_number.index[self.by_number < self.few].to_numpy()
        return rare if self.step is None else rare[~is_multiple(rare, self.step)]

    def people(self, text: str) -> float:
        """How many have the text, or the number that it is; 0 where nobody does."""
        return self.by_spelling.get(as_in_names(text), 0.0) or float(self.by_number.get(as_number(text), 0.0))

    def has_few(self, text: str) -> bool:
        """Is the text, or the number that it is, the cell of a few people?"""
        return 0 < self.people(text) < self.few

    def beyond(self, numbers: Floats, steps: tuple[ArithmeticStep, ...]) -> Mask:
        """Which of these are finite and, after the steps, below or above every number that somebody has?"""
        low, high = np.inf, -np.inf
        if not self.by_number.empty:
            low, high = sorted(apply_steps(self.by_number.index.to_numpy()[[0, -1]], steps))
        return np.asarray(((numbers < low) | (numbers > high)) & np.isfinite(numbers))

    def are_of_few(self, numbers: Floats, steps: tuple[ArithmeticStep, ...] = ()) -> Mask:
        """Which of these numbers a few people have, after the steps, as they are or in single precision?"""
        cells = apply_steps(self.rare_numbers, steps)
        return np.isin(numbers, cells) | np.isin(numbers, in_single_precision(cells))


def column_cells(table: Table | LargeTable, smallest_cell: int) -> Mapping[str, ColumnCells | None]:
    """The cells of each column, dropped columns among them; None for a column that has too many different ones.

    Where nobody has counted the cells of the table's file, those of the columns that it keeps count.
    """
    steps = {column.name: column.step for column in table.schema.columns}
    counts = table.cell_counts or _counts_of_kept(table)
    return {
        name: None if each is None else ColumnCells(each, smallest_cell, steps.get(name))
        for name, each in counts.items()
    }


def values_of_few(content: FileContent, table: Table | LargeTable, smallest_cell: int) -> dict[str, frozenset[str]]:
    """By the name of a column of texts, the values that a file lists and that fewer people have, or nobody at all.

    Args:
        content: the texts of the file, by the column that each comes from.
        table: the people.
        smallest_cell: a cell that so many people share is nobody's.

    A value that nobody has is one where the policy does not declare it either: it was compared with nothing.
    """
    judged = _Judgement(table, smallest_cell)
    found = {name: judged.rare(name, values) for name, values in content.values.items()}
    return {name: rare for name, rare in found.items() if rare and not judged.holds_numbers(name)}


class _Judgement:
    """The columns of which the file discloses something, by what it tells."""

    def __init__(self, table: Table | LargeTable, few: int) -> None:
        self.columns = {column.name: column for column in table.schema.columns}
        self.few = few
        cells = column_cells(table, few)
        self.cells = {name: each for name, each in cells.items() if each is not None}
        self.uncounted = frozenset(cells) - frozenset(self.cells)
        self.texts, self.numbers, self.strange, self.whole = set[str](), set[str](), set[str](), set[str]()
        self.rare_classes = set[str]()
        self.skipped = False

    def values_of(self, name: str, values: Collection[str]) -> None:
        """Judge values that the file lists of a column."""
        column, cells = self.columns.get(name), self.cells.get(name)
        if self.holds_numbers(name):
            numbers = {value: as_number(value) for value in values}
            self.numbers_of(name, np.array([number for number in numbers.values() if math.isfinite(number)]))
            values = [value for value, number in numbers.items() if not math.isfinite(number)]
        self.skipped |= bool(values) and name in self.uncounted
        if cells is not None and any(map(cells.has_few, values)):
            (self.whole if self._is_whole_public_list(column, values) else self.texts).add(name)
        if any(not self._is_known(name, value) for value in values):
            self.strange.add(name)

    def rare(self, name: str, values: Collection[str]) -> frozenset[str]:
        """Those of these values of a column that a few people have, or that are not known."""
        cells = self.cells.get(name)
        few = {value for value in values if cells is not None and cells.has_few(value)}
        return frozenset(few | {value for value in values if not self._is_known(name, value)})

    def holds_numbers(self, name: str) -> bool:
        """Does the policy know the column as one of numbers?"""
        return name in self.columns and self.columns[name].numeric

    def values_of_some_column(self, values: Collection[str]) -> None:
        """Judge a list that names no column: as one of the column that knows all of it, and has least few of it.

        Where none does, as values of all columns together.
        """
        homes = [name for name in self.cells if all(self._is_known(name, value) for value in values)]
        if homes:
            self.values_of(min(homes, key=lambda name: sum(map(self.cells[name].has_few, values))), values)
            return
        numbers = np.array([as_number(value) for value in values])
        if np.isfinite(numbers).all():
            for column in self.columns.values():
                if column.numeric:
                    self.numbers_of(column.name, numbers)
            return
        self.texts |= {name for name, cells in self.cells.items() if any(map(cells.has_few, values))}
        if not all(any(self._is_known(name, value) for name in self.cells) for value in values):
            self.strange.add("")

    def numbers_of(self, name: str, numbers: Floats, steps: tuple[ArithmeticStep, ...] = ()) -> None:
        """Judge numbers that tests compare with those of a column; those that nobody's can be, as cells of any column.

        Long ones are compared with the column's cells before the steps, too.
        """
        self.skipped |= len(numbers) > 0 and name in self.uncounted
        cells = self.cells.get(name)
        if cells is None or not len(numbers):
            return
        if cells.are_of_few(numbers, steps).any() or (steps and cells.are_of_few(_long(numbers)).any()):
            self.numbers.add(name)
        self.names(map(repr, numbers[cells.beyond(numbers, steps)].tolist()))

    def scales_of(self, name: str, numbers: Floats) -> None:
        """Judge the numbers of scalers of a column, which are a few cells of it, or by chance of others, at most."""
        numbers = np.unique(np.abs(numbers))
        others = (cells.are_of_few(_long(numbers)).sum() for cells in self.cells.values())
        own = self.cells[name].are_of_few(numbers).sum() if name in self.cells else 0
        if max(own, *others, 0) > MAX_SCALES:
            self.numbers.add(name)
        elif name in self.cells:
            self.names(map(repr, numbers[self.cells[name].beyond(numbers, ())].tolist()))

    def names(self, names: Iterable[str]) -> None:
        """Judge texts of no column: whole, and what stands in them between separators."""
        common = {as_in_names(name) for name in self.cells}
        common |= {as_in_names(value) for column in self.columns.values() for value in self._common(column)}
        parts = {
            part for name in names for part in _parts(name) if _may_be_a_cell(part) and as_in_names(part) not in common
        }
        if not parts:
            return
        self.skipped |= bool(self.uncounted)
        numbers = np.array([number for number in map(parse_number, parts) if math.isfinite(number)])
        for name, cells in self.cells.items():
            if name in self.columns and self.columns[name].numeric:
                if cells.are_of_few(numbers).any():
                    self.numbers.add(name)
            elif any(map(cells.has_few, parts)):
                self.texts.add(name)

    def classes(self, target: str, values: Mapping[str, str]) -> None:
        """Judge the names of classes, each with the value that it stands for: people have the text, or the value."""
        self.skipped |= target in self.uncounted
        cells, column = self.cells.get(target), self.columns[target]
        if cells is None:
            return
        people = cells.counts.groupby(lambda text: column.aliases.get(text, text)).sum()
        if any(cells.has_few(name) or 0 < people.get(value, 0) < self.few for name, value in values.items()):
            whole = self._is_whole_public_list(column, values.values())
            (self.whole if whole else self.rare_classes).add(target)

    def disclosures(self) -> Iterator[FileDisclosure]:
        """An item for each kind of which there is something."""
        items: list[tuple[str, Severity, str, set[str]]] = [
            ("people_listed", "high", TEXTS, self.texts),
            ("rare_numbers", "high", NUMBERS, self.numbers),
            ("people_listed", "high", STRANGE, self.strange),
            (RARE_CLASSES, "high", CLASSES, self.rare_classes),
            ("people_listed", "medium", WHOLE_LIST, self.whole),
        ]
        for kind, severity, says, columns in items:
            if columns:
                where = ", ".join(repr(name) for name in sorted(columns) if name)
                yield FileDisclosure(kind, severity, says.format(few=self.few) + (f" ({where})" if where else ""))
        if self.skipped:
            yield FileDisclosure(NOT_STATED.kind, "high", UNCOUNTED)

    def _is_known(self, name: str, value: str) -> bool:
        """Does the policy declare the value, or has somebody it? All are known of a column that nobody counted."""
        column = self.columns.get(name)
        if name in self.uncounted or (column is not None and value in {*(column.values or ()), *column.aliases}):
            return True
        return name in self.cells and self.cells[name].people(value) > 0

    @staticmethod
    def _is_whole_public_list(column: Column | None, values: Collection[str]) -> bool:
        if column is None or not column.public_domain:
            return False
        return {as_in_names(value) for value in column.values or ()} <= {as_in_names(value) for value in values}

    def _common(self, column: Column) -> Iterator[str]:
        """Values of a column that are nobody's."""
        cells = self.cells.get(column.name)
        return (value for value in column.values or () if cells is None or not cells.has_few(value))


def _parts(name: str) -> Iterator[str]:
    """The text, what stands behind each of its separators, and each run of a few words between two of them."""
    yield name
    words = [word.span() for word in WORDS.finditer(name)]
    for first, (start, _) in enumerate(words):
        yield name[start:]
        for _, end in words[first : first + MAX_WORDS]:
            yield name[start:end]


def _long(numbers: Floats) -> Floats:
    """The numbers of so many digits that they may be the cells of another column."""
    return numbers[[_may_be_a_cell(repr(number).removesuffix(".0")) for number in numbers.tolist()]]


def _may_be_a_cell(text: str) -> bool:
    digits = sum(sign.isdigit() for sign in text)
    return digits >= LEAST_DIGITS if math.isfinite(parse_number(text)) else len(text) >= LEAST_LETTERS


def _counts_of_kept(table: Table | LargeTable) -> CellCounts:
    """The people with each cell of the columns that the table keeps."""
    counts: dict[str, list[pd.Series]] = {column.name: [] for column in table.schema.columns}
    for part in table.tables():
        for name, found in counts.items():
            codes, texts = pd.factorize(part.frame[name].astype(object).map(_as_text), sort=True)
            found.append(pd.Series(part.people_by(codes, len(texts)), index=texts))
    return {name: pd.concat(found).groupby(level=0).sum() for name, found in counts.items()}


def _as_text(cell: object) -> str | None:
    if cell is None or cell != cell:
        return None
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
