"""Facts of a policy: which columns they may speak of, what they may say of them, and the Facts they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from leafgate.errors import DataError, PolicyError, Problem
from leafgate.fact import Fact
from leafgate.policy_conditions import Columns, condition_problems, is_open, unknown_column, value_problems, wanted_of
from leafgate.policy_knows import FactSpec, Knows

if TYPE_CHECKING:
    from leafgate.table import Table


def facts_of(knows: Knows, table: Table) -> tuple[Fact, ...]:
    """The facts a policy grants, of the people in `table`.

    Raises PolicyError for what does not fit the table's columns, DataError for facts about nobody.
    """
    columns = {column.name: column for column in table.schema.columns}
    told = [spec.model_dump(by_alias=True) for spec in knows.facts]
    problems = [problem for i, fact in enumerate(told) for problem in fact_problems(fact, columns, place_of(i))]
    if problems:
        raise PolicyError.listing(problems)
    facts = tuple(map(_fact, knows.facts))
    nobody = [i for i, fact in enumerate(facts) if not fact.holds_for(table.public[0]).any()]
    if nobody:
        message, remedy = "nobody in the table is meant by this", "ask for people who are there, or leave the fact out"
        raise DataError.listing(Problem(f"{place_of(i)}.where", message, remedy) for i in nobody)
    return facts[: knows.facts_known]


def place_of(number: int) -> str:
    """Where a policy has its fact `number`."""
    return f"knows.facts[{number}]"


def _fact(spec: FactSpec) -> Fact:
    where = {name: wanted_of(condition) for name, condition in spec.where.items()}
    low, high = spec.share.low, spec.share.high
    return Fact(where, spec.column, spec.values, 0.0 if low is None else low, 1.0 if high is None else high)


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
