"""What the conformance kit runs: a component, the instances it is tried on, and what it returns for each.

`Subject` is the protocol that the common checks use; attacks, builders and metrics implement it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.engine.attack import call_infer
from leafgate.engine.validation import validate_belief
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.io.release_codec import serialize
from leafgate.kernel.belief import (
    AttributeBelief,
    Belief,
    CellBelief,
    GroupBelief,
    MembershipBelief,
    PosteriorBelief,
    SecretBelief,
    TableBelief,
    classes_of,
    rows_for,
    secret_of,
)
from leafgate.kernel.components import AttackModel, Component, TreeBuilder
from leafgate.kernel.context import ScoringContext
from leafgate.kernel.knowledge import AdversaryKnowledge, limit_knowledge
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.metrics import Metric, PersonMetric, Score
from leafgate.kernel.release import BuildResult, Release
from leafgate.kernel.table import Table
from leafgate.kernel.tree import leaves
from leafgate.testing.check import DoesNotApply, NonConformance, called
from leafgate.testing.sandbox import canonical_text
from leafgate.testing.scenarios import MEMBERS, SETTINGS, Instance, Scenario, unchanged
from leafgate.testing.scenarios.contexts import SHOWN_CASES, CaseKind, Change, Learned, release_case
from leafgate.testing.scenarios.tables import Key, copied, keys_in, keys_of, marked, salaries, survey

Case = TypeVar("Case")
"""What an instance is described by: a scenario, a kind of context, a table."""
Input = TypeVar("Input")
"""The input of one run."""
Output = TypeVar("Output")
"""The output of one run."""


@dataclass(frozen=True)
class Subject(ABC, Generic[Case, Input, Output]):
    """A component, the instances of the kit and `more` of the caller's."""

    component: Component
    more: Sequence[Scenario] = ()

    rejection: ClassVar[str]
    """What is wrong with a component that can use no instance."""
    remedy: ClassVar[str]
    """What to do about it."""

    @abstractmethod
    def instances(self) -> Iterator[tuple[str, Case]]:
        """Everything that the component is tried on, by name."""

    @abstractmethod
    def open(self, instance: Case) -> Input:
        """A new input of this instance."""

    @abstractmethod
    def run(self, opened: Input) -> Output:
        """What the component returns for this very input, after the checks an audit makes."""

    @abstractmethod
    def snapshot(self, opened: Input) -> str:
        """The content of an input, as a text."""

    def canonical(self, output: Output) -> str:
        """An output as a text that is equal for equal outputs."""
        return canonical_text(output)

    def rerun(self, instance: Case) -> Output:
        """Run a second time what must return the same."""
        return self.run(self.open(instance))

    def require_repeatable(self) -> None:
        """Raise DoesNotApply if two runs of the component need not return the same."""

    @cached_property
    def accepted(self) -> list[tuple[str, Case, Output]]:
        """The instances that the component can use, each with its first output; NonConformance if there are none."""
        accepted, why = [], ""
        for name, instance in self.instances():
            try:
                accepted.append((name, instance, self.run(self.open(instance))))
            except LeafgateError as error:
                why = f"; of {name} it says: {error}"
        if not accepted:
            raise NonConformance(f"{self.component.use} {self.rejection}{why}", self.remedy)
        return accepted

    @property
    def first(self) -> dict[str, str]:
        """The first output for each instance, as a text; empty if outputs need not repeat."""
        try:
            self.require_repeatable()
        except DoesNotApply:
            return {}
        return {name: self.canonical(output) for name, _, output in self.accepted}


def _leaves_of(release: Release) -> list[Leaf]:
    """Every leaf of a release, which all who walk its trees share."""
    return [leaf for tree in release.trees for leaf in leaves(tree)]


@dataclass(frozen=True)
class AttackSubject(Subject[Scenario, Instance, list[Belief]]):
    """An attack, and the scenarios it says it can read."""

    component: AttackModel

    rejection = "believes nothing of any release of this kit"
    remedy = "declare what it reads in `reads` and `models`; if it needs another release, give a Scenario in `on`"

    def instances(self) -> Iterator[tuple[str, Scenario]]:
        for scenario in (*SETTINGS, *([MEMBERS] if self.has_candidates or self.has_targets else []), *self.more):
            readable = self.readable(scenario)
            if readable is not None:
                yield readable.name, readable

    def open(self, instance: Scenario) -> Instance:
        return instance.world()

    def snapshot(self, opened: Instance) -> str:
        candidates = opened.drawn[0].table if self.has_candidates else None
        targets = [each.groups for each in opened.asked[0].values()] if self.has_targets else None
        return canonical_text([opened.release, _leaves_of(opened.release), opened.known, candidates, targets])

    @property
    def has_candidates(self) -> bool:
        """Does it infer who is in the table?"""
        return "candidates" in self.component.needs

    @property
    def has_targets(self) -> bool:
        """Does it infer an input of the model?"""
        return "targets" in self.component.needs

    @property
    def beliefs(self) -> list[tuple[Scenario, list[Belief]]]:
        """Each scenario it can read, and its beliefs of the first run."""
        return [(scenario, beliefs) for _, scenario, beliefs in self.accepted]

    def readable(self, scenario: Scenario) -> Scenario | None:
        """The scenario with numbers that the attack reads; None if it reads no such model, or only noise."""
        release, reads = scenario.world().release, self.component.reads
        if release.model not in self.component.models:
            return None
        if release.count_semantics in reads:
            return scenario
        return scenario.counting(sorted(reads)[0]) if release.count_semantics == "exact" and reads else None  # type: ignore[arg-type]

    def run(self, opened: Instance) -> list[Belief]:
        return self.run_knowing(opened.release, limit_knowledge(self.granted(opened), self.component.needs))

    def granted(self, opened: Instance) -> AdversaryKnowledge:
        """What is known of an instance, with candidates or targets for an attack that needs them."""
        known = replace(opened.known, candidates=opened.drawn[0]) if self.has_candidates else opened.known
        return replace(known, targets=opened.asked[0]) if self.has_targets else known

    def run_knowing(self, release: Release, known: AdversaryKnowledge) -> list[Belief]:
        """The attack's beliefs with exactly this knowledge, what it does not declare included."""
        beliefs = called(self.component, lambda: call_infer(self.component, release, known))
        read = release if self.component.chosen_access == "file" else None
        try:
            return [validate_belief(belief, known, read) for belief in beliefs]
        except (InconclusiveError, TypeError) as error:
            raise NonConformance(
                f"it returned no list of beliefs that an audit takes: {error}",
                "see docs/reference/plugin-components.md, What an attack believes",
            ) from error

    def pairs(self, neighbour: Callable[[Scenario], Instance | None], why: str) -> Iterator[tuple[Any, Any]]:
        """The beliefs in each scenario's instance and in its neighbour; DoesNotApply if none has a neighbour."""
        pairs = [(s, b, twin) for s, b in self.beliefs if s.mechanism is None and (twin := neighbour(s)) is not None]
        if not pairs:
            raise DoesNotApply(why)
        for scenario, beliefs, twin in pairs:
            yield laid_out(scenario.world(), beliefs), laid_out(twin, self.run(twin))


def laid_out(world: Instance, beliefs: list[Belief]) -> dict[str, tuple[Instance, Belief, list[Key]]]:
    """The beliefs by their secrets, or else their types, each with its world and what its rows are about."""
    return {
        secret_of(belief) or type(belief).__name__: (world, belief, keys_of_belief(belief, world)) for belief in beliefs
    }


def keys_of_belief(belief: Belief, world: Instance) -> list[Key]:
    """The cells that say what the rows of a belief are about.

    They are public ones, those of published or reconstructed records, those of candidates, or those that are known of
    targets.
    """
    if isinstance(belief, MembershipBelief):
        return keys_in(world.drawn[0].frame)
    if isinstance(belief, AttributeBelief):
        groups = world.asked[0][belief.secret].groups
        return keys_in(pd.concat([group.frame for group in groups], ignore_index=True))
    if isinstance(belief, TableBelief):
        return keys_in(belief.records)
    if not isinstance(belief, CellBelief):
        return keys_of(world.known.public, without="number")
    records = world.release.records
    assert records is not None  # `checked` has verified it
    rows = [records.rows[cell] for cell in belief.record_positions.tolist()]
    return [frozenset((n, str(cell)) for n, cell in zip(records.columns, row, strict=True)) for row in rows]


def groups_of(belief: Belief, world: Instance) -> np.ndarray | None:
    """The equivalence class of each row of the adversary's table; None if the belief has none of people."""
    classes = classes_of(belief)
    return None if classes is None else classes[_rows_of(belief, world)]


def posterior_of(belief: Belief, world: Instance) -> np.ndarray | None:
    """The posterior of each row of the adversary's table, of each cell or target; None if the belief has none."""
    if isinstance(belief, AttributeBelief):
        return belief.posterior
    if not isinstance(belief, PosteriorBelief):
        return None
    return belief.posterior.to_numpy(dtype=float)[_rows_of(belief, world)]


def _rows_of(belief: Belief, world: Instance) -> slice | NDArray[np.int64]:
    """The belief's row about each row of the adversary's table, or about each cell."""
    records = belief.records if isinstance(belief, GroupBelief | SecretBelief) else None
    return slice(None) if records is None else rows_for(world.known, records)


MANY = 900
"""The most people in one row, so many that no two splits are equally good by chance."""


@dataclass(frozen=True)
class BuilderSubject(Subject[Table, Table, BuildResult]):
    """A builder, and the tables it is given."""

    component: TreeBuilder

    rejection = "makes no release of any table of this kit"
    remedy = "if its options do not fit them, choose others; if it needs another table, give a Scenario in `on`"

    def instances(self) -> Iterator[tuple[str, Table]]:
        tables = (survey(MANY), salaries(), marked(), *(scenario.world().table for scenario in self.more))
        return ((f"table {number}", table) for number, table in enumerate(tables))

    def open(self, instance: Table) -> Table:
        return copied(instance)

    def snapshot(self, opened: Table) -> str:
        return canonical_text(opened)

    @property
    def releases(self) -> list[tuple[Table, Release]]:
        """Each table that it can use, and the release of the first run."""
        return [(table, built.release) for _, table, built in self.accepted]

    @cached_property
    def rehearsing(self) -> TreeBuilder:
        """The builder; if it draws from the system and has a rehearsal, the rehearsal, which draws from the seed."""
        if self.component.one_shot and "rehearsal" in type(self.component).model_fields:
            return self.component.model_copy(update={"rehearsal": True})
        return self.component

    def run(self, opened: Table, seed: int = 0) -> BuildResult:
        builder = self.rehearsing
        test: dict[str, Any] = {"test": copied(opened)} if builder.wants_test else {}
        built = called(builder, lambda: builder.build(opened, np.random.default_rng(seed), **test))
        if not isinstance(built, Release | BuildResult):
            remedy = "return a Release or a BuildResult, or raise NoReleaseError"
            raise NonConformance(f"it returns a {type(built).__name__}", remedy)
        result = BuildResult.of(built)
        try:
            serialize(result)
        except (LeafgateError, TypeError, ValueError) as error:
            raise NonConformance(
                f"it makes a release that no file can hold: {error}",
                "see docs/reference/plugin-components.md; JSON says texts, numbers, lists",
            ) from error
        return result

    def built(self, table: Table) -> Release:
        """The release of a copy of the table."""
        return self.run(copied(table)).release

    def rerun(self, instance: Table) -> BuildResult:
        """Build again, with another seed if the builder says that it uses no randomness."""
        return self.run(self.open(instance), seed=1 if self.rehearsing.randomness == "none" else 0)

    def require_repeatable(self) -> None:
        if self.rehearsing.one_shot:
            raise DoesNotApply("it says that it never draws the same again")


Scores = NDArray[np.float64]


@dataclass(frozen=True)
class MetricSubject(Subject[CaseKind, ScoringContext, str]):
    """A metric, and the kinds of contexts it scores; an output is its scores and evidence, as a text."""

    component: Metric

    rejection = "scores no case of this kit"
    remedy = (
        "if its options do not fit (`secret`, `of`), choose others; if it needs another release, "
        "give a Scenario in `on`"
    )

    def instances(self) -> Iterator[tuple[str, CaseKind]]:
        if self.component.judges:
            return ((kind.name, kind) for kind in SHOWN_CASES if kind.belief in self.component.judges)
        scenarios = (*SETTINGS, *self.more)
        return ((s.name, CaseKind(s.name, partial(release_case, s), s.labels)) for s in scenarios)

    def open(self, instance: CaseKind) -> ScoringContext:
        return self.case(instance)

    def run(self, opened: ScoringContext) -> str:
        numbers, evidence = self.scored(opened)
        return f"{canonical_text(numbers)} {evidence!r}"

    def canonical(self, output: str) -> str:
        return output

    def snapshot(self, opened: ScoringContext) -> str:
        inputs = [opened.table, opened.test, opened.release, opened.known, opened.belief, opened.weight]
        texts = [canonical_text(inputs), canonical_text(_leaves_of(opened.release))]
        for part in ("posterior", "prior", "equivalence_class", "sizes", "truth"):
            with suppress(LeafgateError):
                texts.append(canonical_text(getattr(opened, part)))
        return " ".join(texts)

    @property
    def of_people(self) -> bool:
        """Does it score each person, and not the release?"""
        return isinstance(self.component, PersonMetric)

    @property
    def kinds(self) -> list[CaseKind]:
        """The kinds of contexts it can score."""
        return [kind for _, kind, _ in self.accepted]

    def case(self, kind: CaseKind, learned: Learned = "everything", change: Change = unchanged) -> ScoringContext:
        """A context as the policy's options ask for it; with `scored: worst` that of the derived distribution."""
        composition = isinstance(self.component, PersonMetric) and self.component.scored == "composition"
        return replace(kind.case(learned, change), scored="composition" if composition else "derived")

    def scores(self, case: ScoringContext) -> Scores:
        """Its scores of a context, shape (n_rows,) or (): finite, or infinite on the unsafe side."""
        return self.scored(case)[0]

    def scored(self, case: ScoringContext) -> tuple[Scores, Any]:
        """Its scores of a context, and its evidence."""
        score = self.score(case)
        return np.asarray(score.people if self.of_people else score.value, dtype=float), score.evidence

    def score(self, case: ScoringContext) -> Score:
        """Its Score of a context, which an audit would take; NonConformance otherwise."""
        score = called(self.component, lambda: self.component.score(case))
        which = "people" if self.of_people else "value"
        remedy = "return Score(people=...) from a metric of people, Score(value=...) from a metric of the release"
        if not isinstance(score, Score) or getattr(score, which) is None:
            raise NonConformance(f"it returns no Score with `{which}`", remedy)
        try:
            numbers = np.asarray(getattr(score, which), dtype=float)
        except (TypeError, ValueError):
            raise NonConformance("it returns no numbers", "return a Series of floats, or one float") from None
        wanted = (len(case.table),) if self.of_people else ()
        if numbers.shape != wanted:
            remedy = "return a number for each row of `case.table`; for one number derive from ReleaseAtLeast or AtMost"
            raise NonConformance(f"it returns numbers of shape {numbers.shape}, wanted {wanted}", remedy)
        unsafe = np.inf if self.component.direction == "at_most" else -np.inf
        if not (np.isfinite(numbers) | (numbers == unsafe)).all():
            raise NonConformance(
                "it returns NaN, or is infinite on the safe side",
                f"where nothing bounds what is learned the score is {unsafe}; where it cannot decide, "
                "raise InconclusiveError",
            )
        if score.interval is not None and (self.of_people or not _encloses(score.interval, float(numbers))):
            raise NonConformance(
                "it returns an interval that does not enclose the score, or one of people's scores",
                "let `interval` be the lowest and the highest number that `value` could be",
            )
        if not isinstance(score.insufficient, str) or (self.of_people and score.insufficient):
            raise NonConformance(
                "it returns an `insufficient` that is no text, or one of people's scores",
                "let `insufficient` say in words why a kept limit is no pass, and be empty where it is one",
            )
        if not isinstance(score.remedy, str) or (self.of_people and score.remedy):
            raise NonConformance(
                "it returns a `remedy` that is no text, or one of people's scores",
                "let `remedy` say in words what to do where the limit is broken",
            )
        if not 0 <= score.sensitivity < np.inf or (self.of_people and score.sensitivity):
            raise NonConformance(
                "it returns a sensitivity that is no finite number from 0 up, or one of people's scores",
                "let `sensitivity` be the most by which one person can change `value`",
            )
        return score

    def worst(self, case: ScoringContext) -> float:
        """The score of the person worst off, negated for `at_most`, so that higher is better."""
        numbers = self.scores(case).reshape(-1)
        return float(numbers.min()) if self.component.direction == "at_least" else -float(numbers.max())


def _encloses(interval: tuple[float, float], value: float) -> bool:
    """Is it two numbers, with the value between them? NaN is neither."""
    return len(interval) == 2 and bool(interval[0] <= value <= interval[1])


def subject_of(component: Component, more: Sequence[Scenario]) -> AttackSubject | BuilderSubject | MetricSubject:
    """The subject of a component; TypeError if it is no attack, builder or metric."""
    if isinstance(component, AttackModel):
        return AttackSubject(component, more)
    if isinstance(component, Metric):
        return MetricSubject(component, more)
    if isinstance(component, TreeBuilder):
        return BuilderSubject(component, more)
    raise TypeError(f"{type(component).__name__} is no builder, attack or metric")
