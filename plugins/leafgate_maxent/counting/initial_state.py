"""Data sets to start from: consistent with everything, found by simulated annealing."""

from __future__ import annotations

import time

import numpy as np

from leafgate.errors import InconclusiveError
from leafgate_maxent.counting.answer import impossible, out_of_time
from leafgate_maxent.counting.components import Component
from leafgate_maxent.counting.mcmc import NOTHING, Chains, Walker
from leafgate_maxent.problem.tree_index import Ids

CHAINS = 16
FEWEST = 4
"""As many chains at least must find a start of their own."""
WARM, COLD = 0.5, 0.005
"""Heat, in people x measure, from which and to which each round cools down."""
AT_ONCE = 8
"""Sweeps before everything is counted anew."""
SWEEPS, ROUNDS = 40, 9
"""Sweeps of the first round, each next one twice as many; the rounds until it is given up."""


def started(island: Component, walker: Walker, rng: np.random.Generator, deadline: float) -> Chains:
    """Chains, each in a data set that meets everything. Raises InconclusiveError where too few are found."""
    _refuse_crossing(island)
    chains = Chains(island, np.array([_at_random(island, rng) for _ in range(CHAINS)]))
    for round_ in range(ROUNDS):
        if _cooled(chains, walker, SWEEPS * 2**round_, deadline):
            return chains
        found = chains.violation < NOTHING
        if round_ and found.sum() >= FEWEST:
            return chains.kept(found)
    raise InconclusiveError(
        "no data set was found that agrees with everything the release tells, to start the sampler from",
        remedy="use the attack `maxent`, or count without internal constraints",
    )


def _cooled(chains: Chains, walker: Walker, sweeps: int, deadline: float) -> bool:
    """One round; does every chain meet everything?"""
    for heats in np.array_split(np.geomspace(WARM, COLD, sweeps), sweeps // AT_ONCE):
        if (chains.violation < NOTHING).all():
            return True
        for heat in heats.tolist():
            if time.monotonic() > deadline:
                raise out_of_time()
            walker.sweep(chains, heat)
        chains.refresh()
    return bool((chains.violation < NOTHING).all())


def _refuse_crossing(island: Component) -> None:
    """Moves keep the leaves of one tree, and the numbers of people in each class."""
    same = all(
        (island.free[island.unit == u] == island.free[island.unit == u][0]).all()
        for u in range(len(island.known_counts))
    )
    if not island.equal.rings.all() or not same:
        raise InconclusiveError(
            "the leaves of several trees leave too many data sets to count one by one, and those are not sampled",
            remedy="attack one tree, or use the attack `maxent`",
        )


def _at_random(island: Component, rng: np.random.Generator) -> Ids:
    """Everybody's class, as the leaves tell it; what they do not tell at random."""
    classes = []
    for unit in range(len(island.known_counts)):
        mine = island.unit == unit
        result, free = island.known_counts[unit], island.free[mine][0]
        certain = np.repeat(np.arange(len(result)), np.maximum(result, 0) * free)
        left = int(island.open[mine].sum()) - len(certain)
        untold = np.flatnonzero(free & (result < 0))
        if left < 0 or (left and not len(untold)):
            raise impossible()
        rest = untold[rng.integers(len(untold), size=left)] if left else certain[:0]
        classes.append(rng.permutation(np.concatenate([certain, rest])))
    return np.concatenate(classes)
