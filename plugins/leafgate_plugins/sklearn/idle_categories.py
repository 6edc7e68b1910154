"""Categories that an encoder of a rewritten skops file keeps although no test of the new trees asks about them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafgate.api import ReleaseError
from leafgate.models.lowering.encoding import IDLE_CATEGORY
from leafgate.models.lowering.tests import Split, splits_in
from leafgate.readers import CategoryCodes, ModelIR, OneHot, parse_number

ENCODERS = frozenset({"OneHotEncoder", "OrdinalEncoder"})
REMEDY = "write another format, such as .json"


@dataclass(frozen=True)
class _Use:
    """How the trees ask about one feature that is made of categories.

    Attributes:
        given: its codes in the original file.
        kept: the values that the new model tells from unseen ones, if a test does.
        otherwise: the code of values that the model has never seen; None where it refuses them.
        tests: the tests of the new trees.
    """

    given: Mapping[str, float]
    kept: frozenset[str]
    otherwise: float | None
    tests: Sequence[Split]

    def ways(self, code: float) -> tuple[bool, ...]:
        return tuple(test.low(code) for test in self.tests)

    def asked(self, otherwise: float) -> set[str]:
        """The values that some test parts from unseen ones, whose code is `otherwise`."""
        unseen = self.ways(otherwise)
        return {value for value in self.kept if self.ways(self.given[value]) != unseen}


def forget_idle_categories(objects: Iterable[Any], before: ModelIR, model: ModelIR) -> None:
    """Put one word in place of each text in encoders that the model's tests treat as a value never seen.

    Where an encoder refuses unseen values, it takes them now as the model takes the texts that are gone.

    Args:
        objects: the fitted objects of the file to be written.
        before: the model of the original file, whose encoders they are.
        model: the model with the new trees, over features of the original.

    Raises:
        ReleaseError: the model takes unseen values as no such encoder does.
    """
    uses = _uses(before, model)
    for each in objects:
        if type(each).__name__ not in ENCODERS or "categories_" not in vars(each):
            continue
        lists = [_texts(categories) for categories in each.categories_]
        own = [None if texts is None else uses.get(frozenset(texts)) for texts in lists]
        if type(each).__name__ == "OneHotEncoder":
            _forget_one_hot(each, lists, own)
        else:
            _forget_ordinal(each, lists, own)


def _uses(before: ModelIR, model: ModelIR) -> dict[frozenset[str], list[_Use]]:
    """How tests ask about features of each list of categories; lists that two columns have are left out."""
    columns: dict[frozenset[str], set[str]] = {}
    found: dict[frozenset[str], list[_Use]] = {}
    own = dict(zip(model.features, model.given_origins, strict=True))
    position = {name: i for i, name in enumerate(model.features)}
    for name, origin in zip(before.features, before.given_origins, strict=True):
        if not isinstance(origin, CategoryCodes):
            continue
        key = frozenset(origin.codes)
        columns.setdefault(key, set()).add(origin.column)
        found.setdefault(key, [])
        tests = _tests(model, position[name]) if name in position else []
        new = own.get(name)
        if not tests or not isinstance(new, CategoryCodes):
            continue
        otherwise = new.otherwise
        if otherwise is None and isinstance(origin.codes, OneHot):
            otherwise = origin.codes.off
        found[key].append(_Use(origin.codes, _kept(origin, new), otherwise, tests))
    return {key: each for key, each in found.items() if len(columns[key]) == 1}


def _kept(origin: CategoryCodes, new: CategoryCodes) -> frozenset[str]:
    """The values of the original that the new one has too, maybe as the number that they are, and what fills gaps."""
    numbers = {parse_number(value) for value in new.codes} - {math.nan}
    named = {*new.codes, origin.fill_value}
    return frozenset(value for value in origin.codes if value in named or parse_number(value) in numbers)


def _tests(model: ModelIR, feature: int) -> list[Split]:
    """The different tests of one feature."""
    nodes = ((tree, np.flatnonzero(tree.feature == feature)) for tree in model.trees)
    return sorted({asked for tree, own in nodes for _, asked in splits_in(tree, own)}, key=repr)


def _texts(categories: Any) -> list[str] | None:
    """Categories that are texts but for a missing one; None for numbers, which are looked up by their order."""
    array = np.asarray(categories)
    if array.dtype.kind not in "OU":
        return None
    texts = [value for value in array.tolist() if isinstance(value, str)]
    others = [value for value in array.tolist() if not isinstance(value, str)]
    return texts if all(value is None or value != value for value in others) else None


def _forget_one_hot(encoder: Any, lists: Sequence[list[str] | None], uses: Sequence[list[_Use] | None]) -> None:
    """The same for an encoder that gives none of its features to unseen values, or the group of the rare ones."""
    for i, (texts, own) in enumerate(zip(lists, uses, strict=True)):
        if texts is None or own is None:
            continue
        asked = set[str]()
        for use in own:
            assert use.otherwise is not None
            is_off = use.otherwise in use.given.values() and use.otherwise == _off(use.given)
            if encoder.handle_unknown == "error" and not is_off:
                raise ReleaseError("takes unseen values for one of an encoder's", place="skops file", remedy=REMEDY)
            asked |= use.asked(use.otherwise)
        if _forget(encoder, i, asked):
            encoder.drop = None  # the features that it drops are known; with the setting it warns of each unseen value
            encoder.handle_unknown = "ignore" if encoder.handle_unknown == "error" else encoder.handle_unknown


def _off(codes: Mapping[str, float]) -> float | None:
    return codes.off if isinstance(codes, OneHot) else None


def _forget_ordinal(encoder: Any, lists: Sequence[list[str] | None], uses: Sequence[list[_Use] | None]) -> None:
    """The same for an encoder that gives unseen values one number, whatever their column."""
    grouped = getattr(encoder, "_default_to_infrequent_mappings", None)
    if grouped is not None and any(mapping is not None for mapping in grouped):
        return  # the codes are positions of groups
    known = [
        (i, texts, own) for i, (texts, own) in enumerate(zip(lists, uses, strict=True)) if texts and own is not None
    ]
    number = _unknown_number(known) if encoder.handle_unknown == "error" else None
    if number is not None:
        known = [(i, texts, own) for i, texts, own in known if number < len(texts)]
    gone = False
    for i, texts, own in known:
        asked = set[str]()
        for use in own:
            otherwise = use.otherwise if number is None else use.given[texts[number]]
            if otherwise is None:
                return
            asked |= use.asked(otherwise)
        gone |= _forget(encoder, i, asked)
    if number is not None and gone:
        encoder.handle_unknown, encoder.unknown_value = "use_encoded_value", number


def _unknown_number(known: Sequence[tuple[int, list[str], list[_Use]]]) -> int | None:
    """The position among the categories of each column that unseen values shall have.

    It is the one that merged values have, or that with which the fewest texts stay; None where there is no column.
    """
    fixed = {
        texts.index(value)
        for _, texts, own in known
        for use in own
        if use.otherwise is not None
        for value in texts
        if use.given[value] == use.otherwise
    }
    if len(fixed) > 1:
        raise ReleaseError("takes unseen values of columns for different positions", place="skops file", remedy=REMEDY)
    if fixed:
        return fixed.pop()

    def stays(number: int) -> int:
        return sum(
            len(set().union(*(use.asked(use.given[texts[number]]) for use in own)))
            if number < len(texts)
            else len(texts)
            for _, texts, own in known
        )

    longest = max((len(texts) for _, texts, _ in known), default=0)
    return min(range(longest), key=stays, default=None)


def _forget(encoder: Any, column: int, asked: set[str]) -> bool:
    """Put the word in place of texts that are not asked about; whether there was any."""
    categories = np.array(encoder.categories_[column], dtype=object)
    idle = np.array([isinstance(value, str) and value not in asked for value in categories.tolist()])
    if not idle.any():
        return False
    categories[idle] = IDLE_CATEGORY
    encoder.categories_ = [categories if i == column else each for i, each in enumerate(encoder.categories_)]
    encoder.categories = "auto"
    return True
