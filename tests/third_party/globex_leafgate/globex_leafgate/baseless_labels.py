"""Leaves whose label nobody of the table has who reaches them."""

from __future__ import annotations

from typing import Literal

from leafgate.api import AuditorOnly, ReleaseAtMost, Score, ScoringContext


class BaselessLabels(ReleaseAtMost):
    """No leaf that people reach may have a label that none of them has: the table is not what the tree learned from."""

    use: Literal["baseless_labels"] = "baseless_labels"

    threat_model = "None: this asks whether the release is about the people of the table at all."
    formula = "leaves with people of the table, none of whom has the leaf's label"
    source = "Globex's rules for publishing models"
    scale = "leaves"
    score_range = (0.0, float("inf"))
    policy_example = "at_most: 0"
    interpretation = "0 means that somebody has the label of each leaf that people reach."
    plain_failure = "a leaf says of people what none of them is"
    measures = "cost"

    def score(self, case: ScoringContext) -> Score:
        import numpy as np

        from leafgate.algorithms.routing import route

        labels: list[str] = []
        if case.release.combine == "one":  # a leaf of several trees has no label of its own
            table, target = case.table, case.release.target
            classes = np.array(case.release.schema.classes)[table.codes(target)]
            for tree in case.release.trees:
                routed = route(tree, table)
                for position, leaf in enumerate(routed.leaves):
                    here = routed.leaf == position
                    if leaf.label is not None and here.any() and not (classes[here] == leaf.label).any():
                        labels.append(leaf.label)
        remedy = "Audit the tree on the table that it was learned from." if labels else ""
        return Score(float(len(labels)), remedy=remedy, evidence={"labels": AuditorOnly(labels)})
