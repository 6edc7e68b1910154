from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from leafgate import Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import (
    AuditorOnly,
    Branch,
    CategoricalSplit,
    GroupBelief,
    Node,
    NumericSplit,
    PeopleCount,
    Records,
    ScoringContext,
    SecretBelief,
)
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.release import Counted, Level, Publish
from leafgate_plugins.linking.attack import link
from leafgate_plugins.linking.components import Linking
from leafgate_plugins.protection.metrics import KAnonymity
from mortgage import MARITAL_STATUS, PEOPLE, RISK, SPORTS_CAR, TREE, fan, leaf, mortgage
from oracles import numbered
from random_tables import categorical, numeric, table_of
from scoring import scores_of_people


def release_of(table: Table, *trees: Node, level: Level = "counts", **document: Any) -> Release:
    return published(Release({}, table.schema, trees, **document), Publish(leaves=level), frozenset())


def believed(release: Release, table: Table, *, distribution: bool = False) -> dict[str, list[float]]:
    """The chances of the first secret, for each value of the first public column."""
    known = grant_knowledge(table, distribution=distribution)
    belief = Linking().infer(release, known)[0]
    assert isinstance(belief, SecretBelief)
    return {
        str(name): row for name, row in zip(known.records.iloc[:, 0], belief.posterior.to_numpy().tolist(), strict=True)
    }


@pytest.mark.parametrize(
    ("level", "unmarried", "married"),
    [
        ("counts", 1 / 5, 1 / 4),  # of 1+0 good among 2+3, of 1+0 good among 1+3
        ("shares", 1 / 4, 1 / 2),  # the mean of 1/2 and 0, of 1 and 0: the sizes are unknown
        ("error_rates", 1 / 4, 1 / 2),  # good with error 1/2, good with error 0; bad with error 0
        ("labels", 1 / 2, 1 / 2),  # what a label is worth is not known
    ],
)
def test_the_mortgage_leaves_are_pooled_as_far_as_they_are_published(
    level: Level, unmarried: float, married: float
) -> None:
    result = believed(release_of(mortgage(), TREE, level=level), mortgage())
    assert result["Unmarried"] == pytest.approx([unmarried, 1 - unmarried])
    assert result["Married"] == pytest.approx([married, 1 - married])


def test_labels_leave_the_overall_distribution_where_it_is_known() -> None:
    result = believed(release_of(mortgage(), TREE, level="labels"), mortgage(), distribution=True)
    assert result["Married"] == pytest.approx([1 / 3, 2 / 3])


def test_a_test_on_the_secret_tells_it_in_proportion_to_the_leaves() -> None:
    # The sports car is the secret and half the people have one; the tree tells it by the sizes of its leaves:
    # the Unmarried could be among the 2 who have one or the 3 who have none, the Married among 1 or 3.
    table = mortgage(MARITAL_STATUS, replace(SPORTS_CAR, roles=frozenset({"sensitive"})), RISK)
    result = believed(release_of(table, TREE), table)
    assert result["Unmarried"] == pytest.approx([2 / 5, 3 / 5])
    assert result["Married"] == pytest.approx([1 / 4, 3 / 4])


def test_a_public_class_narrows_the_leaves_to_the_people_of_that_class() -> None:
    # Of the Unmarried, the good risk must be in the one leaf that has good risks; a bad one is 1 of 1 + 3.
    risk = replace(RISK, roles=frozenset({"class", "quasi_identifier"}))
    table = mortgage(MARITAL_STATUS, replace(SPORTS_CAR, roles=frozenset({"sensitive"})), risk)
    known = grant_knowledge(table)
    belief = Linking().infer(release_of(table, TREE), known)[0]
    assert isinstance(belief, SecretBelief)
    result = dict(zip(known.records.itertuples(index=False, name=None), belief.posterior["yes"], strict=True))
    assert result[("Unmarried", "good")] == 1
    assert result[("Unmarried", "bad")] == pytest.approx(1 / 4)
    assert result[("Married", "bad")] == 0


def test_without_a_secret_there_are_groups_only() -> None:
    table = mortgage(MARITAL_STATUS, SPORTS_CAR, replace(RISK, roles=frozenset({"class"})))
    (belief,) = Linking().infer(release_of(table, TREE), grant_knowledge(table))
    assert isinstance(belief, GroupBelief)
    assert len(set(belief.equivalence_class.tolist())) == 2


def test_k_anonymity_is_the_size_of_the_group() -> None:
    table = mortgage()
    release, known = release_of(table, TREE), grant_knowledge(table)
    (belief,) = Linking().infer(release, known)
    scores = scores_of_people(KAnonymity(at_least=3), ScoringContext(table, None, release, known, belief))
    assert scores.tolist() == [3] * len(table)


@pytest.mark.parametrize("counted", ["sampled", "perturbed", "noisy"])
def test_nobody_of_five_approximately_counted_good_people_is_certainly_good(counted: Counted) -> None:
    tree = fan("marital_status", Unmarried=leaf(5, 0), Married=leaf(2, 1))
    result = believed(release_of(mortgage(), tree, count_semantics=counted), mortgage())
    assert result["Unmarried"] == pytest.approx([6 / 7, 1 / 7])


@pytest.mark.parametrize(("counted", "certain"), [("exact", True), ("perturbed", False), ("sampled", False)])
def test_published_records_are_believed_with_certainty_only_where_they_are_exact(
    counted: Counted, certain: bool
) -> None:
    records = Records(("marital_status", "loan_risk"), (("Unmarried", "good"), ("Married", "bad")), (3, 3))
    result = believed(release_of(mortgage(), records=records, count_semantics=counted), mortgage())
    assert (max(result["Unmarried"]) == 1) is certain


def test_two_trees_tell_people_apart_whom_neither_does() -> None:
    columns = [categorical(name, "quasi_identifier", values=("0", "1")) for name in "ab"]
    rows = [(a, b, "good") for a in "01" for b in "01"]
    table = table_of([*columns, RISK], rows)
    by_a, by_b = (CategoricalSplit(name, (Branch(("0",), leaf(2, 0)), Branch(("1",), leaf(2, 0)))) for name in "ab")
    known = grant_knowledge(table)
    assert [len(set(link(release_of(table, *t), known).groups)) for t in ((by_a,), (by_b,), (by_a, by_b))] == [2, 2, 4]


def test_people_for_whom_the_tree_ends_nowhere_are_one_group() -> None:
    # Nobody Unmarried reaches a leaf, whichever car they have; nor does anybody divorced.
    status = replace(MARITAL_STATUS, values=("Unmarried", "Married", "divorced"))
    nowhere = fan(
        "sports_car", yes=fan("marital_status", Married=leaf(1, 0)), no=fan("marital_status", Married=leaf(1, 0))
    )
    table = table_of([status, SPORTS_CAR, RISK], [*PEOPLE, ("divorced", "no", "bad")])
    tree = fan("marital_status", Unmarried=nowhere, Married=leaf(1, 2))
    known = grant_knowledge(table)
    assert known.records["marital_status"].tolist() == ["Unmarried", "Married", "divorced"]
    assert numbered(link(release_of(table, tree), known).groups) == [0, 1, 0]


def test_a_branch_that_no_private_value_can_take_tells_nobody_apart() -> None:
    # Whoever has no sports car cannot have one further down, where marital status is asked.
    again = fan("sports_car", yes=fan("marital_status", Unmarried=leaf(0, 0), Married=leaf(0, 0)), no=leaf(0, 3))
    tree = fan("sports_car", yes=leaf(2, 1), no=again)
    assert set(link(release_of(mortgage(), tree), grant_knowledge(mortgage())).groups) == {0}


@pytest.mark.parametrize(
    ("at", "strict", "missing", "low", "high"),
    [
        (0.0, False, None, 2, 2),  # 0 itself is low
        (0.0, True, None, 1, 2),  # nobody is below 0
        (10.0, True, None, 2, 2),  # 10 itself is high
        (10.0, False, "low", 2, 1),  # nobody is above 10
        (10.0, False, None, 2, 2),  # but the missing are high
        (-1.0, False, None, 1, 2),
        (-1.0, False, "low", 2, 2),  # the missing alone are low
    ],
)
def test_a_side_of_a_private_cut_counts_where_some_allowed_cell_takes_it(
    at: float, strict: bool, missing: Literal["low"] | None, low: int, high: int
) -> None:
    # The side that asks for marital status parts the people into two groups, if anybody can get there.
    status = fan("marital_status", Unmarried=leaf(0, 0), Married=leaf(0, 0))
    age = numeric("age", "private", bounds=(0, 10), missing=True)
    table = table_of([MARITAL_STATUS, age, RISK], [(p[0], 5.0, p[2]) for p in PEOPLE])
    for below, above, groups in ((status, leaf(0, 0), low), (leaf(0, 0), status, high)):
        tree = NumericSplit("age", at, below, above, missing, strict)
        assert len(set(link(release_of(table, tree), grant_knowledge(table)).groups)) == groups


def test_a_private_number_may_be_rounded_to_the_low_side_of_a_float32_cut() -> None:
    # Numbers just above 0.1 in float32 are rounded to it and go low first, then high: marital status matters.
    at = float(np.float32(0.1))
    status = fan("marital_status", Unmarried=leaf(0, 0), Married=leaf(0, 0))
    tree = NumericSplit("age", at, NumericSplit("age", at, leaf(2, 4), status), leaf(0, 0), float32=True)
    table = table_of(
        [MARITAL_STATUS, numeric("age", "private", bounds=(0, 1)), RISK], [(p[0], 0.05, p[2]) for p in PEOPLE]
    )
    assert len(set(link(release_of(table, tree), grant_knowledge(table)).groups)) == 2


def test_leaves_without_anybody_tell_nothing() -> None:
    tree = fan("marital_status", Unmarried=leaf(0, 0), Married=leaf(2, 4))
    result = believed(release_of(mortgage(), tree), mortgage())
    assert np.array(result["Unmarried"]) == pytest.approx([0.5, 0.5])


def test_labels_alone_are_evidence_and_no_belief() -> None:
    private = fan("sports_car", yes=leaf(2, 1), no=fan("marital_status", Unmarried=leaf(0, 1), Married=leaf(0, 2)))
    public = fan("marital_status", Unmarried=leaf(1, 2), Married=leaf(1, 2))
    for tree, result in ((private, "several"), (public, "bad")):
        (belief,) = Linking().infer(release_of(mortgage(), tree, level="labels"), grant_knowledge(mortgage()))
        assert belief.evidence["labels"] == AuditorOnly({result: PeopleCount(6)})
