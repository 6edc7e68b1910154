"""Files of models by the readers of all installed plugins, which are loaded once: read, lowered, scrubbed, written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leafgate import Table
from leafgate.api import FileDisclosure, Floats, Ids, Schema
from leafgate.app import SealedRelease, load_plugins
from leafgate.commands.convert import neutral, prediction, scrub
from leafgate.commands.convert import r_script as script_in_r
from leafgate.commands.convert.witness import rows_answered
from leafgate.models import points, reader, writer
from leafgate.models.exposure.cells import cells_disclosed
from leafgate.models.lowering import release
from leafgate.models.lowering.encoding import Encoding as Encoding
from leafgate.readers import ModelIR, ModelReader, TreeIR

READERS = load_plugins().readers
BY_NAME = {reader.name: reader for reader in READERS}
PREDICT_SCRIPT = prediction.SCRIPT
"""The script that `leafgate convert` and `scrub` write beside a neutral file."""


def is_foreign(head: bytes) -> bool:
    """Does a file that begins so hold somebody else's model?"""
    return reader.is_foreign(head, READERS)


def read_foreign(content: bytes, place: str) -> ModelIR:
    """The checked model in a file's bytes."""
    return reader.read_foreign(content, place, READERS)


def lower_model(
    model: ModelIR, schema: Schema, encodings: Mapping[str, Encoding], place: str, people: int | None = None
) -> SealedRelease:
    """The model as a release over the columns of a policy; `encodings` is what the policy says of the features."""
    return release.lower_model(model, schema, encodings, place, people)


def disclosed_cells(loaded: SealedRelease, table: Table, few: int) -> list[FileDisclosure]:
    """What the file of a model discloses of cells of a table that fewer people than this share."""
    assert loaded.provenance.model_content is not None
    return list(cells_disclosed(loaded.provenance.model_content, table, few))


def answered_rows(models: Mapping[str, ModelIR], witness: Path) -> int:
    """How many rows of a table with answers all these models answer as it says; ReleaseError where one does not."""
    answered = rows_answered(models, witness)
    assert answered is not None
    return answered.rows


def reader_of(content: bytes, name: str) -> ModelReader:
    """The reader that reads a file."""
    return reader.read_with_reader(content, name, READERS)[1]


def file_bytes(path: Path) -> bytes:
    """The bytes of a model's file, or of a folder that MLflow saved."""
    return reader.model_bytes(path)


def minimise(model: ModelIR, leaves: scrub.LeafContent, place: str = "model", units: int | None = 100) -> ModelIR:
    """The model as `leafgate scrub` leaves it, shares in multiples of 1 / units."""
    return scrub.minimise(model, leaves, place, units)


def neutral_file(model: ModelIR) -> bytes:
    """The model as a neutral file."""
    return neutral.written(model)


def model_as_file(model: ModelIR, original: bytes, name: str) -> bytes:
    """The model as a file of the format that its name says; `original` is the file that it was read from."""
    return writer.model_as_file(model, original, name, READERS)


def object_as_file(thing: Any, table: Any = None) -> tuple[str, bytes]:
    """The name and the bytes of the file of a fitted estimator."""
    file = writer.object_as_file(thing, READERS, table)
    assert file is not None
    return file


def rows_of(model: ModelIR, cells: Mapping[str, Any]) -> Floats:
    """What the model's features are for these people."""
    return points.rows_of(model, cells)


def leaves_of(tree: TreeIR, rows: Floats) -> Ids:
    """The node in which each row of a model's features ends."""
    return prediction.leaves_of(tree, rows)


def r_script(model: ModelIR, name: str) -> str:
    """The script in R that answers as the model of a file."""
    return script_in_r.r_script(model, name)


def onnx_file(model: ModelIR) -> bytes:
    """The model as an ONNX file, written without another file as its original."""
    return model_as_file(model, b"", "new.onnx")
