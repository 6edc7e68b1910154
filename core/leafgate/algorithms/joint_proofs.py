"""Joint proofs: which values of a secret people of a joint class can have, given all that several releases state.

A value is possible where an assignment of whole people agrees with everything that is published, and the assignment is
kept. A value is impossible where no assignment has anybody with it: the proof is a sum of constraints with multipliers,
which `check_proof` verifies in exact arithmetic, or a search of all branches by the solver. What is neither found nor
proved in time is open, and never counts as safe.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from leafgate.algorithms.joint_classes import JointSystem
from leafgate.algorithms.joint_networks import Network, is_network, limits_of_leaves, network_of
from leafgate.algorithms.leaf_statements import NO_LIMIT
from leafgate.errors import InconclusiveError
from leafgate.kernel.arrays import Floats, Ids, Mask

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

IMPOSSIBLE = 0
"""No assignment has anybody of the class with the value."""

POSSIBLE = 1
"""Some assignment has."""

OPEN = 2
"""Neither was found in time."""

ROUNDING = 1e-6
"""A number of the solver that is nearer to a whole number than this is tried as that number."""

MAX_DENOMINATOR = 10_000
"""Multipliers of a proof are tried as fractions with denominators up to this."""

SOME_PERSON = 0.5
"""The solver found somebody where its number of people is above this."""

MIP_GAP = 0.3
"""A search for assignments that are different for many people ends this near to the best: it is repeated anyway."""

MANY_PAIRS = 2_000
"""Up to so many pairs are looked for one by one, near an assignment that is known."""

FEW_PAIRS = 8
"""Up to so many pairs are looked for near an assignment that is given, before anything is looked for everywhere."""

NEAR_SECONDS = 2.0
"""The search near a known assignment ends after this for each pair: what it does not find is looked for everywhere."""

MAX_NETWORKS = 45
"""Pairs of trees that are decided as networks before the solver is asked: all of ten trees."""

FEW_NEW = 0.3
"""Where a solution in fractions has people in a smaller part of the pairs, less is asked of each at once."""

LEAST_SHARE = 1e-4
"""The least part of a person that is asked of each pair: well above the solver's tolerance."""

CONTRADICTION = "no whole numbers of people agree with everything that these releases state: are they of other people?"


@dataclass(frozen=True, kw_only=True, eq=False)
class Proof:
    """That no assignment has anybody in some cells: a sum of constraints.

    Attributes:
        cells: the positions of these cells.
        multipliers: for constraints, by their position, the number by which each is multiplied.
    """

    cells: Ids
    multipliers: Mapping[int, Fraction]


def people_at_most(system: JointSystem, proof: Proof) -> int | None:
    """How many people the cells of a proof have at most, computed without a solver in exact rational arithmetic.

    Let m be the multipliers. Where the sum of m_r times constraint r has a coefficient of at least 1 at each cell of
    the proof and of at least 0 at every other cell, the people in the cells of the proof are at most this sum, because
    no cell has fewer than 0 people. The sum is at most that of m_r high_r (m_r > 0) and m_r low_r (m_r < 0); whole
    people are at most this number rounded down.

    Args:
        system: what the releases state.
        proof: some cells, and the multipliers.

    Returns:
        A number that no assignment exceeds; None where the multipliers prove nothing.

    Source: duality of linear programs, Schrijver, "Theory of Linear and Integer Programming", Wiley, 1986, section 7.4;
    rounding to whole numbers: section 23.1.
    """
    if any(abs(_end(system, row, multiplier)) == NO_LIMIT for row, multiplier in proof.multipliers.items()):
        return None
    one, total = _sum_of_constraints(system, proof.multipliers)
    ends = (multiplier * _end(system, row, multiplier) for row, multiplier in proof.multipliers.items())
    bound = sum(ends, Fraction(0))
    return math.floor(bound) if (total[proof.cells] >= one).all() and (total >= 0).all() else None


def check_proof(system: JointSystem, proof: Proof) -> bool:
    """Whether a proof holds: its cells have at most 0 people, by `people_at_most`.

    Args:
        system: what the releases state.
        proof: what is proved, and how.
    """
    most = people_at_most(system, proof)
    return most is not None and most <= 0


def _end(system: JointSystem, row: int, multiplier: Fraction) -> int:
    """The end of a constraint that its multiple is at most."""
    return int(system.high[row] if multiplier > 0 else system.low[row])


def _sum_of_constraints(system: JointSystem, multipliers: Mapping[int, Fraction]) -> tuple[int, NDArray[np.object_]]:
    """The sum of multiples of constraints: the common denominator, and by this many times the coefficient of each cell.

    The coefficients are whole numbers of Python, of any size.
    """
    one = math.lcm(*(multiplier.denominator for multiplier in multipliers.values()))
    part = system.matrix[np.array([*multipliers], dtype=np.int64)]
    whole = np.array([int(multiplier * one) for multiplier in multipliers.values()], dtype=object)
    total = np.zeros(len(system.cell_class), dtype=object)
    np.add.at(total, part.indices, np.repeat(whole, np.diff(part.indptr)) * part.data.astype(object))
    return one, total


def check_witness(system: JointSystem, assignment: Ids) -> bool:
    """Whether an assignment of whole people agrees with everything that the releases state.

    Args:
        system: what the releases state.
        assignment: shape (n_cells,), whole numbers of people.
    """
    if assignment.shape != system.cell_class.shape or (assignment < 0).any():
        return False
    sums = system.matrix @ assignment
    return bool(((sums >= system.low) & (sums <= system.high)).all())


@dataclass(frozen=True, kw_only=True, eq=False)
class JointProofs:
    """What is proved of each joint class.

    Attributes:
        system: what the releases state.
        state: shape (n_classes, n_values): IMPOSSIBLE, POSSIBLE or OPEN.
        witnesses: assignments, together with somebody of each possible pair of a class and a value.
        proofs: each checked by `check_proof`, together for all impossible pairs but those that are `branched`.
        branched: shape (n_classes, n_values), the impossible pairs for which the solver searched all branches, and no
            proof by a sum of constraints was found.
        network: the network of the whole system, where it is one and was decided.
    """

    system: JointSystem
    state: Ids
    witnesses: Sequence[Ids]
    proofs: Sequence[Proof]
    branched: Mask
    network: Network | None = None

    @property
    def proved(self) -> Mask:
        """Which value everybody of a class certainly has: shape (n_classes, n_values), one for each class at most."""
        others = (self.state != IMPOSSIBLE).sum(axis=1, keepdims=True) - (self.state != IMPOSSIBLE)
        return np.asarray((self.state != IMPOSSIBLE) & (others == 0))

    @property
    def open(self) -> Mask:
        """Which values everybody of a class may certainly have, as far as was found out in time: the same shape."""
        others = (self.state == POSSIBLE).sum(axis=1, keepdims=True) - (self.state == POSSIBLE)
        return np.asarray((self.state != IMPOSSIBLE) & (others == 0) & ~self.proved)


def joint_proofs(
    system: JointSystem, *, witnesses: Sequence[Ids] = (), time_limit: float = float("inf")
) -> JointProofs:
    """What follows from several releases for the people of each joint class.

    Args:
        system: what the releases state.
        witnesses: assignments that agree with everything, where some are known; then little is left to find, and trees
            are not taken two by two first.
        time_limit: seconds after which no new question is put to the solver; what was not answered is OPEN.

    Returns:
        Every impossible pair is so in truth, whatever the time limit. Without one nothing is OPEN.

    Raises:
        InconclusiveError: no assignment agrees with all that the releases state.
    """
    search = _Search(system, time.monotonic() + time_limit)
    for witness in witnesses:
        search.learn(witness)
    network = search.decide()
    return JointProofs(
        system=system,
        state=search.state,
        witnesses=tuple(search.witnesses),
        proofs=tuple(search.proofs),
        branched=search.branched,
        network=network,
    )


@dataclass(eq=False)
class _Search:
    """The state of a search: what is known of each pair of a class and a value."""

    system: JointSystem
    deadline: float
    witnesses: list[Ids] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    state: Ids = field(init=False)
    branched: Mask = field(init=False)
    program: _Program = field(init=False)

    def __post_init__(self) -> None:
        shape = (self.system.n_classes, len(self.system.values))
        self.state = np.full(shape, OPEN, dtype=np.int64)
        self.branched = np.zeros(shape, dtype=bool)
        there = np.zeros(shape[0] * shape[1], dtype=bool)
        there[self.system.pair_of_cell] = True
        there = there.reshape(shape) & (self.system.size > 0)[:, None]
        self.state[~there] = IMPOSSIBLE  # no combination of cells has such a value, or nobody is in the class
        self.program = _Program.of(self.system)

    @property
    def seconds(self) -> float:
        """What is left of the time."""
        return self.deadline - time.monotonic()

    def decide(self) -> Network | None:
        """Decide each pair: by networks and the linear program as far as possible, then by whole numbers.

        The network of the whole system is given back, if it is one.
        """
        if not (self.state == OPEN).any() and (self.witnesses or not self.system.n_classes):
            return None
        network = None
        if not self.witnesses:
            network = self._decide_by_networks()
        elif int((self.state == OPEN).sum()) <= FEW_PAIRS:
            self._look_near(self.witnesses[0], self.state == OPEN)
        maybe = self._decide_by_relaxation() & (self.state == OPEN)
        if network is not None and self.witnesses:
            self._look_along(network, maybe)
            maybe &= self.state == OPEN
        while (maybe.any() or not self.witnesses) and self.seconds > 0:
            found, complete = self.whole_assignment(self._most_pairs(maybe))
            if found is not None and self.learn(found):
                maybe &= self.state == OPEN
                if int(maybe.sum()) <= MANY_PAIRS:
                    self._look_near(found, maybe)
                    maybe &= self.state == OPEN
            elif not complete:
                return network
            elif not self.witnesses:
                raise InconclusiveError(CONTRADICTION)
            else:
                self.state[maybe], self.branched[maybe] = IMPOSSIBLE, True
                self._replace_branches(maybe)
                return network
        return network

    def _decide_by_networks(self) -> Network | None:
        """Prove what follows from each tree and each two; the network of the whole system, if it is one."""
        trees = np.unique(self.system.tree[self.system.tree >= 0]).tolist()
        if not is_network(self.system) or not trees:
            return None
        pairs = [*itertools.combinations(trees, 2)][:MAX_NETWORKS] if len(trees) > 1 else [tuple(trees)]
        limits = {tree: limits_of_leaves(self.system, tree) for tree in {*itertools.chain(*pairs)}}
        for pair in pairs:
            if self.seconds <= 0:
                return None
            network = network_of(self.system, [limits[tree] for tree in pair])
            people = network.assignment()
            if people is None:
                return None
            potential = network.potentials(people)
            fixed = network.fixed(potential)
            cells = np.flatnonzero(fixed.reshape(-1))
            proof = Proof(cells=cells, multipliers=network.multipliers(potential))
            if len(cells) and check_proof(self.system, proof):
                self.proofs.append(proof)
                self.state[fixed] = IMPOSSIBLE
            if len(pairs) == 1 and network.complete:
                self.learn(by_cell(self.system, people))
                return network
        return None

    def _look_along(self, network: Network, pairs: Mask) -> None:
        """Look for somebody in each pair along the residual arcs of the network, which has somebody if anything has."""
        people = self.witnesses[0][1::2]
        for pair in np.flatnonzero(pairs).tolist():
            joint, value = divmod(pair, 2)
            if self.seconds > 0 and self.state[joint, value] == OPEN:
                found = network.changed(people, joint, 1 if value else -1)
                if found is not None:
                    self.learn(by_cell(self.system, found))

    def _look_near(self, assignment: Ids, pairs: Mask) -> None:
        """Look for somebody in each pair among the assignments that differ from one only near the pair's class."""
        for pair in np.flatnonzero(pairs).tolist():
            if self.seconds > 0 and self.state.reshape(-1)[pair] == OPEN:
                found = self.program.near(assignment, pair, self.state == OPEN)
                if found is not None:
                    self.learn(found)

    def _decide_by_relaxation(self) -> Mask:
        """Prove what follows without whole numbers; the pairs for which a solution in fractions has somebody."""
        maybe: Mask = np.zeros_like(self.state, dtype=bool)
        most = 1.0
        while self.seconds > 0:
            undecided: Mask = np.asarray((self.state == OPEN) & ~maybe)
            if not undecided.any():
                break
            solution = self.program.relaxed(self._most_pairs(undecided), self.seconds, most)
            if solution is None:
                return np.asarray(maybe | undecided)
            if solution.infeasible:
                raise InconclusiveError(CONTRADICTION)
            self.learn(np.rint(solution.people).astype(np.int64))
            by_pair = np.bincount(self.system.pair_of_cell, weights=solution.people, minlength=self.state.size)
            people = by_pair.astype(np.float64).reshape(self.state.shape)
            new = undecided & (people > ROUNDING)
            if not new.any():
                undecided &= self.state == OPEN
                if undecided.any() and not self._prove(undecided):
                    return np.asarray(maybe | undecided)
                continue
            if new.sum() < FEW_NEW * undecided.sum():
                most = max(
                    1 / int(undecided.sum()), LEAST_SHARE
                )  # the mean of solutions for each pair has so much in all
            maybe |= new
            maybe &= self.state == OPEN
        return np.asarray(maybe | (self.state == OPEN))

    def learn(self, assignment: Ids) -> bool:
        """Keep an assignment, if it agrees with everything and has somebody where nobody was known to be."""
        if not check_witness(self.system, assignment):
            return False
        there = self.system.people_by_value(assignment) > 0
        if self.witnesses and not (there & (self.state == OPEN)).any():
            return False
        self.state[there] = POSSIBLE
        self.witnesses.append(assignment)
        return True

    def _most_pairs(self, pairs: Mask) -> _Objective:
        """To have somebody in as many of these pairs as possible."""
        return _Objective.of_pairs(self.system, np.flatnonzero(pairs.reshape(-1)))

    def _prove(self, pairs: Mask) -> bool:
        """Find one proof for all these pairs together; for each alone where that is not exact."""
        cells = np.flatnonzero(pairs.reshape(-1)[self.system.pair_of_cell])
        proof = self.program.proof(cells, self.seconds)
        if proof is not None:
            self.state[pairs] = IMPOSSIBLE
            self.proofs.append(proof)
            return True
        if int(pairs.sum()) == 1:
            return False
        proved = False
        for pair in np.flatnonzero(pairs).tolist():
            proved |= self.seconds > 0 and self._prove(_single(pairs, pair))
        return proved

    def _replace_branches(self, pairs: Mask) -> None:
        """Find proofs by sums for pairs that the solver decided by branching, where rounding to whole people does."""
        for pair in np.flatnonzero(pairs).tolist():
            if self.seconds <= 0:
                return
            proof = self.program.proof(np.flatnonzero(self.system.pair_of_cell == pair), self.seconds)
            if proof is not None:
                self.proofs.append(proof)
                self.branched.reshape(-1)[pair] = False

    def whole_assignment(self, objective: _Objective) -> tuple[Ids | None, bool]:
        """A good assignment, and whether it is certain that none has anything of the objective."""
        solution = self.program.whole_assignment(objective, self.seconds)
        if solution is None:
            return None, False
        if solution.infeasible:
            return None, True
        assignment = np.rint(solution.people).astype(np.int64)
        return (assignment, solution.complete) if check_witness(self.system, assignment) else (None, False)


def assignment_with(system: JointSystem, pairs: Ids, *, time_limit: float) -> Ids | None:
    """An assignment with somebody in many of some pairs of a class and a value; None where none was found in time.

    Args:
        system: what the releases state.
        pairs: shape (n_pairs,), their numbers, class * n_values + value.
        time_limit: seconds.
    """
    return _Search(system, time.monotonic() + time_limit).whole_assignment(_Objective.of_pairs(system, pairs))[0]


def by_cell(system: JointSystem, people: Ids) -> Ids:
    """The assignment of a network by cells: those of each class with the first value, and with the second."""
    return np.stack([system.size - people, people], axis=1).reshape(-1)


def _single(pairs: Mask, pair: int) -> Mask:
    one = np.zeros_like(pairs)
    one.reshape(-1)[pair] = True
    return one


@dataclass(frozen=True, eq=False)
class _Objective:
    """To have somebody in as many of some pairs of a class and a value as possible.

    Attributes:
        pairs: how many there are.
        members: shape (n_pairs, n_cells), the cells of each.
    """

    pairs: int
    members: csr_array

    @classmethod
    def of_pairs(cls, system: JointSystem, pairs: Ids) -> _Objective:
        """That of some pairs, given by their numbers."""
        from scipy.sparse import coo_array

        position = np.full(system.n_classes * len(system.values), -1)
        position[pairs] = np.arange(len(pairs))
        row = position[system.pair_of_cell]
        cells = np.flatnonzero(row >= 0)
        shape = (len(pairs), len(system.cell_class))
        return cls(len(pairs), coo_array((np.ones(len(cells)), (row[cells], cells)), shape=shape).tocsr())


@dataclass(frozen=True, eq=False)
class _Solution:
    """Numbers of people in cells; `complete` where the solver proved that none of the pairs can have anybody."""

    people: Floats
    complete: bool
    infeasible: bool = False


@dataclass(frozen=True, eq=False)
class _Program:
    """The system as a linear program: equalities, and inequalities in one direction."""

    system: JointSystem
    equal: Ids
    above: Ids
    below: Ids

    @classmethod
    def of(cls, system: JointSystem) -> _Program:
        """The rows of each kind."""
        is_equal = system.low == system.high
        below = np.flatnonzero(~is_equal & (system.high < NO_LIMIT))
        above = np.flatnonzero(~is_equal & (system.low > -NO_LIMIT))
        return cls(system, np.flatnonzero(is_equal), above, below)

    @cached_property
    def _parts(self) -> tuple[Any, Floats, Any, Floats]:
        from scipy.sparse import vstack

        matrix, system = self.system.matrix.astype(np.float64), self.system
        upper = vstack([matrix[self.below], -matrix[self.above]], format="csr")
        limits = np.concatenate([system.high[self.below], -system.low[self.above]]).astype(np.float64)
        return matrix[self.equal], system.low[self.equal].astype(np.float64), upper, limits

    def relaxed(self, objective: _Objective, seconds: float, most: float = 1.0) -> _Solution | None:
        """The best solution in fractions, `most` of a person counting in each pair; None where the solver has none."""
        return self._solve(objective, seconds, most, whole=False)

    def whole_assignment(self, objective: _Objective, seconds: float) -> _Solution | None:
        """An assignment of whole people that is about the best; None where the solver found none in time."""
        return self._solve(objective, seconds, 1.0, whole=True)

    def _solve(self, objective: _Objective, seconds: float, most: float, *, whole: bool) -> _Solution | None:
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, eye_array, hstack, vstack

        equal, wanted, upper, limits = self._parts
        n, m = len(self.system.cell_class), objective.pairs
        counted = hstack([-objective.members, eye_array(m)], format="csr")
        upper = vstack([hstack([upper, csr_array((upper.shape[0], m))]), counted], format="csr")
        limit = {} if seconds == float("inf") else {"time_limit": max(seconds, 0.01)}
        result = linprog(
            np.concatenate([np.zeros(n), -np.ones(m)]),
            A_ub=upper,
            b_ub=np.concatenate([limits, np.zeros(m)]),
            A_eq=hstack([equal, csr_array((equal.shape[0], m))], format="csr"),
            b_eq=wanted,
            bounds=np.column_stack([np.zeros(n + m), np.concatenate([np.full(n, np.inf), np.full(m, most)])]),
            method="highs",
            integrality=np.ones(n + m) if whole else None,
            options=limit | ({"mip_rel_gap": MIP_GAP} if whole else {}),
        )
        if result.status == INFEASIBLE:
            return _Solution(np.zeros(n), complete=True, infeasible=True)
        if result.x is None:
            return None
        return _Solution(np.asarray(result.x[:n]), result.status == OPTIMAL and -result.fun < SOME_PERSON)

    def near(self, assignment: Ids, pair: int, wanted: Mask) -> Ids | None:
        """An assignment with somebody in a pair that differs from a given one only in classes that share its leaves.

        Args:
            assignment: one that agrees with everything.
            pair: the number of the pair.
            wanted: shape (n_classes, n_values), pairs in which it had better have people, too.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array, vstack

        system = self.system
        inside = system.cell_class == pair // len(system.values)
        rows = np.unique(self._by_cell[:, inside].indices)
        classes = np.unique(system.cell_class[np.unique(system.matrix[rows].indices)])
        free = np.flatnonzero(np.isin(system.cell_class, classes))
        rows = np.unique(self._by_cell[:, free].indices)
        part = system.matrix[rows][:, free]
        rest = system.matrix[rows] @ assignment - part @ assignment[free]
        low = np.where(system.low[rows] > -NO_LIMIT, (system.low[rows] - rest).astype(float), -np.inf)
        high = np.where(system.high[rows] < NO_LIMIT, (system.high[rows] - rest).astype(float), np.inf)
        members = csr_array((system.pair_of_cell[free] == pair).astype(np.float64)[None, :])
        constraint = LinearConstraint(
            vstack([part.astype(np.float64), members], format="csr"), np.append(low, 1.0), np.append(high, np.inf)
        )
        result = milp(
            -wanted.reshape(-1)[system.pair_of_cell[free]].astype(np.float64),
            constraints=constraint,
            integrality=np.ones(len(free)),
            bounds=Bounds(0, np.inf),
            options={"time_limit": NEAR_SECONDS, "mip_rel_gap": MIP_GAP},
        )
        if result.x is None:
            return None
        found = assignment.copy()
        found[free] = np.rint(result.x).astype(np.int64)
        return found

    @cached_property
    def _by_cell(self) -> Any:
        return self.system.matrix.tocsc()

    def proof(self, cells: Ids, seconds: float) -> Proof | None:
        """A proof that nobody is in these cells; None where the linear program has somebody there, or gives none."""
        from scipy.optimize import linprog

        equal, wanted, upper, limits = self._parts
        cost = np.zeros(len(self.system.cell_class))
        cost[cells] = -1.0
        limit = {} if seconds == float("inf") else {"time_limit": max(seconds, 0.01)}
        result = linprog(
            cost, A_ub=upper, b_ub=limits, A_eq=equal, b_eq=wanted, bounds=(0, None), method="highs", options=limit
        )
        if result.status != OPTIMAL or -result.fun >= 1 - ROUNDING:
            return None
        duals = np.concatenate([-result.eqlin.marginals, -result.ineqlin.marginals])
        duals[len(self.equal) + len(self.below) :] *= -1
        rows = np.concatenate([self.equal, self.below, self.above])
        multipliers = dict[int, Fraction]()
        for row, dual in zip(rows.tolist(), duals.tolist(), strict=True):
            rounded = Fraction(dual).limit_denominator(MAX_DENOMINATOR)
            if rounded:
                multipliers[row] = multipliers.get(row, Fraction(0)) + rounded
        proof = self._repaired(Proof(cells=cells, multipliers=multipliers))
        return proof if check_proof(self.system, proof) else None

    def _repaired(self, proof: Proof) -> Proof:
        """The proof with as much more of each class's size as makes up for the rounding of its multipliers."""
        one, total = _sum_of_constraints(self.system, proof.multipliers)
        missing = -total
        missing[proof.cells] += one
        lacking = dict[int, Fraction]()
        for cell in np.flatnonzero(missing > 0).tolist():
            joint, needed = int(self.system.cell_class[cell]), Fraction(missing[cell], one)
            lacking[joint] = max(lacking.get(joint, Fraction(0)), needed)
        more = dict(proof.multipliers)
        for joint, needed in lacking.items():
            more[joint] = more.get(joint, Fraction(0)) + needed
        return Proof(cells=proof.cells, multipliers=more)


OPTIMAL = 0
"""The status of `scipy.optimize.linprog` for a solution that is proved to be the best."""

INFEASIBLE = 2
"""The status for a program without any solution."""
