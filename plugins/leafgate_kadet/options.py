"""What a policy may require of every group beside k, written like the metrics it mirrors."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

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
