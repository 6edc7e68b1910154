"""XGBoost's own files, JSON and UBJSON: boosted trees that predict classes, or numbers as they are."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate import readers
from leafgate.api import FileDisclosure, Floats, Ids, ReleaseError
from leafgate.io.json import are_texts, list_at
from leafgate.ir.arrays import floats_at, integers_at, reachable_nodes
from leafgate.ir.features import number_codes
from leafgate.ir.node_numbers import Hessians
from leafgate.ir.validate import best_iteration_key, stopped_early
from leafgate.kernel.release import LATER_TREES
from leafgate_plugins.xgboost.node_sizes import sizes
from leafgate_plugins.xgboost.saved_state import disclosed as disclosed_by_settings
from leafgate_plugins.xgboost.saved_state import parameters_of, parts_of
from leafgate_plugins.xgboost.several_targets import EACH_BY_ITSELF, of_target
from leafgate_plugins.xgboost.training import learner_of
from leafgate_plugins.xgboost.ubjson import parse_ubjson
from leafgate_plugins.xgboost.unread import SHAPE, unknown_keys, unread_content
from leafgate_plugins.xgboost.vector_leaves import leaf_width, vector_leaves

BINARY = ("binary:logistic", "binary:logitraw", "binary:hinge")
MULTI = ("multi:softprob", "multi:softmax")
"""A round grows a tree for each class, also where there are two."""

NUMBERS = (
    *("reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:pseudohubererror", "reg:squaredlogerror"),
    "reg:quantileerror",
)
"""What is predicted is the sum itself."""

LOGS = ("count:poisson", "reg:gamma", "reg:tweedie")
"""What is predicted is the exponential of the sum."""

OBJECTIVE = re.compile(r"[a-z]{1,10}:[a-z_]{1,30}")
"""An objective as XGBoost names them, which an error may print."""

ROUND = re.compile(r"0|[1-9][0-9]{0,6}")
"""The number of a round as XGBoost writes it."""

STEP = re.compile(r"[0-9]{1,2}(\.[0-9]{1,12})?")
MAX_DELTA_STEP = 0.7
"""Poisson's `max_delta_step` by default."""

MAX_CLASSES = 1000


def read(content: bytes, place: str, output: int | None = None) -> readers.ModelIR:
    """The model, not yet checked. Thresholds and what people have are compared in single precision, as XGBoost does.

    Of several targets it is the model of the one with the number `output`.
    """
    text = content[:64].lstrip()[1:].lstrip()[:1] == b'"'
    document = readers.object_at(
        readers.parse_bounded_json(content, place, with_nan=True) if text else parse_ubjson(content, place), place
    )
    document, settings = parts_of(document, place)
    document = document if output is None else of_target(document, output, place)
    learner = _part(document, "learner", place)
    here = f"{place}.learner"
    shape = _part(learner, "learner_model_param", here)
    objective = str(_part(learner, "objective", here).get("name"))
    classes = _classes(objective, _whole_number(shape, "num_class", here), here)
    scores = len(classes) if objective in MULTI else 1
    booster, weighted = _booster(learner, f"{here}.gradient_booster")
    at = f"{here}.gradient_booster.model"
    features = _features(learner, _whole_number(shape, "num_feature", here), here)
    trees = list_at(booster, "trees", at)
    parallel = _parallel_trees(booster, at)
    _refuse_other_trees(booster, trees, at)
    groups = integers_at(booster, "tree_info", at, len(trees))
    if scores == 1 and (groups.any() or ("num_target" in shape and _whole_number(shape, "num_target", here) > 1)):
        raise ReleaseError(
            "has trees for several targets, which is not read", place=f"{at}.tree_info", remedy=EACH_BY_ITSELF
        )
    width = _common_width(trees, groups, scores, at)
    names = category_texts(booster, features, at)
    numbers = _number_categories(booster, features, at)
    base = _base(shape, objective, scores, here)
    built = [
        _tree(tree, int(group) if objective in MULTI and width == 1 else None, names, weight, f"{at}.trees[{i}]")
        for i, (tree, group, weight) in enumerate(zip(trees, groups, _weights(weighted, len(trees), at), strict=True))
    ]
    starts = integers_at(booster, "iteration_indptr", at) if "iteration_indptr" in booster else None
    positive, unread = _positive_weight(learner), unread_content(document, settings)
    rounds = _rounds(groups, starts, parallel)
    every = max(rounds, default=-1) + 1
    predicting = _predicting_rounds(learner, every, here)
    kept = tuple(tree for tree, of_round in zip(built, rounds, strict=True) if of_round < predicting)
    max_step = _max_delta_step(learner)
    sized, disclosed = sizes(kept, base, objective, starts, weighted=positive != 1.0, max_step=max_step)
    later = every - predicting
    if later and starts is not None and (np.diff(starts) == 0).any():
        raise stopped_early(f"{at}.iteration_indptr")
    return replace(
        readers.boosted_model("xgboost", features, classes, sized, log=objective in LOGS),
        base=base,
        discloses=(
            *disclosed,
            *_other_disclosures(learner, [*names, *numbers], trees),
            *SHAPE.disclosed({LATER_TREES: later}),
            *(() if settings is None else disclosed_by_settings(settings)),
            *unread.disclosures(),
        ),
        origins=tuple(numbers.get(i) for i in range(len(features))) if numbers else None,
        category_lists=tuple(
            readers.CategoryList(features[i], frozenset(texts), complete=True) for i, texts in names.items()
        ),
        texts=unread.texts,
        producer="XGBoost " + ".".join(str(part) for part in _version(document)),
        unknown=(*((best_iteration_key(predicting - 1),) if later else ()), *unknown_keys(learner, trees)),
        link="other" if objective in {"binary:hinge", "binary:logitraw"} else "softmax",
        hessians=_hessians(
            objective,
            base,
            positive,
            rounds[: len(kept)],
            dart=weighted is not None,
            version=_version(document),
            max_step=max_step,
            vectors=width > 1,
        ),
        learner=learner_of(
            objective,
            len(classes),
            len(trees) // (max(1, int(groups.max(initial=0)) + 1) * parallel),
            parallel,
            positive,
            _native(learner, features),
            None if settings is None else parameters_of(settings),
            vectors=width > 1,
        ),
    )


def _native(learner: Mapping[str, Any], features: Sequence[str]) -> frozenset[str]:
    """The names of the features that the file states are categories."""
    kinds = learner.get("feature_types")
    if kinds is None or not are_texts(kinds) or len(kinds) != len(features):
        return frozenset()
    return frozenset(name for name, kind in zip(features, kinds, strict=True) if kind == "c")


def _positive_weight(learner: Mapping[str, Any]) -> float:
    """How much rows of the second class weigh (scale_pos_weight)."""
    result = learner["objective"].get("reg_loss_param")
    text = result.get("scale_pos_weight", "1") if isinstance(result, dict) else "1"
    try:
        found = float(text)
    except (TypeError, ValueError):
        found = math.nan
    return float(np.float32(found)) if 0 < found < 1e9 else 1.0


def _max_delta_step(learner: Mapping[str, Any]) -> float:
    """The setting `max_delta_step` of Poisson's loss, which its second derivatives depend on."""
    result = learner["objective"].get("poisson_regression_param")
    text = result.get("max_delta_step") if isinstance(result, dict) else None
    return float(text) if isinstance(text, str) and STEP.fullmatch(text) else MAX_DELTA_STEP


def _parallel_trees(booster: Mapping[str, Any], place: str) -> int:
    """How many trees of one class a round grows; ReleaseError where the parameters are no table or no number."""
    here = f"{place}.gbtree_model_param"
    parameters = readers.object_at(booster.get("gbtree_model_param", {}), here)
    found = _whole_number(parameters, "num_parallel_tree", here) if "num_parallel_tree" in parameters else 1
    if not found:
        raise ReleaseError("must be at least 1", place=f"{here}.num_parallel_tree")
    return found


def _refuse_other_trees(booster: Mapping[str, Any], trees: Sequence[Any], place: str) -> None:
    """XGBoost puts each tree where its `id` says, and from 2.1 on predicts with the trees of the rounds alone."""
    if booster.get("gbtree_model_param", {}).get("num_trees", str(len(trees))) != str(len(trees)):
        raise ReleaseError("must be the number of trees", place=f"{place}.gbtree_model_param.num_trees")
    for i, tree in enumerate(trees):
        if isinstance(tree, dict) and tree.get("id", i) != i:
            raise ReleaseError("has its trees in another order than their `id`s", place=f"{place}.trees[{i}].id")
    if "iteration_indptr" in booster:
        starts = integers_at(booster, "iteration_indptr", place)
        if len(starts) and (starts[0] != 0 or starts[-1] != len(trees) or (np.diff(starts) < 0).any()):
            raise ReleaseError("leaves trees out, or has trees that are not there", place=f"{place}.iteration_indptr")


def _rounds(groups: Ids, starts: Ids | None, parallel: int) -> tuple[int, ...]:
    """The round in which each tree was grown; before 2.1 the file has parallel trees' number alone."""
    if starts is not None and len(starts) > 1 and (np.diff(starts) > 0).all() and starts[-1] == len(groups):
        return tuple(np.repeat(np.arange(len(starts) - 1), np.diff(starts)).tolist())
    each = parallel * (int(groups.max(initial=0)) + 1)
    return tuple(i // each for i in range(len(groups)))


def _hessians(
    objective: str,
    base: Sequence[float],
    positive: float,
    rounds: tuple[int, ...],
    *,
    dart: bool,
    version: Sequence[int],
    max_step: float,
    vectors: bool,
) -> Hessians:
    """How the sums of second derivatives follow from the scores; with `dart` nobody knows which trees were left out.

    Where leaves are `vectors`, the sums are over all classes.
    Those of absolute errors and of quantiles are 1 for everybody up to XGBoost 3.3, and smoothed from 3.4 on.
    """
    if objective in {"binary:logistic", "binary:logitraw"}:
        return Hessians("logistic", rounds, tuple(base), positive=positive, later=not dart)
    if objective == LOGS[0]:
        return Hessians("exponential", rounds, tuple(base), factor=math.exp(max_step), later=False)
    if objective in MULTI and vectors and dart:
        return Hessians("unknown", rounds)
    if objective in MULTI:
        return Hessians("softmax", rounds, tuple(base), factor=2.0, later=not dart)
    constant = {"reg:squarederror", "reg:linear"}
    if list(version) < SMOOTHED:
        constant |= {"reg:absoluteerror", "reg:quantileerror"}
    if objective in constant and positive == 1.0:
        return Hessians("constant", rounds)
    if objective == "binary:hinge":
        return Hessians("hinge", rounds, tuple(base), later=not dart)
    return Hessians("bounded" if objective == "reg:pseudohubererror" else "unknown", rounds)


def _part(document: Mapping[str, Any], key: str, place: str) -> dict[str, Any]:
    return readers.object_at(document.get(key), f"{place}.{key}")


def _whole_number(document: Mapping[str, Any], key: str, place: str) -> int:
    found = document.get(key)
    if not isinstance(found, str) or not found.isascii() or not found.isdigit() or len(found) > 9:
        raise ReleaseError("must be a whole number, as a text", place=f"{place}.{key}")
    return int(found)


def _version(document: Mapping[str, Any]) -> list[int]:
    found = document.get("version")
    parts = found.tolist() if isinstance(found, np.ndarray) else found
    good = isinstance(parts, list) and len(parts) <= 4 and all(type(part) is int for part in parts)
    return parts if good and isinstance(parts, list) else []


def _predicting_rounds(learner: Mapping[str, Any], rounds: int, place: str) -> int:
    """With how many of its rounds the model predicts: those up to the best, if its estimator was stopped early.

    Before 2.0 XGBoost wrote of every model which of its rounds was the best: the last, unless it was stopped.
    """
    attributes = learner.get("attributes")
    if not isinstance(attributes, dict) or "best_iteration" not in attributes:
        return rounds
    best = attributes["best_iteration"]
    if not isinstance(best, str) or not ROUND.fullmatch(best) or int(best) >= rounds:
        raise stopped_early(f"{place}.attributes.best_iteration")
    return int(best) + 1


def _classes(objective: str, value: int, place: str) -> tuple[str, ...]:
    if value > 1 and objective in {*BINARY, *NUMBERS, *LOGS}:
        what = f"must be 0 for {objective}: with more, each row has several scores"
        raise ReleaseError(what, place=f"{place}.learner_model_param.num_class")
    if objective in BINARY:
        return ("0", "1")
    if objective in MULTI and 2 <= value <= MAX_CLASSES:
        return tuple(map(str, range(value)))
    if objective in {*NUMBERS, *LOGS}:
        return ()
    known = ", ".join((*BINARY, *MULTI, *NUMBERS, *LOGS))
    named = f": {objective}" if OBJECTIVE.fullmatch(objective) else ""
    what = f"has an objective that is not read{named}"
    raise ReleaseError(what, place=f"{place}.objective.name", remedy=f"read: {known}")


def _booster(learner: Mapping[str, Any], place: str) -> tuple[dict[str, Any], Mapping[str, Any] | None]:
    """The part with the trees, and the part with their weights (`weight_drop`) if DART trained the model, else None.

    Up to 3.2 the booster is named `dart`, holds the trees in a booster `gbtree` and has `weight_drop` beside it. From
    3.3 on it is named `gbtree`, with `weight_drop` beside `model`; from 3.4 on `weight_drop` is in `model`.
    """
    outer = _part(learner, "gradient_booster", place)
    is_dart = outer.get("name") == "dart"
    booster = _part(outer, "gbtree", place) if is_dart else outer
    if booster.get("name") != "gbtree":
        raise ReleaseError("is no booster of trees", place=f"{place}.name", remedy="read: gbtree, dart")
    model = _part(booster, "model", place)
    parts = [outer, booster, model] if is_dart else [outer, model]
    weighted = [part for part in parts if "weight_drop" in part]
    if len(weighted) > 1 or (is_dart and not weighted):
        raise ReleaseError("must have the weights of its trees once", place=f"{place}.weight_drop")
    return model, weighted[0] if weighted else None


def _weights(weighted: Mapping[str, Any] | None, trees: int, place: str) -> Floats:
    return np.ones(trees) if weighted is None else floats_at(weighted, "weight_drop", place, trees)


def _features(learner: Mapping[str, Any], number: int, place: str) -> tuple[str, ...]:
    """The features' names; f0, f1, ... where the file has none, as XGBoost calls them."""
    names = learner.get("feature_names")
    if names is None or (isinstance(names, list | np.ndarray) and not len(names)):
        if number > 100_000:
            raise ReleaseError("has too many features", place=place)
        return tuple(f"f{i}" for i in range(number))
    if not are_texts(names) or len(names) != number:
        raise ReleaseError("must name every feature", place=f"{place}.feature_names")
    return tuple(names)


def _base(shape: Mapping[str, Any], objective: str, scores: int, place: str) -> tuple[float, ...]:
    """What the sums of the trees start from, one for each score; a single score of two classes is the second one's."""
    result, here = shape.get("base_score"), f"{place}.base_score"
    try:
        found = json.loads(result) if isinstance(result, str) and len(result) < 100_000 else None
    except (ValueError, RecursionError):
        found = None
    numbers: list[Any] = found if isinstance(found, list) else [found]
    if not all(readers.is_number(number) and abs(number) < 1e30 for number in numbers):
        raise ReleaseError("must be a number, or a list of them, as a text", place=here)
    single = [float(np.float32(number)) for number in numbers]
    if objective == BINARY[0]:
        if not all(0 < number < 1 for number in single):
            raise ReleaseError("must be a chance between 0 and 1", place=here)
        single = [-math.log(1 / number - 1) for number in single]
    if objective in LOGS:
        if not all(number > 0 for number in single):
            raise ReleaseError("must be a number above 0", place=here)
        single = [math.log(number) for number in single]
    if len(single) == 1:
        single *= scores
    if len(single) != scores:
        raise ReleaseError("must be one number, or one for each class", place=here)
    return tuple(single)


SMOOTHED = [3, 4]
"""The version from which on second derivatives of absolute errors and of quantiles are smoothed."""

Names = Mapping[int, Sequence[str]]
"""The texts of a feature's categories, in the order of their codes."""


def category_texts(booster: Mapping[str, Any], features: Sequence[str], place: str) -> Names:
    """Texts that stand in the file for categories, where it has them."""
    kept = _kept(booster, features)
    return {i: _texts(one, f"{place}.cats.enc[{i}]") for i, one in enumerate(kept) if _has_texts(one)}


def _kept(booster: Mapping[str, Any], features: Sequence[str]) -> Sequence[Any]:
    """What the file keeps of each feature's categories; empty where it keeps nothing."""
    result = booster.get("cats")
    kept = result.get("enc") if isinstance(result, dict) else None
    return kept if isinstance(kept, list) and len(kept) == len(features) else ()


def _number_categories(
    booster: Mapping[str, Any], features: Sequence[str], place: str
) -> dict[int, readers.CategoryCodes]:
    """Columns whose categories are numbers: tests name the positions of these, not the numbers."""
    found = {}
    for i, one in enumerate(_kept(booster, features)):
        if isinstance(one, dict) and "offsets" not in one and one.get("values") is not None:
            values = floats_at(one, "values", f"{place}.cats.enc[{i}]").tolist()
            if len(set(values)) < len(values):
                raise ReleaseError("has a category twice", place=f"{place}.cats.enc[{i}]")
            found[i] = number_codes(features[i], values, None)
    return found


def _has_texts(document: Any) -> bool:
    offsets = document.get("offsets") if isinstance(document, dict) else None
    return isinstance(offsets, list | np.ndarray) and len(offsets) > 1


def _texts(document: Mapping[str, Any], place: str) -> list[str]:
    offsets, values = integers_at(document, "offsets", place), integers_at(document, "values", place)
    if (np.diff(offsets) < 0).any() or offsets[0] != 0 or offsets[-1] != len(values) or (abs(values) > 255).any():
        raise ReleaseError("is no list of texts", place=place)
    content = (values % 256).astype(np.uint8).tobytes()
    try:
        return [content[a:b].decode() for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
    except UnicodeDecodeError:
        raise ReleaseError("is not UTF-8 text", place=place) from None


def _common_width(trees: Sequence[Any], groups: Ids, scores: int, place: str) -> int:
    """How many numbers the leaves of all trees have: one, or one for each score of the model."""
    widths = {leaf_width(tree, f"{place}.trees[{i}]") for i, tree in enumerate(trees)}
    if not (widths <= {1} or (widths == {scores} and not groups.any())):
        raise ReleaseError("must have leaves with one number, or with one for each class", place=f"{place}.trees")
    return max(widths, default=1)


def _tree(document: Any, output: int | None, names: Names, weight: float, place: str) -> readers.TreeIR:
    """A tree whose leaves add to the score of the class `output`, or to those of all classes, or to a single score."""
    document = readers.object_at(document, place)
    parameters, width = _part(document, "tree_param", place), leaf_width(document, place)
    left = integers_at(document, "left_children", place)
    n = len(left)
    if parameters.get("num_nodes", str(n)) != str(n):
        raise ReleaseError("must be the number of nodes", place=f"{place}.tree_param.num_nodes")
    right = integers_at(document, "right_children", place, n)
    subsets, leaf = _subsets(document, n, names, place), left == readers.LEAF
    without = {*subsets, *(np.flatnonzero(leaf).tolist() if width > 1 else ())}
    value = _single(
        floats_at(_conditions(document, without), "split_conditions", place, n), f"{place}.split_conditions"
    )
    default_left = _flags(document, "default_left", place, n)
    by_set = np.zeros(n, dtype=bool)
    by_set[list(subsets)] = True
    of_categories = _flags(document, "split_type", place, n) if "split_type" in document else np.zeros(n, dtype=bool)
    if (of_categories & ~leaf != by_set).any():
        raise ReleaseError("does not say which categories its tests are about", place=place)
    values = value[:, None]
    if width > 1:
        values = _single(vector_leaves(document, width, place), f"{place}.leaf_weights")
        right = np.where(leaf, readers.LEAF, right)
    feature = integers_at(document, "split_indices", place, n)
    if (feature[~leaf] < 0).any():
        raise ReleaseError("asks about a feature that is not there", place=f"{place}.split_indices")
    tree = readers.TreeIR(
        feature=np.where(leaf, readers.LEAF, feature),
        threshold=np.where(leaf | by_set, np.nan, value.astype(np.float64)),
        low=np.where(by_set, right, left),
        high=np.where(by_set, left, right),
        values=(values * np.float32(weight)).astype(np.float64),
        strict=True,
        float32=True,
        missing_low=default_left != by_set,
        subsets=subsets,
        output=output,
        numbers=_sums(document, place, n),
    )
    return _without_deleted(tree)


def _flags(document: Mapping[str, Any], key: str, place: str, n: int) -> NDArray[np.bool_]:
    """Whether each node has a property; ReleaseError where a number is neither 0 nor 1."""
    found = integers_at(document, key, place, n)
    if ((found != 0) & (found != 1)).any():
        raise ReleaseError("must be 0 or 1 at every node", place=f"{place}.{key}")
    return np.asarray(found == 1)


def _conditions(document: Mapping[str, Any], without: Collection[int]) -> Mapping[str, Any]:
    """The tree's leaves and thresholds, 0 for nodes that have none, where XGBoost wrote NaN before 3.0.

    These are tests for a set, and leaves with several numbers.
    """
    found = document.get("split_conditions")
    if not without or not isinstance(found, list | np.ndarray) or len(found) <= max(without):
        return document
    numbers = list(found) if isinstance(found, list) else found.copy()
    for node in without:
        numbers[node] = 0.0
    return {"split_conditions": numbers}


def _single(numbers: Floats, place: str) -> NDArray[np.float32]:
    if (abs(numbers) > np.finfo(np.float32).max).any():
        raise ReleaseError("must hold numbers of single precision", place=place)
    return numbers.astype(np.float32)


def _subsets(document: Mapping[str, Any], n: int, names: Names, place: str) -> dict[int, frozenset[str | float]]:
    """The categories that each test by category names; XGBoost sends them right."""
    if "categories_nodes" not in document:
        return {}
    nodes, categories = integers_at(document, "categories_nodes", place), integers_at(document, "categories", place)
    start = integers_at(document, "categories_segments", place, len(nodes))
    size = integers_at(document, "categories_sizes", place, len(nodes))
    asked = integers_at(document, "split_indices", place, n)
    out_of_range = (nodes < 0) | (nodes >= n) | (start < 0) | (size < 0) | (start + size > len(categories))
    if out_of_range.any() or len(set(nodes.tolist())) < len(nodes) or size.sum() > len(categories):
        raise ReleaseError("names categories for no node", place=f"{place}.categories_nodes")
    readers.refuse_many_categories(int(size.sum()), f"{place}.categories_sizes")
    found: dict[int, frozenset[str | float]] = {}
    for node, first, many in zip(nodes.tolist(), start.tolist(), size.tolist(), strict=True):
        texts = names.get(int(asked[node]))
        codes = categories[first : first + many].tolist()
        if texts is not None and not all(0 <= code < len(texts) for code in codes):
            raise ReleaseError("names a category that its list does not have", place=f"{place}.nodes[{node}]")
        found[node] = frozenset(float(code) if texts is None else texts[code] for code in codes)
    return found


def _without_deleted(tree: readers.TreeIR) -> readers.TreeIR:
    """The tree without the nodes that pruning left behind in the file."""
    kept = reachable_nodes(tree.low, tree.high, tree.feature == readers.LEAF)
    if kept is None or len(kept) == tree.nodes:
        return tree
    number = np.full(tree.nodes, readers.LEAF)
    number[kept] = np.arange(len(kept))
    leaf = tree.feature[kept] == readers.LEAF
    return readers.TreeIR(
        feature=tree.feature[kept],
        threshold=tree.threshold[kept],
        low=np.where(leaf, readers.LEAF, number[tree.low[kept]]),
        high=np.where(leaf, readers.LEAF, number[tree.high[kept]]),
        values=tree.values[kept],
        strict=True,
        float32=True,
        missing_low=tree.flag("missing_low")[kept],
        subsets={int(number[node]): chosen for node, chosen in tree.subsets.items() if number[node] != readers.LEAF},
        output=tree.output,
        numbers=tuple(replace(each, values=each.values[kept]) for each in tree.numbers),
    )


def _sums(document: Mapping[str, Any], place: str, nodes: int) -> tuple[readers.NodeNumbers, ...]:
    """The sums of second derivatives on every node, where the file has one for each."""
    if "sum_hessian" not in document:
        return ()
    found = _single(floats_at(document, "sum_hessian", place), f"{place}.sum_hessian").astype(np.float64)
    return (readers.NodeNumbers("sum_hessian", "hessian", found),) if len(found) == nodes else ()


def _other_disclosures(
    learner: Mapping[str, Any], names: Collection[int], trees: Sequence[Any]
) -> list[FileDisclosure]:
    """What the file discloses besides numbers of people and settings."""
    parts = {
        "loss_changes": any("loss_changes" in tree for tree in trees),
        "base_weights": any("base_weights" in tree for tree in trees),
        "cats": bool(names),
        "best_score": "best_score" in (learner.get("attributes") or {}),
    }
    return SHAPE.disclosed(parts)
