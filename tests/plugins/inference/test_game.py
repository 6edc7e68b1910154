"""What a model answers about people of the game, once about each or once for each value of a secret."""

from __future__ import annotations

import numpy as np

from leafgate_plugins.inference.game import Answers, canonical_order, coins, own_classes, rows_of
from random_tables import categorical, numeric, table_of

COLUMNS = [numeric("age", "quasi_identifier"), categorical("ill", "class", values=("no", "yes"), missing=True)]
PEOPLE = table_of(COLUMNS, [(1.0, "yes"), (2.0, None), (3.0, "no")])


def test_the_score_of_the_own_class_is_that_of_each_person_at_each_value() -> None:
    scores, own = np.array([[0.2, 0.8], [0.7, 0.3], [0.4, 0.6]]), np.array([1, 2, 0])
    assert Answers(scores, own).of_own_class.tolist() == [0.8, 0.0, 0.4]
    by_value = np.stack([scores, 1 - scores, scores], axis=1)
    assert np.allclose(Answers(by_value, own).of_own_class, [[0.8, 0.2, 0.8], [0.0, 0.0, 0.0], [0.4, 0.6, 0.4]])


def test_the_label_is_the_class_of_the_highest_score_and_none_without_scores() -> None:
    scores = np.array([[0.2, 0.8], [0.0, 0.0]])
    assert Answers(scores, np.zeros(2, dtype=np.int64)).labels.tolist() == [1, -1]
    assert Answers(scores[None], np.zeros(1, dtype=np.int64)).labels.tolist() == [[1, -1]]


def test_a_class_that_is_missing_or_not_known_has_the_position_after_the_last() -> None:
    assert own_classes(PEOPLE).tolist() == [1, 2, 0]
    nameless = PEOPLE.project(["age"])[0]
    assert own_classes(nameless, PEOPLE.schema).tolist() == [2, 2, 2]


def test_the_canonical_order_of_people_does_not_depend_on_where_they_stand() -> None:
    turned = rows_of(PEOPLE, np.array([2, 0, 1]))
    first, second = (table.frame["age"].to_numpy()[canonical_order(table)].tolist() for table in (PEOPLE, turned))
    assert first == second


def test_streams_of_random_numbers_differ_and_repeat() -> None:
    assert coins(1, 2, 0).random() == coins(1, 2, 0).random()
    assert len({coins(1, *stream).random() for stream in ((2,), (2, 0), (2, 1), (3,))}) == 4
