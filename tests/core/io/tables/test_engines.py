"""Engines count the same records as the core reads, and say the same of what is wrong."""

from __future__ import annotations

import itertools
import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from data_files import DATA
from engine_files import CELLS, COLUMNS, SPARK, described, files, section
from leafgate import DataError, InconclusiveError, LeafgateError, PolicyError
from leafgate.api import DataEngine
from leafgate.api.data_engines import DataLocation
from leafgate.app import load_policy
from leafgate.io.tables import reader
from leafgate.io.tables.csv import read_csv
from leafgate.io.tables.digest import digest_records
from leafgate.io.tables.reader import read_population, read_table
from leafgate.kernel.policy import CsvOptions, Data
from leafgate_plugins.engines.duckdb import DuckDb
from leafgate_plugins.engines.polars import Polars
from survey import survey

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
pytest.importorskip("polars", reason="Polars is not installed")

POLICIES = Path(__file__).resolve().parents[4] / "policies"
ENGINES = [pytest.param(DuckDb(), id="duckdb"), pytest.param(Polars(), id="polars"), SPARK]


def duckdb_in(folder: Path, **options: Any) -> DuckDb:
    return DuckDb.model_validate({"use": "duckdb", **options}, context={"root": folder})


def outcome(data: Data, path: Path | None) -> tuple[Any, ...] | str:
    """Everything that a Table holds but the digest of the bytes; or the error."""
    try:
        table = read_table(data, data.meaning(), path)
    except LeafgateError as error:
        return f"{type(error).__name__}: {error}"
    return described(table)


@pytest.mark.parametrize("engine", ENGINES[:2])
@pytest.mark.parametrize("counts", ["people", "rows"])
@given(files())
@pytest.mark.thorough
def test_an_engine_counts_the_cells_of_every_column_as_the_core_does(
    engine: DataEngine, counts: str, file: str
) -> None:
    """Of dropped columns and people, too, and never missing cells; by hand the people of each text are added up."""
    times = COLUMNS["times"] | {"counts": counts, "reason": COLUMNS["times"]["reason"] if counts == "people" else None}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        path.write_text(file)
        data = [section(source, columns=COLUMNS | {"times": times}) for source in (None, engine)]
        try:
            tables = [read_table(each, each.meaning(), path, count_cells=True) for each in data]
        except DataError:
            return  # a cell that is none of its column's
        raw = pd.read_csv(path, dtype=str, keep_default_na=False)
    people = raw["times"].astype(int) if counts == "people" else pd.Series(1, index=raw.index)
    for name in COLUMNS:
        expected: dict[str, int] = {}
        for text, number in zip(raw[name], people, strict=True):
            if text != "?":
                expected[text] = expected.get(text, 0) + int(number)
        assert [each.cell_counts[name].to_dict() for each in tables] == [expected, expected]  # type: ignore[union-attr]


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ENGINES[:2])
@pytest.mark.parametrize("on_missing", ["drop", "keep", None])
@given(files())
def test_an_engine_returns_the_table_or_the_error_of_the_core(
    engine: DataEngine, on_missing: str | None, file: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        path.write_text(file)
        ours = section(on_missing=on_missing)
        assert outcome(ours.model_copy(update={"source": engine}), path) == outcome(ours, path)


@given(st.integers(1, 2**32), st.integers(1, 30))
def test_parquet_of_any_types_is_the_same_table(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "whole": rng.integers(0, 3, size),
            "real": rng.choice([0.0, -0.0, 0.1, 1e20, 1.5, np.nan], size),
            "single": rng.choice([0.1, 2.0], size).astype("float32"),
            "truth": rng.choice([True, False], size),
            "day": rng.choice(np.array(["2020-01-02", "2021-12-31"], dtype="datetime64[s]"), size),
            "text": rng.choice(["a", "", "007", "ä"], size),
            "kind": pd.Categorical(rng.choice(["u", "v"], size)),
        }
    )
    columns = {name: {"role": "quasi_identifier"} for name in frame} | {"kind": {"role": "class"}}
    ours = section(columns=columns, missing=["nan", ""], on_missing="keep")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        frame.to_parquet(path)
        expected = outcome(ours, path)
        for engine in (DuckDb(), Polars()):
            assert outcome(ours.model_copy(update={"source": engine}), path) == expected


FORMS = ["csv", "parquet", "jsonl"]


def write_table(frame: pd.DataFrame, path: Path) -> None:
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".parquet":
            frame.to_parquet(path, index=False)
        case _:
            frame.to_json(path, orient="records", lines=True)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A folder with the same people in one file, in two, as JSON lines and as a table of DuckDB."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice([*cells][:-1], 400) for name, cells in CELLS.items()})
    for form in FORMS:
        write_table(frame, tmp_path / f"people.{form}")
        write_table(frame[:100], tmp_path / f"part-1.{form}")
        write_table(frame[100:], tmp_path / f"part-2.{form}")
    with duckdb.connect(tmp_path / "people.duckdb") as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    return tmp_path


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["people", "part-*"])
def test_every_format_is_the_same_table(engine: DataEngine, people: Path, name: str, form: str) -> None:
    expected = outcome(section(), people / "people.csv")
    assert isinstance(expected, tuple)
    assert outcome(section(engine), people / f"{name}.{form}") == expected


NAMES = ["int.rate", 'a"b', "c`d", "select", "#1", "x, y", "{ä}", "column0", "leafgate_row0", "rows"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
def test_columns_may_have_any_names(engine: DataEngine, form: str, tmp_path: Path) -> None:
    cells = [*itertools.product("ab", repeat=len(NAMES))][::7]
    frame = pd.DataFrame(cells, columns=NAMES)
    columns: dict[str, Any] = {name: {"role": "quasi_identifier"} for name in NAMES[1:-1]}
    columns |= {NAMES[0]: {"role": "identifier"}, NAMES[-1]: {"role": "class", "values": ["a", "b"]}}
    frame.to_csv(tmp_path / "core.csv", index=False)
    expected = outcome(section(columns=columns), tmp_path / "core.csv")
    assert isinstance(expected, tuple)
    path = tmp_path / f"people.{form}"
    write_table(frame, path)
    assert outcome(section(engine, columns=columns), path) == expected
    frame.loc[4, NAMES[-1]] = "c"
    write_table(frame, path)
    found = outcome(section(engine, columns=columns), path)
    assert "column 'rows': some cells are outside" in found
    assert ("the first in record 5" in found) == engine.numbers_rows


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_columns_whose_names_differ_in_capital_letters_are_never_taken_for_one(
    engine: DataEngine, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame({"Age": ["1", "2", "1"], "age": ["3", "3", "4"], "risk": ["a", "b", "b"]})
    columns = {name: {"role": "quasi_identifier"} for name in frame} | {"risk": {"role": "class"}}
    path = tmp_path / f"people.{form}"
    write_table(frame, path)
    expected = outcome(section(columns=columns), path)
    assert isinstance(expected, tuple)
    assert "differ in capital letters" in outcome(section(engine, columns=columns), path)
    monkeypatch.setattr(reader, "ENGINE_BYTES", 0)
    data = section(columns=columns)
    assert described(read_table(data, data.meaning(), path, engine=engine)) == expected


def test_tables_and_queries_of_duckdb_files_need_no_path(people: Path) -> None:
    expected = outcome(section(), people / "people.csv")
    for options in ({"table": "people"}, {"query": "SELECT * FROM people"}, {"query": "FROM people"}):
        assert outcome(section(duckdb_in(people, database="people.duckdb", **options)), None) == expected
    with pytest.raises(PolicyError, match=r"data\.path"):
        read_table(section(DuckDb()), section().meaning(), None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": "SELECT * FROM read_csv('{folder}/people.csv')"}, "cannot be run"),
        ({"query": "SELECT * FROM '/etc/passwd'"}, "cannot be run"),
        ({"query": "DROP TABLE people"}, "is not one SELECT"),
        ({"query": "SELECT 1; SELECT 2"}, "is not one SELECT"),
        ({"query": "SELEC"}, "is not one SELECT"),
        ({"query": "COPY people TO '{folder}/stolen.csv'"}, "is not one SELECT"),
        ({"table": "peopl"}, "has no table 'peopl'"),
    ],
)
def test_a_query_reads_the_tables_of_its_database_alone(people: Path, options: dict[str, str], message: str) -> None:
    options = {key: text.format(folder=people) for key, text in options.items()}
    with pytest.raises(LeafgateError, match=message):
        read_table(section(duckdb_in(people, database="people.duckdb", **options)), section().meaning(), None)
    assert not (people / "stolen.csv").exists()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
def test_a_column_missing_in_one_of_many_files_names_the_file(engine: DataEngine, form: str, people: Path) -> None:
    frame = pd.read_parquet(people / "part-2.parquet").drop(columns="pay")
    write_table(frame, people / f"part-2.{form}")
    with pytest.raises(DataError, match=rf"part-2.{form}: the header has no column 'pay'"):
        read_table(section(engine), section().meaning(), people / f"part-*.{form}")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_further_column_in_one_of_many_files_names_the_file(engine: DataEngine, people: Path) -> None:
    frame = pd.read_parquet(people / "part-2.parquet").assign(size="1")
    for form in FORMS:
        write_table(frame, people / f"part-2.{form}")
        with pytest.raises(DataError, match=rf"part-2.{form}: 1 column\(s\) of the header are not"):
            read_table(section(engine), section().meaning(), people / f"part-*.{form}")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["people", "part-*"])
def test_wrong_cells_are_counted_and_the_first_record_named_without_their_text(
    engine: DataEngine, name: str, people: Path
) -> None:
    frame = pd.read_csv(people / "people.csv", dtype=str, keep_default_na=False)
    frame.loc[[123, 300], "city"] = "Atlantis"
    for form in FORMS:
        write_table(frame, people / f"people.{form}")
        write_table(frame[100:], people / f"part-2.{form}")
        with pytest.raises(DataError, match=re.escape("some cells are outside the `values`")) as caught:
            read_table(section(engine), section().meaning(), people / f"{name}.{form}")
        assert f"people.{form}, column 'city'" in str(caught.value) or name == "part-*"
        assert ("the first in record 124" in str(caught.value)) == engine.numbers_rows
        assert "Atlantis" not in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_line_that_is_no_record_is_not_printed(
    engine: DataEngine, form: str, people: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = people / f"people.{form}"
    lines = path.read_text().splitlines()
    lines[123] = lines[123][:-3] + (',"Zaphod' if form == "csv" else '"Zaphod')
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(LeafgateError) as caught:
        read_table(section(engine), section().meaning(), path)
    assert "Zaphod" not in "".join([str(caught.value), *capfd.readouterr()])


@pytest.mark.parametrize("engine", ENGINES)
def test_nobody_is_lost_who_stands_behind_another_in_a_line_of_json(engine: DataEngine, people: Path) -> None:
    path = people / "people.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:100], "".join(lines[100:102]), *lines[102:]]))
    with pytest.raises(InconclusiveError, match=f"{engine.use} could not read the data"):
        read_table(section(engine), section().meaning(), path)
    lines[100] = json.dumps({**json.loads(lines[100]), "city": '"} {'})
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=re.escape("some cells are outside the `values`")):
        read_table(section(engine), section().meaning(), path)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_an_engine_cannot_read_leaves_the_audit_inconclusive(engine: DataEngine, people: Path) -> None:
    (people / "people.parquet").write_bytes(b"PAR1 Zaphod PAR1")
    with pytest.raises(InconclusiveError, match=f"{engine.use} could not read the data") as caught:
        read_table(section(engine), section().meaning(), people / "people.parquet")
    assert "Zaphod" not in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_more_distinct_records_than_allowed_are_not_loaded(engine: DataEngine, people: Path) -> None:
    few = engine.model_copy(update={"most_records": 3})
    with pytest.raises(InconclusiveError, match="more than 3 distinct records"):
        read_table(section(few), section().meaning(), people / "people.csv")


@pytest.mark.parametrize("engine", ENGINES[:2])
def test_a_file_that_changes_while_it_is_read_is_no_evidence(
    engine: DataEngine, people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leafgate.io.tables import engines

    def digest_after_a_change(paths: Sequence[Path]) -> str:
        with paths[0].open("a") as file:
            file.write("\n")
        return ""

    monkeypatch.setattr(engines, "_digest", digest_after_a_change)
    with pytest.raises(InconclusiveError, match="changed while it was read"):
        read_table(section(engine), section().meaning(), people / "people.csv")


@pytest.mark.parametrize("engine", ENGINES[:2])
def test_a_population_has_the_public_columns_alone_and_a_file_without_header_the_policys(
    engine: DataEngine, people: Path
) -> None:
    frame = pd.read_csv(people / "people.csv", dtype=str, keep_default_na=False)
    frame[["age", "city", "code"]].to_csv(people / "population.csv", index=False, header=False)
    ours = section(csv={"header": False})
    schema = read_table(section(), section().meaning(), people / "people.csv").schema
    theirs = read_population(ours.model_copy(update={"source": engine}), schema, people / "population.csv")
    assert described(theirs) == described(read_population(ours, schema, people / "population.csv"))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_large_plain_files_are_read_by_the_installed_engine(
    people: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path, data = (people / "people.csv").with_suffix(suffix), section()
    by_core = read_table(data, data.meaning(), path, engine=DuckDb())
    monkeypatch.setattr(reader, "ENGINE_BYTES", 0)
    monkeypatch.setattr(reader, "read_bytes", None)  # the core cannot read it
    by_engine = read_table(data, data.meaning(), path, engine=DuckDb())
    assert (described(by_engine), by_engine.sha256) == (described(by_core), by_core.sha256)


def test_where_the_installed_engine_fails_the_core_says_what_is_wrong(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "ENGINE_BYTES", 0)
    path = people / "people.csv"
    path.write_bytes(path.read_bytes() + b"\xff" + b"," * (len(CELLS) - 1) + b"\n")
    with pytest.raises(DataError, match="is not utf-8-sig text"):
        read_table(section(), section().meaning(), path, engine=DuckDb())


def test_no_temporary_folder_is_left(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder := people / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    outcome(section(DuckDb(memory=0.1, threads=1)), people / "people.parquet")
    outcome(section(DuckDb()), people / "nobody.parquet")
    assert not [*folder.iterdir()]


def test_a_query_that_is_interrupted_interrupts_the_audit(people: Path) -> None:
    location = DataLocation((people / "people.parquet",), "parquet")
    with pytest.raises(KeyboardInterrupt), DuckDb().open(location):
        raise RuntimeError("Query interrupted")  # what DuckDB makes of Ctrl-C
    with pytest.raises(RuntimeError, match="another"), DuckDb().open(location):
        raise RuntimeError("another")


def test_the_keyed_digest_of_the_people_does_not_depend_on_order_or_engine(people: Path) -> None:
    data = section()
    table = read_table(data, data.meaning(), people / "people.csv")
    expected = digest_records(table, b"key")
    shuffled = pd.read_parquet(people / "people.parquet").sample(frac=1, random_state=1)[[*reversed([*CELLS])]]
    shuffled.to_parquet(people / "shuffled.parquet", index=False)
    other_order = dict(reversed(COLUMNS.items()))
    for engine in (None, DuckDb(), Polars()):
        other = section(engine, columns=other_order)
        found = read_table(other, other.meaning(), people / "shuffled.parquet")
        assert found.sha256 != table.sha256
        assert digest_records(found, b"key") == expected
    assert digest_records(table, b"other") != expected
    fewer = read_table(data, data.meaning(), people / "part-2.parquet")
    assert digest_records(fewer, b"key") != expected


@pytest.mark.parametrize("source", ["duckdb", {"use": "polars"}, {"use": "duckdb", "memory": 1}])
def test_an_audit_names_its_source_in_short_or_with_options(tmp_path: Path, source: Any) -> None:
    policy = survey(tmp_path)
    without = leafgate("audit", policy, "--out", tmp_path / "without")
    policy = survey(tmp_path, {"data.source": source})
    ended = leafgate("audit", policy, "--out", tmp_path / "with")
    assert (ended.code, without.code) == (0, 0)
    reports = [json.loads((tmp_path / name / "report.json").read_bytes()) for name in ("with", "without")]
    for finding in (*reports[0]["findings"], *reports[1]["findings"]):
        finding.pop("where", None)  # one line of the policy more
    assert reports[0]["findings"] == reports[1]["findings"]
    assert reports[0]["data"] == reports[1]["data"]


def test_an_unknown_source_names_the_nearest(tmp_path: Path) -> None:
    ended = leafgate("validate", survey(tmp_path, {"data.source": "duckbd"}))
    assert ended.code == 2
    assert "data.source: nobody offers 'duckbd'" in ended.err
    assert "duckdb" in ended.err


EXAMPLES = sorted(path for path in POLICIES.glob("*.yaml") if "\n  path: " in path.read_text(encoding="utf-8"))


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ENGINES[:2])
@pytest.mark.parametrize("policy", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_policy_reads_the_same_people(policy: Path, engine: DataEngine, tmp_path: Path) -> None:
    root = DATA if policy.name.startswith(("adult", "votes")) else POLICIES
    if root == DATA and not DATA.is_dir():
        pytest.skip("the public data are not there")
    data = load_policy(policy, root).policy.data
    if data.path is None or not data.path.is_file():
        pytest.skip("its people are made when it is used")
    expected = read_table(data, data.meaning(), data.path)
    cells = read_csv(data.path.read_bytes(), data.csv, list(data.columns), "people")
    copies = data.model_copy(update={"csv": CsvOptions(), "source": engine})
    cells.astype(str).to_csv(tmp_path / "people.csv", index=False)
    cells.astype(str).to_parquet(tmp_path / "people.parquet")
    for name in ("people.csv", "people.parquet"):
        table = read_table(copies, copies.meaning(), tmp_path / name)
        assert described(table) == described(expected)
        assert digest_records(table, b"key") == digest_records(expected, b"key")


@pytest.mark.parametrize("name", ["mortgage", "salary", "submarines", "ward"])
def test_an_installed_engine_changes_no_byte_of_a_report(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = POLICIES / f"{name}.yaml"
    without = leafgate("audit", policy, "--out", tmp_path / "without", "--audience", "auditor")
    monkeypatch.setattr(reader, "ENGINE_BYTES", 0)
    by_engine = leafgate("audit", policy, "--out", tmp_path / "with", "--audience", "auditor")
    assert by_engine.code == without.code
    assert (tmp_path / "with/report.json").read_bytes() == (tmp_path / "without/report.json").read_bytes()
