"""kADET: decision trees that are k-anonymous by construction.

`options` declares what a policy can set. `builder` makes the release: `grow` splits nodes best first, `spans` holds the
groups of people whom the adversary cannot distinguish, `requirements` decides which groups may be published, and
`equivalent_table` writes the k-anonymous table that the tree stands for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate import Release, TreeBuilder, hookimpl
from leafgate_kadet.options import KadetOptions

if TYPE_CHECKING:
    import numpy as np

    from leafgate import Table


class Kadet(KadetOptions):
    """Grow a tree whose every group of people that cannot be told apart has at least k members."""

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        from leafgate_kadet.builder import build

        return build(self, table)


@hookimpl
def tree_builders() -> list[type[TreeBuilder]]:
    return [Kadet]
