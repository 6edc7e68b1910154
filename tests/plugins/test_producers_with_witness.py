"""What convert and scrub write of every file of the producer matrix answers as the program that wrote the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

from installed_readers import answered_rows, minimise, neutral_file, read_foreign
from leafgate import ReleaseError
from leafgate.readers import ModelIR
from producer_archive import NAMES, Archive, case_of
from producer_matrix import PRODUCERS, Producer, model_of

LEAVES: tuple[Literal["labels", "shares", "counts"], ...] = ("labels", "shares", "counts")
OTHER_SCALE = frozenset({"LightGBM"})
"""Programs of whose forests the archive has the sum of the trees, and not their mean, which is predicted."""


def files() -> list[Any]:
    """Each file with answers; those of the versions between the oldest and the newest run with `slow`."""
    return [
        pytest.param(
            *(producer, archive, name),
            id=f"{producer.name} {archive.version} {name}",
            marks=pytest.mark.slow if archive.version in producer.versions[1:-1] else pytest.mark.thorough,
        )
        for producer in PRODUCERS
        for archive in producer.archives
        for name in archive.answered
        if not (producer.name in OTHER_SCALE and "forest" in name and not archive.labels(case_of(name)))
    ]


def witness(archive: Archive, name: str, model: ModelIR) -> pd.DataFrame:
    """The rows of an archive under the names that the model has for them, with the program's own answers."""
    case = case_of(name)
    own = archive.own_rows(case)
    columns = {key: list(cells) for key, cells in own.items() if key[:4] != "raw." and key != "label"}
    columns = columns or {key: list(map(text, cells)) for key, cells in archive.rows.items()}
    known = set(model.features) | {origin.column for origin in model.origins or () if origin is not None}
    positions = [form.format(i) for form in ("x{}", "f{}", "Column_{}") for i in range(len(NAMES))]
    renamed = {
        key: columns[NAMES[int(key[-1])]] for key in positions if key in known and NAMES[int(key[-1])] in columns
    }
    numbered = {str(i): cells for i, cells in enumerate(columns.values()) if str(i) in known}
    labels = archive.labels(case)
    said = list(labels) if labels else [text(number) for number in archive.margins(case)[:, 0]]
    answered = ~np.isnan(archive.margins(case)).any(axis=1)
    said = [each if asked else "" for each, asked in zip(said, answered, strict=True)]
    return pd.DataFrame({**columns, **renamed, **numbered, "prediction": said})


def text(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    return "" if cell is None or np.isnan(cell) else repr(float(cell))


@pytest.mark.parametrize(("producer", "archive", "name"), files())
def test_what_is_written_answers_as_the_producer(
    producer: Producer, archive: Archive, name: str, tmp_path: Path
) -> None:
    model = model_of(archive, name)
    answers = witness(archive, name, model)
    answers.to_csv(tmp_path / "answers.csv", index=False)
    models = {name: model, "new.json": read_foreign(neutral_file(model), "new.json")}
    for leaves in LEAVES:
        try:
            less = minimise(model, leaves, name, None)
        except ReleaseError:  # the file has not what is to be left, or its trees' labels do not decide
            continue
        if leaves != "labels" or len(model.trees) == 1 or not model.classes:
            models[f"{leaves}.json"] = read_foreign(neutral_file(less), f"{leaves}.json")
    assert answered_rows(models, tmp_path / "answers.csv") == (answers["prediction"] != "").sum()
    assert len(models) > 2
