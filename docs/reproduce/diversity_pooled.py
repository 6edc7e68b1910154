"""Groups that keep to a limit while what an adversary derives of them does not: private tests pool groups' leaves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from diversity_runs import ACCURACY, audited, error_of, findings, number, size_of_release
from kadet_runs import Setting, release_of
from kadet_variations import with_columns
from leafgate.algorithms.equivalence import Reached
from leafgate.algorithms.routing import route
from leafgate.api import Release, Table
from leafgate.engine.knowledge import grant_knowledge
from leafgate.engine.report import Audit
from leafgate_plugins.linking.attack import Linked, link

LIMIT, K = 0.9, 50
CASE = ("sex", "relationship")
PRIVATE: dict[str, tuple[tuple[str, ...], ...]] = {
    "adult-id3": (CASE, ("relationship",), ("occupation",)),
    "adult-all": (
        ("sex",),
        ("relationship",),
        ("occupation",),
        ("capital-gain", "capital-loss"),
        ("sex", "relationship", "education-num", "hours-per-week"),
    ),
}


@dataclass(frozen=True)
class Hidden:
    """kADET with some columns private, under a confidence limit; per cents, and people outside the limit as derived."""

    setting: str
    private: str
    leaves: int
    groups: int
    test_error: float
    surest: float
    surest_derived: float
    beyond_derived: int
    guarantee: bool | None
    verdict: str


@dataclass(frozen=True)
class Group:
    """People who cannot be distinguished: their classes, and those of all leaves they could be in."""

    who: str
    own: tuple[int, ...]
    pooled: tuple[int, ...]

    @property
    def surest(self) -> float:
        return 100 * max(self.own) / sum(self.own)

    @property
    def surest_derived(self) -> float:
        return 100 * max(self.pooled) / sum(self.pooled)


@dataclass(frozen=True)
class Shared:
    """One leaf a group could be in: everybody in it, and the group's own people in it, by class."""

    tests: str
    everybody: tuple[int, ...]
    own: tuple[int, ...]


def with_private(setting: Setting, names: Collection[str]) -> Setting:
    """The same people, some columns unknown to outsiders."""
    private = frozenset({"private"})
    return with_columns(
        setting,
        lambda columns: [replace(c, roles=private, hierarchy=None) if c.name in names else c for c in columns],
    )


JUDGED = {"own": "composition", "derived": "derived"}
"""The two distributions that the page sets side by side, so each limit judges one of them and not the worse."""


def grown(setting: Setting) -> Audit:
    """kADET under the limit, audited by both confidences with the same limit."""
    required = {"use": "confidence", "at_most": LIMIT}
    build = {"use": "kadet", "k": K, "measure": setting.measure, "require": (required,)}
    own, derived = ({**required, "name": name, "scored": scored} for name, scored in JUDGED.items())
    return audited(setting, build, own, derived, ACCURACY)


def hidden_rows(setting: Setting) -> Iterator[Hidden]:
    """Every choice of private columns."""
    for names in PRIVATE[setting.name]:
        done = grown(with_private(setting, names))
        found = findings(done)
        guarantee = next(f for f in done.report.findings if f.id == "guarantee:confidence")
        yield Hidden(
            setting.name,
            " ".join(names),
            leaves=size_of_release(done, "leaves"),
            groups=int(found["own"].evidence["groups"]),
            test_error=error_of(done),
            surest=100 * number(found, "own"),
            surest_derived=100 * number(found, "derived"),
            beyond_derived=int(found["derived"].violations or 0),
            guarantee=guarantee.passed,
            verdict=done.report.verdict,
        )


def case(setting: Setting) -> tuple[list[Group], list[Shared]]:
    """The groups of the chosen case, and the leaves of the group of which most is derived."""
    hidden = with_private(setting, CASE)
    release = release_of(grown(hidden))
    linked = link(release, grant_knowledge(hidden.table))
    own = linked.groups[hidden.table.public[1]]
    groups = [_group(linked, hidden.table, own, number) for number in range(linked.size)]
    worst = max(range(len(groups)), key=lambda number: groups[number].surest_derived)
    return groups, list(_shared(linked.reached(worst)[0], release, hidden.table, own == worst))


def _classes(table: Table, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[int, ...]:
    """People of each class among some rows."""
    target = table.schema.target
    counts = np.bincount(table.codes(target.name)[rows], weights=table.weight[rows], minlength=len(target.domain))
    return tuple(map(int, counts))


def _told(reached: Reached) -> tuple[int, ...]:
    return tuple(map(int, (reached.leaf.counts or {}).values()))


def _group(linked: Linked, table: Table, own: np.ndarray[tuple[int], np.dtype[np.int64]], number: int) -> Group:
    """A group, named by the occupations of its people: the only public column that the tree asks."""
    rows = own == number
    occupations = table.schema["occupation"].domain
    who = ", ".join(str(occupations[code]) for code in np.unique(table.codes("occupation")[rows]))
    pooled = np.sum([_told(each) for each in linked.reached(number)[0]], axis=0)
    return Group(who, _classes(table, rows), tuple(map(int, pooled)))


def _shared(
    reached: Sequence[Reached], release: Release, table: Table, mine: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> Iterator[Shared]:
    routed = route(release.trees[0], table)
    for each in reached:
        place = next(i for i, leaf in enumerate(routed.leaves) if leaf is each.leaf)
        tests = [f"{name} = {_values(each, name)}" for name in each.possible if name in CASE]
        yield Shared(", ".join(tests), _told(each), _classes(table, mine & (routed.leaf == place)))


def _values(reached: Reached, name: str) -> str:
    rest = reached.possible[name]
    assert isinstance(rest, frozenset)
    return " or ".join(sorted(map(str, rest)))
