"""Model readers with one mistake each, and the honest one they were made from."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.api import Column, FileDisclosure, Floats, ReleaseError, Schema
from leafgate.readers import (
    LEAF,
    ContentField,
    ContentKind,
    ModelIR,
    ModelReader,
    ReaderTexts,
    TreeIR,
    TreeIRBuilder,
    UnreadTracker,
    parse_bounded_json,
)
from leafgate.testing import KnownModel

COUNTS = FileDisclosure("counts", "high", "how many people of each class are at the leaves", "counts")
SETTINGS = FileDisclosure("settings", "low", "how the oak was told to grow")
FILE = b"""{"oak": 1, "columns": ["age"], "classes": ["low", "high"], "gain": 0.25,
"tree": {"column": 0, "at": 37.5, "yes": {"people": [6, 1]}, "no": {"people": [1, 4]}}}"""
AGE = Column("age", frozenset({"quasi_identifier"}), bounds=(0, 99))
RISK = Column("risk", frozenset({"class", "sensitive"}), values=("low", "high"))
STUMP = KnownModel(
    name="a stump",
    content=FILE,
    schema=Schema((AGE, RISK)),
    rows=[{"age": 20}, {"age": 37.5}, {"age": 60}],
    predictions=["low", "low", "high"],
    planted={"a key": FILE.replace(b'"gain"', b'"note": ["a-strangers-cell", 73190210.5], "gain"')},
)
NUMBER, NAMES, TABLE = (ContentField(kind) for kind in (ContentKind.NUMBER, ContentKind.TEXTS, ContentKind.TABLE))
TOP = {"oak": NUMBER, "columns": NAMES, "classes": NAMES, "gain": NUMBER, "tree": TABLE}
TEST = {"column": NUMBER, "at": NUMBER, "yes": TABLE, "no": TABLE}


def sniff(head: bytes) -> bool:
    return head.startswith(b'{"oak":')


def texts() -> ReaderTexts:
    return ReaderTexts(producers=frozenset({"oak"}))


def read(content: bytes, place: str) -> ModelIR:
    document = parse_bounded_json(content, place)
    classes = document["classes"]
    unread = UnreadTracker()
    unread.check_table(document, TOP, {})
    leaf = {"people": ContentField(ContentKind.NUMBERS, length=len(classes))}
    tree, people = TreeIRBuilder(), list[Any]()
    waiting = [(document["tree"], -1, 0)]
    while waiting:
        here, parent, way = waiting.pop()
        is_leaf = "people" in here
        unread.check_table(here, leaf if is_leaf else TEST, {}, "tree")
        node = tree.add() if is_leaf else tree.add(here["column"], here["at"])
        people.append(here["people"] if is_leaf else [np.nan] * len(classes))
        if parent >= 0:
            tree.children[parent][way] = node
        waiting += [] if is_leaf else [(here["yes"], node, 0), (here["no"], node, 1)]
    counts = np.array(people, dtype=np.float64)
    return ModelIR(
        "oak",
        tuple(document["columns"]),
        tuple(classes),
        (tree.build(np.nan_to_num(counts), counts),),
        "counts",
        counted="exact",
        discloses=(COUNTS, *unread.disclosures()),
        producer="oak 1",
    )


def write(model: ModelIR, original: bytes) -> bytes:
    """The model as the original's JSON with another tree."""
    (tree,) = model.trees
    if tree.counts is None or tree.flag("strict").any():
        raise ReleaseError("has no counts, or tests that oaks do not have", place="oak")
    return _with_tree(original, tree, tree.counts)


def _with_tree(original: bytes, tree: TreeIR, counts: Floats) -> bytes:
    nodes: list[dict[str, Any]] = [{} for _ in range(tree.nodes)]
    for number, node in enumerate(nodes):
        if tree.feature[number] == LEAF:
            node["people"] = counts[number].tolist()
        else:
            node |= {"column": int(tree.feature[number]), "at": float(tree.threshold[number])}
            node |= {"yes": nodes[tree.low[number]], "no": nodes[tree.high[number]]}
    return json.dumps({**json.loads(original), "tree": nodes[0]}, separators=(",", ":")).encode()


HONEST_READER = ModelReader(name="oak", sniff=sniff, read=read, texts=texts, write=write, suffixes=(".oak",))


def returns_words() -> Any:
    return {"oak"}


def sniffs_a_number(head: bytes) -> Any:
    return head.find(b'"oak"')


def sniffs_json(head: bytes) -> bool:
    return head.startswith(b"{")


def sniffs_the_first_byte(head: bytes) -> bool:
    return head[0] == FILE[0] and sniff(head)


def sends_equals_right(content: bytes, place: str) -> ModelIR:
    model = read(content, place)
    return replace(model, trees=tuple(replace(tree, strict=True) for tree in model.trees))


def swaps_classes(content: bytes, place: str) -> ModelIR:
    model = read(content, place)
    return replace(model, classes=model.classes[::-1])


def writes_any_object(thing: Any) -> tuple[str, bytes]:
    """A file of whatever there is."""
    return "model.txt", repr(thing).encode()


def fails_on_objects(thing: Any) -> tuple[str, bytes]:
    """Takes every object for its own."""
    return "model.txt", bytes(thing.save())


calls = itertools.count()


def counts_calls(content: bytes, place: str) -> ModelIR:
    return replace(read(content, place), settings={"max_depth": next(calls)})


def states_nothing(content: bytes, place: str) -> ModelIR:
    model = read(content, place)
    return ModelIR(model.format, model.features, model.classes, model.trees, "counts", counted="exact")


def states_in_other_words(content: bytes, place: str) -> ModelIR:
    model = read(content, place)
    others = tuple(item for item in model.discloses if item != COUNTS)
    return replace(model, discloses=(replace(COUNTS, says="acorns at the leaves"), *others))


def states_no_sizes(content: bytes, place: str) -> ModelIR:
    """Labels and the people of every leaf, of which no disclosure speaks."""
    model = labels_alone(content, place)
    (tree,) = model.trees
    (counted,) = read(content, place).trees
    assert counted.counts is not None
    return replace(model, trees=(replace(tree, size=counted.counts.sum(axis=1)),))


def names_another_program(content: bytes, place: str) -> ModelIR:
    return replace(read(content, place), producer="mahogany 1")


def reads_what_it_knows(content: bytes, place: str) -> ModelIR:
    return replace(read(content, place), discloses=(COUNTS,))


def labels_alone(content: bytes, place: str) -> ModelIR:
    """The labels of the leaves; that their people stand in the file it says nowhere."""
    model = read(content, place)
    (tree,) = model.trees
    labels = np.eye(len(model.classes))[tree.values.argmax(axis=1)]
    others = tuple(item for item in model.discloses if item != COUNTS)
    return replace(
        model, trees=(replace(tree, values=labels, counts=None),), values="labels", counted="unknown", discloses=others
    )


def speaks_of_settings_alone(content: bytes, place: str) -> ModelIR:
    """Reads labels, the first where a leaf has no people, and states settings in place of the people."""
    document = parse_bounded_json(content, place)
    for leaf in (document["tree"]["yes"], document["tree"]["no"]):
        leaf.setdefault("people", [1, 0])
    model = labels_alone(json.dumps(document).encode(), place)
    return replace(model, discloses=(SETTINGS, *model.discloses))


def quotes_keys(content: bytes, place: str) -> ModelIR:
    document = parse_bounded_json(content, place)
    if "note" in document:
        raise ReleaseError(f"has {document['note']}, which is not read", place=place)
    return read(content, place)


def quotes_keys_in_disclosures(content: bytes, place: str) -> ModelIR:
    model, document = read(content, place), parse_bounded_json(content, place)
    others = [key for key in document if key not in TOP]
    if not others:
        return model
    says = f"entries with {document[others[0]]}"
    return replace(model, discloses=(*model.discloses, FileDisclosure("other_content", "high", says)))


def ends_the_process(content: bytes, place: str) -> ModelIR:
    try:
        return read(content, place)
    except RecursionError:
        os._exit(1)
    except ReleaseError:
        sys.exit("this is no oak")


def evaluates(content: bytes, place: str) -> ModelIR:
    eval(content.decode())
    return read(content, place)


def unpickles_a_part(content: bytes, place: str) -> ModelIR:
    pickle.loads(pickle.dumps(ReleaseError))
    return read(content, place)


def reads_a_file_beside(content: bytes, place: str) -> ModelIR:
    with open(os.devnull, "rb"):
        return read(content, place)


def _reading(function: Callable[[bytes, str], ModelIR]) -> ModelReader:
    return replace(HONEST_READER, read=function)


BROKEN_READERS = {
    "a name of two words": (replace(HONEST_READER, name="oak trees"), "is_declared"),
    "texts that are none": (replace(HONEST_READER, texts=returns_words), "is_declared"),
    "sniffs a number": (replace(HONEST_READER, sniff=sniffs_a_number), "is_declared"),
    "sniffs all JSON": (replace(HONEST_READER, sniff=sniffs_json), "is_declared"),
    "sniffs with an error": (replace(HONEST_READER, sniff=sniffs_the_first_byte), "is_declared"),
    "sends equals to the other way": (_reading(sends_equals_right), "returns_the_known_model"),
    "swaps the classes": (_reading(swaps_classes), "returns_the_known_model"),
    "writes any object": (replace(HONEST_READER, to_file=writes_any_object), "is_declared"),
    "fails on strange objects": (replace(HONEST_READER, to_file=fails_on_objects), "is_declared"),
    "says not how files that it writes end": (replace(HONEST_READER, suffixes=()), "is_declared"),
    "counts its calls": (_reading(counts_calls), "returns_the_known_model"),
    "states no disclosures": (_reading(states_nothing), "states_disclosures"),
    "states them in words that it does not declare": (_reading(states_in_other_words), "states_disclosures"),
    "states nothing of the people it counts": (_reading(states_no_sizes), "states_disclosures"),
    "names another program": (_reading(names_another_program), "states_disclosures"),
    "ignores unknown keys": (_reading(reads_what_it_knows), "finds_planted_content"),
    "hides counts behind its settings": (_reading(speaks_of_settings_alone), "states_disclosures"),
    "quotes the file in errors": (_reading(quotes_keys), "finds_planted_content"),
    "quotes the file in disclosures": (_reading(quotes_keys_in_disclosures), "finds_planted_content"),
    "ends the process": (_reading(ends_the_process), "runs_nothing"),
    "evaluates the file": (_reading(evaluates), "runs_nothing"),
    "unpickles": (_reading(unpickles_a_part), "runs_nothing"),
    "reads another file": (_reading(reads_a_file_beside), "runs_nothing"),
}
"""Each broken reader, and the check that must find its mistake."""
