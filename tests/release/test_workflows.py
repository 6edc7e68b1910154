"""Who may do what in the workflows, and what the image runs as."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recipes import TOP, read

WORKFLOWS = {path.stem: path for path in (TOP / ".github" / "workflows").glob("*.yml")}
PINNED = re.compile(r"[\w/.-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+")
IMAGE = (TOP / "docs/ci/Containerfile").read_text(encoding="utf-8")


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every job, with the name of its workflow."""
    for name, path in WORKFLOWS.items():
        for job, content in read(path)["jobs"].items():
            yield name, job, content


@pytest.mark.parametrize("path", WORKFLOWS.values(), ids=WORKFLOWS.keys())
def test_a_workflow_may_read_and_nothing_else_unless_a_job_says_so(path: Path) -> None:
    assert read(path)["permissions"] == {"contents": "read"}


def test_one_job_alone_may_ask_for_an_identity_and_waits_for_the_tests_and_a_reviewer() -> None:
    writing = {(name, job): content["permissions"] for name, job, content in jobs() if "permissions" in content}
    assert {each for each, granted in writing.items() if "id-token" in granted} == {("release", "publish")}
    assert {each for each, granted in writing.items() if granted.get("contents") == "write"} == {("release", "github")}
    publish = read(WORKFLOWS["release"])["jobs"]["publish"]
    assert publish["environment"] == "pypi"
    assert {"ci", "tag"} <= set(publish["needs"])
    assert not any(step.get("uses", "").startswith("actions/checkout@") for step in publish["steps"])


def test_a_release_is_made_of_a_tag_alone() -> None:
    assert read(WORKFLOWS["release"])[True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 reads `on` as True


def test_an_action_is_pinned_by_its_commit_with_its_tag_beside_it() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (TOP / ".github").rglob("*.yml")]
    used = [line.strip() for text in texts for line in re.findall(r"uses: (.*)", text) if not line.startswith("./")]
    assert len(used) > 10
    assert [use for use in used if not PINNED.fullmatch(use)] == []
    commits: dict[str, set[str]] = {}
    for use in used:
        commits.setdefault(use.partition("@")[0], set()).add(use)
    assert {name: uses for name, uses in commits.items() if len(uses) > 1} == {}


def test_no_script_of_a_workflow_holds_an_expression() -> None:
    scripts = [step["run"] for _, _, job in jobs() for step in job.get("steps", ()) if "run" in step]
    assert [script for script in scripts if "${{" in script] == []


def test_a_checkout_keeps_no_credentials() -> None:
    steps = [step for _, _, job in jobs() for step in job.get("steps", ())]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_the_image_runs_leafgate_as_nobody_special() -> None:
    last = IMAGE.rpartition("\nFROM ")[2]
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", last, re.MULTILINE)
    assert last.index("\nUSER ") < last.index('\nENTRYPOINT ["leafgate"]')
    assert not re.search(r"\b(curl|wget|apt-get|pip)\b", last)


def test_the_image_installs_what_is_pinned_with_hashes() -> None:
    installs = re.findall(r"pip install ((?:.|\\\n)*?)(?<!\\)\n", IMAGE)
    assert len(installs) == 2
    assert all("--require-hashes" in each or "--no-index" in each for each in installs)
