"""Conditions a policy puts on columns: what they ask for, and what is wrong with them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import TypeAdapter, ValidationError

from leafgate.errors import Problem
from leafgate.fact import Between
from leafgate.policy_knows import Asked, Condition
from leafgate.schema import Column, Value

CONDITION: TypeAdapter[Condition] = TypeAdapter(Asked)
Columns = Mapping[str, Column | None]
"""Columns by name; None where the policy is wrong about the column itself."""


def wanted_of(condition: Condition) -> tuple[Value, ...] | Between:
    """The values or the numbers a condition asks for."""
    if condition.values is not None:
        return condition.values
    low, high = condition.low, condition.high
    return Between(-math.inf if low is None else low, math.inf if high is None else high)


def condition_problems(written: Any, column: Column, place: str) -> Iterator[Problem]:
    """What is wrong with a condition on a column; of an open domain nothing can be told before the table is read."""
    try:
        condition = CONDITION.validate_python(written)
    except ValidationError:
        return
    if not is_open(column):
        yield from _checked(condition, column, place)


def _checked(condition: Condition, column: Column, place: str) -> Iterator[Problem]:
    if column.numeric and condition.values is not None:
        yield Problem(place, "the column is numeric", "ask for numbers: {from: , to: }")
    elif condition.values is not None:
        yield from value_problems([(place, value) for value in condition.values], column)
    elif not column.numeric:
        yield Problem(place, "the column has values, not numbers", "ask for a value, or a list of values")
    elif column.declared and column.bounds is not None:
        low, high = column.bounds
        wanted = wanted_of(condition)
        if isinstance(wanted, Between) and (wanted.low > high or wanted.high < low):
            yield Problem(place, "lies outside the column's `bounds`, where nobody can be", "ask for numbers within")


def value_problems(told: Iterable[tuple[str, Any]], column: Column) -> Iterator[Problem]:
    """Values a column does not have; what comes close is told only of a domain that the policy tells."""
    for place, value in told:
        if value in column.domain or not (value is None or isinstance(value, str)):
            continue
        close = get_close_matches(value or "", column.values or (), 1) if column.declared else []
        what = "cells of this column are never missing" if value is None else f"{value!r} is no value of the column"
        yield Problem(place, what, _meant(close, "write one of its `values`"))


def is_open(column: Column) -> bool:
    """Is its domain only known when the table is read?"""
    return column.values is None and column.bounds is None


def unknown_column(name: str, columns: Columns, place: str) -> Problem:
    """That no column has this name."""
    close = get_close_matches(name, columns, 1)
    return Problem(place, f"there is no column {name!r}", _meant(close, "name one of `data.columns`"))


def _meant(close: list[str], otherwise: str) -> str:
    return f"did you mean {close[0]!r}?" if close else otherwise
