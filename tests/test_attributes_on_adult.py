"""Attribute inference on Adult (docs/measurements/attributes-on-adult.md): by leafgate, and by scikit-learn alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from adult import data_root

DOCS = Path(__file__).resolve().parents[1] / "docs"
Scripts = Callable[[str], ModuleType]
COMMAND = DOCS / "reproduce" / "attributes_on_adult.py"
RESULTS = DOCS / "results" / "attributes.csv"


def test_no_proof_was_wrong_and_likelihood_was_not_worse_than_imputation_on_control() -> None:
    rows = pd.read_csv(RESULTS)
    proofs = rows[rows["certain"].notna()]
    assert proofs["certain"].sum() > 10_000
    assert (proofs["wrong"] == 0).all()
    likelihood = rows[rows["attack"] == "likelihood"].dropna(subset=["attacked"])
    assert len(likelihood) >= 18
    upper_end_of_gain_on_control = likelihood["leak_low"] - likelihood["gap_low"]
    assert (upper_end_of_gain_on_control >= 0).all()


@pytest.mark.slow
def test_leaves_prove_what_scikit_learn_shows_to_follow(scripts: Scripts, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text((DOCS / "measurements/attributes-on-adult.md").read_text(encoding="utf-8"), encoding="utf-8")
    options = ["--root", str(data_root()), "--out", str(tmp_path), "--page", str(file)]
    subprocess.run(
        [sys.executable, COMMAND, *options, "--data", "adult", "--models", "tree"], check=True, capture_output=True
    )
    rows = pd.read_csv(tmp_path / "attributes.csv")
    measured = rows[(rows["model"] == "tree") & (rows["attack"] == "leaf_constraints")].iloc[0]
    draw = scripts("attributes_setting").Draw.of("adult", data_root())
    features = pd.get_dummies(draw.people.drop(columns=["income"]), dtype=float)
    n = len(draw.table)
    tree = DecisionTreeClassifier(random_state=0).fit(features.iloc[:n], draw.table["income"])
    own = (draw.people["income"] == tree.classes_[1]).to_numpy().astype(int)
    possible = np.empty((len(draw.people), 2), dtype=bool)
    for value, married in enumerate(("no", "yes")):
        asked = features.assign(married_no=float(married == "no"), married_yes=float(married == "yes"))
        possible[:, value] = tree.predict_proba(asked)[np.arange(len(own)), own] > 0
    truth = (draw.people["married"] == "yes").to_numpy().astype(int)
    proved, right = possible.sum(axis=1) == 1, possible.argmax(axis=1) == truth
    assert right[:n][proved[:n]].all()
    assert proved[:n].sum() < measured["certain"] < n  # counting proves more
    assert measured["wrong"] == 0
    share = proved[n:].mean(), right[n:][proved[n:]].mean()
    assert measured["control_proofs"] / n == pytest.approx(share[0], abs=0.01)
    assert measured["control_right"] / measured["control_proofs"] == pytest.approx(share[1], abs=0.02)
