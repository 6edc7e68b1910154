"""Tables that do not fit into memory: the same people, trees, reports and errors as in memory, block by block."""

from __future__ import annotations

import gc
import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import leafgate
from engine_files import COLUMNS, NEEDS_SPARK, SPARK, described, files, section
from leafgate import LeafgateError, Table
from leafgate.algorithms.induction import growth, histograms, large
from leafgate.api import DataEngine, LargeTable, make_table
from leafgate.io.tables import digest, reader, records
from leafgate.io.tables.digest import digest_records
from leafgate.io.tables.reader import read_any_table, read_table
from leafgate.kernel import large_table
from leafgate.kernel.policy import Data
from leafgate.readers import parse_number
from leafgate_plugins.engines.duckdb import DuckDb
from leafgate_plugins.engines.polars import Polars
from leafgate_plugins.tables import top_down_specialisation

pytest.importorskip("duckdb", reason="DuckDB is not installed")
pytest.importorskip("polars", reason="Polars is not installed")

ENGINES = [pytest.param(DuckDb(), id="duckdb"), pytest.param(Polars(), id="polars"), SPARK]
UNWEIGHTED = {name: column for name, column in COLUMNS.items() if name != "times"} | {"times": {"role": "ignored"}}


@pytest.fixture(autouse=True)
def _everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks, and pieces that are counted, of three records; parts of the tree, and of what is sorted, of five."""
    monkeypatch.setattr(reader, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(records, "BLOCK_RECORDS", 3)
    monkeypatch.setattr(large, "PART_RECORDS", 5)
    monkeypatch.setattr(digest, "PART_RECORDS", 5)
    for module in (growth, histograms):
        monkeypatch.setattr(module, "PIECE_ROWS", 3)


def whole(found: Table | LargeTable) -> Table:
    """The records of all blocks as one table."""
    assert isinstance(found, LargeTable)
    blocks = [*found.tables()]
    assert found.total_weight == sum(block.total_weight for block in blocks)
    assert all(0 < len(block) <= 3 for block in blocks if len(block))
    table = make_table(
        found.schema,
        pd.concat([block.frame for block in blocks], ignore_index=True),
        np.concatenate([block.weight for block in blocks]),
    )
    table = replace(table, dropped=found.dropped, repeated_identifiers=found.repeated_identifiers)
    assert found.distinct in {None, len(table)}
    return table


def outcome(data: Data, path: Path, *, in_blocks: bool) -> tuple[Any, ...] | str:
    try:
        if in_blocks:
            found = read_any_table(data, data.meaning(), path, count_cells=True)
            return *described(whole(found)), digest_records(found, b"key"), left_out(found), counted(found)
        table = read_table(data, data.meaning(), path, count_cells=True)
        return *described(table), digest_records(table, b"key"), left_out(table), counted(table)
    except LeafgateError as error:
        return f"{type(error).__name__}: {error}"


def counted(found: Table | LargeTable) -> dict[str, dict[str | float, float]]:
    """The people with each text of each column; -0 is 0, which engines write as they please."""
    counts: dict[str, dict[str | float, float]] = {}
    for name, column in found.cell_counts.items():
        assert column is not None
        people: dict[str | float, float] = {}
        for text, number in column.items():
            key = parse_number(str(text))
            people[key if key == 0 else str(text)] = people.get(key if key == 0 else str(text), 0.0) + number
        counts[name] = people
    return counts


def left_out(found: Table | LargeTable) -> tuple[Any, ...] | None:
    """The people with missing cells."""
    return None if found.incomplete is None else described(found.incomplete)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("on_missing", ["drop", "keep", None])
@given(files())
@pytest.mark.thorough
def test_blocks_hold_the_people_of_the_table_or_raise_its_error(
    engine: DataEngine, on_missing: str | None, file: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        path.write_text(file)
        data = section(engine, on_missing=on_missing, columns=UNWEIGHTED)
        assert outcome(data, path, in_blocks=True) == outcome(data, path, in_blocks=False)


@pytest.mark.parametrize("engine", ENGINES)
@given(st.integers(1, 2**32), st.integers(1, 30))
@pytest.mark.thorough
def test_blocks_of_parquet_of_any_types_hold_the_same_people(engine: DataEngine, seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "whole": rng.integers(0, 3, size),
            "real": rng.choice([0.0, -0.0, 0.1, 1e20, 1.5, np.nan], size),
            "single": rng.choice([0.1, 2.0], size).astype("float32"),
            "truth": rng.choice([True, False], size),
            "day": rng.choice(np.array(["2020-01-02", "2021-12-31"], dtype="datetime64[s]"), size),
            "text": rng.choice(["a", "", "007", "ä"], size),
        }
    )
    columns = {name: {"role": "quasi_identifier"} for name in frame}
    data = section(engine, columns=columns, missing=[""], on_missing="keep")
    with tempfile.TemporaryDirectory() as folder:
        frame.to_parquet(path := Path(folder) / "people.parquet")
        assert outcome(data, path, in_blocks=True) == outcome(data, path, in_blocks=False)


def test_blocks_have_the_open_domain_of_the_table_with_values_of_people_without_a_class(tmp_path: Path) -> None:
    columns = {
        "town": {"role": "quasi_identifier"},
        "risk": {"role": "class", "values": ["good", "bad"], "no_answer": ["?"]},
    }
    (path := tmp_path / "people.csv").write_text("town,risk\nRome,good\nBonn,bad\nOslo,?\n")
    data = section(DuckDb(), columns=columns, missing=[], on_missing=None)
    found = read_any_table(data, data.meaning(), path)
    assert (found.schema["town"].values, found.without_class) == (("Bonn", "Oslo", "Rome"), 1)
    assert outcome(data, path, in_blocks=True) == outcome(data, path, in_blocks=False)


@given(st.integers(1, 2**32), st.integers(2, 40), st.sampled_from([10, 100, 2**62]))
@pytest.mark.thorough
def test_a_digest_of_blocks_is_that_of_the_table_whatever_its_words_hold(seed: int, size: int, word: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        people(np.random.default_rng(seed), size).to_parquet(path := Path(folder) / "people.parquet")
        columns: dict[str, Any] = {name: {"role": "quasi_identifier"} for name in ("age", "town", "club", "ill")}
        columns["wage"] = {"role": "quasi_identifier", "bounds": [0, 7]}
        data = section(DuckDb(), columns=columns, missing=["nan", ""], on_missing="keep")
        patched.setattr(digest, "MAX_WORD", word)
        patched.setattr(digest, "SAMPLED_RECORDS", 1)
        found = read_any_table(data, data.meaning(), path)
        assert isinstance(found, LargeTable)
        assert digest_records(found, b"key") == digest_records(whole(found), b"key")


LIMITS: list[dict[str, Any]] = [
    {"use": "k_anonymity", "at_least": 3},
    {"use": "uniques", "at_most": 0.1},
    {"use": "reidentification_risk", "at_most": 0.4},
    {"use": "confidence", "at_most": 0.9},
    {"use": "exposure", "at_most": 0.1},
    {"use": "l_diversity", "at_least": 1.5},
    {"use": "alpha_k_anonymity", "at_least": 2, "alpha": 0.9},
    {"use": "t_closeness", "distance": "equal", "at_most": 0.4},
    {"use": "beta_likeness", "at_most": 2.0},
    {"use": "delta_disclosure", "at_most": 1.0},
    {"use": "smallest_leaf", "at_least": 2},
    {"use": "class_disclosure", "at_most": 0.2},
    {"use": "residual_degrees_of_freedom", "at_least": 0},
    {"use": "accuracy", "at_least": 0.5},
    {"use": "generalisation_gap", "at_most": 0.4},
]
"""Every kind of limit that large tables can be judged by."""
BUILDERS: list[dict[str, Any]] = [
    {"use": "kadet", "k": 2},
    {"use": "kadet", "k": 4, "measure": "gini", "prune": False},
    {"use": "kadet", "k": 2, "measure": "gain_ratio", "require": [{"use": "confidence", "at_most": 0.9}]},
    {"use": "id3"},
    {"use": "c45"},
    {"use": "c45", "prune": False, "min_leaf": 1},
    {"use": "mondrian", "k": 3},
    {"use": "mondrian", "k": 2, "prune": False},
    {"use": "mondrian", "k": 8, "measure": "gain_ratio", "prune": False},
    {"use": "tds", "k": 2},
    {"use": "tds", "k": 5, "measure": "gain_ratio", "prune": False},
    {"use": "random_trees", "trees": 3},
    {"use": "random_trees", "trees": 2, "structure": "random", "depth": 3, "combine": "sum"},
]


def people(rng: np.random.Generator, size: int) -> pd.DataFrame:
    """People of whom some cells are missing."""
    age, town = rng.integers(0, 9, size), rng.choice(["a", "b", "c", "d"], size)
    wage = rng.choice([1.5, 2.0, 7.0, np.nan], size)
    ill = np.where(rng.random(size) < 0.1 + 0.05 * age + 0.2 * (town == "b"), "yes", "no")
    return pd.DataFrame({"age": age, "town": town, "wage": wage, "club": rng.choice(["x", "y"], size), "ill": ill})


def policy(
    folder: Path, build: dict[str, Any], on_missing: str, roles: dict[str, Any] | None = None, source: Any = "duckdb"
) -> Path:
    """The policy of an audit, in which columns may have other roles."""
    columns: dict[str, Any] = {
        "age": {"role": "quasi_identifier", "bounds": [0, 10]},
        "town": {
            "role": "quasi_identifier",
            "values": ["d", "c", "b", "a"],
            "hierarchy": "towns.csv",
        },
        "wage": {"role": "quasi_identifier", "bounds": [0, 7]},
        "club": {"role": "quasi_identifier"},
        "ill": {"role": ["class", "sensitive"], "values": ["no", "yes"]},
    }
    for name, role in (roles or {}).items():
        columns[name]["role"] = role
    data = {"path": "people.parquet", "test": "test.parquet", "source": source, "missing": ["", "nan"]}
    document = {
        "leafgate": 1,
        "name": "blocks",
        "data": data | {"on_missing": on_missing, "columns": columns},
        "build": build,
        "attacks": [{"use": "linking"}],
        "metrics": LIMITS,
        "report": {"digest_key": "key"},
    }
    (folder / "key").write_bytes(bytes(32))
    (folder / "towns.csv").write_text("a;north\nb;north\nc;south\nd;south\n")
    (folder / "policy.yaml").write_text(json.dumps(document))
    return folder / "policy.yaml"


RARE = pytest.mark.thorough
MORE = [("keep", 0), ("drop", 0), ("keep", 1), ("drop", 2)]
FEW_PEOPLE = 70
"""At most so many people are tens of blocks and of parts of a tree."""
MANY_PEOPLE = 200
"""The longer tests have up to so many."""
PEOPLE = [("keep", 0, FEW_PEOPLE), *(pytest.param(*each, MANY_PEOPLE, marks=RARE) for each in MORE)]
"""What becomes of missing cells, the seed of the people, and at most how many there are."""


def with_rare(builders: list[dict[str, Any]]) -> list[Any]:
    """The builders, of which one of each kind is tried in the longer tests and the others in the slow ones."""
    uses = [build["use"] for build in builders]
    return [
        build if build["use"] not in uses[:i] else pytest.param(build, marks=pytest.mark.slow)
        for i, build in enumerate(builders)
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("build", with_rare(BUILDERS), ids=json.dumps)
@pytest.mark.parametrize(("on_missing", "seed", "most"), PEOPLE)
def test_an_audit_in_blocks_writes_the_same_bytes(
    tmp_path: Path, build: dict[str, Any], on_missing: str, seed: int, most: int
) -> None:
    files_of_people(tmp_path, seed, most)
    assert_same_bytes(tmp_path, policy(tmp_path, build, on_missing))


PUBLIC_CLASS = {"ill": ["class", "quasi_identifier"]}
WITHOUT_SECRETS = ["k_anonymity", "uniques", "reidentification_risk", "smallest_leaf", "class_disclosure", "accuracy"]
"""Limits of policies without secrets."""


@pytest.mark.thorough
@pytest.mark.parametrize("build", with_rare([each for each in BUILDERS if "require" not in each]), ids=json.dumps)
@pytest.mark.parametrize(("on_missing", "seed", "most"), PEOPLE)
def test_an_audit_in_blocks_of_a_public_class_writes_the_same_bytes(
    tmp_path: Path, build: dict[str, Any], on_missing: str, seed: int, most: int
) -> None:
    files_of_people(tmp_path, seed, most)
    file = policy(tmp_path, build, on_missing, PUBLIC_CLASS)
    document = json.loads(file.read_text())
    document["metrics"] = [limit for limit in LIMITS if limit["use"] in WITHOUT_SECRETS]
    file.write_text(json.dumps(document))
    assert_same_bytes(tmp_path, file)


PRIVATE_COLUMNS: list[dict[str, Any]] = [
    {"club": "sensitive", "age": "private"},
    {"town": "sensitive", "club": "private", "ill": ["class", "quasi_identifier"]},
    {"club": "private", "wage": "private"},
    {"club": "sensitive", "town": "private", "ill": "class"},
]
"""Roles of columns that the adversary does not know."""


@pytest.mark.thorough
@pytest.mark.parametrize("build", with_rare(BUILDERS), ids=json.dumps)
@pytest.mark.parametrize(
    ("roles", "on_missing", "seed", "most"),
    [
        (PRIVATE_COLUMNS[0], "keep", 0, FEW_PEOPLE),
        *(pytest.param(roles, "keep", 0, MANY_PEOPLE, marks=RARE) for roles in PRIVATE_COLUMNS),
        *(pytest.param(roles, "drop", 1, MANY_PEOPLE, marks=RARE) for roles in PRIVATE_COLUMNS),
    ],
)
def test_an_audit_in_blocks_with_private_columns_writes_the_same_bytes(
    tmp_path: Path, build: dict[str, Any], roles: dict[str, Any], on_missing: str, seed: int, most: int
) -> None:
    files_of_people(tmp_path, seed, most)
    assert_same_bytes(tmp_path, policy(tmp_path, build, on_missing, roles))


def files_of_people(folder: Path, seed: int, most: int = FEW_PEOPLE) -> None:
    """A file of 20 people or more, and one of people to test a release on."""
    rng = np.random.default_rng(seed)
    people(rng, int(rng.integers(20, most))).to_parquet(folder / "people.parquet")
    people(rng, 40).to_parquet(folder / "test.parquet")


def assert_same_bytes(folder: Path, file: Path) -> None:
    """The report and the release are the same from blocks and from memory."""
    results = []
    for most in (0, 10**6):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(reader, "MOST_IN_MEMORY", most)
            out = folder / f"out{most}"
            ended = leafgate("audit", file, "--out", out, "--audience", "auditor", "--no-remedies")
        assert ended.code in {0, 1}, ended.err + ended.out
        assert ("block by block" in ended.err) == (most == 0)
        results.append((ended.code, (out / "report.json").read_bytes(), (out / "release.json").read_bytes()))
    assert results[0] == results[1]


def test_a_release_built_from_blocks_is_that_of_the_audit(tmp_path: Path) -> None:
    files_of_people(tmp_path, 3)
    file = policy(tmp_path, BUILDERS[0], "keep")
    assert leafgate("audit", file, "--out", tmp_path / "out", "--no-remedies").code in {0, 1}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(large, "PART_RECORDS", 10**6)
        ended = leafgate("build", file, "--out", tmp_path / "release.json")
    assert ended.code == 0, ended.err
    assert (tmp_path / "release.json").read_bytes() == (tmp_path / "out" / "release.json").read_bytes()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 4))])
def test_an_audit_with_a_population_in_blocks_writes_the_same_bytes(tmp_path: Path, seed: int) -> None:
    files_of_people(tmp_path, seed)
    table = pd.read_parquet(tmp_path / "people.parquet")
    public = pd.concat([table, people(np.random.default_rng(seed + 9), 60)], ignore_index=True).drop(columns="ill")
    public.to_parquet(tmp_path / "population.parquet")
    file = policy(tmp_path, {"use": "kadet", "k": 2}, "keep")
    document = json.loads(file.read_text())
    document["data"]["population"] = "population.parquet"
    document["metrics"] = [
        *LIMITS,
        {"use": "reidentification_risk", "name": "of_all", "at_most": 0.4, "among": "population"},
    ]
    file.write_text(json.dumps(document))
    assert_same_bytes(tmp_path, file)


FOREST: dict[str, Any] = {"use": "random_trees", "trees": 3, "structure": "random"}


IN_SPARK = {"use": "spark", "master": "local[2]"}


def audited(folder: Path, build: dict[str, Any], source: Any, most: int) -> tuple[int, str, bytes]:
    """The exit code, the report without the digest of the policy, and the release."""
    file, out = policy(folder, build, "keep", source=source), folder / f"out{most}"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reader, "MOST_IN_MEMORY", most)
        ended = leafgate("audit", file, "--out", out, "--audience", "auditor", "--no-remedies")
    assert ended.code in {0, 1}, ended.err + ended.out
    assert ("block by block" in ended.err) == (most == 0)
    report = (out / "report.json").read_text()
    return ended.code, report.replace(json.loads(report)["policy"]["sha256"], ""), (out / "release.json").read_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize("build", [BUILDERS[0], BUILDERS[4], BUILDERS[6]], ids=json.dumps)
@pytest.mark.parametrize("source", [pytest.param(IN_SPARK, id="spark", marks=NEEDS_SPARK), "polars"])
def test_an_audit_in_blocks_of_another_engine_writes_the_bytes_of_duckdb_in_memory(
    tmp_path: Path, build: dict[str, Any], source: Any
) -> None:
    files_of_people(tmp_path, 3)
    assert audited(tmp_path, build, source, 0) == audited(tmp_path, build, "duckdb", 10**6)


@pytest.mark.parametrize("build", [BUILDERS[0], pytest.param(BUILDERS[3], marks=RARE), FOREST], ids=json.dumps)
@pytest.mark.thorough
def test_an_audit_of_a_file_in_blocks_writes_the_same_bytes(tmp_path: Path, build: dict[str, Any]) -> None:
    files_of_people(tmp_path, 7)
    for roles in ({}, PRIVATE_COLUMNS[3]):
        built = leafgate("build", policy(tmp_path, build, "keep", roles), "--out", tmp_path / "release.json")
        assert built.code == 0, built.err
        file = policy(tmp_path, {"use": "published", "path": "release.json"}, "keep", roles)
        file.write_text(json.dumps(json.loads(file.read_text()) | {"knows": {"distribution": True}}))
        assert_same_bytes(tmp_path, file)


PRIVATE: list[dict[str, Any]] = [
    {"use": "dp_laplace_trees", "trees": 3, "scale": 2.0},
    {"use": "dp_laplace_trees", "trees": 2, "scale": 9.0, "structure": "random", "depth": 3, "combine": "normalised"},
    {"use": "dp_random_trees", "trees": 4, "k": 2, "beta": 0.3, "delta": 0.4},
    {"use": "dp_random_trees", "trees": 6, "k": 5, "beta": 0.2, "delta": 0.01, "structure": "random", "combine": "sum"},
]


def private_policy(folder: Path, build: dict[str, Any], on_missing: str = "keep") -> Path:
    """Every domain is declared, and the promise is a limit."""
    file = policy(folder, build, on_missing)
    document = json.loads(file.read_text())
    document["data"]["columns"]["club"]["values"] = ["x", "y"]
    document["publish"] = {"leaves": "counts", "measure": True}
    document["metrics"] = [{"use": "differential_privacy", "at_most": 10_000}, *LIMITS]
    file.write_text(json.dumps(document))
    return file


@pytest.mark.parametrize("build", with_rare(PRIVATE), ids=json.dumps)
@pytest.mark.parametrize(("on_missing", "seed", "most"), PEOPLE)
@pytest.mark.thorough
def test_private_trees_of_a_known_seed_are_the_same_in_blocks(
    tmp_path: Path, build: dict[str, Any], on_missing: str, seed: int, most: int
) -> None:
    files_of_people(tmp_path, seed, most)
    assert_same_bytes(tmp_path, private_policy(tmp_path, build | {"rehearsal": True}, on_missing))


@pytest.mark.thorough
@pytest.mark.parametrize("build", with_rare(PRIVATE), ids=json.dumps)
def test_the_claim_of_private_trees_is_checked_against_blocks(tmp_path: Path, build: dict[str, Any]) -> None:
    files_of_people(tmp_path, 3)
    honest, release = claim_in_blocks(tmp_path, build)
    assert honest["passed"] is True, honest
    for tree in release["trees"]:
        add_people(tree, 40)
    (tmp_path / "false.json").write_text(json.dumps(release))
    false, _ = claim_in_blocks(tmp_path, {"use": "published", "path": "false.json"})
    assert false["passed"] is False, false


def claim_in_blocks(folder: Path, build: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The finding about the promise of an audit in blocks, and the release."""
    out = folder / build["use"]
    ended = leafgate("audit", private_policy(folder, build), "--out", out, "--audience", "auditor", "--no-remedies")
    assert "block by block" in ended.err
    report = json.loads((out / "report.json").read_text())
    claim = next(finding for finding in report["findings"] if finding["id"] == "guarantee:epsilon")
    return claim, json.loads((out / "release.json").read_text())


def add_people(node: Any, more: int) -> None:
    """Add so many people to every number on the leaves."""
    for key, child in node.items() if isinstance(node, dict) else ():
        if key == "counts":
            node[key] = {name: count + more for name, count in child.items()}
        for each in child if isinstance(child, list) else [child]:
            add_people(each, more)


@pytest.mark.parametrize(
    ("changes", "needing"),
    [
        ({"build": {"use": "kadet", "k": 2, "publish_table": True}}, "the builder 'kadet'"),
        ({"attacks": [{"use": "linking"}, {"use": "maxent"}]}, "the attack 'maxent'"),
        (
            {"attacks": [{"use": "linking"}, {"use": "maxent"}], "knows": {"sample": 0.1}},
            "what `knows` says of single people, the attack 'maxent'",
        ),
    ],
)
def test_what_needs_all_records_in_memory_is_named(tmp_path: Path, changes: dict[str, Any], needing: str) -> None:
    files_of_people(tmp_path, 1)
    file = policy(tmp_path, {"use": "kadet", "k": 2}, "drop")
    document = json.loads(file.read_text()) | changes
    document["data"]["source"] = {"use": "duckdb", "most_records": 5}
    file.write_text(json.dumps(document))
    ended = leafgate("audit", file)
    assert ended.code == 3
    assert "more than 5 distinct records" in ended.err
    assert needing in ended.err


def test_people_whom_private_columns_of_kadet_connect_are_loaded_together(tmp_path: Path) -> None:
    files_of_people(tmp_path, 1)
    file = policy(tmp_path, {"use": "kadet", "k": 2}, "drop", dict.fromkeys(["age", "town", "wage"], "private"))
    document = json.loads(file.read_text())
    document["data"]["source"] = {"use": "duckdb", "most_records": 6}
    del document["data"]["test"]
    document["metrics"] = [{"use": "k_anonymity", "at_least": 2}]
    file.write_text(json.dumps(document))
    ended = leafgate("audit", file)
    assert ended.code == 3
    message = "data.source.most_records: people whom private columns connect have more than 6 distinct records"
    assert message in ended.err


def test_groups_that_do_not_fit_into_memory_are_inconclusive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top_down_specialisation, "MAX_COUNTERS", 2)
    files_of_people(tmp_path, 3)
    ended = leafgate("audit", policy(tmp_path, {"use": "tds", "k": 2}, "drop"))
    assert ended.code == 3
    assert "groups of people, too many to be counted in memory (raise k" in ended.err


@pytest.mark.parametrize("source", ["duckdb", "polars", pytest.param(IN_SPARK, id="spark", marks=NEEDS_SPARK)])
@pytest.mark.thorough
def test_blocks_leave_no_file_behind_and_a_wrong_cell_is_refused(
    tmp_path: Path, source: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    files_of_people(tmp_path, 1)
    file = policy(tmp_path, {"use": "kadet", "k": 2}, "drop", source=source)
    assert leafgate("audit", file, "--no-remedies").code in {0, 1}
    document = json.loads(file.read_text())
    document["data"]["columns"]["age"]["bounds"] = [1, 2]
    file.write_text(json.dumps(document))
    wrong = leafgate("audit", file)
    assert wrong.code == 2
    message = r"some cells are outside the `bounds` the policy declares(, the first in record [0-9]+)?"
    found = re.search(message, wrong.err)
    assert found is not None
    assert (found[1] is None) == (source == IN_SPARK)  # whose rows have no numbers
    gc.collect()
    assert not [*(tmp_path / "scratch").glob("leafgate-records-*")]
    if source != IN_SPARK:  # whose own folder lasts as long as the process
        assert not [*(tmp_path / "scratch").iterdir()]


def test_a_full_disk_is_told_and_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr(large_table, "smallest_integers", full)
    (tmp_path / "scratch").mkdir()
    files_of_people(tmp_path, 1)
    ended = leafgate("audit", policy(tmp_path, {"use": "id3"}, "keep"), "--out", tmp_path / "out")
    assert ended.code == 3
    assert "cannot hold the distinct records (let TMPDIR name one with room)" in ended.err
    gc.collect()
    assert not [*(tmp_path / "scratch").iterdir()]
