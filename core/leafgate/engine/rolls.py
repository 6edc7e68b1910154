"""The leaves of a release's people: made of their table for a roll, and read from a roll in place of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.leaf_statements import Statement, leaf_statements, unsupported_reason
from leafgate.algorithms.routing import leaf_numbers
from leafgate.errors import InconclusiveError, LeafgateError, LedgerError, Problem
from leafgate.io.files import read_key
from leafgate.io.roll import Roll, keyed_id, read_roll
from leafgate.kernel.knowledge import LeafRoll, SecretChange
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import Release
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import Table
from leafgate.kernel.tree import columns_asked, tree_arrays

PUT_TABLE_BACK = "put the table back"
OTHER_RELEASE = "its roll has other leaves than the release"
DIFFERS = "what its leaves state is not true of the people of its roll, or somebody has another secret now"
SAY_CHANGES = "say in `secret_may_change` what may change, or put the table back"


def unsuitable_reason(release: Release, schema: Schema) -> str:
    """Why a roll cannot replace the table of a release's people; empty where it can."""
    if not release.trees:
        return "it has no trees"
    asked = frozenset[str]().union(*map(columns_asked, release.trees))
    if any(not schema[name].public for name in asked):
        return "its trees test columns that are not public, and a roll has no secret"
    if schema.target.public:
        return "the class is public, and a roll has no public cell"
    if not schema.having("key"):
        return "no column has the role `key`"
    return ""


def leaves_by_id(release: Release, table: Table, key: bytes) -> dict[str, list[int]]:
    """For the keyed id of each person of a table the number of the leaf of each tree that she reaches.

    Args:
        release: one that `unsuitable_reason` has nothing to say of.
        table: its people, one row for each.
        key: the key of the roll.
    """
    leaf = np.stack([leaf_numbers(tree, table).astype(np.int64) for tree in release.trees], axis=1)
    cells = table.frame[table.schema.having("key")[0].name].astype(object)
    return {keyed_id(key, cell): reached for cell, reached in zip(cells, leaf.tolist(), strict=True)}


def leaves_of_trees(release: Release) -> list[int]:
    """The number of leaves of each tree."""
    return [tree_arrays(tree).n_leaves for tree in release.trees]


@dataclass(frozen=True)
class ReadRoll:
    """A roll, and its key."""

    roll: Roll
    key: bytes

    @property
    def ids(self) -> list[str]:
        """The keyed ids of its people."""
        return [*self.roll.leaf]

    @property
    def people(self) -> int:
        """How many people the release was learned from."""
        return self.roll.people

    def leaf_roll(self) -> tuple[LeafRoll, NDArray[np.int64]]:
        """The distinct combinations of leaves, and for each id the position of its combination."""
        rows = np.array([*self.roll.leaf.values()], dtype=np.int64).reshape(-1, len(self.roll.leaves))
        distinct, record = np.unique(rows, axis=0, return_inverse=True)
        return LeafRoll(distinct.T.copy(), self.roll.forgotten), record.reshape(-1).astype(np.int64)

    def persons(self, keys: Sequence[Any]) -> list[Any]:
        """Who each id is: one of these keys, or somebody of whom only the id is known."""
        key_of = {keyed_id(self.key, key): key for key in keys}
        return [key_of.get(each, f"keyed id {each}") for each in self.ids]


def open_roll(path: Path, key: Path, place: str) -> ReadRoll:
    """The roll in a file, with the key in another one; InconclusiveError where it cannot be read or was changed."""
    try:
        secret = read_key(key, LedgerError, "--roll-key")
        return ReadRoll(read_roll(path, secret), secret)
    except LeafgateError as error:
        raise InconclusiveError.listing([Problem(place, each.message, each.hint) for each in error.problems]) from None


def require_fitting(roll: ReadRoll, release: Release, schema: Schema, place: str) -> None:
    """Raise InconclusiveError where a roll cannot be of a release."""
    if reason := unsuitable_reason(release, schema):
        raise InconclusiveError(f"its table is gone: {reason}", place=place, remedy=PUT_TABLE_BACK)
    if leaves_of_trees(release) != [*roll.roll.leaves]:
        raise InconclusiveError(OTHER_RELEASE, place=place, remedy=PUT_TABLE_BACK)


def require_possible(
    roll: ReadRoll, release: Release, table: Table, keys: Sequence[Any], change: SecretChange, place: str
) -> None:
    """Raise InconclusiveError where a leaf states what cannot be true of its people, as far as they are known.

    Known are the leaves of those in the roll, and the class of those who are in the table of today, too, where it may
    not have changed. What nobody can see without the table of the release stays unseen.

    Args:
        roll: of the release.
        release: one for which `require_fitting` accepts the roll.
        table: the people of the audited release.
        keys: the key of each row of the table.
        change: how the class may differ between tables, where it is a secret.
        place: what errors call the release.
    """
    if unsupported_reason(release):
        return
    schema, ids = table.schema, roll.ids
    domain = schema.target.domain
    order = [domain.index(name) for name in release.classes]
    code_of = dict(zip((keyed_id(roll.key, key) for key in keys), table.codes(release.target).tolist(), strict=True))
    may_change = not change.is_none and schema.target in schema.secrets
    label = np.array([-1 if may_change else code_of.get(each, -1) for each in ids], dtype=np.int64)
    for number, tree in enumerate(release.trees):
        reached = np.array([roll.roll.leaf[each][number] for each in ids], dtype=np.int64)
        shape = (tree_arrays(tree).n_leaves + 1, len(domain) + 1)
        people = np.bincount((reached + 1) * shape[1] + label + 1, minlength=shape[0] * shape[1]).reshape(shape)[1:]
        stated = leaf_statements(release, tree, roll.people)
        for own, row, leaf in zip(stated, people, tree_arrays(tree).leaves, strict=True):
            more = _stated_size(release, leaf)
            counted = row[1:][order].tolist()
            others = int(row.sum()) - sum(counted)
            has_more_values = len(domain) > len(order)
            if not all(
                _can_hold(each, counted, others, roll.roll.forgotten, has_more_values) for each in [*own, *more]
            ):
                raise InconclusiveError(DIFFERS, place=place, remedy=SAY_CHANGES)


def _stated_size(release: Release, leaf: Leaf) -> list[Statement]:
    """How many people are in a leaf, where it states their counts."""
    if leaf.counts is None or release.count_semantics != "exact":
        return []
    total = int(sum(leaf.counts.values()))
    return [Statement((1,) * len(release.classes), total, total)]


def _can_hold(stated: Statement, known: list[int], others: int, forgotten: int, has_more_values: bool) -> bool:
    """Can a statement be true of a leaf with known people of each class, some others, and perhaps forgotten people?"""
    if stated.of_people and not sum(known) + others:
        return True
    each = [*stated.coefficients, *([0] if has_more_values else [])]
    total = sum(a * n for a, n in zip(stated.coefficients, known, strict=True))
    least = total + others * min(each) + forgotten * min(0, *each)
    most = total + others * max(each) + forgotten * max(0, *each)
    return least <= stated.high and most >= stated.low
