"""Options of components: strict reading, types of numbers, each name with one range, files, which options there are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    SerializationInfo,
    ValidationInfo,
    WithJsonSchema,
)

from leafgate.errors import LeafgateError, ReleaseError
from leafgate.folders import content_digest, is_model_folder, read_folder

STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True, allow_inf_nan=False)
"""Refuse unknown keys, other types and NaN; leave the input out of error texts."""


@dataclass(frozen=True)
class Later:
    """Marks a key that is newer than 1.0.0, in a field's metadata: no digest has it where it has its default.

    Attributes:
        states: a default that a policy states means something else than none, and digests have it.
    """

    states: bool = False


def delete_later(section: BaseModel, document: dict[str, Any]) -> None:
    """Delete from a section the keys marked `Later` that have their defaults, so that digests of older policies stay.

    Args:
        section: of a policy.
        document: the section as JSON, which may leave out keys.
    """
    for name, field in type(section).model_fields.items():
        value, inner = getattr(section, name), document.get(name)
        later = next((each for each in field.metadata if isinstance(each, Later)), None)
        if later is not None and value == field.default and not (later.states and name in section.model_fields_set):
            document.pop(name, None)
        elif isinstance(inner, dict):
            within = value if isinstance(value, dict) else {None: value}
            for key, each in within.items():
                if isinstance(each, BaseModel):
                    delete_later(each, inner if key is None else inner[key])


class Strict(BaseModel):
    """Refuses unknown keys, other types and NaN; error texts leave out the input."""

    model_config = STRICT


FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegativeFloat = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PositiveInt = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""From none to all."""
ShareBelowOne = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
"""From none to all but one."""
PositiveShare = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
"""More than none, up to all."""
OpenProbability = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
"""Neither impossible nor certain."""
PruningConfidence = Annotated[float, Field(gt=0, le=0.5, allow_inf_nan=False)]
"""The confidence level of error-based pruning."""


def inside(folder: Path, name: object) -> Path:
    """The file `name` below `folder`; ValueError when it is elsewhere, by symlink too."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError("must be a file name")
    try:
        path = (folder / name).resolve()
        loops = path.is_symlink()  # resolved, and still a link: Python 3.13 no longer raises
    except (OSError, RuntimeError):
        loops = True
    if loops:
        raise ValueError("cannot be followed; does a link lead to itself?")
    if Path(name).is_absolute() or not path.is_relative_to(folder.resolve()):
        raise ValueError("leaves the policy's folder; name a file below it, or move the folder with --root")
    return path


def _below(key: str) -> PlainValidator:
    def resolve(name: Any, info: ValidationInfo) -> Path:
        folders = info.context or {}
        try:
            return inside(folders.get(key, Path()), name)
        except ValueError as error:  # `--root` moves the data's folder alone
            message = str(error)
            raise ValueError(message if key == "root" else message.partition(", or move")[0]) from None

    return PlainValidator(resolve)


def digest(path: Path, error: type[LeafgateError] = ReleaseError, place: str = "", remedy: str = "") -> str:
    """The SHA-256 of a file's bytes, or of the files of a folder that MLflow saved; see `content_digest`.

    Raises:
        ReleaseError: it cannot be read, or is a folder that is no model; `error` in place of it where one is given.
    """
    try:
        if is_model_folder(path):
            return content_digest(read_folder(path))
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as reason:
        raise error(f"cannot be read: {reason.strerror}", place=place or str(path), remedy=remedy) from None


def digest_of(path: Path | None) -> str | None:
    """The SHA-256 of a file; None where it cannot be read, or only once, as a pipe."""
    try:
        return None if path is None or path.is_fifo() else digest(path)
    except (OSError, ReleaseError):
        return None


UNREAD = "files that cannot be read are marked as such"
"""The serialization context in which a policy is compared although its files may be missing."""


UNREADABLE = "cannot be read"
"""What the serialized policy has in place of the digest of a file that cannot be read."""


def _content_digest(path: Path, info: SerializationInfo) -> str:
    try:
        return digest(path)
    except ReleaseError:
        if info.context == UNREAD:
            return UNREADABLE
        raise


ABOUT_PEOPLE = "people "
"""The prefix of the digest of a file about people where two policies are compared; no output contains it."""


def _presence(path: Path, info: SerializationInfo) -> str:
    return ABOUT_PEOPLE + _content_digest(path, info) if info.context == UNREAD else "there is one"


_NAME = WithJsonSchema({"type": "string"})
_WRITTEN = (_NAME, PlainSerializer(_content_digest))
_SERIALIZED_AS_PRESENT = PlainSerializer(_presence)
_PRESENT = (_NAME, _SERIALIZED_AS_PRESENT)

DataFile = Annotated[Path, _below("root"), *_WRITTEN]
"""A file below the data's root (the policy's folder, or `--root`); digested by its content."""

PolicyFile = Annotated[Path, _below("beside"), *_WRITTEN]
"""A file below the policy's own folder, wherever the data is; digested by its content."""

PeopleFile = Annotated[Path, _below("root"), *_PRESENT]
"""A file below the data's root about people: a policy's digest states only that there is one."""

OwnersFile = Annotated[Path, _below("beside"), *_PRESENT]
"""The same, below the policy's own folder."""

CacheFolder = Annotated[Path, _below("beside"), _NAME, PlainSerializer(lambda _: "there is one")]
"""A folder below the policy's own for what may be deleted at any time; a policy's digest states only that there is one.

It need not exist."""


def people_files(model: BaseModel) -> dict[str, Path]:
    """The files that options of the types PeopleFile and OwnersFile name, by their options: `known`, `who.files[1]`."""
    files: dict[str, Path] = {}
    for name, field in type(model).model_fields.items():
        about_people = _is_about_people(field.annotation) or _SERIALIZED_AS_PRESENT in field.metadata
        files |= _files_in(getattr(model, name), name, about_people=about_people)
    return files


def _is_about_people(annotation: Any) -> bool:
    """Is a file about people, or a type that is made of one?"""
    if _SERIALIZED_AS_PRESENT in getattr(annotation, "__metadata__", ()):
        return True
    return any(map(_is_about_people, get_args(annotation)))


def _files_in(option: Any, name: str, *, about_people: bool) -> dict[str, Path]:
    if isinstance(option, BaseModel):
        return {f"{name}.{inner}": path for inner, path in people_files(option).items()}
    if isinstance(option, tuple | list | dict):
        items = option.items() if isinstance(option, dict) else enumerate(option)
        parts = (_files_in(item, f"{name}[{key}]", about_people=about_people) for key, item in items)
        return {inner: path for part in parts for inner, path in part.items()}
    return {name: option} if about_people and isinstance(option, Path) else {}


def models_of(model: type[BaseModel], field: str) -> list[type[BaseModel]]:
    """The models a field may hold, alone, in a list or in a mapping."""
    return list(_models_in(model.model_fields[field].annotation))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _models_in(inner)
