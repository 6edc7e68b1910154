"""Accounting for a release anew: from what it shows and says of itself, and from the policy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from leafgate.errors import InconclusiveError
from leafgate.release import Release
from leafgate.report import Private
from leafgate_dp_random_trees import DpLaplaceTrees, DpRandomTrees
from leafgate_dp_random_trees.conditions import Options, broken, false_counts_refused, forest_of, log_evidence
from leafgate_dp_random_trees.promise import account, claimed, noise_epsilon
from leafgate_dp_random_trees.randomness import LEVEL, counters_of

if TYPE_CHECKING:
    from leafgate import Case
    from leafgate_dp_random_trees import DifferentialPrivacy

BUILDERS: dict[object, type[Options]] = {
    "dp_random_trees": DpRandomTrees,
    "dp_laplace_trees": DpLaplaceTrees,
}


def accounted(metric: DifferentialPrivacy, case: Case) -> float:
    """The release's epsilon at the metric's delta, rounded up to six decimals; infinite where a condition is broken.

    Raises InconclusiveError where a condition cannot be seen from the release and the policy, and where the release was
    not built in this audit and shows too little to tell whether its numbers were drawn at all.
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
    epsilon = _epsilon(metric, options, release)
    if math.isinf(epsilon) or any(broken(case, options)):
        return math.inf
    false_counts_refused(case, options)
    return claimed(epsilon)


def _options(release: Release) -> Options:
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
    """The conditions that do not hold; where all do, what the test of the numbers can see, and at which level.

    Where trees are of samples also the printed theorem and a lower bound. How far the numbers are from what is claimed
    is for auditors: it is worked out from the table.
    """
    options = _options(case.release)
    problems = list(broken(case, options))
    if math.isinf(_epsilon(metric, options, case.release)):
        problems.append("no epsilon is enough at this delta")
    if problems:
        return {"broken": problems}
    refused = [name for name, caught in false_counts_refused(case, options).items() if caught]
    against = log_evidence(counters_of(case.release, case.table), options) / math.log(10)
    drawn = {"honest_refused_at_most": LEVEL, "would_refuse": refused, "log10_evidence": Private(round(against, 3))}
    if isinstance(options, DpLaplaceTrees):
        return drawn
    forest = forest_of(options, case.release)
    theorem = account(forest, metric.delta, "theorem", metric.neighbours).epsilon
    tight = account(forest, metric.delta, "tight", metric.neighbours)
    told = {"theorem": claimed(theorem)} if math.isfinite(theorem) else {}
    return told | {"at_least": tight.epsilon_lower} | drawn


def _epsilon(metric: DifferentialPrivacy, options: Options, release: Release) -> float:
    """By the trees there are, not by those it says there are."""
    if isinstance(options, DpRandomTrees):
        forest = forest_of(options, release)
        few = metric.delta == 0 or metric.delta < forest.floor
        return math.inf if few else account(forest, metric.delta, "tight", metric.neighbours).epsilon
    return noise_epsilon(len(release.trees), options.scale, metric.delta, metric.neighbours)
