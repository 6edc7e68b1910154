"""What attacks must keep to, on scenarios that disclose much or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from leafgate.engine import attack as attacking
from leafgate.engine.validation import validate_belief
from leafgate.errors import LeafgateError
from leafgate.kernel import belief as beliefs
from leafgate.kernel import knowledge
from leafgate.kernel.components import AttackModel
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.tree import leaves, map_leaves
from leafgate.testing import scenarios
from leafgate.testing.check import STRANGERS, guarded, named, refuse_if, skip_if
from leafgate.testing.components import COMPONENTS, Subject, public, same
from leafgate.testing.scenarios import Scenario, World

LEAST: Mapping[type[beliefs.Belief], float] = {
    **{beliefs.SecretBelief: 0.95, beliefs.CellBelief: 0.9, beliefs.MechanismBelief: 1.0},
    **{beliefs.MembershipBelief: 0.8, beliefs.AttributeBelief: 0.75},
}
"""The least `_truth` in a belief about what a release gives away; of members labels alone allow 0.83."""
MOST, CERTAIN = 0.75, 0.99
"""The most of it where a release discloses nothing, by chance."""


@dataclass(frozen=True)
class AttackSubject(Subject):
    """An attack, and the scenarios it says it can read."""

    component: AttackModel

    def cases(self) -> Iterator[Scenario]:
        """The scenarios whose model and numbers it reads; that of members for who infers members or inputs."""
        drawn = {"candidates", "targets"} & self.component.needs
        for scenario in (*scenarios.SCENARIOS, *self.more):
            release = scenario.world().release
            readable = release.model in self.component.models and release.count_semantics in self.component.reads
            if readable and (drawn or scenario is not scenarios.MEMBERS):
                yield scenario

    def open(self, case: Scenario, change: scenarios.Change) -> World:
        """The scenario's world; of shuffled people those known publicly and those who are asked of, too."""
        world = case.world(change, seed=int(change is scenarios.shuffled))
        known = replace(world.known, public=scenarios.shuffled(world.known.public))
        return replace(world, known=known) if change is scenarios.shuffled else world

    def run(self, opened: World, seed: int = 0, *, limited: bool = True) -> list[beliefs.Belief]:
        """Its beliefs, each validated as an audit does, and explained; `limited` to the knowledge that it declares."""
        attack, release = self.component, opened.release
        known = knowledge.limit_knowledge(opened.known, attack.needs) if limited else opened.known
        with guarded(attack):
            returned = list(attacking.call_infer(attack, release, known))
            with attacking.naming_component(f"{attack.use} ({STRANGERS.origin(attack)})"):
                read = release if attack.chosen_access == "file" else None
                found = [validate_belief(belief, known, read) for belief in returned]
                for belief in found:
                    explain: Any = getattr(belief, "explain", None)
                    for group in [] if explain is None else np.unique(np.asarray(beliefs.classes_of(belief))).tolist():
                        explain(group)
        return found

    def answers(self, opened: World, output: list[beliefs.Belief]) -> Mapping[str, Any]:
        """Of each belief what it says of people, by what is known of them, and whom it does not distinguish."""
        answers = dict[str, Any]()
        for belief in output:
            keys, numbers, groups = _keys_of(belief, opened), _numbers_of(belief, opened), _groups_of(belief)
            about = beliefs.secret_of(belief) or type(belief).__name__
            answers[about] = Counter(keys) if numbers is None else dict(zip(keys, numbers, strict=True))
            members = pd.Series([] if groups is None else keys, dtype=object).groupby([] if groups is None else groups)
            answers[f"groups of {about}"] = {frozenset(own) for _, own in members}
        return answers

    def words(self, output: list[beliefs.Belief]) -> list[Any]:
        """The evidence of each belief."""
        return [public(belief.evidence) for belief in output]

    def inputs(self, opened: World) -> list[Any]:
        """The release, what its leaves count, and what is known."""
        return [opened.release, [leaf.counts for tree in opened.release.trees for leaf in leaves(tree)], opened.known]

    def edge_cases(self) -> Iterator[World]:
        """A tree whose leaves count nothing, and none."""
        world = scenarios.TREE.world()
        bare = tuple(map_leaves(tree, lambda leaf: Leaf(leaf.label)) for tree in world.release.trees)
        for trees in (bare, ()) if "trees" in self.component.models else ():
            yield replace(world, release=replace(world.release, trees=trees))


def _keys_of(belief: beliefs.Belief, world: World) -> list[scenarios.Key]:
    """What rows of a belief are about: candidates, targets, records of its own, hidden cells, or public records."""
    if isinstance(belief, beliefs.MembershipBelief):
        return scenarios.keys_of(world.drawn[0].table.frame)
    if isinstance(belief, beliefs.AttributeBelief):
        return scenarios.keys_of(pd.concat([group.frame for group in world.asked[0][belief.secret].groups]))
    if isinstance(belief, beliefs.CellBelief):
        return scenarios.keys_of(world.table.frame.iloc[_origins_of(belief, world)])
    records = getattr(belief, "records", None)
    return scenarios.keys_of(world.known.public.frame if records is None else records)


def _numbers_of(belief: beliefs.Belief, world: World) -> list[Any] | None:
    """The score, or the posterior by values, of each row of a belief; None where it has neither."""
    if isinstance(belief, beliefs.MembershipBelief):
        return list(map(float, belief.scores))
    if not isinstance(belief, beliefs.PosteriorBelief | beliefs.AttributeBelief):
        return None
    domain = world.known.schema[belief.secret].domain
    return [dict(zip(domain, map(float, row), strict=True)) for row in np.asarray(belief.posterior)]


def _groups_of(belief: beliefs.Belief) -> Any:
    """The equivalence class of each of the adversary's records; None where it has none, or records of its own."""
    return beliefs.classes_of(belief) if getattr(belief, "records", None) is None else None


def _origins_of(belief: beliefs.CellBelief, world: World) -> Any:
    """The row of the table behind each hidden cell."""
    return np.asarray(world.origins)[belief.record_positions]


def declares_its_needs(subject: AttackSubject) -> None:
    """Knowledge that it does not declare in `needs` changes nothing: an audit grants nothing else."""
    for _, world, output in subject.accepted:
        alike = same(subject.answers(world, output), subject.answers(world, subject.run(world, limited=False)))
        refuse_if(not alike, "it believes something else when it is granted what it does not declare")


def catches_a_leak(subject: AttackSubject) -> None:
    """It finds what a release gives away: the exposed people's secret, who is in the table, or a false claim.

    People whom the release isolates are in an equivalence class with nobody else. Where its adversary cannot know
    better, give the reason in `expected`.
    """
    tried = 0
    for scenario, world, output in subject.accepted:
        rows, out = world.table.public[1], np.array(scenario.exposed(world.table))
        for belief in output:
            groups = _groups_of(belief)
            mixed = groups is not None and set(groups[rows[out]].tolist()) & set(groups[rows[~out]].tolist())
            refuse_if(mixed, f"{scenario.name} isolates somebody, and it groups them with others")
            if isinstance(belief, scenario.about):
                tried += 1
                truth = _truth(scenario, world, belief)
                refuse_if(truth < LEAST[type(belief)], f"{scenario.name} gives secrets away: it believes {truth:.3g}")
    skip_if(not tried, "no release of this kit discloses what it speaks of")


def _truth(scenario: Scenario, world: World, belief: Any) -> float:
    """How true a belief is about what a scenario is about, from 0 to 1.

    Returns:
        The mean probability of the truth of exposed people or cells, the area under the ROC curve of candidates' scores
        (0 where it excludes one of the table), the share of targets guessed right (0 where it proves what is wrong), or
        1 where it refutes a claim.
    """
    if isinstance(belief, beliefs.MechanismBelief):
        return float(bool(belief.refutes))
    if isinstance(belief, beliefs.MembershipBelief):
        inside = world.drawn[1].in_table
        area = (np.sign(belief.scores[inside][:, None] - belief.scores[~inside]).mean() + 1) / 2
        return 0.0 if belief.excluded is not None and belief.excluded[inside].any() else float(area)
    if isinstance(belief, beliefs.AttributeBelief):
        inside, values = world.asked[1].in_table, world.asked[1].secrets[belief.secret]
        certain = np.full(len(values), -1) if belief.certain is None else belief.certain
        wrong = (certain >= 0) & (certain != values)
        right = belief.posterior.argmax(axis=1) == values
        return 0.0 if wrong[inside].any() else float(right[inside].mean())
    cells = isinstance(belief, beliefs.CellBelief)
    exposed = _origins_of(belief, world) if cells else np.flatnonzero(scenario.exposed(world.table))
    rows = np.arange(len(exposed)) if cells else world.table.public[1][exposed]
    return float(np.asarray(belief.posterior)[rows, world.table.codes(belief.secret)[exposed]].mean())


def knows_nothing_from_nothing(subject: AttackSubject) -> None:
    """Where a release discloses nothing, it divides nobody, knows no more than chance, and refutes no true claim."""
    tried = 0
    for scenario, _, _ in subject.accepted:
        world = scenario.world(telling="nothing")
        with suppress(LeafgateError):  # to be inconclusive is right, too
            for belief in subject.run(world):
                groups, about = _groups_of(belief), isinstance(belief, scenario.about)
                divides = groups is not None and len(set(groups.tolist())) > 1
                tells = divides or (about and _truth(scenario, world, belief) > MOST)
                refuse_if(tells, f"{scenario.name} discloses nothing here, and it tells people apart")
                tried += about
    skip_if(not tried, "it believes nothing where nothing is disclosed, or no release of the kit has what it is about")


def takes_noise_for_noise(subject: AttackSubject) -> None:
    """By numbers with noise it is certain of nobody and excludes nobody; what it does not know is not in `reads`."""
    skip_if("noisy" not in subject.component.reads, "it reads no noisy numbers")
    for scenario, world, _ in subject.accepted:
        with suppress(LeafgateError):
            for belief in subject.run(replace(world, release=replace(world.release, count_semantics="noisy"))):
                excluded = getattr(belief, "excluded", None)
                sure = isinstance(belief, beliefs.SecretBelief) and _truth(scenario, world, belief) > CERTAIN
                sure = sure or (excluded is not None and bool(excluded.any()))
                refuse_if(sure, "it is certain of somebody by numbers that are noisy")


ATTACKS = {**COMPONENTS, **named(declares_its_needs, catches_a_leak, knows_nothing_from_nothing, takes_noise_for_noise)}
"""The relations of attacks, by name."""
