"""Single cells that are secret: what is wrong with the rules of `data.protect`, and the cells they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leafgate.errors import DataError, PolicyError, Problem
from leafgate.kernel.facts import meets
from leafgate.kernel.schema import DROPPED_ROLES, Column
from leafgate.kernel.spelling import same_form
from leafgate.policy.knowledge import Columns, condition_problems, unknown_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leafgate.kernel.policy import Protect
    from leafgate.kernel.table import Table


def protected(protect: Sequence[Protect], table: Table) -> Table:
    """The table with the cells marked that the policy protects.

    Raises PolicyError for what does not fit the table's columns, DataError for cells of nobody.
    """
    columns = {column.name: column for column in table.schema.columns}
    items = [spec.model_dump(by_alias=True) for spec in protect]
    problems = [problem for i, rule in enumerate(items) for problem in protect_problems(rule, columns, place_of(i))]
    if problems:
        raise PolicyError.listing(problems)
    for i, spec in enumerate(protect):
        problems += _nobody(spec, _rows(spec, table), table, place_of(i))
    if problems:
        raise DataError.listing(problems)
    incomplete = table.incomplete
    if incomplete is not None:
        incomplete = replace(incomplete, protected=_marks(protect, incomplete))
    return replace(table, protected=_marks(protect, table), incomplete=incomplete)


def _marks(protect: Sequence[Protect], table: Table) -> dict[str, NDArray[Any]]:
    """For each column which rows' cells are protected."""
    marks: dict[str, NDArray[Any]] = {}
    for spec in protect:
        marks[spec.column] = marks.get(spec.column, False) | _rows(spec, table)
    return marks


def place_of(number: int) -> str:
    """Where a policy has its rule `number`."""
    return f"data.protect[{number}]"


def protect_problems(rule: Mapping[str, Any], columns: Columns, place: str) -> Iterator[Problem]:
    """What is wrong with one rule as the policy has it; tolerant of what the models refuse."""
    if isinstance(rule.get("column"), str):
        yield from _column_problems(rule["column"], columns, f"{place}.column")
    where = rule.get("where")
    if isinstance(where, dict) and rule.get("column") in where:
        problem = "discloses the value of the cells that it protects"
        yield Problem(f"{place}.where.{rule['column']}", problem, "say whose cells by other columns, or by `keys`")
    for name, written in where.items() if isinstance(where, dict) else ():
        yield from _where_problems(name, written, columns, f"{place}.where.{name}")
    if rule.get("keys") is not None and _key_of(columns) is None:
        yield Problem(f"{place}.keys", "no column has the role `key`", "give it to the column that addresses records")


def _column_problems(name: str, columns: Columns, place: str) -> Iterator[Problem]:
    column = columns.get(name)
    if name not in columns:
        yield unknown_column(name, columns, place)
    elif column is not None and column.public:
        yield Problem(place, "the adversary knows this column of everyone", "give it the role `private` or `class`")
    elif column is not None and "sensitive" in column.roles:
        yield Problem(place, "every cell of this column is secret already", "give it the role `private`, or leave this")
    elif column is not None and not column.roles & {"private", "class"}:
        yield Problem(place, "this column is not in the table that builders see", "give it the role `private`")
    elif column is not None and column.bounds is not None and not column.countable:
        yield Problem(place, "a secret of numbers", "declare its `bins`, the edges of the intervals it is believed in")


def _where_problems(name: str, written: Any, columns: Columns, place: str) -> Iterator[Problem]:
    column = columns.get(name)
    if name not in columns:
        yield unknown_column(name, columns, place)
    elif column is not None and column.roles & DROPPED_ROLES:
        yield Problem(place, "this column is dropped when the file is read", "give it the role `key` or `private`")
    elif column is not None and "key" not in column.roles:
        yield from condition_problems(written, column, place)
    elif isinstance(written, dict) and written.get("in") is None:
        yield Problem(place, "keys are texts", "ask for a text, or a list of texts")


def _key_of(columns: Columns) -> Column | None:
    return next((column for column in columns.values() if column is not None and "key" in column.roles), None)


def _rows(spec: Protect, table: Table) -> NDArray[Any]:
    """Which rows of the table are meant."""
    import numpy as np

    columns = {column.name: column for column in table.schema.columns}
    if spec.keys is not None:
        key = _key_of(columns)
        assert key is not None  # a policy without one is refused
        return table.frame[key.name].isin(_keys_asked(spec, key)).to_numpy(dtype=np.bool_)
    meant = np.ones(len(table), dtype=np.bool_)
    for name, condition in spec.where.items():
        if "key" in columns[name].roles:
            meant &= table.frame[name].isin(_keys_asked(spec, columns[name])).to_numpy(dtype=np.bool_)
        else:
            meant &= meets(table, name, condition.wanted)
    return meant


def _keys_asked(spec: Protect, key: Column | None) -> set[str]:
    """The keys a rule names, in either way, in the form in which a table has them."""
    condition = None if key is None else spec.where.get(key.name)
    named = spec.keys if spec.keys is not None else () if condition is None else condition.values or ()
    return {same_form(str(each)) or str(each) for each in named}


def _nobody(spec: Protect, rows: NDArray[Any], table: Table, place: str) -> Iterator[Problem]:
    key = _key_of({column.name: column for column in table.schema.columns})
    asked = _keys_asked(spec, key)
    strange = len(asked - set(table.frame[key.name])) if key is not None and asked else 0
    if strange:
        remedy = "name keys as the file writes them; whoever was left out for missing cells is not in the table"
        here = f"{place}.keys" if spec.keys is not None else f"{place}.where.{key.name if key else ''}"
        yield Problem(here, f"no record has {strange} of these keys", remedy)
    elif not rows.any():
        yield Problem(f"{place}.where", "nobody in the table is meant by this", "ask for people who are there")
