"""What a release says of each row: a share of belief for each class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from leafgate import InconclusiveError, Release
from leafgate.routing import class_votes
from leafgate.table import Table


def chances(release: Release, table: Table) -> NDArray[np.float64]:
    """For each row what the release says of each class, summing to 1; NaN where no leaf speaks.

    One tree says the shares of its leaf. Raises InconclusiveError where only labels are published.
    """
    if release.publish.leaves in {"labels", "error_rates"} and release.combine != "boost":
        raise InconclusiveError("only labels are published, so the release gives no class a share")
    one = release.combine == "one"
    votes = class_votes(replace(release, combine="mean_per_tree") if one else release, table)
    if release.combine == "boost":
        votes = np.exp(votes - votes.max(axis=1, keepdims=True))
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))
