"""Fact: something an adversary knows of people in general, not of one person."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leafgate.schema import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.table import Table


@dataclass(frozen=True)
class Between:
    """Numbers from `low` to `high`, both among them."""

    low: float = -math.inf
    high: float = math.inf

    def words(self) -> str:
        """What comes after a column's name: <= 17."""
        if self.low == self.high:
            return f"= {self.low:g}"
        if math.isinf(self.low):
            return f"<= {self.high:g}"
        return f">= {self.low:g}" if math.isinf(self.high) else f"from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Fact:
    """Of the people who meet `where`, a share from `low` to `high` has one of `values` in `column`.

    `where` asks for public columns: of each the values, or the numbers, that are meant; it is empty
    for everyone. `column` is categorical and not public; None among values is a missing cell. The
    share is of people, who count by their weight.
    """

    where: Mapping[str, tuple[Value, ...] | Between]
    column: str
    values: tuple[Value, ...]
    low: float
    high: float

    def holds_for(self, public: Table) -> NDArray[np.bool_]:
        """Which rows of a table with the public columns the fact speaks of."""
        import numpy as np

        met = np.ones(len(public), dtype=np.bool_)
        for name, wanted in self.where.items():
            met &= meets(public, name, wanted)
        return met

    def words(self) -> str:
        """The fact in words: no more than 0.2 of the people with age <= 17 are 'Married' (marital)."""
        conditions = ", ".join(f"{name} {_words(wanted)}" for name, wanted in self.where.items())
        people = f"the people with {conditions}" if conditions else "the people"
        return f"{self._share_words()} of {people} are {_words(self.values)} ({self.column})"

    def _share_words(self) -> str:
        if self.low == self.high:
            return {0.0: "none", 1.0: "all"}.get(self.low, f"{self.low:g}")
        if self.low <= 0:
            return f"no more than {self.high:g}"
        return f"at least {self.low:g}" if self.high >= 1 else f"from {self.low:g} to {self.high:g}"


def meets(table: Table, name: str, wanted: tuple[Value, ...] | Between) -> NDArray[np.bool_]:
    """Which rows of a table have one of the values, or a number in the range, in a column."""
    import numpy as np

    if isinstance(wanted, Between):
        numbers = table.numbers(name)
        return (numbers >= wanted.low) & (numbers <= wanted.high)
    domain = table.schema[name].domain
    return np.isin(table.codes(name), [domain.index(value) for value in wanted])


def _words(wanted: tuple[Value, ...] | Between) -> str:
    if isinstance(wanted, Between):
        return wanted.words()
    return " or ".join("missing" if value is None else repr(value) for value in wanted)
