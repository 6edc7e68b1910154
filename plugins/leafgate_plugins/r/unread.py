"""Parts of R's models that hold something where the program writes nothing, or more than it writes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from leafgate_plugins.r.serialisation import NULL, Kind, RObject
from leafgate_plugins.r.vectors import numbers_in, shape_of, texts_in


def unread_parts(fit: RObject, kind: str, n_features: int, n_classes: int) -> Iterator[str]:
    """The names of such parts.

    Args:
        fit: an object that was read as a model.
        kind: its class.
        n_features: how many features the model has.
        n_classes: how many classes.
    """
    holder, forest = fit, fit.get("forest") or NULL
    if kind == "rpart":
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
