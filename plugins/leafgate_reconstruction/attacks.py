"""Beliefs about the hidden cells: of the posterior, and around point estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from leafgate.errors import PolicyError
from leafgate.types.adversary import AdversaryKnowledge
from leafgate.types.arrays import Floats
from leafgate.types.belief import Belief
from leafgate.types.release import Release
from leafgate.types.schema import Column, Schema, bin_of
from leafgate_reconstruction.estimators import (
    Moments,
    bayes_estimates,
    moments_of,
    principal_components,
    projected,
    spectral_signal,
)
from leafgate_reconstruction.noisy_columns import classes_of, shared_of
from leafgate_reconstruction.posterior import Estimate, bin_posterior

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
