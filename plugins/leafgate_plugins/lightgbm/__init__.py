"""LightGBM's text files.

`reader` reads the trees and their settings, `categories` finds the features of the lists of categories at the end of
a file, `unread` records the lines that are not part of the model. `training` fits such models on other people.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from leafgate.api import ReleaseError, hookimpl
from leafgate.readers import ModelReader, ReaderTexts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.api import Learner, Table
    from leafgate.readers import ModelIR

leafgate_api = ">=3,<4"


def sniff(head: bytes) -> bool:
    """Does the file begin as LightGBM's text files do?"""
    return re.match(rb"tree\r?\nversion=", head) is not None


def read(content: bytes, place: str) -> ModelIR:
    """The model in a text file of LightGBM."""
    from leafgate_plugins.lightgbm import reader

    return reader.read(content, place)


def to_file(thing: Any) -> tuple[str, bytes] | None:
    """The text file of a fitted Booster or estimator of LightGBM, as `Booster.save_model` writes it."""
    lightgbm = sys.modules.get("lightgbm")
    if lightgbm is None or not isinstance(thing, lightgbm.Booster | lightgbm.LGBMModel):
        return None
    if isinstance(thing, lightgbm.LGBMModel) and not thing.__sklearn_is_fitted__():
        raise ReleaseError("is not fitted", place="model", remedy="call its `fit` first")
    booster = thing if isinstance(thing, lightgbm.Booster) else thing.booster_
    return "model.txt", booster.model_to_string().encode()


def texts() -> ReaderTexts:
    """Words of the producer, and why a feature's values are not known."""
    from leafgate_plugins.lightgbm.categories import DOUBTFUL, STRANGE
    from leafgate_plugins.lightgbm.unread import SHAPE

    return ReaderTexts(
        producers=frozenset({"LightGBM", "file", "lightgbm", "v", "version"}),
        reasons=(DOUBTFUL, STRANGE),
        disclosures=SHAPE.says,
    )


def train(learner: Learner, own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
    """The scores of an estimator that is fitted on people; see `training.train`."""
    from leafgate_plugins.lightgbm import training

    return training.train(learner, own, asked, seed)


def fit(learner: Learner, features: NDArray[np.float64], target: NDArray[Any], seed: int) -> Any:
    """An estimator that is fitted on features; see `training.fit`."""
    from leafgate_plugins.lightgbm import training

    return training.fit(learner, features, target, seed)


LIGHTGBM = ModelReader(
    name="lightgbm",
    sniff=sniff,
    read=read,
    max_bytes=128 * 2**20,
    texts=texts,
    to_file=to_file,
    trains=("lightgbm.",),
    train=train,
    fit=fit,
    library="leafgate_plugins.lightgbm.library:answer",
    tested=("LightGBM, file version v3", "LightGBM, file version v4"),
)
"""The files that `Booster.save_model` writes."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [LIGHTGBM]
