"""A runner whose owner likes odd names, its jobs of either kind, and a checkout that they audit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recipes import (
    TOP,
    Job,
    Runner,
    python_without_installing,
)

Audit = Callable[..., Job]


@pytest.fixture
def temp(tmp_path: Path) -> Path:
    """The folder for temporary files of a runner whose owner likes odd names."""
    folder = tmp_path / "it's a $(touch ran) temp"
    folder.mkdir()
    return folder


@pytest.fixture(params=["github", "gitlab"])
def audit(request: pytest.FixtureRequest, temp: Path) -> Audit:
    """A job of either kind on a runner that installs nothing."""
    runner = Runner(temp=temp, programs=python_without_installing(temp.parent / "programs"))
    job: Audit = getattr(runner, request.param)
    return job


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a policy that passes, and one that fails."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    shutil.copy(TOP / "policies" / "mortgage.csv", folder)
    passing = (TOP / "policies" / "mortgage.yaml").read_text()
    (folder / "passing.yaml").write_text(passing)
    stricter = passing.replace("k_anonymity, at_least: 3", "k_anonymity, at_least: 4")
    (folder / "failing.yaml").write_text(stricter)
    (folder / "invalid.yaml").write_text("leafgate: 1\n")
    return folder
