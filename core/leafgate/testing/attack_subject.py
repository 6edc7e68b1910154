"""An attack as the checks see it: what it believes, in the settings it can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from leafgate.belief import Belief, checked, rows_for
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.interfaces import AttackModel
from leafgate.testing.checks import DoesNotApply, NonConformance, called
from leafgate.testing.settings import SETTINGS, Setting, World
from leafgate.testing.tables import Key, keys_of
from leafgate.testing.watching import told


@dataclass(frozen=True)
class AttackSubject:
    """An attack, and the settings it is tried in."""

    attack: AttackModel
    more: Sequence[Setting] = ()

    @property
    def settings(self) -> list[Setting]:
        """Those it says it can read, and does; NonConformance when there are none."""
        return [setting for setting, _ in self.found]

    @property
    def first(self) -> dict[str, str]:
        """What it believed in each the first time, in a text."""
        return {setting.name: told(believed) for setting, believed in self.found}

    @cached_property
    def found(self) -> list[tuple[Setting, list[Belief]]]:
        """Each setting, and what it believed there the first time."""
        found, why = [], ""
        for setting in (*SETTINGS, *self.more):
            here = self.readable(setting)
            if here is None:
                continue
            try:
                found.append((here, self.beliefs(here.world())))
            except LeafgateError as error:
                why = f"; of {setting.name} it says: {error}"
        if not found:
            raise NonConformance(
                f"{self.attack.use} believes nothing of any release of this kit{why}",
                "declare what it reads in `reads` and `models`; if it needs another release, give a Setting in `on`",
            )
        return found

    def readable(self, setting: Setting) -> Setting | None:
        """The setting, its numbers such as the attack reads; None where it reads no such model, or noise only."""
        release, reads = setting.world().release, self.attack.reads
        if release.model not in self.attack.models:
            return None
        if release.counted in reads:
            return setting
        return setting.counting(sorted(reads)[0]) if release.counted == "exact" and reads else None  # type: ignore[arg-type]

    def beliefs(self, world: World) -> list[Belief]:
        """What it believes, checked as an audit does."""
        found = called(self.attack, lambda: self.attack.infer(world.release, world.known))
        try:
            return [checked(belief, world.known, world.release) for belief in found]
        except (InconclusiveError, TypeError) as error:
            raise NonConformance(
                f"it returned no list of beliefs that an audit takes: {error}", "see docs/plugins.md, What you promise"
            ) from error

    def pairs(self, other: Callable[[Setting], World | None], why: str) -> Iterator[tuple[Any, Any]]:
        """Of each setting what is believed in its world, and in its other world; DoesNotApply where there is none."""
        found = [(s, b, twin) for s, b in self.found if s.mechanism is None and (twin := other(s)) is not None]
        if not found:
            raise DoesNotApply(why)
        for setting, beliefs, twin in found:
            yield _laid_out(setting.world(), beliefs), _laid_out(twin, self.beliefs(twin))


def _laid_out(world: World, beliefs: list[Belief]) -> dict[str | None, tuple[World, Belief, list[Key]]]:
    return {belief.secret: (world, belief, keys_of_belief(belief, world)) for belief in beliefs}


def keys_of_belief(belief: Belief, world: World) -> list[Key]:
    """What is known of the people, or shown of the records, that the rows of a belief are about."""
    if belief.cells is None:
        return keys_of(world.known.public, without="number")
    records = world.release.records
    assert records is not None  # checked() saw to it
    rows = [records.rows[cell] for cell in belief.cells.tolist()]
    return [frozenset((n, str(cell)) for n, cell in zip(records.columns, row, strict=True)) for row in rows]


def groups_of(belief: Belief, world: World) -> np.ndarray | None:
    """The group of each row of Known."""
    if belief.groups is None or belief.cells is not None:
        return None
    rows = slice(None) if belief.records is None else rows_for(world.known, belief.records)
    return belief.groups[rows]


def chances_of(belief: Belief, world: World) -> np.ndarray | None:
    """The chances of each row of Known, or of each cell."""
    if belief.chances is None:
        return None
    rows = slice(None) if belief.records is None else rows_for(world.known, belief.records)
    return belief.chances.to_numpy(dtype=float)[rows]
