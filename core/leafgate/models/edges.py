"""Where a model's tests part numbers: the points at which a misreading would show."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from leafgate.ir.features import Numeric, Origin, Unresolved
from leafgate.ir.model import ModelIR
from leafgate.models.lowering.tests import Split, invert_threshold


def known_origins(model: ModelIR) -> list[Origin]:
    """Each feature's origin; a feature whose origin is not known is a column of its own."""
    origins = model.origins or (None,) * len(model.features)
    known = (None if isinstance(one, Unresolved) else one for one in origins)
    return [Numeric(name) if one is None else one for name, one in zip(model.features, known, strict=True)]


def column_edges(model: ModelIR) -> dict[str, set[float]]:
    """The last number that goes low for each test on numbers, by column; a column without such a test is not there."""
    edges: dict[str, set[float]] = {}
    for number, origin in enumerate(known_origins(model)):
        if isinstance(origin, Numeric) and (found := set(_edges(model, number, origin))):
            edges.setdefault(origin.column, set()).update(found)
    return edges


def _edges(model: ModelIR, feature: int, origin: Numeric) -> Iterable[float]:
    for tree in model.trees:
        strict, float32 = tree.flag("strict"), tree.flag("float32")
        for node in np.flatnonzero(tree.feature == feature).tolist():
            if node not in tree.subsets:
                asked = Split(float(tree.threshold[node]), bool(strict[node]), bool(float32[node]), False)
                yield invert_threshold(asked, origin.steps) if origin.steps else asked.at


def around(edges: Iterable[float]) -> np.ndarray:
    """Both sides of each edge, and the edge as single precision has it; edges beyond all numbers are left out."""
    at = np.array([edge for edge in edges if abs(edge) < 1e30])
    with np.errstate(over="ignore"):
        single = at.astype(np.float32)
    sides = (at, single, np.nextafter(at, np.inf), np.nextafter(at, -np.inf))
    singles = (np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf)))
    return np.unique(np.concatenate([side.astype(np.float64) for side in (*sides, *singles)]))
