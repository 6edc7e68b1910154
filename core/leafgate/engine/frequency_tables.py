"""Frequency tables of papers, read as releases of one tree."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from typing import Any

from leafgate.errors import ReleaseError
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import FileDisclosure, ModelFile, Publish, Release
from leafgate.kernel.schema import Schema
from leafgate.kernel.tree import Branch, CategoricalSplit, Node

COUNT, SHARE = "count", "share"
"""The column of a frequency table that counts people, or says what share of a group has a class."""

MAX_TABLE_BYTES = 10 * 2**20
"""A frequency table of more bytes is refused."""

MAX_COMBINATIONS = 1_000_000
"""Combinations of values that a frequency table may have."""

SHARE_TEXT = re.compile(r"[01](\.[0-9]{1,9})?")
"""A share of a frequency table: how many decimal places it is rounded to is seen in the text."""

A_TABLE = (
    "write the columns that `counts` lists, and `count` with whole numbers, or `share` with the share of a group that "
    "has each class, such as 0.25; each combination of values once"
)


def frequency_table(content: bytes, names: Sequence[str], schema: Schema) -> Release:
    """A frequency table as a release of one tree, which tests its columns one after the other.

    Args:
        content: a CSV file in UTF-8 with a header: the columns, in any order, and `count` or `share`. A share is that
            of the people with the same cells in all columns but the class; all are rounded to as many decimal places
            as the longest of them has.
        names: the columns, each with values, and the class among them.
        schema: every column.

    Raises:
        ReleaseError: it is no such table, or has values that the schema does not have.
    """
    try:
        reader = csv.DictReader(io.StringIO(content[: MAX_TABLE_BYTES + 1].decode("utf-8-sig"), newline=""))
        rows = [*reader]
        kind = SHARE if SHARE in (reader.fieldnames or ()) and SHARE not in names else COUNT
        written = {tuple(row[name] for name in names): row[kind] for row in rows}
        numbers = {cells: _number(text, kind) for cells, text in written.items()}
    except (UnicodeDecodeError, csv.Error, KeyError, TypeError, ValueError):
        raise ReleaseError("is no frequency table", remedy=A_TABLE) from None
    if math.prod(len(schema[name].values or ()) for name in names) > MAX_COMBINATIONS:
        raise ReleaseError("has columns with too many combinations of values", remedy="count fewer columns")
    domains = [{*map(str, schema[name].values or ())} for name in names]
    fits = all(value in domain for cells in numbers for value, domain in zip(cells, domains, strict=True))
    is_listed = sorted(reader.fieldnames or ()) == sorted([*names, kind]) and len(numbers) == len(rows)
    if len(content) > MAX_TABLE_BYTES or not fits or not is_listed or not numbers:
        raise ReleaseError("is no frequency table of these columns", remedy=A_TABLE)
    target = schema.target.name
    asked, place = [name for name in names if name != target], list(names).index(target)

    def below(cells: tuple[str, ...]) -> Node:
        if len(cells) < len(asked):
            name = asked[len(cells)]
            branches = (Branch((value,), below((*cells, value))) for value in schema[name].values or ())
            return CategoricalSplit(name, tuple(branches))
        own = {label: numbers.get((*cells[:place], label, *cells[place:]), 0) for label in schema.classes}
        if kind == SHARE:  # a leaf of nobody has no shares
            return Leaf(shares={k: float(v) for k, v in own.items()} if any(own.values()) else None)
        return Leaf(counts=own)

    tree = below(())
    if kind == COUNT:
        return Release({"use": "frequency_table"}, schema, (tree,))
    digits = max(len(text.partition(".")[2].strip()) for text in written.values())
    step = FileDisclosure("ratios", "medium", f"shares of classes, rounded to steps of {10.0**-digits:.{digits}f}")
    file, publish = ModelFile("frequency table", "", (step,) if digits else ()), Publish(leaves="shares")
    return Release({"use": "frequency_table"}, schema, (tree,), publish, file=file)


def _number(text: str, kind: str) -> Any:
    """A count, or a share from 0 to 1; ValueError for others."""
    number: float = int(text) if kind == COUNT else float(text)
    if number < 0 or (kind == SHARE and not (number <= 1 and SHARE_TEXT.fullmatch(text.strip()))):
        raise ValueError
    return number
