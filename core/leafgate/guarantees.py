"""Guarantees are claims: each is held against what an independent check finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from leafgate.attacking import Attempt, plugin_trouble
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.interfaces import AttackModel, Metric, RecordMetric
from leafgate.report import Finding
from leafgate.scoring import Judged, inconclusive, score_beliefs, score_one

Attack = Callable[[AttackModel], Attempt]
WORST_FIRST = (False, None, True)
BROKEN = "the release does not keep what it claims of {}"
MAX_EPSILON = 10.0
"""Above it one person may change a probability by more than a factor of e^10, 22,000: no belief is bounded by that."""
MAX_DELTA = 1e-3
"""Above it publishing one person in a thousand as they are keeps the promise.

Source: Dwork, Roth, The Algorithmic Foundations of Differential Privacy, 2014, section 2.3 (delta far below one
over the people). doi:10.1561/0400000042
"""
DEFAULT_DELTA = 1e-6
"""At which epsilon is claimed where a claim says nothing of delta."""


def check_claims(judged: Judged, attack: Attack) -> Iterator[Finding]:
    """One finding for each guarantee the release claims: the worst of what its checks find.

    A claim is refuted by an attack's evidence, or when it does not hold for some secret; nobody who can check
    it: inconclusive. What attacks came to that tried and did not refute it stands beside. `attack` runs an
    attack that the policy does not try.
    """
    for claim, promised in judged.release.guarantee.items():
        checked = (found for one in _each(promised) for found in _checked(claim, one, judged, attack))
        found = [*_refuted(claim, judged), *checked]
        nobody = Finding("", claim, passed=None, evidence={"problem": "no installed plugin can check this claim"})
        worst = min(found or [nobody], key=lambda finding: (WORST_FIRST.index(finding.passed), _margin(finding)))
        evidence = {"claim": promised} | _tried(claim, judged) | dict(worst.evidence)
        yield replace(worst, id=f"guarantee:{claim}", evidence=evidence, alarm=BROKEN.format(claim))


def verified(findings: Iterable[Finding]) -> frozenset[str]:
    """The claims that these findings of `check_claims` say to be kept, without promises too weak to bound anything.

    Of `epsilon` a promise counts up to MAX_EPSILON and MAX_DELTA.
    """
    kept = {finding.id.removeprefix("guarantee:"): finding.evidence["claim"] for finding in findings if finding.passed}
    return frozenset(claim for claim, promised in kept.items() if claim != "epsilon" or _bounds_beliefs(promised))


def _bounds_beliefs(promised: Any) -> bool:
    """Does one of these claims of differential privacy bound what can be derived of a person?"""
    claims = [one if isinstance(one, Mapping) else {"at_most": one} for one in _each(promised)]
    return any(
        float(one.get("at_most", math.inf)) <= MAX_EPSILON and float(one.get("delta", DEFAULT_DELTA)) <= MAX_DELTA
        for one in claims
    )


def _margin(finding: Finding) -> float:
    """By how much a score keeps to its limit; nothing to spare where there is no number.

    Nor where there is none for the public: which of several is the worst would tell of it.
    """
    limits = {key: limit for key, limit in finding.limit.items() if key in {"at_least", "at_most"}}
    if finding.value is None or finding.private or not limits:
        return -math.inf
    (direction, limit), *_ = limits.items()
    return float(finding.value - limit if direction == "at_least" else limit - finding.value)


def _each(promised: Any) -> list[Any]:
    """Several claims of one kind stand in a list of mappings."""
    several = isinstance(promised, list) and all(isinstance(one, dict) for one in promised)
    return promised if several and promised else [promised]


def _tried(claim: str, judged: Judged) -> dict[str, Any]:
    """What attacks that tried to refute a claim, and did not, came to."""
    told = {
        attempt.attack.called: dict(belief.evidence)
        for attempt in judged.attempts
        for belief in attempt.beliefs
        if claim in belief.evidence.get("tries", ()) and claim not in belief.evidence.get("refutes", ())
    }
    return {"tried": told} if told else {}


def _refuted(claim: str, judged: Judged) -> Iterator[Finding]:
    for attempt in judged.attempts:
        for belief in attempt.beliefs:
            if claim in belief.evidence.get("refutes", ()):
                evidence = dict(belief.evidence) | {"problem": "an attack refutes it"}
                name = attempt.attack.called
                yield Finding("", claim, False, name, belief.secret, evidence=evidence, plugin=attempt.plugin)


def _checked(claim: str, promised: Any, judged: Judged, attack: Attack) -> Iterator[Finding]:
    for checker in judged.plugins.kind(Metric):
        if issubclass(checker, Metric) and checker.checks == claim:
            try:
                yield from _by(checker, promised, judged, attack)
            except LeafgateError as error:
                origin = judged.plugins.origin(checker)
                yield Finding("", claim, passed=None, evidence={"problem": str(error)}, plugin=origin)


def _by(checker: type[Metric], promised: Any, judged: Judged, attack: Attack) -> Iterator[Finding]:
    """What one metric finds: of the release, or of everything its attack believes."""
    with plugin_trouble(checker, judged.plugins):
        metric = checker.of_claim(promised)
    if not isinstance(metric, RecordMetric):
        yield score_one(metric, judged, "", None, None)
        return
    found: list[Finding] = []
    for attempt in _attempts(checker, judged, attack):
        found += score_beliefs(metric, judged, attempt, named=False)
        found += [inconclusive(metric, judged, "", attempt.problem)] if attempt.problem else []
    yield from found or [inconclusive(metric, judged, "", "there is no belief to check this claim by")]


def _attempts(checker: type[Metric], judged: Judged, attack: Attack) -> list[Attempt]:
    """The attack a checker names, with its defaults; every attack of the policy if it names none."""
    if checker.checked_by is None:
        return list(judged.attempts)
    chosen = judged.plugins.by_name.get(checker.checked_by)
    if chosen is None or not issubclass(chosen, AttackModel):
        raise InconclusiveError(f"nobody offers the attack {checker.checked_by!r}")
    with plugin_trouble(chosen, judged.plugins):
        wanted = chosen.model_validate({"use": checker.checked_by})
    return [next((a for a in judged.attempts if a.attack == wanted), None) or attack(wanted)]
