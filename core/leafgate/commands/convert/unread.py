"""Content of a neutral file that is not part of the model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from leafgate import readers
from leafgate.commands.convert import FOREIGN_REASON
from leafgate.ir.features import distinct_names, known_by
from leafgate.ir.model import FLAGS
from leafgate.ir.unread import has_known_words
from leafgate.kernel.release import ADDED_UP
from leafgate.models.lowering.content import STAND_INS

SHORT = {"from": 40, "producer": 100, "untold_missing": 300}
KIND, SAYS, SETTING, NAME = 60, 300, 40, 200
"""Signs of the longest text: the kind of a disclosure, what it says, a setting, the name of a feature or class."""


MAX_DISCLOSURES = 60
"""Disclosures that a file may list: there are not as many kinds."""


def unread_content(
    document: Mapping[str, Any], model: readers.ModelIR, known: readers.Vocabulary
) -> readers.UnreadTracker:
    """What the file contains besides the model that was read from it."""
    tracker = readers.UnreadTracker()
    _check_lengths(tracker, document, model)
    for key, text in (("`producer`", model.producer), ("`from`", model.format)):
        if not has_known_words(text, known.producers):
            tracker.check_texts(key, [text])
    tracker.check_texts("`settings`", [value for value in model.settings.values() if isinstance(value, str)])
    _check_origins(tracker, document, model)
    items = document["discloses"]
    if _differ(items, "says", [item.says for item in model.discloses]) or _differ(
        items, "kind", [item.kind for item in model.discloses]
    ):
        tracker.add("`discloses` in words that leafgate does not write", readers.MANY_NUMBERS)
    idle_base = 0 if model.combine in ADDED_UP or not model.classes else len(model.base)
    if numbers := idle_base + sum(map(_unused_numbers, model.trees)) + sum(_not_labels(model)):
        tracker.add("numbers of nodes that nobody reads", numbers)
    # how a feature that no test reads is made of its column
    pairs = zip(model.origins or (), with_plain_unused(model).origins or (), strict=True)
    both = (zip_longest(_numbers_of(one), _numbers_of(plain)) for one, plain in pairs if one is not plain)
    if numbers := sum(number != other and not math.isnan(number) for each in both for number, other in each):
        tracker.add("numbers of features that no test asks about", numbers)
    return tracker


def _check_lengths(tracker: readers.UnreadTracker, document: Mapping[str, Any], model: readers.ModelIR) -> None:
    """Check that no text, and no list of disclosures, is longer than leafgate writes it."""
    texts = [(key, document.get(key, ""), most) for key, most in SHORT.items()]
    texts += [("settings", value, SETTING) for value in model.settings.values() if isinstance(value, str)]
    texts += [(key, name, NAME) for key in ("features", "classes") for name in document[key]]
    texts += [("origins", one.why, SAYS) for one in model.origins or () if isinstance(one, readers.Unresolved)]
    for item in model.discloses:
        texts += [("discloses", item.kind, KIND), ("discloses", item.says, SAYS)]
    for key, text, most in texts:
        if len(text) > most:
            tracker.add(f"a long text in `{key}`", 1 + len(text) // readers.LETTERS_PER_NUMBER)
    if len(model.discloses) > MAX_DISCLOSURES:
        tracker.add(
            "a long list in `discloses`",
            sum(1 + len(item.says) // readers.LETTERS_PER_NUMBER for item in model.discloses),
        )


def _check_origins(tracker: readers.UnreadTracker, document: Mapping[str, Any], model: readers.ModelIR) -> None:
    """Check reasons that leafgate does not give, and names of features besides their columns."""
    origins = model.given_origins
    reasons = [one.why if isinstance(one, readers.Unresolved) else "" for one in origins]
    changed = _differ(document.get("origins") or (), "why", reasons)
    if changed or document.get("untold_missing", "") != model.unspecified_missing:
        tracker.add("reasons that leafgate does not give", readers.MANY_NUMBERS)
    if model.unspecified_missing_features.difference(model.columns):
        tracker.add_text("columns of `untold_of` that no feature is of", *model.unspecified_missing_features)
    coded = [one for one in origins if isinstance(one, readers.CategoryCodes)]
    fills = {one.fill_value for one in coded} - STAND_INS
    tracker.check_texts("`stand_in` that is no value", (text for text in fills if not NUMBER.fullmatch(text)))
    besides = [_besides(model.features[i], one, i).strip() for i, one in enumerate(origins) if one is not None]
    tracker.check_texts("names of features that are of no column", filter(LETTER.search, besides))


def _differ(items: Iterable[Any], key: str, read: Iterable[str]) -> bool:
    """Whether an item holds something else under this key than what was read, as leafgate does not write it."""
    entries = [item.get(key, "") if isinstance(item, Mapping) else "" for item in items]
    return any(entry != text for entry, text in zip(entries, read, strict=False))


def _besides(name: str, origin: readers.Origin, position: int) -> str:
    """What a feature's name has besides its column, of a coded one a value, and of one of several its position."""
    name = name.removesuffix(f" ({position})")
    for column in filter(None, (origin.column, re.sub(r"\W", "_", origin.column))):
        if column in name:
            name = name.replace(column, "", 1)
            break
    if isinstance(origin, readers.CategoryCodes):
        values = sorted({*known_by(origin), origin.fill_value}, key=len, reverse=True)
        name = FRACTION.sub("", next((name.replace(value, "", 1) for value in values if value and value in name), name))
    return name


def known_reason(reason: str, names: Iterable[str], known: readers.Vocabulary) -> str:
    """The reason why something is unknown, if a reader of leafgate may give it for columns of these `names`."""
    plain = reason
    for name in names:
        plain = plain.replace(repr(name), "")
    lines = re.split("[:,;]", plain)
    return reason if all(has_known_words(line, known.reasons) for line in lines) else FOREIGN_REASON


def plainly_named(model: readers.ModelIR) -> readers.ModelIR:
    """The model with features named by their columns, and no stand-ins of gaps, where other texts name them."""
    if model.origins is None:
        return model
    names, origins = list(model.features), list(model.origins)
    for place, one in enumerate(model.origins):
        if one is not None and LETTER.search(_besides(names[place], one, place)):
            names[place] = one.column
        if isinstance(one, readers.CategoryCodes) and _is_unknown_stand_in(one):
            origins[place] = replace(one, fill_value="")
    return replace(model, features=distinct_names(names), origins=tuple(origins))


LETTER = re.compile(r"[^\W_]")
"""A letter or a digit: what stands between a column and a value is neither."""

FRACTION = re.compile(r"_-?[0-9]{1,6}\.[0-9]{1,20}( \([0-9]{1,6}\))?$")
"""Ends of names that one-hot encoders give dummies of scaled numbers, with a place where two are alike."""

NUMBER = re.compile(r"-?[0-9.]{1,24}(e-?[0-9]{1,3})?")


def _is_unknown_stand_in(one: readers.CategoryCodes) -> bool:
    """Is it neither a value, nor a number as imputers make them, nor a word for gaps?"""
    known = one.fill_value in one.codes or one.fill_value in STAND_INS or NUMBER.fullmatch(one.fill_value)
    return not known


def _unused_numbers(tree: readers.TreeIR) -> int:
    """How many numbers stand where nodes have none: children of leaves, and how leaves compare, if not all alike."""
    leaf = tree.feature == readers.LEAF
    below = (((tree.low != readers.LEAF) | (tree.high != readers.LEAF)) & leaf).sum()
    flags = (tree.flag(name)[leaf] for name in FLAGS)
    return int(below + sum(each.sum() for each in flags if not each.all()))


def _not_labels(model: readers.ModelIR) -> Iterator[int]:
    """How many leaves of each tree that have labels hold something else than 1 for a class."""
    for tree in model.trees if model.values == "labels" else ():
        values = tree.values[tree.leaves]
        yield int(((values != 0) & (values != 1)).any(axis=1).sum() + (np.count_nonzero(values, axis=1) > 1).sum())


def with_plain_unused(model: readers.ModelIR) -> readers.ModelIR:
    """The model without the numbers that make a feature of a column where no test reads the feature.

    The values of an encoder stay, and positions as their codes.
    """
    if model.origins is None:
        return model
    origins = (one if feature in model.asked else _plain(one) for feature, one in enumerate(model.origins))
    return replace(model, origins=tuple(origins))


def _plain(origin: readers.Origin | None) -> readers.Origin | None:
    match origin:
        case readers.Numeric():
            return readers.Numeric(origin.column)
        case readers.MissingIndicator():
            return readers.MissingIndicator(origin.column)
        case readers.CategoryCodes(codes=readers.OneHot() as hot):
            codes: Mapping[str, float] = replace(hot, on=1.0, off=0.0)
        case readers.CategoryCodes():
            places = enumerate(origin.codes.items())
            codes = {value: _position(code, len(origin.codes), float(place)) for place, (value, code) in places}
        case _:
            return origin
    n = len(codes)
    others = [None if one is None else _position(one, n, math.nan) for one in (origin.otherwise, origin.missing)]
    return replace(origin, codes=codes, otherwise=others[0], missing=others[1])


def _position(code: float, n: int, instead: float) -> float:
    """The code where it is a position among n values, or -1; else what stands in its place."""
    return code if code in range(-1, n + 1) else instead


def _numbers_of(origin: readers.Origin | None) -> list[float]:
    """The numbers that make a feature of a column: as many of each kind of origin, but for the steps at their end."""
    match origin:
        case readers.Numeric():
            return [math.nan if origin.fill is None else origin.fill, *(step.by for step in origin.steps)]
        case readers.MissingIndicator():
            return [origin.there, origin.gone]
        case readers.CategoryCodes(codes=readers.OneHot() as hot):
            numbers = [hot.on, hot.off]
        case readers.CategoryCodes():
            numbers = list(origin.codes.values())
        case _:
            return []
    return [*(math.nan if each is None else each for each in (origin.otherwise, origin.missing)), *numbers]
