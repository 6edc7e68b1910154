"""The attack that tries to refute epsilon: it leaves honest builders alone, and catches broken ones."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dp_survey import TRUTH, attacked, dp_trees, laplace_trees, one_sample, released, survey
from leafgate import InconclusiveError, Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import BuildResult, Ids, MechanismBelief, Publish, Schema, TreeBuilder
from leafgate.testing import grant_knowledge, validate_belief
from leafgate_plugins.dp_random_trees.accounting import choose_forest
from leafgate_plugins.dp_random_trees.builder import dp_random_trees
from leafgate_plugins.dp_random_trees.distinguish.attack import (
    choose_test,
    claim_of,
    estimate_epsilon,
    from_errors,
    from_one_run,
    plan_runs,
    seconds_of_a_run,
)
from leafgate_plugins.dp_random_trees.distinguish.neighbours import neighbouring_tables
from leafgate_plugins.dp_random_trees.mechanisms import Key, discrete_laplace
from leafgate_plugins.dp_random_trees.options import Distinguish, DpRandomTrees, RandomTrees
from random_tables import categorical, table_of

pytestmark = pytest.mark.thorough

TABLE = survey(people=200)


def tried(builder: TreeBuilder, runs: int = 100, seed: int = 0, method: str = "many_runs") -> MechanismBelief:
    release = released(builder, TABLE)
    attack = Distinguish.model_validate({"use": "distinguish", "runs": runs, "method": method})
    known = attacked(builder, TABLE, seed)
    belief = validate_belief(attack.infer(release, known)[0], known)
    assert isinstance(belief, MechanismBelief)
    return belief


def refuted(builder: TreeBuilder, runs: int = 100, seed: int = 0, method: str = "many_runs") -> bool:
    belief = tried(builder, runs, seed, method)
    assert (belief.evidence["epsilon_at_least"] > belief.evidence["claimed"]) == bool(belief.refutes)
    return bool(belief.refutes)


@pytest.mark.parametrize("builder", [dp_trees(), dp_trees(neighbours="replace_one"), laplace_trees()])
def test_an_honest_builder_is_not_refuted(builder: TreeBuilder) -> None:
    belief = tried(builder, runs=60)
    assert (belief.tries, belief.refutes) == (("epsilon",), ())
    assert "this proves nothing" in belief.evidence["says"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["many_runs", "one_run"])
def test_of_200_honest_runs_no_more_than_chance_allows_are_flagged(method: str) -> None:
    flagged = sum(refuted(dp_trees(trees=4, depth=1), runs=40, seed=seed, method=method) for seed in range(200))
    assert flagged <= stats.binom.ppf(0.999, 200, 0.05)


def fixed_size(weight: Ids, beta: float, key: Key) -> Ids:
    """A sample of a fixed part of the people."""
    return np.asarray(key.generator().multivariate_hypergeometric(weight, int(beta * weight.sum())))


def from_the_data(schema: Schema, table: Table) -> Schema:
    """Bounds that are those of the people who are there."""
    ages = table.numbers("age")
    bounds = (float(ages.min()), float(ages.max()))
    return Schema(tuple(replace(c, bounds=bounds) if c.name == "age" else c for c in schema.columns))


def test_a_sample_of_a_fixed_size_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leafgate_plugins.dp_random_trees.builder.sample_counts", fixed_size)
    assert refuted(dp_trees())


def test_thresholds_from_the_data_are_refuted() -> None:
    builder = dp_trees()

    def mechanism(own: Table, rng: np.random.Generator) -> Release:
        schema = from_the_data(own.schema, own)
        built = BuildResult.of(builder.mechanism_only.build(Table(schema, own.frame, own.weight), rng))
        return published(replace(built.release, schema=own.schema), Publish(), frozenset())

    known = grant_knowledge(TABLE, mechanism=mechanism)
    belief = Distinguish(runs=100).infer(released(builder, TABLE), known)[0]
    found = belief.evidence
    assert belief.refutes == ("epsilon",)
    assert (found["world"], found["by"]) == ("unlike", "highest cut of age")


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_one_sample_for_all_trees_is_refuted(monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    """Where others are like the person in part, each tree counts them with other people, and they cannot hide.

    One in ten samples has the person, whatever the number of trees; so it takes a few thousand runs.
    """
    builder = dp_trees(trees=150, k=5, delta=0.02)
    asked = tuple(categorical(f"q{i}", "quasi_identifier", values=("a", "b")) for i in range(24))
    table = table_of((*asked, TRUTH), [(*"a" * 24, "no")])
    claim = released(builder, table).guarantee["epsilon"]
    if shared:
        monkeypatch.setattr("leafgate_plugins.dp_random_trees.builder.dp_random_trees", shared_sample)
        monkeypatch.setattr("leafgate_plugins.dp_random_trees.builder.sample_counts", lambda people, beta, key: people)
    world = next(w for w in neighbouring_tables(table.schema, 5, 0.1, 2, replaced=False) if w.name == "alike in part")
    mechanism = attacked(builder, table).mechanism
    assert mechanism is not None
    rng = np.random.default_rng(0)
    test = choose_test(world, mechanism, 1_000, claim["delta"], rng)
    epsilon = estimate_epsilon(test, mechanism, 1_000, claim["delta"], 0.95, rng)
    assert (epsilon > claim["at_most"]) == shared


def shared_sample(options: DpRandomTrees, table: Table, rng: np.random.Generator) -> Release:
    """Trees that all count the people of one sample."""
    promised = choose_forest(options)
    return dp_random_trees(options, one_sample(table, promised.beta, Key.drawn(rng)), rng)


@pytest.mark.parametrize("text", ["suppressed", "people"])
def test_what_is_told_beside_the_trees_is_refuted(text: str) -> None:
    builder = dp_trees()

    def mechanism(own: Table, rng: np.random.Generator) -> Release:
        built = BuildResult.of(builder.mechanism_only.build(own, rng))
        release = published(built.release, Publish(), frozenset())
        return replace(release, selection={**(release.selection or {}), text: [own.total_weight, 3]})

    known = grant_knowledge(TABLE, mechanism=mechanism)
    assert Distinguish(runs=100).infer(released(builder, TABLE), known)[0].refutes == ("epsilon",)


def test_half_of_the_noise_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_little(scale: float, size: int, key: Key) -> Ids:
        return discrete_laplace(scale / 10, size, key)

    monkeypatch.setattr("leafgate_plugins.dp_random_trees.builder.discrete_laplace", too_little)
    assert refuted(laplace_trees(trees=4, scale=4.0), runs=200)


def test_without_a_threshold_and_with_everybody_one_run_is_enough() -> None:
    """Counts of everybody, claimed to be private: who is there is read off."""
    exact = RandomTrees(trees=30, depth=4, combine="sum")
    claim = dp_trees(k=5, trees=1, depth=4).model_dump()

    def mechanism(own: Table, rng: np.random.Generator) -> Release:
        return published(exact.build(own, rng), Publish(), frozenset())

    release = replace(released(dp_trees(), TABLE), builder=claim | {"beta": 0.9})
    found = (
        Distinguish(runs=100, method="one_run").infer(release, grant_knowledge(TABLE, mechanism=mechanism))[0].evidence
    )
    assert found["epsilon_at_least"] > 0.5


def test_what_claims_nothing_or_cannot_be_run_is_inconclusive() -> None:
    with pytest.raises(InconclusiveError, match="claims no epsilon"):
        Distinguish().infer(released(RandomTrees(trees=1), TABLE), attacked(dp_trees(), TABLE))
    with pytest.raises(InconclusiveError, match="no builder to run"):
        Distinguish().infer(released(dp_trees(), TABLE), grant_knowledge(TABLE))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_randomised_response_shows_its_own_epsilon_and_no_more(epsilon: float) -> None:
    """Who answers truly with chance e^eps / (1 + e^eps) is eps-private, and exactly so."""
    truly = 1 / (1 + math.exp(-epsilon))
    rng = np.random.default_rng(5)
    shown = [
        from_errors((rng.binomial(4000, truly), 4000), (rng.binomial(4000, 1 - truly), 4000), 0.0, 0.95)
        for _ in range(200)
    ]
    assert np.mean(np.array(shown) > epsilon) <= 0.1
    assert np.median(shown) > 0.7 * epsilon


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_one_run_of_randomised_response_shows_its_own_epsilon_and_no_more(epsilon: float) -> None:
    truly = 1 / (1 + math.exp(-epsilon))
    rng = np.random.default_rng(6)
    shown = [from_one_run(int(rng.binomial(1000, truly)), 1000, 1000, 0.0, 0.95) for _ in range(200)]
    assert np.mean(np.array(shown) > epsilon) <= 0.1
    assert np.median(shown) > 0.6 * epsilon


def test_delta_takes_away_from_what_is_shown() -> None:
    assert from_errors((50, 100), (0, 100), 0.3, 0.95) < from_errors((50, 100), (0, 100), 0.0, 0.95)
    assert from_one_run(90, 100, 1000, 1e-3, 0.95) < from_one_run(90, 100, 1000, 0.0, 0.95)
    assert from_errors((5, 100), (5, 100), 0.0, 0.95) == from_one_run(50, 100, 100, 0.0, 0.95) == 0


@pytest.mark.parametrize(
    ("caught", "alarms"),
    [((90, 100), (0, 100)), ((0, 100), (90, 100)), ((100, 100), (10, 100)), ((10, 100), (100, 100))],
)
def test_delta_counts_whichever_way_the_test_goes(caught: tuple[int, int], alarms: tuple[int, int]) -> None:
    plain = from_errors(caught, alarms, 0.0, 0.95)
    assert 0 < from_errors(caught, alarms, 0.2, 0.95) < plain - 0.1


def test_the_worlds_differ_by_one_person() -> None:
    for replaced in (False, True):
        for world in neighbouring_tables(TABLE.schema, 10, 0.1, 2, replaced=replaced):
            assert world.with_person.total_weight - world.without_person.total_weight == (0 if replaced else 1)
            assert world.person.total_weight == 1


@pytest.mark.parametrize("method", ["many_runs", "one_run"])
def test_runs_that_could_not_refute_the_claim_are_inconclusive_and_say_what_could(method: str) -> None:
    """The claim of 100 trees with this k is above what 20 runs show where the person is always seen."""
    builder = dp_trees(trees=100, k=3, beta=0.3, delta=0.99, combine="sum")
    claiming = replace(released(builder, TABLE), guarantee={"epsilon": {"at_most": 2.0, "delta": 1e-6}})
    known = attacked(builder, TABLE)
    with pytest.raises(InconclusiveError, match=r"20 runs show epsilon >= .* at best, which cannot refute 2.*runs: "):
        Distinguish(runs=20, seconds=1e6, method=method).infer(claiming, known)
    attack = Distinguish(seconds=1e-6, method=method)
    with pytest.raises(InconclusiveError, match="0 runs show"):
        attack.infer(claiming, known)


def test_the_budget_says_how_many_runs_are_done_and_no_clock_does() -> None:
    release, known = released(dp_trees(), TABLE), attacked(dp_trees(), TABLE)
    each = plan_runs(Distinguish(), release, known, claim_of(release)).seconds_each
    attack = Distinguish(seconds=40.5 * each)
    items = [attack.infer(release, known)[0].evidence for _ in range(2)]
    assert items[0] == items[1]
    assert items[0]["runs"] == 40
    assert "40 runs of the 100 wanted, forecast to take 1 s" in attack.forecast(release, known)
    assert items[0]["at_best"] == from_errors((20, 20), (0, 20), 1e-4, 0.95) > items[0]["claimed"]


def test_without_a_number_of_runs_there_are_as_many_as_could_refute_the_claim() -> None:
    builder = dp_trees()
    release, known = released(builder, TABLE), attacked(builder, TABLE)
    attack = Distinguish(seconds=1e6)
    assert plan_runs(attack, release, known, claim_of(release)).runs == 100
    strong = replace(claim_of(release), epsilon=4.0)
    plan = plan_runs(attack, release, known, strong)
    assert plan.runs > 100
    assert plan.at_best > 4.0


@pytest.mark.parametrize("builder", [dp_trees(trees=64, combine="sum"), laplace_trees()])
def test_the_forecast_grows_with_the_trees(builder: TreeBuilder) -> None:
    twice = builder.model_copy(update={"trees": 2 * builder.trees})  # type: ignore[attr-defined]
    small, large = (seconds_of_a_run(released(each, TABLE), 300, 1) for each in (builder, twice))
    assert 1.4 * small < large < 3 * small


def test_nobody_alike_is_no_test() -> None:
    """Where every number is the same with and without the person, nothing is shown."""
    release = released(dp_trees(), TABLE)
    known = grant_knowledge(TABLE, mechanism=lambda own, rng: release)
    (belief,) = Distinguish(runs=40).infer(release, known)
    assert (belief.evidence["epsilon_at_least"], belief.refutes) == (0.0, ())
