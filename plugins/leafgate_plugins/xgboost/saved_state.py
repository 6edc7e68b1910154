"""The state of a Booster as pickles and skops files hold it: the model, and beside it every setting (`Config`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from leafgate.api import FileDisclosure, ReleaseError
from leafgate.io.json import refuse_unknown
from leafgate.readers import UnreadTracker, object_at, read_shape
from leafgate_plugins.xgboost.training import NOT_IN_FILES, PARAMETERS

SHAPE = read_shape("leafgate_plugins.xgboost")
GENERATOR = "rng_state"
GENERATOR_STATE = re.compile(r"\d{1,10}( \d{1,10}){0,699}")
"""The state of a Mersenne Twister: 624 numbers and a position."""

CONSTRAINTS = ("monotone_constraints", "interaction_constraints")
NO_CONSTRAINTS = frozenset({"", "()", "[]"})
PARAMETER = re.compile(r"-?[0-9.]{1,24}(e[-+]?[0-9]{1,3})?|[a-z]{1,20}")
SETTING = re.compile(r"[\w.:+-]{0,60}")
NUMBERS = re.compile(r"[-+.eE\d\[\](), ]*")
MAX_SETTINGS = 1_000
"""Settings of XGBoost 3.4 are about 60; a list of constraints has one number for each feature."""


def parts_of(document: dict[str, Any], place: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The model's document, and the settings beside it; None where the file holds the model alone.

    Raises:
        ReleaseError: the settings name another objective or another base score than the model, or the file holds more
            than these two.
    """
    if "Config" not in document:
        return document, None
    refuse_unknown(document, ("Config", "Model"), ReleaseError, place)
    model, settings = (object_at(document.get(key), f"{place}.{key}") for key in ("Model", "Config"))
    learners = [object_at(part.get("learner"), f"{place}.{key}.learner") for key, part in document.items()]
    for key in ("objective", "learner_model_param"):
        if len({repr(_plain(learner.get(key))) for learner in learners}) > 1:
            raise ReleaseError(
                f"has another `{key}` in its settings than in its model, so that it is not known what it predicts",
                place=f"{place}.Config.learner.{key}",
                remedy="save the model by `Booster.save_model`",
            )
    return model, settings


def _plain(value: Any) -> Any:
    """Tables sorted by key, arrays as lists."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in sorted(value.items())}
    return value.tolist() if isinstance(value, np.ndarray) else value


def parameters_of(settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parameters of the classifier that was fitted; None where some of them are not among the settings."""
    booster = _table(_table(settings, "learner"), "gradient_booster")
    texts = _table(booster, "tree_train_param")
    if booster.get("name") != "gbtree" or not set(NOT_IN_FILES) <= texts.keys():
        return None
    if any(texts.get(key, "") not in NO_CONSTRAINTS for key in CONSTRAINTS):
        return None
    found = {name: texts[name] for name in sorted(PARAMETERS & texts.keys())}
    if not all(isinstance(text, str) and PARAMETER.fullmatch(text) for text in found.values()):
        return None
    return {name: _value(text) for name, text in found.items()}


def _value(text: str) -> int | float | str:
    """A parameter's value; a share such as 0.300000012 is of single precision."""
    if text.isalpha():
        return text
    return int(text) if text.lstrip("-").isdigit() else float(np.float32(text))


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def check_settings(tracker: UnreadTracker, settings: Mapping[str, Any]) -> None:
    """Record what is no setting; keep the short texts."""
    leaves = list(_leaves(settings))
    keys, values = {key for key, _ in leaves}, [value for key, value in leaves if key != GENERATOR]
    numbers = [value for value in values if isinstance(value, str) and NUMBERS.fullmatch(value)]
    others = [value for value in values if isinstance(value, str) and not NUMBERS.fullmatch(value)]
    words = [word for value in others for word in value.split(",")]
    states = [value for key, value in leaves if key == GENERATOR]
    tracker.check_texts("names of settings", keys)
    tracker.check_texts("settings", words)
    strange = [value for value in words if not SETTING.fullmatch(value)]
    strange += [value for value in states if not isinstance(value, str) or not GENERATOR_STATE.fullmatch(value)]
    if strange or len(states) > 1:
        tracker.add_text("settings", *map(str, strange), *states[1:])
    sizes = sum(np.size(value) for value in values if not isinstance(value, str))
    if len(values) + len(words) + sizes + sum(value.count(",") for value in numbers) > MAX_SETTINGS:
        tracker.add("settings", sizes + sum(map(len, numbers)))


def _leaves(settings: Any) -> Iterator[tuple[str, Any]]:
    """Every value of the settings after the key that it stands under."""
    waiting: list[tuple[str, Any]] = [("", settings)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.items())
        elif isinstance(value, list):
            waiting.extend((key, each) for each in value)
        else:
            yield key, value


def disclosed(settings: Mapping[str, Any]) -> list[FileDisclosure]:
    """What the settings disclose."""
    random = any(key == GENERATOR for key, _ in _leaves(settings))
    return SHAPE.disclosed({"settings": True, GENERATOR: random})
