"""Privacy metrics: the base classes of the plugins that score a context against a limit.

A metric's fields are its options in a policy, checked before anything runs. Its class variables are the text that
`leafgate explain` prints and the facts that the core needs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    model_validator,
)

from leafgate.errors import InconclusiveError, nearest_name
from leafgate.kernel.belief import Belief, CellBelief, GroupBelief, SecretBelief
from leafgate.kernel.components import DEFAULT_ORDER, Component
from leafgate.kernel.findings import Direction, Limit, Measured, Public, Remedy, Scored, Unit
from leafgate.kernel.inheritance import LESS, MORE, all_of, each, one_tightest, ordered_by
from leafgate.kernel.options import FiniteFloat, ShareBelowOne

if TYPE_CHECKING:
    import pandas as pd
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

    from leafgate.kernel.arrays import Mask
    from leafgate.kernel.context import ScoringContext
    from leafgate.kernel.policy import Policy


ROUNDING = 1e-6
"""A limit may lie outside the range of scores by this much, as floating point does."""
ABOUT_GROUPS: frozenset[type[Belief]] = frozenset({GroupBelief, SecretBelief})
"""The `judges` of metrics of equivalence classes."""
ABOUT_SECRETS: frozenset[type[Belief]] = frozenset({SecretBelief, CellBelief})
"""The `judges` of metrics of a posterior."""


@dataclass(frozen=True)
class Example:
    """A worked example of a metric: one equivalence class, everyone by their secret, and the score of the class.

    `group` and `everyone` map each value of the secret to a number of people. `population` is how many people of
    `data.population` are in the class. `believed` is an attack's posterior of them, their own shares when left out;
    `prior` is the attack's prior.
    """

    group: Mapping[str, int]
    everyone: Mapping[str, int]
    score: float
    options: Mapping[str, Any] = field(default_factory=dict)
    population: int | None = None
    believed: Mapping[str, float] | None = None
    prior: Mapping[str, float] | None = None


@dataclass(frozen=True, eq=False)
class Score:
    """What a metric returns: one number, or one for each person, and what it states besides.

    Attributes:
        value: the number of a ReleaseMetric; infinite on the unsafe side where no limit would hold.
        people: of a PersonMetric a number for each row of `context.table`, in that order; infinite likewise.
        interval: the lowest and the highest number that `value` could be, where it is an estimate. A limit that holds
            for all of it is kept, one that holds for none of it is broken, and between the two it is inconclusive.
        insufficient: why a limit that this score keeps may be broken all the same, such as too few candidates: the
            finding is then inconclusive for that reason. A limit that the score breaks stays broken. If it is
            `UNPLANTED`, a limit without `of` has no finding on this attack where there is one on another attack.
        largest: the largest value that any release of these people could have; None where that is not known. A limit
            above it could not be broken. Where that is why the score is `insufficient`, the limit passes all the same
            beside another one about the same secret, by the same metric, that passes and that half of its own largest
            value would break.
        remedy: what to do where a score of the release breaks its limit or is `insufficient`, without any cell and any
            number of people: a sentence, or remedies that scripts can follow, the best first. None of them may loosen
            the policy.
        sensitivity: the most by which one person of the tables, say of `case.test`, can change `value`, from 0 up. A
            public report rounds `value` so that fewer people than the smallest cell cannot move it by a step, and
            leaves it out where the steps would be too wide to mean anything.
        evidence: more for the finding, as JSON; what is about single people is wrapped in `AuditorOnly`. A metric of
            the release may list `worst`, equivalence classes laid out as by `leafgate.engine.scores`, each with its
            `people`.
    """

    value: float | None = None
    people: pd.Series | None = None
    interval: tuple[float, float] | None = None
    insufficient: str = ""
    largest: float | None = None
    remedy: str | Sequence[Remedy] = ""
    sensitivity: float = 0.0
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Metric(Component):
    """Scores how well each person, or the release as a whole, is protected.

    `judges` names the types of belief that it scores: it is never run on another, and a limit for which no attack has
    one of them is inconclusive.

    `unit` is what the score counts, by which public reports mask it (`leafgate.kernel.findings.Unit`): the size of an
    equivalence class (`PEOPLE`), one over it, a share of all people, all people less a number that the release
    discloses (`PEOPLE_LEFT`), something else that is computed from the table, or nothing. `scale` describes the range
    of scores, and `score_range` has its ends: a limit outside it is refused, and one at its end cannot be broken.
    `interpretation` says what a good score means, and `plain_failure` what a broken limit means for readers who know no
    metrics (a clause, `{secret}` for the column's name).

    `public` is what a public report shows of a score (`Public`): the `number` of a metric that reads the release alone,
    neither `table` nor `test`, which a claim of differential privacy covers; the number made `coarse` by its unit; or
    the `verdict` alone, of a metric that compares with what is true of single people. Whatever it says, a metric of the
    release whose unit counts nobody, and which reads `case.table`, `case.test` or `case.known` without a `sensitivity`,
    is published by its verdict alone. `measures` is what a score is about (`Measured`): a policy without a limit on
    `protection` never passes.

    `by_equivalence_class`: does no score change where one of several people stands for all of them, who have the same
    class and secrets, reach the same leaf of each tree, and would reach the same leaves with other private cells? The
    metric then judges tables that do not fit into memory, too.

    `checks` names the guarantee of a release (`k`, `l_diversity`) that is broken exactly when the metric's limit is;
    `checked_by` the attack whose belief that needs, which is recommended where a policy lacks it; None where none is.
    """

    name: str = Field(default="", description="What findings call it; by default its `use`. Unique.")

    judges: ClassVar[frozenset[type[Belief]]] = frozenset()
    direction: ClassVar[Direction]
    unit: ClassVar[Unit] = Unit.NONE
    scale: ClassVar[str] = ""
    score_range: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    interpretation: ClassVar[str] = ""
    plain_failure: ClassVar[str] = ""
    examples: ClassVar[tuple[Example, ...]] = ()
    public: ClassVar[Public] = "coarse"
    measures: ClassVar[Measured] = "protection"
    by_equivalence_class: ClassVar[bool] = False
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

    @property
    def reads_releases(self) -> bool:
        """Does the score read `case.other_releases`, those that the policy names under `releases`?"""
        return False

    @property
    def can_be_broken(self) -> bool:
        """Is there a score outside the limit? Not where it is at the end of the range of scores, such as a k of 1."""
        lowest, highest = self.score_range
        lowest = max(lowest, 1) if self.unit == Unit.PEOPLE else lowest
        return self.bound > lowest + ROUNDING if self.direction == "at_least" else self.bound < highest - ROUNDING

    @model_validator(mode="after")
    def _within_range(self) -> Self:
        """Refuse a limit outside the range of scores: whatever a release disclosed, it would hold."""
        lowest, highest = self.score_range
        if self.direction == "at_most" and self.bound > highest + ROUNDING:
            share = f"; {self.bound:g} % is {self.bound / 100:g}" if highest == 1 < self.bound <= 100 else ""
            raise ValueError(f"no score is above {highest:g}, so a limit of {self.bound:g} could not be broken{share}")
        if self.direction == "at_least" and self.bound < lowest - ROUNDING:
            raise ValueError(f"no score is below {lowest:g}, so a limit of {self.bound:g} could not be broken")
        return self

    @classmethod
    def plain_failure_of(cls, secret: str | None) -> str:
        """`plain_failure` with the name of this secret."""
        return cls.plain_failure.replace("{secret}", secret or "secret")

    def holds(self, score: float) -> bool:
        """Does this score keep the limit? Rounding errors of floating point do not count."""
        return self.limit.is_kept(score)

    def public_in(self, case: ScoringContext) -> Public:
        """What a public report shows of its score of this case: `verdict` where numbers would disclose more than it.

        Decide by policy, release and public columns, never by the secrets: missing numbers would disclose these.
        Reads of `case.truth`, `case.overall` and the composition are recorded in `case.observed`, and the core hides
        the numbers that follow from them.
        """
        return self.public

    def score(self, case: ScoringContext) -> Score:
        """The score, with all evidence for the finding; it is asked for once."""
        raise NotImplementedError(type(self).__name__)

    @classmethod
    def from_claim(cls, claim: Any) -> Metric:
        """The metric that is broken exactly when the claimed guarantee does not hold.

        A claim is a limit, or a mapping of options with the limit among them; a list of mappings is several claims,
        each given here by itself. A mapping limits the true composition, a number limits the metric's default
        distribution. Raises InconclusiveError for what it cannot read.
        """
        options = dict(claim) if isinstance(claim, Mapping) else {cls.direction: claim}
        if set(options) & {"use", "name", "of", "scored", "average", "allow"}:
            raise InconclusiveError("a claim cannot choose how it is checked")
        if isinstance(claim, Mapping) and issubclass(cls, PersonMetric) and cls.can_score("composition"):
            options |= {"scored": "composition"}
        try:
            return cls.model_validate_json(json.dumps({**options, "use": cls.model_fields["use"].default}))
        except (ValidationError, TypeError, ValueError):
            raise InconclusiveError("the claim cannot be read") from None


def can_break_protection(metrics: Iterable[Metric]) -> bool:
    """Is one of these limits on people's protection, and could some release break it?"""
    return any(metric.measures == "protection" and metric.can_be_broken for metric in metrics)


class PersonMetric(Metric):
    """Scores each person, by `Score.people`; judged on the worst-off person unless the policy says otherwise.

    `of` names the attack it judges (every attack when left out), `secret` the secret (every one). `scored` says which
    distribution of the secret is judged: `derived`, what the adversary derives; `composition`, the true composition of
    each equivalence class, which an adversary with more knowledge could learn; `worst`, for each person the worse of
    both scores. `average` judges the mean over people, `allow` tolerates a share of people outside the limit.

    `judges` has types of belief about people or about the people behind hidden cells: those with a posterior of a
    secret unless it says otherwise. `scorable` lists the distributions that the metric can score: a metric that
    compares the posterior with the truth, or reads the belief otherwise than by `case.posterior`, can only score
    `derived`. A metric of `groups_only` reads no distribution, and scores `derived` alone, too. A metric that
    `judges_numbers` reads `case.numbers`, true numbers of a binned secret, so that means and other numbers on leaves
    disclose no more than it judges.
    """

    of: Annotated[str | None, ordered_by(each)] = Field(
        default=None, description="The attack it judges, by its name; by default every one."
    )
    secret: Annotated[str | None, ordered_by(each)] = Field(
        default=None, description="The sensitive column it judges; by default every one."
    )
    scored: Annotated[Scored, ordered_by(one_tightest("worst"))] = Field(
        default="worst",
        description="Judge what the adversary derives, each group's true composition, or for each person the worse of"
        " both.",
    )
    average: Annotated[bool, LESS] = Field(
        default=False, description="Judge the mean over people, not the worst-off person."
    )
    allow: Annotated[ShareBelowOne, LESS] = Field(
        default=0.0, description="The share of people that may violate the limit."
    )

    judges: ClassVar[frozenset[type[Belief]]] = ABOUT_SECRETS
    groups_only: ClassVar[bool] = False
    judges_numbers: ClassVar[bool] = False
    scorable: ClassVar[frozenset[Scored]] = frozenset({"worst", "derived", "composition"})

    @property
    def limit(self) -> Limit:
        """The limit of the policy, and how people's scores are judged by it."""
        return Limit(self.direction, self.bound, self.average, self.allow, self.scored)

    @classmethod
    def can_score(cls, scored: Scored) -> bool:
        """Can the metric score that distribution?"""
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
            raise ValueError("`average` judges the mean, `allow` the people outside the limit; choose one")
        return self


class ValueMetric(PersonMetric):
    """A metric of people that can be asked of some values of the secret alone, where the others are harmless.

    A subclass scores the values of `judged_values(case)`; the finding states how many people have the others.
    """

    values: Annotated[tuple[str, ...] | None, ordered_by(all_of)] = Field(
        default=None,
        min_length=1,
        description="The values of the secret that are judged, by default all; of a number its bins, as `[0, 10)`.",
    )

    def missing_requirements(self, policy: Policy) -> str:
        """What of `values` is no value of a secret that the metric judges; empty where all are."""
        specs = [s for name, s in policy.data.columns.items() if "sensitive" in s.roles and self.secret in {None, name}]
        domains = [spec.domain for spec in specs]
        known = {value for domain in domains for value in domain}
        strange = [value for value in self.values or () if value not in known]
        if not all(domains):  # a domain may be left open
            return super().missing_requirements(policy)
        if strange:
            hint = nearest_name(strange[0], known, "name values of the secret")
            return f"{strange[0]!r} of its `values` is no value of a secret ({hint})"
        if self.values is not None and not all(set(self.values) & set(domain) for domain in domains):
            names = [name for name, each in policy.data.columns.items() if "sensitive" in each.roles]
            return f"its `values` are not those of every secret; say which `secret` it judges ({', '.join(names)})"
        return super().missing_requirements(policy)

    def judged_values(self, case: ScoringContext) -> Mask:
        """Which values of the secret's domain are judged, shape (n_values,).

        Raises InconclusiveError where one of `values` is no value of any secret, or none of this one.
        """
        import numpy as np

        known = {value for secret in case.everyone.schema.secrets if secret.countable for value in secret.domain}
        if self.values is not None and not known.issuperset(self.values):
            raise InconclusiveError("some of `values` are no value of a secret")
        judged = np.array([self.values is None or value in self.values for value in case.secret.domain])
        if not judged.any():
            raise InconclusiveError("none of `values` is a value of this secret", remedy="say which `secret` it judges")
        return judged


class AtLeast(PersonMetric):
    """A metric of people where more is safer."""

    direction = "at_least"
    at_least: Annotated[FiniteFloat, MORE] = Field(description="The score must not be lower.")


class AtMost(PersonMetric):
    """A metric of people where less is safer."""

    direction = "at_most"
    at_most: Annotated[FiniteFloat, LESS] = Field(description="The score must not be higher.")


class ReleaseMetric(Metric):
    """Scores the release as a whole, or with `judges` one attack's belief as a whole, by `Score.value`.

    A metric that judges beliefs has one finding for each belief it can read, of the attack that `of` names, or of every
    attack: the area under an attack's ROC curve, say. Without `judges` it reads the release and no belief.
    """

    of: Annotated[str | None, ordered_by(each)] = Field(
        default=None, description="The attack it judges, by its name; by default every one."
    )

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of the options, without `of` where the metric judges no attack."""
        schema = handler(core_schema)
        if not cls.judges:
            handler.resolve_ref_schema(schema)["properties"].pop("of", None)
        return schema

    @model_validator(mode="after")
    def _of_an_attack(self) -> Self:
        if self.of is not None and not self.judges:
            raise ValueError("it judges the release and no attack; leave `of` out")
        return self


class ReleaseAtLeast(ReleaseMetric):
    """A number for the whole release, or for one attack, where more is better."""

    direction = "at_least"
    at_least: Annotated[FiniteFloat, MORE] = Field(description="The score must not be lower.")


class ReleaseAtMost(ReleaseMetric):
    """A number for the whole release, or for one attack, where less is better."""

    direction = "at_most"
    at_most: Annotated[FiniteFloat, LESS] = Field(description="The score must not be higher.")
