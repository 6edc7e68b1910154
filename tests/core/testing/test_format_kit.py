"""The kit passes honest report formats, and finds each mistake by the check that is made for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from broken_plugins.formats import BROKEN_FORMATS, HONEST_FORMAT, draws_no_numbers
from leafgate.api import ReportDocument, ReportFormat
from leafgate.app import parse_report, readable
from leafgate.reports import FORMATS
from leafgate.testing import (
    Check,
    DoesNotApply,
    KnownException,
    NonConformance,
    ReportScenario,
    check_format,
    format_conformance,
)
from leafgate.testing.scenarios.reports import PLANTED, REPORTS, with_texts

ALERTS = "code scanning would show a passed finding as an alert"


def check_named(offered: ReportFormat, name: str, **options: Any) -> Check[Any]:
    (found,) = (check for check in format_conformance(offered, **options) if check.name == name)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("offered", [*FORMATS, HONEST_FORMAT], ids=lambda offered: str(offered.name))
def test_honest_formats_pass_every_check(offered: ReportFormat) -> None:
    expected = {"names_every_finding": ALERTS} if offered.name == "sarif" else {}
    assert set(check_format(offered, expected=expected)) == set(expected)


@pytest.mark.parametrize(("broken", "name"), BROKEN_FORMATS.values(), ids=BROKEN_FORMATS)
def test_a_mistake_is_found_by_the_check_made_for_it(broken: ReportFormat, name: str) -> None:
    with pytest.raises(NonConformance) as found:
        check_named(broken, name)()
    assert found.value.what
    assert found.value.remedy


def test_a_module_that_loads_what_is_heavy_is_found() -> None:
    from broken_plugins.heavy import render_in_a_heavy_module

    with pytest.raises(NonConformance, match=r"importing broken_plugins.heavy loads .*pandas"):
        check_named(replace(HONEST_FORMAT, render=render_in_a_heavy_module), "light_face")()


def test_every_check_has_a_format_that_it_rejects() -> None:
    rejected = {name for _, name in BROKEN_FORMATS.values()} | {"light_face"}
    assert rejected == {check.name for check in format_conformance(HONEST_FORMAT)}


def test_a_known_exception_is_skipped_with_its_reason() -> None:
    broken, name = BROKEN_FORMATS["draws problems alone"]
    with pytest.raises(KnownException, match="known exception: only problems are wanted"):
        check_named(broken, name, expected={name: "only problems are wanted"})()


def test_a_structure_that_the_kit_does_not_read_is_no_pass() -> None:
    with pytest.raises(DoesNotApply, match="does not read text/plain"):
        check_named(replace(HONEST_FORMAT, media_type="text/plain"), "escapes_names")()


def test_a_format_that_draws_no_number_cannot_drop_a_masked_one() -> None:
    with pytest.raises(DoesNotApply, match="prints no number"):
        check_named(replace(HONEST_FORMAT, render=draws_no_numbers), "shows_masked_numbers")()


def binary(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return b"\xff" + HONEST_FORMAT.render(document, attachments)[::-1]


def binary_without_ids(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return b"\xff" + bytes([len(document["findings"])])


def test_a_binary_format_must_change_with_the_ids() -> None:
    check_named(replace(HONEST_FORMAT, render=binary), "names_every_problem")()
    with pytest.raises(NonConformance, match="leaves out a finding"):
        check_named(replace(HONEST_FORMAT, render=binary_without_ids), "names_every_problem")()


def test_reports_of_the_author_are_rendered_too() -> None:
    def refuses(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
        if document["policy"]["name"] == "large":
            raise ValueError
        return HONEST_FORMAT.render(document, attachments)

    large = [with_texts(each, lambda text: "large" if text == "ward" else text) for each in (REPORTS[0].public,) * 2]
    check_named(replace(HONEST_FORMAT, render=refuses), "renders_bytes")()
    with pytest.raises(NonConformance, match="raises ValueError in refuses"):
        check_named(replace(HONEST_FORMAT, render=refuses), "renders_bytes", on=[ReportScenario("large", *large)])()


@pytest.mark.parametrize("scenario", REPORTS, ids=lambda scenario: str(scenario.name))
def test_the_documents_of_the_kit_are_reports_that_leafgate_reads(scenario: ReportScenario) -> None:
    for document, audience in ((scenario.public, "public"), (scenario.auditor, "auditor")):
        assert parse_report(readable(document), scenario.name)["audience"] == audience
    assert PLANTED not in readable(scenario.public).decode()


def test_the_documents_of_the_kit_have_findings_in_every_state() -> None:
    findings = [finding for scenario in REPORTS for finding in scenario.auditor["findings"]]
    assert {("waiver" in finding, finding["passed"]) for finding in findings} == {
        (False, False),
        (False, None),
        (False, True),
        (True, False),
    }
    assert PLANTED in readable(REPORTS[0].auditor).decode()
