from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import Ended, leafgate
from survey import UNLISTED, survey

ORG = {
    "leafgate": 1,
    "data": {"unlisted": UNLISTED},
    "attacks": [{"use": "linking"}],
    "metrics": [{"use": "k_anonymity", "at_least": 3}],
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two projects that extend the organisation's policy, one with a list of waivers, one beside them that does not."""
    for name, more in {
        "a": {"extends": "org/org.yaml", "waivers": "waivers.yaml"},
        "b": {"extends": "org/org.yaml"},
        "alone": {},
    }.items():
        (tmp_path / "governance" / name).mkdir(parents=True)
        survey(tmp_path / "governance" / name, {"name": name, **more})
    for name in ("a", "b"):
        (tmp_path / "governance" / name / "org").mkdir()
        (tmp_path / "governance" / name / "org" / "org.yaml").write_text(json.dumps(ORG))
    (tmp_path / "governance" / "a" / "waivers.yaml").write_text("waivers: []\n")
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "leafgate.yml").write_text("on: push\njobs:\n  leafgate: {}\n")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def validated(*files: str) -> Ended:
    return leafgate("validate", "--dependents", *files)


def paths(done: Ended) -> list[str]:
    return [line.split(":")[0] for line in done.out.splitlines()]


A, A_ORG, A_WAIVERS = (f"governance/a/{name}" for name in ("policy.yaml", "org/org.yaml", "waivers.yaml"))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ([A], [A]),
        ([A_ORG], [A_ORG, A]),
        ([A_WAIVERS], [A]),
        ([A_ORG, A_WAIVERS, A], [A_ORG, A]),
        (["governance/alone/policy.yaml"], ["governance/alone/policy.yaml"]),
    ],
)
@pytest.mark.usefixtures("repository")
def test_a_policy_is_looked_at_when_a_file_that_it_is_read_with_changes(
    changed: list[str], expected: list[str]
) -> None:
    done = validated(*changed)
    assert (done.code, sorted(paths(done))) == (0, sorted(expected))


@pytest.mark.parametrize(
    ("file", "content", "text"),
    [
        (A_ORG, json.dumps(ORG | {"metrics": [{"use": "k_anonymity", "at_least": 4}]}), "loosens what it extends"),
        (A_ORG, "leafgate: 1\nmetrics: [", "expected the node content"),
        (A_WAIVERS, "waivers: 3\n", "waivers: "),
        (A_WAIVERS, "waivers: []\nmore: 1\n", "must have the key `waivers`"),
        (A_WAIVERS, None, "cannot be read"),
    ],
)
def test_a_policy_that_a_changed_file_breaks_ends_in_2(
    repository: Path, file: str, content: str | None, text: str
) -> None:
    if content is None:
        (repository / file).unlink()
    else:
        (repository / file).write_text(content)
    done = validated(file)
    assert done.code == 2
    assert any(line.startswith(f"leafgate: {A}: ") and text in line for line in done.err.splitlines()), done.err
    assert "governance/b" not in done.err + done.out


@pytest.mark.usefixtures("repository")
def test_what_is_no_policy_and_none_is_read_with_is_passed_over() -> None:
    done = validated(".github/leafgate.yml")
    assert (done.code, done.out) == (0, "no policy is read with these files\n")


def test_a_file_called_a_policy_must_be_a_whole_one(repository: Path) -> None:
    (repository / "leafgate.yaml").write_text("metrics: []\n")
    assert validated("leafgate.yaml").code == 2
    (repository / "leafgate-income.yaml").write_text(json.dumps(ORG))
    done = validated("leafgate-income.yaml")
    assert (done.code, "build: is missing" in done.err) == (2, True)


def test_a_policy_of_nothing_is_not_taken_for_one_that_others_complete(repository: Path) -> None:
    (repository / "new.yaml").write_text("leafgate: 1\n")
    assert validated("new.yaml").code == 2
    (repository / "new.yaml").write_text("leafgate: 1\nname: [\n")
    assert validated("new.yaml").code == 2


def test_a_changed_policy_of_the_organisation_looks_at_all_that_are_held_to_it(repository: Path) -> None:
    (repository / "org.yaml").write_text(json.dumps(ORG | {"metrics": [{"use": "k_anonymity", "at_least": 9}]}))
    done = validated("org.yaml", "--org", "org.yaml")
    assert (done.code, paths(done)) == (2, [A_ORG, "governance/b/org/org.yaml", "org.yaml"])
    broken = {line.split(": ")[1] for line in done.err.splitlines()}
    assert {A, "governance/b/policy.yaml", "governance/alone/policy.yaml"} <= broken


def test_files_are_told_as_seen_from_the_working_folder(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "governance" / "a" / "org")
    assert paths(validated("org.yaml")) == ["org.yaml", "../policy.yaml"]


@pytest.mark.parametrize("option", ["--partial", "--json"])
@pytest.mark.usefixtures("repository")
def test_options_about_one_policy_are_refused(option: str) -> None:
    assert validated(A, option).code == 2


def test_outside_of_a_repository_policies_below_the_working_folder_are_looked_at(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / ".git").rmdir()
    assert sorted(paths(validated(A_ORG))) == sorted([A_ORG, A])
    monkeypatch.chdir(repository / "governance" / "a" / "org")
    assert paths(validated("org.yaml")) == ["org.yaml"]


def test_hidden_folders_and_links_are_not_looked_through(repository: Path) -> None:
    (repository / ".venv").mkdir()
    for copy in (repository / ".venv" / "a", repository / "linked"):
        copy.symlink_to(repository / "governance" / "a", target_is_directory=True)
    (repository / "governance" / "a" / "linked.yaml").symlink_to(repository / A)
    assert sorted(paths(validated(A_ORG))) == sorted([A_ORG, A])
