"""Area under the curve: against scikit-learn's, and by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from components import new_metric
from leafgate import Release
from leafgate.algorithms.publication import published
from leafgate.api import Branch, CategoricalSplit, Combine, InconclusiveError, Leaf, Publish, ScoringContext
from leafgate.app import document, open_session
from leafgate.testing import grant_knowledge
from random_tables import categorical, table_of
from scoring import score_of_release
from survey import write_policy

BAD = categorical("bad", "class", "sensitive", values=("no", "yes"))
TOWN = categorical("town", "quasi_identifier", values=("a", "b", "c", "d"))


def forest(combine: Combine, *trees: Sequence[tuple[int, int]]) -> Release:
    """Trees that fan out over the towns, with these numbers."""

    def leaf(no: int, yes: int) -> Leaf:
        return Leaf("yes" if yes > no else "no", {"no": no, "yes": yes}, scores={"no": -no / 8, "yes": -yes / 8})

    fans = tuple(
        CategoricalSplit("town", tuple(Branch((town,), leaf(*n)) for town, n in zip("abcd", numbers, strict=True)))
        for numbers in trees
    )
    return Release({"use": "x"}, table_of((TOWN, BAD), []).schema, fans, combine=combine)


def area(release: Release, people: Sequence[int]) -> float:
    """People: in each town those without, then those with."""
    rows = [(town, bad) for town in "abcd" for bad in ("no", "yes")]
    kept = [(row, n) for row, n in zip(rows, people, strict=True) if n]
    test = table_of((TOWN, BAD), [row for row, _ in kept], [n for _, n in kept])
    return score_of_release(
        new_metric("area_under_curve", at_least=0), ScoringContext(test, test, release, grant_knowledge(test))
    )


NUMBERS = st.tuples(*[st.tuples(st.integers(0, 5), st.integers(0, 5)) for _ in range(4)])
PEOPLE = st.lists(st.integers(0, 4), min_size=8, max_size=8).filter(lambda n: any(n[::2]) and any(n[1::2]))


@given(NUMBERS, NUMBERS, PEOPLE, st.sampled_from(["sum", "mean_per_tree", "boost"]))
def test_the_area_under_the_curve_is_scikit_learns(
    one: Sequence[tuple[int, int]], two: Sequence[tuple[int, int]], people: list[int], combine: Combine
) -> None:
    scores = []
    for i in range(4):
        numbers = [np.array(tree[i], dtype=float) for tree in (one, two)]
        if combine == "boost":
            scores.append(sum((n[0] - n[1]) / 8 for n in numbers))
            continue
        parts = [n / max(n.sum(), 1e-300) if combine == "mean_per_tree" else n for n in numbers]
        no, yes = parts[0] + parts[1]
        scores.append(yes / (no + yes) if no + yes else 0.5)
    truth, score = np.tile([0, 1], 4), np.repeat(scores, 2)
    expected = roc_auc_score(truth, np.round(score, 12), sample_weight=people)
    assert area(forest(combine, one, two), people) == pytest.approx(expected, abs=1e-9)


def test_one_tree_ranks_by_its_shares_or_by_its_labels_where_these_are_all_it_tells() -> None:
    numbers = [(9, 1), (4, 6), (1, 9), (2, 8)]
    release = forest("one", numbers)
    people = [10, 0, 0, 10, 0, 10, 10, 10]  # without: 10 in a, 10 in d; with: 10 each in b, c, d
    assert area(release, people) == pytest.approx((30 * 10 + 10 * 10 + 0.5 * 10 * 10) / 600)  # a < b < d < c
    labels = published(release, Publish(leaves="labels"), frozenset())
    assert area(labels, people) == pytest.approx((30 * 10 + 0.5 * 30 * 10) / 600)


def test_without_two_classes_or_test_people_it_is_inconclusive() -> None:
    release = forest("sum", [(1, 2)] * 4)
    with pytest.raises(InconclusiveError, match="nobody of one class"):
        area(release, [1, 0] * 4)
    test = table_of((TOWN, BAD), [("a", "no")])
    metric = new_metric("area_under_curve", at_least=0)
    with pytest.raises(InconclusiveError, match="no test table"):
        score_of_release(metric, ScoringContext(test, None, release, grant_knowledge(test)))
    with pytest.raises(InconclusiveError, match="no model"):
        score_of_release(metric, ScoringContext(test, test, replace(release, trees=()), grant_knowledge(test)))


def _finding(report: dict[str, Any], metric: str) -> dict[str, Any]:
    return next(finding for finding in report["findings"] if finding["metric"] == metric)


def in_public(test: list[str], metric: str, smallest: int = 10) -> tuple[Any, Any]:
    """What the public and auditors are told of a score on these test people: the town and the class of each."""
    people = ["a,no"] * 30 + ["b,yes"] * 30
    columns = {"town": {"role": "quasi_identifier", "values": ["a", "b"]}}
    columns["bad"] = {"role": ["class", "sensitive"], "values": ["no", "yes"]}
    with TemporaryDirectory() as folder:
        for name, rows in (("people", people), ("test", test)):
            (Path(folder) / f"{name}.csv").write_text("\n".join(["town,bad", *rows]) + "\n")
        data = {"path": "people.csv", "test": "test.csv", "columns": columns}
        changes = {"data": data, "metrics": [{"use": metric, "at_least": 0.05}], "report": {"smallest_cell": smallest}}
        report = open_session(write_policy(Path(folder), changes)).audit().report
    public, auditor = (_finding(document(report, audience), metric) for audience in ("public", "auditor"))
    assert public["passed"] == auditor["passed"]
    return public["value"], auditor["value"]


def test_the_accuracy_of_one_person_is_for_auditors() -> None:
    assert in_public(["a,no"], "accuracy") == (None, 1.0)
    assert in_public(["a,yes"], "accuracy") == (None, 0.0)


def test_no_ninth_person_moves_the_accuracy_that_the_public_sees() -> None:
    rows = ["a,no"] * 660 + ["a,yes"] * 340
    assert in_public(rows, "accuracy") == (0.66, 0.66)
    assert in_public([*rows[:652], *["a,yes"] * 8, *rows[660:]], "accuracy") == (0.65, 0.652)
    assert in_public(rows, "accuracy", smallest=1) == (0.66, 0.66)


def test_the_area_is_told_by_how_many_people_the_rarer_class_has() -> None:
    few, many = ["a,no"] * 900 + ["b,yes"] * 80, ["a,no"] * 900 + ["b,yes"] * 90
    assert in_public([*few, "a,yes"], "area_under_curve")[0] is None
    public, auditor = in_public([*many, *["a,yes"] * 30], "area_under_curve")
    assert (public, auditor) == (0.9, 0.875)
