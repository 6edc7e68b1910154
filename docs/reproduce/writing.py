"""How results are written down: CSV files, Markdown tables, and the part of a page between its markers."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
MINUS = "\N{MINUS SIGN}"


def write_csv(path: Path, rows: Iterable[Any]) -> None:
    """Dataclasses of one kind, a line each; floats with four decimals, an empty cell for None, spaces in tuples."""
    lines = [asdict(row) for row in rows]
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(lines[0])
        out.writerows([_cell(value) for value in line.values()] for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return f"{value:.4f}" if isinstance(value, float) else "" if value is None else str(value)


def read_rows(path: Path, kind: type[T]) -> list[T]:
    """The rows of a CSV file that `write_csv` wrote: dataclasses of texts and numbers, None where a cell is empty."""
    types = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
    with path.open(newline="", encoding="utf-8") as file:
        return [kind(**{name: _value(row[name], types[name]) for name in types}) for row in csv.DictReader(file)]


def _value(cell: str, kind: str) -> str | float | int | None:
    if kind == "str":
        return cell
    if kind == "bool":
        return cell == "yes"
    if not cell:
        return None
    return int(cell) if kind.startswith("int") else float(cell)


def put(page: Path, lines: Iterable[str], part: str = "results") -> None:
    """Lines between the two markers of a part of the page; the rest stays as it is."""
    begin, end = f"<!-- {part} -->", f"<!-- /{part} -->"
    head, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, ended, tail = rest.partition(end)
    if not found or not ended:
        raise SystemExit(f"{page.name} lacks the markers {begin} and {end}")
    body = "\n".join(lines)
    page.write_text(f"{head}{begin}\n\n{body}\n{end}{tail}", encoding="utf-8")


def section(title: str, body: Iterable[str]) -> Iterator[str]:
    yield f"## {title}\n"
    yield from body
    yield ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], sides: str) -> Iterator[str]:
    """A Markdown table; `sides` has `l` or `r` for each column."""
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---:" if side == "r" else "---" for side in sides) + " |"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def fixed(value: float | None, decimals: int = 2) -> str:
    """A number with so many decimals; a dash where there is none."""
    return "-" if value is None else f"{value:.{decimals}f}".replace("-", MINUS)


def signed(points: float) -> str:
    return f"{points:+.2f}".replace("-", MINUS)


def count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, what came out here, and in a word whether it reproduces."""

    paper: str
    here: str
    reproduces: str


def claim(paper: str, here: str, holds: bool) -> Claim:
    return Claim(paper, here, "yes" if holds else "no")
