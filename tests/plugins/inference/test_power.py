"""Whether an attack sees planted leaks often enough, and what is said where it does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from leafgate.algorithms.intervals import Estimate
from leafgate.api import InconclusiveError, UnreadableError
from leafgate_plugins.inference.power import DETECTED, REPEATS, is_seen, power_problem, repeat_on_leak, shows_leak


def missing(*repetitions: int) -> tuple[Callable[[int], bool], list[int]]:
    """Sees the leaks of all other repetitions; and those that were asked for."""
    asked: list[int] = []

    def sees(repetition: int) -> bool:
        asked.append(repetition)
        return repetition not in repetitions

    return sees, asked


@pytest.mark.parametrize(
    ("missed", "seen", "repetitions"),
    [
        ((), True, DETECTED),
        ((0, 1), True, REPEATS),
        ((18, 19), True, DETECTED),
        ((0, 19), True, DETECTED + 1),
        ((0, 1, 2), False, 3),
        ((0, 1, 19), False, REPEATS),
    ],
)
def test_nine_of_ten_leaks_have_to_be_seen_and_no_more_are_planted_than_that_takes(
    missed: tuple[int, ...], seen: bool, repetitions: int
) -> None:
    sees, asked = missing(*missed)
    assert is_seen(sees) is seen
    assert asked == list(range(repetitions))


def test_a_lack_of_power_has_the_reason_or_that_of_the_attack() -> None:
    def fails(repetition: int) -> bool:
        raise InconclusiveError("it repeats itself on nothing")

    assert power_problem(missing()[0], "too few") == ""
    assert power_problem(missing(0, 1, 2)[0], "too few") == "too few"
    assert power_problem(fails, "too few") == "it repeats itself on nothing"


def test_an_attack_that_fails_on_a_leak_is_inconclusive_and_its_text_is_not_repeated() -> None:
    def fails(error: Exception) -> None:
        raise error

    with pytest.raises(InconclusiveError, match=r"fails on a planted leak \(ValueError\)") as caught:
        repeat_on_leak(lambda: fails(ValueError("Jane")))
    assert "Jane" not in str(caught.value)
    with pytest.raises(UnreadableError, match="of leafgate"):
        repeat_on_leak(lambda: fails(UnreadableError("of leafgate")))
    assert repeat_on_leak(lambda: 3) == 3


@pytest.mark.parametrize(
    ("low", "high", "shown"), [(0.51, 0.96, True), (0.5, 0.96, False), (0.51, 0.95, False), (0.4, 1.0, False)]
)
def test_an_interval_shows_a_leak_from_above_chance_to_beyond_nine_tenths_of_it(
    low: float, high: float, shown: bool
) -> None:
    assert shows_leak(Estimate(0.9, low, high), 1.0, chance=0.5) is shown


def test_the_part_that_is_to_be_seen_may_be_all_of_the_leak() -> None:
    assert shows_leak(Estimate(0.2, 0.1, 0.19), 0.2)
    assert not shows_leak(Estimate(0.2, 0.1, 0.19), 0.2, part=1.0)
