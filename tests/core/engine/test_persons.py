"""People are counted, not rows: where a column numbers them, one who has several rows counts once in each group."""

from __future__ import annotations

import copy
import itertools
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from command_line import leafgate
from leafgate import Release, Table
from leafgate import audit as leafgate_audit
from leafgate.algorithms.routing import route
from leafgate.app import Finding, document, open_session, summary
from reports import view
from survey import survey

COLUMNS: dict[str, Any] = {
    "patient": {"role": "person"},
    "ward": {"role": "quasi_identifier", "bounds": [0, 9]},
    "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
}
IGNORED = COLUMNS | {"patient": {"role": "ignored"}}
TREE: dict[str, Any] = {"use": "c45", "min_leaf": 1, "prune": False, "average_gain": False}
Row = tuple[str, int, bool]
"""Whose row it is, the ward and whether the person is ill there."""
VISITS = [(f"p{i}", i // 12, i % 12 < 4) for i in range(120) for _ in range(10)]
"""120 patients of ten visits each; twelve patients share a ward, four of them are ill."""


def policy(folder: Path, rows: Sequence[Row], changes: dict[str, Any]) -> Path:
    """A policy with a column that numbers the people, and these rows beside it."""
    lines = [f"{person},{ward},{'yes' if ill else 'no'}" for person, ward, ill in rows]
    people = "\n".join(["patient,ward,ill", *lines]) + "\n"
    return survey(folder, copy.deepcopy({"data.columns": COLUMNS, "build": TREE} | changes), people)


def finding(
    folder: Path, rows: Sequence[Row], metric: dict[str, Any], changes: dict[str, Any] | None = None
) -> Finding:
    report = open_session(policy(folder, rows, {"metrics": [metric]} | (changes or {}))).audit().report
    return next(each for each in report.findings if each.metric == metric["use"])


def by_brute_force(release: Release, table: Table, rows: Sequence[Row]) -> tuple[int, float]:
    """The fewest persons of a leaf, and the largest share of rows or of persons with one value, row by row."""
    leaf_of = dict(zip(table.numbers("ward").tolist(), route(release.trees[0], table).leaf.tolist(), strict=True))
    fewest, largest = len(rows), 0.0
    for leaf in set(leaf_of.values()):
        here = [row for row in rows if leaf_of[row[1]] == leaf]
        persons = {person for person, _, _ in here}
        fewest = min(fewest, len(persons))
        for value in (True, False):
            having = [person for person, _, ill in here if ill == value]
            largest = max(largest, len(having) / len(here), len(set(having)) / len(persons))
    return fewest, largest


tables = st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers(0, 4), st.booleans()), min_size=8, max_size=40)


@given(rows=tables.filter(lambda rows: len({ill for _, _, ill in rows}) == 2))
def test_k_and_confidence_are_those_of_counting_every_row(
    rows: list[Row], tmp_path_factory: pytest.TempPathFactory
) -> None:
    limits = [{"use": "k_anonymity", "at_least": 1}, {"use": "smallest_leaf", "at_least": 1}]
    limits.append({"use": "confidence", "at_most": 1})
    session = open_session(policy(tmp_path_factory.mktemp("persons"), rows, {"metrics": limits}))
    audit = session.audit()
    assert audit.artifact is not None
    fewest, largest = by_brute_force(audit.artifact.release, session.table, rows)
    found = {each.metric: each.value for each in audit.report.findings}
    assert found["k_anonymity"] == found["smallest_leaf"] == fewest
    assert found["confidence"] == pytest.approx(largest)


def test_a_table_of_120_patients_of_ten_visits_does_not_pass(tmp_path: Path) -> None:
    """Leaves of 30 rows are three patients, of whom an ill one knows nothing that rows would hide."""
    rows = [(f"p{i}", i // 3 % 10, i % 3 <= i // 3 % 2) for i in range(30) for _ in range(10)]
    rows += [(person, 8 + ward % 2, ill) for person, ward, ill in VISITS[300:]]
    limits = [{"use": "confidence", "at_most": 0.9}, {"use": "exposure", "at_most": 0, "insiders": 1}]
    by_rows = {"data.columns": COLUMNS | {"patient": {"role": "identifier"}}, "data.rows": "people"}
    changes = {"build": {**TREE, "min_leaf": 30}, "metrics": limits}
    assert leafgate("audit", policy(tmp_path, rows, changes | by_rows), "--no-remedies").code == 0
    assert leafgate("audit", policy(tmp_path, rows, changes), "--no-remedies").code == 1


def test_a_tree_whose_leaves_hold_many_persons_of_both_classes_passes(tmp_path: Path) -> None:
    limits = [
        {"use": "k_anonymity", "at_least": 10},
        {"use": "confidence", "at_most": 0.9},
        {"use": "exposure", "at_most": 0, "insiders": 1},
    ]
    result = leafgate("audit", policy(tmp_path, VISITS, {"metrics": limits, "build.min_leaf": 120}))
    assert result.code == 0
    assert "120 people in 1,200 to 1,209 rows" in result.out


def test_certain_is_who_alone_can_make_up_the_rows_of_a_value(tmp_path: Path) -> None:
    """Two ill persons of 30 rows and eight healthy ones of one: a share of .88, and everybody's value follows."""
    rows = [(person, 0, person < "c") for person in "abcdefghij" for _ in range(30 if person < "c" else 1)]
    rows += [(f"{ward}{i}", ward, i % 2 == 0) for ward in (1, 2) for i in range(20)]
    exposure = {"use": "exposure", "at_most": 0}
    found = finding(tmp_path, rows, exposure, {"build.min_leaf": 30})
    assert (found.passed, found.violations) == (False, 10)
    alike = [(person, ward, ill) for person, ward, ill in dict.fromkeys(rows)]
    assert finding(tmp_path, alike, exposure, {"build.min_leaf": 10}).passed


def test_a_varying_secret_is_certain_of_whom_has_more_rows_than_lack_the_value(tmp_path: Path) -> None:
    rows = [("a", 0, i < 4) for i in range(8)] + [(f"b{i}", 0, i % 2 == 0) for i in range(6)]
    rows += [(f"c{i}", 1, i % 5 == 0) for i in range(20)]
    varying = {"data.columns": COLUMNS | {"ill": COLUMNS["ill"] | {"varies": True}}}
    exposure = {"use": "exposure", "at_most": 0, "values": ["yes"]}
    assert finding(tmp_path, rows, exposure, varying).passed is False
    assert finding(tmp_path, rows[2:], exposure, varying).passed


def test_ids_in_several_columns_and_spellings_number_people_together(tmp_path: Path) -> None:
    columns = {"site": {"role": "person"}} | COLUMNS
    lines = [f"{site},{i} ,{i % 2},{'yes' if i < 2 else 'no'}" for site, i in itertools.product("xy", range(4))]
    lines += [line.replace(" ", "") for line in lines]
    path = survey(
        tmp_path,
        {"data.columns": columns, "build": dict(TREE), "metrics": [{"use": "k_anonymity", "at_least": 2}]},
        "site,patient,ward,ill\n" + "\n".join([*lines, ",7,0,no"]) + "\n",
    )
    report = open_session(path).audit().report
    assert (report.data["people"].count, report.data["rows"].count, report.data["without_id"].count) == (8, 17, 1)
    assert report.findings[0].value == 4


def test_rows_that_are_left_out_and_people_without_other_rows_are_told_apart(tmp_path: Path) -> None:
    """Of 12 people two miss one ward, and a third one both; one more row has no id."""
    lines = [
        f"p{i},{'' if (i, visit) in {(0, 0), (1, 0), (2, 0), (2, 1)} else i % 2},{'yes' if i < 4 else 'no'}"
        for i, visit in itertools.product(range(12), range(2))
    ]
    changes = {"data.columns": COLUMNS, "data.missing": [""], "data.on_missing": "drop", "build": TREE}
    path = survey(tmp_path, changes, "patient,ward,ill\n" + "\n".join([*lines, ",,no"]) + "\n")
    told = summary(document(open_session(path).audit().report, "auditor"))
    assert "11 people in 20 rows (5 rows left out for missing cells, all rows of 2 people among them)" in told


def test_what_leaves_count_is_called_rows(tmp_path: Path) -> None:
    rows = pd.DataFrame({"ward": np.arange(360) % 24, "sex": np.arange(360) // 24 % 2})
    ill = np.where(np.arange(360) * 7 % 11 > 4, "yes", "no")
    model = DecisionTreeClassifier(random_state=0).fit(rows, ill)
    audited = leafgate_audit(model, rows, ill, person=np.arange(360) // 3, limits={"k_anonymity": 30})
    told = document(audited.report, "auditor")
    assert b"how many rows of each value are on its leaves" in view(told, "markdown")
    texts = " ".join(remedy.text for finding in audited.report.findings for remedy in finding.remedies)
    assert re.search(r"leaves of (at least|up to) \d+ rows", texts)


def test_no_cell_of_an_id_leaves_the_audit(tmp_path: Path) -> None:
    rows = [(f"nobodysname{i // 4}", i % 3, i % 5 < 2) for i in range(80)]
    path = policy(tmp_path, rows, {"metrics": [{"use": "k_anonymity", "at_least": 50}]})
    words = ["--no-remedies", "--audience", "auditor", "--out", tmp_path / "out", "--to", "html"]
    result = leafgate("audit", path, *words)
    written = "".join(file.read_text() for file in (tmp_path / "out").iterdir())
    assert "nobodysname" not in written + result.out + result.err


@pytest.mark.parametrize(
    ("attack", "metric"),
    [
        ("loss_threshold", {"use": "membership_auc", "at_most": 0.6}),
        ("leaf_constraints", {"use": "attribute_certain", "at_most": 0}),
        ("maxent", {"use": "confidence", "at_most": 1}),
    ],
)
def test_an_attack_that_counts_rows_is_inconclusive(tmp_path: Path, attack: str, metric: dict[str, Any]) -> None:
    path = policy(tmp_path, VISITS, {"attacks": [{"use": attack}], "metrics": [metric], "data.control": "people.csv"})
    result = leafgate("audit", path)
    assert result.code in {2, 3}


def test_a_builder_that_counts_rows_is_inconclusive(tmp_path: Path) -> None:
    result = leafgate("audit", policy(tmp_path, VISITS, {"build": {"use": "mondrian", "k": 5}}))
    assert (result.code, "'mondrian' counts rows" in result.out + result.err) == (3, True)


def test_people_of_the_table_are_left_out_of_the_test_table(tmp_path: Path) -> None:
    others = [("new", 3, True), ("new", 3, True), ("newer", 4, False)]
    lines = [f"{person},{ward},{'yes' if ill else 'no'}" for person, ward, ill in [*VISITS[:50], *others]]
    (tmp_path / "test.csv").write_text("patient,ward,ill\n" + "\n".join(lines) + "\n")
    metric = {"use": "accuracy", "at_least": 0}
    found = finding(tmp_path, VISITS, metric, {"data.test": "test.csv"})
    assert found.value == pytest.approx(1 / 3)
    assert found.evidence["left_out"].count == 5
    (tmp_path / "test.csv").write_text("patient,ward,ill\n" + "\n".join(lines[:50]) + "\n")
    assert finding(tmp_path, VISITS, metric, {"data.test": "test.csv"}).passed is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data.columns": COLUMNS | {"n": {"role": "weight"}}}, "choose"),
        ({"data.rows": "people"}, "`rows: people`"),
        ({"data.rows_at_most": 9}, "some of them have more rows"),
        ({"data.columns.patient.role": "ignored", "data.rows_at_most": 9}, "`rows_at_most` needs"),
        ({"data.columns.patient.role": "ignored", "data.columns.ill.varies": True}, "`varies` of 'ill' needs"),
    ],
)
def test_what_does_not_fit_is_invalid(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    result = leafgate("audit", policy(tmp_path, VISITS, changes))
    assert (result.code, words in result.err) == (2, True)


def test_a_claim_of_differential_privacy_is_of_persons_with_a_known_number_of_rows(tmp_path: Path) -> None:
    """Ten rows of a person are ten times the epsilon of one; how many one may have is not read off the table."""
    metric = {"use": "differential_privacy", "at_most": 9, "delta": 0}
    build = {"use": "dp_laplace_trees", "trees": 8, "scale": 10, "delta": 0, "depth": 1}
    limited = {"data.rows_at_most": 10, "build": build, "metrics": [metric]}
    audit = open_session(policy(tmp_path, VISITS, limited)).audit()
    assert audit.artifact is not None
    found = {each.id: each for each in audit.report.findings}
    assert found["differential_privacy"].value == pytest.approx(8)
    assert found["guarantee:epsilon"].passed
    document = json.loads(audit.artifact.content)
    claim = {"at_most": 8.0, "delta": 0.0, "neighbours": "add_remove", "rows_at_most": 10}
    assert (document["unit"], document["guarantee"]) == ("rows", {"epsilon": claim})
    path = policy(tmp_path, VISITS, {"build": build, "metrics": [metric]})
    result = leafgate("audit", path, "--out", tmp_path / "out")
    assert (result.code, "data.rows_at_most" in result.out + result.err) == (3, True)


@pytest.mark.parametrize(
    ("changes", "code"),
    [({}, 0), ({"data.columns": IGNORED}, 3), ({"data.columns": IGNORED, "data.rows": "people"}, 0)],
)
def test_a_release_that_counts_rows_is_not_audited_as_one_of_people(
    tmp_path: Path, changes: dict[str, Any], code: int
) -> None:
    (tmp_path / "first").mkdir()
    audit = open_session(policy(tmp_path / "first", VISITS, {})).audit()
    assert audit.artifact is not None
    (tmp_path / "release.json").write_bytes(audit.artifact.content)
    path = policy(tmp_path, VISITS, {"build": {"use": "published", "path": "release.json"}} | changes)
    result = leafgate("audit", path, "--out", tmp_path / "out")
    assert result.code == code, result
    assert ("the release file counts rows" in result.out + result.err) == (code == 3)


def test_a_mean_is_one_of_persons_and_of_rows(tmp_path: Path) -> None:
    rows = [("a", 0, True)] * 9 + [(name, 5, name == "b") for name in "bcd"]
    metric = {"use": "reidentification_risk", "at_most": 0.6, "average": True}
    found = finding(tmp_path, rows, metric)
    assert found.value == pytest.approx((9 * 1 + 3 / 3) / 12)
    assert finding(tmp_path, rows, {"use": "uniques", "at_most": 0, "allow": 0.3}).passed is False


def test_a_guess_about_a_person_is_right_where_it_is_for_one_row_as_the_commonest_value_is(tmp_path: Path) -> None:
    rows = [(f"a{i}", ward, ward == 0) for i in range(4) for ward in (0, 9)]
    rows += [("b", 0, False), ("b", 9, False), ("c", 0, False), ("c", 9, False)]
    rows += [("d", 0, True), ("d", 9, True), ("e", 0, False)]  # e alone is guessed wrong, and d lacks the value "no"
    report = open_session(policy(tmp_path, rows, {"metrics": [{"use": "k_anonymity", "at_least": 2}]})).audit().report
    [guess] = report.guesses
    assert (guess.people, guess.correct, guess.majority_baseline) == (8, 7, 7)


def test_persons_are_counted_alike_by_an_engine(tmp_path: Path) -> None:
    """DuckDB groups by the columns and the person, so that nothing is lost of who has which rows."""
    pytest.importorskip("duckdb")
    draw = random.Random(5)
    rows = [(str(draw.randrange(60)), draw.randrange(10), draw.random() < 0.4) for _ in range(3000)]
    metric = {"use": "confidence", "at_most": 1}
    own, by_engine = (
        finding(tmp_path, rows, metric, {"build.min_leaf": 100, **source})
        for source in ({}, {"data.source": {"use": "duckdb"}})
    )
    assert by_engine.value == pytest.approx(own.value)
    assert by_engine.people == own.people == 60


def test_records_without_persons_are_counted_as_before() -> None:
    """The number of different people of groups is that of sets, and the sum of weights where rows are people."""
    from leafgate.api import Column, Schema, make_table, typed_column

    generator = np.random.default_rng(0)
    column = Column("ward", frozenset({"quasi_identifier"}), bounds=(0, 9))
    cells, person = generator.integers(0, 6, 200), generator.integers(-1, 30, 200)
    frame = typed_column(column, cells.tolist()).to_frame("ward")
    table = make_table(Schema((column,)), frame, person=person)
    group = (table.numbers("ward") // 2).astype(np.int64)
    expected = [len({p for p, cell in zip(person, cells, strict=True) if p >= 0 and cell // 2 == g}) for g in range(3)]
    assert table.people_by(group, 3).tolist() == expected
    assert table.people_among(group == 1) == expected[1]
    assert table.without_id == (person < 0).sum()
    assert make_table(Schema((column,)), frame).people_by(group, 3).tolist() == np.bincount(cells // 2).tolist()


def test_the_digest_of_a_policy_without_persons_stays(tmp_path: Path) -> None:
    document = open_session(survey(tmp_path)).policy.digested()
    assert not {"rows", "rows_at_most", "varies"} & set(json.dumps(document["data"]).replace('"', " ").split())
