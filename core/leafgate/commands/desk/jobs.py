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
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import AwareDatetime

from leafgate.commands.desk.cases import FACTS, POLICY, RUNS, Case, Desk, Role, checked, files_below, open_below, who
from leafgate.commands.desk.policy_text import PolicyText
from leafgate.console.progress import STEPS
from leafgate.disclosure.stored import read_report
from leafgate.errors import InvalidError, LeafgateError, Problem
from leafgate.folders import NO_FOLLOW
from leafgate.io.files import OWNER_ONLY, write_file
from leafgate.io.json import JsonDocument, readable
from leafgate.io.locks import lock
from leafgate.kernel.options import Strict
from leafgate.policy.load import load_policy

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


NUMBER = re.compile("[1-9][0-9]{0,5}")
SESSION = secrets.token_hex(16)
"""This start of the desk: what waits runs only if this start put it in line."""
Kind = Literal["read", "audit", "repair", "scrub", "protect"]
BUILT = f"{RESULTS}/release.json"
REMEDIES = {"repair": "repaired.json", "scrub": "scrubbed.json", "protect": BUILT}
"""Kinds of jobs that make a file and audit it, and what it is called; the last is made by the audit itself."""


class Stopped(Strict):
    """By whom a job was stopped, by nobody where its time was over, and when."""

    by: str
    at: AwareDatetime


class JobRecord(Strict):
    """`job.json`: what is done, who asked for it in which start of the desk, and when it began and ended."""

    format: Literal["leafgate/desk-job/1"] = "leafgate/desk-job/1"
    kind: Kind
    by: str
    asked: AwareDatetime
    session: str = ""
    seen: str = ""
    pid: int = 2
    started: AwareDatetime | None = None
    ended: AwareDatetime | None = None
    stopped: Stopped | None = None


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
    def steps(self) -> list[Step]:
        return steps_of(self.case, self.kind, self.number)

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
        end = record.ended or (record.stopped.at if record.stopped else datetime.now(UTC))
        return (end - record.started).total_seconds()

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
        """How well what was audited predicts other people, and the columns that it asks for; empty where unknown."""
        with suppress(ValueError, RecursionError):
            found = json.loads(self._text(MEASURED))
            return found if isinstance(found, dict) else {}
        return {}

    @cached_property
    def differences(self) -> list[str]:
        """What of the case is not what its report says was judged, by name; a result without any is current."""
        report, case = self.report, self.case
        if report is None:
            return []
        path = self.folder / POLICY if self.kind in REMEDIES else case.folder / POLICY
        data, release = report["data"], report["release"] or {}
        model = (release.get("file") or release).get("sha256")
        judged = {"table": data.get("sha256"), **data.get("files", {}), "model": model}
        files: dict[Role, str] = {**case.policy_files, "model": self.output}
        found = [name for role, name in files.items() if judged.get(role) != case.sha256(name)]
        is_same = self.kind not in REMEDIES or self._text(POLICY) == remedy_policy(case, self.kind).text
        seen = tuple(map(case.sha256, files_below(case.folder)))
        identify = _identity.__wrapped__ if case.policy.get("extends") else _identity  # which may be anywhere
        identity = identify(path, case.folder, case.policy, seen)
        stated = (report["policy"]["sha256"], report["policy"].get("waivers_sha256"))
        return [*found, *([] if is_same and stated == identity else [POLICY])]

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

    def save(self, **record: Any) -> Job:
        written = self.record.model_copy(update=record).model_dump(mode="json", exclude_none=True)
        write_file(self.folder / JOB, readable(written), OWNER_ONLY)
        return Job(self.case, self.number)

    def _report(self, name: str) -> JsonDocument | None:
        try:
            with open_below(self.folder, name):
                return read_report(self.folder / name)
        except LeafgateError:
            return None

    def _text(self, name: str) -> str:
        return (self.case.content(f"{RUNS}/{self.number}/{name}") or b"").decode(errors="replace")


@lru_cache(maxsize=256)
def _identity(
    path: Path, root: Path, _policy: PolicyText, _seen: tuple[str | None, ...]
) -> tuple[str | None, str | None]:
    """The digests by which reports name a policy and its waivers; the same for the same text and files of the case."""
    try:
        stated = load_policy(path, root).policy.identity
    except LeafgateError:
        return None, None
    return stated["sha256"], stated.get("waivers_sha256")


def jobs_of(case: Case) -> list[Job]:
    """The jobs of a case, the first first."""
    runs = case.folder / RUNS
    if runs.is_symlink() or not runs.is_dir():
        return []
    entries = (entry for entry in os.scandir(runs) if entry.is_dir(follow_symlinks=False))
    numbers = sorted(int(entry.name) for entry in entries if NUMBER.fullmatch(entry.name))
    jobs = (Job(case, number) for number in numbers)
    return [job for job in jobs if os.path.lexists(job.folder / JOB) and job.record]


def ask_job(case: Case, kind: Kind) -> Job:
    """Put a job in line; a remedy gets a policy of its own."""
    runs = case.folder / RUNS
    if runs.is_symlink():
        raise InvalidError("is a link, and links are not followed", place=RUNS)
    runs.mkdir(mode=0o700, exist_ok=True)
    number = 1 + max((int(name) for name in os.listdir(runs) if NUMBER.fullmatch(name)), default=0)
    job = Job(case, number)
    job.folder.mkdir(mode=0o700)
    if kind in REMEDIES:
        write_file(job.folder / POLICY, remedy_policy(case, kind).text.encode(), OWNER_ONLY)
    record = JobRecord(kind=kind, by=who(), asked=datetime.now(UTC), session=SESSION, seen=case.state_digest)
    write_file(job.folder / JOB, readable(record.model_dump(mode="json", exclude_none=True)), OWNER_ONLY)
    return job


def remedy_policy(case: Case, kind: Kind) -> PolicyText:
    """The policy by which what a remedy made is audited: that of the case, but for the file."""
    if kind != "protect":
        return case.policy.changed({("build", "path"): REMEDIES[kind]})
    leaves = case.policy.get("publish", "leaves") or "counts"
    return case.policy.changed(
        {("build",): protected_build(case.policy), ("publish",): {"leaves": leaves, "measure": True}}
    )


def steps_of(case: Case, kind: Kind, number: int) -> list[Step]:
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
    required = {"exposure": {"name", "at_most"}, "confidence": {"name"}}
    kept = [(required[limit["use"]], limit) for limit in limits if limit.get("use") in required]
    require = [{key: value for key, value in limit.items() if key not in left_out} for left_out, limit in kept]
    return {"use": "kadet", "k": max([10, *groups]), "require": require}


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

    def add(self, case: Case, kind: Kind) -> Job:
        """Put a job in line; where the same one waits or runs already, that one."""
        with self._guard:
            jobs = (job for job in jobs_of(case) if job.kind == kind and job.record.seen == case.state_digest)
            same = [job for job in jobs if job.is_open]
            job = same[0] if same else ask_job(case, kind)
        self._wake.set()
        return job

    def stop(self, job: Job) -> None:
        """Stop a job, or take it out of the line."""
        with self._guard:
            job = Job(job.case, job.number)
            if job.is_open:
                job.save(stopped=Stopped(by=who(), at=datetime.now(UTC)))

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
                    begun = {} if process else {"started": datetime.now(UTC)}
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
                self._save(job, stopped=Stopped(by="", at=datetime.now(UTC)))
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
