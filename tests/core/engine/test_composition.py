"""What is scored: what the adversary derives of a group's secret, or the group's true composition."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import new_attack, new_builder
from generator.policies import policy_for_any_table
from leafgate import Table
from leafgate.algorithms.publication import published
from leafgate.api import (
    AuditorOnly,
    InconclusiveError,
    Level,
    Metric,
    Node,
    Publish,
    Release,
    Schema,
    ScoringContext,
    SecretBelief,
)
from leafgate.app import (
    Finding,
    Report,
    Tables,
    VisibleTo,
    audit_policy,
    document,
    load_plugins,
    open_session,
    policy_of,
    serialize,
    summary,
)
from leafgate.testing import grant_knowledge
from mortgage import TREE, mortgage
from oracles import numbered, people_of, spans
from random_tables import tables
from random_trees import counted, trees
from standins import audited, finding, metric_that

LEVELS: list[Level] = ["labels", "error_rates", "shares", "counts"]


def cases(table: Table, tree: Node, level: Level = "counts") -> list[tuple[ScoringContext, ScoringContext]]:
    """For each secret what linking derives, and the true composition."""
    release, known = (
        published(Release({}, table.schema, (tree,)), Publish(leaves=level), frozenset()),
        grant_knowledge(table),
    )
    beliefs = [belief for belief in new_attack("linking").infer(release, known) if isinstance(belief, SecretBelief)]
    return [
        (
            ScoringContext(table, None, release, known, belief),
            ScoringContext(table, None, release, known, belief, "composition"),
        )
        for belief in beliefs
    ]


def by_hand(table: Table, tree: Node, secret: str) -> list[list[float]]:
    """Each record's group, by Definition 4, and the shares of its people that have each value."""
    _, where = table.public
    span = numbered(spans([tree], grant_knowledge(table)))
    group = [span[row] for row in where.tolist()]
    items = []
    for mine in group:
        people = [each for each, its in zip(people_of(table), group, strict=True) if its == mine]
        size = sum(n for _, n in people)
        values = table.schema[secret].domain
        items.append([float(Fraction(sum(n for p, n in people if p[secret] == value), size)) for value in values])
    return items


@st.composite
def planted(draw: st.DrawFn) -> tuple[Table, Node]:
    """A table and some tree with its counts."""
    table = draw(tables(most=20))
    return table, counted(draw(trees(table.schema)), table)


@given(planted(), st.sampled_from(LEVELS))
def test_the_composition_is_counted_group_by_group_whatever_is_published(
    plant: tuple[Table, Node], level: Level
) -> None:
    table, tree = plant
    for _, true in cases(table, tree, level):
        assert list(true.posterior.columns) == list(true.secret.domain)
        assert np.allclose(true.posterior.to_numpy(), by_hand(table, tree, true.secret.name), rtol=0, atol=1e-12)


@st.composite
def public_plants(draw: st.DrawFn) -> tuple[Table, Node]:
    """A table with a secret class, and a tree that asks only what the adversary knows."""
    table = draw(tables(most=20, public_class=False))
    schema = Schema((*table.schema.public, table.schema.target))
    return table, counted(draw(trees(schema)), table)


@given(public_plants())
def test_the_adversary_derives_the_class_composition_from_public_tests_and_counts(
    plant: tuple[Table, Node],
) -> None:
    table, tree = plant
    derived, true = next(pair for pair in cases(table, tree) if pair[0].secret == table.schema.target)
    assert np.allclose(derived.posterior, true.posterior, rtol=0, atol=1e-12)


PLUGINS = load_plugins()


def of_mortgage(folder: Path, *metrics: Mapping[str, Any], smallest_cell: int = 1, **claims: Any) -> Report:
    """The report on the paper's tree, which claims whatever is said of it."""
    table = mortgage()
    (folder / "release.json").write_bytes(
        serialize(Release({"use": "hand"}, table.schema, (TREE,), guarantee=claims)).content
    )
    columns = {
        column.name: {"role": sorted(column.roles), "values": list(column.domain)} for column in table.schema.columns
    }
    fields = {
        "leafgate": 1,
        "name": "mortgage",
        "data": {"columns": columns},
        "build": {"use": "published", "path": "release.json"},
        "attacks": [{"use": "linking"}],
        "metrics": list(metrics) or [{"use": "k_anonymity", "at_least": 3}],
        "report": {"smallest_cell": smallest_cell},
    }
    loaded = policy_of(fields, folder)
    return audit_policy(loaded.policy, loaded.plugins, Tables(table)).report


def is_hidden(finding: Finding) -> bool:
    return finding.audience == VisibleTo.AUDITORS


def first(report: Report) -> Finding:
    return report.findings[0]


def secondary(found: Finding, key: str) -> tuple[Any, bool]:
    """A score in the evidence, and whether it is for auditors alone."""
    content = found.evidence[key]
    private = isinstance(content, AuditorOnly)
    return (content.content if private else content).value, private


def test_a_finding_on_the_composition_has_what_is_derived_beside_it(tmp_path: Path) -> None:
    report = of_mortgage(tmp_path, {"use": "confidence", "scored": "composition", "at_most": 0.6})
    found = first(report)
    assert found.value == pytest.approx(2 / 3)
    assert (found.passed, found.violations, found.audience) == (False, 6, VisibleTo.AUDITORS)
    public, auditor = (document(report, audience)["findings"][0] for audience in ("public", "auditor"))
    assert (public["value"], public["beyond"], public["passed"]) == (None, None, False)
    assert public["evidence"] == {"derived": pytest.approx(0.8)}
    assert public["limit"] == {"at_most": 0.6, "average": False, "allow": 0, "scored": "composition"}
    assert (auditor["value"], auditor["beyond"]) == (pytest.approx(2 / 3), 6)
    assert {"derived", "worst", "groups"} <= set(auditor["evidence"])


def test_a_composition_without_bound_is_not_told_to_be_so_in_public(tmp_path: Path) -> None:
    # Nobody of zip 1 is rich; that anybody were is as likely as not, for all the adversary knows.
    def score(case: ScoringContext) -> Any:
        return np.where(case.posterior["yes"] == 0, -np.inf, 1)

    said = {"use": "odd", "at_least": 0, "scored": "composition", "secret": "rich"}
    report = audited(metric_that(score), metrics=[said])
    found = first(report)
    assert (found.value, found.evidence["unbounded"], secondary(found, "derived")) == (None, True, (1, False))
    public, auditor = (document(report, audience) for audience in ("public", "auditor"))
    assert public["findings"][0]["evidence"] == {"derived": 1}
    assert "odd@calm#rich is broken" in summary(public)
    assert "odd@calm#rich is unbounded" in summary(auditor)


@pytest.mark.parametrize("scored", ["derived", "composition"])
def test_where_both_are_equal_the_composition_is_hidden_all_the_same(tmp_path: Path, scored: str) -> None:
    # The tree asks a private column, so its leaves do not count the groups: that both are equal is for auditors.
    report = of_mortgage(tmp_path, {"use": "l_diversity", "form": "distinct", "at_least": 2, "scored": scored})
    found, judged = first(report), scored == "composition"
    assert (found.value, is_hidden(found)) == (2, judged)
    assert {"derived", "composition"} & set(found.evidence) == ({"derived"} if judged else set())
    shown = document(report, "public")["findings"][0]
    assert (shown["value"], shown["evidence"].get("derived")) == ((None, 2) if judged else (2, None))


@pytest.mark.parametrize(("secret", "value"), [("ill", True), ("rich", False)])
def test_a_composition_is_told_where_the_leaves_count_it(secret: str, value: bool) -> None:
    # Leaves ask the zip code and count who is ill; of the rich they say nothing.
    asked = {"use": "odd", "at_least": 0, "secret": secret, "scored": "composition"}
    report = audited(metric_that(doubt), metrics=[asked])
    assert is_hidden(first(report)) != value
    public = document(replace(report, smallest_cell=2), "public")["findings"][0]  # groups of 10 are none here
    assert (public["value"] is not None) == value


@given(tables(most=20, public_class=False), st.integers(1, 3), st.sampled_from([0.5, 0.7, 0.9]))
def test_the_public_report_says_nothing_that_only_the_composition_tells(table: Table, k: int, most: float) -> None:
    metrics = [{"use": "confidence", "scored": "composition", "at_most": most, "name": "hidden"}]
    policy = policy_for_any_table(metrics).model_copy(update={"build": new_builder("kadet", k=k, prune=False)})
    done = audit_policy(policy, PLUGINS, Tables(table))
    if done.artifact is None:
        return
    shown = {result["id"]: result for result in document(done.report, "public")["findings"]}
    for derived, true in cases(table, done.artifact.release.trees[0]):
        name = f"hidden@linking#{true.secret.name}"
        scores = [case.posterior.max(axis=1) for case in (derived, true)]
        found = finding(done.report, name)
        assert found.value == scores[1].max()
        assert found.passed == (scores[1].max() <= most)
        if not is_hidden(found):  # the leaves count the groups
            assert np.allclose(derived.posterior, true.posterior, rtol=0, atol=1e-12)
            assert shown[name]["value"] == found.value
        else:
            assert (shown[name]["value"], shown[name]["beyond"]) == (None, None)
            assert shown[name]["evidence"] == {"derived": scores[0].max()}


# Eight people of two zip codes, of whom an adversary derives nothing: ill: 3 to 1, and 2 to 2; rich: 0 to 4, and 2 to 2


def doubt(case: ScoringContext) -> pd.Series:
    """The share of the other values: derived 1/2; ill 1/4 and 1/2, rich 0 and 1/2."""
    return 1 - case.posterior.max(axis=1)


@pytest.mark.parametrize(
    ("said", "value", "beyond", "passed"),
    [
        ({}, 0.25, 4, False),
        ({"allow": 0.5}, 0.25, 4, True),
        ({"allow": 0.4}, 0.25, 4, False),
        ({"at_least": 0.25}, 0.25, 0, True),
        ({"average": True}, 0.375, None, False),
        ({"average": True, "at_least": 0.375}, 0.375, None, True),
        ({"secret": "rich"}, 0, 4, False),
        ({"secret": "rich", "average": True, "at_least": 0.25}, 0.25, None, True),
    ],
)
def test_average_and_allow_are_judged_on_the_composition(
    said: dict[str, Any], value: float, beyond: int | None, passed: bool
) -> None:
    asked = {"use": "odd", "at_least": 0.5, "secret": "ill", "scored": "composition", **said}
    report = audited(metric_that(doubt), metrics=[asked])
    found = first(report)
    counted = asked["secret"] == "ill"
    assert (found.value, found.violations, found.passed, is_hidden(found)) == (value, beyond, passed, not counted)
    assert secondary(found, "derived") == (0.5, False)
    public = document(replace(report, smallest_cell=2), "public")["findings"][0]  # groups of 10 are none here
    if not counted:
        derived = 0.5 if said.get("average") else {"from": 0.5, "to": 0.55}
        assert (public["value"], public["beyond"], public["evidence"]) == (None, None, {"derived": derived})


def test_a_share_of_people_that_is_derived_is_shown_like_a_judged_one() -> None:
    # Half of the eight people are four: fewer than the smallest cell of ten, and all eight are, too.
    asked = {"use": "odd", "at_least": 0, "secret": "ill", "average": True, "scored": "composition"}
    report = audited(metric_that(doubt, unit="share"), metrics=[asked])
    assert secondary(first(report), "derived") == (0.5, False)
    shown = [document(replace(report, smallest_cell=cell), "public")["findings"][0] for cell in (10, 1)]
    assert [result["evidence"] for result in shown] == [{}, {"derived": 0.5}]
    derived = audited(metric_that(doubt, unit="share"), metrics=[{**asked, "scored": "derived"}])
    assert document(derived, "public")["findings"][0]["value"] is None


def test_the_public_is_not_told_how_many_values_a_group_has_in_truth() -> None:
    # Nobody of zip 1 is rich, and the adversary cannot know: two values are possible.
    asked = {"use": "sizes", "at_least": 5, "scored": "composition", "secret": "rich"}
    shown = document(audited(metrics=[asked]), "public")["findings"][0]
    assert {group.get("possible_values", 2) for group in shown["evidence"].get("worst", ())} <= {2}


def test_a_composition_with_nothing_derived_to_compare_it_with_is_private_too() -> None:
    def of_the_composition_alone(case: ScoringContext) -> Any:
        if (case.posterior == 0.5).all(axis=None):
            raise InconclusiveError("tells nothing")
        return doubt(case)

    asked = {"use": "odd", "at_least": 0, "secret": "rich", "scored": "composition"}
    report = audited(metric_that(of_the_composition_alone), metrics=[asked])
    assert first(report).value == 0
    assert document(report, "public")["findings"][0]["value"] is None


CLAIMS: Mapping[str, tuple[dict[str, Any], bool]] = {
    "a number is broken by what is derived": ({"confidence": 0.7}, False),
    "a number": ({"confidence": 0.8}, True),
    "a mapping is about the composition": ({"confidence": {"at_most": 0.7}}, True),
    "a mapping": ({"confidence": {"at_most": 0.6}}, False),
    "a list": ({"confidence": [{"at_most": 0.7}]}, True),
    "all of a list": ({"confidence": [{"at_most": 0.7}, {"at_most": 0.9}]}, True),
    "the last of a list": ({"confidence": [{"at_most": 0.7}, {"at_most": 0.6}]}, False),
    "the first of a list": ({"confidence": [{"at_most": 0.6}, {"at_most": 0.7}]}, False),
    "with a secret": ({"confidence": [{"at_most": 0.7, "secret": "loan_risk"}]}, True),
    "with options": ({"l_diversity": [{"form": "distinct", "at_least": 2}, {"at_least": 1.88}]}, True),
    "the other form": ({"l_diversity": [{"form": "distinct", "at_least": 2}, {"at_least": 1.89}]}, False),
    "recursive": ({"l_diversity": [{"form": "recursive", "c": 2.1, "at_least": 2}]}, True),
    "recursive, just": ({"l_diversity": [{"form": "recursive", "c": 2, "at_least": 2}]}, False),
    "t": ({"t_closeness": [{"at_most": 0}]}, True),  # 2/3 are bad in either group, and among everyone
    "t derived": ({"t_closeness": 0.1}, False),  # 4/5 - 2/3
    "delta": ({"delta_disclosure": [{"at_most": 0}]}, True),
    "delta derived": ({"delta_disclosure": 0.5}, False),  # ln (1/5) / (1/3) = -0.51
}


@pytest.mark.parametrize(("claims", "passed"), CLAIMS.values(), ids=CLAIMS)
def test_a_claim_holds_when_all_of_it_does(tmp_path: Path, claims: dict[str, Any], passed: bool) -> None:
    report = of_mortgage(tmp_path, **claims)
    ((name, claim),) = claims.items()
    found = finding(report, f"guarantee:{name}")
    assert (found.passed, found.evidence["claim"]) == (passed, claim)
    assert report.exit_code == (0 if passed else 1)


UNREADABLE: Mapping[str, dict[str, Any]] = {
    "an empty list": {"confidence": []},
    "an empty mapping": {"confidence": [{}]},
    "a number in a list": {"confidence": [0.9]},
    "a list in a list": {"confidence": [[{"at_most": 0.9}]]},
    "a number beside a mapping": {"confidence": [{"at_most": 0.9}, 0.9]},
    "a text": {"confidence": "little"},
    "a limit that is a text": {"confidence": [{"at_most": "0.9"}]},
    "the wrong direction": {"confidence": [{"at_least": 0.9}]},
    "an option there is not": {"confidence": [{"at_most": 0.9, "form": "entropy"}]},
    "a secret there is not": {"confidence": [{"at_most": 0.9, "secret": "sports_car"}]},
    "recursive without c": {"l_diversity": [{"form": "recursive", "at_least": 2}]},
    "null": {"t_closeness": None},
    "true": {"t_closeness": True},
    "a metric that checks nothing": {"beta_likeness": [{"at_most": 9}]},
    "one of two": {"confidence": [{"at_most": 0.9}, {"at_moist": 0.9}]},
}


@pytest.mark.parametrize("claims", UNREADABLE.values(), ids=UNREADABLE)
def test_a_claim_that_cannot_be_read_is_inconclusive(tmp_path: Path, claims: dict[str, Any]) -> None:
    report = of_mortgage(tmp_path, **claims)
    found = report.findings[-1]
    assert (found.id, found.passed, report.exit_code) == (f"guarantee:{next(iter(claims))}", None, 3)
    assert found.evidence["problem"]


def test_one_of_several_claims_that_is_broken_counts_more_than_one_that_cannot_be_read(tmp_path: Path) -> None:
    for several in ([{"at_most": 0.6}, {"at_moist": 1}], [{"at_moist": 1}, {"at_most": 0.6}]):
        assert finding(of_mortgage(tmp_path, confidence=several), "guarantee:confidence").passed is False


def checked(claims: Sequence[Mapping[str, Any]], kind: type[Metric]) -> Finding:
    report = audited(kind, build={"use": "stump", "claims": {"calm": claims}})
    return finding(report, "guarantee:calm")


def test_a_strangers_metric_checks_claims_about_the_composition_of_every_secret() -> None:
    kind = metric_that(doubt, checks="calm", checked_by="calm")
    assert checked([{"at_least": 0.25, "secret": "ill"}], kind).passed is True
    assert checked([{"at_least": 0.25, "secret": "ill"}, {"at_least": 0, "secret": "rich"}], kind).passed is True
    found = checked([{"at_least": 0.25}], kind)
    assert (found.passed, found.secret, found.value) == (False, "rich", 0)
    assert secondary(found, "derived") == (0.5, False)


# What follows from everyone's shares of a secret, and what an average tells

RARE = "a,b,ill,y\n" + "x,p,hiv,yes\n" * 3 + "x,p,flu,yes\n" * 197 + "x,q,flu,no\n" * 100 + "z,q,cold,no\n" * 100
PEOPLE = {
    "a": {"role": "quasi_identifier", "values": ["x", "z"]},
    "b": {"role": "quasi_identifier", "values": ["p", "q"]},
    "ill": {"role": "sensitive", "values": ["flu", "cold", "hiv"]},
    "y": {"role": "class", "values": ["yes", "no"]},
}


def of_the_rare(folder: Path, build: Any, *metrics: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """What the public is shown of each finding, by its metric."""
    (folder / "rare.csv").write_text(RARE)
    said = {
        "leafgate": 1,
        "name": "rare",
        "data": {"path": "rare.csv", "columns": PEOPLE},
        "build": build,
        "attacks": [{"use": "linking"}],
        "metrics": [*metrics],
        **more,
    }
    (folder / "rare.yaml").write_text(json.dumps(said))
    report = open_session(folder / "rare.yaml").audit().report
    return {result["metric"]: result for result in document(report, "public")["findings"]}


COMPARING: list[dict[str, Any]] = [
    {"use": "t_closeness", "at_most": 1},
    {"use": "beta_likeness", "at_most": 1000},
    {"use": "delta_disclosure", "at_most": 9},
]


def test_the_public_is_not_told_shares_of_a_secret_that_nobody_could_derive(tmp_path: Path) -> None:
    # Three of 400 have hiv. The tree tells of y alone: all is equally likely. The scores compare that with the truth.
    shown = of_the_rare(tmp_path, {"use": "kadet", "k": 20}, *COMPARING, publish={"leaves": "labels"})
    for result in (shown[str(one["use"])] for one in COMPARING):
        assert (result["value"], result["beyond"], result["passed"]) == (None, None, True)


def test_compositions_are_public_where_the_release_tells_them_not_where_granted(tmp_path: Path) -> None:
    whole = of_the_rare(tmp_path, {"use": "table"}, *COMPARING[:1])
    assert whole["t_closeness"]["value"] is not None
    granted = of_the_rare(tmp_path, {"use": "kadet", "k": 20}, *COMPARING[:1], knows={"distribution": True})
    assert (granted["t_closeness"]["value"], granted["t_closeness"]["passed"]) == (None, True)


def test_an_average_is_told_no_finer_than_the_smallest_cell_could_move_it(tmp_path: Path) -> None:
    # Groups of 200, 100 and 100. Distinct l is 2 for 200 people and 1 for 200; ten people move the average by .025.
    metrics = [
        {"use": "l_diversity", "form": "distinct", "average": True, "at_least": 1},
        {"use": "k_anonymity", "average": True, "at_least": 1},
        {"use": "reidentification_risk", "average": True, "at_most": 1},
    ]
    shown = of_the_rare(tmp_path, {"use": "table"}, *metrics)
    assert shown["l_diversity"]["value"] == 1.5
    assert shown["k_anonymity"]["value"] == 150
    assert shown["reidentification_risk"]["value"] == pytest.approx(0.0075, abs=6e-4)
    fine = RARE.replace("x,p,hiv,yes\n" * 3, "x,p,hiv,yes\n" * 3 + "z,p,flu,yes\n" * 4)
    (tmp_path / "fine.csv").write_text(fine)
    report = open_session(tmp_path / "rare.yaml", tmp_path / "fine.csv").audit().report
    exact = {f.metric: f.value for f in report.findings}
    fields = {f["metric"]: f["value"] for f in document(report, "public")["findings"]}
    assert exact["l_diversity"] == 1 + 200 / 404
    assert fields["l_diversity"] == {"from": 1.45, "to": 1.5}  # there is a group of 4 now
    assert fields["k_anonymity"] == 150


def test_sums_of_leaf_counts_are_no_secret_though_private_tests_pool_them(tmp_path: Path) -> None:
    # The tree asks for a car first, so what is derived is not the groups' own; all leaves together are 2 good, 4 bad.
    report = of_mortgage(tmp_path, {"use": "t_closeness", "at_most": 0.999, "scored": "derived"})
    assert first(report).value is not None
    assert document(report, "public")["findings"][0]["value"] == first(report).value
