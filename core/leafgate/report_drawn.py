"""What the pictures of a stored report must be drawn from: bars, guesses, a tree."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from leafgate.policy_column import Strict
from leafgate.report_numbers import Count, Whole

Share = Annotated[float, Field(ge=0, le=1)]


class BarTold(Strict):
    """People at some scores."""

    low: float | None = Field(None, alias="from")
    high: float | None = Field(None, alias="to")
    people: Count
    past: bool | None


class GuessTold(Strict):
    """How often an attack's best guess is right."""

    attack: str
    secret: str
    right: Share
    commonest: Share


class NodeTold(Strict):
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
    beliefs: tuple[BeliefTold, ...] = ()
    equivalence_class: ClassTold | None = None

    @model_validator(mode="after")
    def _of_somebody(self) -> Self:
        if self.beliefs and self.people is None:
            raise ValueError("has beliefs about people it does not count")
        if self.equivalence_class is not None and (self.people is None or self.people >= self.equivalence_class.people):
            raise ValueError("has an equivalence class that is not larger than its people are many")
        return self


class ClassTold(Strict):
    """Of a leaf: the smallest equivalence class of its people, and what tests ask that the adversary does not know."""

    people: Whole
    unknown: Annotated[tuple[str, ...], Field(min_length=1)]


class BeliefTold(Strict):
    """What an attack believes of a leaf's people, and what is true."""

    attack: str
    secret: str
    believed: Annotated[dict[str, Share], Field(min_length=1, max_length=1)]
    true: dict[str, Whole]


class TreeTold(Strict):
    """The tree to draw."""

    trees: Whole
    number: Whole = 1
    coloured: bool
    nodes: Annotated[tuple[NodeTold, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _parents_first(self) -> Self:
        parents = [node.parent for node in self.nodes]
        if parents[0] is not None or not all(
            parent is not None and parent < i for i, parent in enumerate(parents) if i
        ):
            raise ValueError("a node does not stand after its parent")
        return self
