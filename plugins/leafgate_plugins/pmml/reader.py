"""PMML: tree models, and mining models of several trees, as R, KNIME, SPSS and others export them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from leafgate import readers
from leafgate.api import Combine, FileDisclosure, Floats, ReleaseError
from leafgate.kernel.tree import MAX_DEPTH
from leafgate_plugins.pmml.fields import CASTS, Field, casts_of, fields_of, predicate_of
from leafgate_plugins.pmml.trees import Missing, PmmlNode, Walk, fields_in
from leafgate_plugins.pmml.unread import SHAPE, unread_content
from leafgate_plugins.pmml.xml import name_of, named, only

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MISSING: Mapping[str, Missing] = {
    "none": "false",
    "lastPrediction": "last",
    "nullPrediction": "null",
    "defaultChild": "default",
    "weightedConfidence": "null",
    "aggregateNodes": "null",
}
COMBINE: Mapping[str, Combine] = {
    "majorityVote": "vote",
    "weightedMajorityVote": "vote",
    "average": "mean_per_tree",
    "weightedAverage": "mean_per_tree",
    "sum": "sum",
}


RESCALING = frozenset({"field", "rescaleConstant", "rescaleFactor"})
"""Attributes of a target that are read."""

NOTHING = "the model predicts nothing for those"
REASONS = (NOTHING, "the model weighs several leaves for those (aggregateNodes, weightedConfidence), which is not read")
"""Why it is not known where people with missing cells go."""


def read(content: bytes, place: str) -> readers.ModelIR:
    """The model, not yet checked. Numbers are compared in the precision that the data dictionary gives them."""
    root = readers.parse_bounded_xml(content, place)
    models = list(named(root, "TreeModel", "MiningModel"))
    if name_of(root) != "PMML" or len(models) != 1:
        raise ReleaseError("must hold one TreeModel or MiningModel", place=place)
    fields = fields_of(root, place)
    model = models[0]
    here = f"{place}.{name_of(model)}"
    target = _target(model, here)
    factor, constant = _rescaling(model, here)
    parts, combine = ([model], "one") if name_of(model) == "TreeModel" else _segments(model, here)
    classes = _classes(model, parts, fields.get(target), here)
    roots = [
        _root(part, _fields_of_part(root, model, part, fields, here), classes, f"{here}[{i}]")
        for i, part in enumerate(parts)
    ]
    asked = [field for node in roots for field in _asked(node)]
    names = tuple(dict.fromkeys(field.name for field in asked))
    if len({(field.name, field.single, field.widened) for field in asked}) > len(names):
        raise ReleaseError("asks about one field in several precisions, which is not read", place=here, remedy=CASTS)
    untold = _untold(parts, bool(classes) and combine != "mean_per_tree")
    kind: readers.NumberKind = "rows" if len(parts) == 1 else "draws"
    walks = [_walk(part, node, names, not untold, kind, here) for part, node in zip(parts, roots, strict=True)]
    says, trees = _leaf_values(walks, classes, combine, here)
    trees = tuple(replace(tree, values=tree.values * factor + (combine != "sum") * constant) for tree in trees)
    disclosed = _disclosed(roots)
    has_counts = any(item.level == "counts" for item in disclosed)
    unread, texts = unread_content(root, content, has_counts, {*names, target})
    items = [app.get("name", "") for header in named(root, "Header") for app in named(header, "Application")]
    return readers.ModelIR(
        format="pmml",
        features=names,
        classes=classes,
        trees=trees,
        values=says,
        combine=combine,  # type: ignore[arg-type]
        base=(constant,) if combine == "sum" and constant else (),
        counted="exact" if len(trees) == 1 and _has_whole_counts(trees[0]) else "unknown",
        discloses=(*disclosed, *unread),
        texts=texts,
        producer=f"PMML {root.get('version', '')[:10]}" + (f", {items[0][:60]}" if items else ""),
        category_lists=_category_lists(root),
        other_names=tuple(fields),
        unspecified_missing=untold,
        sampling=readers.NO_SAMPLING
        if len(parts) == 1
        else readers.Sampling(draws=1.0),  # trees of one forest may be of a bootstrap
    )


def _category_lists(root: Element) -> tuple[readers.CategoryList, ...]:
    """The values of every field of the data dictionary, and the ends of its intervals."""
    declared = [field for dictionary in named(root, "DataDictionary") for field in named(dictionary, "DataField")]
    values = ((field.get("name", ""), [each.get("value", "") for each in named(field, "Value")]) for field in declared)
    ends = ((field.get("name", ""), frozenset(_ends(field))) for field in declared)
    return (
        *(readers.CategoryList(name, frozenset(result)) for name, result in values if result),
        *(readers.CategoryList(name, result, numbers=True) for name, result in ends if result),
    )


def _ends(field: Element) -> Iterator[str]:
    """The finite ends of a field's intervals, as they are written."""
    for interval in named(field, "Interval"):
        margins = (interval.get("leftMargin", ""), interval.get("rightMargin", ""))
        yield from (text for text in margins if math.isfinite(readers.parse_number(text)))


def _target(model: Element, place: str) -> str:
    schema = only(model, "MiningSchema", place)
    found = [f.get("name", "") for f in named(schema, "MiningField") if f.get("usageType") in {"target", "predicted"}]
    if len(found) > 1:
        raise ReleaseError("predicts several fields", place=place)
    return found[0] if found else ""


def _rescaling(model: Element, place: str) -> tuple[float, float]:
    """By what a predicted number is multiplied, and what is added to it then."""
    targets = [each for group in named(model, "Targets") for each in group if name_of(each) != "Extension"]
    if not targets:
        return 1.0, 0.0
    plain = len(targets) == 1 and not set(targets[0].keys()) - RESCALING and not len(targets[0])
    if not plain or model.get("functionName") != "regression":
        raise ReleaseError("changes what its trees predict (Targets) otherwise than by rescaling", place=place)
    factor, constant = (targets[0].get(key, usual) for key, usual in (("rescaleFactor", "1"), ("rescaleConstant", "0")))
    return _number(factor, place), _number(constant, place)


def _segments(model: Element, place: str) -> tuple[list[Element], Combine]:
    """The trees of a mining model, which must all count the same, and how they are put together."""
    result = only(model, "Segmentation", place)
    how = result.get("multipleModelMethod", "")
    if how not in COMBINE:
        remedy = "save boosted classes with skops, or as their library does" if how == "modelChain" else ""
        raise ReleaseError(f"puts its models together by {how[:40]!r}, which is not read", place=place, remedy=remedy)
    if COMBINE[how] == "vote" and model.get("functionName") == "regression":
        raise ReleaseError("lets its trees vote for a number, which is not read", place=place)
    segments = list(named(result, "Segment"))
    if how.startswith("weighted") and len({segment.get("weight", "1") for segment in segments}) > 1:
        raise ReleaseError("weighs its trees differently, which is not read", place=place)
    if not segments or not all(list(named(segment, "True")) for segment in segments):
        raise ReleaseError("has segments that are not for everybody, or none", place=place)
    trees = [only(segment, "TreeModel", f"{place}.Segment[{i}]") for i, segment in enumerate(segments)]
    if any(list(named(tree, "Targets")) for tree in trees):
        raise ReleaseError("changes what single trees predict (Targets), which is not read", place=place)
    return trees, COMBINE[how]


def _classes(model: Element, parts: Sequence[Element], target: Field | None, place: str) -> tuple[str, ...]:
    """The classes in the target's order, else in the order the trees first name them; none of a model of numbers."""
    if model.get("functionName") == "regression":
        return ()
    if model.get("functionName") != "classification":
        raise ReleaseError("neither classifies nor predicts numbers", place=place)
    found: dict[str, None] = {}
    for part in parts:
        for element in part.iter():
            if name_of(element) == "Node" and element.get("score") is not None:
                found[element.get("score", "")] = None
            elif name_of(element) == "ScoreDistribution":
                found[element.get("value", "")] = None
    declared = (target.values if target is not None else None) or ()
    order = [name for name in declared if name in found]
    return tuple(dict.fromkeys([*order, *found, *declared]))


def _with_fills(part: Element, model: Element, fields: Mapping[str, Field], place: str) -> Mapping[str, Field]:
    """The fields with what replaces a missing value of theirs."""
    found = dict(fields)
    for element in (model, part):
        for result in named(only(element, "MiningSchema", place), "MiningField"):
            name = result.get("name", "")
            if result.get("outliers", "asIs") != "asIs" or result.get("invalidValueTreatment") == "asMissing":
                raise ReleaseError(f"changes values of {name!r} before it asks, which is not read", place=place)
            fill = result.get("missingValueReplacement")
            if fill is not None and name not in found:
                raise ReleaseError("fills gaps of a field that it does not declare, which is not read", place=place)
            if fill is not None:
                found[name] = replace(found[name], fill=fill)
    return found


def _fields_of_part(
    root: Element, model: Element, part: Element, fields: Mapping[str, Field], place: str
) -> Mapping[str, Field]:
    """What a tree may ask about: fields of the data dictionary with what fills their gaps, and casts of these."""
    found = _with_fills(part, model, fields, place)
    within = [model] if part is model else [model, part]
    for transformations in (
        *named(root, "TransformationDictionary"),
        *(each for element in within for each in named(element, "LocalTransformations")),
    ):
        found = casts_of(transformations, found, place)
    return found


def _root(part: Element, fields: Mapping[str, Field], classes: Sequence[str], place: str) -> PmmlNode:
    if part.get("isScorable", "true") != "true":
        raise ReleaseError("is not for scoring", place=place)
    return _node(only(part, "Node", place), fields, classes, place, 0)


def _node(element: Element, fields: Mapping[str, Field], classes: Sequence[str], place: str, depth: int) -> PmmlNode:
    if depth > MAX_DEPTH:
        raise ReleaseError(f"is deeper than {MAX_DEPTH} tests", place=place)
    predicates = list(named(element, "True", "False", "SimplePredicate", "SimpleSetPredicate", "CompoundPredicate"))
    if len(predicates) != 1 or list(named(element, "Regression", "DecisionTree", "Partition")):
        raise ReleaseError("must have one predicate, and no models inside", place=place)
    below = list(named(element, "Node"))
    default = [
        i
        for i, child in enumerate(below)
        if child.get("id") is not None and child.get("id") == element.get("defaultChild")
    ]
    says, counts = _numbers(element, classes, place)
    return PmmlNode(
        predicate_of(predicates[0], fields, place),
        says,
        counts,
        tuple(_node(child, fields, classes, f"{place}.{i}", depth + 1) for i, child in enumerate(below)),
        default[0] if default else None,
        _number(element.get("recordCount", "nan"), place),
    )


def _numbers(element: Element, classes: Sequence[str], place: str) -> tuple[Floats, Floats]:
    """What a node says, and whom it counts by class; NaN where it has no counts."""
    if not classes:
        score = element.get("score")
        says = np.array([np.nan if score is None else _number(score, place)])
        return says, np.full(1, np.nan)
    counts, shares = np.zeros(len(classes)), np.zeros(len(classes))
    spread = list(named(element, "ScoreDistribution"))
    for each in spread:
        i = classes.index(each.get("value", ""))
        counts[i] = _number(each.get("recordCount", "nan"), place)
        shares[i] = _number(each.get("probability", each.get("recordCount", "nan")), place)
    if not spread or not counts.sum() > 0:
        counts[:] = np.nan
    score = element.get("score")
    label = np.zeros(len(classes))
    if score is not None:
        label[classes.index(score)] = 1
    elif spread:
        label[int(shares.argmax())] = 1
    part = shares / shares.sum() if spread and shares.sum() > 0 else np.full(len(classes), np.nan)
    return np.concatenate([label, part]), np.array(counts)


def _number(text: str, place: str) -> float:
    try:
        found = float(text)
    except ValueError:
        raise ReleaseError("has a count or a score that is no number", place=place) from None
    if abs(found) > 1e15 or "_" in text:
        raise ReleaseError("has a count or a score that is no number", place=place)
    return found


def _asked(node: PmmlNode) -> list[Field]:
    found, waiting = list[Field](), [node]
    while waiting:
        here = waiting.pop()
        found += fields_in(here.predicate)
        waiting += here.children
    return found


def _walk(
    part: Element, node: PmmlNode, names: Sequence[str], ever_missing: bool, kind: readers.NumberKind, place: str
) -> readers.TreeIR:
    how = part.get("missingValueStrategy", "none")
    if how not in MISSING:
        raise ReleaseError(f"treats missing values by {how[:40]!r}, which is not read", place=place)
    last = part.get("noTrueChildStrategy", "returnNullPrediction") == "returnLastPrediction"
    silent = np.zeros_like(node.says) if len(node.says) > 1 else np.full(1, np.nan)
    numbers = {name: i for i, name in enumerate(names)}
    return Walk(numbers, MISSING[how], last, silent, np.zeros_like(node.counts), ever_missing).tree(node, place, kind)


def _leaf_values(
    trees: Sequence[readers.TreeIR], classes: Sequence[str], combine: str, place: str
) -> tuple[readers.LeafValueKind, tuple[readers.TreeIR, ...]]:
    """Labels, with the counts beside them; shares where those are put together."""
    if not classes:
        return "values", tuple(trees)
    k = len(classes)
    if combine == "sum":
        raise ReleaseError("adds up classes, which is not read", place=place)
    if combine == "mean_per_tree":
        return "shares", tuple(replace(tree, values=tree.values[:, k:]) for tree in trees)
    items = [tree.values[tree.leaves] for tree in trees]
    agree = all(np.array_equal(row[:, :k].argmax(axis=1), row[:, k:].argmax(axis=1)) for row in items)
    whole = all(np.isfinite(row).all() and row[:, k:].any(axis=1).all() for row in items)
    if whole and agree and not all(tree.counts is not None for tree in trees):
        return "shares", tuple(replace(tree, values=tree.values[:, k:]) for tree in trees)
    return "labels", tuple(replace(tree, values=tree.values[:, :k]) for tree in trees)


def _has_whole_counts(tree: readers.TreeIR) -> bool:
    if tree.counts is None:
        return False
    counts = np.nan_to_num(tree.counts)
    return bool((counts == np.rint(counts)).all() and counts.max() > 1)


def _disclosed(roots: Sequence[PmmlNode]) -> list[FileDisclosure]:
    waiting, counted, shared = list(roots), False, False
    while waiting:
        node = waiting.pop()
        counted |= bool(np.isfinite(node.counts).any() and node.counts.max() > 1)
        shared |= len(node.says) > 1 and bool(np.isfinite(node.says).all())
        waiting += node.children
    return SHAPE.disclosed({"counts": counted, "shares": shared and not counted})


def _untold(parts: Sequence[Element], labels: bool) -> str:
    """Why people with missing cells get no prediction that can be read; nothing where they get one."""
    how = {part.get("missingValueStrategy", "none") for part in parts}
    unsupported = sorted(how & {"weightedConfidence", "aggregateNodes"})
    if unsupported:
        return f"the model weighs several leaves for those ({unsupported[0]}), which is not read"
    last = all(part.get("noTrueChildStrategy") == "returnLastPrediction" for part in parts)
    nothing = "nullPrediction" in how or ("none" in how and not last)
    return "" if labels or not nothing else NOTHING
