"""Representatives of people in blocks; the reference follows the paper's definition of a span for each person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import Release, Table
from leafgate.algorithms.representatives import representatives
from leafgate.api import Node, columns_asked
from oracles import path_of, persons, span
from random_tables import tables
from random_trees import trees


def people_by_treatment(table: Table, forest: Sequence[Node]) -> Counter[Hashable]:
    """The people of each combination of spans, leaves, missing cells in tested columns, class and secrets."""
    own = [column.name for column in table.schema.columns if column.roles & {"class", "sensitive"}]
    public = [column.name for column in table.schema.public]
    found: Counter[Hashable] = Counter()
    for person, people in zip(persons(table.frame), table.weight.tolist(), strict=True):
        known = {name: person[name] for name in public}
        gaps = [any(person[name] is None for name in columns_asked(tree)) for tree in forest]
        treated = [(span(known, [tree], table.schema), path_of(tree, person)) for tree in forest]
        found[*treated, *gaps, *(person[name] for name in own)] += people
    return found


@given(st.data())
@pytest.mark.thorough
def test_one_record_stands_for_all_whom_trees_treat_alike(data: st.DataObject) -> None:
    table = data.draw(tables(most=12))
    forest = data.draw(st.lists(trees(table.schema), min_size=1, max_size=2))
    block_of = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(table), max_size=len(table))))
    blocks = [
        Table(table.schema, table.frame[block_of == block].reset_index(drop=True), table.weight[block_of == block])
        for block in range(3)
        if (block_of == block).any()
    ]
    found = representatives(blocks, table.schema, Release({"use": "test"}, table.schema, tuple(forest)))
    expected = people_by_treatment(table, forest)
    assert people_by_treatment(found, forest) == expected
    assert len(found) == len(expected)
