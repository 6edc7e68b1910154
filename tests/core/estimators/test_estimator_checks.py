"""scikit-learn's own checks of estimators."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from leafgate.api import install_command
from leafgate.estimators import (
    KAnonymousTreeClassifier,
    PerturbedTreeClassifier,
    PrivateForestClassifier,
)

SMALL_FOREST = PrivateForestClassifier(epsilon=None, trees=4, combine="sum", random_state=0)
CHECKED = {
    "tree": KAnonymousTreeClassifier(),
    "forest": SMALL_FOREST,
    "bayes": PerturbedTreeClassifier(model="naive_bayes", random_state=0),
}
THOROUGH = {
    "tree with missing cells": KAnonymousTreeClassifier(k=2, on_missing="keep"),
    "perturbed": PerturbedTreeClassifier(random_state=0),
    "perturbed by the system": PerturbedTreeClassifier(split="matched"),
}


SLOW = {"forest with epsilon": PrivateForestClassifier(random_state=0)}
"""Its epsilon asks for 64 trees or more, 60 times."""


def failures(estimator: Any) -> Iterator[str]:
    """What scikit-learn finds wrong with an estimator; a check that scikit-learn itself skips is passed over.

    It skips one check, which needs SCIPY_ARRAY_API to be set, and two of what draws from the operating system.
    """
    for each, check in estimator_checks_generator(estimator):
        try:
            check(each)
        except SkipTest:
            continue
        except Exception as error:
            yield f"{check}: {error}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        *CHECKED,
        *(pytest.param(name, marks=pytest.mark.thorough) for name in THOROUGH),
        *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW),
    ],
)
def test_an_estimator_passes_the_checks_of_scikit_learn(name: str) -> None:
    assert list(failures({**CHECKED, **THOROUGH, **SLOW}[name])) == []


@pytest.mark.processes
def test_leafgate_imports_scikit_learn_only_with_its_estimators() -> None:
    code = "import sys, leafgate, leafgate.app, leafgate.api; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.processes
def test_without_scikit_learn_the_error_names_the_packages() -> None:
    code = "import sys; sys.modules['sklearn'] = None\nimport leafgate.estimators"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    needed = "leafgate.estimators needs scikit-learn 1.6 or later"
    assert last == f"ImportError: {needed}: {install_command('sklearn')}"
