"""The measured part of docs/measurements/membership-on-adult.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import mean

from membership_setting import DP, DP_DELTA, DP_EPSILON, LOW_RATE, MODELS, OWN, RATE, Row
from writing import fixed, table

NAMES = {"adult": "Adult", "credit": "clients"}
STRONG = [name for name in OWN if name != "worst_case"]


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """For each model the best attack on each data set, then the attacks that find more than a promise allows."""
    names = ("AUC", "TPR at .1 %")
    head = ("model", *(f"{data}: {name}" for data in NAMES.values() for name in names))
    body = [[model, *(cell for data in NAMES for cell in best(rows, data, model))] for model in MODELS]
    yield from table(head, body, "l" + "r" * (len(head) - 1))
    if any(row.model == DP for row in rows):
        yield ""
        yield private(rows)


def best(rows: Sequence[Row], data: str, model: str) -> list[str]:
    """The best attack on a model."""
    own = [row for row in rows if (row.data, row.model) == (data, model) and row.attack in STRONG]
    return [fixed(highest(own, "auc"), 3), fixed(highest(own, "tpr_001"), 4)]


def highest(rows: Iterable[Row], name: str) -> float | None:
    """The highest mean over the targets of any attack that was run on most of them."""
    by_attack: dict[str, list[float]] = {}
    for row in rows:
        if getattr(row, name) is not None:
            by_attack.setdefault(row.attack, []).append(getattr(row, name))
    most = max(map(len, by_attack.values()), default=0)
    return max((mean(values) for values in by_attack.values() if len(values) == most), default=None)


def private(rows: Sequence[Row]) -> str:
    """How many attacks on private trees have an interval above what epsilon and delta allow any attack."""
    allowed = {
        "auc": allowed_area(DP_EPSILON, DP_DELTA),
        "tpr_001": allowed_rate(LOW_RATE, DP_EPSILON, DP_DELTA),
        "tpr_01": allowed_rate(RATE, DP_EPSILON, DP_DELTA),
        "advantage": allowed_advantage(DP_EPSILON, DP_DELTA),
    }
    measured = [row for row in rows if row.model == DP and row.auc is not None]
    broken = [
        row for row in measured if any((getattr(row, f"{name}_low") or 0) > most for name, most in allowed.items())
    ]
    highest_area = max(row.auc or 0.0 for row in measured)
    return (
        f"Private random trees allow an AUC of {allowed['auc']:.4f}. The highest of {len(measured)} attacks on them is "
        f"{highest_area:.4f}; {len(broken)} have an interval above what is allowed."
    )


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
