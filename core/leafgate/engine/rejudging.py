"""Limits are judged again as if the table meant something else than it states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from leafgate.engine.knowledge import Adversaries
from leafgate.errors import LeafgateError
from leafgate.kernel.findings import Finding

UNJUDGED = "what follows if {} could not be judged: {}"
BROKEN = "if {}, these limits do not hold: {}"

Judge = Callable[[Adversaries], Sequence[Finding]]
"""Runs the attacks of these adversaries and returns the findings on what they believe."""


class Rejudging(Protocol):
    """Something else that the table may mean."""

    def completed(self, findings: Sequence[Finding], judge: Judge) -> list[Finding]:
        """The findings of the audit, and those that follow if the table means that."""


def judge_again(others: Callable[[], Adversaries], judge: Judge) -> tuple[dict[str, Finding], str]:
    """The findings of other adversaries by their ids, and why there are none where that is so."""
    try:
        return {finding.id: finding for finding in judge(others())}, ""
    except LeafgateError as error:
        return {}, str(error)


def what_follows(findings: Sequence[Finding], judged: Mapping[str, Finding], problem: str, condition: str) -> str:
    """Which limits on beliefs do not hold if the condition does, or could not be judged; empty where all hold.

    Args:
        findings: of the audit; limits that do not hold there are left out.
        judged: those if the condition holds, by their ids.
        problem: why nothing could be judged; empty where something was.
        condition: the condition in words.
    """
    not_held = {each.id for each in findings if not each.passed}
    kept = [each for each in judged.values() if each.attack is not None and each.id not in not_held]
    broken = [each.id for each in kept if each.fails]
    if broken:
        return BROKEN.format(condition, ", ".join(broken))
    unjudged = [problem] if problem else [each.evidence.get("problem") for each in kept if each.passed is None]
    return UNJUDGED.format(condition, unjudged[0] or "a limit is inconclusive then") if unjudged else ""
