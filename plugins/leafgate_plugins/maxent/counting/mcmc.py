"""Markov chains over data sets, changed by moves that preserve the counts of every leaf.

Everything is kept for all chains side by side, and every move visits the same leaf in all of them (the
order of visits does not depend on where the chains are). People are distinguishable, and every proposal is
as likely as its reverse, so that chains that only refuse what breaks a constraint visit all data
sets they can reach equally often (Metropolis et al. 1953).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse as sp

from leafgate.api import Floats, Ids, Mask
from leafgate_plugins.maxent.counting.components import Component
from leafgate_plugins.maxent.problem.split_constraints import impurity, x_log_x


@dataclass(frozen=True)
class LeafBlock:
    """People `first` up to but not including `end`, sorted by group; `group` are their groups, from 0.

    Classes in `open_classes` they can change to by themselves. Of group g, `member[g]` says in which of `blocks`
    it is, `number[g, x]` what a person of class x adds to `sums`. The constraints `constraints` gain
    `effect.T` times what the blocks gain in sums of t ln t (or t squared).
    """

    first: int
    end: int
    group: Ids
    group_first: Ids
    group_size: Ids
    open_classes: Ids
    blocks: Ids
    member: Ids
    constraints: Ids
    effect: Floats
    sums: Ids
    number: Ids

    @property
    def people(self) -> int:
        return self.end - self.first


def leaf_blocks(component: Component) -> list[LeafBlock]:
    """One site for each leaf of which anybody's class can change."""
    size = (component.blocks @ component.open) + component.base.sum(axis=1)
    scale = 1 / size if component.gini else np.ones(len(size))
    effect = sp.csc_array(-component.coefficients.multiply(scale[None, :]))
    sums = sp.csc_array(sp.vstack([component.equal.matrix, component.least.matrix], format="csr"))
    by_group = sp.csc_array(component.blocks)
    ends = np.cumsum(component.open)
    starts = np.searchsorted(component.unit, np.arange(len(component.known_counts) + 1))
    return [
        _leaf_block(component, unit, np.arange(starts[unit], starts[unit + 1]), ends, by_group, effect, sums)
        for unit in range(len(component.known_counts))
    ]


def _leaf_block(
    component: Component,
    unit: int,
    groups: Ids,
    ends: Ids,
    by_group: sp.csc_array,
    effect: sp.csc_array,
    sums: sp.csc_array,
) -> LeafBlock:
    classes, sizes = component.free.shape[1], component.open[groups]
    first = int(ends[groups[0]] - sizes[0])
    member = by_group[:, groups].toarray().T.astype(np.int64)
    result = component.free[groups[0]] & (component.known_counts[unit] >= 0)
    untold = np.flatnonzero(component.free[groups[0]] & (component.known_counts[unit] < 0))
    exchanged = result.any() and not len(untold)
    blocks = np.flatnonzero(member.any(axis=0) & ~(member.all(axis=0) & exchanged))
    touched = sp.csr_array(effect[:, blocks])
    constraints = np.flatnonzero(np.diff(touched.indptr))
    cells = (groups[:, None] * classes + np.arange(classes)).ravel()
    numbers = sp.csr_array(sums[:, cells])
    which = np.flatnonzero(np.diff(numbers.indptr))
    number = numbers[which].toarray().T.reshape(len(groups), classes, len(which))
    group = np.repeat(np.arange(len(groups)), sizes)
    return LeafBlock(
        first,
        int(ends[groups[-1]]),
        group,
        sizes.cumsum() - sizes,
        sizes,
        untold,
        blocks,
        member[:, blocks],
        constraints,
        touched[constraints].toarray().T,
        which,
        number.astype(np.int64),
    )


def blocks_by_constraint(sites: Sequence[LeafBlock]) -> list[Ids]:
    """For each constraint, and each sum, the sites it speaks of, where they are several."""
    by_constraint: dict[tuple[str, int], list[int]] = {}
    for number, block in enumerate(sites):
        for constraint in block.constraints.tolist():
            by_constraint.setdefault(("constraint", constraint), []).append(number)
        for row in block.sums.tolist():
            by_constraint.setdefault(("sum", row), []).append(number)
    return [np.array(found) for found in by_constraint.values()]


@dataclass(frozen=True)
class Move:
    """In every chain `member` more people of each of the site's blocks have class `to`, and fewer `source`.

    `who` are the people whose class changes, `becomes` what it becomes. `at_source` and `at_to` are the
    places where blocks count the two classes; `slack` and `sums` what there is after the move,
    `violation` by how much more is broken.
    """

    block: LeafBlock
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

    def __init__(self, component: Component, classes: Ids) -> None:
        self.component, self.classes = component, classes
        self.group = np.repeat(np.arange(len(component.open)), component.open)
        self.n_chains, self.n_classes = len(classes), component.free.shape[1]
        self.bound = np.concatenate([component.equal.bound, component.least.bound])
        self.equal = np.arange(len(self.bound)) < len(component.equal)
        self.rows = np.arange(self.n_chains)
        most = int((component.blocks @ component.open + component.base.sum(axis=1)).max(initial=0)) + 2
        numbers = np.arange(most, dtype=np.float64)
        self.measure = numbers**2 if component.gini else x_log_x(numbers)
        self.refresh()

    def people(self) -> Ids:
        """The people of each chain, group and class."""
        shape = (self.n_chains, len(self.component.open), self.n_classes)
        keys = (self.rows[:, None] * shape[1] + self.group) * shape[2] + self.classes
        return np.bincount(keys.ravel(), minlength=int(np.prod(shape))).reshape(shape)

    def refresh(self) -> None:
        """Count everything anew, so that rounding never piles up."""
        people, component = self.people(), self.component
        blocks = np.array([component.base + (component.blocks @ each).astype(np.int64) for each in people])
        self.stride = blocks[0].size
        self.blocks = blocks.ravel()
        self.slack = np.array(
            [component.coefficients @ impurity(each.astype(float), gini=component.gini) for each in blocks]
        )
        flat = people.reshape(self.n_chains, -1)
        sums = [(each.matrix @ flat.T).T for each in (component.equal, component.least)]
        self.sums = np.concatenate(sums, axis=1).astype(np.int64)
        every = slice(None)
        self.violation = self._split_violation(self.slack, every) + self._sum_violation(self.sums, every)

    def kept(self, which: Mask) -> Chains:
        return Chains(self.component, self.classes[which])

    def _split_violation(self, slack: Floats, constraints: Ids | slice) -> Floats:
        return np.asarray(np.maximum(-slack - self.component.tolerance[constraints], 0).sum(axis=1))

    def _sum_violation(self, sums: Ids, rows: Ids | slice) -> Floats:
        short = self.bound[rows] - sums
        return np.asarray(np.where(self.equal[rows], np.abs(short), np.maximum(short, 0)).sum(axis=1), dtype=np.float64)

    def exchange(self, block: LeafBlock, draws: Floats) -> Move:
        """Two people of different groups exchange classes; who is chosen does not depend on the classes."""
        one = (draws[0] * block.people).astype(np.int64)
        g = block.group[one]
        ahead = block.group_size[g] + (draws[1] * (block.people - block.group_size[g])).astype(np.int64)
        other = (block.group_first[g] + ahead) % block.people
        h = block.group[other]
        who = block.first + np.stack([one, other], axis=1)
        now = self.classes[self.rows[:, None], who]
        return self._move(block, who, now[:, ::-1], block.member[g] - block.member[h], now, (g, h))

    def change(self, block: LeafBlock, draws: Floats) -> Move:
        """One person with an unpublished class takes another class that is not published."""
        one = (draws[0] * block.people).astype(np.int64)
        now = self.classes[self.rows, block.first + one]
        wanted = block.open_classes[(draws[1] * len(block.open_classes)).astype(np.int64)]
        unpublished = np.zeros(self.n_classes, dtype=bool)
        unpublished[block.open_classes] = True
        return self.become(block, one, np.where(unpublished[now], wanted, now))

    def become(self, block: LeafBlock, person: Ids, to: Ids) -> Move:
        """A person of the site (numbered from 0) takes a class."""
        g, who = block.group[person], block.first + person[:, None]
        now = self.classes[self.rows, who[:, 0]]
        return self._move(block, who, to[:, None], block.member[g], np.stack([now, to], axis=1), (g,))

    def _move(
        self, block: LeafBlock, who: Ids, becomes: Ids, member: Ids, classes: Ids, groups: tuple[Ids, ...]
    ) -> Move:
        source, to = classes[:, 0], classes[:, 1]
        member = member * (source != to)[:, None]
        corner = (self.rows * self.stride)[:, None] + block.blocks * self.n_classes
        at_source, at_to = corner + source[:, None], corner + to[:, None]
        less, more = self.blocks[at_source], self.blocks[at_to]
        measure = self.measure
        gain = measure[more + member] - measure[more] + measure[less - member] - measure[less]
        slack = self.slack[:, block.constraints]
        then = slack + gain @ block.effect
        violation = self._split_violation(then, block.constraints) - self._split_violation(slack, block.constraints)
        sums = self.sums[:, block.sums]
        if len(block.sums):
            before = sums
            for g, change in zip(groups, (1, -1), strict=False):
                sums = sums + change * (block.number[g, to] - block.number[g, source])
            violation += self._sum_violation(sums, block.sums) - self._sum_violation(before, block.sums)
        return Move(block, source, to, who, becomes, member, at_source, at_to, then, sums, violation)

    def make(self, move: Move, which: Ids) -> None:
        """Make a move in some of the chains."""
        rows = which[:, None]
        self.classes[rows, move.who[which]] = move.becomes[which]
        self.blocks[move.at_to[which]] += move.member[which]
        self.blocks[move.at_source[which]] -= move.member[which]
        self.slack[rows, move.block.constraints] = move.slack[which]
        if len(move.block.sums):
            self.sums[rows, move.block.sums] = move.sums[which]
        self.violation[which] += move.violation[which]

    def saved(self, move: Move) -> Before:
        """What `undo` needs to know of the time before a move."""
        block = move.block
        was = self.classes[self.rows[:, None], move.who]
        return Before(was, self.slack[:, block.constraints], self.sums[:, block.sums], self.violation.copy())

    def undo(self, move: Move, saved: Before, which: Ids) -> None:
        """Take a move back in some of the chains."""
        rows = which[:, None]
        self.classes[rows, move.who[which]] = saved.classes[which]
        self.blocks[move.at_to[which]] -= move.member[which]
        self.blocks[move.at_source[which]] += move.member[which]
        self.slack[rows, move.block.constraints] = saved.slack[which]
        self.sums[rows, move.block.sums] = saved.sums[which]
        self.violation[which] = saved.violation[which]


PEOPLE_PER_VISIT = 2
"""A sweep proposes a move for so many people."""
JOINT_SHARE = 0.3
"""Part of the moves that change several leaves at once, where something joins leaves."""


class Sampler:
    """Metropolis sweeps over the leaves of one component.

    Chains that meet everything stay so; one that does not yet may get worse by `heat`, e-fold less often.
    """

    def __init__(self, component: Component, rng: np.random.Generator) -> None:
        self.rng = rng
        self.leaf_blocks = [
            block for block in leaf_blocks(component) if len(block.open_classes) > 1 or len(block.group_size) > 1
        ]
        self.shared = blocks_by_constraint(self.leaf_blocks)
        self.rings = len(component.equal) > 0
        self.proposed = self.accepted = 0
        self.visits = np.repeat(
            np.arange(len(self.leaf_blocks)), [-(-s.people // PEOPLE_PER_VISIT) for s in self.leaf_blocks]
        )

    def sweep(self, chains: Chains, heat: float = 0.0) -> None:
        """Visit every leaf as often as its people ask for, in random order."""
        order = self.rng.permutation(self.visits)
        draws = self.rng.random((len(order), 7, chains.n_chains))
        joined = self.rng.random(len(order)) < (JOINT_SHARE if self.shared else 0)
        coins = self.rng.random((len(order), 3)) < 0.5
        for number, u, together, coin in zip(order.tolist(), draws, joined.tolist(), coins.tolist(), strict=True):
            block = self.leaf_blocks[number]
            if together:
                self._propose_joint_move(chains, u, coin, heat)
            elif self.rings and not heat and len(block.group_size) == 1:
                self._make_all_or_none(chains, _ring(chains, self._draw_leaves(2 + coin[0]), u), u[6], heat)
            else:
                self._make_if_allowed(
                    chains, _single(chains, block, u[:2], coin[0] and not (self.rings and not heat)), u[6], heat
                )

    def _draw_leaves(self, many: int) -> list[LeafBlock]:
        """Leaves that one constraint speaks of, perhaps one of them twice."""
        members = self.shared[int(self.rng.integers(len(self.shared)))]
        return [self.leaf_blocks[i] for i in self.rng.choice(members, many).tolist()]

    def _propose_joint_move(self, chains: Chains, draws: Floats, coins: Sequence[bool], heat: float) -> None:
        chosen = self._draw_leaves(2 + (coins[1] and coins[2]))
        if self.rings and (coins[0] or not heat):
            moves = _ring(chains, chosen, draws)
        else:
            moves = (_single(chains, block, draws[2 * i : 2 * i + 2], coins[i]) for i, block in enumerate(chosen))
        self._make_all_or_none(chains, moves, draws[6], heat)

    def _make_if_allowed(self, chains: Chains, move: Move, luck: Floats, heat: float) -> None:
        good = _allowed(chains.violation, chains.violation + move.violation, luck, heat)
        good &= move.source != move.to
        chains.make(move, np.flatnonzero(good))
        self.proposed += len(good)
        self.accepted += int(good.sum())

    def _make_all_or_none(self, chains: Chains, moves: Iterable[Move], luck: Floats, heat: float) -> None:
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


def _single(chains: Chains, block: LeafBlock, draws: Floats, coin: bool) -> Move:
    if len(block.open_classes) > 1 and (coin or len(block.group_size) == 1):
        return chains.change(block, draws)
    return chains.exchange(block, draws)


def _ring(chains: Chains, members: Sequence[LeafBlock], draws: Floats) -> Iterator[Move]:
    """One person of each leaf takes the class of the next leaf's person, if neither class has a published count."""
    people = [(u * block.people).astype(np.int64) for u, block in zip(draws, members, strict=False)]
    now = [chains.classes[chains.rows, block.first + one] for block, one in zip(members, people, strict=True)]
    then = [*now[1:], now[0]]
    who = np.stack([block.first + one for block, one in zip(members, people, strict=True)])
    good = (np.diff(np.sort(who, axis=0), axis=0) > 0).all(axis=0)
    for block, was, to in zip(members, now, then, strict=True):
        good &= np.isin(was, block.open_classes) & np.isin(to, block.open_classes)
    for block, one, was, to in zip(members, people, now, then, strict=True):
        yield chains.become(block, one, np.where(good, to, was))
