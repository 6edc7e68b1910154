"""From a public report to a run of MLflow."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafgate.api import InvalidError, OutputError, install_command
from leafgate.app import EXIT_CODES, ExpectedRun, Verdict, clean, parse_report

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
    """A client of this store alone, with MLflow's telemetry switched off."""
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", RETRIES)
    try:
        with redirect_stdout(sys.stderr):
            from mlflow.tracking import MlflowClient
    except ImportError:
        remedy = install_command("mlflow")
        raise InvalidError("MLflow is not installed", place="leafgate mlflow", remedy=remedy) from None
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


REPORT = "report.json"
ANY_RUN = ExpectedRun()


@dataclass(frozen=True)
class PublicReport:
    """A report for the public: its text as it was read, what a run is tagged with, and a line a waiver that is over.

    The tags and the exit code are those of the report with its waivers judged again.
    """

    text: str
    tags: Mapping[str, str]
    exit_code: int
    lapsed_waivers: Sequence[str] = ()


def read_public(folder: Path, expected: ExpectedRun = ANY_RUN) -> PublicReport:
    """The report in the folder of an audit; InvalidError where it is none, of another run, or for auditors only."""
    path = folder / REPORT
    try:
        content = path.read_bytes()
    except OSError as error:
        remedy = "name the folder given to `leafgate audit --out`"
        raise InvalidError(f"cannot be read: {error.strerror}", place=str(path), remedy=remedy) from None
    stored = parse_report(content, str(path))
    if stored["audience"] != "public":
        raise InvalidError(
            "is for auditors only, and whoever may read the run could read it",
            place=str(path),
            remedy="audit again without --audience auditor",
        )
    report, lapsed = expected.judged(stored, path)
    verdict: Verdict = report["verdict"]
    return PublicReport(content.decode(), _tags(report), EXIT_CODES[verdict], lapsed)


def _tags(report: Mapping[str, Any]) -> dict[str, str]:
    """What a gate or a search asks for; the release is left out where none was built."""
    policy, release = report["policy"], report["release"] or {}
    file = release.get("file", {})
    tags = {f"leafgate.file_{key}": clean(file[key]) for key in ("name", "format", "sha256") if file}
    tags |= {
        "leafgate.verdict": report["verdict"],
        "leafgate.waived": str(report["waived"]),
        "leafgate.policy": policy["name"],
        "leafgate.policy_sha256": policy["sha256"],
    }
    tags |= {"leafgate.release_sha256": release["sha256"]} if release else {}
    return tags | ({"leafgate.judged_on": report["judged_on"]} if report.get("judged_on") else {})
