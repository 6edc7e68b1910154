"""kADET held to a confidence limit, or to an entropy l, in the place of k."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from diversity_runs import ACCURACY, audited, error_of, findings, number, size_of_release
from kadet_runs import Setting, release_of
from kadet_variations import asked
from leafgate.engine.report import Audit

CONFIDENCES = tuple(percent / 100 for percent in range(99, 74, -1))
LS = tuple(tenth / 10 for tenth in range(10, 20))
KINDS = {"confidence": CONFIDENCES, "l": LS}
# The two distributions that the paper's terms can mean stand side by side: each is scored by itself.
SCORES = (
    {"use": "confidence", "name": "surest", "scored": "composition", "at_most": 1},
    {"use": "confidence", "name": "surest_derived", "scored": "derived", "at_most": 1},
    {"use": "l_diversity", "name": "l", "scored": "composition", "at_least": 1},
    {"use": "l_diversity", "name": "l_derived", "scored": "derived", "at_least": 1},
)
DECIMALS = 12
"""Of an l worked out from a confidence: kADET and the metric round alike."""


@dataclass(frozen=True)
class Limited:
    """One limit, and the tree kADET grows under it with k = 1.

    `twin` is the limit of the other kind that ought to be the same test, `same` whether it gives the
    same tree (or, like this one, none). `surest` and `l` are the worst group's, of its true
    composition; `surest_derived` and `l_derived` what the linking attack says. `holds` is the finding
    of the metric of the same name and limit. Without a release everything else is None.
    """

    setting: str
    pruned: bool
    kind: str
    limit: float
    twin: float
    same: bool
    verdict: str
    holds: bool | None = None
    root: str | None = None
    test_error: float | None = None
    leaves: int | None = None
    smallest_group: int | None = None
    surest: float | None = None
    surest_derived: float | None = None
    l: float | None = None  # noqa: E741
    l_derived: float | None = None
    reason: str | None = None


def l_of(confidence: float) -> float:
    """The entropy l of two classes of which one has this share."""
    shares = [share for share in (confidence, 1 - confidence) if share > 0]
    return round(math.exp(-sum(share * math.log(share) for share in shares)), DECIMALS)


def confidence_of(least: float) -> float:
    """The share of the larger of two classes whose entropy l is `least`; by bisection, 1 for an l of 1."""
    low, high = 0.5, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if l_of(middle) > least else (low, middle)
    return 1.0 if least <= 1 else high


def limited_rows(setting: Setting, *, pruned: bool) -> Iterator[Limited]:
    """Every limit of both kinds."""
    for kind, limits in KINDS.items():
        for limit in limits:
            yield _row(setting, kind, limit, pruned)


def limited(setting: Setting, kind: str, limit: float, *, pruned: bool) -> Audit:
    """The audit of kADET under one limit, by the metric of the same name and limit."""
    required = _demand(kind, limit)
    build = {"use": "kadet", "k": 1, "measure": setting.measure, "prune": pruned, "require": (required,)}
    matching = {**required, "name": "matching", "scored": "composition"}
    return audited(setting, build, matching, *SCORES, {"use": "k_anonymity", "at_least": 1}, ACCURACY)


def _demand(kind: str, limit: float) -> dict[str, Any]:
    if kind == "confidence":
        return {"use": "confidence", "at_most": limit}
    return {"use": "l_diversity", "form": "entropy", "at_least": limit}


def _row(setting: Setting, kind: str, limit: float, pruned: bool) -> Limited:
    done = limited(setting, kind, limit, pruned=pruned)
    other, twin = ("l", l_of(limit)) if kind == "confidence" else ("confidence", confidence_of(limit))
    beside = limited(setting, other, twin, pruned=pruned)
    row = Limited(setting.name, pruned, kind, limit, twin, _same(done, beside), done.report.verdict)
    if done.artifact is None:
        return replace(row, reason=str(done.report.findings[0].evidence["reason"]))
    found = findings(done)
    return replace(
        row,
        holds=found["matching"].passed,
        root=asked(release_of(done).trees[0]),
        test_error=error_of(done),
        leaves=size_of_release(done, "leaves"),
        smallest_group=int(number(found, "k_anonymity")),
        surest=100 * number(found, "surest"),
        surest_derived=100 * number(found, "surest_derived"),
        l=number(found, "l"),
        l_derived=number(found, "l_derived"),
    )


def _same(one: Audit, other: Audit) -> bool:
    if one.artifact is None or other.artifact is None:
        return one.artifact is other.artifact
    return release_of(one).trees == release_of(other).trees
