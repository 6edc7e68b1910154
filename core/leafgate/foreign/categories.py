"""Which of the values that a model was trained with its tests need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from leafgate.disclosed import Disclosure
from leafgate.foreign.cutting import Asked
from leafgate.foreign.model import Foreign, ForeignTree
from leafgate.foreign.origins import Coded
from leafgate.schema import Schema


def needed(model: Foreign) -> Foreign:
    """The model without values that every test treats as it treats a value never seen.

    A model that took no unseen values takes them now: as it takes the largest group of values that no test parts.
    """
    if model.origins is None:
        return model
    tests = _tests(model.trees, len(model.features))
    origins = tuple(
        _fewer(one, asked) if isinstance(one, Coded) else one for one, asked in zip(model.origins, tests, strict=True)
    )
    return replace(model, origins=origins)


def values_told(model: Foreign) -> tuple[Disclosure, ...]:
    """That names of values stand in the file, where some do."""
    if any(item.kind == "categories" for item in model.discloses):
        return ()
    coded = [one for one in model.origins or () if isinstance(one, Coded)]
    n = len({(one.column, value) for one in coded for value in one.codes})
    return (Disclosure("categories", "low", f"the names of {n} value(s) that tests part from others"),) if n else ()


def without_declared(model: Foreign, schema: Schema) -> Foreign:
    """The model, names of values no disclosure of it where the policy declares all of them, and tests need each.

    Then they tell nothing but the tests: what may occur, everybody knows from the policy. A value that no test parts
    from others was listed for another reason: somebody in training had it.
    """
    coded = [one for one in model.origins or () if isinstance(one, Coded)]
    least = [one for one in needed(model).origins or () if isinstance(one, Coded)]
    tested = all(len(one.codes) == len(few.codes) for one, few in zip(coded, least, strict=True))
    declared = all(one.column in schema and set(one.codes) <= set(schema[one.column].values or ()) for one in coded)
    if not (tested and declared):
        return model
    mine = values_told(replace(model, discloses=()))
    return replace(model, discloses=tuple(item for item in model.discloses if item not in mine))


def _tests(trees: Sequence[ForeignTree], features: int) -> list[set[Asked]]:
    """Every feature's tests, each once."""
    found: list[set[Asked]] = [set() for _ in range(features)]
    for tree in trees:
        strict, float32, missing_low = (tree.flag(name).tolist() for name in ("strict", "float32", "missing_low"))
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            chosen = tree.subsets.get(node)
            at = 0.0 if chosen is not None else float(tree.threshold[node])
            asked = Asked(at, strict[node], float32[node], missing_low[node], chosen)
            found[int(tree.feature[node])].add(asked)
    return found


def _fewer(origin: Coded, tests: set[Asked]) -> Coded:
    """The codes that some test parts from those of all other values."""
    ways = {code: tuple(test.low(code) for test in tests) for code in set(origin.codes.values())}
    if not ways:
        return origin
    other = origin.other
    if other is None:
        largest = Counter(ways[code] for code in origin.codes.values()).most_common(1)[0][0]
        other = min(code for code in ways if ways[code] == largest)
    mine = tuple(test.low(other) for test in tests)
    return replace(origin, codes={v: code for v, code in origin.codes.items() if ways[code] != mine}, other=other)
