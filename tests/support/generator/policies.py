"""Policies around tables, and audits by them in this process: what became of a release."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.tables import DeclaredPeople
from leafgate import LeafgateError, Policy
from leafgate.app import audit_policy
from leafgate.commands.scaffold import policy as scaffold
from leafgate.kernel.findings import Finding
from leafgate.kernel.schema import MISSING_WORDS as MISSING_WORDS
from leafgate.kernel.tables import Tables
from leafgate.policy.load import Loaded, policy_of

Metrics = Sequence[Mapping[str, Any]]
LINKING = ({"use": "linking"},)
NOTHING_DISCLOSED: Metrics = ({"use": "file_disclosure", "at_most": 0},)
OF_TREES = "anything"
"""The name of a lenient limit that is inconclusive of a release without trees."""
LENIENT: Metrics = (
    {"use": "k_anonymity", "at_least": 1},
    {"use": "residual_degrees_of_freedom", "name": OF_TREES, "at_least": -1e9},
)
"""Limits that every release here keeps: what blocks an audit with them is a doubt about the release itself."""


def strict_metrics(rng: np.random.Generator) -> Metrics:
    """Limits some of which a random release breaks; each is judged by itself as well as in the verdict."""
    fixed: Metrics = (
        {"use": "exposure", "at_most": 0},
        {"use": "exposure", "name": "derived_exposure", "scored": "derived", "at_most": 0},
        {"use": "confidence", "name": "composition", "scored": "composition", "at_most": 0.9},
    )
    others: Metrics = (
        {"use": "k_anonymity", "at_least": int(rng.choice([2, 5]))},
        {"use": "confidence", "at_most": float(rng.choice([0.8, 0.9, 0.95]))},
        {"use": "l_diversity", "at_least": float(rng.choice([1.1, 1.3]))},
        {"use": "smallest_leaf", "at_least": int(rng.choice([2, 5]))},
    )
    return (*fixed, *(others[i] for i in sorted(rng.choice(len(others), 2, replace=False).tolist())))


@cache
def _folder() -> tuple[tempfile.TemporaryDirectory[str], Path]:
    holder = tempfile.TemporaryDirectory(prefix="generator-")
    return holder, Path(holder.name)


def policy_around(data: Mapping[str, Any], metrics: Metrics, folder: Path = Path(), **more: Any) -> Loaded:
    """The policy of an audit in this process, by the linking attack unless others are named."""
    common = {"leafgate": 1, "name": "drawn", "attacks": list(LINKING), "report": {"smallest_cell": 1}}
    document = common | {"data": dict(data), "metrics": list(metrics)} | more
    return policy_of(document, folder, every_plugin=True)


def policy_for_any_table(metrics: Metrics) -> Policy:
    """A policy to audit tables that a test makes: the columns it names are replaced by the table's own."""
    columns = {
        "who": {"role": "quasi_identifier", "values": ["a"]},
        "y": {"role": ["class", "sensitive"], "values": ["b"]},
    }
    return policy_around({"columns": columns}, metrics, build={"use": "kadet", "k": 1}).policy


def first_policy(
    data: Path, target: str | None = None, harmless: Sequence[str] = (), builder: str = "kadet", **files: Any
) -> str:
    """The text of the policy that `leafgate init` writes; `files` are other files and how the table is read."""
    return scaffold.first_policy(scaffold.Files(data, **files), target, builder, harmless).text


@dataclass(frozen=True)
class Outcome:
    """What became of an audit: `pass`, `fail`, `inconclusive`, or `refused` with the error's text.

    `document` is the release as it was published.
    """

    verdict: str
    findings: Mapping[str, Finding] = field(default_factory=dict)
    document: Mapping[str, Any] | None = None
    error: str = ""

    def scores(self, name: str) -> NDArray[np.float64] | None:
        """Each row's score by a finding; None where there is none, or it could not be told."""
        finding = self.findings.get(name)
        return (
            None
            if finding is None or finding.passed is None or finding.scored_people is None
            else finding.scored_people.scores
        )

    def exposed(self, secret: str, metric: str = "exposure", attack: str = "linking") -> NDArray[np.bool_] | None:
        """Who is certain by the finding, a flag for each row of the table; None where it is no evidence of safety."""
        scores = self.scores(f"{metric}@{attack}#{secret}")
        return None if scores is None else np.asarray(scores >= 1)


def audited(people: DeclaredPeople, build: Mapping[str, Any], metrics: Metrics, **more: Any) -> Outcome:
    """Audit what a builder makes of the people; `more` are other parts of the policy."""
    loaded = policy_around(people.data, metrics, _folder()[1], build=build, **more)
    try:
        found = audit_policy(loaded.policy, loaded.plugins, Tables(people.table))
    except LeafgateError as error:
        return Outcome("refused", error=f"{type(error).__name__}: {error}")
    findings = {finding.id: finding for finding in found.report.findings}
    document = None if found.artifact is None else json.loads(found.artifact.content)
    return Outcome(found.report.verdict, findings, document)


def audited_file(people: DeclaredPeople, document: Mapping[str, Any], metrics: Metrics) -> Outcome:
    """Audit a release file."""
    path = _folder()[1] / "release.json"
    path.write_text(json.dumps(document))
    return audited(people, {"use": "published", "path": path.name}, metrics)
