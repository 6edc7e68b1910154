"""A builder as the checks see it: what it makes of the tables it can use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from leafgate.errors import LeafgateError
from leafgate.interfaces import TreeBuilder
from leafgate.release import Release
from leafgate.release_file import seal
from leafgate.table import Table
from leafgate.testing.checks import DoesNotApply, NonConformance, called
from leafgate.testing.settings import Setting
from leafgate.testing.tables import copied, marked, salaries, survey
from leafgate.testing.watching import told

MANY = 900
"""People a row, at most: so that no two tests are equally good by chance."""


@dataclass(frozen=True)
class BuilderSubject:
    """A builder, and the tables it is given."""

    builder: TreeBuilder
    more: Sequence[Setting] = ()

    @property
    def tables(self) -> list[Table]:
        """The tables of this kit it makes a release of; NonConformance when there is none."""
        return [table for table, _ in self.made]

    @property
    def first(self) -> dict[str, str]:
        """What it made of each the first time, in a text; nothing where it never draws the same again."""
        if self.rehearsing.unrepeatable:
            return {}
        return {str(number): told(made) for number, (_, made) in enumerate(self.made)}

    @cached_property
    def made(self) -> list[tuple[Table, Release]]:
        """Each table, and the release it made of it the first time."""
        found, why = [], ""
        for table in (survey(MANY), salaries(), marked(), *(setting.world().table for setting in self.more)):
            try:
                found.append((table, self.built(table)))
            except LeafgateError as error:
                why = str(error)
        if not found:
            raise NonConformance(
                f"{self.builder.use} makes no release of any table of this kit: {why}",
                "if its options do not fit them, choose others; if it needs another table, give a Setting in `on`",
            )
        return found

    @cached_property
    def rehearsing(self) -> TreeBuilder:
        """The builder, its coins taken from the seed where it has a rehearsal for that."""
        if self.builder.unrepeatable and "rehearsal" in type(self.builder).model_fields:
            return self.builder.model_copy(update={"rehearsal": True})
        return self.builder

    def built(self, table: Table, seed: int = 0) -> Release:
        """What it makes of a copy of the table, if a file can hold it."""
        return self.built_of(copied(table), seed)

    def built_of(self, table: Table, seed: int = 0) -> Release:
        """What it makes of this very table."""
        builder = self.rehearsing
        test: dict[str, Any] = {"test": copied(table)} if builder.wants_test else {}
        made = called(builder, lambda: builder.build(table, np.random.default_rng(seed), **test))
        if not isinstance(made, Release):
            raise NonConformance(f"it returns a {type(made).__name__}", "return a Release, or raise NoReleaseError")
        try:
            seal(made)
        except (LeafgateError, TypeError, ValueError) as error:
            raise NonConformance(
                f"it makes a release that no file can hold: {error}",
                "see docs/plugins.md; JSON says texts, numbers, lists",
            ) from error
        return made

    def repeating(self) -> None:
        """Raises DoesNotApply for builders whose release cannot be made again."""
        if self.rehearsing.unrepeatable:
            raise DoesNotApply("it says that it never draws the same again")
