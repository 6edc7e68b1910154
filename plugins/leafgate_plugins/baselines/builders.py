"""Unprotected trees, to compare with: ID3 and C4.5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from leafgate.api import LargeTable, PositiveInt, Release, Schema, TreeBuilder, lazy
from leafgate.kernel.options import PruningConfidence

if TYPE_CHECKING:
    import numpy as np

    from leafgate.algorithms.induction import encoding, greedy, growth, large, pruning
    from leafgate.algorithms.induction.splits import Measure
    from leafgate.api import Table
else:
    encoding, greedy, growth, large, pruning = (
        lazy(f"leafgate.algorithms.induction.{name}") for name in ("encoding", "greedy", "growth", "large", "pruning")
    )


class Id3(TreeBuilder):
    """Grow a tree by information gain, without any protection of people."""

    use: Literal["id3"] = "id3"
    measure: Literal["gain", "gini"] = Field("gain", description="The measure by which the best test is chosen.")
    min_leaf: PositiveInt = Field(1, description="The least number of people in two children.")
    min_split: Annotated[int, Field(ge=2)] = Field(2, description="A node with fewer people is not split.")

    measure_options = frozenset({"measure", "min_leaf", "min_split"})
    raised_by_remedies = frozenset({"min_leaf"})
    needs_class = True
    counts_persons = True
    threat_model = "None: this builder protects nobody. It shows what an ordinary tree discloses."
    formula = "argmax over tests of H(class) - sum_v n_v/n H(class | v); numeric columns by binary cuts"
    source = 'J. R. Quinlan, "Induction of Decision Trees", Machine Learning 1, 1986'

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        return _build(self, table, self.measure, average_gain=False, confidence=None, min_split=self.min_split)

    def builds_large(self, schema: Schema) -> bool:
        """From every table."""
        return True


class C45(TreeBuilder):
    """Grow and prune a tree as C4.5 does, without any protection of people."""

    use: Literal["c45"] = "c45"
    average_gain: bool = Field(True, description="Only tests of at least the node's mean gain compete.")
    min_leaf: PositiveInt = Field(
        2, description="The least number of people in two children; of a numeric split, in both."
    )
    prune: bool = Field(True, description="Error-based pruning by subtree replacement.")
    confidence: PruningConfidence = Field(0.25, description="Confidence of pruning; smaller prunes more.")

    measure_options = frozenset({"average_gain", "min_leaf", "prune", "confidence"})
    raised_by_remedies = frozenset({"min_leaf"})
    needs_class = True
    counts_persons = True
    threat_model = "None: this builder protects nobody. It shows what an ordinary tree discloses."
    formula = "argmax of gain / split information among tests of at least average gain; then pessimistic pruning"
    source = 'J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993; departures: docs/explanation/baselines.md'

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        confidence = self.confidence if self.prune else None
        return _build(self, table, "gain_ratio", average_gain=self.average_gain, confidence=confidence)

    def builds_large(self, schema: Schema) -> bool:
        """From every table."""
        return True


def _build(
    options: Id3 | C45,
    table: Table | LargeTable,
    measure: Measure,
    *,
    average_gain: bool,
    confidence: float | None,
    min_split: int = 2,
) -> Release:
    """Grow one tree with exact counts and no guarantee, and prune it unless `confidence` is None.

    Departure: generalisation hierarchies, which the papers do not have, are ignored.
    """
    if isinstance(table, LargeTable):
        encoded = large.encode_blocks(table, hierarchies=False)
        coded = encoded.overall
        root = greedy.grow_large(
            encoded, measure, average_gain=average_gain, min_leaf=options.min_leaf, min_split=min_split
        )
    else:
        coded = encoding.encode(table, hierarchies=False)
        root = greedy.grow(coded, measure, average_gain=average_gain, min_leaf=options.min_leaf, min_split=min_split)
    if confidence is not None:
        pruning.prune(root, confidence)
    return Release(
        builder=options.described(),
        schema=table.schema,
        trees=(growth.finished(coded, root, table.schema),),
        selection={
            "measure": measure,
            "average_gain": average_gain,
            "min_leaf": options.min_leaf,
            "min_split": min_split,
            "pruned": confidence is not None,
        },
    )
