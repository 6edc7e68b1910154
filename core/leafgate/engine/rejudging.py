"""Limits judged again, as if the people were others than the table states: what of them would not hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from leafgate.engine.knowledge import Adversaries
from leafgate.errors import LeafgateError
from leafgate.kernel.findings import Finding

UNJUDGED = "what follows if {} could not be judged: {}"
HOLDS = "if {}, every limit that holds now holds then"
BROKEN = "if {}, these limits do not hold: {}"

Judge = Callable[[Adversaries], Sequence[Finding]]
"""Runs the attacks of these adversaries and returns the findings on what they believe."""


class Rejudging(Protocol):
    """One thing that the table may mean other than it states."""

    def completed(self, findings: Sequence[Finding], judge: Judge) -> list[Finding]:
        """The findings of the audit, with what follows where the table means that."""


def judge_again(others: Callable[[], Adversaries], judge: Judge) -> tuple[dict[str, Finding], str]:
    """The findings of other adversaries by their ids, and why there are none where that is so."""
    try:
        return {finding.id: finding for finding in judge(others())}, ""
    except LeafgateError as error:
        return {}, str(error)


def what_follows(findings: Sequence[Finding], judged: Mapping[str, Finding], problem: str, condition: str) -> str:
    """What follows for the limits on beliefs, by findings that were judged as if the condition held.

    Args:
        findings: of the audit.
        judged: those where the condition holds, by their ids; what was not judged before is judged by itself.
        problem: why there are none; empty where there are.
        condition: what is said of it.
    """
    not_held = {each.id for each in findings if not each.passed}
    kept = [each for each in judged.values() if each.attack is not None and each.id not in not_held]
    broken = [each.id for each in kept if each.fails]
    if broken:
        return BROKEN.format(condition, ", ".join(broken))
    if problem or any(each.passed is None for each in kept):
        return UNJUDGED.format(condition, problem or "a limit is inconclusive then")
    return HOLDS.format(condition)
