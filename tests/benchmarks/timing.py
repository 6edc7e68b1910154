"""Paired timings: ours and the peer's in turn, medians and the median of the ratios."""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Pair:
    """Median seconds of both, and the median ratio ours / peer over the rounds."""

    work: str
    ours: float
    peer: float
    ratio: float
    target: str = ""


def seconds(work: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def paired(
    work: str, ours: Callable[[], object], peer: Callable[[], object], rounds: int = 7, target: str = ""
) -> Pair:
    """Run both in turn, one round to warm up, so that a slow moment of the machine hits both."""
    ours(), peer()
    times = [(seconds(ours), seconds(peer)) for _ in range(rounds)]
    return Pair(work, median(a for a, _ in times), median(b for _, b in times), median(a / b for a, b in times), target)


def markdown(pairs: Iterable[Pair], peer: str) -> str:
    """A table of pairs."""
    lines = [f"| work | leafgate (s) | {peer} (s) | ratio | target |", "| --- | ---: | ---: | ---: | --- |"]
    lines += [f"| {p.work} | {p.ours:.3f} | {p.peer:.3f} | {p.ratio:.2f} | {p.target} |" for p in pairs]
    return "\n".join(lines)


def command(report: Callable[[Path], str], start: str, end: str) -> None:
    """Run a report as a command: --root DIR, and --write FILE to keep it in a CSV file, or between a page's markers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    report_document = report(chosen.root)
    print(report_document)
    if chosen.write is not None:
        write_report(chosen.write, start, end, report_document)


def write_report(file: Path, start: str, end: str, content: str) -> None:
    """Put a report into a CSV file under the name of its marker, or between the two markers of a page."""
    if file.suffix == ".csv":
        keep_cells(file, start.strip("<!- >"), content)
        return
    text = file.read_text(encoding="utf-8")
    before, after = text.split(start)[0], text.split(end)[1]
    file.write_text(f"{before}{start}\n{content}\n{end}{after}", encoding="utf-8")


@dataclass(frozen=True)
class Cell:
    """A cell of one of a benchmark's tables; the tables of a benchmark, and their rows, are numbered from 1."""

    benchmark: str
    table: int
    row: int
    measure: str
    value: str


def keep_cells(file: Path, benchmark: str, content: str) -> None:
    """Replace a benchmark's cells in a CSV file; those of the others stay."""
    cells = [cell for cell in read_cells(file) if cell.benchmark != benchmark] if file.exists() else []
    with file.open("w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow([field.name for field in fields(Cell)])
        out.writerows(astuple(cell) for cell in [*cells, *cells_of(benchmark, content)])


def read_cells(file: Path) -> list[Cell]:
    with file.open(newline="", encoding="utf-8") as stream:
        return [
            Cell(row["benchmark"], int(row["table"]), int(row["row"]), row["measure"], row["value"])
            for row in csv.DictReader(stream)
        ]


def cells_of(benchmark: str, content: str) -> Iterator[Cell]:
    """The cells of all Markdown tables of a report, and its other lines as the measure `note` of row 0."""
    head: list[str] = []
    table = row = 0
    for line in content.splitlines():
        if not line.startswith("|"):
            head = []
            if line.strip():
                yield Cell(benchmark, table, 0, "note", line.strip())
        elif not head:
            names = [cell.strip() for cell in line.split("|")[1:-1]]
            head = [f"{name} [2]" if name in names[:i] else name for i, name in enumerate(names)]
            table, row = table + 1, -1
        else:
            row += 1
            if row:
                values = (cell.strip() for cell in line.split("|")[1:-1])
                yield from (Cell(benchmark, table, row, *pair) for pair in zip(head, values, strict=True))
