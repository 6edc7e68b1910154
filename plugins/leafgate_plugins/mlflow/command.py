"""The command `mlflow log`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafgate.api import InvalidError
from leafgate.app import AsOf, ExpectedRun, ExpectFile, ExpectPolicy, ExpectRelease, clean, guarded

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
    expect_policy: ExpectPolicy = None,
    expect_release: ExpectRelease = None,
    expect_file: ExpectFile = None,
    as_of: AsOf = None,
) -> int:
    """Tag an MLflow run with a verdict, keep the public report there, and end as the audit did, on this day."""
    from leafgate_plugins.mlflow.export import exported, read_public

    if (run_id is None) == (experiment is None):
        raise InvalidError("name a run, or an experiment to make one in", place="--run-id, --experiment")
    expected = ExpectedRun(policy=expect_policy, release=expect_release, file=expect_file, as_of=as_of)
    report = read_public(folder, expected)
    for line in report.lapsed_waivers:
        typer.echo(f"leafgate: {clean(line)}", err=True)
    run = exported(report, tracking_uri, run_id, experiment)
    typer.echo(f"run {run}: {report.tags['leafgate.verdict']}")
    return report.exit_code


mlflow.command("log")(guarded(log))
