"""What is wrong with the facts that a policy grants the adversary, by its columns or by the table's people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from leafgate.errors import DataError, PolicyError, Problem
from leafgate.kernel.facts import Asked, Between, Condition
from leafgate.kernel.knowledge import Knows
from leafgate.kernel.schema import Column

if TYPE_CHECKING:
    from leafgate.kernel.policy import Policy
    from leafgate.kernel.table import Table

Columns = Mapping[str, Column | None]
"""Columns by name; None where the policy is wrong about the column itself."""


@cache
def _condition_adapter() -> TypeAdapter[Condition]:
    return TypeAdapter(Asked)


def condition_problems(written: Any, column: Column, place: str) -> Iterator[Problem]:
    """Yield what is wrong with a condition on a column; of an open domain nothing is known before the table is read."""
    try:
        condition = _condition_adapter().validate_python(written)
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
        wanted = condition.wanted
        if isinstance(wanted, Between) and (wanted.low > high or wanted.high < low):
            yield Problem(place, "lies outside the column's `bounds`, where nobody can be", "ask for numbers within")


def value_problems(values: Iterable[tuple[str, Any]], column: Column) -> Iterator[Problem]:
    """Yield a problem for each value that a column lacks; similar values are suggested only from a declared domain."""
    for place, value in values:
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


def check_facts(policy: Policy, table: Table) -> None:
    """Refuse facts that do not fit a table, of the policy's `knows` and of those of its attacks.

    Raises:
        PolicyError: a fact does not fit the table's columns.
        DataError: a fact is about nobody in the table.
    """
    _check_section(policy.knows, table, "knows")
    for i, attack in enumerate(policy.attacks):
        if attack.knows is not None and policy.has_own_knowledge(attack):
            _check_section(attack.knows, table, f"attacks[{i}].knows")


def _check_section(knows: Knows, table: Table, section: str) -> None:
    columns = {column.name: column for column in table.schema.columns}
    items = [spec.model_dump(by_alias=True) for spec in knows.facts]
    problems = [
        problem for i, fact in enumerate(items) for problem in fact_problems(fact, columns, place_of(i, section))
    ]
    if problems:
        raise PolicyError.listing(problems)
    nobody = [i for i, spec in enumerate(knows.facts) if not spec.fact.holds_for(table.public[0]).any()]
    if nobody:
        message, remedy = "nobody in the table is meant by this", "ask for people who are there, or leave the fact out"
        raise DataError.listing(Problem(f"{place_of(i, section)}.where", message, remedy) for i in nobody)


def place_of(number: int, section: str = "knows") -> str:
    """Where a section `knows` of a policy has its fact `number`."""
    return f"{section}.facts[{number}]"


def fact_problems(fact: Mapping[str, Any], columns: Columns, place: str) -> Iterator[Problem]:
    """What is wrong with one fact as the policy has it; tolerant of what the models refuse."""
    where = fact.get("where")
    for name, written in where.items() if isinstance(where, dict) else ():
        yield from _where_problems(name, written, columns, f"{place}.where.{name}")
    if isinstance(fact.get("column"), str):
        yield from _column_problems(fact["column"], fact.get("in"), columns, place)


def _where_problems(name: str, written: Any, columns: Columns, place: str) -> Iterator[Problem]:
    column = columns.get(name)
    if name not in columns:
        yield unknown_column(name, columns, place)
    elif column is not None and not column.public:
        yield Problem(place, "the adversary does not know this column of anyone", "ask for public columns only")
    elif column is not None:
        yield from condition_problems(written, column, place)


def _column_problems(name: str, values: Any, columns: Columns, place: str) -> Iterator[Problem]:
    column, here = columns.get(name), f"{place}.column"
    if name not in columns:
        yield unknown_column(name, columns, here)
    elif column is not None and column.public:
        yield Problem(here, "the adversary knows this column of everyone", "speak of one that is not public")
    elif column is not None and not column.roles & {"sensitive", "private", "class"}:
        yield Problem(here, "attacks know nothing of this column", "speak of a secret, private or class column")
    elif column is not None and column.bounds is not None:
        yield Problem(here, "the column is numeric", "speak of one that has `values`")
    elif column is not None and not is_open(column) and isinstance(values, list | tuple):
        yield from value_problems([(f"{place}.in[{i}]", value) for i, value in enumerate(values)], column)
