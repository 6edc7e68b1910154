"""Counting by sampling: Markov chains over consistent data sets, until they agree with each other."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from leafgate.errors import InconclusiveError
from leafgate_maxent.counting.answer import Answer
from leafgate_maxent.counting.chains import Chains
from leafgate_maxent.counting.island import Island
from leafgate_maxent.counting.mixing import Mixing, mixing_of
from leafgate_maxent.counting.starting import AT_ONCE, started
from leafgate_maxent.counting.walking import Walker
from leafgate_maxent.walk import Floats, Ids

R_HAT, DRAWS, ERROR = 1.05, 400, 0.01
"""What every number of people must reach: R-hat at most; effective draws at least (as Vehtari et al. 2021 ask);
standard error at most, as a share of those who have the same chances."""
BATCHES, BATCH, DOUBLINGS = 32, 4, 14
"""Batches held, of so many sweeps at first; how often they are doubled while the chains do not agree. Only the later
half of all sweeps counts."""

Batch = tuple[Floats, Floats]


def sampled(island: Island, rng: np.random.Generator, deadline: float) -> Answer:
    """The answer by sampling. Raises InconclusiveError where the chains do not come to agree."""
    walker = Walker(island, rng)
    chains = started(island, walker, rng, deadline)
    walker.proposed = walker.accepted = 0
    cells = np.flatnonzero(island.free)
    people = island.open[cells // island.free.shape[1]].astype(np.float64)
    kept: list[Batch] = []
    mixing = Mixing(np.inf, 0, np.inf)
    for doubled in range(DOUBLINGS):
        while len(kept) < BATCHES:
            batch = _batch(chains, walker, cells, BATCH * 2**doubled, deadline)
            if batch is None:
                raise _not_mixed(mixing)
            kept.append(batch)
        sums, squares = (np.stack(part, axis=1) for part in zip(*kept[BATCHES // 2 :], strict=True))
        mixing = mixing_of(sums, squares, BATCH * 2**doubled, people)
        if mixing.r_hat <= R_HAT and mixing.draws >= DRAWS and mixing.error <= ERROR:
            expected = np.zeros(island.free.size)
            expected[cells] = sums.mean(axis=(0, 1)) / (BATCH * 2**doubled)
            return Answer(expected.reshape(island.free.shape), None, _evidence(mixing, walker, chains))
        kept = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(kept[::2], kept[1::2], strict=True)]
    raise _not_mixed(mixing)


def _batch(chains: Chains, walker: Walker, cells: Ids, sweeps: int, deadline: float) -> Batch | None:
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


def _evidence(mixing: Mixing, walker: Walker, chains: Chains) -> dict[str, Any]:
    return {
        "chains": chains.n_chains,
        "r_hat": mixing.r_hat,
        "effective_draws": mixing.draws,
        "standard_error": mixing.error,
        "moves": walker.proposed,
        "accepted": walker.accepted / max(walker.proposed, 1),
    }


def _not_mixed(mixing: Mixing) -> InconclusiveError:
    return InconclusiveError(
        f"the sampler of data sets has not converged: {mixing}",
        remedy=f"allow more time (needed: R-hat {R_HAT}, {DRAWS} draws, standard error {ERROR}), "
        "or use the attack `maxent`",
    )
