"""The table of kADET's releases against the maximum-entropy attack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maxent_kadet import ATTACKS, Hold
from writing import count, fixed, table

NAMES = {"linking": "linking", "leaves": "maxent, leaves alone", "choices": "maxent, choices too"}


def against_kadet(holds: Sequence[Hold]) -> Iterator[str]:
    """A line for each release and attack."""
    head: tuple[str, ...] = (
        "release",
        "leaves",
        "smallest group",
        "attack",
        "exposed %",
        "surest %",
        "confidence %",
        "D_overall",
    )
    head = (*head, "gain", "largest gain", "internal", "imposed", "note")
    rows = [
        (
            *(_release(hold) if hold.attack == ATTACKS[0]["use"] else ("", "", "")),
            NAMES[hold.attack],
            fixed(hold.exposed),
            fixed(hold.surest, 1),
            fixed(hold.confidence, 2),
            fixed(hold.divergence, 4),
            fixed(hold.gain, 4),
            fixed(hold.largest_gain),
            count(hold.internal),
            count(hold.imposed),
            "" if hold.note == "not asked for" else hold.note,
        )
        for hold in holds
    ]
    return table(head, rows, "lrrl" + "r" * 8 + "l")


def _release(hold: Hold) -> tuple[str, str, str]:
    private = f"; {hold.private} private" if hold.private else ""
    return f"{hold.release}{private}", count(hold.leaves), count(hold.smallest_group)
