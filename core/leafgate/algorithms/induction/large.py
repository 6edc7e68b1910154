"""Growing from tables that do not fit into memory: the first nodes from counts of blocks, then each part of the table.

The tree is the one that would grow in memory, where a node's best test depends on the node's own people alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.induction.encoding import (
    EncodedTable,
    Feature,
    categorical_feature,
    numeric_feature,
    value_counts,
)
from leafgate.algorithms.induction.growth import GrowingNode, may_split, sides, son_groups
from leafgate.algorithms.induction.histograms import Histograms, added, count_histograms
from leafgate.algorithms.induction.selection import Choice
from leafgate.errors import InconclusiveError
from leafgate.kernel.arrays import CompactIds, Floats, Rows
from leafgate.kernel.large_table import LargeTable, StoredBlock, smallest_integers
from leafgate.kernel.schema import bin_of

PART_RECORDS = 2_000_000
"""A part of the table has so many records at most, but for nodes that no test divides further."""

Look = Callable[..., Sequence[Choice | None]]
"""The best test of each node, None where it stays a leaf. Its arguments are a table without records, the nodes, and
histograms: those of the nodes' people by class, then those of other countings."""
Counting = Callable[[EncodedTable, Sequence[Rows]], Histograms]
"""Histograms of the records of each node in a block; those of all blocks are added up."""
GrowPart = Callable[[EncodedTable, Sequence[GrowingNode]], object]
"""Grows the subtrees below nodes whose `rows` are in this table."""


@dataclass(frozen=True)
class EncodedBlocks:
    """A large table ready for counting.

    Attributes:
        large: the table.
        features: as in EncodedTable; the numbers of numeric ones are those of all blocks.
        codes: for each feature, the code of each value of its column in the blocks.
        class_counts: shape (n_classes,), the people of each class.
    """

    large: LargeTable
    features: tuple[Feature, ...]
    codes: tuple[CompactIds, ...]
    class_counts: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        return len(self.class_counts)

    @property
    def kind_of_codes(self) -> np.dtype[Any]:
        """The type of integers that holds all codes."""
        return np.result_type(np.uint8, *(codes.dtype for codes in self.codes))

    @property
    def overall(self) -> EncodedTable:
        """One record for each class, with all its people, and no codes that mean anything."""
        shape = (self.n_classes, len(self.features))
        weight = self.class_counts.astype(np.float64)
        return EncodedTable(self.features, np.zeros(shape, np.int64), np.arange(self.n_classes), weight, self.n_classes)

    @cached_property
    def _class_of_value(self) -> NDArray[np.int64]:
        """The class of each value of the class column in the blocks."""
        target = self.large.schema.target
        values = self.large.values[target.name]
        return values.astype(np.int64) if target.edges is None else bin_of(values, target.edges)

    def tables(self, features: Collection[int] | None = None) -> Iterator[EncodedTable]:
        """Each block as `encoded` returns it."""
        for block in self.large.blocks:
            yield self.encoded(block, features)

    def columns(self, i: int) -> Iterator[tuple[CompactIds, NDArray[np.int64]]]:
        """The codes of one feature of each block's records, and the people of each record."""
        for block in self.large.blocks:
            yield self.codes[i][block.codes(self.features[i].column.name)], block.counts

    def value_counts(self) -> list[Floats]:
        """For each feature the people of each code and class, shape (n_codes, n_classes), counted in one pass."""
        counts = [np.zeros((feature.size, self.n_classes)) for feature in self.features]
        for coded in self.tables():
            for total, more in zip(counts, value_counts(coded), strict=True):
                total += more
        return counts

    def encoded(self, block: StoredBlock, features: Collection[int] | None = None) -> EncodedTable:
        """A block ready for counting; where `features` are named, the codes of others mean nothing."""
        target, counts = self.large.schema.target.name, block.counts
        matrix = np.zeros((len(counts), len(self.features)), self.kind_of_codes, order="F")
        for i, (feature, codes) in enumerate(zip(self.features, self.codes, strict=True)):
            if features is None or i in features:
                matrix[:, i] = codes[block.codes(feature.column.name)]
        classes = self._class_of_value[block.codes(target)]
        weight = counts.astype(np.float64)
        return EncodedTable(self.features, matrix, classes, weight, self.n_classes, compact=True)


def encode_blocks(large: LargeTable, *, hierarchies: bool = True) -> EncodedBlocks:
    """The features and classes of a large table, as `encode` encodes those of a Table."""
    features, codes = [], []
    for column in large.schema.features:
        values = large.values[column.name]
        if column.numeric:
            feature, code = numeric_feature(column, values)
        else:
            feature, rank = categorical_feature(column, hierarchies)
            code = rank[np.where(values < 0, len(column.values or ()), values)]
        features.append(feature)
        codes.append(code.astype(np.min_scalar_type(max(feature.size - 1, 0))))
    return EncodedBlocks(large, tuple(features), tuple(codes), large.class_counts())


def grow_in_parts(
    encoded: EncodedBlocks,
    look: Look,
    grow_part: GrowPart,
    may_split: Callable[[GrowingNode], bool] = may_split,
    part_records: int | None = None,
    countings: Sequence[Counting] = (),
    alone: Callable[[Choice], bool] = lambda choice: True,
) -> GrowingNode:
    """The tree: nodes of more people than a part has records are split by counts of blocks, the rest in memory.

    Args:
        encoded: the table.
        look: chooses tests by histograms.
        grow_part: grows the rest of the tree. Nodes lose their rows afterwards.
        may_split: nodes of which this is false stay leaves.
        part_records: so many records are held in memory together; PART_RECORDS if left out.
        countings: what `look` needs besides the histograms of the nodes by class.
        alone: do the children that a test gives a node grow independently of each other? Where they do not, all records
            of the node are held in memory together.

    Raises:
        InconclusiveError: more records must be held in memory together than `most_records` of the table.
    """
    part_records = PART_RECORDS if part_records is None else part_records
    nothing, counts = np.zeros(0, dtype=np.int64), encoded.class_counts.astype(np.float64)
    root = GrowingNode(nothing, counts, int(counts.argmax()))
    wave, rest = [root], []
    while wave:
        rest += [node for node in wave if may_split(node) and node.people <= part_records]
        wave = [node for node in wave if may_split(node) and node.people > part_records]
        if wave:
            wave, together = _split_by_counts(encoded, root, wave, look, [count_histograms, *countings], alone)
            rest += together
    for part in _divide(encoded, root, _parts(encoded, root, rest, part_records)):
        grow_part(part.load(encoded), part.nodes)
        for node in part.nodes:
            for each in node.below():
                each.rows = nothing
    return root


def _split_by_counts(
    encoded: EncodedBlocks,
    root: GrowingNode,
    wave: Sequence[GrowingNode],
    look: Look,
    countings: Sequence[Counting],
    alone: Callable[[Choice], bool],
) -> tuple[list[GrowingNode], list[GrowingNode]]:
    """Split each node by its best test, found by one pass over the table.

    Returns:
        The children, and the nodes that are not split because their children would not grow independently.
    """
    sums: list[Histograms] = []
    for coded in encoded.tables():
        rows = _rows_of(coded, root, wave)
        of_block = [count(coded, rows) for count in countings]
        sums = [added(*each) for each in zip(sums, of_block, strict=True)] if sums else of_block
    overall, cells = encoded.overall, sums[0]
    children, together = [], []
    for i, (node, choice) in enumerate(zip(wave, look(overall, wave, *sums), strict=True)):
        if choice is not None and not alone(choice):
            together.append(node)
        elif choice is not None:
            at = slice(*np.searchsorted(cells.group, [i, i + 1]))
            of_feature = cells.feature[at] == choice.feature
            node.choice = choice
            node.children = _children(overall, node, choice, cells.code[at][of_feature], cells.counts[at][of_feature])
            children += node.children
    return children, together


def _children(
    overall: EncodedTable, node: GrowingNode, choice: Choice, codes: NDArray[np.int64], counts: Floats
) -> list[GrowingNode]:
    """The children that a split gives the node, by the people of each code of the feature, without their rows."""
    feature = overall.features[choice.feature]
    side = sides(overall, choice, codes)
    children = []
    for group in son_groups(overall, node, choice):
        people = counts[side == group].sum(axis=0)
        label = int(people.argmax()) if people.any() else node.label
        child = GrowingNode(node.rows, people, label, node, node.depth + 1, dict(node.possible))
        if not feature.numeric:
            possible = node.possible.get(choice.feature, np.arange(feature.size))
            child.possible[choice.feature] = possible[feature.levels[choice.level][possible] == group]
        children.append(child)
    return children


def _rows_of(coded: EncodedTable, root: GrowingNode, nodes: Sequence[GrowingNode]) -> list[Rows]:
    """The records of each of these nodes, by the tests above them."""
    found = {id(node): np.zeros(0, dtype=np.int64) for node in nodes}
    waiting = [(root, np.arange(len(coded.classes)))]
    while waiting:
        node, rows = waiting.pop()
        if id(node) in found:
            found[id(node)] = rows
        elif node.choice is not None and len(rows):
            side = sides(coded, node.choice, coded.codes[rows, node.choice.feature])
            groups = son_groups(coded, node, node.choice)
            waiting.extend((child, rows[side == group]) for child, group in zip(node.children, groups, strict=True))
    return [found[id(node)] for node in nodes]


def _features_asked(root: GrowingNode) -> set[int]:
    """The features that the tests of the tree are on."""
    return {node.choice.feature for node in root.below() if node.choice is not None}


def _parts(
    encoded: EncodedBlocks, root: GrowingNode, nodes: Sequence[GrowingNode], part_records: int
) -> list[list[GrowingNode]]:
    """The nodes in parts, each of which has `part_records` records at most, or one node.

    Raises InconclusiveError where that node has more records than may be loaded.
    """
    records = np.zeros(len(nodes), dtype=np.int64)
    for coded in encoded.tables(_features_asked(root)) if nodes else ():
        records += [len(rows) for rows in _rows_of(coded, root, nodes)]
    most = max(part_records, encoded.large.most_records)
    if records.max(initial=0) > most:
        raise InconclusiveError(
            f"people whom private columns connect have more than {most:,} distinct records, which would not fit into "
            "memory together",
            place="data.source.most_records",
            remedy="declare fewer columns private, give columns of many values `bins`, or raise it: each record needs "
            "about 65 bytes",
        )
    parts: list[list[GrowingNode]] = []
    size = part_records
    for node, its in zip(nodes, records.tolist(), strict=True):
        if size + its > part_records:
            parts.append([])
            size = 0
        parts[-1].append(node)
        size += its
    return parts


def _divide(encoded: EncodedBlocks, root: GrowingNode, parts: Sequence[Sequence[GrowingNode]]) -> list[_Part]:
    """The records of each part, written beside the blocks in one pass over these."""
    divided = [_Part(nodes) for nodes in parts]
    for block, coded in zip(encoded.large.blocks if parts else (), encoded.tables(_features_asked(root)), strict=False):
        columns = {name: block.codes(name) for name in block.columns}
        counts, rows = block.counts, iter(_rows_of(coded, root, [node for part in parts for node in part]))
        for number, part in enumerate(divided):
            of_nodes = [next(rows) for _ in part.nodes]
            its = np.concatenate(of_nodes)
            if len(its):
                piece = StoredBlock(block.folder, f"part-{number}-{block.name}", block.columns)
                piece.write({name: codes[its] for name, codes in columns.items()}, counts[its])
                part.pieces.append((piece, [len(rows) for rows in of_nodes]))
    return divided


@dataclass
class _Part:
    """Nodes, and their records by the block that these come from, with how many each node has there."""

    nodes: Sequence[GrowingNode]
    pieces: list[tuple[StoredBlock, list[int]]] = field(default_factory=list)

    def load(self, encoded: EncodedBlocks) -> EncodedTable:
        """The records of these nodes, whose `rows` are set; their files are deleted."""
        total, at = sum(sum(sizes) for _, sizes in self.pieces), 0
        codes = np.empty((total, len(encoded.features)), encoded.kind_of_codes, order="F")
        classes = np.empty(total, np.min_scalar_type(encoded.n_classes - 1))
        for piece, sizes in self.pieces:
            table = encoded.encoded(piece)
            rows = slice(at, at := at + sum(sizes))
            codes[rows], classes[rows] = table.codes, table.classes
        weight = np.concatenate([smallest_integers(piece.counts) for piece, _ in self.pieces])
        numbers = np.arange(len(self.nodes), dtype=np.min_scalar_type(len(self.nodes)))
        node = np.concatenate([np.repeat(numbers, sizes) for _, sizes in self.pieces])
        order = np.argsort(node, kind="stable")
        ends = [*np.searchsorted(node[order], numbers).tolist(), total]
        for each, (start, end) in zip(self.nodes, pairwise(ends), strict=True):
            each.rows = smallest_integers(order[start:end])
        for piece, _ in self.pieces:
            piece.delete()
        return EncodedTable(encoded.features, codes, classes, weight, encoded.n_classes, compact=True)
