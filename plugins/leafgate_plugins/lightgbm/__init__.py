"""LightGBM's text files.

`reader` reads the trees and their settings, `categories` finds the features of the lists of categories at the end of
a file, `unread` records the lines that are not part of the model. `training` fits such models on other people.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from leafgate.api import ReleaseError, hookimpl
from leafgate.lazy_loading import LazyFunction
from leafgate.readers import ModelReader, ReaderTexts

leafgate_api = ">=3,<4"


def sniff(head: bytes) -> bool:
    """Does the file begin as LightGBM's text files do?"""
    return re.match(rb"tree\r?\nversion=", head) is not None


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


LIGHTGBM = ModelReader(
    name="lightgbm",
    sniff=sniff,
    read=LazyFunction("leafgate_plugins.lightgbm.reader:read"),
    max_bytes=128 * 2**20,
    texts=texts,
    to_file=to_file,
    trains=("lightgbm.",),
    train=LazyFunction("leafgate_plugins.lightgbm.training:train"),
    fit=LazyFunction("leafgate_plugins.lightgbm.training:fit"),
    library="leafgate_plugins.lightgbm.library:answer",
    tested=("LightGBM, file version v3", "LightGBM, file version v4"),
)
"""The files that `Booster.save_model` writes."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [LIGHTGBM]
