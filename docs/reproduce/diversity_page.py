"""The measured part of docs/measurements/diversity-on-adult.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from diversity_claims import claims
from diversity_findings import ALL, ID3, Findings
from diversity_limits import Limited
from diversity_pooled import CASE, LIMIT, K
from diversity_runs import BUILDERS
from kadet_runs import K_GRID
from writing import count, fixed, section, signed, table, yes

NAMES = {"kadet": "kADET", "tds": "TDS", "tds both": "TDS, test people too", "mondrian": "Mondrian"}
TITLES = {ID3: "ID3", ALL: "C4.5"}
HIGH = K_GRID[3:]


def lines(found: Findings, picture: str) -> Iterator[str]:
    """Everything between the page's markers."""
    yield from section("Claim by claim", table(("The paper (section 4)", "Here", "Reproduces"), _claims(found), "lll"))
    yield f"![Exposed people, confidence limits, other builders, and a case with private columns]({picture})\n"
    yield from section("Exposed people, kADET (% of the people)", _exposed(found))
    yield from section("Confidence limits", _limits(found, "confidence"))
    yield from section("The same in entropy l", _limits(found, "l"))
    yield from section("A limit that cannot be met", _refused(found))
    for setting in (ID3, ALL):
        yield from section(
            f"{TITLES[setting]}: test error beside TDS and Mondrian (%, pruned)", _errors(found, setting)
        )
    yield from section("How much more than kADET the others err (points, mean over k)", _differences(found))
    yield from section("What TDS tells apart (ID3)", _told(found))
    yield from section("Mondrian with other orders of the columns (ID3, pruned)", _orders(found))
    for setting in (ID3, ALL):
        yield from section(
            f"{TITLES[setting]}: the generalised tables, and k as the attack finds it", _tables(found, setting)
        )
    yield from section("One case: groups keep to the limit, what is derived does not", _case(found))
    yield from section("Other private columns", _hidden(found))


def _claims(found: Findings) -> Iterator[tuple[str, str, str]]:
    yield from ((claim.paper, claim.here, claim.reproduces) for claim in claims(found))


def _exposed(found: Findings) -> Iterator[str]:
    ways = ((ID3, False), (ID3, True), (ALL, True), (ALL, False))
    head = ("k", *(f"{TITLES[setting]}, {'' if pruned else 'not '}pruned" for setting, pruned in ways))
    rows = [(str(k), *(fixed(found.row(s, "kadet", k, pruned=p).exposed) for s, p in ways)) for k in K_GRID]
    return table(head, rows, "rrrrr")


def _limits(found: Findings, kind: str) -> Iterator[str]:
    """ID3 not pruned and C4.5 pruned, as we read the paper; the same limit in one line."""
    pairs = zip(found.limited(ID3, kind, pruned=False), found.limited(ALL, kind, pruned=True), strict=True)
    head = ["limit %", "= l"] if kind == "confidence" else ["l", "= limit %"]
    for name in ("ID3, not pruned", "C4.5, pruned"):
        worst = "surest group %" if kind == "confidence" else "worst group's l"
        head += [f"{name}: error %", "leaves", worst, "derived", "metric passes", "same tree as twin"]
    rows = [(*_limit(one), *_limited(one), *_limited(other)) for one, other in pairs]
    return table(head, rows, "rr" + "rrrrll" * 2)


def _limit(row: Limited) -> tuple[str, str]:
    if row.kind == "confidence":
        return fixed(100 * row.limit, 0), fixed(row.twin, 4)
    return fixed(row.limit, 1), fixed(100 * row.twin)


def _limited(row: Limited) -> tuple[str, ...]:
    own, derived = (row.surest, row.surest_derived) if row.kind == "confidence" else (row.l, row.l_derived)
    decimals = 2 if row.kind == "confidence" else 4
    numbers = (fixed(row.test_error), count(row.leaves), fixed(own, decimals), fixed(derived, decimals))
    return (*numbers, "no release" if row.root is None else yes(row.holds), yes(row.same))


def _refused(found: Findings) -> Iterator[str]:
    """What comes back in the place of a release; every setting says the same."""
    refused = [row for row in found.limits if row.reason is not None]
    rows = []
    for (kind, limit), alike in groupby(
        sorted(refused, key=lambda row: (row.kind, row.limit)), lambda r: (r.kind, r.limit)
    ):
        items = {(row.verdict, row.reason or "") for row in alike}
        rows += [(kind, f"{limit:g}", verdict, "none", reason) for verdict, reason in sorted(items)]
    return table(("kind", "limit", "verdict", "release", "the finding `build` says"), rows, "lrlll")


def _errors(found: Findings, setting: str) -> Iterator[str]:
    head = ["k", *(NAMES[builder] for builder in BUILDERS)]
    ways: tuple[bool, ...] = (True,)
    if setting == ID3:
        head += [f"{NAMES[builder]}, not pruned" for builder in BUILDERS]
        ways = (True, False)
    pairs = [(builder, pruned) for pruned in ways for builder in BUILDERS]
    rows = [(str(k), *(fixed(found.row(setting, b, k, pruned=p).test_error) for b, p in pairs)) for k in K_GRID]
    means = ("mean", *(fixed(found.varied(setting, pruned=p).mean(b)) for b, p in pairs))
    return table(head, [*rows, means], "r" * len(head))


def _differences(found: Findings) -> Iterator[str]:
    others = [builder for builder in BUILDERS if builder != "kadet"]
    spans = {"every k": K_GRID, "k = 2 to 10": K_GRID[:3], "k from 25": HIGH}
    head = ["setting", "changed", "kADET's error %", *(f"{NAMES[b]}: {name}" for b in others for name in spans)]
    rows = []
    for v in found.variations:
        name = f"{TITLES[v.setting]}, {'pruned' if v.pruned else 'not pruned'}"
        items = [signed(v.worse(b, ks)) if b in v.errors else "-" for b in others for ks in spans.values()]
        rows.append((name, v.change, fixed(v.mean("kadet")), *items))
    return table(head, rows, "ll" + "r" * (len(head) - 2))


def _told(found: Findings) -> Iterator[str]:
    rows = []
    for result in found.statements:
        columns = ", ".join(f"{name} ({size} groups)" for name, size in result.columns.items())
        smallest = {found.row(ID3, "tds", k, text="table").smallest_group for k in result.ks}
        rows.append((", ".join(map(str, result.ks)), columns, ", ".join(f"{n:,}" for n in sorted(smallest))))
    return table(("k", "columns that are not withheld", "smallest group of the table"), rows, "llr")


def _orders(found: Findings) -> Iterator[str]:
    mine = found.varied(ID3).mean("kadet")
    rows = [
        (o.order, o.roots[50], o.roots[250], o.roots[1000], fixed(o.mean), signed(o.mean - mine)) for o in found.orders
    ]
    head = ("columns", "root at k = 50", "at 250", "at 1000", "mean error %", "points more than kADET")
    return table(head, rows, "llllrr")


def _tables(found: Findings, setting: str) -> Iterator[str]:
    """The smallest group, t and l: of kADET's tree, and of the others' tables with their trees' smallest group."""
    others = [builder for builder in BUILDERS if builder != "kadet"]
    head = ["k", "kADET's tree: smallest group", "t", "l"]
    for builder in others:
        head += [f"{NAMES[builder]}: smallest group", "its tree's", "t", "l"]
    rows = []
    for k in K_GRID:
        tree = found.row(setting, "kadet", k, pruned=True)
        row = [str(k), _smallest(tree.smallest_group, k), fixed(tree.t, 3), fixed(tree.l, 3)]
        for builder in others:
            mine, pruned = found.row(setting, builder, k, text="table"), found.row(setting, builder, k, pruned=True)
            row += [_smallest(mine.smallest_group, k), _smallest(pruned.smallest_group, k)]
            row += [fixed(mine.t, 3), fixed(mine.l, 3)]
        rows.append(row)
    return table(head, rows, "r" * len(head))


def _smallest(people: int, k: int) -> str:
    return f"{people:,}" if people >= k else f"**{people:,}**"


def _case(found: Findings) -> Iterator[str]:
    yield (
        f"kADET, ID3 setting, {' and '.join(CASE)} private, k = {K}, no class above {100 * LIMIT:g} % of a group. "
        "The groups, who differ in their occupation alone (people with <=50K and >50K):\n"
    )
    groups = sorted(found.groups, key=lambda group: -group.surest_derived)
    rows = [
        (
            g.who,
            _pair(g.own),
            fixed(g.surest),
            _pair(g.pooled),
            fixed(g.surest_derived),
            yes(g.surest_derived > 100 * LIMIT),
        )
        for g in groups
    ]
    head = ("occupation", "the group's people", "surest %", "all leaves it can reach", "derived %", "beyond the limit")
    yield from table(head, rows, "lrrrrl")
    yield f"\nThe leaves that the first group ({groups[0].who}) can reach:\n"
    shared = [(s.tests, _pair(s.everybody), _pair(s.own)) for s in found.shared]
    yield from table(("private tests", "everybody in the leaf", "the group's own people"), shared, "lrr")


def _pair(people: Sequence[int]) -> str:
    return ", ".join(f"{n:,}" for n in people)


def _hidden(found: Findings) -> Iterator[str]:
    head = (
        "setting",
        "private",
        "leaves",
        "groups",
        "error %",
        "surest group %",
        "derived %",
        "people beyond the limit",
        "claim",
        "audit",
    )
    rows = [
        (
            TITLES[h.setting],
            h.private.replace(" ", ", "),
            count(h.leaves),
            count(h.groups),
            fixed(h.test_error),
            fixed(h.surest),
            fixed(h.surest_derived),
            count(h.beyond_derived),
            "holds" if h.guarantee else "broken",
            h.verdict,
        )
        for h in found.hidden
    ]
    return table(head, rows, "llrrrrrrll")
