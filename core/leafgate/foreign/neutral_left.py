"""What of a neutral file nobody needs: longer texts than it has, and numbers where nothing is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from leafgate.disclosed import SIGNS, Disclosure, other_content
from leafgate.foreign.model import LEAF, Foreign, ForeignTree
from leafgate.foreign.origins import Unknown

SHORT = {"from": 40, "producer": 100, "untold_missing": 300}
KIND, SAYS, SETTING, NAME = 60, 300, 40, 200
"""Signs of the longest text: the kind of a disclosure, what it says, a setting, the name of a feature or class."""

ITEMS = 60
"""Disclosures that a file may list: there are not as many kinds."""


def left(told: Mapping[str, Any], model: Foreign) -> tuple[Disclosure, ...]:
    """What the file tells besides the model."""
    return other_content([*_texts(told, model), *_tables(told), *_numbers(model)])


def _texts(told: Mapping[str, Any], model: Foreign) -> Iterator[tuple[str, int]]:
    found = [(key, told.get(key, ""), most) for key, most in SHORT.items()]
    found += [("settings", value, SETTING) for value in model.settings.values() if isinstance(value, str)]
    found += [(key, name, NAME) for key in ("features", "classes") for name in told[key]]
    found += [("origins", one.why, SAYS) for one in model.origins or () if isinstance(one, Unknown)]
    for item in model.discloses:
        found += [("discloses", item.kind, KIND), ("discloses", item.says, SAYS)]
    yield from ((f"a long text in `{key}`", 1 + len(text) // SIGNS) for key, text, most in found if len(text) > most)
    if len(model.discloses) > ITEMS:
        yield "a long list in `discloses`", sum(1 + len(item.says) // SIGNS for item in model.discloses)


def _tables(told: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Groups of values that no origin refers to."""
    codes = [one.get("codes") for one in told.get("origins") or () if isinstance(one, dict)]
    used = {one[0] for one in codes if isinstance(one, list)}
    idle = [table for number, table in enumerate(told.get("groups", ())) if number not in used]
    if idle:
        yield "`groups` that no feature is of", sum(map(len, idle))


def _numbers(model: Foreign) -> Iterator[tuple[str, int]]:
    """Numbers of nodes that have none: thresholds of leaves and sets, what inner nodes say, children of leaves."""
    many = sum(_of_tree(tree) for tree in model.trees)
    if many:
        yield "numbers of nodes that nobody reads", many


def _of_tree(tree: ForeignTree) -> int:
    leaf = tree.feature == LEAF
    idle = leaf.copy()
    idle[[node for node in tree.subsets if 0 <= node < tree.nodes]] = True
    below = ((tree.low != LEAF) & leaf) | ((tree.high != LEAF) & leaf)
    says = np.isfinite(tree.says[~leaf]).any(axis=1)
    return int(np.isfinite(tree.threshold[idle]).sum() + says.sum() + below.sum())
