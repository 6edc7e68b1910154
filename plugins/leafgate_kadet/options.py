"""The options of kADET, and the requirements that a policy can add to k."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from leafgate import TreeBuilder
from leafgate.api.components import STRICT

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1)]


class Required(BaseModel):
    """One requirement; of every sensitive column, or of `secret` alone."""

    model_config = STRICT

    use: str
    secret: str | None = Field(None, description="The sensitive column it is about; every one when left out.")

    def claim(self) -> dict[str, Any]:
        """The requirement as a release claims it."""
        return self.model_dump(mode="json", exclude={"use"}, exclude_none=True)


class LDiversityRequired(Required):
    """Every group's secret is l-diverse: distinct, entropy, or recursive (c, l)."""

    use: Literal["l_diversity"] = "l_diversity"
    form: Literal["distinct", "entropy", "recursive"] = Field("entropy", description="What counts as diverse.")
    c: Positive | None = Field(None, description="Of `form: recursive`: r_1 < c (r_l + ... + r_m).")
    at_least: Positive = Field(description="The l.")

    @model_validator(mode="after")
    def _c_of_recursive(self) -> Self:
        if (self.form == "recursive") != (self.c is not None):
            raise ValueError("`c` belongs to `form: recursive`, which needs it")
        return self


class ConfidenceRequired(Required):
    """No value is more frequent in a group than this."""

    use: Literal["confidence"] = "confidence"
    at_most: Share = Field(description="The largest share.")


class TClosenessRequired(Required):
    """Every group's distribution is this close to everyone's."""

    use: Literal["t_closeness"] = "t_closeness"
    distance: Literal["equal", "ordered", "hierarchical"] = Field("equal", description="Between two values.")
    at_most: NotNegative = Field(description="The t.")


class DeltaDisclosureRequired(Required):
    """No value's share differs from everyone's by more than a factor of e to this."""

    use: Literal["delta_disclosure"] = "delta_disclosure"
    at_most: NotNegative = Field(description="The delta, in nats.")


AnyRequired = Annotated[
    LDiversityRequired | ConfidenceRequired | TClosenessRequired | DeltaDisclosureRequired,
    Field(discriminator="use"),
]


class KadetOptions(TreeBuilder):
    """Options of the builder `kadet`."""

    use: Literal["kadet"] = "kadet"
    k: Annotated[int, Field(ge=1)] = Field(description="People in every non-empty group.")
    measure: Literal["gain", "gain_ratio", "gini"] = Field("gain", description="What the best test has most of.")
    average_gain: bool = Field(True, description="With gain_ratio: tests below the node's mean gain come last.")
    prune: bool = Field(True, description="Error-based pruning by subtree replacement; it keeps k-anonymity.")
    confidence: Annotated[float, Field(gt=0, le=0.5)] = Field(0.25, description="Of pruning; smaller prunes more.")
    publish_table: bool = Field(False, description="Publish the equivalent k-anonymous table beside the tree.")
    max_spans: Annotated[int, Field(ge=1)] = Field(100_000, description="More groups than this: inconclusive.")
    require: tuple[AnyRequired, ...] = Field(
        (), description="What every group must satisfy besides: l_diversity, confidence, t_closeness, delta_disclosure."
    )

    stricter_more = frozenset({"k"})
    measure_options = frozenset({"measure", "average_gain", "prune", "confidence"})
    threat_model = (
        "The adversary knows the public columns of everyone in the table, and the tree. Everyone whose private "
        "cells could lead to the same set of (leaf, class) pairs forms one group."
    )
    formula = (
        "every non-empty span population >= k, and whatever is required; best first by people x gain (or gain ratio)"
    )
    source = (
        'A. Friedman, A. Schuster, R. Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006, Algorithm 1; '
        "departures: docs/sources.md"
    )

    def described(self) -> dict[str, Any]:
        result = super().described()
        required = [{"use": one.use, **one.claim()} for one in self.require]
        return {key: value for key, value in result.items() if key != "require"} | (
            {"require": required} if required else {}
        )
