"""How large the code is: python tests/benchmarks/size.py.

It prints for each part the files, the lines, the code lines, the functions, and the median of their code lines. A code
line is neither blank, nor a comment, nor in a docstring (a string that is a statement). Files are counted as ruff
formats them, at 120 characters. `tests/test_size.py` keeps each part below its ceiling.
"""

from __future__ import annotations

import ast
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
KIT = TOP / "core" / "leafgate" / "testing"
PARTS = {"core": TOP / "core", "plugins": TOP / "plugins", "kit": KIT, "tests": TOP / "tests"}
"""The folder of each part; the core is counted without the kit."""


@dataclass(frozen=True)
class Size:
    """The size of a part.

    Attributes:
        files: How many Python files it has.
        lines: All their lines.
        code: Their code lines.
        functions: How many functions and methods they define.
        median: The median of the functions' code lines.
    """

    files: int
    lines: int
    code: int
    functions: int
    median: float


def size_of(part: str) -> Size:
    """Measure a part by its name in `PARTS`."""
    paths = [path for path in PARTS[part].rglob("*.py") if part == "kit" or KIT not in path.parents]
    lines, code, functions = 0, 0, list[int]()
    for path in paths:
        text = path.read_text(encoding="utf-8")
        statements = list(_statements(ast.parse(text).body))
        numbers = sorted(code_lines(text, statements))
        lines += text.count("\n")
        code += len(numbers)
        for node in statements:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append(bisect_right(numbers, node.end_lineno or 0) - bisect_left(numbers, node.lineno))
    return Size(len(paths), lines, code, len(functions), statistics.median(functions))


def code_lines(text: str, statements: Iterable[ast.stmt]) -> set[int]:
    """The numbers of the code lines of a module, from 1."""
    found = {number for number, line in enumerate(text.split("\n"), 1) if line.strip() and line.lstrip()[0] != "#"}
    for node in statements:
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found -= set(range(node.lineno, (node.end_lineno or 0) + 1))
    return found


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements, with those inside of others."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, ()))
        for block in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from _statements(block.body)


def main() -> None:
    row = "{:8} {:>6} {:>8} {:>8} {:>10} {:>7}"
    print(row.format("part", "files", "lines", "code", "functions", "median"))
    for part in PARTS:
        size = size_of(part)
        print(row.format(part, size.files, size.lines, size.code, size.functions, size.median))


if __name__ == "__main__":
    main()
