"""Folders that MLflow saved: the model's own file by the reader of its format, and what else the folder discloses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from leafgate.api import FileDisclosure, ReleaseError
from leafgate.app import load_plugins
from leafgate.folders import folder_files
from leafgate.io.yaml import parse_yaml
from leafgate.models.reader import read_foreign
from leafgate.readers import MANY_NUMBERS, ModelIR, UnreadTracker, object_at, read_shape

SHAPE = read_shape("leafgate_plugins.mlflow")
MODEL_FILE = "MLmodel"
FLAVORS = {"sklearn": "pickled_model", "xgboost": "data", "lightgbm": "data", "catboost": "data", "onnx": "data"}
"""The flavors whose models are read, and under which key each names the model's file, also where it is no pickle."""

ENVIRONMENT = ("conda.yaml", "python_env.yaml", "requirements.txt", "registered_model_meta")
"""What MLflow writes of the packages that a model needs, and of its name in a registry."""

BETWEEN_WORDS = re.compile(r"[\s=<>~!']+|,(?=[=<>~!])")
"""What parts the words of files of packages: a comment or any other sentence has a character that no word may have."""

KEYS = SHAPE.tables["MLmodel"]
"""Everything that MLflow 2 and 3 write into `MLmodel`, at any depth, and into the signature in it."""


def read(content: bytes, place: str) -> ModelIR:
    """The model in a folder, not yet checked; what else the folder holds is a disclosure of it."""
    files, here = folder_files(content) or {}, f"{place}/{MODEL_FILE}"
    described = parse_yaml(files[MODEL_FILE], here)
    name, tracker = _model_file(described, files, f"{here}.flavors"), UnreadTracker()
    readers = [reader for reader in load_plugins().readers if reader.name != "mlflow"]  # no folder within a folder
    model = read_foreign(files.pop(name), f"{place}/{name}", readers)
    columns = dict.fromkeys([*model.other_names, *_check_signature(tracker, described.pop("signature", None))])
    _check_keys(tracker, described, MODEL_FILE)
    found = [SHAPE.disclosures["run_id"], *_check_files(tracker, files, described)]
    discloses = tuple(dict.fromkeys([*model.discloses, *found, *tracker.disclosures()]))
    return replace(model, discloses=discloses, other_names=tuple(columns), texts=model.texts | tracker.texts)


def _model_file(described: Mapping[str, Any], files: Mapping[str, bytes], here: str) -> str:
    """The path of the model's own file, by the flavor that has one."""
    flavors = object_at(described.get("flavors"), here)
    named = {object_at(flavors[each], f"{here}.{each}").get(key) for each, key in FLAVORS.items() if each in flavors}
    if not named:
        own = ", ".join(flavor for flavor in flavors if flavor.isidentifier()) or "none"
        remedy = f"read: {', '.join(FLAVORS)}; or save the model itself, by its library, and name that file"
        raise ReleaseError(f"is a model of a flavor that is not read: {own}", place=here, remedy=remedy)
    if len(named) > 1 or not isinstance(name := named.pop(), str) or name not in files:
        raise ReleaseError("does not name one file of the folder as its model", place=here, remedy="save it anew")
    return name


def _check_signature(tracker: UnreadTracker, signature: object) -> Iterator[str]:
    """The names of columns in a signature, whose parts are lists of columns as JSON; the rest of it is checked."""
    parts = dict(signature) if isinstance(signature, dict) else {}
    for part, text in parts.items():
        with suppress(ValueError, RecursionError):
            parts[part] = json.loads(text) if isinstance(text, str) else text
    listed = [each for columns in parts.values() if isinstance(columns, list) for each in columns]
    names = [column.pop("name", None) for column in listed if isinstance(column, dict)]
    _check_keys(tracker, parts, "the signature")
    return filter(lambda name: isinstance(name, str), names)


def _check_keys(tracker: UnreadTracker, value: object, key: str) -> None:
    """Record what MLflow does not write below a key; short texts are kept, to be compared with the cells."""
    if isinstance(value, dict):
        flavors = {inner for inner in value if key == "flavors" and inner not in KEYS and inner.isidentifier()}
        tracker.check_table({inner: value[inner] for inner in value if inner not in flavors}, KEYS, {}, key)
        for inner in (each for each in value if each in flavors or each in KEYS):
            _check_keys(tracker, value[inner], "a flavor" if inner in flavors else inner)
    elif isinstance(value, list):
        if key != "shape" and any(isinstance(each, int | float) for each in value):
            tracker.add(key, len(value))
        for each in value:
            _check_keys(tracker, each, key)
    elif isinstance(value, str) and key != "skops_trusted_types":  # long names of classes
        tracker.check_texts(key, [value])


def _check_files(
    tracker: UnreadTracker, files: Mapping[str, bytes], described: Mapping[str, Any]
) -> Iterator[FileDisclosure]:
    """What the folder's other files disclose; those that MLflow does not write are other content."""
    info = described.get("saved_input_example_info")
    for path, content in files.items():
        if path == MODEL_FILE or (path.startswith("metadata/") and files.get(path[9:]) == content):
            continue
        if isinstance(info, dict) and path in info.values():
            yield SHAPE.disclosures["saved_input_example_info"]
        elif path in ENVIRONMENT:
            yield SHAPE.disclosures["environment"]
            tracker.check_texts(path, BETWEEN_WORDS.split(content.decode("utf-8", "replace")))
        else:
            tracker.add("a file that is no part of the model", max(MANY_NUMBERS, len(content) // 8))
