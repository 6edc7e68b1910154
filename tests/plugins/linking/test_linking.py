from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from components import linked, new_attack
from leafgate import Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import (
    AuditorOnly,
    Counted,
    GroupBelief,
    Level,
    Node,
    NumericSplit,
    PeopleCount,
    Publish,
    Records,
    SecretBelief,
)
from leafgate.testing import grant_knowledge
from mortgage import MARITAL_STATUS, PEOPLE, RISK, SPORTS_CAR, TREE, fan, leaf, mortgage
from random_tables import numeric, table_of


def release_of(table: Table, *trees: Node, level: Level = "counts", **document: Any) -> Release:
    return published(Release({}, table.schema, trees, **document), Publish(leaves=level), frozenset())


def believed(release: Release, table: Table, *, distribution: bool = False) -> dict[str, list[float]]:
    """The chances of the first secret, for each value of the first public column."""
    known = grant_knowledge(table, distribution=distribution)
    belief = new_attack("linking").infer(release, known)[0]
    assert isinstance(belief, SecretBelief)
    return {
        str(name): row for name, row in zip(known.records.iloc[:, 0], belief.posterior.to_numpy().tolist(), strict=True)
    }


def test_without_a_secret_there_are_groups_only() -> None:
    table = mortgage(MARITAL_STATUS, SPORTS_CAR, replace(RISK, roles=frozenset({"class"})))
    (belief,) = new_attack("linking").infer(release_of(table, TREE), grant_knowledge(table))
    assert isinstance(belief, GroupBelief)
    assert len(set(belief.equivalence_class.tolist())) == 2


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
        assert len(set(linked(release_of(table, tree), grant_knowledge(table)))) == groups


def test_a_private_number_may_be_rounded_to_the_low_side_of_a_float32_cut() -> None:
    # Numbers just above 0.1 in float32 are rounded to it and go low first, then high: marital status matters.
    at = float(np.float32(0.1))
    status = fan("marital_status", Unmarried=leaf(0, 0), Married=leaf(0, 0))
    tree = NumericSplit("age", at, NumericSplit("age", at, leaf(2, 4), status), leaf(0, 0), float32=True)
    table = table_of(
        [MARITAL_STATUS, numeric("age", "private", bounds=(0, 1)), RISK], [(p[0], 0.05, p[2]) for p in PEOPLE]
    )
    assert len(set(linked(release_of(table, tree), grant_knowledge(table)))) == 2


def test_labels_alone_are_evidence_and_no_belief() -> None:
    private = fan("sports_car", yes=leaf(2, 1), no=fan("marital_status", Unmarried=leaf(0, 1), Married=leaf(0, 2)))
    public = fan("marital_status", Unmarried=leaf(1, 2), Married=leaf(1, 2))
    for tree, result in ((private, "several"), (public, "bad")):
        (belief,) = new_attack("linking").infer(
            release_of(mortgage(), tree, level="labels"), grant_knowledge(mortgage())
        )
        assert belief.evidence["labels"] == AuditorOnly({result: PeopleCount(6)})
