"""What is true of people keeps every constraint, whoever built the tree; and no constraint is forgotten."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from components import new_builder
from leafgate import Release, Table
from leafgate.api import AdversaryKnowledge, Level, TreeBuilder
from leafgate.testing import grant_knowledge
from literal_maxent import model_of, violation
from maxent_questions import built, problem_of, truth_in
from random_maxent import LEVELS, Case, cases, release_of, secret_tables, sklearn_cases
from random_tables import categorical, numeric, table_of, tables

SICK = categorical("y", "class", "sensitive", values=("no", "yes"))
A, B, D = (categorical(name, "quasi_identifier", values=("0", "1")) for name in "abd")
N = numeric("n", "quasi_identifier")

MEASURES = st.sampled_from(["gain", "gini", "gain_ratio"])
REQUIRED = [(), ({"use": "l_diversity", "at_least": 1.2},), ({"use": "confidence", "at_most": 0.9},)]


@st.composite
def builders(draw: st.DrawFn) -> TreeBuilder:
    """Every builder of trees that count everybody, with any of its options."""
    pruned, least = draw(st.booleans()), draw(st.integers(1, 3))
    which = draw(st.sampled_from(["id3", "c45", "kadet", "tds", "mondrian"]))
    if which == "id3":
        measure = draw(st.sampled_from(["gain", "gini"]))
        return new_builder("id3", measure=measure, min_leaf=least, min_split=draw(st.integers(2, 6)))
    if which == "c45":
        return new_builder("c45", average_gain=draw(st.booleans()), min_leaf=least, prune=pruned)
    common = {"k": least, "measure": draw(MEASURES), "prune": pruned}
    if which == "kadet":
        more = {"average_gain": draw(st.booleans()), "require": draw(st.sampled_from(REQUIRED))}
        return new_builder("kadet", **common | more)
    return new_builder(which, release="tree", **common)


def broken(release: Release, table: Table, known: AdversaryKnowledge) -> float:
    """By how much the truth misses a constraint."""
    problem = problem_of(release, known)
    return max(problem.violations(truth_in(problem, release, table)).values())


@given(secret_tables() | tables(most=12), builders(), st.sampled_from(LEVELS), st.booleans())
def test_the_truth_keeps_every_constraint(table: Table, builder: TreeBuilder, level: Level, distribution: bool) -> None:
    release = built(builder, table, level)
    assume(release is not None)
    assert release is not None
    assert broken(release, table, grant_knowledge(table, distribution=distribution)) < 1e-9


@given(sklearn_cases())
def test_the_truth_keeps_every_constraint_of_scikit_learns_trees(case: Case) -> None:
    table, release, known = case
    assert broken(release, table, known) < 1e-9


@given(cases() | sklearn_cases())
def test_there_are_as_many_internal_constraints_as_in_the_literal_problem(case: Case) -> None:
    _, release, known = case
    assert sum(map(len, problem_of(release, known).split_constraints)) == len(model_of(release, known).comparisons)


@given(cases() | sklearn_cases(), st.integers(0, 10))
def test_any_belief_breaks_the_same_constraints_as_in_the_literal_problem(case: Case, seed: int) -> None:
    _, release, known = case
    p = np.random.default_rng(seed).dirichlet(np.ones(len(release.classes)), size=len(known.weight))
    theirs, ours = (
        violation(model_of(release, known), p),
        problem_of(release, known).violations(known.weight[:, None] * p),
    )
    named = {
        "internal": "internal",
        "label": "label",
        "counts": "leaf count",
        "rate": "leaf rate",
        "SA": "distribution",
    }
    if (release.selection or {}).get("measure") == "gain_ratio":  # there the slack is in other units
        assert (theirs.pop("internal", 0.0) > 1e-9) == (ours.get("internal", 0.0) > 1e-9)
    for kind in theirs.keys() & named:
        assert ours.get(named[kind], 0.0) == pytest.approx(max(theirs[kind], 0.0), abs=1e-9)


def test_a_single_leaf_by_gain_ratio_has_no_internal_constraints() -> None:
    table = table_of((A, SICK), [("0", "no"), ("0", "yes")], [4, 1])
    release = release_of(new_builder("c45", average_gain=False), table, "counts")
    assert problem_of(release, grant_knowledge(table)).split_constraints == []


def test_a_requirement_may_have_refused_any_test_at_k_1_too() -> None:
    rows = [("0", 1.0, "0", "no"), ("0", 1.0, "0", "yes"), ("0", 1.0, "1", "yes"), ("1", 1.0, "1", "no")]
    table = table_of((A, N, D, SICK), rows, [2, 1, 1, 1])
    required = ({"use": "l_diversity", "at_least": 1.2},)
    builder = new_builder("kadet", k=1, average_gain=False, prune=False, require=required)
    release = release_of(builder, table, "counts")
    assert broken(release, table, grant_knowledge(table)) < 1e-9
    assert "internal" in problem_of(release, grant_knowledge(table)).left_out


def test_cuts_of_other_columns_compete_at_their_largest_split_information() -> None:
    rows = [(1.0, "0", "no"), (2.0, "0", "no"), (4.0, "1", "yes"), (2.0, "1", "yes"), (2.5, "1", "yes")]
    table = table_of((N, A, SICK), rows, [2, 3, 1, 2, 1])
    release, known = (
        release_of(new_builder("c45", average_gain=False, min_leaf=1, prune=False), table, "counts"),
        grant_knowledge(table),
    )
    assert {one.candidate.column for one in model_of(release, known).comparisons} == {"n"}
    assert sum(map(len, problem_of(release, known).split_constraints)) == len(model_of(release, known).comparisons)
