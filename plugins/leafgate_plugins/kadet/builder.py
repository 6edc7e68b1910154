"""kADET: decision trees that are k-anonymous by construction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from leafgate.api import MORE, PositiveInt, Release, TreeBuilder, lazy
from leafgate.kernel.options import PruningConfidence
from leafgate_plugins.kadet import requirements
from leafgate_plugins.kadet.requirements import AnyRequired

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from leafgate.algorithms.induction import encoding, growth, large, pruning
    from leafgate.algorithms.induction.encoding import EncodedTable
    from leafgate.api import Ids, LargeTable, Metric, Node, Records, Schema, Table
    from leafgate_plugins.kadet import equivalent_table as equivalent_tables
    from leafgate_plugins.kadet import grow as growing
    from leafgate_plugins.kadet import persons
    from leafgate_plugins.kadet import spans as spans_of_tree
else:
    np = lazy("numpy")
    encoding, growth, large, pruning = (
        lazy(f"leafgate.algorithms.induction.{name}") for name in ("encoding", "growth", "large", "pruning")
    )
    equivalent_tables, growing, persons, spans_of_tree = (
        lazy(f"leafgate_plugins.kadet.{name}") for name in ("equivalent_table", "grow", "persons", "spans")
    )


SMALLEST_K = 2
"""The k where limits are on secrets alone: nobody is in a group alone."""


class Kadet(TreeBuilder):
    """Grow a tree in which every group of people whom the adversary cannot distinguish has at least k members."""

    use: Literal["kadet"] = "kadet"
    k: Annotated[PositiveInt, MORE] = Field(description="The least number of people in every non-empty group.")
    measure: Literal["gain", "gain_ratio", "gini"] = Field(
        "gain", description="The measure by which the best test is chosen."
    )
    average_gain: bool = Field(True, description="With `gain_ratio`: tests below the node's mean gain come last.")
    prune: bool = Field(True, description="Error-based pruning by subtree replacement.")
    confidence: PruningConfidence = Field(0.25, description="Confidence of pruning; smaller prunes more.")
    publish_table: bool = Field(False, description="Publish the equivalent k-anonymous table beside the tree.")
    max_spans: PositiveInt = Field(100_000, description="More groups than this make the audit inconclusive.")
    require: tuple[AnyRequired, ...] = Field(
        (),
        description="Further requirements on every group.",
    )

    policy_example = "k: 10"
    measure_options = frozenset({"measure", "average_gain", "prune", "confidence"})
    needs_class = True
    counts_persons = True
    threat_model = (
        "The adversary knows the public columns of everyone in the table, and the tree. Everyone whose private "
        "cells could lead to the same set of (leaf, class) pairs forms one group."
    )
    formula = (
        "every non-empty span population >= k, and whatever is required; best first by people x gain (or gain ratio)"
    )
    source = (
        'A. Friedman, A. Schuster, R. Wolff, "k-Anonymous Decision Tree Induction", PKDD 2006, Algorithm 1; '
        "departures: docs/explanation/kadet.md"
    )

    @classmethod
    def keeping(cls, limits: Sequence[Metric]) -> Kadet | None:
        """kADET with the k and the requirements that the limits ask for; None where it can keep none of them."""
        k, required = requirements.requirements_for(limits)
        if k is None and not required:
            return None
        return cls(k=k or SMALLEST_K, **({"require": required} if required else {}))

    def described(self) -> dict[str, Any]:
        result = super().described()
        required = [{"use": each.use, **each.options()} for each in self.require]
        return {key: value for key, value in result.items() if key != "require"} | (
            {"require": required} if required else {}
        )

    def build(self, table: Table, rng: np.random.Generator) -> Release:
        """The k-anonymous tree with exact counts, its claim and, if requested, the equivalent table.

        Raises:
            NoReleaseError: when no tree is k-anonymous.
            InconclusiveError: when the tree has more than `max_spans` spans.
        """
        coded = encoding.encode(table)
        admissible, groups = self._admissible(table, coded)
        root, spans = growing.grow(
            coded,
            table.schema,
            admissible,
            self.measure,
            average_gain=self.average_gain,
            max_spans=self.max_spans,
        )
        if self.prune:
            pruning.prune(root, self.confidence)
        if groups is not None:
            groups.keep(root, spans.all())
        records = (
            equivalent_tables.equivalent_table(coded, table.schema, spans_of_tree.merge_spans(spans.all()))
            if self.publish_table
            else None
        )
        return self._release(growth.finished(coded, root, table.schema), table.schema, records)

    def distilled(self, table: Table, rng: np.random.Generator, levels: Ids) -> Release | None:
        """The k-anonymous tree whose tests tell these levels apart, with the exact counts of the classes.

        None where the class is public, because people of different classes are different groups then.

        Raises as `build` does.

        Departure: the paper grows and prunes by the classes. What a group must have is asked of the people's own
        classes and secrets here, too.
        """
        if table.schema.target.public:
            return None
        coded = encoding.encode(table)
        rows = levels if len(coded.classes) == len(table) else np.repeat(levels, table.weight)
        admissible, groups = self._admissible(table, coded)
        by_level = replace(coded, classes=rows, n_classes=int(rows.max(initial=0)) + 1)
        root, spans = growing.grow(
            by_level,
            table.schema,
            admissible,
            self.measure,
            average_gain=self.average_gain,
            max_spans=self.max_spans,
        )
        growth.recount(coded, root)
        if self.prune:
            pruning.prune(root, self.confidence)
        if groups is not None:
            groups.keep(root, spans.all())
        return self._release(growth.finished(coded, root, table.schema), table.schema, None)

    def builds_large(self, schema: Schema) -> bool:
        """Where no k-anonymous table is published."""
        return not self.publish_table

    def build_large(self, table: LargeTable, rng: np.random.Generator) -> Release:
        """The tree that `build` grows of these people.

        Raises as `build` does.
        """
        encoded = large.encode_blocks(table)
        root = growing.grow_large(
            encoded,
            table.schema,
            self.k,
            self.require,
            self.measure,
            average_gain=self.average_gain,
            max_spans=self.max_spans,
        )
        if self.prune:
            pruning.prune(root, self.confidence)
        return self._release(growth.finished(encoded.overall, root, table.schema), table.schema, None)

    def _admissible(
        self, table: Table, coded: EncodedTable
    ) -> tuple[requirements.Admissible, persons.PersonGroups | None]:
        """What every group must have, and where a person may have several rows also of its persons."""
        admissible = requirements.admissible_of(coded, table.schema, self.k, self.require)
        if table.person_rows is None:
            return admissible, None
        groups = persons.PersonGroups(table, table.person_rows, coded, self.k, self.require)
        return replace(admissible, forbidden_by_persons=groups.forbidden), groups

    def _release(self, tree: Node, schema: Schema, records: Records | None) -> Release:
        return Release(
            builder=self.described(),
            schema=schema,
            trees=(tree,),
            selection={
                "measure": self.measure,
                "average_gain": self.average_gain and self.measure == "gain_ratio",
                "k": self.k,
                "pruned": self.prune,
            },
            guarantee=self._claims(),
            records=records,
        )

    def _claims(self) -> dict[str, Any]:
        """k, and every requirement under the name of the metric that checks it."""
        claims: dict[str, Any] = {"k": self.k}
        for required in self.require:
            claims.setdefault(required.use, []).append(required.claim())
        return claims
