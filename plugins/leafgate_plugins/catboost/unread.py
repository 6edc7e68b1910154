"""What a CatBoost file holds besides the trees: how the model was trained, and content that CatBoost does not write."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from leafgate.api import FileDisclosure, ReleaseError
from leafgate.ir.unread import number_array
from leafgate.readers import (
    MANY_NUMBERS,
    NumberKind,
    TreeIR,
    UnreadTracker,
    content_size,
    parse_bounded_json,
    read_shape,
)

SHAPE = read_shape("leafgate_plugins.catboost")
"""What CatBoost 1.2 writes; its settings stand at any depth."""

INFO, SETTINGS = SHAPE.tables["model_info"], SHAPE.tables["settings"]
VALUES, METRICS = SHAPE.words["values"], SHAPE.words["metrics"]
"""Texts among the settings that are CatBoost's own, and its metrics of classes and of numbers."""

USERS_OWN = frozenset({"metadata", "pool_metainfo_options"})
"""Settings under which a user may write anything."""

NUMBER_SIGN = "\N{INPUT SYMBOL FOR NUMBERS}"
"""What CatBoost writes for the numbers in a text (`number_token`)."""

ORDER = re.compile(r'\[("[a-z_]{1,40}"(,"[a-z_]{1,40}")*)?\]')
"""The order of a loss's parameters, as a text."""

SHORT_NUMBER = re.compile(r"-?\d{1,6}(\.\d{1,6})?")
METRIC_SETTINGS = frozenset({"loss_function", "objective", "eval_metric", "custom_metric", "custom_loss"})

MAX_LIST = 20
"""No setting but names of features and weights of classes has a longer list."""

PATHS = {
    "eval_file_name": "",
    "fstr_internal_file": "",
    "fstr_regular_file": "",
    "output_borders": "",
    "training_options_file": "",
    "roc_file": "",
    "train_dir": "catboost_info",
    "file_with_hosts": "hosts.txt",
}
"""Settings that hold the path of a file or folder, and what they are where nobody chose one."""

COMMIT_LINE = re.compile(
    r"(Author|Summary|Build by|Top src dir|Branch|Commit|Last Changed Rev|git-svn info|[\w ]{1,20}):.*"
)
VERSION = re.compile(r"Branch: tags/v(\d{1,3}\.\d{1,3}(\.\d{1,3})?)$", re.MULTILINE)
WORD_OR_NUMBER = r"(\d{1,6}(\.\d{1,6})?|true|false|Classic|Macro|Micro|Mu|OneVsAll|Weighted)"
METRIC = re.compile(rf"(?P<name>[A-Za-z0-9]+)(:[a-z_]{{1,30}}={WORD_OR_NUMBER}(;[a-z_]{{1,30}}={WORD_OR_NUMBER})*)?")
"""A metric with its options, as CatBoost writes it."""

LARGEST_SETTING = 2**64
"""Settings are whole numbers below this, or numbers of double precision."""

MAX_ROUNDS = 100_000
"""Rounds of training whose errors a file may hold."""


def version_of(info: Mapping[str, Any]) -> str:
    """The version of CatBoost that wrote the file; empty where it does not say."""
    text = info.get("catboost_version_info")
    found = VERSION.search(text) if isinstance(text, str) else None
    return found[1] if found else ""


def disclosed(document: Mapping[str, Any], kind: NumberKind | None) -> list[FileDisclosure]:
    """What the file discloses besides predictions; `kind` is that of the weights of leaves, None without them."""
    info, features = document["model_info"], document["features_info"]
    numeric = features.get("float_features") or []
    settings = list(_settings(_parsed(info.get("output_options")))) + list(_settings(info.get("params")))
    parts = {
        "rows": kind == "rows",
        "weight": kind not in {"rows", None},
        "cat_features_hash": bool(features.get("cat_features_hash")),
        "ctr_data": bool(document.get("ctr_data")),
        "has_nans": any(each.get("has_nans") for each in numeric),
        "training": bool(info.get("training")),
        "train_finish_time": bool(info.get("train_finish_time")),
        "settings": sum(_count(value) for _, value in settings),
        "paths": any(key in PATHS and value != PATHS[key] for key, value in settings),
    }
    return SHAPE.disclosed(parts)


def unread_content(document: Mapping[str, Any], names: Sequence[str], trees: Sequence[TreeIR]) -> UnreadTracker:
    """What the file holds besides the trees and what the reader discloses of it."""
    tracker = UnreadTracker()
    features = document["features_info"]
    limits = {"features": max(1, len(names))}
    tracker.check_table(
        {key: each for key, each in features.items() if each is not None},
        SHAPE.tables["features_info"],
        limits,
        "features_info",
    )
    every = [*(features.get("float_features") or ()), *(features.get("categorical_features") or ())]
    shown = [each.get("feature_name", "") for each in every]
    tracker.check_texts("features_info.feature_name", [each for each in shown if isinstance(each, str)], names)
    _check_flags(tracker, features)
    _check_borders(tracker, document)
    _check_model_info(tracker, document["model_info"], names)
    return tracker


def _check_flags(tracker: UnreadTracker, features: Mapping[str, Any]) -> None:
    """Check that `has_nans` is true or false."""
    for each in features.get("float_features") or ():
        if not isinstance(each.get("has_nans", False), bool):
            tracker.add("features_info.has_nans", content_size(each["has_nans"]))


def _check_borders(tracker: UnreadTracker, document: Mapping[str, Any]) -> None:
    """Check that borders, and values of categories, are those of tests: others are content that predicts nothing."""
    asked: dict[tuple[str, int], set[float]] = {}
    of_statistics = set()
    for test in _tests(document):
        if "float_feature_index" in test:
            asked.setdefault(("float", test["float_feature_index"]), set()).add(test["border"])
        elif "value" in test:
            asked.setdefault(("category", test["cat_feature_index"]), set()).add(test["value"])
        elif "split_index" in test:
            of_statistics.add(test["split_index"])
    features = document["features_info"]
    for key, kind, where in (("float_features", "float", "borders"), ("categorical_features", "category", "values")):
        for each in features.get(key) or ():
            numbers = number_array(each.get(where, []))
            used = asked.get((kind, each["feature_index"]), set())
            if numbers is not None and (unused := len(set(numbers.tolist()) - used)):
                tracker.add(f"features_info.{where} that no tree uses", unused)
            if numbers is not None and len(set(numbers.tolist())) < len(numbers):
                tracker.add(f"features_info.{where}", len(numbers))
    listed = sum(len(each["borders"]) for each in features.get("ctrs") or ())
    if listed > len(of_statistics):
        tracker.add("features_info.ctrs.borders that no tree uses", listed - len(of_statistics))


def _tests(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every test of the file, and every element of a statistic."""
    for statistic in document["features_info"].get("ctrs") or ():
        yield from statistic["elements"]
    for tree in document.get("oblivious_trees") or ():
        yield from tree["splits"] or ()
    waiting = list(document.get("trees") or ())
    while waiting:
        node = waiting.pop()
        if "split" in node:
            yield node["split"]
            waiting += [node["left"], node["right"]]


def _check_model_info(tracker: UnreadTracker, info: Mapping[str, Any], names: Collection[str]) -> None:
    tracker.check_table(info, INFO, {}, "model_info")
    _check_version(tracker, info.get("catboost_version_info", ""))
    classes = {str(each) for each in (info.get("class_params") or {}).get("class_names", [])}
    label_type = (info.get("class_params") or {}).get("class_label_type", "String")
    if label_type not in {"Boolean", "Float", "Integer", "String"}:
        tracker.add("model_info.class_params.class_label_type", content_size(label_type))
    if (info.get("class_params") or {}).get("classes_count", 0) not in {0, len(classes)}:
        tracker.add("model_info.class_params.classes_count", 1)
    known = {*names, *classes}
    _check_settings(tracker, info.get("params"), "model_info.params", known)
    if info.get("output_options"):
        options = _parsed(info["output_options"])
        if isinstance(options, dict):
            _check_settings(tracker, options, "model_info.output_options", known)
        else:
            tracker.add("model_info.output_options", content_size(info["output_options"]))
    if info.get("training") and not _is_history(_parsed(info["training"]), _rounds(info)):
        tracker.add("model_info.training", content_size(info["training"]))


def _check_version(tracker: UnreadTracker, text: Any) -> None:
    """Check the text about the version of CatBoost: lines of a key and a short value."""
    lines = text.splitlines() if isinstance(text, str) else None
    if lines is None or len(lines) > 20:
        tracker.add("model_info.catboost_version_info", content_size(text))
        return
    strange = [line for line in lines if line.strip() and not _is_version_line(line.strip())]
    if strange:
        tracker.add_text("model_info.catboost_version_info", *strange)


def _is_version_line(line: str) -> bool:
    return COMMIT_LINE.fullmatch(line) is not None and len(line) <= 200


def _parsed(text: Any) -> Any:
    """What a text holds that is JSON in turn; None where it is none."""
    try:
        return parse_bounded_json(text.encode(), "text") if isinstance(text, str) else None
    except ReleaseError:
        return None


def _settings(document: Any) -> Iterator[tuple[str, Any]]:
    """Each setting at any depth with its value: a text, a number, a list or None."""
    waiting = [document]
    while waiting:
        table = waiting.pop()
        for key, value in table.items() if isinstance(table, dict) else ():
            items = value if isinstance(value, list) else [value]
            waiting += [each for each in items if isinstance(each, dict)]
            if not any(isinstance(each, dict) for each in items):
                yield key, value


def _count(value: Any) -> int:
    """How many texts and numbers a setting holds."""
    return sum(map(_count, value)) if isinstance(value, list) else 1


def _check_settings(tracker: UnreadTracker, document: Any, location: str, known: Collection[str]) -> None:
    """Check that settings are CatBoost's and their values short; short texts are compared with the table's cells."""
    waiting = [document]
    while waiting:
        table = waiting.pop()
        if not isinstance(table, dict):
            tracker.add(location, content_size(table))
            continue
        tracker.check_table({key: table[key] for key in table.keys() - known}, SETTINGS, {}, location)
        for key in (each for each in table if each in SETTINGS or each in known):
            value = table[key]
            if key in USERS_OWN:
                if value not in ({}, {"tags": {}}):
                    tracker.add(f"{location}.{key}", max(MANY_NUMBERS, content_size(value)))
            elif isinstance(value, dict):
                waiting.append(value)
            else:
                _check_setting(tracker, key, value, location, known, waiting)


def _check_setting(
    tracker: UnreadTracker, key: str, value: Any, location: str, known: Collection[str], waiting: list[Any]
) -> None:
    items = value if isinstance(value, list) else [value]
    if len(items) > max(MAX_LIST, len(known)) or (key in PATHS and not isinstance(value, str)):
        tracker.add(location, content_size(value))
        return
    for each in items:
        if isinstance(each, dict):
            waiting.append(each)
        elif _is_too_large(each):
            tracker.add(location, content_size(each))
        elif isinstance(each, str) and key not in PATHS and not _is_programs_own(key, each):
            tracker.check_texts(location, [each], known)


def _is_too_large(value: Any) -> bool:
    """Whether a setting is a list that holds more than a few numbers, or a number of too many digits."""
    if isinstance(value, list):
        return number_array(value) is None or len(value) > MAX_LIST or any(map(_is_too_large, value))
    return isinstance(value, int) and abs(value) >= LARGEST_SETTING


def _is_programs_own(key: str, text: str) -> bool:
    """Whether a text is one of CatBoost's own, or a short number."""
    if text in VALUES or SHORT_NUMBER.fullmatch(text) or (key == "delimiter" and text == " "):
        return True
    if key == "number_token":
        return text == NUMBER_SIGN
    if key == "__params_key_order":
        return ORDER.fullmatch(text) is not None
    return key in METRIC_SETTINGS and _is_metric(text)


def _is_metric(text: str) -> bool:
    found = METRIC.fullmatch(text)
    return found is not None and found["name"] in METRICS


def _rounds(info: Mapping[str, Any]) -> int:
    """How many rounds of training the settings allow; 0 where they do not say."""
    options = info["params"].get("boosting_options")
    found = options.get("iterations") if isinstance(options, dict) else None
    return found if type(found) is int and 0 <= found <= MAX_ROUNDS else 0


def _is_history(document: Any, rounds: int) -> bool:
    """Whether this is the record of errors: by metric one number for each of at most so many rounds."""
    metrics = document.get("metrics") if isinstance(document, dict) and len(document) == 1 else None
    if not isinstance(metrics, dict):
        return False
    known = {"best_iteration", "learn_best_error", "learn_metrics_history", "test_best_error", "test_metrics_history"}
    return metrics.keys() <= known and all(_are_errors(each, rounds) for each in metrics.values())


def _are_errors(content: Any, rounds: int) -> bool:
    waiting = [content]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            if len(item) > max(MAX_LIST, rounds):
                return False
            waiting += item
        elif isinstance(item, dict):
            if not all(map(_is_metric, item)):
                return False
            waiting += item.values()
        elif isinstance(item, bool) or not isinstance(item, int | float) or abs(item) >= LARGEST_SETTING:
            return False
    return True
