"""The pre-commit hook: what its manifest says, and what it does in a repository."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pre_commit.clientlib import load_manifest

from cases import more
from command_line import leafgate
from recipes import (
    BASH,
    HOOKS,
    NOTHING,
    ORG,
    TOP,
    read,
    run,
)

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
    [*more((["passing.yaml"], 0), (["passing.yaml", "failing.yaml"], 0)), (["passing.yaml", "invalid.yaml"], 2)],
)
@pytest.mark.thorough
def test_the_hook_runs_on_the_files_it_is_given(files: list[str], code: int, checkout: Path) -> None:
    ended = run(f"git init -q . && {HOOK['entry']} {' '.join(files)}", checkout, *BASH, variables=NOTHING)
    assert ended.code == code
    assert all(file in ended.output for file in files)


def test_the_hook_says_of_each_file_what_is_wrong(checkout: Path) -> None:
    (checkout / "other.yaml").write_text("leafgate: 1\nname: other\n")
    words = [checkout / "invalid.yaml", checkout / "passing.yaml", checkout / "other.yaml"]
    output = leafgate("validate", *words)
    assert (output.code, output.out) == (2, f"{words[1]}: the policy 'mortgage' is valid\n")
    assert {line.split(": ")[1] for line in output.err.splitlines()} == {str(words[0]), str(words[2])}


def test_pre_commit_itself_takes_the_manifest() -> None:
    assert [hook["id"] for hook in load_manifest(str(HOOKS))] == ["leafgate-validate", "leafgate-validate-partial"]


@pytest.mark.skipif(shutil.which("git") is None, reason="pre-commit needs git")
@pytest.mark.parametrize(("policy", "code"), [*more(("passing.yaml", 0)), ("invalid.yaml", 1)])
@pytest.mark.thorough
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
    assert ended.code == code, ended.output
    assert "leafgate.yml: the policy 'mortgage' is valid" in ended.output
    assert ("loans.leafgate.yaml: the policy" in ended.output) == (code == 0)
    assert ("leafgate: loans.leafgate.yaml: data: is missing" in ended.output) == (code == 1)


@pytest.mark.skipif(shutil.which("git") is None, reason="pre-commit needs git")
@pytest.mark.parametrize(
    ("change", "code", "content"),
    [
        ("sed -i s/:.2/:\\ 9/ org.yaml", 1, "leafgate: loans.yaml: metrics[0].at_least: loosens what it extends"),
        *more(
            ("printf '#' >> org.yaml", 0, "loans.yaml: the policy 'mortgage' is valid"),
            ("echo 'waivers: 3' > waivers.yaml", 1, "leafgate: loans.yaml: waivers.yaml, line 1: waivers: "),
            ("printf '#' >> other.yaml", 0, "no policy is read with these files"),
        ),
    ],
)
@pytest.mark.thorough
def test_pre_commit_looks_at_the_policies_that_depend_on_a_changed_file(
    change: str, code: int, content: str, checkout: Path
) -> None:
    (checkout / "invalid.yaml").unlink()
    text = (checkout / "passing.yaml").read_text()
    (checkout / "passing.yaml").unlink()
    (checkout / "loans.yaml").write_text(f"{text}\nextends: org.yaml\nwaivers: waivers.yaml\n")
    (checkout / "org.yaml").write_text(ORG.replace("at_least: 4", "at_least: 2"))
    (checkout / "waivers.yaml").write_text("waivers: []\n")
    (checkout / "other.yaml").write_text("services: {}\n")
    hook = {**HOOK, "language": "system"}
    (checkout / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [{"repo": "local", "hooks": [hook]}]}))
    here = {"PRE_COMMIT_HOME": str(checkout.parent / "pre-commit"), "GIT_CONFIG_GLOBAL": "/dev/null"}
    commit = "git -c user.name=a -c user.email=a@example.org commit -qm first"
    script = f"git init -q . && git add . && {commit} && {change} && git add . && pre-commit run --verbose"
    ended = run(script, checkout, *BASH, variables=here)
    assert ended.code == code, ended.output
    assert content in ended.output, ended.output
    assert "failing.yaml" not in ended.output


def test_one_json_document_tells_of_one_policy(checkout: Path) -> None:
    output = leafgate("validate", checkout / "passing.yaml", checkout / "failing.yaml", "--json")
    assert output.code == 2
    assert output.problems[0]["place"] == "--json"
