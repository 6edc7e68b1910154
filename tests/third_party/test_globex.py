"""A stranger's package of four kinds of plugins at once works in every command.

It was written by docs/reference/plugins.md alone.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

from command_line import leafgate
from leafgate.api import Column, Leaf, Release, ReleaseError, Schema, Table, make_table, typed_column
from leafgate.testing import (
    DoesNotApply,
    KnownModel,
    Scenario,
    conformance,
    format_conformance,
    reader_conformance,
    source_conformance,
)
from stranger import announce

if TYPE_CHECKING:
    from leafgate.readers import ModelIR

PACKAGE = Path(__file__).with_name("globex_leafgate")
SAMPLES = PACKAGE / "samples"
PREDICTIONS: dict[str, Any] = json.loads((SAMPLES / "predictions.json").read_bytes())
SARIF_SCHEMA = json.loads(Path(__file__).parents[1].joinpath("support", "sarif-schema-2.1.0.json").read_bytes())

KNOWN = frozenset({"quasi_identifier"})
SECRET = frozenset({"class", "sensitive"})
COLUMNS = {
    "age": Column("age", KNOWN, bounds=(0, 120)),
    "hours": Column("hours", KNOWN, bounds=(0, 80)),
    "colour": Column("colour", KNOWN, values=("red", "green", "blue")),
    "risk": Column("risk", SECRET, values=("low", "high")),
    "plan": Column("plan", SECRET, values=("a", "b", "c")),
}
KADET = """
leafgate: 1
name: grown
data:
  path: people.sqlite
  source: {use: sqlite, table: people}
  columns:
    age:    {role: ignored}
    hours:  {role: ignored}
    colour: {role: quasi_identifier, values: [red, green, blue]}
    plan:   {role: quasi_identifier, values: [a, b, c]}
    risk:   {role: [class, sensitive], values: [low, high]}
build: {use: kadet, k: 3}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, at_least: 3}, {use: baseless_labels, at_most: 0}]
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is installed as pip would have it."""
    site = tmp_path / "site"
    site.mkdir()
    announce(site, "globex_leafgate")
    monkeypatch.syspath_prepend(site)
    monkeypatch.syspath_prepend(PACKAGE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the package's policy, the models, and the people as a SQLite file."""
    for path in (PACKAGE / "risk.yaml", *SAMPLES.glob("*.json")):
        shutil.copy(path, tmp_path)
    put_people(tmp_path, people())
    return tmp_path


def people() -> list[list[str]]:
    """The header and the rows of the people on whom the samples were trained."""
    return list(csv.reader((SAMPLES / "people.csv").read_text().splitlines()))


def put_people(folder: Path, rows: Sequence[Sequence[str]]) -> None:
    (folder / "people.sqlite").write_bytes(written(rows[0], rows[1:]))


def written(columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> bytes:
    """A SQLite file with the table `people`."""
    quoted = ", ".join(f'"{name}" TEXT' for name in columns)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE people ({quoted})")
        database.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(columns))})", rows)
        database.commit()
        return database.serialize()


def known_model(name: str) -> KnownModel:
    """A sample, and what CatBoost predicts of people at every border and next to it."""
    known = PREDICTIONS[name]
    columns = (*known["rows"][0], "plan" if name == "plan" else "risk")
    return KnownModel(
        name=name,
        content=(SAMPLES / f"{name}.json").read_bytes(),
        schema=Schema(tuple(COLUMNS[column] for column in columns)),
        rows=known["rows"],
        predictions=known["labels"],
        planted={"a key": json.dumps({**sample(name), "note": ["a-strangers-cell", 7.5]}).encode()},
    )


def sample(name: str) -> Any:
    return json.loads((SAMPLES / f"{name}.json").read_bytes())


def read(document: Any) -> ModelIR:
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    ir: ModelIR = import_module("globex_leafgate").CATBOOST.read(content, "model.json")
    return ir


def score(ir: ModelIR, row: Sequence[Any]) -> Any:
    """The sum of the leaves that a row ends in, one test at a time."""
    total = np.array(ir.base)
    for tree in ir.trees:
        node = 0
        while tree.feature[node] >= 0:
            cell = row[tree.feature[node]]
            if node in tree.subsets:
                low = cell in tree.subsets[node]
            elif cell is None:
                low = bool(np.broadcast_to(tree.missing_low, tree.feature.shape)[node])
            else:
                low = np.float32(cell) <= tree.threshold[node]
            node = int((tree.low if low else tree.high)[node])
        total = total + tree.values[node]
    return total


@pytest.mark.thorough
def test_the_reader_conforms() -> None:
    reader = import_module("globex_leafgate").CATBOOST
    for check in reader_conformance(reader, [known_model(name) for name in PREDICTIONS]):
        check()


def person_with_a_car(telling: str) -> Table:
    """One person, who is no high risk."""
    column, risk = Column("car", KNOWN, values=("yes", "no")), Column("risk", SECRET, values=("low", "high"))
    cells = {"car": typed_column(column, ["yes"]), "risk": typed_column(risk, ["low"])}
    return make_table(Schema((column, risk)), pd.DataFrame(cells))


def label_of_nobody(table: Table, telling: str) -> Release:
    """A leaf that says of everybody what nobody is."""
    return Release({"use": "by hand"}, table.schema, (Leaf("high", {"low": 1, "high": 0}),))


@pytest.mark.thorough
def test_format_source_and_metric_conform() -> None:
    csv_format = import_module("globex_leafgate").CSV
    source = import_module("globex_leafgate.sqlite_tables").Sqlite(table="people")
    rule = import_module("globex_leafgate.baseless_labels").BaselessLabels(at_most=0)
    scenario = Scenario("a label of nobody", person_with_a_car, label_of_nobody)
    checks = conformance(rule, on=[scenario])
    for check in (*format_conformance(csv_format), *source_conformance(source, written), *checks):
        with suppress(DoesNotApply):  # it measures a cost, and is of a release
            check()


@pytest.mark.parametrize("name", list(PREDICTIONS))
def test_scores_are_catboosts(name: str) -> None:
    known, ir = PREDICTIONS[name], read(sample(name))
    for row, scores in zip(known["rows"], known["scores"], strict=True):
        assert score(ir, [row[column] for column in ir.features]) == pytest.approx(scores, abs=1e-12)


def test_its_file_tells_more_than_labels(folder: Path) -> None:
    ended = leafgate("audit", folder / "risk.yaml", "--json")
    findings = {each["id"]: each for each in ended.document["findings"]}
    assert (ended.code, ended.err) == (1, "")
    assert findings["published_file"]["passed"] is False
    assert findings["file_disclosure"]["passed"] is False
    told = findings["published_file"]["evidence"]["discloses"]
    assert {"CatBoost keeps how many people end at every leaf (leaf_weights)"} < {each["says"] for each in told}
    assert "counted" not in findings
    assert ended.document["release"]["file"]["format"] == "catboost"


def test_other_people_than_those_it_counts_leave_the_audit_inconclusive(folder: Path) -> None:
    put_people(folder, people()[:-1])
    ended = leafgate("audit", folder / "risk.yaml", "--json")
    (counted,) = (each for each in ended.document["findings"] if each["id"] == "counted")
    assert counted["passed"] is None


def test_balanced_classes_weigh_people() -> None:
    document = sample("risk")
    document["model_info"]["params"]["data_processing_options"]["auto_class_weights"] = "Balanced"
    ir = read(document)
    assert {number.kind for tree in ir.trees for number in tree.numbers} == {"weight"}
    assert "what the people of every leaf weigh" in " ".join(each.says for each in ir.discloses)


def online_statistics(document: Any) -> None:
    document["oblivious_trees"][0]["splits"][0]["split_type"] = "OnlineCtr"


def other_loss(document: Any) -> None:
    document["model_info"]["params"]["loss_function"]["type"] = "RMSE"


def lopsided(document: Any) -> None:
    document["trees"] = document.pop("oblivious_trees")


def huge(document: Any) -> None:
    tree = document["oblivious_trees"][0]
    tree["splits"] = tree["splits"] * 30


def another_threshold(document: Any) -> None:
    document["model_info"]["binclass_probability_threshold"] = 0.9


@pytest.mark.parametrize("change", [online_statistics, other_loss, lopsided, huge, another_threshold])
def test_what_it_does_not_understand_is_refused(change: Any) -> None:
    document = sample("risk")
    change(document)
    with pytest.raises(ReleaseError, match=r"model\.json: is a model of CatBoost that cannot be read: .* \(.*\)"):
        read(document)


def test_content_that_nobody_needs_is_disclosed() -> None:
    document = sample("colour")
    document["features_info"]["float_features"][0]["feature_name"] = "Jane Smith, HIV"
    document["features_info"]["float_features"][0]["borders"].append(61.25)
    says = " ".join(each.says for each in read(document).discloses)
    assert "features_info.feature_name" in says
    assert "borders that no tree uses" in says
    assert "Jane" not in says


def test_reports_for_both_audiences_and_as_sarif(folder: Path) -> None:
    files = {}
    for audience in ("public", "auditor"):
        words = ("--out", folder / audience, "--audience", audience, "--to", "csv", "--to", "sarif")
        assert leafgate("audit", folder / "risk.yaml", *words).code == 1
        files[audience] = list(csv.DictReader(io.StringIO((folder / audience / "report.csv").read_bytes().decode())))
        report = json.loads((folder / audience / "report.json").read_bytes())
        assert [each["finding"] for each in files[audience]] == [each["id"] for each in report["findings"]]
        assert report["versions"]["globex-leafgate"] == "1.0"
        sarif = json.loads((folder / audience / "report.sarif").read_bytes())
        jsonschema.validate(sarif, SARIF_SCHEMA)
        assert "CatBoost keeps how many people" in json.dumps(sarif)
    assert [each["result"] for each in files["public"]] == ["passed", *["failed"] * (len(files["auditor"]) - 1)]


def test_a_leaf_without_base_fails_and_the_public_reads_no_reason(folder: Path) -> None:
    (folder / "grown.yaml").write_text(KADET)
    assert leafgate("audit", folder / "grown.yaml", "--out", folder / "out").code == 0
    header, *rows = people()
    risk = header.index("risk")
    all_high = ([*row[:risk], "high", *row[risk + 1 :]] for row in rows)
    put_people(folder, [header, *all_high, [*rows[0][:risk], "low", *rows[0][risk + 1 :]]])
    published = KADET.replace("{use: kadet, k: 3}", "{use: published, path: out/release.json}")
    (folder / "published.yaml").write_text(published)
    found = {}
    for audience in ("public", "auditor"):
        words = ("--out", folder / audience, "--audience", audience, "--to", "csv")
        assert leafgate("audit", folder / "published.yaml", *words).code == 1
        findings = json.loads((folder / audience / "report.json").read_bytes())["findings"]
        (found[audience],) = (each for each in findings if each["id"] == "baseless_labels")
    assert found["auditor"]["evidence"]["labels"] == ["low"]
    assert "labels" not in found["public"]["evidence"]
    assert "\nbaseless_labels,failed," in (folder / "public" / "report.csv").read_text()


def test_a_read_model_can_be_converted_and_scrubbed(folder: Path) -> None:
    assert leafgate("convert", folder / "plan.json", folder / "neutral.json").code == 0
    assert json.loads((folder / "neutral.json").read_bytes())["from"] == "catboost"
    ended = leafgate("scrub", folder / "risk.json", folder / "scrubbed.json", "--leaves", "shares")
    assert (ended.code, "predicts the same as what was read of" in ended.out) == (0, True)
    assert "leaf_weights" not in (folder / "scrubbed.json").read_text()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("CREATE VIEW people AS SELECT 1", "has no table 'people'"),
        ("PRAGMA journal_mode=WAL", "is a SQLite file with a write-ahead log"),
    ],
)
def test_views_and_unfinished_files_are_refused(folder: Path, source: str, text: str) -> None:
    path = folder / "people.sqlite"
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute(source)
        database.commit()
    ended = leafgate("audit", folder / "risk.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert f"leafgate: people.sqlite: {text}" in ended.err
