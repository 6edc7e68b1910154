"""What findings on `joint` state in a sentence: which releases prove together whose secret, and each alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MAX_COMPARED = 3
"""Other releases that the sentence compares with this one; tables and the JSON have all of them."""


def joint_words(secret: str, labels: Sequence[str], people: int, came_and_left: Mapping[str, Any]) -> str:
    """What all releases together prove, and beside it what either release of each pair proves alone.

    Args:
        secret: the column that is proved.
        labels: of the releases, this one first; at least two.
        people: of the table, whose secret is proved to somebody who is none of them.
        came_and_left: by the label of each other release, the counts of people who `came`, `left` and `stayed`.

    Returns:
        Sentences without a full stop at the end, for auditors alone.
    """
    first, *others = labels
    together = f"{secret} of {people:,} people is proved to outsiders by {first} together with {_listed(others)}"
    compared = [_compared(label, parts) for label, parts in list(came_and_left.items())[:MAX_COMPARED]]
    more = len(came_and_left) - MAX_COMPARED
    return ". ".join([together, *compared, *([f"{more} more releases are compared in the tables"] if more > 0 else [])])


def _compared(label: str, parts: Mapping[str, Any]) -> str:
    """How many of those who came, left and stayed since another release are proved, and stayed ones by either alone."""
    came, left, stayed = (
        f"{_count(parts[name], 'proved_together')} of {_count(parts[name])} who {name}" for name in PARTS
    )
    own, other = (_count(parts["stayed"], f"proved_by_{which}_alone") for which in ("this_release", "the_other"))
    return (
        f"Since {label}: {came}, {left} and {stayed}; of those who stayed this release alone proves {own}, and that "
        f"one alone {other}"
    )


PARTS = ("came", "left", "stayed")
"""The parts of the people of two releases."""


def _count(part: Mapping[str, Any], name: str = "people") -> str:
    return f"{part[name].count:,}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
