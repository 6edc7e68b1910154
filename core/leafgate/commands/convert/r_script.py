"""A script of base R that answers for people as a neutral file does: `source("predict.R"); predict_people(people)`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from leafgate.commands.convert import neutral, predict
from leafgate.errors import PolicyError, ReleaseError
from leafgate.io.files import EVERYONE, write_file
from leafgate.ir.model import FLAGS, ModelIR

SCRIPT = "predict.R"
FUNCTIONS = Path(__file__).with_name("predict.R")
"""The functions of the script; they are the same for every model."""

KINDS = frozenset({"number", "coded", "absent"})
MAX_NODES = 200_000
"""Nodes of a model that is written as a script; R takes seconds to read so many."""


def refuse_r_script(out: Path) -> None:
    """PolicyError where there is another file in the script's place."""
    beside = out.with_name(SCRIPT)
    if beside.exists() and not beside.read_bytes().startswith(FUNCTIONS.read_bytes()[:60]):
        raise PolicyError(f"{beside} is there, and is another file", place="--to", remedy="move or delete it")


def write_r_script(model: ModelIR, out: Path) -> str:
    """Write the script of a model beside its new file; a line that says how it is run."""
    beside = out.with_name(SCRIPT)
    write_file(beside, r_script(model, out.name).encode(), EVERYONE)
    return f'{beside}: answers for people by base R alone: source("{SCRIPT}"); predict_people(people)'


def r_script(model: ModelIR, place: str) -> str:
    """The script of a model; numbers are hexadecimal, because R does not read all decimal ones to the last bit.

    Raises:
        ReleaseError: the model is too large, or has features that the script does not compute.
    """
    if sum(tree.nodes for tree in model.trees) > MAX_NODES:
        raise ReleaseError(f"has more than {MAX_NODES:,} nodes, too many for a script of R", place=place)
    document = json.loads(neutral.written(model))
    return "\n".join([FUNCTIONS.read_text(encoding="utf-8"), *_model(document, place)]) + "\n"


def _model(document: Mapping[str, Any], place: str) -> Iterator[str]:
    """The statements that make up the model."""
    read = predict.Model(document)
    combine, classes = document["combine"], document["classes"]
    by_shares = "mean_per_tree" if combine == "one" else combine
    yield ".leafgate_model <- list("
    yield f"  classes = {_texts(classes)}, combine = {_text(combine)},"
    yield f"  scores = {_flag(read.has_scores)}, base = {_numbers(document['base'])},"
    yield f"  sums = list({', '.join(map(_calibrated_sum, document.get('calibrated_sums', [])))}),"
    origins = document.get("origins") or [None] * len(document["features"])
    groups = document.get("groups", [])
    features = [_feature(*pair, groups, place) for pair in zip(document["features"], origins, strict=True)]
    yield f"  features = list({', '.join(features)}),"
    yield "  trees = list("
    trees = list(zip(read._trees, document["trees"], strict=True))
    for i, (tree, given) in enumerate(trees):
        says = tree.says if not classes else read._added(tree, combine)[:-1]
        scores = read._added(tree, by_shares)[:-1] if combine == "one" and read.has_scores else None
        yield f"    {_tree(given, says, scores)}{',' if i < len(trees) - 1 else ''}"
    yield "  )"
    yield ")"


def _calibrated_sum(document: Mapping[str, Any]) -> str:
    """The trees of a calibrated sum, and its link; points as a matrix for each class."""
    points = ", ".join(_matrix(np.reshape(each, (-1, 2))) for each in document.get("points", []))
    mean = _flag(document.get("mean", False))
    return (
        f"list(trees = {document['trees']}, link = {_text(document['link'])}, mean = {mean}, points = list({points}))"
    )


def _feature(name: str, origin: Mapping[str, Any] | None, groups: Sequence[Any], place: str) -> str:
    """A feature: the column that it is made of, and how."""
    given: Mapping[str, Any] = {"kind": "number", "column": name} if origin is None else origin
    plain = not given.get("steps") and "zero" not in given and not given.get("seen")
    if given["kind"] not in KINDS or not plain:
        raise ReleaseError("has features that a script of R does not compute", place=place, remedy="scrub without --to")
    parts = [f"column = {_text(given['column'])}", f"kind = {_text(given['kind'])}"]
    if given["kind"] == "number" and given.get("fill") is not None:
        parts.append(f"fill = {_number(given['fill'])}")
    if given["kind"] == "absent":
        parts += [f"{key} = {_code(given[key])}" for key in ("there", "gone")]
    if given["kind"] == "coded":
        codes = given["codes"]
        codes = predict._codes_of_group(codes, groups) if isinstance(codes, list) else codes
        parts += [f"values = {_texts(codes)}", f"codes = c({', '.join(map(_code, codes.values()))})"]
        parts += [f"{key} = {_code(given[key])}" for key in ("other", "missing")]
    return f"list({', '.join(parts)})"


def _tree(document: Mapping[str, Any], says: Any, scores: Any) -> str:
    """A tree as vectors over its nodes, which R counts from 1."""
    n = len(document["feature"])
    threshold = [math.nan if at is None else at for at in document["threshold"]]
    parts = [
        *(f"{key} = {_whole_numbers(np.array(document[key]) + 1)}" for key in ("feature", "low", "high")),
        f"threshold = {_numbers(threshold)}",
    ]
    for key in FLAGS:
        flags = np.broadcast_to(np.array(document.get(key, False)), (n,)).tolist()
        parts.append(f"{key} = {_flag(flags[0])}" if len(set(flags)) == 1 else f"{key} = c({_listed(flags)})")
    sets = [
        f"list(node = {int(node) + 1}L, texts = {_texts([each for each in chosen if isinstance(each, str)])}, "
        f"codes = {_numbers([each for each in chosen if not isinstance(each, str)])})"
        for node, chosen in (document.get("subsets") or {}).items()
    ]
    parts.append(f"sets = list({', '.join(sets)})")
    parts.append(f"adds = {_matrix(says)}")
    parts += [] if scores is None else [f"scores = {_matrix(scores)}"]
    return f"list({', '.join(parts)})"


def _listed(flags: Iterable[bool]) -> str:
    return ", ".join(map(_flag, flags))


def _matrix(rows: Any) -> str:
    array = np.asarray(rows, dtype=np.float64)
    return f"matrix({_numbers(array.ravel().tolist())}, ncol = {array.shape[1]}, byrow = TRUE)"


def _whole_numbers(numbers: Any) -> str:
    return f"c({', '.join(f'{int(each)}L' for each in numbers)})"


def _numbers(numbers: Iterable[float]) -> str:
    listed = ", ".join(map(_number, numbers))
    return f"c({listed})" if listed else "numeric(0)"


def _number(number: float) -> str:
    value = float(number)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return f"{value:.0f}" if value.is_integer() and abs(value) < 2**53 else value.hex()


def _code(number: Any) -> str:
    """A code of the file: null is that of a value that the model does not take, which R has as infinite."""
    return "Inf" if number is None else "NaN" if number == "missing" else _number(number)


def _flag(flag: bool) -> str:
    return "TRUE" if flag else "FALSE"


def _texts(texts: Iterable[str]) -> str:
    listed = ", ".join(map(_text, texts))
    return f"c({listed})" if listed else "character(0)"


def _text(text: str) -> str:
    """A text as R writes it, other signs than plain ones by their numbers."""
    signs = [
        sign if " " <= sign <= "~" and sign not in '"\\' else f"\\U{{{ord(sign):X}}}" for sign in text if ord(sign)
    ]
    return '"' + "".join(signs) + '"'
