"""A move: people of a leaf who change class, in several chains at once."""

from __future__ import annotations

from dataclasses import dataclass

from leafgate_maxent.counting.site import Site
from leafgate_maxent.walk import Floats, Ids


@dataclass(frozen=True)
class Move:
    """In every chain `member` more people of each of the site's blocks have class `to`, and fewer `source`.

    `who` are the people whose class changes, `becomes` what it becomes. `at_source` and `at_to` are the
    places where blocks count the two classes; `slack` and `sums` what there is after the move,
    `violation` by how much more is broken.
    """

    site: Site
    source: Ids
    to: Ids
    who: Ids
    becomes: Ids
    member: Ids
    at_source: Ids
    at_to: Ids
    slack: Floats
    sums: Ids
    violation: Floats


@dataclass(frozen=True)
class Before:
    """What a move is going to change, for taking it back."""

    classes: Ids
    slack: Floats
    sums: Ids
    violation: Floats
