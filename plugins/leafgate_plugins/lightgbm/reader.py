"""LightGBM's text files: boosted trees, or a random forest, that predict classes, or numbers as they are."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from leafgate import readers
from leafgate.api import FileDisclosure, Floats, Ids, ReleaseError
from leafgate.ir.arrays import BitSets, CategoryBudget
from leafgate.ir.node_numbers import Hessians
from leafgate.kernel.tree import MAX_TREES
from leafgate_plugins.lightgbm.categories import CODES, RANGE, belonging, origin_of, texts_in
from leafgate_plugins.lightgbm.training import learner_of
from leafgate_plugins.lightgbm.unread import PATHS, SHAPE, unread_content

MAX_LINES = 2_000_000
MAX_CLASSES = 1000
MAX_WORDS = 2**21
"""Words of 32 bits that the sets of one tree may take."""

ONE, SEVERAL = ("binary",), ("multiclass", "multiclassova")
NUMBERS = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")
"""What is predicted is the sum itself."""

LOGS = ("poisson", "gamma", "tweedie")
"""What is predicted is the exponential of the sum."""

UNREAD = (*("cross_entropy", "cross_entropy_lambda", "lambdarank", "rank_xendcg", "custom"),)
"""Objectives that an error names: what is predicted is not the sum, or no class and no number of a person."""

ZERO = float(np.float32(1e-35))
"""Numbers as small, this one among them, are zero to LightGBM before it asks anything."""

LIST = re.compile(r"[-+.0-9eE ]*")
BY_SET, DEFAULT_LEFT, ABSENT_ZERO, ABSENT_NAN = 1, 2, 1, 2
"""Bits of a decision's type: a set, missing goes left; above these, what counts as missing."""

Lines = Mapping[str, str]


@dataclass(frozen=True)
class File:
    """The parts of a file: its first lines, each tree's, the settings, the categories of a data frame."""

    head: Lines
    trees: Sequence[Lines]
    settings: Lines
    categories: Any


def read(content: bytes, place: str) -> readers.ModelIR:
    """The model, not yet checked. Numbers are compared in double precision, `<=` going left, as LightGBM does."""
    file = _parts(content, place)
    objective = file.head.get("objective", "").split(" ")
    classes = _classes(objective, file.head, place)
    features = tuple(file.head.get("feature_names", "").split(" "))
    if len(features) != _whole_number(file.head, "max_feature_idx", place) + 1:
        raise ReleaseError("must name every feature", place=f"{place}.feature_names")
    each = len(classes) if objective[0] in SEVERAL else 1
    if _whole_number(file.head, "num_tree_per_iteration", place) != each or len(file.trees) % each:
        raise ReleaseError("has not as many trees a round as classes", place=f"{place}.num_tree_per_iteration")
    rounds = len(file.trees) // each if "average_output" in file.head else 1
    lists = belonging(file.categories, _infos(file), len(features), place)
    names = {feature: texts for feature, each in lists.lists.items() if (texts := texts_in(each)) is not None}
    budget = CategoryBudget(place)
    trees = tuple(
        _tree(result, names, budget, rounds, i % each if each > 1 else None, f"{place}.trees[{i}]")
        for i, result in enumerate(file.trees)
    )
    sets = {int(tree.feature[node]) for tree in trees for node in tree.subsets}
    unread = unread_content(content.decode(), features)
    coded = [origin_of(i, name, lists, by_set=i in sets) for i, name in enumerate(features)]
    return replace(
        readers.boosted_model("lightgbm", features, classes, trees, log=objective[0] in LOGS),
        discloses=(*_disclosed(file, trees), *unread.disclosures()),
        origins=tuple(coded) if any(coded) else None,
        category_lists=_category_lists(file, features, lists.lists),
        texts=unread.texts,
        producer=f"LightGBM, file version {file.head['version'][:20]}",
        settings=_settings(file.settings, len(file.trees) // each),
        sampling=_sampling(file.settings, place),
        link=_link(objective),
        hessians=_hessians(file, objective, len(classes), each),
        learner=None
        if each == 2  # LGBMClassifier fits the objective `binary` where there are two classes
        else learner_of(
            file.settings,
            objective[0],
            len(file.trees) // each,
            frozenset(_codes(file, features)),
            weighted=_weighted(trees[:each], file.settings),
        ),
    )


def _infos(file: File) -> list[str]:
    """What the file states of each feature: a range, categories, or `none`."""
    return file.head.get("feature_infos", "").split(" ")


def _codes(file: File, features: Sequence[str]) -> dict[str, list[str]]:
    """The whole numbers that each feature is a category of, by its name."""
    infos = zip(features, _infos(file), strict=False)
    return {name: info.split(":") for name, info in infos if CODES.fullmatch(info)}


def _weighted(trees: Sequence[readers.TreeIR], settings: Lines) -> bool:
    """Had rows weights, or classes? Without them all rows have the same second derivative in the first trees.

    Where the settings weigh rows or classes themselves, nothing is to be seen, and the answer is no.
    """
    by_class = settings.get("scale_pos_weight", "1") != "1" or settings.get("is_unbalance", "0") != "0"
    if by_class or "goss" in (settings.get("data_sample_strategy"), settings.get("boosting")):
        return False
    for tree in trees:
        weights = [each.values for each in tree.numbers if each.kind == "hessian"]
        if weights and tree.size is not None:
            shares = weights[0][tree.leaves] / np.maximum(tree.size[tree.leaves], 1)
            if np.ptp(shares) > WEIGHTS_DIFFER * shares.max():
                return True
    return False


WEIGHTS_DIFFER = 1e-3
"""So much may means of equal numbers differ, written with six digits and added up in single precision."""


def _share(lines: Lines, key: str, place: str, default: float = 1.0, least: float = 0.0) -> float:
    """A setting that is a share of rows."""
    text = lines.get(key, str(default))
    found = float(text) if re.fullmatch(r"[0-9.]{1,20}(e-\d{1,3})?", text) and text.count(".") < 2 else -1.0
    if not (least < found <= 1 or found == least == 0):
        raise ReleaseError("must be a share of rows", place=f"{place}.parameters.{key}")
    return found


def _sampling(lines: Lines, place: str) -> readers.Sampling:
    """On which part of the rows each tree was grown.

    With `goss` a row is drawn with the probability that those of small gradients have, at least.
    """
    if "goss" in (lines.get("data_sample_strategy"), lines.get("boosting")):
        top, other = _share(lines, "top_rate", place, 0.2), _share(lines, "other_rate", place, 0.1)
        least = other / (1 - top) if top + other < 1 else 1.0
        return readers.Sampling((least, 1.0), root=(min(1.0, top + other), 1.0))
    if lines.get("bagging_freq", "0") == "0":
        return readers.NO_SAMPLING
    by_class = [_share(lines, f"{name}_bagging_fraction", place) for name in ("pos", "neg")]
    if min(by_class) < 1:
        return readers.Sampling((min(by_class), max(by_class)))
    rate = _share(lines, "bagging_fraction", place)
    return readers.Sampling((rate, rate))


PRINTED = 1e-5
"""Relative error of numbers that are written with six digits."""


def _hessians(file: File, objective: Sequence[str], classes: int, each: int) -> Hessians:
    """How the sums of second derivatives follow from the scores; not at all where the settings leave it open."""
    result, rounds = file.settings, tuple(i // each for i in range(len(file.trees)))
    plain = result.get("use_quantized_grad", "0") == "0" and "goss" not in (
        result.get("data_sample_strategy"),
        result.get("boosting"),
    )
    sure = plain and result.get("is_unbalance", "0") == "0" and result.get("boosting") in {"gbdt", "dart", "rf"}
    if not sure or "path_smooth" not in result:
        return Hessians("unknown", rounds)
    if result["boosting"] == "rf":
        rounds = (0,) * len(rounds)  # every tree starts from the same scores
    later = result["boosting"] != "dart"
    average = result.get("boost_from_average", "0") == "1"
    if objective[0] in {"regression", "regression_l1", "huber", "quantile"}:
        return Hessians("constant", rounds, rounding=PRINTED)
    if objective[0] == "binary":
        scale = next((part.partition(":")[2] for part in objective if part.startswith("sigmoid:")), "1")
        weight = result.get("scale_pos_weight", "1")
        if not all(re.fullmatch(r"[0-9.]{1,20}", text) and text.count(".") < 2 for text in (scale, weight)):
            return Hessians("unknown", rounds)
        start: tuple[float, ...] | None = None if average else (0.0,)
        return Hessians("logistic", rounds, start, 1.0, float(scale), float(weight), later, PRINTED)
    if objective[0] == "multiclass":
        start = None if average else (0.0,) * classes
        return Hessians("softmax", rounds, start, classes / (classes - 1), later=later, rounding=PRINTED)
    return Hessians("unknown", rounds)


def _settings(lines: Lines, rounds: int) -> dict[str, readers.LearnerSetting]:
    """The settings of the learner, named as in scikit-learn and XGBoost; a missing depth is unlimited."""
    found: dict[str, readers.LearnerSetting] = {"n_estimators": rounds}
    depth, weight = lines.get("max_depth", ""), lines.get("min_sum_hessian_in_leaf", "")
    if re.fullmatch(r"-?\d{1,6}", depth):
        found["max_depth"] = int(depth) if int(depth) > 0 else None
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", weight):
        found["min_child_weight"] = float(weight)
    return found


def _parts(content: bytes, place: str) -> File:
    """The file's lines, each with what it is part of."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ReleaseError("is not UTF-8 text", place=place) from None
    if text.count("\n") > MAX_LINES:
        raise ReleaseError(f"has more than {MAX_LINES:,} lines", place=place)
    before_end, end, rest = text.partition("\nend of trees")
    if not end:
        raise ReleaseError("has no end of trees", place=place)
    if before_end.count("\nTree=") > MAX_TREES:
        raise ReleaseError(f"has more than {MAX_TREES:,} trees", place=place)
    head, *trees = re.split(r"^Tree=\d+\r?$", before_end, flags=re.MULTILINE)
    _, _, settings = rest.partition("\nparameters:")
    result = re.findall(r"^\[(\w+): (.*)\]\r?$", settings, flags=re.MULTILINE)
    return File(_lines(head, place), [_lines(tree, place) for tree in trees], dict(result), _categories(rest, place))


def _lines(text: str, place: str) -> Lines:
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key in found and key:
            raise ReleaseError(f"says `{key[:40]}` twice", place=place)
        found[key] = value.strip()
    return found


def _categories(rest: str, place: str) -> Any:
    """The categories of a data frame's columns, from the last line."""
    last = rest.rstrip().rsplit("\n", 1)[-1]
    if not last.startswith("pandas_categorical:"):
        return None
    here = f"{place}.pandas_categorical"
    readers.refuse_many_categories(last.count(","), here)
    return readers.parse_bounded_json(last.partition(":")[2].encode(), here, with_nan=True)


def _classes(objective: Sequence[str], head: Lines, place: str) -> tuple[str, ...]:
    here = f"{place}.objective"
    if objective[0] in {*ONE, *NUMBERS, *LOGS} and head.get("num_class") != "1":
        raise ReleaseError(f"must be 1 where the objective is {objective[0]}", place=f"{place}.num_class")
    if objective[0] in ONE:
        return ("0", "1")
    if objective[0] in SEVERAL:
        number = _whole_number(head, "num_class", place)
        if not 2 <= number <= MAX_CLASSES:
            raise ReleaseError(f"has fewer than 2 classes, or more than {MAX_CLASSES:,}", place=here)
        return tuple(map(str, range(number)))
    if objective[0] in LOGS or (objective[0] in NUMBERS and "sqrt" not in objective):
        return ()
    name = "reg_sqrt" if objective[0] in NUMBERS else objective[0] if objective[0] in UNREAD else ""
    known = ", ".join((*ONE, *SEVERAL, *NUMBERS, *LOGS))
    raise ReleaseError(
        f"has {f'the objective {name}' if name else 'an objective'} that is not read",
        place=here,
        remedy=f"read: {known}",
    )


def _link(objective: Sequence[str]) -> Literal["softmax", "other"]:
    """Whether scores of classes are the softmax of the trees' sums: not those of one class against the rest each."""
    scaled = any(part.startswith("sigmoid:") and part != "sigmoid:1" for part in objective)
    return "other" if scaled or objective[0] == "multiclassova" else "softmax"


def _whole_number(lines: Lines, key: str, place: str) -> int:
    found = lines.get(key, "")
    if not re.fullmatch(r"[0-9]{1,8}", found):
        raise ReleaseError("must be a whole number", place=f"{place}.{key}")
    return int(found)


def _floats(lines: Lines, key: str, place: str, length: int) -> Floats:
    """The numbers under a key."""
    found = lines.get(key)
    if found is None or found.count(" ") > 2 * (length + 1) or not LIST.fullmatch(found):
        raise ReleaseError("must be finite numbers", place=f"{place}.{key}")
    try:
        numbers = np.array(found.split(), dtype=np.float64)
    except ValueError:
        raise ReleaseError("must be finite numbers", place=f"{place}.{key}") from None
    if len(numbers) != length:
        raise ReleaseError("must speak of every test, or every leaf", place=f"{place}.{key}")
    return numbers


def _ids(lines: Lines, key: str, place: str, length: int) -> Ids:
    numbers = _floats(lines, key, place, length)
    if numbers.size and ((numbers != np.rint(numbers)) | (abs(numbers) > 2**32)).any():
        raise ReleaseError("must be whole numbers", place=f"{place}.{key}")
    return numbers.astype(np.int64)


Names = Mapping[int, Sequence[str]]


def _tree(
    lines: Lines, names: Names, budget: CategoryBudget, rounds: int, output: int | None, place: str
) -> readers.TreeIR:
    if lines.get("is_linear", "0") != "0":
        raise ReleaseError("has linear functions on its leaves (linear_tree), which are not read", place=place)
    leaves = _whole_number(lines, "num_leaves", place)
    if not 1 <= leaves <= len(lines.get("leaf_value", "")) + 1:
        raise ReleaseError("has not as many leaves as it says", place=place)
    inner = leaves - 1
    kind = _ids(lines, "decision_type", place, inner) if inner else np.zeros(0, dtype=np.int64)
    threshold = _thresholds(lines, inner, place)
    feature = _ids(lines, "split_feature", place, inner) if inner else kind
    ways = [_children(lines, key, inner, place) for key in ("left_child", "right_child")]
    by_set = kind & BY_SET != 0
    missing = np.where(by_set, False, _missing_left(kind, threshold, by_set, place))
    none = np.full(leaves, readers.LEAF)
    value = _floats(lines, "leaf_value", place, leaves) / rounds
    counts = _on_nodes(lines, "count", inner, place)
    whole = (
        len(lines.get("leaf_weight", "").split()) == leaves and len(lines.get("internal_weight", "").split()) == inner
    )
    weights = _on_nodes(lines, "weight", inner, place) if whole else None
    if weights is not None and inner and weights[0] == 0:
        weights[0] = np.nan  # LightGBM up to 4.1 writes 0 in place of the root's
    numbers = [] if counts is None else [readers.NodeNumbers("leaf_count, internal_count", "rows", counts)]
    numbers += [] if weights is None else [readers.NodeNumbers("leaf_weight, internal_weight", "hessian", weights)]
    return readers.TreeIR(
        feature=np.concatenate([feature, none]),
        threshold=np.concatenate([np.where(by_set, np.nan, _off_zero(threshold)), np.full(leaves, np.nan)]),
        low=np.concatenate([ways[0], none]),
        high=np.concatenate([ways[1], none]),
        values=np.concatenate([np.full(inner, np.nan), value])[:, None],
        strict=np.concatenate([(threshold >= -ZERO) & (threshold < 0), np.zeros(leaves, dtype=bool)]),
        missing_low=np.concatenate([missing, np.zeros(leaves, dtype=bool)]),
        subsets=_subsets(lines, np.flatnonzero(by_set), threshold, feature, names, budget, place),
        size=counts,
        numbers=tuple(numbers),
        output=output,
    )


def _thresholds(lines: Lines, inner: int, place: str) -> Floats:
    """The thresholds, the largest number there is for one without end: only what is missing goes right there."""
    if not inner:
        return np.zeros(0)
    largest = repr(sys.float_info.max)
    return _floats(
        {"threshold": re.sub(r"(?<![^ ])inf(?![^ ])", largest, lines.get("threshold", "?"))}, "threshold", place, inner
    )


def _off_zero(threshold: Floats) -> Floats:
    """Thresholds among the numbers that are zero to LightGBM, moved to their edge: `< -ZERO`, or `<= ZERO`."""
    return np.where(abs(threshold) <= ZERO, np.where(threshold < 0, -ZERO, ZERO), threshold)


def _children(lines: Lines, key: str, inner: int, place: str) -> Ids:
    """Children by node: tests first, then leaves, which the file numbers from -1 downwards."""
    if not inner:
        return np.zeros(0, dtype=np.int64)
    found = _ids(lines, key, place, inner)
    return np.where(found < 0, inner - 1 - found, found)


def _missing_left(kind: Ids, threshold: Floats, by_set: np.ndarray, place: str) -> np.ndarray:
    """Where a missing number goes left: by default, or as zero does where nothing counts as missing."""
    absent, default_left = (kind >> 2) & 3, kind & DEFAULT_LEFT != 0
    as_zero = threshold >= 0
    conflicting = ~by_set & (absent == ABSENT_ZERO) & (default_left != as_zero)
    if conflicting.any() or (absent > ABSENT_NAN).any():
        where = int((conflicting | (absent > ABSENT_NAN)).argmax())
        why = "takes zero for missing (zero_as_missing), and sends it elsewhere than its neighbours: that is not read"
        raise ReleaseError(why, place=f"{place}.nodes[{where}]")
    return np.where(absent == ABSENT_NAN, default_left, as_zero)


def _subsets(
    lines: Lines, nodes: Ids, threshold: Floats, feature: Ids, names: Names, budget: CategoryBudget, place: str
) -> dict[int, frozenset[str | float]]:
    """The categories that each test by a set sends left: the bits of its part of `cat_threshold`."""
    if not len(nodes):
        return {}
    number = _whole_number(lines, "num_cat", place)
    start = _ids(lines, "cat_boundaries", place, number + 1)
    words = _ids(lines, "cat_threshold", place, int(start[-1]) if 0 <= start[-1] <= MAX_WORDS else -1)
    if start[0] != 0 or (np.diff(start) < 0).any() or (words < 0).any() or (words >= 2**32).any():
        raise ReleaseError("has no sets of categories", place=f"{place}.cat_boundaries")
    sets = BitSets(budget)
    found: dict[int, frozenset[str | float]] = {}
    for node in nodes.tolist():
        which = threshold[node]
        if which != np.rint(which) or not 0 <= which < number:
            raise ReleaseError("asks for a set that there is not", place=f"{place}.nodes[{node}]")
        bits, asked = words[start[int(which)] : start[int(which) + 1]], int(feature[node])
        texts = names.get(asked)
        if texts is None:
            found[node] = sets.of_codes(int(which), bits)
        elif all(code < len(texts) for code in sets.codes(int(which), bits)[-1:]):
            found[node] = sets.of_texts(int(which), bits, asked, texts)
        else:
            raise ReleaseError("names a category that its list does not have", place=f"{place}.nodes[{node}]")
    return found


def _on_nodes(lines: Lines, name: str, inner: int, place: str) -> Floats | None:
    """Numbers of tests (`internal_`) and leaves (`leaf_`), where the file has both."""
    if not lines.get(f"leaf_{name}") or (inner and not lines.get(f"internal_{name}")):
        return None
    below = _floats(lines, f"leaf_{name}", place, inner + 1)
    return np.concatenate([_floats(lines, f"internal_{name}", place, inner), below]) if inner else below


def _category_lists(
    file: File, features: Sequence[str], lists: Mapping[int, Sequence[Any]]
) -> tuple[readers.CategoryList, ...]:
    """Lists of a data frame's categories, whole numbers that features are categories of, and ends of ranges."""
    named = {id(result): features[i] for i, result in lists.items()}
    infos = zip(features, _infos(file), strict=False)
    ranges = [
        readers.CategoryList(name, frozenset(found.groups()), numbers=True)
        for name, info in infos
        if (found := RANGE.fullmatch(info))
    ]
    items = [(named.get(id(each), ""), map(_text, each)) for each in file.categories or ()]
    codes = (readers.CategoryList(name, frozenset(each)) for name, each in _codes(file, features).items())
    return (*ranges, *codes, *(readers.CategoryList(name, frozenset(each), complete=True) for name, each in items))


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _disclosed(file: File, trees: Sequence[readers.TreeIR]) -> list[FileDisclosure]:
    """What the parts of the file disclose."""
    ranges, lines = file.head.get("feature_infos", ""), frozenset(key for tree in file.trees for key in tree)
    has_codes = any(":" in each.rpartition("]")[2] for each in ranges.split(" "))
    parts = {
        "counts": any(tree.size is not None for tree in trees),
        "ranges": "[" in ranges,
        "categories": has_codes or bool(file.categories),
        **{key: key in lines for key in ("leaf_weight", "internal_value", "split_gain")},
        "settings": bool(file.settings),
        "paths": any(file.settings.get(key) for key in PATHS),
    }
    return SHAPE.disclosed(parts)
