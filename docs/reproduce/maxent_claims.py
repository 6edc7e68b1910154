"""What the MaxEnt paper's section 5 says, what this run found, and whether the two agree."""

from __future__ import annotations

from collections.abc import Iterator

from maxent_findings import MEASURES, Findings
from maxent_implicit import costs, implicit
from maxent_rows import CLEAR, NAMES, RATES, kept, missed_linear, overall
from maxent_runs import Attacked
from maxent_settings import LARGE, MIN_SPLIT, Measure
from writing import Claim, fixed

PAPER = {"gini": (518, 7_770, 1_097), "gain": (2_983, 44_745, 3_307)}
"""Rate, label and internal constraints as printed."""
TREES: tuple[tuple[Measure, int], ...] = (("gini", MIN_SPLIT), ("gini", LARGE), ("gain", MIN_SPLIT))
SMALLER = "for a smaller tree by gini"


def claims(found: Findings) -> Iterator[Claim]:
    """In the paper's order; what must hold in any case is asserted."""
    yield _sizes(found)
    yield from (_constraints(found, measure) for measure in MEASURES)
    yield _all_kept(found)
    yield from _rates(found)
    yield _measures(found)
    yield from implicit(found)
    yield from costs(found)


def _sizes(found: Findings) -> Claim:
    people = found.attacks[0].people
    sizes = (int(people.sum()), len(people))
    same = "yes" if sizes == (30_162, 4_480) else "no"
    return Claim("30,162 people, 4,480 combinations of public cells", f"{sizes[0]:,} and {sizes[1]:,}", same)


def _constraints(found: Findings, measure: Measure) -> Claim:
    rates, labels, internal = PAPER[measure]
    tree = found.of(measure, RATES, internal=True).tree
    near = all(abs(a - b) < 0.1 * b for a, b in ((tree.leaves, rates), (tree.candidates, internal)))
    here = (
        f"{tree.leaves:,} rate, {15 * tree.leaves:,} label and, counted like that, {tree.candidates:,} internal "
        f"constraints, of which {tree.internal:,} say anything"
    )
    paper = f"{NAMES[measure]}: {rates:,} rate, {labels:,} label and {internal:,} internal constraints"
    return Claim(paper, here, "nearly" if near else "another tree")


def _all_kept(found: Findings) -> Claim:
    assert all(map(kept, found.attacks)), "a constraint of the full problem is broken"
    linear = max(map(missed_linear, found.attacks))
    internal = max(each.missed.get("internal", 0) for each in found.attacks)
    here = f"at the end no linear one is missed by more than {linear:.0e} people, no internal one by {internal:.0e}"
    return Claim("(every constraint of the full problem holds)", here, "yes")


def _rates(found: Findings) -> Iterator[Claim]:
    within = {tree: found.of(tree[0], RATES, internal=True, min_split=tree[1]) for tree in TREES}
    without = found.of("gain", "labels", internal=True).overall[0]
    fall = {tree: without - max(each.overall) for tree, each in within.items()}
    assert min(fall.values()) > 0, "error rates do not lower D_overall"
    text = ", ".join(f"{overall(each)} ({_named(each)})" for each in within.values())
    here = f"{fixed(without, 3)} without, whatever the tree; with error rates {text}"
    yield Claim("error rates lower D_overall, for both measures", here, "yes")
    same, small, gain = fall.values()
    here = (
        f"by {fixed(gain, 3)} for information gain; for gini by {fixed(same, 3)} where trees stop splitting alike, by "
        f"{fixed(small, 3)} for a tree about as small as the paper's"
    )
    verdict = "yes" if gain > same + CLEAR else SMALLER if gain > small + CLEAR else "no"
    yield Claim("... and much more so for information gain", here, verdict)


def _named(each: Attacked) -> str:
    return f"{NAMES[each.wanted.measure]}, {each.tree.leaves:,} leaves"


def _measures(found: Findings) -> Claim:
    same, small, gain = (found.of(tree[0], RATES, internal=True, min_split=tree[1]) for tree in TREES)
    here = ", ".join(f"{overall(each)} ({_named(each)})" for each in (same, small, gain))
    larger = [min(each.overall) > max(gain.overall) for each in (same, small)]
    verdict = "yes" if larger[0] else SMALLER if larger[1] else "no"
    return Claim("with error rates, D_overall is larger for gini", here, verdict)
