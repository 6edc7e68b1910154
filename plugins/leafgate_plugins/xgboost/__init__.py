"""XGBoost's files, JSON and UBJSON.

`ubjson` parses the binary form to what JSON would be, `reader` builds the model, `node_sizes` computes the people at
every node from sums of second derivatives, `saved_state` reads the settings beside a model in a pickle or skops file,
`unread` records the rest of the document. `training` fits such models on other people.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from leafgate.api import ReleaseError, hookimpl
from leafgate.lazy_loading import LazyFunction
from leafgate.readers import ModelReader, ReaderTexts

leafgate_api = ">=3,<4"


RAW_SCORES = "binary:logitraw"


def sniff(head: bytes) -> bool:
    """Does the file begin as XGBoost's JSON and UBJSON do, or as the state of a Booster, settings first?"""
    text = head.lstrip()
    as_json = text[:1] == b"{" and text[1:].lstrip().startswith((b'"learner"', b'"Config"'))
    first = b"learner" in head[:24] or b"Config" in head[:24]
    return as_json or (head[:1] == b"{" and head[1:2] in {b"L", b"l", b"i", b"U", b"I"} and first)


def to_file(thing: Any) -> tuple[str, bytes] | None:
    """The JSON file of a fitted Booster or estimator of XGBoost, as `Booster.save_model` writes it.

    Of an estimator that was stopped early it holds the rounds up to the best one, by which the estimator predicts.
    """
    xgboost = sys.modules.get("xgboost")
    if xgboost is None or not isinstance(thing, xgboost.Booster | xgboost.XGBModel):
        return None
    if isinstance(thing, xgboost.XGBModel) and not thing.__sklearn_is_fitted__():
        raise ReleaseError("is not fitted", place="model", remedy="call its `fit` first")
    if isinstance(thing, xgboost.XGBModel) and not math.isnan(math.nan if thing.missing is None else thing.missing):
        raise ReleaseError(
            "takes a number for missing (`missing`), and no file of XGBoost says which",
            place="model",
            remedy="give X with these cells missing, and `model.get_booster()`",
        )
    if isinstance(thing, xgboost.XGBClassifier) and thing.objective == RAW_SCORES:
        raise ReleaseError(
            f"is a classifier of {RAW_SCORES}, which takes sums above 0.5 for its second class; its file, above 0",
            place="model",
            remedy='fit it with `objective="binary:logistic"`',
        )
    booster = thing if isinstance(thing, xgboost.Booster) else thing.get_booster()
    best = booster.attributes().get("best_iteration")
    if isinstance(thing, xgboost.XGBModel) and best is not None:
        booster = booster[: int(best) + 1]
    return "model.json", bytes(booster.save_raw("json"))


def texts() -> ReaderTexts:
    """Words of the producer."""
    from leafgate_plugins.xgboost.unread import SHAPE

    return ReaderTexts(producers=frozenset({"XGBoost", "xgboost"}), disclosures=SHAPE.says)


XGBOOST = ModelReader(
    name="xgboost",
    sniff=sniff,
    read=LazyFunction("leafgate_plugins.xgboost.reader:read"),
    read_output=LazyFunction("leafgate_plugins.xgboost.reader:read"),
    max_bytes=256 * 2**20,
    texts=texts,
    to_file=to_file,
    trains=("xgboost.",),
    train=LazyFunction("leafgate_plugins.xgboost.training:train"),
    fit=LazyFunction("leafgate_plugins.xgboost.training:fit"),
    library="leafgate_plugins.xgboost.library:answer",
    tested=("XGBoost 1.7", "XGBoost 2.1", "XGBoost 3.0", "XGBoost 3.2", "XGBoost 3.3", "XGBoost 3.4"),
)
"""The files that `Booster.save_model` writes."""


@hookimpl
def model_readers() -> list[ModelReader]:
    return [XGBOOST]
