"""Check of the claim of a release: post-processing, metadata, domains, counts, and the epsilon accounted anew."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any
from weakref import ref

import numpy as np
from pydantic import ValidationError

from leafgate.api import (
    AuditorOnly,
    InconclusiveError,
    Leaf,
    PolicyError,
    Release,
    Score,
    ScoringContext,
    TreeBuilder,
    leaves,
)
from leafgate.kernel.components import Neighbours
from leafgate.kernel.evidence import OWN_ACCOUNT
from leafgate_plugins.dp_random_trees import accounting, randomness
from leafgate_plugins.dp_random_trees.builder import COMBINE_RULES, SELECTION, most_rows_of_person
from leafgate_plugins.dp_random_trees.leaf_scores import DECIMALS, summed_scores
from leafgate_plugins.dp_random_trees.options import BUILDERS, DpLaplaceTrees, DpRandomTrees
from leafgate_plugins.dp_random_trees.structure import balanced_structure_violations, random_structure_violations


def postprocessing_violations(release: Release, k: int) -> Iterator[str]:
    """Parts of the release that do not follow from its counts alone: labels, values and scores, each in words."""
    every = [leaf for tree in release.trees for leaf in leaves(tree)]
    if any(leaf.label != _label(leaf, release) for leaf in every):
        yield "a label does not follow from the numbers shown"
    if any(leaf.value is not None for leaf in every):
        yield "a leaf shows a value beside its numbers"
    if any(leaf.scores is not None for leaf in every) and not _scores_are_postprocessing(release, k):
        yield "the scores do not follow from the numbers shown"


def _label(leaf: Leaf, release: Release) -> str | None:
    numbers = [(leaf.counts or {}).get(name, 0) for name in release.classes]
    return release.classes[int(np.argmax(numbers))] if any(numbers) else None


def _scores_are_postprocessing(release: Release, k: int) -> bool:
    for checked, of_k, result in _LAST_RESULT:
        if checked() is release and of_k == k:
            return result
    result = _scores_match(release, k)
    _LAST_RESULT[:] = [(ref(release), k, result)]
    return result


_LAST_RESULT: list[tuple[ref[Release], int, bool]] = []
"""The result for the release object that was checked last: several metrics and claims check the same one, and a check
takes seconds."""


def _scores_match(release: Release, k: int) -> bool:
    expected = summed_scores(release.trees, release.schema, k)
    for tree, scores in zip(release.trees, expected, strict=True):
        shown = [[(leaf.scores or {}).get(name, np.nan) for name in release.classes] for leaf in leaves(tree)]
        if not np.allclose(shown, scores, rtol=0, atol=1.1 * 10**-DECIMALS) or not np.allclose(
            shown, np.round(shown, DECIMALS), rtol=0, atol=1e-12
        ):
            return False
    return True


COUNT_SEMANTICS = {"dp_random_trees": "sampled", "dp_laplace_trees": "noisy"}
Options = DpRandomTrees | DpLaplaceTrees


def violated_conditions(case: ScoringContext, options: Options) -> Iterator[str]:
    """The conditions of the account that the release, or the policy, breaks."""
    yield from _metadata_violations(case.release, options, most_rows_of_person(case.table))
    yield from _domain_violations(case)
    yield from (balanced_structure_violations if options.structure == "balanced" else random_structure_violations)(
        case.release.trees, case.table.schema, options.depth
    )
    yield from _count_violations(case, options)


def _metadata_violations(release: Release, options: Options, most_rows: int | None) -> Iterator[str]:
    """What the release states of itself."""
    if dict(release.selection or {}) != SELECTION:
        yield "the release publishes more of how it was made than the account allows"
    if release.records is not None or release.alternatives:
        yield "the release shows more than its trees"
    if release.count_semantics != COUNT_SEMANTICS[options.use]:
        yield f"the leaves do not say that what they show is {COUNT_SEMANTICS[options.use]}"
    if release.guarantee and dict(release.guarantee) != {"epsilon": _expected_claim(options, release, most_rows)}:
        yield "the release claims something else than its builder does"
    if release.combine != COMBINE_RULES[options.combine] or release.model != "trees":
        yield "the trees are put together in another way than the builder's"
    if options.trees != len(release.trees):
        yield "the release has more or fewer trees than it says"


def _expected_claim(options: Options, release: Release, most_rows: int | None) -> dict[str, Any] | None:
    """What the builder claims with these options; None where no epsilon is enough."""
    if isinstance(options, DpLaplaceTrees):
        return accounting.noise_claim(options, most_rows)
    forest = released_forest(options, release)
    try:
        return accounting.sampling_claim(options, forest, most_rows)
    except PolicyError:
        return None


def released_forest(options: DpRandomTrees, release: Release) -> accounting.Forest:
    """By the trees there are, not by those it says there are."""
    assert options.beta is not None
    return accounting.Forest(options.k, options.beta, len(release.trees))


def _domain_violations(case: ScoringContext) -> Iterator[str]:
    for column in (*case.table.schema.features, case.table.schema.target):
        if not column.declared:
            yield f"the domain of {column.name!r} was taken from the data"
    if case.release.schema.described() != case.table.without_key.schema.described():
        yield "the release publishes other domains than the policy declares"


def _count_violations(case: ScoringContext, options: Options) -> Iterator[str]:
    """What the leaves show."""
    release, k = case.release, options.k if isinstance(options, DpRandomTrees) else 1
    shown = [n for tree in release.trees for leaf in leaves(tree) for n in (leaf.counts or {}).values() if n]
    whole = all(isinstance(n, int) for n in shown)
    if not whole:
        yield "a leaf shows a number that is not whole"
    if any(0 < n < k for n in shown):
        yield "a leaf shows a number below k"
    if whole and not any(n < 0 for n in shown):
        yield from _sampling_violations(randomness.counters_of(release, case.table), options)
    yield from postprocessing_violations(release, k)


def _sampling_violations(counters: randomness.Counters, options: Options) -> Iterator[str]:
    """Why the numbers cannot be drawn from this table's people as the release claims, or could so by a miracle only."""
    if isinstance(options, DpRandomTrees) and (counters.published > counters.people).any():
        yield "a leaf shows more people than a sample of this table could have there"
    elif log_evidence(counters, options) >= randomness.LOG_LIMIT:
        kind = COUNT_SEMANTICS[options.use]
        yield f"the numbers are not drawn from this table as the release claims: they are not {kind} so"
    elif isinstance(options, DpRandomTrees) and adjusted_p_value(counters, options) <= randomness.LEVEL_OF_COUNTERS:
        yield "a number is not drawn from this table as the release claims: it is too close to everybody who is there"


def log_evidence(counters: randomness.Counters, options: Options) -> float:
    """The logarithm of the e-value against the way in which the release states that its numbers were drawn."""
    if isinstance(options, DpLaplaceTrees):
        return randomness.log_evidence_against_noise(counters, options.scale)
    assert options.beta is not None
    return randomness.log_evidence_against_sampling(counters, options.k, options.beta)


def adjusted_p_value(counters: randomness.Counters, options: DpRandomTrees) -> float:
    """The smallest p-value of a single counter, adjusted for the number of counters."""
    assert options.beta is not None
    return randomness.adjusted_p_value_of_counters(counters, options.k, options.beta)


def false_counts_detected(case: ScoringContext, options: Options) -> Mapping[str, bool]:
    """For each kind of counts that were never drawn: would a test refuse them in the place of this release's?

    Raises InconclusiveError where one would not be refused, and this audit did not run the builder: then nothing shows
    that the numbers were drawn.
    """
    counters = randomness.counters_of(case.release, case.table)
    if isinstance(options, DpLaplaceTrees):
        refused = randomness.would_refuse_without_noise(counters, options.scale)
    else:
        assert options.beta is not None
        refused = randomness.would_refuse_false_samples(counters, options.k, options.beta)
    if case.builder is None and not all(refused.values()):
        missed = " or ".join(name for name, caught in refused.items() if not caught)
        raise InconclusiveError(
            f"the release shows too little to tell numbers that are {COUNT_SEMANTICS[options.use]} from {missed}",
            place="build",
            remedy="let the audit run the builder, and publish what it writes",
        )
    return refused


def score(case: ScoringContext, delta: float, neighbours: Neighbours) -> Score:
    """The release's epsilon at the metric's delta, rounded up to six decimals; infinite where a condition is broken.

    The evidence has the conditions that do not hold; where all do, what the test of the numbers can see, and at which
    level. Where trees are of samples also the printed theorem and a lower bound. How far the numbers are from what is
    claimed is for auditors: it is worked out from the table.

    Raises InconclusiveError where a condition cannot be seen from the release and the policy, and where the release was
    not built in this audit and shows too little to decide whether its numbers were drawn at all. Of another builder's
    release as `_by_its_own_account`.
    """
    if case.release.builder.get("use") not in BUILDERS:
        return _by_its_own_account(case, delta, neighbours)
    release, options = case.release, options_of(case.release)
    if case.builder is not None and not options.rehearsal:
        _run_builder(case)
    if options.rehearsal:
        raise InconclusiveError(
            "it is a rehearsal: others may know its seed, or its domains or parameters were taken from the data",
            place="build.rehearsal",
            remedy="leave it out",
        )
    if release.publish.leaves != "counts" or release.selection is None:
        raise InconclusiveError(
            "what the account rests on cannot be seen in this release",
            place="publish",
            remedy="publish {leaves: counts, measure: true}: it costs nothing",
        )
    epsilon = epsilon_of(options, release, delta, neighbours, most_rows_of_person(case.table) or 1)
    problems = list(violated_conditions(case, options))
    if math.isinf(epsilon):
        problems.append("no epsilon is enough at this delta")
    if problems:
        return Score(math.inf, evidence={"broken": problems})
    return Score(accounting.round_up(epsilon), evidence=_evidence(case, options, delta, neighbours))


def _by_its_own_account(case: ScoringContext, delta: float, neighbours: Neighbours) -> Score:
    """The epsilon by the account of a builder that is not leafgate's; infinite where a domain was taken from the data.

    It is no smaller than what the release claims, because that is what the attack `distinguish` tries to refute.

    Raises InconclusiveError where this audit did not run the builder, its random numbers follow from a seed, weights
    count no people, or it has no account.
    """
    builder = _run_builder(case)
    if "epsilon" not in case.release.guarantee:
        raise InconclusiveError("the release claims no epsilon, so that its builder has nothing to account for")
    if problems := list(_domain_violations(case)):
        return Score(math.inf, evidence={"broken": problems})
    if case.table.weighted:
        raise InconclusiveError(
            "the policy's weights count no people, and one record may move a number by its weight",
            remedy="leave the column with the role `weight` out",
        )
    if type(builder).account is TreeBuilder.account:
        builder.account(case.release, delta, neighbours)  # which states what is missing
    try:
        epsilon = builder.account(case.release, delta, neighbours)
        valid = type(epsilon) in (int, float) and epsilon >= 0
    except (Exception, SystemExit) as error:  # whose text may hold a cell
        message = f"the account of the builder {builder.use!r} fails with {type(error).__name__}"
        raise InconclusiveError(message, place="build") from error
    if not valid:
        raise InconclusiveError(f"the account of the builder {builder.use!r} is no number from 0 up", place="build")
    if epsilon > MAX_ACCOUNT:
        return Score(math.inf, evidence={"broken": ["no epsilon is enough by the builder's own account"]})
    return Score(accounting.round_up(max(float(epsilon), _claimed(case.release))), evidence={OWN_ACCOUNT: builder.use})


def _claimed(release: Release) -> float:
    """The epsilon that the release claims, which `distinguish` tries to refute; infinite where it is no number."""
    claim = release.guarantee["epsilon"]
    epsilon = claim.get("at_most") if isinstance(claim, Mapping) else claim
    return float(epsilon) if isinstance(epsilon, int | float) else math.inf


MAX_ACCOUNT = 1e6
"""A larger epsilon promises nothing."""


def _run_builder(case: ScoringContext) -> TreeBuilder:
    """The builder that this audit ran, whose random numbers nobody can know.

    Raises InconclusiveError where this audit ran none, another one than the release names, or one that draws by a seed.
    """
    builder = case.builder
    if builder is None:
        raise InconclusiveError(
            "nothing shows by which mechanism this release was made, for this audit did not run its builder",
            place="build",
            remedy="let the audit run the builder, and publish what it writes",
        )
    if builder.use != case.release.builder.get("use"):
        raise InconclusiveError("the release names another builder than the one that made it", place="build")
    if not builder.one_shot:
        raise InconclusiveError(
            "the builder's random numbers follow from a seed that others may know",
            place="build",
            remedy="leave a `rehearsal` out; a builder of private releases draws from the operating system "
            '(`randomness = "system"`)',
        )
    return builder


def options_of(release: Release) -> Options:
    """The builder's options as the release states them; InconclusiveError where it states none, or unknown ones."""
    builder = BUILDERS[release.builder["use"]]
    try:
        result = builder.model_validate(dict(release.builder))
    except ValidationError:
        raise InconclusiveError("the release does not say, in the builder's own words, how it was made") from None
    silent = set(builder.model_fields) - set(release.builder)
    if silent or (isinstance(result, DpRandomTrees) and result.beta is None):
        raise InconclusiveError("the release does not say all of how it was made")
    return result


def _evidence(case: ScoringContext, options: Options, delta: float, neighbours: Neighbours) -> dict[str, Any]:
    """The evidence where every condition holds."""
    refused = [name for name, caught in false_counts_detected(case, options).items() if caught]
    counters = randomness.counters_of(case.release, case.table)
    against = log_evidence(counters, options) / math.log(10)
    drawn = {"would_refuse": refused, "log10_evidence": AuditorOnly(round(against, 3))}
    if isinstance(options, DpLaplaceTrees):
        return {"honest_refused_at_most": randomness.LEVEL_OF_WHOLE} | drawn
    forest = released_forest(options, case.release)
    drawn = {"honest_refused_at_most": randomness.LEVEL} | drawn
    drawn["adjusted_p_value"] = AuditorOnly(round(adjusted_p_value(counters, options), 6))
    drawn["counters_tested"] = AuditorOnly(randomness.count_tests(counters.people, options.k, forest.beta))
    if most_rows_of_person(case.table) is not None:
        return drawn  # what follows is of tables that differ by one row
    theorem = accounting.account(forest, delta, "theorem", neighbours).epsilon
    tight = accounting.account(forest, delta, "tight", neighbours)
    fields = {"theorem": accounting.round_up(theorem)} if math.isfinite(theorem) else {}
    return fields | {"at_least": tight.epsilon_lower} | drawn


def epsilon_of(options: Options, release: Release, delta: float, neighbours: Neighbours, most_rows: int = 1) -> float:
    """By the trees there are, not by those it says there are; for persons with up to `most_rows` rows."""
    if isinstance(options, DpRandomTrees):
        forest = released_forest(options, release)
        few = delta == 0 or delta < forest.floor
        return math.inf if few else accounting.sampling_epsilon(forest, delta, neighbours, most_rows)
    return accounting.noise_epsilon(len(release.trees), options.scale, delta, neighbours, most_rows)
