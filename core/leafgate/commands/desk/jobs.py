"""Jobs: command lines of a case that run in processes of their own, one after the other, each in a folder of its own.

A job is a file, and so are the marks of its end: a desk that is started again finds what waits and what still runs.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from leafgate.commands.desk.cases import FACTS, POLICY, RUNS, Case, Desk, Role, checked, open_below, who
from leafgate.commands.desk.policy_text import PolicyText
from leafgate.console.progress import STEPS
from leafgate.disclosure.stored import read_report
from leafgate.errors import InvalidError, LeafgateError, Problem
from leafgate.folders import NO_FOLLOW
from leafgate.io.files import OWNER_ONLY, write_file
from leafgate.io.json import JsonDocument, readable
from leafgate.io.locks import lock
from leafgate.kernel.options import Strict
from leafgate.session.expected_run import ExpectedRun

LIMIT_SECONDS = 30 * 60
"""How long a job may take."""
GRACE_SECONDS = 5.0
"""How long a job that is stopped has to end by itself."""
POLL_SECONDS = 0.1
MAX_REPAIR_LINES = 12
"""Lines of a repair that are shown."""
JOB, LOCK, RESULTS, MEASURED = "job.json", "lock", "results", "measured.json"
PUBLIC = "public.json"
"""The report for the public, which `leafgate audit --json` prints."""
IDENTITY = ("sha256", "waivers_sha256")
"""The keys by which reports name a policy and its waivers."""
FOR_EVERYBODY = ("verdict", "waived", "policy", "versions")
"""What the two reports of an audit have in common, beside what became of each limit."""

NUMBER = re.compile("[1-9][0-9]{0,5}")
SESSION = secrets.token_hex(16)
"""This start of the desk: what waits runs only if this start put it in line."""
Kind = Literal["read", "audit", "repair", "scrub", "set"]
BUILT = f"{RESULTS}/release.json"
REMEDIES = {"repair": "repaired.json", "scrub": "scrubbed.json", "set": BUILT}
"""Kinds of jobs that make a file and audit it, and what it is called; the audit itself builds the last one."""
CHANGED = "^(build|publish)([.][a-z_]+)?$"
"""The keys of a policy that a remedy may change: what is built and published, and never a limit or a column."""


class JobRecord(Strict):
    """`job.json`: what is done, who asked for it in which start of the desk, and when it began and ended.

    Attributes:
        changes: what the policy of a remedy says in place of the case's, by its keys.
        files: the digests that the files of the policy had when it began.
        stopped: by whom it was stopped; empty where its time was over.
    """

    format: Literal["leafgate/desk-job/1"] = "leafgate/desk-job/1"
    kind: Kind
    by: str
    asked: AwareDatetime
    session: str = ""
    seen: str = ""
    changes: dict[Annotated[str, Field(pattern=CHANGED)], Any] = {}  # noqa: RUF012  # pydantic copies it
    files: dict[Role, str] = {}  # noqa: RUF012
    pid: int = 2
    started: AwareDatetime | None = None
    ended: AwareDatetime | None = None
    stopped: str | None = None


@dataclass(frozen=True)
class Step:
    """A program of a job: a module with its arguments, the file that it makes, and the file for what it prints."""

    words: tuple[str, ...]
    makes: str
    out: str


@dataclass(frozen=True)
class Job:
    """A job as its folder has it."""

    case: Case
    number: int

    @property
    def folder(self) -> Path:
        return self.case.folder / RUNS / str(self.number)

    @cached_property
    def record(self) -> JobRecord:
        """What `job.json` says; InvalidError where it cannot be read."""
        place = f"{RUNS}/{self.number}/{JOB}"
        return checked(JobRecord, self.case.content(place), f"{self.case.name}/{place}")

    @property
    def kind(self) -> Kind:
        return self.record.kind

    @property
    def policy_file(self) -> str:
        """The policy by which it judges, from the folder of the case; a remedy has one of its own."""
        return f"{RUNS}/{self.number}/{POLICY}" if self.kind in REMEDIES else POLICY

    @property
    def policy(self) -> PolicyText:
        """The policy by which it is to judge: that of the case as it is now, with the changes of a remedy."""
        policy = self.case.policy
        for key, value in self.record.changes.items():
            policy = policy.changed({tuple(key.split(".")): value})
        return policy

    @property
    def is_of_case(self) -> bool:
        """Does it judge what the case's policy asks for? A remedy does once its file is the one of the case."""
        if self.kind not in REMEDIES:
            return self.kind == "audit"
        identity = self.case.validated(self.policy_file).identity
        return bool(identity) and identity == self.case.validated().identity

    @property
    def is_by_policy_of_case(self) -> bool:
        """Is the policy by which it judges that of the case as it is now, but for the changes of a remedy?"""
        if self.kind not in REMEDIES:
            return True
        with suppress(LeafgateError):
            return PolicyText(self._text(POLICY)).document == self.policy.document
        return False

    @property
    def steps(self) -> list[Step]:
        """What it runs, from the folder of its case: of a job's file only its kind counts, whoever wrote it."""
        below, case, kind = f"{RUNS}/{self.number}", self.case, self.kind
        if kind == "read":
            return [Step(("leafgate.commands.desk.reading", "."), f"../../{FACTS}", "reading.json")]
        root = ["--root", "."] if kind in REMEDIES else []
        policy = [self.policy_file, *root, *(word for path in case.org for word in ("--org", str(path)))]
        results = ["--out", f"{below}/{RESULTS}", "--audience", "auditor", "--to", "html", "--json"]
        steps = [
            Step(("leafgate", "audit", *policy, *results), f"{RESULTS}/report.json", PUBLIC),
            Step(("leafgate.commands.desk.measuring", policy[0], below), MEASURED, "measuring.json"),
        ]
        model, new = f"./{case.files.get('model')}", f"{below}/{REMEDIES.get(kind)}"
        level = "labels" if case.policy.get("publish", "leaves") == "labels" else "shares"
        options = {"repair": ["--policy", POLICY, "--out", new], "scrub": [new, "--leaves", level, "--policy", POLICY]}
        if kind in options:
            steps.insert(0, Step(("leafgate", kind, model, *options[kind]), REMEDIES[kind], f"{kind}.txt"))
        return steps

    @property
    def state(self) -> str:
        """`waiting`, `running`, `stopped`, `failed` where it did not make what it is for, or `done`.

        What an earlier start of the desk put in line does not run, and what it began goes on by itself.
        """
        record, is_own = self.record, self.record.session == SESSION
        if record.stopped is not None:
            return "stopped"
        if record.started is None and record.ended is None:
            return "waiting" if is_own else "stopped"
        if record.ended is None and (is_own or _is_held(self)):
            return "running"
        made = self.case.is_read if self.kind == "read" else self.report is not None
        return "done" if made else "failed"

    @property
    def is_open(self) -> bool:
        return self.state in {"waiting", "running"}

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        record = self.record
        if record.started is None:
            return 0.0
        return ((record.ended or datetime.now(UTC)) - record.started).total_seconds()

    @property
    def steps_begun(self) -> list[tuple[str, float | None]]:
        """The steps that began, with the seconds that each took; None for the one that is under way."""
        lines = [line.partition(" ") for line in self._text("steps").splitlines()]
        begun = [(float(at), words) for at, _, words in lines if words]
        ends = [*(at for at, _ in begun[1:]), None]
        return [(words, None if end is None else end - at) for (at, words), end in zip(begun, ends, strict=False)]

    @cached_property
    def report(self) -> JsonDocument | None:
        """The auditor's report; None where there is none."""
        return self._report(f"{RESULTS}/report.json")

    @cached_property
    def public_report(self) -> JsonDocument | None:
        """The report for the public; None where there is none."""
        return self._report(PUBLIC)

    @property
    def has_reports_of_one_audit(self) -> bool:
        """Do its two reports agree? Whoever audits into its folder by hand may leave that of an older audit there."""
        own, public = self.report, self.public_report
        return own is None or public is None or _in_common(own) == _in_common(public)

    @property
    def measured(self) -> dict[str, Any]:
        """How well what was audited predicts other people, and the columns that it asks for; empty where unknown."""
        with suppress(ValueError, RecursionError):
            found = json.loads(self._text(MEASURED))
            return found if isinstance(found, dict) else {}
        return {}

    @cached_property
    def differences(self) -> list[str]:
        """What of the case is not what its report says was judged, by name; a result without any is current.

        What the report has no digest of, since it may disclose people, is compared with the digest when the job began.
        """
        report, case = self.report, self.case
        if report is None:
            return [f"{RUNS}/{self.number}/{RESULTS}/report.json"]
        data, release = report["data"], report["release"] or {}
        known = {"table": data.get("sha256"), **data.get("files", {})}
        known["model"] = (release.get("file") or release).get("sha256")
        judged = {**self.record.files, **{role: digest for role, digest in known.items() if digest}}
        files: dict[Role, str] = {**case.policy_files, "model": self.output}
        found = [name for role, name in files.items() if judged.get(role, "") != case.sha256(name)]
        found += [] if self.has_reports_of_one_audit else [f"{RUNS}/{self.number}/{PUBLIC}"]
        identity = case.validated(self.policy_file).identity
        is_stated = bool(identity) and all(report["policy"].get(key) == identity.get(key) for key in IDENTITY)
        return [*found, *([] if self.is_by_policy_of_case and is_stated else [POLICY])]

    @property
    def output(self) -> str:
        """The file that its audit judged, from the folder of the case."""
        built = f"{RUNS}/{self.number}/{REMEDIES.get(self.kind, BUILT)}"
        return built if self.kind in REMEDIES else self.case.policy_files.get("model", built)

    @property
    def problems(self) -> list[str]:
        """Why it failed, in lines without a cell of the table."""
        lines = list[str]()
        for step in self.steps:
            text = self._text(step.out)
            try:
                listed = json.loads(text)["problems"]
                lines += [str(Problem(each["place"], each["message"], each["remedy"])) for each in listed]
            except (ValueError, KeyError, TypeError):
                lines += text.splitlines() if step.out.endswith(".txt") else []
        lines += [line.removeprefix("leafgate: ") for line in self._text("errors").splitlines()]
        return lines or ["It ended without a result: was the memory used up?"]

    @property
    def repair_lines(self) -> list[str]:
        """What a repair has printed of what it did."""
        lines = self._text("repair.txt").splitlines() if self.kind == "repair" else []
        return [line.strip() for line in lines if line.startswith("  ")][:MAX_REPAIR_LINES]

    def save(self, before: JobRecord | None = None, **record: Any) -> Job:
        written = (before or self.record).model_copy(update=record).model_dump(mode="json", exclude_none=True)
        write_file(self.folder / JOB, readable(written), OWNER_ONLY)
        return Job(self.case, self.number)

    def _report(self, name: str) -> JsonDocument | None:
        """A report of its folder, with its waivers judged today."""
        try:
            with open_below(self.folder, name):
                return ExpectedRun().judged(read_report(self.folder / name), self.folder / name)[0]
        except LeafgateError:
            return None

    def _text(self, name: str) -> str:
        return (self.case.content(f"{RUNS}/{self.number}/{name}") or b"").decode(errors="replace")


def _in_common(report: JsonDocument) -> list[Any]:
    """What a report of an audit says to everybody."""
    limits = [(finding["id"], finding["passed"]) for finding in report["findings"]]
    return [*(report[key] for key in FOR_EVERYBODY), limits]


def jobs_of(case: Case) -> list[Job]:
    """The jobs of a case, the first first."""
    runs = case.folder / RUNS
    if runs.is_symlink() or not runs.is_dir():
        return []
    entries = (entry for entry in os.scandir(runs) if entry.is_dir(follow_symlinks=False))
    numbers = sorted(int(entry.name) for entry in entries if NUMBER.fullmatch(entry.name))
    jobs = (Job(case, number) for number in numbers)
    return [job for job in jobs if os.path.lexists(job.folder / JOB) and job.record]


def ask_job(case: Case, kind: Kind, changes: Mapping[str, Any] | None = None) -> Job:
    """Put a job in line; a remedy gets a policy of its own, with these changes."""
    runs = case.folder / RUNS
    if runs.is_symlink():
        raise InvalidError("is a link, and links are not followed", place=RUNS)
    runs.mkdir(mode=0o700, exist_ok=True)
    number = 1 + max((int(name) for name in os.listdir(runs) if NUMBER.fullmatch(name)), default=0)
    job = Job(case, number)
    job.folder.mkdir(mode=0o700)
    record = JobRecord(kind=kind, by=who(), asked=datetime.now(UTC), session=SESSION, seen=case.state_digest)
    job = job.save(record, changes=changes or ({"build.path": REMEDIES[kind]} if kind in REMEDIES else {}))
    if kind in REMEDIES:
        write_file(job.folder / POLICY, job.policy.text.encode(), OWNER_ONLY)
    return job


class Line:
    """The line in which jobs wait: one runs at a time, in a thread of this object."""

    def __init__(self, desk: Desk, ledger: Path | None = None, ledger_key: Path | None = None) -> None:
        self._desk, self._guard = desk, threading.Lock()
        named = {"--ledger": ledger, "--ledger-key": ledger_key}
        self._ledger = [word for name, path in named.items() if path for word in (name, str(path.absolute()))]
        self._wake, self._closed = threading.Event(), False
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)

    def open(self) -> None:
        """Begin to work."""
        self._thread.start()

    def close(self) -> None:
        """Stop working; a job that runs goes on, and the next desk of the folder finds it."""
        self._closed = True
        self._wake.set()
        self._thread.join(GRACE_SECONDS)

    def add(self, case: Case, kind: Kind, changes: Mapping[str, Any] | None = None) -> Job:
        """Put a job in line; where the same one waits or runs already, that one."""
        with self._guard:
            jobs = (job for job in jobs_of(case) if job.kind == kind and job.record.seen == case.state_digest)
            same = [job for job in jobs if job.is_open and changes in (None, job.record.changes)]
            job = same[0] if same else ask_job(case, kind, changes)
        self._wake.set()
        return job

    def stop(self, job: Job) -> None:
        """Stop a job, or take it out of the line."""
        with self._guard:
            job = Job(job.case, job.number)
            if job.is_open:
                job.save(stopped=who(), ended=datetime.now(UTC))

    def waiting(self) -> list[Job]:
        """What runs, and then what waits, in the order in which it was asked for."""
        found = []
        for case in self._desk.cases():
            with suppress(LeafgateError, OSError):  # whatever is wrong with a case, the others go on
                found += [job for job in jobs_of(case) if job.is_open]
        return sorted(found, key=lambda job: (job.state != "running", job.record.asked, job.case.name, job.number))

    def _work(self) -> None:
        while not self._closed:
            self._wake.clear()
            if not (jobs := self.waiting()):
                self._wake.wait()
                continue
            try:
                self._run(jobs[0])
            except Exception as error:  # a job that cannot be run stops no other
                print(f"leafgate desk: a job could not be run: {type(error).__name__}", file=sys.stderr)
                with suppress(LeafgateError, OSError):
                    self._save(jobs[0], ended=datetime.now(UTC))
                time.sleep(POLL_SECONDS)

    def _save(self, job: Job, **record: Any) -> None:
        """Note how far a job is; one that was stopped meanwhile stays stopped."""
        with self._guard:
            job = Job(job.case, job.number)
            if job.record.stopped is None:
                job.save(session=SESSION, **record)

    def _run(self, job: Job) -> None:
        """Do what is left of a job, which an earlier desk may have begun."""
        self._save(job)
        job.case.refuse_links()
        if any(path.is_symlink() for path in job.folder.iterdir()):
            raise InvalidError("holds a link, and links are not followed", place=f"{RUNS}/{job.number}")
        process = None
        for step in job.steps:
            if (job.folder / step.makes).exists():
                continue
            with open(job.folder / LOCK, "a", opener=_owner_only) as held:
                if lock(held.fileno()) is not False:  # else a process of an earlier desk is still at it
                    is_begun = process or job.record.started  # maybe by an earlier desk
                    begun = {} if is_begun else {"started": datetime.now(UTC), "files": job.case.digests()}
                    more = self._ledger if step.words[:2] == ("leafgate", "audit") else ()
                    process = _start(job, replace(step, words=(*step.words, *more)), held.fileno())
                    self._save(job, pid=process.pid, **begun)
            if not self._wait(job, process):
                return
            if not (job.folder / step.makes).exists():
                break
        self._save(job, ended=datetime.now(UTC))

    def _wait(self, job: Job, process: subprocess.Popen[bytes] | None) -> bool:
        """Wait for a process; False where it was stopped, or where the desk is closed before it has ended."""
        while _is_held(job) or (process is not None and process.poll() is None):
            now_ = Job(job.case, job.number)
            if now_.state == "stopped" or now_.seconds > LIMIT_SECONDS:
                _end(job, max(now_.record.pid, 2), process)
                self._save(job, stopped="", ended=datetime.now(UTC))
                return False
            if self._closed:
                return False
            time.sleep(POLL_SECONDS)
        return Job(job.case, job.number).state != "stopped"


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags | NO_FOLLOW, OWNER_ONLY)


def _is_held(job: Job) -> bool:
    """Does a process of the job still run? It holds the job's lock, by whatever desk it was started."""
    with suppress(OSError), open(job.folder / LOCK, "r+b", opener=_owner_only) as file:
        return lock(file.fileno()) is False
    return False


def _start(job: Job, step: Step, held: int) -> subprocess.Popen[bytes]:
    """Start a step in a process group of its own, which keeps the job's lock until all of it has ended."""
    words = [sys.executable, "-P", "-m", "leafgate.commands.desk.limited", *step.words]
    environment = {**os.environ, STEPS: str(job.folder / "steps")}
    with (
        open(job.folder / step.out, "wb", opener=_owner_only) as out,
        open(job.folder / "errors", "ab", opener=_owner_only) as errors,
    ):
        return subprocess.Popen(  # noqa: S603  # the words are of `Job.steps`
            words,
            cwd=job.case.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            start_new_session=True,
            pass_fds=(held,),
        )


def _end(job: Job, pid: int, process: subprocess.Popen[bytes] | None) -> None:
    """End a job's process group, whose number is not anybody else's while the job's lock is held."""
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
        end = time.monotonic() + seconds
        if _is_held(job):
            with suppress(OSError):
                os.killpg(pid, number)
        while _is_held(job) and time.monotonic() < end:
            if process is not None:
                process.poll()
            time.sleep(POLL_SECONDS)
