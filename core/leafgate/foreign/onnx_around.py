"""What stands around the trees of an ONNX graph: before them what is known, after them what changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.foreign.onnx_before import known, leading
from leafgate.foreign.onnx_cells import REMEDY
from leafgate.foreign.onnx_parts import Graph, Operator
from leafgate.foreign.onnx_tensors import DOUBLE, FLOAT, TEXT, WHOLE

Role = Literal["label", "scores"]
ML = "ai.onnx.ml"
DOMAINS = {"Identity": "", "Cast": "", "ZipMap": ML, "Normalizer": ML}


def check_around(graph: Graph, ensemble: Operator, place: str) -> None:
    """ReleaseError names every operator that could make something else of what goes in, or of what the trees say."""
    made = [name for op in graph.operators for name in op.outputs if name]
    if len(set(made)) < len(made) or set(made) & (set(graph.given) | set(graph.constants)):
        raise ReleaseError("makes one value twice", place=place)
    strange = sorted(set(_strange(graph, ensemble)))
    if strange:
        raise ReleaseError(
            f"its graph has operators that are not read here: {', '.join(strange)[:200]}", place=place, remedy=REMEDY
        )


def _strange(graph: Graph, ensemble: Operator) -> Iterator[str]:
    """The kinds of those that nobody here knows, or that are where they do not belong."""
    before = {id(op) for op in leading(graph, ensemble)}
    roles: dict[str, Role] = dict.fromkeys(ensemble.outputs[-1:], "scores")
    roles |= dict.fromkeys(ensemble.outputs[:1] if len(ensemble.outputs) == 2 else (), "label")
    if ensemble.domain != ML:
        yield f"{ensemble.domain}.{ensemble.kind}"
    for op in graph.operators:
        if op is ensemble or (id(op) in before and known(op)):
            continue
        if id(op) in before or op.domain != DOMAINS.get(op.kind, op.domain):
            yield f"{op.domain}.{op.kind}".removeprefix(".")
        elif len(op.inputs) == 1 and op.inputs[0] in roles and _same_after(op, roles[op.inputs[0]], ensemble):
            roles |= dict.fromkeys(op.outputs, roles[op.inputs[0]])
        else:
            yield op.kind


def _same_after(op: Operator, role: Role, ensemble: Operator) -> bool:
    """Does it leave which class is said, and which score is whose?"""
    if op.kind == "Cast":
        return op.attributes.get("to") in ({WHOLE, TEXT} if role == "label" else {FLOAT, DOUBLE})
    if op.kind == "ZipMap":
        return role == "scores" and _labels(op) == _labels(ensemble)
    if op.kind == "Normalizer":
        return role == "scores" and op.attributes.get("norm") == "L1"
    return op.kind == "Identity"


def _labels(op: Operator) -> list[Any]:
    """The classes in the order an operator has them."""
    named = op.attributes.get("classlabels_strings")
    found = named if named else op.attributes.get("classlabels_int64s")
    return found.tolist() if isinstance(found, np.ndarray) else found if isinstance(found, list) else []
