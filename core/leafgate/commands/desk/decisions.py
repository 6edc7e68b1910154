"""Decisions about what a job audited: the case beside its public report, and the form by which somebody decides.

What a decision may be, and what becomes of it, is of `leafgate.commands.case`; here is how pages ask for it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from leafgate.commands.attest.keys import Signer
from leafgate.commands.case.folder import Case, decide, open_case, request_for
from leafgate.commands.case.record import CASE, Choice, Request, StateName
from leafgate.commands.desk.cases import RUNS
from leafgate.commands.desk.jobs import PUBLIC, REMEDIES, RESULTS, Job, jobs_of
from leafgate.commands.desk.words import words
from leafgate.errors import InvalidError, LeafgateError, Problem
from leafgate.io.json import JsonDocument, JsonObject, canonical
from leafgate.reports.sheet import PLACE, SheetFacts, read_facts

CHOICES: Mapping[str, Choice] = {choice: choice for choice in get_args(Choice)}
QUESTION = re.compile(r"questions\[(\d+)\]")


@dataclass(frozen=True)
class Decider:
    """Who decides at a desk, nobody without a key, and the ledger to which approved releases are added."""

    signer: Signer | None = None
    ledger: Path | None = None
    ledger_key: bytes | None = None


@dataclass(frozen=True)
class Decided:
    """What was decided about the result of a job, as its files are now.

    Attributes:
        job: the job.
        case: the case beside its report; None where it cannot be read.
        problems: why it cannot be read, or does not hold whatever it says.
    """

    job: Job
    case: Case | None
    problems: tuple[Problem, ...] = ()

    @property
    def state(self) -> StateName:
        """The state of the case; void where something is wrong with it."""
        return "void" if self.case is None or self.problems else self.case.state.name

    @property
    def at(self) -> datetime:
        """When the last decision was made; now, where it cannot be read."""
        decisions = () if self.case is None else self.case.record.decisions
        return datetime.fromisoformat(decisions[-1].at) if decisions else datetime.now(UTC)

    @property
    def void(self) -> list[str]:
        """Why decisions about it are void, each with both digests."""
        wrong = [str(problem).replace(f"{self.job.folder}/", "") for problem in self.problems]
        judged = () if self.case is None else self.case.state.decisions
        return [*wrong, *dict.fromkeys(f"{each.decision.by}: {why}" for each in judged for why in each.void)]

    @property
    def later_failed(self) -> list[int]:
        """The numbers of later audits of the same files by the same policy that did not pass."""
        audits = [each for each in jobs_of(self.job.case) if each.kind == self.job.kind == "audit"]
        later = [each for each in audits if each.number > self.job.number and not each.differences]
        return [each.number for each in later if each.report is not None and each.report["verdict"] != "pass"]

    @property
    def seen(self) -> str:
        """Changes whenever the files do, or somebody decides: what is signed is what the page showed."""
        if self.case is None:
            return ""
        subject = canonical({**self.case.subject.digests, "verdict": self.case.subject.verdict})
        return hashlib.sha256(subject + self.case.record.content).hexdigest()

    @property
    def file(self) -> JsonDocument:
        """The file that would leave: its name, its size, and its digest as it was audited and as it is now."""
        if self.case is None:
            raise InvalidError("cannot be read", place=CASE)
        release = self.case.report["release"]
        part = "file" if "file" in release else "release"
        path = self.job.case.folder / self.job.output
        audited = (release["file"] if part == "file" else release)["sha256"]
        return {
            "name": path.name,
            "path": f"{self.job.case.name}/{self.job.output}",
            "size": path.stat().st_size if path.is_file() else 0,
            "sha256": audited,
            "now": self.case.subject.digests[part],
        }


def has_decisions(job: Job) -> bool:
    """Is there a file of decisions beside the report of a job?"""
    return os.path.lexists(job.folder / CASE)


def decided_about(job: Job) -> Decided | None:
    """What was decided about the result of a job; None where there is nothing to decide about."""
    report = job.public_report if job.kind != "read" and job.state == "done" else None
    is_decided = has_decisions(job)
    if not is_decided and (report is None or report["release"] is None):
        return None
    try:
        for name in (PUBLIC, CASE) if is_decided else ():
            if job.case.content(f"{RUNS}/{job.number}/{name}") is None:
                raise InvalidError("is no file in the folder of the case: links are not followed", place=name)
        case = open_case(job.folder / PUBLIC, _request(job))
        return Decided(job, case, (*_problems_of_decided(job),) if is_decided else ())
    except LeafgateError as error:
        return Decided(job, None, error.problems)


def _problems_of_decided(job: Job) -> Iterator[Problem]:
    """Why nothing that was decided about the result of a job holds, whatever the file of the decisions says."""
    if not job.is_by_policy_of_case:
        message = "is not the policy of the case with what a remedy may change"
        yield Problem(job.policy_file, message, "make the file anew")
    if not job.has_reports_of_one_audit:
        yield Problem(PUBLIC, f"is of another audit than {RESULTS}/report.json", "audit again")


def decided_in(jobs: Sequence[Job]) -> list[Decided]:
    """The results that were decided about, the last one last, without those after which an audit was asked for."""
    found = [each for job in jobs if has_decisions(job) and (each := decided_about(job))]
    audits = [job for job in jobs if job.is_of_case]
    over = [
        each for each in found if any(job.number > each.job.number and job.record.asked > each.at for job in audits)
    ]
    return sorted((each for each in found if each not in over), key=lambda each: each.at)


def _request(job: Job, facts: SheetFacts | None = None) -> Request:
    """The request by the paths of the desk, whatever the file of the case says."""
    policy, root = job.case.folder / job.policy_file, job.case.folder if job.kind in REMEDIES else None
    return request_for(job.folder / PUBLIC, policy, job.case.org, root, facts)


@dataclass(frozen=True)
class OpenQuestion:
    """A question that nobody examined, or that waits for the requester, and what it is about."""

    key: str
    name: str
    asks: str
    about: tuple[str, ...] = ()


def open_questions(found: Decided, doubts: Sequence[tuple[str, str, Sequence[str]]]) -> list[OpenQuestion]:
    """All questions that whoever decides speaks to; `doubts` has those of the desk, by name."""
    not_examined = {} if found.case is None else found.case.subject.not_examined
    listed = [*((name, asks, ()) for name, asks in not_examined.items()), *doubts]
    return [OpenQuestion(f"q{at}", name, asks, (*about,)) for at, (name, asks, about) in enumerate(listed)]


@dataclass(frozen=True)
class DecisionForm:
    """What somebody wrote into the form of a decision."""

    questions: Sequence[OpenQuestion]
    given: Mapping[str, str]

    @property
    def answers(self) -> list[tuple[OpenQuestion, JsonObject]]:
        """What is said about the questions, as a case has it."""
        said = [(one, self.given.get(one.key, ""), self.given.get(f"{one.key}-why", "")) for one in self.questions]
        return [
            (one, {"question": one.name, "acceptable": choice == "yes", "because": why})
            for one, choice, why in said
            if choice in {"yes", "no"}
        ]

    def problems(self, found: Decided, decider: Decider, *, is_signed: bool) -> dict[str, str]:
        """Record the decision where `is_signed`, else see whether that is possible; by field what hinders it."""
        if (hindrances := dict(self._gaps())) or decider.signer is None:
            return hindrances or {"": words()["decide"]["key"]}
        if self.given["decision"] == "approve" and (numbers := found.later_failed):
            return {"decision": words()["decide"]["later"].format(number=numbers[-1])}
        facts = {name: text for name in words()["decide"]["facts"] if (text := self.given.get(name, "").strip())}
        try:
            decide(
                found.job.folder / PUBLIC,
                CHOICES[self.given["decision"]],
                reason=self.given["reason"],
                by=self.given["by"],
                signer=decider.signer,
                questions=[answer for _, answer in self.answers],
                request=_request(found.job, read_facts(canonical(facts)) if facts else None),
                ledger=decider.ledger,
                ledger_key=decider.ledger_key,
                is_written=is_signed,
            )
        except LeafgateError as error:
            found_at = [(self._field(each.location), each) for each in reversed(error.problems)]
            return {field: str(replace(each, location="") if field else each) for field, each in found_at}
        return {}

    def _gaps(self) -> Iterator[tuple[str, str]]:
        """The fields in which something is missing."""
        for one in self.questions:
            choice, why = self.given.get(one.key, ""), self.given.get(f"{one.key}-why", "").strip()
            if choice and not why:
                yield f"{one.key}-why", words()["decide"]["why"]
            elif not choice and (why or self.given.get("decision") == "approve"):
                yield one.key, words()["decide"]["acceptable"]
        if self.given.get("decision") not in CHOICES:
            yield "decision", words()["decide"]["decision"]
        yield from (
            (name, words()["decide"][name]) for name in ("reason", "by") if not self.given.get(name, "").strip()
        )

    def _field(self, location: str) -> str:
        """The field that a problem is about; none where it is about the files."""
        if number := QUESTION.match(location):
            return f"{self.answers[int(number[1])][0].key}-why"
        name = location.removeprefix(f"{PLACE}: ").removeprefix("--")
        return name if name in {"by", "reason", "decision", *words()["decide"]["facts"]} else ""
