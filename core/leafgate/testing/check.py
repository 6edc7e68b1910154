"""A check is one property of a plugin; it passes, fails, does not apply, or is expected to fail."""

from __future__ import annotations

import traceback
import unittest
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from leafgate.errors import LeafgateError
from leafgate.kernel.components import Component

S = TypeVar("S")


class Named(Protocol):
    """What is checked beside components: a report format, a model reader, a plugin's module."""

    @property
    def name(self) -> str: ...


class NonConformance(AssertionError):  # noqa: N818  it is an AssertionError, not an error of leafgate
    """A plugin breaks the contract; the text says how, and what to do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}\n  what would be right: {remedy}")
        self.what, self.remedy = what, remedy


class DoesNotApply(unittest.SkipTest):
    """The check does not apply to this plugin, with the reason; pytest and unittest list it as skipped."""

    def __init__(self, why: str) -> None:
        super().__init__(f"does not apply: {why}")


class KnownException(unittest.SkipTest):
    """The plugin fails this check as its author declared, with the reason; listed as skipped, with the failure."""


@dataclass(frozen=True)
class Check(Generic[S]):
    """One check of one plugin. Calling it raises NonConformance, DoesNotApply with the reason, or nothing."""

    name: str
    component: Component | Named
    run: Callable[[S], None]
    subject: S
    reason: str = ""
    first: Check[S] | None = None
    """The check without which the others say nothing; where it fails, they do not apply."""

    def __str__(self) -> str:
        checked = self.component
        return f"{checked.use if isinstance(checked, Component) else checked.name} {self.name}"

    @cached_property
    def fails(self) -> bool:
        """Does the plugin fail it, and is not known to?"""
        try:
            self()
        except NonConformance:
            return True
        except unittest.SkipTest:
            return False
        return False

    def __call__(self) -> None:
        if self.first is not None and self.first.fails:
            raise DoesNotApply(f"`{self.first.name}` fails, and decides the rest")
        if not self.reason:
            self._run()
            return
        try:
            self._run()
        except NonConformance as found:
            raise KnownException(f"known exception: {self.reason} ({found.what})") from found
        raise NonConformance(
            f"{self} passes, though it is expected to fail: {self.reason}", "take it out of `expected`"
        )

    def _run(self) -> None:
        try:
            self.run(self.subject)
        except LeafgateError as error:
            raise NonConformance(
                f"it refuses an input that it accepts in another form: {error}",
                "accept the same people in every order and form",
            ) from error


def checks_of(
    component: Component | Named,
    runs: Mapping[str, Callable[[S], None]],
    subject: S,
    expected: Mapping[str, str] | None,
) -> list[Check[S]]:
    """A check for each of `runs`; `expected` names those that are known to fail, each with the reason."""
    unknown = sorted(set(expected or {}) - set(runs))
    if unknown:
        raise ValueError(f"there is no check {unknown[0]!r}; there are {', '.join(runs)}")
    reasons = expected or {}
    listed = [Check(name, component, run, subject, reasons.get(name, "")) for name, run in runs.items()]
    return [listed[0], *(replace(check, first=listed[0]) for check in listed[1:])]


def checked_all(checks: list[Check[S]]) -> dict[str, str]:
    """Run all checks; return those that did not apply or were expected to fail, with the reasons.

    Raises one NonConformance that lists every failure.
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
    """Call a plugin and return its result. LeafgateErrors propagate; any other error is reported with its line."""
    try:
        return does()
    except (LeafgateError, NonConformance, unittest.SkipTest):
        raise
    except (Exception, SystemExit) as error:
        raise NonConformance(
            f"{component.use} raises {type(error).__name__}: {error} ({raising_line(error)})",
            "say what is wrong in a LeafgateError: InconclusiveError, PolicyError, NoReleaseError",
        ) from error


def raising_line(error: BaseException) -> str:
    """The function, the line and the file that raised an error."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"in {place.name}, line {place.lineno} of {place.filename}"
