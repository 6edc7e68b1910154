"""The lines of the CSV files of the MaxEnt reproduction: what an attack found, and apart from it what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from leafgate.kernel.release import Level
from maxent_runs import Attacked
from writing import fixed

NAMES = {"gini": "gini", "gain": "information gain"}
RATES: Level = "error_rates"
CLEAR = 0.02
"""D_overall differs by about this much between optima of one problem: only more than that is a difference."""

LINEAR, CURVED = 1e-8, 1e-6
"""By so much no linear, and no other, constraint of the full problem may be missed, in people (x measure)."""


@dataclass(frozen=True)
class Line:
    """One attack; entropies in nats a person, `missed` the worst of the linear and of the internal constraints."""

    measure: str
    min_split: int
    leaves_tell: str
    label_accuracies: bool
    internal: bool
    leaves: int
    label_constraints: int
    candidates: int
    internal_constraints: int
    imposed: int
    imposed_labels: int
    binding: int
    entropy: str
    bound: str
    gap: str
    convex: bool
    starts: int
    spread: str
    divergence: float
    divergence_lowest: float
    divergence_highest: float
    floored: int
    missed_linear: str
    missed_internal: str


@dataclass(frozen=True)
class Cost:
    """What one attack cost: seconds by the clock and of the processors, megabytes at most."""

    measure: str
    min_split: int
    leaves_tell: str
    label_accuracies: bool
    internal: bool
    seconds: float
    worked: float
    megabytes: float


def line(each: Attacked) -> Line:
    wanted, tree = each.wanted, each.tree
    return Line(
        wanted.measure,
        wanted.min_split,
        wanted.level,
        wanted.label_accuracies,
        wanted.internal,
        tree.leaves,
        0 if wanted.level == "counts" else 15 * tree.leaves,
        tree.candidates,
        tree.internal,
        each.imposed.get("internal", 0),
        each.imposed.get("label", 0),
        each.binding,
        f"{each.entropy:.6f}",
        f"{each.bound:.6f}",
        f"{each.gap:.1e}",
        each.convex,
        len(each.found),
        f"{each.spread:.1e}",
        each.overall[0],
        min(each.overall),
        max(each.overall),
        each.floored[0],
        f"{missed_linear(each):.1e}",
        f"{each.missed.get('internal', 0):.1e}",
    )


def cost(each: Attacked) -> Cost:
    wanted = each.wanted
    named = (wanted.measure, wanted.min_split, wanted.level, wanted.label_accuracies, wanted.internal)
    return Cost(*named, each.seconds, each.worked, each.megabytes)


def missed_linear(each: Attacked) -> float:
    """The worst violation of a linear constraint, or of a sign, in people."""
    return max(worst for kind, worst in each.missed.items() if kind != "internal")


def kept(each: Attacked) -> bool:
    """Does every constraint of the full problem hold?"""
    return missed_linear(each) <= LINEAR and each.missed.get("internal", 0) <= CURVED


def overall(each: Attacked) -> str:
    """D_overall; where the optima found differ in it, from the lowest to the highest."""
    low, high = (fixed(end, 4) for end in (min(each.overall), max(each.overall)))
    return low if low == high else f"{low} to {high}"
