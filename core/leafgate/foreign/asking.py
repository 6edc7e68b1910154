"""How the trees of a model ask about its features."""

from __future__ import annotations

import numpy as np

from leafgate.foreign.features import Feature
from leafgate.foreign.model import LEAF, Foreign
from leafgate.foreign.origins import Origin


def asked_features(model: Foreign) -> dict[int, Feature]:
    """Every feature that some tree asks about, by its number."""
    least, most = np.full(len(model.features), np.inf), np.full(len(model.features), -np.inf)
    chosen: dict[int, set[str | float]] = {}
    for tree in model.trees:
        by_threshold = tree.feature != LEAF
        by_threshold[list(tree.subsets)] = False
        np.minimum.at(least, tree.feature[by_threshold], tree.threshold[by_threshold])
        np.maximum.at(most, tree.feature[by_threshold], tree.threshold[by_threshold])
        for node, values in tree.subsets.items():
            chosen.setdefault(int(tree.feature[node]), set()).update(values)
    asked = sorted({*chosen, *np.flatnonzero(most > -np.inf).tolist()})
    told = model.origins or (None,) * len(model.features)
    return {i: _feature(model.features[i], told[i], chosen.get(i), float(least[i]), float(most[i])) for i in asked}


def _feature(name: str, told: Origin | None, chosen: set[str | float] | None, least: float, most: float) -> Feature:
    if chosen is None:
        return Feature(name, told, least=least, most=most)
    texts = frozenset(value for value in chosen if isinstance(value, str))
    return Feature(name, told, True, len(texts) == len(chosen) and most < least, texts, least, most)
