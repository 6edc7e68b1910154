"""A check: one thing that must hold of a plugin, and the four ways it can end."""

from __future__ import annotations

import traceback
import unittest
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from leafgate.api.components import Component
from leafgate.errors import LeafgateError

S = TypeVar("S")


class NonConformance(AssertionError):  # noqa: N818  it is one of AssertionErrors, and no trouble of leafgate's
    """A plugin does not keep to what leafgate takes for granted; its text says what, and what would be right."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}\n  what would be right: {remedy}")
        self.what, self.remedy = what, remedy


class DoesNotApply(unittest.SkipTest):
    """The check says nothing of this plugin, and why; pytest and unittest list it as skipped."""

    def __init__(self, why: str) -> None:
        super().__init__(f"does not apply: {why}")


class KnownException(unittest.SkipTest):
    """The plugin's author declared that it fails this check, and why it may; listed as skipped, with what was found."""


@dataclass(frozen=True)
class Check(Generic[S]):
    """One check of one plugin; call it. Raises NonConformance, or DoesNotApply with the reason."""

    name: str
    component: Component
    run: Callable[[S], None]
    subject: S
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.component.use} {self.name}"

    def __call__(self) -> None:
        if not self.reason:
            self._tried()
            return
        try:
            self._tried()
        except NonConformance as found:
            raise KnownException(f"known exception: {self.reason} ({found.what})") from found
        raise NonConformance(
            f"{self} passes, though it is expected to fail: {self.reason}", "take it out of `expected`"
        )

    def _tried(self) -> None:
        try:
            self.run(self.subject)
        except LeafgateError as error:
            raise NonConformance(
                f"it refuses what it takes in other words: {error}", "take the same people however they are told of"
            ) from error


def checks_of(
    component: Component, runs: Mapping[str, Callable[[S], None]], subject: S, expected: Mapping[str, str] | None
) -> list[Check[S]]:
    """A check for each of `runs`; `expected` names those that are known to fail, each with the reason."""
    strange = sorted(set(expected or {}) - set(runs))
    if strange:
        raise ValueError(f"there is no check {strange[0]!r}; there are {', '.join(runs)}")
    reasons = expected or {}
    return [Check(name, component, run, subject, reasons.get(name, "")) for name, run in runs.items()]


def checked_all(checks: list[Check[S]]) -> dict[str, str]:
    """Run them all: what did not apply, or is a known exception, with the reason.

    Raises one NonConformance for everything that does not hold.
    """
    skipped: dict[str, str] = {}
    failed: list[NonConformance] = []
    for check in checks:
        try:
            check()
        except unittest.SkipTest as why:
            skipped[check.name] = str(why)
        except NonConformance as found:
            failed.append(NonConformance(f"{check}: {found.what}", found.remedy))
    if failed:
        raise NonConformance("\n".join(str(each) for each in failed), "see above, check by check")
    return skipped


def called(component: Component, does: Callable[[], S]) -> S:
    """What a plugin returns; LeafgateErrors pass, of anything else the place in the plugin is told."""
    try:
        return does()
    except (LeafgateError, NonConformance, unittest.SkipTest):
        raise
    except (Exception, SystemExit) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise NonConformance(
            f"{component.use} raises {type(error).__name__} in {place.name}, line {place.lineno} of {place.filename}",
            "say what is wrong in a LeafgateError: InconclusiveError, PolicyError, NoReleaseError",
        ) from error
