"""The owner's file that maps each record of a release to the row of the table it came from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.io.json import object_at, parse_json, readable, refuse_unknown
from leafgate.io.release_codec import SealedRelease
from leafgate.kernel.release import Records, Release
from leafgate.kernel.table import Table

FORMAT = "leafgate/origins/1"


def origins_document(artifact: SealedRelease) -> bytes:
    """For each published record the row of the table (sorted, equal people together, no key) it was made from."""
    return readable({"format": FORMAT, "release": artifact.sha256, "rows": list(artifact.origins or ())})


def with_origins(loaded: SealedRelease, path: Path, table: Table) -> SealedRelease:
    """The release with the origins in its owner's file; ReleaseError where that is of another release or table."""
    release = loaded.release
    try:
        document = object_at(parse_json(path.read_bytes(), ReleaseError, path.name), path.name)
    except OSError as error:
        raise ReleaseError(f"cannot be read: {error.strerror}", place=path.name) from None
    refuse_unknown(document, ("format", "release", "rows"), ReleaseError, path.name)
    if document.get("format") != FORMAT:
        raise ReleaseError(f"is no file of origins: its `format` is not {FORMAT!r}", place=path.name)
    if release.records is None or document.get("release") != loaded.sha256:
        raise ReleaseError("tells the origins of another release", place=path.name)
    rows = document.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, int) and 0 <= row < len(table) for row in rows):
        raise ReleaseError("its `rows` are no rows of this table", place=path.name)
    if len(rows) != len(release.records.rows) or not _made_of(release.records, np.array(rows), release, table):
        raise ReleaseError("its rows are not what the records were made from: is this the same table?", place=path.name)
    return replace(loaded, origins=tuple(rows))


def _made_of(records: Records, rows: np.ndarray, release: Release, table: Table) -> bool:
    """Do the records count everybody in the table once, and show their cells where they show any?"""
    people = np.bincount(rows, weights=np.array(records.weight, dtype=np.float64), minlength=len(table))
    if not np.array_equal(people, table.weight):
        return False
    for place, name in enumerate(records.columns):
        if name in release.noise:
            continue
        column = table.schema[name]
        own = np.array(column.domain, dtype=object)[table.codes(name)] if column.edges else table.frame[name]
        cells = np.asarray(own, dtype=object)[rows]
        shown = [(row[place], cell) for row, cell in zip(records.rows, cells, strict=True)]
        if any(result != cell for result, cell in shown if isinstance(result, str | int | float)):
            return False
    return True
