"""The straight way from a table to a verdict: build, seal, attack, judge."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from leafgate.attacking import attempt, plugin_trouble
from leafgate.errors import InconclusiveError, NoReleaseError, PolicyError, ReleaseError
from leafgate.guarantees import check_claims
from leafgate.interfaces import Component
from leafgate.judging import Judged, judge
from leafgate.known import Known, known_of
from leafgate.matching import strange_leaves
from leafgate.plugins import Plugins
from leafgate.policy import Policy, PublishSpec
from leafgate.release import Publish, Release, published
from leafgate.release_file import Sealed, seal
from leafgate.report import Finding, People, Report
from leafgate.routing import count_leaves
from leafgate.table import Table

USED = ("leafgate", "pandas", "numpy", "pydantic", "pluggy")


@dataclass(frozen=True)
class Audit:
    """A report, the release it is about (None if nothing could be built), and seconds a step."""

    report: Report
    sealed: Sealed | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)


def audit(policy: Policy, plugins: Plugins, table: Table, test: Table | None = None) -> Audit:
    """Build or load the release, attack it, and hold the scores against the policy's limits.

    Raises InvalidError for what the policy or data get wrong and InconclusiveError when the builder
    itself fails; a failing attack or metric is a finding and takes nothing else down.
    """
    seconds: dict[str, float] = {}
    try:
        with _timed(seconds, "build"):
            sealed = build(policy, plugins, table)
    except NoReleaseError as error:
        return Audit(_report(policy, plugins, table, None, [_no_release(policy, plugins, error)]))
    known = knowledge(policy, table, sealed)
    attempts = []
    for attack in policy.attacks:
        with _timed(seconds, f"attack {attack.called}"):
            attempts.append(attempt(attack, sealed, known, plugins))
    with _timed(seconds, "judge"):
        judged = Judged(table, test, sealed.release, known, attempts, plugins)
        findings = [*_strange_counts(policy, plugins, sealed, table), *judge(policy.metrics, judged)]
        findings += check_claims(judged, lambda attack: attempt(attack, sealed, known, plugins))
    return Audit(_report(policy, plugins, table, sealed, findings), sealed, seconds)


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[step] = time.perf_counter() - start


def build(policy: Policy, plugins: Plugins, table: Table) -> Sealed:
    """The release as its file says it: built, cut down to what is published, written and read back."""
    builder = policy.build
    rng = np.random.default_rng(None if builder.randomness == "system" else policy.seed)
    origin = f"{builder.use} ({plugins.origin(builder)})"
    with plugin_trouble(builder, plugins):
        draft = builder.build(table.without_key.lent(), rng)
        if not isinstance(draft, Release):
            raise InconclusiveError(f"{origin} returned a {type(draft).__name__} where a Release belongs")
    wanted = policy.publish or PublishSpec(leaves=draft.publish.leaves)
    if draft.sealed is not None and wanted.leaves != draft.publish.leaves:
        raise PolicyError(
            f"the release file publishes {draft.publish.leaves}, the policy says {wanted.leaves}",
            place="publish.leaves",
            remedy="say what the file publishes",
        )
    if draft.records is not None and draft.trees and wanted.leaves != "counts":
        raise PolicyError(
            f"the published records tell class counts, the leaves are to tell {wanted.leaves} only",
            place="publish.leaves",
            remedy="publish counts, or the tree without records",
        )
    try:
        with plugin_trouble(builder, plugins):
            return seal(published(draft, Publish(wanted.leaves, wanted.measure), builder.tells_measure))
    except ReleaseError as error:
        raise InconclusiveError(f"{origin} built a release that no file can hold: {error}") from error


def knowledge(policy: Policy, table: Table, sealed: Sealed) -> Known:
    """What the policy grants the adversary, the algorithm included where it is public."""
    builder = policy.build
    public = builder.public_algorithm and sealed.release.publish.measure
    return known_of(
        table,
        distribution=policy.knows.distribution,
        mechanism=builder.build if public else None,
        seed=policy.seed,
    )


def _no_release(policy: Policy, plugins: Plugins, error: NoReleaseError) -> Finding:
    evidence: dict[str, Any] = {"reason": error.problems[0].message, "remedy": error.problems[0].remedy}
    if error.people is not None:
        evidence["people"] = People(error.people)
    return Finding("build", "build", passed=False, evidence=evidence, plugin=plugins.origin(policy.build))


def _strange_counts(policy: Policy, plugins: Plugins, sealed: Sealed, table: Table) -> list[Finding]:
    """Inconclusive when leaves that claim to count this table's people do not."""
    strange = strange_leaves(sealed.release, table)
    if not strange:
        return []
    problem = f"{strange} leaves tell numbers that are not those of this table: was the tree learned from other people?"
    origin = plugins.origin(policy.build)
    return [Finding("counted", "counted", passed=None, evidence={"problem": problem}, plugin=origin)]


def _report(
    policy: Policy, plugins: Plugins, table: Table, sealed: Sealed | None, findings: Sequence[Finding]
) -> Report:
    release = None if sealed is None else sealed.release
    data: dict[str, Any] = {"people": People(table.people), "distinct": People(len(table)), "sha256": table.sha256}
    if table.dropped:
        data["dropped"] = People(table.dropped)
    open_domains = [column.name for column in table.schema.columns if not column.declared and "key" not in column.roles]
    return Report(
        policy={"name": policy.name, "sha256": policy.sha256},
        data=data,
        release=None
        if sealed is None or release is None
        else {
            "sha256": sealed.sha256,
            "builder": dict(release.builder),
            "trees": len(release.trees),
            "leaves": count_leaves(release),
        },
        findings=findings,
        versions=_versions(policy, plugins),
        smallest_cell=policy.report.smallest_cell,
        differentially_private=release is not None and "epsilon" in release.guarantee,
        notes=[f"The domain of {name!r} was taken from the data, and the release tells it." for name in open_domains],
    )


def _versions(policy: Policy, plugins: Plugins) -> dict[str, str]:
    components: list[Component] = [policy.build, *policy.attacks, *policy.metrics]
    names = dict.fromkeys([*USED, *(plugins.origin(component).split(" ")[0] for component in components)])
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
