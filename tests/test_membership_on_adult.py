"""Membership inference on Adult: by leafgate, and by scikit-learn and numpy alone.

The page is docs/measurements/membership-on-adult.md.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from adult import data_root

DOCS = Path(__file__).resolve().parents[1] / "docs"
Scripts = Callable[[str], ModuleType]
COMMAND = DOCS / "reproduce" / "membership_on_adult.py"
PEOPLE, SHADOWS = 10_000, 31
NAMES = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"]
NAMES += ["race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]


def run(folder: Path, *words: str) -> Path:
    """Run the page's command; the folder then holds the results and the page."""
    file = folder / "page.md"
    file.write_text((DOCS / "measurements/membership-on-adult.md").read_text(encoding="utf-8"), encoding="utf-8")
    options = ["--root", str(data_root()), "--out", str(folder), "--page", str(file), *words]
    subprocess.run([sys.executable, COMMAND, *options], check=True, capture_output=True)
    return file


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


@pytest.mark.slow
def test_leafgate_finds_what_scikit_learn_and_numpy_find(tmp_path: Path) -> None:
    attacks = ["loss_threshold", "leaf_exclusion", "lira", "rmia"]
    run(tmp_path, "--targets", "1", "--data", "adult", "--models", "tree", "--attacks", *attacks)
    found = pd.read_csv(tmp_path / "membership.csv").set_index("attack")
    scores, members, excluded = by_hand()
    for attack, ours in scores.items():
        assert found.loc[attack, "auc"] == pytest.approx(area(ours, members), abs=0.015)
    assert found.loc["loss_threshold", "auc"] == pytest.approx(area(scores["loss_threshold"], members), abs=0.002)
    assert found.loc["leaf_exclusion", "excluded"] == pytest.approx(excluded[~members].mean(), abs=0.01)
    assert found.loc["leaf_exclusion", "wrongly"] == 0
    assert not excluded[members].any()


def by_hand() -> tuple[dict[str, NDArray[np.float64]], NDArray[np.bool_], NDArray[np.bool_]]:
    """Scores of the attacks on a default tree, who is a member, and who is excluded; nothing of leafgate's."""
    file = data_root() / "adult" / "adult.data"
    cells = pd.read_csv(file, header=None, names=NAMES, skipinitialspace=True, na_filter=False)
    cells = cells.iloc[np.random.default_rng(7).permutation(len(cells))[:PEOPLE]]
    classes = (cells["income"] == ">50K").to_numpy().astype(int)
    columns = pd.get_dummies(cells.drop(columns=["fnlwgt", "education-num", "income"])).to_numpy(np.float32)
    everyone = np.arange(PEOPLE)
    p, member = np.empty((SHADOWS + 1, PEOPLE)), np.zeros((SHADOWS + 1, PEOPLE), dtype=bool)
    for model in range(SHADOWS + 1):
        rows = np.random.default_rng(100 + model).permutation(PEOPLE)[: PEOPLE // 2]
        tree = DecisionTreeClassifier(random_state=model).fit(columns[rows], classes[rows])
        p[model], member[model, rows] = tree.predict_proba(columns)[everyone, classes], True
    logit, own, shadow = np.log(p + 1e-3) - np.log(1 - p + 1e-3), p[0], member[1:]
    ratio = np.zeros(PEOPLE)
    for sign, part in ((1, shadow), (-1, ~shadow)):
        counts = part.sum(axis=0)
        means = (logit[1:] * part).sum(axis=0) / counts
        deviation = np.sqrt((part * (logit[1:] - means) ** 2).sum(axis=0) / counts) + 0.1
        ratio += sign * (-np.log(deviation) - ((logit[0] - means) / deviation) ** 2 / 2)
    out = (p[1:] * ~shadow).sum(axis=0) / (~shadow).sum(axis=0)
    rmia = (own + 1e-6) / (0.5 * (1.3 * out + 0.7) + 1e-6)
    return {"loss_threshold": own, "lira": ratio, "rmia": rmia}, member[0], own == 0


def area(scores: NDArray[np.float64], members: NDArray[np.bool_]) -> float:
    """By the ranks; of ties half count."""
    ranks = pd.Series(scores).rank().to_numpy()
    inside, outside = int(members.sum()), int((~members).sum())
    return float((ranks[members].sum() - inside * (inside + 1) / 2) / (inside * outside))
