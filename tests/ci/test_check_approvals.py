"""docs/ci/check-approvals.sh, run in repositories with commits that are signed and that are not."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "ci" / "check-approvals.sh"
pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or shutil.which("ssh-keygen") is None, reason="needs git and ssh-keygen"
)


@dataclass(frozen=True)
class Repository:
    """A repository with `waivers.yaml` in a folder, and keys of a reviewer and of somebody else beside it."""

    folder: Path

    @property
    def top(self) -> Path:
        return self.folder / "repository"

    @property
    def waivers(self) -> Path:
        return self.top / "policies of people" / "waivers.yaml"

    def git(self, *words: str) -> None:
        named = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gpg.format=ssh")
        environment = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null"}
        subprocess.run(["git", "-C", str(self.top), *named, *words], check=True, capture_output=True, env=environment)

    def commit(self, key: str = "", *more: str) -> None:
        self.git("add", "--all")
        signed = ("-c", f"user.signingkey={self.folder / key}") if key else ()
        self.git(*signed, "commit", "--quiet", "--allow-empty", "--message", "change", *(["-S"] if key else []), *more)

    def check(self, *words: str, **variables: str) -> tuple[int, str]:
        given = words or (str(self.waivers), str(self.folder / "signers"))
        environment = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null"} | variables
        done = subprocess.run(
            ["sh", str(SCRIPT), *given], capture_output=True, text=True, cwd=self.folder, env=environment, timeout=60
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    for name in ("dpo", "jane"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    public = (tmp_path / "dpo.pub").read_text()
    (tmp_path / "signers").write_text(f'dpo@example.org namespaces="git" {public}')
    made = Repository(tmp_path)
    made.waivers.parent.mkdir(parents=True)
    made.waivers.write_text("waivers: []\n")
    subprocess.run(["git", "init", "--quiet", str(made.top)], check=True)
    return made


def test_a_file_that_a_reviewer_signed_is_approved_and_other_commits_need_no_signature(repository: Repository) -> None:
    repository.commit("dpo")
    (repository.top / "other").write_text("more")
    repository.commit()
    code, result = repository.check()
    assert code == 0
    assert "signed by dpo@example.org in commit" in result


@pytest.mark.parametrize("key", ["", "jane"])
def test_a_change_that_no_reviewer_signed_is_refused(repository: Repository, key: str) -> None:
    repository.commit("dpo")
    repository.waivers.write_text("waivers: []  # and one more\n")
    repository.commit(key)
    code, result = repository.check()
    assert (code, "no reviewer signed commit" in result) == (1, True)
    repository.commit("dpo", "--amend")
    assert repository.check()[0] == 0


def test_a_change_that_is_not_committed_is_refused(repository: Repository) -> None:
    repository.commit("dpo")
    repository.waivers.write_text("waivers: []  # and one more\n")
    code, result = repository.check()
    assert (code, "is not what commit" in result) == (1, True)


def test_a_signed_file_that_a_merge_changes_is_refused(repository: Repository) -> None:
    repository.commit("dpo")
    repository.git("checkout", "-q", "-b", "side")
    (repository.top / "other").write_text("more")
    repository.commit()
    repository.git("checkout", "-q", "-")
    (repository.top / "third").write_text("more")
    repository.commit()
    repository.git("merge", "-q", "--no-ff", "--no-commit", "side")
    repository.waivers.write_text("waivers: []  # by the merge\n")
    repository.commit()
    assert repository.check()[0] == 1


def test_neither_a_replaced_commit_nor_a_variable_of_git_passes_for_a_signature(repository: Repository) -> None:
    repository.commit("dpo")
    repository.git("tag", "signed")
    repository.waivers.write_text("waivers: []  # and one more\n")
    repository.commit()
    repository.git("replace", "HEAD", "signed")
    assert repository.check()[0] == 1
    repository.git("replace", "-d", "HEAD")
    variables = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "gpg.ssh.program", "GIT_CONFIG_VALUE_0": "true"}
    assert repository.check(**variables)[0] == 1


def test_a_program_that_the_repository_configures_verifies_nothing(repository: Repository) -> None:
    repository.commit("jane")
    marker = repository.folder / "ran"
    program = repository.folder / "verifies.sh"
    program.write_text(f"#!/bin/sh\ntouch {marker}\necho 'Good \"git\" signature for dpo@example.org'\n")
    program.chmod(0o755)
    for key in ("gpg.ssh.program", "gpg.program", "core.fsmonitor"):
        repository.git("config", key, str(program))
    assert repository.check()[0] == 1
    assert not marker.exists()


@pytest.mark.parametrize("words", [(), ("missing.yaml", "signers"), ("signers", "missing"), ("signers", "signers")])
def test_what_cannot_be_told_ends_in_2(repository: Repository, words: tuple[str, ...]) -> None:
    assert repository.check(*(words or ("one",)))[0] == 2
    assert repository.check()[0] == 2  # nothing is committed
