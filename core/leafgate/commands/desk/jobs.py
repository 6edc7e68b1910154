"""Jobs: command lines of a case that run in processes of their own, one after the other, each in a folder of its own.

A job is a file, and so are the marks of its end: a desk that is started again finds what waits and what still runs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from leafgate.commands.desk.cases import FACTS, POLICY, RUNS, Case, Desk, now, open_below, who
from leafgate.commands.desk.policy_text import PolicyText
from leafgate.console.progress import STEPS
from leafgate.disclosure.stored import read_report
from leafgate.errors import InvalidError, LeafgateError
from leafgate.folders import NO_FOLLOW
from leafgate.io.files import OWNER_ONLY, write_file
from leafgate.io.json import JsonDocument, readable
from leafgate.io.locks import lock

LIMIT_SECONDS = 30 * 60
"""How long a job may take."""
GRACE_SECONDS = 5.0
"""How long a job that is stopped has to end by itself."""
POLL_SECONDS = 0.1
MAX_SAID = 12
"""Lines of a repair that are shown."""
MAX_OUTPUT_BYTES = 2**24
"""The most of an output that is read."""
JOB, LOCK, RESULTS, MEASURED = "job.json", "lock", "results", "measured.json"
PUBLIC = "public.json"
"""The report for the public, which `leafgate audit --json` prints."""


KINDS = frozenset({"read", "audit", "repair", "scrub", "protect"})
REMEDIES = {"repair": "repaired.json", "scrub": "scrubbed.json", "protect": "release.json"}
"""Kinds of jobs that make a file and audit it, and what it is called; the last is made by the audit itself."""


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
    def record(self) -> dict[str, Any]:
        """What is done, who asked for it, and when it began and ended."""
        return self._json(JOB)

    @property
    def kind(self) -> str:
        """One of KINDS."""
        return str(self.record.get("kind", ""))

    @property
    def steps(self) -> list[Step]:
        return steps_of(self.case, self.kind, self.number)

    @property
    def state(self) -> str:
        """`waiting`, `running`, `stopped`, `failed` where it did not make what it is for, or `done`."""
        if "stopped" in self.record:
            return "stopped"
        if "ended" in self.record:
            made = self.case.is_read if self.kind == "read" else self.report is not None
            return "done" if made else "failed"
        return "running" if "started" in self.record else "waiting"

    @property
    def is_open(self) -> bool:
        return self.state in {"waiting", "running"}

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        if "started" not in self.record:
            return 0.0
        end = self.record.get("ended") or self.record.get("stopped", {}).get("at") or now()
        return (datetime.fromisoformat(end) - datetime.fromisoformat(self.record["started"])).total_seconds()

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

    @property
    def public_report(self) -> JsonDocument | None:
        return self._report(PUBLIC)

    @property
    def measured(self) -> dict[str, Any]:
        """How well what was audited predicts other people, and the columns that it asks for."""
        return self._json(MEASURED)

    @property
    def is_out_of_date(self) -> bool:
        """Was the policy or a file of the case changed since?"""
        return bool(self.record.get("inputs") != self.case.inputs_digest)

    @property
    def problems(self) -> list[str]:
        """Why it failed, in lines without a cell of the table."""
        lines = list[str]()
        for step in self.steps:
            text = self._text(step.out)
            try:
                listed = json.loads(text)["problems"]
                lines += [" ".join(filter(None, [each["message"], each["remedy"]])) for each in listed]
            except (ValueError, KeyError, TypeError):
                lines += text.splitlines() if step.out.endswith(".txt") else []
        lines += [line.removeprefix("leafgate: ") for line in self._text("errors").splitlines()]
        return lines or ["It ended without a result: was the memory used up?"]

    @property
    def said(self) -> list[str]:
        """What a repair has printed of what it did."""
        lines = self._text("repair.txt").splitlines() if self.kind == "repair" else []
        return [line.strip() for line in lines if line.startswith("  ")][:MAX_SAID]

    def save(self, **record: Any) -> Job:
        write_file(self.folder / JOB, readable({**self.record, **record}), OWNER_ONLY)
        return Job(self.case, self.number)

    def _report(self, name: str) -> JsonDocument | None:
        try:
            with open_below(self.folder, name):
                return read_report(self.folder / name)
        except LeafgateError:
            return None

    def _json(self, name: str) -> dict[str, Any]:
        with suppress(ValueError, RecursionError):
            found = json.loads(self._text(name))
            return found if isinstance(found, dict) else {}
        return {}

    def _text(self, name: str) -> str:
        try:
            with open_below(self.folder, name) as file:
                return file.read(MAX_OUTPUT_BYTES).decode(errors="replace")
        except LeafgateError:
            return ""


def jobs_of(case: Case) -> list[Job]:
    """The jobs of a case, the first first."""
    runs = case.folder / RUNS
    if runs.is_symlink() or not runs.is_dir():
        return []
    numbers = sorted(
        int(entry.name) for entry in os.scandir(runs) if entry.name.isdecimal() and entry.is_dir(follow_symlinks=False)
    )
    return [job for number in numbers if (job := Job(case, number)).kind in KINDS]


def ask_job(case: Case, kind: str) -> Job:
    """Put a job of one of KINDS in line; a remedy gets a policy of its own."""
    runs = case.folder / RUNS
    if runs.is_symlink():
        raise InvalidError("is a link, and links are not followed", place=RUNS)
    runs.mkdir(mode=0o700, exist_ok=True)
    number = 1 + max((int(entry.name) for entry in os.scandir(runs) if entry.name.isdecimal()), default=0)
    job = Job(case, number)
    job.folder.mkdir(mode=0o700)
    if kind in REMEDIES:
        changes: dict[Any, Any] = {("build", "path"): REMEDIES[kind]}
        if kind == "protect":
            changes = {("build",): protected_build(case.policy)}
            changes["publish",] = {"leaves": "counts", "measure": True}
        write_file(job.folder / POLICY, case.policy.changed(changes).text.encode(), OWNER_ONLY)
    return job.save(format="leafgate/desk-job/1", kind=kind, by=who(), asked=now(), inputs=case.inputs_digest)


def steps_of(case: Case, kind: str, number: int) -> list[Step]:
    """What a job runs, from the folder of its case: of a job's file only its kind counts, whoever wrote it."""
    below = f"{RUNS}/{number}"
    if kind == "read":
        return [Step(("leafgate.commands.desk.reading", "."), f"../../{FACTS}", "reading.json")]
    policy = [f"{below}/{POLICY}", "--root", "."] if kind in REMEDIES else [POLICY]
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


def protected_build(policy: PolicyText) -> dict[str, Any]:
    """A builder that keeps the policy's own limits on groups by construction."""
    limits = policy.get("metrics") or []
    groups = [limit["at_least"] for limit in limits if limit.get("use") == "k_anonymity" and "at_least" in limit]
    exposure = [{k: v for k, v in limit.items() if k != "at_most"} for limit in limits if limit["use"] == "exposure"]
    confidence = [limit for limit in limits if limit.get("use") == "confidence"]
    return {"use": "kadet", "k": max([10, *groups]), "require": [*exposure, *confidence]}


class Line:
    """The line in which jobs wait: one runs at a time, in a thread of this object."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._guard = desk, threading.Lock()
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

    def add(self, case: Case, kind: str) -> Job:
        """Put a job in line; where the same one waits or runs already, that one."""
        with self._guard:
            same = [job for job in jobs_of(case) if job.is_open and job.kind == kind and not job.is_out_of_date]
            job = same[0] if same else ask_job(case, kind)
        self._wake.set()
        return job

    def stop(self, job: Job) -> None:
        """Stop a job, or take it out of the line."""
        with self._guard:
            job = Job(job.case, job.number)
            if job.is_open:
                job.save(stopped={"by": who(), "at": now()})

    def waiting(self) -> list[Job]:
        """What runs, and then what waits, in the order in which it was asked for."""
        found = [job for case in self._desk.cases() for job in jobs_of(case) if job.is_open]
        return sorted(found, key=lambda job: (job.state != "running", job.record["asked"], job.case.name, job.number))

    def _work(self) -> None:
        while not self._closed:
            self._wake.clear()
            if not (jobs := self.waiting()):
                self._wake.wait()
                continue
            try:
                self._run(jobs[0])
            except (OSError, LeafgateError, ValueError) as error:
                print(f"leafgate desk: a job could not be run: {type(error).__name__}", file=sys.stderr)
                self._save(jobs[0], ended=now())

    def _save(self, job: Job, **record: Any) -> None:
        """Note how far a job is; one that was stopped meanwhile stays stopped."""
        with self._guard:
            job = Job(job.case, job.number)
            if "stopped" not in job.record:
                job.save(**record)

    def _run(self, job: Job) -> None:
        """Do what is left of a job, which an earlier desk may have begun."""
        job.case.refuse_links()
        if any(path.is_symlink() for path in job.folder.iterdir()):
            raise InvalidError("holds a link, and links are not followed", place=f"{RUNS}/{job.number}")
        process = None
        for step in job.steps:
            if (job.folder / step.makes).exists():
                continue
            with open(job.folder / LOCK, "a", opener=_owner_only) as held:
                if lock(held.fileno()) is not False:  # else a process of an earlier desk is still at it
                    begun = {} if process else {"started": now()}
                    process = _start(job, step, held.fileno())
                    self._save(job, pid=process.pid, **begun)
            if not self._wait(job, process):
                return
            if not (job.folder / step.makes).exists():
                break
        self._save(job, ended=now())

    def _wait(self, job: Job, process: subprocess.Popen[bytes] | None) -> bool:
        """Wait for a process; False where it was stopped, or where the desk is closed before it has ended."""
        while _is_held(job) or (process is not None and process.poll() is None):
            now_ = Job(job.case, job.number)
            if now_.state == "stopped" or now_.seconds > LIMIT_SECONDS:
                _end(job, max(int(now_.record["pid"]), 2), process)
                self._save(job, stopped={"by": "", "at": now()})
                return False
            if self._closed:
                return False
            time.sleep(POLL_SECONDS)
        return Job(job.case, job.number).state != "stopped"


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags | NO_FOLLOW, OWNER_ONLY)


def _is_held(job: Job) -> bool:
    """Does a process of the job still run? It holds the job's lock, by whatever desk it was started."""
    with open(job.folder / LOCK, "a", opener=_owner_only) as file:
        return lock(file.fileno()) is False


def _start(job: Job, step: Step, held: int) -> subprocess.Popen[bytes]:
    """Start a step in a process group of its own, which keeps the job's lock until all of it has ended."""
    words = [sys.executable, "-P", "-m", "leafgate.commands.desk.limited", *step.words]
    environment = {**os.environ, STEPS: str(job.folder / "steps")}
    with (
        open(job.folder / step.out, "wb", opener=_owner_only) as out,
        open(job.folder / "errors", "ab", opener=_owner_only) as errors,
    ):
        return subprocess.Popen(  # noqa: S603  # the words are of `steps_of`
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
