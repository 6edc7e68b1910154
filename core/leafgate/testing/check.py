"""A check is one relation that a plugin must keep; it passes, fails, does not apply, or is expected to fail."""

from __future__ import annotations

import inspect
import unittest
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from leafgate.api.registry import Plugins, isolate_plugin_errors
from leafgate.errors import InconclusiveError, LeafgateError
from leafgate.kernel.components import Component

Relation = Callable[[Any], None]
"""A function of what is checked: it raises NonConformance, DoesNotApply, or nothing, and its docstring says why."""
STRANGERS = Plugins()
"""What is checked need not be installed: its origin is unknown."""


class NonConformance(AssertionError):  # noqa: N818  it is an AssertionError, not an error of leafgate
    """A plugin breaks a relation; the text says how, and what the relation is."""


class DoesNotApply(unittest.SkipTest):
    """The check does not apply to this plugin, with the reason; pytest and unittest list it as skipped."""


class KnownException(unittest.SkipTest):
    """The plugin fails this check as its author declared, with the reason; listed as skipped, with the failure."""


@dataclass(frozen=True)
class Check:
    """One check of one plugin: calling it raises NonConformance, DoesNotApply, KnownException, or nothing.

    Attributes:
        name: The name of the relation.
        plugin: The name of what is checked.
        relation: What must hold.
        subject: What the relation is given.
        reason: Why the plugin is known to fail; empty where it is not.
        first: The check without which the others say nothing: where it fails, they do not apply.
    """

    name: str
    plugin: str
    relation: Relation
    subject: Any
    reason: str = ""
    first: Check | None = None

    def __str__(self) -> str:
        return f"{self.plugin} {self.name}"

    def __call__(self) -> None:
        if self.first is not None and self.first.problem:
            raise DoesNotApply(f"does not apply: `{self.first.name}` fails, and decides the rest")
        problem = self.problem
        if self.reason and not problem:
            problem = f"passes, though it is expected to fail: {self.reason}; take it out of `expected`"
        elif self.reason:
            raise KnownException(f"known exception: {self.reason} ({problem})")
        if problem:
            right = inspect.getdoc(getattr(self.relation, "func", self.relation))
            raise NonConformance(f"{problem}\n  what would be right: {right}")

    @cached_property
    def problem(self) -> str:
        """How the plugin breaks the relation; empty where it does not."""
        try:
            self.relation(self.subject)
        except NonConformance as found:
            return str(found)
        except LeafgateError as error:
            return f"it refuses an input that it accepts in another form: {error}"
        return ""


def named(*relations: Relation) -> dict[str, Relation]:
    """Relations by the names of their functions."""
    return {relation.__name__: relation for relation in relations}


Expected = Mapping[str, str] | None
"""Names of checks that are known to fail, each with the reason."""


def checks_of(plugin: str, relations: Mapping[str, Relation], subject: Any, expected: Expected) -> list[Check]:
    """A check for each relation; the first one decides whether the others apply."""
    reasons = expected or {}
    if unknown := sorted(set(reasons) - set(relations)):
        raise ValueError(f"there is no check {unknown[0]!r}; there are {', '.join(relations)}")
    checks = list[Check]()
    for name, relation in relations.items():
        checks.append(Check(name, plugin, relation, subject, reasons.get(name, ""), checks[0] if checks else None))
    return checks


def refuse_if(wrong: object, what: str) -> None:
    """Raise NonConformance with what is wrong, if something is."""
    if wrong:
        raise NonConformance(what)


def skip_if(idle: object, why: str) -> None:
    """Raise DoesNotApply with the reason, if there is nothing to check."""
    if idle:
        raise DoesNotApply(f"does not apply: {why}")


@contextmanager
def guarded(component: Component) -> Iterator[None]:
    """Call a plugin as an audit does: what the audit would call its fault is a NonConformance, other errors pass."""
    try:
        with isolate_plugin_errors(component, STRANGERS):
            yield
    except InconclusiveError as error:
        if error.problems[0].message.startswith(f"{component.use} ({STRANGERS.origin(component)})"):
            raise NonConformance(str(error)) from error
        raise
