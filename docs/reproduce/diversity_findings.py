"""Everything one run found about diversity and about other builders, before it is written down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from diversity_limits import Limited, limited_rows
from diversity_pooled import Group, Hidden, Shared, case, hidden_rows
from diversity_runs import ACCURACY, BUILDERS, Row, audited, error_of, rows_of
from diversity_variations import Variation, as_it_is, variations
from kadet_runs import K_GRID, Setting, open_setting, release_of
from kadet_variations import asked, with_columns
from leafgate.engine.report import Audit
from leafgate.kernel.schema import Column

ID3, ALL = "adult-id3", "adult-all"
PRUNED = {ID3: (False, True), ALL: (True,)}
"""Whether trees are pruned, in the order they are reported: first as we read the paper."""


@dataclass(frozen=True)
class Ordered:
    """Mondrian with the columns in another order (ID3 setting, pruned): its roots at three k, its mean error."""

    order: str
    root_at_50: str
    root_at_250: str
    root_at_1000: str
    mean: float


@dataclass(frozen=True)
class Generalised:
    """The columns that TDS does not withhold at some k (ID3 setting), with the number of their groups."""

    ks: tuple[int, ...]
    columns: str


@dataclass(frozen=True)
class Findings:
    """All rows, and what explains them; `groups` and `shared` are of the case with private columns."""

    rows: Sequence[Row]
    limits: Sequence[Limited]
    variations: Sequence[Variation]
    hidden: Sequence[Hidden]
    groups: Sequence[Group]
    shared: Sequence[Shared]
    orders: Sequence[Ordered]
    statements: Sequence[Generalised]

    def row(self, setting: str, builder: str, k: int, *, pruned: bool | None = None, text: str = "tree") -> Row:
        wanted = (setting, builder, text, k, pruned)
        return next(r for r in self.rows if (r.setting, r.builder, r.told, r.k, r.pruned) == wanted)

    def limited(self, setting: str, kind: str, *, pruned: bool) -> list[Limited]:
        return [r for r in self.limits if (r.setting, r.kind, r.pruned) == (setting, kind, pruned)]

    def varied(self, setting: str, change: str = "nothing", *, pruned: bool = True) -> Variation:
        wanted = (setting, change, pruned)
        return next(v for v in self.variations if (v.setting, v.change, v.pruned) == wanted)


def find(root: Path) -> Findings:
    """Run everything; `root` holds the folder `adult`."""
    id3, every = open_setting(ID3, "gain", root), open_setting(ALL, "gain_ratio", root)
    rows = [*rows_of(id3), *rows_of(every)]
    groups, shared = case(id3)
    usual = [as_it_is(rows, name, pruned=pruned) for name, ways in PRUNED.items() for pruned in ways]
    return Findings(
        rows,
        [row for s in (id3, every) for pruned in PRUNED[s.name] for row in limited_rows(s, pruned=pruned)],
        [*usual, *variations(id3), *variations(every)],
        [*hidden_rows(id3), *hidden_rows(every)],
        groups,
        shared,
        list(_orders(id3)),
        _generalised(id3),
    )


def _orders(setting: Setting) -> Iterator[Ordered]:
    """The columns begun at each of them in turn, and all of them in reverse."""
    names = [column.name for column in setting.table.schema.features]
    orders = {f"from {name} on": [*names[i:], *names[:i]] for i, name in enumerate(names)} | {"in reverse": names[::-1]}
    for order, wanted in orders.items():
        done = {k: _mondrian(_turned(setting, wanted), k) for k in K_GRID}
        roots = {k: asked(release_of(each).trees[0]) for k, each in done.items()}
        yield Ordered(order, roots[50], roots[250], roots[1000], sum(map(error_of, done.values())) / len(K_GRID))


def _turned(setting: Setting, names: Sequence[str]) -> Setting:
    def place(column: Column) -> int:
        return names.index(column.name) if column.name in names else len(names)

    return with_columns(setting, lambda columns: sorted(columns, key=place))


def _mondrian(setting: Setting, k: int) -> Audit:
    return audited(setting, {**BUILDERS["mondrian"], "k": k, "measure": setting.measure}, ACCURACY)


def _generalised(setting: Setting) -> list[Generalised]:
    found: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for k in K_GRID:
        done = audited(setting, {"use": "tds", "k": k, "release": "table"}, {"use": "k_anonymity", "at_least": k})
        records = release_of(done).records
        assert records is not None
        cells = [(name, Counter(str(row[i]) for row in records.rows)) for i, name in enumerate(records.columns)]
        items = tuple((name, len(each)) for name, each in cells if len(each) > 1 and name != "income")
        found.setdefault(items, []).append(k)
    return [
        Generalised(tuple(ks), ", ".join(f"{name} ({size} groups)" for name, size in columns))
        for columns, ks in found.items()
    ]
