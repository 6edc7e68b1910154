"""Membership inference on Adult: by leafgate, and by scikit-learn and numpy alone.

The page is docs/measurements/membership-on-adult.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

Scripts = Callable[[str], ModuleType]
PEOPLE, SHADOWS = 10_000, 31
NAMES = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"]
NAMES += ["race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]


def test_what_epsilon_allows_is_what_randomised_response_reaches(scripts: Scripts) -> None:
    """One who is told the truth with probability e / (1 + e) reaches every bound, and nobody more."""
    page, truth = scripts("membership_page"), math.e / (1 + math.e)
    told = np.array([[1 - truth, truth], [truth, 1 - truth]])  # not told, told: of others and of members
    assert page.allowed_advantage(1.0, 0.0) == pytest.approx(told[1, 0] - told[0, 0])
    assert page.allowed_area(1.0, 0.0) == pytest.approx(truth, abs=1e-6)
    assert page.allowed_rate(1 - truth, 1.0, 0.0) == pytest.approx(truth)
    rates = [page.allowed_rate(share * (1 - truth), 1.0, 0.0) for share in (0.0, 0.5, 1.0)]
    assert rates == pytest.approx([0.0, truth / 2, truth])
    assert page.allowed_rate(0.0, 1.0, 0.01) == pytest.approx(0.01)
