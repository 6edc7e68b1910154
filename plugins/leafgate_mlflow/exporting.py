"""From a public report to a run of MLflow."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from leafgate.errors import InvalidError, OutputError

if TYPE_CHECKING:
    from leafgate_mlflow.reading import PublicReport

RETRIES = "3"
"""Of calls to a server, unless the environment says otherwise; MLflow's own default waits for minutes."""


def exported(report: PublicReport, uri: str, run_id: str | None, experiment: str | None) -> str:
    """Tag the run, or a new one in the experiment, and keep the report there; the run's id.

    InvalidError where MLflow is not installed, OutputError where it cannot be reached or refuses: then, too, a
    model must not go on.
    """
    client = _client(uri)
    try:
        with redirect_stdout(sys.stderr):
            return _logged(client, report, run_id, experiment)
    except Exception as error:
        raise OutputError(
            f"MLflow did not take the report ({type(error).__name__})",
            place="--tracking-uri",
            remedy=_remedy(error) or "is it reachable, and is there such a run?",
        ) from error


FOLDERS = "MLFLOW_ALLOW_FILE_STORE"
"""The variable without which MLflow refuses folders; it names it when it does."""


def _remedy(error: Exception) -> str:
    """MLflow's own remedy in our words: its text may hold the store's password."""
    if FOLDERS in str(error):
        return f"MLflow takes a folder only where {FOLDERS}=true is set; set it, or name a server"
    if type(error).__name__.startswith("Unsupported"):
        return "mlflow-skinny knows servers (https://...) and folders (file:///...); for databases, pip install mlflow"
    return ""


def _client(uri: str) -> Any:
    """A client of this store alone. MLflow would tell its makers of its use, unless told not to."""
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", RETRIES)
    try:
        with redirect_stdout(sys.stderr):
            from mlflow.tracking import MlflowClient
    except ImportError:
        raise InvalidError(
            "MLflow is not installed", place="leafgate mlflow", remedy="pip install 'leafgate[mlflow]'"
        ) from None
    try:
        return MlflowClient(tracking_uri=uri, registry_uri=uri)
    except Exception as error:
        raise OutputError(
            f"is no store that MLflow takes ({type(error).__name__})", place="--tracking-uri", remedy=_remedy(error)
        ) from error


def _logged(client: Any, report: PublicReport, run_id: str | None, experiment: str | None) -> str:
    run = run_id if run_id is not None else _new_run(client, str(experiment))
    for name, tag in report.tags.items():
        client.set_tag(run, name, tag)
    client.log_text(run, report.text, "leafgate/report.json")
    if run_id is None:
        client.set_terminated(run, "FINISHED" if report.exit_code == 0 else "FAILED")
    return run


def _new_run(client: Any, experiment: str) -> str:
    """A run in the experiment, which is made where there is none."""
    found = client.get_experiment_by_name(experiment)
    number = client.create_experiment(experiment) if found is None else found.experiment_id
    return str(client.create_run(number, run_name="leafgate audit").info.run_id)
