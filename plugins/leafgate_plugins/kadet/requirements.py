"""Requirements on a population's secret: exposure, l-diversity, confidence, t-closeness, delta-disclosure.

A union of populations that satisfy a requirement satisfies it too. Each requirement but exposure is a convex set of
distributions, and the distribution of a union is a mixture; the class `Exposure` has the argument for exposure. The
metrics with the same names check the release: exposure by the same definition, the others with independent code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self

from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer, model_validator

from leafgate.api import Column, Hierarchy, NonNegativeFloat, PolicyError, PositiveFloat, Schema, Strict, lazy
from leafgate.errors import nearest_name
from leafgate.kernel.findings import lenient
from leafgate.kernel.options import PositiveShare

if TYPE_CHECKING:
    import numpy as np

    from leafgate.algorithms import certainty
    from leafgate.algorithms.induction import growth, histograms, splits
    from leafgate.algorithms.induction.encoding import EncodedTable, Feature
    from leafgate.algorithms.induction.histograms import Histograms
    from leafgate.api import Codes, Floats, Mask, Metric
    from leafgate.kernel.arrays import CompactIds
else:
    np, certainty = lazy("numpy"), lazy("leafgate.algorithms.certainty")
    growth, histograms, splits = (
        lazy(f"leafgate.algorithms.induction.{name}") for name in ("growth", "histograms", "splits")
    )


class Required(Strict):
    """One requirement; of every sensitive column, or of `secret` alone."""

    use: str
    secret: str | None = Field(None, description="The sensitive column; by default every one.")

    def options(self) -> dict[str, Any]:
        """What the policy asks for, as the description of the builder has it."""
        return self.model_dump(mode="json", exclude={"use"}, exclude_none=True)

    def claim(self) -> dict[str, Any]:
        """The requirement as a release claims it: the options of the metric that checks it."""
        return self.options()


Values = Annotated[
    tuple[str, ...] | None,
    Field(min_length=1, description="Only these values of the secret are judged; every one when left out."),
]


class ExposureRequired(Required):
    """No value of a group is certain, not even to some of its people who know their own."""

    use: Literal["exposure"] = "exposure"
    insiders: int = Field(0, ge=0, description="People of the group who pool their own values.")
    values: Values = None

    @model_serializer(mode="wrap")
    def _without_nobody(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The options without `insiders` where there are none, as releases and remedies write them."""
        document: dict[str, Any] = serialize(self)
        return {key: each for key, each in document.items() if key != "insiders" or each}

    def claim(self) -> dict[str, Any]:
        return {"at_most": 0, **self.options()}


class LDiversityRequired(Required):
    """Every group's secret is l-diverse: distinct, entropy, or recursive (c, l)."""

    use: Literal["l_diversity"] = "l_diversity"
    form: Literal["distinct", "entropy", "recursive"] = Field("entropy", description="What counts as diverse.")
    c: PositiveFloat | None = Field(None, description="Of `form: recursive`: the factor c.")
    at_least: PositiveFloat = Field(description="The l.")

    @model_validator(mode="after")
    def _c_of_recursive(self) -> Self:
        if (self.form == "recursive") != (self.c is not None):
            raise ValueError("`c` belongs to `form: recursive`, which needs it")
        return self


class ConfidenceRequired(Required):
    """No value is more frequent in a group than this."""

    use: Literal["confidence"] = "confidence"
    at_most: PositiveShare = Field(description="The largest share.")
    values: Values = None


class TClosenessRequired(Required):
    """Every group's distribution is this close to everyone's."""

    use: Literal["t_closeness"] = "t_closeness"
    distance: Literal["equal", "ordered", "hierarchical"] = Field("equal", description="Between two values.")
    at_most: NonNegativeFloat = Field(description="The t.")


class DeltaDisclosureRequired(Required):
    """No value's share differs from everyone's by more than a factor of e to this."""

    use: Literal["delta_disclosure"] = "delta_disclosure"
    at_most: NonNegativeFloat = Field(description="The delta, in nats.")


AnyRequired = Annotated[
    LDiversityRequired | ConfidenceRequired | ExposureRequired | TClosenessRequired | DeltaDisclosureRequired,
    Field(discriminator="use"),
]


def requirements_for(limits: Sequence[Metric]) -> tuple[int | None, tuple[AnyRequired, ...]]:
    """What every group must satisfy for limits to hold.

    Args:
        limits: metrics of a policy; those that no property of groups implies are passed over.

    Returns:
        The k, None where no limit is on the size of groups, and the requirements on secrets, each once.
    """
    sizes = [size for limit in limits if (size := _group_size(limit)) > 0]
    required = (one for limit in limits for one in _required_by(limit))
    k = max(1, math.ceil(max(sizes) - SIZE_ROUNDING)) if sizes else None
    return k, tuple(dict.fromkeys(required))


def _group_size(limit: Metric) -> float:
    """The people that every group must have for a limit on groups to hold; 0 where no size implies it."""
    if limit.use in {"k_anonymity", "alpha_k_anonymity", "k_map"}:
        return limit.bound
    if limit.use == "uniques":
        return 2.0
    return 1 / limit.bound if limit.use == "reidentification_risk" and limit.bound > 0 else 0.0


def _required_by(limit: Metric) -> Iterator[AnyRequired]:
    """The requirements on secrets that a limit asks for, under the names of the metrics that check them."""
    kind = REQUIRED_KINDS.get(limit.use)
    if kind is None or (limit.use == "exposure" and limit.bound >= 1):
        return
    options = limit.model_dump()
    if limit.use == "alpha_k_anonymity":
        options["at_most"] = options["alpha"]
    wanted = {name: options[name] for name in kind.model_fields if options.get(name) is not None}
    with suppress(ValidationError):  # a limit that every group keeps, such as a confidence of at most 2
        yield kind.model_validate({**wanted, "use": kind.model_fields["use"].default})


REQUIRED_KINDS: Mapping[str, type[AnyRequired]] = {
    "alpha_k_anonymity": ConfidenceRequired,
    "confidence": ConfidenceRequired,
    "exposure": ExposureRequired,
    "l_diversity": LDiversityRequired,
    "t_closeness": TClosenessRequired,
    "delta_disclosure": DeltaDisclosureRequired,
}
"""By metric, the requirement that keeps its limit; options of the same name mean the same."""
SIZE_ROUNDING = 1e-9
"""By so much 1 / (1 / k) may miss k."""
DECIMALS = 12
"""Decimals to which scores are rounded before a comparison, as in the metrics that check them."""


@dataclass(frozen=True)
class LDiversity:
    """Entropy or distinct l-diversity.

    Source: Friedman, Schuster, Wolff 2006, section 4.2: H(secret | population) >= log2 l.
    Convex: entropy is concave; a mixture has every value that a part has.
    """

    column: str
    form: str
    at_least: float

    def holds(self, counts: Floats) -> Mask:
        if self.form == "distinct":
            return np.asarray((counts > 0).sum(axis=-1) >= self.at_least)
        n = counts.sum(axis=-1)
        bits = np.log2(n) - splits.x_log_x(counts).sum(axis=-1) / n
        return np.asarray(np.round(np.exp2(bits), DECIMALS) >= lenient(self.at_least, -1))

    def why_not(self) -> str:
        return f"{self.column!r} is not {self.form} {self.at_least:g}-diverse in it"


@dataclass(frozen=True)
class RecursiveLDiversity:
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_m).

    Convex: the largest share is convex, a sum of the smallest ones concave.
    """

    column: str
    c: float
    at_least: float

    def holds(self, counts: Floats) -> Mask:
        rising = np.sort(counts / counts.sum(axis=-1, keepdims=True), axis=-1)
        rank = int(np.ceil(self.at_least))
        tail = rising[..., : max(counts.shape[-1] - rank + 1, 0)].sum(axis=-1)
        return np.asarray(np.round(rising[..., -1], DECIMALS) < np.round(self.c * tail, DECIMALS))

    def why_not(self) -> str:
        return f"{self.column!r} is not recursively ({self.c:g}, {self.at_least:g})-diverse in it"


@dataclass(frozen=True)
class MaxConfidence:
    """A confidence limit: none of the judged values has more than a share of the people. Convex: the largest share is.

    `judged` has the positions of these values in the domain; None for all.
    """

    column: str
    at_most: float
    judged: Codes | None = None

    def holds(self, counts: Floats) -> Mask:
        judged = counts if self.judged is None else counts[..., self.judged]
        return np.asarray(judged.max(axis=-1) / counts.sum(axis=-1) <= lenient(self.at_most))

    def why_not(self) -> str:
        what = "a value" if self.judged is None else "one of the `values`"
        return f"{what} of {self.column!r} has more than {100 * self.at_most:g} % of it"


@dataclass(frozen=True)
class Exposure:
    """No judged value that somebody has is certain, not even to `insiders` members who pool their own values.

    Not convex, for it depends on numbers of people, but it survives merging. A value is not certain where somebody has
    it and more than `insiders` people have another one. Of a value that somebody in the union of two populations has,
    let this person be in the first. There more than `insiders` people have another value, so in the union too.

    `judged` has the positions of the judged values in the domain; None for all.
    """

    column: str
    insiders: int
    judged: Codes | None = None

    def holds(self, counts: Floats) -> Mask:
        certain = certainty.certain_values(counts, self.insiders)
        return np.asarray(~(certain if self.judged is None else certain[..., self.judged]).any(axis=-1))

    def why_not(self) -> str:
        what = "a value" if self.judged is None else "one of the `values`"
        whom = f" to {self.insiders} of its people, who know their own" if self.insiders else ""
        return f"{what} of {self.column!r} is certain in it{whom}"


@dataclass(frozen=True)
class TCloseness:
    """t-closeness: the earth mover's distance to everyone's shares. Convex: a distance is.

    The distance is a sum over sets of values (each value alone; the values up to each one; the
    groups of the hierarchy): how much more or less of the people have a value in the set, times
    `height`, what moving everybody into or out of it costs.
    """

    column: str
    distance: str
    at_most: float
    overall: Floats
    sets: Floats
    height: float

    def holds(self, counts: Floats) -> Mask:
        p = counts / counts.sum(axis=-1, keepdims=True)
        moved = np.abs((p - self.overall) @ self.sets).sum(axis=-1) * self.height
        return np.asarray(np.round(moved, DECIMALS) <= lenient(self.at_most))

    def why_not(self) -> str:
        return f"{self.column!r} is more than {self.at_most:g} away ({self.distance} distance) from everyone's"


@dataclass(frozen=True)
class DeltaDisclosure:
    """delta-disclosure: every share within a factor of e^delta of everyone's. Convex: an interval for each value."""

    column: str
    at_most: float
    overall: Floats

    def holds(self, counts: Floats) -> Mask:
        held = self.overall > 0
        p = counts[..., held] / counts.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):
            away = np.abs(np.log(p) - np.log(self.overall[held])).max(axis=-1)
        return np.asarray(np.round(away, DECIMALS) <= lenient(self.at_most))

    def why_not(self) -> str:
        return f"a share of {self.column!r} in it is beyond a factor of e^{self.at_most:g} from everyone's"


def make_requirement(wanted: Required, column: Column, counts: Floats, place: str = "build.require") -> Requirement:
    """The requirement of the policy at `place` on one secret; `counts` has the people of the table by value."""
    overall = counts / counts.sum()
    if isinstance(wanted, LDiversityRequired):
        if wanted.c is not None:
            return RecursiveLDiversity(column.name, wanted.c, wanted.at_least)
        return LDiversity(column.name, wanted.form, wanted.at_least)
    if isinstance(wanted, ConfidenceRequired):
        return MaxConfidence(column.name, wanted.at_most, _judged_values(wanted.values, column, place))
    if isinstance(wanted, ExposureRequired):
        return Exposure(column.name, wanted.insiders, _judged_values(wanted.values, column, place))
    if isinstance(wanted, TClosenessRequired):
        sets, height = _ground_distance_sets(wanted.distance, column, place)
        return TCloseness(column.name, wanted.distance, wanted.at_most, overall, sets, height)
    assert isinstance(wanted, DeltaDisclosureRequired)
    return DeltaDisclosure(column.name, wanted.at_most, overall)


def _judged_values(values: Sequence[str] | None, column: Column, place: str) -> Codes | None:
    """The positions of these values in the domain of a secret, None for all.

    Raises PolicyError where none of them is a value of it, because they are those of another secret.
    """
    if values is None:
        return None
    judged = [i for i, value in enumerate(column.domain) if value in values]
    if not judged:
        remedy = "name some of them, or with `secret` the column that has these values"
        raise PolicyError(f"none of `values` is a value of {column.name!r}", place=place, remedy=remedy)
    return np.array(judged, dtype=np.int64)


def _check_values(values: Sequence[str], columns: Sequence[Column], place: str) -> None:
    """Raise PolicyError for a value that none of these secrets has; the hint shows no value that only the data have."""
    unknown = next((value for value in values if not any(value in column.domain_set for column in columns)), None)
    if unknown is None:
        return
    known = [value for column in columns if column.declared for value in column.domain if value is not None]
    names = ", ".join(repr(column.name) for column in columns)
    remedy = nearest_name(unknown, known, f"name values of {names}")
    raise PolicyError(f"{unknown!r} is no value of {names}", place=place, remedy=remedy)


def _ground_distance_sets(distance: str, column: Column, place: str) -> tuple[Floats, float]:
    """The sets of values that a ground distance compares, shape (n_values, n_sets), and the cost of a difference."""
    size = len(column.domain)
    if distance == "equal":
        return np.eye(size), 0.5
    if distance == "ordered":
        if not column.ordered:
            raise _unsuitable_column(
                column, place, "have no declared order", "list `values` in order and say `ordered: true`"
            )
        return np.triu(np.ones((size, size)))[:, :-1], 1 / max(size - 1, 1)
    if column.hierarchy is None:
        raise _unsuitable_column(column, place, "have no hierarchy", "name one with `hierarchy:`")
    return _hierarchy_sets(column.hierarchy, column.domain), 1 / (2 * (column.hierarchy.depth + 1))


def _hierarchy_sets(hierarchy: Hierarchy, domain: Sequence[str | None]) -> Floats:
    levels = [np.eye(len(domain))]
    for level in range(hierarchy.depth):
        names = [hierarchy.groups[value][level] for value in domain]
        levels.append(np.array([[name == group for group in dict.fromkeys(names)] for name in names], dtype=float))
    return np.concatenate(levels, axis=1)


def _unsuitable_column(column: Column, place: str, why: str, remedy: str) -> PolicyError:
    return PolicyError(f"the values of {column.name!r} {why}", place=place, remedy=remedy)


class Requirement(Protocol):
    """A property of a population, decided from its counts of the secret's values.

    It must survive merging: a union of populations that have it has it too. Then a test that is
    refused at a node stays refused there while the node's groups are parted elsewhere, and pruning,
    which merges groups, keeps it.
    """

    def holds(self, counts: Floats) -> Mask:
        """For populations (last axis: people per value, somebody in each), which of them satisfy it."""
        ...

    def why_not(self) -> str:
        """In words, what a population lacks; never prints a count below k."""
        ...


@dataclass(frozen=True)
class KAnonymity:
    """At least k people."""

    k: int

    def holds(self, counts: Floats) -> Mask:
        return np.asarray(counts.sum(axis=-1) >= self.k)

    def why_not(self) -> str:
        return f"it has fewer than {self.k} people"


@dataclass(frozen=True)
class OfRecorded:
    """A requirement on the people of a population whose value is recorded; it holds where nobody's is.

    It survives merging as the requirement does: the recorded people of a union are those of its parts.
    """

    required: Requirement
    recorded: Codes

    def holds(self, counts: Floats) -> Mask:
        kept = counts[..., self.recorded]
        nobody = kept.sum(axis=-1) == 0
        return np.asarray(nobody | self.required.holds(np.where(nobody[..., None], 1, kept)))

    def why_not(self) -> str:
        return f"{self.required.why_not()}, of the people whose value is recorded"


def requirements_on(wanted: Required, column: Column, counts: Floats, place: str) -> Iterator[Requirement]:
    """What one requirement of a policy asks of a secret: of the recorded people, and of all where limits ask that."""
    recorded = np.flatnonzero([value not in column.no_answer for value in column.domain])
    if not column.no_answer or column.missing_is_value:
        yield make_requirement(wanted, column, counts, place)
    if column.no_answer and counts[recorded].any():
        yield OfRecorded(make_requirement(wanted, column.answered, counts[recorded], place), recorded)


@dataclass(frozen=True)
class SecretView:
    """One secret: the table with its values in place of the classes, and the requirements on them."""

    name: str
    coded: EncodedTable
    requirements: Sequence[Requirement]

    @cached_property
    def public_features(self) -> tuple[Codes, EncodedTable]:
        """The positions of the public features, and the table with these alone: only tests on them can breach."""
        public = np.array([i for i, feature in enumerate(self.coded.features) if feature.column.public], dtype=np.int64)
        if len(public) == len(self.coded.features):
            return public, self.coded
        features = tuple(self.coded.features[i] for i in public)
        return public, replace(self.coded, features=features, codes=self.coded.codes[:, public])

    def count_public(self, sets: Sequence[CompactIds]) -> Histograms:
        """The histograms of the public features of sets of records, by the values of this column."""
        return histograms.count_histograms(self.public_features[1], sets)

    def __call__(self, counts: Floats) -> Mask:
        """OK of the paper: which populations, none of them empty, satisfy every requirement."""
        fine = np.ones(counts.shape[:-1], dtype=bool)
        for requirement in self.requirements:
            fine &= requirement.holds(counts)
        return fine


def _nothing_forbidden(rows: CompactIds) -> Iterator[tuple[Mask, Codes, Codes, Codes]]:
    """The tests that persons with several rows forbid for a span, where every row is a person."""
    yield from ()


@dataclass(frozen=True)
class Admissible:
    """All requirements on a population, column by column; the class and k come first.

    Source: Friedman, Schuster, Wolff 2006, Definition 6 (people who exist) and section 4.2
    (diversity in place of, or beside, k).

    `forbidden_by_persons` has the tests that are inadmissible for the persons of a span who may have several rows of
    it: the fields of `InadmissibleSplits`.
    """

    views: Sequence[SecretView]
    forbidden_by_persons: Callable[[CompactIds], Iterator[tuple[Mask, Codes, Codes, Codes]]] = _nothing_forbidden

    @classmethod
    def of(cls, coded: EncodedTable, schema: Schema, requirements: Mapping[str, Sequence[Requirement]]) -> Admissible:
        """The requirements, by column, on every span of a table."""
        return cls(
            [SecretView(name, _with_values_of(coded, schema, name), some) for name, some in requirements.items()]
        )

    @property
    def counts_persons(self) -> bool:
        """May a person have several rows?"""
        return self.forbidden_by_persons is not _nothing_forbidden

    def why_not(self, counts: Sequence[Floats]) -> str:
        """Why some people may not form a group; empty when they may.

        `counts` says for each column how many of them have each of its values.
        """
        return "; ".join(
            requirement.why_not()
            for view, people in zip(self.views, counts, strict=True)
            for requirement in view.requirements
            if not requirement.holds(people).all()
        )

    def counts(self, rows: CompactIds) -> list[Floats]:
        """For each column how many people in `rows` have each of its values."""
        return [growth.class_counts(view.coded, rows) for view in self.views]


def requirements_by_column(
    schema: Schema, k: int, wanted: Sequence[Required], people: Callable[[Column], Floats]
) -> dict[str, list[Requirement]]:
    """The requirements on every span by the column that they are about, the class and k first.

    Args:
        schema: the columns.
        k: people in every span.
        wanted: what the policy requires besides.
        people: everybody by the values of a column, in the order of its domain.

    Raises:
        PolicyError: an unknown secret, or one that a requirement does not suit.
    """
    found: dict[str, list[Requirement]] = {schema.target.name: [KAnonymity(k)]}
    for name, place, one in _requirements_by_secret(schema, wanted):
        found.setdefault(name, []).extend(requirements_on(one, schema[name], people(schema[name]), place))
    return found


def admissible_of(coded: EncodedTable, schema: Schema, k: int, wanted: Sequence[Required]) -> Admissible:
    """The requirements on every span: k people, and those on each secret. Raises PolicyError for an unknown secret."""

    def people(column: Column) -> Floats:
        return growth.class_counts(_with_values_of(coded, schema, column.name), np.arange(len(coded.classes)))

    return Admissible.of(coded, schema, requirements_by_column(schema, k, wanted, people))


def _requirements_by_secret(schema: Schema, wanted: Sequence[Required]) -> Iterator[tuple[str, str, Required]]:
    """Each requirement with the name of each secret it concerns and its location in the policy."""
    secrets = [column.name for column in schema.secrets]
    for i, one in enumerate(wanted):
        place = f"build.require[{i}]"
        if not secrets or one.secret not in {None, *secrets}:
            known = ", ".join(map(repr, secrets)) or "none; give a column the role `sensitive`"
            remedy = nearest_name(one.secret, secrets, f"secrets: {known}")
            raise PolicyError("there is no such secret", place=place, remedy=remedy)
        chosen = [name for name in secrets if one.secret in {None, name}]
        numbers = [name for name in chosen if schema[name].numeric]
        if numbers:
            raise PolicyError(
                f"{numbers[0]!r} is a number, and this is about values",
                place=place,
                remedy="declare its `values`, or name another secret",
            )
        if isinstance(one, ConfidenceRequired | ExposureRequired) and one.values is not None:
            _check_values(one.values, [schema[name] for name in chosen], place)
        yield from ((name, place, one) for name in chosen)


def secret_positions(feature: Feature, column: Column) -> Codes:
    """For each code of a feature the position of its value in the column's domain."""
    return np.array([column.domain.index(value) for value in feature.values])


def _with_values_of(coded: EncodedTable, schema: Schema, name: str) -> EncodedTable:
    """The same people, with the values of the class or of a secret, in the domain's order, as classes."""
    if name == schema.target.name:
        return coded
    column = schema[name]
    i = next(i for i, feature in enumerate(coded.features) if feature.column.name == name)
    positions = secret_positions(coded.features[i], column).astype(np.min_scalar_type(len(column.domain)))
    return replace(coded, classes=positions[coded.codes[:, i]], n_classes=len(column.domain))
