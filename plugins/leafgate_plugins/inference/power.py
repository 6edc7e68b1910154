"""Power: would an attack have seen a leak of the size of a limit? A kept limit is a pass only where it would.

Leaks of known size are planted in models that leak nothing else, and the attack repeats itself on them. What is planted
differs with what is inferred; how often a leak must be seen does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from leafgate.api import InconclusiveError, LeafgateError, report_progress

if TYPE_CHECKING:
    from leafgate.algorithms.intervals import Estimate

Result = TypeVar("Result")

REPEATS = 20
"""How many times a leak of one size is planted."""
DETECTED = 18
"""In so many of them at least, nine of ten, the attack must see the leak."""
SEEN_PART = 0.9
"""The part of a planted leak that an attack must be able to see: no attack finds everybody about whom there is one."""


def unseen(people: str) -> str:
    """Why a kept limit is no pass where the attack sees planted leaks too rarely; it takes more of these people."""
    return (
        "the attack sees a planted leak of the limit's size in fewer than 9 of 10 repetitions, so a leak as large may "
        f"be there: that takes more {people}, or a stronger attack"
    )


def repeat_on_leak(attack: Callable[[], Result]) -> Result:
    """What an attack returns on a planted leak; InconclusiveError where it fails, so that a broken limit stays so.

    Args:
        attack: calls the function of a plugin that repeats it.
    """
    try:
        return attack()
    except LeafgateError:
        raise
    except Exception as error:
        raise InconclusiveError(f"the attack fails on a planted leak ({type(error).__name__})") from None


def shows_leak(estimate: Estimate, limit: float, *, chance: float = 0.0, part: float = SEEN_PART) -> bool:
    """Whether an interval shows that there is a leak, and hardly keeps a limit of the leak's size.

    Args:
        estimate: of what the attack finds on the planted leak.
        limit: of the metric, which is the size of the leak, above `chance`.
        chance: what an attack finds that learns nothing.
        part: of the way from there to the limit, that the interval's upper end has to be beyond.
    """
    return estimate.low > chance and estimate.high > chance + part * (limit - chance)


def is_seen(sees: Callable[[int], bool]) -> bool:
    """Whether an attack sees planted leaks in nine of ten repetitions; no more are made than that takes.

    Args:
        sees: whether it sees the leak of a repetition, by its number from 0.
    """
    missed = 0
    for repetition in range(REPEATS):
        if repetition - missed == DETECTED:
            return True
        report_progress(repetition, REPEATS, "planted leaks")
        missed += not sees(repetition)
        if missed > REPEATS - DETECTED:
            return False
    return True


def power_problem(sees: Callable[[int], bool], reason: str) -> str:
    """Why an attack might not have seen a leak; empty where it would.

    Args:
        sees: as `is_seen` takes it; it may raise InconclusiveError, which is the reason then.
        reason: what is said where it sees too few.
    """
    try:
        return "" if is_seen(sees) else reason
    except InconclusiveError as problem:
        return str(problem)
