"""Attack a claim of differential privacy: run the builder on worst-case neighbouring tables and bound epsilon."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from leafgate import api
from leafgate.algorithms.intervals import share_estimate
from leafgate.algorithms.routing import NOWHERE, count_leaves, route
from leafgate.kernel.tree import iterate_nodes
from leafgate_plugins.dp_random_trees.distinguish.features import released_features
from leafgate_plugins.dp_random_trees.distinguish.neighbours import NeighbouringTables, neighbouring_tables
from leafgate_plugins.dp_random_trees.options import BUILDERS, Distinguish


def from_errors(caught: tuple[int, int], alarms: tuple[int, int], delta: float, confidence: float) -> float:
    """The epsilon that a test shows: (hits, runs) with the person, (hits, runs) without; 0 where it shows nothing.

    At (epsilon, delta) a test that alarms with chance f without somebody does so with chance e^epsilon f + delta at
    most with them, and the other way round. Both chances are bounded, each with half of what confidence leaves.

    Source: Jagielski, Ullman, Oprea, "Auditing Differentially Private Machine Learning", NeurIPS 2020, section 4.
    """
    _, caught_low, caught_high = share_estimate(*caught, (1 - confidence) / 2)
    _, alarm_low, alarm_high = share_estimate(*alarms, (1 - confidence) / 2)
    odds = [(caught_low - delta, alarm_high), (1 - alarm_high - delta, 1 - caught_low)]
    odds += [(alarm_low - delta, caught_high), (1 - caught_high - delta, 1 - alarm_low)]
    return max(0.0, *(math.log(top / bottom) for top, bottom in odds if top > 0 and bottom > 0))


def from_one_run(right: int, guesses: int, canaries: int, delta: float, confidence: float) -> float:
    """The epsilon shown by `right` of `guesses` about which of `canaries` people were there, each with chance 1/2.

    At (epsilon, delta) no more are right than heads of coins with chance e^epsilon / (1 + e^epsilon), but for a part
    that delta allows. The largest epsilon is given at which so many would be rarer than confidence leaves.

    Source: Steinke, Nasr, Jagielski, "Privacy Auditing with One (1) Training Run", NeurIPS 2023, Theorem 5.2.
    """
    low, high = 0.0, 50.0
    if _rarity(right, guesses, canaries, low, delta) > 1 - confidence:
        return 0.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        rare = _rarity(right, guesses, canaries, middle, delta) <= 1 - confidence
        low, high = (middle, high) if rare else (low, middle)
    return low


def _rarity(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """At most so likely are `right` or more right guesses."""
    heads = 1 / (1 + math.exp(-epsilon))
    tail = stats.binom.sf(np.arange(right - 1, -2, -1), guesses, heads)
    plain = float(tail[0])
    sizes = np.arange(1, right + 1)
    gained = max(0.0, float(np.max((tail[1 : right + 1] - plain) / sizes, initial=0.0)))
    return min(1.0, plain + 2 * canaries * delta * gained)


MAX_THRESHOLDS = 64
"""Thresholds that are tried for one number of a release."""
USUAL_RUNS = 100
"""With the person, and as many without, where a claim could be refuted by fewer."""
FEWEST_RUNS = 20
"""Fewer runs refute nothing."""
MOST_RUNS = 1_000_000
"""The largest number of runs that is considered, as the option `runs` allows."""
SECONDS_PER_UNIT = (1.5e-4, 1e-5, 6e-6, 2.5e-8, 5e-8)
"""Seconds for a tree, a node, a number with noise, a person in a tree and a record in a tree."""


@dataclass(frozen=True)
class Claim:
    """What is claimed: epsilon at delta, and what it is about."""

    epsilon: float
    delta: float
    replaced: bool


@dataclass(frozen=True)
class EpsilonEstimate:
    """The epsilon that runs show: in which world, by which number of a release, and at best by so many runs."""

    epsilon: float
    world: str
    by: str
    runs: int
    at_best: float


@dataclass(frozen=True)
class Plan:
    """How many releases with somebody, and as many without, are made; what that costs, and what it can show at best.

    `seconds_each` are those forecast for each of the runs; `wanted` is how many there would be without a limit to them.
    """

    runs: int
    wanted: int
    seconds_each: float
    at_best: float


def distinguish(options: Distinguish, release: api.Release, known: api.AdversaryKnowledge) -> api.MechanismBelief:
    """What running the builder shows of its claim; in no case that the claim holds.

    Raises InconclusiveError where nothing is claimed, the builder is not known, or so few runs are possible in the
    time given that the claim would not be refuted even if the person were seen in every one.
    """
    claim = claim_of(release)
    plan = plan_runs(options, release, known, claim)
    if plan.at_best <= claim.epsilon:
        enough = _runs_needed(options, claim)
        raise api.InconclusiveError(
            f"{plan.runs} runs show epsilon >= {plan.at_best:.3g} at best, which cannot refute {claim.epsilon:.4g}",
            place="distinguish",
            remedy=f"allow `runs: {enough}` and `seconds: {math.ceil(enough * plan.seconds_each)}`",
        )
    if options.method == "one_run":
        found = one_run(options, release, known, claim, plan)
    else:
        found = many_runs(options, release, known, claim, plan)
    refuted = found.epsilon > claim.epsilon
    evidence = _evidence(options, claim, found, refuted=refuted)
    return api.MechanismBelief(tries=("epsilon",), refutes=("epsilon",) if refuted else (), evidence=evidence)


def forecast(options: Distinguish, release: api.Release, known: api.AdversaryKnowledge) -> str:
    """How many runs there will be, and about how long they take; empty where the attack cannot run."""
    plan = plan_runs(options, release, known, claim_of(release))
    fewer = f" of the {plan.wanted:,} wanted" if plan.runs < plan.wanted else ""
    return f"{plan.runs:,} runs{fewer}, forecast to take {math.ceil(plan.runs * plan.seconds_each)} s"


def plan_runs(options: Distinguish, release: api.Release, known: api.AdversaryKnowledge, claim: Claim) -> Plan:
    """As many runs as are wanted and as the forecast allows: no clock is read, so an audit repeats."""
    if known.mechanism is None:
        raise api.InconclusiveError(
            "there is no builder to run", place="publish.measure", remedy="build here, and publish {measure: true}"
        )
    wanted = options.runs or max(USUAL_RUNS, _runs_needed(options, claim))
    if options.method == "one_run":
        k, beta, _ = builder_parameters(release)
        each = seconds_of_a_run(release, wanted * (round(k / beta) + 1), wanted) / wanted
        runs = min(wanted, int(options.seconds / each))
        return Plan(runs, wanted, each, _best_possible_epsilon(options, runs, claim))
    tables = [world.with_person for world in _tables_for(release, known, claim)]
    costs = [seconds_of_a_run(release, table.total_weight, len(table)) for table in tables]
    each = sum(costs) + max(costs)  # with the person and without; one half in every world, one in the chosen one
    runs = min(wanted, int(options.seconds / each))
    return Plan(runs, wanted, each, _best_possible_epsilon(options, runs, claim))


def seconds_of_a_run(release: api.Release, people: int, records: int) -> float:
    """About how long it takes to make such a release of a table of these people, and to look at it.

    Fitted to runs on Adult and on made-up surveys: docs/explanation/dp-random-trees.md.
    """
    trees, nodes = len(release.trees), sum(1 for _ in iterate_nodes(*release.trees))
    noisy = count_leaves(release) * len(release.classes) if release.count_semantics == "noisy" else 0
    parts = trees, nodes, noisy, trees * people, trees * records
    return sum(part * cost for part, cost in zip(parts, SECONDS_PER_UNIT, strict=True))


def _best_possible_epsilon(options: Distinguish, runs: int, claim: Claim) -> float:
    """The lower bound on epsilon if every run guesses right; 0 for fewer runs than FEWEST_RUNS."""
    if runs < FEWEST_RUNS:
        return 0.0
    if options.method == "one_run":
        guesses = 2 * max(runs // 4, 1)
        return from_one_run(guesses, guesses, runs, claim.delta, options.confidence)
    half = (runs + 1) // 2
    return from_errors((half, half), (0, half), claim.delta, options.confidence)


def _runs_needed(options: Distinguish, claim: Claim) -> int:
    """The fewest runs, to a tenth or so, that could refute the claim; MOST_RUNS where none could."""
    runs = FEWEST_RUNS
    while runs < MOST_RUNS and _best_possible_epsilon(options, runs, claim) <= claim.epsilon:
        runs += runs // 10
    return min(runs, MOST_RUNS)


def claim_of(release: api.Release) -> Claim:
    """The claim of a release; InconclusiveError where there is none that can be read."""
    result = release.guarantee.get("epsilon")
    result = result if isinstance(result, Mapping) else {"at_most": result}
    epsilon, delta = result.get("at_most"), result.get("delta", 0)
    if not isinstance(epsilon, int | float) or not isinstance(delta, int | float):
        raise api.InconclusiveError("the release claims no epsilon that could be refuted")
    return Claim(float(epsilon), float(delta), result.get("neighbours") == "replace_one")


def many_runs(
    options: Distinguish, release: api.Release, known: api.AdversaryKnowledge, claim: Claim, plan: Plan
) -> EpsilonEstimate:
    """The epsilon shown in the made-up world that discloses most.

    Half of the runs, in every world, choose the world, what to look at and where to draw the line. The other half are
    made in that world alone and count errors, so all of the confidence is theirs.
    """
    assert known.mechanism is not None
    rng = np.random.default_rng(known.seed)
    half = (plan.runs + 1) // 2
    worlds = _tables_for(release, known, claim)
    mechanism = _with_progress(known.mechanism, 2 * half * (len(worlds) + 1))
    tests = [choose_test(world, mechanism, half, claim.delta, rng) for world in worlds]
    best = max(tests, key=lambda test: test.approximate_epsilon)
    epsilon = estimate_epsilon(best, mechanism, half, claim.delta, options.confidence, rng)
    return EpsilonEstimate(epsilon, best.world.name, best.name, plan.runs, plan.at_best)


def _with_progress(mechanism: api.Mechanism, runs: int) -> api.Mechanism:
    """The same mechanism, which reports how many of its runs are done."""
    done = itertools.count()

    def run(table: api.Table, rng: np.random.Generator) -> api.Release:
        api.report_progress(next(done), runs, "runs of the builder")
        return mechanism(table, rng)

    return run


def _tables_for(release: api.Release, known: api.AdversaryKnowledge, claim: Claim) -> list[NeighbouringTables]:
    k, beta, depth = builder_parameters(release)
    tied = release.builder.get("use") not in BUILDERS
    return list(neighbouring_tables(known.schema, k, beta, depth, replaced=claim.replaced, tied=tied))


def builder_parameters(release: api.Release) -> tuple[int, float, int]:
    """What the builder states of its threshold, its rate and its depth, where it says something."""
    k, beta, depth = (release.builder.get(name) for name in ("k", "beta", "depth"))
    return (
        k if isinstance(k, int) else 10,
        beta if isinstance(beta, float) and 0 < beta < 1 else 0.5,
        depth if isinstance(depth, int) else 1,
    )


@dataclass(frozen=True)
class PresenceTest:
    """In one world: an alarm where the named number of a release, times the sign, is above the line.

    `approximate_epsilon` is about the epsilon that this showed where it was chosen.
    """

    world: NeighbouringTables
    name: str
    sign: int
    threshold: float
    approximate_epsilon: float

    def alarms(self, runs: Sequence[Mapping[str, float]]) -> int:
        return sum(self.sign * _finite(run.get(self.name, math.nan)) > self.threshold for run in runs)


def _finite(value: float) -> float:
    return float(np.nan_to_num(value, nan=-1e9, posinf=1e9, neginf=-1e9))


def choose_test(
    world: NeighbouringTables, mechanism: api.Mechanism, runs: int, delta: float, rng: np.random.Generator
) -> PresenceTest:
    """The test that best detects the person, from `runs` releases with the person and as many without."""
    samples = [
        [released_features(mechanism(table, rng), world) for _ in range(runs)]
        for table in (world.without_person, world.with_person)
    ]
    names = sorted({name for sample in samples for run in sample for name in run})
    without, along = (
        np.array([[_finite(run.get(name, math.nan)) for name in names] for run in sample]) for sample in samples
    )
    rough, (column, sign, line) = _best(without, along, delta)
    return PresenceTest(world, names[column], sign, line, rough)


def estimate_epsilon(
    test: PresenceTest, mechanism: api.Mechanism, runs: int, delta: float, confidence: float, rng: np.random.Generator
) -> float:
    """The epsilon that the test's errors in so many new runs with the person, and as many without, show."""
    without, along = (
        [released_features(mechanism(table, rng), test.world) for _ in range(runs)]
        for table in (test.world.without_person, test.world.with_person)
    )
    return from_errors((test.alarms(along), runs), (test.alarms(without), runs), delta, confidence)


def _best(without: api.Floats, along: api.Floats, delta: float) -> tuple[float, tuple[int, int, float]]:
    """The column, sign and threshold that separate the two samples best, and roughly the epsilon they show."""
    best, chosen = -math.inf, (0, 1, 0.0)
    for column in range(without.shape[1]):
        for sign in (1, -1):
            mine, theirs = sign * along[:, column], sign * without[:, column]
            for line in _thresholds(np.concatenate([mine, theirs])):
                hits = (int((mine > line).sum()), len(mine)), (int((theirs > line).sum()), len(theirs))
                shown = _approximate_epsilon(*hits)
                if shown > best:
                    best, chosen = shown, (column, sign, float(line))
    return best, chosen


def _thresholds(values: api.Floats) -> api.Floats:
    """Lines between the values, at most so many."""
    apart = np.unique(values)
    middles = (apart[1:] + apart[:-1]) / 2
    if len(middles) <= MAX_THRESHOLDS:
        return np.asarray(middles)
    return np.asarray(np.quantile(middles, np.linspace(0, 1, MAX_THRESHOLDS)))


def _approximate_epsilon(caught: tuple[int, int], alarms: tuple[int, int]) -> float:
    """About the epsilon these errors show, less where there are few of them."""
    (hits, runs), (false, others) = caught, alarms
    spread = np.sqrt(1 / (hits + 1) + 1 / (false + 1)), np.sqrt(1 / (runs - hits + 1) + 1 / (others - false + 1))
    above = np.log((hits + 0.5) / (false + 0.5)) - 2 * spread[0]
    below = np.log((others - false + 0.5) / (runs - hits + 0.5)) - 2 * spread[1]
    return float(max(above, below))


def one_run(
    options: Distinguish, release: api.Release, known: api.AdversaryKnowledge, claim: Claim, plan: Plan
) -> EpsilonEstimate:
    """The epsilon shown by guessing, from one release, who of `plan.runs` people with records of their own was there.

    Each is there with chance 1/2, among others with the same record; the half about whom least is thought is guessed
    at not at all.

    Source: Steinke, Nasr, Jagielski, "Privacy Auditing with One (1) Training Run", NeurIPS 2023, Algorithm 1.
    """
    assert known.mechanism is not None
    k, beta, _ = builder_parameters(release)
    rng = np.random.default_rng(known.seed)
    canaries = api.make_table(known.schema, _random_people(known.schema, plan.runs, rng))
    there = rng.random(len(canaries)) < 0.5
    others = round(k / beta)
    made = api.Table(known.schema, canaries.frame, others + there.astype(np.int64))
    thought = _membership_scores(known.mechanism(made, rng), canaries, others)
    order = np.argsort(thought, kind="stable")
    part = max(len(canaries) // 4, 1)
    right = int((~there[order[:part]]).sum() + there[order[-part:]].sum())
    shown = from_one_run(right, 2 * part, len(canaries), claim.delta, options.confidence)
    items = f"{len(canaries)} people at once", "people shown beyond the others"
    return EpsilonEstimate(shown, *items, plan.runs, plan.at_best)


def _random_people(schema: api.Schema, many: int, rng: np.random.Generator) -> pd.DataFrame:
    """Different people, drawn from the domains."""
    columns: dict[str, Any] = {}
    for column in schema.columns:
        if column.numeric:
            columns[column.name] = rng.uniform(*(column.bounds or (0.0, 1.0)), size=many).tolist()
        else:
            codes = rng.integers(len(column.values or ()), size=many)
            columns[column.name] = pd.Categorical.from_codes(codes, categories=pd.Index(list(column.values or ())))
    return pd.DataFrame(columns)


def _membership_scores(release: api.Release, canaries: api.Table, others: int) -> api.Floats:
    """For each of the people how many more are shown with them than the others are, over all trees."""
    codes = canaries.codes(release.target)
    total = np.zeros(len(canaries))
    for tree in release.trees:
        routed = route(tree, canaries)
        counter = routed.leaf * len(release.classes) + codes
        shown = np.array([[float((leaf.counts or {}).get(c, 0)) for c in release.classes] for leaf in routed.leaves])
        size = np.bincount(counter[routed.leaf != NOWHERE], minlength=shown.size) * (others + 0.5)
        mine = shown.ravel()[counter]
        total += np.where((routed.leaf != NOWHERE) & (mine > 0), mine / np.maximum(size[counter], 1), 0.0)
    return np.asarray(total)


def _evidence(options: Distinguish, claim: Claim, found: EpsilonEstimate, *, refuted: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {"epsilon_at_least": found.epsilon, "claimed": claim.epsilon, "delta": claim.delta}
    fields |= {"confidence": options.confidence, "world": found.world, "by": found.by}
    fields |= {"runs": found.runs, "at_best": found.at_best}
    shown = (
        f"epsilon >= {found.epsilon:.4g} with {100 * options.confidence:g} % confidence by {found.runs} runs (at best "
        f"{found.at_best:.3g}); claimed {claim.epsilon:.4g}"
    )
    meaning = "the claim is refuted" if refuted else "this proves nothing, a better attack may show more"
    return fields | {"says": f"{shown}: {meaning}"}
