"""Plugins with one mistake each, to see that the kit finds it; and the honest ones they were made from."""

from broken_plugins.attacks import BROKEN_ATTACKS, ByLeaves, ByScores
from broken_plugins.builders import BROKEN_BUILDERS, ByColumn
from broken_plugins.checks import BROKEN_CHECKS, SmallTable
from broken_plugins.metrics import BROKEN_METRICS, Doubt, MeanCertainty, Separation, ShownEpsilon

__all__ = ["HONEST", "VIOLATION_TOLERANCE"]

HONEST = (
    ByLeaves(),
    ByScores(),
    Doubt(at_least=0),
    MeanCertainty(at_most=0),
    Separation(at_most=0),
    ShownEpsilon(at_most=0),
    ByColumn(),
    SmallTable(),
)
"""Two attacks, four metrics, a builder and a check that pass."""

BROKEN = (*BROKEN_ATTACKS, *BROKEN_METRICS, *BROKEN_BUILDERS, *BROKEN_CHECKS)
"""Pairs: what is broken, and the check that must find it."""
