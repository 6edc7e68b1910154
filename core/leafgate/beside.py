"""The other score beside the one that is judged: what is derived, or what the group truly is composed of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.case import Case
from leafgate.errors import LeafgateError
from leafgate.interfaces import RecordMetric, Scored
from leafgate.plugins import Plugins
from leafgate.report import Finding, People, Private
from leafgate.scores import Scores, finite, scores_of, value_of

OTHER: dict[Scored, Scored] = {"derived": "composition", "composition": "derived"}


def beside(metric: RecordMetric, plugins: Plugins, case: Case, scores: Scores, finding: Finding) -> Finding:
    """The finding, with the other score beside it (derived, or of the true composition) where they differ.

    What follows from the composition and not from the release is private.
    """
    if case.belief is None or case.belief.chances is None or case.belief.groups is None:
        return finding
    other = replace(case, scored=OTHER[case.scored])
    if np.allclose(case.chances, other.chances, rtol=0, atol=1e-12):
        return finding
    try:
        others = scores_of(metric, plugins, other)
    except LeafgateError:
        return replace(finding, private=finding.private or case.scored == "composition")
    if np.array_equal(scores, others):
        return finding
    finding = replace(finding, private=finding.private or case.scored == "composition")
    told = _veiled(metric, value_of(metric, others, case))
    hidden = metric.private or case.scored == "derived" or tells_of_everyone(other)
    key, shown = OTHER[case.scored], Private(told) if hidden else told
    return replace(finding, evidence={**finding.evidence, key: shown})


def tells_of_everyone(case: Case) -> bool:
    """Was a score made with everyone's shares of the secret, which nobody could derive?"""
    if "overall" not in vars(case) or case.secret.name in case.known.distribution or counts_everyone(case):
        return False
    derived = replace(case, scored="derived").chances.to_numpy(dtype=float)
    everyone = case.table.weight @ derived / case.table.people
    return not np.allclose(everyone, case.overall, rtol=0, atol=1e-12)


def counts_everyone(case: Case) -> bool:
    """Do the leaves, added up, tell the secret's shares?"""
    release = case.release
    return bool(release.trees) and release.publish.leaves == "counts" and case.secret.name == release.target


def _veiled(metric: RecordMetric, value: float) -> Any:
    """The other score as evidence may hold it: a count of people, or a share that gives one away, not as it is."""
    if metric.unit == "people" and np.isfinite(value):
        return People(int(value))
    return Private(finite(value)) if metric.unit else finite(value)
