"""Random people for any model, and what leafgate's own routing answers for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leafgate import InconclusiveError, Table
from leafgate.algorithms.prediction import class_scores, predict, predicted_numbers
from leafgate.api import Column
from leafgate.commands.convert.sampling import random_cells
from leafgate.kernel.schema import bin_names
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import lower_model
from leafgate.models.points import known_origins, with_coded_sets
from leafgate.readers import CategoryCodes, ModelIR, Numeric
from random_tables import categorical, numeric, table_of

EDGES = (-1e9, 0.0, 1e9)
UNSEEN = "a value never seen"


def cells_of(model: ModelIR, n: int, seed: int) -> dict[str, list[Any]]:
    """Cells of each column that the model asks about; missing ones where the file says what becomes of them."""
    rng = np.random.default_rng(seed)
    cells = random_cells((with_coded_sets(model, dict(enumerate(known_origins(model)))),), n, rng)
    for name, codes in sets_of_numbers(model).items():
        drawn = [f"{code:g}" for code in rng.choice([*codes, 77.0], n)]
        cells[name] = [None if cell is None else code for code, cell in zip(drawn, cells[name], strict=True)]
    if model.unspecified_missing:
        named = model.unspecified_missing_features or set(cells)
        for name in named & cells.keys():
            known = next((cell for cell in cells[name] if cell is not None), 0.0)
            cells[name] = [known if cell is None else cell for cell in cells[name]]
    for name, column in cells.items():
        if any(isinstance(cell, str) for cell in column) and takes_unseen(model, name):
            cells[name][0] = UNSEEN
    return cells


def sets_of_numbers(model: ModelIR) -> dict[str, list[float]]:
    """The codes that tests name of each feature of which the file does not say whose codes they are."""
    found: dict[str, set[float]] = {}
    for tree in model.trees:
        for node, chosen in tree.subsets.items():
            origin = known_origins(model)[int(tree.feature[node])]
            codes = {each for each in chosen if not isinstance(each, str)}
            if isinstance(origin, Numeric) and codes:
                found.setdefault(origin.column, set()).update(codes)
    return {name: sorted(codes) for name, codes in found.items()}


def takes_unseen(model: ModelIR, column: str) -> bool:
    """Is a text that the model never saw a value of the column for leafgate, too?"""
    origins = [one for one in known_origins(model) if one.column == column]
    return all(isinstance(one, CategoryCodes) and not one.lookup_precision for one in origins)


def expected(model: ModelIR, cells: dict[str, list[Any]]) -> tuple[list[Any], Any]:
    """What leafgate's own routing answers: classes or numbers, and scores where there are some."""
    columns = []
    for name, column in cells.items():
        texts = sorted({cell for cell in column if isinstance(cell, str)})
        missing = None in column
        columns.append(
            categorical(name, "quasi_identifier", values=texts, missing=missing)
            if texts
            else numeric(name, "quasi_identifier", bounds=(-1e308, 1e308), missing=missing)
        )
    target = (
        categorical("learned", "class", "sensitive", values=model.classes)
        if model.classes
        else Column("learned", frozenset({"class", "sensitive"}), values=bin_names(EDGES), edges=EDGES)
    )
    rows = list(zip(*cells.values(), strict=True))
    table = table_of([*columns, target], [(*row, model.classes[0] if model.classes else 1.0) for row in rows])
    encodings = {
        name: Encoding(codes={value: float(value) for value in table.schema[name].values or ()})
        for name in sets_of_numbers(model)
    }
    release = lower_model(model, table.schema, encodings, "m").release
    at = places(table, list(cells), rows)
    if release.predicts_numbers:
        return [None if math.isnan(each) else each for each in predicted_numbers(release, table)[at].tolist()], None
    labels = [release.classes[i] if i >= 0 else None for i in predict(release, table)[at].tolist()]
    try:
        return labels, class_scores(release, table)[at]
    except InconclusiveError:
        return labels, None


def places(table: Table, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[int]:
    """The row of the table that each of the given rows became."""
    found = table.frame[list(names)].to_numpy(dtype=object).tolist()
    at = {tuple(None if cell is None or cell != cell else cell for cell in row): i for i, row in enumerate(found)}
    return [at[row] for row in rows]
