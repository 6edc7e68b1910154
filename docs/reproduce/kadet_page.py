"""The measured part of docs/measurements/kadet-on-adult.md, and pictures of trees in text."""

from __future__ import annotations

from collections.abc import Iterator

from kadet_findings import Findings
from kadet_runs import Row
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.tree import CategoricalSplit, Node
from writing import count, fixed, table

SHOWN = (2, 10, 50, 250, 500, 1000)
"""The values of k on the page; the CSV files have all."""


def lines(found: Findings) -> Iterator[str]:
    """Errors, leaves and exposed people by k: ID3 not pruned, and C4.5 pruned, as the paper seems to have them."""
    names = ("error %", "leaves", "exposed %")
    head = ("k", *(f"{tree}: {name}" for tree in ("ID3", "C4.5") for name in names))
    pairs = [(str(k), found.id3.row(k, pruned=False), found.all.row(k, pruned=True)) for k in SHOWN]
    pairs.append(("none", found.id3.plain("id3", pruned=False), found.all.plain("c45", pruned=True)))
    return table(head, [(k, *_numbers(id3), *_numbers(c45)) for k, id3, c45 in pairs], "r" * len(head))


def _numbers(row: Row) -> tuple[str, ...]:
    return fixed(row.test_error), count(row.leaves), fixed(row.exposed)


def drawn(found: Findings) -> Iterator[str]:
    """The trees by which the change of root is explained, with their people in brackets."""
    for caption, tree in found.trees:
        yield f"{caption} (people with <=50K and >50K in brackets):"
        yield from _drawn(tree, "    ")
        yield ""


def _drawn(node: Node, indent: str = "", values: str = "") -> Iterator[str]:
    """A tree of categorical tests, one line a node; the branch with most values is called `others`."""
    if isinstance(node, Leaf):
        people = ", ".join(f"{each:,}" for each in (node.counts or {}).values())
        yield f"{indent}{values}{node.label} ({people})"
    elif isinstance(node, CategoricalSplit):
        yield f"{indent}{values}{node.column}?"
        longest = max(node.branches, key=lambda branch: len(branch.values))
        for branch in node.branches:
            short = len(branch.values) > 4 and branch is longest
            way = "others" if short else ", ".join(map(str, branch.values))
            yield from _drawn(branch.node, indent + "    ", f"{way}: ")
