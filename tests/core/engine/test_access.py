"""Access: an attack is handed the release, or an oracle that answers for it and counts the queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from entry_points import Point, install, offering
from games import oracle_of
from leafgate.algorithms.prediction import class_scores
from leafgate.api import (
    AdversaryKnowledge,
    AuditorOnly,
    Belief,
    Column,
    Combine,
    InconclusiveError,
    Leaf,
    Node,
    NumericSplit,
    PolicyError,
    PredictionOracle,
    Records,
    Release,
    Schema,
    SecretBelief,
)
from leafgate.app import Report, Tables, audit_policy, load_plugins, policy_of
from random_tables import table_of
from standins import ROWS, WEIGHT, Stump, attack_that, even, finding, plugins_with, policy_document, policy_with

SCHEMA = Schema(
    (
        Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 99.0)),
        Column("job", frozenset({"private"}), values=("baker", "smith"), missing=True),
        Column("ill", frozenset({"class"}), values=("no", "yes")),
    )
)
YOUNG, OLD = Leaf("no", {"no": 3, "yes": 1}), Leaf("yes", {"no": 0, "yes": 5})
TREE = NumericSplit("age", 50.0, YOUNG, OLD)
ASKED = pd.DataFrame({"age": [20.0, 80.0], "job": ["smith", None]}, index=[7, 3])


def released(*trees: Node, combine: Combine = "one") -> Release:
    return Release({"use": "test"}, SCHEMA, trees or (TREE,), combine=combine)


# --- The oracle ---


def test_an_oracle_answers_with_the_labels_of_the_release() -> None:
    asked, _ = oracle_of(released(), "labels")
    answers = asked.labels(ASKED)
    assert answers.tolist() == ["no", "yes"]
    assert answers.index.tolist() == [7, 3]
    assert answers.cat.categories.tolist() == list(asked.classes) == ["no", "yes"]


def test_an_oracle_counts_calls_and_rows() -> None:
    asked, log = oracle_of(released())
    asked.labels(ASKED)
    asked.scores(ASKED.iloc[:1])
    assert (log.calls, log.rows) == (asked.calls, asked.rows) == (2, 3)


def test_an_oracle_of_labels_answers_no_scores() -> None:
    asked, _ = oracle_of(released(), "labels")
    assert asked.access == "labels"
    with pytest.raises(InconclusiveError, match="for labels only"):
        asked.scores(ASKED)


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (ASKED[["age"]], "lacks the column 'job'"),
        (ASKED.assign(job="judge"), "outside the domain of 'job'"),
        (ASKED.assign(age="old"), "outside the domain of 'age'"),
    ],
)
def test_a_query_that_does_not_fit_is_refused_and_not_counted(frame: pd.DataFrame, why: str) -> None:
    asked, log = oracle_of(released())
    with pytest.raises(InconclusiveError, match=why):
        asked.labels(frame)
    assert log.calls == 0


def test_a_query_may_have_the_class_and_other_columns_which_change_nothing() -> None:
    asked, _ = oracle_of(released())
    pd.testing.assert_frame_equal(asked.scores(ASKED), asked.scores(ASKED.assign(ill="yes", shoes=41)))


def reached(thing: object, steps: int = 4) -> Iterator[object]:
    """What plain attributes lead to, the attributes of attributes included, without functions' insides."""
    yield thing
    if steps and not isinstance(thing, str | int | float | tuple | type(None)):
        for name in dir(thing):
            if not name.startswith("__"):
                yield from reached(getattr(thing, name, None), steps - 1)


def test_no_attribute_of_an_oracle_leads_to_the_release() -> None:
    asked, _ = oracle_of(released())
    with pytest.raises(TypeError, match="__dict__"):
        vars(asked)
    seen = list(reached(asked))
    assert any(isinstance(each, Schema) for each in seen)
    assert not any(isinstance(each, Release | Leaf | NumericSplit) for each in seen)


# --- Scores ---

BOTH = [[0.75, 0.25], [0.0, 1.0]]
SECOND = Leaf("yes", {"no": 2, "yes": 6})


def logistic(score: float) -> float:
    return float(1 / (1 + np.exp(-score)))


@pytest.mark.parametrize(
    ("trees", "combine", "scores"),
    [
        ((TREE,), "one", BOTH),
        ((TREE, OLD, OLD), "vote", [[1 / 3, 2 / 3], [0, 1]]),
        ((TREE, SECOND), "sum", [[5 / 12, 7 / 12], [2 / 13, 11 / 13]]),
        ((TREE, SECOND), "mean_per_tree", [[0.5, 0.5], [0.125, 0.875]]),
        (
            (NumericSplit("age", 50.0, Leaf(scores={"no": 0.0, "yes": -1.0}), Leaf(scores={"no": 0.0, "yes": 2.0})),),
            "boost",
            [[1 - logistic(-1), logistic(-1)], [1 - logistic(2), logistic(2)]],
        ),
    ],
)
def test_scores_are_what_the_trees_combine_to(trees: Sequence[Node], combine: Combine, scores: list[Any]) -> None:
    answers = oracle_of(released(*trees, combine=combine))[0].scores(ASKED)
    assert answers.columns.tolist() == ["no", "yes"]
    np.testing.assert_allclose(answers.to_numpy(), scores)


def test_large_scores_of_boosting_do_not_overflow() -> None:
    asked, _ = oracle_of(released(Leaf(scores={"no": 0.0, "yes": 4000.0}), combine="boost"))
    assert asked.scores(ASKED).to_numpy().tolist() == [[0, 1], [0, 1]]


def test_a_row_without_a_leaf_has_neither_label_nor_scores() -> None:
    empty = replace(YOUNG, counts={"no": 0, "yes": 0})
    answers = oracle_of(released(NumericSplit("age", 50.0, empty, OLD)))[0].scores(ASKED)
    assert answers.isna().to_numpy().tolist() == [[True, True], [False, False]]


@pytest.mark.parametrize(
    ("combine", "why"), [("one", "publishes neither counts nor shares"), ("sum", "cannot combine trees by 'sum'")]
)
def test_a_release_of_labels_alone_has_no_scores(combine: Combine, why: str) -> None:
    trees = (NumericSplit("age", 50.0, Leaf("no"), Leaf("yes")),) * (1 if combine == "one" else 2)
    asked, _ = oracle_of(released(*trees, combine=combine))
    with pytest.raises(InconclusiveError, match=why):
        asked.scores(ASKED)


def test_regression_trees_have_no_scores() -> None:
    number = Column("ill", frozenset({"class"}), values=("[0, 1)", "[1, 2]"), bounds=(0.0, 2.0), edges=(0.0, 1.0, 2.0))
    release = Release({"use": "test"}, Schema((*SCHEMA.columns[:2], number)), (Leaf(value=1.5),))
    with pytest.raises(InconclusiveError, match="predicts numbers"):
        class_scores(release, table_of(SCHEMA.columns, [(20.0, "smith", "no")]))


# --- In an audit ---

ASKING: frozenset[Any] = frozenset({"labels", "scores"})
QUERY = pd.DataFrame({"zip": ["1", "2"], "rich": ["no", "yes"]})


def audited_with(
    does: Callable[[Any, AdversaryKnowledge], Any], levels: frozenset[Any], said: dict[str, Any], **more: Any
) -> Report:
    plugins = plugins_with(attack_that(does, access_levels=levels))
    chosen = policy_with(plugins, attacks=[{"use": "nosy", **said}], **more)
    return audit_policy(chosen, plugins, Tables(table_of(chosen.data.meaning().columns, ROWS, WEIGHT))).report


@pytest.mark.parametrize(
    ("levels", "said", "handed"),
    [
        ({"file"}, {}, "file"),
        ({"file", "labels", "scores"}, {}, "file"),
        ({"file", "labels", "scores"}, {"access": "labels"}, "labels"),
        ({"file", "labels", "scores"}, {"access": "scores"}, "scores"),
        ({"labels", "scores"}, {}, "scores"),
        ({"labels"}, {}, "labels"),
    ],
)
def test_an_attack_is_handed_what_the_policy_chooses_or_the_most_it_can_use(
    levels: set[str], said: dict[str, Any], handed: str
) -> None:
    got: list[Any] = []

    def listen(source: Any, known: AdversaryKnowledge) -> Sequence[Belief]:
        got.append(source)
        return [SecretBelief("ill", even(known), equivalence_class=np.arange(len(known.records)))]

    report = audited_with(listen, frozenset(levels), said)
    (source,) = got
    assert (source.access if isinstance(source, PredictionOracle) else "file") == handed
    (attack,) = report.method["attacks"]
    assert attack.get("access", "file") == handed


def asking(times: int) -> Callable[[Any, AdversaryKnowledge], Sequence[Belief]]:
    def ask(source: PredictionOracle, known: AdversaryKnowledge) -> Sequence[Belief]:
        for _ in range(times):
            source.labels(QUERY)
        return [SecretBelief("ill", even(known), equivalence_class=np.arange(len(known.records)))]

    return ask


def test_the_number_of_queries_is_evidence_for_auditors() -> None:
    report = audited_with(asking(3), ASKING, {"access": "labels"})
    (judged,) = (each for each in report.findings if each.attack == "nosy")
    assert judged.evidence["queries"] == {"access": "labels", "asked": AuditorOnly({"calls": 3, "rows": 6})}


def test_a_failed_attacks_queries_are_evidence_too() -> None:
    def fail(source: PredictionOracle, known: AdversaryKnowledge) -> Sequence[Belief]:
        source.labels(QUERY)
        raise InconclusiveError("it learned nothing")

    problem = finding(audited_with(fail, ASKING, {}), "attack:nosy")
    assert problem.evidence["problem"] == "it learned nothing"
    assert problem.evidence["queries"]["asked"] == AuditorOnly({"calls": 1, "rows": 2})


def test_scores_of_a_release_that_publishes_labels_are_inconclusive() -> None:
    def ask(source: PredictionOracle, known: AdversaryKnowledge) -> Sequence[Belief]:
        source.scores(QUERY)
        return []

    report = audited_with(ask, ASKING, {}, publish={"leaves": "labels"})
    assert "the tree has no scores" in finding(report, "attack:nosy").evidence["problem"]
    assert report.verdict == "inconclusive"


def test_an_attack_that_only_asks_takes_no_published_part_into_account() -> None:
    def with_records(self: Any, table: Any, rng: Any) -> Release:
        rows = tuple((cell,) for cell in table.frame["zip"])
        stump = Release(self.described(), table.schema, (Leaf("flu", {"flu": 5, "cold": 3}),))
        return replace(stump, records=Records(("zip",), rows, tuple(table.weight.tolist())))

    def audit_by(access: str) -> list[str]:
        plugins = plugins_with(attack_that(asking(0), access_levels=frozenset({"file", "labels", "scores"})))
        chosen = policy_with(plugins, attacks=[{"use": "nosy", "access": access}])
        table = table_of(chosen.data.meaning().columns, ROWS, WEIGHT)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Stump, "build", with_records)
            return [each.id for each in audit_policy(chosen, plugins, Tables(table)).report.findings]

    assert "unread#records" in audit_by("labels")
    assert "unread#records" not in audit_by("file")


# --- The policy ---


def test_an_access_that_an_attack_cannot_use_is_refused_with_its_place() -> None:
    plugins = plugins_with(attack_that(asking(0), access_levels=ASKING))
    for attack, level, usable in (("calm", "labels", "file"), ("nosy", "file", "labels, scores")):
        with pytest.raises(PolicyError) as refused:
            policy_of_plugins(plugins, policy_document(attacks=[{"use": attack, "access": level}]))
        (problem,) = refused.value.problems
        assert problem.location == "attacks[0].access"
        assert f"cannot use {level}; choose {usable}" in str(problem)


def policy_of_plugins(plugins: Any, document: dict[str, Any]) -> Any:
    from pathlib import Path

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leafgate.policy.load.load_trusted", lambda document, everything: plugins)
        return policy_of(document, Path()).policy


@pytest.mark.parametrize("levels", [frozenset(), frozenset({"file", "weights"})])
def test_an_attack_with_an_access_that_is_none_is_no_plugin(levels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Point("spies", offering(attack_that(asking(0), access_levels=levels))))
    [broken] = load_plugins().broken
    assert "access_levels" in broken.problem


def test_the_access_of_an_attack_is_part_of_the_digest() -> None:
    plugins = plugins_with(attack_that(asking(0), access_levels=frozenset({"file", "labels", "scores"})))
    plain, chosen = (policy_with(plugins, attacks=[{"use": "nosy", **said}]) for said in ({}, {"access": "labels"}))
    assert plain.sha256 != chosen.sha256
