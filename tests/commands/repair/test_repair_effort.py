"""How much a repair tries: a fixed amount of work, whatever the clock says, unless it is given a time limit."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from leafgate import Audit
from leafgate import audit as audit_model
from leafgate import repair as repair_model
from leafgate.api import InvalidError
from repairs import people

MODELS = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(4, max_depth=5, random_state=0),
}


def audited(kind: str) -> Audit:
    """The audit of a small model in memory."""
    table = people(0, 200)
    rows, labels = table.drop(columns="class"), table["class"]
    model = MODELS[kind]().fit(rows, labels)
    return audit_model(model, rows, labels, limits={"k_anonymity": 10}, search_remedies=False)


def spin() -> None:
    """Keep a core busy."""
    while True:
        pass


@contextmanager
def busy(number: int) -> Iterator[None]:
    """So many processes that keep cores busy."""
    loops = [multiprocessing.get_context("spawn").Process(target=spin, daemon=True) for _ in range(number)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.join()


@pytest.mark.thorough
def test_without_a_time_limit_the_clock_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = audited("tree")
    first = repair_model(audit, effort=0.01)
    days = itertools.count(0.0, 86_400.0)
    monkeypatch.setattr("leafgate.search.budget.time.monotonic", lambda: next(days))
    again = repair_model(audit, effort=0.01)
    assert first.found
    assert (first.content, first.sentences) == (again.content, again.sentences)
    ended = "the search ended after its amount of work; with more a better model may be found (`effort`)"
    assert ended in first.sentences


@pytest.mark.thorough
def test_a_search_that_a_time_limit_ended_says_that_a_repetition_may_differ() -> None:
    found = repair_model(audited("tree"), time_limit=0)
    assert found.found  # what is quick is tried until something passes
    ended = "the time limit ended the search (`time_limit`), so a repetition may find another model"
    assert ended in found.sentences


@pytest.mark.thorough
def test_a_time_limit_ends_a_repair_by_persons_after_one_tree() -> None:
    visits = pd.DataFrame({"age": np.arange(360) % 45, "sex": np.arange(360) // 45 % 2})
    ill = np.where(visits["age"] * 7 % 45 > 20, "yes", "no")
    model = DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(visits, ill)
    found = repair_model(model, visits, ill, person=np.arange(360) // 3, time_limit=0)
    assert found.candidates is not None
    assert len(found.candidates) < 6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"effort": "x"}, "effort: is no number from 0"),
        ({"effort": -1}, "effort: is no number from 0"),
        ({"effort": float("nan")}, "effort: is no number from 0"),
        ({"time_limit": -1}, "time_limit: is no number from 0"),
        ({"script": 1}, "script: is neither True nor False"),
        ({"scrpt": True}, "scrpt: is no argument of `leafgate.repair` (did you mean 'script'?)"),
        ({"keep": "speed"}, "keep: no model of classes is kept for this (choose from auc"),
        ({"columns": "most"}, "columns: is no choice of columns (choose from used, all"),
    ],
)
@pytest.mark.thorough
def test_a_wrong_argument_is_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidError) as error:
        repair_model(audited("tree"), **options)
    assert str(error.value).startswith(words)


@pytest.mark.thorough
def test_more_effort_tries_more() -> None:
    few, more = (repair_model(audited("forest"), effort=effort).candidates for effort in (0.01, 0.06))
    assert few is not None
    assert more is not None
    assert len(few) < len(more)
    assert more["words"].tolist()[: len(few)] == few["words"].tolist()
