"""What the tests above a leaf leave possible, and how a published record says it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from leafgate.algorithms.induction.encoding import EncodedTable, Feature
from leafgate.algorithms.induction.growth import GrowingNode, sides, son_groups
from leafgate.errors import PolicyError
from leafgate.kernel.arrays import Codes


def conditions(coded: EncodedTable, leaf: GrowingNode, *, public: bool) -> dict[int, Codes]:
    """The codes that the tests above a leaf leave possible, for public or for other features."""
    found: dict[int, Codes] = {}
    son, node = leaf, leaf.parent
    while node is not None:
        choice = node.choice
        if choice is not None and coded.features[choice.feature].column.public == public:
            codes = found.get(choice.feature, np.arange(coded.features[choice.feature].size))
            group = son_groups(coded, node, choice)[node.children.index(son)]
            found[choice.feature] = codes[sides(coded, choice, codes) == group]
        son, node = node, node.parent
    return found


def cell_of(feature: Feature, codes: Codes | None) -> Any:
    """A cell as a release writes it: a value, {"in": [...]}, or {"from", "to"}, above one cut and up to the next."""
    if feature.numbers is None:
        values = [feature.values[code] for code in (range(feature.size) if codes is None else codes)]
        return values[0] if len(values) == 1 else {"in": values}
    first, last = (0, feature.size - 1) if codes is None else (int(codes[0]), int(codes[-1]))
    bounds = feature.column.bounds or (float(feature.numbers[0]), float(feature.numbers[-1]))
    low = bounds[0] if first == 0 else float(np.nextafter(feature.threshold(first - 1), np.inf))
    high = bounds[1] if last == feature.size - 1 else feature.threshold(last)
    return {"from": low, "to": high}


def refuse_gaps(features: Iterable[Feature], place: str) -> None:
    """PolicyError when a number may be missing: a range of numbers cannot say so."""
    gaps = [f.column.name for f in features if f.numbers is not None and np.isneginf(f.numbers[:1]).any()]
    if gaps:
        raise PolicyError(
            f"a range of {gaps[0]!r} cannot say that the cell is missing",
            place=place,
            remedy="say `on_missing: drop`, or publish the tree alone",
        )
