"""Auditing one point of a sweep, or taking over what an earlier run found of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from leafgate.api import DataError, InconclusiveError, LeafgateError, PolicyError
from leafgate.api.registry import Plugins
from leafgate.commands.sweep.axes import Point
from leafgate.io.files import OWNER_ONLY, make_folder, remove_files, write_file
from leafgate.io.json import parse_json, readable
from leafgate.kernel.options import digest_of
from leafgate.kernel.policy import Policy
from leafgate.kernel.release import Claim
from leafgate.policy.load import policy_of
from leafgate.session.results import RELEASE, result_files, write_results
from leafgate.session.run import SharedTables, audit_inputs_sha256, audit_policy, with_data_files

REPORT, KEY = "report.json", "point.json"


@dataclass(frozen=True)
class Task:
    """What every worker needs: where the policy's files are, what the command line overrides, where results go."""

    folder: Path
    root: Path | None
    data: Path | None
    test: Path | None
    out: Path
    audience: Literal["public", "auditor"]
    fresh: bool


@dataclass(frozen=True)
class Result:
    """What came of one point: its report as the audience may see it, or why there is none, and its folder."""

    point: Point
    report: dict[str, Any] | None
    folder: str
    trouble: str = ""

    @property
    def problem(self) -> str:
        """Why there is no number for something: what could not be run, built or decided."""
        findings = [] if self.report is None else self.report["findings"]
        items = [
            f["evidence"].get("problem") or f["evidence"].get("reason") for f in findings if f["passed"] is not True
        ]
        return self.trouble or next((str(text) for text in items if text), "")

    @property
    def fails_on(self) -> tuple[str, ...]:
        """The ids of the findings whose limits are broken, in the order of the report."""
        findings = [] if self.report is None else self.report["findings"]
        return tuple(str(finding["id"]) for finding in findings if finding["passed"] is False)

    @property
    def verdict(self) -> str:
        return "inconclusive" if self.report is None else str(self.report["verdict"])


@contextmanager
def at_point(point: Point) -> Iterator[None]:
    """What is wrong with one point says so."""
    try:
        yield
    except LeafgateError as error:
        problems = [
            replace(problem, location=f"{point.label}: {problem.location}".rstrip(": ")) for problem in error.problems
        ]
        raise type(error).listing(problems) from None


def policy_at(point: Point, task: Task) -> tuple[Policy, Plugins]:
    """The policy of one point, without waivers: what is looked for are releases that need none."""
    loaded = policy_of(dict(point.document), task.folder, task.root)
    policy = with_data_files(loaded.policy, task.data, task.test).model_copy(update={"waivers": ()})
    _refuse_choosing(policy)
    return policy, loaded.plugins


def _refuse_choosing(policy: Policy) -> None:
    """Choosing among releases by what the data say breaks a promise of differential privacy."""
    builder = policy.build
    promised = any(Claim.of(kind).covers_data for kind in builder.guarantees) or builder.randomness == "system"
    if promised:
        _refuse_promise(policy)


def _refuse_promise(policy: Policy) -> None:
    """PolicyError for a promise that choosing breaks, unless it is a rehearsal."""
    if not policy.build.is_rehearsal:
        raise PolicyError(
            f"{policy.build.use} promises differential privacy, or draws what may be drawn once; to choose the best of "
            "several releases of the same people breaks that",
            place="build",
            remedy="choose options without the data, or say `rehearsal: true` on data that are nobody's",
        )


@dataclass(frozen=True)
class Auditor:
    """Audits a point, or takes over the result of an earlier run of the very same audit."""

    task: Task
    tables: SharedTables = field(default_factory=SharedTables)

    def __call__(self, named: tuple[Point, str]) -> Result:
        point, name = named
        with at_point(point):
            return self._result(point, name)

    def _result(self, point: Point, name: str) -> Result:
        policy, plugins = policy_at(point, self.task)
        read, folder = self.tables.of(policy, plugins), self.task.out / name
        sha256 = audit_inputs_sha256(policy, plugins, read, self.task.audience)
        key = readable({"format": "leafgate/point/1", "sha256": sha256})
        kept = None if self.task.fresh else _kept(folder, key)
        if kept is not None:
            return Result(point, kept, name)
        make_folder(folder)
        remove_files(folder, (KEY, *result_files(plugins)))  # what has lost a file is no finished point any more
        try:
            audited = audit_policy(policy, plugins, read)
        except InconclusiveError as error:
            return Result(point, None, name, str(error))
        if audited.artifact is not None and audited.artifact.release.claims_differential_privacy:
            _refuse_promise(policy)
        write_results(audited, self.task.audience, folder)
        write_file(folder / KEY, key, OWNER_ONLY)
        return Result(point, _stored_report(folder), name)


def _kept(folder: Path, key: bytes) -> dict[str, Any] | None:
    """The report of an earlier run that finished with the same key; None where there is none that can be read."""
    try:
        if (folder / KEY).read_bytes() != key:
            return None
        report = _stored_report(folder)
    except (OSError, LeafgateError):
        return None
    if "verdict" not in report:
        return None
    release = report.get("release")
    return report if release is None or digest_of(folder / RELEASE) == release["sha256"] else None


def _stored_report(folder: Path) -> dict[str, Any]:
    """The report in a folder of results."""
    report = parse_json((folder / REPORT).read_bytes(), DataError, REPORT)
    if not isinstance(report, dict):
        raise DataError("is no report", place=REPORT)
    return report
