"""Everything one run of the MaxEnt reproduction found, before it is written down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leafgate.kernel.release import Level
from maxent_kadet import Hold, holds
from maxent_knowledge import Knowing, by_facts, by_people
from maxent_runs import Attacked, in_a_child
from maxent_settings import LARGE, MIN_SPLIT, Floats, Measure, Wanted, open_run

MEASURES: tuple[Measure, ...] = ("gini", "gain")
LEVELS: tuple[Level, ...] = ("labels", "error_rates", "counts")
GRID = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
"""K of the averages over the K largest differences; and everybody."""


@dataclass(frozen=True)
class Top:
    """A public record whose divergence the choices of tests lowered much: KL1 with them, KL2 without.

    `lowest` and `highest` are KL1 over all optima that were found, where it is not the same for all.
    """

    measure: str
    level: str
    rank: int
    difference: float
    kl1: float
    kl2: float
    lowest: float
    highest: float
    people: int


@dataclass(frozen=True)
class Average:
    """The mean difference KL2 - KL1 of the K public records where it is largest."""

    measure: str
    level: str
    k: int
    difference: float


@dataclass(frozen=True)
class Findings:
    """All attacks of the paper's experiment, then what was asked besides."""

    attacks: Sequence[Attacked]
    holds: Sequence[Hold]
    people: Sequence[Knowing]
    facts: Sequence[Knowing]

    def of(self, measure: Measure, level: Level, *, internal: bool, min_split: int = MIN_SPLIT) -> Attacked:
        wanted = Wanted(measure, level, internal, min_split)
        return next(each for each in self.attacks if each.wanted == wanted)

    def lowered(self, measure: Measure, level: Level) -> Floats:
        """KL2 - KL1 of every public record: by how much the choices of tests lower its divergence."""
        without, within = (self.of(measure, level, internal=internal) for internal in (False, True))
        return np.asarray(without.individual[0] - within.individual[0])

    def top(self, measure: Measure, level: Level, many: int = 10) -> list[Top]:
        without, within = (self.of(measure, level, internal=internal) for internal in (False, True))
        lowered = self.lowered(measure, level)
        chosen = np.argsort(-lowered, kind="stable")[:many]
        kl1 = within.individual[:, chosen]
        columns = (lowered[chosen], kl1[0], without.individual[0][chosen], kl1.min(axis=0), kl1.max(axis=0))
        people = within.people[chosen].tolist()
        numbers = zip(range(1, many + 1), *(column.tolist() for column in columns), people, strict=True)
        return [Top(measure, level, *each) for each in numbers]

    def averages(self, measure: Measure, level: Level) -> list[Average]:
        lowered = np.sort(self.lowered(measure, level))[::-1]
        means = lowered.cumsum() / np.arange(1, len(lowered) + 1)
        return [Average(measure, level, k, float(means[k - 1])) for k in (*GRID, len(lowered))]


def wanted() -> Iterator[Wanted]:
    """Both measures, all that can be published of leaves, with and without the choices; and a smaller tree by gini.

    With labels also by an adversary who knows how often each is right, whom the paper does not have.
    """
    for measure in MEASURES:
        for level in LEVELS:
            yield from (Wanted(measure, level, internal) for internal in (False, True))
    for measure in MEASURES:
        yield from (Wanted(measure, "labels", internal, label_accuracies=True) for internal in (False, True))
    yield from (Wanted("gini", "error_rates", internal, LARGE) for internal in (False, True))


def find(root: Path) -> Findings:
    """Run everything, one attack after the other so that none takes another's time."""
    attacks = [in_a_child(root, each) for each in wanted()]
    return Findings(attacks, list(holds(open_run(root))), by_people(root), by_facts(root))
