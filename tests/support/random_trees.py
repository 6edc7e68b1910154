"""Random trees over a schema, such as no builder would grow."""

from __future__ import annotations

from typing import Literal

from hypothesis import strategies as st

from leafgate import Table
from leafgate.api import Branch, CategoricalSplit, Column, Leaf, Node, NumericSplit, Schema
from oracles import class_counts, filled, nodes, people_of

THRESHOLDS = (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.25, 3.0, 4.0, 7.0, 8.5, 10.0)


@st.composite
def trees(draw: st.DrawFn, schema: Schema, *, depth: int = 4, whole: bool = True) -> Node:
    """A tree that may ask the same column again; unless `whole`, some values have no way out of a Fan."""
    if not schema.features or depth == 0 or draw(st.integers(0, 2 * depth)) == 0:
        return Leaf(draw(st.sampled_from(schema.classes)))
    column = draw(st.sampled_from(schema.features))
    below = trees(schema, depth=depth - 1, whole=whole)
    return draw(cuts(column, below) if column.numeric else fans(column, below, whole))


@st.composite
def cuts(draw: st.DrawFn, column: Column, below: st.SearchStrategy[Node]) -> Node:
    """A numeric test, its threshold perhaps at or beyond the bounds."""
    sides: list[Literal["low", "high"] | None] = [None, "low", "high"] if column.missing else [None]
    at, missing, strict = draw(st.sampled_from(THRESHOLDS)), draw(st.sampled_from(sides)), draw(st.booleans())
    return NumericSplit(column.name, at, draw(below), draw(below), missing, strict)


@st.composite
def fans(draw: st.DrawFn, column: Column, below: st.SearchStrategy[Node], whole: bool) -> Node:
    """A categorical test whose branches hold one or several values, and perhaps an `other`."""
    domain = column.domain
    places = draw(st.lists(st.integers(0, len(domain)), min_size=len(domain), max_size=len(domain)))
    places[0] = max(places[0], 1)
    named = sorted(set(places) - {0})
    groups = [tuple(v for v, place in zip(domain, places, strict=True) if place == name) for name in named]
    branches = tuple(Branch(values, draw(below)) for values in groups)
    needs_other = whole and 0 in places
    return CategoricalSplit(column.name, branches, draw(below) if needs_other or draw(st.booleans()) else None)


@st.composite
def forests(draw: st.DrawFn, table: Table, *, most: int = 3, whole: bool = True) -> tuple[Node, ...]:
    """One to `most` trees with the table's counts on their leaves."""
    grown = draw(st.lists(trees(table.schema, depth=3, whole=whole), min_size=1, max_size=most))
    return tuple(counted(tree, table) for tree in grown)


def counted(tree: Node, table: Table) -> Node:
    """The tree with the true class counts on its leaves, labelled by their most frequent class."""
    classes = table.schema.classes
    counts = class_counts(tree, people_of(table), table.schema.target.name, classes)
    own = (node.label for node in nodes(tree) if isinstance(node, Leaf))
    likeliest = [max(classes, key=each.__getitem__) if any(each.values()) else None for each in counts]
    return filled(tree, (Leaf(name or label, each) for name, label, each in zip(likeliest, own, counts, strict=True)))
