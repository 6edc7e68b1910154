"""The checks of metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.api.registry import use_of
from leafgate.engine.evidence import checked_evidence
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.kernel.belief import classes_of
from leafgate.kernel.context import Observation, ScoringContext
from leafgate.kernel.evidence import RESERVED
from leafgate.kernel.metrics import ABOUT_GROUPS, ABOUT_SECRETS, PersonMetric
from leafgate.kernel.table import Table
from leafgate.testing.check import DoesNotApply, NonConformance
from leafgate.testing.common_checks import COMMON_CHECKS
from leafgate.testing.sandbox import canonical_text, cells, numbers_in, public, refuse_cells
from leafgate.testing.scenarios import unchanged
from leafgate.testing.scenarios.contexts import SHOWN_CASES, Learned, alone, edge_case_contexts, worked_case
from leafgate.testing.scenarios.tables import (
    ILLNESSES,
    Key,
    doubled,
    ill_with,
    keys_of,
    relabelled,
    reordered,
    shuffled,
)
from leafgate.testing.subjects import MetricSubject, Scores

PEOPLE = SHOWN_CASES[0].name
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
    """A score of the release that people of a table move says by how much one of them can, and no less."""
    metric = subject.component
    if subject.of_people or metric.public == "verdict" or metric.unit:
        raise DoesNotApply("the public sees its scores as counts, shares or averages of people, or not at all")
    for kind in subject.kinds:
        case = subject.case(kind)
        with suppress(LeafgateError):
            _require_sensitivity(subject, case)


def _require_sensitivity(subject: MetricSubject, case: ScoringContext) -> None:
    """NonConformance where people of a table move the score, and it states no `sensitivity` or a smaller one."""
    score, value = subject.score(case), subject.scores(case)
    for which in ("table", "test"):
        if _difference(subject, value, _of_half(case, which)) <= CLOSE:
            continue
        if not score.sensitivity > 0:
            raise NonConformance(
                f"{use_of(type(subject.component))} scores otherwise without some people of `case.{which}`, "
                "and says that nobody moves it",
                f"let `sensitivity` of the Score say by how much one person can, such as `1 / case.{which}.people`; or "
                'say `public = "verdict"`',
            )
        moved = max((_difference(subject, value, each) for each in _without_somebody(case, which)), default=0.0)
        if moved > score.sensitivity + CLOSE:
            raise NonConformance(
                f"one person less in `case.{which}` moves its score by {moved:.6g}, and its `sensitivity` is "
                f"{score.sensitivity:.6g}",
                "state the most by which one person can move it: the public sees the score rounded by this number",
            )


def _difference(subject: MetricSubject, value: Scores, case: ScoringContext) -> float:
    """How far the score of another case is from a score; 0 where one is infinite, which is no number for the public."""
    other = subject.scores(case)
    return float(abs(other - value)) if np.isfinite(other) and np.isfinite(value) else 0.0


def _without_somebody(case: ScoringContext, which: str) -> Iterator[ScoringContext]:
    """The case with one person less in one of its tables, from each record that several people share."""
    table: Table | None = getattr(case, which)
    for row in () if table is None else np.flatnonzero(table.weight > 1):
        assert table is not None
        weight = table.weight.copy()
        weight[row] -= 1
        yield _with_weight(case, which, weight)


def _of_half(case: ScoringContext, which: str) -> ScoringContext:
    """The case with half of the people of one of its tables: of every other record, all but one."""
    table: Table | None = getattr(case, which)
    if table is None:
        return case
    weight = table.weight.copy()
    weight[::2] = 1
    return _with_weight(case, which, weight)


def _with_weight(case: ScoringContext, which: str, weight: NDArray[np.int64]) -> ScoringContext:
    """The case with other numbers of people who share the records of one of its tables."""
    table: Table = getattr(case, which)
    changed = Table(table.schema, table.frame, weight)
    if which == "table":
        return replace(case, table=changed, observed=set())
    return replace(case, test=changed, observed=set())


def scores(subject: MetricSubject) -> None:
    """It scores a case it says it can read, and its evidence is what JSON can say."""
    for kind in subject.kinds:
        case = subject.case(kind)
        evidence = subject.scored(case)[1]
        try:
            checked_evidence(evidence, RESERVED if subject.of_people else RESERVED - {"worst"}, "its")
        except InconclusiveError as error:
            raise NonConformance(
                str(error), "return a mapping of texts, numbers and lists, wrapped in AuditorOnly"
            ) from None


def respects_weights(subject: MetricSubject) -> None:
    """People who share a row score the same as if each had a row alone."""
    pairs = [(case, twin) for kind in subject.kinds if (twin := alone(case := subject.case(kind))) is not None]
    if not pairs:
        raise DoesNotApply("nobody shares a row in the cases it can score")
    for case, twin in pairs:
        _same_scores(subject, case, twin, "when each person has a row alone", COUNT)
        if not _same_evidence(subject, case, twin):
            raise NonConformance("its evidence is another one when each person has a row alone", COUNT)


COUNT = "count `case.weight`, never rows"


def _same_evidence(subject: MetricSubject, case: ScoringContext, twin: ScoringContext) -> bool:
    numbers, twin_numbers = (dict(numbers_in(_public_evidence(subject, each))) for each in (case, twin))
    return numbers.keys() == twin_numbers.keys() and all(
        np.isclose(numbers[place], twin_numbers[place], rtol=1e-6) for place in numbers
    )


def _public_evidence(subject: MetricSubject, case: ScoringContext) -> Any:
    """Its evidence, as everybody may read it."""
    return public(subject.scored(case)[1])


def leaks_no_record(subject: MetricSubject) -> None:
    """What everybody may read of its evidence holds nothing of a row, and no count of people."""
    remedy = "wrap in AuditorOnly what is about somebody, and counts of people in PeopleCount (leafgate.api)"
    for kind in subject.kinds:
        case = subject.case(kind)
        evidence = _public_evidence(subject, case)
        refuse_cells(evidence, cells(case.table), subject.component.model_dump(), remedy)
        try:
            twice = dict(numbers_in(_public_evidence(subject, subject.case(kind, change=doubled))))
        except LeafgateError:
            continue
        counts = [place for place, number in numbers_in(evidence) if number and twice.get(place) == 2 * number]
        if counts:
            raise NonConformance(f"its evidence `{counts[0]}` counts people, and everybody may read it", remedy)


def any_row_order(subject: MetricSubject) -> None:
    """The order of rows does not matter."""
    for kind in subject.kinds:
        case, twin = subject.case(kind), subject.case(kind, change=shuffled)
        _same_scores(subject, case, twin, "when rows are reordered", "go by what a row says, never by where it stands")


def any_column_order(subject: MetricSubject) -> None:
    """The order of columns does not matter."""
    for kind in subject.kinds:
        case, twin = subject.case(kind), subject.case(kind, change=reordered)
        _same_scores(subject, case, twin, "when columns are reordered", "find columns by their names")


def any_label_order(subject: MetricSubject) -> None:
    """Whether a secret's values are declared from one end or from the other does not matter."""
    kinds = [kind for kind in subject.kinds if kind.labels]
    if not kinds:
        raise DoesNotApply("it speaks of no secret that has values")
    for kind in kinds:
        case, twin = subject.case(kind), subject.case(kind, change=relabelled)
        remedy = "go by the order of `case.secret.domain`, in which the columns of `case.posterior` stand"
        _same_scores(subject, case, twin, "when a secret's values are declared in the opposite order", remedy)


def _same_scores(subject: MetricSubject, case: ScoringContext, twin: ScoringContext, when: str, remedy: str) -> None:
    scores, twin_scores = dict(_by_person(subject, case)), _by_person(subject, twin)
    if any(
        key not in scores or not np.isclose(scores[key], score, rtol=CLOSE, atol=CLOSE) for key, score in twin_scores
    ):
        raise NonConformance(f"it scores the same person otherwise {when}", remedy)


def _by_person(subject: MetricSubject, case: ScoringContext) -> list[tuple[Key, float]]:
    """Each row's score by what the row says; of a release its one score."""
    numbers = subject.scores(case)
    if not subject.of_people:
        return [(frozenset(), float(numbers))]
    return list(zip(keys_of(case.table), numbers.tolist(), strict=True))


def scores_what_it_declares(subject: MetricSubject) -> None:
    """`scorable` lists the distributions that it scores: by composition, it reads `case.posterior` and scores too."""
    metric = subject.component
    if not isinstance(metric, PersonMetric):
        raise DoesNotApply("it scores the release, and no distribution of a secret")
    if not metric.can_score("derived") or not metric.scorable <= {"worst", "derived", "composition"}:
        remedy = 'let it list "derived", and "worst" and "composition" if it can score these'
        raise NonConformance("its `scorable` has no `derived`, or names a distribution that there is not", remedy)
    if metric.can_score("worst") != metric.can_score("composition"):
        raise NonConformance(
            "its `scorable` has one of `worst` and `composition`, and the worse of two scores needs both",
            "list both, or neither",
        )
    for kind in subject.kinds:
        case = replace(kind.case("everything", unchanged), scored="derived")
        if classes_of(case.belief) is None:
            continue
        subject.scores(case)
        if metric.groups_only and Observation.POSTERIOR in case.observed:
            raise NonConformance("it is `groups_only`, and reads `case.posterior`", "leave `groups_only` out")
        if not metric.can_score("composition"):
            continue
        composed = case.with_own_record("composition")
        subject.scores(composed)
        if Observation.COMPOSITION not in composed.observed:
            raise NonConformance(
                "it says that it can score the composition, and does not read `case.posterior`",
                "read `case.posterior`, which is of what `scored` says, and not `case.belief`; or say "
                "`groups_only = True` or `scorable = ONLY_DERIVED` (leafgate.kernel.components)",
            )


def raises_clean_errors(subject: MetricSubject) -> None:
    """Of cases it cannot score it says so in leafgate's errors; it never crashes."""
    kinds = ABOUT_GROUPS | ABOUT_SECRETS if subject.of_people else subject.component.judges
    for case in edge_case_contexts():
        with suppress(LeafgateError):
            subject.scores(case if type(case.belief) in kinds else replace(case, belief=None))


def examples_hold(subject: MetricSubject) -> None:
    """The examples that `explain` shows score what they say."""
    kind = type(subject.component)
    if not subject.of_people or (not kind.examples and PEOPLE not in subject.first):
        raise DoesNotApply("it scores no groups of people, which examples are of")
    if not kind.examples:
        raise NonConformance(
            f"{kind.__name__} has no worked example, so that nothing holds its numbers",
            "work one out by hand: examples = (Example(group={...}, everyone={...}, score=...),)",
        )
    for example in kind.examples:
        options = {"use": use_of(kind), kind.direction: 0.0, **example.options}
        twin = MetricSubject(kind.model_validate(options))
        case = worked_case(example)
        score = float(twin.scores(case)[(case.table.codes("who") == 0).argmax()])
        if not np.isclose(score, example.score, rtol=CLOSE, atol=CLOSE):
            raise NonConformance(
                f"its example of {example.score:.6g} scores {score:.6g}", "work the example out again, or the formula"
            )


METRIC_CHECKS: Mapping[str, Callable[[MetricSubject], None]] = {
    "scores": scores,
    **COMMON_CHECKS,
    "counts_people": respects_weights,
    "any_column_order": any_column_order,
    "any_label_order": any_label_order,
    "any_row_order": any_row_order,
    "tells_nobody": leaks_no_record,
    "sees_a_leak": sees_a_leak,
    "nothing_is_safest": no_information_scores_best,
    "says_who_moves_it": says_who_moves_it,
    "certainty_is_worst": certainty_is_worst,
    "examples_hold": examples_hold,
    "scores_what_it_declares": scores_what_it_declares,
    "errs_in_words": raises_clean_errors,
}
