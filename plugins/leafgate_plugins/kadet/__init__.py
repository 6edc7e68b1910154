"""kADET: decision trees that are k-anonymous by construction.

`grow` splits nodes best first, `spans` holds the groups of people whom the adversary cannot distinguish, `requirements`
decides which groups may be published, and `equivalent_table` writes the k-anonymous table that the tree stands for.
"""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def tree_builders() -> dict[str, str]:
    return {"kadet": "leafgate_plugins.kadet.builder:Kadet"}
