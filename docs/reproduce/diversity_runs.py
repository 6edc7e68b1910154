"""kADET beside top-down specialisation and Mondrian on Adult: one audit for each builder and k, and its row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kadet_runs import K_GRID, Setting
from leafgate.engine.report import Audit
from leafgate.kernel.evidence import PeopleCount
from leafgate.kernel.findings import Finding

Options = Mapping[str, Any]
BUILDERS: Mapping[str, Options] = {
    "kadet": {"use": "kadet"},
    "tds": {"use": "tds"},
    "tds both": {"use": "tds", "choose_from": "train_and_test"},
    "mondrian": {"use": "mondrian"},
}
ACCURACY = {"use": "accuracy", "at_least": 0}
GROUPS: tuple[Options, ...] = (
    {"use": "k_anonymity", "at_least": 1},
    {"use": "exposure", "scored": "composition", "average": True, "at_most": 1},
    {"use": "confidence", "scored": "composition", "at_most": 1},
    {"use": "t_closeness", "scored": "composition", "at_most": 1},
    {"use": "l_diversity", "scored": "composition", "at_least": 1},
)


def audited(setting: Setting, build: Options, *metrics: Options) -> Audit:
    """Another builder and other metrics under a setting's policy."""
    offered = setting.run.plugins.by_name
    builder, *limits = [offered[str(chosen["use"])].model_validate(chosen) for chosen in (build, *metrics)]
    policy = setting.run.policy.model_copy(update={"build": builder, "metrics": tuple(limits)})
    return replace(setting.run, policy=policy).audit()


def findings(done: Audit) -> dict[str, Finding]:
    """What an audit found, by the name of the metric; guarantees are left out."""
    return {f.metric: f for f in done.report.findings if not f.id.startswith("guarantee:")}


def number(found: Mapping[str, Finding], metric: str) -> float:
    """A metric's value, which must be there."""
    value = found[metric].value
    assert value is not None, f"{metric} has no value"
    return float(value)


def size_of_release(done: Audit, part: str) -> int:
    """How many `leaves` or `records` the release has; the records are as many as there are groups of people."""
    assert done.report.release is not None, "no release was built"
    size = done.report.release[part]
    return size.count if isinstance(size, PeopleCount) else int(size)


def error_of(done: Audit) -> float:
    """Per cent of the test people whose class the tree gets wrong."""
    return 100 * (1 - number(findings(done), "accuracy"))


@dataclass(frozen=True)
class Row:
    """What one audit found; `test_error`, `exposed` and `surest` in per cent.

    `told`, named as the CSV column is, says what was released: a tree, or a generalised table, which has no error and
    no leaves.
    Everything about people is of the groups' true composition: `exposed` are those whose group has one
    class, `surest` is the largest share of a class in any group, `l` and `t` are the worst group's
    entropy l and distance from everyone (t-closeness).
    """

    setting: str
    builder: str
    told: str
    k: int
    pruned: bool | None
    test_error: float | None
    leaves: int | None
    records: int | None
    smallest_group: int
    exposed: float
    surest: float
    t: float
    l: float  # noqa: E741

    @property
    def kept(self) -> bool:
        """Does k hold of the people learned from?"""
        return self.smallest_group >= self.k


def tree_row(setting: Setting, builder: str, k: int, *, pruned: bool) -> Row:
    """A tree's row."""
    build = {**BUILDERS[builder], "k": k, "measure": setting.measure, "prune": pruned}
    done = audited(setting, build, *GROUPS, ACCURACY)
    leaves = size_of_release(done, "leaves")
    return Row(setting.name, builder, "tree", k, pruned, error_of(done), leaves, None, *_people(findings(done)))


def table_row(setting: Setting, builder: str, k: int) -> Row:
    """The row of a generalised table that is released in the place of a tree."""
    done = audited(setting, {**BUILDERS[builder], "k": k, "release": "table"}, *GROUPS)
    records = size_of_release(done, "records")
    return Row(setting.name, builder, "table", k, None, None, None, records, *_people(findings(done)))


def _people(found: Mapping[str, Finding]) -> tuple[int, float, float, float, float]:
    smallest, exposed, surest = (number(found, name) for name in ("k_anonymity", "exposure", "confidence"))
    return int(smallest), 100 * exposed, 100 * surest, number(found, "t_closeness"), number(found, "l_diversity")


def rows_of(setting: Setting) -> Iterator[Row]:
    """Every builder for every k. With all attributes only kADET's trees are grown without pruning too."""
    for builder in BUILDERS:
        for pruned in (True, False):
            if pruned or builder == "kadet" or setting.measure == "gain":
                yield from (tree_row(setting, builder, k, pruned=pruned) for k in K_GRID)
        if builder != "kadet":
            yield from (table_row(setting, builder, k) for k in K_GRID)
