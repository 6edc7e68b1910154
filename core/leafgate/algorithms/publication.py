"""Cut a release down to what the policy publishes of it."""

from __future__ import annotations

from dataclasses import replace

from leafgate.kernel.leaf import Leaf
from leafgate.kernel.release import Level, Publish, Release
from leafgate.kernel.tree import Node, map_leaves


def published(draft: Release, publish: Publish, measure_options: frozenset[str]) -> Release:
    """The draft cut down to what the policy publishes.

    Leaves keep their label and the one statistic of `publish.leaves`, beside counts the scores made of them;
    without `publish.measure` the selection facts go, and with them the builder's options named in
    `measure_options`. Somebody else's model file is published as it is.
    """
    if draft.file is not None:
        return draft

    def cut_down(node: Node) -> Node:
        return node if publish.leaves == "counts" else map_leaves(node, lambda leaf: at_level(leaf, publish.leaves))

    builder = dict(draft.builder)
    if not publish.measure:
        builder = {key: value for key, value in builder.items() if key not in measure_options}
    return replace(
        draft,
        builder=builder,
        trees=tuple(map(cut_down, draft.trees)),
        alternatives={name: cut_down(tree) for name, tree in draft.alternatives.items()},
        publish=publish,
        selection=draft.selection if publish.measure else None,
    )


def at_level(leaf: Leaf, level: Level) -> Leaf:
    """A leaf with counts, cut down to `level`; a leaf that nobody reaches keeps only the label.

    It has no shares, and so discloses among leaves with shares that it is empty: `Release.is_empty`.
    """
    if leaf.counts is None or level == "counts":
        return leaf
    size = sum(leaf.counts.values())
    bare = Leaf(label=leaf.label, value=leaf.value)
    if level == "labels" or size == 0:
        return bare
    if level == "shares":
        return replace(bare, shares={name: count / size for name, count in leaf.counts.items()})
    return replace(bare, error_rate=1 - leaf.counts.get(leaf.label or "", 0) / size)
