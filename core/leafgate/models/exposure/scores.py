"""Whether the numbers of people of each class follow from the scores of the first trees of boosting."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from leafgate.algorithms.certainty import LEARNING_RATES as RATES
from leafgate.algorithms.consistency import decimal_places
from leafgate.ir.model import ModelIR, TreeIR
from leafgate.kernel.arrays import Floats
from leafgate.kernel.release import FileDisclosure

PEOPLE, FEW = 500, (10, 30, 100, 500)
"""Leaves of so many people are looked for: the fewer, the less often numbers fit by accident."""

LEAVES = 128
"""So many leaves are looked at; of more, that many spread over all of them."""

OTHERS = tuple(i / 100 for i in range(1, 100) if i / 100 not in RATES)
PENALTIES = (1.0, 0.0, 5.0, 0.1, 10.0)
"""Learning rates and penalties on the square of scores: the libraries' own first, then what people write. Other rates
are tried with the libraries' own penalties."""

RARELY = 0.01
"""What happens by accident less often is none."""

SINGLE, EXACT = 2e-7, 1e-12
"""Parts by which scores are off: sums of single precision, of double precision."""

SETTLED = 5
"""Scores so coarse that chance explains a leaf of so many people disclose no count."""

RECOVERABLE_FROM_SCORES = FileDisclosure(
    "scores_betray_counts",
    "high",
    "scores of the first trees, from which the people of each class at small leaves follow, to the last one",
    "counts",
)
UNSETTLED = FileDisclosure(
    "scores_may_betray_counts",
    "high",
    "scores of the first trees: whoever knows how the learner was set and what its scores start from may work out the "
    "people of each class at small leaves; whether so could not be told",
)


@dataclass(frozen=True)
class _Law:
    """How a learner makes a score of n people, k of them of the class that it speaks of.

    It is `rate * (k * up - (n - k) * down) / (n * bend + penalty)`; `up`, `down` and `bend` are for each leaf. `off` is
    how far k may be from a whole number, for each of the n people.
    """

    up: Floats
    down: Floats
    bend: Floats
    rate: float
    penalty: float
    off: Floats


def with_recoverable_score_counts(model: ModelIR) -> ModelIR:
    """The model with a disclosure of counts where its first scores give them, or may give them."""
    if model.values != "scores" or model.level == "counts" or not model.classes:
        return model
    result = RECOVERABLE_FROM_SCORES if counts_recoverable_from_scores(model) else UNSETTLED
    if result is UNSETTLED and _coarse(model):
        return model
    rest = tuple(item for item in model.discloses if item.kind not in {RECOVERABLE_FROM_SCORES.kind, UNSETTLED.kind})
    return replace(model, discloses=(result, *rest))


def counts_recoverable_from_scores(model: ModelIR) -> bool:
    """Are more of the first leaves' scores those of a few people, by some law of boosting, than by accident?

    Everybody starts from the same chance p of a class. A leaf of n people, k of them of the class, adds
    rate * (k - n p) / (n p (1 - p) s + penalty), s being 1 for two classes: a Newton step on the logistic loss. The
    chance is in the file, rate and penalty are there or can be guessed, and few n give a whole k.

    Source: Friedman, "Greedy Function Approximation", 2001, section 4.5; Chen and Guestrin, "XGBoost", 2016, formula 5.
    Libraries round the derivatives: XGBoost adds up in single precision what HistGradientBoosting and LightGBM round to
    it and add up in double.
    """
    scores, chances = _first(model)
    if not len(scores):
        return False
    return any(_explains(law, scores, number) for number, law in enumerate(_laws(model, scores, chances), 1))


def _first(model: ModelIR) -> tuple[Floats, Floats]:
    """The different scores other than 0 of each class's first tree, and the chance of the class that it starts from.

    A tree with a score for each class is the first of all classes, unless it votes; the last class's score follows
    from the others.
    """
    found: list[tuple[float, float]] = []
    seen = set[int | None]()
    for tree in model.trees:
        width = tree.values.shape[1]
        for column, output in enumerate([tree.output] if width == 1 else range(width - 1)):
            if output in seen or (width > 1 and _votes(tree)):
                continue
            seen.add(output)
            chance = chance_of(model, output)
            found += [(score, chance) for score in np.unique(tree.values[tree.leaves, column]).tolist() if score]
    step = max(1, math.ceil(len(found) / LEAVES))
    numbers = np.array(found[::step]).reshape(-1, 2)
    return numbers[:, 0], numbers[:, 1]


def _votes(tree: TreeIR) -> bool:
    """Whether all leaves have one weight for their label and one for the other classes, as AdaBoost's have."""
    scores = np.sort(tree.values[tree.leaves], axis=1)
    return bool((scores == scores[0]).all() and (scores[0, :-1] == scores[0, 0]).all())


def chance_of(model: ModelIR, output: int | None) -> float:
    """Of the class that a tree speaks of, before any tree has spoken."""
    k = len(model.classes)
    base = np.zeros(k)
    base[k - len(model.base) :] = model.base
    position = (1 if output is None else output) if k == 2 else output or 0
    return float(1 / np.exp(np.clip(base - base[position], -50, 50)).sum())


def _laws(model: ModelIR, scores: Floats, p: Floats) -> Iterator[_Law]:
    """What a learner may have done, the likeliest first."""
    k, half = len(model.classes), _unit(scores)
    is_single = k == 2 and {tree.values.shape[1] for tree in model.trees} == {1}
    is_single &= len({tree.output for tree in model.trees}) == 1
    bends = (1.0,) if is_single else (2.0, 1.0, k / (k - 1))
    for rate, penalty, bend in (*product(RATES, PENALTIES, bends), *product(OTHERS, PENALTIES[:2], bends)):
        steep = abs(scores) / rate * bend * p * (1 - p)
        if half is not None:
            yield _Law(1 - p, p, bend * p * (1 - p), rate, penalty, half / rate * (bend * p * (1 - p) + penalty))
        elif (scores == scores.astype(np.float32)).all():
            yield _Law(1 - p, p, bend * p * (1 - p), rate, penalty, SINGLE * (steep + p))
        else:
            yield _Law(1 - p, p, bend * p * (1 - p), rate, penalty, EXACT * (1 + steep))
            up, down, rounded = (
                (each.astype(np.float32)).astype(np.float64) for each in (1 - p, p, bend * p * (1 - p))
            )
            yield _Law(up, down, rounded, rate, penalty, EXACT * (1 + steep))


def _unit(scores: Floats) -> float | None:
    """Half of the last decimal of scores that are rounded to few; None of others."""
    digits = decimal_places(scores)
    return None if digits is None else 0.5 / 10**digits


def _explains(law: _Law, scores: Floats, number: int) -> bool:
    """Does the law, one of many, explain more scores by few people than chance would?"""
    fewest = _fewest(law, scores)
    rarely = math.log(RARELY / (number * (number + 1) * len(FEW)))
    return any(
        _log_chance(int((fewest <= people).sum()), float(np.minimum(law.off * people**2, 1).sum())) < rarely
        for people in FEW
    )


def _fewest(law: _Law, scores: Floats) -> np.ndarray:
    """The fewest people of whom each score can be; more than PEOPLE where there are none.

    Without a penalty, one class alone says nothing of how many there are.
    """
    n = np.arange(1, PEOPLE + 1)
    sums = scores[:, None] / law.rate * (n * law.bend[:, None] + law.penalty)
    found = (sums + n * law.down[:, None]) / (law.up + law.down)[:, None]
    k = np.rint(found)
    alone = 0 if law.penalty else 1
    fits = (abs(found - k) <= law.off[:, None] * n) & (k >= alone) & (k <= n - alone)
    return np.where(fits.any(axis=1), fits.argmax(axis=1) + 1, PEOPLE + 1)


def _log_chance(found: int, expected: float) -> float:
    """At most the logarithm of how often there are so many by accident: Chernoff's bound for a Poisson number."""
    return found - expected + found * math.log(max(expected, 1e-300) / found) if found > expected else 0.0


def _coarse(model: ModelIR) -> bool:
    """Whether the scores are rounded so that leaves of a few people are indistinguishable from others."""
    scores, p = _first(model)
    half = _unit(scores) if len(scores) else 1.0
    if half is None:
        return False
    return bool(len(scores) == 0 or (half / RATES[0] * (p * (1 - p)) * SETTLED**2 > 0.1).all())
