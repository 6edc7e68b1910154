"""From several releases to one belief for each secret: proofs, and an estimate of what they leave open."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from leafgate import api
from leafgate.algorithms.equivalence import ResidualTrees
from leafgate.algorithms.feasible import conditions
from leafgate.algorithms.joint_classes import JointSystem, ReleasedTable, joint_system, known_records
from leafgate.algorithms.joint_insiders import InsiderProofs, insider_proofs
from leafgate.algorithms.joint_proofs import JointProofs, joint_proofs
from leafgate.kernel.knowledge import KnownReleases
from leafgate_plugins.together.estimate import MAX_GAP, batch_per_leaf, maximum_entropy, stated_people
from leafgate_plugins.together.words import joint_words

ESTIMATE_ERROR, ERROR_OF_ONE = 0.02, 0.1
"""An estimated probability may be off by the larger of the first and the second divided by the people of the class."""

LARGEST_ESTIMATE = 1 - 1e-6
"""An estimate is never certain: only a proof is."""

SMALL_CLASS = 10
"""Joint classes of fewer people are counted; limits on their size are not proposed, for nearly every pair has some."""

OWN = "this release"
NOT_DECIDED = (
    "for some people it was not decided in time what all releases together prove of them; raise the `time_limit` of "
    "the attack, or publish fewer leaves"
)
NEAR_LIMIT = (
    "what is believed of people of whom nothing is proved is an estimate, and the limit lies within its error; publish "
    "less, or set a limit farther from it"
)
NOT_NEAR = (
    "the estimate of what people of whom nothing is proved may have did not come near enough to what is published"
)
ANY_CHANGE = "secret_may_change: anybody's secret may have changed between two tables"
NOT_COMPARED = "not compared with its table, in whose place is a roll"
SOME_FORGOTTEN = "some of its people were forgotten, so that less may be proved of others than is true"
LEFT_PROVED = (
    "of some people who left the table this release and the others prove the secret, which no limit judges: wait until "
    "more people leave at once, or publish less"
)
EARLIER_PROVED = (
    "they prove what the secret of some people was in an older table, which no limit judges: publish less, or name the "
    "older release alone in a policy of that table"
)
SOME_KNOWN = (
    "knows.people: of people with the same public cells some are known and others not, and who is who is not used"
)
NO_KEY = "nobody knows which of its people are in the table: give a column the role `key`"


def infer(
    release: api.Release, known: api.AdversaryKnowledge, *, insiders: int, time_limit: float
) -> list[api.SecretBelief]:
    """One belief for each secret that has values or bins."""
    world = _World.of(release, known)
    secrets = [column for column in known.schema.secrets if column.countable]
    return [_belief(world, secret, insiders=insiders, time_limit=time_limit) for secret in secrets]


@dataclass(frozen=True, eq=False)
class _World:
    """The releases that people can be told apart by, who is who, and those that are not used."""

    known: api.AdversaryKnowledge
    sources: list[ReleasedTable]
    weight: api.Ids
    in_table: int
    unused: tuple[str, ...]

    @classmethod
    def of(cls, release: api.Release, known: api.AdversaryKnowledge) -> _World:
        """The release that is attacked comes first."""
        releases = known.releases
        if releases is None:
            record = np.arange(len(known.records))
            own = ReleasedTable(release=release, public=known.public, record=record, label=OWN)
            return cls(known, [own], known.weight, len(record), ())
        own = ReleasedTable(
            release=release,
            public=known.public,
            record=releases.record,
            label=OWN,
            table=releases.table,
            largest_share=releases.largest_share,
        )
        others = [
            ReleasedTable(
                release=each.release,
                public=each.public,
                record=each.record,
                label=each.label,
                table=each.table,
                largest_share=each.largest_share,
                roll=each.roll,
            )
            for each in releases.others
            if each.record is not None
        ]
        unused = tuple(f"{each.label}: {NO_KEY}" for each in releases.others if each.record is None)
        if _anything_may_change(known, releases):
            unused += (ANY_CHANGE,)
        return cls(known, [own, *others], releases.weight, releases.in_table, unused)

    def system(self, secret: api.Column, *, at: int | None = None) -> JointSystem:
        """What the releases state of a secret; `at` is the number of the table whose secret is asked."""
        change = None if self.known.releases is None else self.known.releases.change
        known = self.known.people
        return joint_system(self.sources, self.weight, self.known.schema, secret, change=change, known=known, at=at)


def _anything_may_change(known: api.AdversaryKnowledge, releases: KnownReleases) -> bool:
    """May everybody have any secret in any table, whatever the words for it?"""
    values = [str(value) for value in known.schema.target.domain]
    any_direction = all(releases.change.allows(older, newer) for older in values for newer in values)
    most = releases.change.at_most
    return any_direction and (most is None or most >= int(releases.weight.sum()))


def _belief(world: _World, secret: api.Column, *, insiders: int, time_limit: float) -> api.SecretBelief:
    start = time.monotonic()
    system = world.system(secret)
    proofs = joint_proofs(system, time_limit=time_limit)
    unused = [*world.unused, *(f"{world.sources[i].label}: {reason}" for i, reason in system.unsupported)]
    unused += [f"{each.label}: it has trees beside its model" for each in world.sources if each.release.alternatives]
    posterior, gap = _posterior(proofs)
    row_of = system.class_of[: world.in_table]

    def rows(of_classes: api.Floats) -> pd.DataFrame:
        return pd.DataFrame(of_classes[row_of], columns=pd.Index(list(secret.domain), dtype=object))

    people = _people_of_classes(world, system)
    to_insiders = None
    if insiders:
        left = max(time_limit - (time.monotonic() - start), 0.0)
        to_insiders = _of_the_table(insider_proofs(proofs, insiders=insiders, time_limit=left), people)
    undecided = _undecided(proofs, to_insiders)
    others = [rows(each) for each in _alternatives(posterior, proofs, undecided)]
    because = "; ".join(unused) or (NOT_NEAR if gap > MAX_GAP else NOT_DECIDED if undecided.any() else NEAR_LIMIT)
    evidence = _counts(proofs, people, undecided)
    if world.known.releases is not None:
        left = max(time_limit - (time.monotonic() - start), 1.0)
        evidence |= {"together": [each.label for each in world.sources], **_versions(world, proofs, secret, left)}
        evidence |= _says(evidence, secret) | _batch(world, posterior[row_of])
    left = max(time_limit - (time.monotonic() - start), 1.0)
    derived = np.asarray(proofs.proved.any(axis=1) | undecided.any(axis=1))
    for each in () if to_insiders is None else to_insiders.certain:
        derived[each[:, -1, 0]] = True
    unused += _not_judged(world, system, secret, derived, left)
    because = "; ".join(unused) or because
    if unused:
        evidence["unused"] = unused
    if not_compared := _not_compared(world):
        evidence["not_compared"] = not_compared
    return api.SecretBelief(
        secret.name,
        rows(posterior),
        equivalence_class=row_of,
        evidence=evidence,
        explain=lambda number: _words(world, system, number),
        alternative_posteriors=others,
        incomplete=bool(unused) or gap > MAX_GAP,
        certainty="certain",
        undecided_because=because,
        derived_alone=True,
        of_people=world.known.releases is not None,
        certain_to_insiders=None if to_insiders is None else to_insiders.certain,
    )


def _of_the_table(proofs: InsiderProofs, people: api.Ids) -> InsiderProofs:
    """The proofs of insiders who are in the table; those of others, whose values no limit compares, are open.

    Args:
        proofs: what insiders are certain of.
        people: shape (n_classes,), the people of the table in each joint class.
    """
    is_open, certain = proofs.open.copy(), []
    for each in proofs.certain:
        is_in = (people[each[:, :-1, 0]] > 0).all(axis=1)
        is_open[each[~is_in, -1, 0], each[~is_in, -1, 1]] = True
        certain.append(each[is_in])
    return InsiderProofs(certain=certain, open=is_open)


def _not_judged(
    world: _World, system: JointSystem, secret: api.Column, derived: api.Mask, time_limit: float
) -> list[str]:
    """Why limits, which judge what people of the table have now, are no answer for others and for earlier secrets.

    Args:
        world: the releases, and the people.
        system: what the releases state of the secret.
        secret: the column.
        derived: shape (n_classes,), of whom something is, or may be, certain to outsiders or insiders.
        time_limit: seconds.
    """
    start, class_of = time.monotonic(), system.class_of
    reasons = []
    if known := _mixed_records(world):
        reasons.append(known)
    left = np.flatnonzero(derived[class_of] & (np.arange(len(class_of)) >= world.in_table))
    if len(left) and not _proved_by_others(world, secret, time_limit)[left].all():
        reasons.append(LEFT_PROVED)
    changes = world.known.releases is not None and not world.known.releases.change.is_none
    if changes and secret.name == world.known.schema.target.name:
        own = world.sources[0].table
        for table in sorted({each.table for each in world.sources} - {own}):
            seconds = max(time_limit - (time.monotonic() - start), 1.0)
            then = joint_proofs(world.system(secret, at=table), time_limit=seconds)
            there = np.any([each.record >= 0 for each in world.sources if each.table == table], axis=0)
            found = np.asarray(then.proved.any(axis=1) | then.open.any(axis=1))[then.system.class_of]
            if (found & there & (world.sources[0].record >= 0)).any():
                reasons.append(EARLIER_PROVED)
                break
    return reasons


def _mixed_records(world: _World) -> str:
    """That some, and not all, people with the same public cells are known; empty where that is not so."""
    if world.known.people is None:
        return ""
    record = known_records(world.known.people, world.sources[0])
    known = np.bincount(record, weights=world.known.people.weight, minlength=len(world.known.weight))
    return SOME_KNOWN if ((known > 0) & (known < world.known.weight)).any() else ""


def _proved_by_others(world: _World, secret: api.Column, time_limit: float) -> api.Mask:
    """Whose secret the other releases prove without this one: shape (n_people,)."""
    others = sorted(world.sources[1:], key=lambda each: -each.table)
    people = np.flatnonzero(np.any([each.record >= 0 for each in others], axis=0))
    sources = [replace(each, record=each.record[people]) for each in others]
    change = None if world.known.releases is None else world.known.releases.change
    system = joint_system(sources, world.weight[people], world.known.schema, secret, change=change)
    found = np.asarray(joint_proofs(system, time_limit=time_limit).proved.any(axis=1))
    proved = np.zeros(len(world.weight), dtype=bool)
    proved[people] = found[system.class_of[: len(people)]]
    return proved


def _not_compared(world: _World) -> list[str]:
    """The releases whose tables are gone, which leaves no limit inconclusive."""
    rolled = [each for each in world.sources if each.roll is not None]
    more = [f"; {SOME_FORGOTTEN}" if each.forgotten else "" for each in rolled]
    return [f"{each.label}: {NOT_COMPARED}{words}" for each, words in zip(rolled, more, strict=True)]


MAX_TREES = 4
"""Trees of each release that the description of a joint class lists."""


def _words(world: _World, system: JointSystem, number: int) -> str:
    """What the leaves of each release publish about the people of a joint class."""
    person = int(np.flatnonzero(system.class_of == number)[0])
    return "; ".join(
        f"{source.label}: {_words_of_release(source, int(source.record[person]), world.known.schema)}"
        for source in world.sources
    )


def _words_of_release(source: ReleasedTable, record: int, schema: api.Schema) -> str:
    if record < 0:
        return "not among its people" if not source.forgotten else "not known to be among its people"
    trees = source.release.trees[:MAX_TREES]
    more = len(source.release.trees) - len(trees)
    words = [_words_of_tree(source, tree, record, schema) for tree in trees]
    return " and ".join([*words, f"{more} more trees"] if more else words)


def _words_of_tree(source: ReleasedTable, tree: api.Node, record: int, schema: api.Schema) -> str:
    """The path and the numbers of the leaf that a record reaches; the leaf may depend on what nobody knows."""
    if source.roll is not None:
        number = next(i for i, each in enumerate(source.release.trees) if each is tree)
        leaf = int(source.roll.leaf[number, record])
        return "no leaf" if leaf < 0 else f"leaf {leaf + 1} from the left -> {[*api.leaves(tree)][leaf].words}"
    if any(not schema[name].public for name in api.columns_asked(tree)):
        return "one of several leaves"
    residuals = ResidualTrees(tree, source.public, schema)
    compact = residuals.compact_numbers()
    reached = residuals.leaves(int(compact.of(np.array([record]))[0]))
    if not reached:
        return "no leaf"
    path = " and ".join(conditions(reached[0].possible, schema)) or "everyone"
    return f"{path} -> {reached[0].leaf.words}"


def _posterior(proofs: JointProofs) -> tuple[api.Floats, float]:
    """1 for each proved value, the estimate elsewhere; and by how many people the estimate misses a number."""
    estimate, gap = maximum_entropy(proofs.system, proofs.state)
    people, is_stated = stated_people(proofs.system)
    shares = people / np.maximum(proofs.system.size, 1)[:, None]
    proved = proofs.proved
    is_proved = np.asarray(proved.any(axis=1))
    unproved = np.where(is_stated[:, None], shares, _uncertain(estimate))
    return np.where(is_proved[:, None], proved.astype(np.float64), unproved), gap


def _uncertain(estimate: api.Floats) -> api.Floats:
    """The rows with no probability that counts as certain; what is taken away goes to the other values."""
    n_values = estimate.shape[1]
    if n_values == 1:
        return estimate
    excess = np.maximum(estimate - LARGEST_ESTIMATE, 0.0)
    return np.asarray(estimate - excess + (excess.sum(axis=1, keepdims=True) - excess) / (n_values - 1))


def _undecided(proofs: JointProofs, to_insiders: InsiderProofs | None) -> api.Mask:
    """For each class the values that may be certain, to outsiders or to insiders, as far as was found out."""
    undecided: api.Mask = np.asarray(proofs.open)
    if to_insiders is not None:
        undecided = undecided | to_insiders.open
    return np.asarray(undecided & ~proofs.proved.any(axis=1, keepdims=True))


def _alternatives(posterior: api.Floats, proofs: JointProofs, undecided: api.Mask) -> Iterator[api.Floats]:
    """What else may be true: undecided values are certain, and each estimate is off by as much as it may be."""
    n_values = posterior.shape[1]
    free = np.asarray(~proofs.proved.any(axis=1)) & ~stated_people(proofs.system)[1]
    error = np.maximum(ESTIMATE_ERROR, ERROR_OF_ONE / np.maximum(proofs.system.size, 1))
    if undecided.any():
        for value in range(n_values):
            certain = np.eye(n_values)[value]
            yield np.where((undecided[:, value])[:, None], certain, posterior)
    for value in range(n_values) if free.any() and n_values > 1 else ():
        for sign in (1, -1) if n_values > 2 else (1,):
            yield np.where(free[:, None], _moved(posterior, value, sign * error), posterior)


def _moved(posterior: api.Floats, value: int, step: api.Floats) -> api.Floats:
    """The rows with the probability of one value changed by a step each, and the others in their proportions."""
    old = posterior[:, value]
    new = np.clip(old + step, 1 - LARGEST_ESTIMATE, LARGEST_ESTIMATE)
    rest = np.maximum(1 - old, 1e-12)
    moved = posterior * ((1 - new) / rest)[:, None]
    moved[:, value] = new
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def _people_of_classes(world: _World, system: JointSystem) -> api.Ids:
    """The people of the table in each joint class."""
    weight = world.weight[: world.in_table]
    row_of = system.class_of[: world.in_table]
    return np.bincount(row_of, weights=weight, minlength=system.n_classes).astype(np.int64)


def _counts(proofs: JointProofs, people: api.Ids, undecided: api.Mask) -> dict[str, Any]:
    """How many joint classes there are, and how many people of the table are proved, or not decided."""
    there = people > 0
    proved = np.asarray(proofs.proved.any(axis=1))
    small = there & (people < SMALL_CLASS)
    return {
        "groups": int(there.sum()),
        "people_in_small_classes": api.PeopleCount(int(people[small].sum())),
        "people_proved": api.PeopleCount(int(people[proved].sum())),
        "people_open": api.PeopleCount(int(people[undecided.any(axis=1)].sum())),
        "proofs_by_branching": api.AuditorOnly(int(proofs.branched.sum())),
    }


def _versions(world: _World, proofs: JointProofs, secret: api.Column, time_limit: float) -> dict[str, Any]:
    """For each other release who came and who left since, what is proved of them, and what either alone proves."""
    proved = np.asarray(proofs.proved.any(axis=1))[proofs.system.class_of]
    alone = [_proved_alone(world, i, secret, time_limit / len(world.sources)) for i in range(len(world.sources))]
    own = world.sources[0].record >= 0
    groups: dict[str, Any] = {}
    for i, source in enumerate(world.sources[1:], 1):
        there = source.record >= 0
        parts = {"came": own & ~there, "left": there & ~own, "stayed": own & there}
        groups[source.label] = {
            name: {
                "people": _people(world, part),
                "proved_together": _people(world, part & proved),
                "proved_by_this_release_alone": _people(world, part & alone[0]),
                "proved_by_the_other_alone": _people(world, part & alone[i]),
            }
            for name, part in parts.items()
        }
    return {"came_and_left": api.AuditorOnly(groups)} if groups else {}


def _batch(world: _World, posterior: api.Floats) -> dict[str, Any]:
    """How many people should come in each leaf before the next release; nothing where that is not known."""
    weight = world.weight[: world.in_table]
    n_leaves = max(sum(1 for _ in api.leaves(tree)) for tree in world.sources[0].release.trees)
    people = batch_per_leaf(np.asarray(weight @ posterior / weight.sum()), n_leaves)
    return {} if people is None else {"people_to_come_per_leaf": api.AuditorOnly(people)}


def _says(evidence: dict[str, Any], secret: api.Column) -> dict[str, Any]:
    """What is proved together and by either release alone, in words; nothing where no release is compared."""
    if "came_and_left" not in evidence:
        return {}
    people, compared = evidence["people_proved"].count, evidence["came_and_left"].content
    return {"says": api.AuditorOnly(joint_words(secret.name, evidence["together"], people, compared))}


def _people(world: _World, part: api.Mask) -> api.PeopleCount:
    return api.PeopleCount(int(world.weight[part].sum()))


def _proved_alone(world: _World, number: int, secret: api.Column, time_limit: float) -> api.Mask:
    """Whose secret one release alone proves: shape (n_people,)."""
    source = world.sources[number]
    people = np.flatnonzero(source.record >= 0)
    one = replace(source, record=source.record[people])
    system = joint_system([one], world.weight[people], world.known.schema, secret)
    found = np.asarray(joint_proofs(system, time_limit=time_limit).proved.any(axis=1))
    proved = np.zeros(len(source.record), dtype=bool)
    proved[people] = found[system.class_of]
    return proved
