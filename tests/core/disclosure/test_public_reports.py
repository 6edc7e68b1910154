"""Whole audits of three people whose cells are planted words."""

from pathlib import Path

import pytest

import leafgate
from leafgate.api import AuditorOnly, PeopleCount
from leafgate.app import document, readable, summary
from planted import of_planted
from standins import audited


def test_cells_and_paths_stay_with_the_auditor(tmp_path: Path) -> None:
    report = of_planted(tmp_path)
    assert report.verdict == "fail"
    public, auditor = document(report, "public"), document(report, "auditor")
    assert "planted-" not in readable(public).decode().replace('"name": "planted"', "")
    assert "planted-" not in summary(public)
    shown = readable(auditor).decode()
    assert "planted-zip-2 -> 1 planted-cold" in shown
    assert "planted-flu" in summary(auditor)


def test_three_people_are_not_counted_in_public(tmp_path: Path) -> None:
    public = document(of_planted(tmp_path), "public")
    assert public["data"] == {"people": {"fewer_than": 10}}
    for finding in public["findings"]:
        assert finding["people"] == {"fewer_than": 10}
        assert finding["beyond"] in (None, {"fewer_than": 10})
    assert [finding["value"] for finding in public["findings"]] == [{"fewer_than": 10}, 1.0, None, 1.0]


CLAIMS: list[tuple[dict[str, float], bool]] = [
    ({"epsilon": 1.0}, True),
    ({"rho": 0.5}, True),
    ({"k": 1, "mu": 1.0}, True),
    ({"k": 1}, False),
    ({}, False),
]


@pytest.mark.parametrize(("claims", "hidden"), CLAIMS)
def test_a_claim_of_differential_privacy_hides_the_data(claims: dict[str, float], hidden: bool) -> None:
    public = document(audited(build={"use": "stump", "claims": claims}), "public")
    assert (public["data"] == {}) == hidden


def test_what_a_notebook_or_a_log_keeps_of_an_audit_names_nobody(tmp_path: Path) -> None:
    report = of_planted(tmp_path)
    kept = "".join(map(repr, [report, *report.findings, report.findings[0].evidence, *report.guesses, report.tree]))
    assert "planted-" not in kept
    assert repr([AuditorOnly("planted-flu"), PeopleCount(7)]) == "[AuditorOnly(), PeopleCount()]"
    done = leafgate.Audit(report)
    assert repr(done) == "Audit(verdict='fail')"
    assert "planted-" not in f"{done} {done!r}"
