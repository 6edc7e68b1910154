"""The recipes for CI as they stand: what they say, and their scripts run by a shell as a runner would."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

TOP = Path(__file__).resolve().parents[2]
ACTION = TOP / ".github" / "actions" / "audit" / "action.yml"
GITLAB = TOP / "docs" / "ci" / "audit.gitlab-ci.yml"
HOOKS = TOP / ".pre-commit-hooks.yaml"
PROGRAMS = Path(sys.executable).parent
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
SH = ("sh", "-e")
NOTHING: Mapping[str, str] = {}
UNLISTED = "{columns: name, roles: identifier}, {columns: sports_car, roles: private}"
"""What the organisation allows the mortgage policy to say of columns that it does not list itself."""
ORG = (
    "leafgate: 1\nreport: {smallest_cell: 1}\nmetrics:\n  - {use: k_anonymity, at_least: 4}\n"
    f"data: {{unlisted: {{except: [{UNLISTED}]}}}}\n"
)


def read(path: Path) -> Any:
    """A recipe as plain lists and mappings."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def step(name: str) -> dict[str, Any]:
    """A step of the GitHub action, by its id."""
    steps = read(ACTION)["runs"]["steps"]
    (found,) = (each for each in steps if each.get("id") == name)
    return dict(found)


@dataclass(frozen=True)
class Ran:
    """How a script ended, and what it wrote into the files a runner gives it."""

    code: int
    output: str
    files: Mapping[str, str]


FILES = ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")


def run(script: str, folder: Path, *shell: str, variables: Mapping[str, str], programs: Path = PROGRAMS) -> Ran:
    """Run a script in a folder, with `programs` first on the path and no more environment than a runner gives."""
    files = {name: folder.parent / f"{folder.name}-{name}" for name in FILES}
    for path in files.values():
        path.write_text("")
    environment = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "HOME": str(folder)}
    environment |= {name: str(path) for name, path in files.items()} | dict(variables)
    done = subprocess.run(
        [*shell, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    written = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    return Ran(done.returncode, done.stdout + done.stderr, written)


def program(folder: Path, name: str, script: str) -> Path:
    """A folder with a program of this name in it, which a shell runs."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)
    return folder


PYTHON_WITHOUT_INSTALLING = """
# Stands for `python -I -m venv venv`: an environment that has this leafgate, and whose pip only writes down its words.
[ "$*" = "-I -m venv venv" ] || exit 99
mkdir -p venv/bin
cp {leafgate} venv/bin/leafgate
cat > venv/bin/python <<'SHIM'
#!/bin/bash
if [ "$1 $2 $3" = "-I -m pip" ]; then printf '%s\\n' "${{@:4}}" >> pip-words; exit 0; fi
exec {python} "$@"
SHIM
chmod +x venv/bin/python
"""


def python_without_installing(folder: Path, leafgate: Path = PROGRAMS / "leafgate") -> Path:
    """A folder with a `python` that makes environments at once; `leafgate` is the console script they have."""
    script = PYTHON_WITHOUT_INSTALLING.format(leafgate=shlex.quote(str(leafgate)), python=shlex.quote(sys.executable))
    return program(folder, "python", script)


@dataclass(frozen=True)
class Job:
    """How a job ended: its exit code, what it printed, and what the runner keeps and shows of it."""

    code: int
    printed: str
    kept: Mapping[str, str] = field(default_factory=dict)
    """The text of each file that is uploaded, by its name."""
    summary: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)
    path: str = ""
    """The folder that later steps have on their path."""


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A machine that runs jobs: its temporary files, the `python` it has, leafgate's sources, further variables."""

    temp: Path
    programs: Path
    source: Path = TOP
    variables: Mapping[str, str] = field(default_factory=dict)

    def github(self, checkout: Path, **inputs: str) -> Job:
        """The composite action in a checkout; inputs have `_` for `-`."""
        action = read(ACTION)
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert set(given) <= set(action["inputs"])
        values = {f"inputs.{name}": str(each.get("default", "")) for name, each in action["inputs"].items()}
        values |= {f"inputs.{name}": value for name, value in given.items()}
        runner = {"RUNNER_TEMP": str(self.temp), "GITHUB_WORKSPACE": str(checkout)}
        runner |= {"GITHUB_ACTION_PATH": str(self.source / ACTION.parent.relative_to(TOP)), **self.variables}
        job = Job(0, "")
        for each in action["runs"]["steps"]:
            if "run" in each and job.code == 0:
                variables = runner | {name: _evaluated(text, values) for name, text in each["env"].items()}
                ran = run(each["run"], checkout, *BASH, variables=variables, programs=self.programs)
                outputs = dict(line.split("=", 1) for line in ran.files["GITHUB_OUTPUT"].splitlines())
                values |= {f"steps.{each['id']}.outputs.{name}": value for name, value in outputs.items()}
                summary = job.summary + ran.files["GITHUB_STEP_SUMMARY"]
                path = job.path + ran.files["GITHUB_PATH"].strip()
                job = Job(ran.code, job.printed + ran.output, {}, summary, {}, path)
        kept: dict[str, str] = {}
        for each in action["runs"]["steps"]:
            if each.get("uses", "").startswith("actions/upload-artifact@") and _holds(each["if"], values):
                paths = _evaluated(each["with"]["path"], values).splitlines()
                kept |= {Path(path).name: Path(path).read_text() for path in paths if Path(path).exists()}
        outputs = {name: _evaluated(each["value"], values) for name, each in action["outputs"].items()}
        return Job(job.code, job.printed, kept, job.summary, outputs, job.path)

    def gitlab(self, checkout: Path, **inputs: str) -> Job:
        """The hidden GitLab job in a checkout, with the inputs of the action as its variables."""
        job = read(GITLAB)[".leafgate-audit"]
        given = {f"LEAFGATE_{name.upper()}": value for name, value in inputs.items()}
        assert set(given) <= set(job["variables"])
        variables = {"CI_PROJECT_DIR": str(checkout), "TMPDIR": str(self.temp), **job["variables"], **self.variables}
        if {"LEAFGATE_SOURCE", "LEAFGATE_COMMIT"}.isdisjoint(given):
            given |= {"LEAFGATE_SOURCE": str(self.temp / "leafgate.git"), "LEAFGATE_COMMIT": self._commit()}
        script = "\n".join([*job["before_script"], *job["script"]])
        ran = run(script, checkout, *SH, variables=variables | given, programs=self.programs)
        paths = [checkout / path for path in job["artifacts"]["paths"]]
        return Job(ran.code, ran.output, {path.name: path.read_text() for path in paths if path.exists()})

    def _commit(self) -> str:
        """A commit of leafgate's sources, in a repository among the temporary files."""
        repository = self.temp / "leafgate.git"
        audit = ACTION.parent.relative_to(TOP)
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(self.temp / "leafgate.git")]
        if not repository.exists():
            (repository / audit).mkdir(parents=True)
            for file in (*(self.source / audit).iterdir(), self.source / "pyproject.toml", self.source / "backend.py"):
                if file.is_file():
                    (repository / file.relative_to(self.source)).write_bytes(file.read_bytes())
            for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Sources"]):
                subprocess.run([*git, *words], check=True, timeout=60)
        done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True, timeout=60)
        return done.stdout.strip()


def _evaluated(text: str, values: Mapping[str, str]) -> str:
    """A text with each `${{ name }}` replaced by its value, or by nothing."""
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: values.get(match[1], ""), text)


def _holds(condition: str, values: Mapping[str, str]) -> bool:
    """A condition of the form `always() && NAME != ''`."""
    match = re.fullmatch(r"always\(\) && ([\w.-]+) != ''", condition)
    assert match, condition
    return values.get(match[1], "") != ""
