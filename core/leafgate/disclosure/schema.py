"""What a stored report must look like, key by key."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from leafgate.api.components import Strict
from leafgate.types.report import Verdict

# --- Numbers as stored reports have them: exact, or veiled ---

Whole = Annotated[int, Field(ge=0, lt=2**53)]


class FewerThan(Strict):
    """A veiled number: below this."""

    fewer_than: float


class MoreThan(Strict):
    """A veiled number: above this."""

    more_than: float


class FromTo(Strict):
    """A veiled number: between these, both included."""

    low: float = Field(alias="from")
    high: float = Field(alias="to")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            raise ValueError("`from` is above `to`")
        return self


Count = Whole | FewerThan | FromTo
Value = float | FewerThan | MoreThan | FromTo


# --- What the pictures of a stored report must be drawn from: bars, guesses, a tree ---

Share = Annotated[float, Field(ge=0, le=1)]


class BarDocument(Strict):
    """People at some scores."""

    low: float | None = Field(None, alias="from")
    high: float | None = Field(None, alias="to")
    people: Count
    past: bool | None


class AttackAccuracyDocument(Strict):
    """How often an attack's best guess is right."""

    attack: str
    secret: str
    right: Share
    commonest: Share


class NodeDocument(Strict):
    """A node of the tree, after its parent."""

    parent: Annotated[int, Field(ge=0)] | None
    kind: Literal["test", "leaf", "folded"]
    leaves: Whole
    risk: Literal["past", "allowed", "within", "nobody"] | None = None
    leaves_past: Whole | None = None
    people: Whole | None = None
    past: dict[str, Whole] = {}  # noqa: RUF012  a pydantic field
    way: str = ""
    words: str = ""
    beliefs: tuple[BeliefDocument, ...] = ()
    equivalence_class: ClassDocument | None = None

    @model_validator(mode="after")
    def _of_somebody(self) -> Self:
        if self.beliefs and self.people is None:
            raise ValueError("has beliefs about people it does not count")
        if self.equivalence_class is not None and (self.people is None or self.people >= self.equivalence_class.people):
            raise ValueError("has an equivalence class that is not larger than its people are many")
        return self


class ClassDocument(Strict):
    """Of a leaf: the smallest equivalence class of its people, and what tests ask that the adversary does not know."""

    people: Whole
    unknown: Annotated[tuple[str, ...], Field(min_length=1)]


class BeliefDocument(Strict):
    """What an attack believes of a leaf's people, and what is true."""

    attack: str
    secret: str
    believed: Annotated[dict[str, Share], Field(min_length=1, max_length=1)]
    true: dict[str, Whole]


class TreeDocument(Strict):
    """The tree to draw."""

    trees: Whole
    number: Whole = 1
    coloured: bool
    nodes: Annotated[tuple[NodeDocument, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _parents_first(self) -> Self:
        parents = [node.parent for node in self.nodes]
        if parents[0] is not None or not all(
            parent is not None and parent < i for i, parent in enumerate(parents) if i
        ):
            raise ValueError("a node does not stand after its parent")
        return self


# --- What a stored report's evidence must look like where the core or a view reads it; metrics add keys of their
#     own ---

OPEN = ConfigDict(extra="allow", strict=True, frozen=True)


class GroupTold(BaseModel):
    """A group of people."""

    model_config = OPEN

    people: Count
    path: str = ""
    true: dict[str, Count] = {}
    possible_values: Whole | None = None


class TriedTold(BaseModel):
    """What an attack that tried to refute a claim came to."""

    model_config = OPEN


class DisclosureDocument(BaseModel):
    """One thing a model's file tells."""

    model_config = OPEN

    severity: Literal["low", "medium", "high"]
    says: str


class EvidenceTold(BaseModel):
    """What stands beside a finding's number."""

    model_config = OPEN

    worst: tuple[GroupTold, ...] = ()
    tried: dict[str, TriedTold] = {}
    discloses: tuple[DisclosureDocument, ...] = ()
    derived: Value | None = None
    composition: Value | None = None
    scored_because: str = ""
    unbounded: bool = False
    reason: str = ""
    problem: str = ""
    remedy: str = ""
    says: Any = Field(None)


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _a_day(text: str) -> str:
    """The text, if there is such a day."""
    date.fromisoformat(text)
    return text


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
    distribution: tuple[BarDocument, ...] = ()

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

    `rows` and `weight` are there where a column says how many people a row stands for: see
    `leafgate.engine.report_facts`.
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
    guesses: tuple[AttackAccuracyDocument, ...] = ()
    tree: TreeDocument | None = None
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
