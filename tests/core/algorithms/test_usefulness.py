"""How well a release predicts, by numbers that a constant does not raise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leafgate.algorithms.pruned_release import is_constant
from leafgate.algorithms.usefulness import Goal, usefulness
from leafgate.app import build_release, open_session
from survey import ROWS, survey

GOALS: tuple[Goal, ...] = ("auc", "balanced_accuracy")


@pytest.mark.parametrize("leaves", ["labels", "counts"])
def test_a_constant_predicts_half_of_two_classes_and_ranks_nobody(tmp_path: Path, leaves: str) -> None:
    session = open_session(survey(tmp_path, {"build.k": 24, "publish": {"leaves": leaves}}))
    release = build_release(session.policy, session.plugins, session.table).release
    assert is_constant(release)
    for goal in GOALS:
        assert usefulness(release, session.table, goal).value == 0.5
        assert not usefulness(release, session.table, goal).is_useful


def test_the_accuracy_is_the_mean_over_the_classes(tmp_path: Path) -> None:
    session = open_session(survey(tmp_path, {"build.k": 12, "publish": {"leaves": "counts"}}))
    release = build_release(session.policy, session.plugins, session.table).release
    assert not is_constant(release)
    people = pd.DataFrame([row.split(",") for row in ROWS], columns=["age", "sex", "smoker", "ill"])
    older = people["age"].astype(int) >= 40  # of 12 people 9 are ill, and of the 12 younger ones nobody
    recalls = [(older[people["ill"] == "yes"]).mean(), (~older[people["ill"] == "no"]).mean()]
    for goal in GOALS:  # of two scores both are the same
        assert usefulness(release, session.table, goal).value == pytest.approx(np.mean(recalls))
