"""What tests leave of columns, told in words."""

from __future__ import annotations

import math

from leafgate.possible import Interval, Possible, Rest
from leafgate.schema import Column, Schema


def conditions(possible: Possible, schema: Schema) -> list[str]:
    """What is left of each column that was asked about."""
    return [_rest(schema[name], rest) for name, rest in possible.items()]


def _rest(column: Column, rest: Rest) -> str:
    if isinstance(rest, Interval):
        return _range(column, rest)
    values = [str(value) if value is not None else "missing" for value in column.domain if value in rest]
    return f"{column.name} = {values[0]}" if len(values) == 1 else f"{column.name} in {{{', '.join(values)}}}"


def _range(column: Column, rest: Interval) -> str:
    low, high = column.bounds or (-math.inf, math.inf)
    above = f"{rest.low:g} < " if rest.low >= low else ""
    below = f" <= {rest.high:g}" if rest.high < high else ""
    return f"{above}{column.name}{below}" + (" or missing" if rest.missing else "")
