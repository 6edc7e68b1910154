from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from components import built_by, new_attack, new_builder, new_metric
from leafgate import Release, Table
from leafgate.api import AdversaryKnowledge, Belief, Records, ScoringContext
from leafgate.app import serialize
from leafgate.testing import grant_knowledge
from oracles import Cell, People, people_of, persons
from random_tables import categorical, numeric, table_of, tables
from scoring import scores_of_people
from survey import PEOPLE, ROWS, survey

NO_CLASS: dict[str, Any] = {"build": {"use": "table"}, "data.columns.ill.role": "sensitive"}
LIMITS: list[dict[str, Any]] = [
    {"use": "k_anonymity", "at_least": 2},
    {"use": "confidence", "at_most": 1},
    {"use": "l_diversity", "form": "distinct", "at_least": 1},
]


def released(table: Table, columns: Sequence[str] | None = None) -> Release:
    """What the file of the published table says."""
    options = new_builder("table", columns=None if columns is None else tuple(columns))
    return serialize(options.build(table, np.random.default_rng(0))).release


def records_of(release: Release) -> Records:
    assert release.records is not None
    return release.records


def alike(table: Table, columns: Sequence[str]) -> list[tuple[int, People]]:
    """Each record's row, with the people who have the same public cells as far as these columns tell."""
    public = [column.name for column in table.schema.public if column.name in columns]
    groups: dict[Hashable, People] = {}
    for person, n in people_of(table):
        groups.setdefault(tuple(person[name] for name in public), []).append((person, n))
    keys = [tuple(person[name] for name in public) for person in persons(table.frame)]
    return [(row, groups[key]) for row, key in enumerate(keys)]


def shares(people: People, secret: str) -> dict[Cell, float]:
    """The shares of the secret among some people."""
    total = sum(n for _, n in people)
    found: dict[Cell, float] = {}
    for person, n in people:
        found[person[secret]] = found.get(person[secret], 0.0) + n / total
    return found


@st.composite
def tables_and_columns(draw: st.DrawFn) -> tuple[Table, list[str]]:
    """A table whose class is a secret, and some of its columns in any order."""
    table = draw(tables(public_class=False))
    names = [column.name for column in table.schema.columns]
    return table, draw(st.lists(st.sampled_from(names), min_size=1, unique=True))


def cases(release: Release, table: Table, known: AdversaryKnowledge) -> list[tuple[Belief, ScoringContext]]:
    beliefs = new_attack("linking").infer(release, known)
    return [(belief, ScoringContext(table, None, release, known, belief)) for belief in beliefs]


@given(tables())
def test_a_raw_table_protects_as_far_as_people_share_their_public_cells(table: Table) -> None:
    names = [column.name for column in table.schema.columns]
    for belief, case in cases(released(table), table, grant_knowledge(table)):
        k = scores_of_people(new_metric("k_anonymity", at_least=1), case)
        secret = getattr(belief, "secret", None)
        found = None if secret is None else scores_of_people(new_metric("confidence", at_most=1), case)
        diverse = (
            None if secret is None else scores_of_people(new_metric("l_diversity", form="distinct", at_least=1), case)
        )
        for row, people in alike(table, names):
            assert k[row] == sum(n for _, n in people)
            if secret is not None and found is not None and diverse is not None:
                result = shares(people, secret)
                assert found[row] == pytest.approx(max(result.values()))
                assert diverse[row] == len(result)


@given(tables_and_columns(), st.booleans())
def test_columns_that_are_left_out_link_nobody_and_tell_nothing(
    drawn: tuple[Table, list[str]], distribution: bool
) -> None:
    table, names = drawn
    release, known = released(table, names), grant_knowledge(table, distribution=distribution)
    assert records_of(release).columns == tuple(names)
    for belief, case in cases(release, table, known):
        k, secret = scores_of_people(new_metric("k_anonymity", at_least=1), case), getattr(belief, "secret", None)
        for row, people in alike(table, names):
            assert k[row] == sum(n for _, n in people)
            if secret is None:
                continue
            domain = table.schema[secret].domain
            result = shares(people, secret)
            if secret not in names:
                result = shares(people_of(table), secret) if distribution else dict.fromkeys(domain, 1 / len(domain))
            assert case.posterior.to_numpy()[row].tolist() == pytest.approx(
                [result.get(value, 0.0) for value in domain]
            )


@given(tables_and_columns())
def test_the_records_are_the_table_cell_by_cell(drawn: tuple[Table, list[str]]) -> None:
    table, names = drawn
    expected: dict[Hashable, int] = {}
    for person, n in people_of(table):
        cells = tuple(person[name] for name in names)
        expected[cells] = expected.get(cells, 0) + n
    records = records_of(released(table, names))
    assert dict(zip(records.rows, records.weight, strict=True)) == expected
    assert len(records.rows) == len(expected)


@pytest.mark.parametrize(("columns", "place"), [(["sex", "height"], 1), (["sex", "sex"], 1), (["nobody"], 0)])
def test_a_column_that_is_not_there_or_there_twice_is_refused_with_its_place(
    tmp_path: Path, columns: list[str], place: int
) -> None:
    ended = leafgate("audit", survey(tmp_path, {"build": {"use": "table", "columns": columns}}), "--json")
    assert ended.code == 2
    (problem,) = ended.problems
    assert problem["place"] == f"build.columns[{place}]"
    assert problem["remedy"]


def test_columns_that_builders_never_see_are_not_there_either(tmp_path: Path) -> None:
    said = {"build": {"use": "table", "columns": ["age", "smoker"]}, "data.columns.smoker": {"role": "identifier"}}
    ended = leafgate("audit", survey(tmp_path, said), "--json")
    assert (ended.code, ended.problems[0]["place"]) == (2, "build.columns[1]")


def test_an_empty_list_of_columns_does_not_publish_all_of_them(tmp_path: Path) -> None:
    assert leafgate("audit", survey(tmp_path, {"build": {"use": "table", "columns": []}})).code == 2


def test_a_public_class_that_is_not_published_links_nobody(tmp_path: Path) -> None:
    # Twelve of each sex; five or seven of them are of one class, which no record shows.
    changes = {"data.columns.ill.role": ["class", "quasi_identifier"], "data.columns.smoker.role": "sensitive"}
    build = {"use": "table", "columns": ["sex"]}
    policy = survey(tmp_path, changes | {"build": build, "metrics": [{"use": "k_anonymity", "at_least": 12}]})
    assert leafgate("audit", policy).code == 0


# from end to end


def findings(policy: Path) -> list[dict[str, Any]]:
    """What an audit finds, whoever built the release."""
    ended = leafgate("audit", policy, "--json")
    assert ended.code == 0
    return [
        {key: result for key, result in finding.items() if key != "where"} for finding in ended.document["findings"]
    ]


@pytest.mark.parametrize("said", [{"build": {"use": "table"}}, NO_CLASS], ids=["class", "no class"])
def test_the_written_release_is_found_to_protect_as_the_table_did(tmp_path: Path, said: dict[str, Any]) -> None:
    changes = said | {"metrics": LIMITS}
    built = findings(survey(tmp_path, changes))
    assert leafgate("build", survey(tmp_path, changes), "--out", tmp_path / "release.json").code == 0
    again = findings(survey(tmp_path, changes | {"build": {"use": "published", "path": "release.json"}}))
    assert [finding["id"].split("@")[0] for finding in built] == ["k_anonymity", "confidence", "l_diversity"]
    assert again == built


def test_a_table_without_a_class_says_so_in_its_file(tmp_path: Path) -> None:
    policy = survey(tmp_path, NO_CLASS)
    assert leafgate("build", policy, "--out", tmp_path / "release.json").code == 0
    document = json.loads((tmp_path / "release.json").read_text())
    assert (document["target"], document["classes"], document["trees"], document["model"]) == (None, [], [], "none")
    assert document["records"]["columns"] == ["age", "sex", "smoker", "ill"]
    assert sum(document["records"]["weight"]) == len(ROWS)


def test_the_auditor_reads_how_many_share_their_public_cells(tmp_path: Path) -> None:
    # Ages 20 to 50 by sex: eight combinations of three people each.
    changes = NO_CLASS | {"metrics": [{"use": "k_anonymity", "at_least": 4}], "report": {"smallest_cell": 1}}
    ended = leafgate("audit", survey(tmp_path, changes), "--json")
    (finding,) = ended.document["findings"]
    assert ended.code == 1
    assert (finding["id"], finding["value"], finding["beyond"]) == ("k_anonymity@linking#ill", 3, len(ROWS))


def test_the_report_says_how_many_records_there_are(tmp_path: Path) -> None:
    distinct = len(set(ROWS))
    policy = survey(tmp_path, NO_CLASS)
    assert "release by table: 10 to 24 records, sha256" in leafgate("audit", policy).out
    leafgate("audit", policy, "--out", tmp_path / "out", "--audience", "auditor")
    release = json.loads((tmp_path / "out" / "report.json").read_bytes())["release"]
    assert (release["records"], release["trees"], release["leaves"]) == (distinct, 0, 0)


def test_a_secret_that_is_not_published_keeps_the_prior(tmp_path: Path) -> None:
    # Evenly between yes and no; with the distribution, as many as are ill of the 24, or are not.
    ill = sum(row.endswith(",yes") for row in ROWS) / len(ROWS)
    metrics = [{"use": "confidence", "at_most": 0.999}]
    changes = {"build": {"use": "table", "columns": ["age", "sex", "smoker"]}, "metrics": metrics}
    for more, expected in (({}, 0.5), ({"knows": {"distribution": True}}, max(ill, 1 - ill))):
        policy, out = survey(tmp_path, changes | more), tmp_path / "out"
        leafgate("audit", policy, "--out", out, "--audience", "auditor")
        (finding,) = json.loads((out / "report.json").read_text())["findings"]
        assert finding["value"] == pytest.approx(expected)


def test_there_is_no_accuracy_without_a_tree(tmp_path: Path) -> None:
    (tmp_path / "others.csv").write_text(PEOPLE)
    changes = {"metrics": [{"use": "accuracy", "at_least": 0.5}], "data.test": "others.csv"}
    for said in ({"build": {"use": "table"}}, NO_CLASS):
        ended = leafgate("audit", survey(tmp_path, said | changes), "--json")
        finding = ended.document["findings"][-1]
        assert (ended.code, finding["passed"]) == (3, None)
        assert "no model" in finding["evidence"]["problem"]


@pytest.mark.parametrize("builder", ["mondrian", "tds"])
def test_a_private_number_that_is_missing_is_published_as_missing(builder: str) -> None:
    columns = [
        categorical("a", "quasi_identifier", values=("x", "y")),
        numeric("z", "private", missing=True),
        categorical("y", "class", "sensitive", values=("good", "bad")),
    ]
    table = table_of(columns, [("x", 2.0, "good"), ("x", None, "bad"), ("y", None, "good")])
    result = records_of(built_by(builder, table, k=1, release="table"))
    assert sorted(str(row[1]) for row in result.rows) == ["2.0", "None", "None"]
