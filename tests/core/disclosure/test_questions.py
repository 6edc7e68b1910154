"""The questions that findings answer: every metric of leafgate is about one, and a report names those nobody asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from leafgate.api import AttackModel, Metric
from leafgate.api.registry import use_of
from leafgate.app import load_plugins
from leafgate.disclosure.questions import (
    OTHER,
    QUESTIONS,
    Answer,
    QuestionName,
    answers,
    questions_not_examined,
)
from reports import audited

PLUGINS = load_plugins(["leafgate"])


def answers_by_name(report: dict[str, Any]) -> dict[str, Answer]:
    return {answer.question.name: answer for answer in answers(report)}


OF_CORE = {"published_file", "dependency", "no_answer", "persons", "spelling"}
"""Checks of the core that answer a question."""


def test_each_metric_of_leafgate_is_about_a_question_and_each_attack_exists() -> None:
    metrics = {metric for question in QUESTIONS for metric in question.metrics}
    assert metrics - OF_CORE == {use_of(metric) for metric in PLUGINS.kind(Metric)}
    assert metrics >= OF_CORE
    attacks = {attack for question in QUESTIONS for attack in question.attacks}
    assert attacks <= {use_of(attack) for attack in PLUGINS.kind(AttackModel)}


@pytest.mark.parametrize("check", ["dependency", "no_answer", "persons", "spelling"])
def test_a_secret_is_not_answered_for_while_a_check_asks_what_the_table_means(tmp_path: Path, check: str) -> None:
    report = audited(tmp_path, {"metrics": [{"use": "exposure", "at_most": 0, "allow": 0.99}]})
    assert answers_by_name(report)["inferred_secret"].state == "passed"
    asked = {**report["findings"][0], "metric": check, "id": f"{check}#ill", "passed": None}
    assert (
        answers_by_name({**report, "findings": [asked, *report["findings"]]})["inferred_secret"].state == "inconclusive"
    )


def test_the_questions_have_the_names_that_mappings_may_use() -> None:
    assert [question.name for question in (*QUESTIONS, OTHER)] == list(get_args(QuestionName))


def test_a_metric_and_an_attack_are_recognised_whatever_the_policy_calls_them(tmp_path: Path) -> None:
    metrics = [{"use": "k_anonymity", "name": "crowd", "at_least": 3, "of": "neighbour"}]
    report = audited(tmp_path, {"attacks": [{"use": "linking", "name": "neighbour"}], "metrics": metrics})
    assert all(each["metric"] == "crowd" for each in answers_by_name(report)["singling_out"].findings[:1])
    report["method"]["attacks"][0]["use"] = "joint"
    assert answers_by_name(report)["several_outputs"].state == "passed"


@pytest.mark.parametrize(
    ("limit", "state", "says"),
    [
        ({"at_least": 3}, "passed", "2 limits hold."),
        ({"at_least": 24}, "failed", "24 of 24 people stand in groups that are too small."),
    ],
)
def test_an_answer_has_the_most_urgent_state_and_says_what_it_means(
    tmp_path: Path, limit: dict[str, Any], state: str, says: str
) -> None:
    answer = answers_by_name(audited(tmp_path, {"metrics": [{"use": "k_anonymity", **limit}]}))["singling_out"]
    assert answer.state == state
    assert answer.says[0] == says


def test_a_question_is_answered_or_not_examined_or_does_not_arise(tmp_path: Path) -> None:
    report = audited(tmp_path)
    names = answers_by_name(report)
    assert {name for name, answer in names.items() if answer.findings} == {"singling_out"}
    assert {question.name for question in QUESTIONS} - names.keys() == {"file_content", "promise"}
    assert "Can it be seen who is in the data?" in questions_not_examined(report)


def test_what_answers_no_question_is_among_the_other_limits(tmp_path: Path) -> None:
    report = audited(tmp_path)
    assert "other" not in answers_by_name(report)
    report["findings"][0]["metric"] = "of_another_plugin"
    assert answers_by_name(report)["other"].findings == (report["findings"][0],)
