"""From options and a table to what top-down specialisation releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from leafgate.induction.coding import Coded
from leafgate.induction.coding import coded as code_table
from leafgate.induction.conditions import refuse_gaps
from leafgate.induction.growing import finished
from leafgate.induction.pruning import prune
from leafgate.induction.selecting import grow
from leafgate.release import Records, Release
from leafgate.table import Table, make_table
from leafgate_tables.generalisation import Generalisation
from leafgate_tables.learned import refuse_small, release_of
from leafgate_tables.records import as_they_are, classes_told, records_of
from leafgate_tables.specialising import specialise

if TYPE_CHECKING:
    from leafgate_tables import Tds


def build(options: Tds, table: Table, test: Table | None) -> Release:
    """The tree, the generalised table, or both; NoReleaseError when even one group would be too small.

    With `test` the generalisation is chosen from its rows too, and k holds of both together; then
    nothing is claimed of the table alone.
    """
    coded = code_table(table)
    chosen_from = coded if test is None else code_table(_together(table, test))
    public_class = table.schema.target.public
    groups = chosen_from.classes if public_class else np.zeros(len(chosen_from.classes), dtype=np.int64)
    refuse_small(chosen_from, groups, options.k)
    found = specialise(chosen_from, options.k, np.unique(groups, return_inverse=True)[1].reshape(-1))
    coarse = found.coarse(coded)
    ratio = options.measure == "gain_ratio"
    root = grow(coarse, options.measure, average_gain=ratio, min_leaf=2 if ratio else 1)
    if options.prune:
        prune(root, options.confidence)
    tree = found.translated(finished(coarse, root, table.schema))
    records = _records(coded, table, found) if options.release != "tree" else None
    return release_of(options, table, tree, records, {"k": options.k} if test is None else {})


def _together(table: Table, test: Table) -> Table:
    frame = pd.concat([table.frame, test.frame[list(table.frame)]], ignore_index=True)
    return make_table(table.schema, frame, np.concatenate([table.weight, test.weight]))


def _records(coded: Coded, table: Table, found: Generalisation) -> Records:
    """One record for each combination of generalised public cells, private cells and class."""
    refuse_gaps((feature for feature in coded.features if feature.column.public), "build.release")
    told = [
        found.told(coded, i) if feature.column.public else as_they_are(coded, i)
        for i, feature in enumerate(coded.features)
    ]
    return records_of([*told, classes_told(coded, table.schema)], coded.weight)
