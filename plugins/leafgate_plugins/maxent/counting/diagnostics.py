"""Estimate a component by Markov chains over consistent data sets, run until their diagnostics pass."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from leafgate.api import Floats, Ids, InconclusiveError
from leafgate_plugins.maxent.counting.answer import Answer, no_consistent_data_set, out_of_time
from leafgate_plugins.maxent.counting.components import Component
from leafgate_plugins.maxent.counting.mcmc import VIOLATION_TOLERANCE, Chains, Sampler

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


@dataclass(frozen=True)
class Convergence:
    """The worst of all quantities that vary: R-hat (1 is best), effective draws, standard error of a share."""

    r_hat: float
    draws: float
    error: float

    def __str__(self) -> str:
        return f"R-hat {self.r_hat:.3f}, {self.draws:.0f} effective draws, standard error {self.error:.3f}"


def convergence_of(sums: Floats, squares: Floats, batch: int, people: Floats) -> Convergence:
    """Of batches of draws (chains x batches x quantities): their sums, and sums of squares; shares are of `people`.

    R-hat compares the means of half chains with the variation inside them. The effective sample size
    compares the variation of single draws with that of batch means about the mean of all.

    Source: Gelman, Rubin, "Inference from iterative simulation using multiple sequences", Statistical
    Science 7(4), 1992; halves as in Vehtari, Gelman, Simpson, Carpenter, Buerkner, Bayesian Analysis
    16(2), 2021. Batch means: Flegal, Jones, Annals of Statistics 38(2), 2010.
    Departure: without ranks, since the numbers are small and whole; sizes from batches, not autocorrelation.
    """
    chains, batches, n = sums.shape
    halves = sums.reshape(chains * 2, batches // 2, n).sum(axis=1)
    half = batch * batches // 2
    means = halves / half
    second = squares.reshape(chains * 2, batches // 2, n).sum(axis=1) / half
    within = np.maximum(second - means**2, 0).mean(axis=0) * half / (half - 1)
    between = half * means.var(axis=0, ddof=1)
    varies = (within > 0) | (between > 0)
    if not varies.any():
        return Convergence(1.0, float(chains * batches * batch), 0.0)
    within, between = within[varies], between[varies]
    ratio = np.divide(between, within, where=within > 0, out=np.full_like(within, np.inf))
    r_hat = np.sqrt((half - 1 + ratio) / half)
    of_batches = (sums[:, :, varies] / batch).var(axis=(0, 1), ddof=1)
    error = np.sqrt(of_batches / (chains * batches)) / people[varies]
    draws = chains * batches * np.divide(within, of_batches, where=of_batches > 0, out=np.full_like(within, np.inf))
    return Convergence(float(r_hat.max()), float(min(draws.min(), chains * batches * batch)), float(error.max()))


R_HAT = 1.05
"""Largest split R-hat of any expected count that is accepted."""
DRAWS = 400
"""Smallest effective sample size that is accepted, as Vehtari et al. (2021) recommend."""
ERROR = 0.01
"""Largest standard error that is accepted, as a share of the people with the same posterior."""
BATCHES = 32
"""Batches that are held; only the later half counts, the earlier half is burn-in."""
BATCH = 4
"""Sweeps of one batch at first."""
DOUBLINGS = 14
"""How often the length of a batch is doubled before the sampler gives up."""

Batch = tuple[Floats, Floats]


def sample_component(component: Component, rng: np.random.Generator, deadline: float) -> Answer:
    """The answer by sampling. Raises InconclusiveError where the chains do not come to agree."""
    walker = Sampler(component, rng)
    chains = initial_chains(component, walker, rng, deadline)
    walker.proposed = walker.accepted = 0
    cells = np.flatnonzero(component.free)
    people = component.open[cells // component.free.shape[1]].astype(np.float64)
    kept: list[Batch] = []
    mixing = Convergence(np.inf, 0, np.inf)
    for doubled in range(DOUBLINGS):
        while len(kept) < BATCHES:
            batch = _batch(chains, walker, cells, BATCH * 2**doubled, deadline)
            if batch is None:
                raise _not_converged(mixing)
            kept.append(batch)
        sums, squares = (np.stack(part, axis=1) for part in zip(*kept[BATCHES // 2 :], strict=True))
        mixing = convergence_of(sums, squares, BATCH * 2**doubled, people)
        if mixing.r_hat <= R_HAT and mixing.draws >= DRAWS and mixing.error <= ERROR:
            expected = np.zeros(component.free.size)
            expected[cells] = sums.mean(axis=(0, 1)) / (BATCH * 2**doubled)
            return Answer(expected.reshape(component.free.shape), None, _evidence(mixing, walker, chains))
        kept = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(kept[::2], kept[1::2], strict=True)]
    raise _not_converged(mixing)


def _batch(chains: Chains, walker: Sampler, cells: Ids, sweeps: int, deadline: float) -> Batch | None:
    """Sums, and sums of squares, of the people in each chain and cell, after each of some sweeps; None: time is up."""
    sums = np.zeros((chains.n_chains, len(cells)))
    squares = np.zeros_like(sums)
    for sweep in range(sweeps):
        if time.monotonic() > deadline:
            return None
        walker.sweep(chains)
        people = chains.people().reshape(chains.n_chains, -1)[:, cells]
        sums += people
        squares += people**2
        if sweep % AT_ONCE == AT_ONCE - 1 or sweep == sweeps - 1:
            chains.refresh()
    return sums, squares


def _evidence(mixing: Convergence, walker: Sampler, chains: Chains) -> dict[str, Any]:
    return {
        "chains": chains.n_chains,
        "r_hat": mixing.r_hat,
        "effective_draws": mixing.draws,
        "standard_error": mixing.error,
        "moves": walker.proposed,
        "accepted": walker.accepted / max(walker.proposed, 1),
    }


def _not_converged(mixing: Convergence) -> InconclusiveError:
    return InconclusiveError(
        f"the sampler of data sets has not converged: {mixing}",
        remedy=f"allow more time (needed: R-hat {R_HAT}, {DRAWS} draws, standard error {ERROR}), "
        "or use the attack `maxent`",
    )
