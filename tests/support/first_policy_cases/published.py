"""What an outsider reads in files that leafgate writes: in which leaf everybody is, and what stands on it.

Written from the descriptions of the two formats alone, `leafgate/release/1` and `leafgate/model/1`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


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

    def leaves(frame: pd.DataFrame) -> Ids:
        return np.column_stack([_walk_release(tree, frame) for tree in _all_trees(document)])

    return Published(content, leaves)


def _all_trees(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The trees of a release, and the alternatives to them, which are published too."""
    return [*document["trees"], *(tree for trees in document["alternatives"].values() for tree in _listed(trees))]


def _listed(trees: Any) -> list[Mapping[str, Any]]:
    return list(trees) if isinstance(trees, list) else [trees]


def _walk_release(tree: Mapping[str, Any], frame: pd.DataFrame) -> Ids:
    """The number of the leaf of each row, in the order of the walk; 0 for rows that end nowhere."""
    where = np.zeros(len(frame), dtype=np.int64)
    number = 0

    def walk(node: Mapping[str, Any], rows: Ids) -> None:
        nonlocal number
        if node["kind"] == "leaf":
            number += 1
            where[rows] = number
            return
        cells = frame[node["column"]].to_numpy()[rows]
        if node["kind"] == "cut":
            is_low = _is_low(node, cells.astype(np.float64))
            walk(node["low"], rows[is_low])
            walk(node["high"], rows[~is_low])
            return
        left = np.ones(len(rows), dtype=bool)
        for branch in node["branches"]:
            taken = np.array([_is_among(cell, branch["values"]) for cell in cells], dtype=bool) & left
            left &= ~taken
            walk(branch["node"], rows[taken])
        if "other" in node:
            walk(node["other"], rows[left])

    walk(tree, np.arange(len(frame)))
    return where


def _is_low(node: Mapping[str, Any], numbers: Floats) -> NDArray[np.bool_]:
    seen = numbers.astype(np.float32).astype(np.float64) if node.get("float32") else numbers
    below = seen < node["at"] if node.get("strict") else seen <= node["at"]
    return np.asarray(np.where(np.isnan(numbers), node.get("missing") == "low", below))


def _is_among(cell: Any, values: Sequence[Any]) -> bool:
    """Is a cell one of the values of a branch? Numbers taken as values are written as the table has them."""
    if cell is None or cell != cell:
        return None in values
    if isinstance(cell, str):
        return cell in values
    return any(value is not None and float(value) == cell for value in values)


def read_model(content: bytes) -> Published:
    """A file of the format `leafgate/model/1`."""
    document = json.loads(content)
    trees = document["trees"]

    def leaves(frame: pd.DataFrame) -> Ids:
        cells = _features(document, frame)
        return np.column_stack([_walk_model(tree, cells) for tree in trees])

    def numbers(frame: pd.DataFrame) -> Floats:
        columns = []
        for tree, where in zip(trees, leaves(frame).T, strict=True):
            columns.append([tree["says"][at][0] for at in where.tolist()])
        return np.array(columns, dtype=np.float64).T

    def predictions(frame: pd.DataFrame) -> Floats:
        said = numbers(frame)
        total = said.mean(axis=1) if document["combine"] == "mean_per_tree" else said.sum(axis=1)
        return np.asarray(total + sum(document["base"]))

    if document["classes"]:
        return Published(content, leaves)
    return Published(content, leaves, numbers, predictions, document["base"])


def _features(document: Mapping[str, Any], frame: pd.DataFrame) -> Floats:
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


def _coded(document: Mapping[str, Any], origin: Mapping[str, Any], cells: pd.Series) -> Floats:
    codes, other = origin["codes"], origin["other"]
    if isinstance(codes, list):
        table, group, on, off = codes
        codes = {value: on if own == group else off for value, own in document["groups"][table].items()}
    otherwise = np.nan if other is None else other
    missing = otherwise if origin["missing"] is None else origin["missing"]
    missing = np.nan if missing == "missing" else missing
    return np.array([missing if cell is None else codes.get(cell, otherwise) for cell in cells], dtype=np.float64)


def _walk_model(tree: Mapping[str, Any], cells: Floats) -> Ids:
    """The node in which each row ends."""
    at = np.zeros(len(cells), dtype=np.int64)
    feature, low, high = (np.array(tree[key]) for key in ("feature", "low", "high"))
    if tree["subsets"]:
        raise NotImplementedError("tests of sets of codes are not walked")
    threshold = np.array([np.nan if each is None else each for each in tree["threshold"]])
    strict, single, missing_low = (
        np.broadcast_to(np.array(tree[key]), feature.shape) for key in ("strict", "float32", "missing_low")
    )
    while True:
        inner = np.flatnonzero(feature[at] >= 0)
        if not len(inner):
            return at
        node = at[inner]
        x = cells[inner, feature[node]]
        seen = np.where(single[node], x.astype(np.float32).astype(np.float64), x)
        is_low = np.where(strict[node], seen < threshold[node], seen <= threshold[node])
        is_low = np.where(np.isnan(x), missing_low[node], is_low)
        at[inner] = np.where(is_low, low[node], high[node])
