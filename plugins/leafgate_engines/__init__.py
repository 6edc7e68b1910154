"""`duckdb`, `polars`, `spark`: read tables where they are, and load only their distinct records."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=2,<3"


@hookimpl
def data_sources() -> dict[str, str]:
    return {
        "duckdb": "leafgate_engines.duckdb:DuckDb",
        "polars": "leafgate_engines.polars:Polars",
        "spark": "leafgate_engines.spark:Spark",
    }
