import pickle
from collections.abc import Mapping
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import InconclusiveError, Release, Table
from leafgate.algorithms import routing
from leafgate.algorithms.prediction import class_votes, label_accuracies, predict, vote_accuracies
from leafgate.algorithms.publication import published
from leafgate.algorithms.routing import count_leaves, route
from leafgate.api import (
    Branch,
    CategoricalSplit,
    Combine,
    Leaf,
    Level,
    Node,
    NumericSplit,
    Publish,
    columns_asked,
    leaves,
    map_leaves,
)
from oracles import Person, leaf_at, path_of, persons
from random_tables import categorical, numeric, table_of, tables
from random_trees import forests, trees

AGE = numeric("age", "quasi_identifier", missing=True)
COLOUR = categorical("colour", "quasi_identifier", values=("red", "blue", "green"), missing=True)
RISK = categorical("risk", "class", "sensitive", values=("good", "bad"))
LOW, HIGH = Leaf("good"), Leaf("bad")


def ends(tree: Node, table: Table) -> list[str | None]:
    """The label of the leaf each row ends in."""
    routed = route(tree, table)
    return [None if leaf < 0 else routed.leaves[leaf].label for leaf in routed.leaf.tolist()]


def ages(*cells: float | None) -> Table:
    return table_of((AGE,), [(cell,) for cell in cells])


@given(st.data())
def test_every_row_ends_where_a_person_walking_down_ends(data: st.DataObject) -> None:
    table = data.draw(tables(most=20))
    tree = data.draw(trees(table.schema, whole=False))
    rows, levels = (data.draw(st.sampled_from(sizes)) for sizes in ((3, routing.ROWS_AT_ONCE), (1, 2, 4)))
    with patch.object(routing, "ROWS_AT_ONCE", rows), patch.object(routing, "LEVELS_AT_ONCE", levels):
        routed = route(tree, table)
    assert routed.leaves == tuple(leaves(tree))
    for person, leaf in zip(persons(table.frame), routed.leaf.tolist(), strict=True):
        walked = leaf_at(tree, path_of(tree, person))
        assert walked is (None if leaf < 0 else routed.leaves[leaf])


def test_float32_cuts_round_the_number_and_not_the_threshold() -> None:
    table = ages(0.1, 0.3)
    assert float(np.float32(0.1)) > 0.1
    assert ends(NumericSplit("age", 0.1, LOW, HIGH), table) == ["good", "bad"]
    assert ends(NumericSplit("age", 0.1, LOW, HIGH, float32=True), table) == ["bad", "bad"]


def test_numbers_beyond_float32_are_infinite_to_it() -> None:
    assert ends(NumericSplit("age", 5.0, LOW, HIGH, float32=True), ages(-1e300, 1e300)) == ["good", "bad"]


def test_deep_trees_need_no_recursion() -> None:
    tree: Node = HIGH
    for at in range(5000):
        tree = NumericSplit("age", -float(at + 1), LOW, tree)
    assert ends(tree, ages(5.0)) == ["bad"]
    assert columns_asked(tree) == {"age"}


def said(leaf: Leaf, combine: Combine) -> Mapping[str, float]:
    """What one leaf adds for each class."""
    if combine in {"one", "vote"}:
        return {str(leaf.label): 1.0}
    counts = leaf.counts or {}
    size = sum(counts.values()) if combine == "mean_per_tree" else 1
    return {name: n / size for name, n in counts.items()} if size else {}


def naive(release: Release, person: Person) -> int:
    """The class with most said for it, the first among equals; -1 where nothing is said."""
    total = dict.fromkeys(release.classes, 0.0)
    for tree in release.trees:
        leaf = leaf_at(tree, path_of(tree, person))
        for name, more in said(leaf, release.combine).items() if leaf is not None else ():
            total[name] += more
    best = max(total.values())
    return [*total.values()].index(best) if best > 0 else -1


@given(st.data(), st.sampled_from(["one", "vote", "sum", "mean_per_tree"]))
def test_trees_are_combined_as_adding_up_by_hand_does(data: st.DataObject, combine: Combine) -> None:
    table = data.draw(tables(most=15))
    grown = data.draw(forests(table, most=1 if combine == "one" else 4, whole=False))
    release = Release({"use": "any"}, table.schema, grown, combine=combine)
    assert predict(release, table).tolist() == [naive(release, person) for person in persons(table.frame)]


def forest(combine: Combine, *counts: tuple[int, int], level: Level = "counts") -> tuple[Release, Table]:
    """One leaf a tree, with counts of good and bad, and one person to predict."""
    table = table_of((AGE, RISK), [(1.0, "good")])
    grown = tuple(Leaf("good" if good >= bad else "bad", {"good": good, "bad": bad}) for good, bad in counts)
    return published(Release({}, table.schema, grown, combine=combine), Publish(leaves=level), frozenset()), table


@pytest.mark.parametrize("combine", ["vote", "sum", "mean_per_tree"])
def test_a_tie_goes_to_the_first_class(combine: Combine) -> None:
    assert predict(*forest(combine, (1, 3), (3, 1))).tolist() == [0]


def test_scores_are_added_up_and_may_be_negative() -> None:
    table = table_of((AGE, RISK), [(1.0, "good"), (9.0, "good")])
    trees = (
        NumericSplit("age", 5.0, Leaf(scores={"good": -3.0, "bad": -1.0}), Leaf(scores={"good": 0.5, "bad": 0.0})),
        Leaf(scores={"good": 1.0, "bad": 0.5}),
    )
    release = Release({}, table.schema, trees, combine="boost")
    assert class_votes(release, table).tolist() == [[-2.0, -0.5], [1.5, 0.5]]
    assert predict(release, table).tolist() == [1, 0]


def test_whom_no_leaf_speaks_about_has_no_votes() -> None:
    table = table_of((COLOUR, RISK), [("red", "good"), ("blue", "good")])
    tree = CategoricalSplit(
        "colour", (Branch(("red",), Leaf("good", {"good": 0, "bad": 2}, scores={"good": 0.0, "bad": 0.0})),)
    )
    for combine, voted in (("sum", [False, True]), ("boost", [False, True])):
        votes = class_votes(Release({}, table.schema, (tree,), combine=combine), table)  # type: ignore[arg-type]
        order = table.frame["colour"].tolist()
        assert {c: bool(np.isfinite(v[0])) for c, v in zip(order, votes, strict=True)} == dict(
            zip(("blue", "red"), voted, strict=True)
        )


@pytest.mark.parametrize("combine", ["sum", "mean_per_tree"])
def test_a_leaf_of_nobody_among_leaves_with_shares_matters_only_to_whom_it_predicts(combine: Combine) -> None:
    table = table_of((AGE, RISK), [(1.0, "good"), (3.0, "bad")])
    cut = NumericSplit(
        "age",
        2.0,
        Leaf("good", {"good": 1, "bad": 0}),
        NumericSplit("age", 5.0, Leaf("bad", {"good": 0, "bad": 1}), EMPTY),
    )
    release = published(Release({}, table.schema, (cut,), combine=combine), Publish(leaves="shares"), frozenset())
    assert predict(release, table).tolist() == [0, 1]
    assert class_votes(release, table).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(InconclusiveError, match=combine):
        predict(release, ages(9.0))


EMPTY = Leaf("bad", {"good": 0, "bad": 0})


def test_the_accuracy_of_a_label_is_the_share_of_those_predicted_so_who_have_the_class() -> None:
    table = table_of((AGE, RISK), [(1.0, "good"), (1.0, "bad"), (9.0, "bad")], [3, 1, 5])
    for tree, accuracies in ((NumericSplit("age", 5.0, LOW, HIGH), {"good": 0.75, "bad": 1.0}), (HIGH, {"bad": 6 / 9})):
        assert label_accuracies(Release({}, table.schema, (tree,)), table) == accuracies
    unread = Release({}, table.schema, (NumericSplit("age", 5.0, LOW, HIGH),), combine="sum")
    assert label_accuracies(unread, table) == {"good": 0.75, "bad": 1.0}  # labels alone are counted as votes


def test_a_forest_that_adds_up_numbers_has_the_accuracy_of_its_vote_beside() -> None:
    table = table_of((AGE, RISK), [(1.0, "good"), (9.0, "bad")], [3, 5])
    hardly, surely = Leaf("good", {"good": 3, "bad": 2}), Leaf("bad", {"good": 0, "bad": 5})
    trees = (hardly, hardly, surely)  # two votes for good, the mean for bad
    release = Release({}, table.schema, trees, combine="mean_per_tree")
    assert label_accuracies(release, table) == {"bad": 5 / 8}
    assert vote_accuracies(release, table) == {"good": 3 / 8}
    assert vote_accuracies(replace(release, combine="vote"), table) is None


@pytest.mark.parametrize(("combine", "level"), [("sum", "labels"), ("sum", "error_rates"), ("boost", "counts")])
def test_what_cannot_be_combined_is_inconclusive(combine: Combine, level: Level) -> None:
    with pytest.raises(InconclusiveError, match=combine):
        predict(*forest(combine, (2, 1), (1, 2), level=level))


def test_leaves_are_counted_over_all_trees() -> None:
    cut = NumericSplit("age", 5.0, LOW, NumericSplit("age", 7.0, LOW, HIGH))
    schema = table_of((AGE, RISK), [(1.0, "good")]).schema
    assert count_leaves(Release({}, schema, (cut, LOW))) == 4
    assert [leaf.label for leaf in leaves(map_leaves(cut, lambda leaf: Leaf("bad")))] == ["bad"] * 3


def test_leaves_that_records_reach_are_kept_while_the_tree_is_held() -> None:
    table = table_of((AGE, RISK), [(1.0, "good"), (9.0, "bad")])
    tree = NumericSplit("age", 5.0, LOW, HIGH)
    route(tree, table)
    copied = table.defensive_copy()
    other = NumericSplit("age", 0.0, LOW, HIGH)
    assert route(other, copied).leaf.tolist() == [1, 1]
    assert (len(table.reached), len(copied.reached), len(pickle.loads(pickle.dumps(table)).reached)) == (1, 2, 0)
    del tree
    assert len(table.reached) == 0


def test_trees_with_the_same_tests_share_the_leaves_that_records_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of((AGE, RISK), [(1.0, "good"), (9.0, "bad")])
    tree = NumericSplit("age", 5.0, LOW, HIGH)
    route(tree, table)
    copied = table.defensive_copy()
    with monkeypatch.context() as patched:
        patched.setattr(routing, "Router", None)
        for own in (table, copied):
            same = NumericSplit("age", 5.0, HIGH, Leaf("good", {"good": 1, "bad": 0}))
            assert route(same, own).leaf.tolist() == [0, 1]
            assert own.reached[same.arrays] is table.reached[tree.arrays]
    others = (
        NumericSplit("age", 9.0, LOW, HIGH),
        NumericSplit("age", 9.0, LOW, HIGH, strict=True),
        NumericSplit("age", 5.0, LOW, NumericSplit("age", 7.0, LOW, HIGH)),
    )
    assert [route(other, table).leaf.tolist() for other in others] == [[0, 0], [0, 1], [0, 2]]
    del tree, same, others
    assert len(table.reached._by_tests) == 0


def test_weights_of_single_people_need_not_be_counted() -> None:
    rows = [(1.0, "good"), (9.0, "bad")]
    assert table_of((AGE, RISK), rows).unequal_weight is None
    weighted = table_of((AGE, RISK), rows, [1, 2])
    assert weighted.unequal_weight is weighted.weight


@given(st.data())
def test_people_reach_the_leaves_that_their_public_records_reach(data: st.DataObject) -> None:
    table = data.draw(tables(most=20))
    tree = data.draw(trees(table.schema, whole=False))
    expected = route(tree, replace(table)).leaf.tolist()
    assert table.public[0] is not table
    assert route(tree, table).leaf.tolist() == expected


def test_more_is_not_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leafgate.kernel.table.MAX_REACHED_BYTES", 3)
    table = table_of((AGE, RISK), [(1.0, "good"), (9.0, "bad")])
    grown = [NumericSplit("age", float(at), LOW, HIGH) for at in range(3)]
    assert [route(tree, table).leaf.tolist() for tree in grown] == [[1, 1], [0, 1], [0, 1]]
    assert len(table.reached) == 1
