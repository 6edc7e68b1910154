"""`no_answer`: limits on a secret judge the people whose value is recorded, by groups without the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import leafgate
from components import new_attack, new_metric
from leafgate import Table
from leafgate.algorithms.publication import published
from leafgate.api import InvalidError, Level, Node, Publish, Release, Schema, ScoringContext, SecretBelief
from leafgate.app import Report, open_session, policy_of
from leafgate.testing import grant_knowledge
from oracles import numbered, people_of, spans
from random_tables import tables
from random_trees import counted, trees
from scoring import scores_of_people

LEVELS: list[Level] = ["labels", "error_rates", "shares", "counts"]


def unanswered(table: Table, secret: str, no_answer: Sequence[str]) -> Table:
    """The table, where some values of a secret say that it is not recorded."""
    columns = [replace(c, no_answer=tuple(no_answer)) if c.name == secret else c for c in table.schema.columns]
    return replace(table, schema=Schema(tuple(columns)), _codes={})


@st.composite
def planted(draw: st.DrawFn) -> tuple[Table, Node, str]:
    """A table, some tree with its counts, and a secret of which some values say that it is not recorded."""
    table = draw(tables(most=20, public_class=False))
    tree = counted(draw(trees(table.schema)), table)
    secret = draw(st.sampled_from(table.schema.secrets))
    answers = draw(st.integers(1, len(secret.domain) - 1))
    chosen = draw(st.permutations(list(secret.values or ())))[answers:]
    return unanswered(table, secret.name, chosen), tree, secret.name


def context_of(table: Table, tree: Node, secret: str, level: Level, scored: Any) -> ScoringContext:
    """What linking derives of a secret, or the true composition, for everybody."""
    release = published(Release({}, table.schema, (tree,)), Publish(leaves=level), frozenset())
    known = grant_knowledge(table)
    beliefs = [each for each in new_attack("linking").infer(release, known) if isinstance(each, SecretBelief)]
    (belief,) = (each for each in beliefs if each.secret == secret)
    return ScoringContext(table, None, release, known, belief, scored)


def groups_by_hand(table: Table, tree: Node, secret: str) -> list[tuple[str, dict[str, int]]]:
    """For each record with a recorded secret the secret, and how many of the recorded of its group have each value."""
    span = numbered(spans([tree], grant_knowledge(table)))
    group = [span[row] for row in table.public[1].tolist()]
    recorded = [value for value in table.schema[secret].domain if value not in table.schema[secret].no_answer]
    found = []
    for mine, (person, _) in zip(group, people_of(table), strict=True):
        if person[secret] in recorded:
            others = [each for each, its in zip(people_of(table), group, strict=True) if its == mine]
            counts = {str(v): sum(n for p, n in others if p[secret] == v) for v in recorded}
            found.append((str(person[secret]), counts))
    return found


@given(planted(), st.sampled_from(LEVELS), st.sampled_from([0, 1, 2]))
def test_the_recorded_are_judged_by_the_recorded_of_their_groups(
    plant: tuple[Table, Node, str], level: Level, insiders: int
) -> None:
    table, tree, secret = plant
    by_hand = groups_by_hand(table, tree, secret)
    if not by_hand:
        return
    case = context_of(table, tree, secret, level, "composition").of_answered()
    confidence = [max(counts.values()) / sum(counts.values()) for _, counts in by_hand]
    exposed = [float(sum(counts.values()) - counts[own] <= insiders) for own, counts in by_hand]
    if not insiders:
        exposed = [float(counts[own] == sum(counts.values())) for own, counts in by_hand]
    assert list(scores_of_people(new_metric("confidence", at_most=1), case)) == pytest.approx(confidence)
    assert list(scores_of_people(new_metric("exposure", at_most=0, insiders=insiders), case)) == exposed


@given(planted(), st.sampled_from(LEVELS))
def test_what_is_derived_is_conditioned_on_a_recorded_value(plant: tuple[Table, Node, str], level: Level) -> None:
    table, tree, secret = plant
    whole = context_of(table, tree, secret, level, "derived")
    values = [value for value in table.schema[secret].domain if value not in table.schema[secret].no_answer]
    rows = np.flatnonzero(table.frame[secret].isin(values))
    if not len(rows):
        return
    case = whole.of_answered()
    kept = whole.posterior.loc[rows, values].to_numpy(dtype=float)
    total = kept.sum(axis=1, keepdims=True)
    expected = np.where(total > 0, kept / np.where(total > 0, total, 1), 1 / len(values))
    assert list(case.posterior.columns) == list(case.secret.domain) == values
    assert case.posterior.to_numpy(dtype=float) == pytest.approx(expected)
    assert case.everyone.total_weight == table.total_weight >= case.table.total_weight == int(table.weight[rows].sum())


# One street of ill people, of whom half were not tested, and one of both kinds.
ILL = [("Elm", "yes")] * 12 + [("Elm", "NULL")] * 12 + [("Oak", "yes")] * 15 + [("Oak", "no")] * 20
BUILD: dict[str, Any] = {"use": "c45", "min_leaf": 1, "prune": False}


def policy_document(ill: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A policy of the file `people.csv`."""
    columns = {"street": {"role": "quasi_identifier", "values": ["Elm", "Oak"]}, "ill": ill, **more.pop("columns", {})}
    return {
        "leafgate": 1,
        "name": "street",
        "data": {"path": "people.csv", "columns": columns, **more.pop("data", {})},
        "build": BUILD,
        "publish": {"leaves": "counts", "measure": True},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "k_anonymity", "at_least": 2}, {"use": "exposure", "at_most": 0}],
        **more,
    }


def report_on(folder: Path, rows: Sequence[Sequence[str]], document: dict[str, Any]) -> Report:
    """The report on these people."""
    columns = list(document["data"]["columns"])
    lines = [",".join(row) for row in (columns, *rows)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "policy.yaml").write_text(json.dumps(document), encoding="utf-8")
    return open_session(folder / "policy.yaml").audit().report


def evidence_of(report: Report, id: str) -> dict[str, Any]:
    (found,) = (each for each in report.findings if each.id == id)
    return {key: each.content if hasattr(each, "content") else each for key, each in found.evidence.items()}


SECRET = {"role": ["class", "sensitive"], "values": ["no", "yes", "NULL"]}


@pytest.mark.parametrize(
    ("more", "exposed"),
    [
        ({"no_answer": []}, 0),
        ({"no_answer": ["NULL"]}, 12),
        ({"no_answer": ["NULL"], "missing_is_value": True}, 12),
        ({"values": ["no", "yes"], "no_answer": ["NULL"]}, 12),
    ],
)
def test_ill_people_are_exposed_among_the_unrecorded(tmp_path: Path, more: dict[str, Any], exposed: int) -> None:
    report = report_on(tmp_path, ILL, policy_document({**SECRET, **more}))
    (found,) = (each for each in report.findings if each.id == "exposure@linking#ill")
    assert (found.violations, report.verdict) == (exposed, "fail" if exposed else "pass")
    (size,) = (each for each in report.findings if each.id == "k_anonymity@linking#ill")
    assert size.people == (47 if len(more.get("values", ("", "", ""))) == 2 else 59)


WARDS = [(("Elm", "Oak")[i // 12 % 2], ("yes", "no")[i // 12 % 2] if i % 12 < 9 else "GAP") for i in range(144)]
"""Wards in which everybody with an answer has the same."""


@pytest.mark.parametrize(
    "gap", ["unknown", "n.a.", "N.A.", "-", "--", "?", "not applicable", "unknown (refused)", "NK", "99", "-9", ".a"]
)
def test_values_that_may_be_no_answers_are_asked_about_where_a_limit_fails_without_them(
    tmp_path: Path, gap: str
) -> None:
    rows = [(street, ill.replace("GAP", gap)) for street, ill in WARDS]
    secret = {"role": ["class", "sensitive"], "values": ["no", "yes", gap]}

    def audited(**more: Any) -> Report:
        return report_on(tmp_path, rows, policy_document({**secret, **more}))

    asked = audited()
    (tmp_path / "org.yaml").write_text('{"leafgate": 1, "attacks": [{"use": "linking"}], "metrics": []}')
    extending = report_on(tmp_path, rows, {**policy_document(secret), "extends": "org.yaml"})
    assert [each.id for each in extending.findings if each.passed is not True] == ["no_answer#ill"]
    assert [each.id for each in asked.findings if each.passed is not True] == ["no_answer#ill"]
    assert "exposure@linking#ill" in evidence_of(asked, "no_answer#ill")["reason"]
    assert (asked.verdict, audited(no_answer=[]).verdict) == ("inconclusive", "pass")
    assert audited(no_answer=[gap]).verdict == "fail"


@pytest.mark.parametrize(
    ("values", "rows"),
    [
        (["no", "yes", "unknown"], [("Elm", "yes"), ("Elm", "no"), ("Elm", "unknown")] * 9),
        (["granted", "refused"], [("Elm", "granted"), ("Elm", "refused")] * 9),
        (["None", "mild", "severe"], [("Elm", "None"), ("Elm", "mild")] * 9),
    ],
    ids=["limits hold without them", "one other value", "None"],
)
def test_nobody_is_asked_where_values_are_answers_or_no_limit_depends_on_them(
    tmp_path: Path, values: list[str], rows: list[tuple[str, str]]
) -> None:
    report = report_on(tmp_path, rows, policy_document({"role": ["class", "sensitive"], "values": values}))
    assert report.verdict == "pass"
    assert not [each for each in report.findings if each.metric == "no_answer"]


def test_a_finding_says_how_many_of_the_unrecorded_are_in_groups_beyond_the_limit(tmp_path: Path) -> None:
    rows = [*ILL, *[("Oak", "NULL")] * 3]
    report = report_on(tmp_path, rows, policy_document({**SECRET, "no_answer": ["NULL"]}))
    said = evidence_of(report, "exposure@linking#ill")["no_answer"]
    assert (said["people"].count, said["beyond"].count) == (15, 12)


def test_refusing_to_answer_is_a_secret_where_the_policy_says_so(tmp_path: Path) -> None:
    rows = [("Elm", "NULL")] * 12 + [("Oak", "yes")] * 15 + [("Oak", "no")] * 20
    judged = {**SECRET, "no_answer": ["NULL"]}
    assert report_on(tmp_path, rows, policy_document(judged)).verdict == "pass"
    assert report_on(tmp_path, rows, policy_document({**judged, "missing_is_value": True})).verdict == "fail"


def test_marks_of_a_secret_that_is_no_class_are_one_value_that_limits_do_not_judge(tmp_path: Path) -> None:
    columns = {"sick": {"role": ["class"], "values": ["a", "b"]}}
    secret = {"role": "sensitive", "values": ["no", "yes"], "aliases": {"n/a": "NULL"}, "no_answer": ["NULL", ""]}
    marks = ["NULL", "", "n/a"]
    rows = [(street, marks[i % 3] if ill == "NULL" else ill, "ab"[i % 2]) for i, (street, ill) in enumerate(ILL)]
    document = policy_document(secret, columns=columns)
    report = report_on(tmp_path, rows, document)
    (found,) = (each for each in report.findings if each.id == "exposure@linking#ill")
    assert (found.people, found.violations) == (59, 12)  # how many are recorded does not follow from the release
    assert evidence_of(report, found.id)["no_answer"]["people"].content.count == 12


def test_nobody_recorded_is_no_pass(tmp_path: Path) -> None:
    secret = {"role": "sensitive", "values": ["no", "yes"], "no_answer": ["NULL"]}
    rows = [(street, "NULL", "ab"[i % 2]) for i, (street, _) in enumerate(ILL)]
    document = policy_document(secret, columns={"sick": {"role": ["class"], "values": ["a", "b"]}})
    assert report_on(tmp_path, rows, document).verdict == "inconclusive"


def test_a_missing_secret_without_no_answer_is_refused(tmp_path: Path) -> None:
    rows = [(street, ill.replace("NULL", "")) for street, ill in ILL]
    with pytest.raises(InvalidError, match="list its mark as `no_answer`"):
        report_on(tmp_path, rows, policy_document({**SECRET, "values": ["no", "yes"]}))


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ({"role": "quasi_identifier", "values": ["a"], "no_answer": ["?"]}, "is for a secret or a class"),
        ({"role": "sensitive", "bins": [0, 1, 2], "no_answer": ["?"]}, "not for a secret number"),
        ({"role": "sensitive", "values": ["a", "b"], "no_answer": ["a", "b"]}, "nobody's would be recorded"),
        ({"role": "sensitive", "values": ["a"], "no_answer": ["?", "?"]}, "each text once"),
        ({"role": "sensitive", "values": ["a"], "missing_is_value": True}, "is for a secret with `no_answer`"),
        (
            {"role": ["class", "sensitive"], "values": ["a"], "no_answer": ["?"], "missing_is_value": True},
            "among its `values`",
        ),
    ],
)
def test_no_answer_is_refused_where_it_means_nothing(tmp_path: Path, column: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidError, match=problem):
        policy_of(policy_document(column), tmp_path)


@pytest.mark.parametrize("missing_is_value", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_kadet_keeps_for_the_recorded_what_it_requires(tmp_path: Path, seed: int, missing_is_value: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(120):
        street, age = rng.choice(["Elm", "Oak", "Fir"]), int(rng.integers(0, 6))
        ill = "yes" if rng.random() < (0.9 if street == "Elm" else 0.2) else "no"
        rows.append((street, "NULL" if rng.random() < 0.4 else ill, str(age)))
    document = policy_document({**SECRET, "no_answer": ["NULL"], "missing_is_value": missing_is_value})
    columns = document["data"]["columns"]
    columns["street"] = {"role": "quasi_identifier", "values": ["Elm", "Oak", "Fir"]}
    columns["age"] = {"role": "quasi_identifier", "bounds": [0, 10]}
    limits = [
        {"use": "exposure", "insiders": 1},
        {"use": "confidence", "at_most": 0.9},
        {"use": "t_closeness", "at_most": 0.4},
        {"use": "l_diversity", "form": "distinct", "at_least": 2},
    ]
    document["build"] = {"use": "kadet", "k": 3, "prune": False, "require": limits}
    document["metrics"] = [{"at_most": 0, **limit} if limit["use"] == "exposure" else limit for limit in limits]
    report = report_on(tmp_path, rows, document)
    assert [each.id for each in report.findings if not each.passed] == []
    assert report.release is not None


def test_python_judges_both_ways_where_values_may_say_that_nothing_is_recorded() -> None:
    people = pd.DataFrame(ILL, columns=["street", "ill"]).replace("NULL", "unknown")
    elm, ill = (people[["street"]] == "Elm").astype(float), people["ill"]
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(elm, ill)
    limits = {"confidence": 0.95}
    asked = leafgate.audit(model, elm, ill, limits=limits, search_remedies=False)
    settled = leafgate.audit(model, elm, ill, limits=limits, search_remedies=False, no_answer=[])
    assert (asked.verdict, settled.verdict) == ("fail", "pass")
    assert any("may say that nothing is recorded" in warning for warning in asked.warnings)
    assert not any("recorded" in warning for warning in settled.warnings)
