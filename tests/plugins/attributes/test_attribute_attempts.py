"""Attempts to pass limits on inferred inputs with a release that leaks, and to read a value from a public report."""

from __future__ import annotations

import numpy as np

from leafgate_attributes.query_attacks import exponents_of_deciding, weighed_by_scores


def logs_that_differ_by(*spreads: float) -> np.ndarray:
    """The logarithms of scores of two values, for one person of each spread."""
    return np.array([[-3.0, spread - 3.0] for spread in spreads])


def test_likelihood_is_trusted_with_a_planted_leak_as_with_the_answers_of_the_model() -> None:
    """Answers that nobody gives have the exponent 1, and say nothing of leaks in the answers that the model gives."""
    exponents = np.array([0.9, 0.6, 0.3, 0.0, 0.1, 1.0])
    answered = logs_that_differ_by(0.0, 0.3, 0.7, 1.5, 1.6, 3.0)
    trust = exponents_of_deciding(answered, exponents)
    assert trust.tolist() == [0.0, 0.0, 0.1]
    imputed = np.full((3, 2), 0.5)
    np.testing.assert_array_equal(
        weighed_by_scores(imputed, logs_that_differ_by(4.6, 4.6, 4.6), trust)[:2], imputed[:2]
    )
    assert exponents_of_deciding(logs_that_differ_by(0.0, 0.3), exponents).tolist() == [0.6]
