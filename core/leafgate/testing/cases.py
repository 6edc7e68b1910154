"""Cases: what a metric is shown, made so that it is known how much somebody gives away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from leafgate.belief import Belief
from leafgate.case import Case
from leafgate.hidden_cells import people_behind
from leafgate.known import Known, known_of
from leafgate.table import Table
from leafgate.testing.settings import SETTINGS, Setting, World
from leafgate.testing.tables import OLDEST, written_out

Learned = Literal["nothing", "half", "everything", "half, alone", "nearly everything"]
SHARE: Mapping[Learned, float] = {
    **{"nothing": 0.0, "half": 0.5, "everything": 1.0},
    **{"half, alone": 0.5, "nearly everything": 0.98},
}
"""How far from the overall shares to certainty a belief is."""
Change = Callable[[Table], Table]
TREE, NOISE = SETTINGS[0], next(setting for setting in SETTINGS if setting.name == "noise on numbers")


@dataclass(frozen=True)
class Shown:
    """A kind of case: by what is learned of one person (or of all), and the table changed beforehand."""

    name: str
    case: Callable[[Learned, Change], Case]
    labels: bool = True


def unchanged(table: Table) -> Table:
    return table


def people_case(learned: Learned, change: Change = unchanged) -> Case:
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
    belief = Belief(
        "illness",
        groups.astype(np.int64),
        pd.DataFrame(chances, columns=columns),
        population_groups=groups.astype(np.int64),
        baseline=pd.DataFrame(np.tile(overall, (len(chances), 1)), columns=columns),
    )
    return Case(table, table, world.release, known, belief)


def _truth(table: Table) -> int:
    """The illness of the one who is 90."""
    return int(table.codes("illness")[(table.frame["age"] == OLDEST).to_numpy()].max())


def _population(known: Known) -> Table:
    """Twice the people, and nobody else like the one who is 90."""
    twice = np.where(known.records["age"] == OLDEST, 1, 2) * known.weight
    return Table(known.public.schema, known.public.frame, twice.astype(np.int64))


def cells_case(learned: Learned, change: Change = unchanged) -> Case:
    """Of everybody's pay, which is published with noise: its mean; a number halfway; the number itself."""
    world = NOISE.world(change)
    column = world.table.schema["pay"]
    assert world.release.records is not None
    cells = np.arange(len(world.release.records.rows))
    table = people_behind(cells, world.release, world.origins, world.table)
    overall = np.bincount(table.codes("pay"), minlength=len(column.domain)) / len(table)
    share = SHARE[learned]
    chances = share * np.eye(len(column.domain))[table.codes("pay")] + (1 - share) * overall
    columns = pd.Index(list(column.domain), dtype=object)
    numbers = table.numbers("pay")
    belief = Belief(
        "pay",
        None,
        pd.DataFrame(chances, columns=columns),
        cells=cells,
        estimates=share * numbers + (1 - share) * numbers.mean(),
        baseline=pd.DataFrame(np.tile(overall, (len(cells), 1)), columns=columns),
    )
    return Case(table, world.table, world.release, world.known, belief, origins=world.origins)


SHOWN = (Shown("people", people_case), Shown("hidden cells", cells_case, labels=False))


def release_case(setting: Setting, learned: Learned = "everything", change: Change = unchanged) -> Case:
    """A release that tells much or nothing, without a belief; the table is the test table, too."""
    world = setting.world(change, "much" if learned == "everything" else "nothing")
    return case_of(world)


def case_of(world: World) -> Case:
    """A case of a release alone."""
    return Case(world.table, world.table, world.release, world.known, origins=world.origins, built=True)


def alone(case: Case) -> Case | None:
    """The same with a row for each person, in table and test table; None where it has one already."""
    if (case.table.weight == 1).all():
        return None
    test = None if case.test is None else written_out(case.test)
    table = written_out(case.table)
    origins = None if case.origins is None else _moved(case, case.origins)
    return replace(case, table=table, test=test, origins=origins)


def _moved(case: Case, origins: object) -> tuple[int, ...]:
    """For each published record the first of the rows that its row of the table became."""
    first = np.concatenate([[0], np.cumsum(case.table.weight)[:-1]])
    return tuple(first[np.asarray(origins, dtype=np.int64)].tolist())


def odd_cases() -> list[Case]:
    """Beliefs of groups only; nothing of baseline, population, test table, trees or whose the cells are; one person."""
    whole, cells = people_case("everything"), cells_case("everything")
    belief, other = whole.belief, cells.belief
    assert belief is not None
    assert other is not None
    bare = replace(belief, baseline=None, population_groups=None)
    lone = Table(whole.table.schema, whole.table.frame.head(1).reset_index(drop=True), np.ones(1, dtype=np.int64))
    known = known_of(lone)
    chances = pd.DataFrame([[1.0, 0.0, 0.0]], columns=belief.chances.columns if belief.chances is not None else None)
    return [
        replace(whole, belief=None),
        replace(whole, test=None),
        replace(whole, belief=replace(bare, secret=None, chances=None)),
        replace(whole, belief=bare, known=replace(whole.known, population=None)),
        replace(whole, release=replace(whole.release, trees=())),
        replace(cells, belief=replace(other, estimates=None, baseline=None)),
        replace(cells, origins=None),
        Case(lone, lone, whole.release, known, Belief("illness", np.zeros(1, dtype=np.int64), chances)),
    ]
