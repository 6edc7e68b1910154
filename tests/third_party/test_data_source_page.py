"""The data source of docs/reference/plugin-kinds.md, installed as a plugin, works wherever a table is read."""

from __future__ import annotations

import csv
import re
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from command_line import Ended, leafgate
from leafgate.testing import source_conformance
from stranger import install
from survey import PEOPLE, survey

pytestmark = pytest.mark.thorough

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/plugin-kinds.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(SOURCE,) = (text for text in BLOCKS if "def data_sources" in text)
(WRITE,) = (text for text in BLOCKS if "def write(" in text)
SQLITE = {"use": "sqlite", "table": "people"}


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Installs a module with a data source, the one of the page unless another source is given."""
    folder = tmp_path / "site"
    folder.mkdir()

    def put(module: str = "acme_sqlite", source: str = SOURCE) -> None:
        install(folder, module, source)
        monkeypatch.delitem(sys.modules, module, raising=False)

    monkeypatch.syspath_prepend(folder)
    return put


@pytest.fixture
def write() -> Callable[[Sequence[str], Sequence[Sequence[str | None]]], bytes]:
    """The function of the page that writes files for the kit."""
    names: dict[str, Any] = {}
    exec(compile(WRITE, "docs/reference/plugin-kinds.md", "exec"), names)
    function: Callable[[Sequence[str], Sequence[Sequence[str | None]]], bytes] = names["write"]
    return function


def audit(folder: Path, write: Any, changes: dict[str, Any] | None = None, *more: object) -> Ended:
    """Audit the survey, its people in a SQLite file."""
    header, *rows = csv.reader(PEOPLE.splitlines())
    (folder / "people.sqlite").write_bytes(write(header, rows))
    policy = survey(folder, {"data.path": "people.sqlite", "data.source": SQLITE, **(changes or {})})
    return leafgate("audit", policy, *more)


def test_it_is_short() -> None:
    assert len(SOURCE.splitlines()) <= 80


def test_it_conforms(stranger: Any, write: Any) -> None:
    stranger()
    for check in source_conformance(import_module("acme_sqlite").Sqlite(table="people"), write):
        check()


def test_an_audit_is_that_of_the_same_people_as_csv(tmp_path: Path, stranger: Any, write: Any) -> None:
    stranger()
    (tmp_path / "csv").mkdir()
    plain = leafgate("audit", survey(tmp_path / "csv"), "--json").document
    ended = audit(tmp_path, write, None, "--out", tmp_path / "out", "--json")
    assert ended.code == 0, ended.err
    found, wanted = ([each | {"where": None} for each in report["findings"]] for report in (ended.document, plain))
    assert found == wanted
    assert ended.document["release"]["sha256"] == plain["release"]["sha256"]
    assert ended.document["policy"]["sha256"] != plain["policy"]["sha256"]
    assert ended.document["versions"]["acme-sqlite"] == "1.0"
    assert "acme-sqlite" not in plain["versions"]


def test_the_suffix_decides_what_reads_a_file(tmp_path: Path, stranger: Any, write: Any) -> None:
    """The test table is CSV, beside a table in SQLite; DATA on the command line may be CSV, too."""
    stranger()
    metrics = [{"use": "k_anonymity", "at_least": 2}, {"use": "accuracy", "at_least": 0}]
    (tmp_path / "test.csv").write_text(PEOPLE)
    assert audit(tmp_path, write, {"data.test": "test.csv", "metrics": metrics}).code == 0
    assert audit(tmp_path, write, None, tmp_path / "test.csv").code == 0


def test_known_people_are_read_by_it(tmp_path: Path, stranger: Any, write: Any) -> None:
    stranger()
    header, *rows = csv.reader(PEOPLE.splitlines())
    (tmp_path / "known.db").write_bytes(write(header, rows[:2]))
    attacks = [{"use": "maxent"}]
    ended = audit(tmp_path, write, {"knows.people": "known.db", "attacks": attacks})
    assert ended.code in {0, 1, 3}, ended.err
    assert "known.db" not in ended.err


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({"use": "sqlite"}, "data.source.table: is missing"),
        ({"use": "sqlit", "table": "people"}, "data.source: nobody offers 'sqlit' (did you mean 'sqlite'?)"),
        (
            {"table": "people"},
            "data.source: says not what it uses (write `use:` and one of duckdb, polars, spark, sqlite)",
        ),
        (SQLITE | {"tabel": "x"}, "data.source.tabel: unknown key (did you mean 'table'?)"),
        ({"use": "sqlite", "table": 1}, "data.source.table: "),
        ("sqlite", "data.source.table: is missing"),
        (["sqlite"], "data.source: should be an object (write a mapping: {...})"),
        ({"use": "linking", "table": "people"}, "data.source: nobody offers 'linking'"),
        (SQLITE | {"table": "nobody"}, "people.sqlite: is no SQLite file with the table 'nobody'"),
    ],
)
def test_a_wrong_source_is_one_error(tmp_path: Path, stranger: Any, write: Any, source: Any, text: str) -> None:
    stranger()
    ended = audit(tmp_path, write, {"data.source": source})
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"leafgate: {text}")
    assert len(ended.err.splitlines()) == 1


def test_a_policy_that_does_not_name_the_source_is_sent_to_it(tmp_path: Path, stranger: Any, write: Any) -> None:
    stranger()
    ended = audit(tmp_path, write, {"data.source": None})
    assert ended.code == 2
    assert "people.sqlite" in ended.err
    assert "(if the data source 'sqlite' is to read it, say `data.source`)" in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_source_with_a_suffix_of_the_core_is_broken(stranger: Any) -> None:
    stranger(source=SOURCE.replace('".db"', '".csv"'))
    assert "BROKEN: TypeError: Sqlite cannot be used: the suffix '.csv' belongs to leafgate itself" in (
        leafgate("plugins").out
    )


def test_it_is_listed_and_explained(stranger: Any) -> None:
    stranger()
    assert "acme_sqlite (acme-sqlite 1.0): source sqlite\n" in leafgate("plugins").out
    explained = leafgate("explain", "sqlite")
    assert explained.out.startswith("sqlite: source of acme-sqlite 1.0\n\nOne table of a SQLite file.\n")
    assert "  table: string (required). The table, or the view, to read.\n" in explained.out
    definitions = leafgate("schema").document["definitions"]
    assert definitions["Sqlite"]["required"] == ["use", "table"]


def test_a_first_policy_needs_a_source_without_required_options(tmp_path: Path, stranger: Any, write: Any) -> None:
    stranger()
    header, *rows = csv.reader(PEOPLE.splitlines())
    (tmp_path / "people.sqlite").write_bytes(write(header, rows))
    ended = leafgate("init", tmp_path / "people.sqlite")
    assert (ended.code, ended.out) == (2, "")
    assert "the data source 'sqlite' that reads it needs the option 'table'" in ended.err


def test_its_files_are_written_read_only(tmp_path: Path, stranger: Any, write: Any) -> None:
    """An audit leaves the file and its folder as they are."""
    stranger()
    audit(tmp_path, write)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("people.sqlite*")}
    assert leafgate("audit", tmp_path / "policy.yaml").code == 0
    assert {path.name: path.read_bytes() for path in tmp_path.glob("people.sqlite*")} == before
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM people").fetchone() == (len(PEOPLE.splitlines()) - 1,)
