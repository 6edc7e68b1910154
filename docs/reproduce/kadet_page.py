"""The measured part of docs/measurements/kadet-on-adult.md."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from kadet_claims import claims
from kadet_findings import Experiment, Findings
from kadet_runs import K_GRID, Row
from kadet_variations import ROOT_KS
from leafgate.kernel.leaf import Leaf
from leafgate.kernel.tree import CategoricalSplit, Node
from writing import put, section, table

NAMES = {"kadet": "kADET", "id3": "ID3", "c45": "C4.5", "one leaf": "a single leaf"}


def rewrite(page: Path, found: Findings, picture: str) -> None:
    """Put this run's results between the page's two markers; the rest stays as it is."""
    put(page, _results(found, picture))


def _results(found: Findings, picture: str) -> Iterator[str]:
    yield from section("Claim by claim", _claims(found))
    yield f"![Test error and exposed people against k]({picture})\n"
    yield from section("ID3: the eight categorical attributes", _experiment(found.id3))
    yield from section("C4.5: all attributes", _experiment(found.all))
    yield from section("What the trees still ask (ID3, pruned)", _asked(found.id3))
    yield from section("What the root can ask (ID3)", _root_tests(found))
    yield from section("The trees at k = 889 and k = 890 (ID3, pruned)", _trees(found))
    yield from section("Who is predicted differently at k = 889 and k = 890", _differ(found))
    yield from section("The same change of root with other hierarchies (ID3, pruned)", _root_changes(found))
    yield from section("Ties, cuts and the average-gain filter", _shifts(found))


def _claims(found: Findings) -> Iterator[str]:
    rows = [(claim.paper, claim.here, claim.reproduces) for claim in claims(found)]
    return table(("The paper (section 4)", "Here", "Reproduces"), rows, "lll")


def _experiment(e: Experiment) -> Iterator[str]:
    """Pruned and not side by side, kADET by rising k, then the trees that promise nothing."""
    pairs = [(f"kADET, k = {k}", e.row(k, pruned=True), e.row(k, pruned=False)) for k in K_GRID]
    for tree in dict.fromkeys(row.tree for row in e.rows if row.k is None):
        pairs.append((f"{NAMES[tree]}, no k", e.plain(tree, pruned=True), e.plain(tree, pruned=False)))
    head = ["tree"] + ["error %", "leaves", "smallest group", "exposed %"] * 2
    head[5:] = [f"{name}, not pruned" for name in head[5:]]
    return table(head, [(name, *_numbers(pruned), *_numbers(bare)) for name, pruned, bare in pairs], "lrrrrrrrr")


def _numbers(row: Row) -> tuple[str, ...]:
    return f"{row.test_error:.2f}", f"{row.leaves:,}", f"{row.smallest_group:,}", f"{row.exposed:.2f}"


def _asked(e: Experiment) -> Iterator[str]:
    """Neighbouring k whose trees ask the same columns stand together."""
    runs = groupby(K_GRID, key=lambda k: e.row(k, pruned=True).asks)
    rows = [(", ".join(map(str, ks)), asks.replace(" ", ", ")) for asks, ks in runs]
    return table(("k", "columns"), rows, "ll")


def _root_tests(found: Findings) -> Iterator[str]:
    rows = [
        (t.column, "as it is" if t.level == 0 else str(t.level), str(t.ways), f"{t.smallest:,}", f"{t.surest:.1f}")
        for t in found.root_tests
    ]
    return table(("column", "level", "ways", "smallest group = largest k", "surest class %"), rows, "lrrrr")


def _trees(found: Findings) -> Iterator[str]:
    for caption, tree in found.trees:
        yield f"{caption} (people with <=50K and >50K in brackets):\n"
        yield "```text"
        yield from _drawn(tree)
        yield "```\n"


def _drawn(node: Node, indent: str = "", values: str = "") -> Iterator[str]:
    """A tree of categorical tests, one line a node; the branch with most values is called `others`."""
    if isinstance(node, Leaf):
        people = ", ".join(f"{count:,}" for count in (node.counts or {}).values())
        yield f"{indent}{values}{node.label} ({people})"
    elif isinstance(node, CategoricalSplit):
        yield f"{indent}{values}{node.column}?"
        longest = max(node.branches, key=lambda branch: len(branch.values))
        for branch in node.branches:
            short = len(branch.values) > 4 and branch is longest
            way = "others" if short else ", ".join(map(str, branch.values))
            yield from _drawn(branch.node, indent + "    ", f"{way}: ")


def _differ(found: Findings) -> Iterator[str]:
    rows = [
        (name, f"{d.people:,}", f"{d.first_right:,}", f"{d.second_right:,}", f"{d.chance:.2f}")
        for name, d in zip(("learned from", "test"), found.differ, strict=True)
    ]
    return table(("people", "predicted differently", "right at 889", "right at 890", "chance"), rows, "lrrrr")


def _root_changes(found: Findings) -> Iterator[str]:
    head = ("hierarchies", "root at 889", "root at 890", *(f"error %, k = {k}" for k in ROOT_KS))
    changes = found.root_changes
    rows = [(c.hierarchies, c.roots[889], c.roots[890], *(f"{c.errors[k]:.2f}" for k in ROOT_KS)) for c in changes]
    return table(head, rows, "lll" + "r" * len(ROOT_KS))


def _shifts(found: Findings) -> Iterator[str]:
    rows = []
    for s in found.shifts:
        where = "none" if not s.moved else "every k" if len(s.moved) == len(K_GRID) else ", ".join(map(str, s.moved))
        largest = "0" if s.at is None else f"{s.largest:+.2f} at k = {s.at}".replace("-", "\N{MINUS SIGN}")
        rows.append((s.setting, "pruned" if s.pruned else "not pruned", s.change, where, largest))
    head = ("setting", "tree", "what is changed", "k whose error moves", "largest change, points")
    return table(head, rows, "lllll")
