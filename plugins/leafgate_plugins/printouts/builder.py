"""Trees that a program printed, put together node by node."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from leafgate.api import FileDisclosure, Floats, ReleaseError
from leafgate.readers import LETTERS_PER_NUMBER, MANY_NUMBERS, NodeNumbers, TreeIR, TreeIRBuilder, UnreadTracker

MAX_LINES, MAX_LINE = 100_000, 10_000


def lines_of(content: bytes, place: str) -> list[str]:
    """The lines of a text; ReleaseError where it is none, or has too many."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ReleaseError("is not UTF-8 text", place=place) from None
    if text.count("\n") > MAX_LINES:
        raise ReleaseError(f"has more than {MAX_LINES:,} lines", place=place)
    lines = text.splitlines()
    if any(len(line) > MAX_LINE for line in lines):
        raise ReleaseError(f"has a line of more than {MAX_LINE:,} signs", place=place)
    return lines


def number_in(text: str, place: str) -> float:
    """A finite number as programs print it."""
    try:
        found = float(text) if "_" not in text else np.nan
    except ValueError:
        found = np.nan
    if not abs(found) < 1e300:
        raise ReleaseError("has what is no number where one belongs", place=place)
    return float(found)


@dataclass
class PrintedTree(TreeIRBuilder):
    """A tree of a print-out as it grows: the names of its features in the order they come, and the labels of leaves."""

    classes: Sequence[str] = ()
    names: dict[str, int] = field(default_factory=dict)
    labels: dict[int, str | None] = field(default_factory=dict)

    def leaf(self, label: str | None) -> int:
        """Add a leaf; without a label it predicts nothing."""
        node = self.add()
        self.labels[node] = label
        return node

    def numeric_test(self, name: str, threshold: float, *, strict: bool) -> int:
        """Add a test of a number."""
        return self.add(self._feature(name), threshold, strict=strict)

    def subset_test(self, name: str, chosen: Collection[str | float]) -> int:
        """Add a test whether a value, or its code, is among some."""
        return self.add(self._feature(name), subset=chosen)

    def _feature(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    @property
    def silent_leaves(self) -> list[int]:
        """The leaves that predict nothing."""
        return [node for node, label in self.labels.items() if label is None]

    def tree(
        self, counts: Floats | None = None, size: Floats | None = None, numbers: Sequence[NodeNumbers] = ()
    ) -> TreeIR:
        """The tree, each label a row with 1 for its class."""
        values = np.zeros((len(self), len(self.classes)))
        for node, label in self.labels.items():
            if label is not None:
                values[node, self.classes.index(label)] = 1
        return self.build(values, counts, size, numbers)


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


def unread_content(lines: Sequence[str], read: Collection[int]) -> tuple[FileDisclosure, ...]:
    """What the lines disclose that the reader did not use, by section; `read` are the numbers of the lines it used."""
    tracker, used = UnreadTracker(), frozenset(read)
    section = "text before the tree"
    for number, line in enumerate(lines):
        title = SECTION.fullmatch(line)
        name = None if title is None else _section(title[1])
        section = name or ("text after the tree" if number in used else section)
        if line.strip() and number not in used and name is None:
            tracker.add(section, MANY_NUMBERS if section == PEOPLE_LISTED else 1 + len(line) // LETTERS_PER_NUMBER)
    return tracker.disclosures()


def _section(title: str) -> str | None:
    """What a section is called here; None for one that WEKA does not print."""
    return next((name for begin, name in SECTIONS.items() if title.startswith(begin) and len(title) < LONG), None)


DISCLOSURES = tuple(
    """
    people of each class on every node
    people on every leaf, and how many of them have another class
    shares of each class on every node
    how many people reach every node
    the deviance of every node, from which the spread of its numbers follows
    """.replace("\n    ", "\n")
    .strip()
    .splitlines()
)
"""What disclosures of such files say, with `#` for each number."""
