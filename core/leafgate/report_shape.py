"""What a stored report must look like, key by key."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from leafgate.policy_column import Strict
from leafgate.report import Verdict
from leafgate.report_drawn import BarTold, GuessTold, TreeTold
from leafgate.report_evidence import EvidenceTold
from leafgate.report_numbers import Count, Value, Whole

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _a_day(told: str) -> str:
    """The text, if there is such a day."""
    date.fromisoformat(told)
    return told


Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_a_day)]
Status = Literal[
    "applied", "expired", "not_yet", "unused", "unknown", "other_release", "broken_limit", "not_waivable"
]  # fmt: skip


class LimitTold(Strict):
    """What was asked for: nothing, or one limit."""

    at_least: float = Field(None)  # type: ignore[assignment]
    at_most: float = Field(None)  # type: ignore[assignment]
    average: bool = False
    allow: Annotated[float, Field(ge=0, lt=1)] = 0.0
    scored: Literal["worst", "derived", "composition"] = "derived"
    """By which distribution it was judged; `derived` in reports from before it was written."""

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if {"at_least", "at_most"} <= self.model_fields_set:
            raise ValueError("limits both ways")
        return self


class WhereTold(Strict):
    """The line of the policy."""

    file: str
    line: Annotated[int, Field(ge=1)]
    folder: str = ""


class Nowhere(Strict):
    """Nobody knows which line."""


class WaiverTold(Strict):
    """A waiver, on the finding it holds for."""

    id: str
    owner: str
    approved_by: str
    reason: str
    issued: Day
    expires: Day


class WaiverJudged(WaiverTold):
    """A waiver of the policy, and what became of it."""

    finding: str
    release: Digest = Field(None)  # type: ignore[assignment]
    file: Digest = Field(None)  # type: ignore[assignment]
    limit: dict[str, float] = {}  # noqa: RUF012  a pydantic field
    status: Status
    message: str
    where: WhereTold | Nowhere = Nowhere()

    @model_validator(mode="after")
    def _one_digest(self) -> Self:
        if len({"release", "file"} & self.model_fields_set) != 1:
            raise ValueError("names one digest: of a release, or of a file")
        return self


class FindingTold(Strict):
    """One finding."""

    id: str
    attack: str | None
    secret: str | None
    metric: str
    use: str = ""
    value: Value | None
    step: Annotated[float, Field(gt=0)] | None = None
    limit: LimitTold
    passed: bool | None
    people: Count | None
    beyond: Count | None
    evidence: EvidenceTold
    alarm: str = ""
    plugin: str
    where: WhereTold | Nowhere = Nowhere()
    waiver: WaiverTold = Field(None)  # type: ignore[assignment]
    distribution: tuple[BarTold, ...] = ()

    @model_validator(mode="after")
    def _waived_only_if_failed(self) -> Self:
        if self.waiver is not None and self.passed is not False:
            raise ValueError("is waived, though it did not fail")
        if self.distribution and not self.limit.model_fields_set & {"at_least", "at_most"}:
            raise ValueError("has people's scores, and no limit")
        return self


class PolicyTold(Strict):
    """Which policy."""

    name: str
    sha256: Digest
    file: str = ""
    folder: str = ""
    repository: str = ""
    extends: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    waivers_sha256: Digest | None = None


class DataTold(Strict):
    """Which people; nothing where differential privacy is claimed, and plain digests for auditors only.

    `rows` and `weight` are there where a column says how many people a row stands for: see `leafgate.data_facts`.
    """

    people: Count | None = None
    rows: Count | None = None
    weight: Count | None = None
    distinct: Count | None = None
    dropped: Count | None = None
    commented: Count | None = None
    sha256: Digest | None = None
    files: dict[str, Digest] = {}  # noqa: RUF012  a pydantic field
    keyed_sha256: Digest | None = None


class FileTold(Strict):
    """The file that the release was read from; `sha256` is that of its bytes."""

    name: Annotated[str, Field(min_length=1)]
    format: Annotated[str, Field(min_length=1)]
    sha256: Digest


class ReleaseTold(Strict):
    """Which release; `sha256` is that of leafgate's own rendition, which depends on the policy's columns too."""

    file: FileTold = Field(None)  # type: ignore[assignment]
    sha256: Digest
    builder: dict[str, Any]
    trees: Whole
    leaves: Whole
    records: Count | None = None
    drawn_once: bool = False


class AttackTold(Strict):
    """An attack that was tried, and what it takes an adversary to have."""

    name: str
    assumes: str


class MethodTold(Strict):
    """How the audit was made."""

    known: tuple[str, ...]
    secret: tuple[str, ...]
    unknown: tuple[str, ...]
    granted: tuple[str, ...]
    attacks: tuple[AttackTold, ...]
    publishes: str = ""
    claims: dict[str, Any] = Field(default_factory=dict)


class ReportTold(Strict):
    """A report, as the files of audits have it."""

    format: Literal["leafgate/report/1"]
    verdict: Verdict
    audience: Literal["public", "auditor"]
    waived: Whole
    judged_on: Day = Field(None)  # type: ignore[assignment]
    policy: PolicyTold
    data: DataTold
    release: ReleaseTold | None
    findings: tuple[FindingTold, ...]
    method: MethodTold | None = None
    waivers: tuple[WaiverJudged, ...] = ()
    guesses: tuple[GuessTold, ...] = ()
    tree: TreeTold | None = None
    versions: dict[str, str]
    notes: tuple[str, ...]

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        """The verdict is the one its findings give: a report that was edited by hand is none."""
        waived = sum(finding.waiver is not None for finding in self.findings)
        if self.waivers and self.judged_on is None:
            raise ValueError("has waivers, and no day on which they were judged")
        held = [finding.passed for finding in self.findings if finding.waiver is None]
        undecided = None in held or not self.findings
        verdict = "fail" if False in held else "inconclusive" if undecided else "pass"
        if (verdict, waived) != (self.verdict, self.waived):
            raise ValueError(f"its findings make it {verdict!r} with {waived} waived, which is not what it says")
        return self
