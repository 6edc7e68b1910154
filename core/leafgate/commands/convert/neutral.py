"""The neutral file, `leafgate/model/1`: any model that could be read, as JSON over its own features.

`HEAD`, `LEAVES`, `ORIGIN_KEYS` and `SAMPLING` declare what stands under its keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from leafgate import readers
from leafgate.api import Combine, FileDisclosure, Floats, Mask, ReleaseError
from leafgate.commands.convert import FORMAT, SCRUBBED
from leafgate.commands.convert.unread import known_reason, unread_content, with_plain_unused
from leafgate.io.json import are_numbers, are_texts, canonical, is_number, list_at, object_at, one_of, refuse_unknown
from leafgate.io.release_codec import read_calibrated_sums, read_disclosure
from leafgate.ir.features import LookupPrecision
from leafgate.ir.model import FLAGS, LEARNER_SETTINGS
from leafgate.kernel.release import LATER_TREES, VALUE_COUNTS, Counted

ALWAYS = object()
"""Is no value: what always stands in a file."""

Read = Callable[[Any, str], Any]
"""Makes a value of what stands in a file (None where nothing does) and its place, or raises ReleaseError."""


@dataclass(frozen=True)
class Key:
    """What stands under a key of an object.

    Attributes:
        attribute: the attribute of the value that it is.
        read: makes the attribute of it.
        write: makes it of the attribute.
        left_out: the attribute that is not written.
    """

    attribute: str
    read: Read
    write: Callable[[Any], Any] = lambda value: value
    left_out: Any = ALWAYS


def written_object(value: Any, keys: Mapping[str, Key]) -> dict[str, Any]:
    """A value as an object with these keys."""
    parts = ((name, key, getattr(value, key.attribute)) for name, key in keys.items())
    return {name: key.write(part) for name, key, part in parts if key.left_out is ALWAYS or part != key.left_out}


def read_attributes(document: Mapping[str, Any], keys: Mapping[str, Key], place: str) -> dict[str, Any]:
    """The attributes that stand in an object under these keys; it may have others."""
    found = {}
    for name, key in keys.items():
        thing = document.get(name, None if key.left_out is ALWAYS else key.left_out)
        found[key.attribute] = thing if thing is key.left_out else key.read(thing, f"{place}.{name}")
    return found


def kind(fits: Callable[[Any], bool], error: str, make: Callable[[Any], Any] = lambda thing: thing) -> Read:
    """Reads what fits; else the error states what it must be."""

    def read(thing: Any, place: str) -> Any:
        if not fits(thing):
            raise ReleaseError(error, place=place)
        return make(thing)

    return read


def word(choice: Any) -> Read:
    """Reads one of the words of a Literal."""
    return lambda thing, place: one_of(thing, choice, place)


TEXT = kind(lambda thing: isinstance(thing, str), "must be a text")
TEXTS = kind(are_texts, "must be a list of texts", tuple)
NUMBERS = kind(are_numbers, "must be a list of numbers", lambda thing: tuple(map(float, thing)))


def _is_step(thing: Any) -> bool:
    """Is it an operation and a number by which larger numbers stay larger?"""
    named = (
        isinstance(thing, list) and len(thing) == 2 and thing[0] in get_args(readers.Operation) and is_number(thing[1])
    )
    return named and (thing[0] not in {"times", "over"} or thing[1] > 0)


def _json_number(number: float | None) -> Any:
    """A number; a missing one, which JSON has not, as a text."""
    return "missing" if number is not None and math.isnan(number) else number


NUMBER = kind(
    lambda thing: thing == "missing" or is_number(thing),
    "must be a number, or `missing`",
    lambda thing: math.nan if thing == "missing" else thing,
)
CODE = kind(
    lambda thing: thing in (None, "missing") or is_number(thing),
    "a code must be a number",
    lambda thing: None if thing is None else math.nan if thing == "missing" else float(thing),
)
FILL = kind(lambda thing: thing is None or is_number(thing), "must be a number")
STEPS = kind(
    lambda thing: isinstance(thing, list) and len(thing) <= 100 and all(map(_is_step, thing)),
    "must be a list, not a long one, of operations and numbers that keep larger numbers larger",
    lambda thing: tuple(readers.ArithmeticStep(operation, float(by)) for operation, by in thing),
)
ZERO = kind(lambda thing: thing == "missing", "must be `missing`, or left out", lambda _: True)
SHARES = kind(
    lambda thing: are_numbers(thing) and len(thing) == 2 and 0 <= thing[0] <= thing[1] <= 1,
    "must be two shares, the smaller first",
    lambda thing: tuple(map(float, thing)),
)
SETTINGS = kind(
    lambda thing: (
        isinstance(thing, dict)
        and {*thing} <= {*LEARNER_SETTINGS}
        and all(isinstance(value, str | int | float | None) for value in thing.values())
    ),
    f"must be plain values of {', '.join(LEARNER_SETTINGS)}",
)
ROWS = "must be a share or a number of rows"
HELD_OUT = kind(lambda thing: is_number(thing) and 0 <= thing < 1e12, ROWS, float)
DRAWS = kind(lambda thing: thing is None or (is_number(thing) and 0 < thing < 1e12), ROWS)


def _sampling(thing: Any, place: str) -> readers.Sampling:
    given = object_at({} if thing is None else thing, place)
    refuse_unknown(given, SAMPLING, ReleaseError, place)
    return readers.Sampling(
        **read_attributes({**written_object(readers.NO_SAMPLING, SAMPLING), **given}, SAMPLING, place)
    )


SAMPLING = {
    "rate": Key("rate", SHARES, list),
    "held_out": Key("held_out", HELD_OUT),
    "draws": Key("draws", DRAWS),
    "root": Key("root", SHARES, list, left_out=None),
}
HEAD = {
    "from": Key("format", TEXT),
    "producer": Key("producer", TEXT),
    "features": Key("features", TEXTS, list),
}
"""The keys of a file before `origins` and `groups`."""

LEAVES = {
    "classes": Key("classes", TEXTS, list),
    "says": Key("values", word(readers.LeafValueKind)),
    "combine": Key("combine", word(Combine)),
    "base": Key("base", NUMBERS, list),
    "link": Key("link", word(Literal["softmax", "other"]), left_out="softmax"),
    "calibrated_sums": Key("calibrated_sums", read_calibrated_sums, lambda sums: [s.described() for s in sums], ()),
    "counted": Key("counted", word(Counted)),
    "untold_missing": Key("unspecified_missing", TEXT, left_out=""),
    "untold_of": Key("unspecified_missing_features", lambda *of: frozenset(TEXTS(*of)), sorted, frozenset()),
    "settings": Key("settings", SETTINGS, dict, {}),
    "sampling": Key("sampling", _sampling, lambda sampling: written_object(sampling, SAMPLING), readers.NO_SAMPLING),
}
"""Those between these and `discloses` and `trees`."""

ORIGINS = {
    "number": readers.Numeric,
    "coded": readers.CategoryCodes,
    "absent": readers.MissingIndicator,
    "unknown": readers.Unresolved,
}
ORIGIN_KEYS = {
    "number": {
        "steps": Key("steps", STEPS, lambda steps: [[step.operation, step.by] for step in steps]),
        "fill": Key("fill", FILL),
        "zero": Key("zero_is_missing", ZERO, lambda _: "missing", left_out=False),
    },
    "coded": {
        "other": Key("otherwise", CODE, _json_number),
        "missing": Key("missing", CODE, _json_number),
        "seen": Key("lookup_precision", word(LookupPrecision), left_out=""),
        "stand_in": Key("fill_value", TEXT, left_out=""),
    },
    "absent": {"there": Key("there", NUMBER, _json_number), "gone": Key("gone", NUMBER, _json_number)},
    "unknown": {"why": Key("why", TEXT), "remedy": Key("remedy", lambda *_: "")},  # which no file brings about
}
"""By the kind of an origin the keys besides `kind`, `column`, and the `codes` of values."""

SOMETIMES = ("groups", *(name for name, key in LEAVES.items() if key.left_out is not ALWAYS))
KEYS = ("format", *HEAD, "origins", *(name for name in LEAVES if name not in SOMETIMES))
TREE_KEYS = ("feature", "threshold", "low", "high", "says", "output", *FLAGS, "subsets", "counts", "size")
OF_ORIGINS = {"kind", "column", "codes", *(name for keys in ORIGIN_KEYS.values() for name in keys)}
PARTS = frozenset({*KEYS, *SOMETIMES, *TREE_KEYS, *SAMPLING, *OF_ORIGINS, "discloses", "trees"})
"""All keys that are no texts of people or of a program."""
WORDS = frozenset({"discloses", "untold_missing", "why"})
"""Texts that are compared with what the readers say, each on its own."""


NOT_WRITTEN = frozenset({LATER_TREES, VALUE_COUNTS})
"""What files of other formats hold besides a model, and neutral ones do not."""


def written(model: readers.ModelIR) -> bytes:
    """The model as a neutral file; the same bytes for the same model.

    Features that no test reads are written without the numbers that make them of their columns. Raises
    ReleaseError for a model that holds an infinite number, or NaN where the format has no word for it.
    """
    document = document_of(with_plain_unused(model))
    try:
        lines = [f"{canonical(key).decode()}:{canonical(value).decode()}" for key, value in document.items()]
    except ValueError:
        raise ReleaseError("has an infinite or missing number where a neutral file holds none", place="model") from None
    return ("{" + ",\n".join(lines) + "}\n").encode()


def document_of(model: readers.ModelIR) -> dict[str, Any]:
    """What the neutral file of a model contains, as JSON has it."""
    shared = (one.codes for one in model.origins or () if isinstance(one, readers.CategoryCodes) and not _is_alone(one))
    tables = {id(codes.groups): codes.groups for codes in shared if isinstance(codes, readers.OneHot)}
    number = {key: i for i, key in enumerate(tables)}
    return {
        "format": FORMAT,
        **written_object(model, HEAD),
        "origins": None if model.origins is None else [_origin_document(origin, number) for origin in model.origins],
        **({"groups": [dict(table) for table in tables.values()]} if tables else {}),
        **written_object(model, LEAVES),
        "discloses": [item.written() for item in model.discloses if item.kind not in NOT_WRITTEN],
        "trees": [_tree_document(tree) for tree in model.trees],
    }


def _is_alone(origin: readers.CategoryCodes) -> bool:
    """Are its group's values all that has to be said, all others being as unknown ones?"""
    if not isinstance(origin.codes, readers.OneHot):
        return True
    return bool(_json_number(origin.otherwise) == _json_number(origin.codes.off))


def _origin_document(origin: readers.Origin | None, number: Mapping[int, int]) -> Any:
    """An origin; codes of features of one column share a table by its `number`: which value is of which group."""
    if origin is None:
        return None
    name = next(name for name, made in ORIGINS.items() if isinstance(origin, made))
    document = {"kind": name, "column": origin.column, **written_object(origin, ORIGIN_KEYS[name])}
    if isinstance(origin, readers.CategoryCodes):
        codes = origin.codes
        if isinstance(codes, readers.OneHot) and not _is_alone(origin):
            document["codes"] = [number[id(codes.groups)], codes.group, codes.on, _json_number(codes.off)]
        else:
            own = codes.own_values() if isinstance(codes, readers.OneHot) else codes
            document["codes"] = {value: _json_number(code) for value, code in own.items()}
    return document


def _tree_document(tree: readers.TreeIR) -> dict[str, Any]:
    leaf = tree.feature == readers.LEAF
    document: dict[str, Any] = {
        "feature": tree.feature.tolist(),
        "threshold": _rows(tree.threshold, tree.compares),
        "low": tree.low.tolist(),
        "high": tree.high.tolist(),
        "says": _rows(tree.values, leaf & ~np.isnan(tree.values).any(axis=1)),
        "output": tree.output,
    }
    for name in FLAGS:
        flag = np.asarray(getattr(tree, name))
        inner = flag[~leaf] if flag.ndim else flag
        document[name] = (flag & ~leaf).tolist() if inner.any() and not inner.all() else bool(inner.any())
    document["subsets"] = {str(node): sorted(chosen, key=str) for node, chosen in tree.subsets.items()}
    return document | {"counts": _rows(tree.counts), "size": _rows(tree.size)}


def _rows(numbers: Floats | None, there: Mask | None = None) -> list[Any] | None:
    """Numbers of nodes, null for nodes that are not `there`; by default these are nodes without numbers."""
    if numbers is None:
        return None
    kept = there if there is not None else np.asarray(~np.isnan(numbers.reshape(len(numbers), -1)).any(axis=1))
    return [row if is_kept else None for row, is_kept in zip(numbers.tolist(), kept.tolist(), strict=True)]


def read(content: bytes, place: str, known: readers.Vocabulary) -> readers.ModelIR:
    """The model of a neutral file, not yet checked; texts of other words than are `known` are disclosures of it."""
    document = object_at(readers.parse_bounded_json(content, place), place)
    if document.get("format") != FORMAT:
        raise ReleaseError(f"its `format` is not {FORMAT!r}", place=place)
    refuse_unknown(document, (*KEYS, *SOMETIMES, "discloses", "trees"), ReleaseError, place)
    attributes = read_attributes(document, {**HEAD, **LEAVES}, place)
    width = max(len(attributes["classes"]), 1)
    trees, discloses = (enumerate(list_at(document, key, place)) for key in ("trees", "discloses"))
    model = readers.ModelIR(
        **attributes,
        trees=tuple(_tree(each, width, f"{place}.trees[{i}]") for i, each in trees),
        discloses=tuple(read_disclosure(item, f"{place}.discloses[{i}]", known.disclosures) for i, item in discloses),
        origins=_origins(document, place, known),
    )
    model = replace(model, unspecified_missing=known_reason(model.unspecified_missing, (), known))
    if document.get("sampling") is None and model.counted == "bootstrap":  # of as many rows as there are
        model = replace(model, sampling=readers.Sampling(draws=1.0))
    _refuse_unwritten(document, document_of(_as_scrubbed(model) if model.producer == SCRUBBED else model), place)
    unread = unread_content(document, model, known)
    found = dict.fromkeys((*model.discloses, *_undeclared(model), *unread.disclosures()))
    return replace(model, discloses=tuple(found), texts=unread.texts | {model.producer, model.format})


def _as_scrubbed(model: readers.ModelIR) -> readers.ModelIR:
    """The model without settings, sizes, and steps and stand-ins of numbers, of which `scrub` leaves none."""
    origins = tuple(
        readers.Numeric(one.column) if isinstance(one, readers.Numeric) and not one.zero_is_missing else one
        for one in model.origins or ()
    )
    trees = tuple(replace(tree, size=None) for tree in model.trees)
    return replace(model, settings={}, trees=trees, origins=None if model.origins is None else origins)


def _refuse_unwritten(given: Any, own: Any, place: str) -> None:
    """Refuse a part of a file that differs from what leafgate writes of the model that was read from it.

    Of tables whose keys are texts of people, such as `codes`, the error has the location of the whole.

    Args:
        given: A part of the file, as it is.
        own: The same part, as it is written.
        place: Its location.

    Raises:
        ReleaseError: what is in the file, and was not read, or is read as something else.
    """
    if given == own:
        return
    if isinstance(given, list) and isinstance(own, list) and len(given) == len(own):
        for number, pair in enumerate(zip(given, own, strict=True)):
            _refuse_unwritten(*pair, f"{place}[{number}]")
    elif isinstance(given, dict) and isinstance(own, dict) and PARTS.issuperset(own):
        for key in PARTS.intersection(given) - WORDS.union(FLAGS):
            if given[key]:
                _refuse_unwritten(given[key], own.get(key), f"{place}.{key}")
        refuse_unknown(given, PARTS, ReleaseError, place)
    elif given != own:
        remedy = "write it anew from the model's own file: leafgate convert, or leafgate scrub"
        raise ReleaseError("holds what leafgate does not write there", place=place, remedy=remedy)


def _undeclared(model: readers.ModelIR) -> list[FileDisclosure]:
    """What stands in the file though it does not say so."""
    declared = {item.kind for item in model.discloses}
    counted = any(tree.counts is not None for tree in model.trees)
    sized = any(tree.size is not None for tree in model.trees) and not counted
    found = [readers.COUNTS_DISCLOSURE] if counted else []
    found += [readers.SIZES_DISCLOSURE] if sized else []
    found += [readers.RATIOS_DISCLOSURE] if model.values in {"shares", "counts"} and not counted else []
    return [item for item in found if item.kind not in declared]


def _origins(
    document: Mapping[str, Any], place: str, known: readers.Vocabulary
) -> tuple[readers.Origin | None, ...] | None:
    tables = [_table(each, f"{place}.groups") for each in list_at({"groups": [], **document}, "groups", place)]
    if document.get("origins") is None:
        return None
    found = list_at(document, "origins", place)
    if len(found) != len(document["features"]):
        raise ReleaseError("must be one for each feature", place=f"{place}.origins")
    return tuple(_origin(each, f"{place}.origins[{i}]", tables, known) for i, each in enumerate(found))


_Table = tuple[Mapping[str, int], Mapping[int, tuple[str, ...]]]
"""The group of each value, and the values of each group."""


def _table(document: Any, place: str) -> _Table:
    groups = object_at(document, place)
    values: dict[int, list[str]] = {}
    for value, group in groups.items():
        if type(group) is not int:
            raise ReleaseError("must be numbers of groups", place=place)
        values.setdefault(group, []).append(value)
    if values.keys() != set(range(len(values))):
        raise ReleaseError("must be groups from 0 on", place=place)
    return groups, {group: tuple(own) for group, own in values.items()}


def _origin(document: Any, place: str, tables: Sequence[_Table], known: readers.Vocabulary) -> readers.Origin | None:
    if document is None:
        return None
    name = object_at(document, place).get("kind")
    if not isinstance(name, str) or name not in ORIGINS:
        raise ReleaseError("is no origin of a feature", place=place)
    attributes = read_attributes(document, {"column": Key("column", TEXT), **ORIGIN_KEYS[name]}, place)
    if name == "coded":
        attributes["codes"] = _codes(document.get("codes"), tables, f"{place}.codes")
    if name == "unknown":
        attributes["why"] = known_reason(attributes["why"], [attributes["column"]], known)
    origin: readers.Origin = ORIGINS[name](**attributes)
    return origin


def _codes(thing: Any, tables: Sequence[_Table], place: str) -> Mapping[str, float]:
    """The number of each value; a list has a table, the group in it, its number and that of all others."""
    if isinstance(thing, dict):
        return {value: float(NUMBER(code, place)) for value, code in thing.items()}
    if not isinstance(thing, list) or len(thing) != 4 or not all(map(is_number, thing[:3])):
        raise ReleaseError("must be numbers of values, or a table of `groups`, a group and two numbers", place=place)
    if thing[0] not in range(len(tables)):
        raise ReleaseError("must name a table of `groups`", place=place)
    (groups, values), group = tables[int(thing[0])], int(thing[1])
    return readers.OneHot(groups, group, values.get(group, ()), float(thing[2]), float(NUMBER(thing[3], place)))


def _tree(document: Any, width: int, place: str) -> readers.TreeIR:
    document = object_at(document, place)
    refuse_unknown(document, TREE_KEYS, ReleaseError, place)
    feature, low, high = (_whole_numbers(document, name, place) for name in ("feature", "low", "high"))
    says = list_at(document, "says", place)
    outputs = len(next((row for row in says if isinstance(row, list)), [None]))
    if outputs not in {1, width}:
        raise ReleaseError("`says` must hold one number, or one for each class", place=place)
    output = document.get("output")
    if output is not None and type(output) is not int:
        raise ReleaseError("`output` must be a whole number", place=place)
    n = len(feature)
    strict, float32, missing_low = (_flag(document.get(name, False), n, f"{place}.{name}") for name in FLAGS)
    return readers.TreeIR(
        feature=feature,
        threshold=_floats(document, "threshold", (n,), place),
        low=low,
        high=high,
        values=_floats(document, "says", (n, outputs), place),
        strict=strict,
        float32=float32,
        missing_low=missing_low,
        subsets=_subsets(document.get("subsets"), n, f"{place}.subsets"),
        counts=None if document.get("counts") is None else _floats(document, "counts", (n, width), place),
        size=None if document.get("size") is None else _floats(document, "size", (n,), place),
        output=output,
    )


def _whole_numbers(document: Mapping[str, Any], key: str, place: str) -> np.ndarray:
    numbers = list_at(document, key, place)
    if not all(type(number) is int and -1 <= number < 2**31 for number in numbers):
        raise ReleaseError("must hold whole numbers from -1 on", place=f"{place}.{key}")
    return np.array(numbers, dtype=np.int64)


def _floats(document: Mapping[str, Any], key: str, shape: tuple[int, ...], place: str) -> Floats:
    """Numbers of each node as an array, NaN for null."""
    items, place = list_at(document, key, place), f"{place}.{key}"
    if len(items) != shape[0]:
        raise ReleaseError("must speak of every node", place=place)
    if len(shape) == 1:
        if not all(row is None or is_number(row) for row in items):
            raise ReleaseError("must hold numbers", place=place)
        return np.array(items, dtype=np.float64)
    width = shape[1]
    if not all(row is None or (are_numbers(row) and len(row) == width) for row in items):
        raise ReleaseError(f"must hold lists of {width} number(s)", place=place)
    gone = [math.nan] * width
    return np.array([gone if row is None else row for row in items], dtype=np.float64).reshape(shape)


def _flag(thing: Any, n: int, place: str) -> Any:
    if isinstance(thing, bool):
        return thing
    if not isinstance(thing, list) or len(thing) != n or not all(isinstance(one, bool) for one in thing):
        raise ReleaseError("must be true or false, or one of them for each node", place=place)
    return np.array(thing)


def _subsets(thing: Any, n: int, place: str) -> dict[int, frozenset[str | float]]:
    found: dict[int, frozenset[str | float]] = {}
    sets = object_at({} if thing is None else thing, place)
    readers.refuse_many_categories(sum(len(chosen) for chosen in sets.values() if isinstance(chosen, list)), place)
    for key, chosen in sets.items():
        good = isinstance(chosen, list) and all(isinstance(one, str) or is_number(one) for one in chosen)
        if not key.isascii() or not key.isdigit() or not int(key[:9]) < n or not good:
            raise ReleaseError("must hold categories for nodes", place=place)
        found[int(key[:9])] = frozenset(one if isinstance(one, str) else float(one) for one in chosen)
    return found
