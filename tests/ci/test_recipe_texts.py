"""What the recipes and the page about them say, without running them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

from recipes import (
    ACTION,
    GITLAB,
    HOOKS,
    TOP,
    read,
)
from reports import FILES, OF_FINDINGS

HOOK = read(HOOKS)[0]

SHA = re.compile(r"[\w/.-]+@[0-9a-f]{40}")


def test_no_script_of_the_action_holds_an_input() -> None:
    for each in read(ACTION)["runs"]["steps"]:
        assert "${{" not in each.get("run", "")
        assert each.get("shell", "bash") == "bash"


def test_the_action_says_what_github_wants_to_know() -> None:
    action = read(ACTION)
    assert {"name", "description", "inputs", "outputs", "runs"} == set(action)
    assert action["runs"]["using"] == "composite"
    assert all(result["description"] for result in (*action["inputs"].values(), *action["outputs"].values()))
    used = set(re.findall(r"inputs\.([\w-]+)", ACTION.read_text()))
    assert used == set(action["inputs"])


def test_both_wrappers_have_the_same_inputs() -> None:
    of_github = {f"LEAFGATE_{name.upper()}" for name in read(ACTION)["inputs"]}
    of_gitlab = set(read(GITLAB)[".leafgate-audit"]["variables"])
    assert of_github - of_gitlab == {"LEAFGATE_ARTIFACT", "LEAFGATE_PYTHON-VERSION"}
    assert of_gitlab - of_github == {"LEAFGATE_SOURCE", "LEAFGATE_COMMIT"}


def test_other_people_s_actions_are_pinned_by_commit_everywhere() -> None:
    recipes = [*(TOP / ".github").rglob("*.yml"), *(TOP / "docs").rglob("*.md"), *(TOP / "docs" / "ci").iterdir()]
    texts = {path.name: path.read_text(encoding="utf-8") for path in (*recipes, TOP / "README.md")}
    used = {
        (name, use) for name, text in texts.items() for use in re.findall(r"^[ -]*uses: (\S+/\S+)", text, re.MULTILINE)
    }
    assert len(used) > 5
    ours = {"OWNER/leafgate/.github/actions/audit@COMMIT", "./.github/workflows/ci.yml"}
    assert [(name, use) for name, use in used if use not in ours and not SHA.fullmatch(use)] == []


def test_a_pin_names_the_release_that_it_is_of() -> None:
    version = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    pins = re.findall(r"^.*(?:@|\b(?:ref|rev|LEAFGATE_COMMIT): )COMMIT\b(.*)$", PAGE, re.MULTILINE)
    assert {pin.strip() for pin in pins} == {f"# v{version}"}
    assert len(pins) == 4


def test_reports_are_kept_whatever_happens_by_the_names_they_have() -> None:
    steps = [each for each in read(ACTION)["runs"]["steps"] if "uses" in each]
    (keeping,) = (each for each in steps if each["uses"].startswith("actions/upload-artifact@"))
    assert keeping["if"].startswith("always()")
    job = read(GITLAB)[".leafgate-audit"]
    assert job["artifacts"]["when"] == "always"
    names = {Path(path).name for path in keeping["with"]["path"].splitlines()}
    written = {"report.json", *(FILES[form] for form in OF_FINDINGS)}
    assert names == {Path(path).name for path in job["artifacts"]["paths"]} == written


def test_no_recipe_asks_for_what_only_auditors_may_see() -> None:
    files = [*ACTION.parent.iterdir(), *GITLAB.parent.iterdir(), HOOKS]
    assert not any("--audience" in path.read_text() for path in files if path.is_file())


def test_no_recipe_ignores_an_exit_code() -> None:
    pages = [ACTION, GITLAB, HOOKS, TOP / "README.md", *(TOP / "docs").rglob("*.md")]
    ignoring = re.compile(r"\|\| *(true|:)(?![\w`])|; *true\b")
    assert [page.name for page in pages if ignoring.search(page.read_text(encoding="utf-8"))] == []


PAGE = (TOP / "docs/how-to/ci.md").read_text(encoding="utf-8")
SHOWN = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]


def test_the_page_s_workflow_gives_the_action_inputs_that_it_has() -> None:
    (workflow,) = (each for each in SHOWN if "jobs" in each)
    (used,) = (each for each in workflow["jobs"]["audit"]["steps"] if each.get("id") == "leafgate")
    assert used["uses"].split("@")[0].endswith(str(ACTION.parent.relative_to(TOP)))
    inputs = read(ACTION)["inputs"]
    assert set(used["with"]) <= set(inputs)
    assert {name for name, result in inputs.items() if result.get("required")} <= set(used["with"])


def test_the_page_lists_the_inputs_of_the_action_with_their_defaults() -> None:
    listed = dict(re.findall(r"^\| `([\w-]+)` \| ?(?:`([^`]*)`|[^|]*?) ?\|", PAGE, re.MULTILINE))
    inputs = read(ACTION)["inputs"]
    assert list(listed) == list(inputs)
    assert all(listed[name] == result.get("default", "") for name, result in inputs.items())


def test_the_page_s_job_extends_the_job_there_is_with_variables_that_it_has() -> None:
    (pipeline,) = (each for each in SHOWN if "include" in each)
    assert (TOP / pipeline["include"][0]["file"]) == GITLAB
    job = read(GITLAB)[pipeline["audit"]["extends"]]
    assert set(pipeline["audit"]["variables"]) <= set(job["variables"])


def test_the_page_s_hook_is_one_there_is() -> None:
    (configured,) = (each for each in SHOWN if "repos" in each)
    assert [hook["id"] for hook in configured["repos"][0]["hooks"]] == [HOOK["id"]]
