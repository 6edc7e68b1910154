"""`leafgate mlflow log`: an audit's verdict as tags of an MLflow run, its public report among the run's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leafgate.api import hookimpl

if TYPE_CHECKING:
    import typer


leafgate_api = ">=2,<3"


@hookimpl
def commands() -> list[typer.Typer]:
    from leafgate_mlflow.command import app

    return [app]
