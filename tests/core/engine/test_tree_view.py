"""Which leaves a report's picture marks, and who may see them marked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from leafgate import Release
from leafgate.api import Branch, CategoricalSplit, Column, Leaf, Node, NumericSplit, Schema
from leafgate.app import Audit, Finding, Limit, Report, Session, document, open_session
from leafgate.commands.demo.audits import run_demo
from leafgate.disclosure.schema import NodeDocument
from leafgate.engine.figures import MAX_ROWS, Drawn, first_asking, layout_of, unfolded
from leafgate.kernel.findings import TreeView
from patience import ends_soon
from reports import view
from standins import audited as audited_by_standins


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Session, Audit]:
    folder = tmp_path_factory.mktemp("demo")
    run_demo(folder)
    run = open_session(folder / "unprotected.yaml")
    return run, run.audit()


def drawn(report: Report) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = document(report, "auditor")["tree"]["nodes"]
    return nodes


@pytest.mark.thorough
def test_every_node_counts_the_people_and_leaves_below_it(demo: tuple[Session, Audit]) -> None:
    run, audited = demo
    nodes = drawn(audited.report)
    assert (nodes[0]["people"], nodes[0]["leaves"]) == (
        run.table.total_weight,
        document(audited.report, "auditor")["release"]["leaves"],
    )
    for i, node in enumerate(nodes):
        below = [child for child in nodes if child["parent"] == i]
        assert bool(below) == (node["kind"] == "test")
        for key in ("people", "leaves", "leaves_past") if below else ():
            assert sum(child[key] for child in below) == node[key]


def test_the_root_counts_the_people_past_every_limit(demo: tuple[Session, Audit]) -> None:
    report = demo[1].report
    fields = document(report, "auditor")
    assert fields["tree"]["nodes"][0]["past"] == {f["id"]: f["beyond"] for f in fields["findings"] if f["beyond"]}


def test_a_leaf_says_what_is_believed_and_what_is_true_of_its_people(demo: tuple[Session, Audit]) -> None:
    run, audited = demo
    nodes = drawn(audited.report)
    leaves = [node for node in nodes if node["kind"] == "leaf"]
    assert len(leaves) > 10
    for leaf in leaves[:10]:
        rows = run.table.frame.index >= 0
        node = leaf
        while node["parent"] is not None:
            above = nodes[node["parent"]]
            rows &= answering(run, above["words"], node["way"])
            node = above
        true = run.table.frame["chronically_ill"].astype(str)[rows]
        counted = {value: int(run.table.weight[rows][true == value].sum()) for value in set(true)}
        assert leaf["people"] == sum(counted.values())
        assert leaf["beliefs"][0]["true"] == counted
        [(value, chance)] = leaf["beliefs"][0]["believed"].items()
        assert value in {"yes", "no"}
        assert 0.5 <= chance <= 1  # of people whom the adversary may not tell from another leaf's


def answering(run: Session, column: str, way: str) -> Any:
    """The rows that give this answer, worked out from its words."""
    cells = run.table.frame[column]
    if way.startswith(("<=", ">")):
        sign, bound = way.split(" ")
        return (cells <= float(bound)) if sign == "<=" else (cells > float(bound))
    return cells.astype(str).isin(way.split(", ")).to_numpy()


AGE = Schema((Column("age", frozenset({"quasi_identifier"}), bounds=(0, 9)),))


@pytest.mark.parametrize(("kept", "way"), [(True, "> 3, or missing"), (False, "> 3")])
def test_where_missing_cells_go_is_told_where_there_may_be_any(kept: bool, way: str) -> None:
    schema = Schema((replace(AGE["age"], missing=kept),))
    tree = NumericSplit("age", 3.0, Leaf(label="yes"), Leaf(label="no"), "high")
    assert layout_of(tree, schema).way == ["", "<= 3", way]


def ends(drawn: list[Drawn]) -> int:
    return sum(not one.opened for one in drawn)


def trees() -> st.SearchStrategy[Node]:
    leaves = st.builds(lambda label: Leaf(label=label), st.sampled_from(["yes", "no"]))

    def tests(below: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        cut = st.builds(lambda low, high: NumericSplit("age", 4.0, low, high), below, below)
        fan = st.lists(below, min_size=2, max_size=7).map(fan_of)
        return cut | fan

    return st.recursive(leaves, tests, max_leaves=40)


def fan_of(below: list[Node]) -> Node:
    return CategoricalSplit("age", tuple(Branch((f"v{i}",), node) for i, node in enumerate(below)))


@given(trees(), st.lists(st.integers(0, 30), max_size=6), st.integers(2, 9))
def test_whatever_is_drawn_holds_every_leaf_once_and_has_room(tree: Node, urgent: list[int], rows: int) -> None:
    laid = layout_of(tree, AGE)
    wanted = [number for number in urgent if number < laid.leaves]
    drawn = unfolded(laid, wanted, rows)
    ended = [leaf for one in drawn if not one.opened for node in one.nodes for leaf in range(*laid.span[node])]
    assert sorted(ended) == list(range(laid.leaves))
    assert ends(drawn) <= rows
    for i, one in enumerate(drawn):
        assert one.parent is None or one.parent < i
        assert not (one.is_folded and one.opened)


def test_of_a_forest_the_first_tree_that_asks_anything_is_drawn() -> None:
    leaf, tree = Leaf(label="no"), NumericSplit("age", 3.0, Leaf(label="yes"), Leaf(label="no"))
    forests: list[tuple[tuple[Node, ...], int]] = [((leaf, leaf, tree, tree), 3), ((leaf, leaf), 1), ((tree, leaf), 1)]
    for forest, number in forests:
        assert first_asking(Release({}, AGE, forest)) == number


def test_of_a_test_with_many_answers_only_those_that_matter_are_drawn_apart() -> None:
    values = tuple(f"v{i}" for i in range(60))
    fan = CategoricalSplit("zip", tuple(Branch((value,), Leaf(label="no")) for value in values))
    schema = Schema((Column("zip", frozenset({"quasi_identifier"}), values=values),))
    laid = layout_of(fan, schema)
    drawn = unfolded(laid, [7, 41], rows=3)
    assert [one.nodes for one in drawn[1:3]] == [(8,), (42,)]
    assert len(drawn[3].nodes) == 58


@pytest.mark.thorough
def test_a_test_with_very_many_answers_is_drawn_soon() -> None:
    many = 100_000
    fan = CategoricalSplit("age", tuple(Branch((f"v{i}",), Leaf(label="no")) for i in range(many)))
    laid = layout_of(fan, AGE)
    with ends_soon():
        assert ends(unfolded(laid, list(range(many)))) == MAX_ROWS


POLICY = {"name": "p", "sha256": "0" * 64}
RELEASE = {"sha256": "0" * 64, "builder": {"use": "c45"}, "trees": 1, "leaves": 2}
LIMIT = Limit("at_least", 5, scored="derived")


def marked(
    leaves: int,
    beyond: int,
    *,
    passed: bool = False,
    risk: str = "past",
    smallest: int = 10,
    allow: float = 0,
    **facts: Any,
) -> Mapping[str, Any]:
    """The public document of a tree with people outside a limit in some of its leaves."""
    root = {"parent": None, "kind": "leaf", "leaves": 9, "risk": risk}
    view = TreeView(1, [root], [{**root, "risk": None}], {"m@a": leaves} if leaves else {})
    finding = Finding("m@a", "m", passed, "a", people=1000, violations=beyond, limit=replace(LIMIT, allow=allow))
    report = Report(POLICY, {}, RELEASE, [finding], {}, smallest, tree=view, **facts)
    return document(report, "public")


def test_a_tree_in_which_nobody_is_past_a_limit_says_so_and_hides_where_nobody_is() -> None:
    tree = marked(0, 0, passed=True, risk="nobody")["tree"]
    assert tree["coloured"]
    assert tree["nodes"][0]["risk"] == "within"


@pytest.mark.parametrize(
    "document",
    [
        marked(4, 30),  # may be published by a waiver, and the leaf be looked up in it
        marked(4, 30, passed=True, allow=0.1),  # may be published as it is
        marked(0, 0, passed=True, differentially_private=True),
        marked(0, 0, passed=True, allow=0.1),  # that nobody is would be told of people whom nothing else tells of
        marked(4, 30, smallest=1),  # whoever has the tree knows more than how many they are
    ],
)
def test_leaves_past_a_limit_are_not_marked_for_the_public(document: Mapping[str, Any]) -> None:
    assert not document["tree"]["coloured"]
    assert document["tree"]["nodes"][0]["risk"] is None


def test_the_public_sees_no_test_no_value_and_no_number_of_people_in_the_tree(demo: tuple[Session, Audit]) -> None:
    for node in document(demo[1].report, "public")["tree"]["nodes"]:
        assert set(node) == {"parent", "kind", "leaves"}


def test_an_attack_guesses_as_often_right_as_its_groups_allow(demo: tuple[Session, Audit]) -> None:
    run, audited = demo
    [guess] = document(audited.report, "auditor")["guesses"]
    ill = run.table.frame["chronically_ill"].astype(str)
    assert guess["commonest"] == pytest.approx(max(run.table.weight[ill == v].sum() for v in set(ill)) / 3000, abs=1e-6)
    assert guess["commonest"] < guess["right"] < 1
    assert document(audited.report, "public")["guesses"] == []  # groups share leaves: none of them tells how many


def test_the_public_is_told_how_often_guesses_are_right_where_leaves_count_the_groups() -> None:
    [guess] = document(audited_by_standins(weight=(300, 100, 200, 200)), "public")["guesses"]
    assert guess == {"attack": "calm", "secret": "ill", "right": 0.5, "commonest": 0.6}  # 500 of 800, in steps of 0.1


@pytest.mark.thorough
def test_how_often_an_attack_is_right_is_for_auditors_where_the_release_does_not_tell(tmp_path: Path) -> None:
    run_demo(tmp_path)
    policy = tmp_path / "unprotected.yaml"
    policy.write_text(policy.read_text().replace("publish: {leaves: counts,", "publish: {leaves: labels,"))
    report = open_session(policy).audit().report
    assert document(report, "auditor")["guesses"]
    assert document(report, "public")["guesses"] == []


def test_a_small_leaf_below_a_private_test_names_the_size_of_its_equivalence_class(
    tmp_path: Path,
) -> None:
    people = [("20", "no", "ill")] * 1 + [("20", "yes", "well")] * 24 + [("60", "no", "well")] * 30
    (tmp_path / "people.csv").write_text("\n".join(["age,smoker,state", *(",".join(row) for row in people)]) + "\n")
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [0, 100]},
        "smoker": {"role": "private", "values": ["no", "yes"]},
        "state": {"role": ["class", "sensitive"], "values": ["ill", "well"]},
    }
    policy = {
        "leafgate": 1,
        "name": "small leaf",
        "data": {"path": "people.csv", "columns": columns},
        "build": {"use": "id3", "measure": "gain"},
        "attacks": [{"use": "linking"}],
        "metrics": [{"use": "k_anonymity", "at_least": 20}],
    }
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    report = open_session(tmp_path / "policy.yaml").audit().report
    fields = document(report, "auditor")
    assert fields["verdict"] == "pass"
    leaves = {node["people"]: node for node in fields["tree"]["nodes"] if node["kind"] == "leaf"}
    assert {count: leaf.get("equivalence_class") for count, leaf in leaves.items()} == {
        1: {"people": 25, "unknown": ["smoker"]},
        24: {"people": 25, "unknown": ["smoker"]},
        30: None,
    }
    page = view(fields, "html").decode()
    assert "1 person in a class of 25 → 1 ill" in page
    assert "their equivalence class has 25 people or more, because tests above ask for what is not known" in page
    public = document(report, "public")
    assert not any("equivalence_class" in node for node in public["tree"]["nodes"])
    assert "class of" not in view(public, "html").decode()


@pytest.mark.parametrize("change", [{"people": 1}, {"unknown": []}, {"people": "25"}, {"of": "smoker"}])
def test_a_stored_report_with_an_equivalence_class_that_cannot_be_is_refused(change: dict[str, Any]) -> None:
    node = {"parent": None, "kind": "leaf", "leaves": 1, "people": 1}
    whole = {"people": 25, "unknown": ["smoker"]}
    assert (
        NodeDocument.model_validate_json(json.dumps({**node, "equivalence_class": whole})).equivalence_class is not None
    )
    with pytest.raises(ValidationError):
        NodeDocument.model_validate_json(json.dumps({**node, "equivalence_class": {**whole, **change}}))


@pytest.mark.parametrize(
    ("leaf", "words"),
    [
        (Leaf("yes", {"no": 0, "yes": 3}), "3 yes"),
        (Leaf("yes", shares={"no": 0.25, "yes": 0.75}), "0.25 no, 0.75 yes"),
        (Leaf("yes", error_rate=0.1), "yes, error rate 0.1"),
        (Leaf(value=2.5), "2.5"),
        (Leaf(scores={"no": 0.0, "yes": -0.125}), "yes -0.125"),
        (Leaf(scores={"no": 0.0, "yes": 0.0}), "no score"),
        (Leaf(), "no class"),
    ],
)
def test_a_leaf_is_drawn_with_what_it_publishes(leaf: Leaf, words: str) -> None:
    assert leaf.words == words
