"""The epsilon of several releases of the same people together, by basic composition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from leafgate.api import InconclusiveError, Score, ScoringContext
from leafgate.kernel.components import Neighbours
from leafgate_plugins.dp_random_trees import claim_check

OWN = "this release"
NO_CLAIM = "it claims no differential privacy, so no epsilon is enough"
DEFAULT_DELTA = 1e-6
"""Where a claim states nothing of delta."""
DECIMALS = 6
"""Every epsilon is rounded up to so many decimals, so their sum has no more."""
WITHOUT_CLAIM = (
    "No total covers what {} discloses, because it claims no differential privacy: publish no release of these people "
    "without a claim."
)
TOO_MUCH = "Publish fewer releases of these people, or each with a smaller epsilon."
UNVERIFIED = (
    "Name every release under `releases` as leafgate wrote it (`publish: {leaves: counts, measure: true}`), and in "
    "`data` the table that it was learned from. If one shows too few numbers for that, publish nothing more beside it."
)


def total_score(case: ScoringContext, delta: float, neighbours: Neighbours) -> Score:
    """The sum of the epsilons of this release and of those that the policy names, at deltas that add up to `delta`.

    Each release is accounted anew for `neighbours`, whatever relation it claims, so epsilons of different relations are
    never added. The sum is infinite where a release claims nothing or breaks its account. Where the claim of a release
    cannot be verified, the sum is that of the others, and insufficient to keep a limit.

    Source: Dwork, Roth, The Algorithmic Foundations of Differential Privacy, 2014, Theorem 3.16; where later mechanisms
        are chosen by earlier releases, Theorem B.1. doi:10.1561/0400000042
    Departure: there all mechanisms read one table. Here each reads the people of its own day; whoever is added, removed
        or changed is at most one person in each of the tables, so the theorem holds for the people of all of them.
    """
    others = [
        (each.label, replace(case, release=each.release, table=each.table, builder=None))
        for each in case.other_releases
    ]
    releases = [(OWN, case), *others]
    deltas = divide_delta([_claimed_delta(each.release.guarantee.get("epsilon")) for _, each in releases], delta)
    claims: list[dict[str, Any]] = []
    broken: list[str] = []
    unverified: list[str] = []
    epsilons: list[float] = []
    for (label, each), part in zip(releases, deltas, strict=True):
        claim = {"release": label, "claim": each.release.guarantee.get("epsilon"), "delta": part, "epsilon": None}
        claims.append(claim)
        if not each.release.claims_differential_privacy:
            broken.append(f"{label}: {NO_CLAIM}")
            continue
        try:
            result = claim_check.score(each, part, neighbours)
        except InconclusiveError as error:
            unverified.append(f"{label}: {'; '.join(problem.message for problem in error.problems)}")
            continue
        if result.value is None or math.isinf(result.value):
            broken += [f"{label}: {problem}" for problem in result.evidence["broken"]]
            continue
        claim["epsilon"] = result.value
        epsilons.append(result.value)
    evidence = {"claims": claims} | ({"broken": broken} if broken else {})
    if broken:
        claimless = [label for label, each in releases if not each.release.claims_differential_privacy]
        remedy = WITHOUT_CLAIM.format(" and ".join(claimless)) if claimless else ""
        return Score(math.inf, remedy=remedy, evidence=evidence)
    total = round(math.fsum(epsilons), DECIMALS)
    if unverified:
        problem = f"the claims of some releases cannot be verified: {'; '.join(unverified)}"
        return Score(total, insufficient=problem, remedy=UNVERIFIED, evidence=evidence)
    return Score(total, remedy=TOO_MUCH, evidence=evidence)


def divide_delta(claimed: Sequence[float], delta: float) -> list[float]:
    """Parts of `delta` in the proportions of the deltas that releases claim; equal ones where no release claims any.

    Args:
        claimed: shape (n_releases,), from 0 to 1.
        delta: of all releases together, from 0 to 1.

    Returns:
        Shape (n_releases,); they add up to `delta`.

    >>> divide_delta([1e-6, 3e-6], 2e-6)
    [5e-07, 1.5e-06]
    >>> divide_delta([0, 0], 1e-6)
    [5e-07, 5e-07]
    """
    total = math.fsum(claimed)
    return [each * (delta / total) if total else delta / len(claimed) for each in claimed]


def _claimed_delta(claim: Any) -> float:
    """The delta of a claim of epsilon; of several claims, that of the first; of no claim 0.

    What a file claims may be anything. It only decides how delta is divided.
    """
    if claim is None:
        return 0.0
    first = claim[0] if isinstance(claim, list | tuple) and claim else claim
    delta = first.get("delta", DEFAULT_DELTA) if isinstance(first, Mapping) else DEFAULT_DELTA
    return float(delta) if isinstance(delta, int | float) and 0 <= delta < 1 else DEFAULT_DELTA
