"""How many random examples a test takes, relative to the Hypothesis profile of the run."""

from __future__ import annotations

import math

from hypothesis import settings


def examples(factor: float) -> settings:
    """The settings of the profile with `factor` times its number of examples, at least one.

    Below 1 for a test each of whose examples is dear, above 1 for one whose examples cost next to nothing.
    """
    return settings(max_examples=max(1, round(settings().max_examples * factor)))


def seeds(number: int) -> range:
    """The first seeds of a test that makes up its own cases: `number`, in proportion fewer below 50 examples."""
    return range(math.ceil(number * min(1.0, settings().max_examples / 50)))
