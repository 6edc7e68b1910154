"""Tables of the people whom an attack or a metric counts in parts of the table.

A finding has such a table where its evidence maps a name to parts of the people, and each part to counts with the same
names: `{"came_and_left": {"releases[0] (may.json)": {"came": {"people": 10, "proved_together": 2}, ...}}}`. They are
made of the report document, so that a page has no count that its audience may not see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from leafgate.disclosure.wording import number_words
from leafgate.io.json import JsonObject
from leafgate.io.text import clean
from leafgate.kernel.evidence import RESERVED

TITLE = "Counts of people"
MAX_TABLES = 24
"""Tables of one report; the JSON has all of them."""
MAX_ROWS = 100
"""Rows of one table."""
MAX_COUNT = 2**53
"""Larger numbers are no counts of people."""
MASKED = ({"fewer_than"}, {"more_than"}, {"from", "to"})
"""The keys of masked counts."""


@dataclass(frozen=True)
class CountTable:
    """A table of counts: what it counts, the heading of each cell of a row, and the rows."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def count_tables(findings: Sequence[JsonObject]) -> list[CountTable]:
    """The tables of these findings in their order, each once: all limits on one attack have the same.

    Args:
        findings: of a report.
    """
    tables = (table for finding in findings for table in _tables_of(finding))
    return list(dict.fromkeys(tables))


def _tables_of(finding: JsonObject) -> Iterator[CountTable]:
    of_secret = f" on {clean(finding['secret'])}" if finding["secret"] else ""
    whose = f"{clean(finding['attack'] or finding['metric'])}{of_secret}"
    for key, tables in finding["evidence"].items():
        if key in RESERVED or not isinstance(tables, Mapping):
            continue
        for name, parts in tables.items():
            if columns := _columns(parts):
                headings = ("part", *map(_words, columns))
                listed = list(parts.items())[:MAX_ROWS]
                rows = tuple(
                    (_words(part), *(number_words(counts[each]) for each in columns)) for part, counts in listed
                )
                yield CountTable(f"{whose}: {_words(key)}, {clean(name)}", headings, rows)


def _words(name: str) -> str:
    return clean(name).replace("_", " ")


def _columns(parts: object) -> list[str]:
    """The names of the counts that each part has; empty where the parts have others, or it is something else."""
    if not isinstance(parts, Mapping) or not parts or not all(isinstance(each, Mapping) for each in parts.values()):
        return []
    columns = list(next(iter(parts.values())))
    alike = all(list(each) == columns for each in parts.values())
    return columns if alike and all(_is_count(count) for each in parts.values() for count in each.values()) else []


def _is_count(value: object) -> bool:
    """Is it a count of people, exact or masked?"""
    if isinstance(value, Mapping):
        return set(value) in MASKED and all(map(_is_whole, value.values()))
    return _is_whole(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
