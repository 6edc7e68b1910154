"""What of a print-out is not the tree, and what it tells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from leafgate.disclosed import PEOPLE, SIGNS, Disclosure, other_content

SECTION = re.compile(r"=== (.+) ===\s*")
SECTIONS: Mapping[str, str] = {
    "Run information": "the run's information",
    "Classifier model": "the model's section",
    "Predictions": "predictions of people, one by one",
    "Summary": "a summary",
    "Detailed Accuracy": "accuracy by class",
    "Confusion Matrix": "a confusion matrix",
    "Stratified cross-validation": "a cross-validation",
    "Cross-validation": "a cross-validation",
    "Evaluation": "an evaluation",
    "Error on": "an evaluation",
}
"""What WEKA prints around its tree, by how a section begins."""

LONG = 60
PEOPLE_LISTED = SECTIONS["Predictions"]


def left(lines: Sequence[str], read: Collection[int]) -> tuple[Disclosure, ...]:
    """What the lines tell that nobody read, by section; `read` are the numbers of those that somebody did."""
    return other_content(_unread(lines, frozenset(read)))


def _unread(lines: Sequence[str], read: Collection[int]) -> Iterator[tuple[str, int]]:
    where = "text before the tree"
    for number, line in enumerate(lines):
        title = SECTION.fullmatch(line)
        name = None if title is None else _name(title[1])
        where = name or ("text after the tree" if number in read else where)
        if line.strip() and number not in read and name is None:
            yield where, PEOPLE if where == PEOPLE_LISTED else 1 + len(line) // SIGNS


def _name(title: str) -> str | None:
    """What a section is called here; None for one that WEKA does not print."""
    return next((name for begin, name in SECTIONS.items() if title.startswith(begin) and len(title) < LONG), None)
