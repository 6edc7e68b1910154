"""Tables as releases: as they are (`raw_table`), or generalised first and then learned from.

`mondrian` and `top_down_specialisation` choose the groups in which public cells are published; `generalisation` holds
what both share.
"""

from __future__ import annotations

from leafgate.api import TreeBuilder, hookimpl
from leafgate_tables.mondrian import Mondrian
from leafgate_tables.raw_table import PublishedTable
from leafgate_tables.top_down_specialisation import Tds

leafgate_api = ">=2,<3"

__all__ = ["Mondrian", "PublishedTable", "Tds"]


@hookimpl
def tree_builders() -> list[type[TreeBuilder]]:
    return [Mondrian, PublishedTable, Tds]
