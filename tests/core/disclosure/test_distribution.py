import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate.api import Unit
from leafgate.disclosure.histograms import Bar, distribution, published_counts, suppress_secondary
from leafgate.kernel.findings import Finding, ScoredPeople
from standins import people_limit


def scored(scores: list[float], weight: list[int], limit: dict[str, Any], unit: str = "") -> Finding:
    """A finding about people with these scores."""
    numbers = np.array(scores, dtype=float)
    at_least = "at_least" in limit
    bound = next(iter(limit.values()))
    past = numbers < bound if at_least else numbers > bound
    if limit.get("average"):
        past = np.zeros(len(numbers), dtype=bool)
    people = ScoredPeople(numbers, np.array(weight), past, everyone=True)
    return Finding("m@a", "m", passed=True, limit=people_limit(**limit), unit=Unit(unit), scored_people=people)


def test_bars_are_cut_at_the_limit_and_hold_it_on_the_safe_side() -> None:
    bars = distribution(scored([0.2, 0.5, 0.5, 0.9], [1, 2, 3, 4], {"at_most": 0.5}))
    assert sum(bar.people for bar in bars if not bar.past) == 6
    assert next(bar for bar in bars if bar.people == 5).high == 0.5
    bars = distribution(scored([0.2, 0.5, 0.5, 0.9], [1, 2, 3, 4], {"at_least": 0.5}))
    assert sum(bar.people for bar in bars if bar.past) == 1
    assert next(bar for bar in bars if bar.people == 5).low == 0.5


def test_group_sizes_stand_in_bars_of_1_2_5_10() -> None:
    bars = distribution(scored([1, 2, 3, 7, 30, 450], [1] * 6, {"at_least": 20}, "people"))
    assert [(bar.low, bar.high, bar.people) for bar in bars] == [
        *((1, 2, 1), (2, 5, 2), (5, 10, 1), (10, 20, 0), (20, 50, 1), (50, 100, 0), (100, 200, 0), (200, 500, 1)),
    ]


def test_a_score_without_bound_opens_the_last_bar() -> None:
    assert distribution(scored([1, math.inf], [1, 2], {"at_most": 3}))[-1] == Bar(3, None, 2, past=True)


numbers = st.floats(-50, 50) | st.integers(-3, 3).map(float) | st.floats(0, 1)


@given(
    st.lists(st.tuples(numbers, st.integers(1, 30)), min_size=1, max_size=40),
    numbers,
    st.sampled_from(["at_least", "at_most"]),
    st.booleans(),
)
def test_every_person_is_in_one_bar_around_the_score_on_its_side_of_the_limit(
    people: list[tuple[float, int]], limit: float, direction: str, average: bool
) -> None:
    finding = scored([s for s, _ in people], [w for _, w in people], {direction: limit, "average": average})
    bars = distribution(finding)
    assert sum(bar.people for bar in bars) == sum(w for _, w in people)
    if len({bar.past for bar in bars}) == 2:
        assert any(bar.low == limit for bar in bars)
    past = sum(w for s, w in people if (s < limit if direction == "at_least" else s > limit))
    if not average:
        assert sum(bar.people for bar in bars if bar.past) == past
    for bar in bars:
        assert bar.low is not None
        assert bar.high is not None
        assert bar.low < bar.high
        inside = sum(w for s, w in people if bar.low + 1e-9 < s < bar.high - 1e-9)
        within = sum(w for s, w in people if bar.low - 1e-9 <= s <= bar.high + 1e-9)
        assert inside <= bar.people <= within


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12),
    st.integers(1, 15),
)
def test_no_run_from_either_end_of_a_veiled_histogram_is_small(counts: list[int], smallest: int) -> None:
    bars = [Bar(float(i), float(i + 1), count, past=i < 3) for i, count in enumerate(counts)]
    shown = suppress_secondary(bars, smallest)
    assert sum(bar.people for bar in shown) == sum(counts)
    assert shown[0].low == 0
    assert all(bar.high == after.low for bar, after in itertools.pairwise(shown))
    if len(shown) == 1:
        return
    everyone = [bar.people for bar in shown]
    runs = {sum(everyone[:i]) for i in range(len(everyone))} | {sum(everyone[i:]) for i in range(1, len(everyone))}
    for count in runs | set(everyone):
        assert count == 0 or count >= smallest
    assert runs - {0, sum(everyone)} <= {count for count, _ in published_counts(shown)}


def test_a_histogram_that_gives_nothing_away_stays_as_it_is() -> None:
    bars = [Bar(0, 1, 20, past=True), Bar(1, 2, 0, past=False), Bar(2, 3, 45, past=False)]
    assert suppress_secondary(bars, 10) == tuple(bars)


@pytest.mark.parametrize("scores", [[], [math.inf]])
def test_without_a_finite_score_there_is_no_histogram(scores: list[float]) -> None:
    assert distribution(scored(scores, [1] * len(scores), {"at_most": 1})) == ()
