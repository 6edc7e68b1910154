"""Spark: tables of a catalogue and files, counted by the cluster."""

from __future__ import annotations

import atexit
import logging
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from leafgate.api import DataEngine, InconclusiveError, PolicyError
from leafgate.api.data_engines import DataLocation
from leafgate.interruptions import interrupts_deferred

if TYPE_CHECKING:
    import pyarrow as pa

SECONDS_TO_END = 10.0
"""The Java process may take so long to end and to remove its files before it is killed."""
SECONDS_TO_NOTICE = 1.0
"""A process that was killed closes its connections a moment before it has ended."""
LOCAL_MASTERS = ("local", "local-cluster")
"""Masters, up to the first bracket, that run on this machine and need no network."""
JSON_TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
"""A text in JSON, as a regular expression of Java."""
OBJECT_WITHOUT_TEXTS = r"^\s*\{[^{}]*\}\s*$"
"""One object of JSON without objects in it, whose texts have been removed."""


class Spark(DataEngine):
    """Spark reads a table of its catalogue, or Parquet, CSV and JSON lines (`path`), in a session that is there or new.

    A session of the process is used; without one, `master` starts one, which ends with the process. Distinct records
    that do not fit into memory come to this machine one partition at a time.
    """

    use: Literal["spark"] = "spark"
    table: str | None = Field(None, description="The table or view of the catalogue; `data.path` is read if left out.")
    master: str | None = Field(None, description="Where a new session runs, such as `local[2]` or `spark://host:7077`.")

    keeps_rows = DataEngine.keeps_rows | {"table", "master"}
    modules = ("pyspark",)
    writes_files = True

    @property
    def names_table(self) -> bool:
        return self.table is not None

    @contextmanager
    def open(self, location: DataLocation, number_rows: str | None = None) -> Iterator[Any]:
        try:
            yield self._rows(self._session(), location)
        except Exception as error:
            if not _is_lost_connection(error):
                raise
            remedy = "run the audit again; Spark's log says why its driver ended"
            raise InconclusiveError("the connection to Spark was lost", place="data.source", remedy=remedy) from None

    def rename(self, rows: Any, names: Mapping[str, str]) -> Any:
        return rows.toDF(*(names[name] for name in rows.columns))

    def write_parquet(self, rows: Any, path: Path) -> bool:
        """The cluster's disks may be other machines', so partitions are fetched one by one and written here.

        Sessions of Spark Connect, which hand over whole tables or single rows only, cannot do that.
        """
        import pyarrow.parquet as pq

        if not hasattr(rows, "_jdf"):
            return False
        schema = rows.limit(0).toArrow().schema
        with pq.ParquetWriter(path, schema) as writer:
            for batch in _arrow_batches(rows, schema):
                writer.write_batch(batch)
        return True

    def _session(self) -> Any:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        if session is not None:
            return session
        if SparkContext._active_spark_context is not None:  # of another thread
            return SparkSession.builder.getOrCreate()
        if self.master is None:
            remedy = "say `master: local[2]`, or start a session before the audit"
            raise PolicyError("there is no Spark session", place="data.source", remedy=remedy)
        try:
            return _start_session(self.master)
        except Exception as error:
            raise InconclusiveError(
                f"no Spark session could be started ({type(error).__name__})",
                place="data.source.master",
                remedy="is Java installed, and does the master answer? `pyspark --master ...` prints Spark's log",
            ) from None

    def _rows(self, session: Any, location: DataLocation) -> Any:
        if not location.paths:
            return session.table(self.table)
        paths = [str(path) for path in location.paths]
        if location.format == "parquet":
            return session.read.option("mergeSchema", "true").parquet(*paths)
        if location.format == "json":
            return _json_lines(session, paths)
        reader = session.read.schema(_texts(location.columns)).option("mode", "FAILFAST")
        reader = reader.option("header", location.header).option("sep", location.delimiter)
        reader = reader.option("quote", location.quote).option("escape", location.quote).option("multiLine", "true")
        return reader.option("nullValue", "").csv(paths)


def _json_lines(session: Any, paths: list[str]) -> Any:
    """The cells as texts. Spark's reader of JSON ignores what follows the first object of a line: this is an error."""
    from pyspark.sql import functions as sql

    names = session.read.json(paths).columns
    line = sql.col("value")
    is_one_object = sql.regexp_replace(line, JSON_TEXT, "").rlike(OBJECT_WITHOUT_TEXTS)
    record = sql.when(is_one_object, sql.from_json(line, _texts(names), {"mode": "FAILFAST"}))
    record = record.otherwise(sql.raise_error(sql.lit("a line is not one object of plain values")))
    lines = session.read.text(paths).filter(sql.trim(line) != "")
    return lines.select(record.alias("record")).select("record.*")


def _start_session(master: str) -> Any:
    """A session whose Java process writes nothing to the terminal, where its log would show cells of wrong records.

    Its files are in a temporary folder for the owner only. Ctrl-C stays Python's: Spark's own handler asks the Java
    process, which may be gone, to cancel its jobs first.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setMaster(master).setAppName("leafgate")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what Spark does not yet support in pandas, which is not used
        gateway = SparkContext._gateway or _java_gateway(master)  # one is there where another master did not answer
        is_main = threading.current_thread() is threading.main_thread()
        handler = signal.getsignal(signal.SIGINT)
        try:
            return SparkSession(SparkContext(conf=conf, gateway=gateway))
        finally:
            if is_main and handler is not None:
                signal.signal(signal.SIGINT, handler)


def _java_gateway(master: str) -> Any:
    """The Java process, which ends with this one."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    _silence_lost_connections()
    with interrupts_deferred():
        folder = Path(tempfile.mkdtemp(prefix="leafgate-spark-"))
        try:
            silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            options = _options(master, folder)
            launch: Callable[..., Any] = launch_gateway
            gateway = launch(SparkConf(loadDefaults=False).setAll([*options.items()]), silent)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        atexit.register(_end, gateway.proc, folder)
    return gateway


def _options(master: str, folder: Path) -> dict[str, str]:
    options = {
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder),
        "spark.driver.defaultJavaOptions": f'-XX:-UsePerfData "-Djava.io.tmpdir={folder}"',
    }
    if master.partition("[")[0] in LOCAL_MASTERS:
        options |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return options


def _end(java: subprocess.Popen[bytes] | None, folder: Path) -> None:
    """End the Java process as the end of this process would, wait for it, and delete its files.

    There is none of our own where `spark-submit` started Python.
    """
    if java is not None:
        if java.stdin is not None:
            with suppress(OSError):
                java.stdin.close()
        try:
            java.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            java.kill()
            java.wait()
    shutil.rmtree(folder, ignore_errors=True)


def _is_lost_connection(error: Exception) -> bool:
    """Is an error one of the connection to the Java process, or of a call of one that has ended?

    Errors of Java itself come from a process that runs. py4j has no class of its own for calls that got no answer.
    """
    from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
    from pyspark import SparkContext

    if isinstance(error, Py4JNetworkError | ConnectionError | EOFError):
        return True
    java = getattr(SparkContext._gateway, "proc", None)
    if java is None or not isinstance(error, Py4JError) or isinstance(error, Py4JJavaError):
        return False
    with suppress(subprocess.TimeoutExpired):
        java.wait(SECONDS_TO_NOTICE)
    return java.poll() is not None


def _silence_lost_connections() -> None:
    """Keep py4j and Spark from printing tracebacks of a Java process that has ended; its calls raise errors anyway.

    py4j logs them, at the root too; what reads partitions raises another one when Python deletes it.
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(lambda record: Path(record.pathname).parent.name != "py4j")
    print_error = sys.unraisablehook

    def print_other_error(unraisable: sys.UnraisableHookArgs) -> None:
        if "PyLocalIterable.__del__" not in getattr(unraisable.object, "__qualname__", ""):
            print_error(unraisable)

    sys.unraisablehook = print_other_error


def _arrow_batches(rows: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows, partition by partition: Spark fetches a partition when the one before it has been used.

    `toLocalIterator` of a DataFrame does so too, but makes a Python object of each cell, which takes eight times as
    long and changes times. Here Spark encodes the partitions as `toArrow` does.
    """
    import pyarrow as pa
    from pyspark import RDD
    from pyspark.serializers import NoOpSerializer

    encoded: RDD[bytes] = RDD(rows._jdf.toArrowBatchRdd().toJavaRDD(), rows.sparkSession.sparkContext, NoOpSerializer())
    for batch in encoded.toLocalIterator():
        yield pa.ipc.read_record_batch(pa.py_buffer(batch), schema)


def _texts(names: Any) -> str:
    """A schema of texts, as Spark writes it."""
    return ", ".join(f"`{name.replace('`', '``')}` STRING" for name in names)
