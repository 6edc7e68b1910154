"""Tables as releases: as they are (`raw_table`), or generalised first and then learned from.

`mondrian` and `top_down_specialisation` choose the groups in which public cells are published; `generalisation` holds
what both share.
"""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def tree_builders() -> dict[str, str]:
    return {
        "mondrian": "leafgate_plugins.tables.mondrian:Mondrian",
        "table": "leafgate_plugins.tables.raw_table:PublishedTable",
        "tds": "leafgate_plugins.tables.top_down_specialisation:Tds",
    }
