"""Files of models that must be refused, or that may be read where they are still models."""

from __future__ import annotations

import atexit
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from command_line import leafgate
from installed_readers import is_foreign, read_foreign
from leafgate import ReleaseError
from leafgate.commands.convert.prediction import leaves_of
from leafgate.readers import LEAF

POLICY = """
leafgate: 1
name: model
data:
  columns:
    age: {role: quasi_identifier, bounds: [0, 99]}
    y: {role: [class, sensitive], values: [low, high]}
build: {use: published, path: NAME}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, at_least: 2}]
"""


def assert_refused(folder: Path, name: str, content: bytes) -> str:
    """The audit knows the format, and ends in exit code 2 with one clear error about the file; what it printed."""
    assert is_foreign(content[:4096])
    (folder / "policy.yaml").write_text(POLICY.replace("NAME", name))
    (folder / "people.csv").write_text("age,y\n30,low\n40,high\n")
    (folder / name).write_bytes(content)
    ended = leafgate("audit", folder / "policy.yaml", folder / "people.csv", "--json")
    assert ended.code == 2
    assert ended.problems[0]["place"].startswith(name)
    return ended.out


def assert_read_or_refused(content: bytes, place: str) -> None:
    """ReleaseError refuses the file, or it is a model in which every row ends in a leaf of each tree."""
    try:
        model = read_foreign(content, place)
    except ReleaseError:
        return
    rows = np.array([np.zeros(len(model.features)), np.full(len(model.features), np.nan)])
    for tree in model.trees:
        assert (tree.feature[leaves_of(tree, rows)] == LEAF).all()


REFUSING = """
import os, pathlib, resource, sys
from leafgate.api.registry import load_plugins
from leafgate.errors import ReleaseError
from leafgate.models.reader import read_foreign
readers = load_plugins().readers
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
            resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
            read_foreign(pathlib.Path(line.rstrip()).read_bytes(), "m", readers)
        except ReleaseError:
            print(pathlib.Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0], flush=True)
            code = 0
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1]:
        print("not refused", flush=True)
"""


@cache
def _refusing() -> subprocess.Popen[str]:
    """A process that has imported what reads models, and gives each file to a new copy of itself."""
    process = subprocess.Popen(
        [sys.executable, "-c", REFUSING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.communicate)
    return process


def assert_refused_in_little_memory(folder: Path, content: bytes) -> None:
    """A process of its own refuses the file within 30 seconds of work and 500 MB."""
    if not Path("/proc/self/status").exists():
        pytest.skip("this system does not say how much memory a process took")
    (folder / "model").write_bytes(content)
    process = _refusing()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{folder / 'model'}\n")
    process.stdin.flush()
    assert int(process.stdout.readline()) * 1024 < 500 * 2**20
