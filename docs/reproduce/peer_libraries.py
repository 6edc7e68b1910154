"""SACRO-ML and the Adversarial Robustness Toolbox (ART), where they are installed, and what all their attacks share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from tempfile import gettempdir
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from leafgate.api import InconclusiveError, lazy
from leafgate_plugins.inference.game import Answers

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy("numpy")

ArtClassifier = Annotated[
    Literal["rf", "gb", "lr", "dt", "knn"],
    Field(description="Of black_box: its `attack_model_type`, with scikit-learn's own parameters."),
]
"""What ART's black-box attacks learn with."""

DISTRIBUTIONS = {"sacroml": "sacroml", "art": "adversarial-robustness-toolbox"}
"""By which name each library is installed."""


def sacroml(module: str) -> Any:
    """A module of SACRO-ML; InconclusiveError where it is not installed."""
    return _module(f"sacroml.{module}")


def art(module: str) -> Any:
    """A module of ART; InconclusiveError where it is not installed."""
    os.environ.setdefault("ART_DATA_PATH", os.path.join(gettempdir(), "art"))
    return _module(f"art.{module}")


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        distribution = DISTRIBUTIONS[name.partition(".")[0]]
        raise InconclusiveError(f"{name} is not installed", remedy=f"install {distribution}") from None


def name_and_version(library: Literal["sacroml", "art"]) -> str:
    """An installed library, as findings name it."""
    from importlib.metadata import version

    return f"{library} {version(DISTRIBUTIONS[library])}"


def seed_classifier(attack: Any, seed: int) -> None:
    """Give the classifier of one of ART's attacks a seed, where it takes one."""
    if "random_state" in attack.attack_model.get_params():
        attack.attack_model.set_params(random_state=seed)


def by_name(answers: Answers, classes: Sequence[str]) -> Answers:
    """The same with the classes in the order of their names, on which results of these libraries hang where scores tie.

    Args:
        answers: the last axis of the scores has the classes, whatever the others have.
        classes: their names.
    """
    order = np.array(sorted(range(len(classes)), key=lambda position: classes[position]), dtype=np.int64)
    places = np.append(np.argsort(order), len(order))
    return Answers(answers.scores[..., order], places[answers.own])
