"""`duckdb`, `polars`, `spark`: read tables where they are, and load only their distinct records."""

from __future__ import annotations

from leafgate.api import hookimpl

leafgate_api = ">=3,<4"


@hookimpl
def data_sources() -> dict[str, str]:
    return {
        "duckdb": "leafgate_plugins.engines.duckdb:DuckDb",
        "polars": "leafgate_plugins.engines.polars:Polars",
        "spark": "leafgate_plugins.engines.spark:Spark",
    }
