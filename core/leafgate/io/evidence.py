"""The evidence of findings as reports hold it, declared once: what plugins state is checked by it before it is written.

The numbers in it, and in the other parts of a report (`leafgate.disclosure.schema`), may be masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import (
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

from leafgate.io.json import JsonDocument
from leafgate.kernel.options import Strict
from leafgate.kernel.release import Severity


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
    """The number is positive and below this one."""


class MoreThan(Document):
    """A masked number: above this one."""

    more_than: Number
    """The number is above this one."""


class FromTo(Document):
    """A masked number: between these two, both included."""

    low: Number = Field(alias="from")
    """The lowest number that it may be."""
    high: Number = Field(alias="to")
    """The highest number that it may be."""

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


OPEN = ConfigDict(extra="allow", strict=True, frozen=True)


class GroupDocument(BaseModel):
    """A group of people."""

    model_config = OPEN

    people: Count
    """People."""
    path: str = ""
    """The path that leads to the group, or its cells; for auditors."""
    conditions: str = ""
    """What all people of the group have in common, in words; for auditors."""
    true: dict[str, Count] = {}
    """How many of them have each value of the secret; for auditors."""
    possible_values: WholeNumber | None = None
    """How many values of the secret they may have."""


class TriedDocument(BaseModel):
    """The evidence of an attack that tried to refute a claim and failed."""

    model_config = OPEN


class FileDisclosureDocument(BaseModel):
    """One thing that a model's file discloses."""

    model_config = OPEN

    severity: Severity
    """`high`: about small groups or single people; `medium`: about all people together; `low`: about the algorithm."""
    says: str
    """What the file discloses, in a sentence."""


class RocDocument(BaseModel):
    """A ROC curve with intervals; for auditors."""

    model_config = OPEN

    fpr: tuple[float, ...]
    """False-positive rates, ascending."""
    tpr: tuple[float, ...]
    """The true-positive rate at each."""
    low: tuple[float, ...]
    """The lower ends of their intervals."""
    high: tuple[float, ...]
    """The upper ends."""

    @model_validator(mode="after")
    def _is_a_curve(self) -> Self:
        columns = (self.fpr, self.tpr, self.low, self.high)
        are_rates = all(0 <= rate <= 1 for column in columns for rate in column)
        if len(self.fpr) < 2 or len({*map(len, columns)}) > 1 or not are_rates or list(self.fpr) != sorted(self.fpr):
            raise ValueError("is no curve of two points or more, from rate to rate")
        return self


class EvidenceDocument(BaseModel):
    """The evidence of a finding, as it was given; its keys may have any order."""

    model_config = OPEN

    _content: JsonDocument | None = PrivateAttr(None)
    worst: tuple[GroupDocument, ...] = ()
    """The groups with the worst scores."""
    tried: dict[str, TriedDocument] = {}
    """For each claim, how an attack tried to refute it."""
    discloses: tuple[FileDisclosureDocument, ...] = ()
    """What the model's file discloses beyond its predictions."""
    derived: MaskedScore | None = None
    """The score by what the adversary derives."""
    composition: MaskedScore | None = None
    """The score by the true composition of each group."""
    by_persons: MaskedScore | None = None
    """The score by the share of each group's persons who have a value, where a column numbers the people."""
    scored_because: str = ""
    """Why another distribution was judged than the policy asks for, or only one."""
    covered_by: str = ""
    """The limit on the total of all releases' claims that covers what the attack cannot read."""
    unbounded: bool = False
    """Whether a score is infinite."""
    reason: str = ""
    """Why the finding is what it is."""
    problem: str = ""
    """What went wrong, where the finding is inconclusive."""
    remedy: str = ""
    """What to do about it."""
    dropped: Count | None = None
    """How many people were left out for missing cells, though the release may be about them too."""
    says: JsonValue = Field(None)
    """What was measured, in words or as JSON."""
    roc: RocDocument | None = None
    """The ROC curve of a membership attack; for auditors."""

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
