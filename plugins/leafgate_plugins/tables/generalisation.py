"""A generalisation of a table: for every public column, the groups in which its values are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from leafgate import api
from leafgate.kernel.options import PruningConfidence
from leafgate.kernel.schema import Value
from leafgate_plugins.tables.raw_table import PublishedColumn

if TYPE_CHECKING:
    import numpy as np

    from leafgate.algorithms.induction import encoding
    from leafgate.algorithms.induction.encoding import EncodedTable, Feature
    from leafgate.algorithms.induction.large import EncodedBlocks
    from leafgate.kernel.arrays import CompactIds
else:
    np, encoding = api.lazy("numpy"), api.lazy("leafgate.algorithms.induction.encoding")

Groups = tuple[tuple[Value, ...], ...]
Thresholds = tuple[float, ...]


@dataclass(frozen=True)
class Generalisation:
    """For a categorical column its groups of values, for a numeric one the numbers it is cut at, rising.

    Columns that are not named stay as they are.
    """

    columns: Mapping[str, Groups | Thresholds]

    def part_of(self, feature: Feature) -> api.Codes:
        """For each code of a feature the number of its group."""
        document: Any = self.columns[feature.column.name]
        if feature.numbers is not None:
            return np.searchsorted(np.asarray(document, dtype=float), feature.numbers, side="left").astype(np.int64)
        where = {value: i for i, group in enumerate(document) for value in group}
        return np.array([where[value] for value in feature.values], dtype=np.int64)

    def size(self, feature: Feature) -> int:
        """How many groups a feature has."""
        result = self.columns[feature.column.name]
        return len(result) + 1 if feature.numeric else len(result)

    def coarse(self, coded: EncodedTable) -> EncodedTable:
        """The generalised table as codes: each named feature has its groups' numbers for values."""
        features, parts = self._coarse_features(coded.features)
        columns = [part[coded.codes[:, i]] for i, part in enumerate(parts)]
        return replace(coded, features=features, codes=np.stack(columns, axis=1) if columns else coded.codes)

    def coarse_blocks(self, encoded: EncodedBlocks) -> EncodedBlocks:
        """The generalised table as codes, of a table that does not fit into memory."""
        features, parts = self._coarse_features(encoded.features)
        codes = tuple(part[codes] for part, codes in zip(parts, encoded.codes, strict=True))
        return replace(encoded, features=features, codes=codes)

    def _coarse_features(self, features: Sequence[Feature]) -> tuple[tuple[Feature, ...], list[api.Codes]]:
        """The features of the generalised table, and for each code of a feature its code there."""
        named = [feature.column.name in self.columns for feature in features]
        parts = [self.part_of(f) if n else np.arange(f.size) for f, n in zip(features, named, strict=True)]
        coarse = (_numbered(f, self.size(f)) if n else f for f, n in zip(features, named, strict=True))
        return tuple(coarse), parts

    def translated(self, node: api.Node) -> api.Node:
        """A tree learned from the generalised table, asking about the columns as they are."""
        match node:
            case api.NumericSplit():
                document: Any = self.columns.get(node.column)
                at = node.at if document is None else float(document[int(node.at)])
                return replace(node, at=at, low=self.translated(node.low), high=self.translated(node.high))
            case api.CategoricalSplit():
                ways = (api.Branch(self._values(node.column, b.values), self.translated(b.node)) for b in node.branches)
                return api.CategoricalSplit(node.column, tuple(ways))
            case api.Leaf():
                return node

    def _values(self, column: str, values: tuple[Value, ...]) -> tuple[Value, ...]:
        if column not in self.columns:
            return values
        document: Any = self.columns[column]
        return tuple(value for number in values for value in document[int(str(number))])

    def published_column(self, coded: EncodedTable, i: int) -> PublishedColumn:
        """A named feature as published: each cell says its whole group."""
        feature = coded.features[i]
        part = self.part_of(feature)
        return PublishedColumn(
            feature.column, [self._cell(feature, group) for group in range(self.size(feature))], part[coded.codes[:, i]]
        )

    def _cell(self, feature: Feature, group: int) -> Any:
        """A group as a record publishes it: one value, several, or the numbers above one cut and up to the next."""
        document: Any = self.columns[feature.column.name]
        if feature.numbers is None:
            return document[group][0] if len(document[group]) == 1 else {"in": list(document[group])}
        bounds = feature.column.bounds or (float(feature.numbers[0]), float(feature.numbers[-1]))
        low = bounds[0] if group == 0 else float(np.nextafter(document[group - 1], np.inf))
        return {"from": low, "to": bounds[1] if group == len(document) else float(document[group])}


def _numbered(feature: Feature, size: int) -> Feature:
    levels = (np.arange(size),)
    if feature.numeric:
        return encoding.Feature(feature.column, levels, numbers=np.arange(size, dtype=np.float64))
    return encoding.Feature(feature.column, levels, values=tuple(map(str, range(size))))


def refuse_small(coded: EncodedTable, groups: CompactIds, k: int) -> None:
    """NoReleaseError when a group of people is too small before anything is refined."""
    sizes = np.bincount(groups, weights=coded.weight)
    smallest = int(sizes[sizes > 0].min())
    if smallest < k:
        raise api.NoReleaseError(
            f"no generalisation keeps the promise: a group that nothing can hide has fewer than {k} people",
            people=smallest,
            remedy="gather more people, or give these columns coarser values",
        )


class GeneralisingBuilder(api.TreeBuilder):
    """What the builders share that generalise a table, and release it, the tree learned from it, or both."""

    k: Annotated[api.PositiveInt, api.MORE] = Field(description="The least number of people in every non-empty group.")
    measure: Literal["gain", "gain_ratio", "gini"] = Field(
        "gain", description="The measure by which the best test is chosen."
    )
    prune: bool = Field(True, description="Error-based pruning by subtree replacement.")
    confidence: PruningConfidence = Field(0.25, description="Confidence of pruning; smaller prunes more.")
    release: Literal["tree", "table", "both"] = Field(
        "tree", description="What is released: the tree, the generalised table, or both."
    )

    measure_options = frozenset({"measure", "prune", "confidence"})
    threat_model = "The adversary knows the public columns of everyone in the table, and the table or the tree."

    def _release(
        self, schema: api.Schema, tree: api.Node, records: api.Records | None, guarantee: Mapping[str, Any]
    ) -> api.Release:
        """The release of a tree and of records; `release` states which of them are published."""
        alone = self.release == "table"
        return api.Release(
            builder=self.described(),
            schema=schema,
            trees=() if alone else (tree,),
            model="none" if alone else "trees",
            selection=None if alone else {"measure": self.measure, "k": self.k, "pruned": self.prune},
            guarantee=guarantee,
            records=records,
        )
