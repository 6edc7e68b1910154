"""Writing a model as a file of a format that people use, chosen by the file's name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from leafgate.bounded.compressed import decompressed
from leafgate.errors import LeafgateError, ReleaseError
from leafgate.ir.model import ModelIR
from leafgate.ir.model_readers import ModelReader
from leafgate.ir.validate import check_model
from leafgate.kernel.release import LEVELS
from leafgate.models.exposure.implied import with_implied_disclosures
from leafgate.models.reader import read_foreign


def writable_suffixes(readers: Sequence[ModelReader]) -> tuple[str, ...]:
    """The endings of names of files that some reader can write, in alphabetical order."""
    return tuple(sorted({suffix for reader in readers for suffix in reader.suffixes if reader.write is not None}))


def model_writer(name: str, readers: Sequence[ModelReader]) -> ModelReader:
    """The reader that writes a file of this name.

    Args:
        name: The new file's name, whose ending decides, whatever the case of its letters.
        readers: The readers in use.

    Raises:
        ReleaseError: no reader writes files that end so, or several do.
    """
    found = [one for one in readers if one.write is not None and name.lower().endswith(one.suffixes)]
    if not found:
        remedy = f"end its name in one of: {', '.join(writable_suffixes(readers)) or 'none is installed'}"
        raise ReleaseError("is of a format that no installed plugin writes", place=name, remedy=remedy)
    if len(found) > 1:
        names = " and ".join(sorted(one.name for one in found))
        raise ReleaseError(f"could be written by several plugins, {names}", place=name, remedy="uninstall one of them")
    return found[0]


def check_original(original: bytes, name: str, readers: Sequence[ModelReader]) -> None:
    """Refuse a file from whose model no file of the name's format can be made, whatever is changed in its trees.

    Args:
        original: The file that models are to be made from, as the readers took it.
        name: The new file's name, whose ending chooses the format.
        readers: The readers in use.

    Raises:
        ReleaseError: no reader writes such files, or not from this one.
        InconclusiveError: a library that writes the format is not installed.
    """
    writer = model_writer(name, readers)
    if writer.check_original is None:
        return
    with _plugin_failures(writer, "look at it", name):
        writer.check_original(decompressed(original, name))


@contextmanager
def _plugin_failures(reader: ModelReader, what: str, place: str, remedy: str = "") -> Iterator[None]:
    """Errors of a plugin that are none of leafgate's as a ReleaseError, which states what the plugin failed to do."""
    try:
        yield
    except LeafgateError:
        raise
    except Exception as error:
        why = f"the plugin {reader.name!r} failed to {what} ({type(error).__name__})"
        raise ReleaseError(why, place=place, remedy=remedy) from error


def object_as_file(thing: Any, readers: Sequence[ModelReader], rows: Any = None) -> tuple[str, bytes] | None:
    """The name and the bytes of the file of an object in memory, as the first reader writes it that knows the object.

    Args:
        thing: A fitted estimator, for example.
        readers: The readers in use.
        rows: The rows that the object was fitted on, as its user has them; None where they are not at hand.

    Returns:
        None for an object that no reader knows.

    Raises:
        ReleaseError: the object is not fitted, or has no such file.
        InconclusiveError: a library that writes the file is not installed.
    """
    for reader in readers:
        if reader.to_file is None:
            continue
        with _plugin_failures(reader, "write it", "model", "save it, and give the path of its file"):
            with_rows = None if rows is None else reader.to_file_with
            written: object = reader.to_file(thing) if with_rows is None else with_rows(thing, rows)
        if written is None:
            continue
        if isinstance(written, tuple) and len(written) == 2:
            name, content = written
            if isinstance(name, str) and FILE_NAME.fullmatch(name) and isinstance(content, bytes):
                return name, content
        raise ReleaseError(f"the plugin {reader.name!r} returned no name and bytes of a file", place="model")
    return None


FILE_NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9]+)+")
"""What the file of an object in memory may be called."""


def model_as_file(model: ModelIR, original: bytes, name: str, readers: Sequence[ModelReader]) -> bytes:
    """The model as a file of the format that its name says, which its reader has read again.

    Args:
        model: The model to write.
        original: The file that the model was made from, as the readers took it.
        name: The new file's name, whose ending chooses the format.
        readers: The readers in use.

    Raises:
        ReleaseError: no reader writes such files, the format cannot hold the model, or what was written discloses more
            on its leaves than the model does.
        InconclusiveError: a library that writes the format is not installed.
    """
    writer = model_writer(name, readers)
    if writer.write is None:
        raise ReleaseError("is of a format that no installed plugin writes", place=name)
    model = check_model(model, name)
    with _plugin_failures(writer, "write it", name):
        content = writer.write(model, decompressed(original, name))
    again = read_foreign(content, name, readers)
    level = with_implied_disclosures(model).level
    if LEVELS.index(again.level) > LEVELS.index(level):
        raise ReleaseError(
            f"the plugin {writer.name!r} wrote a file that discloses {again.level}, the model {level}",
            place=name,
            remedy="write another format, and report this to the plugin's authors",
        )
    return content
