"""What must hold of every attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from leafgate.belief import Belief, checked, rows_for
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.interfaces import AttackModel
from leafgate.testing import common
from leafgate.testing.checks import DoesNotApply, NonConformance, called
from leafgate.testing.mistakes import odd_worlds
from leafgate.testing.settings import SETTINGS, Setting, Telling, World, apart, truth_of
from leafgate.testing.tables import Key, keys_of, relabelled, reordered
from leafgate.testing.watching import told

CLOSE = 1e-4
"""Chances that should be equal may differ by this much: some attacks solve for them."""
CAUGHT = 0.9
"""A secret that is given away must be believed this much, on average."""
VAGUE = 0.05
"""By so much a belief may be better than the overall shares where nothing is told."""


@dataclass(frozen=True)
class AttackSubject:
    """An attack, and the settings it is tried in."""

    attack: AttackModel
    more: Sequence[Setting] = ()

    @cached_property
    def settings(self) -> list[Setting]:
        """Those it says it can read, and does; NonConformance when there are none."""
        found, why = [], ""
        for setting in (*SETTINGS, *self.more):
            here = self.readable(setting)
            if here is None:
                continue
            try:
                self.beliefs(here.world())
                found.append(here)
            except LeafgateError as error:
                why = f"; of {setting.name} it says: {error}"
        if not found:
            raise NonConformance(
                f"{self.attack.use} believes nothing of any release of this kit{why}",
                "declare what it reads in `reads` and `models`; if it needs another release, give a Setting in `on`",
            )
        return found

    def readable(self, setting: Setting) -> Setting | None:
        """The setting, its numbers such as the attack reads; None where it reads no such model, or noise only."""
        release, reads = setting.world().release, self.attack.reads
        if release.model not in self.attack.models:
            return None
        if release.counted in reads:
            return setting
        return setting.counting(sorted(reads)[0]) if release.counted == "exact" and reads else None  # type: ignore[arg-type]

    def beliefs(self, world: World) -> list[Belief]:
        """What it believes, checked as an audit does."""
        found = called(self.attack, lambda: self.attack.infer(world.release, world.known))
        try:
            return [checked(belief, world.known, world.release) for belief in found]
        except (InconclusiveError, TypeError) as error:
            raise NonConformance(
                f"it returned no list of beliefs that an audit takes: {error}", "see docs/plugins.md, What you promise"
            ) from error

    def pairs(self, other: Callable[[Setting], World | None], why: str) -> Iterator[tuple[Any, Any]]:
        """Of each setting what is believed in its world, and in its other world; DoesNotApply where there is none."""
        found = [(s, twin) for s in self.settings if s.mechanism is None and (twin := other(s)) is not None]
        if not found:
            raise DoesNotApply(why)
        for setting, twin in found:
            yield self._laid_out(setting.world()), self._laid_out(twin)

    def _laid_out(self, world: World) -> dict[str | None, tuple[World, Belief, list[Key]]]:
        return {belief.secret: (world, belief, keys_of_belief(belief, world)) for belief in self.beliefs(world)}


def keys_of_belief(belief: Belief, world: World) -> list[Key]:
    """What is known of the people, or shown of the records, that the rows of a belief are about."""
    if belief.cells is None:
        return keys_of(world.known.public, without="number")
    records = world.release.records
    assert records is not None  # checked() saw to it
    rows = [records.rows[cell] for cell in belief.cells.tolist()]
    return [frozenset((n, str(cell)) for n, cell in zip(records.columns, row, strict=True)) for row in rows]


def chances_of(belief: Belief, world: World) -> np.ndarray | None:
    """The chances of each row of Known, or of each cell."""
    if belief.chances is None:
        return None
    rows = slice(None) if belief.records is None else rows_for(world.known, belief.records)
    return belief.chances.to_numpy(dtype=float)[rows]


def believes(subject: AttackSubject) -> None:
    """It believes something of a release it says it can read: rows sum to 1, columns are the domain in its order."""
    assert subject.settings


def repeats(subject: AttackSubject) -> None:
    """The same release, knowledge and seed: the same beliefs, bit for bit."""
    common.same(
        ((told(subject.beliefs(s.world())), told(subject.beliefs(s.world()))) for s in subject.settings),
        "it believes something else when it is asked again",
        "toss coins with numpy.random.default_rng(known.seed) alone; read no clock",
    )


def leaves_inputs_alone(subject: AttackSubject) -> None:
    """It writes into nothing it is handed."""
    for setting in subject.settings:
        world = setting.world()
        before = told([world.release, world.known])
        subject.beliefs(world)
        if told([world.release, world.known]) != before:
            raise NonConformance(
                f"it changes what it is handed (in the setting: {setting.name})", "copy before you write"
            )


def own_coins(subject: AttackSubject) -> None:
    """It leaves the random numbers of the process alone."""
    subject.settings  # noqa: B018  what it reads is found out beforehand
    common.own_coins(lambda: (told(subject.beliefs(setting.world())) for setting in subject.settings))


def no_network(subject: AttackSubject) -> None:
    """It opens no connection."""

    def run() -> None:
        for setting in (*SETTINGS, *subject.more):
            here = subject.readable(setting)
            with suppress(LeafgateError, NonConformance):
                _ = None if here is None else subject.beliefs(here.world())

    common.no_network(run)


def counts_people(subject: AttackSubject) -> None:
    """People who share a record are believed the same as if each had a record alone."""
    pairs = subject.pairs(apart, "it reads no records that several people share")
    _same_beliefs(pairs, "when people stand in a row each", "weight")


def any_column_order(subject: AttackSubject) -> None:
    """The order of columns does not matter."""
    pairs = subject.pairs(lambda setting: setting.world(reordered), "it speaks of no people")
    _same_beliefs(pairs, "when columns are reordered", "order")


def any_label_order(subject: AttackSubject) -> None:
    """The order in which a secret's values are declared does not matter."""
    why = "it speaks of no secret that has values"
    pairs = subject.pairs(lambda setting: setting.world(relabelled) if setting.labels else None, why)
    _same_beliefs(pairs, "when a secret's values are declared in another order", "labels")


REMEDIES = {
    "weight": "let every record count `known.weight` people, and speak of people with equal cells alike",
    "order": "find columns by their names, never by position",
    "labels": "lay out chances by the order of `known.schema[secret].domain`; sort nothing by name",
}


def _same_beliefs(pairs: Iterator[tuple[Any, Any]], when: str, remedy: str) -> None:
    for one, other in pairs:
        if set(one) != set(other):
            raise NonConformance(f"it speaks of other secrets {when}", REMEDIES[remedy])
        for secret in one:
            _same_chances(_by_key(*one[secret]), _by_key(*other[secret]), when, remedy)
            _same_groups(one[secret], other[secret], when, remedy)


def _by_key(world: World, belief: Belief, keys: list[Key]) -> list[tuple[Key, dict[Any, float]]]:
    chances = chances_of(belief, world)
    if chances is None or belief.secret is None:
        return []
    domain = world.known.schema[belief.secret].domain
    return [(key, dict(zip(domain, row, strict=True))) for key, row in zip(keys, chances.tolist(), strict=True)]


def _same_chances(
    one: list[tuple[Key, dict[Any, float]]], other: list[tuple[Key, dict[Any, float]]], when: str, remedy: str
) -> None:
    first = dict(one)
    for key, row in other:
        if key not in first or any(abs(first[key][value] - p) > CLOSE for value, p in row.items()):
            raise NonConformance(f"it believes something else of the same person {when}", REMEDIES[remedy])


def _same_groups(one: Any, other: Any, when: str, remedy: str) -> None:
    if one[1].groups is None or one[1].records is not None:
        return
    if _division(one) != _division(other):
        raise NonConformance(f"it tells other people apart {when}", REMEDIES[remedy])


def _division(laid_out: tuple[World, Belief, list[Key]]) -> set[frozenset[Key]]:
    """The sets of people who cannot be told apart."""
    groups: dict[int, set[Key]] = {}
    _, belief, keys = laid_out
    assert belief.groups is not None
    for group, key in zip(belief.groups.tolist(), keys, strict=True):
        groups.setdefault(group, set()).add(key)
    return {frozenset(keys) for keys in groups.values()}


def catches_a_leak(subject: AttackSubject) -> None:
    """Where a release gives somebody's secret away, it believes the truth; where a claim is false, it refutes it."""
    about = [(setting, world, b) for setting, world in _told(subject, "much") for b in _tested(subject, setting, world)]
    if not about:
        raise DoesNotApply("no release of this kit gives away what it speaks of")
    for setting, world, belief in about:
        if setting.mechanism is not None:
            _refutes(belief, expected=True)
            continue
        believed = _believed(setting, world, belief)
        if believed < CAUGHT:
            raise NonConformance(
                f"{setting.name} gives secrets away, and it believes the truth with {believed:.3g} only",
                "read the release at the level it is published; if its adversary cannot know better, "
                "give the reason in `expected`",
            )


def _told(subject: AttackSubject, telling: Telling) -> Iterator[tuple[Setting, World]]:
    return ((setting, setting.world(telling=telling)) for setting in subject.settings)


def _tested(subject: AttackSubject, setting: Setting, world: World) -> list[Belief]:
    """The beliefs that a setting is made for: of the mechanism, of cells, or of people."""
    beliefs = subject.beliefs(world)
    if setting.mechanism is not None:
        return [belief for belief in beliefs if belief.secret is None and not belief.of_people]
    return [b for b in beliefs if b.secret is not None and (b.cells is not None) == setting.cells]


def _refutes(belief: Belief, *, expected: bool) -> None:
    if bool(belief.evidence.get("refutes")) != expected:
        said = "does not refute a claim that is false" if expected else "refutes a claim that is true"
        raise NonConformance(f"it {said}", "run the mechanism often enough, and bound what chance alone would show")


def _believed(setting: Setting, world: World, belief: Belief) -> float:
    """The chance it gives the truth, on average over the people who are exposed."""
    rows, table = _people(setting, world, belief)
    chances = chances_of(belief, world)
    assert chances is not None
    assert belief.secret is not None
    truth = table.codes(belief.secret)
    out = [i for i, exposed in enumerate(setting.exposed(table)) if exposed]
    return float(np.mean([chances[rows[i], truth[i]] for i in out]))


def _people(setting: Setting, world: World, belief: Belief) -> tuple[np.ndarray, Any]:
    """A table of the people a belief is about, and each one's row in the belief."""
    if belief.cells is None:
        return world.table.public[1], world.table
    origins = np.array(world.origins)[belief.cells]
    frame = world.table.frame.iloc[origins].reset_index(drop=True)
    ones = np.ones(len(frame), dtype=np.int64)
    return np.arange(len(frame)), replace(world.table, frame=frame, weight=ones, protected={}, _codes={})


def knows_nothing_from_nothing(subject: AttackSubject) -> None:
    """Where a release tells nothing of anyone, everybody is believed alike, and no better than the overall shares."""
    tried = 0
    for setting, world in _told(subject, "nothing"):
        try:
            beliefs = _tested(subject, setting, world)
        except LeafgateError:
            continue  # that it cannot tell is right, too
        tried += len(beliefs)
        for belief in beliefs:
            if setting.mechanism is not None:
                _refutes(belief, expected=False)
            else:
                _alike(setting, world, belief)
    if not tried:
        raise DoesNotApply("it believes nothing where nothing is told, or what it speaks of stands in no release here")


def _alike(setting: Setting, world: World, belief: Belief) -> None:
    chances = chances_of(belief, world)
    assert chances is not None
    assert belief.secret is not None
    remedy = "what it believes must follow from the release and what is known, and from nothing else"
    if float(np.ptp(chances, axis=0).max()) > VAGUE:
        raise NonConformance(f"{setting.name} tells nothing, and it believes different things of people", remedy)
    truth = truth_of(world.table, belief.secret)
    most = float((world.table.weight * (truth == truth.mode()[0]).to_numpy()).sum() / world.table.people)
    overall = (
        np.bincount(world.table.codes(belief.secret), weights=world.table.weight, minlength=chances.shape[1])
        / world.table.people
    )
    uniform = np.full(chances.shape[1], 1 / chances.shape[1])
    off = min(float(np.abs(chances - prior).max()) for prior in (overall, uniform))
    if setting.labels and off > VAGUE:
        raise NonConformance(
            f"{setting.name} tells nothing, and its belief is neither the overall shares nor uniform", remedy
        )
    if _mean_truth(setting, world, belief) > max(most, float(overall.max())) + VAGUE:
        raise NonConformance(f"{setting.name} tells nothing, and it believes the truth all the same", remedy)


def _mean_truth(setting: Setting, world: World, belief: Belief) -> float:
    everyone = replace(setting, exposed=lambda table: [True] * len(table))
    return _believed(everyone, world, belief)


def errs_in_words(subject: AttackSubject) -> None:
    """Of releases it cannot understand it says so in leafgate's errors; it never crashes."""
    for world in odd_worlds(subject.attack.reads):
        if world.release.model not in subject.attack.models:
            continue
        try:
            subject.beliefs(world)
        except LeafgateError:
            continue


ATTACK_CHECKS: Mapping[str, Callable[[AttackSubject], None]] = {
    "believes": believes,
    "described_options": lambda subject: common.described_options(subject.attack),
    "explains_itself": lambda subject: common.explains_itself(subject.attack),
    "pickles": lambda subject: common.pickles(subject.attack),
    "light_face": lambda subject: common.light_face(subject.attack),
    "repeats": repeats,
    "leaves_inputs_alone": leaves_inputs_alone,
    "own_coins": own_coins,
    "no_network": no_network,
    "counts_people": counts_people,
    "any_column_order": any_column_order,
    "any_label_order": any_label_order,
    "catches_a_leak": catches_a_leak,
    "knows_nothing_from_nothing": knows_nothing_from_nothing,
    "errs_in_words": errs_in_words,
}
