"""Plugins with one mistake each, to see that the kit finds it; and the honest ones they were made from."""

from leafgate.testing.broken.attacks import BROKEN_ATTACKS, ByLeaves
from leafgate.testing.broken.builders import BROKEN_BUILDERS, ByColumn
from leafgate.testing.broken.metrics import BROKEN_METRICS, Doubt

__all__ = ["BROKEN", "HONEST"]

HONEST = (ByLeaves(), Doubt(at_least=0), ByColumn())
"""An attack, a metric and a builder that pass."""

BROKEN = (*BROKEN_ATTACKS, *BROKEN_METRICS, *BROKEN_BUILDERS)
"""Pairs: what is broken, and the check that must find it."""
