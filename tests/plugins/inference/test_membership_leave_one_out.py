"""One person's influence is what a refit without her says; only learners without random numbers keep a limit."""

from __future__ import annotations

import itertools
import math
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from exclusion_worlds import schema_of, table_of
from leafgate import InconclusiveError, Release, Table
from leafgate.api import AdversaryKnowledge, Score, ScoringContext
from leafgate.app import Finding, Tables, audit_policy, document, load_plugins, policy_of
from leafgate_plugins.inference.game import rows_of
from leafgate_plugins.inference.membership.leave_one_out import (
    ALTERED_RECORDS,
    SEEDS_OF_TABLE,
    SEEDS_WITHOUT_PERSON,
    LeaveOneOut,
    Refits,
    influences,
    least_mean,
    people_to_try,
    with_altered_records,
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
    return table, features(table), table.codes("y")


def features(table: Table) -> NDArray[np.float64]:
    return np.column_stack([table.numbers(column.name) for column in table.schema.features])


def retraining(model: Any) -> Any:
    """A `retrain` that fits a scikit-learn classifier on each person of a table."""

    def retrain(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
        fitted = clone(model).set_params(random_state=seed)
        fitted.fit(np.repeat(features(own), own.persons, axis=0), np.repeat(own.codes("y"), own.persons))
        scores = np.zeros((len(asked), 2))
        scores[:, fitted.classes_] = fitted.predict_proba(features(asked))
        return scores

    return retrain


def logit(p: float) -> float:
    return math.log((p + 1e-3) / (1 - p + 1e-3))


def case_of(table: Table, retrain: Any, audited: Any = None, seed: int = 0) -> ScoringContext:
    """What a metric is given of a release, which is that of the classifier `audited` fitted on the table, or empty."""
    known = AdversaryKnowledge(table.schema, table.public[0], retrain=retrain, seed=seed)
    release = Release({"use": "t"}, table.schema)
    if audited is not None:
        people, classes = np.repeat(features(table), table.persons, axis=0), np.repeat(table.codes("y"), table.persons)
        release = release_of(audited.fit(people, classes), table)
    return ScoringContext(table, None, release, known)


def verdict(metric: LeaveOneOut, score: Score) -> bool | None:
    """Whether the limit is kept, as the engine decides; None where that is inconclusive."""
    assert score.value is not None
    kept = {metric.holds(end) for end in score.interval or (score.value,)}
    passed = kept.pop() if len(kept) == 1 else None
    return None if passed and score.insufficient else passed


def refits_of(retrain: Any, table: Table, tried: NDArray[np.int64]) -> Refits:
    return Refits(retrain, table, tried, 0, time.monotonic() + 60)


@pytest.mark.parametrize("model", [DecisionTreeClassifier(min_samples_leaf=3), RandomForestClassifier(5)])
def test_the_influence_is_the_mean_difference_of_refits_with_scikit_learn_alone(model: Any) -> None:
    table, x, y = people(40)
    drawn: dict[float | None, list[int]] = defaultdict(list)

    def retrain(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
        missing = set(x[:, 0]) - set(own.numbers("x0"))
        drawn[missing.pop() if missing else None].append(seed)
        return np.asarray(retraining(model)(own, asked, seed))

    def mean_logit(row: int, left_out: int | None) -> float:
        kept = np.arange(len(x)) != left_out
        seeds = drawn[None if left_out is None else x[left_out, 0]]
        fitted = (clone(model).set_params(random_state=seed).fit(x[kept], y[kept]) for seed in seeds)
        return float(np.mean([logit(each.predict_proba(x[[row]])[0, y[row]]) for each in fitted]))

    tried = np.array([3, 11, 20])
    found = influences(refits_of(retrain, table, tried), 4)
    own = [mean_logit(row, None) - mean_logit(row, row) for row in tried.tolist()]
    others = [
        mean_logit(row, None) - mean_logit(row, out) for row in tried.tolist() for out in tried.tolist() if row != out
    ]
    assert found.own == pytest.approx(own)
    assert sorted(found.of_others) == pytest.approx(sorted(others))
    seeds = list(itertools.chain.from_iterable(drawn.values()))
    assert len(seeds) == len(set(seeds))


LAWS: dict[str, Callable[[np.random.Generator], NDArray[Any]]] = {
    "two points, rarely high": lambda rng: 13.8 * (rng.random(32) < 0.09),
    "two points, mostly high": lambda rng: np.where(rng.random(32) < 0.95, 13.8, -13.8),
    "two points, rarely low": lambda rng: np.where(rng.random(32) < 0.995, 13.8, -13.8),
    "normal": lambda rng: rng.normal(3, 0.5, 32),
    "uniform": lambda rng: rng.uniform(-13.8, 13.8, 32),
}
MEANS = {
    "two points, rarely high": 13.8 * 0.09,
    "two points, mostly high": 13.8 * 0.9,
    "two points, rarely low": 13.8 * 0.99,
    "normal": 3,
    "uniform": 0,
}


@pytest.mark.parametrize("law", LAWS)
def test_the_least_mean_is_above_the_mean_in_few_of_2000_samples(law: str) -> None:
    rng = np.random.default_rng(0)
    missed = sum(least_mean(LAWS[law](rng), -13.82, 0.05) > MEANS[law] for _ in range(2000))
    assert missed <= 0.05 * 2000


def test_the_least_mean_of_equal_values_is_by_the_law_of_two_points() -> None:
    """Of laws from 0 to 1 one with the mean p gives 32 values of 1 with at most the probability p^32."""
    assert least_mean(np.ones(32), 0.0, 0.05) == pytest.approx(0.05 ** (1 / 32))
    assert least_mean(np.array([]), -13.82, 0.05) == -13.82


def blobs(odd: int, n_features: int) -> Table:
    """120 people, two classes that each column separates, but for one person in the first `odd` columns."""
    y = np.arange(120) % 2
    x = np.random.default_rng(3).normal(0, 1, (120, n_features)) + 20 * y[:, None]
    x[119, :odd] -= 25
    return table_of(schema_of(x, 2), x, y)


@pytest.mark.parametrize("seeds", [1, 8])
@pytest.mark.parametrize("many", [1, 5])
def test_a_rare_influence_of_a_learner_that_draws_never_passes(seeds: int, many: int) -> None:
    """Without the odd person each of eleven columns is drawn with equal probability, and one of them gets her wrong."""
    table = blobs(1, 11)
    model = DecisionTreeClassifier(max_features=1)
    rare = retraining(model)
    odd = np.flatnonzero((table.codes("y") == 1) & (table.numbers("x0") < 5))
    others, her = without_person(table, int(odd[0])), rows_of(table, odd)
    wrong = np.mean([rare(others, her, seed)[0, 1] == 0 for seed in range(400)])
    assert 0.05 < wrong < 0.14
    metric = LeaveOneOut(at_most=1.0, people=many, time_limit=60, seeds=seeds)
    for seed in range(12):
        score = metric.score(case_of(table, rare, model, seed))
        assert odd[0] in people_to_try(table, many, seed)[0]
        passed = verdict(metric, score)
        assert passed is not True
        assert passed is False or "random numbers" in score.insufficient
        assert passed is False or "{use: lira}" in str(score.remedy)


def test_a_learner_that_draws_only_without_one_person_never_passes() -> None:
    """With her one column is better than the other; without her they are equally good, and scikit-learn draws one."""
    table = blobs(1, 2)
    for seeds, limit in ((1, 13.0), (8, 13.0), (8, 1.0)):
        metric = LeaveOneOut(at_most=limit, people=3, time_limit=60, seeds=seeds)
        for seed in range(6):
            case = case_of(table, retraining(DecisionTreeClassifier()), DecisionTreeClassifier(random_state=0), seed)
            assert verdict(metric, metric.score(case)) is not True
    refits = refits_of(retraining(DecisionTreeClassifier()), table, people_to_try(table, 3, 0)[0])
    everybody = refits.on_table(1, SEEDS_OF_TABLE)
    assert everybody is not None
    assert everybody.repeats
    assert not influences(refits, 1).repeats


def test_models_that_agree_about_all_people_are_told_apart_by_altered_records() -> None:
    """A full tree that draws columns gives each person of its table her own class, whatever the seed."""
    table, _, _ = people()
    refits = refits_of(retraining(DecisionTreeClassifier(max_features=1)), table, np.arange(len(table)))
    found = refits.on_table(8, SEEDS_OF_TABLE)
    assert found is not None
    assert len(np.unique(found.logits)) == 1
    assert not found.repeats


def test_altered_records_have_one_cell_of_somebody_else() -> None:
    table = town()
    asked = with_altered_records(table, np.array([4, 0]), np.random.default_rng(0))
    cells = asked.frame.astype(object).where(asked.frame.notna(), None).to_numpy()
    of_table = table.frame.astype(object).where(table.frame.notna(), None).to_numpy()
    assert cells[:2].tolist() == of_table[[4, 0]].tolist()
    altered = cells[2:].reshape(2, ALTERED_RECORDS, -1)
    differ = altered != cells[:2, None]
    assert differ.sum(axis=2).max() == 1
    assert differ[:, :, :2].any(axis=1).all()
    assert not differ[:, :, 2].any()
    assert all(set(altered[:, :, i].flat) <= set(of_table[:, i]) for i in range(3))


def test_a_small_influence_of_a_learner_without_random_numbers_passes_and_a_large_one_fails() -> None:
    """With one column scikit-learn's tree is the same whatever its seed; the limits are next to the true maximum."""
    table, _, _ = people()
    table = table.project(["x0", "y"])[0]
    for model, many in ((DecisionTreeClassifier(min_samples_leaf=20), 20), (DecisionTreeClassifier(max_depth=1), 40)):
        rows_tried = people_to_try(table, many, 0)[0]
        x, y = features(table), table.codes("y")
        largest = -np.inf
        for row in rows_tried.tolist():
            kept = np.arange(len(y)) != row
            whole, without = (
                clone(model).set_params(random_state=5).fit(x[of], y[of]).predict_proba(x[[row]])[0, y[row]]
                for of in (y >= 0, kept)
            )
            largest = max(largest, logit(whole) - logit(without))
        case = case_of(table, retraining(model), clone(model))
        kept, broken = (LeaveOneOut(at_most=largest + more, people=many, time_limit=60) for more in (1e-6, -1e-6))
        score = kept.score(case)
        assert score.value == pytest.approx(largest)
        assert score.interval is None
        assert verdict(kept, score) is True
        assert verdict(broken, broken.score(case)) is False
        with_one_seed = LeaveOneOut(at_most=largest + 1e-6, people=many, time_limit=60, seeds=1)
        assert verdict(with_one_seed, with_one_seed.score(case)) is True


def test_a_forest_that_learns_one_person_by_heart_breaks_the_limit_with_one_seed_too() -> None:
    table = blobs(1, 1)
    metric = LeaveOneOut(at_most=2.0, people=3, time_limit=60, seeds=1)
    case = case_of(table, retraining(RandomForestClassifier(20)), RandomForestClassifier(20, random_state=0))
    score = metric.score(case)
    assert verdict(metric, score) is False
    assert score.insufficient == ""
    assert score.interval is not None
    assert score.value is not None
    assert 2 < score.interval[0] <= score.value <= score.interval[1]


def test_a_time_limit_leaves_the_limit_inconclusive_and_says_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which each look takes a second: one for each model."""
    table, _, _ = people(40)
    table = table.project(["x0", "y"])[0]
    seconds = itertools.count()
    monkeypatch.setattr("leafgate_plugins.inference.membership.leave_one_out.time.monotonic", lambda: next(seconds))
    model = DecisionTreeClassifier(max_depth=1)
    case = case_of(table, retraining(model), clone(model))
    enough = SEEDS_OF_TABLE + 10 * SEEDS_WITHOUT_PERSON + 0.5
    score = LeaveOneOut(at_most=13.0, people=40, time_limit=enough).score(case)
    assert "time limit" in score.insufficient
    assert score.value is not None
    assert LeaveOneOut(at_most=13.0, people=3, time_limit=enough).score(case).insufficient == ""
    with pytest.raises(InconclusiveError, match="time limit"):
        LeaveOneOut(at_most=13.0, people=40, time_limit=SEEDS_OF_TABLE - 0.5).score(case)


def test_the_influence_in_models_of_another_kind_is_no_reason_for_a_pass() -> None:
    table, _, _ = people()
    table = table.project(["x0", "y"])[0]
    stump = DecisionTreeClassifier(max_depth=1, min_samples_leaf=20)
    case = case_of(table, retraining(stump), DecisionTreeClassifier())
    score = LeaveOneOut(at_most=2.0, people=5, time_limit=60).score(case)
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


def test_one_of_three_equal_people_is_left_out() -> None:
    table = town()
    row = int(np.flatnonzero(table.weight == 3)[0])
    assert without_person(table, row).total_weight == table.total_weight - 1
    assert without_person(table, row).weight.max() == 2
    alone = int(np.flatnonzero(table.weight == 1)[0])
    assert len(without_person(table, alone)) == len(table) - 1


def findings_of(build: dict[str, Any]) -> tuple[Finding, list[dict[str, Any]]]:
    """The finding of a policy with this builder, and what a public report has of it."""
    table, _, _ = people(120)
    columns = {name: {"role": "quasi_identifier", "bounds": [-5e3, 5e3]} for name in ("x0", "x1", "x2")} | {
        "y": {"role": ["class", "sensitive"], "values": ["low", "middle"]}
    }
    policy = policy_of(
        {
            "leafgate": 1,
            "name": "one",
            "data": {"columns": columns},
            "build": build,
            "attacks": [{"use": "linking"}],
            "metrics": [{"use": "leave_one_out", "people": 10, "time_limit": 300, "at_most": 3.0}],
        },
        Path(),
    ).policy
    report = audit_policy(policy, load_plugins(), Tables(table)).report
    shown = [each for each in document(report, "public")["findings"] if each["id"] == "leave_one_out"]
    return finding(report, "leave_one_out"), shown


def test_a_policy_trains_its_builders_algorithm_without_single_people() -> None:
    """Leaves of one person depend on her, leaves of many on nobody much; the public sees no number."""
    (large, shown), (small, also_shown) = (findings_of({"use": "id3", "min_leaf": least}) for least in (1, 60))
    assert large.value == pytest.approx(2 * logit(1.0))
    assert small.value is not None
    assert abs(small.value) < 3
    assert (large.passed, small.passed) == (False, True)
    assert [each["value"] for each in shown + also_shown] == [None, None]


def test_a_policy_with_random_trees_is_inconclusive_and_refers_to_lira() -> None:
    found, shown = findings_of({"use": "random_trees", "trees": 3, "structure": "random"})
    assert found.passed is None
    assert "random numbers" in found.evidence["problem"]
    assert any("{use: lira}" in remedy.text for remedy in found.remedies)
    assert [each["value"] for each in shown] == [None]
