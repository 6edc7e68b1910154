from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from components import new_metric
from kit_scenarios import cells_case
from leafgate.api import (
    AdversaryKnowledge,
    AttackModel,
    Belief,
    Column,
    Metric,
    PeopleCount,
    Release,
    ScoringContext,
    SecretBelief,
    Table,
    UnreadableError,
)
from leafgate.app import Finding, Report, Tables, audit_policy, document, readable, summary
from leafgate.testing import grant_knowledge
from random_tables import categorical, table_of
from scoring import scores_of_people
from standins import attack_that, installed_with, policy_document, policy_in

LOW, HIGH = "<=50K", ">50K"
Chances = Sequence[tuple[float, float]]

# The paper's Example 1 (Figures 2 and 5): q1 to q4, of 2, 1, 1 and 2 people. Its S_A is what the leaves say.
COLUMNS = {
    "q": {"role": "quasi_identifier", "values": ["q1", "q2", "q3", "q4"]},
    "salary": {"role": ["class", "sensitive"], "values": [LOW, HIGH]},
}
PEOPLE = [("q1", LOW), ("q2", LOW), ("q3", HIGH), ("q4", HIGH)]
COUNTS = (2, 1, 1, 2)
S_A: Chances = [(1, 0), (0.5, 0.5), (0.5, 0.5), (0, 1)]
S_B: Chances = [(1, 0), (0.815, 0.185), (0.185, 0.815), (0, 1)]


def believing(chances: Chances, baseline: Chances | None = None) -> type[AttackModel]:
    """An attack, nosy, that believes this of q1 to q4."""

    def infer(release: Release, known: AdversaryKnowledge) -> list[Belief]:
        posterior = pd.DataFrame(chances, columns=[LOW, HIGH])
        prior = None if baseline is None else pd.DataFrame(baseline, columns=[LOW, HIGH])
        return [SecretBelief("salary", posterior, equivalence_class=np.arange(4), prior=prior)]

    return attack_that(infer)


def audited(nosy: type[AttackModel], *metrics: Mapping[str, Any], **said: Any) -> Report:
    plugins = installed_with(nosy)
    asked = {"data": {"columns": COLUMNS}, "build": {"use": "id3"}, "attacks": [{"use": "nosy"}]}
    result = policy_document(**asked | {"metrics": list(metrics)} | said)
    policy = policy_in(Path(), plugins, result)
    return audit_policy(policy, plugins, Tables(table_of(policy.data.meaning().columns, PEOPLE, COUNTS))).report


def only(report: Report) -> Finding:
    found = [finding for finding in report.findings if finding.limit is not None]
    assert len(found) == 1
    return found[0]


def of_example(chances: Chances, baseline: Chances | None = None, **said: Any) -> Finding:
    return only(audited(believing(chances, baseline), {"use": "divergence", "at_least": 0} | said))


def test_what_the_reasoning_brought_is_listed_as_in_figure_7_for_auditors() -> None:
    found = of_example(S_B, S_A, top=3)
    content = found.evidence["top"].content
    before, now = math.log(2), -math.log(0.815)
    assert [row["people"] for row in content] == [PeopleCount(1), PeopleCount(1), PeopleCount(2)]
    assert [list(row.values())[:3] for row in content] == [
        pytest.approx([now, before, before - now]),
        pytest.approx([now, before, before - now]),
        [0, 0, 0],
    ]
    assert (found.evidence["floored"].content, len(of_example(S_B, S_A, average=True).evidence["top"].content)) == (
        0,
        4,
    )


def test_without_a_baseline_there_is_nothing_to_list() -> None:
    assert "top" not in of_example(S_A).evidence


@pytest.mark.parametrize("floor", [0, -1, 0.002, 1])
def test_a_floor_is_above_0_and_at_most_a_thousandth(floor: float) -> None:
    with pytest.raises(ValueError, match="floor"):
        new_metric("divergence", at_least=0, floor=floor)


def test_the_truth_of_q2_and_q3_became_likelier_by_what_the_choices_tell() -> None:
    scores = scores_of_people(new_metric("gain", at_most=2), case_of(example(), S_B, S_A)).tolist()
    assert scores == pytest.approx([1, 1.63, 1.63, 1])
    found = only(audited(believing(S_B, S_A), {"use": "gain", "at_most": 1.5}))
    assert found.value == pytest.approx(1.63)
    assert (found.passed, found.violations) == (False, 2)


def test_what_the_baseline_rules_out_gains_without_bound_unless_it_stays_ruled_out() -> None:
    nobody: Chances = [(0, 1)] * 4
    assert scores_of_people(new_metric("gain", at_most=2), case_of(example(), S_A, nobody)).tolist() == [
        math.inf,
        math.inf,
        0.5,
        1,
    ]
    assert scores_of_people(new_metric("gain", at_most=2), case_of(example(), nobody, nobody)).tolist() == [1, 1, 1, 1]
    found = only(audited(believing(S_A, nobody), {"use": "gain", "at_most": 99}))
    assert (found.value, found.passed, found.evidence["unbounded"]) == (None, False, True)


def test_an_attack_without_a_baseline_has_no_gain() -> None:
    with pytest.raises(UnreadableError):
        scores_of_people(new_metric("gain", at_most=2), case_of(example(), S_A))
    found = only(audited(believing(S_A), {"use": "gain", "at_most": 2}))
    assert (found.id, found.passed) == ("gain@any", None)


METRICS: list[dict[str, Any]] = [
    {"use": "divergence", "at_least": 0.1},
    {"use": "divergence", "name": "some", "at_least": 0.1, "allow": 0.7},
    {"use": "divergence", "name": "overall", "at_least": 0.01, "average": True},
    {"use": "gain", "at_most": 1.5},
    {"use": "gain", "name": "mean_gain", "at_most": 1.5, "average": True},
]
PLANTED: Chances = [(0.71, 0.29), (0.81234567, 0.18765433), (0.23, 0.77), (0.37, 0.63)]
"""Nothing is certain, so that every divergence is a number that gives its record away."""


@pytest.mark.parametrize("smallest", [1, 2, 10])
def test_the_public_report_has_verdicts_and_no_number_that_compares_with_the_truth(smallest: int) -> None:
    report = audited(believing(PLANTED, S_A), *METRICS, report={"smallest_cell": smallest})
    public = document(report, "public")
    for result, found in zip(public["findings"], report.findings, strict=True):
        assert (result["value"], result["beyond"]) == (None, None)
        assert result["evidence"] == {"scored_because": "the metric can only score what is derived"}
        assert result["passed"] is found.passed
        assert found.value is not None
    text = readable(public).decode() + summary(public)
    for secret in ("floored", '"top"', "composition is", "derive is", "worst", "unbounded"):
        assert secret not in text
    assert not [number for number in numbers_in(report) if repr(number) in text or f"{number:.4g}" in text]


def numbers_in(report: Report) -> set[float]:
    """Every number that compares with the truth: what auditors are told, and each public record's own."""
    items = {leaf for found in document(report, "auditor")["findings"] for leaf in leaves(found["evidence"])}
    values = {found.value for found in report.findings if found.value is not None}
    own = scores_of_people(new_metric("divergence", at_least=0), case_of(example(), PLANTED)).tolist()
    return {number for number in items | values | set(own) if not float(number).is_integer()}


def leaves(thing: Any) -> set[float]:
    if isinstance(thing, Mapping | list):
        inside = thing.values() if isinstance(thing, Mapping) else thing
        return {leaf for each in inside for leaf in leaves(each)}
    return {float(thing)} if isinstance(thing, int | float) else set()


def example() -> Table:
    columns = [categorical("q", "quasi_identifier", values=["q1", "q2", "q3", "q4"]), salary()]
    return table_of(columns, PEOPLE, COUNTS)


def salary() -> Column:
    return categorical("salary", "class", "sensitive", values=[LOW, HIGH])


def case_of(
    table: Table, chances: Sequence[Sequence[float]], baseline: Sequence[Sequence[float]] | None = None
) -> ScoringContext:
    """The case of an adversary who believes `chances` of the public records, in order."""
    (secret,) = table.schema.secrets
    believed = pd.DataFrame(chances, columns=list(secret.domain), dtype=float)
    before = None if baseline is None else pd.DataFrame(baseline, columns=list(secret.domain), dtype=float)
    belief = SecretBelief(secret.name, believed, equivalence_class=np.arange(len(believed)), prior=before)
    return ScoringContext(table, None, Release({}, table.schema), grant_knowledge(table), belief)


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]]]:
    """People by public record and value, and a belief about each record in whole parts."""
    values, records = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    several = st.lists(st.integers(0, 6), min_size=values, max_size=values).filter(any)
    drawn = st.lists(several, min_size=records, max_size=records)
    return draw(drawn), draw(drawn)


def shares(parts: Sequence[Sequence[int]]) -> list[list[float]]:
    return [[part / sum(row) for part in row] for row in parts]


def table_with(people: Sequence[Sequence[int]], *, apart: bool = False) -> Table:
    """The table of these people; `apart`: a row for each of them."""
    domain = [f"v{i}" for i in range(len(people[0]))]
    columns = [
        categorical("q", "quasi_identifier", values=[f"q{i}" for i in range(len(people))]),
        categorical("secret", "sensitive", values=domain),
    ]
    cells = [(f"q{i}", f"v{j}", n) for i, row in enumerate(people) for j, n in enumerate(row) if n]
    if not apart:
        return table_of(columns, [(q, v) for q, v, _ in cells], [n for _, _, n in cells])
    each = [(q, v) for q, v, n in cells for _ in range(n)]
    key = categorical("number", "key", values=[str(i) for i in range(len(each))])
    return table_of([*columns, key], [(*row, str(i)) for i, row in enumerate(each)])


def by_record(case: ScoringContext, metric: Metric) -> list[float]:
    """Each public record's score; all its people have the same."""
    scores = pd.Series(scores_of_people(metric, case)).groupby(case.table.public[1]).agg(["min", "max"])
    assert (scores["min"] == scores["max"]).all()
    return list(map(float, scores["min"]))


ANY = new_metric("divergence", at_least=0)


@given(groups())
def test_a_divergence_is_the_entropy_of_the_truth_relative_to_the_belief(
    drawn: tuple[list[list[int]], list[list[int]]],
) -> None:
    people, believed = drawn
    scores = by_record(case_of(table_with(people), shares(believed)), ANY)
    for score, mine, theirs in zip(scores, people, shares(believed), strict=True):
        bounded = np.maximum(theirs, 1e-9)
        assert score == pytest.approx(entropy(mine, bounded) - math.log(bounded.sum()), abs=1e-8)


@given(groups())
def test_a_divergence_is_between_0_and_the_floors_and_0_just_where_the_belief_is_true(
    drawn: tuple[list[list[int]], list[list[int]]],
) -> None:
    people, believed = drawn
    scores = by_record(case_of(table_with(people), shares(believed)), ANY)
    for score, mine, theirs in zip(scores, shares(people), shares(believed), strict=True):
        assert 0 <= score <= -math.log(1e-9)
        assert (score < 1e-12) == np.allclose(mine, theirs, rtol=0, atol=1e-12)


@given(groups())
def test_the_composition_of_public_records_told_apart_is_the_truth(
    drawn: tuple[list[list[int]], list[list[int]]],
) -> None:
    people, believed = drawn
    true = replace(case_of(table_with(people), shares(believed)), scored="composition")
    assert by_record(true, ANY) == pytest.approx([0] * len(people), abs=1e-15)


@given(groups(), st.integers(2, 5))
def test_people_counted_one_by_one_or_several_times_diverge_as_much(
    drawn: tuple[list[list[int]], list[list[int]]], times: int
) -> None:
    people, believed = drawn
    whole = case_of(table_with(people), shares(believed))
    each = case_of(table_with(people, apart=True), shares(believed))
    more = case_of(table_with([[times * n for n in row] for row in people]), shares(believed))
    assert by_record(each, ANY) == by_record(whole, ANY) == pytest.approx(by_record(more, ANY), abs=1e-12)
    result, once = (ANY.score(case).evidence for case in (each, whole))
    assert result == once


@given(groups())
def test_the_floor_is_counted_where_a_true_value_is_believed_impossible(
    drawn: tuple[list[list[int]], list[list[int]]],
) -> None:
    people, believed = drawn
    case = case_of(table_with(people), shares(believed))
    impossible = sum(
        n > 0 and not p
        for mine, theirs in zip(people, believed, strict=True)
        for n, p in zip(mine, theirs, strict=True)
    )
    assert ANY.score(case).evidence["floored"].content == impossible


@given(groups(), st.randoms(use_true_random=False))
def test_a_gain_is_each_persons_own_ratio(drawn: tuple[list[list[int]], list[list[int]]], chance: Any) -> None:
    people, believed = drawn
    baseline = [chance.sample(row, len(row)) for row in believed]
    case = case_of(table_with(people), shares(believed), shares(baseline))
    scores = scores_of_people(new_metric("gain", at_most=1), case).tolist()
    cells = [(i, j) for i, row in enumerate(people) for j, n in enumerate(row) if n]
    for score, (i, j) in zip(scores, cells, strict=True):
        p, before = shares(believed)[i][j], shares(baseline)[i][j]
        assert score == (p / before if before else (math.inf if p else 1.0))


def test_own_records_of_an_attack_are_found_by_their_public_cells() -> None:
    table = example()
    order = [2, 0, 3, 1]
    frame = pd.DataFrame([S_B[i] for i in order], columns=[LOW, HIGH])
    before = pd.DataFrame([S_A[i] for i in order], columns=[LOW, HIGH])
    records = grant_knowledge(table).records.iloc[order].reset_index(drop=True)
    belief = SecretBelief("salary", frame, equivalence_class=np.arange(4), records=records, prior=before)
    own = ScoringContext(table, None, Release({}, table.schema), grant_knowledge(table), belief)
    plain = case_of(table, S_B, S_A)
    for metric in (ANY, new_metric("gain", at_most=1)):
        assert scores_of_people(metric, own).tolist() == scores_of_people(metric, plain).tolist()
    assert ANY.score(own).evidence == ANY.score(plain).evidence


def test_cells_of_single_records_are_no_public_records() -> None:
    assert len(cells_case(1.0).table.public[0]) < len(cells_case(1.0).table)
    assert ANY.judges == {SecretBelief}
