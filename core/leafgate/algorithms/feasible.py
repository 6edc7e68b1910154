"""Domains that remain of a tree's columns after the tests on the path to a node."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from leafgate.kernel.schema import Column, Schema, Value
from leafgate.kernel.tree import CategoricalSplit, Node, NumericSplit


@dataclass(frozen=True)
class Interval:
    """The numbers in (`low`, `high`], and a missing cell where `missing`; false where it is empty."""

    low: float
    high: float
    missing: bool

    def __bool__(self) -> bool:
        return self.low < self.high or self.missing


Domain = frozenset[Value] | Interval
"""The values or numbers that a column can have."""

Possible = Mapping[str, Domain]
"""The remaining domain of each column that was tested; all other columns keep their full domain."""


def rest_of(column: Column, possible: Possible) -> Domain:
    """Return the remaining domain of a column: the full one where no test was on it."""
    if column.name in possible:
        return possible[column.name]
    if column.values is not None:
        return frozenset(column.domain)
    low, high = column.bounds or (-math.inf, math.inf)
    return Interval(math.nextafter(low, -math.inf), high, column.missing)


def intersect(first: Domain, second: Domain) -> Domain:
    """Return the intersection of two domains of the same column."""
    if isinstance(first, Interval) and isinstance(second, Interval):
        low, high = max(first.low, second.low), min(first.high, second.high)
        return Interval(low, high, first.missing and second.missing)
    assert isinstance(first, frozenset)
    assert isinstance(second, frozenset)
    return first & second


def intersect_paths(paths: Iterable[Possible], is_wanted: Callable[[str], bool]) -> Possible:
    """For each wanted column that a path tests, the values that all the paths testing it leave."""
    common: dict[str, Domain] = {}
    for path in paths:
        for name, rest in path.items():
            if is_wanted(name):
                common[name] = intersect(common[name], rest) if name in common else rest
    return common


def branch_domains(
    node: NumericSplit | CategoricalSplit, possible: Possible, schema: Schema
) -> list[tuple[Node, Domain]]:
    """Return each child with the remaining domain of the tested column there, empty where no value goes."""
    rest = rest_of(schema[node.column], possible)
    if isinstance(node, NumericSplit):
        return _sides(node, rest)
    assert isinstance(rest, frozenset)
    children: list[tuple[Node, Domain]] = [(b.node, rest & frozenset(b.values)) for b in node.branches]
    if node.default is not None:
        named = {value for branch in node.branches for value in branch.values}
        children.append((node.default, rest - named))
    return children


def unrouted_values(node: NumericSplit | CategoricalSplit, possible: Possible, schema: Schema) -> frozenset[Value]:
    """The values that the tested column can still have and no branch takes."""
    if isinstance(node, NumericSplit) or node.default is not None:
        return frozenset()
    rest = rest_of(schema[node.column], possible)
    assert isinstance(rest, frozenset)
    return rest - {value for branch in node.branches for value in branch.values}


BEYOND_FLOAT32 = 2.0**128
"""The number that would follow the largest float32: half way to it, rounding begins to give infinity."""


def largest_value_going_low(cut: NumericSplit) -> float:
    """Return the largest number that takes the low branch; a float32 split rounds the number, not the threshold."""
    if not cut.float32:
        return math.nextafter(cut.at, -math.inf) if cut.strict else cut.at
    import numpy as np

    with np.errstate(over="ignore"):
        top = np.float32(cut.at)
        if float(top) > cut.at or (cut.strict and float(top) == cut.at):
            top = np.nextafter(top, np.float32(-np.inf))
        if top == np.inf:
            return math.inf
        neighbours = (float(top), float(np.nextafter(top, np.float32(np.inf))))
        middle = sum(min(max(each, -BEYOND_FLOAT32), BEYOND_FLOAT32) for each in neighbours) / 2
        return middle if np.float32(middle) <= top else math.nextafter(middle, -math.inf)


def _sides(cut: NumericSplit, rest: Domain) -> list[tuple[Node, Domain]]:
    assert isinstance(rest, Interval)
    top = largest_value_going_low(cut)
    missing_low = rest.missing and cut.missing == "low"
    low = Interval(rest.low, min(rest.high, top), missing_low)
    high = Interval(max(rest.low, top), rest.high, rest.missing and not missing_low)
    return [(cut.low, low), (cut.high, high)]


def conditions(possible: Possible, schema: Schema) -> list[str]:
    """Return the remaining domain of each tested column in words, such as `age <= 30`."""
    return [_condition(schema[name], rest) for name, rest in possible.items()]


def _condition(column: Column, rest: Domain) -> str:
    if isinstance(rest, Interval):
        return _range(column, rest)
    values = [str(value) if value is not None else "missing" for value in column.domain if value in rest]
    return f"{column.name} = {values[0]}" if len(values) == 1 else f"{column.name} in {{{', '.join(values)}}}"


def _range(column: Column, rest: Interval) -> str:
    low, high = column.bounds or (-math.inf, math.inf)
    above = f"{rest.low:g} < " if rest.low >= low else ""
    below = f" <= {rest.high:g}" if rest.high < high else ""
    return f"{above}{column.name}{below}" + (" or missing" if rest.missing else "")


def conditions_in_words(possible: Possible, schema: Schema, whole: Collection[str]) -> list[str]:
    """Return the same for readers who know no formulas; `whole` are the columns that hold whole numbers alone."""
    return [f"{name} {_domain_in_words(schema[name], rest, is_whole=name in whole)}" for name, rest in possible.items()]


def _domain_in_words(column: Column, rest: Domain, *, is_whole: bool) -> str:
    if isinstance(rest, frozenset):
        return " or ".join("missing" if value is None else str(value) for value in column.domain if value in rest)
    low, high = column.bounds or (-math.inf, math.inf)
    least = math.floor(rest.low) + 1 if is_whole and math.isfinite(rest.low) else rest.low
    most = math.floor(rest.high) if is_whole and math.isfinite(rest.high) else rest.high
    above = f"{'at least' if is_whole else 'above'} {least:.12g}" if rest.low >= low else ""
    below = f"at most {most:.12g}" if rest.high < high else ""
    words = (
        f"{least:.12g}"
        if is_whole and above and below and least == most
        else " and ".join(filter(None, [above, below]))
    )
    return f"{words or 'a number'}{' or missing' if rest.missing else ''}"
