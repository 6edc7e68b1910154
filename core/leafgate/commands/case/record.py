"""The file of a case: a request, and decisions of which each is signed and has the digest of what stands before it.

The file holds no state. What it comes to follows from its decisions and from the files that they are about, as these
are now: a decision about other files is void. Whoever has a key of somebody who decided can write a decision of hers.
Nobody notices that the last decisions were cut off without the digest of the file, which `leafgate attest` signs.

Source: the chain as in `leafgate.io.ledger`; signatures are RFC 8032.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from leafgate.commands.attest.keys import Signer, is_signed
from leafgate.errors import ExitCode, InvalidError, Problem, format_path, plain
from leafgate.io.json import JsonDocument, canonical, parse_json, readable
from leafgate.kernel.findings import EXIT_CODES, Verdict
from leafgate.kernel.options import Strict
from leafgate.kernel.spelling import similar_form
from leafgate.kernel.waivers import Words, same_person
from leafgate.reports.sheet import SheetFacts

FORMAT: Literal["leafgate/case/1"] = "leafgate/case/1"
CASE = "case.json"
"""The name of the file, which stands beside the report."""
MAX_BYTES = 2**22
"""A file of more bytes is no case."""
ANEW = "do not rely on it: set the file aside, and let everybody decide again"


def _says_something(text: str) -> str:
    if not similar_form(text):
        raise ValueError("says nothing")
    return text


def _is_time(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo != UTC:
        raise ValueError("is no time in UTC")
    return text


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Says = Annotated[Words, AfterValidator(_says_something)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_says_something)]
Choice = Literal["approve", "changes", "reject"]
STRICTNESS: Sequence[Choice] = ("approve", "changes", "reject")
"""Decisions, the strictest last."""


class Request(Strict):
    """What is asked for, and by which policy it was audited."""

    facts: SheetFacts
    """Who asks, what for, and what else a decision sheet has."""
    policy: str
    """The path of the policy, from the folder of the case."""
    org: tuple[str, ...] = ()
    """The paths of the policies that it was held to."""
    root: str | None = None
    """The path of the folder of its data files."""


class About(Strict):
    """The digests of what a decision is about."""

    policy: Digest
    """The policy."""
    waivers: Digest | None = None
    """Its waivers, where it has some."""
    report: Digest
    """The file of the report."""
    release: Digest
    """The release."""
    file: Digest | None = None
    """The audited file, where the release was read from one."""


class Answered(Strict):
    """What somebody says about a question that nobody examined."""

    question: Name
    """The name of the question, as a mapping has it, or of another one that is open."""
    acceptable: bool
    """Whether it is acceptable here that nobody examined it."""
    because: Says
    """Why."""


class Decision(Strict):
    """What somebody decided."""

    decision: Choice
    """The release may leave, must be changed first, or may not leave."""
    reason: Says
    """Why."""
    by: Name
    """Who decided."""
    at: Annotated[str, Field(max_length=40), AfterValidator(_is_time)]
    """When, in UTC, as she says."""
    about: About
    """What it is about."""
    questions: tuple[Answered, ...] = ()
    """The questions that nobody examined, in her judgement."""
    previous: Digest
    """The SHA-256 of the decision before it, or of the request."""
    key: Digest
    """Her public key, Ed25519."""
    signature: Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]
    """The signature of everything else in it."""

    @model_validator(mode="after")
    def _fits_its_questions(self) -> Self:
        names = [each.question for each in self.questions]
        if len({*names}) < len(names):
            raise ValueError("answers a question twice")
        refused = [each.question for each in self.questions if not each.acceptable]
        if self.decision == "approve" and refused:
            raise ValueError(f"cannot be `approve` where `{refused[0]}` is not acceptable")
        return self


class CaseRecord(Strict):
    """The content of `case.json`."""

    format: Literal["leafgate/case/1"] = FORMAT
    """The format."""
    request: Request
    """What is asked for."""
    decisions: tuple[Decision, ...] = ()
    """What was decided, the first decision first."""

    @model_validator(mode="after")
    def _is_one_chain(self) -> Self:
        before: Strict = self.request
        for number, decision in enumerate(self.decisions, 1):
            if decision.previous != _digest(before):
                raise ValueError(f"decision {number} does not follow what stands before it")
            if not is_signed(decision.key, decision.signature, _signed_bytes(_document(decision))):
                raise ValueError(f"decision {number} is not as it was signed")
            before = decision
        return self

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return readable(_document(self))


def parse_case(content: bytes, place: str) -> CaseRecord:
    """The case in the bytes of a file, every one of which counts.

    Raises:
        InvalidError: it is none, or is not as leafgate wrote it: its chain or a signature does not hold.
    """
    if len(content) > MAX_BYTES:
        raise InvalidError(f"is larger than {MAX_BYTES // 2**20} MB", place=place, remedy=ANEW)
    document = parse_json(content, InvalidError, place)
    try:
        record = CaseRecord.model_validate_json(canonical(document))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)[0]
        known = format_path(found["loc"]) if found["type"] != "extra_forbidden" else ""
        where = f"{place}: {known}" if known else place
        raise InvalidError(f"was changed: {plain(found['msg'])}", place=where, remedy=ANEW) from None
    if record.content != content:
        raise InvalidError("was changed: it is not as leafgate wrote it", place=place, remedy=ANEW)
    return record


def with_decision(record: CaseRecord, decided: JsonDocument, signer: Signer) -> CaseRecord:
    """The case with another decision, which its author signs.

    Args:
        record: the case.
        decided: the entries of a `Decision` but for `at`, `previous`, `key` and `signature`.
        signer: her private key.

    Raises:
        InvalidError: the entries are no decision.
    """
    before = record.decisions[-1] if record.decisions else record.request
    at = datetime.now(UTC).isoformat(timespec="seconds")
    unsigned = {**decided, "at": at, "previous": _digest(before), "key": signer.public}
    try:
        # entries that are left out have their defaults before anything is signed
        decision = Decision.model_validate_json(canonical({**unsigned, "signature": "0" * 128}))
    except UnicodeEncodeError:
        raise InvalidError("is no text in UTF-8", place="decision", remedy="write it in UTF-8") from None
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = format_path(found["loc"]) or "decision"
        raise InvalidError(plain(found["msg"]), place=where, remedy="state a decision, a name and words") from None
    signature = signer.sign(_signed_bytes(_document(decision)))
    signed = decision.model_copy(update={"signature": signature})
    return CaseRecord(request=record.request, decisions=(*record.decisions, signed))


def _document(part: Strict) -> JsonDocument:
    return part.model_dump(mode="json", exclude_none=True)


def _digest(part: Strict) -> str:
    return hashlib.sha256(canonical(_document(part))).hexdigest()


def _signed_bytes(decision: JsonDocument) -> bytes:
    """What is signed: no statement and no other file begins so."""
    unsigned = {key: entry for key, entry in decision.items() if key != "signature"}
    return f"{FORMAT}\n".encode() + canonical(unsigned)


@dataclass(frozen=True)
class Subject:
    """What a case is about, as it is now.

    Attributes:
        digests: of what decisions are about, by the fields of `About`; None where there is nothing that can be read.
            What is left out is not compared.
        verdict: of the report, with its waivers judged today.
        not_examined: the questions that nobody examined, by their names.
        wanted: how many people must decide.
    """

    digests: Mapping[str, str | None]
    verdict: Verdict
    not_examined: Mapping[str, str]
    wanted: int


@dataclass(frozen=True)
class JudgedDecision:
    """A decision of a case, why it is void, and whether it is hidden until a second person has decided."""

    decision: Decision
    void: tuple[str, ...]
    is_hidden: bool


StateName = Literal["undecided", "waiting", "approved", "changes", "rejected", "void"]
STATES: Mapping[Choice, StateName] = {"approve": "approved", "changes": "changes", "reject": "rejected"}
"""The state of a case by the strictest decision."""
WORDS: Mapping[StateName, str] = {
    "undecided": "nobody decided",
    "waiting": "waiting for a second person: decided",
    "approved": "approved",
    "changes": "changes wanted",
    "rejected": "rejected",
    "void": "every decision is void",
}
"""What a state is called; whoever decided stands behind it."""


@dataclass(frozen=True)
class CaseState:
    """What a case comes to.

    Attributes:
        name: `void` where somebody decided, and every decision is void.
        verdict: of the report.
        wanted: how many people must decide.
        decisions: all decisions, the first first.
    """

    name: StateName
    verdict: Verdict
    wanted: int
    decisions: tuple[JudgedDecision, ...]

    @property
    def words(self) -> str:
        """The state and who decided so, as far as their decisions hold."""
        people = dict.fromkeys(each.decision.by for each in self.decisions if not each.void)
        return f"{WORDS[self.name]} by {', '.join(people)}" if people else WORDS[self.name]

    @property
    def exit_code(self) -> int:
        """0 where it is approved, 1 where it is refused or a limit is broken, else 3."""
        if self.name == "approved":
            return ExitCode.PASS
        return ExitCode.FAIL if self.name in {"changes", "rejected"} else EXIT_CODES[self.verdict] or 3


def state_of(record: CaseRecord, subject: Subject, trusted: Collection[str] | None = None) -> CaseState:
    """What a case comes to.

    Args:
        record: the case.
        subject: what it is about, as that is now.
        trusted: the public keys of those who may decide; None where nobody says it.

    Returns:
        Where decisions disagree, the strictest one; nothing is approved that did not pass.
    """
    judged, counted = list[JudgedDecision](), list[Decision]()
    people = 0
    for decision in record.decisions:
        void = (*_void_reasons(decision, subject, trusted),)
        if not void:
            people += not any(_is_author(other, decision.by, decision.key) for other in counted)
            counted.append(decision)
        same = [other for other in record.decisions if other.about == decision.about]
        is_hidden = len({other.key for other in same}) < subject.wanted
        judged.append(JudgedDecision(decision, void, is_hidden))
    name: StateName = "void" if record.decisions else "undecided"
    if counted:
        strictest = max((each.decision for each in counted), key=STRICTNESS.index)
        name = "waiting" if people < subject.wanted else STATES[strictest]
    return CaseState(name, subject.verdict, subject.wanted, tuple(judged))


def _is_author(decision: Decision, name: str, key: str) -> bool:
    """Is a decision of this person, by her name, however it is spelled, or by her key?"""
    return decision.key == key or same_person(decision.by, name)


def _void_reasons(decision: Decision, subject: Subject, trusted: Collection[str] | None) -> Iterator[str]:
    about = decision.about.model_dump()
    for part, now in subject.digests.items():
        if about[part] != now:
            yield f"the {part} is not what was decided about: {_short(about[part])} then, {_short(now)} now"
    if trusted is not None and decision.key not in trusted:
        yield f"it is signed by {decision.key[:16]}, which is none of the keys that you named"
    if decision.decision == "approve":
        if subject.verdict != "pass":
            yield f"it approves, and the verdict is {subject.verdict}"
        missing = sorted({*subject.not_examined} - {each.question for each in decision.questions})
        if missing:
            yield f"it approves, and says nothing about what nobody examined: {', '.join(missing)}"


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:16]


def problems_of_author(record: CaseRecord, state: CaseState, by: str, key: str) -> Iterator[Problem]:
    """Why somebody may not decide: she decided already, or it is her own request."""
    for each in state.decisions:
        if not each.void and _is_author(each.decision, by, key):
            yield Problem("--by", f"decided already, as {each.decision.by}", "let somebody else decide")
    for role in ("requester", "author"):
        name = getattr(record.request.facts, role)
        if name is not None and same_person(name, by):
            yield Problem("--by", f"is the {role}", "let somebody else decide")
