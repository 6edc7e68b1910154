"""What of a neutral file nobody needs: longer texts than it has, and numbers where nothing is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.disclosed import PEOPLE, SIGNS, Disclosure, has_known_words, other_content, text_size, unread_texts
from leafgate.foreign.categories import STAND_INS
from leafgate.foreign.model import LEAF, Foreign, ForeignTree
from leafgate.foreign.onnx.left import WORDS as ONNX_WORDS
from leafgate.foreign.origins import Coded, Origin, Unknown, distinct, known_by
from leafgate.foreign.pmml.odd import TEXT_WORDS as PMML_WORDS
from leafgate.foreign.sklearn.left import WORDS as SKLEARN_WORDS

SHORT = {"from": 40, "producer": 100, "untold_missing": 300}
KIND, SAYS, SETTING, NAME = 60, 300, 40, 200
"""Signs of the longest text: the kind of a disclosure, what it says, a setting, the name of a feature or class."""

PRODUCERS = "scrubbed by hand in memory onnx lightgbm version by weka j rpart r skops a program that is not known here"
PRODUCER_WORDS = SKLEARN_WORDS | ONNX_WORDS | PMML_WORDS | set(PRODUCERS.split())
"""Words of what readers call the program that wrote a file."""

REASONS = """
j48 then takes every way each for a part of the person by numbers that the print-out does not tell
its has fills with what is no number of double precision categories that are neither all texts nor all numbers
give codes their positions takes not every number that may have
is made by a function which is not run here
may be what one of the file's lists of categories (pandas_categorical) is of and the file does not say which
give codes its values' positions in that list or {} if it is a number itself
the onnx file does not say what becomes of its missing cells
the model predicts nothing for those
the model weighs several leaves for those (aggregateNodes weightedConfidence) which is not read
the print-out leaves out the surrogate splits that decide where they go
was held against no table before the counts went that could show it to be a code of the model's own
its file gives a reason in words that leafgate does not write
"""
REASON_WORDS = SKLEARN_WORDS | set(re.findall("[a-z]+", re.sub("([A-Z])", r" \1", REASONS).lower()))
"""Words of what readers say where missing cells, or a feature, cannot be read."""

FOREIGN_REASON = "its file gives a reason in words that leafgate does not write"
PREFIXES = "cats code dummy eq gt if in is le lt nan onehot text value"
PREFIX_WORDS = SKLEARN_WORDS | set(PREFIXES.split())
"""Words in names of features besides columns and values: names of a pipeline's steps, and what encoders add."""

ITEMS = 60
"""Disclosures that a file may list: there are not as many kinds."""


def left(told: Mapping[str, Any], model: Foreign) -> tuple[Disclosure, ...]:
    """What the file tells besides the model."""
    return other_content([*_texts(told, model), *_free_texts(told, model), *_tables(told), *_numbers(model)])


def known_reason(reason: str, names: Iterable[str]) -> str:
    """Why something is not told, where a reader of leafgate may have said so of columns of these `names`."""
    plain = reason
    for name in names:
        plain = plain.replace(repr(name), "")
    lines = re.split("[:,;]", plain)
    return reason if all(has_known_words(line, REASON_WORDS) for line in lines) else FOREIGN_REASON


def without_strange_texts(model: Foreign) -> Foreign:
    """The model as reports may print it: the names of known programs, known words for settings."""
    producer = model.producer if has_known_words(model.producer, PRODUCER_WORDS) else "a program that is not known here"
    settings = {
        key: value
        for key, value in model.settings.items()
        if not isinstance(value, str) or has_known_words(value, SKLEARN_WORDS)
    }
    kind = model.format if has_known_words(model.format, PRODUCER_WORDS) else "unknown"
    return replace(model, format=kind, producer=producer, settings=settings)


def plainly_named(model: Foreign) -> Foreign:
    """The model with features named by their columns, and no stand-ins of gaps, where other texts name them."""
    if model.origins is None:
        return model
    names, origins = list(model.features), list(model.origins)
    for place, one in enumerate(model.origins):
        if one is not None and not has_known_words(_besides(names[place], one), PREFIX_WORDS):
            names[place] = one.column
        if isinstance(one, Coded) and _strange_stand_in(one):
            origins[place] = replace(one, stand_in="")
    return replace(model, features=distinct(names), origins=tuple(origins))


FRACTION = re.compile(r"_-?[0-9]{1,6}\.[0-9]{1,20}( \([0-9]{1,6}\))?$")
"""Ends of names that one-hot encoders give dummies of scaled numbers, with a place where two are alike."""

NUMBER = re.compile(r"-?[0-9.]{1,24}(e-?[0-9]{1,3})?")


def _strange_stand_in(one: Coded) -> bool:
    """Is it neither a value, nor a number as imputers make them, nor a word for gaps?"""
    known = one.stand_in in one.codes or one.stand_in in STAND_INS or NUMBER.fullmatch(one.stand_in)
    return not (known or has_known_words(one.stand_in, SKLEARN_WORDS))


def _free_texts(told: Mapping[str, Any], model: Foreign) -> Iterator[tuple[str, int]]:
    """Texts that leafgate does not write: in names, reasons and disclosures."""
    yield from unread_texts("`producer`", [model.producer], PRODUCER_WORDS)
    yield from unread_texts("`from`", [model.format], PRODUCER_WORDS)
    settings = [value for value in model.settings.values() if isinstance(value, str)]
    yield from unread_texts("`settings`", settings, SKLEARN_WORDS)
    origins = model.origins or (None,) * len(model.features)
    whys = [one.why if isinstance(one, Unknown) else "" for one in origins]
    if told.get("untold_missing", "") != model.untold_missing or _differ(told.get("origins") or (), "why", whys):
        yield "reasons that leafgate does not give", PEOPLE
    said = [(told["discloses"], "says", [item.says for item in model.discloses])]
    said += [(told["discloses"], "kind", [item.kind for item in model.discloses])]
    if any(_differ(*each) for each in said):
        yield "`discloses` in words that leafgate does not write", PEOPLE
    columns = {name if one is None else one.column for name, one in zip(model.features, origins, strict=True)}
    if model.untold_of - columns:
        yield "columns of `untold_of` that no feature is of", text_size(*model.untold_of)
    stand_ins = [one.stand_in for one in origins if isinstance(one, Coded) and _strange_stand_in(one)]
    if stand_ins:
        yield "`stand_in` that is no value", text_size(*stand_ins)
    besides = {_besides(name, one) for name, one in zip(model.features, origins, strict=True) if one is not None}
    yield from unread_texts("names of features that are of no column", besides, PREFIX_WORDS)


def _differ(items: Iterable[Any], key: str, read: Iterable[str]) -> bool:
    """Does any item say something under this key that was read otherwise, as leafgate does not write it?"""
    told = [item.get(key, "") if isinstance(item, Mapping) else "" for item in items]
    return any(one != other for one, other in zip(told, read, strict=False))


def _besides(name: str, origin: Origin) -> str:
    """What a feature's name has besides its column and, of a coded one, a value."""
    for column in filter(None, (origin.column, re.sub(r"\W", "_", origin.column))):
        if column in name:
            name = name.replace(column, "", 1)
            break
    if isinstance(origin, Coded):
        values = sorted({*known_by(origin), origin.stand_in}, key=len, reverse=True)
        name = next((name.replace(value, "", 1) for value in values if value and value in name), name)
    return FRACTION.sub("", name)


def _texts(told: Mapping[str, Any], model: Foreign) -> Iterator[tuple[str, int]]:
    found = [(key, told.get(key, ""), most) for key, most in SHORT.items()]
    found += [("settings", value, SETTING) for value in model.settings.values() if isinstance(value, str)]
    found += [(key, name, NAME) for key in ("features", "classes") for name in told[key]]
    found += [("origins", one.why, SAYS) for one in model.origins or () if isinstance(one, Unknown)]
    for item in model.discloses:
        found += [("discloses", item.kind, KIND), ("discloses", item.says, SAYS)]
    yield from ((f"a long text in `{key}`", 1 + len(text) // SIGNS) for key, text, most in found if len(text) > most)
    if len(model.discloses) > ITEMS:
        yield "a long list in `discloses`", sum(1 + len(item.says) // SIGNS for item in model.discloses)


def _tables(told: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Groups of values that no origin refers to."""
    codes = [one.get("codes") for one in told.get("origins") or () if isinstance(one, dict)]
    used = {one[0] for one in codes if isinstance(one, list)}
    idle = [table for number, table in enumerate(told.get("groups", ())) if number not in used]
    if idle:
        yield "`groups` that no feature is of", sum(map(len, idle))


def _numbers(model: Foreign) -> Iterator[tuple[str, int]]:
    """Numbers of nodes that have none: thresholds of leaves and sets, what inner nodes say, children of leaves."""
    many = sum(_of_tree(tree) for tree in model.trees)
    if many:
        yield "numbers of nodes that nobody reads", many


def _of_tree(tree: ForeignTree) -> int:
    leaf = tree.feature == LEAF
    idle = leaf.copy()
    idle[[node for node in tree.subsets if 0 <= node < tree.nodes]] = True
    below = ((tree.low != LEAF) & leaf) | ((tree.high != LEAF) & leaf)
    says = np.isfinite(tree.says[~leaf]).any(axis=1)
    return int(np.isfinite(tree.threshold[idle]).sum() + says.sum() + below.sum())
