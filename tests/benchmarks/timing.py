"""Paired timings: ours and the peer's in turn, medians and the median of the ratios."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
    """Run a report as a command: --root DIR, and --write PAGE to put it between the page's two markers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    report_document = report(chosen.root)
    print(report_document)
    if chosen.write is not None:
        write_between(chosen.write, start, end, report_document)


def write_between(page: Path, start: str, end: str, content: str) -> None:
    """Put a text between the two markers of a page; the rest stays as it is."""
    text = page.read_text(encoding="utf-8")
    before, after = text.split(start)[0], text.split(end)[1]
    page.write_text(f"{before}{start}\n{content}\n{end}{after}", encoding="utf-8")
