"""Attribute inference on Adult (docs/measurements/attributes-on-adult.md): by leafgate, and by scikit-learn alone."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

DOCS = Path(__file__).resolve().parents[1] / "docs"
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
