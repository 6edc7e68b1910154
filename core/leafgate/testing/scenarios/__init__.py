"""Settings: tables, and releases of them that give much away or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.prediction import class_scores
from leafgate.algorithms.publication import published
from leafgate.algorithms.routing import route
from leafgate.algorithms.sampling import sampled
from leafgate.engine.knowledge import draw_candidates, grant_knowledge, people_at, secret_inputs, targets_of
from leafgate.io.release_codec import serialize
from leafgate.kernel.facts import Fact
from leafgate.kernel.knowledge import (
    MAX_CANDIDATES,
    AdversaryKnowledge,
    Candidates,
    Knows,
    Membership,
    Targets,
)
from leafgate.kernel.release import BuildResult, Counted, Level, Publish, Records, Release
from leafgate.kernel.table import Table
from leafgate.kernel.training_rows import TrainingRows
from leafgate.testing.scenarios.releases import (
    DisclosureLevel,
    full_tree_release,
    noisy_release,
    noisy_release_with_tree,
    private_release,
    public_tree_release,
    running,
    tree_release,
    withheld_release,
)
from leafgate.testing.scenarios.tables import (
    OLDEST,
    half_survey,
    numbered,
    read_only_arrays,
    salaries,
    strangers,
    survey,
    twins,
)

if TYPE_CHECKING:
    from leafgate.kernel.knowledge import Mechanism


@dataclass(frozen=True)
class Instance:
    """A release as its file says it, the table it was made from, and what is known."""

    table: Table
    release: Release
    known: AdversaryKnowledge
    origins: tuple[int, ...] | None
    outside: Callable[[], Table] | None = None
    seed_of_candidates: int = 0

    @cached_property
    def drawn(self) -> tuple[Candidates, Membership]:
        """The candidates of attacks that infer who is in the table, and who of them is."""
        outside = strangers(self.table) if self.outside is None else self.outside()
        return draw_candidates(self.table, outside, MAX_CANDIDATES, self.seed_of_candidates)

    @cached_property
    def asked(self) -> tuple[dict[str, Targets], Membership]:
        """The targets of attacks that infer an input of the model, and who of them is in the table.

        They are all people of the table and of the control, of whom the class is known; the people of the control are
        the auxiliary people too, so that nothing is drawn.
        """
        inside = self.table.without_key
        outside = (strangers(self.table) if self.outside is None else self.outside()).without_key
        secrets = secret_inputs(self.release, inside.schema)
        people, others = (people_at(each, self._arranged(each)) for each in (inside, outside))
        knows = Knows.model_validate({"class": True})
        return targets_of(inside, people, others, others, knows, secrets, swapped=bool(self.seed_of_candidates))

    def _arranged(self, people: Table) -> NDArray[np.int64]:
        """The row of each person, in an order that depends on the seed of candidates."""
        rows = np.repeat(np.arange(len(people)), people.persons)
        return np.random.default_rng(self.seed_of_candidates).permutation(rows) if self.seed_of_candidates else rows


def unchanged(table: Table) -> Table:
    return table


@dataclass(frozen=True, eq=False)
class Scenario:
    """A table, and releases of it that disclose `much` of some people's secrets, or `nothing`.

    `exposed` says of rows of a table whether the first kind gives their secret away; with `cells` to those only who
    know whose record is whose. `labels`: can the secret's values be declared in another order? `mechanism` makes the
    algorithm that attackers may run; then what the release claims of it is false, or (if it discloses nothing) true.
    `control` makes people who are not in the table; with `members` the first kind of release shows that they are not.
    """

    name: str
    table: Callable[[DisclosureLevel], Table]
    release: Callable[[Table, DisclosureLevel], Release | BuildResult]
    exposed: Callable[[Table], Sequence[bool]] = lambda table: [True] * len(table)
    cells: bool = False
    labels: bool = True
    mechanism: Callable[[DisclosureLevel], Mechanism] | None = None
    control: Callable[[Table], Table] = strangers
    members: bool = False

    def world(self, change: Callable[[Table], Table] = unchanged, telling: DisclosureLevel = "much") -> Instance:
        """The world of the table, changed beforehand: made once, of which each call gets a copy."""
        world = _instance(self, change, telling)
        tables = [world.table, world.known.public, world.known.population, world.known.people]
        read_only = [each for table in tables if table is not None for each in read_only_arrays(table)]
        return deepcopy(world, {id(each): each for each in read_only})

    def counting(self, counted: Counted) -> Scenario:
        """The same with numbers that are said to count something else."""
        return _counting(self, counted)

    def at_level(self, level: Level) -> Scenario:
        """The same with this on the leaves and no more."""
        return _at_level(self, level)

    def _with_release(self, name: str, change: Callable[[Release], Release]) -> Scenario:
        """The same by another name, each release changed."""

        def changed(table: Table, telling: DisclosureLevel) -> BuildResult:
            built = BuildResult.of(self.release(table, telling))
            return replace(built, release=change(built.release))

        return replace(self, name=name, release=changed)


@lru_cache(maxsize=128)
def _instance(scenario: Scenario, change: Callable[[Table], Table], telling: DisclosureLevel) -> Instance:
    original = scenario.table(telling)
    table = change(original)
    built = BuildResult.of(scenario.release(table, telling))
    mechanism = None if scenario.mechanism is None else scenario.mechanism(telling)

    def retrain(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
        return class_scores(BuildResult.of(scenario.release(own, telling)).release, asked)

    return Instance(
        table,
        serialize(built).release,
        replace(grant_knowledge(table, distribution=True, mechanism=mechanism), retrain=retrain),
        built.origins,
        lambda: change(scenario.control(original)),
    )


@lru_cache(maxsize=128)
def _counting(scenario: Scenario, counted: Counted) -> Scenario:
    return scenario._with_release(scenario.name, lambda release: replace(release, count_semantics=counted))


@lru_cache(maxsize=128)
def _at_level(scenario: Scenario, level: Level) -> Scenario:
    name = f"{scenario.name} that publishes {level}"
    return scenario._with_release(
        name, lambda release: published(release, Publish(leaves=level, measure=False), frozenset())
    )


def well_informed(instance: Instance) -> AdversaryKnowledge:
    """What is known of an instance, and besides something of every kind that a policy can grant."""
    table, release = instance.table, instance.release
    secret = next((column for column in table.schema.secrets if column.values is not None), None)
    facts = () if secret is None else (Fact({}, secret.name, secret.domain[:1], 0.0, 0.5),)
    classes = [str(value) for column in table.schema.having("class") for value in column.domain]
    accuracies = dict.fromkeys(classes, 0.75)
    known = grant_knowledge(
        table,
        distribution=True,
        mechanism=lambda own, rng: release,
        population=table.public[0],
        people=sampled(table, 0.5, 0),
        facts=facts,
    )
    known = replace(known, candidates=instance.drawn[0], targets=instance.asked[0], retrain=instance.known.retrain)
    known = replace(known, rows=rows_of(table, release))
    return replace(known, label_accuracies=accuracies, vote_accuracies=accuracies)


def rows_of(table: Table, release: Release) -> TrainingRows:
    """The rows of a table on the leaves of each tree, as a model's file would count them."""
    routed = [(route(tree, table), table.weight) for tree in release.trees]
    counts = [
        np.bincount(each.leaf[each.leaf >= 0], weight[each.leaf >= 0], each.n_leaves).astype(np.float64)
        for each, weight in routed
    ]
    return TrainingRows(people=table.people, on_leaves=tuple(counts))


def apart(setting: Scenario) -> Instance | None:
    """The setting's world with everybody in a record alone; None where they are so anyway.

    People get a public column that identifies them and discloses nothing else; published records are repeated.
    """
    world = setting.world()
    records = world.release.records
    if records is None:
        return setting.world(numbered)
    if set(records.weight) == {1}:
        return None
    times = list(zip(records.rows, records.weight, world.origins or (), strict=True))
    rows = tuple(row for row, weight, _ in times for _ in range(weight))
    origins = tuple(origin for _, weight, origin in times for _ in range(weight))
    alone = Records(records.columns, rows, (1,) * len(rows))
    return replace(world, release=replace(world.release, records=alone), origins=origins)


def _without_smoking(telling: DisclosureLevel) -> Table:
    return survey().project(["town", "age", "illness"])[0]


def _old(table: Table) -> list[bool]:
    return (table.frame["age"] == OLDEST).tolist()


SETTINGS = (
    Scenario("a tree", lambda telling: survey(), tree_release, _old),
    Scenario("a tree of public columns", _without_smoking, public_tree_release, _old),
    Scenario("withheld cells", lambda telling: twins(alike=telling == "nothing"), withheld_release, cells=True),
    Scenario("noise on numbers", lambda telling: salaries(), noisy_release, cells=True, labels=False),
    Scenario(
        "noise on numbers, and a tree", lambda telling: salaries(), noisy_release_with_tree, cells=True, labels=False
    ),
    Scenario("a mechanism", lambda telling: survey(), private_release, mechanism=running),
)

MEMBERS = Scenario(
    "a tree with a leaf for each combination of cells",
    lambda telling: half_survey(others=False),
    full_tree_release,
    control=lambda table: half_survey(others=True),
    members=True,
)
"""For attacks that infer who is in the table: no leaf counts anybody of the class of somebody who is not.

For attacks that infer an input: whether somebody smokes follows from the class and the public columns.
"""


def truth_of(table: Table, secret: str) -> pd.Series[Any]:
    """The secret of each row, as one of its domain."""
    domain = table.schema[secret].domain
    return pd.Series([domain[code] for code in table.codes(secret).tolist()], dtype=object)
