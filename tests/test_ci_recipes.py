"""The recipes for GitHub, GitLab and pre-commit: their scripts are run as they stand."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from pre_commit.clientlib import load_manifest

from command_line import leafgate
from recipes import ACTION, GITLAB, HOOKS, TOP, Ran, program, read, run, step

BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
SH = ("sh", "-e")
VIEWS = pytest.mark.skipif("--to" not in leafgate("audit", "--help").out, reason="this leafgate writes no report views")
FAKE = """printf '%s\\n' "$@" > "$HOME/words"
mkdir -p leafgate-report; printf '{}' > leafgate-report/report.json; printf "$FAKE_SUMMARY" > leafgate-report/report.md
exit "$FAKE_CODE\""""
NOTHING: Mapping[str, str] = {}
SHA = re.compile(r"[\w/-]+@[0-9a-f]{40}")


def github(folder: Path, formats: str = "", **variables: str) -> Ran:
    """The audit step of the GitHub action."""
    said = {"LEAFGATE_DATA": "", "LEAFGATE_ROOT": "", "LEAFGATE_FOLDER": "leafgate-report"}
    return run(step("audit")["run"], folder, *BASH, variables={**said, "LEAFGATE_FORMATS": formats, **variables})


def gitlab(folder: Path, formats: str = "", **variables: str) -> Ran:
    """The script of the GitLab job."""
    job = read(GITLAB)[".leafgate-audit"]
    said = {"LEAFGATE_DATA": "", "LEAFGATE_ROOT": ""}
    (script,) = job["script"]
    return run(script, folder, *SH, variables={**said, "LEAFGATE_FORMATS": formats, **variables})


RUNNERS: dict[str, Callable[..., Ran]] = {"github": github, "gitlab": gitlab}
each_runner = pytest.mark.parametrize("audit", RUNNERS.values(), ids=RUNNERS)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a policy that passes, and one that fails."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    shutil.copy(TOP / "policies" / "mortgage.csv", folder)
    passing = (TOP / "policies" / "mortgage.yaml").read_text()
    (folder / "passing.yaml").write_text(passing)
    stricter = passing.replace("k_anonymity, at_least: 3", "k_anonymity, at_least: 4")
    (folder / "failing.yaml").write_text(stricter)
    (folder / "invalid.yaml").write_text("leafgate: 1\n")
    return folder


@each_runner
@pytest.mark.parametrize(("policy", "code", "verdict"), [("passing.yaml", 0, "pass"), ("failing.yaml", 1, "fail")])
def test_the_step_ends_as_the_audit_does_and_leaves_the_report(
    audit: Callable[..., Ran], policy: str, code: int, verdict: str, checkout: Path
) -> None:
    ended = audit(checkout, LEAFGATE_POLICY=policy)
    assert ended.code == code, ended.told
    report = json.loads((checkout / "leafgate-report" / "report.json").read_text())
    assert report["verdict"] == verdict
    assert report["audience"] == "public"


@each_runner
@pytest.mark.parametrize("policy", ["invalid.yaml", "nowhere.yaml", "--version", "-h"])
def test_a_policy_that_is_none_blocks(audit: Callable[..., Ran], policy: str, checkout: Path) -> None:
    assert audit(checkout, LEAFGATE_POLICY=policy).code == 2


@each_runner
def test_what_an_input_says_is_never_run(audit: Callable[..., Ran], checkout: Path) -> None:
    bad = '"; touch ran; $(touch ran) `touch ran` ${LEAFGATE_POLICY@P} *'
    ended = audit(checkout, LEAFGATE_POLICY=bad, LEAFGATE_DATA=bad, LEAFGATE_ROOT=bad)
    assert ended.code == 2
    assert not (checkout / "ran").exists()


@VIEWS
@each_runner
@pytest.mark.parametrize(("policy", "code"), [("passing.yaml", 0), ("failing.yaml", 1)])
def test_every_format_is_written_whatever_the_verdict(
    audit: Callable[..., Ran], policy: str, code: int, checkout: Path
) -> None:
    ended = audit(checkout, formats=read(ACTION)["inputs"]["formats"]["default"], LEAFGATE_POLICY=policy)
    assert ended.code == code, ended.told
    wanted = {"report.json", "report.sarif", "report.md", "report.junit.xml", "report.html"}
    assert wanted <= {file.name for file in (checkout / "leafgate-report").iterdir()}
    if audit is github:
        assert ended.files["GITHUB_STEP_SUMMARY"] == (checkout / "leafgate-report" / "report.md").read_text()


def fake(
    tmp_path: Path, code: int = 0, summary: str = "", variables: Mapping[str, str] = NOTHING
) -> tuple[Ran, list[str]]:
    """The GitHub audit step with a stand-in for leafgate: how it ended, and the words it gave."""
    folder = tmp_path / "job"
    folder.mkdir()
    programs = program(tmp_path / "programs", "leafgate", FAKE)
    said = {
        "LEAFGATE_POLICY": "a policy.yaml",
        "LEAFGATE_DATA": "",
        "LEAFGATE_ROOT": "",
        "LEAFGATE_FORMATS": "",
        "LEAFGATE_FOLDER": "leafgate-report",
        "FAKE_CODE": str(code),
        "FAKE_SUMMARY": summary,
    }
    ended = run(step("audit")["run"], folder, *BASH, programs=programs, variables={**said, **variables})
    return ended, (folder / "words").read_text().splitlines()


def test_the_words_are_those_of_the_inputs(tmp_path: Path) -> None:
    more = {"LEAFGATE_DATA": "my data.csv", "LEAFGATE_ROOT": "/the data", "LEAFGATE_FORMATS": "sarif  *\n"}
    _, words = fake(tmp_path, variables=more)
    options = ["--out", "leafgate-report", "--to", "sarif", "--to", "*", "--root", "/the data"]
    assert words == ["audit", *options, "--", "a policy.yaml", "my data.csv"]


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 130])
def test_every_exit_code_is_the_step_s_and_the_summary_is_written_before(code: int, tmp_path: Path) -> None:
    ended, _ = fake(tmp_path, code, "# the verdict\\n")
    assert ended.code == code
    assert ended.files["GITHUB_OUTPUT"] == f"exit-code={code}\n"
    assert ended.files["GITHUB_STEP_SUMMARY"] == "# the verdict\n"


def test_a_summary_that_would_be_dropped_is_left_out(tmp_path: Path) -> None:
    ended, _ = fake(tmp_path, summary="%01000000d")
    assert (ended.code, ended.files["GITHUB_STEP_SUMMARY"]) == (0, "")


def test_what_is_installed_is_this_version_or_what_is_asked_for(tmp_path: Path) -> None:
    pip = 'printf "%s\\n" "$@" > "$HOME/pip"; [ "$5" != --requirement ] || cp "$6" "$HOME/requirements"'
    making = f'mkdir -p "$3/bin"; printf "%s" \'#!/bin/bash\n{pip}\' > "$3/bin/python"; chmod +x "$3/bin/python"'
    programs = program(tmp_path / "programs", "python", making)
    for wanted, words in (("", ["/action/../../.."]), ("leafgate==1\nacme; touch ran", ["--requirement"])):
        folder = tmp_path / f"job{len(wanted)}"
        folder.mkdir()
        where = {"RUNNER_TEMP": str(folder), "GITHUB_ACTION_PATH": "/action", "LEAFGATE_INSTALL": wanted}
        ended = run(step("install")["run"], folder, *BASH, programs=programs, variables=where)
        assert ended.code == 0, ended.told
        assert (folder / "pip").read_text().splitlines()[:5] == ["-m", "pip", "install", "--quiet", *words]
        assert ended.files["GITHUB_PATH"] == f"{folder}/leafgate/bin\n"
        assert not (folder / "ran").exists()
    assert (folder / "requirements").read_text() == "leafgate==1\nacme; touch ran\n"


def test_the_gitlab_job_installs_what_is_said_and_nothing_of_its_own(tmp_path: Path) -> None:
    """A name that nobody keeps on an index could be anybody's."""
    job = read(GITLAB)[".leafgate-audit"]
    asking, *_ = job["before_script"]
    assert job["variables"]["LEAFGATE_INSTALL"] == ""
    unsaid = run(asking, tmp_path, *SH, variables={"LEAFGATE_INSTALL": ""})
    assert unsaid.code == 2
    assert "git+https://HOST/GROUP/leafgate@COMMIT" in unsaid.told
    said = run(asking, tmp_path, *SH, variables={"LEAFGATE_INSTALL": "git+https://HOST/GROUP/leafgate@COMMIT"})
    assert (said.code, said.told) == (0, "")


def test_no_page_installs_leafgate_by_a_name_that_is_not_taken() -> None:
    pages = [TOP / "README.md", GITLAB, *(TOP / "docs").glob("*.md")]
    by_name = re.compile(r"(pip install|LEAFGATE_INSTALL:) +['\"]?leafgate\b")
    assert [page.name for page in pages if by_name.search(page.read_text(encoding="utf-8"))] == []


def test_no_script_of_the_action_holds_an_input() -> None:
    for each in read(ACTION)["runs"]["steps"]:
        assert "${{" not in each.get("run", "")
        assert each.get("shell", "bash") == "bash"


def test_the_action_says_what_github_wants_to_know() -> None:
    action = read(ACTION)
    assert {"name", "description", "inputs", "outputs", "runs"} == set(action)
    assert action["runs"]["using"] == "composite"
    assert all(told["description"] for told in (*action["inputs"].values(), *action["outputs"].values()))
    used = set(re.findall(r"inputs\.([\w-]+)", ACTION.read_text()))
    assert used == set(action["inputs"])


def test_other_people_s_actions_are_pinned_and_reports_are_kept_whatever_happens() -> None:
    steps = [each for each in read(ACTION)["runs"]["steps"] if "uses" in each]
    assert all(SHA.fullmatch(each["uses"]) for each in steps)
    (keeping,) = (each for each in steps if each["uses"].startswith("actions/upload-artifact@"))
    assert keeping["if"] == "always()"
    assert keeping["with"]["path"].endswith("/report.*")
    job = read(GITLAB)[".leafgate-audit"]
    assert job["artifacts"]["when"] == "always"
    assert job["artifacts"]["paths"] == ["leafgate-report/report.*"]


def test_no_recipe_asks_for_what_only_auditors_may_see() -> None:
    assert not any("--audience" in path.read_text() for path in (ACTION, GITLAB, HOOKS))


HOOK = read(HOOKS)[0]


def test_the_hook_says_what_pre_commit_wants_to_know() -> None:
    assert [each["id"] for each in read(HOOKS)] == ["leafgate-validate", "leafgate-validate-partial"]
    assert {"id", "name", "entry", "language"} <= set(HOOK)
    assert HOOK["language"] == "python"


def test_the_hook_looks_at_every_yaml_file_for_a_policy_may_be_read_with_any() -> None:
    assert HOOK["types"] == ["yaml"]
    assert "files" not in HOOK
    assert HOOK["require_serial"]


@pytest.mark.parametrize(
    ("files", "code"),
    [(["passing.yaml"], 0), (["passing.yaml", "failing.yaml"], 0), (["passing.yaml", "invalid.yaml"], 2)],
)
def test_the_hook_runs_on_the_files_it_is_given(files: list[str], code: int, checkout: Path) -> None:
    ended = run(f"git init -q . && {HOOK['entry']} {' '.join(files)}", checkout, *BASH, variables=NOTHING)
    assert ended.code == code
    assert all(file in ended.told for file in files)


def test_the_hook_says_of_each_file_what_is_wrong(checkout: Path) -> None:
    (checkout / "other.yaml").write_text("leafgate: 1\nname: other\n")
    words = [checkout / "invalid.yaml", checkout / "passing.yaml", checkout / "other.yaml"]
    told = leafgate("validate", *words)
    assert (told.code, told.out) == (2, f"{words[1]}: the policy 'mortgage' is valid\n")
    assert {line.split(": ")[1] for line in told.err.splitlines()} == {str(words[0]), str(words[2])}


def test_pre_commit_itself_takes_the_manifest() -> None:
    assert [hook["id"] for hook in load_manifest(str(HOOKS))] == ["leafgate-validate", "leafgate-validate-partial"]


@pytest.mark.skipif(shutil.which("git") is None, reason="pre-commit needs git")
@pytest.mark.parametrize(("policy", "code"), [("passing.yaml", 0), ("invalid.yaml", 1)])
def test_pre_commit_runs_the_hook_on_the_policies_of_a_repository(policy: str, code: int, checkout: Path) -> None:
    (checkout / policy).rename(checkout / "loans.leafgate.yaml")
    if code == 0:
        (checkout / "invalid.yaml").unlink()
    shutil.copy(TOP / "policies" / "mortgage.yaml", checkout / "leafgate.yml")
    hook = {**HOOK, "language": "system"}
    (checkout / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [{"repo": "local", "hooks": [hook]}]}))
    here = {"PRE_COMMIT_HOME": str(checkout.parent / "pre-commit"), "GIT_CONFIG_GLOBAL": "/dev/null"}
    script = "git init -q . && git add . && pre-commit run --all-files --verbose"
    ended = run(script, checkout, *BASH, variables=here)
    assert ended.code == code, ended.told
    assert "leafgate.yml: the policy 'mortgage' is valid" in ended.told
    assert ("loans.leafgate.yaml: the policy" in ended.told) == (code == 0)
    assert ("leafgate: loans.leafgate.yaml: data: is missing" in ended.told) == (code == 1)


@pytest.mark.skipif(shutil.which("git") is None, reason="pre-commit needs git")
@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        ("printf '#' >> org.yaml", 0, "loans.yaml: the policy 'mortgage' is valid"),
        ("sed -i s/:.2/:\\ 9/ org.yaml", 1, "leafgate: loans.yaml: metrics[0].at_least: loosens what it extends"),
        ("echo 'waivers: 3' > waivers.yaml", 1, "leafgate: loans.yaml: waivers.yaml, line 1: waivers: "),
        ("printf '#' >> other.yaml", 0, "no policy is read with these files"),
    ],
)
def test_pre_commit_looks_at_the_policies_that_depend_on_a_changed_file(
    change: str, code: int, told: str, checkout: Path
) -> None:
    (checkout / "invalid.yaml").unlink()
    text = (checkout / "passing.yaml").read_text()
    (checkout / "passing.yaml").unlink()
    (checkout / "loans.yaml").write_text(f"{text}\nextends: org.yaml\nwaivers: waivers.yaml\n")
    org = "leafgate: 1\nmetrics:\n  - {use: k_anonymity, at_least: 2}\nreport: {smallest_cell: 1}\n"
    (checkout / "org.yaml").write_text(org)
    (checkout / "waivers.yaml").write_text("waivers: []\n")
    (checkout / "other.yaml").write_text("services: {}\n")
    hook = {**HOOK, "language": "system"}
    (checkout / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [{"repo": "local", "hooks": [hook]}]}))
    here = {"PRE_COMMIT_HOME": str(checkout.parent / "pre-commit"), "GIT_CONFIG_GLOBAL": "/dev/null"}
    commit = "git -c user.name=a -c user.email=a@example.org commit -qm first"
    script = f"git init -q . && git add . && {commit} && {change} && git add . && pre-commit run --verbose"
    ended = run(script, checkout, *BASH, variables=here)
    assert ended.code == code, ended.told
    assert told in ended.told, ended.told
    assert "failing.yaml" not in ended.told


def test_one_json_document_tells_of_one_policy(checkout: Path) -> None:
    told = leafgate("validate", checkout / "passing.yaml", checkout / "failing.yaml", "--json")
    assert told.code == 2
    assert told.problems[0]["place"] == "--json"


PAGE = (TOP / "docs" / "ci.md").read_text(encoding="utf-8")
SHOWN = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]


def test_the_page_s_workflow_gives_the_action_inputs_that_it_has() -> None:
    (workflow,) = (each for each in SHOWN if "jobs" in each)
    (used,) = (each for each in workflow["jobs"]["audit"]["steps"] if each.get("id") == "leafgate")
    assert used["uses"].split("@")[0].endswith(str(ACTION.parent.relative_to(TOP)))
    inputs = read(ACTION)["inputs"]
    assert set(used["with"]) <= set(inputs)
    assert {name for name, told in inputs.items() if told.get("required")} <= set(used["with"])


def test_the_page_lists_the_inputs_of_the_action_with_their_defaults() -> None:
    listed = dict(re.findall(r"^\| `([\w-]+)` \| ?(?:`([^`]*)`|[^|]*?) ?\|", PAGE, re.MULTILINE))
    inputs = read(ACTION)["inputs"]
    assert list(listed) == list(inputs)
    assert all(listed[name] == told.get("default", "") for name, told in inputs.items())


def test_the_page_s_job_extends_the_job_there_is_with_variables_that_it_has() -> None:
    (pipeline,) = (each for each in SHOWN if "include" in each)
    assert (TOP / pipeline["include"][0]["file"]) == GITLAB
    job = read(GITLAB)[pipeline["audit"]["extends"]]
    assert set(pipeline["audit"]["variables"]) <= set(job["variables"])


def test_the_page_s_hook_is_one_there_is() -> None:
    (configured,) = (each for each in SHOWN if "repos" in each)
    assert [hook["id"] for hook in configured["repos"][0]["hooks"]] == [HOOK["id"]]


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
        assert done.code == 0, done.told
        return done.told.splitlines()[-1]

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


@INSTALLED
def test_the_alias_moves_to_the_version_whose_file_passed(governed: Path) -> None:
    ended, aliases, tags = promoted(governed)
    assert ended.code == 0, ended.told
    assert (aliases, tags["leafgate.verdict"]) == ({"champion": "1"}, "pass")
    model = (governed / "governance" / "model.json").read_bytes()
    assert tags["leafgate.file_sha256"] == hashlib.sha256(model).hexdigest()


@INSTALLED
@pytest.mark.parametrize(
    ("case", "code", "verdict"),
    [
        ("a broken limit", 1, "fail"),
        ("another file", 2, None),
        ("a wrong option", 2, None),
        ("an invalid policy", 2, None),
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
    assert (ended.code, aliases, tags.get("leafgate.verdict")) == (code, {}, verdict), ended.told


def test_no_recipe_ignores_an_exit_code() -> None:
    pages = [ACTION, GITLAB, HOOKS, TOP / "README.md", *(TOP / "docs").rglob("*.md")]
    ignoring = re.compile(r"\|\| *(true|:)(?![\w`])|; *true\b")
    assert [page.name for page in pages if ignoring.search(page.read_text(encoding="utf-8"))] == []
