"""The recipes: scripts are run, commands are taken from files for orchestrators that are absent.

The page is docs/how-to/ci.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml

from attested import audited_model, write_keys
from cases import more
from recipes import PROGRAMS, TOP, program

pytestmark = pytest.mark.thorough

CI = TOP / "docs" / "ci"
GATE = CI / "gate.sh"
COPY = CI / "copy.sh"
PUBLISH = CI / "publish.sh"
POLICY = "governance/leafgate.yaml"
NOTHING: Mapping[str, str] = {}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project as the recipes take it: a policy that passes, one that fails, a table."""
    folder = tmp_path / "my project"
    (folder / "governance").mkdir(parents=True)
    (folder / "data").mkdir()
    shutil.copy(TOP / "policies" / "mortgage.csv", folder / "data" / "people.csv")
    passing = (TOP / "policies" / "mortgage.yaml").read_text()
    (folder / "governance" / "leafgate.yaml").write_text(passing)
    failing = passing.replace("k_anonymity, at_least: 3", "k_anonymity, at_least: 4")
    assert failing != passing
    (folder / "governance" / "failing.yaml").write_text(failing)
    for script in (GATE, COPY):
        shutil.copy(script, folder / "governance")
    return folder


def run(
    *words: object, folder: Path, programs: Path = PROGRAMS, variables: Mapping[str, str] = NOTHING
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with this environment's programs on the path."""
    environment = {**os.environ, "PATH": f"{programs}:{PROGRAMS}:{os.environ['PATH']}", **variables}
    return subprocess.run(
        [str(word) for word in words], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


def use(project: Path, verdict: str) -> None:
    """Let the project's policy be the one that passes or the one that fails."""
    if verdict == "fail":
        shutil.copy(project / "governance" / "failing.yaml", project / "governance" / "leafgate.yaml")


@pytest.mark.parametrize(("verdict", "code"), [("pass", 0), ("fail", 2)])
def test_what_was_verified_is_published_and_nothing_else(project: Path, verdict: str, code: int) -> None:
    use(project, verdict)
    write_keys(project)
    policy, out = project / "governance" / "leafgate.yaml", project / "a run"
    run("leafgate", "audit", policy, "data/people.csv", "--out", out, "--attest", "private.pem", folder=project)
    published = project / "published"

    copying = ("sh", "-c", 'cp -- "$1" published', "publish")

    def publish(folder: object, key: object, policy: object, *given: object) -> subprocess.CompletedProcess[str]:
        table = "--data=data/people.csv"
        return run("sh", PUBLISH, folder, key, policy, table, *given, *copying, folder=project)

    done = publish(out, "public.pem", policy, "--release", out / "release.json")
    assert (done.returncode, published.exists()) == (code, code == 0), done.stderr
    if code == 0:
        assert published.read_bytes() == (out / "release.json").read_bytes()
        published.unlink()
    other = project / "governance" / ("failing.yaml" if code == 0 else "leafgate.yaml")
    changed = project / "release.json"
    changed.write_bytes((out / "release.json").read_bytes() + b" ")
    refused: list[tuple[object, ...]] = [
        (out, "public.pem", policy, "--release", changed),
        (out, "public.pem", policy, "--file", out / "release.json"),
        (out, "other-public.pem", policy, "--release", out / "release.json"),
        (out, "public.pem", other, "--release", out / "release.json"),
        (out, "public.pem", policy, "--help", out / "release.json"),
        (project / "data", "public.pem", policy, "--release", out / "release.json"),
        ("--help", "public.pem", policy, "--release", out / "release.json"),
    ]
    for option in ("--data=governance/failing.yaml", "--data", "--signer=ed25519"):
        refused.append((out, "public.pem", policy, option, "--release", out / "release.json"))
    for given in refused if code == 0 else refused[:3]:
        assert publish(*given).returncode == 2
        assert not published.exists()
    assert (
        run("sh", PUBLISH, out, "public.pem", policy, "--release", out / "release.json", folder=project).returncode == 2
    )
    words = (out, "public.pem", policy, "--release", out / "release.json", *copying)
    assert run("sh", PUBLISH, *words, folder=project).returncode == 2  # nobody says which table it must be
    assert not published.exists()


SWAP = """
if [ "$1" = verify ] || [ "$1" = report ]; then
    {leafgate} "$@" || exit $?
    cp other.json release.json
else
    exec {leafgate} "$@"
fi
"""


@pytest.mark.parametrize("script", [PUBLISH, COPY], ids=lambda path: path.name)
def test_of_a_link_the_content_that_was_verified_is_published(script: Path, project: Path, tmp_path: Path) -> None:
    """What the link leads to is another file as soon as the first one is verified."""
    write_keys(project)
    policy, out = project / "governance" / "leafgate.yaml", project / "run"
    run("leafgate", "audit", policy, "data/people.csv", "--out", out, "--attest", "private.pem", folder=project)
    passed = (out / "release.json").read_bytes()
    (out / "release.json").rename(project / "release.json")
    (out / "release.json").symlink_to(project / "release.json")
    (project / "other.json").write_bytes(passed + b" ")
    programs = program(tmp_path / "programs", "leafgate", SWAP.format(leafgate=PROGRAMS / "leafgate"))
    published = project / "public" / "release.json"
    words: tuple[object, ...] = (out, published.parent)
    if script == PUBLISH:
        published.parent.mkdir()
        copying = ("sh", "-c", 'cp -RP -- "$1" public', "publish")
        words = (out, "public.pem", policy, "--data=data/people.csv", "--release", out / "release.json", *copying)
    done = run("sh", script, *words, folder=project, programs=programs)
    assert done.returncode == 0, done.stderr
    assert (project / "release.json").read_bytes() != passed
    assert (published.is_symlink(), published.read_bytes()) == (False, passed)
    shutil.rmtree(published.parent)
    published.parent.mkdir()
    assert run("sh", script, *words, folder=project, programs=programs).returncode == 2  # the link leads elsewhere now
    assert list(published.parent.iterdir()) == []


def test_the_gate_refuses_another_table_than_the_policy_names(project: Path) -> None:
    table = (project / "data" / "people.csv").read_text()
    named = project / "governance" / "mortgage.csv"
    named.write_text(table)
    words = ("governance/leafgate.yaml", "data/people.csv")
    assert run("sh", GATE, "same", *words, folder=project).returncode == 0
    named.write_text("".join(table.splitlines(keepends=True)[:-1]))
    done = run("sh", GATE, "other", *words, folder=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert "data.path: is another file than the policy names" in done.stderr
    assert run("sh", GATE, "moved", words[0], "--root", "data", folder=project).returncode == 2  # it is not there
    (project / "data" / "mortgage.csv").write_text(table)
    assert run("sh", GATE, "rooted", words[0], "--root", "data", folder=project).returncode == 0


each_verdict = pytest.mark.parametrize(("verdict", "code"), [*more(("pass", 0)), ("fail", 1)])


@pytest.mark.parametrize(("verdict", "code"), [("pass", 0), ("fail", 1)])
def test_the_gate_ends_as_the_audit_and_prints_the_folder_after_a_pass_alone(
    verdict: str, code: int, project: Path
) -> None:
    use(project, verdict)
    done = run("sh", GATE, "a new/folder", "governance/leafgate.yaml", "data/people.csv", folder=project)
    assert (done.returncode, done.stdout) == (code, "a new/folder\n" if code == 0 else ""), done.stderr
    assert json.loads((project / "a new" / "folder" / "report.json").read_bytes())["verdict"] == verdict


@pytest.mark.parametrize(
    "words", [["nowhere.yaml"], *more(["--help"], ["governance/leafgate.yaml", "--help"], ["--to=pdf"], [])]
)
def test_the_gate_is_shut_where_nothing_was_audited(words: list[str], project: Path) -> None:
    """Also where leafgate itself ends in 0."""
    done = run("sh", GATE, "results", *words, folder=project)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("old", ["folder", *more("link", "file")])
def test_the_gate_takes_no_folder_that_is_there(old: str, project: Path) -> None:
    passed = run("sh", GATE, "old", "governance/leafgate.yaml", "data/people.csv", folder=project)
    assert passed.returncode == 0, passed.stderr
    if old == "link":
        (project / "results").symlink_to("old")
    elif old == "folder":
        (project / "old").rename(project / "results")
    else:
        (project / "results").write_text("")
    done = run("sh", GATE, "results", "governance/leafgate.yaml", "data/people.csv", folder=project)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("ending", ["exit 3", "exit 130", "kill -9 $$"])
def test_the_gate_keeps_every_other_exit_code(ending: str, project: Path, tmp_path: Path) -> None:
    programs = program(tmp_path / "programs", "leafgate", f"[ $1 = report ] || {ending}")
    done = run("sh", GATE, "results", "policy.yaml", folder=project, programs=programs)
    assert (done.returncode, done.stdout) == ({"exit 3": 3, "exit 130": 130}.get(ending, 137), "")


@pytest.mark.processes
def test_the_gate_runs_no_module_of_the_working_folder(project: Path) -> None:
    for name in ("sitecustomize", "leafgate", "typer", "numpy"):
        (project / f"{name}.py").write_text("open('ran', 'w')\n")
    words = ("governance/leafgate.yaml", "data/people.csv")
    done = run(
        "sh", GATE, "results", *words, folder=project, variables={"PYTHONPATH": ".", "PYTHONSTARTUP": "numpy.py"}
    )
    assert done.returncode == 0, done.stderr
    assert not (project / "ran").exists()


@each_verdict
def test_the_dvc_stages_publish_after_a_pass_alone(verdict: str, code: int, project: Path) -> None:
    """The stages are run as `dvc repro` does: outs are removed before, and the first failure ends it."""
    use(project, verdict)
    stages = yaml.safe_load((CI / "dvc.yaml").read_text())["stages"]
    assert list(stages) == ["audit", "publish"]
    assert stages["audit"]["always_changed"] is True
    (out,) = (name for each in stages["audit"]["outs"] for name in each)
    assert stages["publish"]["deps"] == ["governance/copy.sh", out]
    ended = 0
    for stage in stages.values():
        assert all((project / path).exists() for path in stage["deps"])
        commands = [stage["cmd"]] if isinstance(stage["cmd"], str) else stage["cmd"]
        for command in commands:
            ended = ended or run("sh", "-c", command, folder=project).returncode
        if ended:
            break
    assert ended == code
    assert (project / "public" / "release.json").exists() == (code == 0)


@each_verdict
def test_the_kubernetes_job_audits_before_the_container_that_publishes(verdict: str, code: int, project: Path) -> None:
    use(project, verdict)
    job = yaml.safe_load((CI / "kubernetes-job.yaml").read_text())
    pod = job["spec"]["template"]["spec"]
    (audit,), (publish,) = pod["initContainers"], pod["containers"]
    assert (job["spec"]["backoffLimit"], pod["restartPolicy"]) == (0, "Never")
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert volumes["results"] == {"name": "results", "emptyDir": {}}
    for container in (audit, publish):
        assert re.search(r"@sha256:\w+$", container["image"])
        assert {mount["name"] for mount in container["volumeMounts"]} <= set(volumes)
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert "data" not in {mount["name"] for mount in publish["volumeMounts"]}
    for name in ("results", "public"):
        (project / name).mkdir()
    here = {mount["mountPath"]: project / mount["name"] for mount in (*audit["volumeMounts"], *publish["volumeMounts"])}
    here["/opt/leafgate"] = CI
    ended = [
        run(*(placed(word, here) for word in (*container["command"], *container.get("args", []))), folder=project)
        for container in (audit, publish)
    ]
    assert ended[0].returncode == code, ended[0].stderr
    if code == 0:
        assert ended[1].returncode == 0, ended[1].stderr
        assert {path.name for path in (project / "public").iterdir()} == {"release.json", "report.json"}


def placed(word: str, folders: Mapping[str, Path]) -> str:
    """A word of a container's command, with the folders of this machine for those that are mounted."""
    mount = next((each for each in folders if word.startswith(f"{each}/")), "")
    return f"{folders[mount]}{word.removeprefix(mount)}" if mount else word


class Operator:
    """Stands for Airflow's BashOperator: keeps what it is given."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.after: list[Operator] = []

    def __rshift__(self, following: Operator) -> None:
        following.after.append(self)


class Dag:
    """Stands for Airflow's DAG."""

    def __init__(self, **options: Any) -> None:
        assert options["dag_id"]

    def __enter__(self) -> Dag:
        return self

    def __exit__(self, *error: object) -> None:
        return None


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts a stand-in for a module where it is imported from."""

    def put(name: str, **members: Any) -> None:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            monkeypatch.setitem(sys.modules, ".".join(parts[:end]), types.ModuleType(".".join(parts[:end])))
        for member, value in members.items():
            setattr(sys.modules[name], member, value)

    return put


@each_verdict
def test_the_airflow_dag_publishes_after_a_pass_alone(
    verdict: str, code: int, project: Path, modules: Callable[..., None]
) -> None:
    """Its commands are run in bash, with its variables filled as Airflow does."""
    use(project, verdict)
    modules("airflow.sdk", DAG=Dag)
    modules("airflow.providers.standard.operators.bash", BashOperator=Operator)
    dag = runpy.run_path(str(CI / "airflow_dag.py"))
    audit, publish = dag["audit"], dag["publish"]
    assert publish.after == [audit]
    assert publish.options["trigger_rule"] == "all_success"
    assert (audit.options["retries"], audit.options["skip_on_exit_code"]) == (0, None)
    assert all("{" not in each.options["bash_command"] for each in (audit, publish))
    filled = {"RUN": 'manual__2026 "$(touch ran)-1', "RESULTS": str(project / "results"), "GATE": str(GATE)}
    filled |= {"POLICY": str(project / "governance/leafgate.yaml"), "DATA": str(project / "data/people.csv")}
    assert set(filled) == set(audit.options["env"])
    first = run("bash", "-c", audit.options["bash_command"], folder=project, variables=filled)
    assert first.returncode == code, first.stderr
    assert not (project / "ran").exists()
    assert run("bash", "-c", audit.options["bash_command"], folder=project, variables=filled).returncode == 2
    if code == 0:
        (project / "public").mkdir()
        handed = {"COPY": str(COPY), "REPORT": first.stdout.splitlines()[-1], "PUBLIC": str(project / "public")}
        assert set(handed) == set(publish.options["env"])
        assert run("bash", "-c", publish.options["bash_command"], folder=project, variables=handed).returncode == 0
        assert (project / "public" / "release.json").exists()


class Task:
    """Stands for a step of a Kubeflow pipeline."""

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        self.name, self.given, self.caching, self.retries = name, given, True, 0
        self.outputs = {"report": (name, "report")}

    def set_caching_options(self, enabled: bool) -> None:
        self.caching = enabled

    def set_retry(self, num_retries: int) -> None:
        self.retries = num_retries


@each_verdict
def test_the_kubeflow_pipeline_publishes_what_the_audit_gives(
    verdict: str, code: int, project: Path, modules: Callable[..., None]
) -> None:
    use(project, verdict)
    tasks: list[Task] = []

    def component(function: Callable[..., Any]) -> Callable[..., Task]:
        def step(**given: Any) -> Task:
            tasks.append(Task(function.__name__, given))
            return tasks[-1]

        step.function = function  # type: ignore[attr-defined]
        return step

    class Artifacts:
        def __class_getitem__(cls, item: object) -> type[Artifacts]:
            return cls

    dsl = types.SimpleNamespace(
        container_component=component,
        pipeline=lambda name: lambda function: function,
        ContainerSpec=dict,
        Artifact=dict,
    )
    dsl.Input = dsl.Output = Artifacts
    modules("kfp", dsl=dsl)
    pipeline = runpy.run_path(str(CI / "kubeflow_pipeline.py"))
    pipeline["gate"](policy="p.yaml", data="d.csv")
    assert [(task.name, task.caching, task.retries) for task in tasks] == [("audit", False, 0), ("publish", False, 0)]
    assert tasks[1].given == {"report": ("audit", "report")}
    report, release = (types.SimpleNamespace(path=str(project / name)) for name in ("report", "release"))
    given = {"policy": "governance/leafgate.yaml", "data": "data/people.csv"}
    audit = pipeline["audit"].function(report=report, **given)
    done = run(*audit["command"][:1], GATE, *audit["args"], folder=project)
    assert audit["command"] == ["sh", "/opt/leafgate/gate.sh"]
    assert done.returncode == code, done.stderr
    publish = pipeline["publish"].function(report=report, release=release)
    if code == 0:
        assert publish["command"] == ["sh", "/opt/leafgate/copy.sh"]
        assert run("sh", COPY, *publish["args"], folder=project).returncode == 0
        assert (project / "release" / "release.json").exists()
    assert set(get_type_hints(pipeline["audit"].function)) == {"policy", "data", "report", "return"}


HUB = """
import json, os, shutil
class HfApi:
    def upload_folder(self, *, folder_path, repo_id, commit_message):
        shutil.copytree(folder_path, os.environ["UPLOADED"])
"""


@pytest.fixture
def model(project: Path) -> Path:
    """A release file as a model, with a policy of its own that audits it; and a model card."""
    done = run("sh", GATE, "built", "governance/leafgate.yaml", "data/people.csv", folder=project)
    assert done.returncode == 0, done.stderr
    shutil.copy(project / "built" / "release.json", project / "data" / "model.json")
    for name in ("leafgate", "failing"):
        policy = yaml.safe_load((project / "governance" / f"{name}.yaml").read_text())
        policy["build"] = {"use": "published", "path": "data/model.json"}
        policy["data"]["path"] = "data/people.csv"
        policy.pop("publish", None)
        (project / f"{name}.yaml").write_text(yaml.safe_dump(policy))
    (project / "card.md").write_text("---\nlicense: mit\n---\n# Mortgages\n")
    (project / "hub").mkdir()
    (project / "hub" / "huggingface_hub.py").write_text(HUB)
    return project / "data" / "model.json"


def upload(project: Path, policy: str, model: Path | str) -> tuple[int, Mapping[str, str]]:
    """The exit code of the upload, and the files that were uploaded."""
    target = project / "uploaded"
    shutil.rmtree(target, ignore_errors=True)
    variables = {"PYTHONPATH": str(project / "hub"), "UPLOADED": str(target)}
    words = (sys.executable, CI / "hugging_face_upload.py", policy, model, "card.md", "me/mortgages")
    done = run(*words, folder=project, variables=variables)
    return done.returncode, {path.name: path.read_text() for path in target.iterdir()} if target.exists() else {}


@pytest.mark.processes
def test_a_model_is_uploaded_after_a_pass_with_the_card_s_section(project: Path, model: Path) -> None:
    code, files = upload(project, "leafgate.yaml", model)
    assert (code, set(files)) == (0, {"model.json", "README.md", "leafgate-report.json"})
    assert files["model.json"] == model.read_text()
    report = json.loads(files["leafgate-report.json"])
    assert report["release"]["file"]["sha256"] == hashlib.sha256(model.read_bytes()).hexdigest()
    assert report["audience"] == "public"
    assert files["README.md"].startswith(
        "---\nlicense: mit\n---\n# Mortgages\n\n<!-- leafgate: begin -->\n## What this"
    )
    (project / "card.md").write_text(files["README.md"] + "\n## Licence\n")
    _, again = upload(project, "leafgate.yaml", model)
    assert again["README.md"] == files["README.md"] + "## Licence\n"


@pytest.mark.parametrize(("policy", "code"), [("failing.yaml", 1), *more(("nowhere.yaml", 2), ("--help", 2))])
def test_nothing_is_uploaded_without_a_pass(policy: str, code: int, project: Path, model: Path) -> None:
    assert upload(project, policy, model) == (code, {})


@pytest.mark.processes
def test_nothing_is_uploaded_after_a_pass_of_another_file(project: Path, model: Path) -> None:
    (project / "other.json").write_text(model.read_text() + " ")
    assert upload(project, "leafgate.yaml", "other.json") == (2, {})


@pytest.fixture
def report(project: Path) -> Any:
    """The report of an audit that passes."""
    done = run("sh", GATE, "results", "governance/leafgate.yaml", "data/people.csv", folder=project)
    assert done.returncode == 0, done.stderr
    return json.loads((project / "results" / "report.json").read_bytes())


def expected_of(report: Any) -> Any:
    """What expected.yaml would say of a report."""
    expected = yaml.safe_load((CI / "expected.yaml").read_text())
    wanted = expected["leafgate"]
    assert set(wanted) == {"policies", "files", "releases", "versions"}
    wanted |= {"policies": [report["policy"]["sha256"]], "releases": [report["release"]["sha256"]]}
    wanted["versions"] = {"leafgate": [report["versions"]["leafgate"]]}
    return expected


def test_what_the_rego_rules_read_is_in_reports(tmp_path: Path) -> None:
    """Each path is one that the report on a model's file has."""
    rules = (CI / "report.rego").read_text()
    paths = set(re.findall(r"\binput\.([a-z_0-9.]+)", rules))
    assert {"verdict", "waived", "policy.sha256", "release.file.sha256", "versions", "findings"} <= paths
    report = json.loads((audited_model(tmp_path) / "out" / "report.json").read_bytes())
    for path in paths:
        node = report
        for part in path.split("."):
            assert part in node, path
            node = node[part]


def test_the_rego_rules_deny_whatever_is_not_expected(report: Any) -> None:
    regopy = pytest.importorskip("regopy", reason="regopy evaluates Rego; it is not installed")

    def denied(changed: Any, expected: Any) -> set[str]:
        interpreter = regopy.Interpreter()
        interpreter.add_module("report", (CI / "report.rego").read_text())
        interpreter.add_data(expected)
        interpreter.set_input(changed)
        (reasons,) = json.loads(str(interpreter.query("data.main.deny")))["expressions"]
        return set(reasons)

    expected = expected_of(report)
    assert denied(report, expected) == set()
    another = "another release or file was audited"
    finding = report["findings"][0]
    for change, reason in (
        ({"verdict": "fail"}, "the verdict is not pass"),
        ({"waived": 1}, "a limit was waived"),
        ({"policy": {**report["policy"], "sha256": "0" * 64}}, "another policy was audited"),
        ({"release": {**report["release"], "sha256": "0" * 64}}, another),
        ({"release": None}, another),
        ({"versions": {**report["versions"], "leafgate": "0.0"}}, "leafgate is not at an expected version"),
        ({"versions": {}}, "leafgate is not at an expected version"),
        ({"audience": "auditor"}, "the report is no leafgate/report/1 for the public"),
        ({"findings": []}, "the report has no findings"),
        ({"findings": [{**finding, "passed": None}]}, f"{finding['id']} did not hold"),
    ):
        assert denied({**report, **change}, expected) == {reason}
    assert len(denied({}, expected)) == 7
    assert len(denied(report, {})) == 3
    by_file = {"leafgate": {**expected["leafgate"], "releases": [], "files": ["1" * 64]}}
    of_file = {**report, "release": {**report["release"], "file": {"name": "m", "format": "f", "sha256": "1" * 64}}}
    assert denied(of_file, by_file) == set()


def test_every_recipe_is_on_a_page() -> None:
    page = "".join((TOP / "docs/how-to" / f"{name}.md").read_text(encoding="utf-8") for name in ("ci", "waivers"))
    assert [path.name for path in CI.iterdir() if path.is_file() and f"ci/{path.name}" not in page] == []
