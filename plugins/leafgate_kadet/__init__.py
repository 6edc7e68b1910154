"""kADET: decision trees that are k-anonymous by construction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from leafgate import Release, TreeBuilder, hookimpl
from leafgate_kadet.options import AnyRequired

if TYPE_CHECKING:
    import numpy as np

    from leafgate import Table


class Kadet(TreeBuilder):
    """Grow a tree whose every group of people that cannot be told apart has at least k members."""

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

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        from leafgate_kadet.builder import build

        return build(self, table)


@hookimpl
def tree_builders() -> list[type[TreeBuilder]]:
    return [Kadet]
