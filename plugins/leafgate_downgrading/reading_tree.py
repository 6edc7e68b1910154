"""The tree a reader of the downgraded table would learn."""

from __future__ import annotations

import numpy as np
import pandas as pd

from leafgate.induction.coding import coded
from leafgate.induction.growing import finished
from leafgate.induction.pruning import prune
from leafgate.induction.selecting import grow
from leafgate.release import Records
from leafgate.schema import Schema
from leafgate.table import make_table, typed_column
from leafgate.tree import Leaf, Node


def reader_tree(schema: Schema, records: Records) -> Node:
    """C4.5's tree from the records without a withheld cell; a leaf where there is none.

    Departure: fractional cases would put broken numbers of people on the leaves; so the tree counts the complete
    records, which are a sample of the people.
    """
    complete = [i for i, row in enumerate(records.rows) if not any(isinstance(cell, dict) for cell in row)]
    if not complete:
        return Leaf(schema.classes[0], dict.fromkeys(schema.classes, 0))
    told = zip(*(records.rows[i] for i in complete), strict=True)
    frame = pd.DataFrame(
        {name: typed_column(schema[name], some) for name, some in zip(records.columns, told, strict=True)}
    )
    table = coded(make_table(schema, frame, np.array([records.weight[i] for i in complete], dtype=np.int64)))
    root = grow(table, "gain_ratio", average_gain=True, min_leaf=2)
    prune(root, 0.25)
    return finished(table, root, schema)
