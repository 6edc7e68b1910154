"""The report document, declared once: audits write it, stored reports are checked by it, and it gives the JSON Schema.

A key is written where it was set, in the order of the fields. Keys with a default may be missing in stored reports,
which older versions wrote. Whoever reads a report may be an adversary: numbers of few people are masked before they
get here (`leafgate.disclosure.masking`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_serializer,
    model_validator,
)

from leafgate.api.components import Strict
from leafgate.io.json import JsonDocument
from leafgate.types.report import RemedyAction, Verdict


class Document(Strict):
    """A part of a report."""

    @classmethod
    def of(cls, content: Mapping[str, object]) -> Self:
        """The part with this content, by the keys of JSON; lists and tuples are both taken.

        Raises:
            ValidationError: the content is not what this part of a report may hold.
        """
        return cls.model_validate(content, strict=False)

    def json_document(self) -> JsonDocument:
        """The part as JSON: the keys that were set, in the order of the fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _checked(value: object, check: ValidatorFunctionWrapHandler) -> object:
    """The number as it was given, once it is checked."""
    check(value)
    return value


UNCHANGED = WrapValidator(_checked)
"""Keeps whole numbers: a report distinguishes 3 from 3.0."""
WRITTEN_AS_GIVEN = PlainSerializer(lambda value: value)
Number = Annotated[float, UNCHANGED, WRITTEN_AS_GIVEN]
WholeNumber = Annotated[int, Field(ge=0, lt=2**53)]
Share = Annotated[float, Field(ge=0, le=1), UNCHANGED, WRITTEN_AS_GIVEN]


class FewerThan(Document):
    """A masked number: positive, and below this one."""

    fewer_than: Number


class MoreThan(Document):
    """A masked number: above this one."""

    more_than: Number


class FromTo(Document):
    """A masked number: between these two, both included."""

    low: Number = Field(alias="from")
    high: Number = Field(alias="to")

    @classmethod
    def between(cls, low: float, high: float) -> Self:
        """The interval with these ends."""
        return cls.of({"from": low, "to": high})

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            raise ValueError("`from` is above `to`")
        return self


Count = WholeNumber | FewerThan | FromTo
"""A number of people."""
MaskedScore = Number | FewerThan | MoreThan | FromTo
"""A score."""


class BarDocument(Document):
    """The number of people whose scores lie between two numbers; None: without bound."""

    low: Number | None = Field(None, alias="from")
    high: Number | None = Field(None, alias="to")
    people: Count
    past: bool | None


class AttackAccuracyDocument(Document):
    """The shares of people for whom an attack's best guess, and the most common value, are right."""

    attack: str
    secret: str
    right: Share
    commonest: Share


class NodeDocument(Document):
    """A node of the tree; its parent is the number of an earlier node."""

    parent: Annotated[int, Field(ge=0)] | None
    kind: Literal["test", "leaf", "folded"]
    leaves: WholeNumber
    risk: Literal["past", "allowed", "within", "nobody"] | None = None
    leaves_past: WholeNumber | None = None
    people: WholeNumber | None = None
    past: dict[str, WholeNumber] = {}  # noqa: RUF012  a pydantic field
    way: str = ""
    words: str = ""
    beliefs: tuple[BeliefDocument, ...] = ()
    equivalence_class: ClassDocument | None = None

    @model_validator(mode="after")
    def _has_people(self) -> Self:
        if self.beliefs and self.people is None:
            raise ValueError("has beliefs about people it does not count")
        if self.equivalence_class is not None and (self.people is None or self.people >= self.equivalence_class.people):
            raise ValueError("has an equivalence class that is not larger than its people are many")
        return self


class ClassDocument(Document):
    """The smallest equivalence class of a leaf's people, and the columns tested above it that the adversary lacks."""

    people: WholeNumber
    unknown: Annotated[tuple[str, ...], Field(min_length=1)]


class BeliefDocument(Document):
    """An attack's most probable value for a leaf's people, with its probability, and the true values."""

    attack: str
    secret: str
    believed: Annotated[dict[str, Share], Field(min_length=1, max_length=1)]
    true: dict[str, WholeNumber]


class TreeDocument(Document):
    """The tree to draw."""

    trees: WholeNumber
    number: WholeNumber = 1
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


OPEN = ConfigDict(extra="allow", strict=True, frozen=True)


class GroupDocument(BaseModel):
    """A group of people."""

    model_config = OPEN

    people: Count
    path: str = ""
    true: dict[str, Count] = {}
    possible_values: WholeNumber | None = None


class TriedDocument(BaseModel):
    """The evidence of an attack that tried to refute a claim and failed."""

    model_config = OPEN


class FileDisclosureDocument(BaseModel):
    """One thing that a model's file discloses."""

    model_config = OPEN

    severity: Literal["low", "medium", "high"]
    says: str


class RocDocument(BaseModel):
    """A ROC curve, with an interval at each point; for auditors alone."""

    model_config = OPEN

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


class EvidenceDocument(BaseModel):
    """The evidence of a finding. It is written as it was given, once it is checked: its keys may have any order."""

    model_config = OPEN

    _content: JsonDocument | None = PrivateAttr(None)
    worst: tuple[GroupDocument, ...] = ()
    tried: dict[str, TriedDocument] = {}
    discloses: tuple[FileDisclosureDocument, ...] = ()
    derived: MaskedScore | None = None
    composition: MaskedScore | None = None
    scored_because: str = ""
    unbounded: bool = False
    reason: str = ""
    problem: str = ""
    remedy: str = ""
    says: JsonValue = Field(None)
    roc: RocDocument | None = None

    @classmethod
    def of(cls, content: JsonDocument) -> Self:
        """The evidence with this content."""
        evidence = cls.model_validate(content, strict=False)
        evidence._content = content
        return evidence

    @model_serializer(mode="wrap")
    def _as_given(self, serialize: SerializerFunctionWrapHandler) -> JsonDocument:
        content: JsonDocument = serialize(self) if self._content is None else self._content
        return content


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _check_day(text: str) -> str:
    """The text, if there is such a day."""
    date.fromisoformat(text)
    return text


Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_check_day)]
Status = Literal[
    "applied", "expired", "not_yet", "unused", "unknown", "other_release", "broken_limit", "not_waivable"
]  # fmt: skip


class LimitDocument(Document):
    """The limit of a finding; empty where the finding has none."""

    at_least: Number = Field(None)  # type: ignore[assignment]
    at_most: Number = Field(None)  # type: ignore[assignment]
    average: bool = False
    allow: Annotated[float, Field(ge=0, lt=1), UNCHANGED, WRITTEN_AS_GIVEN] = 0.0
    scored: Literal["worst", "derived", "composition"] = "derived"
    """The distribution of the secret that was judged; `derived` in reports of versions that did not write it."""

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if {"at_least", "at_most"} <= self.model_fields_set:
            raise ValueError("limits both ways")
        return self


class WhereDocument(Document):
    """A line of the policy."""

    file: str
    line: Annotated[int, Field(ge=1)]
    folder: str = ""


class Nowhere(Document):
    """The line is not known."""


class WaiverDocument(Document):
    """A waiver, on the finding that it applies to."""

    id: str
    owner: str
    approved_by: str
    reason: str
    issued: Day
    expires: Day


class JudgedWaiverDocument(Document):
    """A waiver of the policy, and whether it applies."""

    id: str
    finding: str
    release: Digest = Field(None)  # type: ignore[assignment]
    file: Digest = Field(None)  # type: ignore[assignment]
    owner: str
    approved_by: str
    reason: str
    issued: Day
    expires: Day
    limit: dict[str, Number] = {}  # noqa: RUF012  a pydantic field
    status: Status
    message: str
    where: WhereDocument | Nowhere = Nowhere()

    @model_validator(mode="after")
    def _one_digest(self) -> Self:
        if len({"release", "file"} & self.model_fields_set) != 1:
            raise ValueError("names one digest: of a release, or of a file")
        return self


class RemedyDocument(Document):
    """What can be done about a finding that is not ok; keys that the action does not need are left out."""

    action: RemedyAction
    text: Annotated[str, Field(min_length=1)]
    details: str = ""
    place: str = ""
    value: JsonValue = None
    parameters: dict[str, Number] = {}  # noqa: RUF012  a pydantic field
    command: tuple[str, ...] = ()
    tried: bool = False

    @model_validator(mode="after")
    def _has_what_the_action_needs(self) -> Self:
        needed = {"set": self.place, "add": self.place, "run": self.command, "retrain": self.parameters}
        if not needed.get(self.action, True):
            raise ValueError(f"does not say what to {self.action}")
        return self


class FindingDocument(Document):
    """One finding."""

    id: str
    attack: str | None
    secret: str | None
    metric: str
    use: str = ""
    value: MaskedScore | None
    step: Annotated[float, Field(gt=0), UNCHANGED, WRITTEN_AS_GIVEN] | None = None
    limit: LimitDocument
    passed: bool | None
    people: Count | None
    beyond: Count | None
    evidence: EvidenceDocument
    alarm: str = ""
    plugin: str
    where: WhereDocument | Nowhere = Nowhere()
    waiver: WaiverDocument = Field(None)  # type: ignore[assignment]
    remedies: tuple[RemedyDocument, ...] = ()
    distribution: tuple[BarDocument, ...] = ()

    @model_validator(mode="after")
    def _waived_only_if_failed(self) -> Self:
        if self.waiver is not None and self.passed is not False:
            raise ValueError("is waived, though it did not fail")
        if self.remedies and self.passed:
            raise ValueError("has remedies, though it passes")
        if self.distribution and not self.limit.model_fields_set & {"at_least", "at_most"}:
            raise ValueError("has people's scores, and no limit")
        return self


class PolicyDocument(Document):
    """The audited policy."""

    name: str
    sha256: Digest
    waivers_sha256: Digest | None = None
    file: str = ""
    folder: str = ""
    repository: str = ""
    extends: tuple[str, ...] = ()
    given: tuple[str, ...] = ()


class DataDocument(Document):
    """The table; empty where differential privacy is claimed. Plain digests are for auditors only.

    `rows` and `weight` are there where a column says how many people a row stands for: see
    `leafgate.engine.report_facts`.
    """

    people: Count | None = None
    rows: Count | None = None
    weight: Count | None = None
    distinct: Count | None = None
    sha256: Digest | None = None
    files: dict[str, Digest] = {}  # noqa: RUF012  a pydantic field
    keyed_sha256: Digest | None = None
    dropped: Count | None = None
    commented: Count | None = None


class FileDocument(Document):
    """The file that the release was read from; `sha256` is the digest of its bytes."""

    name: Annotated[str, Field(min_length=1)]
    format: Annotated[str, Field(min_length=1)]
    sha256: Digest


class ReleaseDocument(Document):
    """The release; `sha256` is the digest of leafgate's own file of it, which depends on the policy's columns too."""

    file: FileDocument = Field(None)  # type: ignore[assignment]
    sha256: Digest
    builder: dict[str, JsonValue]
    trees: WholeNumber
    leaves: WholeNumber
    drawn_once: bool = False
    records: Count | None = None


class AttackDocument(Document):
    """An attack that was run, and the knowledge that it assumes.

    `granted` is what the policy grants this attack in place of what it grants the others. `access` is what it is handed
    of the model. `candidates` is at most how many people of the table, and how many who are not in it, it tells apart.
    """

    name: str
    assumes: str
    granted: tuple[str, ...] = ()
    access: Literal["labels", "scores", "file"] = "file"
    candidates: WholeNumber = 0


class MethodDocument(Document):
    """The threat model of the audit."""

    known: tuple[str, ...]
    secret: tuple[str, ...]
    unknown: tuple[str, ...]
    granted: tuple[str, ...]
    attacks: tuple[AttackDocument, ...]
    publishes: str = ""
    claims: dict[str, JsonValue] = Field(default_factory=dict)


class ReportDocument(Document):
    """A report as an audience may see it, and as `report.json` holds it."""

    format: Literal["leafgate/report/1"]
    verdict: Verdict
    audience: Literal["public", "auditor"]
    waived: WholeNumber
    judged_on: Day = Field(None)  # type: ignore[assignment]
    policy: PolicyDocument
    data: DataDocument
    release: ReleaseDocument | None
    findings: tuple[FindingDocument, ...]
    method: MethodDocument | None = None
    waivers: tuple[JudgedWaiverDocument, ...] = ()
    guesses: tuple[AttackAccuracyDocument, ...] = ()
    tree: TreeDocument | None = None
    versions: dict[str, str]
    notes: tuple[str, ...]

    @model_validator(mode="after")
    def _verdict_follows(self) -> Self:
        """The verdict follows from the findings: a report that was edited by hand is refused."""
        waived = sum(finding.waiver is not None for finding in self.findings)
        if self.waivers and self.judged_on is None:
            raise ValueError("has waivers, and no day on which they were judged")
        unwaived = [finding.passed for finding in self.findings if finding.waiver is None]
        undecided = None in unwaived or not self.findings
        verdict = "fail" if False in unwaived else "inconclusive" if undecided else "pass"
        if (verdict, waived) != (self.verdict, self.waived):
            raise ValueError(f"its findings make it {verdict!r} with {waived} waived, which is not what it says")
        return self
