"""PPDTC4.5's threshold method as the paper writes it: every candidate t, every person, every time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from math import log2

import numpy as np

from leafgate.api import Noise

Person = tuple[tuple[float, ...], int]


@dataclass(frozen=True)
class LiteralCut:
    """A node of the literal tree: the column, the published t, its gain ratio and who is on which side."""

    column: int
    at: float
    ratio: float
    low: LiteralNode
    high: LiteralNode


LiteralNode = LiteralCut | Counter[int]


def info(people: list[Person]) -> float:
    """Equation 11, frequencies normalised."""
    counts = Counter(label for _, label in people)
    return -sum(n / len(people) * log2(n / len(people)) for n in counts.values())


def p_s1(w: float, t: float, noise: Noise) -> float:
    """The chance that a person who shares w is on the low side of t."""
    return 1 - float(noise.below(np.array([w - t]))[0])


@dataclass(frozen=True)
class Candidate:
    gain: float
    ratio: float
    at: float
    low: list[Person]
    high: list[Person]


def candidates(
    people: list[Person], everyone: list[Person], column: int, noise: Noise, theta: float
) -> list[Candidate]:
    """Every t = c - q with c midway between two numbers of everyone's, and the gain of what p_S1 > theta divides."""
    here = {numbers[column] for numbers, _ in people}
    found = []
    for one, next_one in pairwise(sorted({numbers[column] for numbers, _ in everyone})):
        if one not in here:
            continue
        t = (one + next_one) / 2 - noise.quantile(1 - theta)
        low = [p for p in people if p_s1(p[0][column], t, noise) > theta]
        high = [p for p in people if not p_s1(p[0][column], t, noise) > theta]
        if low and high:
            parts = [len(low) / len(people), len(high) / len(people)]
            gain = info(people) - parts[0] * info(low) - parts[1] * info(high)
            found.append(Candidate(gain, gain / -sum(p * log2(p) for p in parts), t, low, high))
    return found


def literal_tree(
    people: list[Person], laws: list[Noise], theta: float, *, average_gain: bool, everyone: list[Person] | None = None
) -> LiteralNode:
    """The unpruned tree: each column's cut by gain, the columns by gain ratio, as C4.5 does."""
    everyone = everyone or people
    best: list[tuple[int, Candidate]] = []
    for column, noise in enumerate(laws):
        found = [c for c in candidates(people, everyone, column, noise, theta) if round(c.gain, 12) > 1e-12]
        if found:
            top = max(round(c.gain, 12) for c in found)
            best.append((column, next(c for c in found if round(c.gain, 12) == top)))
    if not best:
        return Counter(label for _, label in people)
    mean = sum(round(c.gain, 12) for _, c in best) / len(best) if average_gain else 0.0
    early = [(column, c) for column, c in best if round(c.gain, 12) >= mean - 1e-12]
    top = max(round(c.ratio, 12) for _, c in early)
    column, chosen = next((column, c) for column, c in early if round(c.ratio, 12) == top)
    low, high = (
        literal_tree(part, laws, theta, average_gain=average_gain, everyone=everyone)
        for part in (chosen.low, chosen.high)
    )
    return LiteralCut(column, chosen.at, chosen.ratio, low, high)
