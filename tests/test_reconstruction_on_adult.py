"""How near the attacks on shared numbers come on Adult: one draw, by the page's command.

The page is docs/explanation/ppdtc45.md.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from adult import data_root

COMMAND = Path(__file__).resolve().parents[1] / "docs" / "reproduce" / "reconstruction_on_adult.py"


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the results."""
    folder = tmp_path_factory.mktemp("results")
    page = folder / "page.md"
    page.write_text("<!-- results -->\n<!-- /results -->\n")
    words = ["--root", str(data_root()), "--draws", "1", "--out", str(folder), "--page", str(page)]
    subprocess.run([sys.executable, COMMAND, *words], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def errors(found: Path) -> pd.DataFrame:
    """The normalised error of each attack (columns) on each column of each setting (rows)."""
    result = pd.read_csv(found / "reconstruction-adult.csv")
    return result.pivot_table(index=["law", "snr", "column"], columns="attack", values="error")


def test_the_posterior_mean_beats_the_attacks_that_look_at_all_columns(errors: pd.DataFrame) -> None:
    """The six attributes are nearly uncorrelated, so there is nothing to be learned from the others."""
    for other in ("spectral_filter", "pca_dr", "be_dr"):
        assert (errors["posterior"] < errors[other]).all()
    assert (errors["spectral_filter"] - errors["posterior"]).min() > 0.1


def test_the_spectral_filter_filters_nothing(errors: pd.DataFrame) -> None:
    """Where the bounds cut nothing off (SNR 1.7 of age) its error is that of the shared number: 1 / sqrt(SNR)."""
    assert errors.loc[("gaussian", 1.7, "age"), "spectral_filter"] == pytest.approx(1 / np.sqrt(1.7), abs=0.06)


def test_the_class_helps_and_the_mean_errs_less_than_the_mode(errors: pd.DataFrame) -> None:
    assert (errors["posterior"] < errors["posterior, by_class: false"] + 0.005).all()
    assert errors["posterior"].mean() < errors["posterior, by_class: false"].mean() - 0.01
    assert (errors["posterior"] < errors["posterior, estimate: mode"]).all()


def test_no_column_loses_more_than_a_normal_one_would_but_under_even_noise(found: Path) -> None:
    kept = pd.read_csv(found / "reconstruction-adult-privacy.csv")
    normal = 1 - 1 / np.sqrt(1 + kept["snr"])
    gaussian = kept["law"] == "gaussian"
    assert (kept["loss"][gaussian] <= normal[gaussian] + 1e-4).all()
    assert (kept["loss"][~gaussian] > 0).all()
