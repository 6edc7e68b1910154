"""Release files are written and read tree by tree; the slow way, with one document of all trees, is the reference."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import Release, ReleaseError, Table
from leafgate.api import MAX_DEPTH, Leaf, Node, NumericSplit, Schema, leaves, map_leaves
from leafgate.app import parse_json, readable
from leafgate.io import release_codec
from leafgate.io.json import parse_plainly
from leafgate.io.release_codec import document, read_release, release_bytes
from leafgate.io.tree_codec import TreeReader, TreeWriter, tree_document
from random_tables import tables
from random_trees import forests, trees
from sample_release import DRAFT


@st.composite
def releases(draw: st.DrawFn) -> Release:
    table = draw(tables(most=8))
    schema = Schema(tuple(replace(column, hierarchy=None) for column in table.schema.columns))
    return replace(DRAFT, schema=schema, trees=draw(forests(table)), records=None, combine="vote", alternatives={})


@given(releases())
def test_the_file_written_tree_by_tree_is_that_of_one_document(release: Release) -> None:
    assert release_bytes(release) == readable(document(release))


@given(releases())
def test_a_file_read_tree_by_tree_is_read_as_a_whole_file_is(release: Release) -> None:
    content = release_bytes(release)
    by_tree = read_release(content, "release").release
    with patch.object(release_codec, "may_hold_surrogates", return_value=True):  # then the file is parsed whole
        assert read_release(content, "release").release == by_tree
    compact = json.dumps(json.loads(content)).encode()
    assert read_release(compact, "release").release == by_tree


@given(releases())
def test_equal_leaves_of_a_tree_are_read_as_different_objects(release: Release) -> None:
    for tree in read_release(release_bytes(release), "release").release.trees:
        each = [*leaves(tree)]
        assert len({id(leaf) for leaf in each}) == len(each)


@given(releases(), st.sampled_from([b"\n", b"\n ", b"\n  "]))
def test_a_file_is_read_alike_whatever_its_lines_begin_with(release: Release, line: bytes) -> None:
    content = release_bytes(release)
    start = content.index(release_codec.TREES) + len(release_codec.TREES)
    end = content.index(release_codec.END_OF_TREES, start)
    for inner in (b"\n    ", b"\n   "):
        trees = content[start:end].replace(inner, line)
        if release_codec.END_OF_TREES not in trees:
            assert read_release(content[:start] + trees + content[end:], "release").release == release


@given(st.data())
def test_values_that_are_no_plain_numbers_are_written_as_before(data: st.DataObject) -> None:
    table: Table = data.draw(tables(most=5))
    tree: Node = data.draw(trees(table.schema))
    odd = st.sampled_from(
        [Leaf(), Leaf("a", {}), Leaf('"', {"é\n": 1, "b": 0.5}), Leaf(value=2.0), Leaf("a", scores={"a": -1})]
    )
    both = NumericSplit('"x"', 10**20, tree, data.draw(odd), "low", strict=True, float32=True)
    for each in (tree, both):
        assert TreeWriter().text(each, "\n") + "\n" == readable(tree_document(each)).decode()


def forest_of(n_trees: int) -> Release:
    classes = DRAFT.schema.classes
    column = next(column.name for column in DRAFT.schema.columns if column.numeric)

    def grown(depth: int) -> Node:
        if depth == 0:
            return Leaf(classes[0], dict.fromkeys(classes, 3))
        return NumericSplit(column, depth + 0.5, grown(depth - 1), grown(depth - 1))

    return replace(DRAFT, trees=(grown(8),) * n_trees, combine="vote", records=None, alternatives={})


BROKEN = {
    "a comma too many": (b"\n  },\n  {", b"\n  },\n  ,\n  {"),
    "a bracket too many": (b"\n  },\n  {", b"\n  ]},\n  {"),
    "a key twice": (b'"kind": "leaf",', b'"kind": "leaf", "kind": "leaf",'),
    "a number beyond all": (b'"at": 1.5', b'"at": 1e999'),
    "no number": (b'"at": 1.5', b'"at": NaN'),
    "half a sign": (b'"kind": "leaf"', b'"kind": "\\ud800"'),
}


@pytest.mark.parametrize(("old", "new"), BROKEN.values(), ids=BROKEN)
def test_broken_trees_have_the_error_of_a_file_that_is_parsed_whole(old: bytes, new: bytes) -> None:
    content = release_bytes(forest_of(3))
    assert old in content
    broken = content.replace(old, new, 1)
    with pytest.raises(ReleaseError) as whole:
        parse_json(broken, ReleaseError, "release")
    with pytest.raises(ReleaseError) as by_tree:
        read_release(broken, "release")
    assert str(by_tree.value) == str(whole.value)


def test_writing_takes_little_memory_beside_the_file() -> None:
    release = forest_of(60)
    release_bytes(forest_of(1))
    tracemalloc.start()
    size = len(release_bytes(release))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * size  # the document alone takes several times as much


ODD_NUMBERS = (True, False, -1, 0.5, 1e400, math.nan, 10**400)
ODD_VALUES: tuple[Any, ...] = (*ODD_NUMBERS, None, "a", "low", [], [{}, 0.0, {}], {}, {"kind": "leaf"}, {"a": 1})
OTHER_KEYS = ("missing", "strict", "label", "counts", "shares", "value", "error_rate", "x")


def changed(document: dict[str, Any], draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
    """Change one thing in an object of a tree: a value, a key, or the order of keys."""
    objects = [document]
    for each in objects:
        objects += [value for value in each.values() if isinstance(value, dict)]
    chosen = draw(st.sampled_from(objects))
    keys = list(chosen)
    key = draw(st.sampled_from(keys)) if keys else "a"
    match draw(st.sampled_from(("value", "key", "gone", "order"))):
        case "value":
            chosen[key] = draw(st.sampled_from(ODD_VALUES))
        case "key":
            chosen[draw(st.sampled_from(OTHER_KEYS))] = draw(st.sampled_from(ODD_VALUES))
        case "gone":
            chosen.pop(key, None)
        case "order":
            chosen[key] = chosen.pop(key, 1)


@given(st.data())
def test_a_tree_made_while_it_is_parsed_is_the_tree_that_is_read(data: st.DataObject) -> None:
    table = data.draw(tables(most=8))
    numbers = st.sampled_from((0, 1, 3, 0.25, 0.0, -0.0))
    kinds = st.sampled_from(("counts", "shares", "scores", "error_rate", "value", "bare"))

    def published(leaf: Leaf) -> Leaf:
        kind, classes = data.draw(kinds), table.schema.classes
        each: Any = {name: data.draw(numbers) for name in classes}
        if kind in {"error_rate", "value"}:
            each = data.draw(numbers)
        if kind == "shares":
            each = {name: 1 / len(classes) for name in classes}
        return Leaf(leaf.label) if kind == "bare" else Leaf(leaf.label, **{kind: each})

    schema = Schema(tuple(replace(column, hierarchy=None) for column in table.schema.columns))
    document = tree_document(map_leaves(data.draw(trees(schema)), published))
    for _ in range(data.draw(st.integers(0, 2))):
        changed(document, data.draw)
    text = json.dumps(document).encode()
    try:
        expected: Node | None = TreeReader(schema).read(parse_plainly(text), "tree")
    except (ReleaseError, ValueError):
        expected = None
    parsed = TreeReader(schema).parse(text)
    assert parsed is None or repr(parsed) == repr(expected)  # which tells 1 from 1.0, and 0.0 from -0.0


def test_a_tree_of_numeric_tests_is_made_while_it_is_parsed() -> None:
    [tree] = forest_of(1).trees
    text = TreeWriter().text(tree, "\n").encode()
    parsed = TreeReader(DRAFT.schema).parse(text)
    assert parsed == tree
    assert isinstance(parsed, NumericSplit)
    first, second, *_ = leaves(parsed)
    assert first.counts is second.counts  # so that equal numbers take memory once


def test_a_tree_that_is_too_deep_is_left_to_who_says_so() -> None:
    column = next(column.name for column in DRAFT.schema.columns if column.numeric)
    tree: Node = Leaf(DRAFT.schema.classes[0])
    for _ in range(MAX_DEPTH):
        tree = NumericSplit(column, 1.0, Leaf(), tree)
    reader = TreeReader(DRAFT.schema)
    assert reader.parse(TreeWriter().text(tree, "\n").encode()) == tree
    assert reader.parse(TreeWriter().text(NumericSplit(column, 1.0, Leaf(), tree), "\n").encode()) is None
