"""Writing a model as a file of a format that people use, chosen by the file's name."""

from __future__ import annotations

from collections.abc import Sequence

from leafgate.api.model_readers import ModelReader
from leafgate.errors import LeafgateError, ReleaseError
from leafgate.ir.model import ModelIR
from leafgate.ir.validate import check_model
from leafgate.models.exposure.implied import with_implied_disclosures
from leafgate.models.reader import read_foreign
from leafgate.types.release import LEVELS


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
    try:
        content = writer.write(model, original)
    except LeafgateError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise ReleaseError(f"the plugin {writer.name!r} failed to write it ({kind})", place=name) from error
    again = read_foreign(content, name, readers)
    level = with_implied_disclosures(model).level
    if LEVELS.index(again.level) > LEVELS.index(level):
        raise ReleaseError(
            f"the plugin {writer.name!r} wrote a file that discloses {again.level}, the model {level}",
            place=name,
            remedy="write another format, and report this to the plugin's authors",
        )
    return content
