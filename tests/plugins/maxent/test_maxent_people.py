"""Who was counted: of a population, of a sample, or of nobody in particular."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from components import inferred, new_builder
from leafgate import InconclusiveError, Release, Table
from leafgate.api import AdversaryKnowledge, AuditorOnly, Counted, Level, SecretBelief, TreeBuilder
from leafgate.testing import grant_knowledge, validate_belief
from literal_maxent import Floats
from maxent_questions import answer, problem_of, solved, truth_in
from random_maxent import LEVELS, builders, release_of, secret_tables
from random_tables import categorical, table_of

A = categorical("a", "quasi_identifier", values=("0", "1"))
Y = categorical("y", "class", "sensitive", values=("no", "yes"))
TABLE = table_of((A, Y), [("0", "no"), ("0", "yes"), ("1", "yes")], [3, 1, 2])


def h(p: float) -> float:
    return float(-p * np.log(p) - (1 - p) * np.log(1 - p))


def believed(release: Release, known: AdversaryKnowledge, **options: object) -> Floats:
    (belief,) = inferred("maxent", release, known, **{"solver": "structured", **options})
    assert isinstance(belief, SecretBelief)
    return belief.posterior.to_numpy()


def in_a_population() -> tuple[Release, AdversaryKnowledge]:
    """8 people with a = 0 of whom 4 are in the table, 4 with a = 1 of whom 2 are."""
    population = table_of((A,), [("0",), ("1",)], [8, 4])
    return release_of(new_builder("id3"), TABLE, "counts"), grant_knowledge(TABLE, population=population)


@pytest.mark.parametrize("internal", [True, False])
def test_a_possible_member_has_the_leafs_distribution_blended_with_ignorance(internal: bool) -> None:
    release, known = in_a_population()
    expected = np.array([[(3 + 4 / 2) / 8, (1 + 4 / 2) / 8], [(2 / 2) / 4, (2 + 2 / 2) / 4]])
    assert believed(release, known, members="subset", internal=internal) == pytest.approx(expected, abs=1e-7)


def test_what_it_costs_not_to_know_the_members_is_reported() -> None:
    release, known = in_a_population()
    (belief,) = inferred("maxent", release, known, members="subset")
    cost = belief.evidence["cost_of_not_knowing_members"]
    assert isinstance(cost, AuditorOnly)
    assert cost.content["knowing"] == pytest.approx(4 * h(1 / 4) / 6)
    assert cost.content["not_knowing"] == pytest.approx((4 * h(3 / 8) + 2 * h(1 / 4)) / 6)


def test_who_is_not_in_the_population_cannot_be_in_the_table() -> None:
    release, known = in_a_population()
    with pytest.raises(InconclusiveError, match="somebody in the table is not in the population"):
        believed(release, replace(known, population=table_of((A,), [("0",)], [8])), members="subset")


def test_two_groups_of_whom_most_were_taken_are_found_in_a_few_steps() -> None:
    """6 of 11 were taken, all `a`; 9 of 10, one of them `b`: the rest could be anything."""
    values = categorical("y", "class", "sensitive", values=tuple("abcd"))
    table = table_of((A, values), [("0", "a"), ("1", "c"), ("1", "b")], [6, 8, 1])
    known = grant_knowledge(table, population=table_of((A,), [("0",), ("1",)], [11, 10]))
    rest = np.array([[5 / 4], [1 / 4]])
    expected = (np.array([[6, 0, 0, 0], [0, 1, 8, 0]]) + rest) / [[11], [10]]
    found = believed(release_of(new_builder("id3"), table, "counts"), known, members="subset", internal=False)
    assert found == pytest.approx(expected, abs=1e-7)


@st.composite
def samples(draw: st.DrawFn) -> tuple[Table, Table]:
    """A table, and a part of its people."""
    everyone = draw(secret_tables(most=9))
    taken = np.array([draw(st.integers(0, int(n))) for n in everyone.weight], dtype=np.int64)
    assume(taken.sum() >= 2)
    there = taken > 0
    return everyone, Table(everyone.schema, everyone.frame[there].reset_index(drop=True), taken[there])


@given(samples(), builders(), st.sampled_from(LEVELS))
def test_the_truth_about_a_population_is_possible(
    both: tuple[Table, Table], builder: TreeBuilder, level: Level
) -> None:
    everyone, members = both
    release = release_of(builder, members, level)
    known = grant_knowledge(members, population=everyone.public[0])
    problem = problem_of(release, known, members=False)
    truth = truth_in(problem, release, everyone, members)
    assert max(problem.violations(truth).values()) < 1e-9
    outcome = solved(problem)
    assert problem.entropy(truth) <= outcome.bound + 1e-8


@given(samples(), builders())
def test_not_knowing_the_members_costs(both: tuple[Table, Table], builder: TreeBuilder) -> None:
    everyone, members = both
    release, known = release_of(builder, members, "counts"), grant_knowledge(members, population=everyone.public[0])
    (belief,) = inferred("maxent", release, known, internal=False, members="subset", solver="structured")
    cost = belief.evidence["cost_of_not_knowing_members"].content
    assert cost["not_knowing"] >= cost["knowing"] - 1e-8


@given(samples(), builders(), st.sampled_from(LEVELS), st.sampled_from(["sampled", "bootstrap"]))
def test_of_a_sample_the_truth_about_everyone_is_possible(
    both: tuple[Table, Table], builder: TreeBuilder, level: Level, counted: Counted
) -> None:
    everyone, drawn = both
    if counted == "bootstrap":  # some are drawn more often than they are there
        drawn = replace(drawn, weight=3 * drawn.weight, _codes={})
    release, known = replace(release_of(builder, drawn, level), count_semantics=counted), grant_knowledge(everyone)
    problem = problem_of(release, known)
    assert not any(linear.equal for linear in problem.linear if linear.kind != "row")
    assert not problem.split_constraints
    truth = truth_in(problem, release, everyone)
    assert max(problem.violations(truth).values()) < 1e-9
    assert problem.entropy(truth) <= answer(release, known).entropy + 1e-8


def test_the_people_of_a_sample_are_all_in_the_table() -> None:
    release = replace(release_of(new_builder("id3"), TABLE, "counts"), count_semantics="sampled")
    everyone = grant_knowledge(table_of((A, Y), [("0", "no"), ("1", "yes")], [10, 3]))
    # of 10, 3 or more are `no`: even odds keep that. Of 3, 2 or more are `yes`
    assert believed(release, everyone) == pytest.approx(np.array([[0.5, 0.5], [1 / 3, 2 / 3]]), abs=1e-6)


def test_of_a_bootstrap_there_is_at_least_one_of_each() -> None:
    release = replace(release_of(new_builder("id3"), TABLE, "counts"), count_semantics="bootstrap")
    two = grant_knowledge(table_of((A, Y), [("0", "no"), ("1", "yes")], [2, 1]))
    answered = answer(release, two)
    assert answered.people == pytest.approx(np.array([[1.0, 1.0], [0.0, 1.0]]), abs=1e-6)
    # What the leaf says as it stands, 3 of 4, is surer of either of the two, and believed.
    assert believed(release, two) == pytest.approx(np.array([[0.75, 0.25], [0.0, 1.0]]), abs=1e-6)


def test_one_person_cannot_be_both_whom_a_bootstrap_drew() -> None:
    release = replace(release_of(new_builder("id3"), TABLE, "counts"), count_semantics="bootstrap")
    with pytest.raises(InconclusiveError, match="leaf count of leaf 1"):
        believed(release, grant_knowledge(table_of((A, Y), [("0", "no"), ("1", "yes")], [1, 1])))


@pytest.mark.parametrize("distribution", [False, True])
def test_numbers_of_unknown_counting_are_no_constraints_and_believed_as_they_stand(distribution: bool) -> None:
    table = table_of((A, Y), [("0", "no"), ("0", "yes"), ("1", "yes")], [3, 1, 4])
    release = replace(release_of(new_builder("id3"), table, "counts"), count_semantics="unknown")
    known = grant_knowledge(table, distribution=distribution)
    assert {each.kind for each in problem_of(release, known).linear} <= {"row", "distribution"}
    assert believed(release, known) == pytest.approx(np.array([[0.75, 0.25], [0.0, 1.0]]), abs=1e-7)


@pytest.mark.parametrize("counted", ["perturbed", "noisy"])
@pytest.mark.parametrize("distribution", [False, True])
def test_other_numbers_tell_nothing_for_certain(counted: Counted, distribution: bool) -> None:
    table = table_of((A, Y), [("0", "no"), ("0", "yes"), ("1", "yes")], [3, 1, 4])
    release = replace(release_of(new_builder("id3"), table, "counts"), count_semantics=counted)
    (belief,) = inferred("maxent", release, grant_knowledge(table, distribution=distribution))
    prior = [3 / 8, 5 / 8] if distribution else [1 / 2, 1 / 2]
    assert isinstance(belief, SecretBelief)
    assert belief.posterior.to_numpy() == pytest.approx(np.array([prior, prior]), abs=1e-7)
    assert counted in belief.evidence["without_internal"]


def test_people_of_different_public_classes_are_told_apart() -> None:
    town = categorical("town", "quasi_identifier", values=("north", "south"))
    job = categorical("job", "sensitive", values=("a", "b"))
    sick = categorical("sick", "class", "quasi_identifier", values=("no", "yes"))
    table = table_of((town, job, sick), [("north", "a", "no"), ("north", "b", "yes"), ("south", "a", "no")], [3, 2, 4])
    release, known = release_of(new_builder("id3"), table, "counts"), grant_knowledge(table)
    (maxent,), (linking,) = inferred("maxent", release, known, internal=False), inferred("linking", release, known)
    assert maxent.equivalence_class is not None
    assert linking.equivalence_class is not None
    pairs = set(zip(maxent.equivalence_class.tolist(), linking.equivalence_class.tolist(), strict=True))
    assert len(pairs) == len(set(maxent.equivalence_class.tolist())) == len(set(linking.equivalence_class.tolist()))
    assert validate_belief(maxent, known, release) is not None
    assert maxent.secret == "job"
