"""Beliefs about the original numbers of shared records: posteriors, and normal laws around point estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from leafgate.errors import InconclusiveError, PolicyError
from leafgate.types.adversary import AdversaryKnowledge
from leafgate.types.arrays import Floats, Ids
from leafgate.types.belief import Belief
from leafgate.types.noise import Noise
from leafgate.types.release import Records, Release
from leafgate.types.schema import Column, Schema, bin_of
from leafgate_reconstruction.estimators import (
    Moments,
    bayes_estimates,
    moments_of,
    principal_components,
    projected,
    spectral_signal,
)
from leafgate_reconstruction.posterior import Estimate, bin_posterior


@dataclass(frozen=True)
class Shared:
    """Shared numbers (a row a record, a column each of `columns`; NaN where missing) and the people of each record.

    `noise` is the law on each column. `records` is the whole of what is published.
    """

    columns: tuple[Column, ...]
    numbers: Floats
    weight: Floats
    noise: tuple[Noise, ...]
    records: Records

    @property
    def targets(self) -> tuple[tuple[int, Column, Sequence[float]], ...]:
        """The secrets among the columns: the place, the column and its bins."""
        found = ((i, column, column.bins) for i, column in enumerate(self.columns) if "sensitive" in column.roles)
        return tuple((i, column, bins) for i, column, bins in found if bins is not None)

    @property
    def scales(self) -> Floats:
        """The standard deviation of each column's noise."""
        return np.sqrt([noise.variance for noise in self.noise])


def shared_of(release: Release, schema: Schema) -> Shared:
    """The noisy columns that show any number; InconclusiveError where no secret number is among them."""
    records = release.records
    if records is None:
        raise InconclusiveError("no records are published that could be reconstructed")
    shown = [(schema[n], _numbers(records, i)) for i, n in enumerate(records.columns) if n in release.noise]
    items = [(column, numbers) for column, numbers in shown if column.numeric and not np.isnan(numbers).all()]
    shared = Shared(
        tuple(column for column, _ in items),
        np.column_stack([numbers for _, numbers in items]) if items else np.zeros((len(records.rows), 0)),
        np.array(records.weight, dtype=np.float64),
        tuple(release.noise[column.name] for column, _ in items),
        records,
    )
    if not shared.targets:
        raise InconclusiveError(
            "the records show no secret number with noise on it, so there is nothing to reconstruct",
            remedy="give such a column the role `sensitive` and `bins`",
        )
    return shared


def _numbers(records: Records, place: int) -> Floats:
    cells = (row[place] for row in records.rows)
    return np.array([cell if _is_number(cell) else np.nan for cell in cells], dtype=np.float64)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float)


def classes_of(shared: Shared, schema: Schema) -> Ids:
    """The number of each record's class where that is published in the clear; else all are of one."""
    names = [column.name for column in schema.having("class") if column.name in shared.records.columns]
    if not names:
        return np.zeros(len(shared.numbers), dtype=np.int64)
    place = shared.records.columns.index(names[0])
    cells = [repr(row[place]) for row in shared.records.rows]
    return np.unique(cells, return_inverse=True)[1].astype(np.int64)


Estimator = Callable[[Floats, Moments], tuple[Floats, Floats, Mapping[str, Any]]]


def posterior_beliefs(
    release: Release,
    known: AdversaryKnowledge,
    estimate: Estimate,
    *,
    by_class: bool,
    integer_columns: Sequence[str] = (),
) -> list[Belief]:
    """The posterior of each secret number, column by column.

    PolicyError where a column said to be of `integer_columns` numbers has other bins, or none.
    """
    shared = shared_of(release, known.schema)
    _check_whole(known.schema, integer_columns)
    classes = classes_of(shared, known.schema) if by_class else np.zeros(len(shared.numbers), dtype=np.int64)
    beliefs = []
    for i, column, bins in shared.targets:
        numbers, noise = shared.numbers[:, i], shared.noise[i]
        chances, estimates = bin_posterior(
            numbers, shared.weight, classes, noise, bins, estimate, integers=column.name in integer_columns
        )
        beliefs.append(_belief(column, chances, estimates, {}))
    return beliefs


def _check_whole(schema: Schema, whole: Sequence[str]) -> None:
    for name in whole:
        bins = schema[name].bins if name in schema else None
        if bins is None or any(edge != int(edge) for edge in bins):
            raise PolicyError(
                f"{name!r} is no secret number whose bins begin and end at whole numbers",
                place="attacks: whole",
                remedy="leave it out, or give it such `bins`",
            )


def spectral_beliefs(release: Release, known: AdversaryKnowledge) -> list[Belief]:
    """The spectral filter's estimates, and a normal belief around them."""

    def estimator(numbers: Floats, moments: Moments) -> tuple[Floats, Floats, Mapping[str, Any]]:
        kept = spectral_signal(moments)
        return *projected(numbers, moments, kept), {"directions": kept.shape[1], "of": kept.shape[0]}

    return _around_estimates(release, known, estimator)


def principal_beliefs(release: Release, known: AdversaryKnowledge, components: int | None) -> list[Belief]:
    """The estimates of PCA-DR, and a normal belief around them."""

    def estimator(numbers: Floats, moments: Moments) -> tuple[Floats, Floats, Mapping[str, Any]]:
        kept = principal_components(moments, components)
        return *projected(numbers, moments, kept), {"directions": kept.shape[1], "of": kept.shape[0]}

    return _around_estimates(release, known, estimator)


def bayes_beliefs(release: Release, known: AdversaryKnowledge) -> list[Belief]:
    """The estimates of BE-DR, and a normal belief around them."""
    return _around_estimates(release, known, lambda numbers, moments: (*bayes_estimates(numbers, moments), {}))


def _around_estimates(release: Release, known: AdversaryKnowledge, estimator: Estimator) -> list[Belief]:
    """What an attack on all the noisy columns together believes of the secrets among them.

    Departure: the papers have equal noise in every column; here columns are first divided by their noise's standard
    deviation. Estimates are cut off at the bounds, which the adversary knows.
    """
    shared = shared_of(release, known.schema)
    scaled = shared.numbers / shared.scales
    moments = moments_of(scaled, shared.weight)
    estimates, error, evidence = estimator(scaled, moments)
    estimates = estimates * shared.scales
    spread = np.sqrt(np.maximum(error, moments.least)) * shared.scales
    return [
        _belief(
            column,
            normal_in_bins(estimates[:, i], spread[:, i], bins),
            np.clip(estimates[:, i], bins[0], bins[-1]),
            evidence,
        )
        for i, column, bins in shared.targets
    ]


def normal_in_bins(middle: Floats, spread: Floats, bins: Sequence[float]) -> Floats:
    """The chance of each bin (columns) under normal laws cut off at the first and last edge; rows sum to 1.

    A law so far outside that nothing of it is left has all in the bin at its side.
    """
    edges = (np.asarray(bins, dtype=np.float64) - middle[:, None]) / spread[:, None]
    upper = edges[:, :-1] > 0  # there differences are exact in the upper tail
    inside = np.where(upper, ndtr(-edges[:, :-1]) - ndtr(-edges[:, 1:]), ndtr(edges[:, 1:]) - ndtr(edges[:, :-1]))
    total = inside.sum(axis=1, keepdims=True)
    nearest = np.eye(len(bins) - 1)[bin_of(middle, bins)]
    return np.where(total > 0, inside / np.where(total > 0, total, 1), nearest)


def _belief(column: Column, chances: Floats, estimates: Floats, evidence: Mapping[str, Any]) -> Belief:
    frame = pd.DataFrame(chances, columns=pd.Index(column.domain, dtype=object))
    cells = np.arange(len(estimates))
    return Belief(column.name, None, frame, record_positions=cells, estimates=estimates, evidence=evidence)
