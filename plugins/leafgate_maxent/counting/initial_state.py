"""Initial states of the chains: consistent data sets, found by simulated annealing."""

from __future__ import annotations

import time

import numpy as np

from leafgate.errors import InconclusiveError
from leafgate.types.arrays import Ids
from leafgate_maxent.counting.answer import no_consistent_data_set, out_of_time
from leafgate_maxent.counting.components import Component
from leafgate_maxent.counting.mcmc import VIOLATION_TOLERANCE, Chains, Sampler

CHAINS = 16
"""Chains that are started."""
MIN_CHAINS = 4
"""Chains that must reach a consistent data set; fewer cannot be compared with each other."""
INITIAL_TEMPERATURE = 0.5
"""Temperature at which a round of annealing begins, in people x measure."""
FINAL_TEMPERATURE = 0.005
"""Temperature at which a round of annealing ends, in people x measure."""
AT_ONCE = 8
"""Sweeps between two recounts of all sums; recounting keeps rounding errors from accumulating."""
SWEEPS = 40
"""Sweeps of the first round; every further round has twice as many."""
ROUNDS = 9
"""Rounds of annealing before the search for a consistent data set is given up."""


def initial_chains(component: Component, walker: Sampler, rng: np.random.Generator, deadline: float) -> Chains:
    """Chains, each in a data set that meets everything. Raises InconclusiveError where too few are found."""
    _refuse_crossing(component)
    chains = Chains(component, np.array([_at_random(component, rng) for _ in range(CHAINS)]))
    for round_ in range(ROUNDS):
        if _anneal(chains, walker, SWEEPS * 2**round_, deadline):
            return chains
        found = chains.violation < VIOLATION_TOLERANCE
        if round_ and found.sum() >= MIN_CHAINS:
            return chains.kept(found)
    raise InconclusiveError(
        "no data set that agrees with the release was found, so the sampler cannot start",
        remedy="use the attack `maxent`, or count without internal constraints",
    )


def _anneal(chains: Chains, walker: Sampler, sweeps: int, deadline: float) -> bool:
    """One round; does every chain meet everything?"""
    for heats in np.array_split(np.geomspace(INITIAL_TEMPERATURE, FINAL_TEMPERATURE, sweeps), sweeps // AT_ONCE):
        if (chains.violation < VIOLATION_TOLERANCE).all():
            return True
        for heat in heats.tolist():
            if time.monotonic() > deadline:
                raise out_of_time()
            walker.sweep(chains, heat)
        chains.refresh()
    return bool((chains.violation < VIOLATION_TOLERANCE).all())


def _refuse_crossing(component: Component) -> None:
    """Moves keep the leaves of one tree, and the numbers of people in each class."""
    same = all(
        (component.free[component.unit == u] == component.free[component.unit == u][0]).all()
        for u in range(len(component.known_counts))
    )
    if not component.equal.by_exchange.all() or not same:
        raise InconclusiveError(
            "the leaves of several trees leave too many data sets to count one by one, and those are not sampled",
            remedy="attack one tree, or use the attack `maxent`",
        )


def _at_random(component: Component, rng: np.random.Generator) -> Ids:
    """A class for everybody: the published counts in random order, all else at random."""
    classes = []
    for unit in range(len(component.known_counts)):
        mine = component.unit == unit
        result, free = component.known_counts[unit], component.free[mine][0]
        certain = np.repeat(np.arange(len(result)), np.maximum(result, 0) * free)
        left = int(component.open[mine].sum()) - len(certain)
        untold = np.flatnonzero(free & (result < 0))
        if left < 0 or (left and not len(untold)):
            raise no_consistent_data_set()
        rest = untold[rng.integers(len(untold), size=left)] if left else certain[:0]
        classes.append(rng.permutation(np.concatenate([certain, rest])))
    return np.concatenate(classes)
