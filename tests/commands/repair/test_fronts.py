import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.commands.repair import fronts
from leafgate.commands.repair.fronts import AS_LEAF, Front, joined, leaf_front, with_leaf

Point = tuple[tuple[int, ...], int]


def points_of(front: Front) -> set[Point]:
    return {(tuple(beyond), int(errors)) for beyond, errors in zip(front.beyond.tolist(), front.loss, strict=True)}


def unbeaten(points: set[Point], budgets: list[int]) -> set[Point]:
    """By definition: the points within the budgets that no other is as good as in everything."""
    within = {point for point in points if all(b <= most for b, most in zip(point[0], budgets, strict=True))}
    return {
        (beyond, errors)
        for beyond, errors in within
        if not any(
            (other, fewer) != (beyond, errors) and fewer <= errors and all(map(int.__le__, other, beyond))
            for other, fewer in within
        )
    }


@st.composite
def leaves(draw: st.DrawFn) -> tuple[list[int], list[Point]]:
    """Budgets of some limits, and points of leaves."""
    limits = draw(st.integers(0, 3))
    numbers = st.lists(st.integers(0, 6), min_size=limits, max_size=limits).map(tuple)
    points = draw(st.lists(st.tuples(numbers, st.integers(0, 9)), min_size=7, max_size=7))
    return draw(st.lists(st.integers(0, 12), min_size=limits, max_size=limits)), points


@given(leaves())
def test_a_front_has_all_prunings_that_no_other_beats(case: tuple[list[int], list[Point]]) -> None:
    """Of a complete tree of four leaves, whose prunings are written out."""
    budgets, points = case
    most = np.array(budgets, dtype=np.int64)

    def leaf(point: Point) -> Front:
        return leaf_front(np.array(point[0], dtype=np.int64), point[1], most)

    def total(*parts: Point) -> Point:
        return tuple(map(sum, zip(*(part[0] for part in parts), strict=True))), sum(part[1] for part in parts)

    first, second, third, fourth, left, right, root = points
    low = with_leaf(joined(leaf(first), leaf(second), most), leaf(left))
    high = with_leaf(joined(leaf(third), leaf(fourth), most), leaf(right))
    front = with_leaf(joined(low, high, most), leaf(root))
    halves = itertools.product([left, total(first, second)], [right, total(third, fourth)])
    assert points_of(front) == unbeaten({root, *(total(*half) for half in halves)}, budgets)
    for i in range(len(front)):
        parts = [low, high], [int(front.low[i]), int(front.high[i])]
        made = root if front.low[i] == AS_LEAF else total(*(_point(*pair) for pair in zip(*parts, strict=True)))
        assert made == _point(front, i)


def _point(front: Front, i: int) -> Point:
    return tuple(front.beyond[i].tolist()), int(front.loss[i])


def random_front(seed: int, n: int, limits: int) -> Front:
    """Points of which none beats another."""
    rng = np.random.default_rng(seed)
    budgets = np.full(limits, 10**6)
    front = leaf_front(rng.integers(0, 99, limits), 99, budgets)
    for _ in range(n):
        front = with_leaf(front, leaf_front(rng.integers(0, 99, limits), int(rng.integers(0, 99)), budgets))
    return front


@pytest.mark.parametrize("seed", range(4))
def test_many_points_are_joined_as_few_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = random_front(seed, 300, 1), random_front(seed + 9, 300, 1)
    budgets = np.array([70])
    slow = joined(low, high, budgets)
    monkeypatch.setattr(fronts, "BLOCK", 1)
    fast = joined(low, high, budgets)
    assert points_of(fast) == points_of(slow)
    for i in range(len(fast)):
        assert low.loss[fast.low[i]] + high.loss[fast.high[i]] == fast.loss[i]


def test_what_is_left_out_of_too_many_points_is_said() -> None:
    low, high, budgets = random_front(1, 400, 2), random_front(2, 400, 2), np.array([150, 150])
    whole = joined(low, high, budgets, 10**6)
    assert whole.complete
    part = joined(low, high, budgets, 10)
    assert not part.complete
    assert len(part) <= 10 < len(whole)
    assert points_of(part) < points_of(whole)
    assert part.loss.min() == whole.loss.min()
    assert not with_leaf(joined(part, low, budgets), leaf_front(np.array([0, 0]), 500, budgets)).complete
