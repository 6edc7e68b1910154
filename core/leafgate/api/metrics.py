"""What a plugin is: a tree builder, an attack model or a privacy metric.

A class is its own options: its fields are what a policy may write beside `use:`, checked before
anything runs. Class variables say what `leafgate explain` prints and what the core must know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, GetJsonSchemaHandler, ValidationError, model_validator

from leafgate.api.components import DEFAULT_ORDER, Component, FiniteFloat, Share
from leafgate.errors import InconclusiveError
from leafgate.types.report import Direction, Limit, Scored, Unit

if TYPE_CHECKING:
    import pandas as pd
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

    from leafgate.api.context import ScoringContext


@dataclass(frozen=True)
class Example:
    """A metric worked out: one group of people among everyone, by their secret, and their score.

    `population` is how many people of `data.population` are in the group. `believed` is what an attack
    believes of them, their own shares when left out; `prior` what it would without its reasoning.
    """

    group: Mapping[str, int]
    everyone: Mapping[str, int]
    score: float
    options: Mapping[str, Any] = field(default_factory=dict)
    population: int | None = None
    believed: Mapping[str, float] | None = None
    prior: Mapping[str, float] | None = None


class Metric(Component):
    """Scores how well each person, or the release as a whole, is protected.

    `unit` tells reports what the score counts: `people` (a group's size, shown to the public only
    above the smallest cell), `one over people`, `share` (of the people; both likewise), `people left`
    (everybody less a number that the release tells), `table` (something else that is worked out from the table)
    or anything else. `scale` says in words what scores there can be,
    `interpretation` what a good one means, `plain_failure` what a broken limit means, in the words of people who know
    no metrics (a
    clause, `{secret}` for the column's name); `examples` are worked out. `private` metrics compare with what is true of
    single people, so that a score would give it away: the public is told whether the limit holds, and no number.
    `of_release` metrics look at the release alone, at neither `table` nor `test`: a claim of differential privacy
    covers what they say, so the public sees their numbers beside one.
    `is_cost` metrics say what protection takes away: a sweep that knows nothing more useful draws protection against
    it, and chooses the least.
    """

    name: str = Field(default="", description="What findings call it; default: what it uses. Unique.")

    scores: ClassVar[Literal["records", "release"]] = "records"
    direction: ClassVar[Direction]
    unit: ClassVar[Unit] = Unit.NONE
    scale: ClassVar[str] = ""
    interpretation: ClassVar[str] = ""
    plain_failure: ClassVar[str] = ""
    examples: ClassVar[tuple[Example, ...]] = ()
    private: ClassVar[bool] = False
    of_release: ClassVar[bool] = False
    is_cost: ClassVar[bool] = False
    checks: ClassVar[str | None] = None
    checked_by: ClassVar[str | None] = None

    @property
    def called(self) -> str:
        """Its name in the policy: `name`, or what it uses."""
        return self.name or self.use

    @property
    def bound(self) -> float:
        """The bound of the policy, to be read in the metric's direction."""
        return float(getattr(self, self.direction))

    @property
    def limit(self) -> Limit:
        """The limit of the policy."""
        return Limit(self.direction, self.bound)

    @classmethod
    def plain_failure_of(cls, secret: str | None) -> str:
        """What a broken limit means, of this secret."""
        return cls.plain_failure.replace("{secret}", secret or "secret")

    def holds(self, score: float) -> bool:
        """Is this score good enough? What floating point adds or takes away does not count."""
        return self.limit.is_kept(score)

    def must_hide(self, case: ScoringContext) -> bool:
        """Would its numbers tell what is true of people, and the release does not? The public then sees none.

        Policy, release and public columns decide, never the secrets: that numbers are missing would tell these. What is
        read of `case.truth`, `case.overall` and the composition the core sees to itself.
        """
        return self.private

    def sensitivity(self, case: ScoringContext) -> float:
        """By how much one person of the tables, say of `case.test`, can move a score of the release; 0: nobody can.

        The public sees the score so coarse that fewer people than the smallest cell cannot move it by a step, and not
        at all where that says nothing any more.
        """
        return 0.0

    def score(self, case: ScoringContext) -> pd.Series | float:
        """A number for each row of `case.table`, or one number for the release.

        Infinite on the unsafe side where no limit would hold.
        """
        raise NotImplementedError(type(self).__name__)

    def evidence(self, case: ScoringContext, scores: pd.Series | float) -> Mapping[str, Any]:
        """What the finding is to say beside the scores, as JSON; what is about single people wrapped in `Private`.

        A metric of the release may tell `worst`, groups as `leafgate.engine.worst_groups` tells them: each with its
        `people`.
        """
        return {}

    @classmethod
    def from_claim(cls, claim: Any) -> Metric:
        """The metric that is broken exactly when the claimed guarantee does not hold.

        A claim is a limit, or a mapping of options with the limit among them; a list of mappings is
        several claims, each given here by itself. A mapping speaks of the groups' true composition, a limit of the
        metric's default.
        Raises InconclusiveError for what it cannot read.
        """
        options = dict(claim) if isinstance(claim, Mapping) else {cls.direction: claim}
        if set(options) & {"use", "name", "of", "scored", "average", "allow"}:
            raise InconclusiveError("a claim cannot choose how it is checked")
        if isinstance(claim, Mapping) and issubclass(cls, RecordMetric) and cls.can_score("composition"):
            options |= {"scored": "composition"}
        try:
            return cls.model_validate({**options, "use": cls.model_fields["use"].default})
        except ValidationError:
            raise InconclusiveError("the claim cannot be read") from None


class RecordMetric(Metric):
    """Scores records; judged on the worst-off person unless the policy says otherwise.

    `of` names the attack it judges (every attack when left out), `secret` the secret (every one).
    `scored` says which distribution of the secret is judged: `derived`, what the adversary derives; `composition`, the
    true composition of each group, which an adversary with more knowledge could come to know; `worst`, for each person
    the worse of both scores. `scorable` lists those that the metric can score: one that compares what is believed with
    the truth, or reads something else of the belief than `case.chances`, can only score `derived`. A metric of
    `groups_only` reads no distribution, which is `derived` alone, too.
    `average` judges the mean over people, `allow` tolerates a share of people beyond the limit.
    """

    of: str | None = Field(default=None, description="The attack it judges, by its name; every attack when left out.")
    secret: str | None = Field(default=None, description="The sensitive column it judges; every one when left out.")
    scored: Scored = Field(
        default="worst",
        description="What the adversary derives, each group's true composition, or for each person the worse of both.",
    )
    average: bool = Field(default=False, description="Judge the mean over people, not the worst-off person.")
    allow: Share = Field(default=0.0, description="The share of people that may lie beyond the limit.")

    groups_only: ClassVar[bool] = False
    scorable: ClassVar[frozenset[Scored]] = frozenset({"worst", "derived", "composition"})

    @property
    def limit(self) -> Limit:
        """The limit of the policy, and how people's scores are judged by it."""
        return Limit(self.direction, self.bound, self.average, self.allow, self.scored)

    @classmethod
    def can_score(cls, scored: Scored) -> bool:
        """Can a limit on this metric be judged by that distribution?"""
        return scored == "derived" if cls.groups_only else scored in cls.scorable

    @classmethod
    def default_scored(cls) -> Scored:
        """What `scored` means where a policy does not write it: `worst` if the metric can score it."""
        return next((scored for scored in DEFAULT_ORDER if cls.can_score(scored)), "derived")

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of the options, with what this metric can score as the choices of `scored`."""
        schema = handler(core_schema)
        option = handler.resolve_ref_schema(schema)["properties"].get("scored", {})
        if "enum" in option or "const" in option:
            choices = [scored for scored in DEFAULT_ORDER if cls.can_score(scored)]
            option.pop("const", None)
            option |= {"enum": choices, "default": cls.default_scored()}
        return schema

    @model_validator(mode="after")
    def _can_score_it(self) -> Self:
        """Refuse a `scored` that the metric cannot score; where none is written, take the metric's own default."""
        if "scored" not in self.model_fields_set:
            self.__dict__["scored"] = self.default_scored()  # a validator that runs before would see no JSON any more
        if self.groups_only and self.scored != "derived":
            raise ValueError("it scores groups alone, so `scored` changes nothing; leave it out")
        if not self.can_score(self.scored):
            choices = [scored for scored in DEFAULT_ORDER if self.can_score(scored)]
            raise ValueError(f"it cannot score `{self.scored}`; leave `scored` out, or choose {' or '.join(choices)}")
        return self

    @model_validator(mode="after")
    def _one_leniency(self) -> Self:
        if self.average and self.allow:
            raise ValueError("`average` judges the mean, `allow` the people beyond the limit; choose one")
        return self


class AtLeast(RecordMetric):
    """A record metric where more is safer."""

    direction = "at_least"
    at_least: FiniteFloat = Field(description="The score must not be lower.")


class AtMost(RecordMetric):
    """A record metric where less is safer."""

    direction = "at_most"
    at_most: FiniteFloat = Field(description="The score must not be higher.")


class ReleaseAtLeast(Metric):
    """A number for the whole release where more is better."""

    scores = "release"
    direction = "at_least"
    at_least: FiniteFloat = Field(description="The score must not be lower.")


class ReleaseAtMost(Metric):
    """A number for the whole release where less is better."""

    scores = "release"
    direction = "at_most"
    at_most: FiniteFloat = Field(description="The score must not be higher.")
