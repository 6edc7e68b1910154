"""What stands in a PMML document where the standard has short words and numbers, or fields that are asked about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from leafgate.disclosed import SIGNS
from leafgate.foreign.pmml.xml import name_of, named

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

WORD, NUMBER, NAME = re.compile(r"[A-Za-z-]{0,30}"), re.compile(r"[-+.\deE]{0,24}"), re.compile(r"[\w .:()/-]{0,60}")
PLACES = re.compile(r"(https?://[\w./:-]{1,60}\s*){0,2}")
WORDS = """
    functionName missingValueStrategy noTrueChildStrategy optype dataType usageType outliers missingValueTreatment
    invalidValueTreatment splitCharacteristic isScorable property feature multipleModelMethod missingPredictionTreatment
    booleanOperator operator type ruleFeature isFinalResult
"""
NUMBERS = "missingValuePenalty isCyclic numberOfFields missingThreshold weight n rank version"
KINDS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(WORDS.split(), WORD),
    **dict.fromkeys(NUMBERS.split(), NUMBER),
    **dict.fromkeys(("modelName", "algorithmName", "displayName"), NAME),
    "schemaLocation": PLACES,
}
"""Attributes that nobody reads, or that are a choice among words, and what they look like."""

SPACES = re.compile(rb"""xmlns(:[\w.-]*)?\s*=\s*("[^"]*"|'[^']*')""")
SPACE = re.compile(rb".(http://www\.dmg\.org/PMML-\d_\d(_\d)?|http://www\.w3\.org/2001/XMLSchema(-instance)?).")
PREFIX = 12
"""Signs of the longest prefix of a namespace, its colon among them."""

NUMBERED = re.compile(r"[A-Za-z_-]{0,8}(\d{1,15})")
"""What nodes and segments are called."""


def odd(root: Element, content: bytes, asked: Collection[str]) -> Iterator[tuple[str, int]]:
    """Longer texts than belong there, values of fields that nobody asks about, what is said twice."""
    for each in root.iter():
        name = name_of(each)
        for key, value in each.attrib.items():
            kind = KINDS.get(key.rpartition("}")[2])
            if kind is not None and not kind.fullmatch(value) and (name, key) != ("Application", "version"):
                yield f"{name[:40]}'s {key.rpartition('}')[2]}", 1 + len(value) // SIGNS
        if name in {"Node", "Segmentation"}:
            yield from _twice(each)
        if name == "SimplePredicate" and each.get("operator") in {"isMissing", "isNotMissing"} and each.get("value"):
            yield "a value that nothing is compared with", 1 + len(each.get("value", "")) // SIGNS
        if name in {"Application", "Timestamp"}:
            told = (each.text or "") if name == "Timestamp" else each.get("name", "") + each.get("version", "")
            if not NAME.fullmatch(told.strip()):
                yield name, 1 + len(told) // SIGNS
    yield from _numbers_of_nodes(root)
    yield from _fields(root, asked)
    plain = content.replace(b"\0", b"")
    for prefix, place in SPACES.findall(plain):
        if len(prefix) > PREFIX or not SPACE.fullmatch(place):
            yield "a namespace that is none of PMML's", 1 + len(prefix + place) // SIGNS


def unused(root: Element, asked: Collection[str]) -> int:
    """How many fields are declared that no test asks about."""
    told = (field.get("name", "") for dictionary in named(root, "DataDictionary") for field in dictionary)
    return len({name for name in told if name and name not in asked})


def _fields(root: Element, asked: Collection[str]) -> Iterator[tuple[str, int]]:
    """Values of fields that are not asked about, or that no valid cell has, and names of fields there are not."""
    there = set[str]()
    for dictionary in named(root, "DataDictionary"):
        for field in named(dictionary, "DataField"):
            there.add(field.get("name", ""))
            idle = field.get("name") not in asked
            values = [v for v in named(field, "Value") if idle or v.get("property", "valid") != "valid"]
            if values:
                yield "values of a field that no test asks about", sum(1 + _signs(value) // SIGNS for value in values)
    for each in root.iter():
        name = each.get("name", "")
        if name_of(each) == "MiningField" and name not in there:
            yield "a field that is not declared", 1 + len(name) // SIGNS
        if name_of(each) == "OutputField" and _signs(each) > 150:
            yield "a long OutputField", 1 + _signs(each) // SIGNS


def _signs(element: Element) -> int:
    return sum(len(value) for value in element.attrib.values())


def _twice(element: Element) -> Iterator[tuple[str, int]]:
    """Distributions of one class that stand twice at a node: the last one counts."""
    told = [each.get("value") for each in named(element, "ScoreDistribution")]
    if len(set(told)) < len(told):
        yield "a ScoreDistribution that another replaces", len(told) - len(set(told))


def _numbers_of_nodes(root: Element) -> Iterator[tuple[str, int]]:
    """Names of nodes and segments that are no running numbers, nor those of a tree whose children are 2i and 2i+1."""
    nodes = [each for each in root.iter() if name_of(each) in {"Node", "Segment"}]
    most = 4 * len(nodes) + 16
    above = {child: each for each in nodes for child in each}
    for each in nodes:
        told = each.get("id")
        if told is None or ((mine := _number(told)) is not None and mine <= most):
            continue
        parent = above.get(each)
        halved = None if parent is None else _number(parent.get("id", ""))
        if mine is None or halved is None or mine // 2 != halved:
            yield f"a {name_of(each)}'s id", 1 + len(told) // SIGNS


def _number(told: str) -> int | None:
    found = NUMBERED.fullmatch(told)
    return None if found is None or not told.isascii() else int(found[1])
