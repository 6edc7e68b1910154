"""Plugins with one mistake each, to see that the kit finds it; and the honest ones they were made from."""

from broken_plugins.attacks import BROKEN_ATTACKS, ByLeaves, ByScores
from broken_plugins.builders import BROKEN_BUILDERS, ByColumn
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
)
"""Two attacks, four metrics and a builder that pass."""

BROKEN = (*BROKEN_ATTACKS, *BROKEN_METRICS, *BROKEN_BUILDERS)
"""Pairs: what is broken, and the check that must find it."""
