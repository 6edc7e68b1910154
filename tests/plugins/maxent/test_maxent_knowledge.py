"""What else is known: facts of people in general, and single people whose secret is no secret."""

from __future__ import annotations

from dataclasses import replace

import pytest

from components import new_attack, new_builder
from leafgate import InconclusiveError
from leafgate.api import AuditorOnly, Fact, Level, SecretBelief
from leafgate.testing import grant_knowledge
from maxent_examples import FIGURE_2, example_1, mixed
from maxent_questions import answer, believed, problem_of
from random_maxent import release_of
from random_tables import categorical, table_of


def test_a_fact_moves_the_belief_just_as_far_as_it_must() -> None:
    release, known = example_1()
    fact = Fact({"age": ("30-40",), "education": ("Masters",)}, "salary", ("<=50K",), 0.75, 1.0)
    outcome = answer(release, replace(known, facts=(fact,)))
    found = believed(problem_of(release, known), outcome.people)
    assert found == pytest.approx(mixed(known, 0.75), abs=1e-7)
    assert outcome.gap < 1e-9


def test_one_known_person_gives_the_other_away() -> None:
    release, known = example_1()
    q2 = table_of(FIGURE_2.schema.columns, [("30-40", "Masters", "<=50K")])
    (belief,) = new_attack("maxent", solver="structured").infer(release, replace(known, people=q2))
    assert isinstance(belief, SecretBelief)
    assert belief.posterior.to_numpy() == pytest.approx(mixed(known, 1.0), abs=1e-7)


def test_what_is_known_of_nobody_changes_nothing() -> None:
    release, known = example_1()
    nobody = Fact({"age": ("20-30",), "education": ("Masters",)}, "salary", ("<=50K",), 1.0, 1.0)
    outcome = answer(release, replace(known, facts=(nobody,)))
    assert believed(problem_of(release, known), outcome.people) == pytest.approx(mixed(known, 0.5), abs=1e-7)


def test_what_the_leaves_say_does_not_hold_who_was_known_before() -> None:
    release, known = example_1()
    q2 = table_of(FIGURE_2.schema.columns, [("30-40", "Masters", "<=50K")])
    (belief,) = new_attack("maxent", solver="structured").infer(release, replace(known, people=q2))
    assert isinstance(belief, SecretBelief)
    assert belief.prior is not None
    assert belief.prior.to_numpy() == pytest.approx(mixed(known, 0.5), abs=1e-7)


def facts_about_all(low: float, high: float, *values: str) -> Fact:
    """Of the two people of 30 to 40."""
    return Fact({"age": ("30-40",)}, "salary", values, low, high)


@pytest.mark.parametrize("level", ["labels", "error_rates", "counts"])
@pytest.mark.parametrize(
    "fact",
    [
        Fact({"age": ("40-50",)}, "salary", (">50K",), 1.0, 1.0),
        Fact({"age": ("40-50",)}, "salary", ("<=50K",), 0.0, 0.0),
    ],
)
def test_whom_a_fact_makes_certain_is_certain(level: Level, fact: Fact) -> None:
    """Not nearly so, however it is worded: an exposed person is one whose secret has one value left."""
    release, known = example_1(level)
    for attack in (new_attack("maxent", solver="structured"), new_attack("counting")):
        (belief,) = attack.infer(release, replace(known, facts=(fact,)))
        assert isinstance(belief, SecretBelief)
        age = known.records["age"] == "40-50"
        assert (belief.posterior[age.to_numpy()].max(axis=1) == 1).all()


def test_two_facts_that_leave_no_third_value_make_certain_too() -> None:
    columns = [categorical("town", "quasi_identifier", values=("a", "b"))]
    columns.append(categorical("ill", "class", "sensitive", values=("no", "a bit", "very")))
    table = table_of(columns, [("a", "no"), ("a", "a bit"), ("b", "no"), ("b", "very")], [5, 5, 4, 4])
    release = release_of(new_builder("id3", min_split=100), table, "labels")
    facts = tuple(Fact({"town": ("a",)}, "ill", (value,), 0.5, 1.0) for value in ("no", "a bit"))
    (belief,) = new_attack("maxent", solver="structured").infer(release, replace(grant_knowledge(table), facts=facts))
    assert isinstance(belief, SecretBelief)
    assert belief.posterior.to_numpy()[0].tolist() == pytest.approx([0.5, 0.5, 0], abs=1e-9)
    assert belief.posterior.to_numpy()[0][2] == 0


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [("<=50K", 0.75, 1.0, 0.75), (">50K", 0.0, 0.25, 0.75), ("<=50K", 0.5, 0.6, 0.5), ("<=50K", 0.7, 0.7, 0.7)],
)
def test_a_fact_binds_from_above_and_from_below_and_only_whom_it_is_about(
    value: str, low: float, high: float, expected: float
) -> None:
    release, known = example_1("labels")
    fact = Fact({"age": ("20-30",)}, "salary", (value,), low, high)
    (belief,) = new_attack("maxent", solver="structured", internal=False).infer(release, replace(known, facts=(fact,)))
    assert isinstance(belief, SecretBelief)
    young = (known.records["age"] == "20-30").to_numpy()
    assert belief.posterior["<=50K"][young].to_numpy() == pytest.approx(expected, abs=1e-6)
    assert belief.posterior["<=50K"][~young].to_numpy() == pytest.approx(0.5, abs=1e-6)


@pytest.mark.thorough
def test_contradicting_facts_are_named() -> None:
    release, known = example_1("labels")
    facts = (facts_about_all(0.9, 1.0, "<=50K"), facts_about_all(0.9, 1.0, ">50K"))
    for attack in (new_attack("maxent", solver="structured"), new_attack("counting")):
        with pytest.raises(InconclusiveError, match=r"knows\.facts\[0\]; knows\.facts\[1\]"):
            attack.infer(release, replace(known, facts=facts))


def test_counting_says_that_no_whole_number_is_such_a_share() -> None:
    release, known = example_1("labels")
    with pytest.raises(InconclusiveError, match="no whole number"):
        new_attack("counting").infer(release, replace(known, facts=(facts_about_all(0.3, 0.3, "<=50K"),)))


def test_the_public_hears_of_a_belief_only_how_it_was_found() -> None:
    """Numbers of cells, constraints and people that depend on single people are for auditors."""
    release, known = example_1("error_rates")
    public = {"solver", "convex", "gap", "engines_apart", "exact"}
    for attack in (new_attack("maxent"), new_attack("counting")):
        (belief,) = attack.infer(release, known)
        shown = {key for key, result in belief.evidence.items() if not isinstance(result, AuditorOnly)}
        assert {key for key in shown if not key.startswith("without_")} <= public
