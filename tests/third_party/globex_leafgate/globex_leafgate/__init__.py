"""What Globex adds to leafgate: files of CatBoost, reports as CSV, tables of SQLite files, and a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import hookimpl

from .catboost_json import CATBOOST
from .findings_csv import CSV

if TYPE_CHECKING:
    from leafgate.api import ReportFormat
    from leafgate.readers import ModelReader

leafgate_api = ">=3,<4"


@hookimpl
def model_readers() -> list[ModelReader]:
    return [CATBOOST]


@hookimpl
def report_formats() -> list[ReportFormat]:
    return [CSV]


@hookimpl
def data_sources() -> dict[str, str]:
    return {"sqlite": "globex_leafgate.sqlite_tables:Sqlite"}


@hookimpl
def privacy_metrics() -> dict[str, str]:
    return {"baseless_labels": "globex_leafgate.baseless_labels:BaselessLabels []"}
