"""The kit passes what is honest, and finds the planted mistakes that stand here by name."""

from __future__ import annotations

import unittest
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from broken_plugins.attacks import BROKEN_ATTACKS, Blind, ByLeaves, ByScores
from broken_plugins.builders import BROKEN_BUILDERS, ByColumn
from broken_plugins.formats import BROKEN_FORMATS, HONEST_FORMAT
from broken_plugins.metrics import BROKEN_METRICS, Doubt, MeanCertainty, Separation
from broken_plugins.readers import BROKEN_READERS, HONEST_READER, STUMP
from broken_plugins.sources import BROKEN_SOURCES, Lines, write_lines
from leafgate.api import AdversaryKnowledge, Component, Release, ReleaseAtLeast, ReportDocument, Score, ScoringContext
from leafgate.app import parse_report, readable
from leafgate.testing import (
    Check,
    DoesNotApply,
    KnownException,
    NonConformance,
    ReportScenario,
    conformance,
    format_conformance,
    reader_conformance,
    source_conformance,
)
from leafgate.testing.components import NETWORK, watched
from leafgate.testing.offers import REPORTS

Planted = dict[str, tuple[list[Check], str]]


def components(broken: Sequence[tuple[Any, str]]) -> Planted:
    return {type(each).__name__: (conformance(each), name) for each, name in broken}


PLANTED: Mapping[str, Planted] = {
    "attacks": components(BROKEN_ATTACKS),
    "metrics": components(BROKEN_METRICS),
    "builders": components(BROKEN_BUILDERS),
    "formats": {each: (format_conformance(offered), name) for each, (offered, name) in BROKEN_FORMATS.items()},
    "readers": {each: (reader_conformance(offered, [STUMP]), name) for each, (offered, name) in BROKEN_READERS.items()},
    "sources": {
        each: (source_conformance(source, write_lines), name) for each, (source, name) in BROKEN_SOURCES.items()
    },
}
"""Each mistake with all checks of the plugin, and with the name of the one that finds it."""
FOUND = [
    pytest.param(checks, name, id=f"{kind}: {mistake}")
    for kind, planted in PLANTED.items()
    for mistake, (checks, name) in planted.items()
]


@pytest.mark.parametrize(("checks", "name"), FOUND)
def test_a_mistake_is_found_by_the_check_that_stands_beside_it(checks: list[Check], name: str) -> None:
    (check,) = (check for check in checks if check.name == name)
    with pytest.raises(NonConformance, match=r"what would be right: \S"):
        replace(check, first=None)()


HONEST = [
    *(check for each in (ByLeaves(), ByScores(), ByColumn()) for check in conformance(each)),
    *(check for kind in (MeanCertainty, Separation) for check in conformance(kind(at_most=0))),
    *conformance(Doubt(at_least=0)),
    *format_conformance(HONEST_FORMAT),
    *reader_conformance(HONEST_READER, [STUMP]),
    *source_conformance(Lines(), write_lines),
]


@pytest.mark.parametrize("check", HONEST, ids=str)
def test_what_is_honest_passes(check: Check) -> None:
    """A check that finds a mistake raises NonConformance; one that finds none returns."""
    check()


def check_named(component: Component, name: str, **said: Any) -> Check:
    (found,) = (check for check in conformance(component, **said) if check.name == name)
    return found


class Divides(ByLeaves):
    """Raises of every release."""

    def infer(self, release: Release, known: AdversaryKnowledge) -> Any:
        raise ZeroDivisionError("nobody of flu")


def test_one_cause_is_one_failure_with_the_line_of_the_error() -> None:
    works, *others = conformance(Divides())
    with pytest.raises(NonConformance, match=r"failed: ZeroDivisionError, line \d+ of .*test_kit.infer"):
        works()
    for check in others:
        with pytest.raises(DoesNotApply, match="`works` fails, and decides the rest"):
            check()


class Useful(ReleaseAtLeast):
    """What every release is good for."""

    use: str = "useful"

    threat_model = "None: this is what the release is good for."

    def score(self, case: ScoringContext) -> Score:
        return Score(1.0)


def test_what_does_not_apply_says_why_and_is_no_pass() -> None:
    with pytest.raises(DoesNotApply, match="does not apply: it measures what a release is good for"):
        check_named(Useful(at_least=0), "sees_a_leak")()


def test_a_known_exception_is_listed_with_its_reason_and_with_what_was_found() -> None:
    with pytest.raises(KnownException, match=r"knows nobody \(a tree isolates somebody"):
        check_named(Blind(), "catches_a_leak", expected={"catches_a_leak": "knows nobody"})()


def test_a_known_exception_that_passes_is_no_exception_any_more() -> None:
    with pytest.raises(NonConformance, match="passes, though it is expected to fail: knows nobody"):
        check_named(ByLeaves(), "catches_a_leak", expected={"catches_a_leak": "knows nobody"})()


def test_what_cannot_be_checked_is_an_error() -> None:
    with pytest.raises(ValueError, match="there is no check 'leak'"):
        conformance(ByLeaves(), expected={"leak": "knows nobody"})
    with pytest.raises(TypeError, match="is no builder, attack or metric"):
        conformance(Component(use="x"))
    with pytest.raises(ValueError, match="whose model is known"):
        reader_conformance(HONEST_READER, [])


def test_while_a_check_runs_no_other_machine_is_reached() -> None:
    import socket

    with watched(NETWORK) as tried:
        for call in (socket.gethostbyaddr, socket.gethostbyname):
            with pytest.raises(OSError, match="no network"):
                call("192.0.2.1")
        with pytest.raises(OSError, match="no network"):
            socket.socket()
    assert [each.removeprefix("socket.") for each in tried] == ["gethostbyaddr", "gethostbyname", "__new__"]


def test_a_skipped_check_is_skipped_for_unittest_as_for_pytest() -> None:
    assert issubclass(DoesNotApply, unittest.SkipTest)
    assert issubclass(KnownException, unittest.SkipTest)


def test_reports_of_the_author_are_rendered_too() -> None:
    def refuses(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
        if document["policy"]["name"].startswith("large"):
            raise ValueError
        return HONEST_FORMAT.render(document, attachments)

    large = {**REPORTS[0].public, "policy": {**REPORTS[0].public["policy"], "name": "large"}}
    offered = replace(HONEST_FORMAT, render=refuses)
    format_conformance(offered)[0]()
    with pytest.raises(NonConformance, match="it raises ValueError"):
        format_conformance(offered, on=[ReportScenario("large", large, large)])[0]()


@pytest.mark.parametrize("scenario", REPORTS, ids=lambda scenario: str(scenario.name))
def test_the_documents_of_the_kit_are_reports_that_leafgate_reads(scenario: ReportScenario) -> None:
    for document, audience in ((scenario.public, "public"), (scenario.auditor, "auditor")):
        assert parse_report(readable(document), scenario.name)["audience"] == audience


def test_the_documents_of_the_kit_have_findings_in_every_state() -> None:
    findings = [finding for scenario in REPORTS for finding in scenario.auditor["findings"]]
    states = {("waiver" in finding, finding["passed"]) for finding in findings}
    assert states == {(False, False), (False, None), (False, True), (True, False)}
