"""Columns that may number the people are asked about where limits that are counted by them break."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import leafgate
from command_line import leafgate as command
from leafgate.api import ABOUT_GROUPS, AtLeast, InvalidError, LargeTable, Score, ScoringContext, Table, Unit
from leafgate.io.tables import reader
from leafgate.kernel.person_columns import is_personal, names_persons, suspected_persons
from leafgate.kernel.policy import Data
from leafgate_plugins.engines.duckdb import DuckDb
from survey import survey

COLUMNS: dict[str, Any] = {
    "patient": {"role": "identifier"},
    "ward": {"role": "quasi_identifier", "bounds": [0, 9]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}
TREE: dict[str, Any] = {"use": "c45", "min_leaf": 1, "prune": False, "average_gain": False}
VISITS = [(f"p{i}", i // 12, i % 12 < (2, 8)[i // 12 % 2]) for i in range(120) for _ in range(10)]
"""120 patients of ten visits each; twelve patients share a ward, two or eight of them are ill."""
PERSONS = """
patient patient_id PatientID pid patid subject Subject subject_id subj_no participant person person_id personid
customer customer_id CustomerId custid client client_no member memberNumber household household_id hhid hh_id id
ID uid user user_id userID student studentid student_number pupil_id employee EmployeeNumber emp_no worker_id
respondent respondent_id case case_id caseno claimant beneficiary_id policyholder borrower_id applicant donor_id
account account_no acct_id mrn ssn individual indiv_id insured_id pseudonym farmer_id tenant_id
"""
OTHERS = """
age sex visit visit_id visit_no date postal_code zip zipcode region region_id hospital hospital_id ward ward_no
state country_code year month income education education_num household_size number_of_children children cases
patients_per_day customer_age session_id order_no product_id item_code school_id class_id team trial_no height
diagnosis_code ICD10 store_id row_id record_no transaction_id department_id occupation score group userspace
"""


def policy(folder: Path, rows: Sequence[tuple[str, int, bool]], changes: dict[str, Any]) -> Path:
    lines = [f"{person},{ward},{'yes' if ill else 'no'}" for person, ward, ill in rows]
    limits = [{"use": "k_anonymity", "at_least": 20}]
    document = {"data.columns": copy.deepcopy(COLUMNS), "build": TREE, "metrics": limits} | changes
    return survey(folder, document, "\n".join(["patient,ward,ill", *lines]) + "\n")


def test_at_least_95_percent_of_usual_names_of_persons_are_known_and_no_other_names() -> None:
    assert sum(map(names_persons, PERSONS.split())) >= 0.95 * len(PERSONS.split())
    assert [name for name in OTHERS.split() if names_persons(name)] == []


@pytest.mark.parametrize("role", ["identifier", "ignored", "quasi_identifier"])
def test_a_column_by_which_a_limit_breaks_is_asked_about(tmp_path: Path, role: str) -> None:
    columns = COLUMNS | {"patient": {"role": role, **({"values": None} if role == "quasi_identifier" else {})}}
    columns["patient"] = {key: value for key, value in columns["patient"].items() if value is not None}
    result = command("audit", policy(tmp_path, VISITS, {"data.columns": columns, "build.min_leaf": 60}))
    assert result.code == 3
    assert "persons#patient" in result.out
    assert "some values of 'patient' stand in several rows" in result.out
    assert "k_anonymity@linking#ill" in result.out
    assert "p17" not in result.out


@pytest.mark.parametrize(
    ("name", "cell", "asked"),
    [
        ("nr", "{}", True),
        ("code", "x{}", True),
        ("town", "t{}", False),
        ("plz", "1{:04}", False),
        ("seen", "2026-01-{:02}", False),
    ],
)
def test_an_identifier_that_repeats_is_asked_about_unless_it_is_a_place_or_a_day(
    name: str, cell: str, asked: bool, tmp_path: Path
) -> None:
    lines = [f"{cell.format(int(person[1:]) % 28)},{ward},{'yes' if ill else 'no'}" for person, ward, ill in VISITS]
    columns = {name: {"role": "identifier"}, "ward": COLUMNS["ward"], "ill": COLUMNS["ill"]}
    document = {"data.columns": columns, "build": TREE | {"min_leaf": 60}}
    limits = {"metrics": [{"use": "k_anonymity", "at_least": 20}]}
    result = command("audit", survey(tmp_path, document | limits, "\n".join([f"{name},ward,ill", *lines]) + "\n"))
    assert (result.code, f"persons#{name}" in result.out) == ((3, True) if asked else (0, False))


def test_a_column_is_asked_about_that_goes_one_to_one_with_another(tmp_path: Path) -> None:
    lines = [f"{person},{ward},{person[1:]},{'yes' if ill else 'no'}" for person, ward, ill in VISITS]
    (tmp_path / "visits.csv").write_text("\n".join(["patient,ward,born,ill", *lines]) + "\n")
    assert '"patient": {role: person}' in command("init", tmp_path / "visits.csv", "--class", "ill").out


@pytest.mark.parametrize(("people", "asked"), [(60, True), (20, False)])
def test_a_first_policy_asks_about_a_number_of_something_with_many_values(
    people: int, asked: bool, tmp_path: Path
) -> None:
    lines = [f"{i},{i % 5},{'ny'[i % 2]}" for i in range(people) for _ in range(8)]
    (tmp_path / "visits.csv").write_text("\n".join(["nr,ward,ill", *lines]) + "\n")
    assert ('"nr": {role: person}' in command("init", tmp_path / "visits.csv", "--class", "ill").out) == asked


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"data.rows": "people"}, 0),
        ({"data.columns": COLUMNS | {"patient": {"role": "person"}}}, 1),
    ],
)
def test_what_a_row_is_settles_it(tmp_path: Path, changes: dict[str, Any], code: int) -> None:
    result = command("audit", policy(tmp_path, VISITS, changes), "--no-remedies")
    assert result.code == code
    assert "persons#" not in result.out


class Sizes(AtLeast):
    """The sizes of groups, by a metric that does not say that it counts persons."""

    use: Literal["sizes"] = "sizes"
    judges = ABOUT_GROUPS
    groups_only = True
    unit = Unit.PEOPLE

    def score(self, case: ScoringContext) -> Score:
        return Score(people=case.sizes)


def test_a_limit_that_counts_rows_alone_is_not_judged_by_the_column() -> None:
    table = pd.DataFrame(VISITS, columns=["patient", "ward", "ill"])
    answers = np.where(table.pop("ill"), "yes", "no")
    tree = DecisionTreeClassifier(min_samples_leaf=120, random_state=0).fit(table[["ward"]], answers)
    audit = leafgate.audit(tree, table, answers, roles={"patient": "identifier"}, limits=[Sizes(at_least=10)])
    [doubt] = [each for each in audit.report.findings if each.metric == "persons"]
    assert audit.verdict == "inconclusive"
    assert doubt.evidence["reason"].endswith("could not be judged: sizes@linking#class")


def test_a_column_that_an_engine_drops_is_asked_about(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    limits = [{"use": "k_anonymity", "at_least": 10}]
    changes = {"metrics": limits, "build.min_leaf": 120, "data.source": {"use": "duckdb"}}
    result = command("audit", policy(tmp_path, VISITS, changes))
    assert result.code == 3
    assert "persons#patient" in result.out
    settled = command("audit", policy(tmp_path, VISITS, changes | {"data.rows": "people"}))
    assert settled.code == 0


@pytest.mark.parametrize(("people", "asked"), [(120, True), (40, False)])
def test_a_public_number_of_what_it_does_not_say_is_asked_about_if_it_has_many_values(
    people: int, asked: bool, tmp_path: Path
) -> None:
    lines = [f"{int(person[1:]) % people},{ward},{'yes' if ill else 'no'}" for person, ward, ill in VISITS]
    columns = {"nr": {"role": "quasi_identifier", "bounds": [0, 119]}, "ward": COLUMNS["ward"], "ill": COLUMNS["ill"]}
    document = {"data.columns": columns, "build": TREE | {"min_leaf": 60}}
    limits = {"metrics": [{"use": "k_anonymity", "at_least": 20}]}
    result = command("audit", survey(tmp_path, document | limits, "\n".join(["nr,ward,ill", *lines]) + "\n"))
    assert ("persons#nr" in result.out) == asked


@pytest.mark.parametrize(("name", "asked"), [("patient", True), ("ward_id", False), ("visit", False)])
def test_a_public_column_of_a_table_in_blocks_is_asked_about_as_in_memory(
    name: str, asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    lines = [f"{i % 60},{ward},{'yes' if ill else 'no'}" for i, (_, ward, ill) in enumerate(VISITS)]
    (tmp_path / "visits.csv").write_text("\n".join([f"{name},ward,ill", *lines]) + "\n")
    columns = {name: {"role": "quasi_identifier"}, "ward": COLUMNS["ward"], "ill": COLUMNS["ill"]}
    data = Data.model_validate_json(json.dumps({"columns": columns})).model_copy(update={"source": DuckDb()})
    path = tmp_path / "visits.csv"
    in_memory = reader.read_any_table(data, data.meaning(), path)
    monkeypatch.setattr(reader, "MOST_IN_MEMORY", 0)
    in_blocks = reader.read_any_table(data, data.meaning(), path)
    assert (type(in_memory), type(in_blocks)) == (Table, LargeTable)
    assert [*in_memory.suspected] == [*in_blocks.suspected] == [name] * asked


def test_where_limits_hold_by_the_column_too_there_is_a_note(tmp_path: Path) -> None:
    limits = [{"use": "k_anonymity", "at_least": 10}]
    result = command("audit", policy(tmp_path, VISITS, {"metrics": limits, "build.min_leaf": 120}))
    assert result.code == 0
    assert "some values of 'patient' stand in several rows" in result.out


def test_a_column_whose_values_do_not_repeat_is_not_asked_about(tmp_path: Path) -> None:
    rows = [(f"{person}v{i}", ward, ill) for i, (person, ward, ill) in enumerate(VISITS)]
    result = command("audit", policy(tmp_path, rows, {}))
    assert result.code == 0
    assert "stand in several rows" not in result.out


def test_spellings_of_one_id_are_one_person(tmp_path: Path) -> None:
    spelled = ["{}", "{} ", "{}.", "\u200b{}"]
    rows = [(spelled[i % 4].format(person), ward, ill) for i, (person, ward, ill) in enumerate(VISITS)]
    columns = COLUMNS | {"patient": {"role": "person"}}
    result = command("audit", policy(tmp_path, rows, {"data.columns": columns}), "--no-remedies")
    assert "120 people in" in result.out


SPELLINGS: dict[str, tuple[str, str]] = {
    "digits after the point": ("{}", "{}.0"),
    "case": ("p{}", "P{}"),
    "zeros": ("{}", "00{}"),
    "compatibility": ("a{}", "\uff21{}"),
}
"""Two ways to write one id, which may be two people's."""


def spelled_twice(folder: Path, ways: tuple[str, str], column: dict[str, Any], changes: dict[str, Any]) -> Path:
    """120 people with two rows each, whose ids are written in two ways; twelve share a ward."""
    rows = [(way.format(i), i // 12, i % 12 < (2, 8)[i // 12 % 2]) for i in range(120) for way in ways]
    return policy(folder, rows, {"data.columns": COLUMNS | {"patient": column}, "build.min_leaf": 24} | changes)


@pytest.mark.parametrize("role", ["person", "identifier", "key", "ignored"])
@pytest.mark.parametrize("way", SPELLINGS)
def test_limits_are_judged_again_with_ids_that_are_spelled_alike_as_one(role: str, way: str, tmp_path: Path) -> None:
    result = command("audit", spelled_twice(tmp_path, SPELLINGS[way], {"role": role}, {}), "--no-remedies")
    assert (result.code, "persons#patient" in result.out) == (3, True)
    assert "counted as one person's, these limits do not hold: k_anonymity@linking#ill" in result.out
    limits = [{"use": "k_anonymity", "at_least": 10}]
    held = command("audit", spelled_twice(tmp_path, SPELLINGS[way], {"role": role}, {"metrics": limits}))
    assert held.code == 0
    assert ("ids of 'patient' are alike but for" in held.out) == (role in ("person", "key"))


@pytest.mark.parametrize("role", ["person", "key"])
def test_ids_that_a_policy_calls_distinct_are_different_people(role: str, tmp_path: Path) -> None:
    column = {"role": role, "distinct": [[f"p{i}", f"P{i}"] for i in range(120)]}
    result = command("audit", spelled_twice(tmp_path, SPELLINGS["case"], column, {}), "--no-remedies")
    assert (result.code, "are alike" in result.out) == (0, False)


def test_more_rows_than_a_policy_says_are_refused_of_ids_that_are_spelled_alike(tmp_path: Path) -> None:
    changes = {"data.rows_at_most": 1}
    result = command("audit", spelled_twice(tmp_path, SPELLINGS["zeros"], {"role": "person"}, changes))
    assert result.code == 2
    assert "with ids that are spelled alike" in result.err
    assert command("audit", spelled_twice(tmp_path, ("a{}", "b{}"), {"role": "person"}, changes)).code == 0


def test_keys_that_differ_in_blanks_or_marks_at_the_end_alone_are_refused(tmp_path: Path) -> None:
    result = command("audit", spelled_twice(tmp_path, ("p{}", "p{} ."), {"role": "key"}, {}))
    assert result.code == 2
    assert "the same as an earlier key" in result.err


@pytest.mark.parametrize(
    ("name", "role", "cell", "asked"),
    [
        ("record_id", "identifier", "{}", True),
        ("study_id", "ignored", "{}", True),
        ("hospital_no", "identifier", "{}", True),
        ("hospital_id", "identifier", "{}", False),
        ("hospital_no", "ignored", "{}", True),
        ("serial", "identifier", "{}", True),
        ("email", "ignored", "p{}@example.org", True),
        ("visit_id", "identifier", "{}", False),
        ("district_no", "identifier", "{}", False),
        ("district_no", "ignored", "{}", False),
        ("occupation", "ignored", "job {}", False),
        ("patient", "identifier", "{}.5", True),
        ("patient", "quasi_identifier", "{}.5", False),
    ],
)
def test_dropped_columns_are_asked_about_whose_names_may_be_those_of_peoples_numbers(
    name: str, role: str, cell: str, asked: bool
) -> None:
    rows = pd.Series(2, [cell.format(i) for i in range(60)])
    identifiers = frozenset([name] if role == "identifier" or (role == "ignored" and is_personal(name)) else [])
    assert ([*suspected_persons({name: rows}, identifiers)] == [name]) == asked


def test_a_fraction_among_many_ids_and_few_repeated_numbers_change_nothing() -> None:
    rows = pd.Series([2] * 60, ["1.5", *map(str, range(59))])
    assert [*suspected_persons({"patient": rows}, frozenset())] == ["patient"]
    few = pd.Series([2, 2, *[1] * 58], [*map(str, range(60))])
    assert [*suspected_persons({"nhs_no": few, "surname": few}, frozenset(["nhs_no", "surname"]))] == ["nhs_no"]


@pytest.mark.parametrize("way", SPELLINGS)
def test_init_counts_ids_that_are_spelled_alike_as_one_person(way: str, tmp_path: Path) -> None:
    rows = [f"{each.format(i)},{i // 12},{'ny'[i % 2]}" for i in range(120) for each in SPELLINGS[way]]
    (tmp_path / "visits.csv").write_text("\n".join(["patient,ward,ill", *rows]) + "\n")
    assert '"patient": {role: person}' in command("init", tmp_path / "visits.csv", "--class", "ill").out


def test_python_warns_of_an_index_with_repeated_labels() -> None:
    table = pd.DataFrame(VISITS, columns=["patient", "ward", "ill"]).set_index("patient")
    answers = np.where(table.pop("ill"), "yes", "no")
    tree = DecisionTreeClassifier(min_samples_leaf=120, random_state=0).fit(table, answers)
    repeated, by_index, unique = (
        leafgate.audit(tree, rows, answers, limits={"k_anonymity": 10}, person=person)
        for rows, person in ((table, None), (table, table.index), (table.reset_index(drop=True), None))
    )
    asked = [any("labels of its index" in each for each in audit.warnings) for audit in (repeated, by_index, unique)]
    assert asked == [True, False, False]


def test_init_writes_the_role_person_and_proposes_limits_for_persons(tmp_path: Path) -> None:
    lines = [f"{person},{ward},{'yes' if ill else 'no'}" for person, ward, ill in VISITS]
    (tmp_path / "visits.csv").write_text("\n".join(["patient,ward,ill", *lines]) + "\n")
    written = command("init", tmp_path / "visits.csv", "--class", "ill").out
    assert '"patient": {role: person}' in written
    assert "k: 5 " in written
    (tmp_path / "visits.yaml").write_text(written)
    result = command("audit", tmp_path / "visits.yaml")
    assert result.code == 0
    assert "120 people in" in result.out


def test_python_takes_whose_the_rows_are() -> None:
    table = pd.DataFrame(VISITS, columns=["patient", "ward", "ill"])
    answers = np.where(table["ill"], "yes", "no")
    tree = DecisionTreeClassifier(min_samples_leaf=60, random_state=0).fit(table[["ward"]], answers)
    limits = {"k_anonymity": 20}
    by_rows, by_persons = (
        leafgate.audit(tree, table[["ward"]], answers, limits=limits, person=person)
        for person in (None, table["patient"])
    )
    assert (by_rows.verdict, by_persons.verdict) == ("pass", "fail")
    with pytest.raises(InvalidError, match="there is no column 'pat'"):
        leafgate.audit(tree, table[["ward"]], answers, person="pat")
