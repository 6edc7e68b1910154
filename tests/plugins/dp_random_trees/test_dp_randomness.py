"""The test whether published counts were drawn as the release claims: what it refuses, and how seldom an honest one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from command_line import leafgate
from dp_survey import COLUMNS, dp_trees, epsilon, laplace_trees, one_sample, problems, released, survey
from example_counts import examples
from kit_scenarios import OneShot
from leafgate import InconclusiveError, Release, Table
from leafgate.api import Ids, Leaf, ScoringContext, leaves, map_leaves
from leafgate.io.release_codec import release_bytes
from leafgate.testing import grant_knowledge
from leafgate_plugins.dp_random_trees.accounting import Forest
from leafgate_plugins.dp_random_trees.mechanisms import Key
from leafgate_plugins.dp_random_trees.options import DifferentialPrivacy
from leafgate_plugins.dp_random_trees.randomness import (
    LEVEL,
    LEVEL_OF_COUNTERS,
    LEVEL_OF_WHOLE,
    LOG_LIMIT,
    Counters,
    adjusted_p_value_of_counters,
    count_tests,
    counters_of,
    log_evidence_against_noise,
    log_evidence_against_sampling,
    smallest_refused_count,
    would_refuse_false_samples,
)
from scoring import score_of_release

TABLE = survey(people=3_000)
BUILDER = dp_trees(combine="sum")
RELEASE = released(BUILDER, TABLE)
NOISY = released(laplace_trees(trees=16, combine="sum"), TABLE)
BROKEN = "not drawn from this table as the release claims"

Draw = Callable[[Ids, np.random.Generator], Ids]


def with_numbers(release: Release, table: Table, draw: Draw, k: int = 10, seed: int = 0) -> Release:
    """The release with other numbers on its leaves: `draw` says them from the people who are there; below k is 0."""
    counters = counters_of(release, table)
    drawn = draw(counters.people, np.random.default_rng(seed))
    numbers = iter(np.where(drawn >= k, drawn, 0).reshape(-1, len(release.classes)).tolist())

    def change(_: Leaf) -> Leaf:
        row = next(numbers)
        label = release.classes[int(np.argmax(row))] if any(row) else None
        return Leaf(label, dict(zip(release.classes, row, strict=True)))

    return replace(release, trees=tuple(map_leaves(tree, change) for tree in release.trees))


FALSE: dict[str, Draw] = {
    "everybody": lambda people, _: people,
    "rounded to the nearest": lambda people, _: np.rint(people / 10).astype(np.int64),
    "rounded down": lambda people, _: people // 10,
    "rounded up": lambda people, _: -(-people // 10),
    "a lower rate": lambda people, rng: rng.binomial(people, 0.08),
    "a higher rate": lambda people, rng: rng.binomial(people, 0.12),
    "the mean of eight samples": lambda people, rng: np.rint(
        rng.binomial(people, 0.1, (8, len(people))).mean(axis=0)
    ).astype(np.int64),
    "rates that differ from leaf to leaf": lambda people, rng: rng.binomial(
        people, rng.uniform(0.02, 0.18, len(people))
    ),
    "nothing shown": lambda people, _: np.zeros_like(people),
    "everybody in one leaf of twenty, and samples": lambda people, rng: np.where(
        rng.random(len(people)) < 0.05, people, rng.binomial(people, 0.1)
    ),
}


@pytest.mark.parametrize("kind", FALSE)
def test_numbers_that_no_sample_at_the_claimed_rate_shows_are_refused(kind: str) -> None:
    twin = with_numbers(RELEASE, TABLE, FALSE[kind])
    assert epsilon(twin, TABLE) == np.inf
    assert any(BROKEN in result for result in problems(twin, TABLE)["broken"])


def test_numbers_drawn_as_claimed_are_not_refused() -> None:
    drawn = with_numbers(RELEASE, TABLE, lambda people, rng: rng.binomial(people, 0.1))
    assert epsilon(drawn, TABLE) == epsilon(RELEASE, TABLE) == RELEASE.guarantee["epsilon"]["at_most"]


def test_samples_of_other_people_are_refused() -> None:
    table, other = survey(people=10_000), survey(people=10_000, seed=1)
    ages = other.frame.assign(age=100 - other.frame["age"])
    assert epsilon(released(BUILDER, Table(other.schema, ages, other.weight)), table) == np.inf


@pytest.mark.parametrize("kind", ["one sample for all trees", "samples of a fixed size"])
def test_samples_that_are_not_each_trees_own_coins_are_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, builder = survey(people=10_000), dp_trees(trees=16, combine="sum")

    def drawn(people: Ids, beta: float, key: Key) -> Ids:
        if kind == "one sample for all trees":
            return people
        return np.asarray(key.generator().multivariate_hypergeometric(people, int(beta * people.sum())))

    counted = one_sample(table, 0.1, Key(bytes(32))) if kind == "one sample for all trees" else table
    monkeypatch.setattr("leafgate_plugins.dp_random_trees.builder.sample_counts", drawn)
    twin = released(builder, counted)
    assert log_evidence_against_sampling(counters_of(twin, table), 10, 0.1) >= LOG_LIMIT


@pytest.mark.parametrize("people", [20, 40, 60])
@pytest.mark.thorough
def test_one_exact_leaf_among_samples_is_refused(people: int) -> None:
    honest = released(dp_trees(trees=4, k=20, beta=0.35, combine="sum"), TABLE)
    tables = (survey(people=size) for size in itertools.count(400))
    table = next(table for table in tables if people in counters_of(honest, table).people)
    drawn = with_numbers(honest, table, lambda n, rng: rng.binomial(n, 0.35), 20)
    at = list(counters_of(honest, table).people).index(people)
    exact = with_numbers(honest, table, lambda n, rng: np.where(np.arange(len(n)) == at, n, rng.binomial(n, 0.35)), 20)
    assert epsilon(drawn, table) == honest.guarantee["epsilon"]["at_most"]
    assert epsilon(exact, table) == np.inf
    assert any(BROKEN in result for result in problems(exact, table)["broken"])


@pytest.mark.thorough
def test_a_loaded_release_is_inconclusive_where_a_number_could_be_exact_unnoticed() -> None:
    table, builder = survey(people=700), dp_trees(k=20, beta=0.6, delta=0.01, combine="sum")
    release = released(builder, table)
    case = ScoringContext(table, None, release, grant_knowledge(table))
    metric = DifferentialPrivacy(at_most=100, delta=0.01)
    with pytest.raises(InconclusiveError, match="numbers that are sampled from one exact count below 23"):
        score_of_release(metric, case)
    built = metric.score(replace(case, builder=OneShot(use=case.release.builder["use"])))
    assert built.evidence["would_refuse"][-1].startswith("one exact count of 23 or more among ")


PEOPLE = st.lists(st.integers(0, 60), min_size=1, max_size=40)


def only(people: Ids, shown: Mapping[int, int]) -> Counters:
    """Counters of a tree that all show 0 but some."""
    none = np.zeros_like(people)
    published = none.copy()
    published[list(shown)] = list(shown.values())
    return Counters(none, none, people, published)


@given(PEOPLE, st.integers(1, 20), st.floats(0.05, 0.95))
def test_single_counters_refuse_honest_releases_with_the_stated_probability_at_most(
    drawn: list[int], k: int, beta: float
) -> None:
    """Exactly: counters are independent, and the release is accepted where each number is, whatever the others show."""
    people, accepted = np.array(drawn), 1.0
    refused = {
        n: [
            s
            for s in range(k, n + 1)
            if adjusted_p_value_of_counters(only(people, {at: s}), k, beta) <= LEVEL_OF_COUNTERS
        ]
        for n, at in ((int(n), int(np.flatnonzero(people == n)[0])) for n in np.unique(people))
    }
    for n in drawn:
        accepted *= 1 - float(stats.binom.pmf(refused[n], n, beta).sum())
    assert 1 - accepted <= LEVEL_OF_COUNTERS
    assert LEVEL_OF_COUNTERS + LEVEL_OF_WHOLE <= LEVEL


@given(PEOPLE, st.integers(1, 20), st.floats(0.05, 0.95))
def test_the_count_tests_are_the_fewest_among_which_the_level_can_be_divided(
    drawn: list[int], k: int, beta: float
) -> None:
    def attainable(m: int) -> int:
        return sum(beta**n <= LEVEL_OF_COUNTERS / m for n in drawn if n >= k)

    assert count_tests(np.array(drawn), k, beta) == next(m for m in itertools.count(1) if attainable(m) <= m)


@given(PEOPLE, st.integers(1, 20), st.floats(0.05, 0.95), st.integers(0, 50))
def test_an_exact_count_from_the_stated_one_on_is_refused_in_every_table(
    drawn: list[int], k: int, beta: float, more: int
) -> None:
    exact = smallest_refused_count(len(drawn), k, beta) + more
    people = np.array([exact, *drawn[1:]])
    assert adjusted_p_value_of_counters(only(people, {0: exact}), k, beta) <= LEVEL_OF_COUNTERS
    assert exact == k + more or beta ** (exact - more - 1) > LEVEL_OF_COUNTERS / len(drawn)


@given(st.integers(1, 200), st.integers(1, 50), st.floats(0.01, 0.9), st.integers(1, 900))
def test_where_delta_is_small_every_exact_count_is_refused(trees: int, k: int, beta: float, counters: int) -> None:
    if Forest(k, beta, trees).floor <= 1e-6:
        assert smallest_refused_count(counters * trees, k, beta) == k


@pytest.mark.parametrize(("people", "refused"), [(300, False), (500, True)])
@pytest.mark.parametrize("others", [0, 100, 1000])
def test_a_number_that_is_too_small_is_refused_only_where_it_is_next_to_impossible(
    people: int, refused: bool, others: int
) -> None:
    rng = np.random.default_rng(0)
    there = np.array([people, *rng.integers(50, 1000, others)])
    sample = np.array([0, *rng.binomial(there[1:], 0.1)])
    none = np.zeros_like(there)
    counters = Counters(none, none, there, np.where(sample >= 10, sample, 0))
    assert (log_evidence_against_sampling(counters, 10, 0.1) >= LOG_LIMIT) is refused
    assert adjusted_p_value_of_counters(counters, 10, 0.1) > LEVEL_OF_COUNTERS


@pytest.mark.parametrize(("many", "refused"), [(3, False), (5, True)])
def test_a_few_numbers_that_are_too_large_and_not_exact_pass_and_more_are_refused(many: int, refused: bool) -> None:
    rng = np.random.default_rng(0)
    there = np.array([20] * many + rng.integers(20, 800, 108 - many).tolist())
    sample = np.array([14] * many + rng.binomial(there[many:], 0.25).tolist())
    trees = np.sort(np.arange(108) % 8)
    counters = Counters(trees, np.zeros_like(trees), there, np.where(sample >= 10, sample, 0))
    assert (log_evidence_against_sampling(counters, 10, 0.25) >= LOG_LIMIT) is refused
    assert adjusted_p_value_of_counters(counters, 10, 0.25) > LEVEL_OF_COUNTERS


def noisy(people: Ids, scale: float, rng: np.random.Generator) -> Ids:
    """The people with discrete Laplace noise."""
    return np.asarray(np.maximum(people + stats.dlaplace(1 / scale).rvs(len(people), random_state=rng), 0))


NOISELESS: dict[str, Draw] = {
    "everybody": lambda people, _: people,
    "half of the noise": lambda people, rng: noisy(people, 5.0, rng),
    "twice the noise": lambda people, rng: noisy(people, 20.0, rng),
    "a part of the people": lambda people, rng: rng.binomial(people, 0.5),
}


@pytest.mark.parametrize("kind", NOISELESS)
def test_numbers_without_the_claimed_noise_are_refused(kind: str) -> None:
    twin = with_numbers(NOISY, TABLE, NOISELESS[kind], k=1)
    assert epsilon(twin, TABLE) == np.inf
    assert epsilon(NOISY, TABLE) == NOISY.guarantee["epsilon"]["at_most"]


COUNTERS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=4)


@examples(1 / 4)
@given(COUNTERS, st.integers(1, 3), st.floats(0.05, 0.95))
def test_the_expectation_under_the_claim_is_at_most_1(drawn: list[tuple[int, int, int]], k: int, beta: float) -> None:
    """Summed over every outcome: so an honest release is refused with probability LEVEL at most (Markov)."""
    tree, label, people = (np.array(column, dtype=np.int64) for column in zip(*sorted(drawn), strict=True))
    expected = 0.0
    for sample in itertools.product(*(range(n + 1) for n in people)):
        shown = np.array([n if n >= k else 0 for n in sample], dtype=np.int64)
        found = log_evidence_against_sampling(Counters(tree, label, people, shown), k, beta)
        expected += float(np.exp(found) * stats.binom.pmf(sample, people, beta).prod())
    assert expected <= 1 + 1e-9


@pytest.mark.parametrize(("scale", "people"), [(0.3, (0, 3)), (2.0, (4,))])
@pytest.mark.thorough
def test_the_expectation_under_the_claimed_noise_is_at_most_1(scale: float, people: tuple[int, ...]) -> None:
    law, none, reach = stats.dlaplace(1 / scale), np.zeros(len(people), dtype=np.int64), round(40 * scale)
    expected = 0.0
    for noise in itertools.product(range(-reach, reach + 1), repeat=len(people)):
        shown = np.maximum(np.array(people) + np.array(noise), 0)
        found = log_evidence_against_noise(Counters(none, none, np.array(people), shown), scale)
        expected += float(np.exp(found) * law.pmf(noise).prod())
    assert expected <= 1 + 1e-9


def test_a_number_that_no_sample_has_is_infinite_evidence() -> None:
    tree, people = np.zeros(1, dtype=np.int64), np.array([30])
    for shown in (31, 9):
        assert log_evidence_against_sampling(Counters(tree, tree, people, np.array([shown])), 10, 0.5) == np.inf


def test_without_people_or_trees_there_is_no_evidence() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert log_evidence_against_sampling(Counters(none, none, none, none), 10, 0.5) == 0.0
    assert log_evidence_against_noise(Counters(none, none, none, none), 1.0) == 0.0


FEW: Mapping[str, tuple[Table, Any]] = {
    "few people": (survey(people=60), dp_trees(k=5, combine="sum")),
    "nearly everybody sampled": (survey(people=200), dp_trees(k=1, beta=0.98, trees=2, combine="sum", delta=0.9999)),
    "nearly no noise": (survey(people=200), laplace_trees(scale=0.002, combine="sum")),
    "one number with noise": (survey(people=200), laplace_trees(trees=1, combine="sum")),
}


@pytest.mark.parametrize("name", FEW)
@pytest.mark.thorough
def test_only_a_release_built_in_the_audit_passes_where_false_numbers_are_invisible(name: str) -> None:
    table, builder = FEW[name]
    release = released(builder, table)
    metric = DifferentialPrivacy(at_most=1, delta=builder.delta)
    case = ScoringContext(table, None, release, grant_knowledge(table))
    with pytest.raises(InconclusiveError, match="shows too little to tell numbers that are"):
        score_of_release(metric, case)
    assert (
        score_of_release(metric, replace(case, builder=OneShot(use=case.release.builder["use"])))
        == release.guarantee["epsilon"]["at_most"]
    )


def test_what_the_test_could_see_is_told_from_the_release_alone() -> None:
    counters = counters_of(RELEASE, TABLE)
    unknown = replace(counters, people=np.zeros_like(counters.people))
    seen = would_refuse_false_samples(counters, 10, 0.1)
    single = f"one exact count of 10 or more among {len(counters.people)} counters"
    expected = {"exact counts": True, "rounded counts": True, single: True}
    assert seen == would_refuse_false_samples(unknown, 10, 0.1) == expected


POLICY = """\
leafgate: 1
name: survey
data:
  path: people.csv
  columns:
    q0: {role: quasi_identifier, values: [a, b, c]}
    q1: {role: quasi_identifier, values: [a, b, c]}
    q2: {role: quasi_identifier, values: [a, b, c]}
    q3: {role: quasi_identifier, values: [a, b, c]}
    age: {role: quasi_identifier, bounds: [0, 100]}
    truth: {role: [class, sensitive], values: ["no", "yes"]}
build: BUILD
publish: {leaves: counts, measure: true}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, average: true, at_least: 1.25}]
"""
BUILT = "{use: dp_random_trees, trees: 8, k: 10, beta: 0.1, delta: 1.0e-4, combine: sum}"


def audited(folder: Path, build: str) -> Any:
    """An audit whose policy does not ask for the metric: the finding is the claim's."""
    TABLE.frame[[column.name for column in COLUMNS]].loc[TABLE.frame.index.repeat(TABLE.weight)].to_csv(
        folder / "people.csv", index=False
    )
    (folder / "policy.yaml").write_text(POLICY.replace("BUILD", build))
    ended = leafgate("audit", folder / "policy.yaml", "--json", "--out", folder / "out")
    claims = {found["id"]: found for found in ended.document["findings"]}
    return ended.code, claims


@pytest.mark.thorough
def test_every_audit_of_exact_counts_that_claim_to_be_sampled_ends_in_1(tmp_path: Path) -> None:
    release = with_numbers(RELEASE, TABLE, FALSE["everybody"])
    (tmp_path / "release.json").write_bytes(release_bytes(release))
    code, findings = audited(tmp_path, "{use: published, path: release.json}")
    assert (code, findings["guarantee:epsilon"]["passed"]) == (1, False)
    assert any(BROKEN in result for result in findings["guarantee:epsilon"]["evidence"]["broken"])


@pytest.mark.thorough
def test_an_honest_release_passes_and_its_public_report_has_no_number_of_the_test(
    tmp_path: Path,
) -> None:
    code, findings = audited(tmp_path, BUILT)
    assert (code, findings["guarantee:epsilon"]["passed"]) == (0, True)
    release = (tmp_path / "out" / "release.json").read_bytes()
    (tmp_path / "release.json").write_bytes(release)
    (tmp_path / "out" / "release.json").unlink()
    code, findings = audited(tmp_path, "{use: published, path: release.json}")
    assert (code, findings["guarantee:epsilon"]["passed"]) == (0, True)
    evidence = findings["guarantee:epsilon"]["evidence"]
    *all_counts, single = evidence["would_refuse"]
    assert (evidence["honest_refused_at_most"], all_counts) == (1e-3, ["exact counts", "rounded counts"])
    assert single.startswith("one exact count of 10 or more among ")
    hidden = ("log10_evidence", "adjusted_p_value", "counters_tested")
    assert not any(name in json.dumps(findings) for name in hidden)


def test_exact_counts_called_sampled_without_a_claim_are_inconclusive(tmp_path: Path) -> None:
    exact = with_numbers(RELEASE, TABLE, FALSE["everybody"], k=0)
    silent = replace(exact, builder={"use": "somebody's"}, guarantee={})
    (tmp_path / "release.json").write_bytes(release_bytes(silent))
    code, findings = audited(tmp_path, "{use: published, path: release.json}")
    assert (code, findings["counted"]["passed"]) == (3, None)
    assert "`counted` must say exact" in findings["counted"]["evidence"]["problem"]


def test_a_leaf_short_of_everybody_may_be_a_sample() -> None:
    from leafgate.algorithms.consistency import is_exact_despite_label

    exact = replace(with_numbers(RELEASE, TABLE, FALSE["everybody"], k=0), guarantee={})
    assert is_exact_despite_label(exact, TABLE)
    assert not is_exact_despite_label(replace(RELEASE, guarantee={}), TABLE)
    assert not is_exact_despite_label(replace(exact, count_semantics="exact"), TABLE)
    assert sum(sum((leaf.counts or {}).values()) for leaf in leaves(exact.trees[0])) == TABLE.total_weight
