"""What the tests of ledgers share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nights import Nights


@pytest.fixture
def nights(kept: Nights, tmp_path: Path) -> Nights:
    """A copy of the nights of a module's fixture `kept`."""
    shutil.copytree(kept.folder, tmp_path / "copy")
    return Nights(tmp_path / "copy")
