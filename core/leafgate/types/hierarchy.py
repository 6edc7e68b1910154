"""Generalisation hierarchies: each value, then ever coarser groups it belongs to."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leafgate.errors import DataError

MAX_LINES = 500_000
"""Longer hierarchies are refused: a policy has room for some 50,000 of the values they are for, and a line takes some
600 bytes of memory."""


@dataclass(frozen=True)
class Hierarchy:
    """For every value its group's name on each level; level 0 is the value itself.

    `groups[value]` has one name a level, finest first, the value itself left out. A level
    whose every value shares one group (the usual `*`) discloses nothing and is not kept.
    """

    groups: Mapping[str | None, tuple[str, ...]]

    @property
    def depth(self) -> int:
        """How many levels coarser than the values themselves say something."""
        return len(next(iter(self.groups.values()), ()))

    def restricted(self, domain: Sequence[str | None], place: str) -> Hierarchy:
        """The hierarchy of `domain` alone; missing (None) is a branch of its own on every level.

        Raises DataError when a value of the domain has no line.
        """
        unknown = [value for value in domain if value is not None and value not in self.groups]
        if unknown:
            raise DataError(
                f"{len(unknown)} value(s) of the domain have no line in the hierarchy",
                place=place,
                remedy=f"add a line for {', '.join(map(repr, unknown[:3]))}",
            )
        kept = {value: self.groups[value] for value in domain if value is not None}
        levels = [h for h in range(self.depth) if len({names[h] for names in kept.values()}) > 1]
        groups: dict[str | None, tuple[str, ...]] = {
            value: tuple(names[h] for h in levels) for value, names in kept.items()
        }
        if None in domain:
            groups[None] = ("\0missing",) * len(levels)
        return Hierarchy(groups)


def parse_hierarchy(text: str, place: str) -> Hierarchy:
    """The hierarchy that a `;`-separated text describes: value;group;coarser group;...

    The form of ARX, without a header. Raises DataError when a value stands twice, a line has
    another number of levels, a group has two parents, or there are more than MAX_LINES lines.
    """
    if text.count("\n") > MAX_LINES:
        remedy = "keep the lines of the values that the policy declares"
        raise DataError(f"has more than {MAX_LINES:,} lines", place=place, remedy=remedy)
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=";") if row]
    except csv.Error as error:
        raise DataError(f"is no `;`-separated text: {error}", place=place) from None
    if not rows:
        raise DataError("the hierarchy is empty", place=place, remedy="write `value;group;*` lines")
    width = len(rows[0])
    parents: dict[tuple[int, str], str] = {}
    groups: dict[str | None, tuple[str, ...]] = {}
    for number, row in enumerate(rows, 1):
        cells = [cell.strip() for cell in row]
        if len(cells) != width:
            raise DataError(f"line {number} has {len(cells)} levels, line 1 has {width}", place=place)
        if cells[0] in groups:
            raise DataError(f"line {number} repeats an earlier value", place=place)
        for level in range(1, width - 1):
            if parents.setdefault((level, cells[level]), cells[level + 1]) != cells[level + 1]:
                raise DataError(f"line {number}: group {cells[level]!r} of level {level} has two parents", place=place)
        groups[cells[0]] = tuple(cells[1:])
    return Hierarchy(groups)
