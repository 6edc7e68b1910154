"""Trees that ask columns the adversary does not know: the unknown is the class and those cells, together."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from components import inferred, new_attack, new_builder
from leafgate import Release, Table
from leafgate.api import AdversaryKnowledge, SecretBelief, TreeBuilder, columns_asked
from leafgate.testing import grant_knowledge
from literal_joint import Joint, joint_of, solve_joint
from literal_maxent import Floats
from maxent_questions import answer, built, problem_of, truth_in
from random_tables import categorical, table_of, tables

MARRIED = categorical("marital", "quasi_identifier", values=("Unmarried", "Married"))
SPORTS = categorical("sports car", "sensitive", values=("yes", "no"))
RISK = categorical("risk", "class", "sensitive", values=("good", "bad"))
MORTGAGES = table_of(
    (MARRIED, SPORTS, RISK),
    [
        ("Unmarried", "yes", "good"),
        ("Married", "yes", "good"),
        ("Married", "no", "bad"),
        ("Unmarried", "yes", "bad"),
        ("Unmarried", "no", "bad"),
    ],
    [1, 1, 2, 1, 1],
)
"""Friedman, Schuster, Wolff 2006, Table 1; k = 3 asks for the sports car, then of those with one who is married."""


def test_the_mortgages_tell_who_has_a_sports_car() -> None:
    release, known = built(new_builder("kadet", k=3, prune=False), MORTGAGES), grant_knowledge(MORTGAGES)
    assert release is not None
    risk, car = sorted(inferred("maxent", release, known), key=lambda belief: belief.secret != "risk")
    assert isinstance(risk, SecretBelief)
    assert isinstance(car, SecretBelief)
    assert (risk.secret, car.secret) == ("risk", "sports car")
    # 3 married: 1 has a car, and good risk; 3 unmarried: 2 have one, one of them good. All 3 without are bad.
    by_status = {name: i for i, name in enumerate(known.records["marital"])}
    married, unmarried = by_status["Married"], by_status["Unmarried"]
    assert car.posterior.loc[married, "yes"] == pytest.approx(1 / 3)
    assert car.posterior.loc[unmarried, "yes"] == pytest.approx(2 / 3)
    assert risk.posterior.loc[married, "good"] == pytest.approx(1 / 3)
    assert risk.posterior.loc[unmarried, "good"] == pytest.approx(1 / 3)


def share_of(joint: Joint, p: Floats, known: AdversaryKnowledge, name: str) -> Floats:
    """p(value | row) of one secret, from p(life, class | row)."""
    if name == known.schema.target.name:
        return np.asarray(p.sum(axis=1))
    has = np.array([[life[name] == value for value in known.schema[name].domain] for life in joint.lives])
    return np.asarray(p.sum(axis=2) @ has)


def agrees_with_the_full_problem(release: Release, known: AdversaryKnowledge, *, internal: bool) -> bool:
    """Is each secret's belief that of the joint? False where its solver is not content."""
    result = bool(problem_of(release, known, internal=internal).split_constraints)
    joint = joint_of(release, known, internal=result)
    p = solve_joint(joint) if np.prod(joint.shape) <= 150 else None
    if p is None:
        return False
    for belief in new_attack("maxent", internal=internal, solver="structured").infer(release, known):
        assert isinstance(belief, SecretBelief)
        assert belief.posterior.to_numpy() == pytest.approx(share_of(joint, p, known, belief.secret), abs=1e-5)
    return True


BUILDERS: list[TreeBuilder] = [
    new_builder("id3"),
    new_builder("id3", measure="gini"),
    new_builder("kadet", k=1),
    new_builder("kadet", k=2, measure="gini", prune=False),
]


@settings(suppress_health_check=list(HealthCheck))
@given(tables(numbers=False, gaps=False, public_class=False, most=7), st.sampled_from(BUILDERS), st.booleans())
def test_the_belief_about_every_secret_is_that_of_the_full_problem(
    table: Table, builder: TreeBuilder, internal: bool
) -> None:
    release = built(builder, table)
    assume(release is not None)
    assert release is not None
    assume(agrees_with_the_full_problem(release, grant_knowledge(table), internal=internal))


def small_table(seed: int) -> Table:
    """Nine rows of people with two public columns, a sensitive one, and a class."""
    rng = np.random.default_rng(seed)
    columns = [categorical(name, "quasi_identifier", values=(f"{name}0", f"{name}1")) for name in "ab"]
    columns.append(categorical("c", "sensitive", values=("c0", "c1")))
    columns.append(categorical("y", "class", "sensitive", values=("good", "bad")))
    rows = [[column.domain[i] for column, i in zip(columns, row, strict=True)] for row in rng.integers(0, 2, (9, 4))]
    return table_of(columns, rows, rng.integers(1, 5, 9).tolist())


@pytest.mark.parametrize("seed", [37, 44, 51, 112, 122])
@pytest.mark.parametrize("measure", ["gain", "gini"])
def test_choices_between_unknown_and_public_columns_say_something_too(
    seed: int, measure: Literal["gain", "gini"]
) -> None:
    table = small_table(seed)
    release, known = built(new_builder("id3", measure=measure), table), grant_knowledge(table)
    assert release is not None
    assert "c" in columns_asked(release.trees[0])
    assert answer(release, known).binding
    assert agrees_with_the_full_problem(release, known, internal=True)


@given(tables(public_class=False, most=12), st.integers(1, 3), st.booleans())
def test_the_truth_is_possible_and_surer(table: Table, k: int, prune: bool) -> None:
    release, known = built(new_builder("kadet", k=k, prune=prune), table), grant_knowledge(table)
    assume(release is not None)
    assert release is not None
    problem = problem_of(release, known)
    truth = truth_in(problem, release, table)
    assert max(problem.violations(truth).values()) < 1e-9
    outcome = answer(release, known)
    assert problem.entropy(truth) <= outcome.entropy + 1e-8


def test_a_tree_of_this_very_table_is_not_said_to_be_anothers() -> None:
    a, c = (categorical(name, "quasi_identifier", values=(f"{name}0", f"{name}1")) for name in "ac")
    b = categorical("b", "private", values=("b0", "b1", "b2"))
    y = categorical("y", "class", "sensitive", values=("good", "bad"))
    rows = [("a0", "b0", "c0", "bad"), ("a0", "b0", "c1", "good"), ("a0", "b1", "c0", "good")]
    rows += [("a0", "b2", "c0", "good"), ("a1", "b0", "c1", "good")]
    table = table_of((a, b, c, y), rows)
    release = built(new_builder("id3"), table)
    assert release is not None
    assert answer(release, grant_knowledge(table), internal=False).gap < 1e-9
