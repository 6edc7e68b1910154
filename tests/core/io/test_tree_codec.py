"""Trees are written and read many at once; written and parsed one by one, as documents of JSON, they are the same."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import Release, ReleaseError, Table
from leafgate.api import Branch, CategoricalSplit, Column, Leaf, Node, NumericSplit, Publish, Schema, leaves, map_leaves
from leafgate.app import read_release, readable
from leafgate.io import release_codec
from leafgate.io.json import parse_json, parse_plainly
from leafgate.io.release_codec import release_bytes
from leafgate.io.tree_reader import TreeReader
from leafgate.io.tree_writer import TreeWriter
from leafgate.kernel.leaf import LeafStatistics
from leafgate.kernel.tree import MAX_DEPTH, arrays_of, tree_arrays
from random_tables import tables
from random_trees import forests, trees
from sample_release import DRAFT

NUMBERS = st.sampled_from((0, 1, 3, 0.25, 0.0, -0.0, 1e-7, 123456789.125, 1e22))
KINDS = ("counts", "shares", "scores", "error_rate", "value", "bare", "both")


def tree_document(node: Node) -> dict[str, Any]:
    """The tree as JSON of the format `leafgate/release/1`; what is not known is not written."""
    if isinstance(node, Leaf):
        names = ("label", "counts", "shares", "error_rate", "value", "scores")
        facts = {name: getattr(node, name) for name in names}
        fields = {name: dict(fact) if isinstance(fact, Mapping) else fact for name, fact in facts.items()}
        return {"kind": "leaf"} | {name: fact for name, fact in fields.items() if fact is not None}
    if isinstance(node, NumericSplit):
        options = {"missing": node.missing, "strict": node.strict, "float32": node.float32}
        below = {"low": tree_document(node.low), "high": tree_document(node.high)}
        stated = {name: option for name, option in options.items() if option}
        return {"kind": "cut", "column": node.column, "at": node.at} | stated | below
    branches = [{"values": list(each.values), "node": tree_document(each.node)} for each in node.branches]
    other = {} if node.default is None else {"other": tree_document(node.default)}
    return {"kind": "fan", "column": node.column, "branches": branches} | other


def text_of(tree: Node, schema: Schema) -> str:
    classes = schema.classes
    return TreeWriter(classes).text(tree_arrays(tree), 0)


@st.composite
def releases(draw: st.DrawFn) -> Release:
    table = draw(tables(most=8))
    schema = Schema(tuple(replace(column, hierarchy=None) for column in table.schema.columns))
    return replace(DRAFT, schema=schema, trees=draw(forests(table)), records=None, combine="vote", alternatives={})


def any_statistics(tree: Node, classes: tuple[str, ...], draw: Callable[[st.SearchStrategy[Any]], Any]) -> Node:
    """The tree with statistics of any kind on its leaves, which differ from leaf to leaf."""

    def published(leaf: Leaf) -> Leaf:
        kind = draw(st.sampled_from(KINDS))
        each: Any = {name: draw(NUMBERS) for name in classes}
        if kind in {"error_rate", "value"}:
            each = draw(NUMBERS)
        if kind == "shares":
            each = {name: 1 / len(classes) for name in classes}
        if kind == "both":
            return Leaf(leaf.label, counts=each, scores={name: draw(NUMBERS) for name in classes})
        return Leaf(leaf.label) if kind == "bare" else Leaf(leaf.label, **{kind: each})

    return map_leaves(tree, published)


@given(st.data())
def test_a_tree_is_written_as_its_document_is(data: st.DataObject) -> None:
    table: Table = data.draw(tables(most=5))
    tree = any_statistics(data.draw(trees(table.schema, whole=False)), table.schema.classes, data.draw)
    ends = [Leaf(), Leaf(table.schema.classes[0]), Leaf(value=2.0)]
    odd = NumericSplit('"x%r\n', 10**20, tree, data.draw(st.sampled_from(ends)), "low", strict=True, float32=True)
    for each in (tree, odd):
        assert text_of(each, table.schema) + "\n" == readable(tree_document(each)).decode()


@given(releases(), st.integers(1, 3000))
def test_a_release_is_read_as_it_was_written_however_many_trees_at_once(release: Release, n_bytes: int) -> None:
    content = release_bytes(release)
    named = {"another": release.trees[0], 'an"other': release.trees[-1]}
    with patch.object(release_codec, "BYTES_AT_ONCE", n_bytes):
        assert read_release(content, "release").release.trees == release.trees
        with_others = release_bytes(replace(release, alternatives=named))
        assert read_release(with_others, "release").release.alternatives == named
    document = json.loads(content)
    assert document["trees"] == [tree_document(tree) for tree in release.trees]
    assert readable(document) == content
    compact = json.dumps(document).encode()
    assert read_release(compact, "release").release == read_release(content, "release").release


@given(releases())
def test_what_was_written_is_read_by_the_faster_parser(release: Release) -> None:
    with patch.object(TreeReader, "read", return_value=[]):
        assert read_release(release_bytes(release), "release").release.trees == release.trees


@pytest.mark.parametrize("name", ["at: 10:30", '"kind": 1', "100%r", "\\", "\1"])
def test_names_of_any_signs_are_read_as_they_were_written(name: str) -> None:
    number = next(column for column in DRAFT.schema.columns if column.numeric)
    value = Column("value", number.roles, values=("a", name, "b"))
    schema = Schema((replace(number, name=name), value, DRAFT.schema.target))
    ends = Branch(("a",), Leaf()), Branch((name, "b"), Leaf(schema.classes[0]))
    tree = NumericSplit(name, 1.5, CategoricalSplit("value", ends), NumericSplit(name, 2, Leaf(), Leaf()))
    publish = Publish(leaves="labels")
    release = replace(DRAFT, schema=schema, trees=(tree,), records=None, alternatives={}, publish=publish)
    content = release_bytes(release)
    assert json.loads(content)["trees"] == [tree_document(tree)]
    assert read_release(content, "release").release.trees == (tree,)
    with pytest.raises(ReleaseError, match="twice"):
        read_release(content.replace(b'"at": 1.5,', b'"at": 2.5, "at": 1.5,'), "release")


@given(st.data())
def test_nodes_become_arrays_and_arrays_nodes(data: st.DataObject) -> None:
    table: Table = data.draw(tables(most=5))
    tree = any_statistics(data.draw(trees(table.schema, whole=False)), table.schema.classes, data.draw)
    arrays = arrays_of(tree)
    statistics = LeafStatistics.of(arrays.leaves)
    assert repr(statistics.leaves()) == repr(arrays.leaves)  # which tells 1 from 1.0, and 0.0 from -0.0
    bare = replace(arrays, content=statistics)
    assert repr(bare.root) == repr(tree)
    assert bare.root == tree
    for copied in (pickle.loads(pickle.dumps(bare.root)), copy.deepcopy(bare.root)):
        assert copied == tree
    assert [*leaves(bare.root)] == [*leaves(tree)]


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


def test_a_key_twice_is_refused_wherever_its_line_is() -> None:
    content = release_bytes(forest_of(3))
    for old, new in ((b'"at": 1.5,', b'"at": 2.5, "at": 1.5,'), (b'"at": 1.5,', b'"at" : 2.5,\n    "at": 1.5,')):
        with pytest.raises(ReleaseError, match="twice"):
            read_release(content.replace(old, new, 1), "release")


def test_the_last_tree_of_many_is_checked_too() -> None:
    content = release_bytes(forest_of(3))
    before, last = content.rsplit(b'"kind": "leaf"', 1)
    broken = before + b'"kind": "leaf"' + last.replace(b": 3", b": -3", 1)
    with pytest.raises(ReleaseError, match=r"release\.trees\[2\](\.high){8}: `counts` must not be negative"):
        read_release(broken, "release")


@pytest.mark.parametrize("number", [math.nan, math.inf, True, "3", None])
def test_a_leaf_of_no_finite_number_cannot_be_written(number: Any) -> None:
    classes = DRAFT.schema.classes
    broken = Leaf(classes[0], dict.fromkeys(classes, number))
    with pytest.raises(ReleaseError, match="on a leaf"):
        release_bytes(replace(DRAFT, trees=(broken,), alternatives={}))


def test_a_leaf_of_another_class_and_a_threshold_that_is_infinite_cannot_be_written() -> None:
    with pytest.raises(ReleaseError, match="a class that the schema does not have"):
        release_bytes(replace(DRAFT, trees=(Leaf(counts={"no such class": 1}),), alternatives={}))
    with pytest.raises(ReleaseError, match="no finite number"):
        release_bytes(replace(DRAFT, trees=(NumericSplit("x", math.inf, Leaf(), Leaf()),), alternatives={}))


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
def test_a_tree_that_is_not_parsed_is_the_tree_that_is_read(data: st.DataObject) -> None:
    table = data.draw(tables(most=8))
    schema = Schema(tuple(replace(column, hierarchy=None) for column in table.schema.columns))
    document = tree_document(any_statistics(data.draw(trees(schema)), schema.classes, data.draw))
    for _ in range(data.draw(st.integers(0, 2))):
        changed(document, data.draw)
    text = json.dumps(document, indent=1, ensure_ascii=False).replace("\n", "\n  ")
    try:
        expected: Node | None = TreeReader(schema).read({"tree": parse_plainly(text.encode())})[0]
    except (ReleaseError, ValueError):
        expected = None
    found = TreeReader(schema).written(f"\n  {text}".encode())
    assert found is None or repr(found[0]) == repr(expected)  # which tells 1 from 1.0, and 0.0 from -0.0


def test_a_tree_that_is_too_deep_is_refused() -> None:
    column = next(column.name for column in DRAFT.schema.columns if column.numeric)
    tree: Node = Leaf(DRAFT.schema.classes[0])
    for _ in range(MAX_DEPTH):
        tree = NumericSplit(column, 1.0, Leaf(), tree)
    content = text_of(tree, DRAFT.schema).encode()
    reader = TreeReader(DRAFT.schema)
    assert reader.read({"tree": json.loads(content)}) == [tree]
    deeper = tree_document(NumericSplit(column, 1.0, Leaf(), tree))
    with pytest.raises(ReleaseError, match="is deeper than 200 tests"):
        reader.read({"tree": deeper})
    assert reader.written(json.dumps(deeper).encode()) is None
    with pytest.raises(ReleaseError, match="is deeper than 200 tests"):
        text_of(NumericSplit(column, 1.0, Leaf(), tree), DRAFT.schema)
