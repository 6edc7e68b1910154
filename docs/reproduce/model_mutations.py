"""Model files with one thing changed: which changes are found, by format and by what is changed.

    pip install ".[sklearn,xgboost,lightgbm,onnx]" onnxruntime
    PYTHONPATH=tests/support python docs/reproduce/model_mutations.py

It changes 1,000 files a format, of the producer matrix of the tests, with a fixed seed. It writes
docs/results/mutations.csv and the table of docs/measurements/how-the-audit-is-tested.md. The evaluators that say what a
changed file answers are in tests/support/evaluators, and share no code with leafgate.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from writing import count, put, read_rows, table, write_csv

if TYPE_CHECKING:
    from mutations import Outcome

DOCS = Path(__file__).resolve().parents[1]
RESULTS = DOCS / "results" / "mutations.csv"
CHANGES, SEED = 1000, 40
STRUCTURE = ("children", "default direction", "feature", "threshold", "categories", "comparison")
"""Kinds of changes after which people come to other leaves."""


@dataclass(frozen=True)
class Row:
    """What came of the changes of one kind to files of one format.

    Attributes:
        format: the format.
        kind: what was changed.
        changes: how many files were changed.
        no_model: changes after which nothing says what the file answers, or its producer would not open it.
        no_model_read: those of them that are read all the same.
        equivalent: changes of no answer.
        equivalent_refused: those of them that are refused.
        refused: changes of answers that are refused.
        inconclusive: changes of answers that are inconclusive without a witness, for a key is not known.
        read: changes of answers that are read, and answer as the changed file does.
        wrong: changes that are read otherwise than the file answers.
        visible: of those read, changes that a witness of the file before could show: by more than its tolerance.
        witnessed: of these, changes that the witness contradicts.
        counted: of those read, changes of files with numbers of people that are the table's before the change.
        contradicted: of these, changes after which the numbers of people contradict the table.
        moved: of those that they do not contradict, changes of what somebody of the table is answered.
    """

    format: str
    kind: str
    changes: int
    no_model: int
    no_model_read: int
    equivalent: int
    equivalent_refused: int
    refused: int
    inconclusive: int
    read: int
    wrong: int
    visible: int
    witnessed: int
    counted: int
    contradicted: int
    moved: int


def row_of(form: str, kind: str, found: Sequence[Outcome]) -> Row:
    """What came of the changes of one kind."""

    def number(holds: Callable[[Outcome], bool]) -> int:
        return sum(map(holds, found))

    changed = [each for each in found if each.effect == "changed"]
    read = [each for each in changed if each.verdict in {"right", "inconclusive"}]
    visible = [each for each in read if each.visible]
    counted = [each for each in read if each.counted is not None]
    return Row(
        format=form,
        kind=kind,
        changes=len(found),
        no_model=number(lambda each: each.effect == "no model"),
        no_model_read=number(lambda each: each.verdict == "read"),
        equivalent=number(lambda each: each.effect == "equivalent"),
        equivalent_refused=number(lambda each: each.effect == "equivalent" and each.verdict == "refused"),
        refused=sum(each.verdict == "refused" for each in changed),
        inconclusive=sum(each.verdict == "inconclusive" for each in changed),
        read=sum(each.verdict == "right" for each in changed),
        wrong=number(lambda each: each.verdict == "wrong"),
        visible=len(visible),
        witnessed=sum(each.witnessed for each in visible),
        counted=len(counted),
        contradicted=sum(bool(each.counted) for each in counted),
        moved=sum(each.moved and not each.counted for each in counted),
    )


def measured() -> Iterator[Row]:
    """A row for each format and kind of change."""
    from generator.formats import FORMATS
    from mutations import outcomes

    for form, each in FORMATS.items():
        found = list(outcomes(each, CHANGES, SEED))
        for kind in sorted({one.change.kind for one in found}):
            yield row_of(form, kind, [one for one in found if one.change.kind == kind])


def total(name: str, rows: Sequence[Row]) -> list[str]:
    """The cells of several rows added up."""

    def added(field: str) -> int:
        return sum(getattr(row, field) for row in rows)

    return [
        name,
        *(count(added(column)) for column in ("changes", "refused", "read", "wrong")),
        f"{count(added('witnessed'))} of {count(added('visible'))}",
        f"{count(added('contradicted'))} of {count(added('counted'))}",
    ]


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    """The table of the page, and what numbers of people do not show."""
    head = ["format", "changes", "refused", "read right", "read wrong", "seen by a witness", "seen by counts"]
    forms = list(dict.fromkeys(row.format for row in rows))
    by_format = [total(form, [row for row in rows if row.format == form]) for form in forms]
    yield from table(head, [*by_format, total("all", rows)], "lrrrrrr")
    yield ""
    structure = [row for row in rows if row.kind in STRUCTURE]
    unseen, moved = sum(row.counted - row.contradicted for row in structure), sum(row.moved for row in structure)
    yield f"Of the changes of {', '.join(STRUCTURE[:-1])} and {STRUCTURE[-1]}, numbers of people do not contradict"
    yield f"{count(unseen)}; {count(moved)} of these change what somebody of the table is answered."


def main() -> int:
    """Change all files and write the page; 0 if nothing is read otherwise than it answers."""
    rows = list(measured())
    write_csv(RESULTS, rows)
    put(DOCS / "measurements/how-the-audit-is-tested.md", lines_of(read_rows(RESULTS, Row)), "mutations")
    return 1 if any(row.wrong for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
