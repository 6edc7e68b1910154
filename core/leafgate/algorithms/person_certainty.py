"""Which values of a secret persons with several rows certainly have, given what leaves state of their rows.

An adversary knows which rows are whose, and in which leaves they are. Where a secret is fixed, all rows of a person
have one value, so that the numbers of rows on a leaf are sums of whole persons' rows: two persons of 30 rows and eight
of one row, 60 rows of the first value and 8 of the second, have one solution only. Where it varies, a person certainly
has a value at least once where she has more rows in a leaf than are left for the other values.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from leafgate.algorithms.leaf_statements import NO_LIMIT, Statement
from leafgate.kernel.arrays import Ids, Mask
from leafgate.kernel.persons import PersonRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

INFEASIBLE = 2
"""The status of `scipy.optimize.milp` for a program without any solution."""

MAX_SEARCHES = 200
"""Searches for assignments in each component; what is then undecided is open."""

MAX_NODES = 200
"""Nodes of the solver's tree in each of them."""

ENOUGH = 1.0
"""A search ends where at least half as many members changed as can change: it is repeated anyway."""

VARIED_SEARCHES = 30
"""Before insiders are tried one by one, so many assignments are looked for that change the values of half the persons:
one of them nearly always leaves an insider's value as it is and changes that of another person."""

VAIN_SEARCHES = 3
"""So many of them in a row that find nothing new end the search: a few persons have few assignments."""

Owned = tuple[tuple[int, int, int], ...]
"""What a person owns: kinds, values, and how many members of both."""

Statements = Sequence[Sequence[Sequence[Statement]]]
"""For each tree and each of its leaves, what the leaf states of its rows; coefficients are by the secret's values."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RowsOfPersons:
    """The rows of persons: cells of rows that are alike.

    Attributes:
        person: shape (n_cells,), whose rows they are, from 0.
        leaf: shape (n_trees, n_cells), the leaf that they reach in each tree, from 0.
        value: shape (n_cells,), the position of their true value in the secret's domain.
        rows: shape (n_cells,), how many they are, from 1.
        n_persons: how many persons there are.
        n_values: how many values the secret has.
    """

    person: Ids
    leaf: Ids
    value: Ids
    rows: Ids
    n_persons: int
    n_values: int

    @property
    def composition(self) -> Statements:
        """The true numbers of rows by value on every leaf, as leaves with exact counts state them."""
        one = [tuple(int(i == k) for i in range(self.n_values)) for k in range(self.n_values)]
        counts = (self.counts(leaf).tolist() for leaf in self.leaf)
        return [
            [[Statement(one[k], count, count) for k, count in enumerate(row)] for row in by_leaf] for by_leaf in counts
        ]

    def counts(self, leaf: Ids) -> Ids:
        """The true rows by leaf and value: shape (n_leaves, n_values)."""
        size = int(leaf.max(initial=-1)) + 1
        cell = leaf * self.n_values + self.value
        counts = np.bincount(cell, weights=self.rows, minlength=size * self.n_values)
        return counts.astype(np.int64).reshape(size, self.n_values)


@dataclass(frozen=True, eq=False)
class PersonCertainty:
    """What is certain of each person.

    Attributes:
        certain: shape (n_persons, n_values), whether she certainly has the value (of a varying secret: in some row).
        open: shape (n_persons, n_values), whether that was neither proved nor refuted within the limit of work.
    """

    certain: Mask
    open: Mask


def certain_of_persons(
    persons: PersonRows, group: Ids, value: Ids, n_values: int, *, insiders: int = 0, varies: bool = False
) -> PersonCertainty:
    """What is certain of persons where the numbers of rows by value of each group are known.

    Whether a secret is fixed is seen in no table, because one row can be mistyped. So what follows counts whether it is
    fixed or varies, unless it is said to vary.

    Args:
        persons: whose rows the records are.
        group: shape (n_records,), the group of each record, from 0.
        value: shape (n_records,), the position of the true value of each record in the secret's domain.
        n_values: how many values the secret has.
        insiders: how many other persons pool what they know of their own rows, from 0.
        varies: whether a person is known to be able to have several values.
    """
    rows = RowsOfPersons(
        person=persons.person,
        leaf=group[persons.record][None, :],
        value=value[persons.record],
        rows=persons.rows,
        n_persons=persons.size,
        n_values=n_values,
    )
    found = certain_of_varying(rows, rows.composition, insiders=insiders)
    if varies:
        return found
    fixed = certain_of_fixed(rows, rows.composition, insiders=insiders)
    certain = found.certain | fixed.certain
    return PersonCertainty(certain, (found.open | fixed.open) & ~certain)


def certain_of_fixed(rows: RowsOfPersons, stated: Statements, *, insiders: int = 0) -> PersonCertainty:
    """Which values persons certainly have if all rows of a person have one value.

    A value is certain where the person has it in each assignment of values to persons that agrees with the statements.
    Rows of persons who have several values are free: each may have any value; nothing is certain of these persons.

    Args:
        rows: whose rows are in which leaves.
        stated: what each leaf states of its rows.
        insiders: how many other persons, whoever they are, pool what they know of their own rows, from 0.

    Raises:
        InconclusiveError: no assignment agrees with the statements.

    Source: the subset-sum problem, Garey and Johnson, "Computers and Intractability", 1979, SP13; proofs as in
    `joint_proofs`.
    """
    return _FixedSearch(_Kinds.of(rows), stated, insiders).result()


def certain_of_varying(rows: RowsOfPersons, stated: Statements, *, insiders: int = 0) -> PersonCertainty:
    """Which values persons certainly have in at least one of their rows, if each row may have any value.

    Args:
        rows: whose rows are in which leaves.
        stated: what each leaf states of its rows.
        insiders: how many other persons, whoever they are, pool what they know of their own rows, from 0.
    """
    if len(rows.leaf) == 1 and stated == rows.composition:
        return _certain_by_counts(rows, insiders)
    return _VaryingSearch(rows, stated, insiders).result()


def _certain_by_counts(rows: RowsOfPersons, insiders: int) -> PersonCertainty:
    """What is certain of a varying secret where the leaves of one tree state their numbers of rows by value.

    In each leaf those insiders help most who have most rows of other values.
    """
    certain = np.zeros((rows.n_persons, rows.n_values), dtype=bool)
    pairs, which = np.unique(rows.leaf[0] * rows.n_persons + rows.person, return_inverse=True)
    leaf, person = pairs // rows.n_persons, pairs % rows.n_persons
    own = np.bincount(which, weights=rows.rows, minlength=len(pairs)).astype(np.int64)
    for value in range(rows.n_values):
        with_it = np.bincount(which, weights=rows.rows * (rows.value == value), minlength=len(pairs)).astype(np.int64)
        others = own - with_it
        room = np.bincount(leaf, weights=others).astype(np.int64)[leaf] - _most_of_others(leaf, others, insiders)
        must = (own > room) & (with_it > 0)
        certain[person[must], value] = True
    return PersonCertainty(certain, np.zeros_like(certain))


def _most_of_others(group: Ids, numbers: Ids, most: int) -> Ids:
    """For each member of a group the sum of the largest numbers, at most so many, of other members."""
    order = np.lexsort((-numbers, group))
    start = np.searchsorted(group[order], group[order])
    rank, running = np.arange(len(order)) - start, np.append(0, np.cumsum(numbers[order]))
    end = np.searchsorted(group[order], group[order], side="right")
    is_among = rank < most
    last = np.minimum(start + most + is_among, end)
    found = np.zeros(len(numbers), dtype=np.int64)
    found[order] = running[last] - running[start] - np.where(is_among, numbers[order], 0)
    return found


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Persons by what is known of them: those of a kind have as many rows in each leaf.

    A free row, of a person with several values, is a person of one row here, of whom nobody is asked.

    Attributes:
        of_person: shape (n_persons,), each person's kind; -1 for those with several values or without rows.
        value: shape (n_persons,), her true value; -1 likewise.
        members: shape (n_kinds, n_values), how many persons and free rows of a kind truly have each value.
        rows_in_place: shape (n_kinds, n_places), the rows of each person of a kind by combination of leaves.
        rows_in_leaf: for each tree the same by its leaves, shape (n_kinds, n_leaves).
        own: for each person, shape (n_owned, 3): kinds, values, and how many members of both are hers.
    """

    of_person: Ids
    value: Ids
    members: Ids
    rows_in_place: csr_array
    rows_in_leaf: Sequence[csr_array]
    own: Sequence[Owned]

    @classmethod
    def of(cls, rows: RowsOfPersons) -> _Kinds:
        """The kinds of some persons."""
        from scipy.sparse import coo_array

        several = _have_several_values(rows)
        combination = np.unique(rows.leaf, axis=1, return_inverse=True)[1].reshape(-1)
        kinds: dict[tuple[tuple[int, int], ...], int] = {}
        vectors: list[dict[int, int]] = [{} for _ in range(rows.n_persons)]
        for person, place, count in zip(rows.person.tolist(), combination.tolist(), rows.rows.tolist(), strict=True):
            vectors[person][place] = vectors[person].get(place, 0) + count
        of_person = np.full(rows.n_persons, -1)
        for person in np.flatnonzero(~several).tolist():
            if vectors[person]:
                of_person[person] = kinds.setdefault(tuple(sorted(vectors[person].items())), len(kinds))
        value = np.full(rows.n_persons, -1)
        value[rows.person] = rows.value
        value[of_person < 0] = -1
        own: list[list[tuple[int, int, int]]] = [[] for _ in range(rows.n_persons)]
        for person in np.flatnonzero(of_person >= 0).tolist():
            own[person].append((int(of_person[person]), int(value[person]), 1))
        for cell in np.flatnonzero(several[rows.person]).tolist():
            kind = kinds.setdefault(((int(combination[cell]), 1),), len(kinds))
            own[int(rows.person[cell])].append((kind, int(rows.value[cell]), int(rows.rows[cell])))
        members = np.zeros((len(kinds), rows.n_values), dtype=np.int64)
        for kind, each, count in itertools.chain(*own):
            members[kind, each] += count
        entries = [(kind, place, count) for vector, kind in kinds.items() for place, count in vector]
        kind_of, place_of, count_of = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        first = np.unique(combination, return_index=True)[1]
        columns = [np.arange(len(first)), *rows.leaf[:, first]]
        by_place, *by_leaf = (
            coo_array((count_of, (kind_of, each[place_of])), shape=(len(kinds), int(each.max(initial=-1)) + 1)).tocsr()
            for each in columns
        )
        return cls(of_person, value, members, by_place, by_leaf, [tuple(each) for each in own])

    @cached_property
    def component(self) -> Ids:
        """For each kind its connected component: what is certain of one kind depends on no other component."""
        from scipy.sparse import block_array, hstack
        from scipy.sparse.csgraph import connected_components

        links = hstack(self.rows_in_leaf, format="csr")
        graph = block_array([[None, links], [links.T, None]], format="csr")
        return np.asarray(connected_components(graph, directed=False)[1][: len(self.members)])


def _have_several_values(rows: RowsOfPersons) -> Mask:
    """Which persons have rows of different values: shape (n_persons,)."""
    least = np.full(rows.n_persons, rows.n_values)
    most = np.full(rows.n_persons, -1)
    np.minimum.at(least, rows.person, rows.value)
    np.maximum.at(most, rows.person, rows.value)
    return np.asarray(most > least)


@dataclass(eq=False)
class _FixedSearch:
    """What is certain where secrets are fixed, component by component and for each coalition of insiders."""

    kinds: _Kinds
    stated: Statements
    insiders: int

    def result(self) -> PersonCertainty:
        """What is certain of each person."""
        n_persons, n_values = len(self.kinds.of_person), self.kinds.members.shape[1]
        certain, unanswered = np.zeros((2, n_persons, n_values), dtype=bool)
        component, kinds_of = self.kinds.component, dict[int, list[int]]()
        for kind, number in enumerate(component.tolist()):
            kinds_of.setdefault(number, []).append(kind)
        owners = {number: dict[Owned, list[int]]() for number in kinds_of}
        for person, own in enumerate(self.kinds.own):
            for number in {int(component[kind]) for kind, _, _ in own}:
                part = tuple(each for each in own if component[each[0]] == number)
                owners[number].setdefault(part, []).append(person)
        for number, kinds in kinds_of.items():
            self._decide(np.array(kinds), owners[number], certain, unanswered)
        return PersonCertainty(certain, unanswered & ~certain)

    def _decide(self, kinds: Ids, owners: Mapping[Owned, list[int]], certain: Mask, unanswered: Mask) -> None:
        """Decide the persons of one component; those who own the same are decided together."""
        position = {int(kind): i for i, kind in enumerate(kinds)}
        asking = [
            (own, [each for each in persons if self.kinds.of_person[each] >= 0]) for own, persons in owners.items()
        ]
        asking = [(own, persons) for own, persons in asking if persons]
        number = {own: i for i, (own, _) in enumerate(asking)}
        kind_of = np.array([position[own[0][0]] for own, _ in asking], dtype=np.int64)
        search, uncertain = _ComponentSearch(self.kinds, self.stated, kinds), np.ones(len(asking), dtype=bool)
        for coalition in _coalitions({own: len(persons) for own, persons in owners.items()}, self.insiders):
            left = uncertain.copy()
            for own in coalition:
                if own in number and coalition.count(own) == len(owners[own]):
                    left[number[own]] = False
            known = np.zeros_like(search.members)
            for kind, value, count in itertools.chain(*coalition):
                known[position[kind], value] += count
            asked = np.zeros(len(kinds), dtype=bool)
            asked[kind_of[left]] = True
            alike = search.decided(asked, known)[kind_of]
            for i in np.flatnonzero(left & (alike != NOT_ALIKE)).tolist():
                own, persons = asking[i]
                value = own[0][1]
                certain[persons, value] |= alike[i] == ALIKE
                unanswered[persons, value] |= alike[i] == OPEN
                uncertain[i] = alike[i] != ALIKE


NOT_ALIKE = 0
"""Members of a kind have several values, together in all assignments: nothing is certain of any, since they can change
places."""

ALIKE = 1
"""They have one value in all assignments."""

OPEN = 2
"""Neither was found within the work that a search may take."""


@dataclass(eq=False)
class _ComponentSearch:
    """Whether the members of each kind of one component have one value alone.

    Attributes:
        of: all kinds.
        stated: what leaves state.
        chosen: the kinds of the component.
    """

    of: _Kinds
    stated: Statements
    chosen: Ids

    def __post_init__(self) -> None:
        self.members = self.of.members[self.chosen]
        self.witnesses = [self.members]
        self.searches, self.varied = MAX_SEARCHES, False

    @cached_property
    def constraints(self) -> tuple[csr_array, Ids, Ids]:
        """What is known of the numbers of members of each kind and value."""
        return _constraints(self.of, self.stated, self.chosen)

    @cached_property
    def leaves(self) -> list[_LeafSum]:
        """What leaves state of single values."""
        return _leaf_sums(self.of, self.stated, self.chosen)

    @cached_property
    def possible(self) -> Mask:
        """Which values members of each kind may have, as far as single sums rule them out."""
        possible = np.ones(self.members.shape, dtype=bool)
        _propagate(self.leaves, self.members.sum(axis=1), possible, np.zeros_like(self.members))
        return possible

    @cached_property
    def is_one_sum(self) -> bool:
        """Is all that is stated one number of rows with one of two values, so that what it allows is possible?"""
        in_one_place = len(self.places[-1]) == 1 and self.members.shape[1] == 2
        return in_one_place and all(each.low == each.high for each in self.leaves)

    @cached_property
    def places(self) -> tuple[Ids, Ids, Ids, Ids]:
        """Where kinds have rows: each kind's first entry, places, rows; by places the kind of one row there, or -1."""
        cells = self.of.rows_in_place[self.chosen].tocoo()
        place, rows = np.unique(cells.col, return_inverse=True)[1].reshape(-1), cells.data.astype(np.int64)
        first = np.searchsorted(cells.row, np.arange(len(self.chosen)))
        single = np.full(int(place.max(initial=-1)) + 1, -1)
        alone = (np.bincount(cells.row)[cells.row] == 1) & (rows == 1)
        single[place[alone]] = cells.row[alone]
        return first, place, rows, single

    def decided(self, asked: Mask, known: Ids) -> Ids:
        """For each kind that is asked about NOT_ALIKE, ALIKE or OPEN, beside members whose values are known.

        Args:
            asked: shape (n_kinds,).
            known: shape (n_kinds, n_values), the members who are insiders' own.
        """
        state = np.full(len(asked), OPEN)
        state[~asked | self._refuted(known)] = NOT_ALIKE
        if not (state == OPEN).any():
            return state
        possible = self.possible.copy()
        if known.any():
            _propagate(self.leaves, (self.members - known).sum(axis=1), possible, known)
        state[(state == OPEN) & (possible.sum(axis=1) == 1)] = ALIKE
        if self.is_one_sum:
            state[state == OPEN] = NOT_ALIKE
        if known.any() and (state == OPEN).any() and not self.varied:
            self._vary()
            state[(state == OPEN) & self._refuted(known)] = NOT_ALIKE
        while (state == OPEN).any() and self.searches > 0:
            found, complete = self._assignment(state == OPEN, possible, known)
            if found is not None:
                self.witnesses.append(found + known)
                state[(state == OPEN) & self._refuted(known)] = NOT_ALIKE
            else:
                state[state == OPEN] = ALIKE if complete else OPEN
                self.searches -= 0 if complete else self.searches
                break
        return state

    def _vary(self) -> None:
        """Look for assignments that change the values of half the kinds, drawn at random."""
        self.varied = True
        rng, nobody, vain = np.random.default_rng(0), np.zeros_like(self.members), 0
        for _ in range(VARIED_SEARCHES if self.searches else 0):
            found, _ = self._assignment(rng.integers(2, size=len(nobody)) == 1, self.possible, nobody)
            if found is None or any((found == witness).all() for witness in self.witnesses):
                vain += 1
            else:
                vain = 0
                self.witnesses.append(found)
            if vain == VAIN_SEARCHES:
                return

    def _refuted(self, known: Ids) -> Mask:
        """For which kinds assignments give those whose values are not known several values."""
        there = [witness > known for witness in self.witnesses if (witness >= known).all()]
        return np.asarray(np.any(there, axis=0).sum(axis=1) > 1) | self._exchanged(known)

    def _exchanged(self, known: Ids) -> Mask:
        """Of which kinds a member can change values with single rows of others, as many in each of her places."""
        first, place, rows, single = self.places
        left = self.members - known
        of_others = np.where(single[:, None] >= 0, left[single], 0)
        can = np.logical_and.reduceat(of_others[place] >= rows[:, None], first)
        has_another = (left > 0).sum(axis=1)[:, None] > (left > 0)
        return np.asarray((can & has_another).any(axis=1))

    def _assignment(self, wanted: Mask, possible: Mask, known: Ids) -> tuple[Ids | None, bool]:
        """An assignment in which a member of some wanted kinds has not her true value, and whether none exists."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array, vstack

        self.searches -= 1
        matrix, low, high = self.constraints
        shift = matrix @ known.reshape(-1)
        shape = self.members.shape
        other = wanted[:, None] & (self.members == known)
        changed = csr_array(other.reshape(1, -1).astype(np.float64))
        result = milp(
            -other.reshape(-1).astype(np.float64),
            constraints=LinearConstraint(
                vstack([matrix.astype(np.float64), changed], format="csr"),
                np.append(np.where(low > -NO_LIMIT, low - shift, -np.inf), 1.0),
                np.append(np.where(high < NO_LIMIT, high - shift, np.inf), np.inf),
            ),
            integrality=np.ones(other.size),
            bounds=Bounds(0, np.where(possible, (self.members - known).sum(axis=1)[:, None], 0).reshape(-1)),
            options={"node_limit": MAX_NODES, "mip_rel_gap": ENOUGH},
        )
        if result.x is None:
            return None, result.status == INFEASIBLE
        found = np.rint(result.x).astype(np.int64)
        sums = matrix @ (found + known.reshape(-1))
        agrees = bool(((sums >= low) & (sums <= high)).all()) and bool((found >= 0).all())
        return (found.reshape(shape), False) if agrees and found[other.reshape(-1)].any() else (None, False)


@dataclass(frozen=True, eq=False)
class _LeafSum:
    """That the rows with one value on a leaf are between two numbers.

    Attributes:
        kinds: the positions of the kinds with rows on the leaf.
        rows: shape (n_of_them,), the rows of each member.
        value: the value.
        low: the least.
        high: the most.
    """

    kinds: Ids
    rows: Ids
    value: int
    low: int
    high: int


def _leaf_sums(kinds: _Kinds, stated: Statements, chosen: Ids) -> list[_LeafSum]:
    """The statements that limit the rows with one value, as all do where the secret has two values."""
    n_values = kinds.members.shape[1]
    size = kinds.members[chosen].sum(axis=1)
    found = []
    for rows_in_leaf, by_leaf in zip(kinds.rows_in_leaf, stated, strict=True):
        cells = rows_in_leaf[chosen].tocoo()
        for leaf in np.unique(cells.col).tolist():
            inside = cells.col == leaf
            own, rows = cells.row[inside].astype(np.int64), cells.data[inside].astype(np.int64)
            total = int((rows * size[own]).sum())
            for value in range(n_values):
                limits = [_limits_of_value(each, value, total) for each in by_leaf[leaf]]
                low = max((each[0] for each in limits), default=0)
                high = min((each[1] for each in limits), default=total)
                if low > 0 or high < total:
                    found.append(_LeafSum(own, rows, value, low, high))
    return found


def _limits_of_value(statement: Statement, value: int, total: int) -> tuple[int, int]:
    """Between which numbers the rows with a value are on a leaf of so many rows, as far as one statement says so."""
    rest = {a for k, a in enumerate(statement.coefficients) if k != value}
    if len(rest) > 1 or statement.coefficients[value] in rest:
        return 0, total
    common = rest.pop() if rest else 0
    step = statement.coefficients[value] - common
    low = -NO_LIMIT if statement.low == -NO_LIMIT else statement.low - common * total
    high = NO_LIMIT if statement.high == NO_LIMIT else statement.high - common * total
    if step < 0:
        step, low, high = -step, -high, -low
    return max(0, -(-low // step)), min(total, high // step)


def _propagate(leaves: Sequence[_LeafSum], size: Ids, possible: Mask, known: Ids) -> None:
    """Rule out values that no choice of the other members of a leaf makes up for, until nothing more follows.

    Args:
        leaves: the sums.
        size: shape (n_kinds,), the members whose values are not known.
        possible: shape (n_kinds, n_values), which values members may have; is changed.
        known: shape (n_kinds, n_values), the members whose values are known.
    """
    changed = True
    while changed:
        changed = False
        for each in leaves:
            before = possible[each.kinds].sum()
            _propagate_sum(each, size, possible, known)
            changed |= possible[each.kinds].sum() < before


def _propagate_sum(leaf: _LeafSum, size: Ids, possible: Mask, known: Ids) -> None:
    """Rule out what one sum rules out, exactly: sums that subsets of members reach are the bits of a whole number."""
    kinds, value = leaf.kinds, leaf.value
    can, must = possible[kinds, value], possible[kinds, value] & (possible[kinds].sum(axis=1) == 1)
    free = can & ~must & (size[kinds] > 0)
    if not free.any():
        return
    done = int((leaf.rows * np.where(must, size[kinds], 0)).sum() + (leaf.rows * known[kinds, value]).sum())
    low, high = leaf.low - done, leaf.high - done
    rows, which = np.unique(leaf.rows[free], return_inverse=True)
    members = np.bincount(which, weights=size[kinds][free], minlength=len(rows)).astype(np.int64)
    window = ((1 << (high + 1)) - 1) >> max(low, 0) << max(low, 0) if high >= 0 else 0
    for i, own in enumerate(rows.tolist()):
        reached = 1
        for other, count in zip(rows.tolist(), (members - (np.arange(len(rows)) == i)).tolist(), strict=True):
            reached = _with_multiples(reached, other, count)
        hit = kinds[free][which == i]
        if not (reached << own) & window:
            possible[hit, value] = False
        if not reached & window:
            possible[hit] = False
            possible[hit, value] = True


def _with_multiples(reached: int, rows: int, count: int) -> int:
    """The sums that are reached with up to so many members more, of so many rows each."""
    part = 1
    while count > 0:
        taken = min(part, count)
        reached |= reached << (rows * taken)
        count -= taken
        part *= 2
    return reached


def _coalitions(owners: Mapping[Owned, int], insiders: int) -> Iterator[tuple[Owned, ...]]:
    """The coalitions of up to so many insiders that differ in what they own, of so many persons who own each."""
    for size in range(insiders + 1):
        for coalition in itertools.combinations_with_replacement(owners, size):
            if all(coalition.count(own) <= owners[own] for own in coalition):
                yield coalition


def _constraints(kinds: _Kinds, stated: Statements, chosen: Ids) -> tuple[csr_array, Ids, Ids]:
    """What is known of the numbers of members of each kind and value: low <= matrix @ numbers <= high."""
    from scipy.sparse import csr_array, kron, vstack

    n_values = kinds.members.shape[1]
    size = kinds.members[chosen].sum(axis=1)
    parts = [kron(csr_array(np.eye(len(chosen), dtype=np.int64)), np.ones((1, n_values), dtype=np.int64))]
    low, high = [*size.tolist()], [*size.tolist()]
    for rows_in_leaf, by_leaf in zip(kinds.rows_in_leaf, stated, strict=True):
        columns = rows_in_leaf[chosen].tocsc()
        for leaf in np.unique(columns.nonzero()[1]).tolist():
            for each in by_leaf[leaf]:
                parts.append(kron(columns[:, [leaf]].T, np.array([each.coefficients], dtype=np.int64)))
                low.append(each.low)
                high.append(each.high)
    return csr_array(vstack(parts, format="csr"), dtype=np.int64), np.array(low), np.array(high)


@dataclass(eq=False)
class _VaryingSearch:
    """What is certain where each row may have any value: shown for the rows that are alike in all trees together."""

    rows: RowsOfPersons
    stated: Statements
    insiders: int

    def result(self) -> PersonCertainty:
        """What is certain of each person."""
        rows = self.rows
        certain, unanswered = np.zeros((2, rows.n_persons, rows.n_values), dtype=bool)
        of_person = _counts_by(rows.person, self.place, rows.rows, (rows.n_persons, self.n_places))
        by_value = [
            _counts_by(rows.person[own], self.place[own], rows.rows[own], (rows.n_persons, self.n_places))
            for own in (rows.value == value for value in range(rows.n_values))
        ]
        everybody = of_person.sum(axis=0)
        for value, true in enumerate(by_value):
            others = of_person - true
            for person in np.flatnonzero(true.sum(axis=1) > 0).tolist():
                for coalition in self._promising(person, of_person, others, everybody - true.sum(axis=0)):
                    known = np.stack([each[list(coalition)].sum(axis=0) for each in by_value], axis=1)
                    answer = self._must_have(of_person[person], value, known)
                    certain[person, value] |= answer is True
                    unanswered[person, value] |= answer is None
                    if answer:
                        break
        return PersonCertainty(certain, unanswered & ~certain)

    @cached_property
    def place(self) -> Ids:
        """For each cell the number of its combination of leaves."""
        return np.asarray(np.unique(self.rows.leaf, axis=1, return_inverse=True)[1]).reshape(-1)

    @cached_property
    def n_places(self) -> int:
        """How many combinations of leaves have rows."""
        return int(self.place.max(initial=-1)) + 1

    def _promising(self, person: int, of_person: Ids, others: Ids, without: Ids) -> Iterator[tuple[int, ...]]:
        """Coalitions beside which the true values leave no room for all of the person's rows among other values.

        Args:
            person: who is asked about.
            of_person: shape (n_persons, n_places), everybody's rows.
            others: the same, of rows that truly have another value than the one that is asked for.
            without: shape (n_places,), their sums.
        """
        reached = of_person[person] > 0
        lacking = without[reached] - of_person[person, reached]
        helpful = others[:, reached]
        candidates = np.flatnonzero(self.has_rows & (np.arange(len(of_person)) != person))
        for size in range(self.insiders + 1):
            if size < 2:
                room = lacking - (helpful[candidates] if size else np.zeros((1, len(lacking)), dtype=np.int64))
                for i in np.flatnonzero((room < 0).any(axis=1)).tolist():
                    yield (int(candidates[i]),) if size else ()
                continue
            for coalition in itertools.combinations(candidates.tolist(), size):
                if (lacking < helpful[list(coalition)].sum(axis=0)).any():
                    yield coalition

    @cached_property
    def has_rows(self) -> Mask:
        """Which persons have rows: shape (n_persons,)."""
        return np.bincount(self.rows.person, minlength=self.rows.n_persons) > 0

    def _must_have(self, own: Ids, value: int, known: Ids) -> bool | None:
        """Does every assignment give somebody with these rows the value at least once? None where that is open.

        Args:
            own: shape (n_places,), her rows.
            value: which value is asked for.
            known: shape (n_places, n_values), the rows that insiders know.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        matrix, low, high = self.constraints
        most = np.repeat(self.size - known.sum(axis=1), self.rows.n_values)
        most[value :: self.rows.n_values] -= own
        if (most < 0).any():
            return True
        shift = matrix @ known.reshape(-1)
        result = milp(
            np.zeros(len(most)),
            constraints=LinearConstraint(
                matrix.astype(np.float64),
                np.where(low > -NO_LIMIT, low - shift, -np.inf),
                np.where(high < NO_LIMIT, high - shift, np.inf),
            ),
            integrality=np.ones(len(most)),
            bounds=Bounds(0, most),
            options={"node_limit": MAX_NODES},
        )
        if result.x is None:
            return True if result.status == INFEASIBLE else None
        sums = matrix @ (np.rint(result.x).astype(np.int64) + known.reshape(-1))
        return False if bool(((sums >= low) & (sums <= high)).all()) else None

    @cached_property
    def size(self) -> Ids:
        """The rows of each combination of leaves: shape (n_places,)."""
        return np.bincount(self.place, weights=self.rows.rows, minlength=self.n_places).astype(np.int64)

    @cached_property
    def constraints(self) -> tuple[csr_array, Ids, Ids]:
        """What the leaves state of rows, each of which may have any value."""
        first = np.unique(self.place, return_index=True)[1]
        ones = np.ones(self.n_places, dtype=np.int64)
        leaf = self.rows.leaf[:, first]
        free = replace(self.rows, person=np.arange(self.n_places), leaf=leaf, value=ones - 1, rows=ones)
        kinds = _Kinds.of(replace(free, n_persons=self.n_places))
        matrix, low, high = _constraints(kinds, self.stated, kinds.of_person)
        low[: self.n_places] = high[: self.n_places] = self.size
        return matrix, low, high


def _counts_by(person: Ids, place: Ids, rows: Ids, shape: tuple[int, int]) -> Ids:
    """The rows of each person in each place."""
    counts = np.bincount(person * shape[1] + place, weights=rows, minlength=shape[0] * shape[1])
    return counts.astype(np.int64).reshape(shape)
