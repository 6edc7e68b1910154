"""Make all archives of the producer matrix anew, each in an environment of its own.

    python tests/producers/make_all.py [--newest] [--only PROGRAM]

It runs in the development environment, and needs Python 3.11 to 3.13 (as `python3.11` and so on, or from pyenv), pip,
Java for sklearn2pmml; of what is not there it says so, and ends in exit code 1 after the others.
Environments lie in a temporary folder. `--newest` makes those whose version is not pinned, in the newest versions that
pip finds; `--only` those below a folder of `tests/plugins`, such as lightgbm.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))


NEWEST_PYTHON = "3.13"


@dataclass(frozen=True)
class Environment:
    """Where a program makes archives.

    Attributes:
        script: the program, below `tests/plugins`; archives are written beside it.
        python: the version of Python.
        requirements: what pip installs.
        newest: the versions of what makes the files are not pinned.
    """

    script: str
    python: str
    requirements: tuple[str, ...]
    newest: bool = False


def lightgbm(python: str, *requirements: str, newest: bool = False) -> Environment:
    return Environment("lightgbm/producers/make_lightgbm_files.py", python, requirements, newest)


def xgboost(python: str, *requirements: str, newest: bool = False) -> Environment:
    return Environment("xgboost/producers/make_xgboost_files.py", python, requirements, newest)


def catboost(python: str, *requirements: str, newest: bool = False) -> Environment:
    return Environment("catboost/producers/make_catboost_files.py", python, requirements, newest)


def sklearn(python: str, *requirements: str, newest: bool = False) -> Environment:
    return Environment("sklearn/producers/make_sklearn_files.py", python, requirements, newest)


def onnx(python: str, *requirements: str, newest: bool = False) -> Environment:
    return Environment("onnx/producers/make_onnx_files.py", python, requirements, newest)


def pmml(python: str, *requirements: str, newest: bool = False) -> Environment:
    return Environment(
        "pmml/producers/make_pmml_files.py", python, ("jpmml_evaluator", "jpype1", *requirements), newest
    )


def mlflow(python: str, *requirements: str, newest: bool = False) -> Environment:
    return Environment("mlflow/producers/make_mlflow_files.py", python, requirements, newest)


OLD = ("numpy<2", "pandas<2.3", "scipy<1.12")
ENVIRONMENTS = (
    lightgbm("3.11", "lightgbm==3.3.5", *OLD),
    lightgbm("3.11", "lightgbm==4.1.0", *OLD),
    lightgbm("3.12", "lightgbm==4.6.0"),
    lightgbm(NEWEST_PYTHON, "lightgbm", newest=True),
    xgboost("3.11", "xgboost==1.7.6", *OLD),
    xgboost("3.11", "xgboost-cpu==2.1.4", *OLD),
    xgboost("3.11", "xgboost-cpu==3.0.5"),
    xgboost("3.11", "xgboost-cpu==3.2.0"),
    xgboost("3.12", "xgboost-cpu==3.3.0"),
    xgboost(NEWEST_PYTHON, "xgboost-cpu", newest=True),
    catboost(NEWEST_PYTHON, "catboost", newest=True),
    sklearn("3.11", "scikit-learn==1.3.2", "skops==0.9.0", *OLD),
    sklearn("3.11", "scikit-learn==1.4.2", "skops==0.10.0", *OLD),
    sklearn("3.12", "scikit-learn==1.5.2", "skops==0.11.0", "pandas"),
    sklearn("3.12", "scikit-learn==1.6.1", "skops==0.12.0", "pandas"),
    sklearn(NEWEST_PYTHON, "scikit-learn==1.7.2", "skops==0.13.0", "pandas"),
    sklearn(NEWEST_PYTHON, "scikit-learn==1.8.0", "skops==0.14.0", "pandas"),
    sklearn(NEWEST_PYTHON, "scikit-learn", "skops", "pandas", newest=True),
    onnx(
        "3.11",
        *("skl2onnx==1.16.0", "onnxmltools==1.12.0", "onnx==1.15.0", "onnxruntime==1.17.3", "protobuf<5"),
        *("scikit-learn==1.4.2", "xgboost==1.7.6", "lightgbm==4.1.0", "setuptools<80", *OLD),
    ),
    onnx(
        "3.12",
        *("skl2onnx==1.18.0", "onnxmltools==1.13.0", "onnx==1.17.0", "onnxruntime", "protobuf<6"),
        *("scikit-learn==1.6.1", "xgboost-cpu==2.1.4", "lightgbm==4.6.0", "pandas", "setuptools<80"),
    ),
    onnx(
        NEWEST_PYTHON,
        *("skl2onnx", "onnxmltools", "onnxruntime", "protobuf<7", "scikit-learn", "xgboost-cpu", "lightgbm", "pandas"),
        newest=True,
    ),
    pmml(
        "3.11",
        *("sklearn2pmml==0.100.2", "scikit-learn==1.3.2", "xgboost==1.7.6", "lightgbm==4.1.0", "six", *OLD),
    ),
    pmml(
        "3.12",
        *("sklearn2pmml==0.110.0", "scikit-learn==1.5.0", "xgboost-cpu==2.1.4", "lightgbm==4.6.0", "setuptools<80"),
        *("numpy<2", "pandas<2.3", "scipy<1.14"),
    ),
    pmml(
        NEWEST_PYTHON,
        *("sklearn2pmml", "scikit-learn==1.8.0", "xgboost-cpu", "lightgbm", "pandas"),
        newest=True,
    ),
    mlflow(NEWEST_PYTHON, "mlflow", "scikit-learn", "skops", "lightgbm", "xgboost-cpu", newest=True),
)
"""sklearn2pmml refuses scikit-learn that is newer than itself; most of its versions refuse to run once they are old."""


def interpreter(version: str) -> str:
    """The Python of a version; SystemExit where there is none."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = sorted((root / "versions").glob(f"{version}.*/bin/python"))
    path = str(found[-1]) if found else shutil.which(f"python{version}")
    if path is None:
        raise SystemExit(f"Python {version} is not here: install it, for example with pyenv")
    return path


def made(environment: Environment, folder: Path) -> bool:
    """Make an environment, and run its program in it; False where one of them failed."""
    script = TESTS / "plugins" / environment.script
    print(f"{script.stem}: {', '.join(environment.requirements)}", flush=True)
    python = folder / "bin" / "python"
    steps = (
        [interpreter(environment.python), "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *environment.requirements],
        [str(python), "-W", "ignore", str(script), str(script.parent)],
    )
    variables = {**os.environ, "PYTHONPATH": str(TESTS / "support")}
    return all(subprocess.run(step, env=variables, check=False).returncode == 0 for step in steps)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--newest", action="store_true", help="those alone whose version is not pinned")
    parser.add_argument("--only", default="", metavar="PROGRAM", help="a folder of tests/plugins")
    chosen = parser.parse_args(words)
    failed = []
    for environment in ENVIRONMENTS:
        if environment.script.startswith(chosen.only) and (environment.newest or not chosen.newest):
            with tempfile.TemporaryDirectory() as folder:
                if not made(environment, Path(folder)):
                    failed.append(environment)
    for environment in failed:
        print(f"not made: {environment.script} {' '.join(environment.requirements)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
