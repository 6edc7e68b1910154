"""Trees that are cut back, beside the same done person by person."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import Release
from leafgate.algorithms.pruned_release import Pruning
from leafgate.algorithms.routing import Router, route
from leafgate.api import Branch, CategoricalSplit, Leaf, Node, NumericSplit, leaves, map_leaves
from oracles import People, people_of, ways
from random_tables import categorical, numeric, table_of, tables
from random_trees import forests

NUMBERS = st.integers(0, 9)


def ends_below(node: Node, people: People) -> list[tuple[Leaf, People]]:
    """Every leaf below a node, with the people who reach it."""
    if isinstance(node, Leaf):
        return [(node, people)]
    return [end for child, part in ways(node, people) for end in ends_below(child, part)]


def one_leaf(node: Node, people: People, release: Release) -> Leaf:
    """A leaf in the place of all below a node, by the sums and means of what they publish."""
    ends = ends_below(node, people)
    weights = [float(sum(n for _, n in part)) for _, part in ends]
    weights = [w / sum(weights) for w in weights] if sum(weights) else [1 / len(ends)] * len(ends)
    counted = all(leaf.counts is not None for leaf, _ in ends)
    counts = {c: sum((leaf.counts or {})[c] for leaf, _ in ends) for c in release.classes} if counted else None
    stated = [(leaf.shares, weight) for (leaf, _), weight in zip(ends, weights, strict=True) if leaf.shares is not None]
    total = sum(weight for _, weight in stated) or 1.0
    shares = {c: sum(each[c] * w for each, w in stated) / total for c in release.classes} if stated else None
    true = {c: sum(n for person, n in people if person[release.target] == c) for c in release.classes}
    published = counts or shares or true
    label = max(published, key=lambda name: published[name])
    return Leaf(label if any(leaf.label is not None for leaf, _ in ends) else None, counts, shares)


def cut_back(node: Node, people: People, smallest: int, release: Release) -> Node:
    """The tree, cut back from the root down."""
    if isinstance(node, Leaf):
        return node
    below = list(ways(node, people))
    if any(sum(n for _, n in part) < smallest for _, part in below):
        return one_leaf(node, people, release)
    items = [cut_back(child, part, smallest, release) for child, part in below]
    if isinstance(node, NumericSplit):
        return replace(node, low=items[0], high=items[1])
    branches = tuple(Branch(branch.values, item) for branch, item in zip(node.branches, items, strict=False))
    return replace(node, branches=branches, default=None if node.default is None else items[-1])


def shape(node: Node) -> object:
    """The tree without what its leaves publish."""
    return map_leaves(node, lambda leaf: Leaf(leaf.label))


@given(st.data())
def test_trees_are_cut_back_as_person_by_person(data: st.DataObject) -> None:
    table = data.draw(tables(most=25))
    grown = data.draw(forests(table, most=2, whole=data.draw(st.booleans())))
    kind = data.draw(st.sampled_from(("counts", "decimal counts", "shares", "labels", "mixed")))

    def published(leaf: Leaf) -> Leaf:
        numbers = [data.draw(NUMBERS) for _ in table.schema.classes]
        counts = dict(zip(table.schema.classes, numbers, strict=True))
        shares = {name: (number + 1) / (sum(numbers) + len(numbers)) for name, number in counts.items()}
        if kind == "decimal counts":
            return Leaf(leaf.label, {name: number / 4 for name, number in counts.items()})
        if kind == "shares" or (kind == "mixed" and sum(numbers) % 2):
            return Leaf(leaf.label, shares=shares)
        return Leaf(leaf.label) if kind == "labels" else Leaf(leaf.label, counts)

    release = Release({}, table.schema, tuple(map_leaves(tree, published) for tree in grown), combine="vote")
    pruning = Pruning(release, table)
    if data.draw(st.booleans()):
        assert table.public  # whose records people are then routed by
    for smallest in (1, 2, 3, 6, 100):
        for given_tree, tree in zip(release.trees, pruning.cut_back(smallest).trees, strict=True):
            expected = cut_back(given_tree, people_of(table), smallest, release)
            assert shape(tree) == shape(expected)
            assert route(tree, table).leaf.tolist() == route(tree, replace(table)).leaf.tolist()
            for leaf, other in zip(leaves(tree), leaves(expected), strict=True):
                assert leaf.counts == other.counts
                assert (leaf.shares is None) == (other.shares is None)
                assert leaf.shares is None or leaf.shares == pytest.approx(other.shares)


def test_a_tree_whose_tests_all_stay_is_the_same_tree() -> None:
    columns = numeric("age", "quasi_identifier"), categorical("risk", "class", "sensitive", values=("good", "bad"))
    table = table_of(columns, [(1.0, "good"), (9.0, "bad")], [3, 4])
    tree = NumericSplit("age", 5.0, Leaf("good", {"good": 3, "bad": 0}), Leaf("bad", {"good": 0, "bad": 4}))
    pruning = Pruning(Release({}, table.schema, (tree, Leaf("good"))), table)
    assert all(new is old for new, old in zip(pruning.cut_back(3).trees, (tree, pruning.release.trees[1]), strict=True))
    assert pruning.cut_back(4).trees[0] == Leaf("bad", {"good": 3, "bad": 4})


def test_nobody_is_sent_down_a_tree_again_after_it_was_cut_back(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = numeric("age", "quasi_identifier"), categorical("risk", "class", "sensitive", values=("good", "bad"))
    table = table_of(columns, [(float(age), "good") for age in range(9)])
    low, high = (NumericSplit("age", at, Leaf("good"), Leaf("bad")) for at in (1.0, 7.0))
    release = Release({}, table.schema, (NumericSplit("age", 4.0, low, high),))
    pruning = Pruning(release, table)
    pruning.cut_back(1)
    monkeypatch.setattr(Router, "leaf_of", None)
    [pruned] = pruning.cut_back(2).trees
    assert route(pruned, table).leaf.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]


def test_people_whom_no_branch_takes_count_at_the_nodes_they_come_to() -> None:
    colour = categorical("colour", "quasi_identifier", values=("red", "blue", "green"))
    risk = categorical("risk", "class", "sensitive", values=("good", "bad"))
    table = table_of((colour, risk), [("red", "good"), ("blue", "good"), ("green", "bad")], [2, 1, 5])
    below = CategoricalSplit("colour", (Branch(("blue",), Leaf("good")),))
    tree = CategoricalSplit("colour", (Branch(("red",), Leaf("good")), Branch(("blue", "green"), below)))
    [pruned] = Pruning(Release({}, table.schema, (tree,)), table).cut_back(2).trees
    assert isinstance(pruned, CategoricalSplit)
    assert pruned.branches[1].node == Leaf("bad")  # six people come here, of whom one reached a leaf
