"""A survey that differentially private forests are grown from, and audits of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate import Release, Table
from leafgate.algorithms.publication import published
from leafgate.api import AdversaryKnowledge, BuildResult, Column, ScoringContext, TreeBuilder
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.context import NamedRelease
from leafgate.kernel.release import Publish
from leafgate_plugins.dp_random_trees.accounting import Forest, at_delta
from leafgate_plugins.dp_random_trees.mechanisms import Key, sample_counts
from leafgate_plugins.dp_random_trees.options import DifferentialPrivacy, DpLaplaceTrees, DpRandomTrees
from random_tables import categorical, numeric, table_of
from scoring import score_of_release

TRUTH = categorical("truth", "class", "sensitive", values=("no", "yes"))
ASKED = tuple(categorical(f"q{i}", "quasi_identifier", values=("a", "b", "c")) for i in range(4))
AGE = numeric("age", "quasi_identifier", bounds=(0.0, 100.0))
COLUMNS: tuple[Column, ...] = (*ASKED, AGE, TRUTH)


def survey(people: int = 2_000, seed: int = 0) -> Table:
    """Answers of which the first two, and age, have to do with the truth."""
    rng = np.random.default_rng(seed)
    answers = rng.integers(3, size=(people, len(ASKED)))
    age = rng.uniform(0, 100, size=people).round()
    yes = rng.random(people) < 0.1 + 0.25 * answers[:, 0] + 0.15 * (answers[:, 1] == 1) + 0.2 * (age > 60)
    rows = [
        (*("abc"[a] for a in row), float(years), ("no", "yes")[int(y)])
        for row, years, y in zip(answers, age, yes, strict=True)
    ]
    return table_of(COLUMNS, rows)


def dp_trees(**options: Any) -> DpRandomTrees:
    """A small forest, unless the options say otherwise."""
    return DpRandomTrees.model_validate({"trees": 8, "k": 10, "beta": 0.1, "delta": 1e-4, "depth": 2} | options)


def laplace_trees(**options: Any) -> DpLaplaceTrees:
    return DpLaplaceTrees.model_validate({"trees": 8, "scale": 10.0, "delta": 1e-4} | options)


def released(builder: TreeBuilder, table: Table, seed: int = 0) -> Release:
    """The release as it is published, with counts and all that is known of the algorithm."""
    built = BuildResult.of(builder.build(table, np.random.default_rng(seed)))
    return published(built.release, Publish(leaves="counts", measure=True), builder.measure_options)


def one_sample(table: Table, beta: float, key: Key) -> Table:
    """The table of one sample of its people, each with chance `beta`."""
    kept = sample_counts(table.weight, beta, key)
    return Table(table.schema, table.frame[kept > 0].reset_index(drop=True), kept[kept > 0])


def attacked(builder: TreeBuilder, table: Table, seed: int = 0) -> AdversaryKnowledge:
    """What an adversary has against a builder."""

    def mechanism(own: Table, rng: np.random.Generator) -> Release:
        built = BuildResult.of(builder.mechanism_only.build(own, rng))
        return published(built.release, Publish(), frozenset())

    return grant_knowledge(table, mechanism=mechanism, seed=seed)


def epsilon(release: Release, table: Table, delta: float = 1e-4, neighbours: Any = "add_remove") -> float:
    """By the metric."""
    metric = DifferentialPrivacy(at_most=1, delta=delta, neighbours=neighbours)
    return float(score_of_release(metric, ScoringContext(table, None, release, grant_knowledge(table))))


def epsilon_at(delta: float, **forest: Any) -> float:
    """The epsilon of a forest of random trees, by the account."""
    return at_delta(Forest(**forest), delta).epsilon


def beside(others: Sequence[tuple[Release, Table]], release: Release, table: Table) -> ScoringContext:
    """What a metric reads of a release where the policy names other releases of the same people."""
    named = [NamedRelease(f"releases[{i}]", *each) for i, each in enumerate(others)]
    known = grant_knowledge(table)
    return ScoringContext(table, None, release, known, _other_releases=lambda: named, observed=set())


def problems(release: Release, table: Table, delta: float = 1e-4) -> Mapping[str, Any]:
    """What the metric says beside its score."""
    metric = DifferentialPrivacy(at_most=1, delta=delta)
    case = ScoringContext(table, None, release, grant_knowledge(table))
    return metric.score(case).evidence


def saying(release: Release, **more: Any) -> Release:
    """The release with more told of its builder."""
    return replace(release, builder={**release.builder, **more})
