"""The maximum-entropy problem before any reduction, and the outcome of solving it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from leafgate.api import Floats, Mask, Table
from leafgate_plugins.maxent.problem.leaf_constraints import LinearConstraints
from leafgate_plugins.maxent.problem.split_constraints import SplitConstraints, x_log_x
from leafgate_plugins.maxent.problem.strata import Strata
from leafgate_plugins.maxent.problem.tree_index import TreeIndex


@dataclass(frozen=True)
class Problem:
    """Find people[s, x] >= 0, the people of each stratum with each class, of the largest entropy.

    `public` are the public rows with their people, `allowed` the cells that can hold anybody.
    `split_constraints` are the internal constraints, one entry a tree; `left_out` states why others were not used.
    `settled` states that the leaves publish every class, so that the gain of the chosen splits is a
    number and every internal constraint describes a convex set.
    """

    public: Table
    strata: Strata
    classes: int
    allowed: Mask
    trees: Sequence[TreeIndex]
    linear: Sequence[LinearConstraints]
    split_constraints: Sequence[SplitConstraints] = ()
    left_out: Mapping[str, int | str] = field(default_factory=dict)
    settled: bool = True
    allowed_without_facts: Mask | None = None
    """The cells that could hold somebody if the facts were not true; the same as `allowed` when left out."""

    @property
    def weight(self) -> Floats:
        """The people of each public row."""
        return self.public.weight.astype(np.float64)

    @property
    def reference(self) -> Floats:
        """People each cell of a stratum is measured against: its row's people times its share."""
        return np.asarray(self.weight[self.strata.row] * self.strata.share)

    @property
    def ceiling(self) -> float:
        """The entropy of somebody who knows nothing, in nats a person: no belief has more."""
        even = np.where(self.allowed, self.reference[:, None], 0) / np.maximum(
            self.allowed.sum(axis=1, keepdims=True), 1
        )
        return self.entropy(even)

    def entropy(self, people: Floats) -> float:
        """Of what is unknown of a person given their public cells, in nats a person.

        Relative to the strata's shares: where nothing but the class is unknown it is H(class | public).
        """
        against = (people * np.log(self.reference)[:, None]).sum()
        return float((against - x_log_x(people).sum()) / self.weight.sum())

    def violations(self, people: Floats) -> Mapping[str, float]:
        """The worst violation of each kind of constraint, in people (internal: in people x measure)."""
        worst: dict[str, float] = {"sign": float(np.maximum(-people, 0).max(initial=0))}
        worst["sign"] = max(worst["sign"], float(np.abs(people[~self.allowed]).max(initial=0)))
        for linear in self.linear:
            missed = float(linear.violation(people).max(initial=0))
            worst[linear.kind] = max(worst.get(linear.kind, 0.0), missed)
        for choices in self.split_constraints:
            missed = float(np.maximum(-choices.slack(people), 0).max(initial=0))
            worst["internal"] = max(worst.get("internal", 0.0), missed)
        return worst


@dataclass(frozen=True)
class Binding:
    """An internal constraint that the optimum touches, and its price: nats for each person x nat it is relaxed by."""

    tree: int
    constraint: int
    dual: float


@dataclass(frozen=True)
class EntropyMaximum:
    """The belief of the largest entropy that was found, and how sure it is.

    `bound` is an entropy (nats a person) that no solution can be above; `optima` are those of all
    starts, `alternatives` the beliefs of starts that ended elsewhere than the best. `active` counts the
    constraints that had to be imposed, by kind. `engines` states who solved it, `engine_difference` how far a
    second engine was from the first on a small part.
    """

    people: Floats
    entropy: float
    bound: float
    closed: bool = False
    convex: bool = True
    optima: Sequence[float] = ()
    alternatives: Sequence[Floats] = ()
    active: Mapping[str, int] = field(default_factory=dict)
    binding: Sequence[Binding] = ()
    violations: Mapping[str, float] = field(default_factory=dict)
    engine: str = "closed form"
    engine_difference: float | None = None
    variables: int = 0

    @property
    def gap(self) -> float:
        """How much the entropy could be larger, relative to it (or to 1, if it is less)."""
        return max(self.bound - self.entropy, 0.0) / max(1.0, abs(self.entropy))


@dataclass(frozen=True)
class SolveSettings:
    """How to solve: by which engine, from how many starts, for how long (seconds)."""

    solver: str = "auto"
    starts: int = 4
    time_limit: float = 300.0
    seed: int = 0
