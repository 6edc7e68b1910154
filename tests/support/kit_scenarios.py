"""Scenarios and cases for the conformance kit that only a few bundled components can use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from leafgate.api import (
    BuildResult,
    Column,
    Example,
    Leaf,
    Mechanism,
    Noise,
    NumericSplit,
    Records,
    Release,
    ScoringContext,
    Table,
    TreeBuilder,
)
from leafgate.engine.knowledge import grant_knowledge
from leafgate.engine.state import records_of_cells
from leafgate.kernel import belief as beliefs
from leafgate.kernel.knowledge import limit_knowledge
from leafgate.testing import Case, Scenario
from leafgate.testing.metrics import context, people_case, release_case
from leafgate.testing.scenarios import (
    COLUMNS,
    MEMBERS,
    TOWNS,
    TREE,
    Change,
    Telling,
    counted_tree,
    survey,
    table_of,
    unchanged,
    written_out,
)
from leafgate_plugins.dp_random_trees.options import DpLaplaceTrees

DIARIES = (
    COLUMNS[0],
    Column("diary", frozenset({"private"}), values=("a", "b")),
    Column("mood", frozenset({"sensitive"}), values=("good", "bad")),
)
PAY = (
    Column(
        "pay",
        frozenset({"sensitive"}),
        bounds=(0.0, 100.0),
        ordered=True,
        bins=(0.0, 20.0, 40.0, 60.0, 80.0, 100.0),
    ),
    Column("hours", frozenset({"private"}), bounds=(0.0, 100.0)),
    Column("grade", frozenset({"class", "quasi_identifier"}), values=("low", "high")),
)
WITHHELD = {"withheld": True}


class OneShot(TreeBuilder):
    """Stands for the builder that made a release."""

    use: str
    randomness = "system"


def twins(telling: Telling) -> Table:
    """A mood that is secret, and a diary that discloses it, or that is everybody's."""
    rows = [
        (town, "a" if telling == "nothing" or mood == "good" else "b", mood)
        for town, mood in product(TOWNS, ("good", "bad"))
    ]
    return table_of(DIARIES, rows, [20] * len(rows))


def withheld(table: Table, telling: Telling) -> BuildResult:
    """Everything is published but the mood of two people a row."""
    names = tuple(column.name for column in table.schema.columns)
    rows, weight, origins = list[tuple[Any, ...]](), list[int](), list[int]()
    for i, row in enumerate(table.frame.astype(object).to_numpy().tolist()):
        hidden = tuple(WITHHELD if name == "mood" else cell for name, cell in zip(names, row, strict=True))
        rows += [tuple(row), hidden, hidden]
        weight += [int(table.weight[i]) - 2, 1, 1]
        origins += [i] * 3
    records = Records(names, tuple(rows), tuple(weight))
    return BuildResult(Release({"use": "kit"}, table.schema, model="none", records=records), origins=tuple(origins))


def salaries(telling: Telling) -> Table:
    """Pay, a secret number with bins; hours, which are known; and a grade, the class."""
    rng = np.random.default_rng(2)
    pay = rng.uniform(1, 99, 240).round(3)
    hours = (pay / 2 + rng.uniform(0, 50, 240)).round(3)
    rows = [(a, b, "high" if a > 50 else "low") for a, b in zip(pay.tolist(), hours.tolist(), strict=True)]
    return table_of(PAY, rows, [1] * len(rows))


def noisy(table: Table, telling: Telling, *, tree: bool) -> BuildResult:
    """Pay and hours with noise on them: very little, or so much that nothing is left; with `tree` the grade's tree."""
    law, rng = Noise("gaussian", 0.01 if telling == "much" else 100_000.0), np.random.default_rng(5)
    order = np.argsort(table.numbers("pay"))
    frame = table.frame.iloc[order].reset_index(drop=True)
    for name in ("hours", "pay"):
        frame[name] = law.added(frame[name].to_numpy(dtype=float), rng)
    rows = tuple(map(tuple, frame.astype(object).to_numpy().tolist()))
    records = Records(tuple(frame.columns), rows, tuple(table.weight[order].tolist()))
    noise = {"pay": law, "hours": law}
    release = Release(
        {"use": "kit"}, table.schema, model="none", count_semantics="perturbed", records=records, noise=noise
    )
    if tree:
        grown = counted_tree(NumericSplit("hours", 50.0, Leaf(), Leaf()), table)
        release = replace(release, model="trees", trees=(grown,), alternatives={"perturbed": grown})
    return BuildResult(release, origins=tuple(order.tolist()))


def private(table: Table, telling: Telling) -> Release:
    """Counts that claim epsilon 0.1, and the label that follows from them: the true ones, or none of them."""
    tree: Any = counted_tree(Leaf(), table)
    counts = {name: count if telling == "much" else 1 for name, count in tree.counts.items()}
    return Release(
        {"use": "kit"},
        table.schema,
        (replace(tree, counts=counts, label=max(counts, key=counts.__getitem__)),),
        selection={"measure": "none"},
        count_semantics="noisy",
        guarantee={"epsilon": {"at_most": 0.1, "delta": 0.0}},
    )


def running(telling: Telling) -> Mechanism:
    """The algorithm of `private`, which any attacker may run."""
    return lambda table, rng: private(table, telling)


def ballots(telling: Telling) -> Table:
    """Ballots on four questions, of which some people's answers to one are to be protected, cell by cell."""
    rng = np.random.default_rng(3)
    names = ("party", "tax", "war", "school")
    columns = tuple(
        Column(name, frozenset({"class" if name == "party" else "private"}), values=("yes", "no")) for name in names
    )
    rows = [tuple(("yes", "no")[answer] for answer in row) for row in rng.integers(0, 2, (40, 4)).tolist()]
    table = table_of(columns, rows, [1] * len(rows))
    return replace(table, protected={"tax": np.arange(len(table)) < 3}, _codes={})


def laplace(table: Table, telling: Telling) -> Release:
    """Noisy trees, the noise hardly any or overwhelming."""
    builder = DpLaplaceTrees(trees=2, depth=1, scale=0.1 if telling == "much" else 1e6)
    return builder.build(table, np.random.default_rng(0))


CELLS = Scenario("withheld cells", twins, withheld, about=(beliefs.CellBelief,))
NOISE = Scenario("noise on numbers", salaries, partial(noisy, tree=False), about=(beliefs.CellBelief,))
NOISE_AND_TREE = Scenario(
    "noise on numbers, and a tree", salaries, partial(noisy, tree=True), about=(beliefs.CellBelief,)
)
MECHANISM = Scenario(
    "a mechanism", lambda telling: survey(), private, about=(beliefs.MechanismBelief,), mechanism=running
)
BALLOTS = Scenario("ballots", ballots, lambda table, telling: Release({"use": "kit"}, table.schema, (Leaf(),)))
LAPLACE = Scenario("trees with noise", lambda telling: survey(), laplace)


def cells_case(learned: float, change: Change = unchanged) -> ScoringContext:
    """Of everybody's pay, which is published with noise, so much of the number in place of the mean."""
    world = NOISE.world(change)
    column = world.table.schema["pay"]
    cells = np.arange(len(world.table))
    table = records_of_cells(cells, world.release, world.origins, world.table)
    codes, numbers = table.codes("pay"), table.numbers("pay")
    overall = np.bincount(codes, minlength=len(column.domain)) / len(table)
    chances = learned * np.eye(len(column.domain))[codes] + (1 - learned) * overall
    posterior, prior = (
        pd.DataFrame(each, columns=pd.Index(list(column.domain), dtype=object))
        for each in (chances, 0 * chances + overall)
    )
    estimates = learned * numbers + (1 - learned) * numbers.mean()
    belief = beliefs.CellBelief("pay", posterior, cells, estimates=estimates, prior=prior)
    return replace(context(world, belief), table=table)


def groups_case(learned: float, change: Change = unchanged) -> ScoringContext:
    """The groups of `people_case`, by an attack that believes nothing of a secret."""
    case = people_case(learned, change)
    classes: Any = beliefs.classes_of(case.belief)
    return replace(case, belief=beliefs.GroupBelief(classes, population_groups=classes))


def targets_case(learned: float, change: Change = unchanged) -> ScoringContext:
    """Of people of the table so much of who smokes, with proofs where it is all; planted leaks are seen."""
    world = MEMBERS.world(change)
    _, membership = world.asked
    values, share = membership.secrets["smoker"], learned * membership.in_table[:, None]
    even = np.full((len(values), 2), 0.5)
    proven = np.where(membership.in_table & (learned == 1), values, -1)

    def planted(asked: Any, leaking: Any, repeat: int) -> Any:
        return np.where(leaking[:, None], np.eye(2)[asked], even)

    posterior = share * np.eye(2)[values] + (1 - share) * even
    belief = beliefs.AttributeBelief("smoker", posterior, certain=proven, planted=planted)
    known = limit_knowledge(world.known, frozenset({"targets"}))
    return context(replace(world, known=known), belief, _membership=membership)


def table_case(learned: float, change: Change = unchanged) -> ScoringContext:
    """Of the records of the table: each column's cells in an order of its own, part of the records, or all of them."""
    world = TREE.world(change)
    people = written_out(world.table).frame.sort_index(axis="columns")
    people = people.sort_values(list(people.columns), key=lambda cells: cells.astype(str), ignore_index=True)
    apart = people.copy()
    for number, name in enumerate(people.columns):
        apart[name] = people[name].array[np.random.default_rng(number).permutation(len(people))]
    known_of = np.random.default_rng(len(people.columns)).random(len(people)) < learned
    records = pd.concat([people[known_of], apart[~known_of]], ignore_index=True)
    return context(world, beliefs.TableBelief(records, proved_cells=int(known_of.sum()) * (len(records.columns) - 1)))


def claimed_case(learned: float, change: Change = unchanged) -> ScoringContext:
    """A release that claims differential privacy, and the builder that made it."""
    case = release_case(LAPLACE, learned, change)
    return replace(case, builder=OneShot(use=str(case.release.builder["use"])))


def worked_case(example: Example) -> ScoringContext:
    """The example's group beside the others, and an adversary who knows each group's shares, or what is said."""
    domain = list(example.everyone)
    group = [example.group.get(value, 0) for value in domain]
    others = [example.everyone[value] - mine for value, mine in zip(domain, group, strict=True)]
    several = [counts for counts in (group, others) if any(counts)]
    who = Column("who", frozenset({"quasi_identifier"}), values=("the group", "the others")[: len(several)])
    secret = Column("secret", frozenset({"sensitive"}), values=tuple(domain), ordered=True)
    counted = {cells: n for cells, n in zip(product(who.domain, domain), np.ravel(several).tolist(), strict=True) if n}
    table = table_of((who, secret), list(counted), list(counted.values()))
    outside = None
    if example.population is not None:
        inside = [example.population, *(sum(counts) for counts in several[1:])]
        outside = table_of((who,), [(name,) for name in who.domain], inside)
    shares = pd.DataFrame([np.array(counts) / sum(counts) for counts in several], columns=domain)

    def with_first(said: Mapping[str, float] | None) -> pd.DataFrame:
        changed = shares.copy()
        changed.iloc[0] = shares.iloc[0] if said is None else [said.get(str(value), 0.0) for value in domain]
        return changed

    groups = np.arange(len(several))
    belief = beliefs.SecretBelief(
        "secret",
        with_first(example.believed),
        equivalence_class=groups,
        population_groups=None if outside is None else groups,
        prior=None if example.prior is None else with_first(example.prior),
    )
    known = grant_knowledge(table, population=outside)
    return ScoringContext(table, None, Release({}, table.schema), known, belief)


NOISES = (NOISE, NOISE_AND_TREE)
ON: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("conditioning", "restoration", "tree_inference", "naive_bayes", "cells_withheld"), (CELLS,)),
    **dict.fromkeys(("be_dr", "pca_dr", "posterior", "spectral_filter"), NOISES),
    **dict.fromkeys(("functionality", "accuracy_on_perturbed", "interval_privacy", "privacy_loss"), NOISES),
    **dict.fromkeys(
        ("k_anonymity", "k_map", "reidentification_risk", "uniques"), (Case(beliefs.GroupBelief, groups_case),)
    ),
    **dict.fromkeys(("attribute_certain", "attribute_leak"), (Case(beliefs.AttributeBelief, targets_case),)),
    "differential_privacy": (Case(None, claimed_case),),
    "distinguish": (MECHANISM,),
    "downgrading": (BALLOTS,),
    "area_under_curve": NOISES,
    "generalisation_gap": NOISES,
    "normalised_rmse": (Case(beliefs.CellBelief, cells_case),),
    "ppdtc45": (NOISE,),
    "reconstructed_cells": (Case(beliefs.TableBelief, table_case),),
}
"""What some bundled components are tried on besides the kit's own scenarios, by their names."""
