"""The checks of attacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from leafgate.errors import LeafgateError
from leafgate.testing.attack_properties import (
    REMEDIES,
    detects_disclosure,
    respects_noise,
    same_beliefs,
    uninformative_release_uninformative_belief,
)
from leafgate.testing.check import DoesNotApply, NonConformance, called
from leafgate.testing.common_checks import COMMON_CHECKS
from leafgate.testing.sandbox import cells, public, refuse_cells
from leafgate.testing.scenarios import Instance, Scenario, apart, well_informed
from leafgate.testing.scenarios.malformed import edge_case_instances
from leafgate.testing.scenarios.tables import relabelled, reordered, shuffled
from leafgate.testing.subjects import AttackSubject, laid_out
from leafgate.types.adversary import NEEDS, AdversaryKnowledge
from leafgate.types.belief import Belief


def believes(subject: AttackSubject) -> None:
    """It believes something of a release it says it can read: rows sum to 1, columns are the domain in its order.

    People of one group are believed the same, and it has words for each group it says it can word.
    """
    for _, beliefs in subject.beliefs:
        for belief in beliefs:
            for group in () if belief.equivalence_class is None else sorted(set(belief.equivalence_class.tolist())):
                _words_of(subject, belief, group)


def _words_of(subject: AttackSubject, belief: Belief, group: int) -> None:
    explain = belief.explain
    if explain is not None and not isinstance(called(subject.component, lambda: explain(group)), str):
        raise NonConformance(
            "its `explain` gives no text", "describe in words what the release publishes about a group"
        )


def respects_weights(subject: AttackSubject) -> None:
    """People who share a record are believed the same as if each had a record alone."""
    pairs = subject.pairs(apart, "it reads no records that several people share")
    same_beliefs(pairs, "when people stand in a row each", "weight")


def any_column_order(subject: AttackSubject) -> None:
    """The order of columns does not matter."""
    pairs = subject.pairs(lambda setting: setting.world(reordered), "it speaks of no people")
    same_beliefs(pairs, "when columns are reordered", "order")


def any_label_order(subject: AttackSubject) -> None:
    """The order in which a secret's values are declared does not matter."""
    why = "it speaks of no secret that has values"
    pairs = subject.pairs(lambda setting: setting.world(relabelled) if setting.labels else None, why)
    same_beliefs(pairs, "when a secret's values are declared in another order", "labels")


def any_row_order(subject: AttackSubject) -> None:
    """The order of people, and of published records, does not matter."""
    same_beliefs(subject.pairs(_shuffled, "it speaks of no people"), "when rows are reordered", "rows")


def declares_its_needs(subject: AttackSubject) -> None:
    """Knowledge that it does not declare in `needs` changes nothing."""
    if subject.component.needs >= NEEDS:
        raise DoesNotApply("it declares every kind of knowledge")
    same_beliefs(_with_undeclared(subject), "when it is granted what it does not declare", "needs")


def _with_undeclared(subject: AttackSubject) -> Iterator[tuple[Any, Any]]:
    """The beliefs in each scenario, without and with all knowledge that the attack does not declare."""
    for setting, beliefs in subject.beliefs:
        world = setting.world()
        more = well_informed(world)
        try:
            believed = subject.run_knowing(world.release, replace(more, **_declared(subject, world.known)))
        except LeafgateError as error:
            raise NonConformance(
                f"it fails when it is granted what it does not declare: {error}", REMEDIES["needs"]
            ) from error
        yield laid_out(world, beliefs), laid_out(world, believed)


def _declared(subject: AttackSubject, known: AdversaryKnowledge) -> dict[str, Any]:
    """The parts of this knowledge that the attack declares."""
    parts = {need: getattr(known, need) for need in subject.component.needs}
    return parts | ({"vote_accuracies": known.vote_accuracies} if "label_accuracies" in parts else {})


def _shuffled(setting: Scenario) -> Instance:
    world = setting.world(shuffled)
    return replace(world, known=replace(world.known, public=shuffled(world.known.public)))


def leaks_no_record(subject: AttackSubject) -> None:
    """What everybody may read of its evidence holds nothing of a row."""
    remedy = "wrap in AuditorOnly what is about somebody, and counts of people in PeopleCount (leafgate.types.evidence)"
    for setting, beliefs in subject.beliefs:
        evidence = [public(belief.evidence) for belief in beliefs]
        refuse_cells(evidence, cells(setting.world().table), subject.component.model_dump(), remedy)


def raises_clean_errors(subject: AttackSubject) -> None:
    """Of releases it cannot understand it says so in leafgate's errors; it never crashes."""
    for world in edge_case_instances(subject.component.reads):
        if world.release.model not in subject.component.models:
            continue
        try:
            subject.run(world)
        except LeafgateError:
            continue


ATTACK_CHECKS: Mapping[str, Callable[[AttackSubject], None]] = {
    "believes": believes,
    **COMMON_CHECKS,
    "counts_people": respects_weights,
    "any_column_order": any_column_order,
    "any_label_order": any_label_order,
    "any_row_order": any_row_order,
    "declares_its_needs": declares_its_needs,
    "tells_nobody": leaks_no_record,
    "catches_a_leak": detects_disclosure,
    "takes_noise_for_noise": respects_noise,
    "knows_nothing_from_nothing": uninformative_release_uninformative_belief,
    "errs_in_words": raises_clean_errors,
}
