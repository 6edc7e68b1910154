"""What the account of a release rests on, as far as the release and the policy show it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from leafgate import Case
from leafgate.release import Release
from leafgate.routing import NOWHERE, route
from leafgate.table import Table
from leafgate.tree import Node, leaves
from leafgate_dp_random_trees import DpLaplaceTrees, DpRandomTrees
from leafgate_dp_random_trees.account import Forest
from leafgate_dp_random_trees.balanced import undealt
from leafgate_dp_random_trees.follows import strange_facts
from leafgate_dp_random_trees.forest import COMBINES, SELECTION
from leafgate_dp_random_trees.promise import of_noise, of_samples
from leafgate_dp_random_trees.structure import undrawn

COUNTED = {"dp_random_trees": "sampled", "dp_laplace_trees": "noisy"}
Options = DpRandomTrees | DpLaplaceTrees


def broken(case: Case, options: Options) -> Iterator[str]:
    """The conditions of the account that the release, or the policy, breaks."""
    yield from _told(case.release, options)
    yield from _domains(case)
    yield from (undealt if options.structure == "balanced" else undrawn)(
        case.release.trees, case.table.schema, options.depth
    )
    yield from _numbers(case, options)


def _told(release: Release, options: Options) -> Iterator[str]:
    """What the release says of itself."""
    if dict(release.selection or {}) != SELECTION:
        yield "the release tells more of how it was made than the account allows"
    if release.records is not None or release.alternatives:
        yield "the release shows more than its trees"
    if release.counted != COUNTED[options.use]:
        yield f"the leaves do not say that what they show is {COUNTED[options.use]}"
    if release.guarantee and dict(release.guarantee) != {"epsilon": _claim(options, release)}:
        yield "the release claims something else than its builder does"
    if release.combine != COMBINES[options.combine] or release.model != "trees":
        yield "the trees are put together in another way than the builder's"
    if options.trees != len(release.trees):
        yield "the release has more or fewer trees than it says"


def _claim(options: Options, release: Release) -> dict[str, Any] | None:
    """What the builder claims with these options; None where no epsilon is enough."""
    if isinstance(options, DpLaplaceTrees):
        return of_noise(options)
    forest = forest_of(options, release)
    return of_samples(options, forest) if forest.floor <= options.delta else None


def forest_of(options: DpRandomTrees, release: Release) -> Forest:
    """By the trees there are, not by those it says there are."""
    assert options.beta is not None
    return Forest(options.k, options.beta, len(release.trees))


def _domains(case: Case) -> Iterator[str]:
    for column in (*case.table.schema.features, case.table.schema.target):
        if not column.declared:
            yield f"the domain of {column.name!r} was taken from the data"
    if case.release.schema.described() != case.table.without_key.schema.described():
        yield "the release tells other domains than the policy declares"


def _numbers(case: Case, options: Options) -> Iterator[str]:
    """What the leaves show."""
    release, k = case.release, options.k if isinstance(options, DpRandomTrees) else 1
    shown = [n for tree in release.trees for leaf in leaves(tree) for n in (leaf.counts or {}).values() if n]
    if any(not isinstance(n, int) for n in shown):
        yield "a leaf shows a number that is not whole"
    if any(0 < n < k for n in shown):
        yield "a leaf shows a number below k"
    if isinstance(options, DpRandomTrees) and any(_more_than_there_are(tree, case.table) for tree in release.trees):
        yield "a leaf shows more people than a sample of this table could have there"
    yield from strange_facts(release, k)


def _more_than_there_are(tree: Node, table: Table) -> bool:
    routed, classes = route(tree, table), table.schema.classes
    counter = routed.leaf * len(classes) + table.codes(table.schema.target.name)
    somewhere = routed.leaf != NOWHERE
    size = len(routed.leaves) * len(classes)
    true = np.bincount(counter[somewhere], weights=table.weight[somewhere], minlength=size)
    shown = [(leaf.counts or {}).get(name, 0) for leaf in routed.leaves for name in classes]
    return any(mine > there for mine, there in zip(shown, true.tolist(), strict=True))
