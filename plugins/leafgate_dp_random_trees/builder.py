"""Build a forest of random trees with its claim from the options and a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from leafgate.algorithms.routing import route
from leafgate.api import Combine, Counted, Ids, PolicyError, Release, Table
from leafgate_dp_random_trees.accounting import choose_forest, noise_claim, sampling_claim
from leafgate_dp_random_trees.leaf_scores import with_statistics
from leafgate_dp_random_trees.mechanisms import Key, discrete_laplace, sample_counts
from leafgate_dp_random_trees.structure import CUTS, draw_balanced_trees, draw_random_trees

if TYPE_CHECKING:
    from leafgate.api import Node, Schema
    from leafgate_dp_random_trees.options import (
        DpLaplaceTreesOptions,
        DpRandomTreesOptions,
        PrivateOptions,
        RandomTreesOptions,
    )

Numbers = Callable[[Ids, Ids, int, Key], Ids]
"""From the counter each record is in, its people, how many counters there are, and a key, to what these show."""

COMBINE_RULES: dict[str, Combine] = {"sum": "sum", "normalised": "mean_per_tree", "evidence": "boost"}
SELECTION = {"columns": "random"}
MAX_LEAVES = 1_000_000
"""Leaves of a tree."""
STRUCTURES = {"balanced": draw_balanced_trees, "random": draw_random_trees}


def dp_random_trees(options: DpRandomTreesOptions, table: Table, rng: np.random.Generator) -> Release:
    """Trees that each count a sample of their own and show no number below k, with their tight epsilon.

    Raises PolicyError where a domain is not declared or the promise cannot be kept.

    Source: Waseda, Nojima, Wang, Algorithm 3.
    Departure: counters of fewer than k people are shown as 0 and not removed with their leaf, which shows the same.
    """
    promised = choose_forest(options)

    def published_counts(counter: Ids, weight: Ids, counters: int, key: Key) -> Ids:
        counts = _counter_totals(counter, sample_counts(weight, promised.beta, key), counters)
        return np.asarray(np.where(counts >= promised.k, counts, 0))

    trees = _count_trees(options, table, promised.trees, rng, published_counts)
    builder = options.described() | {"trees": promised.trees, "beta": promised.beta}
    claim = sampling_claim(options, promised)
    return _release(options, builder, table, trees, "sampled", claim, k=promised.k)


def dp_laplace_trees(options: DpLaplaceTreesOptions, table: Table, rng: np.random.Generator) -> Release:
    """Trees that each count everybody and add noise to every number; less than nothing is shown as 0.

    Raises PolicyError where a domain is not declared.

    Source: Jagannathan, Pillaipakkamnatt, Wright, Algorithm 2.
    Departure: whole noise of the discrete Laplace distribution, exactly drawn; the account composes privacy losses.
    """

    def published_counts(counter: Ids, weight: Ids, counters: int, key: Key) -> Ids:
        noise = discrete_laplace(options.scale, counters, key)
        return np.asarray(np.maximum(_counter_totals(counter, weight, counters) + noise, 0))

    trees = _count_trees(options, table, options.trees, rng, published_counts)
    return _release(options, options.described(), table, trees, "noisy", noise_claim(options))


def random_trees(options: RandomTreesOptions, table: Table, rng: np.random.Generator) -> Release:
    """Trees that each count everybody, without any guarantee."""

    def published_counts(counter: Ids, weight: Ids, counters: int, key: Key) -> Ids:
        return _counter_totals(counter, weight, counters)

    trees = _count_trees(options, table, options.trees, rng, published_counts, careful=False)
    return Release(
        builder=options.described(),
        schema=table.schema,
        trees=tuple(with_statistics(trees, table.schema, scored=options.combine == "evidence")),
        selection=SELECTION,
        combine=COMBINE_RULES[options.combine],
    )


def _counter_totals(counter: Ids, people: Ids, counters: int) -> Ids:
    return np.bincount(counter, weights=people, minlength=counters).astype(np.int64)


def _count_trees(
    options: PrivateOptions | RandomTreesOptions,
    table: Table,
    trees: int,
    rng: np.random.Generator,
    published_counts: Numbers,
    *,
    careful: bool = True,
) -> list[tuple[Node, Ids]]:
    """Each tree's structure, and what its leaves show of each class: (leaves, classes)."""
    if careful:
        refuse_open_domains(table.schema)
    refuse_too_many_leaves(table.schema, options.depth, options.structure)
    classes = len(table.schema.classes)
    codes = table.codes(table.schema.target.name)
    found = []
    key = Key.drawn(rng)
    forest = STRUCTURES[options.structure](table.schema, options.depth, trees, key.for_use("structure").generator())
    for number, tree in enumerate(forest):
        routed = route(tree, table)
        counters = len(routed.leaves) * classes
        numbers = published_counts(routed.leaf * classes + codes, table.weight, counters, key.for_use(f"tree {number}"))
        found.append((tree, numbers.reshape(-1, classes)))
    return found


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
    table: Table,
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
