"""The recipes for CI as they stand: what they say, and their scripts run by a shell as a runner would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TOP = Path(__file__).resolve().parents[2]
ACTION = TOP / ".github" / "actions" / "audit" / "action.yml"
GITLAB = TOP / "docs" / "ci" / "audit.gitlab-ci.yml"
HOOKS = TOP / ".pre-commit-hooks.yaml"
PROGRAMS = Path(sys.executable).parent


def read(path: Path) -> Any:
    """A recipe as plain lists and mappings."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def step(name: str) -> dict[str, Any]:
    """A step of the GitHub action, by its id."""
    steps = read(ACTION)["runs"]["steps"]
    (found,) = (each for each in steps if each.get("id") == name)
    return dict(found)


@dataclass(frozen=True)
class Ran:
    """How a script ended, and what it wrote into the files a runner gives it."""

    code: int
    told: str
    files: Mapping[str, str]


FILES = ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")


def run(script: str, folder: Path, *shell: str, variables: Mapping[str, str], programs: Path = PROGRAMS) -> Ran:
    """Run a script in a folder, with `programs` first on the path and no more environment than a runner gives."""
    files = {name: folder.parent / f"{folder.name}-{name}" for name in FILES}
    for path in files.values():
        path.touch()
    environment = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "HOME": str(folder)}
    environment |= {name: str(path) for name, path in files.items()} | dict(variables)
    done = subprocess.run(
        [*shell, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    written = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    return Ran(done.returncode, done.stdout + done.stderr, written)


def program(folder: Path, name: str, script: str) -> Path:
    """A folder with a program of this name in it, which a shell runs."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)
    return folder
