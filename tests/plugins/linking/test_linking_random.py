from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import inferred, linked
from leafgate import Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import Combine, Counted, Level, Node, Publish, ScoringContext, SecretBelief, make_table
from leafgate.testing import grant_knowledge, validate_belief
from oracles import group_sizes, numbered, persons, spans
from random_tables import categorical, numeric, table_of, tables
from random_trees import counted, forests, trees
from readings import Reading

LEVELS: list[Level] = ["labels", "error_rates", "shares", "counts"]


@st.composite
def planted(draw: st.DrawFn, *, most: int, whole: bool = True) -> tuple[Table, tuple[Node, ...]]:
    """A table and a forest of up to `most` trees that asks about its columns."""
    table = draw(tables(most=20))
    if most == 1:
        return table, (counted(draw(trees(table.schema, whole=whole)), table),)
    return table, draw(forests(table, most=most, whole=whole))


def release_of(table: Table, forest: tuple[Node, ...], level: Level = "counts", numbers: Counted = "exact") -> Release:
    combine: Combine = "one" if len(forest) == 1 else "vote"
    return published(
        Release({}, table.schema, forest, count_semantics=numbers, combine=combine), Publish(leaves=level), frozenset()
    )


@given(planted(most=1) | planted(most=1, whole=False) | planted(most=3))
@pytest.mark.thorough
def test_the_groups_of_any_forest_are_those_of_the_joint_definition_4(plant: tuple[Table, tuple[Node, ...]]) -> None:
    # A tree's leaves in reach follow from the joint ones, and its residual tree from its leaves in reach. Some trees
    # have values without a way out.
    table, forest = plant
    known = grant_knowledge(table)
    assert numbered(linked(release_of(table, forest), known)) == numbered(spans(forest, known))


AGES = table_of(
    [
        categorical("status", "quasi_identifier", values=("s0", "s1", "s2"), missing=True),
        numeric("age", "private", missing=True),
        categorical("y", "class", "sensitive", values=("good", "bad")),
    ],
    [("s0", 1.0, "good"), ("s1", 2.5, "bad"), ("s2", None, "good"), (None, 7.0, "bad")],
)


@given(trees(AGES.schema, depth=5))
@pytest.mark.thorough
def test_several_cuts_of_a_private_number_leave_what_definition_4_says(tree: Node) -> None:
    known = grant_knowledge(AGES)
    assert numbered(linked(release_of(AGES, (tree,)), known)) == numbered(spans([tree], known))


@given(planted(most=3, whole=False))
@pytest.mark.thorough
def test_a_forest_never_groups_people_whom_its_trees_together_tell_apart(
    plant: tuple[Table, tuple[Node, ...]],
) -> None:
    table, forest = plant
    known = grant_knowledge(table)
    groups, joint = numbered(linked(release_of(table, forest), known)), numbered(spans(forest, known))
    assert len(set(zip(groups, joint, strict=True))) == len(set(groups))


@given(planted(most=3, whole=False), st.sampled_from(LEVELS), st.booleans())
@pytest.mark.thorough
def test_everyone_is_in_one_group_and_every_belief_is_a_belief(
    plant: tuple[Table, tuple[Node, ...]], level: Level, distribution: bool
) -> None:
    table, forest = plant
    release, known = release_of(table, forest, level), grant_knowledge(table, distribution=distribution)
    for belief in inferred("linking", release, known):
        validate_belief(belief, known)
        assert belief.equivalence_class is not None
        sizes = group_sizes(belief.equivalence_class.tolist(), known.weight)
        assert sum(sizes.values()) == table.total_weight
        assert ScoringContext(table, None, release, known, belief).sizes.min() == min(sizes.values())


@given(planted(most=3), st.integers(0, 2**32 - 1))
@pytest.mark.thorough
def test_the_order_of_the_rows_changes_no_belief(plant: tuple[Table, tuple[Node, ...]], seed: int) -> None:
    table, forest = plant
    rows = np.random.default_rng(seed).permutation(len(table))
    shuffled = make_table(table.schema, table.frame.loc[rows], table.weight[rows])
    release = release_of(table, forest)
    for one, other in zip(*(inferred("linking", release, grant_knowledge(t)) for t in (table, shuffled)), strict=True):
        assert one.equivalence_class.tolist() == other.equivalence_class.tolist()
        assert not isinstance(one, SecretBelief) or one.posterior.equals(other.posterior)


@given(planted(most=3), st.sampled_from(LEVELS), st.booleans())
@pytest.mark.thorough
def test_exact_numbers_never_rule_out_the_truth(
    plant: tuple[Table, tuple[Node, ...]], level: Level, distribution: bool
) -> None:
    table, forest = plant
    release = release_of(table, forest, level)
    known = grant_knowledge(table, distribution=distribution, release=release)
    for belief in inferred("linking", release, known):
        if isinstance(belief, SecretBelief):
            case = ScoringContext(table, None, release, known, belief)
            truth = [case.posterior[value][row] for row, value in enumerate(case.truth)]
            assert min(truth) > 0


@given(
    planted(most=3),
    st.sampled_from(LEVELS),
    st.sampled_from(["sampled", "perturbed", "noisy"]),
)
@pytest.mark.thorough
def test_numbers_that_only_approximate_people_make_nobody_certain(
    plant: tuple[Table, tuple[Node, ...]], level: Level, numbers: Counted
) -> None:
    table, forest = plant
    for belief in inferred("linking", release_of(table, forest, level, numbers), grant_knowledge(table)):
        if isinstance(belief, SecretBelief):
            assert ((belief.posterior > 0) & (belief.posterior < 1)).all(axis=None)


@pytest.mark.parametrize("level", LEVELS)
@given(plant=planted(most=1, whole=False), distribution=st.booleans())
@pytest.mark.thorough
def test_the_belief_is_what_the_leaves_in_reach_say(
    level: Level, plant: tuple[Table, tuple[Node, ...]], distribution: bool
) -> None:
    table, forest = plant
    release = release_of(table, forest, level)
    known = grant_knowledge(table, distribution=distribution, release=release)
    for belief in inferred("linking", release, known):
        if isinstance(belief, SecretBelief):
            by_hand = [
                Reading(public, release, known, known.schema[belief.secret]).belief for public in persons(known.records)
            ]
            assert np.allclose(belief.posterior.to_numpy(), by_hand)
