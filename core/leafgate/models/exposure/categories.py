"""Which of the values that a model was trained with its tests need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from leafgate.ir.features import CategoryCodes, OneHot
from leafgate.ir.model import ModelIR, TreeIR
from leafgate.kernel.release import FileDisclosure
from leafgate.kernel.schema import Schema
from leafgate.models.lowering.encoding import BETWEEN
from leafgate.models.lowering.tests import Split, splits_in

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


MANY_NAMES = "the names of {n} features that the policy does not know, more than columns are: they may name people"

MANY_VALUES = 10
PEOPLE_PER_NAME = 3
"""So many unknown names, more than the table has people for each of so many, may name these."""

MAX_SHARED_PREFIX = 10
MAX_UNKNOWN_NAMES = 30
"""So many unknown names of features, with one prefix or in all, may be columns that the model does not use."""


def many_unknown_names(names: Collection[str], schema: Schema, people: int | None = None) -> tuple[FileDisclosure, ...]:
    """That the file names more features which the policy does not know than columns are; nothing for fewer.

    They may be values of a column that the table does not have. `names` are those that are no column and no value of
    one; of a table of so many `people` fewer are many.
    """
    # scikit-learn puts the name of a step and two underscores before the name of a column
    unknown = [name for name in names if not {name, name.partition("__")[2] or name} & set(schema.dropped)]
    prefixes = Counter(name[: i + 1] for name in unknown for i, sign in enumerate(name[:-1]) if sign in SEPARATORS)
    many = (
        max(prefixes.values(), default=0) >= MAX_SHARED_PREFIX
        or len(unknown) >= MAX_UNKNOWN_NAMES
        or (people is not None and len(unknown) >= MANY_VALUES and PEOPLE_PER_NAME * len(unknown) > people)
    )
    return (FileDisclosure("people_listed", "high", MANY_NAMES.format(n=len(unknown))),) if many else ()


def _tests(trees: Sequence[TreeIR], features: int) -> list[set[Split]]:
    """Every feature's tests, each once."""
    found: list[set[Split]] = [set() for _ in range(features)]
    for tree in trees:
        for node, asked in splits_in(tree):
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
