"""What stands in an ONNX graph before and after its trees: only what is known to change nothing is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from leafgate.errors import ReleaseError
from leafgate.foreign.onnx_parts import Graph, Operator

Role = Literal["label", "scores"]
ML = "ai.onnx.ml"
DOMAINS = {"Identity": "", "Cast": "", "Concat": "", "ZipMap": ML, "Normalizer": ML}
FLOAT, WHOLE, TEXT, DOUBLE = 1, 7, 8, 11
"""Numbers of ONNX's types."""


def check_around(graph: Graph, ensemble: Operator, place: str) -> None:
    """ReleaseError names every operator that could make something else of what goes in, or of what the trees say."""
    made = [name for op in graph.operators for name in op.outputs if name]
    if len(set(made)) < len(made) or set(made) & set(graph.given):
        raise ReleaseError("makes one value twice", place=place)
    strange = sorted(set(_strange(graph.operators, ensemble)))
    if strange:
        remedy = "audit the pipeline as skops; or save the trees alone, and say what its inputs are under `encoding`"
        raise ReleaseError(
            f"its graph has operators that are not read here: {', '.join(strange)[:200]}", place=place, remedy=remedy
        )


def _strange(operators: Sequence[Operator], ensemble: Operator) -> Iterator[str]:
    """The kinds of those that are not known to change nothing."""
    leads = _leading(operators, ensemble)
    roles: dict[str, Role] = dict.fromkeys(ensemble.outputs[-1:], "scores")
    roles |= dict.fromkeys(ensemble.outputs[:1] if len(ensemble.outputs) == 2 else (), "label")
    if ensemble.domain != ML:
        yield f"{ensemble.domain}.{ensemble.kind}"
    for op in operators:
        if op is ensemble:
            continue
        if op.domain != DOMAINS.get(op.kind, op.domain):
            yield f"{op.domain}.{op.kind}"
        elif set(op.outputs) & leads and _same_before(op, ensemble):
            continue
        elif len(op.inputs) == 1 and op.inputs[0] in roles and _same_after(op, roles[op.inputs[0]], ensemble):
            roles |= dict.fromkeys(op.outputs, roles[op.inputs[0]])
        else:
            yield op.kind


def _leading(operators: Sequence[Operator], ensemble: Operator) -> set[str]:
    """The values that the trees are made to read, directly or through others."""
    leads = set(ensemble.inputs)
    for op in reversed(operators):  # every graph has its operators in the order they run
        if set(op.outputs) & leads:
            leads |= set(op.inputs)
    return leads


def _same_before(op: Operator, ensemble: Operator) -> bool:
    """Does it leave the numbers as the trees compare them?"""
    if op.kind == "Cast":
        precise = "nodes_values_as_tensor" in ensemble.attributes
        return op.attributes.get("to") == (DOUBLE if precise else FLOAT)
    return op.kind == "Identity" or (op.kind == "Concat" and op.attributes.get("axis") in {1, -1})


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
