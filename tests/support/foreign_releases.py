"""Releases of fitted models, and tables that hit every threshold of theirs."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from data_files import DATA
from leafgate import Release, Table
from leafgate.algorithms.feasible import largest_value_going_low
from leafgate.api import CategoricalSplit, Column, NumericSplit, Schema, children, make_table, typed_column
from leafgate.app import serialize
from leafgate.models.lowering.encoding import Encoding
from leafgate.models.lowering.release import lower_model
from leafgate.readers import ModelIR
from random_tables import categorical, numeric


def released(model: ModelIR, schema: Schema, **said: Encoding) -> Release:
    return serialize(lower_model(model, schema, said, "model")).release


def at_the_edges(release: Release, table: Table) -> Table:
    """The table's first rows again with every threshold of the release in turn, and the doubles above and below."""
    cuts, waiting = set(), list(release.trees[:4])
    while waiting:
        node = waiting.pop()
        if isinstance(node, NumericSplit):
            cuts |= {
                (node.column, x)
                for x in (
                    node.at,
                    largest_value_going_low(node),
                    math.nextafter(largest_value_going_low(node), math.inf),
                )
                if abs(x) < 1e9
            }
        waiting.extend(children(node))
    frames = [table.frame.iloc[[i % len(table)]].assign(**{c: x}) for i, (c, x) in enumerate(sorted(cuts))]
    return make_table(table.schema, pd.concat([*frames, table.frame.iloc[:1]], ignore_index=True))


def german() -> Table:
    """German credit: 7 numbers, 13 columns of codes, class 1 or 2."""
    file = DATA / "german_credit" / "german.data"
    if not file.exists():
        pytest.skip("German credit is not here: set LEAFGATE_DATA to the folder that holds `german_credit`")
    raw = pd.read_csv(file, sep=" ", header=None, dtype=str)
    columns: list[Column] = []
    for i in range(21):
        cells, name = raw[i], f"a{i}"
        if i == 20:
            columns.append(categorical(name, "class", "sensitive", values=("1", "2")))
        elif cells.str.startswith("A").all():
            columns.append(categorical(name, "quasi_identifier", values=sorted(set(cells))))
        else:
            columns.append(numeric(name, "quasi_identifier", bounds=(0, 1e6)))
    typed = {
        c.name: typed_column(c, [float(x) for x in raw[i]] if c.numeric else list(raw[i]))
        for i, c in enumerate(columns)
    }
    return make_table(Schema(tuple(columns)), pd.DataFrame(typed))


def asked(release: Release, kind: type[NumericSplit] | type[CategoricalSplit]) -> list[Any]:
    found, waiting = [], list(release.trees)
    while waiting:
        node = waiting.pop()
        found += [node] if isinstance(node, kind) else []
        waiting.extend(children(node))
    return found
