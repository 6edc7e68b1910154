"""A scenario for the conformance kit whose secret is an input of the tree, not its class."""

from __future__ import annotations

import numpy as np
import pandas as pd

from leafgate.api import Branch, CategoricalSplit, Column, Leaf, Release, Schema, Table, make_table
from leafgate.testing import Scenario


def illnesses_of_smokers(telling: str) -> Table:
    """Whoever has flu smokes, whoever has nothing does not, and of those with a cold half do; or it says nothing."""
    cells = {"flu": ("yes",), "none": ("no",), "cold": ("yes", "no")}
    rows = [
        (town, smoker, illness)
        for town in ("Hill", "Port")
        for illness in ("none", "cold", "flu")
        for smoker in (cells[illness] if telling == "much" else ("yes", "no"))
    ]
    schema = Schema(
        (
            Column("town", frozenset({"quasi_identifier"}), values=("Hill", "Port")),
            Column("smoker", frozenset({"sensitive"}), values=("yes", "no")),
            Column("illness", frozenset({"class", "quasi_identifier"}), values=("none", "cold", "flu")),
        )
    )
    frame = pd.DataFrame(
        {
            column.name: pd.Categorical([row[place] for row in rows], categories=list(column.domain))
            for place, column in enumerate(schema.columns)
        }
    )
    return make_table(schema, frame, np.full(len(rows), 3))


def smoker_tree(table: Table, telling: str) -> Release:
    """A leaf for smokers and one for the others; or one leaf."""

    def leaf(*smokes: str) -> Leaf:
        inside = table.frame["smoker"].isin(smokes).to_numpy()
        counts = {
            name: int(table.weight[inside & (table.frame["illness"] == name).to_numpy()].sum())
            for name in table.schema.classes
        }
        return Leaf(max(counts, key=lambda name: counts[name]), counts)

    asked = CategoricalSplit("smoker", (Branch(("yes",), leaf("yes")), Branch(("no",), leaf("no"))))
    return Release({"use": "conformance"}, table.schema, (asked if telling == "much" else leaf("yes", "no"),))


def smoking_is_out(table: Table) -> list[bool]:
    """Of whom the tree and the illness tell whether they smoke."""
    exposed: list[bool] = (table.frame["illness"] != "cold").tolist()
    return exposed


SECRET_INPUT = Scenario("a secret input column", illnesses_of_smokers, smoker_tree, smoking_is_out)
