"""The questions about people that an audit can ask, which findings of a report answer each, and which nobody asked.

A policy names metrics and attacks. Whoever signs for an output, or fills in a framework's form, thinks in questions:
can somebody be singled out, can it be seen who is in the data? This table is the only place that joins the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from leafgate.disclosure.summary import FINDING_STATES, FindingState, claims_differential_privacy, finding_state
from leafgate.io.json import JsonObject

QuestionName = Literal[
    "singling_out",
    "inferred_secret",
    "membership",
    "inferred_input",
    "reconstruction",
    "several_outputs",
    "file_content",
    "training",
    "promise",
]


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question about people, and the metrics, attacks and checks whose findings answer it in part.

    Attributes:
        name: by which mappings refer to it.
        asks: the question, for people who know no metrics.
        metrics: the names of metrics among the plugins, and of checks of the core.
        attacks: the names of attacks among the plugins: any finding on one of them is an answer.
    """

    name: QuestionName
    asks: str
    metrics: frozenset[str] = frozenset()
    attacks: frozenset[str] = frozenset()


QUESTIONS: tuple[Question, ...] = (
    Question(
        name="singling_out",
        asks="Can a person be told apart from all others?",
        metrics=frozenset(
            {"alpha_k_anonymity", "k_anonymity", "k_map", "reidentification_risk", "smallest_leaf", "uniques"}
        ),
    ),
    Question(
        name="inferred_secret",
        asks="Can the secret of a person be inferred?",
        metrics=frozenset(
            {
                "alpha_k_anonymity",
                "beta_likeness",
                "class_disclosure",
                "confidence",
                "delta_disclosure",
                "divergence",
                "exposure",
                "gain",
                "l_diversity",
                "t_closeness",
            }
        ),
    ),
    Question(
        name="membership",
        asks="Can it be seen who is in the data?",
        metrics=frozenset(
            {
                "leave_one_out",
                "membership_advantage",
                "membership_auc",
                "membership_excluded",
                "membership_identified",
                "membership_tpr",
            }
        ),
    ),
    Question(
        name="inferred_input",
        asks="Can an input of the model be inferred of a person?",
        metrics=frozenset({"attribute_certain", "attribute_leak"}),
    ),
    Question(
        name="reconstruction",
        asks="Can records of the data be reconstructed?",
        metrics=frozenset({"interval_privacy", "normalised_rmse", "privacy_loss", "reconstructed_cells"}),
    ),
    Question(
        name="several_outputs",
        asks="What follows together with earlier outputs about these people?",
        attacks=frozenset({"joint"}),
    ),
    Question(
        name="file_content",
        asks="Does the file hold more about people than is meant to leave?",
        metrics=frozenset({"file_disclosure", "published_file"}),
    ),
    Question(
        name="training",
        asks="Do the shape or the settings of the model suggest that it memorised people?",
        metrics=frozenset({"generalisation_gap", "residual_degrees_of_freedom", "risky_settings"}),
    ),
    Question(
        name="promise",
        asks="Does a promise of differential privacy hold?",
        metrics=frozenset({"differential_privacy"}),
    ),
)
QUESTION_BY_NAME: Mapping[QuestionName, Question] = {question.name: question for question in QUESTIONS}
USE_METRICS = frozenset({"accuracy", "accuracy_on_perturbed", "area_under_curve", "cells_withheld", "functionality"})
"""Metrics of what an output is good for, which answer no question about people."""
CHECKS = frozenset({"build", "counted", "persons", "published_file", "reading", "spelling"})
"""Findings of the core that no metric of a plugin makes."""


def use_of_finding(finding: JsonObject) -> str:
    """The name among the plugins of a finding's metric or check, whatever the policy calls it."""
    return str(finding.get("use") or finding["metric"])


def use_of_attack(report: JsonObject, name: object) -> str:
    """The name among the plugins of an attack that a policy calls `name`."""
    attacks = (report.get("method") or {"attacks": ()})["attacks"]
    return next((str(each.get("use") or each["name"]) for each in attacks if each["name"] == name), str(name or ""))


def answers_question(report: JsonObject, finding: JsonObject, question: Question) -> bool:
    """Is the finding about this question?"""
    if use_of_finding(finding) in question.metrics:
        return True
    return finding["attack"] is not None and use_of_attack(report, finding["attack"]) in question.attacks


def findings_on(report: JsonObject, question: Question) -> list[JsonObject]:
    """The findings of a report that are about a question, in its order."""
    return [finding for finding in report["findings"] if answers_question(report, finding, question)]


def questions_asked(report: JsonObject) -> list[tuple[Question, FindingState]]:
    """The questions that findings of a report are about, each with the most urgent state of these findings."""
    states = {question: [finding_state(each) for each in findings_on(report, question)] for question in QUESTIONS}
    return [(question, min(each, key=FINDING_STATES.index)) for question, each in states.items() if each]


def arises(report: JsonObject, question: Question) -> bool:
    """Is there anything that the question could be about?

    What a file holds is a question of a release that was read from one, and whether a promise of differential privacy
    holds is one of a release that makes it.
    """
    if question.name == "file_content":
        return bool((report["release"] or {}).get("file"))
    return question.name != "promise" or claims_differential_privacy(report)


def questions_not_asked(report: JsonObject) -> list[Question]:
    """The questions that arise, and that no finding of a report is about."""
    asked = {question.name for question, _ in questions_asked(report)}
    return [question for question in QUESTIONS if question.name not in asked and arises(report, question)]
