"""What insiders prove: people of the tables who add what they know of themselves to what several releases state.

An insider knows her own cell of the system, and so one person less is in question there. What all others can have is
then a system of the same kind, which is decided as the system of outsiders is. Nobody judges insiders by more than
their values, so that a value counts as certain where it is for each cell that an insider with her value can be in.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from leafgate.algorithms.joint_classes import JointSystem
from leafgate.algorithms.joint_networks import Network
from leafgate.algorithms.joint_proofs import IMPOSSIBLE, OPEN, JointProofs, assignment_with, by_cell, joint_proofs
from leafgate.algorithms.leaf_statements import NO_LIMIT
from leafgate.errors import InconclusiveError
from leafgate.kernel.arrays import Ids, Mask

MAX_PROOFS = 1_000_000
"""Proofs are kept up to this number, for memory; what further ones prove is open."""

MIN_SPREAD = 8
"""In parts of fewer classes insiders are tried without a search for witnesses that are good for all of them."""

Pair = int
"""A joint class and a value: class * n_values + value."""


@dataclass(frozen=True, kw_only=True, eq=False)
class InsiderProofs:
    """What insiders are certain of that outsiders are not.

    Attributes:
        certain: for 1, 2, ... insiders, shape (n_proofs, n_insiders + 1, 2), pairs of a joint class and a value:
            insiders of these classes with these values are certain that everybody else of the last pair's class has its
            value. For several insiders without what fewer of them are certain of.
        open: shape (n_classes, n_values), which values insiders may be certain of, as far as was found out in time, and
            where they use more of themselves than their value.
    """

    certain: Sequence[Ids]
    open: Mask


def insider_proofs(proofs: JointProofs, *, insiders: int, time_limit: float = float("inf")) -> InsiderProofs:
    """What follows for other people from several releases and from what some people know of themselves.

    Forgotten people, of whom nobody knows who they are, are no insiders.

    Args:
        proofs: what follows for outsiders.
        insiders: how many people pool what they know of themselves, from 1.
        time_limit: seconds after which no new question is put to the solver.

    Returns:
        Every proof holds in truth, whatever the time limit.
    """
    search = _Search(proofs, insiders, time.monotonic() + time_limit)
    if (proofs.state == OPEN).any():
        search.open |= (proofs.state != IMPOSSIBLE) & ~proofs.proved.any(axis=1, keepdims=True)
    else:
        for part in _parts(proofs):
            search.decide(search.spread(part))
    return search.result()


@dataclass(frozen=True, eq=False)
class _Part:
    """Classes that no statement links to others, and what is known of them.

    Attributes:
        system: what the releases, and insiders, state of them.
        classes: shape (n_classes,), their numbers in the whole system.
        witnesses: shape (n_witnesses, n_cells), assignments that agree with everything.
        known: shape (n_classes, n_values), what is certain already.
        network: the part as a network, where it is one.
    """

    system: JointSystem
    classes: Ids
    witnesses: Ids
    known: Mask
    network: Network | None = None

    def pair_of(self, cell: int) -> Pair:
        """The pair of a cell in the whole system."""
        n_values = len(self.system.values)
        return int(self.classes[self.system.cell_class[cell]]) * n_values + int(self.system.cell_value[cell])

    def pairs_of(self, wanted: Mask) -> frozenset[Pair]:
        """These pairs in the whole system."""
        joint, value = np.nonzero(wanted)
        return frozenset((self.classes[joint] * len(self.system.values) + value).tolist())

    def beside(self, cell: int) -> _Part:
        """All others of these classes, where somebody is in this cell."""
        joint, value = int(self.system.cell_class[cell]), int(self.system.cell_value[cell])
        witnesses = self.witnesses[self.witnesses[:, cell] > 0]
        witnesses[:, cell] -= 1
        network = None if self.network is None else self.network.beside(joint, value)
        return replace(self, system=_without(self.system, cell), witnesses=witnesses, network=network)

    def with_witnesses(self, witnesses: Sequence[Ids]) -> _Part:
        """The same with more witnesses."""
        if not len(witnesses):
            return self
        return replace(self, witnesses=np.concatenate([self.witnesses, np.stack(witnesses)]))

    def maybe_certain(self, cell: int) -> Mask:
        """Which values all others of a class have in each witness with somebody in a cell, if not known already."""
        is_in, joint, own = self.witnesses[:, cell] > 0, self.system.cell_class[cell], self.system.cell_value[cell]
        size = self.system.size.copy()
        size[joint] -= 1
        found = np.asarray(self._is_pure[is_in].all(axis=0))
        others = self._people[is_in, joint]
        others[:, own] -= 1
        found[joint] = (others == size[joint]).all(axis=0)
        return np.asarray(found & (size > 0)[:, None] & ~self.known)

    @property
    def fewest_witnesses(self) -> list[Ids]:
        """Some witnesses that have somebody wherever any has: for each pair the one with the most people."""
        if not len(self.witnesses):
            return []
        return [*self.witnesses[np.unique(self._people.argmax(axis=0))]]

    @cached_property
    def _people(self) -> Ids:
        """The people of each class by their value in each witness: shape (n_witnesses, n_classes, n_values)."""
        from scipy.sparse import csr_array

        n_cells, n_classes, n_values = len(self.system.cell_class), len(self.classes), len(self.system.values)
        places = (self.system.pair_of_cell, np.arange(n_cells))
        by_pair = csr_array((np.ones(n_cells, dtype=np.int64), places), shape=(n_classes * n_values, n_cells))
        return np.asarray((by_pair @ self.witnesses.T).T.reshape(len(self.witnesses), n_classes, n_values))

    @cached_property
    def _is_pure(self) -> Mask:
        return np.asarray(self._people == self.system.size[:, None])


def _without(system: JointSystem, cell: int) -> JointSystem:
    """The system of all others, where somebody is in a cell."""
    size = system.size.copy()
    size[system.cell_class[cell]] -= 1
    own = system.matrix[:, [cell]].toarray().reshape(-1)
    low = np.where(system.low > -NO_LIMIT, system.low - own, system.low)
    high = np.where(system.high < NO_LIMIT, system.high - own, system.high)
    return replace(system, size=size, low=low, high=high)


def _parts(proofs: JointProofs) -> Iterator[_Part]:
    """The connected parts of a system; a network, which is decided as a whole, is one."""
    system, witnesses = proofs.system, np.array(proofs.witnesses, dtype=np.int64)
    known = proofs.proved
    if proofs.network is not None:
        yield _Part(system, np.arange(system.n_classes), witnesses, known, proofs.network)
        return
    from scipy.sparse import block_array
    from scipy.sparse.csgraph import connected_components

    possible = proofs.state[system.cell_class, system.cell_value] != IMPOSSIBLE
    cells_of_class = np.bincount(system.cell_class[possible], minlength=system.n_classes)
    is_free = possible & (cells_of_class > 1)[system.cell_class]
    free = np.flatnonzero(is_free)
    if not len(free):
        return
    # people of a class of one cell are all in it
    stated = system.matrix @ np.where(possible & ~is_free, system.size[system.cell_class], 0)
    links = system.matrix[:, free]
    part_of_cell = connected_components(block_array([[None, links], [links.T, None]]), directed=False)[1][-len(free) :]
    for number in np.unique(part_of_cell).tolist():
        cells = free[part_of_cell == number]
        classes = np.unique(system.cell_class[cells])
        rows = np.unique(system.matrix[:, cells].tocoo().row)
        rows = np.concatenate([classes, rows[rows >= system.n_classes]])
        part = replace(
            system,
            class_of=np.zeros(0, dtype=np.int64),
            size=system.size[classes],
            present=system.present[classes],
            cell_class=np.searchsorted(classes, system.cell_class[cells]),
            cell_value=system.cell_value[cells],
            matrix=system.matrix[rows][:, cells],
            low=np.where(system.low[rows] > -NO_LIMIT, system.low[rows] - stated[rows], -NO_LIMIT),
            high=np.where(system.high[rows] < NO_LIMIT, system.high[rows] - stated[rows], NO_LIMIT),
            tree=system.tree[rows],
            leaf=system.leaf[rows],
        )
        yield _Part(part, classes, witnesses[:, cells], known[classes])


@dataclass(eq=False)
class _Search:
    """What was found: for each pair of insiders, what they are certain of in all of their cells, and in some."""

    proofs: JointProofs
    insiders: int
    deadline: float
    open: Mask = field(init=False)
    always: list[dict[tuple[Pair, ...], frozenset[Pair]]] = field(init=False)
    n_proofs: int = 0

    def __post_init__(self) -> None:
        self.open = np.zeros_like(self.proofs.state, dtype=bool)
        self.always = [{} for _ in range(self.insiders)]

    @cached_property
    def n_people(self) -> int:
        """How many classes are of people who are not forgotten."""
        return int(self.proofs.system.class_of.max(initial=-1)) + 1

    @property
    def seconds(self) -> float:
        """What is left of the time."""
        return self.deadline - time.monotonic()

    def spread(self, part: _Part) -> _Part:
        """The part with witnesses in which any two classes have many combinations of values.

        Where people of two classes can have any values, these rule out nearly all that insiders may be certain of. The
        classes of which a binary digit of the number is 1 are to have one value, and the others another.
        """
        number, values = np.arange(len(part.classes)), range(len(part.system.values))
        if part.network is not None or len(number) < MIN_SPREAD:
            return part
        digits = range(len(number).bit_length())
        wanted = [np.full(len(number), value) for value in values]
        wanted += [np.where(number >> i & 1, *pair) for i in digits for pair in itertools.permutations(values, 2)]
        found = []
        for value in wanted:
            if self.seconds > 0:
                witness = assignment_with(part.system, number * len(values) + value, time_limit=self.seconds)
                found += [] if witness is None else [witness]
        return part.with_witnesses(found)

    def decide(self, part: _Part, earlier: tuple[Pair, ...] = (), first: int = 0) -> None:
        """Decide what one insider more is certain of, for each cell of a part from the first one.

        Args:
            part: the others, beside the insiders so far.
            earlier: the pairs of these.
            first: the cell of the last of them: several insiders are tried in one order.
        """
        is_last = len(earlier) + 1 == self.insiders
        for cell in range(first, len(part.system.cell_class)):
            joint = int(part.system.cell_class[cell])
            if part.classes[joint] >= self.n_people or not part.system.size[joint]:
                continue
            if part.network is not None and self.seconds <= 0:
                self.open[part.classes] |= ~part.known
                return
            if part.network is not None:
                certain, found = _certain_along(part, part.network, cell, is_last=is_last)
            else:
                certain, found = self._certain(part, cell)
            part = part.with_witnesses(found)
            if certain is not None:
                pairs = (*earlier, part.pair_of(cell))
                self._keep(pairs, part.pairs_of(certain))
                if not is_last:
                    self.decide(replace(part.beside(cell), known=part.known | certain), pairs, cell)

    def _certain(self, part: _Part, cell: int) -> tuple[Mask | None, Sequence[Ids]]:
        """What somebody in a cell is certain of, and more witnesses; None where nobody can be in it."""
        maybe = part.maybe_certain(cell)
        if not maybe.any():
            return maybe, ()
        if self.seconds <= 0:
            self.open[part.classes] |= maybe
            return np.zeros_like(maybe), ()
        others = part.beside(cell)
        given = others.fewest_witnesses
        try:
            proofs = joint_proofs(others.system, witnesses=given, time_limit=self.seconds)
        except InconclusiveError:
            return None, ()
        self.open[part.classes] |= proofs.open & maybe
        own = np.arange(len(part.system.cell_class)) == cell
        old = {*map(id, given)}
        return proofs.proved & maybe, [each + own for each in proofs.witnesses if id(each) not in old]

    def _keep(self, pairs: tuple[Pair, ...], certain: frozenset[Pair]) -> None:
        """Keep what insiders of these pairs are certain of, who may also be in other cells of the pairs."""
        key, always = tuple(sorted(pairs)), self.always[len(pairs) - 1]
        before = always.get(key)
        if before is None:
            self.n_proofs += len(certain)
            sometimes = frozenset[Pair]()
            if self.n_proofs > MAX_PROOFS:
                certain, sometimes = frozenset(), certain
        else:
            certain, sometimes = before & certain, before ^ certain
        always[key] = certain
        self.open.reshape(-1)[np.array([*sometimes], dtype=np.int64)] = True

    def result(self) -> InsiderProofs:
        """What was found."""
        n_values = len(self.proofs.system.values)
        certain = []
        for number, always in enumerate(self.always, 1):
            rows = [(*key, pair) for key, found in sorted(always.items()) for pair in sorted(found)]
            pairs = np.array(rows, dtype=np.int64).reshape(len(rows), number + 1)
            certain.append(np.stack(np.divmod(pairs, n_values), axis=2))
        is_open = self.open & (self.proofs.state != IMPOSSIBLE) & ~self.proofs.proved
        return InsiderProofs(certain=certain, open=np.asarray(is_open))


def _certain_along(part: _Part, network: Network, cell: int, *, is_last: bool) -> tuple[Mask | None, Sequence[Ids]]:
    """What somebody in a cell is certain of by the residual graph, and more witnesses; None where nobody can be in it.

    Where two people can be in the cell, a residual arc of its class is left beside one of them, and nothing more is
    certain: all arcs are as they were.
    """
    joint, value = divmod(cell, 2)
    best = part.witnesses[part.witnesses[:, cell].argmax()]
    found: list[Ids] = []
    if not best[cell]:
        people = network.changed(best[1::2], joint, 1 if value else -1)
        if people is None:
            return None, ()
        best = by_cell(network.system, people)
        found = [best]
    if best[cell] > 1 and is_last:
        return np.zeros_like(part.known), found
    people, others = best[1::2].copy(), network.beside(joint, value)
    people[joint] -= value
    component, size = others.components(people), others.system.size
    is_fixed = (component[others.start] != component[others.end]) & (size > 0)
    certain = np.stack([is_fixed & (people == 0), is_fixed & (people > 0)], axis=1)
    return certain & ~part.known, found
