"""What a report states in a few sentences, first of all how many people are affected."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import leafgate
from leafgate.api import PeopleCount, Remedy
from leafgate.app import Finding, Limit, Report, VisibleTo, document, in_short, summary
from leafgate.disclosure.summary import what_change_costs, what_to_change, who_is_affected
from leafgate.engine.audience import beside_claim
from reports import view
from standins import people_limit

POLICY = {"name": "p", "sha256": "0" * 64}
RELEASE = {"sha256": "0" * 64, "builder": {"use": "c45"}, "trees": 1, "leaves": 2}
PEOPLE = 13_913
WHOSE = "of the 13,913 people whom the release was made from"


def broken(name: str, beyond: int | None, *, private: bool = False, allow: float = 0.0, **fields: Any) -> Finding:
    limit, audience = people_limit(at_most=0.5, allow=allow), VisibleTo.AUDITORS if private else VisibleTo.MASKED
    given: dict[str, Any] = {"limit": limit, "people": PEOPLE, "violations": beyond, "audience": audience} | fields
    return Finding(f"{name}@linking", name, given.pop("passed", False), "linking", value=1.0, **given)


SMALL = broken("k_anonymity", 220)
SURE = broken("confidence", 11_850, private=True)
OF_FILE = Finding("file_disclosure", "file_disclosure", False, value=2.0, limit=Limit("at_most", 0.0))


def affected(*findings: Finding, audience: Any = "public", data: dict[str, Any] | None = None) -> list[str]:
    facts = {"people": PeopleCount(PEOPLE)} | (data or {})
    return who_is_affected(document(Report(POLICY, facts, RELEASE, findings, {}, 10), audience))


def test_one_broken_limit_on_people_gives_their_number() -> None:
    assert affected(SMALL) == [f"220 to 229 {WHOSE}."]
    assert affected(SMALL, audience="auditor") == [f"220 {WHOSE}."]


def test_a_count_is_a_lower_bound_where_the_people_past_another_limit_are_for_auditors() -> None:
    assert affected(SMALL, SURE) == [
        f"At least 220 {WHOSE}: 220 to 229 outside the limit on k-anonymity.",
        "How many people are outside the limit on confidence is for auditors, and may be all of them.",
    ]


def test_an_auditor_gets_the_largest_count_as_a_lower_bound_of_all_limits_together() -> None:
    assert affected(SMALL, SURE, audience="auditor") == [
        f"At least 11,850 {WHOSE}: 220 outside the limit on k-anonymity, 11,850 outside the limit on confidence."
    ]


@pytest.mark.parametrize("seed", range(3))
def test_an_auditor_reads_how_many_different_people_are_outside_at_least_one_broken_limit(seed: int) -> None:
    """They are those in leaves of fewer than 8 people, and those in leaves whose people agree."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"age": rng.integers(18, 90, 300), "bmi": rng.normal(26, 4, 300).round()})
    died = pd.Series(np.where(rng.random(300) < rows["age"] / 120, "yes", "no"), name="died")
    model = DecisionTreeClassifier(min_samples_leaf=5, random_state=seed).fit(rows, died)
    audit = leafgate.audit(model, rows, died, limits={"k_anonymity": 8, "exposure": 0}, search_remedies=False)
    leaves = died.groupby(model.apply(rows))
    outside = int(((leaves.transform("size") < 8) | (leaves.transform("nunique") == 1)).sum())
    auditor = document(audit.report, "auditor")
    assert auditor["affected"] == outside > max(finding["beyond"] or 0 for finding in auditor["findings"])
    said = who_is_affected(auditor)[0]
    assert said.startswith(f"{outside} of the 300 people whom the release was made from, each counted once: ")
    assert "affected" not in document(audit.report, "public")


def test_where_no_number_of_people_may_be_shown_at_least_one_is_affected() -> None:
    [line] = affected(SURE)
    assert line == f"At least 1 {WHOSE}: how many are outside the limit on confidence is for auditors, and may be all."


def test_more_people_are_past_a_broken_limit_than_it_allows() -> None:
    """A twentieth of 13,913 are 695.65."""
    lines = affected(SMALL, broken("confidence", 11_850, private=True, allow=0.05))
    assert lines[0].startswith(f"At least 696 {WHOSE}")
    weighted = affected(broken("confidence", 700, private=True, allow=0.05), data={"weight": PeopleCount(20_000)})
    assert weighted[0].startswith(f"At least 1 {WHOSE}")  # the weights may have broken it, and not the rows


def test_fewer_people_than_the_smallest_cell_are_at_least_one() -> None:
    assert affected(broken("k_anonymity", 4)) == [f"Fewer than 10 {WHOSE}."]
    assert affected(broken("k_anonymity", 4), SURE)[0] == (
        f"At least 1 {WHOSE}: fewer than 10 outside the limit on k-anonymity."
    )


def test_limits_that_count_no_people_are_named() -> None:
    average = broken("exposure", None, limit=people_limit(at_most=0.5, average=True))
    assert affected(SMALL, average, OF_FILE)[1:] == [
        "The mean over all people is judged by the limit on exposure: no number of people is outside it.",
        "The release as a whole, by file disclosure: no number of people follows.",
    ]
    assert affected(OF_FILE) == ["The release as a whole, by file disclosure: no number of people follows."]


def test_a_limit_that_could_not_be_determined_makes_a_count_a_lower_bound() -> None:
    undecided = broken("confidence", None, passed=None, people=None)
    assert affected(SMALL, undecided) == [
        f"At least 220 {WHOSE}: 220 to 229 outside the limit on k-anonymity.",
        "Whether more people are affected is not known: confidence could not be determined.",
    ]
    without_metric = Finding("attack:joint", "", None, "joint")
    assert affected(SMALL, without_metric)[1] == (
        "Whether more people are affected is not known: attack joint could not be determined."
    )
    assert affected(undecided) == ["That could not be determined, so it must be taken for everybody."]


def test_no_number_of_people_is_given_where_differential_privacy_is_claimed() -> None:
    report = Report(
        POLICY, {"people": PeopleCount(PEOPLE)}, RELEASE, beside_claim([SMALL]), {}, 10, differentially_private=True
    )
    [line] = who_is_affected(document(report, "public"))
    assert line == "How many people are outside the limit on k-anonymity is for auditors, and may be all of them."


def test_the_text_of_a_failing_report_states_who_is_affected() -> None:
    fields = document(Report(POLICY, {"people": PeopleCount(PEOPLE)}, RELEASE, [SMALL, SURE], {}, 10), "public")
    lines = [line for line in summary(fields).splitlines() if "who is affected" in line]
    assert lines == [f"  who is affected: {sentence}" for sentence in dict(in_short(fields))["Who is affected"]]
    held = broken("confidence", 0, passed=True)
    assert "who is affected" not in summary(document(Report(POLICY, {}, RELEASE, [held], {}, 10), "public"))


def test_what_a_change_costs_is_for_auditors_and_stands_apart_from_the_change() -> None:
    remedy = Remedy(action="set", text="Raise it.", details="It costs 3 %.", place="build.k", value=5, tried=True)
    report = Report(POLICY, {}, RELEASE, [broken("k_anonymity", 220, remedies=(remedy,))], {}, 10)
    auditor, public = (document(report, audience) for audience in ("auditor", "public"))
    assert what_to_change(auditor) == what_to_change(public) == ["Raise it. Tried: the whole audit then passes."]
    assert what_change_costs(auditor) == ["`build.k` 5: It costs 3 %."]
    assert what_change_costs(public) == ["It was measured for what was tried, and is in the auditor's report."]


def test_all_views_of_a_forest_say_that_a_count_leaves_people_out() -> None:
    """The sizes of this forest's groups are public, and whom an adversary is sure of is for auditors: everybody."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.integers(18, 90, 800), "bmi": rng.normal(26, 4, 800).round()})
    died = pd.Series(np.where(rng.random(800) < rows["age"] / 120, "yes", "no"), name="died")
    model = RandomForestClassifier(2, min_samples_leaf=20, random_state=0).fit(rows, died)
    audit = leafgate.audit(model, rows, died, limits={"k_anonymity": 10, "confidence": 0.6}, search_remedies=False)
    people = {finding.metric: finding.violations or 0 for finding in audit.report.findings}
    assert 10 < people["k_anonymity"] < people["confidence"] == 800
    fields, said = document(audit.report, "public"), audit.in_short["Who is affected"]
    assert re.match(r"At least \d+0 of the 800 people whom the release was made from", said[0])
    assert said[1].startswith("How many people are outside the limit on confidence (died) is for auditors")
    page = audit._repr_html_()
    assert page is not None
    for text in (summary(fields), unescape(page), view(fields, "html").decode(), view(fields, "markdown").decode()):
        assert all(sentence.partition("@")[0] in text.replace("\\_", "_") for sentence in said)
