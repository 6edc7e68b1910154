"""One change of a document of tables, lists, numbers and texts, and rows on which both are asked."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluators.answers import Cell, Columns, Questions

Path = tuple[str | int, ...]
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
MOST_ROWS = 40
"""Rows of the file's own table that are taken."""

RANDOM_ROWS = 300
"""Rows whose cells are chosen at random."""

UNKNOWN = "unheard of"
FILLED = 4.0
"""A number in place of a missing cell, where none may be missing."""


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """What a format's mutations are made of.

    Attributes:
        kind_of: what is changed at a path of a document, such as "threshold"; empty for what is never changed.
        texts: other texts that may stand under a key.
        additions: keys that may be added to a table beside a key, with their values made from that table.
    """

    kind_of: Callable[[Any, Path], str]
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    additions: Mapping[str, Mapping[str, Callable[[Any], Any]]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change: what of, how, and where."""

    kind: str
    how: str
    path: Path


def items(document: Any, path: Path = ()) -> Iterator[Path]:
    """The path of everything in a document."""
    yield path
    if isinstance(document, dict):
        for key, value in document.items():
            yield from items(value, (*path, key))
    elif isinstance(document, list | np.ndarray):
        for i, value in enumerate(document):
            yield from items(value, (*path, i))


def at(document: Any, path: Path) -> Any:
    """What stands at a path."""
    for step in path:
        document = document[step]
    return document.item() if isinstance(document, np.generic) else document


def _put(document: Any, path: Path, value: Any) -> None:
    """Put a value at a path; an array whose type cannot hold it becomes a list."""
    parent = at(document, path[:-1])
    if isinstance(parent, np.ndarray):
        held = isinstance(value, int | float) and np.isfinite(value) and _holds(parent.dtype, value)
        if not held:
            parent = parent.tolist()
            _put(document, path[:-1], parent)
    parent[path[-1]] = value


def _holds(dtype: np.dtype[Any], value: float) -> bool:
    if dtype.kind == "f":
        return abs(value) <= float(np.finfo(dtype).max)
    limits = np.iinfo(dtype)
    return float(value).is_integer() and limits.min <= value <= limits.max


def other_numbers(value: float, beside: Sequence[Any], rng: np.random.Generator) -> dict[str, float]:
    """Other numbers in place of one: of its kind, whole where it is whole."""
    others = sorted({each for each in beside if type(each) is type(value) and each != value})
    found: dict[str, float] = {"another": others[int(rng.integers(len(others)))]} if others else {}
    if isinstance(value, int):
        return {**found, "plus 1": value + 1, "minus 1": value - 1, "sign": -value or -1, "large": value + 1000}
    with np.errstate(over="ignore"):
        after = float(np.nextafter(np.float32(value), np.float32(np.inf)))
    changed = {"sign": -value or 1.0, "tiny": after, "small": value * 1.001 or 1e-3, "large": value * 1000 or 1e3}
    return {**found, **changed, "zero": 0.0 if value else 0.5}


def _changed_text(
    value: str, key: str, beside: Sequence[Any], words: Vocabulary, rng: np.random.Generator
) -> tuple[str, str]:
    choices = [each for each in words.texts.get(key, ()) if each != value]
    if not choices and rng.random() < 0.2:
        choices = sorted({each for each in beside if isinstance(each, str) and each != value})
    if choices:
        return "another", choices[int(rng.integers(len(choices)))]
    found = list(NUMBER.finditer(value))
    if found and rng.random() < 0.9:
        number = found[int(rng.integers(len(found)))]
        text = number.group()
        whole = re.fullmatch(r"-?\d+", text) is not None
        options = other_numbers(int(text) if whole else float(text), [], rng)
        how = sorted(options)[int(rng.integers(len(options)))]
        return how, f"{value[: number.start()]}{options[how]!r}{value[number.end() :]}"
    return "renamed", f"{value}x"


def _changed_table(table: dict[str, Any], key: str, words: Vocabulary, rng: np.random.Generator) -> str:
    """Change one key of a table; how."""
    additions = {k: v for beside, more in words.additions.items() if beside in table for k, v in more.items()}
    additions = {k: v for k, v in additions.items() if k not in table}
    how = ("renamed", "removed", "added")[int(rng.integers(3))]
    if how == "added" and additions and rng.random() < 0.7:
        name = sorted(additions)[int(rng.integers(len(additions)))]
        table[name] = additions[name](table)
        return "added"
    if how == "added":
        table["added_key"] = 1
        return "added"
    value = table.pop(key)
    if how == "renamed":
        table[f"{key}_2"] = value
    return how


def _changed_list(values: list[Any], rng: np.random.Generator) -> str:
    how = ("cut", "cut in front", "longer", "swapped")[int(rng.integers(4))]
    if how == "cut":
        values.pop()
    elif how == "cut in front":
        values.pop(0)
    elif how == "longer":
        values.append(copy.deepcopy(values[-1]))
    else:
        i, j = (int(each) for each in rng.choice(len(values), 2, replace=len(values) < 2))
        values[i], values[j] = values[j], values[i]
    return how


def paths_by_kind(document: Any, words: Vocabulary) -> dict[str, list[Path]]:
    """Every path that may be changed, by what is changed there."""
    found: dict[str, list[Path]] = {}
    for path in items(document):
        if not path:
            continue
        kind = words.kind_of(document, path)
        if not kind:
            continue
        value = at(document, path)
        if isinstance(value, list | np.ndarray):
            if len(value):
                found.setdefault("list", []).append(path)
        elif not isinstance(value, dict):
            found.setdefault(kind, []).append(path)
        if isinstance(path[-1], str) and path[-1]:
            found.setdefault("key", []).append(path)
    return found


def changed(
    document: Any, by_kind: Mapping[str, Sequence[Path]], words: Vocabulary, rng: np.random.Generator
) -> tuple[Change, Any]:
    """A copy of the document with one change, of a kind and at a place that `rng` chooses."""
    kinds = sorted(by_kind)
    kind = kinds[int(rng.integers(len(kinds)))]
    path = by_kind[kind][int(rng.integers(len(by_kind[kind])))]
    result = copy.deepcopy(document)
    value, parent = at(result, path), at(result, path[:-1])
    key = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
    if kind == "key":
        how = _changed_table(parent, str(path[-1]), words, rng)
    elif kind == "list":
        values = value.tolist() if isinstance(value, np.ndarray) else value
        how = _changed_list(values, rng)
        parent[path[-1]] = np.array(values, dtype=value.dtype) if isinstance(value, np.ndarray) else values
    elif isinstance(value, bool):
        how, parent[path[-1]] = "flipped", not value
    elif isinstance(value, int | float):
        beside = parent.tolist() if isinstance(parent, np.ndarray) else parent if isinstance(parent, list) else []
        options = other_numbers(value, beside, rng)
        how = sorted(options)[int(rng.integers(len(options)))]
        _put(result, path, options[how])
    elif isinstance(value, str):
        beside = parent if isinstance(parent, list) else []
        how, parent[path[-1]] = _changed_text(value, key, beside, words, rng)
    else:
        how, parent[path[-1]] = "a number", 1
    return Change(kind=kind, how=how, path=path), result


def _pool(name: str, rows: Columns, asked: Sequence[Questions], *, missing_texts: bool, missing: bool) -> list[Cell]:
    """The cells to try in a column: on both sides of every threshold, missing, each category and an unknown one."""
    found: set[float | str] = set()
    categories: set[float | str] = set()
    for questions in asked:
        if name in questions:
            found |= set(questions[name].beside())
            categories |= questions[name].categories
    cells = [cell for cell in rows[name] if cell is not None]
    if any(isinstance(cell, str) for cell in [*cells, *categories]):
        gone = [None] if missing_texts else []
        return [*gone, UNKNOWN, *sorted({str(cell) for cell in [*cells, *categories]})]
    if categories:
        whole = {float(cell) for cell in [*cells, *found] if float(cell) >= 0 and float(cell).is_integer()}
        found = whole | categories | {max(map(float, categories)) + 1}
    return [*([None] if missing else []), *sorted(map(float, found))]


def points(
    rows: Columns,
    asked: Sequence[Questions],
    rng: np.random.Generator,
    *,
    missing_texts: bool = True,
    missing: bool = True,
) -> Columns:
    """Some of the rows, rows that differ from one of them in one cell, and rows of cells chosen at random."""
    names = list(rows)
    pools = {name: _pool(name, rows, asked, missing_texts=missing_texts, missing=missing) for name in names}
    whole = {
        name for name in names if any(isinstance(c, float) for q in asked if name in q for c in q[name].categories)
    }
    cells = [[_whole(cell) for cell in rows[name]] if name in whole else rows[name] for name in names]
    if not missing:
        cells = [[FILLED if cell is None else cell for cell in column] for column in cells]
    own = list(zip(*cells, strict=True))
    chosen = [own[int(i)] for i in rng.permutation(len(own))[:MOST_ROWS]]
    made = list(chosen)
    for column, name in enumerate(names):
        for i, cell in enumerate(pools[name]):
            row = list(chosen[i % len(chosen)])
            row[column] = cell
            made.append(tuple(row))
    for _ in range(RANDOM_ROWS):
        row = list(chosen[int(rng.integers(len(chosen)))])
        for column, name in enumerate(names):
            if rng.random() < 0.7:
                row[column] = pools[name][int(rng.integers(len(pools[name])))]
        made.append(tuple(row))
    return {name: [row[column] for row in made] for column, name in enumerate(names)}


def _whole(cell: Cell) -> Cell:
    """The number of a category: no category is called by a fraction."""
    return None if cell is None or float(cell) < 0 else float(int(float(cell)))
