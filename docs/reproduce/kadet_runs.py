"""One audit for each tree of the kADET paper's Adult experiments, and the row it becomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leafgate.api import Release, Table
from leafgate.engine.report import Audit
from leafgate.kernel.tree import columns_asked
from leafgate.session.run import Session, open_session

POLICIES = Path(__file__).resolve().parents[2] / "policies"
K_GRID = (2, 5, 10, 25, 50, 75, 100, 150, 200, 250, 500, 750, 889, 890, 1000)


@dataclass(frozen=True)
class Setting:
    """One of the two experiments: a policy with its tables, read once, and kADET's measure."""

    name: str
    measure: str
    run: Session

    @property
    def table(self) -> Table:
        return self.run.table

    @property
    def test(self) -> Table:
        assert self.run.tables.test is not None
        return self.run.tables.test

    def audit(self, build: Mapping[str, Any], k: int) -> Audit:
        """Another builder under the same policy; k is demanded, all else measured without a limit.

        Scores are of what the adversary derives (`scored: derived`), which is what the paper reports.
        """
        metrics = [
            {"use": "k_anonymity", "at_least": k},
            {"use": "exposure", "scored": "derived", "average": True, "at_most": 1},
            {"use": "confidence", "scored": "derived", "at_most": 1},
            {"use": "accuracy", "at_least": 0},
        ]
        offered = self.run.plugins.by_name
        builder, *limits = [offered[str(chosen["use"])].model_validate(chosen) for chosen in (build, *metrics)]
        policy = self.run.policy.model_copy(update={"build": builder, "metrics": tuple(limits)})
        return replace(self.run, policy=policy).audit()

    def kadet(self, k: int, *, prune: bool, **options: Any) -> Audit:
        return self.audit({"use": "kadet", "k": k, "measure": self.measure, "prune": prune} | options, k)


def open_setting(name: str, measure: str, root: Path) -> Setting:
    """The setting of a policy in `policies/`, its data below `root`."""
    return Setting(name, measure, open_session(POLICIES / f"{name}.yaml", root=root))


@dataclass(frozen=True)
class Row:
    """What one audit found; `test_error`, `exposed` and `surest` in per cent.

    `exposed` are the people whose class the adversary knows for certain, `surest` is its largest
    confidence in anybody's class, `asks` the columns the tree asks about; `k` is None for trees that
    promise nothing.
    """

    tree: str
    k: int | None
    pruned: bool
    test_error: float
    leaves: int
    groups: int
    smallest_group: int
    exposed: float
    surest: float
    verdict: str
    asks: str


def row_of(tree: str, k: int | None, pruned: bool, done: Audit) -> Row:
    found = {finding.metric: finding for finding in done.report.findings if not finding.id.startswith("guarantee:")}
    value = {metric: finding.value for metric, finding in found.items()}
    return Row(
        tree,
        k,
        pruned,
        test_error=100 * (1 - float(value["accuracy"] or 0)),
        leaves=int((done.report.release or {})["leaves"]),
        groups=int(found["k_anonymity"].evidence["groups"]),
        smallest_group=int(value["k_anonymity"] or 0),
        exposed=100 * float(value["exposure"] or 0),
        surest=100 * float(value["confidence"] or 0),
        verdict=done.report.verdict,
        asks=" ".join(sorted(columns_asked(release_of(done).trees[0]))),
    )


def release_of(done: Audit) -> Release:
    assert done.artifact is not None
    return done.artifact.release


def rows_of(setting: Setting) -> Iterator[tuple[Row, float]]:
    """Every tree of a setting, pruned and not, with the seconds it took to grow."""
    for tree, k, pruned, build in _wanted(setting):
        done = setting.audit(build, k or 2)
        yield row_of(tree, k, pruned, done), done.seconds["build"]


def _wanted(setting: Setting) -> Iterator[tuple[str, int | None, bool, dict[str, Any]]]:
    """Label, k, pruned, builder. ID3 has no pruning of its own: k = 1 demands nothing and prunes."""
    for pruned in (True, False):
        for k in K_GRID:
            yield "kadet", k, pruned, {"use": "kadet", "k": k, "measure": setting.measure, "prune": pruned}
        yield "c45", None, pruned, {"use": "c45", "prune": pruned}
    if setting.measure == "gain":
        yield "id3", None, True, {"use": "kadet", "k": 1, "measure": "gain", "prune": True}
        yield "id3", None, False, {"use": "id3"}
    everybody = setting.table.total_weight
    yield "one leaf", everybody, True, {"use": "kadet", "k": everybody, "measure": setting.measure}
