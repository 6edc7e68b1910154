"""What metrics must keep to, on cases of which it is known how much is disclosed about somebody."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from leafgate.engine.scores import score_of
from leafgate.errors import LeafgateError
from leafgate.kernel import belief as beliefs
from leafgate.kernel import knowledge
from leafgate.kernel.arrays import Floats
from leafgate.kernel.context import Observation, ScoringContext
from leafgate.kernel.metrics import Metric, PersonMetric, Score
from leafgate.testing import scenarios
from leafgate.testing.check import STRANGERS, Relation, guarded, named, refuse_if, skip_if
from leafgate.testing.components import COMPONENTS, Subject, public, same
from leafgate.testing.scenarios import Change, Scenario, World

ROUNDING = 1e-9
"""Scores that should be equal may differ by so much."""


@dataclass(frozen=True)
class Case:
    """What a metric is shown.

    Attributes:
        belief: The type of belief in its contexts; None of a release alone.
        make: Makes a context by the share that is learned, from 0 to 1, and the change of its table beforehand.
    """

    belief: type[beliefs.Belief] | None
    make: Callable[[float, Change], ScoringContext]


def context(world: World, belief: beliefs.Belief | None = None, **more: Any) -> ScoringContext:
    """The context of a belief in a world; the table is the test table, too."""
    people = world.table
    return ScoringContext(people, people, world.release, world.known, belief, origins=world.origins, **more)


def people_case(learned: float, change: Change = scenarios.unchanged) -> ScoringContext:
    """Of the one person who is 90 so much of the truth is learned; by more than half she is alone in her group."""
    world = scenarios.TREE.world(change)
    illness, records = world.table.schema["illness"].domain, world.known.public
    overall = np.bincount(world.table.codes("illness"), world.table.weight, len(illness)) / world.table.total_weight
    exposed, town = np.array(scenarios.oldest(records)), np.asarray(records.frame["town"] == "Port")
    truth = np.array([value == scenarios.OLDEST[-1] for value in illness])
    chances = np.where(exposed[:, None], learned * truth + (1 - learned) * overall, overall)
    groups = (town * (learned > 0)).astype(np.int64) + exposed * (learned > 0.5)
    posterior, prior = (pd.DataFrame(each, columns=list(illness)) for each in (chances, 0 * chances + overall))
    belief = beliefs.SecretBelief("illness", posterior, prior=prior, equivalence_class=groups, population_groups=groups)
    return context(replace(world, known=replace(world.known, population=scenarios.doubled(records))), belief)


def candidates_case(learned: float, change: Change = scenarios.unchanged) -> ScoringContext:
    """Of the first candidates, so large a share, who of them is in the table; the attack is sure of these."""
    world = scenarios.MEMBERS.world(change)
    candidates, membership = world.drawn
    inside, certain = membership.in_table.astype(float), np.arange(len(candidates)) < learned * len(candidates)
    scores, odds = np.where(certain, inside, 0.5), np.where(certain, 1e6 ** (2 * inside - 1), 1.0)
    excluded = certain & ~membership.in_table & ~membership.identical
    belief = beliefs.MembershipBelief(scores, p_values=1 - scores, excluded=excluded, odds=odds)
    known = knowledge.limit_knowledge(world.known, frozenset({"candidates"}))
    return context(replace(world, known=known), belief, _membership=membership)


def release_case(scenario: Scenario, learned: float, change: Change) -> ScoringContext:
    """A release that discloses much, where all is learned, or nothing."""
    return context(scenario.world(change, "much" if learned == 1 else "nothing"))


CASES = (Case(beliefs.SecretBelief, people_case), Case(beliefs.MembershipBelief, candidates_case))


@dataclass(frozen=True)
class MetricSubject(Subject):
    """A metric, and the cases that it scores; more of them are Scenarios for one of a release, else Cases."""

    component: Metric

    def cases(self) -> Iterator[Case]:
        """The cases with a belief that it judges; of a metric of the release alone, releases."""
        for more in (*CASES, *scenarios.SCENARIOS, *self.more):
            case = Case(None, partial(release_case, more)) if isinstance(more, Scenario) else more
            if case.belief in (self.component.judges or {None}):
                yield case

    def open(self, case: Case, change: Change, learned: float = 1.0) -> ScoringContext:
        """A context in which so much is learned."""
        return case.make(learned, change)

    def run(self, opened: ScoringContext, seed: int = 0) -> Score:
        """Its score, validated as an audit does."""
        with guarded(self.component):
            return score_of(self.component, STRANGERS, opened)

    def answers(self, opened: ScoringContext, output: Score) -> Any:
        """The score of each person, or of the release."""
        rows = ["the release"] if output.people is None else scenarios.keys_of(opened.table.frame)
        return dict(zip(rows, numbers_of(output).tolist(), strict=True))

    def words(self, output: Score) -> Any:
        """Its evidence."""
        return public(output.evidence)

    def inputs(self, opened: ScoringContext) -> list[Any]:
        """The tables, the release, and the belief, also as it is laid out over the table."""
        laid_out = getattr(opened, "posterior", None) if isinstance(opened.belief, beliefs.PosteriorBelief) else None
        return [opened.table, opened.release, opened.known, opened.belief, laid_out]

    def edge_cases(self) -> Iterator[ScoringContext]:
        """The same without a test table and a population."""
        for _, opened, _ in self.accepted:
            yield replace(opened, test=None, known=replace(opened.known, population=None))

    def worst(self, case: Case, learned: float) -> float:
        """The score of the person worst off, negated for `at_most`, so that higher is safer."""
        numbers = numbers_of(self.run(self.open(case, scenarios.unchanged, learned)))
        return float(numbers.min() if self.component.direction == "at_least" else -numbers.max())


def numbers_of(score: Score) -> Floats:
    """The number of each person, or that of the release alone."""
    return np.atleast_1d(np.asarray(score.value if score.people is None else score.people, dtype=float))


def sees_a_leak(subject: MetricSubject) -> None:
    """Where somebody's secret is out the score is worse than where nothing is known: look at its `direction`.

    Of people no score gets better as more is learned, and certainty is worse than a little doubt: clip and round
    nothing.
    """
    useful = type(subject.component).threat_model.startswith("None")
    skip_if(useful, "it measures what a release is good for, or costs: its threat model is none")
    levels = (0.0, 0.5, 0.6, 0.98, 1.0) if isinstance(subject.component, PersonMetric) else (0.0, 1.0)
    compared = list[list[float]]()
    for case, _, _ in subject.accepted:
        with suppress(LeafgateError):
            compared.append([subject.worst(case, learned) for learned in levels])
    for worst in compared:
        better = any(more > less + ROUNDING for less, more in pairwise(worst))
        refuse_if(better or worst[-1] >= worst[0], "it scores no worse, or better, where somebody's secret is out")
        refuse_if(worst[-3:].count(worst[-1]) == 2, "it scores a certain secret no worse than one with a little doubt")
    skip_if(not compared, "it scores no release that discloses nothing, to compare with")


def counts_people(subject: MetricSubject) -> None:
    """People who share a row score the same, with the same evidence, as if each had a row: count `case.weight`."""
    for _, opened, output in subject.accepted:
        alone = scenarios.written_out(opened.table)
        first = np.cumsum(opened.table.weight) - opened.table.weight
        origins = None if opened.origins is None else first[np.asarray(opened.origins)].tolist()
        twin = replace(opened, table=alone, test=alone, origins=origins)
        again = subject.run(twin)
        alike = same(subject.answers(opened, output), subject.answers(twin, again))
        told_alike = same(_numbers(subject.words(output)), _numbers(subject.words(again)))
        refuse_if(not alike or not told_alike, "its score or its evidence is another one when each has a row alone")


def publishes_no_counts(subject: MetricSubject) -> None:
    """No number that everybody may read counts people: wrap it in PeopleCount."""
    for case, _, output in subject.accepted:
        with suppress(LeafgateError):
            twice = _numbers(subject.words(subject.run(subject.open(case, scenarios.doubled))))
            for place, number in _numbers(subject.words(output)).items():
                counts = number and twice.get(place) == 2 * number
                refuse_if(counts, f"its evidence `{place[1:]}` counts people, and everybody may read it")


def _numbers(evidence: Any, place: str = "") -> dict[str, float]:
    """Every number of some evidence, by its place."""
    if isinstance(evidence, int | float) and not isinstance(evidence, bool):
        return {place: float(evidence)}
    items: Any = enumerate(evidence) if isinstance(evidence, list | tuple) else getattr(evidence, "items", tuple)()
    return {at: number for key, each in items for at, number in _numbers(each, f"{place}.{key}").items()}


def says_who_moves_it(subject: MetricSubject) -> None:
    """A score of a release states as its `sensitivity` by how much one person of a table can move it, or more."""
    metric = subject.component
    masked = isinstance(metric, PersonMetric) or metric.public == "verdict" or metric.unit
    skip_if(masked, "the public sees its scores as counts, shares or averages of people, or not at all")
    for (_, opened, output), which in ((each, which) for each in subject.accepted for which in ("table", "test")):
        people = getattr(opened, which)
        for row in np.flatnonzero(people.weight > 1):
            fewer = replace(people, weight=people.weight - (np.arange(len(people)) == row), _codes={})
            moved = float(abs(numbers_of(subject.run(replace(opened, **{which: fewer}))) - numbers_of(output)).max())
            more = np.isfinite(moved) and moved > output.sensitivity + ROUNDING
            refuse_if(more, f"one person less in `case.{which}` moves its score by more than it says")


def scores_what_it_declares(subject: MetricSubject) -> None:
    """`scorable` lists the distributions that it scores; of each but for `groups_only` it reads `case.posterior`."""
    metric: Any = subject.component
    skip_if(not isinstance(metric, PersonMetric), "it scores the release, and no distribution of a secret")
    one = metric.can_score("worst") != metric.can_score("composition")
    refuse_if(one, "its `scorable` has one of `worst` and `composition`, and the worse of two needs both")
    for _, opened, _ in subject.accepted:
        composed = opened.with_own_record("composition" if metric.can_score("composition") else "derived")
        subject.run(composed)
        wrong = metric.groups_only and Observation.POSTERIOR in composed.observed
        if metric.can_score("composition") and beliefs.classes_of(opened.belief) is not None:
            wrong = wrong or Observation.COMPOSITION not in composed.observed
        refuse_if(wrong, "it is `groups_only` and reads `case.posterior`, or is not and scores something else")


METRICS: Mapping[str, Relation] = {
    **COMPONENTS,
    **named(sees_a_leak, counts_people, publishes_no_counts, says_who_moves_it, scores_what_it_declares),
}
"""The relations of metrics, by name."""
