"""The measured part of docs/measurements/membership-on-adult.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import mean

from membership_setting import DP, DP_DELTA, DP_EPSILON, LOW_RATE, MODELS, OWN, PEERS, RATE, Row
from writing import fixed, section, table

NOTES = {
    "tree": (0.65, 0.017, 0.186),
    "tree, leaf >= 10": (0.55, 0.002, 0.020),
    "tree, depth 5, leaf >= 50": (0.51, 0.002, 0.0),
    "forest": (0.83, 0.045, 0.13),
    "forest, leaf >= 5": (0.59, 0.008, 0.002),
    "forest, no bootstrap": (0.94, 0.31, 0.68),
    "extra trees": (0.93, 0.27, 0.66),
    "histogram boosting": (0.61, 0.014, None),
}
"""What was measured on Adult before, with scikit-learn and numpy alone: area, rate at .1 %, excluded."""
AREA_WITHIN, RATE_FACTOR = 0.015, 1.5
NAMES = {"adult": "Adult", "credit": "Credit card clients"}
STRONG = [name for name in OWN if name != "worst_case"]


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """All of it."""
    for data, name in NAMES.items():
        here = [row for row in rows if row.data == data and row.model != DP]
        if here:
            yield from section(name, best(here, data))
    if any(row.attack in PEERS for row in rows):
        yield from section("Beside SACRO-ML and ART", peers(rows))
    yield from section("Every attack", everything(rows))
    if any(row.model == DP for row in rows):
        yield from section("Private random trees: measured against allowed", private(rows))


def best(rows: Sequence[Row], data: str) -> Iterator[str]:
    """The best attack on each model, beside what was measured before."""
    head = ("model", "targets", "AUC", "TPR at .1 %", "TPR at 1 %", "excluded", "wrongly", "AUC, TPR before", "kept up")
    yield from table(head, (_best_of(rows, model, data) for model in MODELS if _of(rows, model)), "lrrrrrrll")


def _best_of(rows: Sequence[Row], model: str, data: str) -> list[str]:
    own = [row for row in _of(rows, model) if row.attack in STRONG]
    area, low, rate = (highest(own, name) for name in ("auc", "tpr_001", "tpr_01"))
    excluded = [row.excluded for row in own if row.excluded is not None]
    wrongly = [row.wrongly for row in own if row.wrongly is not None]
    before, kept = "-", "-"
    if data == "adult" and area is not None and low is not None:
        before = f"{NOTES[model][0]:.2f}, {NOTES[model][1]:.3f}"
        up = area >= NOTES[model][0] - AREA_WITHIN and low >= NOTES[model][1] / RATE_FACTOR
        kept = "yes" if up else "no"
    share = f"{100 * mean(excluded):.1f} %" if excluded else "-"
    targets = str(len({row.target for row in own}))
    numbers = (fixed(area, 3), fixed(low, 4), fixed(rate, 3), share)
    return [model, targets, *numbers, str(sum(wrongly)) if wrongly else "-", before, kept]


def highest(rows: Iterable[Row], name: str) -> float | None:
    """The highest mean over the targets of any attack that was run on most of them."""
    by_attack: dict[str, list[float]] = {}
    for row in rows:
        if getattr(row, name) is not None:
            by_attack.setdefault(row.attack, []).append(getattr(row, name))
    most = max(map(len, by_attack.values()), default=0)
    return max((mean(values) for values in by_attack.values() if len(values) == most), default=None)


def peers(rows: Sequence[Row]) -> Iterator[str]:
    """The best of leafgate's and of the others' attacks, on the targets that both attacked."""
    head = ("data", "model", "targets", "AUC", "AUC, peers", "TPR at .1 %", "TPR at .1 %, peers", "never below")
    yield from table(head, _beside(rows), "llrrrrrl")


def _beside(rows: Sequence[Row]) -> Iterator[list[str]]:
    for data, name in NAMES.items():
        for model in [*MODELS, DP]:
            here = [row for row in rows if (row.data, row.model) == (data, model)]
            targets = {row.target for row in here if row.attack in PEERS}
            both = [row for row in here if row.target in targets]
            own, theirs = ([row for row in both if row.attack in names] for names in (STRONG, PEERS))
            if not own or not theirs:
                continue
            numbers = [highest(part, which) for which in ("auc", "tpr_001") for part in (own, theirs)]
            ahead = all(not_below(own, theirs, which) for which in ("auc", "tpr_001"))
            digits = (fixed(number, decimals) for number, decimals in zip(numbers, (3, 3, 4, 4), strict=True))
            yield [name, model, str(len(targets)), *digits, "yes" if ahead else "no"]


def not_below(own: Sequence[Row], theirs: Sequence[Row], name: str) -> bool:
    """Whether, on every target, the upper end of some own interval reaches the lower end of each of theirs."""
    for target in {row.target for row in theirs}:
        ours = [getattr(row, f"{name}_high") for row in own if row.target == target]
        others = [getattr(row, f"{name}_low") for row in theirs if row.target == target]
        if max((x for x in others if x is not None), default=0.0) > max(
            (x for x in ours if x is not None), default=0.0
        ):
            return False
    return True


def everything(rows: Sequence[Row]) -> Iterator[str]:
    """Each attack on each model: means over the targets."""
    head = ("data", "model", "attack", "AUC", "TPR at .1 %", "TPR at 1 %", "advantage", "seconds")
    body = []
    for data, name in NAMES.items():
        for model in [*MODELS, DP]:
            for attack in [*OWN, *PEERS]:
                here = [row for row in rows if (row.data, row.model, row.attack) == (data, model, attack)]
                if here:
                    body.append([name, model, attack, *_means(here)])
    yield from table(head, body, "lllrrrrr")


def _means(rows: Sequence[Row]) -> Iterator[str]:
    for name, decimals in (("auc", 3), ("tpr_001", 4), ("tpr_01", 3), ("advantage", 3), ("seconds", 1)):
        values = [getattr(row, name) for row in rows if getattr(row, name) is not None]
        yield fixed(mean(values) if values else None, decimals)


def private(rows: Sequence[Row]) -> Iterator[str]:
    """What epsilon and delta allow any attack; of those that ran the highest lower end, and number, of all targets."""
    allowed = {
        "auc": allowed_area(DP_EPSILON, DP_DELTA),
        "tpr_001": allowed_rate(LOW_RATE, DP_EPSILON, DP_DELTA),
        "tpr_01": allowed_rate(RATE, DP_EPSILON, DP_DELTA),
        "advantage": allowed_advantage(DP_EPSILON, DP_DELTA),
    }
    head = (
        "data",
        "attack",
        "targets",
        *(f"{name}: at least, highest" for name in ("AUC", "TPR at .1 %", "TPR at 1 %", "advantage")),
    )
    measured = [row for row in rows if row.model == DP and row.auc is not None]
    body = []
    for data, attack in dict.fromkeys((row.data, row.attack) for row in measured):
        here = [row for row in measured if (row.data, row.attack) == (data, attack)]
        highest = [[max(getattr(row, key) for row in here) for key in (f"{name}_low", name)] for name in allowed]
        body.append([NAMES[data], attack, str(len(here)), *(f"{low:.4f}, {value:.4f}" for low, value in highest)])
    body.append(["allowed", "any", "", *(f"{number:.4f}" for number in allowed.values())])
    yield from table(head, body, "llrrrrr")
    broken = [
        row for row in measured if any((getattr(row, f"{name}_low") or 0) > most for name, most in allowed.items())
    ]
    yield ""
    yield f"Attacks with a lower end above what is allowed: {len(broken)} of {len(measured)}."


def allowed_rate(fpr: float, epsilon: float, delta: float) -> float:
    """The highest true positive rate of any test between neighbours.

    >>> allowed_rate(0.0, 1.0, 0.0), allowed_rate(1.0, 1.0, 0.0)
    (0.0, 1.0)
    """
    return max(0.0, min(1.0, math.exp(epsilon) * fpr + delta, 1 - math.exp(-epsilon) * (1 - fpr - delta)))


def allowed_advantage(epsilon: float, delta: float) -> float:
    """The highest difference of the two rates.

    >>> round(allowed_advantage(1.0, 0.0), 6) == round(math.tanh(0.5), 6)
    True
    """
    return (math.exp(epsilon) - 1 + 2 * delta) / (math.exp(epsilon) + 1)


def allowed_area(epsilon: float, delta: float, steps: int = 20_000) -> float:
    """The highest area under the curve, by the trapezoidal rule; of delta 0 it is 1 - 1 / (1 + e^epsilon).

    >>> round(allowed_area(1.0, 0.0), 5) == round(1 - 1 / (1 + math.e), 5)
    True
    """
    rates = [allowed_rate(step / steps, epsilon, delta) for step in range(steps + 1)]
    return (sum(rates) - (rates[0] + rates[-1]) / 2) / steps


def _of(rows: Sequence[Row], model: str) -> list[Row]:
    return [row for row in rows if row.model == model]
