"""scikit-learn's trees in skops files, as scikit-learn answers: shares of classes, scores of boosting, or numbers.

Source: scikit-learn, sklearn/tree/_tree.pyx (`_apply_dense`), sklearn/ensemble/_forest.py, _gb.py, _bagging.py,
_voting.py, _weight_boosting.py, _iforest.py, _hist_gradient_boosting/_predictor.pyx, sklearn/calibration.py; skops,
skops/io/_numpy.py and _sklearn.py. A document has the schema of a file and the columns of its arrays.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.interpolate import interp1d
from scipy.special import expit

from evaluators.answers import (
    Answers,
    Columns,
    Flags,
    Floats,
    Ids,
    NoModelError,
    Question,
    Questions,
    leaves,
    numbers,
    of_logarithms,
    softmax,
)

EPSILON = float(np.finfo(np.float32).eps)
"""Chances nearer to 0 or 1 are taken for this before boosting starts from them."""


@dataclass(frozen=True)
class Thing:
    """An object of a file: the name of its class, and its attributes."""

    kind: str
    state: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        if key not in self.state:
            raise NoModelError(f"no {key}")
        return self.state[key]


def parse(content: bytes) -> dict[str, Any]:
    """The document in a file's bytes; an array is its type, its shape and its numbers, a list for each field."""
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        schema = json.loads(archive.read("schema.json"))
        for name in archive.namelist():
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
                fields = array.dtype.names
                columns = {key: array[key].tolist() for key in fields} if fields else {"": array.ravel().tolist()}
                arrays[name] = {"dtype": array.dtype, "shape": list(array.shape), "columns": columns}
    return {"schema": schema, "arrays": arrays}


def array_of(document: Any) -> np.ndarray:
    """The NumPy array of a table of columns; columns of other lengths than its shape says change the first length."""
    dtype, shape, columns = document["dtype"], document["shape"], document["columns"]
    if dtype.names:
        made = np.zeros(min((len(column) for column in columns.values()), default=0), dtype=dtype)
        for key in dtype.names:
            if key in columns:
                made[key] = np.array(columns[key][: len(made)]).astype(dtype[key])
        return made
    flat = np.array(columns[""]).astype(dtype)
    if flat.size == int(np.prod(shape)):
        return flat.reshape(shape)
    rest = int(np.prod(shape[1:]))
    return flat[: flat.size // rest * rest].reshape(-1, *shape[1:])


def dump(document: Any) -> bytes:
    """The bytes of a document."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive, np.errstate(all="ignore"):
        for name, each in document["arrays"].items():
            content = io.BytesIO()
            np.save(content, array_of(each), allow_pickle=False)
            archive.writestr(name, content.getvalue())
        archive.writestr("schema.json", json.dumps(document["schema"]))
    return made.getvalue()


def _value(node: Any, arrays: Any, memo: dict[Any, Any]) -> Any:
    """The Python value of a node of the schema; an object that skops wrote before is its first copy."""
    if not isinstance(node, dict) or "__loader__" not in node:
        return node
    if node.get("__id__") in memo:
        return memo[node["__id__"]]
    loader = node["__loader__"]
    content: Any = node.get("content")
    if loader == "JsonNode":
        return json.loads(content)
    if loader in {"DictNode", "DefaultDictNode"}:
        found: Any = {key: _value(each, arrays, memo) for key, each in content.items()}
    elif loader in {"ListNode", "TupleNode"}:
        found = [_value(each, arrays, memo) for each in content]
    elif loader == "NdArrayNode" and node["type"] == "numpy":
        found = array_of(arrays[node["file"]])
    elif loader == "NdArrayNode":
        found = [_value(each, arrays, memo) for each in content]
    elif isinstance(content, dict):
        state = _value(content, arrays, memo)
        found = Thing(node["__class__"], state if isinstance(state, dict) else {})
    else:
        found = Thing(node["__class__"], {})
    if node.get("__id__") is not None:
        memo[node["__id__"]] = found
    return found


def _model(document: Any) -> Thing:
    found = _value(document["schema"], document["arrays"], {})
    if not isinstance(found, Thing):
        raise NoModelError("no object")
    return found


def _ends(nodes: np.ndarray, x: Floats) -> Ids:
    seen = x.astype(np.float32)
    has_missing = "missing_go_to_left" in (nodes.dtype.names or ())
    missing_left = nodes["missing_go_to_left"] if has_missing else np.zeros(len(nodes))

    def step(node: int, rows: Ids) -> tuple[int, int, Flags] | None:
        left, right, feature = (int(nodes[key][node]) for key in ("left_child", "right_child", "feature"))
        if left == -1:
            return None
        if not (0 <= left < len(nodes) and 0 <= right < len(nodes) and 0 <= feature < x.shape[1]):
            raise NoModelError("a link to nowhere")
        cells = seen[rows, feature]
        return left, right, np.where(np.isnan(cells), missing_left[node] != 0, cells <= nodes["threshold"][node])

    return leaves(len(x), step)


def _tree_values(tree: Thing, x: Floats) -> Floats:
    """What the leaves of a tree say: shape (n_rows, n_outputs)."""
    inner = tree["tree_"]
    nodes, values = inner["nodes"], inner["values"]
    if len(nodes) != len(values) or len(nodes) != inner["node_count"] or values.ndim != 3:
        raise NoModelError("another number of nodes")
    return np.asarray(values[_ends(nodes, x), 0, :], dtype=np.float64)


def _shares(tree: Thing, x: Floats) -> Floats:
    values = _tree_values(tree, x)
    if values.shape[1] != len(tree["classes_"]):
        raise NoModelError("another number of classes")
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def _texts(classes: Any) -> list[str]:
    return [str(each) for each in np.asarray(classes).tolist()]


def _of_shares(shares: Floats, classes: Any) -> Answers:
    names = _texts(classes)
    if len(names) != shares.shape[1]:
        raise NoModelError("another number of classes")
    labels = tuple(names[i] for i in shares.argmax(axis=1).tolist())
    size = abs(shares).sum(axis=1)
    return Answers(scores=shares, size=size, labels=labels, classes=tuple(names), shares=shares)


def _of_numbers(scores: Floats, size: Floats | None = None) -> Answers:
    return Answers(scores=scores, size=abs(scores).sum(axis=1) if size is None else size)


def _tree(model: Thing, x: Floats) -> Answers:
    if model.kind.endswith("Regressor"):
        return _of_numbers(_tree_values(model, x))
    return _of_shares(_shares(model, x), model["classes_"])


def _members(model: Thing, x: Floats) -> list[Floats]:
    """What each tree of an ensemble says of each row: its shares, or its number."""
    trees = model["estimators_"]
    columns = model.state.get("estimators_features_") or [np.arange(x.shape[1])] * len(trees)
    if len(columns) != len(trees) or not trees:
        raise NoModelError("another number of trees")
    number = model.kind.endswith("Regressor")
    found = []
    for tree, some in zip(trees, columns, strict=True):
        own = x[:, np.asarray(some, dtype=np.int64)]
        if tree.kind == "AdaBoostClassifier":
            found.append(_shares_of_adaboost(tree, own, len(model["classes_"])))
        else:
            found.append(_tree_values(tree, own) if number else _shares(tree, own))
    return found


def _mean(model: Thing, x: Floats) -> Answers:
    found = _members(model, x)
    if model.kind.startswith("Voting") and model["weights"] is not None:
        raise NoModelError("weights of members")
    total = np.sum(found, axis=0) / len(found)
    if model.kind.endswith("Regressor"):
        return _of_numbers(total, np.sum([abs(each).sum(axis=1) for each in found], axis=0) / len(found))
    if model.kind.startswith("Voting") and model["voting"] == "hard":
        width = len(model["classes_"])
        votes = np.sum([each.argmax(axis=1)[:, None] == np.arange(width) for each in found], axis=0)
        return _of_shares(votes / len(found), model["classes_"])
    return _of_shares(total, model["classes_"])


def _adaboost(model: Thing, x: Floats) -> Answers:
    classes, weights = _texts(model["classes_"]), np.asarray(model["estimator_weights_"], dtype=np.float64)
    votes = np.zeros((len(x), len(classes)))
    if model.state.get("algorithm", "SAMME") not in {"SAMME", "deprecated"} or len(weights) < len(model["estimators_"]):
        raise NoModelError("no SAMME")
    for tree, weight in zip(model["estimators_"], weights, strict=False):
        names = _texts(tree["classes_"])
        said = [names[i] for i in _shares(tree, x).argmax(axis=1)]
        votes += weight * np.array([[name == each for each in classes] for name in said])
    labels = tuple(classes[i] for i in votes.argmax(axis=1))
    n = len(classes)
    votes = votes * n / (n - 1) ** 2 / weights.sum()  # whose softmax are scikit-learn's chances
    return Answers(
        scores=votes, size=abs(votes).sum(axis=1), labels=labels, classes=tuple(classes), shares=softmax(votes)
    )


def _shares_of_adaboost(model: Thing, x: Floats, classes: int) -> Floats:
    """The shares of classes that are numbered, as bagging numbers them for its members."""
    shares = _adaboost(model, x).shares
    if shares is None or _texts(model["classes_"]) != [str(i) for i in range(classes)]:
        raise NoModelError("other classes")
    return shares


def _path_length(rows: int) -> float:
    """How many tests part one of so many rows from the others, on average."""
    if rows <= 2:
        return float(max(rows - 1, 0))
    return float(2 * (np.log(rows - 1) + np.euler_gamma) - 2 * (rows - 1) / rows)


def _isolation(model: Thing, x: Floats) -> Answers:
    """The anomaly score, by the path lengths that the file states."""
    trees, columns = model["estimators_"], model["estimators_features_"]
    depths, averages = model["_decision_path_lengths"], model["_average_path_length_per_tree"]
    if not trees or min(len(columns), len(depths), len(averages)) < len(trees):
        raise NoModelError("another number of trees")
    total = np.zeros(len(x))
    for tree, some, depth, average in zip(trees, columns, depths, averages, strict=False):
        own = x if model["_max_features"] == x.shape[1] else x[:, np.asarray(some, dtype=np.int64)]
        ends = _ends(tree["tree_"]["nodes"], own)
        if ends.max(initial=0) >= min(len(depth), len(average)):
            raise NoModelError("another number of nodes")
        total += np.asarray(depth)[ends] + np.asarray(average)[ends] - 1
    usual = len(trees) * _path_length(model["_max_samples"])
    return of_logarithms(-np.log(2) * (total / usual if usual else np.ones(len(x)))[:, None], np.ones(len(x)))


def _start(model: Thing, width: int) -> Floats:
    """What gradient boosting starts from."""
    first = model["init_"]
    if first == "zero":
        return np.zeros(width)
    if first.kind == "DummyRegressor":
        return np.ravel(first["constant_"]).astype(np.float64)
    if first.kind != "DummyClassifier":
        raise NoModelError("a start that is a model")
    chances = np.clip(np.ravel(first["class_prior_"]).astype(np.float64), EPSILON, 1 - EPSILON)
    if len(chances) != len(model["classes_"]):
        raise NoModelError("another number of classes")
    if width > 1:
        logarithms = np.log(chances)
        old = tuple(map(int, str(model["_sklearn_version"]).split(".")[:2])) < (1, 4)
        return logarithms if old else logarithms - logarithms.mean()
    odds = np.log(chances[1] / (1 - chances[1]))
    return np.array([odds / 2 if model["loss"] == "exponential" else odds])


def _gradient(model: Thing, x: Floats) -> Answers:
    rounds = model["estimators_"]
    width = len(rounds[0])
    if any(len(each) != width for each in rounds):
        raise NoModelError("another number of trees")
    scores = np.tile(_start(model, width), (len(x), 1))
    size = abs(scores).sum(axis=1)
    for each in rounds:
        for k, tree in enumerate(each):
            added = model["learning_rate"] * _tree_values(tree, x)[:, 0]
            scores[:, k] += added
            size += abs(added)
    return _boosted(model, scores, size)


def _boosted(model: Thing, scores: Floats, size: Floats) -> Answers:
    if model.kind.endswith("Regressor"):
        return _of_numbers(scores, size)
    names = _texts(model["classes_"])
    if len(names) != max(2, scores.shape[1]):
        raise NoModelError("another number of classes")
    chosen = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    labels = tuple(names[i] for i in chosen.tolist())
    factor = 2.0 if model.state.get("loss") == "exponential" else 1.0
    shares = softmax(scores, factor)
    return Answers(scores=scores, size=size, labels=labels, classes=tuple(names), shares=shares)


def _bits(words: np.ndarray, cells: Floats) -> Flags:
    codes = np.where(np.isnan(cells) | (cells < 0), 10_000, cells).astype(np.int64)
    inside = codes < 32 * len(words)
    return np.asarray(inside & (words[np.where(inside, codes // 32, 0)] >> (codes % 32).astype(np.uint32) & 1 == 1))


def _hist_values(predictor: Thing, x: Floats) -> Floats:
    nodes, sets = predictor["nodes"], predictor["raw_left_cat_bitsets"]

    def step(node: int, rows: Ids) -> tuple[int, int, Flags] | None:
        if nodes["is_leaf"][node]:
            return None
        left, right, feature = (int(nodes[key][node]) for key in ("left", "right", "feature_idx"))
        if not (left < len(nodes) and right < len(nodes) and 0 <= feature < x.shape[1]):
            raise NoModelError("a link to nowhere")
        cells = x[rows, feature]
        if nodes["is_categorical"][node]:
            if not nodes["bitset_idx"][node] < len(sets):
                raise NoModelError("a set that is not there")
            low = _bits(sets[nodes["bitset_idx"][node]], cells)
        else:
            low = cells <= nodes["num_threshold"][node]
        return left, right, np.where(np.isnan(cells), nodes["missing_go_to_left"][node] != 0, low)

    return np.asarray(nodes["value"][leaves(len(x), step)])


def _encoded(model: Thing, x: Floats) -> Floats:
    """The rows as histogram boosting sees them: from 1.4 on categories as positions, before all other columns."""
    encode = model.state.get("_preprocessor")
    is_categorical = model.state.get("is_categorical_")
    if is_categorical is None or not np.any(is_categorical):
        return x
    asked = np.flatnonzero(is_categorical)
    if encode is None:
        known = model["_bin_mapper"]["known_categories"]
        for i in asked:
            x[:, i] = np.where(np.isin(x[:, i], known[i]), x[:, i], np.nan)
        return x
    encoder = encode["transformers_"][0][1]
    columns = []
    for i, listed in zip(asked, encoder["categories_"], strict=True):
        positions = {float(each): float(k) for k, each in enumerate(np.asarray(listed).tolist()) if each == each}
        columns.append(np.array([positions.get(cell, np.nan) for cell in x[:, i].tolist()]))
    return np.column_stack([*columns, x[:, ~np.asarray(is_categorical, dtype=bool)]])


def _hist(model: Thing, x: Floats) -> Answers:
    base = np.ravel(model["_baseline_prediction"]).astype(np.float64)
    scores = np.tile(base, (len(x), 1))
    size = abs(scores).sum(axis=1)
    x = _encoded(model, x)
    for each in model["_predictors"]:
        if len(each) != len(base):
            raise NoModelError("another number of trees")
        for k, predictor in enumerate(each):
            added = _hist_values(predictor, x)
            scores[:, k] += added
            size += abs(added)
    if model.state.get("loss") in {"poisson", "gamma"}:
        return of_logarithms(scores, size)
    return _boosted(model, scores, size)


KINDS: dict[str, Callable[[Thing, Floats], Answers]] = {
    **dict.fromkeys(("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier"), _tree),
    **dict.fromkeys(("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier"), _mean),
    **dict.fromkeys(("ExtraTreesRegressor", "BaggingClassifier", "BaggingRegressor", "VotingClassifier"), _mean),
    **dict.fromkeys(("GradientBoostingClassifier", "GradientBoostingRegressor"), _gradient),
    **dict.fromkeys(("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), _hist),
    "AdaBoostClassifier": _adaboost,
    "IsolationForest": _isolation,
}


def _calibrated(model: Thing, x: Floats) -> Answers:
    classes, members = _texts(model["classes_"]), model["calibrated_classifiers_"]
    if not members:
        raise NoModelError("no members")
    given = [_calibrated_shares(member, x, classes) for member in members]
    found = _of_shares(np.sum(given, axis=0) / len(given), model["classes_"])
    inner, calibrators = _calibrated_model(members[0]), members[0]["calibrators"]
    is_tree = inner.kind in {"DecisionTreeClassifier", "ExtraTreeClassifier"}
    if len(members) > 1 or len(classes) > 2 or is_tree or calibrators[0].kind != "_SigmoidCalibration":
        return found
    slope, start = float(calibrators[0]["a_"]), float(calibrators[0]["b_"])
    said = KINDS[inner.kind](inner, x).scores[:, -1:]
    size = abs(slope * said).sum(axis=1) + abs(start)
    return replace(found, scores=-(slope * said + start), size=size)


def _calibrated_model(member: Thing) -> Thing:
    inner = member.state.get("estimator", member.state.get("base_estimator"))
    inner = inner["estimator"] if isinstance(inner, Thing) and inner.kind == "FrozenEstimator" else inner
    if not isinstance(inner, Thing) or inner.kind not in KINDS:
        raise NoModelError("no such class")
    return inner


def _calibrated_shares(member: Thing, x: Floats, classes: list[str]) -> Floats:
    """What one of the calibrated models says of each class."""
    inner = _calibrated_model(member)
    said = KINDS[inner.kind](inner, x)
    if list(said.classes) != classes or _texts(member["classes"]) != classes:
        raise NoModelError("another number of classes")
    scores = said.scores[:, -1:] if len(classes) == 2 else said.scores
    calibrators = member["calibrators"]
    if member["method"] not in {"sigmoid", "isotonic"} or len(calibrators) != scores.shape[1]:
        raise NoModelError("another number of calibrators")
    shares = np.column_stack([_calibration(each, own) for each, own in zip(calibrators, scores.T, strict=True)])
    if len(classes) == 2:
        return np.column_stack([1 - shares, shares])
    total = shares.sum(axis=1, keepdims=True)
    return np.where(total != 0, shares / np.where(total != 0, total, 1), 1 / len(classes))


def _calibration(calibrator: Thing, scores: Floats) -> Floats:
    """What a calibrator makes of the scores of a class."""
    if calibrator.kind == "_SigmoidCalibration":
        return np.asarray(expit(-(float(calibrator["a_"]) * scores + float(calibrator["b_"]))))
    if calibrator.kind != "IsotonicRegression" or calibrator["out_of_bounds"] != "clip":
        raise NoModelError("no calibrator")
    at, levels = (np.asarray(calibrator[name], dtype=np.float64) for name in ("X_thresholds_", "y_thresholds_"))
    if at.shape != levels.shape or at.ndim != 1 or not len(at):
        raise NoModelError("another number of points")
    clipped = np.clip(scores, float(calibrator["X_min_"]), float(calibrator["X_max_"]))
    found = np.full(len(clipped), levels[0]) if len(at) == 1 else interp1d(at, levels, bounds_error=False)(clipped)
    if np.isnan(found).any():
        raise NoModelError("scores beyond the points")
    return np.asarray(found)


KINDS["CalibratedClassifierCV"] = _calibrated


def evaluate(document: Any, columns: Columns) -> Answers:
    """The shares, scores or numbers, and the classes that follow from them."""
    model = _model(document)
    if model.kind not in KINDS:
        raise NoModelError("no such class")
    x = np.column_stack([numbers(cells) for cells in columns.values()])
    if "n_features_in_" in model.state and model["n_features_in_"] != x.shape[1]:
        raise NoModelError("another number of features")
    return KINDS[model.kind](model, x)


def _things(value: Any) -> list[Thing]:
    """Every object in a value, itself among them."""
    if isinstance(value, Thing):
        return [value, *(found for each in value.state.values() for found in _things(each))]
    if isinstance(value, dict):
        return [found for each in value.values() for found in _things(each)]
    return [found for each in value for found in _things(each)] if isinstance(value, list) else []


def questions_of(names: Sequence[str], document: Any) -> Questions:
    """What each test asks, by the names of the columns in the order of the features."""
    model = _model(document)
    found = {name: Question(precision=np.float32) for name in names}
    order = list(names)
    if model.state.get("_preprocessor") is not None and np.any(model.state.get("is_categorical_")):
        flags = np.asarray(model["is_categorical_"], dtype=bool)
        order = [*np.array(names)[flags], *np.array(names)[~flags]]
    for thing in _things(model):
        nodes = thing.state.get("nodes")
        if isinstance(nodes, np.ndarray) and nodes.dtype.names:
            hist = "num_threshold" in nodes.dtype.names
            feature, threshold = ("feature_idx", "num_threshold") if hist else ("feature", "threshold")
            by_set = nodes["is_categorical"] != 0 if hist else np.zeros(len(nodes), dtype=bool)
            asked = zip(nodes[feature].tolist(), nodes[threshold].tolist(), by_set.tolist(), strict=True)
            for number, at, is_set in asked:
                if 0 <= number < len(order):
                    found[order[number]].precision = np.float64 if hist else np.float32
                    if is_set:  # the matrix has no more than eight categories
                        found[order[number]].categories |= set(map(float, range(8)))
                    else:
                        found[order[number]].thresholds.add(at)
    return found
