"""The other score beside the one that is judged: what is derived, or what the group truly is composed of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.attacking import Attempt
from leafgate.case import Case
from leafgate.errors import LeafgateError
from leafgate.interfaces import Metric, RecordMetric, Scored
from leafgate.plugins import Plugins
from leafgate.report import Finding, People, Private
from leafgate.scores import Scores, finite, scores_of, value_of
from leafgate.told_by_release import read_untold, tells_overall

OTHER: dict[Scored, Scored] = {"derived": "composition", "composition": "derived"}


def beside(
    metric: RecordMetric, plugins: Plugins, case: Case, scores: Scores, finding: Finding, attempt: Attempt | None
) -> Finding:
    """The finding, with the other score beside it: of the true composition where it differs, for auditors.

    Beside a composition that the release does not tell, for the public too, always what is derived.
    """
    if case.belief is None or case.belief.chances is None or case.belief.groups is None or "chances" not in vars(case):
        return finding
    untold = "composition" in set(read_untold(case))
    other = replace(case, scored=OTHER[case.scored])
    if not untold and np.allclose(case.chances, other.chances, rtol=0, atol=1e-12):
        return finding
    try:
        others = scores_of(metric, plugins, other)
    except LeafgateError:
        return finding
    if not untold and np.array_equal(scores, others):
        return finding
    told = _veiled(metric, value_of(metric, others, case))
    key, shown = OTHER[case.scored], Private(told) if hidden(metric, other, attempt) else told
    return replace(finding, evidence={**finding.evidence, key: shown})


def hidden(metric: Metric, case: Case, attempt: Attempt | None) -> bool:
    """Would the numbers of a score tell what neither the release nor the public columns do? A matter of these alone."""
    granted = "chances" in vars(case) and rests_on_what_was_granted(case, attempt)
    return metric.private or metric.hidden(case) or granted or any(read_untold(case))


def rests_on_what_was_granted(case: Case, attempt: Attempt | None) -> bool:
    """Does an attack take in what the policy grants it, and the release does not tell?"""
    known, belief = case.known, case.belief
    shares = bool(known.distribution) and not (belief is not None and belief.secret is not None and tells_overall(case))
    granted = {"distribution": shares, "people": known.people is not None, "facts": bool(known.facts)}
    granted["label_accuracies"] = known.label_accuracies is not None and _may_use_labels(case)
    told = {name for name, what in granted.items() if what}
    return attempt is not None and bool(told & attempt.attack.uses)


def _may_use_labels(case: Case) -> bool:
    """Can a belief rest on how often labels are right: is it of the class, or of people whose class is known?"""
    secret = None if case.belief is None else case.belief.secret
    return secret is not None and (secret == case.release.target or case.table.schema.target.public)


def _veiled(metric: RecordMetric, value: float) -> Any:
    """The other score as evidence may hold it: a count of people, or a share that gives one away, not as it is."""
    if metric.unit == "people" and np.isfinite(value):
        return People(int(value))
    return Private(finite(value)) if metric.unit else finite(value)
