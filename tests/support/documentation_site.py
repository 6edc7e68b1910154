"""The documentation site, built once for all tests of a run: the pages, and the notebooks with their outputs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
COMMAND = ".venv/bin/sphinx-build -q -W -b html docs build/site"
"""How a person builds the site."""
BUILD_SECONDS = 1200
"""Most of it is the execution of the notebooks."""


def build_site(folder: Path, settings: Path) -> None:
    """Build the site with the options of `COMMAND`; notebooks keep their settings in a folder of their own."""
    program, *options, _ = COMMAND.split()
    assert program.endswith("sphinx-build")
    jupyter = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, folder, "--keep-going", "-d", settings / "doctrees"],
        cwd=TOP,
        env=os.environ | dict.fromkeys(jupyter, str(settings)),
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0, done.stderr


def executed_notebook(site: Path, name: str) -> Path:
    """The notebook of `docs/notebooks` with the outputs that it had when the site was built."""
    return site.parent / "jupyter_execute" / "notebooks" / f"{name}.ipynb"
