"""ONNX files with one ensemble of trees, read as protocol buffers and nothing else."""

from __future__ import annotations

from dataclasses import replace

from leafgate.api import ReleaseError
from leafgate.ir.features import distinct_names
from leafgate.readers import CategoryCodes, ModelIR, Numeric
from leafgate_plugins.onnx import LABELS_PRODUCER, PRODUCER
from leafgate_plugins.onnx.ensembles import KINDS, model_of
from leafgate_plugins.onnx.graph import graph_of
from leafgate_plugins.onnx.postprocessing import check_around
from leafgate_plugins.onnx.preprocessing import features_of
from leafgate_plugins.onnx.symbolic import Wire, wire
from leafgate_plugins.onnx.unread import category_lists, unread_content
from leafgate_plugins.onnx.wire import DOUBLE, Tensor

UNTOLD = "the ONNX file does not say what becomes of its missing cells"


def read(content: bytes, place: str) -> ModelIR:
    """The model in an ONNX file, not yet checked."""
    graph = graph_of(content, place)
    found = [op for op in graph.operators if op.kind in KINDS]
    if len(found) != 1:
        number = f"{len(found)} ensembles of trees, as bagged, boosted or calibrated ones have" if found else "no trees"
        remedy = "save scikit-learn's bagged trees, AdaBoost or voting with skops" if found else ""
        raise ReleaseError(f"has {number}, and one ensemble is read", place=place, remedy=remedy)
    roles = check_around(graph, found[0], place)
    model, width = model_of(found[0], graph, roles, place)
    asked = features_of(graph, found[0], width, place)
    as_tensors = [result for result in found[0].attributes.values() if isinstance(result, Tensor) and result.numeric]
    if any((outcome.kind == DOUBLE) != (asked.kind == DOUBLE) for outcome in as_tensors):
        raise ReleaseError("compares numbers of one precision with those of another", place=place)
    model = _of_columns(model, asked if graph.producer not in {PRODUCER, LABELS_PRODUCER} else _named_by_sets(asked))
    disclosed, texts = unread_content(content, graph, found[0], place, model.classes)
    return replace(
        model,
        discloses=(*model.discloses, *disclosed),
        texts=texts,
        producer=f"ONNX by {graph.producer}".strip(),
        category_lists=category_lists(graph, found[0]),
        other_names=tuple(graph.given),
    )


def _named_by_sets(asked: Wire) -> Wire:
    """The features of a file that leafgate wrote: what is looked up of numbers has a name that is not its column's.

    A policy that explains the numbers of the column explains the column, and not what is made of it.
    """
    cells = [
        replace(cell, name=f"{cell.name} looked up")
        if isinstance(cell.origin, CategoryCodes) and cell.origin.lookup_precision
        else cell
        for cell in asked.cells.tolist()
    ]
    return wire(asked.kind, cells, asked.cells.shape)


def _of_columns(model: ModelIR, asked: Wire) -> ModelIR:
    """The model over what the graph makes of people's columns."""
    cells = asked.cells.tolist()
    plain = all(cell.origin == Numeric(cell.name) for cell in cells)
    untold = frozenset(cell.origin.column for cell in cells if cell.untold)
    return replace(
        model,
        features=distinct_names([cell.name for cell in cells]),
        origins=None
        if plain and len({cell.name for cell in cells}) == len(cells)
        else tuple(cell.origin for cell in cells),
        trees=tuple(replace(tree, float32=asked.kind != DOUBLE) for tree in model.trees),
        unspecified_missing=UNTOLD if untold else "",
        unspecified_missing_features=untold,
    )
