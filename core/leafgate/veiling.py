"""Histograms as the public may see them: bars joined until no small number of people can be worked out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leafgate.distribution import Bar


def veiled(bars: Sequence[Bar], smallest: int) -> tuple[Bar, ...]:
    """The bars, joined until every count they tell is nobody or at least `smallest` people.

    A histogram tells the people of each bar, and by addition those below and above each edge. None of these
    may be small. At worst one bar is left, which holds everyone.
    """
    kept = list(bars)
    while len(kept) > 1 and (edge := _telling(kept, smallest)) is not None:
        kept[edge - 1 : edge + 1] = [kept[edge - 1].joined(kept[edge])]
    return tuple(kept)


def counts_told(bars: Sequence[Bar]) -> Iterator[tuple[int, int]]:
    """Each count that a histogram tells, with an edge (1 to bars - 1) without which it would not."""
    everyone, below = sum(bar.people for bar in bars), 0
    for i, bar in enumerate(bars):
        yield bar.people, min(i + 1, len(bars) - 1)
        if i:
            yield below, i
            yield everyone - below, i
        below += bar.people


def _telling(bars: Sequence[Bar], smallest: int) -> int | None:
    """An edge without which less is told that must not be; None where all is well."""
    for count, edge in counts_told(bars):
        if 0 < count < smallest:
            return edge
    return None
