"""One person's influence is what a refit without her says, and the people tried are those who stand out."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from exclusion_worlds import schema_of, table_of
from leafgate.api.context import ScoringContext
from leafgate.api.registry import load_plugins
from leafgate.disclosure.document import document
from leafgate.errors import InconclusiveError
from leafgate.policy.load import policy_of
from leafgate.session.run import audit_policy
from leafgate.types.adversary import AdversaryKnowledge
from leafgate.types.evidence import AuditorOnly
from leafgate.types.release import Release
from leafgate.types.table import Table
from leafgate_membership.leave_one_out import (
    LeaveOneOut,
    distance_to_own_class,
    influences,
    people_to_try,
    without_person,
)
from random_tables import categorical, numeric
from random_tables import table_of as written_table
from sklearn_release import release_of
from sklearn_zoo import answers, rows
from standins import finding

pytestmark = pytest.mark.thorough


def people(n: int = 80, seed: int = 1) -> tuple[Table, NDArray[np.float64], NDArray[np.int64]]:
    x = rows(seed, n)
    y = answers(x, 2)
    table = table_of(schema_of(x, 2), x, y)
    frame = table.frame
    return table, frame[["x0", "x1", "x2"]].to_numpy(), frame["y"].cat.codes.to_numpy().astype(np.int64)


def features(table: Table) -> NDArray[np.float64]:
    return np.column_stack([table.numbers(f"x{i}") for i in range(3)])


def retraining(model: Any) -> Any:
    """A `retrain` that fits a scikit-learn classifier on each person of a table."""
    from sklearn.base import clone

    def retrain(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
        fitted = clone(model).set_params(random_state=seed % 2**31)
        fitted.fit(np.repeat(features(own), own.persons, axis=0), np.repeat(own.codes("y"), own.persons))
        scores = np.zeros((len(asked), 2))
        scores[:, fitted.classes_] = fitted.predict_proba(features(asked))
        return scores

    return retrain


def logit(p: float) -> float:
    return math.log((p + 1e-3) / (1 - p + 1e-3))


def case_of(table: Table, retrain: Any, audited: Any = None) -> ScoringContext:
    """What a metric is given of a release, which is that of the classifier `audited` fitted on the table, or empty."""
    known = AdversaryKnowledge(table.schema, table.public[0], retrain=retrain)
    release = Release({"use": "t"}, table.schema)
    if audited is not None:
        people, classes = np.repeat(features(table), table.persons, axis=0), np.repeat(table.codes("y"), table.persons)
        release = release_of(audited.fit(people, classes), table)
    return ScoringContext(table, None, release, known)


def test_the_influence_of_a_tree_is_that_of_a_refit_with_scikit_learn_alone() -> None:
    table, x, y = people()
    tried, seeds = np.arange(0, len(x), 7), set[int]()

    def retrain(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
        seeds.add(seed)
        return np.asarray(retraining(DecisionTreeClassifier(min_samples_leaf=3))(own, asked, seed))

    found = influences(retrain, table, tried, 1, 0, 60.0)
    (seed,) = seeds
    model = DecisionTreeClassifier(min_samples_leaf=3, random_state=seed)
    for i, row in enumerate(tried.tolist()):
        others = np.arange(len(x)) != row
        whole, without = (model.fit(x[kept], y[kept]).predict_proba(x[[row]])[0, y[row]] for kept in (y >= 0, others))
        assert found.mean[i] == pytest.approx(logit(whole) - logit(without))
    assert not found.half_width.any()
    assert abs(found.mean).max() > 0.1


def test_the_influence_of_a_forest_is_the_mean_over_its_seeds() -> None:
    table, x, y = people(40)
    drawn: list[int] = []
    model = RandomForestClassifier(5)

    def retrain(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
        drawn.append(seed)
        return np.asarray(retraining(model)(own, asked, seed))

    tried = np.array([3, 20])
    found = influences(retrain, table, tried, 4, 0, 60.0)
    seeds = sorted(set(drawn))
    assert len(seeds) == 4
    for i, row in enumerate(tried.tolist()):
        others = np.arange(len(x)) != row
        of_seeds = np.array(
            [
                [
                    logit(
                        RandomForestClassifier(5, random_state=seed)
                        .fit(x[kept], y[kept])
                        .predict_proba(x[[row]])[0, y[row]]
                    )
                    for seed in seeds
                ]
                for kept in (y >= 0, others)
            ]
        )
        assert found.mean[i] == pytest.approx(of_seeds[0].mean() - of_seeds[1].mean())
    assert (found.half_width > 0).all()


def test_the_interval_of_people_without_influence_holds_zero() -> None:
    """Scores that are noise of the seed: the intervals of 20 people at once miss zero in few of 60 repetitions."""
    table, x, _ = people(30)

    def noise(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
        rng = np.random.default_rng([seed, len(own), int(abs(own.numbers("x0")).sum())])
        p = 1 / (1 + np.exp(-rng.normal(0, 1, len(asked))))
        return np.column_stack([p, 1 - p])

    missed = 0
    for seed in range(60):
        found = influences(noise, table, np.arange(20), 6, seed, 60.0)
        missed += bool((abs(found.mean) > found.half_width).any())
    assert missed <= 0.05 * 60 + 3 * math.sqrt(60 * 0.05 * 0.95)
    assert len(x) == 30


def test_a_full_tree_depends_on_whoever_is_alone_in_a_class_region() -> None:
    table, _, _ = people()
    case = case_of(table, retraining(DecisionTreeClassifier()), DecisionTreeClassifier())
    score = LeaveOneOut(at_most=1.0, people=len(table), time_limit=60, seeds=1).score(case)
    assert score.value == pytest.approx(2 * logit(1.0))
    assert score.interval is None
    assert score.insufficient == ""
    assert all(isinstance(each, AuditorOnly) for each in score.evidence.values())


def test_a_leaf_of_everybody_depends_on_nobody_much() -> None:
    table, _, y = people()
    case = case_of(table, retraining(DecisionTreeClassifier(min_samples_split=len(y) + 1)))
    score = LeaveOneOut(at_most=1.0, people=len(table), time_limit=60, seeds=1).score(case)
    rare, n = int(np.bincount(y).min()), len(y)
    assert score.value == pytest.approx(logit(rare / n) - logit((rare - 1) / (n - 1)))


def test_a_time_limit_leaves_the_limit_inconclusive_and_says_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which each look takes a second: two for everybody, two for each person."""
    table, _, _ = people(40)
    seconds = itertools.count()
    monkeypatch.setattr("leafgate_membership.leave_one_out.time.monotonic", lambda: next(seconds))
    case = case_of(table, retraining(DecisionTreeClassifier()), DecisionTreeClassifier())
    score = LeaveOneOut(at_most=20.0, people=40, time_limit=30.5, seeds=2).score(case)
    assert "time limit" in score.insufficient
    assert score.value is not None
    assert LeaveOneOut(at_most=20.0, people=3, time_limit=30.5, seeds=2).score(case).insufficient == ""
    with pytest.raises(InconclusiveError, match="time limit"):
        LeaveOneOut(at_most=20.0, people=40, time_limit=1.5, seeds=2).score(case)


def test_the_influence_in_models_of_another_kind_is_no_reason_for_a_pass() -> None:
    table, _, _ = people()
    case = case_of(
        table, retraining(DecisionTreeClassifier(max_depth=1, min_samples_leaf=20)), DecisionTreeClassifier()
    )
    score = LeaveOneOut(at_most=2.0, people=5, time_limit=60, seeds=1).score(case)
    assert score.value is not None
    assert score.value < 2
    assert "trained_by" in score.insufficient


def test_without_a_way_to_train_it_is_inconclusive() -> None:
    table, _, _ = people()
    with pytest.raises(InconclusiveError, match="trained_by"):
        LeaveOneOut(at_most=1.0, people=1, time_limit=1).score(case_of(table, None))


def test_models_without_scores_are_no_reason_for_a_pass() -> None:
    table, _, _ = people()
    case = case_of(table, lambda own, asked, seed: np.full((len(asked), 2), np.nan))
    with pytest.raises(InconclusiveError, match="no scores"):
        LeaveOneOut(at_most=1.0, people=1, time_limit=60).score(case)


def test_weights_that_count_no_people_are_refused() -> None:
    table, _, _ = people()
    weighted = replace(table, rows=np.ones(len(table), dtype=np.int64), counts_people=False)
    with pytest.raises(InconclusiveError, match="weights"):
        LeaveOneOut(at_most=1.0, people=1, time_limit=1).score(case_of(weighted, retraining(DecisionTreeClassifier())))


COLUMNS = (
    categorical("job", "quasi_identifier", values=("baker", "smith", "judge")),
    numeric("age", "private", missing=True),
    categorical("ill", "class", values=("no", "yes"), missing=True),
)
TOWN = [
    *(("baker", 4.0, "no", 3), ("baker", 5.0, "no", 1), ("baker", 9.0, "yes", 1), ("judge", 4.0, "no", 1)),
    *(("smith", 4.0, "no", 1), ("smith", None, "no", 1), ("smith", 7.0, None, 1)),
]


def town() -> Table:
    return written_table(COLUMNS, [row[:3] for row in TOWN], [row[3] for row in TOWN])


def test_single_outs_come_first_and_then_who_is_far_from_her_class() -> None:
    """The judge is alone with a public record; the ill baker is alone in her class; who has no class is never tried."""
    table = town()
    order, single_outs = people_to_try(table, 10, 0)
    named = [tuple(table.frame.iloc[row].astype(object)) for row in order.tolist()]
    assert single_outs == 1
    assert named[0] == ("judge", 4.0, "no")
    assert named[1] == ("baker", 9.0, "yes")
    assert len(named) == 6
    assert people_to_try(table, 2, 0)[0].tolist() == order[:2].tolist()


def test_the_distance_is_the_mean_to_the_nearest_of_the_class_by_hand() -> None:
    table = town()
    distance = distance_to_own_class(table, np.random.default_rng(0))
    frame = table.frame
    deviation = np.nanstd(table.numbers("age"))
    for row, cells in frame.iterrows():
        apart = []
        for other, others in frame.iterrows():
            same = cells["ill"] == others["ill"] or (cells["ill"] != cells["ill"] and others["ill"] != others["ill"])
            if other != row and same:
                gap = abs(cells["age"] - others["age"]) / deviation
                missing = float((cells["age"] != cells["age"]) != (others["age"] != others["age"]))
                apart.append((cells["job"] != others["job"]) + (missing if np.isnan(gap) else gap))
        expected = np.mean(sorted(apart)[:5]) if apart else np.inf
        assert distance[int(str(row))] == pytest.approx(expected)


def test_one_of_three_equal_people_is_left_out() -> None:
    table = town()
    row = int(np.flatnonzero(table.weight == 3)[0])
    assert without_person(table, row).people == table.people - 1
    assert without_person(table, row).weight.max() == 2
    alone = int(np.flatnonzero(table.weight == 1)[0])
    assert len(without_person(table, alone)) == len(table) - 1


def test_a_policy_trains_its_builders_algorithm_without_single_people() -> None:
    """Leaves of one person depend on her, leaves of many on nobody much; the public sees no number."""
    values = []
    for min_leaf in (1, 60):
        table, _, _ = people(120)
        plugins = load_plugins()
        columns = {name: {"role": "quasi_identifier", "bounds": [-1e9, 1e9]} for name in ("x0", "x1", "x2")} | {
            "y": {"role": ["class", "sensitive"], "values": ["low", "middle"]}
        }
        policy = policy_of(
            {
                "leafgate": 1,
                "name": "one",
                "data": {"columns": columns},
                "build": {"use": "id3", "min_leaf": min_leaf},
                "attacks": [{"use": "linking"}],
                "metrics": [{"use": "leave_one_out", "people": 20, "time_limit": 300, "at_most": 3.0, "seeds": 1}],
            },
            Path(),
        ).policy
        report = audit_policy(policy, plugins, table).report
        result = finding(report, "leave_one_out")
        values.append((result.value, result.passed))
        shown = document(report, "public")["findings"]
        assert all(each["value"] is None for each in shown if each["id"] == "leave_one_out")
    (large, broken), (small, kept) = values
    assert large is not None
    assert small is not None
    assert large == pytest.approx(2 * logit(1.0))
    assert abs(small) < 3
    assert (broken, kept) == (False, True)
