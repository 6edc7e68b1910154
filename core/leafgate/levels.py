"""How much is told on the leaves of a tree."""

from __future__ import annotations

from typing import Literal, get_args

Level = Literal["labels", "error_rates", "shares", "counts"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""Every level, the one that tells least first."""


def more(one: Level, other: Level) -> bool:
    """Does `one` tell more than `other`?"""
    return LEVELS.index(one) > LEVELS.index(other)
