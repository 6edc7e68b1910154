"""What anybody reads in files that leafgate writes: in which leaf everybody is, and what stands on it.

Written from the descriptions of the two formats alone, `leafgate/release/1` and `leafgate/model/1`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Document = Mapping[str, Any]
Cells = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Published:
    """A published model, as an outsider can use it.

    Attributes:
        content: the bytes of the file.
        leaves: for a table of people the number of each one's leaf: a column for each tree.
        numbers: for a table of people the number on each one's leaf, a column for each tree; None without such numbers.
        predictions: for a table of people the number that is predicted; None where classes are.
        constants: other numbers of the file that are in the unit of what is predicted, such as a first score.
        is_added: do later trees add to what earlier ones predict?
        is_mean: is the number on each leaf the mean of its people, of what earlier trees leave to be added?
        learning_rate: the factor of the numbers of added trees, which is public.
        regularisation: so many people without a number are among those of each leaf of added trees.
        first_has_base: do the leaves of the first of added trees hold what all people begin with?
    """

    content: bytes
    leaves: Callable[[pd.DataFrame], Ids]
    numbers: Callable[[pd.DataFrame], Floats] | None = None
    predictions: Callable[[pd.DataFrame], Floats] | None = None
    constants: Sequence[float] = ()
    is_mean: bool = False
    is_added: bool = False
    learning_rate: float = 1.0
    regularisation: float = 0.0
    first_has_base: bool = False


def read_release(content: bytes) -> Published:
    """A file of the format `leafgate/release/1`, of trees that predict a class."""
    document = json.loads(content)
    alternatives = [each if isinstance(each, list) else [each] for each in document["alternatives"].values()]
    trees = [*document["trees"], *(tree for each in alternatives for tree in each)]  # all of them are published

    def leaves(frame: pd.DataFrame) -> Ids:
        cells = cells_of(document, frame)
        return np.column_stack([walk(document, tree, cells, len(frame)) for tree in trees])

    return Published(content, leaves)


def cells_of(document: Document, frame: pd.DataFrame) -> Cells:
    """The cells of the columns that a release declares, as its tests take them.

    Numbers are floats; values are positions in the declared domain, the position after the last one for a missing cell,
    -1 for another value. Numbers taken as values are written as the table has them.
    """
    cells: Cells = {}
    for name, spec in document["schema"].items():
        if name not in frame:
            continue
        if "values" not in spec:
            cells[name] = frame[name].to_numpy(dtype=np.float64)
            continue
        place: dict[Any, int] = {value: i for i, value in enumerate(spec["values"])}
        if pd.api.types.is_numeric_dtype(frame[name].dtype):
            place = {float(value): i for value, i in place.items()}
        column, missing = frame[name].astype(object).tolist(), frame[name].isna().tolist()
        codes = [len(place) if gone else place.get(cell, -1) for cell, gone in zip(column, missing, strict=True)]
        cells[name] = np.array(codes, dtype=np.int64)
    return cells


def children_of(node: Document) -> list[Document]:
    """The nodes right below a node of a release document."""
    if node["kind"] == "cut":
        return [node["low"], node["high"]]
    if node["kind"] == "fan":
        return [*(branch["node"] for branch in node["branches"]), *([node["other"]] if "other" in node else [])]
    return []


def nodes_of(tree: Document) -> Iterator[Document]:
    """Every node of a tree in a release document, each before those below it."""
    yield tree
    for child in children_of(tree):
        yield from nodes_of(child)


def leaves_of(tree: Document) -> list[dict[str, Any]]:
    """The leaves of a tree from left to right, to be read or changed."""
    return [cast(dict[str, Any], node) for node in nodes_of(tree) if node["kind"] == "leaf"]


def walk(document: Document, tree: Document, cells: Cells, size: int) -> Ids:
    """For each row the position of its leaf among those of the tree, -1 where no branch takes it."""
    where = np.full(size, -1, dtype=np.int64)
    n_leaves = 0
    waiting: list[tuple[Document, Ids]] = [(tree, np.arange(size))]
    while waiting:
        node, rows = waiting.pop()
        if node["kind"] == "leaf":
            where[rows] = n_leaves
            n_leaves += 1
            continue
        below = split(document["schema"][node["column"]], node, cells[node["column"]][rows])
        waiting += [(child, rows[mask]) for child, mask in reversed(below)]
    return where


def split(spec: Document, node: Document, cells: NDArray[Any]) -> list[tuple[Document, Mask]]:
    """Each child of a node, and which cells of its column take it."""
    if node["kind"] == "cut":
        seen = cells.astype(np.float32).astype(np.float64) if node.get("float32") else cells
        low = seen < node["at"] if node.get("strict") else seen <= node["at"]
        low |= np.isnan(seen) & (node.get("missing") == "low")
        return [(node["low"], low), (node["high"], ~low)]
    domain = [*spec["values"], None]
    branch = np.full(len(domain) + 1, len(node["branches"]))
    for i, each in enumerate(node["branches"]):
        branch[[domain.index(value) for value in each["values"]]] = i
    taken = branch[cells]
    return [(child, taken == i) for i, child in enumerate(children_of(node))]


def read_model(content: bytes) -> Published:
    """A file of the format `leafgate/model/1`."""
    document = json.loads(content)
    trees = document["trees"]

    def leaves(frame: pd.DataFrame) -> Ids:
        cells = _features(document, frame)
        return np.column_stack([_walk_model(tree, cells) for tree in trees])

    def numbers(frame: pd.DataFrame) -> Floats:
        ends = zip(trees, leaves(frame).T, strict=True)
        return np.array([[tree["says"][at][0] for at in where.tolist()] for tree, where in ends], dtype=np.float64).T

    def predictions(frame: pd.DataFrame) -> Floats:
        said = numbers(frame)
        total = said.mean(axis=1) if document["combine"] == "mean_per_tree" else said.sum(axis=1)
        return np.asarray(total + sum(document["base"]))

    if document["classes"]:
        return Published(content, leaves)
    return Published(content, leaves, numbers, predictions, document["base"])


def _features(document: Document, frame: pd.DataFrame) -> Floats:
    """What the model is given of each person: shape (n_people, n_features)."""
    origins = document["origins"] or [None] * len(document["features"])
    columns = []
    for name, origin in zip(document["features"], origins, strict=True):
        if origin is None:
            columns.append(_by_name(name, frame))
        elif origin["kind"] == "number":
            if origin["steps"] or origin["fill"] is not None:
                raise NotImplementedError("numbers that are computed or filled are not walked")
            columns.append(frame[origin["column"]].to_numpy(dtype=np.float64))
        else:
            columns.append(_coded(document, origin, frame[origin["column"]]))
    return np.column_stack(columns) if columns else np.zeros((len(frame), 0))


def _by_name(name: str, frame: pd.DataFrame) -> Floats:
    """A feature that is called like a column, or like a column and one of its values, or by its position."""
    if name not in frame and (position := re.fullmatch(r"x(\d+)", name)):
        name = str(frame.columns[int(position[1])])
    if name in frame:
        return frame[name].to_numpy(dtype=np.float64)
    column, _, value = name.partition("_")
    return np.asarray((frame[column] == value).to_numpy(), dtype=np.float64)


def _coded(document: Document, origin: Document, cells: pd.Series) -> Floats:
    codes, other = origin["codes"], origin["other"]
    if isinstance(codes, list):
        table, group, on, off = codes
        codes = {value: on if own == group else off for value, own in document["groups"][table].items()}
    otherwise = np.nan if other is None else other
    missing = otherwise if origin["missing"] is None else origin["missing"]
    missing = np.nan if missing == "missing" else missing
    return np.array([missing if cell is None else codes.get(cell, otherwise) for cell in cells], dtype=np.float64)


def _walk_model(tree: Document, cells: Floats) -> Ids:
    """The node in which each row ends."""
    feature, low, high = (np.array(tree[key]) for key in ("feature", "low", "high"))
    if tree["subsets"]:
        raise NotImplementedError("tests of sets of codes are not walked")
    threshold = np.array([np.nan if each is None else each for each in tree["threshold"]])
    strict, single, missing_low = (
        np.broadcast_to(np.array(tree[key]), feature.shape) for key in ("strict", "float32", "missing_low")
    )

    def is_low(node: Ids, x: Floats) -> Mask:
        seen = np.where(single[node], x.astype(np.float32).astype(np.float64), x)
        below = np.where(strict[node], seen < threshold[node], seen <= threshold[node])
        return np.where(np.isnan(x), missing_low[node], below)

    return descend(cells, feature, is_low, low, high)


def descend(rows: Floats, feature: Ids, is_low: Callable[[Ids, Floats], Mask], low: Ids, high: Ids) -> Ids:
    """The node of a tree of arrays in which each row ends, from node 0 on.

    Args:
        rows: shape (n_rows, n_features).
        feature: what each node asks about; negative on leaves.
        is_low: of nodes and the cells that they ask about, which of these go to the first child.
        low: the first child of each node.
        high: the second.
    """
    at = np.zeros(len(rows), dtype=np.int64)
    while len(inner := np.flatnonzero(feature[at] >= 0)):
        node = at[inner]
        at[inner] = np.where(is_low(node, rows[inner, feature[node]]), low[node], high[node])
    return at
