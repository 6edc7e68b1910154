"""Walking the chains: visits to leaves, moves that join several, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from leafgate_maxent.counting.census import Mask
from leafgate_maxent.counting.chains import NOTHING, Chains
from leafgate_maxent.counting.island import Island
from leafgate_maxent.counting.move import Move
from leafgate_maxent.counting.site import Site, sharing, sites_of
from leafgate_maxent.walk import Floats

PEOPLE_A_VISIT = 2
"""A sweep proposes a move for so many people."""
JOINED = 0.3
"""Part of the moves that change several leaves at once, where something joins leaves."""


class Walker:
    """Sweeps over one island's leaves.

    Chains that meet everything stay so; one that does not yet may get worse by `heat`, e-fold less often.
    """

    def __init__(self, island: Island, rng: np.random.Generator) -> None:
        self.rng = rng
        self.sites = [site for site in sites_of(island) if len(site.untold) > 1 or len(site.group_size) > 1]
        self.shared = sharing(island, self.sites)
        self.rings = len(island.equal) > 0
        self.proposed = self.accepted = 0
        self.visits = np.repeat(np.arange(len(self.sites)), [-(-s.people // PEOPLE_A_VISIT) for s in self.sites])

    def sweep(self, chains: Chains, heat: float = 0.0) -> None:
        """Visit every leaf as often as its people ask for, in random order."""
        order = self.rng.permutation(self.visits)
        draws = self.rng.random((len(order), 7, chains.n_chains))
        joined = self.rng.random(len(order)) < (JOINED if self.shared else 0)
        coins = self.rng.random((len(order), 3)) < 0.5
        for number, u, together, coin in zip(order.tolist(), draws, joined.tolist(), coins.tolist(), strict=True):
            site = self.sites[number]
            if together:
                self._together(chains, u, coin, heat)
            elif self.rings and not heat and len(site.group_size) == 1:
                self._joint(chains, _ring(chains, self._some(2 + coin[0]), u), u[6], heat)
            else:
                self._one(chains, _single(chains, site, u[:2], coin[0] and not (self.rings and not heat)), u[6], heat)

    def _some(self, many: int) -> list[Site]:
        """Leaves that one constraint speaks of, perhaps one of them twice."""
        sites = self.shared[int(self.rng.integers(len(self.shared)))]
        return [self.sites[i] for i in self.rng.choice(sites, many).tolist()]

    def _together(self, chains: Chains, draws: Floats, coins: Sequence[bool], heat: float) -> None:
        chosen = self._some(2 + (coins[1] and coins[2]))
        if self.rings and (coins[0] or not heat):
            moves = _ring(chains, chosen, draws)
        else:
            moves = (_single(chains, site, draws[2 * i : 2 * i + 2], coins[i]) for i, site in enumerate(chosen))
        self._joint(chains, moves, draws[6], heat)

    def _one(self, chains: Chains, move: Move, luck: Floats, heat: float) -> None:
        good = _allowed(chains.violation, chains.violation + move.violation, luck, heat)
        good &= move.source != move.to
        chains.make(move, np.flatnonzero(good))
        self.proposed += len(good)
        self.accepted += int(good.sum())

    def _joint(self, chains: Chains, moves: Iterable[Move], luck: Floats, heat: float) -> None:
        """Make moves one after the other, and take all of them back where they end in something refused."""
        before, done = chains.violation.copy(), []
        for move in moves:
            done.append((move, chains.saved(move)))
            chains.make(move, chains.rows)
        good = _allowed(before, chains.violation, luck, heat)
        for move, saved in reversed(done):
            chains.undo(move, saved, np.flatnonzero(~good))
        self.proposed += len(good)
        self.accepted += int(good.sum())


def _allowed(before: Floats, after: Floats, luck: Floats, heat: float) -> Mask:
    good = after < NOTHING
    if heat:
        good |= (before >= NOTHING) & (luck < np.exp(np.minimum((before - after) / heat, 0)))
    return np.asarray(good)


def _single(chains: Chains, site: Site, draws: Floats, coin: bool) -> Move:
    if len(site.untold) > 1 and (coin or len(site.group_size) == 1):
        return chains.change(site, draws)
    return chains.exchange(site, draws)


def _ring(chains: Chains, sites: Sequence[Site], draws: Floats) -> Iterator[Move]:
    """Somebody at each site takes the class of the next one's, where neither leaf tells of either class."""
    people = [(u * site.people).astype(np.int64) for u, site in zip(draws, sites, strict=False)]
    now = [chains.classes[chains.rows, site.first + one] for site, one in zip(sites, people, strict=True)]
    then = [*now[1:], now[0]]
    who = np.stack([site.first + one for site, one in zip(sites, people, strict=True)])
    good = (np.diff(np.sort(who, axis=0), axis=0) > 0).all(axis=0)
    for site, was, to in zip(sites, now, then, strict=True):
        good &= np.isin(was, site.untold) & np.isin(to, site.untold)
    for site, one, was, to in zip(sites, people, now, then, strict=True):
        yield chains.become(site, one, np.where(good, to, was))
