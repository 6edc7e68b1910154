"""The measured part of docs/measurements/diversity-on-adult.md."""

from __future__ import annotations

from collections.abc import Iterator

from diversity_findings import ALL, ID3, Findings
from writing import fixed, table

NAMES = {"kadet": "kADET", "tds": "TDS", "tds both": "TDS, test people too", "mondrian": "Mondrian"}
BESIDE = ("kadet", "tds", "mondrian")
TITLES = {ID3: "ID3", ALL: "C4.5"}
SHOWN = (2, 10, 25, 50, 250, 500, 1000)
"""The values of k on the page; the CSV file has all."""


def lines(found: Findings) -> Iterator[str]:
    """Test errors of pruned trees by k, of kADET and of other builders."""
    columns = [(setting, builder) for setting in TITLES for builder in BESIDE]
    head = ("k", *(f"{TITLES[setting]}: {NAMES[builder]}" for setting, builder in columns))
    rows = [(str(k), *(fixed(found.row(s, b, k, pruned=True).test_error) for s, b in columns)) for k in SHOWN]
    means = ("mean of all k", *(fixed(found.varied(s).mean(b)) for s, b in columns))
    return table(head, [*rows, means], "r" * len(head))
