"""How many faults the tests find: python tests/benchmarks/faults.py [--faults 30] [--seed 0] [--out CSV].

It puts one fault after another at random places into a copy of core and plugins, and runs the tests that cover the
module: those that import it, then those in the folder that is named like its own. A fault is a comparison that points
the other way, a sum or a condition without its last term, or a call with its first two columns swapped. A fault that
these tests do not find within the seconds may change nothing that anybody sees; the place is printed to be looked at.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
CODE = {"core": TOP / "core", "plugins": TOP / "plugins"}
OPPOSITE: dict[type[ast.cmpop], str] = {
    ast.Lt: ">",
    ast.Gt: "<",
    ast.LtE: ">=",
    ast.GtE: "<=",
    ast.Eq: "!=",
    ast.NotEq: "==",
}
KINDS = ("flipped comparison", "dropped term", "swapped column")
MOST_FILES = 40
"""So many files of tests are run for a fault at most, those first that import the module."""


@dataclass(frozen=True)
class Fault:
    """One change of one line.

    Attributes:
        kind: One of `KINDS`.
        file: The module, below the checkout.
        line: Its line, from 1.
        start: The first column that is replaced, in bytes.
        end: The column after the last.
        text: What takes its place.
    """

    kind: str
    file: str
    line: int
    start: int
    end: int
    text: str

    def written(self, source: str) -> str:
        """The module with the fault."""
        lines = source.encode().split(b"\n")
        own = lines[self.line - 1]
        lines[self.line - 1] = own[: self.start] + self.text.encode() + own[self.end :]
        return b"\n".join(lines).decode()


@dataclass(frozen=True)
class Outcome:
    """What became of a fault: `found`, `survived`, or `late`, where the time was over before all tests were run."""

    kind: str
    file: str
    line: int
    outcome: str
    files: int


def faults_of(path: Path) -> Iterator[Fault]:
    """Every fault that could be put into a module, each within one line."""
    source, name = path.read_text(encoding="utf-8"), path.relative_to(TOP).as_posix()
    lines = source.encode().split(b"\n")

    def text(node: ast.expr) -> str:
        """The text of a node that is within one line."""
        return lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode("utf-8", "replace")

    def fault(kind: str, first: ast.expr, last: ast.expr, changed: str) -> Iterator[Fault]:
        if first.lineno == last.end_lineno and last.end_col_offset is not None:
            yield Fault(kind, name, first.lineno, first.col_offset, last.end_col_offset, changed)

    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPPOSITE:
                yield from fault(KINDS[0], node, node, f"{text(left)} {OPPOSITE[type(op)]} {text(right)}")
            case ast.BoolOp(values=[first, *_]) | ast.BinOp(op=ast.Add() | ast.Sub(), left=first):
                yield from fault(KINDS[1], node, node, text(first))
            case ast.Call(args=[one, other, *_]) if _is_name(one) and _is_name(other) and text(one) != text(other):
                yield from fault(KINDS[2], one, other, f"{text(other)}, {text(one)}")


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)


def drawn_faults(number: int, seed: int) -> list[Fault]:
    """Faults at random places, as many of each kind; every place of a kind is as likely."""
    paths = [path for folder in CODE.values() for path in sorted(folder.rglob("*.py"))]
    places = [fault for path in paths for fault in faults_of(path)]
    rng, found = random.Random(seed), list[Fault]()
    for i in range(number):
        of_kind = [fault for fault in places if fault.kind == KINDS[i % len(KINDS)] and fault not in found]
        found.append(rng.choice(of_kind))
    return found


def covering(file: str) -> list[Path]:
    """The files of tests that import a module, then those of the folder that is named like its own."""
    module = ".".join(Path(file).with_suffix("").parts[1:]).removesuffix(".__init__")
    package, name = module.rpartition(".")[::2]
    tests = sorted((TOP / "tests").rglob("test_*.py"))
    texts = {path: path.read_text(encoding="utf-8") for path in tests}
    importing = [path for path, text in texts.items() if module in text or f"from {package} import {name}" in text]
    folders = [part for part in package.split(".")[1:] if part != "commands"] or [name]
    beside = [path for path in tests if set(folders) & set(path.relative_to(TOP).parts) or name in path.stem]
    of_package = [path for path, text in texts.items() if f"from {package}" in text]
    return list(dict.fromkeys([*importing, *beside, *of_package]))[:MOST_FILES]


def outcome_of(fault: Fault, copy: Path, seconds: float) -> Outcome:
    """Run the tests that cover a fault's module on the copy that has it."""
    files = covering(fault.file)
    source = (TOP / fault.file).read_text(encoding="utf-8")
    (copy / fault.file).write_text(fault.written(source), encoding="utf-8")
    paths = [str(copy / path.relative_to(TOP)) for path in files]
    options = ["-x", "-q", "-n", "2", "-m", "not slow and not processes", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(copy / name) for name in CODE)}
    try:
        ended = _run([sys.executable, "-m", "pytest", *options, *paths], copy, environment, seconds)
    except subprocess.TimeoutExpired:
        result = "late"
    else:
        result = "survived" if ended == 0 else "found"
    (copy / fault.file).write_text(source, encoding="utf-8")
    return Outcome(fault.kind, fault.file, fault.line, result, len(files))


def _run(command: Sequence[str], folder: Path, environment: dict[str, str], seconds: float) -> int:
    """The exit code; whoever takes longer is ended with all processes that it started."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            raise


def main() -> None:
    parser = argparse.ArgumentParser(description="How many faults the tests find.")
    parser.add_argument("--faults", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=180, help="the most that the tests of one fault may take")
    parser.add_argument("--out", type=Path, help="a CSV file of the outcomes")
    options = parser.parse_args()
    outcomes = list[Outcome]()
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "copy"
        shutil.copytree(TOP, copy, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__"), symlinks=True)
        for fault in drawn_faults(options.faults, options.seed):
            outcomes.append(outcome_of(fault, copy, options.seconds))
            print(*asdict(outcomes[-1]).values(), flush=True)
    counts = {word: sum(one.outcome == word for one in outcomes) for word in ("found", "survived", "late")}
    print(", ".join(f"{word} {count}" for word, count in counts.items()))
    if options.out is not None:
        with options.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([field.name for field in fields(Outcome)])
            writer.writerows(asdict(one).values() for one in outcomes)


if __name__ == "__main__":
    main()
