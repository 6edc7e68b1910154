"""What stands around the trees of an ONNX graph: before them what is known, after them what changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from leafgate.api import ReleaseError
from leafgate_plugins.onnx.graph import Graph, Operator
from leafgate_plugins.onnx.preprocessing import known, leading
from leafgate_plugins.onnx.symbolic import REMEDY
from leafgate_plugins.onnx.wire import DOUBLE, FLOAT, INTEGER, TEXT, tensor_of

Role = Literal["label", "scores", "index"]
"""What stands in a value after the trees: the class, numbers of classes, the number of the class."""

ML = "ai.onnx.ml"
DOMAINS = {"Identity": "", "Cast": "", "Mul": "", "ZipMap": ML, "Normalizer": ML}


def check_around(graph: Graph, ensemble: Operator, place: str) -> Mapping[str, Role]:
    """What stands in every value after the trees.

    ReleaseError names every operator that could make something else of what goes in, or of what the trees say.
    """
    made = [name for op in graph.operators for name in op.outputs if name]
    if len(set(made)) < len(made) or set(made) & (set(graph.given) | set(graph.constants)):
        raise ReleaseError("makes one value twice", place=place)
    roles: dict[str, Role] = dict.fromkeys(ensemble.outputs[-1:], "scores")
    roles |= dict.fromkeys(ensemble.outputs[:1] if len(ensemble.outputs) == 2 else (), "label")
    unknown = sorted(set(_unknown_operators(graph, ensemble, roles, place)))
    if unknown:
        raise ReleaseError(
            f"its graph has operators that are not read here: {', '.join(unknown)[:200]}", place=place, remedy=REMEDY
        )
    return roles


def _unknown_operators(graph: Graph, ensemble: Operator, roles: dict[str, Role], place: str) -> Iterator[str]:
    """The kinds of operators that are unknown, or not allowed where they stand; adds what values are to `roles`."""
    before = {id(op) for op in leading(graph, ensemble)}
    if ensemble.domain != ML:
        yield f"{ensemble.domain}.{ensemble.kind}"
    for op in graph.operators:
        if op is ensemble or (id(op) in before and known(op)):
            continue
        role = role_of(op, roles, graph) if ensemble.kind == "TreeEnsemble" else None
        if id(op) in before or op.domain != DOMAINS.get(op.kind, op.domain):
            yield f"{op.domain}.{op.kind}".removeprefix(".")
        elif role is not None:
            roles |= dict.fromkeys(op.outputs, role)
        elif (subject := _subject(op, graph, place)) in roles and _same_after(op, roles[subject], ensemble):
            roles |= dict.fromkeys(op.outputs, roles[subject])
        else:
            yield op.kind


def _subject(op: Operator, graph: Graph, place: str) -> str:
    """What an operator is given: its one input, or what it multiplies by 1; empty where it is given more."""
    if len(op.inputs) == 1:
        return op.inputs[0]
    others = [name for name in op.inputs if name not in graph.constants or not _is_one(graph.constants[name], place)]
    return others[0] if op.kind == "Mul" and len(op.inputs) == 2 and len(others) == 1 else ""


def _is_one(constant: bytes, place: str) -> bool:
    """Is a constant the number 1, alone?"""
    try:
        found = tensor_of(constant, place)
    except ReleaseError:  # of a type that is not read
        return False
    return found.numeric and len(found.shape) <= 1 and bool(found.values.tolist() == [1.0])


def _same_after(op: Operator, role: Role, ensemble: Operator) -> bool:
    """Does it leave which class is said, and which score is whose?"""
    if op.kind == "Cast":
        return op.attributes.get("to") in ({FLOAT, DOUBLE} if role == "scores" else {INTEGER, TEXT})
    if op.kind == "ZipMap":
        return role == "scores" and _labels(op) == _labels(ensemble)
    if op.kind == "Normalizer":
        return role == "scores" and op.attributes.get("norm") == "L1"
    return op.kind == "Identity" or (op.kind == "Mul" and role == "scores")


def role_of(op: Operator, roles: Mapping[str, Role], graph: Graph) -> Role | None:
    """What an operator makes of a TreeEnsemble's numbers, which has no labels of its own; None where it is not read."""
    given = [roles.get(name) for name in op.inputs]
    if op.kind == "ArgMax" and op.domain == "" and given == ["scores"]:
        plain = op.attributes.get("axis") in {1, -1} and op.attributes.get("select_last_index", 0) == 0
        return "index" if plain else None
    first = op.kind == "Gather" and op.domain == "" and op.attributes.get("axis", 0) == 0
    named = first or (op.kind == "ArrayFeatureExtractor" and op.domain == ML)
    if named and given == [None, "index"] and op.inputs[0] in graph.constants:
        return "label"
    if op.kind == "Reshape" and len(given) == 2 and given[0] in {"index", "label"} and op.inputs[1] in graph.constants:
        return given[0]
    return None


def classes_of(graph: Graph, roles: Mapping[str, Role], targets: int, place: str) -> tuple[str, ...]:
    """The classes that a TreeEnsemble's targets are, by their positions; none where nobody asks which is largest."""
    named = [op for op in graph.operators if len(op.inputs) == 2 and roles.get(op.inputs[1]) == "index"]
    if not any(role == "index" for role in roles.values()):
        return ()
    if not named:
        return tuple(map(str, range(targets)))
    items = [tensor_of(graph.constants[op.inputs[0]], place) for op in named]
    if len(items) != 1 or len(items[0].values) != targets or items[0].kind not in {INTEGER, TEXT}:
        raise ReleaseError("names its classes twice, or not one for each target", place=place)
    values = items[0].values
    return tuple(v.decode("utf-8") for v in values) if items[0].kind == TEXT else tuple(map(str, values.tolist()))


def _labels(op: Operator) -> list[Any]:
    """The classes in the order an operator has them."""
    named = op.attributes.get("classlabels_strings")
    found = named if named else op.attributes.get("classlabels_int64s")
    return found.tolist() if isinstance(found, np.ndarray) else found if isinstance(found, list) else []
