"""What a candidate gains, and by how much that is more than the learner allowed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from literal_candidates import Comparison, Parts

Floats = NDArray[np.float64]


def excess(comparison: Comparison, counts: Floats) -> float:
    """How much more than allowed the candidate gains, in people x nats (gini: people)."""
    asked = gain(comparison, comparison.asked, counts)
    return comparison.factor * gain(comparison, comparison.candidate.parts, counts) - asked


def gain(comparison: Comparison, parts: Parts, counts: Floats) -> float:
    """What a test gains where it is compared: people x the fall of the impurity."""
    whole = purity(counts[list(comparison.rows)].sum(axis=0), comparison.measure)
    return sum(purity(counts[list(part)].sum(axis=0), comparison.measure) for part in parts) - whole


def purity(counts: Floats, measure: str) -> float:
    """Minus people x impurity, up to what is the same for every test: n_c^2/n, or n_c ln(n_c/n), summed."""
    held = counts[counts > 0]
    if measure == "gini":
        return float((held**2).sum() / counts.sum()) if len(held) else 0.0
    return float((held * np.log(held / held.sum())).sum())
