"""The people that a file of the producer matrix was trained on, held against the numbers of people in the file."""

from __future__ import annotations

from functools import cache

import numpy as np

from evaluators.answers import Columns
from leafgate import LeafgateError, Table
from leafgate.algorithms.node_counts import first_contradiction
from leafgate.models.lowering.release import lower_model
from leafgate.readers import ModelIR
from producer_archive import NAMES, made_up_people, quantiles
from random_tables import categorical, numeric, table_of

MOST_CLASSES = 3


@cache
def trained_on(names: tuple[str, ...], classes: tuple[str, ...], *, filled: bool) -> Table:
    """The made-up people with the class that they learn from; `filled`: missing cells are 4."""
    x, number = made_up_people()
    x = np.where(np.isnan(x), 4.0, x) if filled else x
    order = sorted(classes, key=["False", "0", "low", "some", "True", "1", "high", "2"].index)
    learned = [order[i] for i in quantiles(number, len(classes)).tolist()]
    columns = [numeric(name, "quasi_identifier", bounds=(-1e6, 1e6), missing=True) for name in names]
    people = [
        (*(None if np.isnan(cell) else float(cell) for cell in row), name)
        for row, name in zip(x.tolist(), learned, strict=True)
    ]
    return table_of([*columns, categorical("learned", "class", "sensitive", values=sorted(classes))], people)


def people_columns(*, filled: bool) -> Columns:
    """The cells of the made-up people; `filled`: missing ones are 4."""
    x, _ = made_up_people()
    x = np.where(np.isnan(x), 4.0, x) if filled else x
    cells = [[None if np.isnan(cell) else float(cell) for cell in column] for column in x.T.tolist()]
    return dict(zip(NAMES, cells, strict=True))


def contradicts(model: ModelIR, content: bytes, *, filled: bool = False) -> bool | None:
    """Do the file's numbers of people contradict the people it was trained on? None where it has none to compare.

    A file that no policy over these columns takes contradicts them, too.
    """
    of_categories = model.origins is not None or any(tree.subsets for tree in model.trees)
    if not 2 <= len(model.classes) <= MOST_CLASSES or of_categories or not any(tree.numbers for tree in model.trees):
        return None
    names = tuple(NAMES) if set(model.features) <= set(NAMES) else tuple(f"x{i}" for i in range(len(NAMES)))
    try:
        table = trained_on(names, tuple(sorted(model.classes)), filled=filled)
        loaded = lower_model(model, table.schema, {}, "model")
        if loaded.provenance.node_numbers is None:
            return None
        return first_contradiction(loaded.provenance.node_numbers, loaded.release, table) is not None
    except (LeafgateError, ValueError):
        return True
