from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from components import new_attack, new_builder
from leafgate import Release
from leafgate.api import AdversaryKnowledge, AuditorOnly, CategoricalSplit, Level, SecretBelief
from leafgate.testing import grant_knowledge
from maxent_examples import FIGURE_1, example_1, mixed
from maxent_parts import random_table
from maxent_questions import Floats, answer, no_engine, problem_of, words_of
from oracles import persons
from random_maxent import LEVELS, release_of

q1, q2 = ("Masters", "USA", "F"), ("Masters", "USA", "M")
q3, q4 = ("Masters", "Canada", "M"), ("Masters", "Canada", "F")
"""One, one, two and two people."""


def gini(*poor: float) -> float:
    """Of a group of people, from each one's p(<=50K | q)."""
    share = sum(poor) / len(poor)
    return 1 - share**2 - (1 - share) ** 2


@pytest.mark.parametrize(
    ("poor", "country", "gender"),
    [
        ({q1: 1, q2: 1, q3: 0, q4: 1 / 2}, 1 / 4, 4 / 9),  # the truth
        ({q1: 1, q2: 1, q3: 1 / 4, q4: 1 / 4}, 1 / 4, 1 / 2),  # the leaves' own distribution
        ({q1: 1, q2: 0, q3: 0, q4: 1}, 1 / 2, 0),  # if gender told the salary, it would have been asked
        ({q1: 1 / 2, q2: 1 / 2, q3: 1 / 2, q4: 1 / 2}, 1 / 2, 1 / 2),
    ],
)
def test_of_figure_1s_masters_country_tells_no_less_than_gender(
    poor: dict[tuple[str, ...], float], country: float, gender: float
) -> None:
    usa, canada = gini(poor[q1], poor[q2]), gini(poor[q3], poor[q3], poor[q4], poor[q4])
    women, men = gini(poor[q1], poor[q4], poor[q4]), gini(poor[q2], poor[q3], poor[q3])
    assert 2 / 6 * usa + 4 / 6 * canada == pytest.approx(country)  # E(Masters, Country)
    assert 3 / 6 * women + 3 / 6 * men == pytest.approx(gender)  # E(Masters, Gender)

    release, known = figure_1()
    assert slack_at_masters(release, known, poor) == pytest.approx(6 * (gender - country))


def figure_1(level: Level = "counts") -> tuple[Release, AdversaryKnowledge]:
    return release_of(new_builder("id3", measure="gini"), FIGURE_1, level), grant_knowledge(FIGURE_1)


def slack_at_masters(release: Release, known: AdversaryKnowledge, poor: dict[tuple[str, ...], float]) -> float:
    """The only constraint there, in people, where `poor` is believed and all doctors are rich."""
    problem = problem_of(release, known)
    (choices,) = problem.split_constraints
    share = np.array([poor.get(tuple(map(str, person.values())), 0.0) for person in persons(known.records)])
    people = known.weight[:, None] * np.stack([share, 1 - share], axis=1)
    slack = choices.slack(people)[words_of(problem).index("education = Masters: the tree asks country and not gender")]
    return float(slack)


@pytest.mark.parametrize("level", LEVELS)
def test_figure_1_has_a_constraint_for_every_other_column_at_every_node(level: Level) -> None:
    problem = problem_of(*figure_1(level))
    assert [len(choices) for choices in problem.split_constraints] == [2 + 1 + 1]  # the root, Masters and Doctorate
    assert max(problem.violations(true_people(problem)).values()) < 1e-12


def true_people(problem: Any) -> Floats:
    poor: dict[tuple[str, ...], float] = {q1: 1.0, q2: 1.0, q4: 0.5, ("Doctorate", "Canada", "M"): 0.5}
    share = np.array([poor.get(tuple(map(str, p.values())), 0.0) for p in persons(problem.public.frame)])
    return np.asarray(problem.weight[:, None] * np.stack([share, 1 - share], axis=1))


def divergence(believed: Floats) -> Floats:
    """D_individual of Example 1's people, in nats."""
    truth = mixed(example_1()[1], 1.0)
    log = np.log(truth / np.maximum(believed, 1e-300), where=truth > 0, out=np.zeros_like(truth))
    return np.asarray((truth * log).sum(axis=1))


@pytest.mark.parametrize("internal", [False, True])  # E(Education) >= E(Age) says only x >= .184
@pytest.mark.parametrize("level", ["counts", "error_rates"])
def test_example_1_leaves_two_people_in_doubt(level: Level, internal: bool) -> None:
    release, known = example_1(level)
    with no_engine():
        (belief,) = new_attack("maxent", internal=internal).infer(release, known)
    assert isinstance(belief, SecretBelief)
    found = divergence(belief.posterior.to_numpy())
    assert belief.posterior.to_numpy() == pytest.approx(mixed(known, 0.5), abs=1e-12)
    assert found.max() == pytest.approx(0.693, abs=5e-4)
    assert found @ known.weight / known.weight.sum() == pytest.approx(0.231, abs=5e-4)
    assert belief.evidence["solver"] == "closed form"
    assert belief.evidence["gap"] == 0


@pytest.mark.parametrize("x", [0.5, 0.18447, 0.0])
def test_in_example_1_education_is_the_only_rival_and_tells_h_of_x_thirds(x: float) -> None:
    release, known = example_1()
    problem = problem_of(release, known)
    ((slack,),) = (choices.slack(known.weight[:, None] * mixed(known, x)) for choices in problem.split_constraints)
    age = 2 * np.log(2)  # a bit for each of the two of 30 to 40
    poor = (2 + 1 - x) / 3, x / 3  # of the three doctors, of the three masters
    education = -3 * sum(p * np.log(p) + (1 - p) * np.log(1 - p) for p in poor if 0 < p < 1)
    assert slack == pytest.approx(education - age)


def test_labels_alone_leave_everybody_at_one_half() -> None:
    outcome = answer(*figure_1("labels"))
    assert outcome.closed
    assert outcome.entropy == pytest.approx(np.log(2))


def test_the_dearest_choices_are_told_in_words() -> None:
    table = random_table(3)
    release, known = release_of(new_builder("id3", min_split=12), table, "counts"), grant_knowledge(table)
    binding = answer(release, known).binding
    (belief,) = new_attack("maxent", solver="structured").infer(release, known)
    because = belief.evidence["because"]
    assert isinstance(because, AuditorOnly)
    assert [each["price"] for each in because.content] == pytest.approx([each.dual for each in binding][:10])
    assert all(" the tree asks " in each["choice"] and " and not " in each["choice"] for each in because.content)


@pytest.mark.parametrize("solver", ["auto", "gekko"])
def test_both_engines_find_the_same(solver: str) -> None:
    release, known = figure_1()
    outcome, ours = answer(release, known, solver=solver), answer(release, known)
    assert outcome.entropy == pytest.approx(ours.entropy, rel=1e-8)
    assert outcome.people == pytest.approx(ours.people, abs=1e-5)


def test_a_tree_that_lets_people_fall_through_is_no_tree_of_a_learner() -> None:
    release, known = example_1()
    asked = release.trees[0]
    assert isinstance(asked, CategoricalSplit)
    bare = replace(release, trees=(replace(asked, branches=asked.branches[:2]),))
    assert not problem_of(bare, known).split_constraints
