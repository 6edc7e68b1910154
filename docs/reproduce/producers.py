"""The producer matrix: which files of which versions are read, on how many rows as the program predicts, or refused.

    pip install -e ".[dev]"
    python docs/reproduce/producers.py

The files stand in the tests (tests/plugins/*/producers), with the answers of the programs that wrote them;
`python tests/producers/make_all.py` makes them anew. The outcome of each file is written to
docs/results/producers.csv, and the tables of it to docs/measurements/producers.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from writing import count, put, read_rows, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
SUPPORT = DOCS.parent / "tests" / "support"
RESULTS = DOCS / "results" / "producers.csv"
PAGE = DOCS / "measurements" / "producers.md"


@dataclass(frozen=True)
class Row:
    """What came of a file.

    Attributes:
        producer: the program that wrote it.
        version: the version of the program.
        beside: other programs that took part, with their versions.
        file: the name of the file.
        rows: on how many rows the program answered; 0 where the file is refused.
        equal: on how many of them leafgate answers the same.
        original: on how many the model that was converted answers the same; None where nothing was converted.
        reason: why the file is refused.
    """

    producer: str
    version: str
    beside: str
    file: str
    rows: int
    equal: int
    original: int | None
    reason: str


def outcomes() -> Iterator[Row]:
    """What comes of every file of the matrix."""
    if str(SUPPORT) not in sys.path:
        sys.path.insert(0, str(SUPPORT))
    from producer_archive import case_of
    from producer_matrix import PRODUCERS

    for producer in PRODUCERS:
        for archive in producer.archives:
            beside = ", ".join(f"{name} {version}" for name, version in archive.made_with.items())
            for name in archive.models:
                outcome = producer.outcome(archive, name)
                original = None if outcome.reason else archive.originals.get(case_of(name))
                yield Row(
                    *(producer.name, archive.version, beside, name),
                    *(outcome.rows, outcome.equal, original, outcome.reason),
                )


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    """A line for each program, and the sums."""
    read = [row for row in rows if not row.reason]
    versions, programs = len({(row.producer, row.version) for row in rows}), len({row.producer for row in rows})
    answered, equal = (count(sum(getattr(row, name) for row in read)) for name in ("rows", "equal"))
    yield f"Of {count(len(rows))} files of {versions} versions of {programs} programs {count(len(read))} are read and"
    yield f"{len(rows) - len(read)} refused. Of {answered} answers to rows {equal} are equal."
    yield ""
    yield from table(
        ["program", "versions", "files read", "rows", "equal", "files refused"], _by_program(rows), "llrrrr"
    )


def _by_program(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    for producer in dict.fromkeys(row.producer for row in rows):
        found = [row for row in rows if row.producer == producer]
        read = [row for row in found if not row.reason]
        answered, equal = (sum(getattr(row, name) for row in read) for name in ("rows", "equal"))
        versions = _span(list(dict.fromkeys(row.version for row in found)))
        yield producer, versions, str(len(read)), count(answered), count(equal), str(len(found) - len(read))


def _span(versions: Sequence[str]) -> str:
    """The versions, or the first and the last of more than two."""
    return " and ".join(versions) if len(versions) < 3 else f"{versions[0]} to {versions[-1]}"


def main() -> int:
    """Read all files and write the page; 0 if each is refused, or read as the program predicts on every row."""
    rows = list(outcomes())
    write_csv(RESULTS, rows)
    put(PAGE, lines_of(read_rows(RESULTS, Row)))
    return 0 if all(row.equal == row.rows for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
