"""The measured part of docs/measurements/ppdtc45-on-adult.md, and what is printed in the paper beside what came out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from ppdtc45_claims import means
from ppdtc45_parts import Loss, Part
from ppdtc45_printed import FEW_COLUMNS, FEW_ROWS, LOSSES, PRINTED, TABLES, WORDS
from ppdtc45_runs import Score
from ppdtc45_setting import LAWS
from writing import fixed, table

DATA = tuple(LAWS)
WAYS = ("C4.5 on originals", "C4.5 on shared", "threshold", "random path")
OURS = ("deconvolved", "deconvolved, bounds unknown", "matched")


@dataclass(frozen=True)
class Printed:
    """A number of one of the paper's tables beside what came out here, and a word where the two differ."""

    table: int
    what: str
    data: str
    printed: float
    here: float
    note: str


def lines(scores: Sequence[Score]) -> Iterator[str]:
    """Mean accuracies on original test people, of the paper's ways and of better ones."""
    found = means(scores)
    rows = [[way, *(fixed(found[name, way, "original"]) for name in DATA)] for way in (*WAYS, *OURS)]
    return table(("tree", *DATA), rows, "l" + "r" * len(DATA))


def printed(scores: Sequence[Score], losses: Sequence[Loss], parts: Sequence[Part]) -> Iterator[Printed]:
    """The paper's tables, number by number."""
    for name in DATA:
        here = mean(loss.loss for loss in losses if loss.data == name)
        yield Printed(
            1, "mean privacy loss of the columns", name, LOSSES[name], here, "the paper's binning is not stated"
        )
    yield from _parts(parts)
    found = means(scores)
    for number, ways in sorted(TABLES.items()):
        for way in ways:
            for test in ("reconstructed", "original", "shared"):
                for i, name in enumerate(DATA if (way, test) in PRINTED else ()):
                    what, note = f"{way}, {test} test", WORDS.get((way, test), "")
                    yield Printed(number, what, name, PRINTED[way, test][i], found[name, way, test], note)


def _parts(parts: Sequence[Part]) -> Iterator[Printed]:
    """Tables 2 and 3: C4.5 on parts of the original rows, and on all subsets of the columns."""
    for few, accuracies in FEW_ROWS.items():
        here = mean(part.accuracy for part in parts if (part.rows, part.columns) == (few, "all"))
        yield Printed(2, f"{few} rows, 10 groups", "originals", mean(accuracies), here, "")
    for (number, columns), accuracy in FEW_COLUMNS.items():
        here = mean(part.accuracy for part in parts if (part.rows, part.columns) == (number, str(columns)))
        note = "which columns the paper took is not said; here the mean over all subsets"
        yield Printed(3, f"{number} rows, {columns} columns", "originals", accuracy, here, note)
