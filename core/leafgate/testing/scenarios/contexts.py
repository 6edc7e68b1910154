"""Cases: what a metric is shown, made so that it is known how much is disclosed about somebody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.engine.knowledge import grant_knowledge
from leafgate.engine.validation import records_of_cells
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
)
from leafgate.kernel.components import TreeBuilder
from leafgate.kernel.context import ScoringContext
from leafgate.kernel.knowledge import AdversaryKnowledge, limit_knowledge
from leafgate.kernel.metrics import Example
from leafgate.kernel.release import Release
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import Table, make_table, typed_column
from leafgate.testing.scenarios import MEMBERS, SETTINGS, Instance, Scenario, unchanged
from leafgate.testing.scenarios.tables import OLDEST, written_out

Learned = Literal["nothing", "half", "everything", "half, alone", "nearly everything"]
SHARE: Mapping[Learned, float] = {
    **{"nothing": 0.0, "half": 0.5, "everything": 1.0},
    **{"half, alone": 0.5, "nearly everything": 0.98},
}
"""How far from the overall shares to certainty a belief is."""
Change = Callable[[Table], Table]
TREE = SETTINGS[0]
NOISE = next(setting for setting in SETTINGS if setting.name == "noise on numbers")
MECHANISM = next(setting for setting in SETTINGS if setting.mechanism is not None)
EPSILON_SHOWN = 3.0
"""The epsilon that runs show where everything is learned of the mechanism: more than is claimed."""
SURE_ODDS = 1e6
"""The odds of somebody of whom an attack is sure."""


class OneShot(TreeBuilder):
    """Stands for the builder that made a release."""

    use: str
    randomness = "system"


@dataclass(frozen=True)
class CaseKind:
    """A kind of case: by what is learned of one person (or of all), and the table changed beforehand.

    `belief` is the type of belief in its contexts; None of a release alone.
    """

    name: str
    case: Callable[[Learned, Change], ScoringContext]
    labels: bool = True
    belief: type[Belief] | None = None


def people_case(learned: Learned, change: Change = unchanged) -> ScoringContext:
    """Of the one person who is 90: nothing; half of it, in a group of those of their town; or more of it, alone."""
    world = TREE.world(change)
    table, known = world.table, replace(world.known, population=_population(world.known))
    column = table.schema["illness"]
    overall = np.bincount(table.codes("illness"), weights=table.weight, minlength=len(column.domain)) / table.people
    exposed = (known.records["age"] == OLDEST).to_numpy()
    town = (known.records["town"] == "Port").to_numpy()
    groups = {"nothing": exposed * 0, "half": town * 1}.get(learned, town * 1 + exposed * 1)
    truth = np.eye(len(column.domain))[_truth(table)]
    share = SHARE[learned]
    chances = np.where(exposed[:, None], share * truth + (1 - share) * overall, overall)
    columns = pd.Index(list(column.domain), dtype=object)
    belief = SecretBelief(
        "illness",
        pd.DataFrame(chances, columns=columns),
        equivalence_class=groups.astype(np.int64),
        population_groups=groups.astype(np.int64),
        prior=pd.DataFrame(np.tile(overall, (len(chances), 1)), columns=columns),
    )
    return ScoringContext(table, table, world.release, known, belief)


def _truth(table: Table) -> int:
    """The illness of the one who is 90."""
    return int(table.codes("illness")[(table.frame["age"] == OLDEST).to_numpy()].max())


def _population(known: AdversaryKnowledge) -> Table:
    """Twice the people, and nobody else like the one who is 90."""
    twice = np.where(known.records["age"] == OLDEST, 1, 2) * known.weight
    return Table(known.public.schema, known.public.frame, twice.astype(np.int64))


def cells_case(learned: Learned, change: Change = unchanged) -> ScoringContext:
    """Of everybody's pay, which is published with noise: its mean; a number halfway; the number itself."""
    world = NOISE.world(change)
    column = world.table.schema["pay"]
    assert world.release.records is not None
    cells = np.arange(len(world.release.records.rows))
    table = records_of_cells(cells, world.release, world.origins, world.table)
    overall = np.bincount(table.codes("pay"), minlength=len(column.domain)) / len(table)
    share = SHARE[learned]
    chances = share * np.eye(len(column.domain))[table.codes("pay")] + (1 - share) * overall
    columns = pd.Index(list(column.domain), dtype=object)
    numbers = table.numbers("pay")
    belief = CellBelief(
        "pay",
        pd.DataFrame(chances, columns=columns),
        cells,
        estimates=share * numbers + (1 - share) * numbers.mean(),
        prior=pd.DataFrame(np.tile(overall, (len(cells), 1)), columns=columns),
    )
    return ScoringContext(table, world.table, world.release, world.known, belief, origins=world.origins)


def groups_case(learned: Learned, change: Change = unchanged) -> ScoringContext:
    """The groups of `people_case`, by an attack that believes nothing of a secret."""
    case = people_case(learned, change)
    assert isinstance(case.belief, SecretBelief)
    assert case.belief.equivalence_class is not None
    groups = GroupBelief(case.belief.equivalence_class, population_groups=case.belief.population_groups)
    return replace(case, belief=groups)


def candidates_case(learned: Learned, change: Change = unchanged) -> ScoringContext:
    """Of who is in the table: nothing, so that all candidates score alike; half of it; or all, with exclusions.

    The attack is sure of those of whom it learned, and sees leaks that are planted.
    """
    world = MEMBERS.world(change)
    candidates, membership = world.drawn
    known = limit_knowledge(replace(world.known, candidates=candidates), frozenset({"candidates"}))
    inside = membership.in_table.astype(float)
    known_of = (
        np.arange(len(inside)) % 2 == 0 if learned.startswith("half") else np.full(len(inside), SHARE[learned] > 0)
    )
    scores = np.where(known_of, inside, 0.5)
    excluded = known_of & ~membership.in_table & ~membership.identical
    odds = np.where(known_of, SURE_ODDS ** (2 * inside - 1), 1.0)

    def planted(share: float, repeat: int) -> PlantedLeak:
        rng = np.random.default_rng([repeat, round(share * len(inside))])
        members = rng.permutation(membership.in_table)
        leaks = members & (rng.permutation(len(members)) < share * len(members))
        return PlantedLeak(rng.random(len(members)) + leaks, members, odds=SURE_ODDS**leaks)

    belief = MembershipBelief(scores, p_values=1 - scores, excluded=excluded, odds=odds, planted=planted)
    return ScoringContext(world.table, world.table, world.release, known, belief, _membership=membership)


def targets_case(learned: Learned, change: Change = unchanged) -> ScoringContext:
    """Of who smokes: nothing beyond the other columns; half of it; or all, with proofs; planted leaks are seen."""
    world = MEMBERS.world(change)
    targets, membership = world.asked
    asked = "smoker"
    known = limit_knowledge(replace(world.known, targets=targets), frozenset({"targets"}))
    truth = np.eye(len(targets[asked].secret.domain))[membership.secrets[asked]]
    share = SHARE[learned] * membership.in_table[:, None]
    even = np.full_like(truth, 1 / truth.shape[1])
    proven = np.where(membership.in_table & (SHARE[learned] == 1), membership.secrets[asked], -1)

    def planted(values: NDArray[np.int64], leaking: NDArray[np.bool_], repeat: int) -> NDArray[np.float64]:
        return np.where(leaking[:, None], np.eye(truth.shape[1])[values], even)

    belief = AttributeBelief(asked, share * truth + (1 - share) * even, certain=proven, planted=planted)
    return ScoringContext(world.table, world.table, world.release, known, belief, _membership=membership)


def table_case(learned: Learned, change: Change = unchanged) -> ScoringContext:
    """Of the records of the table: each column's cells, in an order of its own; part of the records; or all of them."""
    world = TREE.world(change)
    people = written_out(world.table).frame.sort_index(axis="columns")
    people = people.sort_values(list(people.columns), key=lambda cells: cells.astype(str), ignore_index=True)
    apart = people.copy()
    for number, name in enumerate(people.columns):
        apart[name] = people[name].array[np.random.default_rng(number).permutation(len(people))]
    known_of = np.random.default_rng(len(people.columns)).random(len(people)) < SHARE[learned]
    records = pd.concat([people[known_of], apart[~known_of]], ignore_index=True)
    belief = TableBelief(records, proved_cells=int(known_of.sum()) * (len(records.columns) - 1))
    return ScoringContext(world.table, world.table, world.release, world.known, belief)


def mechanism_case(learned: Learned, change: Change = unchanged) -> ScoringContext:
    """Of a claim of epsilon: that runs show nothing against it; or that they refute it, by so much."""
    world = MECHANISM.world(change)
    shown = EPSILON_SHOWN * SHARE[learned]
    claim = world.release.guarantee["epsilon"]["at_most"]
    belief = MechanismBelief(
        tries=("epsilon",),
        refutes=("epsilon",) if shown > claim else (),
        evidence={"epsilon_at_least": shown, "claimed": claim},
    )
    known = limit_knowledge(world.known, frozenset({"mechanism"}))
    return ScoringContext(
        world.table,
        world.table,
        world.release,
        known,
        belief,
        builder=OneShot(use=str(world.release.builder.get("use", "kit"))),
    )


SHOWN_CASES = (
    CaseKind("people", people_case, belief=SecretBelief),
    CaseKind("hidden cells", cells_case, labels=False, belief=CellBelief),
    CaseKind("groups of people", groups_case, belief=GroupBelief),
    CaseKind("candidates", candidates_case, belief=MembershipBelief),
    CaseKind("targets", targets_case, belief=AttributeBelief),
    CaseKind("reconstructed records", table_case, belief=TableBelief),
    CaseKind("a mechanism", mechanism_case, belief=MechanismBelief),
)


def release_case(setting: Scenario, learned: Learned = "everything", change: Change = unchanged) -> ScoringContext:
    """A context of a release that discloses much or nothing, without a belief; the table is the test table, too."""
    world = setting.world(change, "much" if learned == "everything" else "nothing")
    return case_of(world)


def case_of(world: Instance) -> ScoringContext:
    """A case of a release alone."""
    return ScoringContext(
        world.table,
        world.table,
        world.release,
        world.known,
        origins=world.origins,
        builder=OneShot(use=str(world.release.builder.get("use", "kit"))),
    )


def alone(case: ScoringContext) -> ScoringContext | None:
    """The same with a row for each person, in table and test table; None where it has one already."""
    if (case.table.weight == 1).all():
        return None
    test = None if case.test is None else written_out(case.test)
    table = written_out(case.table)
    origins = None if case.origins is None else _moved(case, case.origins)
    return replace(case, table=table, test=test, origins=origins)


def _moved(case: ScoringContext, origins: object) -> tuple[int, ...]:
    """For each published record the first of the rows that its row of the table became."""
    first = np.concatenate([[0], np.cumsum(case.table.weight)[:-1]])
    return tuple(first[np.asarray(origins, dtype=np.int64)].tolist())


def edge_case_contexts() -> list[ScoringContext]:
    """Beliefs of groups only; nothing of baseline, population, test table, trees or whose the cells are; one person.

    Of candidates nothing but scores; of targets nothing but posteriors; of a mechanism no claim, no attempt and no
    evidence.
    """
    whole, cells = people_case("everything"), cells_case("everything")
    candidates, mechanism = candidates_case("everything"), mechanism_case("everything")
    targets = targets_case("everything")
    assert isinstance(targets.belief, AttributeBelief)
    assert isinstance(candidates.belief, MembershipBelief)
    belief, other = whole.belief, cells.belief
    assert isinstance(belief, SecretBelief)
    assert isinstance(other, CellBelief)
    bare = replace(belief, prior=None, population_groups=None)
    lone = Table(whole.table.schema, whole.table.frame.head(1).reset_index(drop=True), np.ones(1, dtype=np.int64))
    known = grant_knowledge(lone)
    chances = pd.DataFrame([[1.0, 0.0, 0.0]], columns=belief.posterior.columns)
    certain = SecretBelief("illness", chances, equivalence_class=np.zeros(1, dtype=np.int64))
    return [
        replace(whole, belief=None),
        replace(whole, test=None),
        replace(whole, belief=GroupBelief(np.asarray(bare.equivalence_class))),
        replace(whole, belief=replace(bare, equivalence_class=None)),
        replace(whole, belief=bare, known=replace(whole.known, population=None)),
        replace(whole, release=replace(whole.release, trees=())),
        replace(cells, belief=replace(other, estimates=None, prior=None)),
        replace(cells, origins=None),
        replace(candidates, belief=MembershipBelief(candidates.belief.scores)),
        replace(targets, belief=AttributeBelief("smoker", targets.belief.posterior)),
        replace(mechanism, belief=MechanismBelief(), release=replace(mechanism.release, guarantee={})),
        ScoringContext(lone, lone, whole.release, known, certain),
    ]


GROUPS = ("the group", "the others")


def worked_case(example: Example) -> ScoringContext:
    """The example's group beside the others, and an adversary who knows each group's shares, or what is said."""
    domain = list(example.everyone)
    several = [[example.group.get(value, 0) for value in domain]]
    several.append([example.everyone[value] - mine for value, mine in zip(domain, several[0], strict=True)])
    several = [counts for counts in several if any(counts)]
    who = Column("who", frozenset({"quasi_identifier"}), values=GROUPS[: len(several)])
    secret = Column("secret", frozenset({"sensitive"}), values=tuple(domain), ordered=True)
    rows = [(name, value) for name in who.domain for value in domain]
    table = _people((who, secret), rows, [count for counts in several for count in counts])
    others = None
    if example.population is not None:
        inside = [example.population, *(sum(counts) for counts in several[1:])]
        others = _people((who,), [(name,) for name in who.domain], inside)
    shares = pd.DataFrame([np.array(counts) / sum(counts) for counts in several], columns=domain)
    groups = np.arange(len(several))
    belief = SecretBelief(
        "secret",
        _with_first(shares, example.believed),
        equivalence_class=groups,
        population_groups=None if others is None else groups,
        prior=None if example.prior is None else _with_first(shares, example.prior),
    )
    return ScoringContext(table, None, Release({}, table.schema), grant_knowledge(table, population=others), belief)


def _people(columns: tuple[Column, ...], rows: Sequence[tuple[str | None, ...]], counts: Sequence[int]) -> Table:
    there = [(row, count) for row, count in zip(rows, counts, strict=True) if count]
    frame = pd.DataFrame({c.name: typed_column(c, [row[i] for row, _ in there]) for i, c in enumerate(columns)})
    return make_table(Schema(columns), frame, np.array([count for _, count in there], dtype=np.int64))


def _with_first(shares: pd.DataFrame, shares_of_first: Mapping[str, float] | None) -> pd.DataFrame:
    """The same with what is said in the place of the group's own shares."""
    if shares_of_first is None:
        return shares
    changed = shares.copy()
    changed.iloc[0] = [shares_of_first.get(str(value), 0.0) for value in shares.columns]
    return changed
