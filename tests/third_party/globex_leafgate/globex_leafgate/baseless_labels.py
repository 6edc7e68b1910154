"""Leaves whose label nobody of the table has who reaches them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from leafgate.api import AuditCheck, AuditorOnly, CheckContext, CheckFinding, PeopleCount


class BaselessLabel(AuditCheck):
    """No leaf that people reach may have a label that none of them has: the table is not what the tree learned from."""

    use: Literal["baseless_label"] = "baseless_label"

    threat_model = "None: this asks whether the release is about the people of the table at all."
    formula = "leaves with people of the table, none of whom has the leaf's label"
    source = "Globex's rules for publishing models"
    plain_failure = "a leaf says of people what none of them is"

    def run(self, context: CheckContext) -> Iterator[CheckFinding]:
        import numpy as np

        from leafgate.algorithms.routing import route

        if context.release.combine != "one":
            return  # a leaf of several trees has no label of its own
        table, target = context.table, context.release.target
        classes = np.array(context.release.schema.classes)[table.codes(target)]
        for tree in context.release.trees:
            routed = route(tree, table)
            for position, leaf in enumerate(routed.leaves):
                here = routed.leaf == position
                if leaf.label is not None and here.any() and not (classes[here] == leaf.label).any():
                    people = PeopleCount(int(table.weight[here].sum()))
                    yield CheckFinding(
                        problem="Audit the tree on the table that it was learned from.",
                        fails=True,
                        column=target,
                        evidence={"people": people, "label": AuditorOnly(leaf.label)},
                    )
                    return
