"""The page's MLflow step: the alias moves to a version whose file passed, and to no other."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from command_line import leafgate
from recipes import (
    BASH,
    SH,
    TOP,
    Ran,
    run,
)

PAGE = (TOP / "docs/how-to/ci.md").read_text(encoding="utf-8")

MLFLOW_STEP = next(
    text for text in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if "mlflow" in text
)

REGISTER = """
import os, sys
from mlflow import MlflowClient
client = MlflowClient()
run = client.create_run(client.create_experiment("loans")).info.run_id
client.log_artifact(run, sys.argv[1])
client.create_registered_model("income")
version = client.create_model_version("income", client.get_run(run).info.artifact_uri, run)
print(run, version.version)
"""

LOOK = """
import json
from mlflow import MlflowClient
client = MlflowClient()
(experiment,) = [each for each in client.search_experiments() if each.name == "loans"]
(run,) = client.search_runs([experiment.experiment_id])
print(json.dumps([client.get_registered_model("income").aliases, run.data.tags]))
"""


def promoted(
    checkout: Path, registered: str = "model.json", words: str = ""
) -> tuple[Ran, dict[str, str], dict[str, str]]:
    """The page's MLflow step in a checkout, against a store of files: how it ended, the aliases, the run's tags."""
    store = {"MLFLOW_TRACKING_URI": (checkout.parent / "store").as_uri(), "MLFLOW_ALLOW_FILE_STORE": "true"}
    store |= {"MLFLOW_DISABLE_TELEMETRY": "true", "TMPDIR": str(checkout.parent)}

    def python(program: str, *given: str) -> str:
        done = run(shlex.join(["python", "-W", "ignore", "-c", program, *given]), checkout, *BASH, variables=store)
        assert done.code == 0, done.output
        return done.output.splitlines()[-1]

    run_id, version = python(REGISTER, str(checkout / "governance" / registered)).split()
    names = {"RUN_ID": run_id, "MODEL_NAME": "income", "MODEL_VERSION": version, "MODEL_FILE": registered}
    ended = run(MLFLOW_STEP.replace(" --out ", f" {words} --out "), checkout, *SH, variables=store | names)
    aliases, tags = json.loads(python(LOOK))
    return ended, aliases, tags


@pytest.fixture
def governed(checkout: Path) -> Path:
    """A checkout with a model that passes its policy, another that nobody audited, and an old report that passes."""
    governance = checkout / "governance"
    governance.mkdir()
    (checkout / "data").mkdir()
    shutil.copy(checkout / "mortgage.csv", checkout / "data" / "people.csv")
    assert leafgate("build", checkout / "passing.yaml", "--out", governance / "model.json").code == 0
    (governance / "other.json").write_bytes((governance / "model.json").read_bytes() + b"\n")
    published = "build: {use: published, path: model.json} #"
    for name in ("passing", "failing"):
        (governance / f"{name}.yaml").write_text((checkout / f"{name}.yaml").read_text().replace("build:", published))
    shutil.copy(governance / "passing.yaml", governance / "leafgate.yaml")
    data = checkout / "data" / "people.csv"
    assert leafgate("audit", governance / "leafgate.yaml", data, "--out", checkout / "leafgate-report").code == 0
    return checkout


INSTALLED = pytest.mark.skipif(find_spec("mlflow") is None, reason="mlflow-skinny is not installed")


@pytest.mark.processes
@INSTALLED
def test_the_alias_moves_to_the_version_whose_file_passed(governed: Path) -> None:
    ended, aliases, tags = promoted(governed)
    assert ended.code == 0, ended.output
    assert (aliases, tags["leafgate.verdict"]) == ({"champion": "1"}, "pass")
    model = (governed / "governance" / "model.json").read_bytes()
    assert tags["leafgate.file_sha256"] == hashlib.sha256(model).hexdigest()


@INSTALLED
@pytest.mark.parametrize(
    ("case", "code", "verdict"),
    [
        pytest.param("a broken limit", 1, "fail", marks=pytest.mark.processes),
        pytest.param("another file", 2, None, marks=pytest.mark.processes),
        pytest.param("a wrong option", 2, None, marks=pytest.mark.slow),
        pytest.param("an invalid policy", 2, None, marks=pytest.mark.slow),
    ],
)
def test_the_alias_does_not_move_for_anything_else(case: str, code: int, verdict: str | None, governed: Path) -> None:
    policy = governed / "governance" / "leafgate.yaml"
    if case == "a broken limit":
        shutil.copy(policy.parent / "failing.yaml", policy)
    elif case == "an invalid policy":
        policy.write_text("leafgate: 1\n")
    registered = "other.json" if case == "another file" else "model.json"
    words = "--to pdf" if case == "a wrong option" else ""
    ended, aliases, tags = promoted(governed, registered, words)
    assert (ended.code, aliases, tags.get("leafgate.verdict")) == (code, {}, verdict), ended.output
