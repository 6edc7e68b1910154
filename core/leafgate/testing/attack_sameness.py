"""Are two beliefs the same, of the same people told of in other ways?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leafgate.belief import Belief
from leafgate.testing.attack_subject import chances_of
from leafgate.testing.checks import NonConformance
from leafgate.testing.settings import World
from leafgate.testing.tables import Key

CLOSE = 1e-4
"""Chances that should be equal may differ by this much: some attacks solve for them."""
REMEDIES = {
    "weight": "let every record count `known.weight` people, and speak of people with equal cells alike",
    "order": "find columns by their names, never by position",
    "rows": "go by what a row says, never by where it stands",
    "labels": "lay out chances by the order of `known.schema[secret].domain`; sort nothing by name",
}


def same_beliefs(pairs: Iterator[tuple[Any, Any]], when: str, remedy: str) -> None:
    for one, other in pairs:
        if set(one) != set(other):
            raise NonConformance(f"it speaks of other secrets {when}", REMEDIES[remedy])
        for secret in one:
            _same_chances(_by_key(*one[secret]), _by_key(*other[secret]), when, remedy)
            _same_groups(one[secret], other[secret], when, remedy)


def _by_key(world: World, belief: Belief, keys: list[Key]) -> list[tuple[Key, dict[Any, float]]]:
    chances = chances_of(belief, world)
    if chances is None or belief.secret is None:
        return []
    domain = world.known.schema[belief.secret].domain
    return [(key, dict(zip(domain, row, strict=True))) for key, row in zip(keys, chances.tolist(), strict=True)]


def _same_chances(
    one: list[tuple[Key, dict[Any, float]]], other: list[tuple[Key, dict[Any, float]]], when: str, remedy: str
) -> None:
    first = dict(one)
    for key, row in other:
        if key not in first or any(abs(first[key][value] - p) > CLOSE for value, p in row.items()):
            raise NonConformance(f"it believes something else of the same person {when}", REMEDIES[remedy])


def _same_groups(one: Any, other: Any, when: str, remedy: str) -> None:
    if one[1].groups is None or one[1].records is not None:
        return
    if _division(one) != _division(other):
        raise NonConformance(f"it tells other people apart {when}", REMEDIES[remedy])


def _division(laid_out: tuple[World, Belief, list[Key]]) -> set[frozenset[Key]]:
    """The sets of people who cannot be told apart."""
    groups: dict[int, set[Key]] = {}
    _, belief, keys = laid_out
    assert belief.groups is not None
    for group, key in zip(belief.groups.tolist(), keys, strict=True):
        groups.setdefault(group, set()).add(key)
    return {frozenset(keys) for keys in groups.values()}
