"""Spark: tables of a catalogue and files, counted by the cluster."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from pydantic import Field

from leafgate.api import DataEngine, DataLocation, PolicyError


class Spark(DataEngine):
    """Spark reads a table of its catalogue, or Parquet, CSV and JSON lines (`path`), in a session that is there or new.

    A session of the process is used; without one, `master` starts one, which ends with the process.
    """

    use: Literal["spark"] = "spark"
    table: str | None = Field(None, description="The table or view of the catalogue; `data.path` is read if left out.")
    master: str | None = Field(None, description="Where a new session runs, such as `local[2]` or `spark://host:7077`.")

    modules = ("pyspark",)

    @property
    def names_table(self) -> bool:
        return self.table is not None

    @contextmanager
    def open(self, location: DataLocation, number_rows: str | None = None) -> Iterator[Any]:
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        if session is not None:
            yield self._rows(session, location)
            return
        if self.master is None:
            remedy = "say `master: local[2]`, or start a session before the audit"
            raise PolicyError("there is no Spark session", place="data.source", remedy=remedy)
        builder = SparkSession.builder.master(self.master).appName("leafgate")
        quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        session = builder.config(map=quiet).getOrCreate()
        atexit.register(session.stop)
        yield self._rows(session, location)

    def rename(self, rows: Any, names: Mapping[str, str]) -> Any:
        return rows.toDF(*(names[name] for name in rows.columns))

    def _rows(self, session: Any, location: DataLocation) -> Any:
        if not location.paths:
            return session.table(self.table)
        paths = [str(path) for path in location.paths]
        if location.format == "parquet":
            return session.read.option("mergeSchema", "true").parquet(*paths)
        if location.format == "json":
            names = session.read.json(paths).columns
            return session.read.schema(_texts(names)).option("mode", "FAILFAST").json(paths)
        reader = session.read.schema(_texts(location.columns)).option("mode", "FAILFAST")
        reader = reader.option("header", location.header).option("sep", location.delimiter)
        reader = reader.option("quote", location.quote).option("escape", location.quote).option("multiLine", "true")
        return reader.option("nullValue", "").csv(paths)


def _texts(names: Any) -> str:
    """A schema of texts, as Spark writes it."""
    return ", ".join(f"`{name.replace('`', '``')}` STRING" for name in names)
