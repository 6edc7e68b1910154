"""Checks of how a metric's scores change as an adversary learns more, and of its sensitivity."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

from leafgate.api.context import ScoringContext
from leafgate.api.registry import use_of
from leafgate.errors import LeafgateError
from leafgate.testing.check import DoesNotApply, NonConformance, called
from leafgate.testing.sandbox import canonical_text
from leafgate.testing.scenarios.contexts import SHOWN, Learned, unchanged
from leafgate.testing.scenarios.tables import ILLNESSES, ill_with
from leafgate.testing.subjects import MetricSubject
from leafgate.types.table import Table

PEOPLE = SHOWN[0].name
TRUTH = "flu"
"""The illness of the one who is 90, unless another is asked for."""
CLOSE = 1e-9
"""Scores that should be equal may differ by such a part of them."""


def sees_a_leak(subject: MetricSubject) -> None:
    """Somebody whose secret is out scores worse than anybody does of whom nothing is known."""
    remedy = (
        f"check its direction: `{subject.component.direction}` means that "
        f"{'more' if subject.component.direction == 'at_least' else 'less'} is safer; look at every value of the secret"
    )
    for value in _values(subject):
        for nothing, everything in _compared(subject, "nothing", "everything", value):
            if not everything < nothing:
                raise NonConformance(
                    "it scores a case where somebody's secret is out no worse than one where nothing is known", remedy
                )


def _values(subject: MetricSubject) -> list[str]:
    """The values of the secret that it looks at: those its options name, else all."""
    named = canonical_text(subject.component.model_dump())
    return [value for value in ILLNESSES if repr(value) in named] or list(ILLNESSES)


def certainty_is_worst(subject: MetricSubject) -> None:
    """Whoever's secret is certain scores worse than if a little doubt were left: a score has no end before that."""
    if not subject.of_people:
        raise DoesNotApply("a release discloses much or nothing; there is no half")
    doubts = [(half, sure) for half, sure in _compared(subject, "half, alone", "everything")]
    nearly = [(some, sure) for some, sure in _compared(subject, "nearly everything", "everything")]
    pairs = [pair for (half, _), pair in zip(doubts, nearly, strict=True) if half != pair[1]]
    if not pairs:
        raise DoesNotApply("what is believed of somebody who is alone changes nothing of it")
    if any(sure >= some for some, sure in pairs):
        raise NonConformance(
            "it scores somebody whose secret is certain no worse than somebody of whom a little doubt is left",
            "clip and round no score: a limit beyond could never be broken",
        )


def no_information_scores_best(subject: MetricSubject) -> None:
    """Where nothing is learned nobody scores worse than where something is; and half of it is no worse than all."""
    if not subject.of_people:
        raise DoesNotApply("a release discloses much or nothing; there is no half")
    for some, more in (("nothing", "half"), ("half", "everything")):
        for safer, riskier in _compared(subject, some, more):  # type: ignore[arg-type]
            if riskier > safer + CLOSE:
                raise NonConformance(
                    f"it scores a case where {more} is learned better than one where {some} is",
                    "a score must not get better as an adversary comes to know more",
                )


def _compared(
    subject: MetricSubject, some: Learned, more: Learned, value: str = TRUTH
) -> Iterator[tuple[float, float]]:
    if not subject.of_people and type(subject.component).threat_model.startswith("None"):
        raise DoesNotApply("it measures what a release is good for, or costs: its threat model is none")
    pairs = 0
    for kind in subject.kinds:
        change = ill_with(value) if kind.name == PEOPLE else unchanged
        try:
            scores = subject.worst(subject.case(kind, some, change)), subject.worst(subject.case(kind, more, change))
        except LeafgateError:
            continue
        pairs += 1
        yield scores
    if not pairs:
        raise DoesNotApply("it scores no release that discloses nothing, to compare with")


def says_who_moves_it(subject: MetricSubject) -> None:
    """A score of the release that people of the test table move says by how much one of them can."""
    metric = subject.component
    if subject.of_people or metric.private or metric.unit:
        raise DoesNotApply("the public sees its scores as counts, shares or averages of people, or not at all")
    for kind in subject.kinds:
        case = subject.case(kind)
        with suppress(LeafgateError):
            moved = canonical_text(subject.scores(_of_half_the_test(case))) != canonical_text(subject.scores(case))
            if moved and not called(metric, partial(metric.sensitivity, case)) > 0:
                raise NonConformance(
                    f"{use_of(type(metric))} scores otherwise without some test people, and says that nobody moves it",
                    "let `sensitivity` return by how much one person can, for example `1 / case.test.people`",
                )


def _of_half_the_test(case: ScoringContext) -> ScoringContext:
    """The case with every other record of its test table."""
    test = case.test
    if test is None:
        return case
    return replace(case, test=Table(test.schema, test.frame.iloc[::2].reset_index(drop=True), test.weight[::2]))
