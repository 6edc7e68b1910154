"""The questions that findings answer: every metric of leafgate is about one, and a report names those nobody asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from leafgate.api import AttackModel, Metric
from leafgate.api.registry import use_of
from leafgate.app import load_plugins
from leafgate.disclosure.questions import (
    CHECKS,
    QUESTION_BY_NAME,
    QUESTIONS,
    USE_METRICS,
    QuestionName,
    findings_on,
    questions_asked,
    questions_not_asked,
    use_of_attack,
    use_of_finding,
)
from reports import audited

METRICS = {use_of(metric) for metric in load_plugins(["leafgate"]).kind(Metric)}
ATTACKS = {use_of(attack) for attack in load_plugins(["leafgate"]).kind(AttackModel)}


def test_each_metric_of_leafgate_is_about_a_question_or_about_usefulness() -> None:
    about_people = {metric for question in QUESTIONS for metric in question.metrics} - CHECKS
    assert about_people | USE_METRICS == METRICS
    assert not about_people & USE_METRICS


def test_each_attack_that_a_question_names_exists() -> None:
    assert {attack for question in QUESTIONS for attack in question.attacks} <= ATTACKS


def test_the_questions_have_the_names_that_mappings_may_use() -> None:
    assert list(QUESTION_BY_NAME) == list(get_args(QuestionName))


def test_a_metric_is_recognised_whatever_the_policy_calls_it(tmp_path: Path) -> None:
    changes = {
        "attacks": [{"use": "linking", "name": "neighbour"}],
        "metrics": [{"use": "k_anonymity", "name": "crowd", "at_least": 3, "of": "neighbour"}],
    }
    report = audited(tmp_path, changes)
    assert use_of_finding(report["findings"][0]) == "k_anonymity"
    assert use_of_attack(report, "neighbour") == "linking"
    assert report["method"]["attacks"][0]["use"] == "linking"


def test_an_attack_with_its_own_name_has_no_second_one(tmp_path: Path) -> None:
    report = audited(tmp_path)
    assert "use" not in report["method"]["attacks"][0]
    assert use_of_attack(report, "linking") == "linking"


@pytest.mark.parametrize(("metrics", "state"), [({"at_least": 3}, "passed"), ({"at_least": 24}, "failed")])
def test_a_question_has_the_most_urgent_state_of_its_findings(
    tmp_path: Path, metrics: dict[str, Any], state: str
) -> None:
    report = audited(tmp_path, {"metrics": [{"use": "k_anonymity", **metrics}]})
    assert {question.name: found for question, found in questions_asked(report)}["singling_out"] == state


def test_a_question_is_asked_or_not_asked_or_does_not_arise(tmp_path: Path) -> None:
    report = audited(tmp_path)
    asked = {question.name for question, _ in questions_asked(report)}
    not_asked = {question.name for question in questions_not_asked(report)}
    assert asked == {"singling_out"}
    assert {question.name for question in QUESTIONS} - asked - not_asked == {"file_content", "promise"}
    assert findings_on(report, QUESTION_BY_NAME["membership"]) == []
