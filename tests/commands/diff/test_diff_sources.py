"""What `leafgate diff` compares: pipes of a shell, and what a revision of a git repository has."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cases import more
from command_line import MAIN, Ended, leafgate
from survey import UNLISTED, policy, survey

ORG = {
    "leafgate": 1,
    "data": {"unlisted": UNLISTED},
    "attacks": [{"use": "linking"}],
    "metrics": [{"use": "k_anonymity", "at_least": 3}],
}
REVIEWERS = {"approvals": {"reviewers": "reviewers.yaml"}}


def git(folder: Path, *words: str) -> None:
    named = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", str(folder), *named, *words], check=True, capture_output=True)


@pytest.fixture
def committed(tmp_path: Path) -> Path:
    """A policy in a folder of a repository, with all that it is read with, committed."""
    folder = tmp_path / "repository" / "governance"
    folder.mkdir(parents=True)
    (folder / "org.yaml").write_text(json.dumps(ORG))
    (folder / "waivers.yaml").write_text("waivers: []\n")
    (folder / "reviewers.yaml").write_text("reviewers: [dpo@example.org, ciso@example.org]\n")
    (folder / "sex.csv").write_text("f;*\nm;*\n")
    changes = {"extends": "org.yaml", "waivers": "waivers.yaml", "data.columns.sex.hierarchy": "sex.csv", **REVIEWERS}
    path = survey(folder, changes)
    git(tmp_path, "init", "-q", str(tmp_path / "repository"))
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return path


def changed(path: Path, place: str, value: Any) -> None:
    document = json.loads(path.read_text())
    *above, last = place.split(".")
    here = document
    for key in above:
        here = here[key]
    here[last] = value
    path.write_text(json.dumps(document))


def test_a_policy_is_compared_with_what_a_revision_has(committed: Path) -> None:
    assert leafgate("diff", committed, "--base", "HEAD", "--strict").out == "No difference.\n"
    document = json.loads(committed.read_text())
    document["metrics"][0]["at_least"] = 5
    committed.write_text(json.dumps(document))
    done = leafgate("diff", committed, "--base", "HEAD", "--strict")
    assert (done.code, done.out.splitlines()[-1]) == (0, "1 tighter.")
    assert "metrics[0].at_least: 3 became 5 (HEAD:policy.yaml:" in done.out
    git(committed.parent, "commit", "-q", "-am", "second")
    document["metrics"][0]["at_least"] = 4
    committed.write_text(json.dumps(document))
    assert leafgate("diff", committed, "--base", "HEAD").code == 1
    assert leafgate("diff", committed, "--base", "HEAD~1").code == 0


@pytest.mark.parametrize(
    ("file", "content", "kind", "place"),
    [
        ("org.yaml", json.dumps({**ORG, "max_waiver_days": 9}), "tighter", "max_waiver_days"),
        ("waivers.yaml", None, "looser", "waivers[0]"),
        ("reviewers.yaml", "reviewers: [dpo@example.org]\n", "tighter", "approvals.reviewers"),
        ("reviewers.yaml", "reviewers: [dpo@example.org, me@example.org]\n", "looser", "approvals.reviewers"),
        ("sex.csv", "f;any\nm;any\n", "different", "data.columns.sex.hierarchy"),
    ],
)
def test_what_a_policy_is_read_with_is_taken_from_the_revision(
    committed: Path, file: str, content: str | None, kind: str, place: str
) -> None:
    waiver = {"id": "1", "finding": "f", "release": "0" * 64, "owner": "a@example.org", "reason": "r"}
    waiver |= {"approved_by": "dpo@example.org", "issued": "2026-01-01", "expires": "2026-01-02"}
    (committed.parent / file).write_text(content or json.dumps({"waivers": [waiver]}))
    done = leafgate("diff", committed, "--base", "HEAD", "--json")
    assert [(one["kind"], one["place"]) for one in done.document["changes"]] == [(kind, place)]
    assert done.code == int(kind == "looser")


def test_people_who_are_in_no_commit_are_compared_by_the_name_of_their_file(committed: Path) -> None:
    changed(committed, "data.test", "test.csv")
    git(committed.parent, "commit", "-q", "-am", "test")
    for content in (None, "people"):
        if content:
            (committed.parent / "test.csv").write_text(content)
        assert leafgate("diff", committed, "--base", "HEAD", "--strict").out == "No difference.\n"
    changed(committed, "data.test", "other.csv")
    done = leafgate("diff", committed, "--base", "HEAD", "--strict")
    assert (done.code, done.out[:21]) == (1, "different  data.test:")


def test_the_committed_bytes_are_compared_and_no_filter_of_the_repository_is_run(committed: Path) -> None:
    top, marker = committed.parents[1], committed.parents[2] / "ran"
    program = committed.parents[2] / "run.sh"
    program.write_text(f"#!/bin/sh\ntouch {marker}\necho other\n")
    program.chmod(0o755)
    (top / ".gitattributes").write_text("* diff=evil filter=evil\n")
    keys = ("diff.evil.textconv", "filter.evil.smudge", "filter.evil.clean", "core.fsmonitor", "core.pager")
    for key in (*keys, "core.sshCommand", "diff.external", "alias.cat-file"):
        git(top, "config", key, str(program))
    hook = top / ".git" / "hooks" / "post-checkout"
    hook.write_text(program.read_text())
    hook.chmod(0o755)
    assert leafgate("diff", committed, "--base", "HEAD").out == "No difference.\n"
    assert not marker.exists()


def test_no_variable_of_git_leads_elsewhere(committed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = committed.parents[2] / "ran"
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", "/nowhere")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"touch {marker}")
    assert leafgate("diff", committed, "--base", "HEAD").out == "No difference.\n"
    assert not marker.exists()


def test_git_is_no_program_of_the_working_folder(committed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = committed.parent / "git"
    planted.write_text("#!/bin/sh\ntouch ran\n")
    planted.chmod(0o755)
    monkeypatch.chdir(committed.parent)
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", os.environ["PATH"]]))
    assert leafgate("diff", "policy.yaml", "--base", "HEAD").out == "No difference.\n"
    assert not (committed.parent / "ran").exists()


@pytest.mark.parametrize(
    "revision", ["nothing", "HEAD~9", "--output=here", "-h", "HEAD:governance", "HEAD^{tree}", "a b", "$(touch ran)"]
)
def test_what_is_no_commit_is_refused(committed: Path, revision: str) -> None:
    done = leafgate("diff", committed, f"--base={revision}")
    assert done.code == 2
    assert "names no commit of this repository" in done.err


def test_a_policy_that_the_revision_has_not_is_refused(committed: Path) -> None:
    new = committed.with_name("new.yaml")
    new.write_text(committed.read_text())
    done = leafgate("diff", new, "--base", "HEAD")
    assert (done.code, "is not in HEAD" in done.err) == (2, True)


def test_a_mistake_in_the_revision_is_told_as_the_revisions(committed: Path) -> None:
    good = committed.read_text()
    committed.write_text(json.dumps(policy({"metrc": []})))
    git(committed.parent, "commit", "-q", "-am", "bad")
    committed.write_text(good)
    done = leafgate("diff", committed, "--base", "HEAD")
    assert (done.code, done.err[:26]) == (2, "leafgate: HEAD:metrc: unkn")
    committed.write_text(json.dumps(policy({"metrc": []})))
    assert leafgate("diff", committed, "--base", "HEAD~1").err.startswith("leafgate: metrc: unknown key")


@pytest.mark.parametrize("linked", ["policy.yaml", "org.yaml", "waivers.yaml", "reviewers.yaml"])
def test_a_link_in_the_revision_is_refused(committed: Path, linked: str) -> None:
    file = committed.parent / linked
    content = file.read_text()
    file.unlink()
    file.symlink_to("/etc/hostname")
    git(committed.parent, "commit", "-q", "-am", "link")
    file.unlink()
    file.write_text(content)
    done = leafgate("diff", committed, "--base", "HEAD")
    assert (done.code, f"governance/{linked}: is a link" in done.err) == (2, True)


def test_a_folder_that_is_a_link_in_the_revision_is_refused(committed: Path) -> None:
    (committed.parent / "real").mkdir()
    (committed.parent / "org.yaml").rename(committed.parent / "real" / "org.yaml")
    (committed.parent / "linked").symlink_to("real")
    changed(committed, "extends", "linked/org.yaml")
    git(committed.parent, "add", ".")
    git(committed.parent, "commit", "-q", "-m", "link")
    done = leafgate("diff", committed, "--base", "HEAD")
    assert (done.code, "governance/linked: is a link" in done.err) == (2, True)


def test_a_linked_policy_and_one_outside_of_a_repository_are_refused(committed: Path) -> None:
    link, outside = committed.with_name("link.yaml"), committed.parents[2] / "outside.yaml"
    link.symlink_to(committed)
    assert "is a link" in leafgate("diff", link, "--base", "HEAD").err
    outside.write_text(committed.read_text())
    done = leafgate("diff", outside, "--base", "HEAD")
    assert (done.code, "git cannot read it" in done.err) == (2, True)


@pytest.mark.parametrize("words", [[], ["{}", "--base", "HEAD"]])
def test_one_policy_wants_a_revision_and_two_want_none(committed: Path, words: list[str]) -> None:
    done = leafgate("diff", committed, *(word.format(committed) for word in words))
    assert done.code == 2


def test_a_policy_that_leaves_its_folder_in_the_revision_is_refused(committed: Path) -> None:
    good = committed.read_text()
    changed(committed, "extends", "../org.yaml")
    (committed.parents[1] / "org.yaml").write_text(json.dumps(ORG))
    git(committed.parents[1], "add", ".")
    git(committed.parent, "commit", "-q", "-m", "up")
    committed.write_text(good)
    done = leafgate("diff", committed, "--base", "HEAD")
    assert (done.code, "leaves the policy's folder" in done.err) == (2, True)


def by_shell(folder: Path, words: str) -> Ended:
    """A command of a shell that has process substitutions, `leafgate` in it."""
    program = f"{shlex.quote(sys.executable)} -c {shlex.quote(MAIN)}"
    script = words.replace("leafgate", program, 1)
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=120)
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "words", ["<(cat old.yaml) <(cat new.yaml)", *more("<(cat old.yaml) new.yaml", "old.yaml <(cat new.yaml)")]
)
@pytest.mark.thorough
def test_a_pipe_is_read_once_and_compared(tmp_path: Path, words: str) -> None:
    (tmp_path / "old.yaml").write_text(json.dumps(policy(), indent=1))
    (tmp_path / "new.yaml").write_text(json.dumps(policy({"metrics.0.at_least": 2}), indent=1))
    done = by_shell(tmp_path, f"leafgate diff {words}")
    assert (done.code, "metrics[0].at_least: 3 became 2" in done.out) == (1, True), done.err
    assert by_shell(tmp_path, "leafgate diff /dev/stdin old.yaml < <(cat old.yaml)").out == "No difference.\n"


def test_a_report_is_read_from_a_pipe_too(tmp_path: Path) -> None:
    survey(tmp_path)
    assert leafgate("audit", tmp_path / "policy.yaml", "--out", tmp_path / "out").code == 0
    done = by_shell(tmp_path, "leafgate diff <(cat out/report.json) out/report.json")
    assert (done.code, done.out) == (0, "No difference.\n"), done.err
    done = by_shell(tmp_path, "leafgate diff policy.yaml policy.yaml --report <(cat out/report.json)")
    assert (done.code, "still passes" in done.out) == (0, True), done.err


@pytest.mark.parametrize(
    ("named", "place"),
    [
        ({"extends": "org.yaml"}, "extends"),
        ({"waivers": "waivers.yaml"}, "waivers"),
        (REVIEWERS, "approvals.reviewers"),
    ],
)
def test_a_policy_in_a_pipe_names_no_file_beside_it(tmp_path: Path, named: dict[str, Any], place: str) -> None:
    (tmp_path / "new.yaml").write_text(json.dumps(policy()))
    (tmp_path / "old.yaml").write_text(json.dumps(policy(named)))
    done = by_shell(tmp_path, "leafgate diff <(cat old.yaml) new.yaml")
    assert done.code == 2
    assert f": {place}: names a file beside a policy that is in no folder" in done.err
    assert "--base REV" in done.err


STRICT: list[tuple[dict[str, Any], int]] = [
    ({}, 0),
    ({"metrics.0.at_least": 4}, 0),
    ({"metrics": [{"use": "k_anonymity", "at_least": 3}, {"use": "exposure", "at_most": 0}]}, 0),
    ({"metrics.0.at_least": 2}, 1),
    ({"build": {"use": "c45"}}, 1),
    ({"data.path": "others.csv"}, 1),
    ({"data.test": "test.csv"}, 1),
    ({"seed": 4}, 1),
    ({"name": "other"}, 1),
    ({"data.columns.smoker": ...}, 1),
    ({"metrics.0.at_least": 4, "seed": 4}, 1),
]


@pytest.mark.parametrize(("change", "code"), STRICT, ids=map(str, range(len(STRICT))))
def test_strictly_whatever_is_not_proved_tighter_ends_in_1(tmp_path: Path, change: dict[str, Any], code: int) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(json.dumps(policy()))
    new.write_text(json.dumps(policy(change)))
    assert leafgate("diff", old, new, "--strict").code == code


def test_strictly_what_nobody_can_read_is_not_proved_the_same(tmp_path: Path) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    for path in (old, new):
        path.write_text(json.dumps(policy({"data.columns.sex.hierarchy": "sex.csv"})))
    assert leafgate("diff", old, new).out == "No difference.\n"
    done = leafgate("diff", old, new, "--strict")
    assert (done.code, "data.columns.sex.hierarchy: cannot be read became cannot be read" in done.out) == (1, True)
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    assert leafgate("diff", old, new, "--strict").out == "No difference.\n"
    old.write_text("leafgate: 1\nbuild: {k: 3}\n")
    assert leafgate("diff", old, old).out == "No difference.\n"
    assert leafgate("diff", old, old, "--strict").code == 1


def test_reports_are_compared_without_the_options_of_policies(tmp_path: Path) -> None:
    survey(tmp_path)
    assert leafgate("audit", tmp_path / "policy.yaml", "--out", tmp_path / "out").code == 0
    report = tmp_path / "out" / "report.json"
    done = leafgate("diff", report, report, "--strict")
    assert (done.code, "--strict: is for policies" in done.err) == (2, True)
