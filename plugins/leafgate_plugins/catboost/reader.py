"""CatBoost's JSON files: boosted trees that predict classes, or numbers as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from leafgate.api import ReleaseError
from leafgate.io.json import list_at
from leafgate.ir.arrays import CategoryBudget
from leafgate.readers import (
    CategoryList,
    ModelIR,
    TreeIR,
    boosted_model,
    is_number,
    object_at,
    parse_bounded_json,
    refuse_many_categories,
)
from leafgate_plugins.catboost.hashes import category_hash
from leafgate_plugins.catboost.target_statistics import FEWER_COMBINATIONS, WITH_TEXTS, Statistic, read_statistics
from leafgate_plugins.catboost.training import learner_of
from leafgate_plugins.catboost.trees import (
    LeafWeights,
    Split,
    StatisticTest,
    borders_at,
    build_tree,
    read_nested,
    read_oblivious,
    refuse_unknown_keys,
)
from leafgate_plugins.catboost.unread import SHAPE, disclosed, unread_content, version_of

NUMBERS = ("RMSE", "MAE", "Quantile", "MAPE", "Huber", "Lq", "Expectile", "LogCosh")
"""Losses whose model predicts the sum itself."""

LOGS = ("Poisson", "Tweedie")
"""Losses whose model predicts the exponential of the sum."""

LOSSES = ("Logloss", "MultiClass", *NUMBERS, *LOGS)
MISSING_IS_LOW = {"AsIs": True, "AsFalse": True, "AsTrue": False}
"""By `nan_value_treatment`: a missing number compares as false, as the least, or as the greatest number.

Where training had none (`has_nans`), it compares as false.
"""

FLOAT, ONE_HOT, STATISTIC = "FloatFeature", "OneHotFeature", "OnlineCtr"
"""Tests of a number, of a category, and of a statistic of categories."""

MAX_CLASSES = 1000
MAX_SCORE = 1e30
HASHES = 2**32
"""Hashes of categories are signed in tests and unsigned in the list of categories."""

NO_MISSING_CATEGORY = "CatBoost takes a missing category for the text that it was given for it"

WORDS_FOR_MISSING = frozenset({"", "?", "<na>", "n/a", "na", "nan", "nat", "none", "null", "missing", "unknown"})
"""Categories, in small letters, that a missing cell may have become before CatBoost was given the table."""

DOCUMENT = ("ctr_data", "features_info", "model_info", "oblivious_trees", "scale_and_bias", "trees")
FEATURES = SHAPE.tables["features_info"]
COMPUTED = {"text_features": "texts", "embedding_features": "embeddings"}


ListedTest = tuple[str, int, float]
"""A kind, the index of a feature or the number of a statistic, and a border or the hash of a category."""


@dataclass(frozen=True, kw_only=True)
class Features:
    """The features: `numeric` and `categorical` have positions in `names` by the file's index of each kind.

    `texts` are the categories that the file lists, `number_of` their positions by their hashes. `tests` are all tests
    in the order by which CatBoost numbers them.
    """

    names: tuple[str, ...]
    numeric: Mapping[int, int]
    categorical: Mapping[int, int]
    missing_low: Mapping[int, bool]
    texts: Sequence[str]
    number_of: Mapping[int, int]
    tests: Sequence[ListedTest]
    statistics: Sequence[Statistic] = ()
    known_tests: dict[ListedTest, StatisticTest] = field(default_factory=dict)

    def statistic_test(self, test: ListedTest) -> StatisticTest:
        """A test of a statistic, each made once."""
        if test not in self.known_tests:
            self.known_tests[test] = self.statistics[test[1]].test(test[2], self.texts)
        return self.known_tests[test]


def read(content: bytes, place: str) -> ModelIR:
    """The model, not yet checked. Numbers are compared in single precision, as CatBoost does."""
    document = object_at(parse_bounded_json(content, place), place)
    refuse_unknown_keys(document, DOCUMENT, place)
    info = object_at(document.get("model_info"), f"{place}.model_info")
    loss, classes = _classes(info, f"{place}.model_info")
    outputs = len(classes) if loss == "MultiClass" else 1
    features = _features(document, f"{place}.features_info")
    scale, base = _scale_and_bias(document, outputs, place)
    of_leaves = _leaf_weights(document, info, len(classes))
    trees, unreachable = _trees(document, features, outputs, of_leaves, scale, place)
    tracker = unread_content(document, features.names, trees)
    if unreachable:
        tracker.add("numbers of leaves that no row reaches", unreachable)
    has_weights = any(tree.numbers for tree in trees)
    unspecified = _unspecified_missing(features, exact=all(tree.size is not None for tree in trees))
    return replace(
        boosted_model("catboost", features.names, classes, trees, log=loss in LOGS),
        base=base,
        discloses=(*disclosed(document, of_leaves.kind if has_weights else None), *tracker.disclosures()),
        unspecified_missing=NO_MISSING_CATEGORY if unspecified else "",
        unspecified_missing_features=unspecified,
        category_lists=(CategoryList("", frozenset(features.texts)),) if features.texts else (),
        texts=tracker.texts,
        producer=f"CatBoost {version_of(info)}".strip(),
        learner=learner_of(
            object_at(info.get("params"), f"{place}.model_info.params"),
            loss,
            len(trees) // outputs,
            frozenset(features.names[i] for i in features.categorical.values()),
            statistics=bool(features.statistics),
        ),
    )


def _unspecified_missing(features: Features, *, exact: bool) -> frozenset[str]:
    """The features whose missing cells may have been given to CatBoost as a category that is not known.

    CatBoost takes no missing category: somebody writes a text for it first. A text that is not in the list answers
    no to every test, and so does a missing cell here. That is right unless the text is in the list. It is assumed not
    to be where no category of the list is a usual word for missing, and the file has the people of every leaf
    (`exact`): an audit compares these with the table, and finds a person who is in another leaf.
    """
    known = {text.lower() for text in features.texts}
    if not features.texts or (exact and not known & WORDS_FOR_MISSING):
        return frozenset()
    return frozenset(features.names[i] for i in features.categorical.values())


def _classes(info: Mapping[str, Any], place: str) -> tuple[str, tuple[str, ...]]:
    """The loss, and the classes in the order of their scores; none of a model that predicts numbers."""
    here = f"{place}.params.loss_function"
    parameters = object_at(info.get("params"), f"{place}.params")
    loss = object_at(parameters.get("loss_function"), here).get("type")
    if loss not in LOSSES:
        named = f" {loss}" if isinstance(loss, str) and loss.isalnum() and loss.isascii() and len(loss) < 40 else ""
        raise ReleaseError(f"has a loss{named} that is not read", place=here, remedy=f"read: {', '.join(LOSSES)}")
    if loss in (*NUMBERS, *LOGS):
        return str(loss), ()
    if info.get("binclass_probability_threshold", "0.5") not in {"0.5", 0.5}:
        raise ReleaseError(
            "predicts a class from another probability than 0.5, which is not read",
            place=f"{place}.binclass_probability_threshold",
            remedy="call `set_probability_threshold(0.5)` before it is saved",
        )
    here = f"{place}.class_params"
    parameters = object_at(info.get("class_params"), here)
    refuse_unknown_keys(parameters, ("class_label_type", "class_names", "class_to_label", "classes_count"), here)
    names = list_at(parameters, "class_names", here)
    order = parameters.get("class_to_label", list(range(len(names))))
    if order != list(range(len(names))):
        raise ReleaseError("must be 0, 1, ... in the order of the classes", place=f"{here}.class_to_label")
    if not all(isinstance(name, str) or is_number(name) or isinstance(name, bool) for name in names):
        raise ReleaseError("must be texts or numbers", place=f"{here}.class_names")
    if not 2 <= len(names) <= MAX_CLASSES or (loss == "Logloss" and len(names) != 2):
        raise ReleaseError(f"must name 2 classes, or of MultiClass up to {MAX_CLASSES:,}", place=f"{here}.class_names")
    return str(loss), tuple(str(int(name)) if _is_whole(name) else str(name) for name in names)


def _is_whole(name: Any) -> bool:
    return isinstance(name, float) and name.is_integer()


def _features(document: Mapping[str, Any], place: str) -> Features:
    """The features in the order of the columns that CatBoost was given; a feature without a name has its number."""
    info = object_at(document.get("features_info"), place)
    for key, what in COMPUTED.items():
        if info.get(key):
            raise ReleaseError(
                f"has features that are computed from {what}, which is not read",
                place=place,
                remedy="fit it without these columns",
            )
    refuse_unknown_keys(info, FEATURES, place)
    numeric = _of_kind(info, "float_features", place)
    categorical = _of_kind(info, "categorical_features", place)
    flat = sorted(
        [(int(each["flat_feature_index"]), 0, index) for index, each in numeric.items()]
        + [(int(each["flat_feature_index"]), 1, index) for index, each in categorical.items()]
    )
    if len({number for number, _, _ in flat}) != len(flat):
        raise ReleaseError("must differ", place=f"{place}.flat_feature_index")
    positions: tuple[dict[int, int], dict[int, int]] = ({}, {})
    names = []
    for position, (number, kind, index) in enumerate(flat):
        positions[kind][index] = position
        names.append((numeric, categorical)[kind][index].get("feature_id") or str(number))
    if not all(isinstance(name, str) for name in names):
        raise ReleaseError("must be a text", place=f"{place}.feature_id")
    missing_low = {}
    for index, each in numeric.items():
        treatment = each.get("nan_value_treatment")
        if treatment not in MISSING_IS_LOW:
            raise ReleaseError(f"must be one of {', '.join(MISSING_IS_LOW)}", place=f"{place}.nan_value_treatment")
        missing_low[index] = MISSING_IS_LOW[treatment] or each.get("has_nans") is not True
    category_of = _categories(info, f"{place}.cat_features_hash")
    features = Features(
        names=tuple(names),
        numeric=positions[0],
        categorical=positions[1],
        missing_low=missing_low,
        texts=[*category_of.values()],
        number_of={number: position for position, number in enumerate(category_of)},
        tests=[*_borders(numeric, f"{place}.float_features"), *_values(categorical, f"{place}.categorical_features")],
    )

    def read_element(element: Mapping[str, Any], location: str) -> int | Split:
        return _element(element, features, location)

    statistics = read_statistics(document, [*category_of], read_element, place)
    of_statistics = [(STATISTIC, i, border) for i, each in enumerate(statistics) for border in each.borders]
    return replace(features, statistics=statistics, tests=[*features.tests, *of_statistics])


def _borders(numeric: Mapping[int, Mapping[str, Any]], place: str) -> Iterator[ListedTest]:
    """The borders of each feature of numbers."""
    for index, each in numeric.items():
        borders = [] if each.get("borders") is None else borders_at(each, place)
        yield from ((FLOAT, index, border) for border in borders)


def _values(categorical: Mapping[int, Mapping[str, Any]], place: str) -> Iterator[ListedTest]:
    """The hashes of the categories of each feature that tests name."""
    for index, each in categorical.items():
        values = [] if each.get("values") is None else list_at(each, "values", place)
        if not all(type(value) is int for value in values):
            raise ReleaseError("must be a list of whole numbers", place=f"{place}.values")
        yield from ((ONE_HOT, index, value) for value in values)


def _of_kind(info: Mapping[str, Any], key: str, place: str) -> dict[int, dict[str, Any]]:
    """The features of one kind by their index, as tests name them."""
    found: dict[int, dict[str, Any]] = {}
    for i, item in enumerate(list_at(info, key, place) if info.get(key) is not None else []):
        here = f"{place}.{key}[{i}]"
        each = object_at(item, here)
        refuse_unknown_keys(each, FEATURES[key].fields or (), here)
        for name in ("feature_index", "flat_feature_index"):
            _whole_number(each, name, here)
        if each["feature_index"] in found:
            raise ReleaseError("must differ", place=f"{here}.feature_index")
        found[each["feature_index"]] = each
    return found


def _categories(info: Mapping[str, Any], place: str) -> dict[int, str]:
    """The category of each hash."""
    found: dict[int, str] = {}
    items = info.get("cat_features_hash") or []
    if not isinstance(items, list):
        raise ReleaseError("must be a list", place=place)
    refuse_many_categories(len(items), place)
    for i, item in enumerate(items):
        each = object_at(item, f"{place}[{i}]")
        refuse_unknown_keys(each, ("hash", "value"), f"{place}[{i}]")
        value, number = each.get("value"), _whole_number(each, "hash", f"{place}[{i}]")
        if not isinstance(value, str) or number in found:
            raise ReleaseError("must give each hash one text", place=f"{place}[{i}]")
        if category_hash(value) not in {None, number}:
            raise ReleaseError("is not the hash of the text beside it", place=f"{place}[{i}].hash")
        found[number] = value
    if len(set(found.values())) != len(found):
        raise ReleaseError("must give each text one hash", place=place)
    return found


def _whole_number(document: Mapping[str, Any], key: str, place: str) -> int:
    found = document.get(key)
    if type(found) is not int or not 0 <= found < HASHES:
        raise ReleaseError("must be a whole number", place=f"{place}.{key}")
    return found


def _scale_and_bias(document: Mapping[str, Any], outputs: int, place: str) -> tuple[float, tuple[float, ...]]:
    """What the sums of the trees are multiplied by, and what is added to each score."""
    here = f"{place}.scale_and_bias"
    pair = list_at(document, "scale_and_bias", place)
    bias: list[Any] = pair[1] if len(pair) == 2 and isinstance(pair[1], list) else pair[1:]
    numbers = [*pair[:1], *bias]
    if len(pair) != 2 or not all(is_number(each) and abs(each) < MAX_SCORE for each in numbers) or len(bias) != outputs:
        raise ReleaseError("must be a scale and a number for each score", place=here)
    return float(pair[0]), tuple(map(float, bias))


def _leaf_weights(document: Mapping[str, Any], info: Mapping[str, Any], classes: int) -> LeafWeights:
    """What the weights of leaves are: numbers of people, or where classes or rows weigh differently their weights."""
    options = object_at(info.get("params"), "params").get("data_processing_options")
    options = options if isinstance(options, dict) else {}
    given = options.get("class_weights")
    if isinstance(given, list) and len(given) == classes > 0 and all(is_number(each) and each > 0 for each in given):
        return LeafWeights(kind="weight", class_weights=tuple(map(float, given)))
    weighted = bool(given) or options.get("auto_class_weights", "None") != "None"
    return LeafWeights(kind="weight" if weighted or not _all_whole(document) else "rows")


def _all_whole(document: Mapping[str, Any]) -> bool:
    """Whether the weights of all leaves are whole numbers."""
    waiting: list[Any] = [document.get("oblivious_trees"), document.get("trees")]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            waiting += [item.get("left"), item.get("right")]
            weights = item.get("leaf_weights", [item["weight"]] if "weight" in item else [])
            if isinstance(weights, list) and any(is_number(each) and (each < 0 or each % 1) for each in weights):
                return False
    return True


def _trees(
    document: Mapping[str, Any], features: Features, outputs: int, of_leaves: LeafWeights, scale: float, place: str
) -> tuple[tuple[TreeIR, ...], int]:
    """The trees, and how many numbers stand on leaves that no row can reach."""
    key = "oblivious_trees" if "oblivious_trees" in document else "trees"
    if "oblivious_trees" in document and "trees" in document:
        raise ReleaseError("has trees of two forms", place=place)
    result, unreachable, budget = [], 0, CategoryBudget(place, FEWER_COMBINATIONS)

    def read_split(item: Any, location: str) -> Split | StatisticTest:
        return _split(item, features, location)

    for i, item in enumerate(list_at(document, key, place)):
        here = f"{place}.{key}[{i}]"
        tree = object_at(item, here)
        if key == "oblivious_trees":
            refuse_unknown_keys(tree, ("leaf_values", "leaf_weights", "splits"), here)
            step, leaves = read_oblivious(tree, read_split, outputs, here)
        else:
            step, leaves = read_nested(tree, read_split, outputs, here)
        built, away = build_tree(step, leaves, of_leaves, scale, budget)
        result.append(built)
        unreachable += away
    return tuple(result), unreachable


def _split(item: Any, features: Features, place: str) -> Split | StatisticTest:
    """A test of the file."""
    document = object_at(item, place)
    kind, split = document.get("split_type"), None
    if kind == FLOAT:
        refuse_unknown_keys(document, ("border", "float_feature_index", "split_index", "split_type"), place)
        test, split = _number_test(document, features, place)
    elif kind == ONE_HOT:
        refuse_unknown_keys(document, ("cat_feature_index", "split_index", "split_type", "value"), place)
        test, split = _category_test(document, features, place)
    elif kind == STATISTIC:
        refuse_unknown_keys(document, ("border", "ctr_target_border_idx", "split_index", "split_type"), place)
        test = (STATISTIC, _statistic_of(document, features, place), _border(document, place))
    else:
        raise ReleaseError(
            "has a test of texts or embeddings, which is not read",
            place=f"{place}.split_type",
            remedy="fit it without these columns",
        )
    _refuse_another_test(document, test, features, place)
    return features.statistic_test(test) if split is None else split


def _statistic_of(document: Mapping[str, Any], features: Features, place: str) -> int:
    """The number of the statistic that a test asks for, which the number of the test alone names; -1 for none."""
    number = _whole_number(document, "split_index", place)
    kind, statistic, _ = features.tests[number] if number < len(features.tests) else ("", 0, 0.0)
    if kind != STATISTIC or features.statistics[statistic].target_border != document.get("ctr_target_border_idx"):
        return -1
    return statistic


def _element(document: Mapping[str, Any], features: Features, place: str) -> int | Split:
    """An element of a combination: the position of a feature of categories, or a test of the file."""
    if "float_feature_index" in document:
        test, split = _number_test(document, features, place)
    elif "value" in document:
        test, split = _category_test(document, features, place)
    else:
        return features.categorical[_index(document, "cat_feature_index", features.categorical, place)]
    if test not in features.tests:
        raise ReleaseError("is no test in the lists of `features_info`", place=place)
    return split


def _number_test(document: Mapping[str, Any], features: Features, place: str) -> tuple[ListedTest, Split]:
    """A test of a number, and how the lists of tests have it."""
    index, border = _index(document, "float_feature_index", features.numeric, place), _border(document, place)
    split = Split(feature=features.numeric[index], border=border, missing_low=features.missing_low[index])
    return (FLOAT, index, border), split


def _border(document: Mapping[str, Any], place: str) -> float:
    border = document.get("border")
    if border is None or not is_number(border) or abs(border) > float(np.finfo(np.float32).max):
        raise ReleaseError("must be a number of single precision", place=f"{place}.border")
    return float(np.float32(border))


def _category_test(document: Mapping[str, Any], features: Features, place: str) -> tuple[ListedTest, Split]:
    """A test of a category, and how the lists of tests have it."""
    index, value = _index(document, "cat_feature_index", features.categorical, place), document.get("value")
    number = features.number_of.get(value % HASHES) if type(value) is int else None
    if number is None or type(value) is not int:
        raise ReleaseError("asks for a category of which the file has the hash alone", place=place, remedy=WITH_TEXTS)
    return (ONE_HOT, index, value), Split.of_texts(features.categorical[index], [number], features.texts)


def _refuse_another_test(document: Mapping[str, Any], test: ListedTest, features: Features, place: str) -> None:
    """Refuse a test that is not the one its number names: CatBoost opens a file by these numbers alone."""
    number = _whole_number(document, "split_index", place)
    if number >= len(features.tests) or features.tests[number] != test:
        raise ReleaseError(
            "is the number of another test in the lists of `features_info`, by which CatBoost predicts",
            place=f"{place}.split_index",
            remedy="save the model again with CatBoost",
        )


def _index(document: Mapping[str, Any], key: str, known: Mapping[int, int], place: str) -> int:
    found = _whole_number(document, key, place)
    if found not in known:
        raise ReleaseError("names a feature that there is not", place=f"{place}.{key}")
    return found
