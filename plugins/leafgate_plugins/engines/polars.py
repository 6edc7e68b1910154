"""Polars: Parquet, CSV and JSON lines, in streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from leafgate.api import DataEngine
from leafgate.api.data_engines import DataLocation


class Polars(DataEngine):
    """Polars reads Parquet, CSV and JSON lines (`path`, also a pattern such as `people-*.parquet`) in streams."""

    use: Literal["polars"] = "polars"

    modules = ("polars",)
    numbers_rows = True
    writes_files = True

    @contextmanager
    def open(self, location: DataLocation, number_rows: str | None = None) -> Iterator[Any]:
        import polars as pl

        paths = list(location.paths)
        if location.format == "parquet":
            rows = pl.scan_parquet(paths, glob=False)
        elif location.format == "json":
            names = pl.scan_ndjson(paths, infer_schema_length=None).collect_schema().names()
            rows = pl.scan_ndjson(paths, schema=dict.fromkeys(names, pl.String))
        else:
            rows = pl.scan_csv(
                paths,
                has_header=False,  # the names are known; Polars itself keeps doubled quotes in them
                skip_rows=int(location.header),
                separator=location.delimiter,
                quote_char=location.quote,
                schema=dict.fromkeys(location.columns, pl.String),
                glob=False,
            )
        yield rows if number_rows is None else rows.with_row_index(number_rows, offset=1)
