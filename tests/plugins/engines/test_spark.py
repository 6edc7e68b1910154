"""Spark that does not answer, is lost in the middle of an audit, or outlives it; what it prints and how it is read."""

from __future__ import annotations

import itertools
import socket
from pathlib import Path

import pandas as pd
import pytest

from command_line import Ended, leafgate, start
from engine_files import NEEDS_SPARK
from leafgate.api.data_engines import DataLocation
from leafgate_plugins.engines.spark import Spark, _arrow_batches
from patience import SECONDS
from session_processes import PROC, ended_in
from spark_faults import SUPPORT, Victim, disturb
from survey import survey

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

pytestmark = [*NEEDS_SPARK, pytest.mark.skipif(not PROC.exists(), reason="looks for processes in Linux's /proc")]

LONGEST_SECONDS = 240
"""Spark tries a master three times within a minute, and starts within half of one."""
IN_LARGE_TABLES = {"data.columns.smoker": {"role": "ignored"}}
"""Private columns cannot be in tables whose distinct records are stored."""
CALL_OF_START = 60
CALLS_OF_READING = [200, 280, 350]


def policy_of(folder: Path, master: str) -> Path:
    return survey(folder, IN_LARGE_TABLES | {"data.source": {"use": "spark", "master": master}})


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of the processes that a test starts."""
    (folder := tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def audit(folder: Path, master: str, before: str = "") -> Ended:
    """Run an audit in a process of its own; when it has ended, no process of its session is left."""
    words = ["audit", policy_of(folder, master), "--out", folder / "out"]
    running = start(*words, before=before, path=SUPPORT, start_new_session=True)
    out, err = running.communicate(timeout=LONGEST_SECONDS)
    assert ended_in(running.pid, SECONDS)
    return Ended(running.returncode, out, err)


def assert_inconclusive(ended: Ended, folder: Path, message: str) -> None:
    """One line says what is wrong; nothing is written, and no temporary file stays."""
    assert ended.code == 3, ended.err
    assert len([line for line in ended.trouble.splitlines() if not line.startswith("note: ")]) == 1, ended.err
    assert message in ended.err
    assert [*(folder / "out").iterdir()] == []
    assert [*(folder / "scratch").iterdir()] == []


def test_a_master_that_does_not_answer_leaves_the_audit_inconclusive_in_bounded_time(
    tmp_path: Path, scratch: Path
) -> None:
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        ended = audit(tmp_path, f"spark://127.0.0.1:{nobody.getsockname()[1]}")
    assert_inconclusive(ended, tmp_path, "no Spark session could be started")


def test_a_master_that_spark_does_not_know_leaves_the_audit_inconclusive(tmp_path: Path, scratch: Path) -> None:
    assert_inconclusive(audit(tmp_path, "nowhere"), tmp_path, "no Spark session could be started")


@pytest.mark.parametrize("call", [CALL_OF_START, *CALLS_OF_READING])
def test_a_driver_that_is_killed_leaves_the_audit_inconclusive(tmp_path: Path, call: int, scratch: Path) -> None:
    starting = "no Spark session could be started"
    message = starting if call == CALL_OF_START else "the connection to Spark was lost"
    assert_inconclusive(audit(tmp_path, "local[2]", disturb("java", call)), tmp_path, message)


AT_A_BATCH = """
import leafgate_plugins.engines.spark
arrow_batches = leafgate_plugins.engines.spark._arrow_batches

def disturbed_batches(rows, schema):
    for batch in arrow_batches(rows, schema):
        os.kill(victims()[0], signal.SIGKILL)
        yield batch

leafgate_plugins.engines.spark._arrow_batches = disturbed_batches
"""


def test_records_of_a_driver_that_is_killed_are_never_taken_for_all(tmp_path: Path, scratch: Path) -> None:
    ended = audit(tmp_path, "local[2]", disturb("java", 0) + AT_A_BATCH)
    assert_inconclusive(ended, tmp_path, "the connection to Spark was lost")


@pytest.mark.parametrize(
    ("victim", "signal", "code"),
    [("python", "SIGINT", 130), ("python", "SIGTERM", 143), ("python", "SIGKILL", -9)],
)
@pytest.mark.parametrize("call", [CALL_OF_START, CALLS_OF_READING[-1]])
def test_spark_ends_with_an_audit_that_is_ended(
    tmp_path: Path, victim: Victim, signal: str, code: int, call: int, scratch: Path
) -> None:
    ended = audit(tmp_path, "local[2]", disturb(victim, call, signal))
    assert ended.code == code, ended.err
    assert "Traceback" not in ended.err
    assert [*(tmp_path / "out").iterdir()] == []
    left = [path.name for path in scratch.iterdir() if not path.name.startswith("leafgate-records-")]
    if signal == "SIGKILL":  # nobody deletes the folder of Spark's files, which Spark itself deletes
        assert all(name.startswith("leafgate-spark-") for name in left)
        assert [*scratch.glob("leafgate-spark-*/*")] == []
    else:
        assert left == []


def test_an_executor_that_is_killed_is_replaced(tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_WORKER_DIR", str(scratch / "workers"))
    assert leafgate("audit", survey(tmp_path, IN_LARGE_TABLES), "--out", tmp_path / "core").code == 0
    ended = audit(tmp_path, "local-cluster[2,1,1024]", disturb("executor", CALLS_OF_READING[1]))
    assert ended.code == 0, ended.err
    assert "block by block" in ended.err
    release = (tmp_path / "out" / "release.json").read_bytes()
    assert release == (tmp_path / "core" / "release.json").read_bytes()
    assert not [*scratch.glob("leafgate-*")]


def test_partitions_arrive_one_by_one(tmp_path: Path) -> None:
    """The last partition raises an error, which those before it do not wait for."""
    from pyspark.sql import functions

    pd.DataFrame({"number": range(40)}).to_parquet(path := tmp_path / "numbers.parquet")
    with Spark(master="local[2]").open(DataLocation((path,), "parquet")) as rows:
        last = functions.when(rows.number == 39, functions.raise_error(functions.lit("the last")))
        parts = rows.repartitionByRange(4, "number").select(last.otherwise(rows.number).alias("number"))
        batches = _arrow_batches(parts, pa.schema({"number": pa.int64()}))
        first = [next(batches).column("number").to_pylist() for _ in range(3)]
        assert sorted(itertools.chain(*first)) == [*range(sum(map(len, first)))]
        with pytest.raises(Exception, match="the last"):
            next(batches)
