"""Folders that MLflow saved: the model's own file by the reader of its format, and what else the folder discloses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from leafgate.api import FileDisclosure, PolicyError, ReleaseError
from leafgate.app import folder_files, load_plugins, parse_yaml, read_foreign
from leafgate.readers import MANY_NUMBERS, ContentField, ContentKind, ModelIR, UnreadTracker, object_at

NAME = "mlflow"
"""What errors and `leafgate plugins` call the format."""

MODEL_FILE = "MLmodel"
FLAVORS: Mapping[str, tuple[str, ...]] = {
    "sklearn": ("pickled_model",),
    "xgboost": ("data",),
    "lightgbm": ("data",),
    "catboost": ("data",),
    "onnx": ("data",),
}
"""The flavors whose models are read, and under which key each names the model's file, also where it is no pickle."""

EXAMPLES = ("input_example.json", "serving_input_example.json")
"""What MLflow calls the rows that a model was given as an example; `saved_input_example_info` may name others."""

ENVIRONMENT = ("conda.yaml", "python_env.yaml", "requirements.txt", "registered_model_meta")
"""What MLflow writes of the packages that a model needs, and of its name in a registry."""

COPIES = "metadata"
"""A folder in which registries keep copies of files."""

ENDINGS = frozenset(
    {
        *(".py", ".json", ".csv", ".parquet", ".txt", ".yaml", ".yml", ".html", ".md", ".pkl", ".joblib", ".npy"),
        *(".npz", ".png", ".svg", ".zip", ".whl", ".ipynb", ".bin"),
    }
)
"""Endings of names of files, which reports may name."""

FLAVOR = re.compile(r"[a-z_]{1,20}")
SHORT = re.compile(r"[\w.:+*/<>=~\[\], -]{0,100}")
LINE = re.compile(
    r"\s*(- )?(-r )?[\w.-]{1,60}(\[[\w, -]{1,60}\])?(:?\s*((==|>=|<=|~=|!=|<|>|=)?\s?'?[\w.*+!-]{1,40}'?,?){0,4})?"
)
"""A line of a file of packages: a key, or a package and its versions."""

NUMBERS_OR_TIME = re.compile(r"[\d.:T+ -]{1,40}")
WORD = ContentField(ContentKind.TEXT, SHORT, words=True)
PLAIN = ContentField(ContentKind.ANY, SHORT, max_values=1)
FLAVOR_FIELDS: Mapping[str, ContentField] = {
    **dict.fromkeys(
        (
            *("data", "pickled_model", "model_path", "loader_module", "model_class", "model_format", "model_type"),
            *("save_format", "serialization_format", "python_version", "sklearn_version", "xgb_version"),
            *("lgb_version", "catboost_version", "onnx_version", "predict_fn", "env", "code", "python_model"),
            *("save_as_external_data", "config", "artifacts", "streamable"),
        ),
        PLAIN,
    ),
    "env": ContentField(ContentKind.ANY, SHORT, max_values=2),
    "providers": ContentField(ContentKind.ANY, max_values=10),
    "options": ContentField(ContentKind.ANY, max_values=0),
    "onnx_session_options": ContentField(ContentKind.ANY, max_values=0),
    "skops_trusted_types": ContentField(ContentKind.ANY, max_values=100),
}
FIELDS: Mapping[str, ContentField] = {
    **dict.fromkeys(
        (
            *("artifact_path", "run_id", "model_id", "model_uuid", "mlflow_version", "type_hint_from_example"),
            *("is_signature_from_type_hint", "model_size_bytes", "databricks_runtime", "env_vars"),
        ),
        PLAIN,
    ),
    "prompts": ContentField(ContentKind.ANY, max_values=0),
    "metadata": ContentField(ContentKind.ANY, max_values=0),
    "utc_time_created": ContentField(ContentKind.TEXT, NUMBERS_OR_TIME),
    "flavors": ContentField(ContentKind.TABLE),
    "signature": ContentField(ContentKind.TABLE),
    "saved_input_example_info": ContentField(
        ContentKind.TABLE,
        fields=dict.fromkeys(
            ("artifact_path", "pandas_orient", "serving_input_path", "type", "format", "example_params_path"), PLAIN
        ),
    ),
}
"""Everything that MLflow 2 and 3 write into `MLmodel`."""

ROWS = FileDisclosure(
    "training_rows", "high", "rows that the model was given as an example, often of the training table"
)
PACKAGES = FileDisclosure("settings", "low", "the packages that the model was saved with, and their versions")
SAVED = FileDisclosure("time", "low", "when the model was saved, and under which names of a run")
DISCLOSURES = tuple(item.says for item in (ROWS, PACKAGES, SAVED))
"""What disclosures of such folders say."""


def read(content: bytes, place: str) -> ModelIR:
    """The model in a folder, not yet checked; what else the folder holds is a disclosure of it."""
    files = folder_files(content)
    if files is None or MODEL_FILE not in files:
        raise ReleaseError("is no folder that MLflow saved", place=place)
    described = _described(files[MODEL_FILE], f"{place}/{MODEL_FILE}")
    name = _model_file(described, files, place)
    readers = [reader for reader in load_plugins().readers if reader.name != NAME]  # no folder within a folder
    model = read_foreign(files[name], f"{place}/{name}", readers)
    tracker, columns = UnreadTracker(), _columns(described)
    _check_description(tracker, described)
    found = _check_files(tracker, {each: files[each] for each in files if each not in {MODEL_FILE, name}}, described)
    return replace(
        model,
        discloses=tuple(dict.fromkeys((*model.discloses, SAVED, *found, *tracker.disclosures()))),
        other_names=tuple(dict.fromkeys((*model.other_names, *columns))),
        texts=model.texts | tracker.texts,
    )


def _described(content: bytes, place: str) -> dict[str, Any]:
    """What `MLmodel` says; ReleaseError where it is no YAML, or too long."""
    try:
        return parse_yaml(content, place)
    except PolicyError as error:
        message = error.problems[0].message
        raise ReleaseError(message, place=place, remedy="save the model anew, or name its own file") from None


def _model_file(described: Mapping[str, Any], files: Mapping[str, bytes], place: str) -> str:
    """The path of the model's own file, by the flavor that has one."""
    here = f"{place}/{MODEL_FILE}.flavors"
    flavors = object_at(described.get("flavors"), here)
    named = [
        object_at(flavors[flavor], f"{here}.{flavor}").get(key)
        for flavor in FLAVORS
        if flavor in flavors
        for key in FLAVORS[flavor]
    ]
    if not named:
        own = [flavor for flavor in flavors if FLAVOR.fullmatch(flavor)]
        raise ReleaseError(
            f"is a model of a flavor that is not read: {', '.join(own) or 'none'}",
            place=here,
            remedy=f"read: {', '.join(FLAVORS)}; or save the model itself, by its library, and name that file",
        )
    if len(set(named)) > 1 or not isinstance(named[0], str) or named[0] not in files:
        raise ReleaseError("does not name one file of the folder as its model", place=here, remedy="save it anew")
    return named[0]


def _columns(described: Mapping[str, Any]) -> list[str]:
    """The names of the columns that the model was given, as its signature has them."""
    signature = described.get("signature")
    text = signature.get("inputs") if isinstance(signature, dict) else None
    try:
        inputs = json.loads(text) if isinstance(text, str) else []
    except (ValueError, RecursionError):
        return []
    listed = inputs if isinstance(inputs, list) else []
    return [each["name"] for each in listed if isinstance(each, dict) and isinstance(each.get("name"), str)]


SIGNATURE_ENTRIES = {"name", "type", "required", "optional", "tensor-spec", "dtype", "shape"}


def _check_description(tracker: UnreadTracker, described: Mapping[str, Any]) -> None:
    """Record what MLflow does not write into `MLmodel`."""
    tracker.check_table(described, FIELDS, {}, MODEL_FILE)
    flavors = described.get("flavors")
    for flavor, table in flavors.items() if isinstance(flavors, dict) else ():
        tracker.check_texts("names of flavors", [flavor])
        if isinstance(table, dict):
            tracker.check_table(table, FLAVOR_FIELDS, {}, "a flavor")
        else:
            tracker.add("a flavor", MANY_NUMBERS)
    signature = described.get("signature")
    for key, text in signature.items() if isinstance(signature, dict) else ():
        if key not in {"inputs", "outputs", "params"} or not _is_signature(text):
            tracker.add("the signature", MANY_NUMBERS)


def _is_signature(text: Any) -> bool:
    """Is it a list of columns with their types, and no more?"""
    try:
        listed = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return False
    if listed is None:
        return True
    return isinstance(listed, list) and all(
        isinstance(each, dict)
        and each.keys() <= SIGNATURE_ENTRIES
        and SHORT.fullmatch(str(each.get("type", ""))) is not None
        for each in listed
    )


def _check_files(
    tracker: UnreadTracker, others: Mapping[str, bytes], described: Mapping[str, Any]
) -> list[FileDisclosure]:
    """What the folder's other files disclose; those that MLflow does not write are other content."""
    info = described.get("saved_input_example_info")
    own = {str(value) for value in info.values()} if isinstance(info, dict) else set[str]()
    found = []
    for path, content in others.items():
        top = path.removeprefix(f"{COPIES}/")
        if top != path and top in others and others[top] == content:
            continue
        if path in EXAMPLES or path in own:
            found.append(ROWS)
        elif path in ENVIRONMENT:
            found.append(PACKAGES)
            _check_environment(tracker, path, content)
        elif top != MODEL_FILE or described != _again(content):
            ending = PurePosixPath(path).suffix
            what = f"a file ({ending})" if ending in ENDINGS else "a file of another kind"
            tracker.add(f"{what} that is no part of the model", max(MANY_NUMBERS, len(content) // 8))
    return found


def _again(content: bytes) -> dict[str, Any]:
    """What a copy of `MLmodel` says; nothing where it is none."""
    try:
        return parse_yaml(content, MODEL_FILE)
    except PolicyError:
        return {}


def _check_environment(tracker: UnreadTracker, path: str, content: bytes) -> None:
    """Record lines that name no package."""
    lines = content.decode("utf-8", "replace").splitlines()
    for line in filter(str.strip, lines):
        if LINE.fullmatch(line):
            tracker.check_texts(path, re.findall(r"[\w.+-]+", line))
        else:
            tracker.add_text(f"a line of {path}", line)
