"""The questions that an audit can ask, and what a report answers to each.

A policy names metrics and attacks. Whoever signs for an output, or fills in a framework's form, thinks in questions:
can somebody be singled out, can it be seen who is in the data? This table is the only place that joins the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from leafgate.disclosure import summary
from leafgate.disclosure.wording import finding_state
from leafgate.io.json import JsonObject
from leafgate.kernel.findings import DEPENDENCY, NO_ANSWER, PERSONS, SPELLING, FindingState

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
    "usefulness",
    "other",
]
AnswerState = FindingState | Literal["not examined"]
ANSWER_STATES: tuple[AnswerState, ...] = ("failed", "inconclusive", "not examined", "waived", "passed")
"""The states of answers, the most urgent first."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question, and the metrics, attacks and checks whose findings answer it in part.

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
            {
                *(DEPENDENCY, PERSONS, "alpha_k_anonymity", "k_anonymity", "k_map", "reidentification_risk"),
                *("smallest_leaf", "uniques"),
            }
        ),
    ),
    Question(
        name="inferred_secret",
        asks="Can the secret of a person be inferred?",
        metrics=frozenset(
            {
                *(DEPENDENCY, NO_ANSWER, PERSONS, SPELLING, "alpha_k_anonymity", "beta_likeness", "class_disclosure"),
                *("confidence", "delta_disclosure", "divergence", "exposure", "gain", "l_diversity", "t_closeness"),
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
        asks="Can more be learned together with earlier outputs about these people?",
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
    Question(
        name="usefulness",
        asks="Is the output of use?",
        metrics=frozenset({"accuracy", "accuracy_on_perturbed", "area_under_curve", "cells_withheld", "functionality"}),
    ),
)
"""The questions in the order in which readers see them; those about people come first."""
OTHER = Question(name="other", asks="Do the other limits and checks hold?")
"""What findings are about that answer none of the questions: checks of the core, and metrics of other plugins."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a report answers to a question.

    Attributes:
        question: the question.
        state: the most urgent state of the findings that are about it.
        findings: these findings, the most urgent first.
    """

    question: Question
    state: AnswerState
    findings: tuple[JsonObject, ...]

    @property
    def says(self) -> list[str]:
        """The answer in sentences for people who know no metrics: what is broken or unknown, and then what holds."""
        if not self.findings:
            return ["No limit of the policy is about it."]
        open_ends = [finding for finding in self.findings if finding_state(finding) != "passed"]
        broken = {finding.get("alarm") for finding in open_ends if finding_state(finding) == "failed"}
        said = dict.fromkeys(_says(finding, finding.get("alarm") in broken) for finding in open_ends)
        return [*said, *_kept(len(self.findings) - len(open_ends), open_ends)]


def _says(finding: JsonObject, is_said: bool) -> str:
    """What a finding that did not pass means, and for how many people as far as the report states that.

    `is_said` is whether a finding that failed means the same: what it said is then neither repeated nor put in doubt.
    """
    state, meaning = finding_state(finding), summary.plain_meaning(finding) or "A limit is broken."
    if state == "inconclusive":
        undecided = "It could not be determined whether a limit holds."
        another = "Of another limit it could not be determined whether it holds."
        return another if is_said else summary.plain_meaning(finding) or undecided
    if state == "waived":
        until = f"waived until {finding['waiver']['expires']}."
        return f"Another broken limit is {until}" if is_said else f"{meaning} This is {until}"
    return summary.counted_meaning(finding)


def _kept(count: int, broken: Sequence[JsonObject]) -> Iterator[str]:
    """How many limits hold, beside those that are broken or could not be determined."""
    if count == 1:
        yield f"{'The other' if broken else 'The'} limit holds."
    elif count:
        yield f"{count} {'other limits' if broken else 'limits'} hold."


def answers(report: JsonObject) -> list[Answer]:
    """What a report answers to each question that arises, each question once."""
    findings = summary.findings_by_urgency(report)
    about = {question: [each for each in findings if _is_about(report, each, question)] for question in QUESTIONS}
    about[OTHER] = [each for each in findings if not any(each in listed for listed in about.values())]
    return [
        Answer(question=question, state=finding_state(found[0]) if found else "not examined", findings=tuple(found))
        for question, found in about.items()
        if found or _arises(report, question)
    ]


def questions_not_examined(report: JsonObject) -> list[str]:
    """The questions that arise, and that no finding of a report is about."""
    return [answer.question.asks for answer in answers(report) if answer.state == "not examined"]


def _is_about(report: JsonObject, finding: JsonObject, question: Question) -> bool:
    """Is the finding about this question, by the names among the plugins, whatever the policy calls them?"""
    if (finding.get("use") or finding["metric"]) in question.metrics:
        return True
    attacks = (report.get("method") or {"attacks": ()})["attacks"]
    uses = {each["name"]: each.get("use") for each in attacks}
    return (uses.get(finding["attack"]) or finding["attack"]) in question.attacks


def _arises(report: JsonObject, question: Question) -> bool:
    """Is there anything that the question could be about?

    What a file contains is a question of a release that was read from one, and whether a promise of differential
    privacy holds is one of a release that makes it.
    """
    if question.name == "file_content":
        return bool((report["release"] or {}).get("file"))
    return question is not OTHER and (question.name != "promise" or summary.claims_differential_privacy(report))
