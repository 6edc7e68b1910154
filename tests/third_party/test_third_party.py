"""A stranger's plugin comes in by the door the bundled ones use: built, installed and used.

The page is docs/tutorials/write-a-plugin.md.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.processes
TOP = Path(__file__).resolve().parents[2]
PACKAGE = Path(__file__).with_name("acme_leafgate")
PAGE = (TOP / "docs/tutorials/write-a-plugin.md").read_text(encoding="utf-8")


def run(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that sees what is installed in its own environment and nothing else."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    command = [*map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=300)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a new virtual environment with leafgate and the stranger's package in it."""
    if find_spec("pip") is None:
        pytest.skip("pip is not installed")
    folder = tmp_path_factory.mktemp("stranger")
    assert run(sys.executable, "-m", "venv", "--without-pip", "fresh", folder=folder).returncode == 0
    programs = folder / "fresh" / ("Scripts" if os.name == "nt" else "bin")
    pip = (sys.executable, "-m", "pip", "--python", programs / "python")
    if run(*pip, "download", "--quiet", "--no-deps", "hatchling", folder=folder).returncode != 0:
        pytest.skip("pip reaches no package index")
    # Not compiling ahead is cheaper by half: what is never imported is never compiled.
    done = run(*pip, "install", "--quiet", "--no-compile", TOP, PACKAGE, folder=folder)
    assert done.returncode == 0, done.stderr
    return programs


@pytest.fixture
def leafgate(installed: Path, tmp_path: Path) -> Any:
    """Runs one leafgate command there."""
    return lambda *words: run(installed / "leafgate", *words, folder=tmp_path)


def test_what_it_offers_is_listed_with_its_distribution_and_version(leafgate: Any) -> None:
    plugins = json.loads(leafgate("plugins", "--json").stdout)["plugins"]
    offers = [{"kind": "attack", "use": "majority"}, {"kind": "metric", "use": "surprise"}]
    assert {
        "name": "acme",
        "distribution": "acme-leafgate",
        "version": "1.0",
        "offers": offers,
        "problem": None,
    } in plugins
    assert leafgate("plugins").stdout.splitlines()[0] in PAGE


def test_it_explains_itself(leafgate: Any) -> None:
    majority, surprise = leafgate("explain", "majority"), leafgate("explain", "surprise")
    assert majority.stdout.startswith("majority: attack of acme-leafgate 1.0\n")
    assert "1 - P(secret = truth | x)" in surprise.stdout
    assert "at_least: number (required)" in surprise.stdout


def test_its_attack_and_its_metric_stand_in_the_report(leafgate: Any, tmp_path: Path) -> None:
    audit = ("audit", PACKAGE / "surprise.yaml", TOP / "policies" / "mortgage.csv")
    output = leafgate(*audit)
    assert (output.returncode, output.stderr) == (1, "")
    assert output.stdout in PAGE
    leafgate(*audit, "--audience", "auditor", "--out", tmp_path)
    report = json.loads((tmp_path / "report.json").read_bytes())
    (found,) = (each for each in report["findings"] if each["id"] == "surprise@majority#loan_risk")
    assert (found["plugin"], found["value"], found["passed"]) == ("acme-leafgate 1.0", pytest.approx(1 / 3), True)
    assert report["versions"]["acme-leafgate"] == "1.0"


def test_a_policy_that_does_not_trust_it_does_not_load_it(leafgate: Any, tmp_path: Path) -> None:
    policy = (PACKAGE / "surprise.yaml").read_text().replace(', "acme-leafgate>=1,<2"', "")
    (tmp_path / "wary.yaml").write_text(policy)
    output = leafgate("validate", "wary.yaml")
    assert output.returncode == 2
    assert "nobody offers 'majority'" in output.stderr
