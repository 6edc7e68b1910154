"""Findings with the line of the policy that asked for them, so that who reads one can go there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from leafgate.policy import Policy
from leafgate.policy_lines import Line
from leafgate.report import Finding


@dataclass(frozen=True)
class FindingPlaces:
    """Where a policy's file has what findings are about; nothing is told of a policy that is in no file.

    `elsewhere` are the folders of files that do not lie below the policy's.
    """

    policy: Policy
    lines: Mapping[str, Line] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    def of_limits(self, findings: Iterable[Finding]) -> list[Finding]:
        """What the judge found, each with the line of its metric, or of the attack that failed."""
        metrics = {metric.called: f"metrics[{i}]" for i, metric in enumerate(self.policy.metrics)}
        attacks = {attack.called: f"attacks[{i}]" for i, attack in enumerate(self.policy.attacks)}
        return [self._at(metrics.get(found.metric) or attacks.get(found.attack or "", ""), found) for found in findings]

    def of_build(self, findings: Iterable[Finding]) -> list[Finding]:
        """What was found about the release itself, its claims and its making, with the line of the builder."""
        return [self._at("build", found) for found in findings]

    def _at(self, place: str, finding: Finding) -> Finding:
        line = self.lines.get(place)
        if line is None:
            return finding
        folder = {"folder": self.elsewhere[line.file]} if line.file in self.elsewhere else {}
        return replace(finding, where={"file": line.file, "line": line.number, **folder})
