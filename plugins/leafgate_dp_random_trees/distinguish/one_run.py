"""One run with many people who may or may not be there: who was?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate import AdversaryKnowledge, Release
from leafgate.algorithms.routing import NOWHERE, route
from leafgate.types.schema import Schema
from leafgate.types.table import Table, make_table
from leafgate_dp_random_trees.distinguish.attack import Claim, EpsilonEstimate, Plan, numbers_of
from leafgate_dp_random_trees.distinguish.epsilon_bounds import from_one_run

if TYPE_CHECKING:
    from leafgate_dp_random_trees import Distinguish

Floats = NDArray[np.float64]


def one_run(
    options: Distinguish, release: Release, known: AdversaryKnowledge, claim: Claim, plan: Plan
) -> EpsilonEstimate:
    """The epsilon shown by guessing, from one release, who of `plan.runs` people with records of their own was there.

    Each is there with chance 1/2, among others with the same record; the half about whom least is thought is guessed
    at not at all.

    Source: Steinke, Nasr, Jagielski, "Privacy Auditing with One (1) Training Run", NeurIPS 2023, Algorithm 1.
    """
    assert known.mechanism is not None
    k, beta, _ = numbers_of(release)
    rng = np.random.default_rng(known.seed)
    canaries = make_table(known.schema, _drawn(known.schema, plan.runs, rng))
    there = rng.random(len(canaries)) < 0.5
    others = round(k / beta)
    made = Table(known.schema, canaries.frame, others + there.astype(np.int64))
    thought = _thought(known.mechanism(made, rng), canaries, others)
    order = np.argsort(thought, kind="stable")
    part = max(len(canaries) // 4, 1)
    right = int((~there[order[:part]]).sum() + there[order[-part:]].sum())
    shown = from_one_run(right, 2 * part, len(canaries), claim.delta, options.confidence)
    items = f"{len(canaries)} people at once", "people shown beyond the others"
    return EpsilonEstimate(shown, *items, plan.runs, plan.at_best)


def _drawn(schema: Schema, many: int, rng: np.random.Generator) -> pd.DataFrame:
    """Different people, drawn from the domains."""
    columns: dict[str, Any] = {}
    for column in schema.columns:
        if column.numeric:
            columns[column.name] = rng.uniform(*(column.bounds or (0.0, 1.0)), size=many).tolist()
        else:
            codes = rng.integers(len(column.values or ()), size=many)
            columns[column.name] = pd.Categorical.from_codes(codes, categories=pd.Index(list(column.values or ())))
    return pd.DataFrame(columns)


def _thought(release: Release, canaries: Table, others: int) -> Floats:
    """For each of the people how many more are shown with them than the others are, over all trees."""
    codes = canaries.codes(release.target)
    total = np.zeros(len(canaries))
    for tree in release.trees:
        routed = route(tree, canaries)
        counter = routed.leaf * len(release.classes) + codes
        shown = np.array([[float((leaf.counts or {}).get(c, 0)) for c in release.classes] for leaf in routed.leaves])
        size = np.bincount(counter[routed.leaf != NOWHERE], minlength=shown.size) * (others + 0.5)
        mine = shown.ravel()[counter]
        total += np.where((routed.leaf != NOWHERE) & (mine > 0), mine / np.maximum(size[counter], 1), 0.0)
    return np.asarray(total)
