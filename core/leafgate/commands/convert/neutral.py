"""The neutral file, `leafgate/model/1`: any model that could be read, as JSON over its own features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from leafgate.api import Combine, FileDisclosure, Floats, ReleaseError
from leafgate.commands.convert import FORMAT, SCRUBBED
from leafgate.commands.convert.unread import known_reason, unread_content, with_plain_unused
from leafgate.io.json import are_numbers, are_texts, canonical, is_number, list_at, object_at, one_of, refuse_unknown
from leafgate.io.release_codec import read_disclosure
from leafgate.ir.features import LookupPrecision
from leafgate.ir.model import LEARNER_SETTINGS
from leafgate.kernel.release import Counted
from leafgate.readers import (
    COUNTS_DISCLOSURE,
    LEAF,
    NO_SAMPLING,
    RATIOS_DISCLOSURE,
    SIZES_DISCLOSURE,
    ArithmeticStep,
    CategoryCodes,
    LeafValueKind,
    LearnerSetting,
    MissingIndicator,
    ModelIR,
    Numeric,
    OneHot,
    Operation,
    Origin,
    Sampling,
    TreeIR,
    Unresolved,
    Vocabulary,
    parse_bounded_json,
    refuse_many_categories,
)

ORIGIN_KEYS = {"otherwise": "other", "lookup_precision": "seen", "fill_value": "stand_in"}
"""Fields of origins whose key in the file is another word."""
KEYS = ("format", "from", "producer", "features", "origins", "classes", "says", "combine", "base", "counted")
SOMETIMES = ("untold_missing", "untold_of", "settings", "groups", "sampling", "link")
TREE_KEYS = ("feature", "threshold", "low", "high", "says", "strict", "float32", "missing_low", "subsets")
FLAGS = ("strict", "float32", "missing_low")
NUMBERS = ("counts", "size")
OTHER_KEYS = """
discloses trees output kind column codes other missing seen stand_in steps fill zero there gone why remedy rate held_out
draws root
"""
PARTS = frozenset((*KEYS, *SOMETIMES, *TREE_KEYS, *NUMBERS, *OTHER_KEYS.split()))
"""All keys that are no texts of people or of a program."""
WORDS = frozenset({"discloses", "untold_missing", "why"})
"""Texts that are compared with what the readers say, each on its own."""
Link = Literal["softmax", "other"]
ORIGINS = {"number": Numeric, "coded": CategoryCodes, "absent": MissingIndicator, "unknown": Unresolved}


def written(model: ModelIR) -> bytes:
    """The model as a neutral file; the same bytes for the same model.

    Features that no test asks about are written without the numbers that make them of their columns. Raises
    ReleaseError for a model that holds an infinite number, or NaN where the format has no word for it.
    """
    document = document_of(with_plain_unused(model))
    try:
        lines = [f"{canonical(key).decode()}:{canonical(value).decode()}" for key, value in document.items()]
    except ValueError:
        raise ReleaseError("has an infinite or missing number where a neutral file holds none", place="model") from None
    return ("{" + ",\n".join(lines) + "}\n").encode()


def document_of(model: ModelIR) -> dict[str, Any]:
    """What the neutral file of a model holds, as JSON has it."""
    tables = _tables(model)
    number = {key: i for i, key in enumerate(tables)}
    return {
        "format": FORMAT,
        "from": model.format,
        "producer": model.producer,
        "features": list(model.features),
        "origins": None if model.origins is None else [_origin_document(origin, number) for origin in model.origins],
        **({"groups": [dict(table) for table in tables.values()]} if tables else {}),
        "classes": list(model.classes),
        "says": model.values,
        "combine": model.combine,
        "base": list(model.base),
        **({"link": model.link} if model.link != "softmax" else {}),
        "counted": model.counted,
        **({"untold_missing": model.unspecified_missing} if model.unspecified_missing else {}),
        **({"untold_of": sorted(model.unspecified_missing_features)} if model.unspecified_missing_features else {}),
        **({"settings": dict(model.settings)} if model.settings else {}),
        **({"sampling": _sampling_document(model.sampling)} if model.sampling != NO_SAMPLING else {}),
        "discloses": [item.written() for item in model.discloses],
        "trees": [_tree_document(tree) for tree in model.trees],
    }


def _tables(model: ModelIR) -> dict[int, Mapping[str, int]]:
    """What features of one column share, written once: which value is of which group."""
    shared = (one.codes for one in model.origins or () if isinstance(one, CategoryCodes) and not _alone(one))
    return {id(codes.groups): codes.groups for codes in shared if isinstance(codes, OneHot)}


def _alone(origin: CategoryCodes) -> bool:
    """Are its group's values all that has to be said, all others being as unknown ones?"""
    if not isinstance(origin.codes, OneHot):
        return True
    return bool(_json_number(origin.otherwise) == _json_number(origin.codes.off))


def _origin_document(origin: Origin | None, number: Mapping[int, int]) -> Any:
    if origin is None:
        return None
    kind = next(name for name, origin_type in ORIGINS.items() if isinstance(origin, origin_type))
    document: dict[str, Any] = {"kind": kind} | {
        ORIGIN_KEYS.get(name, name): value for name, value in vars(origin).items()
    }
    if isinstance(origin, CategoryCodes):
        codes = origin.codes
        if isinstance(codes, OneHot) and not _alone(origin):
            document["codes"] = [number[id(codes.groups)], codes.group, codes.on, _json_number(codes.off)]
        else:
            own = codes.own_values() if isinstance(codes, OneHot) else codes
            document["codes"] = {value: _json_number(code) for value, code in own.items()}
        document["missing"], document["other"] = _json_number(origin.missing), _json_number(origin.otherwise)
        if not origin.lookup_precision:
            del document["seen"]  # as it was before there was such a thing
        if not origin.fill_value:
            del document["stand_in"]
    if isinstance(origin, MissingIndicator):
        document |= {"there": _json_number(origin.there), "gone": _json_number(origin.gone)}
    if isinstance(origin, Numeric):
        document["steps"] = [[step.operation, step.by] for step in origin.steps]
        if document.pop("zero_is_missing"):
            document["zero"] = "missing"
    return document


def _json_number(number: float | None) -> Any:
    """A number; a missing one, which JSON has not, as a text."""
    return "missing" if number is not None and math.isnan(number) else number


def _tree_document(tree: TreeIR) -> dict[str, Any]:
    leaf = tree.feature == LEAF
    document: dict[str, Any] = {
        "feature": tree.feature.tolist(),
        "threshold": [None if gone else at for at, gone in zip(tree.threshold.tolist(), leaf.tolist(), strict=True)],
        "low": tree.low.tolist(),
        "high": tree.high.tolist(),
        "says": [
            stated if is_leaf else None for stated, is_leaf in zip(_rows(tree.values), leaf.tolist(), strict=True)
        ],
        "output": tree.output,
    }
    for node in tree.subsets:
        document["threshold"][node] = None
    for name in FLAGS:
        flag = np.asarray(getattr(tree, name))
        inner = flag[~leaf] if flag.ndim else flag
        document[name] = (flag & ~leaf).tolist() if inner.any() and not inner.all() else bool(inner.any())
    document["subsets"] = {str(node): sorted(chosen, key=str) for node, chosen in tree.subsets.items()}
    for name in NUMBERS:
        numbers = getattr(tree, name)
        document[name] = None if numbers is None else _rows(numbers)
    return document


def _rows(numbers: Floats) -> list[Any]:
    """Numbers of nodes, null for nodes without numbers."""
    return [None if np.isnan(row).any() else row.tolist() for row in numbers]


def read(content: bytes, place: str, known: Vocabulary) -> ModelIR:
    """The model of a neutral file, not yet checked; texts of other words than are `known` are disclosures of it."""
    document = object_at(parse_bounded_json(content, place), place)
    if document.get("format") != FORMAT:
        raise ReleaseError(f"its `format` is not {FORMAT!r}", place=place)
    refuse_unknown(document, (*KEYS, *SOMETIMES, "discloses", "trees"), ReleaseError, place)
    if not all(are_texts(document.get(key)) for key in ("features", "classes")) or not are_numbers(
        document.get("base")
    ):
        raise ReleaseError("`features` and `classes` must be texts, `base` numbers", place=place)
    if not all(isinstance(document.get(key), str) for key in ("from", "producer")):
        raise ReleaseError("`from` and `producer` must be texts", place=place)
    discloses = enumerate(list_at(document, "discloses", place))
    width = max(len(document["classes"]), 1)
    model = ModelIR(
        format=document["from"],
        features=tuple(document["features"]),
        classes=tuple(document["classes"]),
        trees=tuple(
            _tree(each, width, f"{place}.trees[{i}]") for i, each in enumerate(list_at(document, "trees", place))
        ),
        values=one_of(document.get("says"), LeafValueKind, f"{place}.says"),
        combine=one_of(document.get("combine"), Combine, f"{place}.combine"),
        base=tuple(map(float, document["base"])),
        counted=one_of(document.get("counted"), Counted, f"{place}.counted"),
        discloses=tuple(read_disclosure(item, f"{place}.discloses[{i}]", known.disclosures) for i, item in discloses),
        origins=_origins(document, place, known),
        producer=document["producer"],
        unspecified_missing=known_reason(
            _text(document.get("untold_missing", ""), f"{place}.untold_missing"), (), known
        ),
        unspecified_missing_features=_missing_features(document.get("untold_of", []), f"{place}.untold_of"),
        settings=_settings(document.get("settings", {}), f"{place}.settings"),
        sampling=_sampling(document, f"{place}.sampling"),
        link=one_of(document.get("link", "softmax"), Link, f"{place}.link"),
    )
    _refuse_unwritten(document, document_of(_as_scrubbed(model) if model.producer == SCRUBBED else model), place)
    unread = unread_content(document, model, known)
    found = dict.fromkeys((*model.discloses, *_undeclared(model), *unread.disclosures()))
    return replace(model, discloses=tuple(found), texts=unread.texts | {model.producer, model.format})


def _as_scrubbed(model: ModelIR) -> ModelIR:
    """The model without settings, sizes, and steps and stand-ins of numbers, of which `scrub` leaves none."""
    origins = tuple(
        Numeric(one.column) if isinstance(one, Numeric) and not one.zero_is_missing else one
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


def _undeclared(model: ModelIR) -> list[FileDisclosure]:
    """What stands in the file though it does not say so."""
    declared = {item.kind for item in model.discloses}
    counted = any(tree.counts is not None for tree in model.trees)
    sized = any(tree.size is not None for tree in model.trees) and not counted
    found = [COUNTS_DISCLOSURE] if counted else []
    found += [SIZES_DISCLOSURE] if sized else []
    found += [RATIOS_DISCLOSURE] if model.values in {"shares", "counts"} and not counted else []
    return [item for item in found if item.kind not in declared]


def _origins(document: Mapping[str, Any], place: str, known: Vocabulary) -> tuple[Origin | None, ...] | None:
    tables = [_table(each, f"{place}.groups") for each in list_at({"groups": [], **document}, "groups", place)]
    if document.get("origins") is None:
        return None
    found = list_at(document, "origins", place)
    if len(found) != len(document["features"]):
        raise ReleaseError("must be one for each feature", place=f"{place}.origins")
    return tuple(_origin(each, f"{place}.origins[{i}]", tables, known) for i, each in enumerate(found))


@dataclass(frozen=True)
class _Table:
    """The group of each value, and the values of each group."""

    groups: Mapping[str, int]
    values: Mapping[int, tuple[str, ...]]


def _table(document: Any, place: str) -> _Table:
    groups = object_at(document, place)
    values: dict[int, list[str]] = {}
    for value, group in groups.items():
        if type(group) is not int:
            raise ReleaseError("must be numbers of groups", place=place)
        values.setdefault(group, []).append(value)
    if values.keys() != set(range(len(values))):
        raise ReleaseError("must be groups from 0 on", place=place)
    return _Table(groups, {group: tuple(own) for group, own in values.items()})


def _one_hot(document: Any, tables: Sequence[_Table], place: str) -> OneHot[str]:
    """The codes of one group's feature: the table, the group, its number and that of all others."""
    if len(document) != 4 or not all(map(is_number, document[:3])) or document[0] not in range(len(tables)):
        raise ReleaseError("must be a table of `groups`, a group and two numbers", place=place)
    number, group, on = document[:3]
    off = _indicator_number(document[3], place)
    table = tables[int(number)]
    return OneHot(table.groups, int(group), table.values.get(int(group), ()), float(on), float(off))


def _missing_features(document: Any, place: str) -> frozenset[str]:
    if not are_texts(document):
        raise ReleaseError("must be a list of columns", place=place)
    return frozenset(document)


def _origin(document: Any, place: str, tables: Sequence[_Table], known: Vocabulary) -> Origin | None:
    if document is None:
        return None
    document = object_at(document, place)
    kind, column = document.get("kind"), document.get("column")
    if not isinstance(column, str):
        raise ReleaseError("`column` must be a text", place=place)
    if kind == "number" and (document.get("fill") is None or is_number(document["fill"])):
        return _number_origin(document, column, place)
    seen = document.get("seen", "")
    if kind == "coded" and seen not in get_args(LookupPrecision):
        raise ReleaseError("`seen` must say how numbers are looked up", place=place)
    stand_in = document.get("stand_in", "")
    if not isinstance(stand_in, str):
        raise ReleaseError("`stand_in` must be a text", place=place)
    if kind == "coded" and isinstance(document.get("codes"), list):
        shared = _one_hot(document["codes"], tables, place)
        return CategoryCodes(
            column, shared, _code(document.get("other"), place), _code(document.get("missing"), place), seen, stand_in
        )
    if kind == "coded" and isinstance(document.get("codes"), dict):
        codes = {value: _own_code(code, place) for value, code in document["codes"].items()}
        return CategoryCodes(
            column, codes, _code(document.get("other"), place), _code(document.get("missing"), place), seen, stand_in
        )
    if kind == "absent":
        there, gone = (_indicator_number(document.get(key), place) for key in ("there", "gone"))
        return MissingIndicator(column, there, gone)
    if kind == "unknown" and isinstance(document.get("why"), str):
        return Unresolved(column, known_reason(document["why"], [column], known))
    raise ReleaseError("is no origin of a feature", place=place)


def _number_origin(document: Mapping[str, Any], column: str, place: str) -> Numeric:
    if document.get("zero", "missing") != "missing":
        raise ReleaseError("`zero` must be `missing`, or left out", place=place)
    return Numeric(column, _steps(document.get("steps"), place), document.get("fill"), "zero" in document)


def _code(document: Any, place: str) -> float | None:
    """The code of values that have none of their own, or of missing cells; None where the model takes no such."""
    return None if document is None else _own_code(document, place)


def _own_code(document: Any, place: str) -> float:
    if document != "missing" and not is_number(document):
        raise ReleaseError("a code must be a number", place=f"{place}.codes")
    return math.nan if document == "missing" else float(document)


def _indicator_number(document: Any, place: str) -> float:
    """A number of a missing indicator, as it stands in the file; NaN is written as a text."""
    number: float = math.nan if document == "missing" else document
    if document != "missing" and not is_number(document):
        raise ReleaseError("must be a number, or `missing`", place=place)
    return number


def _steps(document: Any, place: str) -> tuple[ArithmeticStep, ...]:
    if not isinstance(document, list) or len(document) > 100:
        raise ReleaseError("`steps` must be a list, not a long one", place=place)
    return tuple(_step(each, place) for each in document)


def _step(document: Any, place: str) -> ArithmeticStep:
    if (
        not isinstance(document, list)
        or len(document) != 2
        or document[0] not in get_args(Operation)
        or not is_number(document[1])
    ):
        raise ReleaseError("a step is an operation and a number", place=place)
    if document[0] in {"times", "over"} and document[1] <= 0:
        raise ReleaseError("a step must keep larger numbers larger", place=place)
    return ArithmeticStep(document[0], float(document[1]))


def _tree(document: Any, width: int, place: str) -> TreeIR:
    document = object_at(document, place)
    refuse_unknown(document, (*TREE_KEYS, *NUMBERS, "output"), ReleaseError, place)
    feature = _whole_numbers(document, "feature", place)
    says = list_at(document, "says", place)
    outputs = len(next((row for row in says if isinstance(row, list)), [None]))
    if outputs not in {1, width}:
        raise ReleaseError("`says` must hold one number, or one for each class", place=place)
    output = document.get("output")
    if output is not None and (not isinstance(output, int) or isinstance(output, bool)):
        raise ReleaseError("`output` must be a whole number", place=place)
    n = len(feature)
    return TreeIR(
        feature=feature,
        threshold=_floats(list_at(document, "threshold", place), (n,), f"{place}.threshold"),
        low=_whole_numbers(document, "low", place),
        high=_whole_numbers(document, "high", place),
        values=_floats(says, (n, outputs), f"{place}.says"),
        strict=_flag(document, "strict", n, place),
        float32=_flag(document, "float32", n, place),
        missing_low=_flag(document, "missing_low", n, place),
        subsets=_subsets(document.get("subsets"), n, place),
        counts=_maybe(document, "counts", (n, width), place),
        size=_maybe(document, "size", (n,), place),
        output=output,
    )


def _maybe(document: Mapping[str, Any], key: str, shape: tuple[int, ...], place: str) -> Floats | None:
    return None if document.get(key) is None else _floats(list_at(document, key, place), shape, f"{place}.{key}")


def _whole_numbers(document: Mapping[str, Any], key: str, place: str) -> np.ndarray:
    numbers = list_at(document, key, place)
    if not all(type(number) is int and -1 <= number < 2**31 for number in numbers):
        raise ReleaseError("must hold whole numbers from -1 on", place=f"{place}.{key}")
    return np.array(numbers, dtype=np.int64)


def _floats(items: Sequence[Any], shape: tuple[int, ...], place: str) -> Floats:
    """Numbers of each node as an array, NaN for null."""
    width = shape[1] if len(shape) == 2 else None
    if len(items) != shape[0]:
        raise ReleaseError("must speak of every node", place=place)
    if width is None:
        rows: Iterable[Any] = items
        if not all(row is None or is_number(row) for row in items):
            raise ReleaseError("must hold numbers", place=place)
        return np.array([math.nan if row is None else row for row in rows], dtype=np.float64)
    if not all(row is None or (are_numbers(row) and len(row) == width) for row in items):
        raise ReleaseError(f"must hold lists of {width} number(s)", place=place)
    gone = [math.nan] * width
    return np.array([gone if row is None else row for row in items], dtype=np.float64).reshape(shape)


def _flag(document: Mapping[str, Any], key: str, n: int, place: str) -> Any:
    found = document.get(key, False)
    if isinstance(found, bool):
        return found
    if not isinstance(found, list) or len(found) != n or not all(isinstance(one, bool) for one in found):
        raise ReleaseError("must be true or false, or one of them for each node", place=f"{place}.{key}")
    return np.array(found)


def _subsets(document: Any, n: int, place: str) -> dict[int, frozenset[str | float]]:
    found: dict[int, frozenset[str | float]] = {}
    sets = object_at(document if document is not None else {}, f"{place}.subsets")
    refuse_many_categories(sum(len(chosen) for chosen in sets.values() if isinstance(chosen, list)), f"{place}.subsets")
    for key, chosen in sets.items():
        good = isinstance(chosen, list) and all(isinstance(one, str) or is_number(one) for one in chosen)
        if not key.isascii() or not key.isdigit() or not int(key[:9]) < n or not good:
            raise ReleaseError("must hold categories for nodes", place=f"{place}.subsets")
        found[int(key[:9])] = frozenset(one if isinstance(one, str) else float(one) for one in chosen)
    return found


def _text(document: Any, place: str) -> str:
    if not isinstance(document, str):
        raise ReleaseError("must be a text", place=place)
    return document


def _sampling_document(sampling: Sampling) -> dict[str, Any]:
    fields = {"rate": list(sampling.rate), "held_out": sampling.held_out, "draws": sampling.draws}
    return fields | ({"root": list(sampling.root)} if sampling.root is not None else {})


def _sampling(model: Mapping[str, Any], place: str) -> Sampling:
    """How each tree's rows were drawn; of a bootstrap as many as there are, where the file does not say so."""
    if model.get("sampling") is None:
        return Sampling(draws=1.0) if model.get("counted") == "bootstrap" else NO_SAMPLING
    document = object_at(model["sampling"], place)
    refuse_unknown(document, ("rate", "root", "held_out", "draws"), ReleaseError, place)
    for key in ("rate", "root"):
        pair = document.get(key, [1.0, 1.0])
        if not are_numbers(pair) or len(pair) != 2 or not 0 <= pair[0] <= pair[1] <= 1:
            raise ReleaseError("must be two shares, the smaller first", place=f"{place}.{key}")
    held_out, draws = document.get("held_out", 0.0), document.get("draws")
    if not is_number(held_out) or not 0 <= held_out < 1e12:
        raise ReleaseError("must be a share or a number of rows", place=f"{place}.held_out")
    if draws is not None and not (is_number(draws) and 0 < draws < 1e12):
        raise ReleaseError("must be a share or a number of rows", place=f"{place}.draws")
    rate, root = document.get("rate", [1.0, 1.0]), document.get("root")
    return Sampling(
        (float(rate[0]), float(rate[1])),
        None if root is None else (float(root[0]), float(root[1])),
        float(held_out),
        draws,
    )


def _settings(document: Any, place: str) -> dict[str, LearnerSetting]:
    found = object_at(document, place)
    refuse_unknown(found, LEARNER_SETTINGS, ReleaseError, place)
    if not all(isinstance(value, str | int | float | None) for value in found.values()):
        raise ReleaseError("must be plain values", place=place)
    return found
