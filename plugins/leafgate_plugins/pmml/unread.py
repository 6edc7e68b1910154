"""Content of a PMML document that is not part of the model, or longer than the standard's words and numbers."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from leafgate.api import FileDisclosure
from leafgate.readers import MANY_NUMBERS, UnreadTracker, read_shape
from leafgate_plugins.pmml.xml import name_of, named

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

SHAPE = read_shape("leafgate_plugins.pmml")

ELEMENTS = SHAPE.tables
"""The elements that are read, or say what a reader is to do, each with its attributes."""

NAMES = {(name, key) for name, fields in ELEMENTS.items() for key, field in fields.items() if not field.words}
"""The attributes of elements that are names of columns, values or classes: the reader discloses them as such."""

STANDARD, PROGRAMS = SHAPE.words["standard"], SHAPE.words["programs"]
"""Elements of the standard that no reader of trees needs, and words of names of programs; reports print no others."""

DATE = re.compile(r"[\d:T.+Z/ -]{4,40}|[A-Za-z]{3,9},? [A-Za-z]{3,9} [\d: ]{5,20}([A-Z]{2,5} )?\d{4}")
"""A time in digits, or as Java and C write it."""

CASTS = ("double({})", "float({})", "double(float({}))", "float(double({}))")
"""Names that JPMML gives a field in another precision."""

FORMS = SHAPE.words["forms"].union(CASTS)
"""Names of outputs of a class or a field."""

SPACES = re.compile(rb"""xmlns(:[\w.-]*)?\s*=\s*("[^"]*"|'[^']*')""")
SPACE = re.compile(
    rb".(http://www\.dmg\.org/PMML-\d_\d(_\d)?|http://www\.w3\.org/2001/XMLSchema(-instance)?"
    rb"|http://jpmml\.org/jpmml-model/InlineTable)."
)
PREFIX = 12
"""Signs of the longest prefix of a namespace, its colon among them."""

NUMBERED = re.compile(r"[A-Za-z_-]{0,8}(\d{1,15})")
"""Identifiers of nodes and segments."""

TEXTS = {"Array", "Timestamp"}
"""Elements that hold a text."""

MANY = 1.0
"""A larger recordCount is of people; up to here it may be a share of them."""

LONG_OUTPUT = 150
"""Signs of all attributes of the longest OutputField."""


def unread_content(
    root: Element, content: bytes, counted: bool, asked: Collection[str] = ()
) -> tuple[list[FileDisclosure], frozenset[str]]:
    """What the document discloses besides the model, and its short texts.

    `counted` where the counts of its nodes are disclosed already; `asked` are the fields that tests read, and the
    one that is predicted.
    """
    intervals = sum(name_of(each) == "Interval" for each in root.iter())
    of_fields = sum(len(list(named(each, "Interval"))) for each in root.iter() if name_of(each) == "DataField")
    items = (field.get("name", "") for dictionary in named(root, "DataDictionary") for field in dictionary)
    parts = {
        "recordCount": not counted and _has_sizes(root),
        "Interval": 0 < intervals == of_fields,
        "Interval elsewhere": intervals != of_fields,
        "DataField": len({name for name in items if name and name not in asked}),
    }
    tracker = UnreadTracker()
    _check_elements(tracker, root)
    _check_bytes(tracker, content)
    _check_fields(tracker, root)
    _check_ids(tracker, root)
    return [*SHAPE.disclosed(parts), *tracker.disclosures()], tracker.texts


def _check_elements(tracker: UnreadTracker, root: Element) -> None:
    """Check elements, their attributes and texts; of an element that none knows, nothing inside is looked at."""
    names = _names(root)
    waiting = [root]
    while waiting:
        here = waiting.pop()
        name = name_of(here)
        if name not in ELEMENTS:
            tracker.add(name if name in STANDARD else "an element that PMML does not have", MANY_NUMBERS)
            continue
        tracker.check_table(here.attrib, ELEMENTS[name], {}, name, names)
        for text in (here.text if name not in TEXTS else None, *(child.tail for child in here)):
            if text and text.strip():
                tracker.add_text(f"text in {name}", text)
        if name == "Timestamp":
            text = (here.text or "").strip()
            if DATE.fullmatch(text):
                tracker.keep(text)
            else:
                tracker.check_texts(name, [text], names)
        if name == "OutputField" and sum(map(len, here.attrib.values())) > LONG_OUTPUT:
            tracker.add_text("a long OutputField", *here.attrib.values())
        if name == "SimplePredicate" and here.get("operator") in {"isMissing", "isNotMissing"} and here.get("value"):
            tracker.add_text("a value that nothing is compared with", here.get("value", ""))
        classes = [each.get("value") for each in named(here, "ScoreDistribution")]
        if len(set(classes)) < len(classes):  # the last one of a class counts
            tracker.add("a ScoreDistribution that another replaces", len(classes) - len(set(classes)))
        waiting.extend(here)


def _names(root: Element) -> frozenset[str]:
    """What fields, values and classes are called, alone or within the name of an output, as `probability(yes)`."""
    keys = ("name", "value", "score")
    items = {each.get(key, "") for each in root.iter() for key in keys if (name_of(each), key) in NAMES}
    return frozenset({*(form.format(name) for form in FORMS for name in items), *SHAPE.words["algorithms"]})


def _check_bytes(tracker: UnreadTracker, content: bytes) -> None:
    """Check what no parser keeps: comments, instructions, and namespaces that are none of PMML's."""
    plain = content.replace(b"\0", b"")
    for sign, end, name in ((b"<!--", b"-->", "a comment"), (b"<?", b"?>", "an instruction")):
        for part in plain.split(sign)[1:]:
            if not part.startswith(b"xml "):
                tracker.add_text(name, part.partition(end)[0])
    for prefix, place in SPACES.findall(plain):
        if len(prefix) > PREFIX or not SPACE.fullmatch(place):
            tracker.add_text("a namespace that is none of PMML's", prefix + place)


def _check_fields(tracker: UnreadTracker, root: Element) -> None:
    """Check values that no valid cell has, and names of undeclared fields."""
    declared = set[str]()
    for dictionary in named(root, "DataDictionary"):
        for field in named(dictionary, "DataField"):
            declared.add(field.get("name", ""))
            values = [(v.get("value", ""), v.get("property", "valid")) for v in named(field, "Value")]
            invalid = [value for value, kind in values if kind != "valid" and (value, kind) != ("NaN", "missing")]
            if invalid:
                tracker.add_text("values that no cell may have", *invalid)
    declared |= {form.format(name) for form in CASTS for name in declared}
    for each in root.iter():
        if name_of(each) == "MiningField" and each.get("name", "") not in declared:
            tracker.add_text("a field that is not declared", each.get("name", ""))


def _check_ids(tracker: UnreadTracker, root: Element) -> None:
    """Check that ids of nodes and segments are running numbers, or those of a tree whose children are 2i and 2i+1."""
    nodes = [each for each in root.iter() if name_of(each) in {"Node", "Segment"}]
    most = 4 * len(nodes) + 16
    parents = {child: each for each in nodes for child in each}
    for each in nodes:
        own = each.get("id")
        if own is None or ((number := _number(own)) is not None and number <= most):
            continue
        parent = parents.get(each)
        halved = None if parent is None else _number(parent.get("id", ""))
        if number is None or halved is None or number // 2 != halved:
            tracker.add_text(f"a {name_of(each)}'s id", own)


def _number(text: str) -> int | None:
    found = NUMBERED.fullmatch(text)
    return None if found is None or not text.isascii() else int(found[1])


def _has_sizes(root: Element) -> bool:
    """Whether a node below another has a count of people."""
    below = (child for each in root.iter() if name_of(each) == "Node" for child in each if name_of(child) == "Node")
    return any(_is_many(child.get("recordCount", "0")) for child in below)


def _is_many(text: str) -> bool:
    try:
        return float(text) > MANY
    except ValueError:
        return True
