"""Auditing every point of a sweep: side by side in processes, each result kept, none computed twice."""

from __future__ import annotations

import hashlib
import multiprocessing
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leafgate.auditing import audit, versions_of
from leafgate.disclosure import Audience, document
from leafgate.errors import DataError, InconclusiveError, LeafgateError, PolicyError
from leafgate.files import EVERYONE, make_folder, remove_files, write_file
from leafgate.plugins import Plugins
from leafgate.policy import Policy
from leafgate.policy_file import policy_of
from leafgate.results import RESULTS, write_results
from leafgate.running import Read, Tables, overridden
from leafgate.strict_json import canonical, parse_json, readable
from leafgate.sweep.axes import Point

REPORT, KEY = "report.json", "point.json"


@dataclass(frozen=True)
class Task:
    """What every worker needs: where the policy's files are, what the command line overrides, where results go."""

    beside: Path
    root: Path | None
    data: Path | None
    test: Path | None
    out: Path
    audience: Audience
    fresh: bool


@dataclass(frozen=True)
class Result:
    """What came of one point: its report as the audience may see it, or why there is none, and its folder."""

    point: Point
    report: dict[str, Any] | None
    folder: str
    problem: str = ""

    @property
    def verdict(self) -> str:
        return "inconclusive" if self.report is None else str(self.report["verdict"])


def policy_at(point: Point, task: Task) -> tuple[Policy, Plugins]:
    """The policy of one point; PolicyError names the point beside what is wrong."""
    try:
        loaded = policy_of(dict(point.document), task.beside, task.root)
    except LeafgateError as error:
        problems = [replace(problem, place=f"{point.label}: {problem.place}") for problem in error.problems]
        raise type(error).listing(problems) from None
    policy = overridden(loaded.policy, task.data, task.test)
    _refuse_choosing(policy, point)
    return policy, loaded.plugins


def _refuse_choosing(policy: Policy, point: Point) -> None:
    """Choosing among releases by what the data say breaks a promise of differential privacy."""
    builder = policy.build
    promised = "epsilon" in builder.promises or builder.randomness == "system"
    if promised and not getattr(builder, "rehearsal", False):
        raise PolicyError(
            f"{builder.use} promises differential privacy, or draws what may be drawn once; to choose the best of "
            "several releases of the same people breaks that",
            place=f"{point.label}: build",
            remedy="choose options without the data, or say `rehearsal: true` on data that are nobody's",
        )


def run_points(
    points: Sequence[Point], tables: Tables, task: Task, workers: int, done: Callable[[], None]
) -> list[Result]:
    """Each point's result, in order, whoever computed it; `done` is called after each."""
    named = list(zip(points, folders_of(points), strict=True))
    if workers <= 1 or len(points) <= 1:
        return list(_told(map(_Auditor(tables, task), named), done))
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, spawn, initializer=_begin, initargs=(tables, task)) as pool:
        try:
            return list(_told(pool.map(_work, named), done))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _told(results: Iterator[Result], done: Callable[[], None]) -> Iterator[Result]:
    for result in results:
        done()
        yield result


@dataclass(frozen=True)
class _Auditor:
    """Audits a point, or takes over the result of an earlier run of the very same audit."""

    tables: Tables
    task: Task

    def __call__(self, named: tuple[Point, str]) -> Result:
        point, name = named
        policy, plugins = policy_at(point, self.task)
        read, folder = self.tables.of(policy), self.task.out / name
        key = self._key(policy, plugins, read)
        kept = None if self.task.fresh else _kept(folder, key)
        if kept is not None:
            return Result(point, kept, name)
        try:
            audited = audit(policy, plugins, *read)
        except InconclusiveError as error:
            return Result(point, None, name, str(error))
        make_folder(folder)
        remove_files(folder, (*RESULTS, KEY))
        write_results(audited, self.task.audience, folder)
        write_file(folder / KEY, key, EVERYONE)
        return Result(point, document(audited.report, self.task.audience), name)

    def _key(self, policy: Policy, plugins: Plugins, read: Read) -> bytes:
        """Everything a result depends on, in a digest."""
        tables = [None if one is None else one.sha256 for one in read]
        told = canonical([policy.sha256, tables, versions_of(policy, plugins), self.task.audience])
        return readable({"format": "leafgate/point/1", "sha256": hashlib.sha256(told).hexdigest()})


def _kept(folder: Path, key: bytes) -> dict[str, Any] | None:
    """The report of an earlier run that finished with the same key; None where there is none that can be read."""
    try:
        if (folder / KEY).read_bytes() != key:
            return None
        found = parse_json((folder / REPORT).read_bytes(), DataError, REPORT)
    except (OSError, LeafgateError):
        return None
    return found if isinstance(found, dict) and "verdict" in found else None


def folders_of(points: Sequence[Point]) -> list[str]:
    """A folder's name for each point: its options in words, a number added where two would be the same."""
    names: list[str] = []
    for point in points:
        words = re.sub(r"[^A-Za-z0-9=.-]+", "_", point.label).strip("_.")[:80]
        same = sum(name.partition("~")[0] == words for name in names)
        names.append(f"{words}~{same + 1}" if same else words)
    return names


_worker: list[_Auditor] = []


def _begin(tables: Tables, task: Task) -> None:
    _worker[:] = [_Auditor(tables, task)]


def _work(named: tuple[Point, str]) -> Result:
    return _worker[0](named)
