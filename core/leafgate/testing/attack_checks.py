"""The checks of attacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.algorithms.equivalence import residual_trees
from leafgate.algorithms.prediction import predict
from leafgate.algorithms.representatives import representatives
from leafgate.algorithms.table_matching import Baseline, baseline, coded_cells, most_right, true_cells
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.kernel.belief import (
    AttributeBelief,
    Belief,
    CellBelief,
    GroupBelief,
    MechanismBelief,
    MembershipBelief,
    PlantedLeak,
    SecretBelief,
    TableBelief,
    classes_of,
    secret_of,
)
from leafgate.kernel.knowledge import NEEDS, AdversaryKnowledge, parts_for
from leafgate.kernel.release import Counted, Level, Release
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import Table
from leafgate.kernel.tree import Node, leaves
from leafgate.testing.check import DoesNotApply, NonConformance, called
from leafgate.testing.common_checks import COMMON_CHECKS
from leafgate.testing.sandbox import canonical_text, cells, public, refuse_cells
from leafgate.testing.scenarios import MEMBERS, SETTINGS, Instance, Scenario, apart, truth_of, well_informed
from leafgate.testing.scenarios.malformed import edge_case_instances
from leafgate.testing.scenarios.releases import DisclosureLevel
from leafgate.testing.scenarios.tables import Key, keys_in, relabelled, reordered, shuffled, written_out
from leafgate.testing.subjects import AttackSubject, groups_of, laid_out, posterior_of

MIN_TRUTH = 0.95
"""The least mean probability of the truth where a release discloses it."""
MIN_TRUTH_IN_NOISE = 0.9
"""The same where there is a little noise on the release."""
MIN_AREA = 0.8
"""The least area under the ROC curve where a release discloses who is in the table; its labels alone allow 0.83."""
MAX_AREA_BY_CHANCE = 0.25
"""How far it may be from one half where nothing is disclosed: more than three standard deviations."""
CERTAIN = 0.99
"""A probability from which a secret counts as known."""
DECIMALS = 9
"""Decimals in which probabilities that should be equal agree."""
TOLERANCE = 0.05
"""How far a posterior may be from the prior where nothing is disclosed."""


def detects_disclosure(subject: AttackSubject) -> None:
    """It believes the truth where a release discloses a secret, and refutes claims that are false."""
    leaking = [
        (setting, world, belief) for setting, world, beliefs in _disclosing_releases(subject) for belief in beliefs
    ]
    _isolates_exposed_people(leaking)
    about = [(setting, world, belief) for setting, world, belief in leaking if _about(setting, belief)]
    tables = any(isinstance(belief, TableBelief) for _, _, belief in leaking) and _reconstructs(subject)
    if not about and not tables:
        raise DoesNotApply("no release of this kit discloses what it speaks of")
    for setting, world, belief in about:
        if setting.mechanism is not None:
            _refutes(belief, expected=True)
            continue
        if isinstance(belief, MembershipBelief):
            _separates(setting, world, belief, expected=True)
            continue
        if isinstance(belief, AttributeBelief):
            _infers(setting, world, belief)
            continue
        believed = _believed(setting, world, belief)
        if believed < (MIN_TRUTH_IN_NOISE if world.release.noise else MIN_TRUTH):
            raise NonConformance(
                f"{setting.name} gives secrets away, and it believes the truth with {believed:.3g} only",
                "read the release at the level it is published; if its adversary cannot know better, "
                "give the reason in `expected`",
            )


def _isolates_exposed_people(leaking: list[tuple[Scenario, Instance, Belief]]) -> None:
    """People whom a release isolates share a group with nobody else."""
    for setting, world, belief in leaking:
        groups = groups_of(belief, world)
        if groups is None or setting.cells:
            continue
        rows, out = world.table.public[1], np.array(setting.exposed(world.table))
        if set(groups[rows[out]].tolist()) & set(groups[rows[~out]].tolist()):
            raise NonConformance(
                f"{setting.name} isolates somebody, and it groups them with others",
                "give people with different paths different numbers in `equivalence_class`",
            )


NOT_TRUE: tuple[Counted, ...] = ("noisy", "perturbed")
"""Semantics of numbers that are not exact counts of people."""


def respects_noise(subject: AttackSubject) -> None:
    """Numbers that are declared noisy, or of changed cells, make it certain of nobody and exclude no candidate."""
    counted = [each for each in NOT_TRUE if each in subject.component.reads]
    settings = (*SETTINGS, MEMBERS) if subject.has_candidates or subject.has_targets else SETTINGS
    trees = [setting for setting in settings if setting.mechanism is None and not setting.cells]
    tried = 0
    for setting in (setting.counting(counted[0]) for setting in trees if counted):
        try:
            beliefs = subject.run(setting.world())
        except LeafgateError:
            continue
        for belief in beliefs:
            if not isinstance(belief, SecretBelief | MembershipBelief | AttributeBelief):
                continue
            tried += 1
            if isinstance(belief, MembershipBelief):
                certain = belief.excluded is not None and bool(belief.excluded.any())
            elif isinstance(belief, AttributeBelief):
                certain = belief.certain is not None and bool((belief.certain >= 0).any())
            else:
                certain = _believed(setting, setting.world(), belief) >= CERTAIN
            if certain:
                raise NonConformance(
                    f"it is certain of somebody by numbers that are {counted[0]}",
                    "ask `release.count_semantics` before you take numbers for true; leave out of `reads` what you do "
                    "not know",
                )
    if not tried:
        raise DoesNotApply("it reads no trees whose numbers are anything but counts of people")


LEVELS: tuple[Level, ...] = ("shares", "error_rates")
"""Levels, besides counts, at which a person alone in a leaf is disclosed."""


def _disclosing_releases(subject: AttackSubject) -> Iterator[tuple[Scenario, Instance, list[Belief]]]:
    """Every setting; those of trees also with less on their leaves, where the attack reads that."""
    for setting, believed in subject.beliefs:
        yield setting, setting.world(), believed
        for level in LEVELS if setting.world().release.trees and not (setting.cells or setting.members) else ():
            result = setting.at_level(level)
            try:
                beliefs = subject.run(result.world())
            except LeafgateError:
                continue
            yield result, result.world(), beliefs


def _instances(subject: AttackSubject, telling: DisclosureLevel) -> Iterator[tuple[Scenario, Instance]]:
    return ((setting, setting.world(telling=telling)) for setting, _ in subject.beliefs)


def _about(setting: Scenario, belief: Belief) -> bool:
    """Is it what the setting is made for: of the mechanism, of cells, or of people?"""
    if setting.mechanism is not None:
        return isinstance(belief, MechanismBelief)
    if setting.members:
        return isinstance(belief, MembershipBelief | AttributeBelief)
    return isinstance(belief, CellBelief if setting.cells else SecretBelief)


def _separates(setting: Scenario, world: Instance, belief: MembershipBelief, *, expected: bool) -> None:
    """Its scores put people of the table above others where the release tells them apart, and only there."""
    inside = world.drawn[1].in_table
    above, level = (
        compare(belief.scores[inside][:, None], belief.scores[~inside]).mean() for compare in (np.greater, np.equal)
    )
    area = above + level / 2
    if belief.excluded is not None and belief.excluded[inside].any():
        raise NonConformance(
            f"of {setting.name} it excludes candidates who are in the table",
            "let `excluded` be true only where no table with this candidate could have such a release",
        )
    if expected and area < MIN_AREA:
        raise NonConformance(
            f"{setting.name} tells who is in the table, and its scores have an area under the ROC curve of {area:.3g}",
            "give candidates a higher score the likelier they are in the table",
        )
    if not expected and abs(area - 0.5) > MAX_AREA_BY_CHANCE:
        raise NonConformance(
            f"{setting.name} discloses nothing, and its scores tell who is in the table all the same",
            "what it believes must follow from the release and what is known, and from nothing else",
        )


def _reconstructs(subject: AttackSubject) -> bool:
    """More cells of its records are right than of any baseline, where a tree has a leaf for each combination.

    False where it reconstructs nothing from that tree.
    """
    world = MEMBERS.world()
    try:
        beliefs = subject.run(world)
    except LeafgateError:
        return False
    tables = [belief for belief in beliefs if isinstance(belief, TableBelief)]
    for belief in tables:
        right, without = _cells_right(world, belief)
        if not right > without.high:
            raise NonConformance(
                f"{MEMBERS.name} discloses all records, and {right:.3g} of the cells of its records are right, and "
                f"{without.high:.3g} without the release",
                "write down records that follow from the leaves and their counts, as many as these count people",
            )
    return bool(tables)


def _cells_right(world: Instance, belief: TableBelief) -> tuple[float, Baseline]:
    """The share of cells of reconstructed records that are right, and the same without the release."""
    table = world.table.without_key
    columns = true_cells(table, list(belief.records.columns))
    right = most_right(columns, coded_cells(belief.records, table.schema))
    return right, baseline(columns, len(belief.records), world.known.seed)


def _reconstructs_nothing(subject: AttackSubject, setting: Scenario, world: Instance, belief: TableBelief) -> None:
    """Its records are no better than a baseline, and do not depend on what is known of people's public columns."""
    remedy = "let its records follow from the release alone: whoever copies public columns reconstructs nothing"
    right, without = _cells_right(world, belief)
    if right > without.high + TOLERANCE:
        problem = f"{setting.name} discloses nothing, and its records have more cells right than the columns' shares"
        raise NonConformance(problem, remedy)
    public = written_out(world.known.public)
    frame = public.frame.copy()
    for number, name in enumerate(frame.columns):
        frame[name] = frame[name].array[np.random.default_rng(number).permutation(len(frame))]
    others = replace(world, known=replace(world.known, public=replace(public, frame=frame, _codes={})))
    for other in subject.run(others):
        if isinstance(other, TableBelief) and Counter(keys_in(other.records)) != Counter(keys_in(belief.records)):
            raise NonConformance("it reconstructs other records where people have other public cells", remedy)


MIN_RIGHT = 0.75
"""The least share of people of the table whose value an attack guesses where it follows from a release."""


def _infers(setting: Scenario, world: Instance, belief: AttributeBelief) -> None:
    """It guesses people's values where they follow from the release, and proves none that is wrong."""
    membership = world.asked[1]
    inside, values = membership.in_table, membership.secrets[belief.secret]
    right = float((belief.posterior.argmax(axis=1) == values)[inside].mean())
    if right < MIN_RIGHT:
        raise NonConformance(
            f"{setting.name} gives the column away, and it guesses {right:.3g} of people's values only",
            "give each target's value the probability that follows if the target is in the table",
        )
    if belief.certain is not None and ((belief.certain >= 0) & (belief.certain != values))[inside].any():
        raise NonConformance(
            f"of {setting.name} it proves a value that somebody of the table does not have",
            "let `certain` have a value only where no table with another one could have such a release",
        )


PLANTED_REPEATS = 5
"""A leak of one size is planted so many times, and the mean area under the ROC curve is looked at."""


def plants_what_it_says(subject: AttackSubject) -> None:
    """Its repetitions on planted leaks are of as many people, the same each time; and where nobody leaks, it sees none.

    It need not see leaks: how small a leak it sees is what the repetitions are for.
    """
    tried = 0
    for setting, beliefs in subject.beliefs:
        for belief in beliefs:
            if isinstance(belief, AttributeBelief) and belief.planted is not None:
                tried += 1
                _plants_values(belief, belief.planted)
            if isinstance(belief, MembershipBelief) and belief.planted is not None:
                tried += 1
                _planted_area(setting, belief.planted, 1.0)
                none = _planted_area(setting, belief.planted, 0.0)
                if abs(none - 0.5) > MAX_AREA_BY_CHANCE:
                    raise NonConformance(
                        f"where nobody's membership leaks its scores have an area under the ROC curve of {none:.3g}",
                        "plant a leak of the membership of this share of members, and none besides",
                    )
    if not tried:
        raise DoesNotApply("it gives no belief of candidates or targets that repeats on planted leaks")


def _plants_values(belief: AttributeBelief, planted: Callable[[Any, Any, int], Any]) -> None:
    """A repetition on planted values gives a posterior of all targets, the same each time."""
    people = np.arange(len(belief.posterior))
    values, leaking = people % belief.posterior.shape[1], people % 2 == 0
    first, again = planted(values, leaking, 0), planted(values, leaking, 0)
    if np.shape(first) != belief.posterior.shape or not np.allclose(np.sum(first, axis=1), 1):
        raise NonConformance(
            "`planted` returns no posterior of every target", "return an array of the shape of `posterior`"
        )
    if canonical_text(first) != canonical_text(again):
        raise NonConformance(
            "`planted` returns something else the second time",
            "draw its random numbers from `known.seed` and the number of the repetition",
        )


def _planted_area(setting: Scenario, planted: Callable[[float, int], PlantedLeak], share: float) -> float:
    """The mean area under the ROC curve of an attack's scores on leaks that are planted."""
    inside = setting.world().drawn[1].in_table
    areas = []
    for repeat in range(PLANTED_REPEATS):
        leak, again = planted(share, repeat), planted(share, repeat)
        shapes = {np.shape(leak.scores), np.shape(leak.in_table)} if isinstance(leak, PlantedLeak) else set()
        if shapes != {inside.shape} or np.asarray(leak.in_table).sum() != inside.sum():
            raise NonConformance(
                "`planted` returns no PlantedLeak with as many people and members as there are candidates",
                "return scores for as many people as candidates, and who of them the model was trained on",
            )
        if canonical_text([leak.scores, leak.in_table]) != canonical_text([again.scores, again.in_table]):
            raise NonConformance(
                "`planted` returns something else the second time",
                "draw its random numbers from `known.seed` and the number of the repetition",
            )
        members, others = leak.scores[leak.in_table], leak.scores[~leak.in_table]
        areas.append(float((np.sign(members[:, None] - others).mean() + 1) / 2))
    return float(np.mean(areas))


def _refutes(belief: Belief, *, expected: bool) -> None:
    if isinstance(belief, MechanismBelief) and bool(belief.refutes) != expected:
        problem = "does not refute a claim that is false" if expected else "refutes a claim that is true"
        raise NonConformance(f"it {problem}", "run the mechanism often enough, and bound what chance alone would show")


def _believed(setting: Scenario, world: Instance, belief: Belief) -> float:
    """The chance it gives the truth, on average over the people who are exposed."""
    rows, table = _people(setting, world, belief)
    chances, secret = posterior_of(belief, world), secret_of(belief)
    assert chances is not None
    assert secret is not None
    truth = table.codes(secret)
    out = [i for i, exposed in enumerate(setting.exposed(table)) if exposed]
    return float(np.mean([chances[rows[i], truth[i]] for i in out]))


def _people(setting: Scenario, world: Instance, belief: Belief) -> tuple[np.ndarray, Any]:
    """A table of the people a belief is about, and each one's row in the belief."""
    if not isinstance(belief, CellBelief):
        return world.table.public[1], world.table
    origins = np.array(world.origins)[belief.record_positions]
    frame = world.table.frame.iloc[origins].reset_index(drop=True)
    ones = np.ones(len(frame), dtype=np.int64)
    return np.arange(len(frame)), replace(world.table, frame=frame, weight=ones, protected={}, _codes={})


def uninformative_release_uninformative_belief(subject: AttackSubject) -> None:
    """Where a release discloses nothing, everybody has the same posterior: the overall shares, or uniform."""
    tried = 0
    for setting, world in _instances(subject, "nothing"):
        try:
            found = subject.run(world)
        except LeafgateError:
            continue  # to be inconclusive is right, too
        _has_one_group(setting, world, found)
        for belief in found:
            if isinstance(belief, TableBelief):
                tried += 1
                _reconstructs_nothing(subject, setting, world, belief)
        beliefs = [belief for belief in found if _about(setting, belief)]
        tried += len(beliefs)
        for belief in beliefs:
            if setting.mechanism is not None:
                _refutes(belief, expected=False)
            elif isinstance(belief, MembershipBelief):
                _separates(setting, world, belief, expected=False)
            else:
                _alike(setting, world, belief)
    if not tried:
        raise DoesNotApply(
            "it believes nothing where nothing is disclosed, or no release of the kit has what it is about"
        )


def _has_one_group(setting: Scenario, world: Instance, beliefs: list[Belief]) -> None:
    """A release that discloses nothing leaves everybody in one group."""
    for groups in () if setting.cells else [groups_of(belief, world) for belief in beliefs]:
        if groups is not None and len(set(groups.tolist())) > 1:
            raise NonConformance(
                f"{setting.name} discloses nothing, and it divides people into groups",
                "give people whom the release does not distinguish the same number in `equivalence_class`",
            )


def _alike(setting: Scenario, world: Instance, belief: Belief) -> None:
    chances, secret = posterior_of(belief, world), secret_of(belief)
    assert chances is not None
    assert secret is not None
    remedy = "what it believes must follow from the release and what is known, and from nothing else"
    if float(np.ptp(chances, axis=0).max()) > TOLERANCE:
        raise NonConformance(f"{setting.name} discloses nothing, and it believes different things of people", remedy)
    truth = truth_of(world.table, secret)
    most = float((world.table.weight * (truth == truth.mode()[0]).to_numpy()).sum() / world.table.people)
    overall = (
        np.bincount(world.table.codes(secret), weights=world.table.weight, minlength=chances.shape[1])
        / world.table.people
    )
    uniform = np.full(chances.shape[1], 1 / chances.shape[1])
    off = min(float(np.abs(chances - prior).max()) for prior in (overall, uniform))
    if setting.labels and off > TOLERANCE:
        raise NonConformance(
            f"{setting.name} discloses nothing, and its belief is neither the overall shares nor uniform", remedy
        )
    if _mean_truth(setting, world, belief) > max(most, float(overall.max())) + TOLERANCE:
        raise NonConformance(f"{setting.name} discloses nothing, and it believes the truth all the same", remedy)


def _mean_truth(setting: Scenario, world: Instance, belief: Belief) -> float:
    everyone = replace(setting, exposed=lambda table: [True] * len(table))
    return _believed(everyone, world, belief)


CLOSE = 1e-4
"""Chances that should be equal may differ by this much: some attacks solve for them."""
REMEDIES = {
    "weight": "let every record count `known.weight` people, and speak of people with equal cells alike",
    "order": "find columns by their names, never by position",
    "rows": "go by what a row says, never by where it stands",
    "labels": "lay out chances by the order of `known.schema[secret].domain`; sort nothing by name",
    "oracle": "use nothing of the oracle but `labels`, `scores`, `schema` and `classes`",
    "needs": "declare in `needs` what it takes into account of what is known: an audit grants nothing else",
}


def same_beliefs(pairs: Iterator[tuple[Any, Any]], when: str, remedy: str) -> None:
    for beliefs, twin in pairs:
        if set(beliefs) != set(twin):
            raise NonConformance(f"it speaks of other secrets {when}", REMEDIES[remedy])
        for secret in beliefs:
            _same_chances(_by_key(*beliefs[secret]), _by_key(*twin[secret]), when, remedy)
            _same_groups(beliefs[secret], twin[secret], when, remedy)
            _same_scores(beliefs[secret], twin[secret], when, remedy)
            _same_records(beliefs[secret], twin[secret], when, remedy)


def _by_key(world: Instance, belief: Belief, keys: list[Key]) -> list[tuple[Key, dict[Any, float]]]:
    chances, secret = posterior_of(belief, world), secret_of(belief)
    if chances is None or secret is None:
        return []
    domain = world.known.schema[secret].domain
    return [(key, dict(zip(domain, row, strict=True))) for key, row in zip(keys, chances.tolist(), strict=True)]


def _same_chances(
    beliefs: list[tuple[Key, dict[Any, float]]], twin: list[tuple[Key, dict[Any, float]]], when: str, remedy: str
) -> None:
    first = dict(beliefs)
    for key, row in twin:
        if key not in first or any(abs(first[key][value] - p) > CLOSE for value, p in row.items()):
            raise NonConformance(f"it believes something else of the same person {when}", REMEDIES[remedy])


def _same_groups(belief: Any, twin: Any, when: str, remedy: str) -> None:
    if classes_of(belief[1]) is None or belief[1].records is not None:
        return
    if _division(belief) != _division(twin):
        raise NonConformance(f"it distinguishes other people {when}", REMEDIES[remedy])


def _same_scores(belief: Any, twin: Any, when: str, remedy: str) -> None:
    """Candidates with the same cells have the same scores, those who share their cells in any order."""
    if not isinstance(belief[1], MembershipBelief):
        return
    first, second = (_scores_by_key(laid_out[1], laid_out[2]) for laid_out in (belief, twin))
    if any(key not in first or not np.allclose(first[key], scores, CLOSE, CLOSE) for key, scores in second.items()):
        raise NonConformance(f"it gives a candidate another score {when}", REMEDIES[remedy])


def _same_records(belief: Any, twin: Any, when: str, remedy: str) -> None:
    """The reconstructed records are the same, in any order."""
    if isinstance(belief[1], TableBelief) and Counter(belief[2]) != Counter(twin[2]):
        raise NonConformance(f"it reconstructs other records {when}", REMEDIES[remedy])


def _scores_by_key(belief: MembershipBelief, keys: list[Key]) -> dict[Key, list[float]]:
    scores: dict[Key, list[float]] = {}
    for score, key in sorted(zip(belief.scores.tolist(), keys, strict=True), key=lambda pair: pair[0]):
        scores.setdefault(key, []).append(score)
    return scores


def _division(laid_out: tuple[Instance, Belief, list[Key]]) -> set[frozenset[Key]]:
    """The sets of people whom the attack does not distinguish."""
    groups: dict[int, set[Key]] = {}
    _, belief, keys = laid_out
    classes = classes_of(belief)
    assert classes is not None
    for group, key in zip(classes.tolist(), keys, strict=True):
        groups.setdefault(group, set()).add(key)
    return {frozenset(keys) for keys in groups.values()}


def believes(subject: AttackSubject) -> None:
    """It believes something of a release it says it can read: rows sum to 1, columns are the domain in its order.

    People of one group are believed the same, and it has words for each group it says it can word.
    """
    for _, beliefs in subject.beliefs:
        for belief in beliefs:
            if isinstance(belief, GroupBelief | SecretBelief) and belief.equivalence_class is not None:
                for group in sorted(set(belief.equivalence_class.tolist())):
                    _words_of(subject, belief.explain, group)


def _words_of(subject: AttackSubject, explain: Callable[[int], str] | None, group: int) -> None:
    if explain is not None and not isinstance(called(subject.component, lambda: explain(group)), str):
        raise NonConformance(
            "its `explain` gives no text", "describe in words what the release publishes about a group"
        )


def respects_weights(subject: AttackSubject) -> None:
    """People who share a record are believed the same as if each had a record alone."""
    if subject.has_candidates or subject.has_targets:
        raise DoesNotApply("each of its candidates and targets is one person")
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
    """The order of people, of published records and of candidates does not matter."""
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
            believed = subject.run_knowing(world.release, replace(more, **_declared(subject, subject.granted(world))))
        except LeafgateError as error:
            raise NonConformance(
                f"it fails when it is granted what it does not declare: {error}", REMEDIES["needs"]
            ) from error
        yield laid_out(world, beliefs), laid_out(world, believed)


def _declared(subject: AttackSubject, known: AdversaryKnowledge) -> dict[str, Any]:
    """The parts of this knowledge that the attack declares."""
    return {part: getattr(known, part) for part in parts_for(subject.component.needs)}


def _shuffled(setting: Scenario) -> Instance:
    world = setting.world(shuffled)
    return replace(world, known=replace(world.known, public=shuffled(world.known.public)), seed_of_candidates=1)


def asks_the_oracle_alone(subject: AttackSubject) -> None:
    """Where it may only ask the model, releases that answer the same are the same to it."""
    levels = [level for level in ("labels", "scores") if level in subject.component.access_levels]
    if not levels:
        raise DoesNotApply("it is handed the release")
    tried = 0
    for level in levels:
        asking = replace(subject, component=subject.component.model_copy(update={"access": level}))
        for setting in (*SETTINGS, MEMBERS, *subject.more):
            world = setting.world()
            twin = replace(world.release, trees=world.release.trees * 3, combine="mean_per_tree")
            if asking.readable(setting) is None or not _answers_alike(world, twin):
                continue
            with suppress(LeafgateError):
                beliefs = asking.run(world)
                tried += 1
                same_beliefs(
                    iter([(laid_out(world, beliefs), laid_out(world, asking.run(replace(world, release=twin))))]),
                    "of a release that gives the same answers",
                    "oracle",
                )
    if not tried:
        raise DoesNotApply("it believes nothing of any model of this kit that it may only ask")


def _answers_alike(world: Instance, twin: Release) -> bool:
    """Do both models give everybody the same label and the same scores?"""
    if world.release.combine != "one" or any(leaf.counts is None for tree in twin.trees for leaf in leaves(tree)):
        return False
    people = world.drawn[0].table
    return bool(world.release.trees) and np.array_equal(predict(world.release, people), predict(twin, people))


def leaks_no_record(subject: AttackSubject) -> None:
    """What everybody may read of its evidence holds nothing of a row."""
    remedy = "wrap in AuditorOnly what is about somebody, and counts of people in PeopleCount (leafgate.api)"
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


def same_of_representatives(subject: AttackSubject) -> None:
    """It believes the same if one record stands for all people whom the trees treat alike, where it declares so."""
    if not subject.component.by_equivalence_class:
        raise DoesNotApply("it does not declare `by_equivalence_class`")
    tried = 0
    for setting, beliefs in subject.beliefs:
        world = setting.world()
        try:
            people = representatives([world.table.without_key], world.table.without_key.schema, world.release)
        except InconclusiveError:
            continue
        twin = replace(world, table=people, known=replace(world.known, public=people.public[0]))
        tried += 1
        for own, others in zip(beliefs, subject.run(twin), strict=True):
            if _by_leaves(own, world) != _by_leaves(others, twin):
                raise NonConformance(
                    f"{setting.name}: it believes something else where one record stands for all who are treated alike",
                    "remove `by_equivalence_class`, or compute beliefs by the leaves that people can reach",
                )
    if not tried:
        raise DoesNotApply("no release of this kit that it reads has trees alone, in which everybody reaches a leaf")


def _by_leaves(belief: Belief, world: Instance) -> dict[Hashable, frozenset[Hashable]]:
    """What is believed of people by the leaves they can reach: the posteriors, and the leaves of each one's group.

    NonConformance where people who can reach the same leaves are in different groups.
    """
    public = world.known.public
    keys: list[tuple[Hashable, ...]] = [()] * len(public)
    for tree in world.release.fitted_trees:
        reachable = _reachable_leaves(tree, public, world.table.schema)
        keys = [(*key, numbers) for key, numbers in zip(keys, reachable, strict=True)]
    for column in public.schema.having("class"):
        keys = [(*key, code) for key, code in zip(keys, public.codes(column.name).tolist(), strict=True)]
    posterior, classes = posterior_of(belief, world), groups_of(belief, world)
    groups = [0] * len(keys) if classes is None else classes.tolist()
    leaves_of: dict[int, set[Hashable]] = {}
    for key, group in zip(keys, groups, strict=True):
        leaves_of.setdefault(group, set()).add(key)
    if sum(map(len, leaves_of.values())) > len(set(keys)):
        raise NonConformance("it tells people in the same leaves apart", "remove `by_equivalence_class`")
    found: dict[Hashable, set[Hashable]] = {}
    for row, (key, group) in enumerate(zip(keys, groups, strict=True)):
        chances = () if posterior is None else tuple(np.round(posterior[row], DECIMALS).tolist())
        found.setdefault(key, set()).add((chances, frozenset(leaves_of[group])))
    return {key: frozenset(each) for key, each in found.items()}


def _reachable_leaves(tree: Node, public: Table, schema: Schema) -> list[frozenset[int]]:
    """The numbers of the leaves that each row can reach when cells that are not public vary; 0 stands for no leaf."""
    numbers, residuals = residual_trees(tree, public, schema)

    def leaves_of(number: int) -> frozenset[int]:
        below = [leaves_of(each) for each in residuals.asked.get(number, ())]
        return frozenset[int]().union(*below) if below else frozenset({number})

    return [leaves_of(number) for number in numbers.tolist()]


ATTACK_CHECKS: Mapping[str, Callable[[AttackSubject], None]] = {
    "believes": believes,
    **COMMON_CHECKS,
    "counts_people": respects_weights,
    "any_column_order": any_column_order,
    "any_label_order": any_label_order,
    "any_row_order": any_row_order,
    "declares_its_needs": declares_its_needs,
    "asks_the_oracle_alone": asks_the_oracle_alone,
    "tells_nobody": leaks_no_record,
    "catches_a_leak": detects_disclosure,
    "takes_noise_for_noise": respects_noise,
    "plants_what_it_says": plants_what_it_says,
    "knows_nothing_from_nothing": uninformative_release_uninformative_belief,
    "errs_in_words": raises_clean_errors,
    "same_of_representatives": same_of_representatives,
}
