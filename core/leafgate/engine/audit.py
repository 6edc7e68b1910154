"""The straight way from a table to a verdict: build, seal, attack, judge."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from leafgate.algorithms.routing import count_leaves
from leafgate.api.components import Component
from leafgate.api.plan import AuditPlan, ReleaseFileChecks
from leafgate.api.registry import Plugins
from leafgate.engine.attack import announce_attack, run_attack
from leafgate.engine.build import build, knowledge
from leafgate.engine.checks import check_claims, soundness_checks, verified
from leafgate.engine.figures import guesses, tree_view
from leafgate.engine.report_facts import DataFiles, data_facts, describe_threat_model, files_of
from leafgate.engine.score import AuditState, Consistency, judge
from leafgate.engine.waivers import SourceLocations, Waivers, never, passes, waived
from leafgate.errors import NoReleaseError
from leafgate.io.release_codec import ReleaseArtifact
from leafgate.types.evidence import AuditorOnly, PeopleCount
from leafgate.types.report import Finding, Report
from leafgate.types.table import Table

OPEN = "was taken from the data, and the release tells it."
EXTREME = "occurs, and the release tells it: so somebody has it. Declare rounder ones, for what could occur."
WEIGHTED = (
    "weighs rows, and weights are not people: wherever limits count people, each row is one person. A release may show "
    "weights."
)
DRAWN = "Noise is drawn anew at every run. Share one release of these people only: the mean of several has less noise."
REPEATED = (
    "stand in several rows. Every row is counted as a person: if these rows are one person's, groups have fewer people "
    "than the report says. Audit a table with one row for each person."
)
SAME = "The test table is the table: accuracy and the like are of the people that the release was learned from."
USED = ("leafgate", "pandas", "numpy", "pydantic", "pluggy")


@dataclass(frozen=True, repr=False)
class Audit:
    """A report, the release it is about (None if nothing could be built), and seconds a step.

    Its repr says the verdict alone: a notebook keeps it beside the page.
    """

    report: Report
    artifact: ReleaseArtifact | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Audit(verdict={self.report.verdict!r})"


def audit(
    plan: AuditPlan,
    plugins: Plugins,
    table: Table,
    test: Table | None = None,
    population: Table | None = None,
    people: Table | None = None,
    *,
    file_checks: ReleaseFileChecks,
    today: date | None = None,
    announce: Callable[[str], None] = lambda line: None,
) -> Audit:
    """Build or load the release, attack it, and hold the scores against the policy's limits.

    `file_checks` are made of a release that was read from a file.
    `announce` is given a line before an attack that forecasts how long it will take.
    `today` is the day its waivers are judged on, the one it is in UTC when left out; without waivers no clock is read.
    Raises InvalidError for what the policy or data get wrong and InconclusiveError when the builder
    itself fails; a failing attack or metric is a finding and takes nothing else down.
    """
    seconds: dict[str, float] = {}
    places = SourceLocations(plan)
    files = files_of(plan, table, {"test": test, "population": population, "people": people})
    try:
        with _timed(seconds, "build"):
            artifact = build(plan, plugins, table, test, file_checks=file_checks)
    except NoReleaseError as error:
        refused = places.of_build([_no_release(plan, plugins, error)])
        limits, waivers = waived(plan, None, [], refused, never, today)
        return Audit(_report(plan, plugins, table, files, None, refused, waivers))
    known = knowledge(plan, table, artifact, population, people)
    attempts = []
    for attack in plan.attacks:
        announce_attack(attack, artifact, known, plugins, announce)
        with _timed(seconds, f"attack {attack.called}"):
            attempts.append(run_attack(attack, artifact, known, plugins))
    with _timed(seconds, "judge"):
        judged = AuditState(
            table,
            test,
            artifact.release,
            known,
            attempts,
            plugins,
            Consistency(table, artifact.release, artifact.node_numbers),
            artifact.origins,
            built=artifact.built,
        )
        doubtful = places.of_build(soundness_checks(plan, plugins, judged))
        claims = places.of_build(check_claims(judged, lambda attack: run_attack(attack, artifact, known, plugins)))
        judged = replace(judged, verified_claims=verified(claims))
        limits = places.of_limits(judge(plan.metrics, judged))
        disclosed = places.of_build(file_checks.findings(plan, plugins, artifact.release))
        limits, waivers = waived(plan, artifact, limits, [*doubtful, *disclosed, *claims], passes(judged), today)
    findings = [*doubtful, *disclosed, *limits, *claims]
    with _timed(seconds, "draw"):
        tree, guessed = tree_view(judged, findings), guesses(judged)
    report = _report(plan, plugins, table, files, artifact, findings, waivers)
    return Audit(replace(report, tree=tree, guesses=guessed), artifact, seconds)


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[step] = time.perf_counter() - start


def _no_release(plan: AuditPlan, plugins: Plugins, error: NoReleaseError) -> Finding:
    evidence: dict[str, Any] = {"reason": error.problems[0].message, "remedy": error.problems[0].hint}
    if error.people is not None:
        evidence["people"] = PeopleCount(error.people)
    if error.details:
        evidence["reason_in_full"] = AuditorOnly(error.details)
    origin = plugins.origin(plan.builder)
    return Finding(
        "build", "build", passed=False, evidence=evidence, plugin=origin, plain_failure="no release could be built"
    )


def _report(
    plan: AuditPlan,
    plugins: Plugins,
    table: Table,
    files: DataFiles,
    artifact: ReleaseArtifact | None,
    findings: Sequence[Finding],
    waivers: Waivers,
) -> Report:
    private = "epsilon" in (plan.builder.guarantees if artifact is None else artifact.release.guarantee)
    repeated = [f"Some values of the identifier {name!r} {REPEATED}" for name in table.repeated_identifiers]
    open_domains = [column.name for column in table.schema.columns if not column.declared and "key" not in column.roles]
    return Report(
        policy={**plan.identify(), **plan.origin.facts},
        data=data_facts(table, files, differentially_private=private),
        release=None if artifact is None else _release_facts(plan, artifact),
        findings=findings,
        versions=versions_of(plan, plugins),
        smallest_cell=plan.smallest_cell,
        differentially_private=private,
        method=describe_threat_model(plan, None if artifact is None else artifact.release, table.schema),
        notes=[
            *_weights_declared(plan),
            *_drawn_once(artifact),
            *_training_declared(artifact),
            *([SAME] if files.same_test else []),
            *([] if private else repeated),
            *(f"The domain of {name!r} {OPEN}" for name in open_domains),
        ],
        auditor_notes=[*_extremes_declared(table), *(repeated if private else [])],
        **waivers,
    )


def _extremes_declared(table: Table) -> Iterator[str]:
    """A note for each column whose declared bounds are numbers that somebody has.

    The bounds alone tell nobody so, for what could occur may not occur: the note does, and is for auditors. 0 is left
    out, where counts and amounts begin.
    """
    for column in table.schema.columns:
        if not column.declared or column.values is not None or column.bounds is None or "key" in column.roles:
            continue
        numbers = table.frame[column.name]
        ends = {"smallest": (column.bounds[0], numbers.min()), "largest": (column.bounds[1], numbers.max())}
        reached = " and the ".join(name for name, (bound, number) in ends.items() if bound == number != 0)
        if reached:
            what = "bins" if column.bins else "bounds"
            yield f"The declared {what} of {column.name!r} end at the {reached} number that {EXTREME}"


def _weights_declared(plan: AuditPlan) -> Iterator[str]:
    """What a column of weights means for limits on people: the first note of a report."""
    for name, column in plan.columns.items():
        if "weight" in column.roles and column.counts == "people":
            yield f"Each row is as many people as {name!r} says, all of them in the table: {column.reason}"
        elif "weight" in column.roles:
            yield f"{name!r} {WEIGHTED}"


def _drawn_once(artifact: ReleaseArtifact | None) -> list[str]:
    return [DRAWN] if artifact is not None and artifact.release.noise else []


def _training_declared(artifact: ReleaseArtifact | None) -> list[str]:
    """What the policy says of a model's training, as far as its file's numbers are read otherwise for it."""
    numbers = None if artifact is None else artifact.node_numbers
    if numbers is None:
        return []
    part = f"that each tree was grown on a random {numbers.subsample:g} of the table's people"
    weights = "that people had weights, so that only the file's numbers of people are compared with the table"
    said = ([part] if numbers.subsample != 1 else []) + ([weights] if numbers.weighted else [])
    return [f"The policy says of the model's training, and nobody can check, {' and '.join(said)}."] if said else []


def _release_facts(plan: AuditPlan, artifact: ReleaseArtifact) -> dict[str, Any]:
    release = artifact.release
    document: dict[str, Any] = {} if artifact.audited_file is None else {"file": artifact.audited_file.described()}
    document |= {"sha256": artifact.sha256, "builder": dict(release.builder)}
    document |= {"trees": len(release.trees), "leaves": count_leaves(release)}
    document |= {"drawn_once": True} if plan.builder.one_shot else {}
    return document | ({} if release.records is None else {"records": PeopleCount(len(release.records.rows))})


def versions_of(plan: AuditPlan, plugins: Plugins) -> dict[str, str]:
    """Of Python, leafgate, and every distribution the policy's plugins come from."""
    components: list[Component] = [plan.builder, *plan.attacks, *plan.metrics]
    names = dict.fromkeys([*USED, *(plugins.origin(component).split(" ")[0] for component in components)])
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
