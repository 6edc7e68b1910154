"""LightGBM's text files, as LightGBM predicts raw scores; of a random forest their mean.

Source: LightGBM, include/LightGBM/tree.h: `NumericalDecision`, `CategoricalDecision`; src/boosting/gbdt_model_text.cpp.
A document has the lines of the head and of each tree, split into words, and all that follows the trees.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

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

ZERO = float(np.float32(1e-35))
CLASSES, SEVERAL = {"binary"}, {"multiclass", "multiclassova"}
NUMBERS = {"regression", "regression_l1", "huber", "fair", "quantile", "mape"}
LOGS = {"poisson", "gamma", "tweedie"}

Lines = dict[str, list[str] | None]


def _lines(text: str) -> Lines:
    found: Lines = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        found[key] = value.split(" ") if equals else None
    return found


def _text(lines: Lines) -> str:
    return "\n".join(key if words is None else f"{key}={_words(words)}" for key, words in lines.items())


def _words(words: Any) -> str:
    return " ".join(map(str, words)) if isinstance(words, list) else str(words)


def parse(content: bytes) -> dict[str, Any]:
    """The document in a file's bytes."""
    before, _, tail = content.decode().partition("end of trees")
    head, *trees = re.split(r"^Tree=\d+\n", before, flags=re.MULTILINE)
    return {"head": _lines(head.rstrip()), "trees": [_lines(tree.rstrip()) for tree in trees], "tail": tail}


def dump(document: dict[str, Any]) -> bytes:
    """The bytes of a document, with the sizes of its trees as they are."""
    trees = [f"Tree={i}\n{_text(tree)}\n\n\n" for i, tree in enumerate(document.get("trees", []))]
    head = dict(document.get("head", {}))
    if "tree_sizes" in head:
        head["tree_sizes"] = [str(len(tree)) for tree in trees]
    return f"{_text(head)}\n\n{''.join(trees)}end of trees{document['tail']}".encode()


def _numbers(tree: Lines, key: str, length: int, kind: type = float) -> Any:
    words = tree.get(key)
    values = [kind(word) for word in words or () if word]
    if len(values) != length:
        raise NoModelError(f"another number of {key}")
    return np.array(values, dtype=np.float64 if kind is float else np.int64)


def _pandas_lists(document: Any) -> list[list[Any]]:
    last = document["tail"].rstrip().rsplit("\n", 1)[-1]
    return json.loads(last.partition(":")[2]) or [] if last.startswith("pandas_categorical:") else []


def _features(document: Any) -> list[str]:
    names = document["head"]["feature_names"]
    if len(names) != int(document["head"]["max_feature_idx"][0]) + 1:
        raise NoModelError("another number of features")
    return list(names)


def _rows(document: Any, columns: Columns) -> Floats:
    lists = iter(_pandas_lists(document))
    found = []
    for name in _features(document):
        cells = columns[name]
        if any(isinstance(cell, str) for cell in cells):
            listed = [str(each) for each in next(lists)]
            found.append(np.array([listed.index(str(cell)) if cell in listed else np.nan for cell in cells]))
        else:
            found.append(numbers(cells))
    x = np.column_stack(found)
    return np.where(abs(x) <= ZERO, 0.0, x)


def _goes_left(x: Floats, kind: int, threshold: float, words: Ids) -> Flags:
    if kind & 1:
        codes = np.where(np.isnan(x) | (x < 0), -1, x).astype(np.int64)
        known = (codes >= 0) & (codes < 32 * len(words))
        bits = words[np.where(known, codes // 32, 0)] >> np.where(known, codes % 32, 0) if len(words) else codes
        return np.asarray(known & (bits & 1 == 1))
    absent = (kind >> 2) & 3
    if absent == 3:
        raise NoModelError("no such kind of missing")
    cells = x if absent == 2 else np.nan_to_num(x, nan=0.0, posinf=np.inf, neginf=-np.inf)
    by_default = np.isnan(cells) if absent == 2 else (abs(cells) <= ZERO) & (absent == 1)
    return np.where(by_default, bool(kind & 2), cells <= threshold)


def _values(tree: Lines, x: Floats) -> Floats:
    n_leaves = int((tree.get("num_leaves") or ["0"])[0])
    if (tree.get("is_linear") or ["0"])[0] != "0" or n_leaves < 1:
        raise NoModelError("functions on leaves, or none")
    values = _numbers(tree, "leaf_value", n_leaves)
    if n_leaves == 1:
        return np.full(len(x), values[0])
    inner = n_leaves - 1
    left, right, feature, kind = (
        _numbers(tree, key, inner, int) for key in ("left_child", "right_child", "split_feature", "decision_type")
    )
    threshold = _numbers(tree, "threshold", inner)
    sets = int((tree.get("num_cat") or ["0"])[0])
    starts = _numbers(tree, "cat_boundaries", sets + 1, int) if sets else np.zeros(1, dtype=np.int64)
    words = _numbers(tree, "cat_threshold", int(starts[-1]), int) if sets else np.zeros(0, dtype=np.int64)

    def step(node: int, rows: Ids) -> tuple[int, int, Flags] | None:
        if node < 0:
            if -node > n_leaves:
                raise NoModelError("a leaf that is not there")
            return None
        if not (node < inner and 0 <= feature[node] < x.shape[1] and 0 <= kind[node] < 16):
            raise NoModelError("a link to nowhere")
        bits = np.zeros(0, dtype=np.int64)
        if kind[node] & 1:
            number = int(threshold[node])
            if not 0 <= number < sets:
                raise NoModelError("a set that is not there")
            bits = words[starts[number] : starts[number + 1]]
            if ((bits < 0) | (bits >= 2**32)).any():
                raise NoModelError("no bits")
        takes = _goes_left(x[rows, feature[node]], int(kind[node]), float(threshold[node]), bits)
        return int(left[node]), int(right[node]), takes

    return np.asarray(values[-leaves(len(x), step) - 1])


def evaluate(document: Any, columns: Columns) -> Answers:
    """The raw scores, and the classes that follow from them."""
    head = document["head"]
    objective = head["objective"]
    kind = objective[0]
    if kind not in CLASSES | SEVERAL | NUMBERS | LOGS or "sqrt" in objective:
        raise NoModelError("no such objective")
    width = int(head["num_tree_per_iteration"][0])
    classes = int(head["num_class"][0])
    if width != (classes if kind in SEVERAL else 1) or (kind in SEVERAL and classes < 2) or width < 1:
        raise NoModelError("another number of classes")
    if kind not in SEVERAL and classes != 1:
        raise NoModelError("another number of classes")
    if len(document["trees"]) % width:
        raise NoModelError("a part of a round")
    x = _rows(document, columns)
    scores, size = np.zeros((len(x), width)), np.zeros(len(x))
    for i, tree in enumerate(document["trees"]):
        added = _values(tree, x)
        scores[:, i % width] += added
        size += abs(added)
    if "average_output" in head:
        scores, size = (each * width / len(document["trees"]) for each in (scores, size))
    if kind in LOGS:
        return of_logarithms(scores, size)
    if kind in NUMBERS:
        return Answers(scores=scores, size=size)
    chosen = (scores[:, 0] > 0).astype(int) if kind in CLASSES else scores.argmax(axis=1)
    names = tuple(map(str, range(max(2, width))))
    sigmoid = next((float(word.partition(":")[2]) for word in objective if word.startswith("sigmoid:")), 1.0)
    shares = None if kind == "multiclassova" else softmax(scores, sigmoid if kind in CLASSES else 1.0)
    return Answers(scores=scores, size=size, labels=tuple(map(str, chosen.tolist())), classes=names, shares=shares)


def questions(document: Any) -> Questions:
    """What each test asks, by feature."""
    names = _features(document)
    found = {name: Question(precision=np.float64) for name in names}
    for tree in document["trees"]:
        kinds, thresholds = tree.get("decision_type") or (), tree.get("threshold") or ()
        starts = [int(word) for word in tree.get("cat_boundaries") or ()]
        words = [int(word) for word in tree.get("cat_threshold") or ()]
        for feature, kind, threshold in zip(tree.get("split_feature") or (), kinds, thresholds, strict=False):
            if not (feature and 0 <= int(feature) < len(names)):
                continue
            asked = found[names[int(feature)]]
            if int(kind) & 1:
                number = int(float(threshold))
                some = words[starts[number] : starts[number + 1]] if 0 <= number < len(starts) - 1 else []
                codes = {32 * i + bit for i, word in enumerate(some) for bit in range(32) if word >> bit & 1}
                asked.categories |= set(map(float, codes))
            else:
                asked.thresholds |= {float(threshold), 0.0}
    return found
