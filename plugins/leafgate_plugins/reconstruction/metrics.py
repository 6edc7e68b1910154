"""Metrics of the entropy that noise leaves in a column, and of the error of an attack's estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from leafgate import api
from leafgate.errors import nearest_name
from leafgate_plugins.reconstruction.attacks import AGGARWAL, HUANG, MINER

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

else:
    np, pd = api.lazy("numpy"), api.lazy("pandas")


class _OfTheNoise(api.Metric):
    """A metric of what noise leaves to be known of a column, whatever attack is tried."""

    public = "verdict"
    threat_model = f"{MINER} For the score it is granted the distribution of the originals."
    source = f"{AGGARWAL}, section 2"

    column: str | None = None


class IntervalPrivacy(_OfTheNoise, api.ReleaseAtLeast):
    """The effective length of the interval in which an original can lie once its shared number is seen."""

    use: Literal["interval_privacy"] = "interval_privacy"
    column: str | None = Field(None, description="The noisy column; by default the one with the least.")

    policy_example = "at_least: 30"
    formula = "Pi(A|B) = 2^h(A|B) = 2^(h(X) - I), I = h(W) - h(R), in bits; W = X + R"
    plain_failure = "the noise leaves too little unknown"
    scale = "from 0 up, in the column's unit"
    score_range = (0, math.inf)
    interpretation = "0: the numbers are known; L: as uncertain as a number anywhere in an interval of length L"

    def score(self, case: api.ScoringContext) -> api.Score:
        columns = intervals(case, self.column)
        return api.Score(min(each.after for each in columns), evidence=_evidence(columns))


class PrivacyLoss(_OfTheNoise, api.ReleaseAtMost):
    """The share of an original's interval privacy that is lost once its shared number is seen."""

    use: Literal["privacy_loss"] = "privacy_loss"
    column: str | None = Field(None, description="The noisy column; by default the one with the most.")

    policy_example = "at_most: 0.2"
    formula = "P(A|B) = 1 - 2^-I, I = h(W) - h(R), in bits; W = X + R. Normal on normal: 1 - 1/sqrt(1 + SNR)"
    plain_failure = "the shared numbers disclose too much of the originals"
    scale = "from 0 to 1"
    score_range = (0, 1)
    interpretation = "0: nothing is disclosed; 1/2: half the interval in which the original can lie"

    def score(self, case: api.ScoringContext) -> api.Score:
        columns = intervals(case, self.column)
        return api.Score(max(each.loss for each in columns), evidence=_evidence(columns))


class NormalisedRmse(api.AtLeast):
    """The error of an attack's estimates, relative to how much the originals vary; the same for everybody."""

    use: Literal["normalised_rmse"] = "normalised_rmse"

    policy_example = "at_least: 0.5"
    judges = frozenset({api.CellBelief})
    public = "verdict"
    groups_only = True
    threat_model = "Whatever the attack it judges assumes."
    formula = "sqrt(mean over people of (estimate - original)^2) / standard deviation of the originals"
    plain_failure = "people's {secret} can be reconstructed too well"
    scale = "from 0 up"
    score_range = (0, math.inf)
    interpretation = "0: every number is known; 1: no better than estimating the mean for everybody"
    source = f"{HUANG}, section 7 (root mean square error); divided by the spread, it compares columns"

    def score(self, case: api.ScoringContext) -> api.Score:
        """Root mean square error of the estimates over the standard deviation of the originals, the same for everybody.

        UnreadableError where the attack has no estimates, InconclusiveError where all originals are equal.
        """
        estimates = case.estimates
        true, weight = case.table.numbers(case.secret.name), case.table.weight
        present = ~np.isnan(true)
        spread = np.sqrt(_variance(true[present], weight[present])) if present.any() else 0.0
        if not spread > 0:
            raise api.InconclusiveError("everybody has the same number, so errors cannot be measured by its spread")
        missed = np.average((estimates[present] - true[present]) ** 2, weights=weight[present])
        return api.Score(people=pd.Series(np.full(len(true), float(np.sqrt(missed)) / spread)))


STEPS = 8
"""Normal mixtures are summed on a grid so many times finer than the noise: their tails end smoothly, and the
trapezium rule errs by exp(-2 pi^2 STEPS^2)."""
REACH = 9
"""In standard deviations; beyond it is less than 1e-18 of normal noise."""
MAX_GRID = 20_000_000
"""Points of the largest grid."""


def entropy_in(numbers: api.Floats, weight: api.Floats, edges: api.Floats) -> float:
    """h(X) of a density that is constant in each interval: sum of p log2(width / p).

    What lies outside counts to the first or the last interval.

    Source: D. Agrawal, C. C. Aggarwal, PODS 2001, section 2.
    """
    place = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    people = np.bincount(place, weights=weight, minlength=len(edges) - 1)
    share, width = people / people.sum(), np.diff(edges)
    positive = share > 0
    return float(share[positive] @ np.log2(width[positive] / share[positive]))


def entropy_shared(numbers: api.Floats, weight: api.Floats, noise: api.Noise) -> float:
    """h(W) of W = X + R, X being one of the numbers, each as likely as its weight: an exact mixture of noise laws.

    At least h(R). InconclusiveError where the range of the numbers is too many times that of normal noise.
    """
    values, which = np.unique(numbers, return_inverse=True)
    share = np.bincount(which, weights=weight) / weight.sum()
    return _uniform(values, share, noise.scale) if noise.law == "uniform" else _normal(values, share, noise.scale)


def _uniform(values: api.Floats, share: api.Floats, half: float) -> float:
    """In closed form: the density is constant between the numbers' ends x - a and x + a."""
    ends = np.concatenate([values - half, values + half])
    order = np.argsort(ends, kind="stable")
    density = np.cumsum(np.concatenate([share, -share])[order])[:-1] / (2 * half)
    length = np.diff(ends[order])
    positive = (density > 0) & (length > 0)
    return float(-(length[positive] * density[positive]) @ np.log2(density[positive]))


def _normal(values: api.Floats, share: api.Floats, scale: float) -> float:
    """By the trapezium rule."""
    step = scale / STEPS
    place = (values - values[0]) / step
    nearest = np.rint(place).astype(np.int64)
    size, reach = int(nearest[-1]) + 1, REACH * STEPS
    if size > MAX_GRID:
        raise api.InconclusiveError("the noise is too fine beside the numbers' range for their entropy to be summed")
    density = np.zeros(size + 2 * reach)
    for offset in range(-reach, reach + 1):
        away = (nearest + offset - place) / STEPS
        density += np.bincount(nearest + offset + reach, share * np.exp(-0.5 * away**2), len(density))
    density /= scale * np.sqrt(2 * np.pi)
    positive = density > 0
    return float(-step * (density[positive] @ np.log2(density[positive])))


INTERVALS = 100
"""Of a column without bins, whose entropy is that of so many even intervals."""


@dataclass(frozen=True)
class Interval:
    """Pi(A) and Pi(A|B) in the column's unit, and the loss P(A|B), from 0 to 1."""

    column: str
    before: float
    after: float
    loss: float

    @property
    def as_evidence(self) -> dict[str, Any]:
        return {"column": self.column, "before": self.before, "after": self.after, "loss": self.loss}


def _evidence(columns: Sequence[Interval]) -> dict[str, Any]:
    return {"columns": [each.as_evidence for each in columns]}


def interval(column: api.Column, numbers: api.Floats, weight: api.Ids, noise: api.Noise) -> Interval:
    """What noise of this law leaves to be known of these numbers, NaN where missing.

    Pi(A) = 2^h(X), Pi(A|B) = 2^(h(X) - I), P = 1 - 2^-I, with I = h(W) - h(R) in bits.

    Source: D. Agrawal, C. C. Aggarwal, PODS 2001, section 2.
    Departure: h(X) is that of the density constant in each of the column's bins; without bins in each of INTERVALS
    even ones over the bounds, or over the numbers' range where none are declared. h(W) needs no bins.
    """
    present = ~np.isnan(numbers)
    numbers, people = numbers[present], weight[present].astype(np.float64)
    if not len(numbers):
        raise api.InconclusiveError("nobody has a number there", place=f"column {column.name!r}")
    before = 2 ** entropy_in(numbers, people, _edges(column, numbers))
    kept = 2 ** -max(entropy_shared(numbers, people, noise) - noise.entropy, 0.0)
    return Interval(column.name, before, before * kept, 1 - kept)


def _edges(column: api.Column, numbers: api.Floats) -> api.Floats:
    if column.bins is not None:
        return np.array(column.bins, dtype=np.float64)
    low, high = column.bounds or (float(numbers.min()), float(numbers.max()))
    if not low < high:
        raise api.InconclusiveError(
            "its numbers are all equal, so its entropy has no bounds to be measured in",
            place=f"column {column.name!r}",
            remedy="declare its `bounds`",
        )
    return np.linspace(low, high, INTERVALS + 1)


def intervals(case: api.ScoringContext, name: str | None) -> list[Interval]:
    """Of the column with this name, or of every noisy one. PolicyError where there is no noise on it."""
    noise = case.release.noise
    if name is not None and name not in noise:
        raise api.PolicyError(
            "the release has no noise on this column",
            place=f"column {name!r}",
            remedy=nearest_name(name, noise, "name a column it has noise on"),
        )
    if not noise:
        raise api.InconclusiveError("the release has no noise on any column")
    table = case.table
    return [
        interval(table.schema[each], table.numbers(each), table.weight, noise[each])
        for each in (noise if name is None else [name])
    ]


def _variance(numbers: api.Floats, weight: api.Ids) -> float:
    return float(np.average((numbers - np.average(numbers, weights=weight)) ** 2, weights=weight))
