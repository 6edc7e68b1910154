"""What the paper says, what this run found, and whether the two agree."""

from __future__ import annotations

from collections.abc import Iterator

from kadet_findings import Experiment, Findings
from kadet_runs import K_GRID
from writing import Claim, claim


def claims(found: Findings) -> Iterator[Claim]:
    """In the paper's order."""
    yield _counts(found)
    yield _speed(found)
    yield _accuracy(found.id3, "ID3", pruned=False)
    yield _accuracy(found.all, "C4.5", pruned=True)
    yield from _root(found)
    yield _tds()
    yield from _exposure(found)
    yield from _confidence(found)
    yield _anonymity(found)


def _counts(found: Findings) -> Claim:
    e = found.id3
    here = f"{e.people:,} and {e.tested:,}; {e.dropped[0]:,} and {e.dropped[1]:,} left out"
    return claim("30,162 records to learn from, 15,060 to test", here, (e.people, e.tested) == (30162, 15060))


def _speed(found: Findings) -> Claim:
    holds = found.id3.slowest < 4 and found.all.slowest < 10
    here = "every tree was faster" if holds else "some tree was slower"
    return claim("less than 4 seconds a tree for ID3, less than 10 for C4.5 (on a Pentium IV)", here, holds)


def _accuracy(e: Experiment, name: str, *, pruned: bool) -> Claim:
    """Good: at least half of what the best tree without k gains over a single leaf is kept."""
    best = min(row.test_error for row in e.rows if row.k is None)
    leaf = e.plain("one leaf", pruned=True).test_error
    kept = {k: (leaf - e.row(k, pruned=pruned).test_error) / (leaf - best) for k in K_GRID}
    text = ", ".join(f"{100 * kept[k]:.0f} % at k = {k}" for k in (50, 250, 500, 1000))
    here = f"a single leaf errs in {leaf:.2f} %, the best tree without k in {best:.2f} %; of that gain is kept: {text}"
    good = [k for k in K_GRID if min(kept[j] for j in K_GRID if j <= k) >= 0.5]
    verdict = "yes" if len(good) == len(K_GRID) else f"up to k = {max(good, default=1)}"
    return Claim(f"{name}: good accuracy in spite of the constraint", here, verdict)


def _root(found: Findings) -> Iterator[Claim]:
    usual = [change for change in found.root_changes if change.hierarchies == "as they are"]
    roots, errors = {each.k: each.root for each in usual}, {each.k: each.error for each in usual}
    smallest = next(test.smallest for test in found.root_tests if test.column == "relationship")
    swapped = roots[889].startswith("relationship") and roots[890].startswith("marital-status")
    yield claim(
        "ID3: the root asks Relationship at k = 750; at k = 1000 that would breach, and it asks Marital Status",
        f"the smallest value of Relationship has {smallest} people; the root asks {roots[750]} at k = 750, "
        f"{roots[889]} at 889, {roots[890]} at 890, {roots[1000]} at 1000",
        swapped,
    )
    yield claim(
        "ID3: the error at k = 1000 is lower than at k = 750 because of it",
        f"{errors[750]:.2f} % at k = 750, {errors[889]:.2f} % at 889, {errors[890]:.2f} % at 890, {errors[1000]:.2f} % "
        f"at 1000: {_signed(errors[1000] - errors[750])} points",
        errors[1000] < errors[750],
    )


def _signed(points: float) -> str:
    return f"{points:+.2f}".replace("-", "\N{MINUS SIGN}")


def _tds() -> Claim:
    paper = "0.6 (ID3) and 3 points (C4.5) less error than top-down specialisation, on average"
    return Claim(paper, "see diversity-adult-claims.csv", "see there")


def _exposure(found: Findings) -> Iterator[Claim]:
    row = {k: found.all.row(k, pruned=True).exposed for k in K_GRID}
    yield claim(
        "C4.5: the share of exposed people is 0 from k = 75 on, and very low before",
        f"pruned: {row[2]:.2f} % at k = 2, {row[25]:.2f} % at 25, {row[50]:.2f} % at 50, {row[75]:.2f} % at 75; "
        f"not pruned: {found.all.row(75, pruned=False).exposed:.2f} % at 75",
        all((exposed == 0) == (k >= 75) for k, exposed in row.items()),
    )
    bare = {k: found.id3.row(k, pruned=False) for k in K_GRID}
    first = next(k for k, each in bare.items() if each.exposed == 0)
    pruned = next(k for k in K_GRID if found.id3.row(k, pruned=True).exposed == 0)
    yield claim(
        "ID3: nobody exposed needs a high k",
        f"not pruned: {bare[75].exposed:.2f} % at k = 75, {bare[100].exposed:.2f} % at 100, 0 from {first} on; "
        f"pruned: 0 from {pruned} on",
        first > 75,
    )
    here = f"not pruned, k = {first}: somebody's class is known with {bare[first].surest:.2f} % confidence"
    yield claim("ID3: even then a class may be inferred with high probability", here, bare[first].surest > 95)


def _confidence(found: Findings) -> Iterator[Claim]:
    leaf = found.id3.plain("one leaf", pruned=True)
    here = f"one leaf: {leaf.surest:.2f} %"
    yield claim("the lowest confidence there can be is 75.1 %, the root's", here, round(leaf.surest, 1) == 75.1)
    least = min(found.root_tests, key=lambda test: test.surest)
    here = f"the least sure is {least.column} in {least.ways} ways: {least.surest:.1f} %"
    yield claim("ID3: every split of the root has a node with more than 85 % confidence", here, least.surest > 85)


def _anonymity(found: Findings) -> Claim:
    kadet = [row for e in (found.id3, found.all) for row in e.rows if row.tree == "kadet"]
    kept = all(row.k is not None and row.smallest_group >= row.k and row.verdict == "pass" for row in kadet)
    plain = [row for e in (found.id3, found.all) for row in e.rows if row.k is None]
    largest = max(row.smallest_group for row in plain)
    failed = sum(row.verdict == "fail" for row in plain)
    here = (
        f"{len(kadet)} trees: the linking attack finds no smaller group in {'any' if kept else 'some'}; "
        f"of {len(plain)} trees without k, {failed} fail the audit at k = 2 (smallest group: {largest})"
    )
    return claim("every group of people the tree cannot tell apart has at least k members", here, kept)
