"""How much of leafgate commands import: what they do not use is not imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
SCRIPT = TOP / "tests" / "support" / "imported.py"
MORTGAGE = str(TOP / "policies" / "mortgage.yaml")


def imported(*words: str) -> dict[str, int]:
    """The lines of each module that a command imports."""
    done = subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=True)
    listed = [line.split() for line in done.stdout.splitlines()[:-1]]
    return {module: int(lines) for lines, module in listed}


@pytest.fixture(scope="module")
def audited() -> dict[str, int]:
    return imported("audit", MORTGAGE, "--quiet")


def test_an_audit_imports_at_most_182_modules_of_33_900_lines(audited: dict[str, int]) -> None:
    assert len(audited) <= 182
    assert sum(audited.values()) <= 33_900


def test_an_audit_that_passes_imports_no_search_no_reader_and_no_metric_that_it_does_not_need(
    audited: dict[str, int],
) -> None:
    parts = ["leafgate.search.remedies", "leafgate.engine.dropped_people", "leafgate.models.lowering.encoding"]
    parts += ["leafgate.algorithms.near_copies", "leafgate.algorithms.node_counts", "leafgate.ir.model"]
    parts += [
        "leafgate_plugins.inference.membership.metrics",
        "leafgate_plugins.structure.metrics",
        "leafgate_plugins.engines.duckdb",
    ]
    assert not set(parts) & set(audited)
    assert "leafgate_plugins.protection.metrics" in audited


def test_to_validate_a_policy_imports_at_most_110_modules_and_no_engine() -> None:
    found = imported("validate", MORTGAGE)
    assert len(found) <= 110
    assert not [name for name in found if name.startswith(("leafgate.engine", "leafgate.algorithms"))]


EXTRAS = ("pyarrow", "sklearn", "skops", "duckdb", "polars", "narwhals", "matplotlib", "starlette", "uvicorn", "onnx")
WITHOUT_EXTRAS = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS}))  # each of them is then as if it were not installed
from leafgate.cli import run
sys.exit(run(["demo"]))
"""


def test_the_demo_needs_no_package_that_is_an_extra(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
