"""A release with one of everything a release file can say, and ways to write it."""

from __future__ import annotations

import json
from typing import Any

from leafgate import Release
from leafgate.algorithms.publication import published
from leafgate.api import Branch, CategoricalSplit, Leaf, NumericSplit, Records, Schema
from leafgate.app import serialize
from leafgate.kernel.release import Level, Publish
from random_tables import categorical, numeric

SCHEMA = Schema(
    (
        numeric("age", "quasi_identifier", bounds=(17, 90), missing=True),
        categorical("sports", "private", values=("yes", "no"), missing=True),
        categorical("income", "class", "sensitive", values=("low", "high")),
    )
)
COUNTS = {"low": 31415, "high": 27182}
NOBODY = {"low": 0, "high": 0}
CUT = NumericSplit("age", 37.5, Leaf("low", COUNTS), Leaf("high", {"low": 0, "high": 8}), "low", strict=True)
TREE = CategoricalSplit("sports", (Branch(("yes", None), CUT),), default=Leaf("low", NOBODY))
RECORDS = Records(
    ("age", "sports", "income"),
    ((17.0, "yes", "low"), ({"from": 20, "to": 30}, {"in": ["yes", "no"]}, {"withheld": True}), (None, None, "high")),
    (3, 4, 5),
)
DRAFT = Release(
    {"use": "careful", "k": 3, "measure": "gain_ratio", "average_gain": True},
    SCHEMA,
    (TREE,),
    selection={"measure": "gain_ratio", "min_leaf": 2},
    guarantee={"k": 3},
    alternatives={"plain": Leaf("high", COUNTS)},
    records=RECORDS,
)
TELLS = frozenset({"measure", "average_gain"})

Steps = tuple[str | int, ...]
"""The way from the top of a JSON document to one place in it."""


def written(draft: Release = DRAFT, level: Level = "counts", *, measure: bool = True) -> bytes:
    """The file of a draft, cut down to what is published."""
    return serialize(published(draft, Publish(leaves=level, measure=measure), TELLS)).content


def changed(steps: Steps, value: Any) -> bytes:
    """The file with another value at one place."""
    document = json.loads(written())
    here = document
    for step in steps[:-1]:
        here = here[step]
    here[steps[-1]] = value
    return json.dumps(document).encode()
