"""An attack as the checks see it: what it believes, in the settings it can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.api.components import AttackModel, TreeBuilder
from leafgate.api.context import ScoringContext
from leafgate.api.metrics import Metric, RecordMetric
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.io.release_codec import serialize
from leafgate.testing.check import DoesNotApply, NonConformance, called
from leafgate.testing.sandbox import canonical_text
from leafgate.testing.scenarios import SETTINGS, Instance, Scenario
from leafgate.testing.scenarios.contexts import SHOWN, CaseKind, Change, Learned, release_case, unchanged
from leafgate.testing.scenarios.tables import Key, copied, keys_of, marked, salaries, survey
from leafgate.types.belief import Belief, checked, rows_for
from leafgate.types.release import Release
from leafgate.types.table import Table


@dataclass(frozen=True)
class AttackSubject:
    """An attack, and the settings it is tried in."""

    attack: AttackModel
    more: Sequence[Scenario] = ()

    @property
    def settings(self) -> list[Scenario]:
        """Those it says it can read, and does; NonConformance when there are none."""
        return [setting for setting, _ in self.first_beliefs]

    @property
    def first(self) -> dict[str, str]:
        """What it believed in each the first time, in a text."""
        return {setting.name: canonical_text(believed) for setting, believed in self.first_beliefs}

    @cached_property
    def first_beliefs(self) -> list[tuple[Scenario, list[Belief]]]:
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

    def readable(self, setting: Scenario) -> Scenario | None:
        """The setting, its numbers such as the attack reads; None where it reads no such model, or noise only."""
        release, reads = setting.world().release, self.attack.reads
        if release.model not in self.attack.models:
            return None
        if release.count_semantics in reads:
            return setting
        return setting.counting(sorted(reads)[0]) if release.count_semantics == "exact" and reads else None  # type: ignore[arg-type]

    def beliefs(self, world: Instance) -> list[Belief]:
        """What it believes, checked as an audit does."""
        found = called(self.attack, lambda: self.attack.infer(world.release, world.known))
        try:
            return [checked(belief, world.known, world.release) for belief in found]
        except (InconclusiveError, TypeError) as error:
            raise NonConformance(
                f"it returned no list of beliefs that an audit takes: {error}", "see docs/plugins.md, What you promise"
            ) from error

    def pairs(self, neighbour: Callable[[Scenario], Instance | None], why: str) -> Iterator[tuple[Any, Any]]:
        """Of each setting what is believed in its world, and in its other world; DoesNotApply where there is none."""
        found = [
            (s, b, twin) for s, b in self.first_beliefs if s.mechanism is None and (twin := neighbour(s)) is not None
        ]
        if not found:
            raise DoesNotApply(why)
        for setting, beliefs, twin in found:
            yield _laid_out(setting.world(), beliefs), _laid_out(twin, self.beliefs(twin))


def _laid_out(world: Instance, beliefs: list[Belief]) -> dict[str | None, tuple[Instance, Belief, list[Key]]]:
    return {belief.secret: (world, belief, keys_of_belief(belief, world)) for belief in beliefs}


def keys_of_belief(belief: Belief, world: Instance) -> list[Key]:
    """What is known of the people, or shown of the records, that the rows of a belief are about."""
    if belief.record_positions is None:
        return keys_of(world.known.public, without="number")
    records = world.release.records
    assert records is not None  # checked() saw to it
    rows = [records.rows[cell] for cell in belief.record_positions.tolist()]
    return [frozenset((n, str(cell)) for n, cell in zip(records.columns, row, strict=True)) for row in rows]


def groups_of(belief: Belief, world: Instance) -> np.ndarray | None:
    """The group of each row of Known."""
    if belief.equivalence_class is None or belief.record_positions is not None:
        return None
    rows = slice(None) if belief.records is None else rows_for(world.known, belief.records)
    return belief.equivalence_class[rows]


def chances_of(belief: Belief, world: Instance) -> np.ndarray | None:
    """The chances of each row of Known, or of each cell."""
    if belief.posterior is None:
        return None
    rows = slice(None) if belief.records is None else rows_for(world.known, belief.records)
    return belief.posterior.to_numpy(dtype=float)[rows]


# --- A builder as the checks see it: what it makes of the tables it can use ---

MANY = 900
"""People a row, at most: so that no two tests are equally good by chance."""


@dataclass(frozen=True)
class BuilderSubject:
    """A builder, and the tables it is given."""

    builder: TreeBuilder
    more: Sequence[Scenario] = ()

    @property
    def tables(self) -> list[Table]:
        """The tables of this kit it makes a release of; NonConformance when there is none."""
        return [table for table, _ in self.first_releases]

    @property
    def first(self) -> dict[str, str]:
        """What it made of each the first time, in a text; nothing where it never draws the same again."""
        if self.rehearsing.one_shot:
            return {}
        return {str(number): canonical_text(made) for number, (_, made) in enumerate(self.first_releases)}

    @cached_property
    def first_releases(self) -> list[tuple[Table, Release]]:
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
        if self.builder.one_shot and "rehearsal" in type(self.builder).model_fields:
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
            serialize(made)
        except (LeafgateError, TypeError, ValueError) as error:
            raise NonConformance(
                f"it makes a release that no file can hold: {error}",
                "see docs/plugins.md; JSON says texts, numbers, lists",
            ) from error
        return made

    def repeating(self) -> None:
        """Raises DoesNotApply for builders whose release cannot be made again."""
        if self.rehearsing.one_shot:
            raise DoesNotApply("it says that it never draws the same again")


# --- A metric as the checks see it: its scores of the cases it can read ---

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class MetricSubject:
    """A metric, and the cases it is shown."""

    metric: Metric
    more: Sequence[Scenario] = ()

    @property
    def of_people(self) -> bool:
        return isinstance(self.metric, RecordMetric)

    @property
    def all_kinds(self) -> list[CaseKind]:
        if self.of_people:
            return list(SHOWN)
        return [CaseKind(s.name, partial(release_case, s), s.labels) for s in (*SETTINGS, *self.more)]

    @property
    def kinds(self) -> list[CaseKind]:
        """The kinds of cases it can score; NonConformance when there is none."""
        return [kind for kind, _ in self._found]

    @property
    def first(self) -> dict[str, str]:
        """What it said of each the first time, in a text."""
        return {kind.name: said for kind, said in self._found}

    @cached_property
    def _found(self) -> list[tuple[CaseKind, str]]:
        found, why = [], ""
        for kind in self.all_kinds:
            try:
                found.append((kind, self.output_text(self.case(kind))))
            except LeafgateError as error:
                why = str(error)
        if not found:
            raise NonConformance(
                f"{self.metric.use} scores no case of this kit: {why}",
                "if its options do not fit (`secret`, `of`), choose others; if it needs another release, "
                "give a Setting in `on`",
            )
        return found

    def case(self, kind: CaseKind, learned: Learned = "everything", change: Change = unchanged) -> ScoringContext:
        """A case as the policy's options have it; by `scored: worst` the one of what is derived."""
        composition = isinstance(self.metric, RecordMetric) and self.metric.scored == "composition"
        return replace(kind.case(learned, change), scored="composition" if composition else "derived")

    def scores(self, case: ScoringContext) -> Scores:
        """What it says of a case: a number for each row, or one; infinite on the unsafe side only."""
        found = called(self.metric, lambda: self.metric.score(case))
        try:
            numbers = np.asarray(found, dtype=float)
        except (TypeError, ValueError):
            raise NonConformance("it returns no numbers", "return a Series of floats, or one float") from None
        wanted = (len(case.table),) if self.of_people else ()
        if numbers.shape != wanted:
            remedy = "return a number for each row of `case.table`; for one number derive from ReleaseAtLeast or AtMost"
            raise NonConformance(f"it returns numbers of shape {numbers.shape}, wanted {wanted}", remedy)
        unsafe = np.inf if self.metric.direction == "at_most" else -np.inf
        if not (np.isfinite(numbers) | (numbers == unsafe)).all():
            raise NonConformance(
                "it returns NaN, or is infinite on the safe side",
                f"where nothing bounds what is learned the score is {unsafe}; where it cannot tell, "
                "raise InconclusiveError",
            )
        return numbers

    def evidence(self, case: ScoringContext, numbers: Scores) -> Any:
        """What it tells beside these scores."""
        given: Any = pd.Series(numbers.reshape(-1).copy()) if self.of_people else float(numbers)
        return called(self.metric, partial(self.metric.evidence, case, given))

    def output_text(self, case: ScoringContext) -> str:
        """Its scores of a case, and what it tells beside them, in a text."""
        numbers = self.scores(case)
        return f"{canonical_text(numbers)} {self.evidence(case, numbers)!r}"

    def worst(self, case: ScoringContext) -> float:
        """The worst-off person's score, the better the higher."""
        numbers = self.scores(case).reshape(-1)
        return float(numbers.min()) if self.metric.direction == "at_least" else -float(numbers.max())
