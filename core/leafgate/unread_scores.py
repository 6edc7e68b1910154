"""Scores of boosted trees and means of regression trees tell of the class what attacks do not work out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leafgate.belief import Belief
from leafgate.release import Release

if TYPE_CHECKING:
    import pandas as pd

UNREAD = "what the leaves say tells of the class what this attack does not work out: any belief is possible"


def open_about_scores(belief: Belief, release: Release) -> Belief:
    """The belief, open about the class where scores were not read: a limit that it might break cannot be told."""
    scored = _has_unverified_scores(release)
    unread = (scored or release.tells_numbers) and belief.secret == release.target
    if not unread or belief.chances is None:
        return belief
    others = (*belief.alternatives, *_certain(belief.chances))
    return replace(belief, evidence={**belief.evidence, "unread": UNREAD}, alternatives=others, unread=True)


def _has_unverified_scores(release: Release) -> bool:
    """Do leaves have scores of the classes that nothing in the audit holds against the table?

    Scores beside exact counts are made of these counts, which every audit compares with the table; those beside a
    claim of differential privacy are recomputed by the check of the claim.
    """
    if release.combine != "boost" and not release.tells_scores:
        return False
    verified = release.counted == "exact" or "epsilon" in release.guarantee
    return release.file is not None or release.publish.leaves != "counts" or not verified


def _certain(chances: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    """Everyone's class for certain, once for each class."""
    return tuple((chances * 0).assign(**{str(name): 1.0}) for name in chances.columns)
