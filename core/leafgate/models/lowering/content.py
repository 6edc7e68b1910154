"""The texts and numbers of a model's file, by the columns of the data."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

import numpy as np

from leafgate.io.json import parse_number
from leafgate.ir.content import ColumnNumbers, FileContent
from leafgate.ir.features import CategoryCodes, MissingIndicator, Numeric, OneHot, Origin, known_by
from leafgate.ir.model import CategoryList, ModelIR
from leafgate.kernel.schema import MISSING_WORDS, Schema
from leafgate.models.lowering.encoding import BETWEEN, Encoding, is_position, names_of, not_listed, spellings

POSITION = re.compile(r"[0-9]{1,9}")
STAND_INS = MISSING_WORDS | {"missing_value", "unknown", "Unknown", "infrequent", "infrequent_sklearn", "<NA>"}
"""What encoders know of cells that hold no value."""


def content_of(
    model: ModelIR, origins: Mapping[int, Origin], encodings: Mapping[str, Encoding], schema: Schema
) -> FileContent:
    """What the model holds of cells: lists of values, numbers of tests, and names that are no column.

    Args:
        model: the model as its file gives it.
        origins: the resolved origins of the features that some tree asks about, by their numbers.
        encodings: what the policy says of the features.
        schema: the columns of the data, those that are dropped by their names.
    """
    values, unplaced, numbers = _lists(model, origins, encodings, schema)
    dummies = {
        f"{column.name}{sign}{value}": (column.name, value)
        for column in schema.columns
        for value in column.values or ()
        for sign in BETWEEN
    }
    for name in {*model.features, *model.other_names}:
        for full in {name, name.partition("__")[2]} & dummies.keys():
            column, value = dummies[full]
            values.setdefault(column, set()).add(value)
    for tree in model.trees:
        for node, chosen in tree.subsets.items():
            column = origins[int(tree.feature[node])].column
            values.setdefault(column, set()).update(text for text in chosen if isinstance(text, str))
    return FileContent(
        {name: frozenset(each) for name, each in values.items()},
        tuple(unplaced),
        (*_numbers(model, origins), *numbers),
        unknown_names(model, schema) | model.texts | {*_fills(model, origins, schema), *_numbers_of_no_column(model)},
        _scales(origins),
        model.held,
    )


def _fills(model: ModelIR, origins: Mapping[int, Origin], schema: Schema) -> Iterator[str]:
    """The texts that missing cells are filled with, and that the policy does not declare as values of their column."""
    resolved = {one.column: origins[i].column for i, one in enumerate(model.origins or ()) if one and i in origins}
    for one in model.origins or ():
        if isinstance(one, CategoryCodes) and one.fill_value:
            name = resolved.get(one.column, one.column)
            declared = {*(schema[name].values or ()), *schema[name].aliases} if name in schema else ()
            if one.fill_value not in declared:
                yield one.fill_value


def _numbers_of_no_column(model: ModelIR) -> Iterator[str]:
    """The numbers of settings, codes, and those that tests compare with codes."""
    sampling = model.sampling
    settings = (*model.settings.values(), *sampling.rate, *(sampling.root or ()), sampling.held_out, sampling.draws)
    yield from (repr(each) for each in settings if isinstance(each, int | float) and not isinstance(each, bool))
    for feature in model.asked:
        match model.origins[feature] if model.origins is not None else None:
            case CategoryCodes(_, codes, other, missing):
                numbers = {*codes.values(), *(each for each in (other, missing) if each is not None)}
            case MissingIndicator(_, there, gone):
                numbers = {there, gone}
            case _:
                continue
        for tree in model.trees:
            numbers.update(tree.threshold[tree.compares & (tree.feature == feature)].tolist())
            chosen = (sets for node, sets in tree.subsets.items() if tree.feature[node] == feature)
            numbers.update(each for sets in chosen for each in sets if not isinstance(each, str))
        yield from map(repr, numbers)


def _scales(origins: Mapping[int, Origin]) -> dict[str, np.ndarray]:
    """By column the numbers that scalers move and stretch its numbers by, in all features of it."""
    found: dict[str, set[float]] = {}
    for origin in origins.values():
        if isinstance(origin, Numeric):
            found.setdefault(origin.column, set()).update(step.by for step in origin.steps)
    return {name: np.array(sorted(numbers)) for name, numbers in found.items() if numbers}


def unknown_names(model: ModelIR, schema: Schema) -> frozenset[str]:
    """The names in the file that are no column which the policy keeps, and no value of one: of features and columns.

    A feature that is named by its position has no name in the file, or one that discloses nothing.
    """
    names = {name for position, name in enumerate(model.columns) if not is_position(name, position)}
    known = names_of(schema)
    return frozenset(name for name in names | set(model.other_names) if not {name, name.partition("__")[2]} & known)


def _lists(
    model: ModelIR, origins: Mapping[int, Origin], encodings: Mapping[str, Encoding], schema: Schema
) -> tuple[dict[str, set[str]], list[frozenset[str]], list[ColumnNumbers]]:
    """The values that the file lists, by their column, lists of no column, and numbers that are no list of values.

    Positions are left out, and words for gaps, which `content_of` has among its names.

    Lists of the numbers that the policy itself gives as a feature's codes are none of a column's values.
    """
    coded = [one for one in model.origins or () if isinstance(one, CategoryCodes)]
    fills = STAND_INS.union(_fills(model, origins, schema))
    shared = {(one.column, id(one.codes.groups if isinstance(one.codes, OneHot) else one.codes)): one for one in coded}
    lists = {CategoryList(one.column, frozenset(one.codes)) for one in shared.values()} | set(model.category_lists)
    own = {name: {f"{code:g}" for code in one.codes.values()} for name, one in encodings.items() if one.codes}
    columns = {spelling: one.name for one in schema.columns for spelling in spellings(one.name)}
    columns |= {spelling: name for name in schema.dropped for spelling in (name, *spellings(name))}
    columns |= {one.name: one.name for one in schema.columns}
    columns |= {model.columns[i]: origin.column for i, origin in origins.items()}
    values: dict[str, set[str]] = {}
    unplaced, numbers = [], []
    for each in sorted(lists, key=lambda each: (each.column, sorted(each.values))):
        result = each.values - fills
        if not result or are_positions(result) or each.values <= own.get(each.column, set()):
            continue
        if (name := columns.get(each.column)) is None:
            unplaced.append(result)
        elif each.numbers:
            numbers.append(ColumnNumbers(name, (), np.array(sorted(map(parse_number, result)))))
        else:
            values.setdefault(name, set()).update(result)
    return values, sorted(unplaced, key=sorted), numbers


PANDAS_MARKS = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"}
    | {"NULL", "NaN", "None", "n/a", "nan", "null"}
)
"""Cells that `pandas.read_csv` takes for missing ones unless it is told otherwise (pandas 2, `na_values`)."""


def values_not_seen(
    model: ModelIR, origins: Mapping[int, Origin], schema: Schema
) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """The values of each column that the file cannot have been fitted on: see `ModelReading.unseen`, `unseen_marks`.

    Args:
        model: the model as its file gives it.
        origins: the resolved origins of the features that some tree asks about, by their numbers.
        schema: the columns of the policy.
    """
    complete = [each for each in model.category_lists if each.complete]
    lists = {each.values for each in complete}
    unseen, marks = dict[str, frozenset[str]](), dict[str, frozenset[str]]()
    for i, resolved in origins.items():
        column, own = schema[resolved.column], model.given_origins[i]
        if not isinstance(own, CategoryCodes):
            named = [each.values for each in complete if each.column == model.features[i]]
            if named and column.values is not None:
                unseen[column.name] = not_listed(named[0], column)
            continue
        listed, codes = known_by(own), {*own.codes.values()}
        if frozenset(own.codes) in lists:
            unseen[column.name] = not_listed(listed, column)
        gone = own.missing
        if gone is not None and not math.isnan(gone) and gone != own.otherwise and gone not in codes:
            marks[column.name] = not_listed(listed, column) & PANDAS_MARKS
    return unseen, marks


def are_positions(values: frozenset[str]) -> bool:
    """Are they 0, 1, 2, ...: positions in another list, -1 for what is in none, and no values?"""
    numbers = [int(value) for value in values - {"-1"} if POSITION.fullmatch(value)]
    return len(numbers) == len(values - {"-1"}) and max(numbers, default=0) < 2 * len(values)


def _numbers(model: ModelIR, origins: Mapping[int, Origin]) -> Iterator[ColumnNumbers]:
    """The thresholds of tests of numbers, and what replaces missing ones, as they are compared with a column's."""
    for i, origin in sorted(origins.items()):
        if isinstance(origin, Numeric):
            found = [tree.threshold[tree.compares & (tree.feature == i)] for tree in model.trees]
            fills = [] if origin.fill is None else [np.array([origin.fill])]
            numbers = np.unique(np.concatenate([*found, *fills]))
            yield ColumnNumbers(origin.column, origin.steps, numbers[np.isfinite(numbers)])
