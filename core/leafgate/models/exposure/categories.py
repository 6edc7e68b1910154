"""Which of the values that a model was trained with its tests need."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from leafgate.io.json import parse_number
from leafgate.ir.features import CategoryCodes, OneHot, known_by
from leafgate.ir.model import CategoryList, ModelIR, TreeIR
from leafgate.models.lowering.encoding import BETWEEN, TRUTH, plainly
from leafgate.models.lowering.tests import Split
from leafgate.types.release import FileDisclosure
from leafgate.types.schema import MISSING_WORDS, Column, Schema

SEPARATORS = frozenset(BETWEEN) - {"__"}
"""Signs that stand between column and value in names of dummy features."""


def drop_unused_categories(model: ModelIR) -> ModelIR:
    """The model without values that every test treats as it treats a value never seen.

    A model that took no unseen values takes them now: as it takes the largest group of values that no test parts.
    """
    if model.origins is None:
        return model
    tests = _tests(model.trees, len(model.features))
    origins = tuple(
        _fewer(one, asked) if isinstance(one, CategoryCodes) else one
        for one, asked in zip(model.origins, tests, strict=True)
    )
    return replace(model, origins=origins)


def value_names_disclosed(model: ModelIR) -> tuple[FileDisclosure, ...]:
    """That names of values stand in the file, where some do."""
    if any(item.kind == "categories" for item in model.discloses):
        return ()
    coded = [one for one in model.origins or () if isinstance(one, CategoryCodes)]
    shared = {(one.column, id(one.codes.groups if isinstance(one.codes, OneHot) else one.codes)): one for one in coded}
    n = len({(one.column, value) for one in shared.values() for value in one.codes})
    return (FileDisclosure("categories", "low", f"the names of {n} value(s) that tests part from others"),) if n else ()


def without_declared(model: ModelIR, schema: Schema) -> ModelIR:
    """The model, names of values no disclosure of it where the policy declares all of them, and tests need each.

    Then they give nothing but the tests: what may occur, everybody knows from the policy. A value that no test parts
    from others was listed for another reason: somebody in training had it.
    """
    coded = [one for one in model.origins or () if isinstance(one, CategoryCodes)]
    least = [one for one in drop_unused_categories(model).origins or () if isinstance(one, CategoryCodes)]
    tested = all(len(one.codes) == len(few.codes) for one, few in zip(coded, least, strict=True))
    declared = all(one.column in schema and set(one.codes) <= set(schema[one.column].values or ()) for one in coded)
    if not (tested and declared):
        return model
    own = value_names_disclosed(replace(model, discloses=()))
    return replace(model, discloses=tuple(item for item in model.discloses if item not in own))


UNDECLARED = (
    "{n} value(s) in {lists} list(s) of categories that are not among the `values` the policy declares: "
    "they may name people"
)
LONG = "{lists} list(s) of categories with more than a third as many values as the table has people"
DUMMIES = "{n} name(s) of features that end in a value of a column that the policy drops, or does not declare"
MANY_NAMES = "the names of {n} features that the policy does not know, more than columns are: they may name people"

MIN_LONG_LIST = 10
"""Shorter lists of a column whose domain was taken from the data are never long."""

PEOPLE_PER_VALUE = 3
"""A list of more values than the table has people for each of so many has values that only one or two people have."""

MAX_SHARED_PREFIX = 10
MAX_UNKNOWN_NAMES = 30
"""So many unknown names of features, with one prefix or in all, may be columns that the model does not use."""

POSITION = re.compile(r"[0-9]{1,9}")
STAND_INS = MISSING_WORDS | {"missing_value", "unknown", "Unknown", "infrequent", "infrequent_sklearn", "<NA>"}
"""What encoders know of cells that hold no value."""


def lists_of_people(
    model: ModelIR, schema: Schema, columns: Mapping[str, str], people: int | None
) -> tuple[FileDisclosure, ...]:
    """Lists of values in the file, used by tests or not, that tell of single people: each an item of severity `high`.

    A list is public where one column of the policy declares all its values; a list of a column whose domain was taken
    from the data tells of everybody, and of single people where it is long beside the table of `people`. Any other list
    is of a column that is dropped, or holds values that are not declared. `columns` says which column of the policy a
    name in the file stands for.
    """
    coded = [one for one in model.origins or () if isinstance(one, CategoryCodes)]
    fills = frozenset(one.fill_value for one in coded) | STAND_INS
    shared = {(one.column, id(one.codes.groups if isinstance(one.codes, OneHot) else one.codes)): one for one in coded}
    lists = {CategoryList(one.column, known_by(one)) for one in shared.values()} | set(model.category_lists)
    undeclared, long = list[frozenset[str]](), 0
    for each in lists:
        values = each.values - fills
        if not values or _are_positions(values):
            continue
        home = _home(CategoryList(columns.get(each.column, each.column), values), schema)
        if home is None:
            undeclared.append(values)
        elif people is not None and _is_long(values, home, people):
            long += 1
    n = len(frozenset[str]().union(*undeclared))
    found = (
        [FileDisclosure("people_listed", "high", UNDECLARED.format(n=n, lists=len(undeclared)))] if undeclared else []
    )
    return (*found, *([FileDisclosure("people_listed", "high", LONG.format(lists=long))] if long else []))


def _are_positions(values: frozenset[str]) -> bool:
    """Are they 0, 1, 2, ...: positions in another list, -1 for what is in none, and no values?"""
    numbers = [int(value) for value in values - {"-1"} if POSITION.fullmatch(value)]
    return len(numbers) == len(values - {"-1"}) and max(numbers, default=0) < 2 * len(values)


def _home(listed: CategoryList, schema: Schema) -> Column | None:
    """The policy's column whose values these are, one that declares all of them first; None where there is none."""
    named = [one for one in schema.columns if listed.column in {one.name, plainly(one.name)}]
    declared = [one for one in schema.columns if one.declared and one.values is not None]
    unnamed = [] if listed.column else [one for one in schema.columns if not one.declared or one.numeric]
    columns = [*declared, *named, *unnamed]
    return next((one for one in columns if "key" not in one.roles and _are_in(listed.values, one)), None)


def _are_in(values: frozenset[str], column: Column) -> bool:
    """Are all of them values of the column, or numbers within its bounds?"""
    if column.values is None:
        low, high = column.bounds or (-math.inf, math.inf)
        return all(low <= parse_number(value) <= high for value in values)
    numbers = {parse_number(value) for value in column.values} - {math.nan}
    known = {value.lower() for value in column.values if value.lower() in TRUTH} and set(TRUTH)
    return all(value in column.values or parse_number(value) in numbers or value.lower() in known for value in values)


def _is_long(values: frozenset[str], column: Column, people: int) -> bool:
    public = column.declared and column.values is not None
    return not public and _are_many(len(values), people)


def _are_many(values: int, people: int) -> bool:
    """Whether so many values, in a table of so many people, have some that only one or two people have."""
    return values >= MIN_LONG_LIST and PEOPLE_PER_VALUE * values > people


def names_of_people(
    names: Collection[str], known: Collection[str], schema: Schema, people: int | None = None
) -> tuple[FileDisclosure, ...]:
    """Unknown names of features that hold values: dummies of columns that are dropped, or of values not declared.

    Fewer than `MAX_UNKNOWN_NAMES` unknown names are no columns either where they are as many as a long list of a table
    of so many `people`: nearly each of them may name one.
    """
    kept = [one.name for one in schema.columns if one.values is not None]
    columns = [*schema.dropped, *kept]
    begins = tuple({spelled + sign for one in columns for spelled in (one, plainly(one)) for sign in SEPARATORS})
    unknown = [name for name in names if name not in known and not {name, _bare(name)} & set(schema.dropped)]
    dummies = [name for name in unknown if name.startswith(begins) or _bare(name).startswith(begins)]
    prefixes = Counter(name[: i + 1] for name in unknown for i, sign in enumerate(name[:-1]) if sign in SEPARATORS)
    many = (
        max(prefixes.values(), default=0) >= MAX_SHARED_PREFIX
        or len(unknown) >= MAX_UNKNOWN_NAMES
        or (people is not None and _are_many(len(unknown), people))
    )
    found = [FileDisclosure("people_listed", "high", DUMMIES.format(n=len(dummies)))] if dummies else []
    result = many and len(unknown) > len(dummies)
    return (*found, *([FileDisclosure("people_listed", "high", MANY_NAMES.format(n=len(unknown)))] if result else []))


def _bare(name: str) -> str:
    """The name without what scikit-learn puts before it: the name of a step and two underscores."""
    return name.partition("__")[2] or name


def _tests(trees: Sequence[TreeIR], features: int) -> list[set[Split]]:
    """Every feature's tests, each once."""
    found: list[set[Split]] = [set() for _ in range(features)]
    for tree in trees:
        strict, float32, missing_low = (tree.flag(name).tolist() for name in ("strict", "float32", "missing_low"))
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            chosen = tree.subsets.get(node)
            at = 0.0 if chosen is not None else float(tree.threshold[node])
            asked = Split(at, strict[node], float32[node], missing_low[node], chosen)
            found[int(tree.feature[node])].add(asked)
    return found


def _fewer(origin: CategoryCodes, tests: set[Split]) -> CategoryCodes:
    """The codes that some test parts from those of all other values."""
    ways = {code: tuple(test.low(code) for test in tests) for code in set(origin.codes.values())}
    if not ways:
        return origin
    other = origin.otherwise
    if other is None:
        largest = Counter(ways[code] for code in origin.codes.values()).most_common(1)[0][0]
        other = min(code for code in ways if ways[code] == largest)
    own = tuple(test.low(other) for test in tests)
    return replace(origin, codes={v: code for v, code in origin.codes.items() if ways[code] != own}, otherwise=other)
