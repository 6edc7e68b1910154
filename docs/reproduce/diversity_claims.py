"""What the paper says of diversity and of top-down specialisation, what this run found, and whether the two agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diversity_findings import ALL, ID3, Findings
from diversity_limits import Limited, l_of
from kadet_runs import K_GRID
from writing import Claim, claim, fixed, signed


def claims(found: Findings) -> Iterator[Claim]:
    """In the paper's order."""
    yield _rival(found, ID3, "ID3", 0.6, pruned=False)
    yield _rival(found, ALL, "C4.5", 3, pruned=True)
    yield _promise(found)
    yield from _exposure(found)
    yield _equal_l()
    yield _one_test(found)
    yield from _limits(found)
    yield _metrics(found)


def _rival(found: Findings, setting: str, name: str, paper: float, *, pruned: bool) -> Claim:
    usual = found.varied(setting, pruned=pruned)
    alone, both = usual.worse("tds"), usual.worse("tds both")
    here = (
        f"TDS errs {fixed(alone)} points more on average over the {len(K_GRID)} values of k, {fixed(both)} when it "
        f"chooses from the test people too; over k from {K_GRID[3]} on {signed(usual.worse('tds', K_GRID[3:]))} and "
        f"{signed(usual.worse('tds both', K_GRID[3:]))}"
    )
    size = all(abs(each - paper) < 0.5 for each in (alone, both))
    sign = min(alone, both) > 0
    verdict = "yes" if sign and size else "the sign, not the size" if sign else "no"
    return Claim(f"{name}: {paper:g} points less error than top-down specialisation (TDS), on average", here, verdict)


def _promise(found: Findings) -> Claim:
    items = []
    for setting, name in ((ID3, "ID3"), (ALL, "C4.5")):
        kept = [found.row(setting, "tds both", k, text="table").kept for k in K_GRID]
        items.append(f"{sum(kept)} of {len(kept)} tables ({name})")
    here = f"k then holds of both together; of the training people alone it holds in {' and '.join(items)}"
    return Claim("TDS chooses its generalisation from training and test people", here, "as in the paper")


def _exposure(found: Findings) -> Iterator[Claim]:
    exposed = {k: found.row(ALL, "kadet", k, pruned=True).exposed for k in K_GRID}
    yield claim(
        "C4.5: the share of exposed people is 0 from k = 75 on, and very low before",
        f"{exposed[2]:.2f} % at k = 2, {exposed[25]:.2f} % at 25, {exposed[50]:.2f} % at 50, {exposed[75]:.2f} % at 75",
        all((share == 0) == (k >= 75) for k, share in exposed.items()),
    )
    bare = {k: found.row(ID3, "kadet", k, pruned=False) for k in K_GRID}
    first = next(k for k, row in bare.items() if row.exposed == 0)
    yield claim(
        "ID3: nobody exposed needs a high k, and even then a class may be inferred with high probability",
        f"0 from k = {first} on; there the surest group is {bare[first].surest:.2f} % of one class",
        first > 75 and bare[first].surest > 95,
    )


def _equal_l() -> Claim:
    least = l_of(0.85)
    return claim(
        "a limit of 85 % is an entropy l of 1.526", f"exp(H(0.85, 0.15)) = {least:.4f}", round(least, 3) == 1.526
    )


def _one_test(found: Findings) -> Claim:
    same = sum(row.same for row in found.limits)
    here = f"{same} of {len(found.limits)} limits give the same tree, or none, as their twin of the other kind"
    return claim("for two classes a confidence limit and an entropy l are one test", here, same == len(found.limits))


def _limits(found: Findings) -> Iterator[Claim]:
    id3, every = (_released(found, setting) for setting in (ID3, ALL))
    free = {setting: _free(found, setting) for setting in (ID3, ALL)}
    items = [
        f"{name}: {_at(rows, 0.99):.2f} % at 99 %, {_at(rows, 0.95):.2f} % at 95 %, {_at(rows, 0.9):.2f} % at 90 %, "
        f"against {free[setting]:.2f} % without a limit"
        for name, setting, rows in (("ID3", ID3, id3), ("C4.5", ALL, every))
    ]
    holds = _at(id3, 0.95) - free[ID3] < 0.5 and _at(every, 0.95) - free[ALL] < 0.5
    yield claim("with a high enough limit there is no significant loss of accuracy", "; ".join(items), holds)
    last = [min(row.limit for row in rows) for rows in (id3, every)]
    root = next(row for row in id3 if row.root == "nothing")
    here = f"one leaf: {fixed(root.surest)} %; the lowest limit tried that gives a release is {_percent(min(last))} %"
    yield claim("the lowest confidence that can be had is the root's, 75.1 %", here, max(last) == 0.76)
    useful = [row.limit for row in id3 if row.root != "nothing"]
    yield claim(
        "ID3: a limit of 85 % or lower allows no useful tree",
        f"the lowest limit with more than one leaf is {_percent(min(useful))} %",
        min(useful) > 0.85,
    )
    lowest = min((row for row in every if row.root != "nothing"), key=lambda row: row.limit)
    at85 = next(row for row in every if row.limit == 0.85)
    yield claim(
        "C4.5: more attributes stretch the boundary to a lower limit",
        f"{fixed(at85.test_error)} % error at 85 %; at {_percent(lowest.limit)} % still {lowest.leaves} leaves and "
        f"{fixed(lowest.test_error)} % (one leaf: {fixed(root.test_error)} %)",
        lowest.limit < min(useful),
    )


def _released(found: Findings, setting: str) -> list[Limited]:
    """Confidence limits that gave a tree: ID3 not pruned, C4.5 pruned."""
    rows = found.limited(setting, "confidence", pruned=setting == ALL)
    return [row for row in rows if row.root is not None]


def _at(rows: Sequence[Limited], limit: float) -> float:
    return next(row.test_error for row in rows if row.limit == limit) or 0


def _free(found: Findings, setting: str) -> float:
    """The error with an l of 1, which demands nothing."""
    return found.limited(setting, "l", pruned=setting == ALL)[0].test_error or 0


def _percent(share: float) -> str:
    return f"{100 * share:g}"


def _metrics(found: Findings) -> Claim:
    rows = [row for row in found.limits if row.root is not None]
    held = sum(row.holds is True for row in rows)
    equal = sum((row.surest, row.l) == (row.surest_derived, row.l_derived) for row in rows)
    here = (
        f"{held} of {len(rows)} trees pass the metric of the same name and limit; for {equal} of them what the linking "
        f"attack derives is the groups' composition; {len(found.limits) - len(rows)} limits give no release"
    )
    return claim("every group satisfies what is required", here, held == len(rows))
