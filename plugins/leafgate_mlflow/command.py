"""The command `mlflow log`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafgate.cli.guard import guarded
from leafgate.errors import InvalidError

app = typer.Typer()
mlflow = typer.Typer(help="Keep an audit's outcome beside a model, in MLflow.")
app.add_typer(mlflow, name="mlflow")


@mlflow.callback()
def _mlflow() -> None:
    """Keep an audit's outcome beside a model, in MLflow."""


def log(
    folder: Annotated[Path, typer.Argument(metavar="REPORT_DIR", help="What `leafgate audit --out` wrote.")],
    tracking_uri: Annotated[
        str, typer.Option(envvar="MLFLOW_TRACKING_URI", help="The MLflow server or store; nothing else is called.")
    ],
    run_id: Annotated[str | None, typer.Option(help="The run to tag: the one that trained the model.")] = None,
    experiment: Annotated[str | None, typer.Option(help="Instead, the experiment to make a run in.")] = None,
) -> int:
    """Tag an MLflow run with a verdict, keep the public report there, and end as the audit did."""
    from leafgate_mlflow.exporting import exported
    from leafgate_mlflow.reading import read_public

    if (run_id is None) == (experiment is None):
        raise InvalidError("name a run, or an experiment to make one in", place="--run-id, --experiment")
    report = read_public(folder)
    run = exported(report, tracking_uri, run_id, experiment)
    typer.echo(f"run {run}: {report.tags['leafgate.verdict']}")
    return report.exit_code


mlflow.command("log")(guarded(log))
