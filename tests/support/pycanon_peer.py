"""pyCANON beside leafgate: the numbers it gives for a table of texts.

LEAFGATE_PYCANON names a folder that holds the package alone, installed without the old libraries it pins:

    pip install --no-deps --target DIR pycanon

Its version 1.3.6 needs only pandas and numpy for these numbers, and runs on the ones that leafgate uses.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

PLACE = os.environ.get("LEAFGATE_PYCANON", "")
REMEDY = "pip install --no-deps --target DIR pycanon, and set LEAFGATE_PYCANON to DIR"


def pycanon() -> Any:
    """The module `pycanon.anonymity`; where there is none, the test is skipped."""
    if not PLACE:
        pytest.skip(f"pyCANON is not here: {REMEDY}")
    if not (Path(PLACE) / "pycanon").is_dir():
        pytest.skip(f"LEAFGATE_PYCANON names a folder without pyCANON: {REMEDY}")
    if PLACE not in sys.path:
        sys.path.append(PLACE)
    return import_module("pycanon.anonymity")


def told_by_pycanon(frame: pd.DataFrame, public: Sequence[str], *secrets: str) -> dict[str, float]:
    """Every number pyCANON gives, by its name; `c` is NaN where it gives none.

    Texts in the secret's column make its t-closeness the equal distance, numbers the ordered one.
    Of several secrets each is judged by itself, and the worst told.
    """
    module = pycanon()
    asked = (frame, list(public), list(secrets))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas announces what it will change
        alpha, k = module.alpha_k_anonymity(*asked)
        c, of_l = module.recursive_c_l_diversity(*asked)
        fields = {
            "k": k,
            "alpha": alpha,
            "distinct": module.l_diversity(*asked),
            "entropy": module.entropy_l_diversity(*asked),
            "c": c,
            "l of c": of_l,
            "t": module.t_closeness(*asked),
            "basic beta": module.basic_beta_likeness(*asked),
            "enhanced beta": module.enhanced_beta_likeness(*asked),
            "delta": module.delta_disclosure(*asked),
        }
    return {name: float(number) for name, number in fields.items()}
