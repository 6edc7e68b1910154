"""Accounting for a release anew: from what it shows and says of itself, and from the policy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from leafgate.errors import InconclusiveError
from leafgate.release import Release
from leafgate.tree import leaves
from leafgate_dp_random_trees import DpLaplaceTrees, DpRandomTrees
from leafgate_dp_random_trees.account import Forest
from leafgate_dp_random_trees.balanced import undealt
from leafgate_dp_random_trees.follows import strange_facts
from leafgate_dp_random_trees.forest import SELECTION
from leafgate_dp_random_trees.promise import account, claimed, noise_epsilon
from leafgate_dp_random_trees.structure import undrawn

if TYPE_CHECKING:
    from leafgate import Case
    from leafgate_dp_random_trees import DifferentialPrivacy

BUILDERS: dict[object, type[DpRandomTrees | DpLaplaceTrees]] = {
    "dp_random_trees": DpRandomTrees,
    "dp_laplace_trees": DpLaplaceTrees,
}
COUNTED = {"dp_random_trees": "sampled", "dp_laplace_trees": "noisy"}


def accounted(metric: DifferentialPrivacy, case: Case) -> float:
    """The release's epsilon at the metric's delta, rounded up to six decimals; infinite where a condition is broken.

    Raises InconclusiveError where a condition cannot be seen from the release and the policy.
    """
    release, options = case.release, _options(case.release)
    if options.rehearsal:
        raise InconclusiveError(
            "a rehearsal repeats by a seed that others may know", place="build.rehearsal", remedy="leave it out"
        )
    if release.publish.leaves != "counts" or release.selection is None:
        raise InconclusiveError(
            "what the account rests on cannot be seen in this release",
            place="publish",
            remedy="publish {leaves: counts, measure: true}: it costs nothing",
        )
    epsilon = claimed(_epsilon(metric, options, release))
    return math.inf if any(broken(case, options)) else epsilon


def _options(release: Release) -> DpRandomTrees | DpLaplaceTrees:
    """The builder's options as the release tells them; InconclusiveError where it does not, or tells others besides."""
    builder = BUILDERS.get(release.builder.get("use"))
    if builder is None:
        raise InconclusiveError("no account is known for this builder's releases")
    try:
        told = builder.model_validate(dict(release.builder))
    except ValidationError:
        raise InconclusiveError("the release does not say, in the builder's own words, how it was made") from None
    silent = set(builder.model_fields) - set(release.builder)
    if silent or (isinstance(told, DpRandomTrees) and told.beta is None):
        raise InconclusiveError("the release does not say all of how it was made")
    return told


def evidence(metric: DifferentialPrivacy, case: Case) -> Mapping[str, Any]:
    """The conditions that do not hold; where all do and trees are of samples, the printed theorem and a lower bound."""
    options = _options(case.release)
    problems = list(broken(case, options))
    if problems:
        return {"broken": problems}
    if isinstance(options, DpLaplaceTrees):
        return {}
    forest = _forest(options, case.release)
    theorem = account(forest, metric.delta, "theorem", metric.neighbours).epsilon
    tight = account(forest, metric.delta, "tight", metric.neighbours)
    told = {"theorem": claimed(theorem)} if math.isfinite(theorem) else {}
    return told | {"at_least": tight.epsilon_lower}


def broken(case: Case, options: DpRandomTrees | DpLaplaceTrees) -> Iterator[str]:
    """The conditions of the account that the release, or the policy, breaks."""
    release, use = case.release, options.use
    if dict(release.selection or {}) != SELECTION:
        yield "the release tells more of how it was made than the account allows"
    if release.records is not None or release.alternatives:
        yield "the release shows more than its trees"
    if release.counted != COUNTED[use]:
        yield f"the leaves do not say that what they show is {COUNTED[use]}"
    if set(release.guarantee) != {"epsilon"}:
        yield "the release claims more than epsilon"
    for column in (*case.table.schema.features, case.table.schema.target):
        if not column.declared:
            yield f"the domain of {column.name!r} was taken from the data"
    drawn = undealt if options.structure == "balanced" else undrawn
    yield from drawn(release.trees, case.table.schema, options.depth)
    k = options.k if isinstance(options, DpRandomTrees) else 1
    yield from _strange_numbers(release, k)
    yield from strange_facts(release, k)


def _strange_numbers(release: Release, k: int) -> Iterator[str]:
    shown = [n for tree in release.trees for leaf in leaves(tree) for n in (leaf.counts or {}).values() if n]
    if any(n != int(n) for n in shown):
        yield "a leaf shows a number that is not whole"
    if any(0 < n < k for n in shown):
        yield "a leaf shows a number below k"


def _epsilon(metric: DifferentialPrivacy, options: DpRandomTrees | DpLaplaceTrees, release: Release) -> float:
    """By the trees there are, not by those it says there are."""
    if isinstance(options, DpRandomTrees):
        return account(_forest(options, release), metric.delta, "tight", metric.neighbours).epsilon
    return noise_epsilon(len(release.trees), options.scale, metric.delta, metric.neighbours)


def _forest(options: DpRandomTrees, release: Release) -> Forest:
    assert options.beta is not None
    return Forest(options.k, options.beta, len(release.trees))
