from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entry_points import Point, install, module
from hostile_models import lightgbm
from installed_readers import read_foreign
from leafgate import ReleaseError, from_sklearn
from leafgate.readers import LEAF, ModelIR, ModelReader, TreeIR
from patience import ends_soon
from sample_model import MODEL, TREE, edited, with_tree


@pytest.fixture(scope="module", autouse=True)
def _objects_are_models() -> Iterator[None]:
    """A plugin takes every object for the model that its file holds: the core checks what it returns."""
    reader = ModelReader(name="skops", sniff=bool, read=lambda content, place: MODEL, from_object=lambda thing: thing)
    with pytest.MonkeyPatch.context() as patch:
        install(patch, Point("given", lambda: module(model_readers=lambda: [reader])))
        yield


WRONG: dict[str, tuple[ModelIR, str]] = {
    "no trees": (replace(MODEL, trees=()), "must have trees"),
    "several trees and `one`": (replace(MODEL, trees=(TREE, TREE)), "says `one`"),
    "a feature twice": (replace(MODEL, features=("age", "age")), "different features"),
    "a class twice": (replace(MODEL, classes=("low", "low")), "different classes"),
    "numbers and classes": (replace(MODEL, values="values"), "not both"),
    "an infinite base": (replace(MODEL, base=(np.inf,)), "base scores"),
    "no such feature": (edited("feature", 0, 2), "asks about no feature"),
    "a feature below nothing": (edited("feature", 0, -2), "asks about no feature"),
    "a child out of range": (edited("high", 0, 5), "has a child that there is not"),
    "a child below nothing": (edited("low", 0, -1), "has a child that there is not"),
    "itself its child": (edited("low", 1, 1), "has two parents|is no tree"),
    "two parents": (edited("high", 0, 2), "has two parents"),
    "the root a child": (edited("high", 0, 0), "is no tree"),
    "NaN threshold": (edited("threshold", 0, np.nan), "no finite number"),
    "infinite threshold": (edited("threshold", 1, -np.inf), "no finite number"),
    "a leaf without numbers": (edited("values", 2, np.nan), "says no finite number"),
    "less than nobody": (edited("counts", 2, (-4, 8)), "less than nobody"),
    "classes that do not add up": (edited("counts", 2, (2, 0)), "count not as many"),
    "sizes that do not add up": (edited("size", 4, 5), "count not as many"),
    "classes and sizes apart": (with_tree(size=TREE.size * 2), "its classes count not as many"),  # type: ignore[operator]
    "an array too short": (with_tree(threshold=TREE.threshold[:4]), "not of one length"),
    "a leaf with categories": (with_tree(subsets={2: frozenset({"a"})}), "where nothing is asked"),
    "the same test, another way": (
        with_tree(feature=np.array([0, 0, -1, -1, -1]), threshold=np.array([37.5, 40.0, 0, 0, 0])),
        "no value could take",
    ),
    "categories that exclude each other": (
        with_tree(
            feature=np.array([1, 1, -1, -1, -1]), subsets={0: frozenset({"a"}), 1: frozenset({"b"})}, missing_low=False
        ),
        "no value could take",
    ),
}


@pytest.mark.parametrize(("model", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_model_is_refused_with_its_place(model: ModelIR, message: str) -> None:
    with pytest.raises(ReleaseError, match=message) as caught:
        from_sklearn(model)
    assert caught.value.problems[0].location.startswith("model")
    assert caught.value.exit_code == 2


def test_a_way_only_missing_values_can_take_is_no_contradiction() -> None:
    both = {"feature": np.array([0, 0, -1, -1, -1]), "threshold": np.array([37.5, 40.0, 0, 0, 0])}
    missing = np.array([True, False, False, False, False])  # missing goes low at the root, then high: it alone does
    model = with_tree(**both, missing_low=missing)
    assert from_sklearn(model).trees == model.trees


def test_a_cycle_apart_from_the_root_is_no_tree() -> None:
    feature = np.array([LEAF, 0, 0, LEAF, LEAF])
    low, high = np.array([-1, 2, 1, -1, -1]), np.array([-1, 3, 4, -1, -1])
    with pytest.raises(ReleaseError, match="goes in circles"):
        from_sklearn(with_tree(feature=feature, low=low, high=high, threshold=np.zeros(5), counts=None, size=None))


def chain(depth: int) -> TreeIR:
    """A tree that goes down one side only."""
    inner, n = np.arange(depth), 2 * depth + 1
    feature, low, high = (np.full(n, LEAF) for _ in range(3))
    feature[inner], low[inner], high[inner] = 0, depth + inner, np.append(inner[1:], 2 * depth)
    threshold = np.append(np.arange(depth), np.full(depth + 1, np.nan)).astype(float)
    return TreeIR(feature, threshold, low, high, values=np.ones((n, 2)))


def test_depth_is_limited_and_costs_no_time() -> None:
    model = replace(MODEL, trees=(chain(200),))
    assert from_sklearn(model).trees == model.trees
    with ends_soon(), pytest.raises(ReleaseError, match="deeper than 200"):
        from_sklearn(replace(MODEL, trees=(chain(1_000_000),)))


@st.composite
def arrays(draw: st.DrawFn) -> dict[str, Any]:
    """Trees of any numbers whatever."""
    n = draw(st.integers(0, 6))
    whole, real = st.integers(-2, 7), st.floats()
    wanted = {"feature": whole, "low": whole, "high": whole, "threshold": real, "size": real}
    made = {name: np.array(draw(st.lists(kind, min_size=n, max_size=n))) for name, kind in wanted.items()}
    made = {name: array.astype(np.int64 if wanted[name] is whole else float) for name, array in made.items()}
    subsets = draw(st.dictionaries(st.integers(0, 7), st.frozensets(st.sampled_from(["a", 1.0])), max_size=2))
    return made | {"values": np.ones((n, 2)), "counts": None, "subsets": subsets}


@given(arrays())
def test_whatever_the_arrays_hold_they_are_a_tree_or_refused(changes: dict[str, Any]) -> None:
    model = with_tree(**changes)
    try:
        from_sklearn(model)
    except ReleaseError:
        return
    seen, waiting = set(), [0]
    tree = model.trees[0]
    while waiting:
        node = waiting.pop()
        assert node not in seen
        seen.add(node)
        waiting += [] if tree.feature[node] == LEAF else [int(tree.low[node]), int(tree.high[node])]
    assert len(seen) == tree.nodes


@pytest.mark.parametrize(
    ("more", "why"), [(0, "no value could take both"), (1, "more than 2,000,000 categories in all")]
)
def test_a_set_is_made_once_for_all_nodes_that_ask_for_it(more: int, why: str) -> None:
    """Two nodes ask for the same million of categories, which counts twice."""
    words = ["4294967295"] * (10**6 // 32) + [str(more)]
    fields = {
        "num_leaves": 3,
        "num_cat": 1,
        "split_feature": "0 0",
        "threshold": "0 0",
        "decision_type": "1 9",
        "left_child": "1 -1",
        "right_child": "-3 -2",
        "leaf_value": "1 2 3",
        "cat_boundaries": f"0 {len(words)}",
        "cat_threshold": " ".join(words),
    }
    with pytest.raises(ReleaseError, match=why):
        read_foreign(lightgbm("\n".join(f"{key}={value}" for key, value in fields.items())), "m")
