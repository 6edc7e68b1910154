"""A larger population that the people come from: how it is read, and who of it could be meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from command_line import leafgate
from components import new_attack, new_metric
from leafgate import Table
from leafgate.algorithms.publication import published
from leafgate.api import (
    Branch,
    CategoricalSplit,
    GroupBelief,
    InconclusiveError,
    Leaf,
    Level,
    Node,
    Publish,
    Release,
    Schema,
    ScoringContext,
    SecretBelief,
)
from leafgate.app import document, load_policy, open_session
from leafgate.testing import grant_knowledge, validate_belief
from oracles import numbered, people_of, persons, span
from random_tables import Cell, categorical, cells, table_of, tables
from random_trees import forests
from scoring import scores_of_people
from survey import COLUMNS, survey
from table_files import data_of, people, population_in

ZIP = categorical("zip", "quasi_identifier", values=("1", "2"))
ILL = categorical("ill", "class", "sensitive", values=("flu", "cold"))
NOBODY = {"flu": 0, "cold": 0}
LEVELS: list[Level] = ["labels", "error_rates", "shares", "counts"]


@st.composite
def planted(draw: st.DrawFn, *, lacking: bool = False) -> tuple[Table, Table, tuple[Node, ...]]:
    """A table, a population, and trees that ask private columns too.

    The population holds everybody in the table, or where it is `lacking` anybody.
    """
    table = draw(tables(most=15))
    schema = Schema(table.schema.public)
    record = st.tuples(*(st.sampled_from(cells(column)) for column in schema.columns))
    rows = draw(st.lists(record, min_size=int(lacking), max_size=15))
    weight = draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    mine: list[list[Cell]] = [] if lacking else [list(person.values()) for person in persons(table.public[0].frame)]
    known = [] if lacking else table.public[0].weight.tolist()
    population = table_of(schema.columns, [*mine, *map(list, rows)], [*known, *weight])
    return table, population, draw(forests(table, most=2))


def release_of(table: Table, forest: tuple[Node, ...], level: Level = "counts") -> Release:
    draft = Release({}, table.schema, forest, combine="one" if len(forest) == 1 else "vote")
    return published(draft, Publish(leaves=level), frozenset())


def in_reach(table: Table, population: Table, forest: tuple[Node, ...]) -> list[tuple[int, int]]:
    """For each record the people of the population, and of the table, with its span: by Definition 4."""
    public = Schema(table.schema.public)
    others = [(span(person, forest, table.schema), n) for person, n in people_of(population)]
    own = [
        (span({column.name: person[column.name] for column in public.columns}, forest, table.schema), n)
        for person, n in people_of(table)
    ]
    return [(sum(n for s, n in others if s == mine), sum(n for s, n in own if s == mine)) for mine, _ in own]


def cases(
    table: Table, population: Table | None, forest: tuple[Node, ...], level: Level = "counts"
) -> list[ScoringContext]:
    release, known = release_of(table, forest, level), grant_knowledge(table, population=population)
    beliefs = [validate_belief(belief, known) for belief in new_attack("linking").infer(release, known)]
    return [ScoringContext(table, None, release, known, belief) for belief in beliefs]


@given(planted())
def test_k_map_counts_the_people_of_the_population_whom_the_trees_do_not_tell_apart(
    plant: tuple[Table, Table, tuple[Node, ...]],
) -> None:
    table, population, forest = plant
    expected = [there for there, _ in in_reach(table, population, forest)]
    for case in cases(table, population, forest):
        assert scores_of_people(new_metric("k_map", at_least=1), case).tolist() == expected
        journalist = scores_of_people(new_metric("reidentification_risk", among="population", at_most=1), case)
        assert journalist.tolist() == pytest.approx([1 / size for size in expected])


@given(planted())
def test_the_risk_among_the_table_is_never_less_than_among_the_population(
    plant: tuple[Table, Table, tuple[Node, ...]],
) -> None:
    table, population, forest = plant
    expected = [1 / here for _, here in in_reach(table, population, forest)]
    for case in cases(table, population, forest):
        prosecutor = scores_of_people(new_metric("reidentification_risk", at_most=1), case)
        assert prosecutor.tolist() == pytest.approx(expected)
        assert (
            prosecutor >= scores_of_people(new_metric("reidentification_risk", among="population", at_most=1), case)
        ).all()


@given(planted(lacking=True))
def test_a_population_that_lacks_people_of_some_group_of_the_table_is_inconclusive(
    plant: tuple[Table, Table, tuple[Node, ...]],
) -> None:
    table, population, forest = plant
    reach = in_reach(table, population, forest)
    for case in cases(table, population, forest):
        if all(there >= here for there, here in reach):
            assert case.population.tolist() == [there for there, _ in reach]
        else:
            with pytest.raises(InconclusiveError, match="fewer people in the population"):
                assert case.population.any()


@given(planted(lacking=True), st.sampled_from(LEVELS))
def test_what_is_derived_of_the_tables_people_does_not_depend_on_the_population(
    plant: tuple[Table, Table, tuple[Node, ...]], level: Level
) -> None:
    table, population, forest = plant
    for alone, among in zip(cases(table, None, forest, level), cases(table, population, forest, level), strict=True):
        assert numbered(alone.equivalence_class) == numbered(among.equivalence_class)
        assert type(alone.belief) is type(among.belief)
        if isinstance(alone.belief, SecretBelief):
            assert np.allclose(alone.posterior, among.posterior, rtol=0, atol=1e-12)


@given(planted(lacking=True), st.sampled_from(LEVELS))
@example(
    (
        table_of([ZIP, ILL], [("1", "flu")]),
        table_of([ZIP], [("1",), ("2",)]),
        (
            CategoricalSplit(
                "zip", (Branch(("1",), Leaf("flu", {"flu": 1, "cold": 0})), Branch(("2",), Leaf("cold", NOBODY)))
            ),
        ),
    ),
    "labels",
)
def test_the_evidence_of_table_people_is_the_same_with_a_population(
    plant: tuple[Table, Table, tuple[Node, ...]], level: Level
) -> None:
    table, population, forest = plant
    for alone, among in zip(cases(table, None, forest, level), cases(table, population, forest, level), strict=True):
        assert alone.belief is not None
        assert among.belief is not None
        assert alone.belief.evidence == among.belief.evidence


THREE = table_of([ZIP, ILL], [("1", "flu"), ("2", "flu"), ("2", "cold")])
SEVEN = table_of([ZIP], [("1",), ("2",)], [2, 5])


def group_context(groups: Any, population: Table | None = SEVEN) -> ScoringContext:
    """The case of an attack that tells the zip codes of three people apart."""
    known = grant_knowledge(THREE, population=population)
    belief = validate_belief(GroupBelief(np.arange(2), population_groups=groups), known)
    return ScoringContext(THREE, None, Release({}, THREE.schema), known, belief)


def test_the_people_of_a_record_are_those_in_the_group_of_its_number() -> None:
    assert group_context(np.array([0, 1])).population.tolist() == [2, 5, 5]
    assert group_context(np.array([0, 0])).equivalence_class.tolist() == [0, 1, 1]


def test_groups_of_the_population_that_nobody_of_the_table_is_in_count_for_nobody() -> None:
    large = table_of([ZIP], [("1",), ("2",)], [9, 5])
    known = grant_knowledge(table_of([ZIP, ILL], [("2", "flu")]), population=large)
    belief = validate_belief(GroupBelief(np.array([7]), population_groups=np.array([3, 7])), known)
    case = ScoringContext(table_of([ZIP, ILL], [("2", "flu")]), None, Release({}, THREE.schema), known, belief)
    assert case.population.tolist() == [5]


def test_one_group_with_too_few_people_makes_all_inconclusive() -> None:
    with pytest.raises(InconclusiveError, match="fewer people in the population"):
        assert group_context(np.array([0, 0])).population.any()  # nobody of the population is in group 1


@pytest.mark.parametrize(("groups", "population"), [(None, SEVEN), (None, None)])
def test_without_a_population_or_a_word_of_it_there_is_nothing_to_count(groups: Any, population: Table | None) -> None:
    with pytest.raises(InconclusiveError, match=r"no population|where people of the population"):
        assert group_context(groups, population).population.any()


@pytest.mark.parametrize(
    ("groups", "population"),
    [([0], SEVEN), ([0, 1, 2], SEVEN), ([0.5, 1.0], SEVEN), (["a", "b"], SEVEN), ([0, 1], None)],
)
def test_groups_that_do_not_number_the_population_are_nonsense(groups: Any, population: Table | None) -> None:
    with pytest.raises(InconclusiveError, match="of the population in `population_groups`"):
        group_context(groups, population)


COUNTED: dict[str, Any] = {"n": {"role": "weight"}, **COLUMNS}
FILES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "just the public columns": ("age,sex\n30,f\n30,f\n40,m\n", COLUMNS, {}),
    "in another order": ("sex,age\nf,30\nf,30\nm,40\n", COLUMNS, {}),
    "all columns": ("age,sex,smoker,ill\n30,f,yes,no\n30,f,no,no\n40,m,no,yes\n", COLUMNS, {}),
    "with weights": ("age,n,sex\n30,2,f\n40,1,m\n", COUNTED, {}),
    "without the weights": ("age,sex\n30,f\n30,f\n40,m\n", COUNTED, {}),
    "all columns with weights": ("n,age,sex,smoker,ill\n2,30,f,yes,no\n1,40,m,no,yes\n", COUNTED, {}),
    "without header": ("30,f\n30,f\n40,m\n", COLUMNS, {"csv": {"header": False}}),
    "all columns without header": ("30,f,yes,no\n30,f,no,no\n40,m,no,yes\n", COLUMNS, {"csv": {"header": False}}),
    "weights last, without header": (
        "30,f,2\n40,m,1\n",
        {**COLUMNS, "n": {"role": "weight"}},
        {"csv": {"header": False}},
    ),
    "strange private cells": ("age,sex,smoker,ill\n30,f,maybe,no\n30,f,,\n40,m,no,yes\n", COLUMNS, {}),
    "aliases": (
        "age,sex\n30,F\n30,f\n40,m\n",
        {**COLUMNS, "sex": {**COLUMNS["sex"], "aliases": {"F": "f"}}},
        {},
    ),
}


def read(folder: Path, content: str, columns: dict[str, Any], options: dict[str, Any]) -> Table:
    path = folder / "population.csv"
    path.write_text(content)
    data = data_of(columns, options)
    return population_in(data, path)


@pytest.mark.parametrize(("content", "columns", "options"), FILES.values(), ids=FILES)
def test_a_file_of_the_public_columns_or_of_all_is_the_same_population(
    tmp_path: Path, content: str, columns: dict[str, Any], options: dict[str, Any]
) -> None:
    found = read(tmp_path, content, columns, options)
    assert [column.name for column in found.schema.columns] == ["age", "sex"]
    assert people(found) == {(30, "f"): 2, (40, "m"): 1}


def test_without_a_header_the_weights_stand_where_the_policy_has_them(tmp_path: Path) -> None:
    found = read(tmp_path, "2,30,f\n1,40,m\n", COUNTED, {"csv": {"header": False}})
    assert people(found) == {(30, "f"): 2, (40, "m"): 1}


# Whole audits of the survey: 24 people, three or so of each age and sex

HUNDRED = "age,sex\n" + "".join(f"{age},{sex}\n" for age in (20, 30, 40, 50) for sex in "fm" for _ in range(13))
MAPPED: dict[str, Any] = {
    "data.population": "population.csv",
    "metrics": [
        {"use": "k_map", "at_least": 13},
        {"use": "reidentification_risk", "among": "population", "at_most": 0.1},
        {"use": "reidentification_risk", "name": "on_average", "average": True, "at_most": 0.5},
    ],
    "report.smallest_cell": 1,
}


def with_population(folder: Path, content: str, changes: dict[str, Any] | None = None) -> Path:
    (folder / "population.csv").write_text(content)
    return survey(folder, MAPPED | (changes or {}))


def test_the_population_is_part_of_the_datas_digest_and_not_of_the_policys(tmp_path: Path) -> None:
    policies, files = set(), set()
    for content in (HUNDRED, HUNDRED + "20,f\n"):
        path = with_population(tmp_path, content)
        policies.add(load_policy(path).policy.sha256)
        files.add(document(open_session(path).audit().report, "auditor")["data"]["files"]["population"])
    assert (len(policies), len(files)) == (1, 2)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("age,sex\n30,x\n", "population.csv, column 'sex'"),
        ("age,sex\n30,\n", "population.csv, column 'sex'"),
        ("age,sex\n300,f\n", "population.csv, column 'age'"),
        ("age,sex\nold,f\n", "population.csv, column 'age'"),
        ("age,sex\n30,\n40,f\n", "population.csv, column(s) 'sex'"),
        ("age,gender\n30,f\n", "population.csv"),
        ("age\n30\n", "population.csv"),
        ("age,sex,smoker\n30,f,no\n", "population.csv"),
        ("age,sex\n", "population.csv"),
        ("", "population.csv"),
    ],
)
def test_a_population_that_is_not_what_the_policy_says_is_invalid(tmp_path: Path, content: str, place: str) -> None:
    ended = leafgate("audit", with_population(tmp_path, content), "--json")
    assert (ended.code, ended.problems[0]["place"]) == (2, place)
    assert ended.problems[0]["message"]


K_MAP = {"use": "k_map", "at_least": 2}
JOURNALIST = {"use": "reidentification_risk", "among": "population", "at_most": 0.5}
NO_HELP: dict[str, tuple[str, str]] = {
    "somebody else": ("age,sex\n20,f\n", "fewer people in the population than in the table"),
    "one too few": ("age,sex\n" + "20,f\n" * 23, "fewer people in the population than in the table"),
}


@pytest.mark.parametrize("metric", [K_MAP, JOURNALIST], ids=["k-map", "journalist"])
@pytest.mark.parametrize(("content", "why"), NO_HELP.values(), ids=NO_HELP)
def test_without_a_population_as_large_as_the_tables_groups_it_cannot_be_told(
    tmp_path: Path, content: str, why: str, metric: dict[str, Any]
) -> None:
    changes = {"build.k": 24, "metrics": [metric], "data.population": "population.csv"}
    (tmp_path / "population.csv").write_text(content)
    ended = leafgate("audit", survey(tmp_path, changes), "--json")
    (found, claim) = ended.document["findings"]
    assert (ended.code, found["passed"], found["value"], claim["passed"]) == (3, None, None, True)
    assert why in found["evidence"]["problem"]
    assert "data.population" in found["evidence"]["problem"]


def test_few_people_of_the_population_are_not_counted_in_public(tmp_path: Path) -> None:
    changes = {"build.k": 24, "metrics": [K_MAP], "report.smallest_cell": 200}
    ended = leafgate("audit", with_population(tmp_path, HUNDRED, changes), "--json")
    assert ended.document["findings"][0]["value"] == {"fewer_than": 200}


def test_the_risk_of_few_people_is_not_told_in_public(tmp_path: Path) -> None:
    risk = {"use": "reidentification_risk", "at_most": 1}
    changes = {"build.k": 24, "metrics": [K_MAP, JOURNALIST, risk | {"name": "table"}], "report.smallest_cell": 200}
    ended = leafgate("audit", with_population(tmp_path, HUNDRED, changes), "--json")
    assert ended.code == 0
    items = [found["value"] for found in ended.document["findings"]]
    assert 1 / 104 not in items
    assert 1 / 24 not in items


@pytest.mark.parametrize("build", [{"use": "mondrian", "k": 2}, {"use": "tds", "k": 2}])
def test_people_on_a_cut_are_in_one_group_whether_a_tree_or_a_table_is_released(tmp_path: Path, build: Any) -> None:
    # Ages 36 and 38 are parted at 37; of the population many are 37.
    (tmp_path / "people.csv").write_text("age,ill\n" + "36,yes\n36,yes\n36,no\n38,no\n38,no\n38,no\n" * 2)
    (tmp_path / "everybody.csv").write_text("age\n" + "36\n" * 9 + "37\n" * 40 + "38\n" * 9)
    items = []
    for release in ("tree", "table"):
        columns = {
            "age": {"role": "quasi_identifier", "bounds": [30, 40]},
            "ill": {"role": ["class", "sensitive"], "values": ["yes", "no"]},
        }
        said = {
            "leafgate": 1,
            "name": "cut",
            "data": {"path": "people.csv", "population": "everybody.csv", "columns": columns},
            "build": {**build, "release": release, "prune": False},
            "attacks": [{"use": "linking"}],
            "metrics": [{"use": "k_map", "at_least": 2}],
        }
        (tmp_path / "policy.yaml").write_text(json.dumps(said))
        items.append(open_session(tmp_path / "policy.yaml").audit().report.findings[0].value)
    assert items == [9, 9]
