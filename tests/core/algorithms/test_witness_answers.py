"""Answers of a witness beside those of what was read: the first row that differs, by every kind of answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafgate import DataError
from leafgate.algorithms.witness import TOLERANCE, Answers, first_difference
from leafgate.io.tables.witness import answers_in


def scores(rows: list[list[float]]) -> np.ndarray:
    """Scores of classes whose rows sum to 1."""
    numbers = np.array(rows) + 1e-3
    return np.asarray(numbers / numbers.sum(axis=1, keepdims=True))


@given(st.integers(1, 6), st.integers(2, 4), st.integers(0, 2**32 - 1), st.floats(-0.3, 0.3))
def test_a_score_that_is_further_off_than_the_tolerance_is_found_in_its_row(
    n: int, classes: int, seed: int, off: float
) -> None:
    rng = np.random.default_rng(seed)
    read = scores(rng.random((n, classes)).tolist())
    row, column = int(rng.integers(n)), int(rng.integers(classes))
    said = read.copy()
    said[row, column] += off
    expected = row if abs(said[row, column] - read[row, column]) > TOLERANCE else None
    assert first_difference(Answers(scores=said), Answers(scores=read)) == expected


@given(st.integers(1, 6), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_labels_are_compared_where_no_two_classes_are_as_likely(n: int, classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    read = scores(rng.integers(0, 3, (n, classes)).tolist())
    labels = rng.integers(-1, classes, n)
    first = None
    for row in range(n):
        best = np.sort(read[row])[::-1]
        if first is None and labels[row] >= 0 and best[0] - best[1] > TOLERANCE and labels[row] != read[row].argmax():
            first = row
    assert first_difference(Answers(labels=labels), Answers(read, read.argmax(axis=1))) == first


def test_scores_stand_for_labels_where_only_labels_were_read() -> None:
    said = Answers(scores=np.array([[0.2, 0.8], [0.5, 0.5], [np.nan, np.nan], [0.9, 0.1]]))
    assert first_difference(said, Answers(labels=np.array([1, 0, 0, 0]))) is None
    assert first_difference(said, Answers(labels=np.array([1, 0, 0, 1]))) == 3


@pytest.mark.parametrize(
    ("said", "first"), [([10.0, 2e4], None), ([10.0, 2e4 + 1], 1), ([10.5, 2e4], 0), ([10, np.nan], None)]
)
def test_numbers_may_differ_by_a_part_of_the_largest(said: list[float], first: int | None) -> None:
    numbers = Answers(numbers=np.array(said))
    assert first_difference(numbers, Answers(numbers=np.array([10.0, 2e4]))) == first


def test_a_row_for_which_nothing_was_read_differs() -> None:
    assert first_difference(Answers(numbers=np.array([1.0])), Answers(numbers=np.array([np.nan]))) == 0


def frame(**columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(columns)


TWO = [("0", "no"), ("1", "yes")]


def test_one_score_of_two_classes_gives_both_and_empty_cells_are_no_answers() -> None:
    found = answers_in(frame(yes=["0.25", ""], prediction=["1", "no"]), TWO, "answers.csv")
    assert found.scores is not None
    assert found.labels is not None
    assert found.scores[0].tolist() == [0.75, 0.25]
    assert np.isnan(found.scores[1]).all()
    assert found.labels.tolist() == [1, 0]


def test_a_class_that_the_model_does_not_know_scores_nothing() -> None:
    found = answers_in(frame(yes=["0.25", "1"], no=["0.75", "0"]), [*TWO, ()], "answers.csv")
    assert found.scores is not None
    assert found.scores.tolist() == [[0.75, 0.25, 0.0], [0.0, 1.0, 0.0]]


def test_rows_are_answered_that_have_a_class_or_a_score_for_each() -> None:
    found = answers_in(
        frame(
            no=["0.5", "0.5", "", ""],
            yes=["0.25", "", "", ""],
            other=["0.25", "0.5", "", ""],
            prediction=["", "", "1", ""],
        ),
        [*TWO, ("2", "other")],
        "answers.csv",
    )
    assert found.given.tolist() == [True, False, True, False]


def test_classes_may_be_spelled_as_numbers() -> None:
    found = answers_in(frame(prediction=["1.0", "0", ""]), TWO, "answers.csv")
    assert found.labels is not None
    assert found.labels.tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("cells", "classes", "message"),
    [
        ({"age": ["1"]}, TWO, "has no answers"),
        ({"age": ["1"]}, [], "has no answers"),
        ({"yes": ["", ""]}, TWO, "has no answers"),
        ({"prediction": ["", ""]}, TWO, "has no answers"),
        ({"prediction": [""]}, [], "has no answers"),
        ({"yes": ["0.5"]}, [*TWO, ("2", "perhaps")], "has no answers"),
        ({"yes": ["high"]}, TWO, "row 1 has no number in 'yes'"),
        ({"yes": ["inf"]}, TWO, "row 1 has no number in 'yes'"),
        ({"prediction": ["0", "2"]}, TWO, "row 2 has no class of the model"),
        ({"prediction": ["much"]}, [], "row 1 has no number in 'prediction'"),
    ],
)
def test_what_is_no_answer_is_refused_without_its_text(
    cells: dict[str, Any], classes: list[tuple[str, str]], message: str
) -> None:
    with pytest.raises(DataError) as refusal:
        answers_in(frame(**cells), classes, "answers.csv")
    assert f"answers.csv: {message}" in str(refusal.value)
    assert "much" not in str(refusal.value)
    assert "high" not in str(refusal.value)
