"""What adversaries know: each attack gets what the policy grants it, limited to what the attack declares in `needs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from leafgate.algorithms.publication import published
from leafgate.algorithms.sampling import sampled
from leafgate.api.components import AttackModel
from leafgate.api.plan import AuditPlan, KnowledgeGrant
from leafgate.io.release_codec import ReleaseArtifact
from leafgate.types.adversary import AdversaryKnowledge, limit_knowledge
from leafgate.types.release import BuildResult, Release
from leafgate.types.table import Table

if TYPE_CHECKING:
    from leafgate.types.adversary import Fact, Mechanism


def grant_knowledge(
    table: Table,
    *,
    distribution: bool = False,
    mechanism: Mechanism | None = None,
    seed: int = 0,
    population: Table | None = None,
    people: Table | None = None,
    facts: Sequence[Fact] = (),
    release: Release | None = None,
) -> AdversaryKnowledge:
    """What an adversary knows of the people in `table` under a policy's `knows`.

    A secret's distribution is over its values, each with its share of the people. Of a `release` that needs it the
    adversary knows how often each label is right.
    """
    from leafgate.algorithms.prediction import label_accuracies, needs_label_accuracies, vote_accuracies

    public, _ = table.public
    shares = _distribution(table) if distribution else {}
    schema = table.without_key.schema
    accuracies, votes = None, None
    if release is not None and needs_label_accuracies(release) and release.target in schema:
        accuracies, votes = label_accuracies(release, table), vote_accuracies(release, table)
    return AdversaryKnowledge(
        schema, public, shares, mechanism, seed, population, people, tuple(facts), accuracies, votes
    )


@dataclass(frozen=True)
class Adversaries:
    """The adversaries of one release of a table, one for each attack.

    Attributes:
        plan: what each attack is granted.
        table: the people whom the release was learned from.
        artifact: the release as it is published.
        population: the public columns of the population, where the policy names one.
        people: the people in `table` whose secrets the file of the policy's `knows` lists.
        own_people: the same of the files that attacks name in their own `knows`, by the names of these attacks.
    """

    plan: AuditPlan
    table: Table
    artifact: ReleaseArtifact
    population: Table | None = None
    people: Table | None = None
    own_people: Mapping[str, Table] = field(default_factory=dict)

    def knowledge_of(self, attack: AttackModel) -> AdversaryKnowledge:
        """What an attack of the policy gets: by its own `knows` if it has one, else by the policy's."""
        own = attack.called in self.plan.own_grants
        people = self.own_people.get(attack.called)
        return limit_knowledge(self._granted(self.grant_of(attack), people) if own else self.default, attack.needs)

    def grant_of(self, attack: AttackModel) -> KnowledgeGrant:
        """What the policy grants an attack of it."""
        return self.plan.own_grants.get(attack.called, self.plan.default_grant)

    def default_knowledge_of(self, attack: AttackModel) -> AdversaryKnowledge:
        """What an attack gets by the policy's `knows`, though an attack of the policy may have its name."""
        return limit_knowledge(self.default, attack.needs)

    @cached_property
    def default(self) -> AdversaryKnowledge:
        """All that the policy's `knows` grants."""
        return self._granted(self.plan.default_grant, self.people)

    def _granted(self, grant: KnowledgeGrant, people: Table | None) -> AdversaryKnowledge:
        seed, share = self.plan.seed, grant.grants.sample
        return replace(
            self._ungranted,
            distribution=_distribution(self.table) if grant.grants.distribution else {},
            people=people if share is None else sampled(self.table, share, _own_seed(seed, 1), grant.section),
            facts=grant.facts,
        )

    @cached_property
    def _ungranted(self) -> AdversaryKnowledge:
        """What follows from the release and the policy whatever `knows` says; the algorithm too, where it is public.

        The algorithm is cut down like the release.
        """
        builder, level = self.plan.builder, self.artifact.release.publish

        def mechanism(own: Table, rng: np.random.Generator) -> Release:
            result = BuildResult.of(builder.mechanism_only.build(own, rng))
            return published(result.release, level, builder.measure_options)

        public = builder.public_algorithm and level.measure and not builder.wants_test
        return grant_knowledge(
            self.table,
            mechanism=mechanism if public else None,
            seed=_own_seed(self.plan.seed, 0),
            population=self.population,
            release=self.artifact.release,
        )


def _distribution(table: Table) -> dict[str, dict[str, float]]:
    """The overall shares of the values of each secret."""
    shares: dict[str, dict[str, float]] = {}
    for column in table.schema.secrets:
        if column.countable:
            domain = list(map(str, column.domain))
            counts = np.bincount(table.codes(column.name), weights=table.weight, minlength=len(domain))
            shares[column.name] = dict(zip(domain, (counts / table.people).tolist(), strict=True))
    return shares


def _own_seed(seed: int, use: int) -> int:
    """Coins that repeat with the policy's seed: for attacks (0), for drawing known people (1); never the builder's."""
    return int(np.random.SeedSequence(seed, spawn_key=(use,)).generate_state(1)[0])
