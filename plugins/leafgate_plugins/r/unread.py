"""Parts of R's models that hold something where the program writes nothing, or more than it writes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from leafgate.api import Floats
from leafgate.readers import ModelIR
from leafgate_plugins.r.serialisation import NULL, Kind, RObject
from leafgate_plugins.r.vectors import dimension_names, numbers_in, shape_of, texts_in

MAX_COLUMNS_OF_CPTABLE = 5


def unread_parts(fit: RObject, kind: str, model: ModelIR) -> Iterator[str]:
    """The names of such parts.

    Args:
        fit: an object that was read as a model.
        kind: its class.
        model: the model that was read.
    """
    n_features, n_classes = len(model.features), len(model.classes)
    holder, forest = fit, fit.get("forest") or NULL
    for name in ("variable.importance", "importance"):
        of_features = fit.get(name) or NULL
        if not {*(dimension_names(of_features, 0) or of_features.names)} <= {*model.features}:
            yield name
    if kind == "rpart":
        yield from _unread_of_rpart(fit, model)
        n_splits = _number_of_splits(fit)
        if shape_of(fit.get("splits") or NULL) not in {(), (n_splits, 4), (n_splits, 5)}:
            yield "splits"
        if len(shape := shape_of(fit.get("csplit") or NULL)) and shape[0] > n_splits:
            yield "csplit"
        holder = fit.get("frame") or NULL
        n_nodes = _length(holder.get("n"))
        sizes = {**dict.fromkeys(("var", "dev", "complexity", "wt"), n_nodes), "yval2": n_nodes * (2 * n_classes + 2)}
        if _length(fit.get("ordered")) > n_features:
            yield "ordered"
    elif kind == "ranger":
        sizes = {}
        yield from _unread_of_ranger(forest)
    else:
        holder = forest
        levels = forest.get("xlevels") or NULL
        if any(each.kind != Kind.TEXTS and _length(each) > 1 for each in levels.elements.values()):
            yield "xlevels"
        sizes = dict.fromkeys(("pid", "maxcat", "nclass", "nrnodes", "cutoff"), max(n_classes, 1))
        yield from _unread_of_forest(forest)
    yield from (name for name, size in sizes.items() if _length(holder.get(name)) > size)


def _length(thing: RObject | None) -> int:
    return len(thing.value) if thing is not None and thing.value is not None else 0


def _number_of_splits(fit: RObject) -> int:
    """How many splits the nodes of a tree of rpart have."""
    frame = fit.get("frame") or NULL
    is_test = np.array(texts_in(frame.get("var") or NULL)) != "<leaf>"
    counts = [numbers_in(each) for name in ("ncompete", "nsurrogate") if (each := frame.get(name)) is not None]
    return int(sum(each.sum() for each in counts) + is_test.sum())


def _unread_of_rpart(fit: RObject, model: ModelIR) -> Iterator[str]:
    """Levels that are no features, columns that R does not write, and numbers that follow from others and differ."""
    frame, n_classes = fit.get("frame") or NULL, len(model.classes)
    levels = (frame.get("var") or NULL).attributes.get("levels") or NULL
    if not {*(levels.value or ())} <= {"<leaf>", *model.features}:
        yield "var"
    if shape_of(fit.get("cptable") or NULL)[1:] > (MAX_COLUMNS_OF_CPTABLE,):
        yield "cptable"
    cost, least = _numbers(frame.get("complexity")), _numbers(fit.get("control", "cp"))
    if not ((cost >= least.min(initial=0)) & (cost <= 1)).all():
        yield "complexity"
    prior, losses = _numbers(fit.get("parms", "prior")), _numbers(fit.get("parms", "loss"))
    if n_classes and len(prior) == n_classes and len(losses) == n_classes**2:
        label, table = _numbers(frame.get("yval")).astype(int) - 1, _numbers(frame.get("yval2"))
        counts = table.reshape((len(label), -1), order="F")[:, 1 : 1 + n_classes]
        of_class = counts[0]
        weighed = counts * (prior * of_class.sum() / np.where(of_class > 0, of_class, 1))
        risk = (weighed * losses.reshape((n_classes, n_classes), order="F")[:, label].T).sum(axis=1)
        deviance = _numbers(frame.get("dev"))
        if len(deviance) != len(risk) or not np.allclose(deviance, risk, rtol=1e-9):
            yield "dev"


def _numbers(thing: RObject | None) -> Floats:
    """The numbers of a vector; none where it is another object."""
    return numbers_in(thing) if thing is not None and thing.kind in {Kind.INTEGER, Kind.DOUBLE} else np.zeros(0)


def _unread_of_ranger(forest: RObject) -> Iterator[str]:
    """Features of leaves, thresholds of leaves with shares, and shares of tests."""
    trees = (forest.get(name) or NULL for name in ("child.nodeIDs", "split.varIDs", "split.values"))
    shares = forest.get("terminal.class.counts")
    for i, (children, asked, at) in enumerate(zip(*(each.value for each in trees), strict=True)):
        leaf = (numbers_in(children.value[0]) == 0) & (numbers_in(children.value[1]) == 0)
        if numbers_in(asked)[leaf].any() or (shares is not None and numbers_in(at)[leaf].any()):
            yield "leaves"
        of_tests = () if shares is None else [shares.value[i].value[node] for node in np.flatnonzero(~leaf).tolist()]
        if any(map(_length, of_tests)):
            yield "terminal.class.counts"


def _unread_of_forest(forest: RObject) -> Iterator[str]:
    """What leaves of a random forest ask, and nodes beyond the last one of a tree."""
    shape = shape_of(forest.get("nodestatus") or NULL)
    names = ("nodestatus", "bestvar", "xbestsplit", "leftDaughter", "rightDaughter")
    parts = {name: forest.get(name) for name in names}
    nodes = {name: numbers_in(each).reshape(shape, order="F") for name, each in parts.items() if _length(each) and each}
    sizes = numbers_in(forest.get("ndbigtree") or NULL)
    beyond = np.arange(shape[0])[:, None] >= sizes[None, :]
    ends = beyond | (nodes["nodestatus"] == -1)
    yield from (name for name, each in nodes.items() if each[beyond if name == "nodestatus" else ends].any())
    if _length(both := forest.get("treemap")) and both:
        of_nodes = numbers_in(both).reshape((shape[0], 2, shape[1]), order="F").transpose(0, 2, 1)
        if of_nodes[ends].any():
            yield "treemap"
