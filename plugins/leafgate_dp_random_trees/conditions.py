"""What the account of a release rests on, as far as the release and the policy show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leafgate import Case
from leafgate.errors import InconclusiveError, PolicyError
from leafgate.release import Release
from leafgate.tree import leaves
from leafgate_dp_random_trees import DpLaplaceTrees, DpRandomTrees
from leafgate_dp_random_trees.account import Forest
from leafgate_dp_random_trees.balanced import undealt
from leafgate_dp_random_trees.follows import strange_facts
from leafgate_dp_random_trees.forest import COMBINES, SELECTION
from leafgate_dp_random_trees.promise import of_noise, of_samples
from leafgate_dp_random_trees.randomness import (
    LOG_LIMIT,
    Counters,
    counters_of,
    log_evidence_against_noise,
    log_evidence_against_sampling,
    would_refuse_false_samples,
    would_refuse_without_noise,
)
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
    try:
        return of_samples(options, forest)
    except PolicyError:
        return None


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
    whole = all(isinstance(n, int) for n in shown)
    if not whole:
        yield "a leaf shows a number that is not whole"
    if any(0 < n < k for n in shown):
        yield "a leaf shows a number below k"
    if whole and not any(n < 0 for n in shown):
        yield from _refused(counters_of(release, case.table), options)
    yield from strange_facts(release, k)


def _refused(counters: Counters, options: Options) -> Iterator[str]:
    """Why the numbers cannot be drawn from this table's people as the release claims, or could so by a miracle only."""
    if isinstance(options, DpRandomTrees) and (counters.shown > counters.people).any():
        yield "a leaf shows more people than a sample of this table could have there"
    elif log_evidence(counters, options) >= LOG_LIMIT:
        yield f"the numbers are not drawn from this table as the release claims: they are not {COUNTED[options.use]} so"


def log_evidence(counters: Counters, options: Options) -> float:
    """The logarithm of the e-value against the way in which the release says that its numbers were drawn."""
    if isinstance(options, DpLaplaceTrees):
        return log_evidence_against_noise(counters, options.scale)
    assert options.beta is not None
    return log_evidence_against_sampling(counters, options.k, options.beta)


def false_counts_refused(case: Case, options: Options) -> Mapping[str, bool]:
    """For each kind of counts that were never drawn: would the test refuse them in the place of this release's?

    Raises InconclusiveError where it would not, and this audit did not run the builder: then nothing shows that the
    numbers were drawn.
    """
    counters = counters_of(case.release, case.table)
    if isinstance(options, DpLaplaceTrees):
        refused = would_refuse_without_noise(counters, options.scale)
    else:
        assert options.beta is not None
        refused = would_refuse_false_samples(counters, options.k, options.beta)
    if not case.built and not all(refused.values()):
        missed = " or ".join(name for name, caught in refused.items() if not caught)
        raise InconclusiveError(
            f"the release shows too little to tell numbers that are {COUNTED[options.use]} from {missed}",
            place="build",
            remedy="let the audit run the builder, and publish what it writes",
        )
    return refused
