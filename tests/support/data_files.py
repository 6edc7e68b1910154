"""Where the public benchmark tables are: LEAFGATE_DATA, or `shared/data` beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

DATA = Path(os.environ.get("LEAFGATE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
CASES = Path(os.environ.get("LEAFGATE_CASES") or DATA.parent / "cases")
"""Small files of other programs, each with the program's own answers: LEAFGATE_CASES, or `cases` beside the tables."""
