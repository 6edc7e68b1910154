"""Where files are that the checkout does not have: the public benchmark tables, and small cases of model files.

They are in LEAFGATE_DATA and LEAFGATE_CASES, or in `shared/data` and `shared/cases` beside the checkout.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("LEAFGATE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
CASES = Path(os.environ.get("LEAFGATE_CASES") or DATA.parent / "cases")
"""Small files of other programs, each with the program's own answers: LEAFGATE_CASES, or `cases` beside the tables."""


def case_file(name: str) -> Path:
    """The file of this name below the folder of cases; the test is skipped where there is none."""
    file = CASES / name
    if not file.exists():
        pytest.skip(f"the cases are not here: set LEAFGATE_CASES to the folder that holds `{name}`")
    return file
