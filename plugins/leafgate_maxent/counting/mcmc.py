"""Chains: several data sets at once, each changed by moves that keep every leaf's numbers.

Everything is kept for all chains side by side, and every move visits the same leaf in all of them (the
order of visits does not depend on where the chains are). People are told apart, and every proposal is
as likely as its reverse, so that chains that only refuse what breaks a constraint visit all data
sets they can reach equally often (Metropolis et al. 1953).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from leafgate_maxent.counting.components import Component
from leafgate_maxent.counting.constraints import Mask
from leafgate_maxent.counting.leaf_block import LeafBlock, blocks_by_constraint, leaf_blocks
from leafgate_maxent.problem.split_constraints import impurity, x_log_x
from leafgate_maxent.problem.tree_index import Floats, Ids

# --- A move: people of a leaf who change class, in several chains at once ---


@dataclass(frozen=True)
class Move:
    """In every chain `member` more people of each of the site's blocks have class `to`, and fewer `source`.

    `who` are the people whose class changes, `becomes` what it becomes. `at_source` and `at_to` are the
    places where blocks count the two classes; `slack` and `sums` what there is after the move,
    `violation` by how much more is broken.
    """

    site: LeafBlock
    source: Ids
    to: Ids
    who: Ids
    becomes: Ids
    member: Ids
    at_source: Ids
    at_to: Ids
    slack: Floats
    sums: Ids
    violation: Floats


@dataclass(frozen=True)
class Before:
    """What a move is going to change, for taking it back."""

    classes: Ids
    slack: Floats
    sums: Ids
    violation: Floats


VIOLATION_TOLERANCE = 1e-10
"""A violation below this is rounding."""


class Chains:
    """`classes[c, p]` is the class of person p in chain c; people are in the order of their groups."""

    def __init__(self, island: Component, classes: Ids) -> None:
        self.component, self.classes = island, classes
        self.group = np.repeat(np.arange(len(island.open)), island.open)
        self.n_chains, self.n_classes = len(classes), island.free.shape[1]
        self.bound = np.concatenate([island.equal.bound, island.least.bound])
        self.equal = np.arange(len(self.bound)) < len(island.equal)
        self.rows = np.arange(self.n_chains)
        most = int((island.blocks @ island.open + island.base.sum(axis=1)).max(initial=0)) + 2
        numbers = np.arange(most, dtype=np.float64)
        self.measure = numbers**2 if island.gini else x_log_x(numbers)
        self.refresh()

    def people(self) -> Ids:
        """The people of each chain, group and class."""
        shape = (self.n_chains, len(self.component.open), self.n_classes)
        keys = (self.rows[:, None] * shape[1] + self.group) * shape[2] + self.classes
        return np.bincount(keys.ravel(), minlength=int(np.prod(shape))).reshape(shape)

    def refresh(self) -> None:
        """Count everything anew, so that rounding never piles up."""
        people, island = self.people(), self.component
        blocks = np.array([island.base + (island.blocks @ each).astype(np.int64) for each in people])
        self.stride = blocks[0].size
        self.blocks = blocks.ravel()
        self.slack = np.array([island.coefficients @ impurity(each.astype(float), gini=island.gini) for each in blocks])
        flat = people.reshape(self.n_chains, -1)
        sums = [(each.matrix @ flat.T).T for each in (island.equal, island.least)]
        self.sums = np.concatenate(sums, axis=1).astype(np.int64)
        every = slice(None)
        self.violation = self._broken(self.slack, every) + self._missed(self.sums, every)

    def kept(self, which: Mask) -> Chains:
        return Chains(self.component, self.classes[which])

    def _broken(self, slack: Floats, constraints: Ids | slice) -> Floats:
        return np.asarray(np.maximum(-slack - self.component.tolerance[constraints], 0).sum(axis=1))

    def _missed(self, sums: Ids, rows: Ids | slice) -> Floats:
        short = self.bound[rows] - sums
        return np.asarray(np.where(self.equal[rows], np.abs(short), np.maximum(short, 0)).sum(axis=1), dtype=np.float64)

    def exchange(self, site: LeafBlock, draws: Floats) -> Move:
        """Two people of different groups exchange classes; who is chosen does not depend on the classes."""
        one = (draws[0] * site.people).astype(np.int64)
        g = site.group[one]
        ahead = site.group_size[g] + (draws[1] * (site.people - site.group_size[g])).astype(np.int64)
        other = (site.group_first[g] + ahead) % site.people
        h = site.group[other]
        who = site.first + np.stack([one, other], axis=1)
        now = self.classes[self.rows[:, None], who]
        return self._move(site, who, now[:, ::-1], site.member[g] - site.member[h], now, (g, h))

    def change(self, site: LeafBlock, draws: Floats) -> Move:
        """Somebody whose class is not told takes any other that is not told."""
        one = (draws[0] * site.people).astype(np.int64)
        now = self.classes[self.rows, site.first + one]
        wanted = site.open_classes[(draws[1] * len(site.open_classes)).astype(np.int64)]
        return self.become(site, one, np.where(self._untold(site)[now], wanted, now))

    def become(self, site: LeafBlock, person: Ids, to: Ids) -> Move:
        """A person of the site (numbered from 0) takes a class."""
        g, who = site.group[person], site.first + person[:, None]
        now = self.classes[self.rows, who[:, 0]]
        return self._move(site, who, to[:, None], site.member[g], np.stack([now, to], axis=1), (g,))

    def _untold(self, site: LeafBlock) -> Mask:
        untold = np.zeros(self.n_classes, dtype=bool)
        untold[site.open_classes] = True
        return untold

    def _move(
        self, site: LeafBlock, who: Ids, becomes: Ids, member: Ids, classes: Ids, groups: tuple[Ids, ...]
    ) -> Move:
        source, to = classes[:, 0], classes[:, 1]
        member = member * (source != to)[:, None]
        corner = (self.rows * self.stride)[:, None] + site.blocks * self.n_classes
        at_source, at_to = corner + source[:, None], corner + to[:, None]
        less, more = self.blocks[at_source], self.blocks[at_to]
        measure = self.measure
        gain = measure[more + member] - measure[more] + measure[less - member] - measure[less]
        slack = self.slack[:, site.constraints]
        then = slack + gain @ site.effect
        violation = self._broken(then, site.constraints) - self._broken(slack, site.constraints)
        sums = self.sums[:, site.sums]
        if len(site.sums):
            before = sums
            for g, change in zip(groups, (1, -1), strict=False):
                sums = sums + change * (site.number[g, to] - site.number[g, source])
            violation += self._missed(sums, site.sums) - self._missed(before, site.sums)
        return Move(site, source, to, who, becomes, member, at_source, at_to, then, sums, violation)

    def make(self, move: Move, which: Ids) -> None:
        """Make a move in some of the chains."""
        rows = which[:, None]
        self.classes[rows, move.who[which]] = move.becomes[which]
        self.blocks[move.at_to[which]] += move.member[which]
        self.blocks[move.at_source[which]] -= move.member[which]
        self.slack[rows, move.site.constraints] = move.slack[which]
        if len(move.site.sums):
            self.sums[rows, move.site.sums] = move.sums[which]
        self.violation[which] += move.violation[which]

    def saved(self, move: Move) -> Before:
        """What `undo` needs to know of the time before a move."""
        site = move.site
        was = self.classes[self.rows[:, None], move.who]
        return Before(was, self.slack[:, site.constraints], self.sums[:, site.sums], self.violation.copy())

    def undo(self, move: Move, saved: Before, which: Ids) -> None:
        """Take a move back in some of the chains."""
        rows = which[:, None]
        self.classes[rows, move.who[which]] = saved.classes[which]
        self.blocks[move.at_to[which]] -= move.member[which]
        self.blocks[move.at_source[which]] += move.member[which]
        self.slack[rows, move.site.constraints] = saved.slack[which]
        self.sums[rows, move.site.sums] = saved.sums[which]
        self.violation[which] = saved.violation[which]


# --- Walking the chains: visits to leaves, moves that join several, and what is refused ---

PEOPLE_PER_VISIT = 2
"""A sweep proposes a move for so many people."""
JOINT_SHARE = 0.3
"""Part of the moves that change several leaves at once, where something joins leaves."""


class Sampler:
    """Sweeps over one island's leaves.

    Chains that meet everything stay so; one that does not yet may get worse by `heat`, e-fold less often.
    """

    def __init__(self, island: Component, rng: np.random.Generator) -> None:
        self.rng = rng
        self.sites = [site for site in leaf_blocks(island) if len(site.open_classes) > 1 or len(site.group_size) > 1]
        self.shared = blocks_by_constraint(island, self.sites)
        self.rings = len(island.equal) > 0
        self.proposed = self.accepted = 0
        self.visits = np.repeat(np.arange(len(self.sites)), [-(-s.people // PEOPLE_PER_VISIT) for s in self.sites])

    def sweep(self, chains: Chains, heat: float = 0.0) -> None:
        """Visit every leaf as often as its people ask for, in random order."""
        order = self.rng.permutation(self.visits)
        draws = self.rng.random((len(order), 7, chains.n_chains))
        joined = self.rng.random(len(order)) < (JOINT_SHARE if self.shared else 0)
        coins = self.rng.random((len(order), 3)) < 0.5
        for number, u, together, coin in zip(order.tolist(), draws, joined.tolist(), coins.tolist(), strict=True):
            site = self.sites[number]
            if together:
                self._together(chains, u, coin, heat)
            elif self.rings and not heat and len(site.group_size) == 1:
                self._joint(chains, _ring(chains, self._some(2 + coin[0]), u), u[6], heat)
            else:
                self._one(chains, _single(chains, site, u[:2], coin[0] and not (self.rings and not heat)), u[6], heat)

    def _some(self, many: int) -> list[LeafBlock]:
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
    good = after < VIOLATION_TOLERANCE
    if heat:
        good |= (before >= VIOLATION_TOLERANCE) & (luck < np.exp(np.minimum((before - after) / heat, 0)))
    return np.asarray(good)


def _single(chains: Chains, site: LeafBlock, draws: Floats, coin: bool) -> Move:
    if len(site.open_classes) > 1 and (coin or len(site.group_size) == 1):
        return chains.change(site, draws)
    return chains.exchange(site, draws)


def _ring(chains: Chains, sites: Sequence[LeafBlock], draws: Floats) -> Iterator[Move]:
    """Somebody at each site takes the class of the next one's, where neither leaf tells of either class."""
    people = [(u * site.people).astype(np.int64) for u, site in zip(draws, sites, strict=False)]
    now = [chains.classes[chains.rows, site.first + one] for site, one in zip(sites, people, strict=True)]
    then = [*now[1:], now[0]]
    who = np.stack([site.first + one for site, one in zip(sites, people, strict=True)])
    good = (np.diff(np.sort(who, axis=0), axis=0) > 0).all(axis=0)
    for site, was, to in zip(sites, now, then, strict=True):
        good &= np.isin(was, site.open_classes) & np.isin(to, site.open_classes)
    for site, one, was, to in zip(sites, people, now, then, strict=True):
        yield chains.become(site, one, np.where(good, to, was))
