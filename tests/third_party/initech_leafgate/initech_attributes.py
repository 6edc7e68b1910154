"""Which values of a secret input column the release and a person's public cells, the class too, leave possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

from pydantic import Field

from leafgate.api import (
    AdversaryKnowledge,
    AttackModel,
    Belief,
    Column,
    InconclusiveError,
    Leaf,
    Release,
    SecretBelief,
    hookimpl,
    lazy,
    leaves,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
else:
    np, pd = lazy("numpy"), lazy("pandas")

leafgate_api = ">=3,<4"


class LeafAttributes(AttackModel):
    """Rule out values of a secret input column that lead only to leaves which count nobody of the person's class."""

    use: Literal["leaf_attributes"] = "leaf_attributes"
    secret: str | None = Field(
        default=None, description="The secret input column; every categorical one when left out."
    )

    reads = frozenset({"exact"})
    parts = frozenset({"trees"})
    needs = frozenset({"distribution"})
    threat_model = "The adversary knows the public columns of everyone, the class where it is public, and the release."
    formula = (
        "P(v) = 0 unless in every tree the person's public cells and v lead to a leaf that counts somebody of the "
        "person's class; possible values share 1 as among all people, evenly where that is not known"
    )
    source = "inversion of a model given its output, after Fredrikson and others 2015; here by counting alone"

    def infer(self, release: Release, known: AdversaryKnowledge) -> list[Belief]:
        columns = inputs(known.schema.secrets, self.secret)
        if not columns:
            raise InconclusiveError("there is no secret input column with declared values")
        if any(leaf.counts is None for tree in release.trees for leaf in leaves(tree)):
            raise InconclusiveError("a leaf publishes no counts")
        groups, tables = possible_values(release, known, columns)
        beliefs: list[Belief] = []
        for column, possible in zip(columns, tables, strict=True):
            overall = known.distribution.get(column.name)
            weights = possible * np.array([overall.get(str(value), 0.0) if overall else 1.0 for value in column.domain])
            weights[weights.sum(axis=1) == 0] = 1.0  # nothing is possible: a release of other people
            posterior = pd.DataFrame(weights / weights.sum(axis=1, keepdims=True), columns=list(column.domain))
            beliefs.append(SecretBelief(column.name, posterior, equivalence_class=groups, certainty="certain"))
        return beliefs


def inputs(secrets: Sequence[Column], name: str | None) -> list[Column]:
    """The secrets that are categorical and not the class; with a name that one alone."""
    return [each for each in secrets if each.values and "class" not in each.roles and name in {None, each.name}]


def possible_values(
    release: Release, known: AdversaryKnowledge, columns: list[Column]
) -> tuple[NDArray[np.int64], list[NDArray[np.bool_]]]:
    """Each record's group, and of each column which values are possible: shape (n_records, n_values)."""
    from leafgate.algorithms.equivalence import group_by_keys, residual_trees
    from leafgate.algorithms.feasible import rest_of

    target, public = known.schema.target, known.public
    own = public.codes(target.name) if target.public else np.full(len(public), -1)
    keys, tables = [np.zeros_like(own)], [np.ones((len(public), len(column.domain)), dtype=bool) for column in columns]
    for tree in release.trees:
        ids, residual = residual_trees(tree, public, known.schema)
        key, numbers = np.empty_like(ids), dict[tuple[int, tuple[bool, ...]], int]()
        for number, code in sorted(set(zip(ids.tolist(), own.tolist(), strict=True))):
            rows, reached = (ids == number) & (own == code), residual.leaves(number)
            kept = tuple(people_of(each.leaf, target.domain[code] if code >= 0 else None) > 0 for each in reached)
            key[rows] = numbers.setdefault((number, kept), len(numbers))
            ends = [each.possible for each, keep in zip(reached, kept, strict=True) if keep]
            ends += residual.ends_nowhere(number)  # whoever is led to no leaf is in no count
            for column, table in zip(columns, tables, strict=True):
                left = [cast("frozenset[str | None]", rest_of(column, end)) for end in ends]
                table[rows] &= np.array([any(value in each for each in left) for value in column.domain])
        keys.append(key)
    return group_by_keys(keys)[0], tables


def people_of(leaf: Leaf, name: str | None) -> float:
    """The people of this class in the leaf; of all classes where it is not known."""
    counts = leaf.counts or {}
    return sum(counts.values()) if name is None else counts.get(name, 0)


@hookimpl
def attack_models() -> list[type[AttackModel]]:
    return [LeafAttributes]
