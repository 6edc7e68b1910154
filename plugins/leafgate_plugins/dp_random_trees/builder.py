"""Build a forest of random trees with its claim from the options and a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from leafgate.algorithms.routing import route
from leafgate.api import Combine, Ids, InconclusiveError, LargeTable, Node, PolicyError, Release, Schema, Table
from leafgate.kernel.release import Counted
from leafgate_plugins.dp_random_trees.accounting import choose_forest, noise_claim, sampling_claim
from leafgate_plugins.dp_random_trees.leaf_scores import with_statistics
from leafgate_plugins.dp_random_trees.mechanisms import Key, discrete_laplace, sample_counts
from leafgate_plugins.dp_random_trees.options import DpLaplaceTrees, DpRandomTrees, PrivateOptions, RandomTrees
from leafgate_plugins.dp_random_trees.structure import CUTS, draw_balanced_trees, draw_random_trees

Numbers = Callable[[Ids, Key], Ids]
"""From the people of each counter, a leaf and a class, and a key, to what the counters show."""

COMBINE_RULES: dict[str, Combine] = {"sum": "sum", "normalised": "mean_per_tree", "evidence": "boost"}
SELECTION = {"columns": "random"}
MAX_LEAVES = 1_000_000
"""Leaves of a tree."""
STRUCTURES = {"balanced": draw_balanced_trees, "random": draw_random_trees}


def dp_random_trees(options: DpRandomTrees, table: Table | LargeTable, rng: np.random.Generator) -> Release:
    """Trees that each count a sample of their own and show no number below k, with their tight epsilon.

    Raises PolicyError where a domain is not declared or the promise cannot be kept.

    Source: Waseda, Nojima, Wang, Algorithm 3.
    Departure: counters of fewer than k people are shown as 0 and not removed with their leaf, which shows the same. The
    sample of a tree is drawn counter by counter: everybody is in exactly one of them, so each person still has a coin.
    """
    most_rows = most_rows_of_person(table)
    promised = choose_forest(options, most_rows or 1)

    def published_counts(people: Ids, key: Key) -> Ids:
        counts = sample_counts(people, promised.beta, key)
        return np.asarray(np.where(counts >= promised.k, counts, 0))

    trees = _count_trees(options, table, promised.trees, rng, published_counts)
    builder = options.described() | {"trees": promised.trees, "beta": promised.beta}
    claim = sampling_claim(options, promised, most_rows)
    return _release(options, builder, table, trees, "sampled", claim, k=promised.k)


def dp_laplace_trees(options: DpLaplaceTrees, table: Table | LargeTable, rng: np.random.Generator) -> Release:
    """Trees that each count everybody and add noise to every number; less than nothing is shown as 0.

    Raises PolicyError where a domain is not declared.

    Source: Jagannathan, Pillaipakkamnatt, Wright, Algorithm 2.
    Departure: whole noise of the discrete Laplace distribution, exactly drawn; the account composes privacy losses.
    """

    def published_counts(people: Ids, key: Key) -> Ids:
        return np.asarray(np.maximum(people + discrete_laplace(options.scale, len(people), key), 0))

    trees = _count_trees(options, table, options.trees, rng, published_counts)
    claim = noise_claim(options, most_rows_of_person(table))
    return _release(options, options.described(), table, trees, "noisy", claim)


def random_trees(options: RandomTrees, table: Table | LargeTable, rng: np.random.Generator) -> Release:
    """Trees that each count everybody, without any guarantee."""
    trees = _count_trees(options, table, options.trees, rng, lambda people, key: people, careful=False)
    return Release(
        builder=options.described(),
        schema=table.schema,
        trees=tuple(with_statistics(trees, table.schema, scored=options.combine == "evidence")),
        selection=SELECTION,
        combine=COMBINE_RULES[options.combine],
    )


def _count_trees(
    options: PrivateOptions | RandomTrees,
    table: Table | LargeTable,
    trees: int,
    rng: np.random.Generator,
    published_counts: Numbers,
    *,
    careful: bool = True,
) -> list[tuple[Node, Ids]]:
    """Each tree's structure, and what its leaves show of each class: (leaves, classes).

    Random bits depend on the key and on the numbers of people alone, not on the order in which people are counted.
    """
    if careful:
        refuse_open_domains(table.schema)
    refuse_too_many_leaves(table.schema, options.depth, options.structure)
    classes, key = len(table.schema.classes), Key.drawn(rng)
    forest = STRUCTURES[options.structure](table.schema, options.depth, trees, key.for_use("structure").generator())
    return [
        (tree, published_counts(people, key.for_use(f"tree {number}")).reshape(-1, classes))
        for number, (tree, people) in enumerate(_counted(forest, table))
    ]


def _counted(forest: Iterable[Node], table: Table | LargeTable) -> Iterator[tuple[Node, Ids]]:
    """Each tree with the people of its counters; of a large table all trees are counted in one pass over the blocks."""
    if isinstance(table, Table):
        yield from ((tree, _people_of_counters(tree, table)) for tree in forest)
        return
    trees = list(forest)
    totals: list[Ids] | None = None
    for block in table.tables():
        people = [_people_of_counters(tree, block) for tree in trees]
        totals = people if totals is None else [total + more for total, more in zip(totals, people, strict=True)]
    assert totals is not None
    yield from zip(trees, totals, strict=True)


def _people_of_counters(tree: Node, table: Table) -> Ids:
    """The people of each leaf and class, leaf by leaf."""
    classes, routed = len(table.schema.classes), route(tree, table)
    counter = routed.leaf * classes + table.codes(table.schema.target.name)
    return np.bincount(counter, weights=table.weight, minlength=routed.n_leaves * classes).astype(np.int64)


def most_rows_of_person(table: Table | LargeTable) -> int | None:
    """The most rows that the policy lets a person have; None where every row is a person.

    Raises InconclusiveError where a person may have any number of rows of the table.
    """
    persons = table.person_rows
    if persons is None:
        return None
    if persons.rows_at_most is None:
        raise InconclusiveError(
            "a promise of differential privacy is about one row, and a person may have several (the role `person`)",
            place="data.rows_at_most",
            remedy="state the most rows that a person may have, which must not be read off the table",
        )
    if int(persons.rows.sum()) < table.total_weight:
        raise InconclusiveError(
            "some rows do not say whose they are, so that a person may have more rows than `data.rows_at_most`",
            place="data.columns",
            remedy="leave these rows out of the table",
        )
    return persons.rows_at_most


def refuse_too_many_leaves(schema: Schema, depth: int, structure: str) -> None:
    """PolicyError where a tree of this depth could have more than MAX_LEAVES leaves."""
    ways = [CUTS + 1 if c.numeric else len(c.domain) for c in schema.features]
    if structure == "random":
        ways = [len(c.domain) for c in schema.features if not c.numeric] + [2] * depth * any(
            c.numeric for c in schema.features
        )
    if math.prod(sorted(ways, reverse=True)[:depth]) > MAX_LEAVES:
        raise PolicyError(
            f"trees of this depth can have more than {MAX_LEAVES:,} leaves", place="build.depth", remedy="ask less deep"
        )


def refuse_open_domains(schema: Schema) -> None:
    """PolicyError for a column whose domain was taken from the data, because it discloses the data."""
    for column in (*schema.features, schema.target):
        if not column.declared:
            key = "bounds" if column.numeric else "values"
            raise PolicyError(
                "a promise of differential privacy needs a domain that is declared, not taken from the data",
                place=f"data.columns.{column.name}",
                remedy=f"declare its `{key}`",
            )


def _release(
    options: PrivateOptions,
    builder: dict[str, Any],
    table: Table | LargeTable,
    trees: Sequence[tuple[Node, Ids]],
    counted: Counted,
    claim: dict[str, Any],
    *,
    k: int = 1,
) -> Release:
    return Release(
        builder=builder,
        schema=table.schema,
        trees=tuple(with_statistics(trees, table.schema, scored=options.combine == "evidence", k=k)),
        count_semantics=counted,
        selection=SELECTION,
        guarantee={"epsilon": claim},
        combine=COMBINE_RULES[options.combine],
    )
