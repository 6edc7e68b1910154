"""Trying to refute a claim of differential privacy, by running the builder where it should betray most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leafgate import Belief, Known, Release
from leafgate.errors import InconclusiveError
from leafgate_dp_random_trees.bounds import from_errors
from leafgate_dp_random_trees.features import features
from leafgate_dp_random_trees.worlds import World, worlds

if TYPE_CHECKING:
    from leafgate.known import Mechanism
    from leafgate_dp_random_trees import Distinguish

Floats = NDArray[np.float64]
THRESHOLDS = 64


@dataclass(frozen=True)
class Claim:
    """What is claimed: epsilon at delta, and what it is about."""

    epsilon: float
    delta: float
    replaced: bool


@dataclass(frozen=True)
class Shown:
    """The epsilon that one world shows, by which of the numbers of a release."""

    epsilon: float
    world: str
    by: str


def distinguish(options: Distinguish, release: Release, known: Known) -> Belief:
    """What running the builder shows of its claim; in no case that the claim holds.

    Raises InconclusiveError where nothing is claimed or the builder is not known.
    """
    claim = claim_of(release)
    if known.mechanism is None:
        raise InconclusiveError(
            "there is no builder to run", place="publish.measure", remedy="build here, and publish {measure: true}"
        )
    if options.method == "one_run":
        from leafgate_dp_random_trees.one_run import one_run

        found = one_run(options, release, known, claim)
    else:
        found = many_runs(options, release, known, claim)
    return Belief(None, None, evidence=_evidence(options, claim, found))


def claim_of(release: Release) -> Claim:
    """The claim of a release; InconclusiveError where there is none that can be read."""
    told = release.guarantee.get("epsilon")
    told = told if isinstance(told, Mapping) else {"at_most": told}
    epsilon, delta = told.get("at_most"), told.get("delta", 0)
    if not isinstance(epsilon, int | float) or not isinstance(delta, int | float):
        raise InconclusiveError("the release claims no epsilon that could be refuted")
    return Claim(float(epsilon), float(delta), told.get("neighbours") == "replace_one")


def many_runs(options: Distinguish, release: Release, known: Known, claim: Claim) -> Shown:
    """The largest epsilon that any of the made-up worlds shows; each has its part of the confidence.

    Half of the runs choose what to look at and where to draw the line, the other half count errors.
    """
    assert known.mechanism is not None
    k, beta, depth = numbers_of(release)
    rng = np.random.default_rng(known.seed)
    tried = list(worlds(known.schema, k, beta, depth, replaced=claim.replaced))
    confidence = 1 - (1 - options.confidence) / len(tried)
    found = [in_world(world, known.mechanism, options.runs, claim.delta, confidence, rng) for world in tried]
    return max(found, key=lambda shown: shown.epsilon)


def numbers_of(release: Release) -> tuple[int, float, int]:
    """What the builder says of its threshold, its rate and its depth, where it says something."""
    k, beta, depth = (release.builder.get(name) for name in ("k", "beta", "depth"))
    return (
        k if isinstance(k, int) else 10,
        beta if isinstance(beta, float) and 0 < beta < 1 else 0.5,
        depth if isinstance(depth, int) else 1,
    )


def in_world(
    world: World, mechanism: Mechanism, runs: int, delta: float, confidence: float, rng: np.random.Generator
) -> Shown:
    """What one world shows: half of the runs choose what to look at and where to draw the line, the others count."""
    half = (runs + 1) // 2
    samples = [
        [features(mechanism(table, rng), world) for _ in range(2 * half)] for table in (world.without, world.along)
    ]
    names = sorted({name for sample in samples for run in sample for name in run})
    without, along = (np.array([[run.get(name, np.nan) for name in names] for run in sample]) for sample in samples)
    without, along = (np.nan_to_num(values, nan=-1e9, posinf=1e9, neginf=-1e9) for values in (without, along))
    column, sign, line = _best(without[:half], along[:half], delta, confidence)
    caught = int((sign * along[half:, column] > line).sum())
    alarms = int((sign * without[half:, column] > line).sum())
    return Shown(from_errors((caught, half), (alarms, half), delta, confidence), world.name, names[column])


def _best(without: Floats, along: Floats, delta: float, confidence: float) -> tuple[int, int, float]:
    """The column, the sign and the line that tell the two samples apart best."""
    best, chosen = -1.0, (0, 1, 0.0)
    for column in range(without.shape[1]):
        for sign in (1, -1):
            mine, theirs = sign * along[:, column], sign * without[:, column]
            for line in _lines(np.concatenate([mine, theirs])):
                hits = (int((mine > line).sum()), len(mine)), (int((theirs > line).sum()), len(theirs))
                shown = _rough(*hits, delta)
                if shown > best:
                    best, chosen = shown, (column, sign, float(line))
    return chosen


def _lines(values: Floats) -> Floats:
    """Lines between the values, at most so many."""
    apart = np.unique(values)
    middles = (apart[1:] + apart[:-1]) / 2
    if len(middles) <= THRESHOLDS:
        return np.asarray(middles)
    return np.asarray(np.quantile(middles, np.linspace(0, 1, THRESHOLDS)))


def _rough(caught: tuple[int, int], alarms: tuple[int, int], delta: float) -> float:
    """About the epsilon these errors show, less where there are few of them."""
    (hits, runs), (false, others) = caught, alarms
    spread = np.sqrt(1 / (hits + 1) + 1 / (false + 1)), np.sqrt(1 / (runs - hits + 1) + 1 / (others - false + 1))
    above = np.log((hits + 0.5) / (false + 0.5)) - 2 * spread[0]
    below = np.log((others - false + 0.5) / (runs - hits + 0.5)) - 2 * spread[1]
    return float(max(above, below))


def _evidence(options: Distinguish, claim: Claim, found: Shown) -> dict[str, Any]:
    refuted: Sequence[str] = ["epsilon"] if found.epsilon > claim.epsilon else []
    told = {"tries": ["epsilon"], "epsilon_at_least": found.epsilon, "claimed": claim.epsilon, "delta": claim.delta}
    told |= {"confidence": options.confidence, "world": found.world, "by": found.by}
    shown = (
        f"epsilon >= {found.epsilon:.4g} with {100 * options.confidence:g} % confidence; claimed {claim.epsilon:.4g}"
    )
    meaning = "the claim is refuted" if refuted else "this proves nothing, a better attack may show more"
    return told | {"says": f"{shown}: {meaning}"} | ({"refutes": refuted} if refuted else {})
