"""How well a release predicts, by numbers that a constant does not raise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leafgate.algorithms.prediction import balanced_accuracy
from leafgate.algorithms.pruned_release import is_constant
from leafgate.algorithms.ranking import area_of_release
from leafgate.session.run import build_release, open_session
from survey import ROWS, survey


@pytest.mark.parametrize("leaves", ["labels", "counts"])
def test_a_constant_predicts_half_of_two_classes_and_ranks_nobody(tmp_path: Path, leaves: str) -> None:
    session = open_session(survey(tmp_path, {"build.k": 24, "publish": {"leaves": leaves}}))
    release = build_release(session.policy, session.plugins, session.table).release
    assert is_constant(release)
    assert balanced_accuracy(release, session.table) == 0.5
    assert area_of_release(release, session.table) == (None if leaves == "labels" else 0.5)


def test_the_accuracy_is_the_mean_over_the_classes(tmp_path: Path) -> None:
    session = open_session(survey(tmp_path, {"build.k": 12, "publish": {"leaves": "counts"}}))
    release = build_release(session.policy, session.plugins, session.table).release
    assert not is_constant(release)
    people = pd.DataFrame([row.split(",") for row in ROWS], columns=["age", "sex", "smoker", "ill"])
    older = people["age"].astype(int) >= 40  # of 12 people 9 are ill, and of the 12 younger ones nobody
    recalls = [(older[people["ill"] == "yes"]).mean(), (~older[people["ill"] == "no"]).mean()]
    assert balanced_accuracy(release, session.table) == pytest.approx(np.mean(recalls))
    assert area_of_release(release, session.table) == pytest.approx(np.mean(recalls))  # of two scores: the same
