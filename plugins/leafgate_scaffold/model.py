"""What a fitted model gives for the first policy that audits it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from leafgate.api import CategoryCodes, Level, MissingIndicator, Numeric, Unresolved
from leafgate.app import asked_features, known_by, load_plugins, plainly, read_model

BETWEEN = "_=-.: "


@dataclass(frozen=True)
class ModelHints:
    """The model's file, its level and classes; columns it takes as numbers, as values; features nobody can place.

    `classes` are empty where it predicts numbers, `texts` the columns that are none, `known` the values that it
    knows of any column.
    """

    path: Path
    level: Level
    classes: tuple[str, ...]
    numbers: frozenset[str]
    values: frozenset[str]
    unresolved_features: tuple[str, ...]
    says: tuple[str, ...]
    texts: frozenset[str]
    known: frozenset[str]


def hints_of(path: Path, columns: Sequence[str], texts: Mapping[str, Sequence[str]]) -> ModelHints:
    """What the model in the file says of a table with these columns; `texts` are the values where none are numbers."""
    model = read_model(path, load_plugins().readers)
    numbers: set[str] = set()
    values: set[str] = set()
    unresolved: list[str] = []
    words: set[str] = set()
    plain = {plainly(column): column for column in reversed(columns)}
    for feature in asked_features(model).values():
        result = feature.origin
        words |= {*feature.chosen, *(known_by(result) if isinstance(result, CategoryCodes) else ())}
        if (
            isinstance(result, Numeric | CategoryCodes | MissingIndicator)
            and result.column not in columns
            and result.column in plain
        ):
            result = replace(result, column=plain[result.column])
        if isinstance(result, Numeric) and result.column in columns:
            (values if result.column in texts or feature.sets else numbers).add(result.column)
        elif isinstance(result, CategoryCodes | MissingIndicator) and result.column in columns:
            values |= {result.column} if isinstance(result, CategoryCodes) else set()
        elif feature.name in columns:
            (values if feature.sets else numbers).add(feature.name)
            bare = (feature.name in texts or feature.sets) and not feature.texts
            unresolved += [feature.name] if bare or isinstance(result, Unresolved) else []
        elif (column := _dummy_of(feature.name, columns)) is not None:
            values.add(column)
            unresolved += [feature.name] if isinstance(result, Unresolved) else []
        else:
            unresolved.append(feature.name)
    says = tuple(f"{item.severity}: {item.says}" for item in model.disclosures)
    known = frozenset(numbers - values), frozenset(values)
    return ModelHints(
        path, model.level, model.classes, *known, tuple(unresolved), says, frozenset(texts), frozenset(words)
    )


def _dummy_of(feature: str, columns: Sequence[str]) -> str | None:
    """The column a feature is a dummy of, by its name: the longest that it begins with."""
    bare = feature.partition("__")[2] or feature
    found = [
        c for c in columns for name in (feature, bare) if name.startswith(c) and name[len(c) : len(c) + 1] in BETWEEN
    ]
    return max(found, key=len) if found else None


def class_column(hints: ModelHints, values: Mapping[str, Sequence[str]], columns: Sequence[str]) -> str:
    """The column that has the model's classes; the last of those that no tree asks about, if several have or none.

    Of a model that predicts numbers: the last column of numbers that no tree asks about.
    """
    free = [name for name in columns if name not in hints.numbers | hints.values]
    fitting = [name for name in free if set(values[name]) == set(hints.classes)]
    if not hints.classes:
        fitting = [name for name in free if name not in hints.texts]
    return (fitting or free or list(columns))[-1]


def rest_of_policy(hints: ModelHints, folder: str, target: str, values: Sequence[str]) -> Iterator[str]:
    """The end of the policy: the model's file, its level, what it discloses, attacks and limits to start from."""
    yield ""
    unlike_classes = bool(hints.classes) and set(values) != set(hints.classes)
    if hints.unresolved_features or unlike_classes:
        yield f"build:\n  use: published\n  path: {json.dumps(folder)}"
        yield "  encoding:                   # CHECK: what these features are, which the file does not say"
        for name in hints.unresolved_features:
            yield f"    {json.dumps(name)}: {{}}   # CHECK: {{column: ..., value: ...}} or {{codes: {{VALUE: number}}}}"
        if unlike_classes:
            codes = ", ".join(f"{json.dumps(value)}: {i}" for i, value in enumerate(values))
            yield f"    {json.dumps(target)}: {{codes: {{{codes}}}}}          # CHECK: the model's number of each class"
    else:
        yield f"build: {{use: published, path: {json.dumps(folder)}}}"
    yield ""
    yield from (f"# The file tells, beyond its predictions, {line}" for line in hints.says)
    yield f"publish: {{leaves: {hints.level}, measure: false}}"
    yield from (line for line in _LIMITS if hints.classes or "confidence" not in line)


_LIMITS = """
attacks:
  - {use: linking}

metrics:
  - {use: k_anonymity, at_least: 10}
  - {use: confidence, at_most: 0.95, allow: 0.05}
  - {use: file_disclosure, at_most: 0}
""".splitlines()
