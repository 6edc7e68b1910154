from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta
from sklearn.metrics import mutual_info_score

from components import built_by
from leafgate import Table
from leafgate.algorithms.induction import splits
from leafgate.algorithms.induction.encoding import encode
from leafgate.algorithms.induction.growth import growing_node
from leafgate.algorithms.induction.histograms import count_histograms
from leafgate.algorithms.induction.pruning import pessimistic_errors
from leafgate.algorithms.prediction import predict
from leafgate.api import CategoricalSplit, Hierarchy, Leaf, Node, NumericSplit, columns_asked, leaves
from naive_tree import Naive
from questions import Measure, shape
from random_tables import categorical, numeric, table_of, tables

WEATHER = """sunny 85 85 no stay; sunny 80 90 yes stay; overcast 83 86 no play; rainy 70 96 no play
rainy 68 80 no play; rainy 65 70 yes stay; overcast 64 65 yes play; sunny 72 95 no stay; sunny 69 70 no play
rainy 75 80 no play; sunny 75 70 yes play; overcast 72 90 yes play; overcast 81 75 no play; rainy 71 91 yes stay"""


def grown(builder: str, table: Table, **options: Any) -> Node:
    return built_by(builder, table, **options).trees[0]


@given(tables(), st.sampled_from(["gain", "gini"]), st.integers(1, 5))
def test_id3_asks_what_gains_most(table: Table, measure: Measure, min_leaf: int) -> None:
    naive = Naive(table, measure, average_gain=False, min_leaf=min_leaf)
    assert shape(grown("id3", table, measure=measure, min_leaf=min_leaf)) == shape(naive.tree)


@given(tables(), st.booleans(), st.integers(1, 5))
def test_c45_asks_what_has_the_best_gain_ratio(table: Table, average_gain: bool, min_leaf: int) -> None:
    naive = Naive(table, "gain_ratio", average_gain=average_gain, min_leaf=min_leaf)
    tree = grown("c45", table, average_gain=average_gain, min_leaf=min_leaf, prune=False)
    assert shape(tree) == shape(naive.tree)


@pytest.mark.parametrize(("builder", "options"), [("id3", {}), ("c45", {"prune": False})])
def test_groups_of_values_are_never_asked(builder: str, options: dict[str, Any]) -> None:
    groups: dict[str | None, tuple[str, ...]] = {
        "Rome": ("Italy",),
        "Pisa": ("Italy",),
        "Bonn": ("Germany",),
        "Jena": ("Germany",),
    }
    columns = [
        categorical("sex", "quasi_identifier", values=("f", "m")),
        categorical("city", "quasi_identifier", values=("Rome", "Pisa", "Bonn", "Jena"), hierarchy=Hierarchy(groups)),
        categorical("risk", "class", "sensitive", values=("good", "bad")),
    ]
    rows = [("f", "Rome", "good"), ("f", "Pisa", "good"), ("f", "Bonn", "bad"), ("f", "Jena", "bad")]
    assert grown(builder, table_of(columns, rows), min_leaf=2, **options) == Leaf("good", {"good": 2, "bad": 2})


def weather() -> Table:
    """Quinlan's fourteen mornings."""
    rows = [line.split() for line in WEATHER.replace("\n", ";").split(";")]
    columns = [
        categorical("outlook", "quasi_identifier", values=("sunny", "overcast", "rainy")),
        numeric("temperature", "quasi_identifier", bounds=(0, 100)),
        numeric("humidity", "quasi_identifier", bounds=(0, 100)),
        categorical("windy", "quasi_identifier", values=("yes", "no")),
        categorical("today", "class", "sensitive", values=("play", "stay")),
    ]
    return table_of(columns, [(o, float(t), float(h), w, today) for o, t, h, w, today in rows])


def test_c45_learns_quinlans_fourteen_mornings_by_heart() -> None:
    table = weather()
    release = built_by("c45", table)
    (tree,) = release.trees
    assert isinstance(tree, CategoricalSplit)
    assert tree.column == "outlook"
    sunny, overcast, rainy = (branch.node for branch in tree.branches)
    assert isinstance(sunny, NumericSplit)
    assert (sunny.column, sunny.at) == ("humidity", 72.5)  # midway between 70 and the next number of the table, 75
    assert isinstance(overcast, Leaf)
    assert columns_asked(rainy) == {"windy"}
    assert (predict(release, table) == table.codes("today")).all()


@given(tables(), st.integers(1, 3), st.sampled_from([0.01, 0.1, 0.25, 0.5]))
def test_a_pruned_tree_is_never_larger(table: Table, min_leaf: int, confidence: float) -> None:
    pruned = grown("c45", table, min_leaf=min_leaf, confidence=confidence)
    assert len(list(leaves(pruned))) <= len(list(leaves(grown("c45", table, min_leaf=min_leaf, prune=False))))


@pytest.mark.parametrize("confidence", [0.01, 0.1, 0.25, 0.5])
@pytest.mark.parametrize("people", [1, 2, 6, 16, 1000])
def test_without_errors_the_bound_is_the_exact_binomial_one(people: int, confidence: float) -> None:
    assert pessimistic_errors(people, 0, confidence) == pytest.approx(people * (1 - confidence ** (1 / people)))
    assert pessimistic_errors(people, 0, confidence) == pytest.approx(people * beta.ppf(1 - confidence, 1, people))


@pytest.mark.parametrize("confidence", [0.05, 0.1, 0.25, 0.5])
@pytest.mark.parametrize(("people", "errors"), [(20, 3), (30, 10), (100, 5), (100, 20), (1000, 400), (50, 45)])
def test_with_errors_the_bound_is_close_to_the_exact_binomial_one(people: int, errors: int, confidence: float) -> None:
    exact = people * beta.ppf(1 - confidence, errors + 1, people - errors)
    assert pessimistic_errors(people, errors, confidence) == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize("people", [1, 2, 10])
def test_where_everyone_is_wrong_no_more_can_be(people: int) -> None:
    assert pessimistic_errors(people, people, 0.25) == people


@given(tables(numbers=False, gaps=False))
def test_the_gain_of_a_column_is_its_mutual_information_with_the_class(table: Table) -> None:
    people = encode(table)
    counts = growing_node(people, np.arange(len(people.classes))).counts
    scores = splits.score(
        people,
        splits.tests_of(people),
        count_histograms(people, [np.arange(len(people.classes))]),
        counts[None],
        "gain",
    )
    finest = scores.gain[0, splits.tests_of(people).level == 0] / table.total_weight
    classes = np.repeat(table.codes("y"), table.weight)
    for column, bits in zip(table.schema.features, finest, strict=True):
        nats = mutual_info_score(np.repeat(table.codes(column.name), table.weight), classes)
        assert max(bits, 0) * np.log(2) == pytest.approx(nats, abs=1e-9)
