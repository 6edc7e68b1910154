"""An older verdict never stands for a run that did not reach one: withdrawn, refused, or judged again."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from attested import FINDING, OUTCOMES, TODAY, waived
from clock import set_today
from command_line import Ended, leafgate
from components import new_builder
from leafgate.app import load_plugins
from stranger import install
from survey import UNLISTED, survey

FAILS = OUTCOMES["fail"]
RESULTS = ("report.json", "report.md", "report.html", "report.sarif", "report.junit.xml", "report.txt")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a policy, and in `out` the results of an audit that it passed, in every format."""
    folder = tmp_path_factory.mktemp("audited")
    formats = [word for name in ("markdown", "html", "sarif", "junit", "text") for word in ("--to", name)]
    assert leafgate("audit", survey(folder), "--out", folder / "out", *formats).code == 0
    assert {*RESULTS, "release.json"} <= set(os.listdir(folder / "out"))
    return folder


@pytest.fixture
def passed(audited: Path, tmp_path: Path) -> Path:
    shutil.copytree(audited, tmp_path / "passed")
    return tmp_path / "passed"


def stale(folder: Path) -> set[str]:
    """What an older run left that a later step could take for a verdict of its own."""
    return {*RESULTS, "release.json"} & set(os.listdir(folder / "out"))


WRONG = ["--to pdf", "--audience nobody", "--nonsense", "one more word", "--org nowhere.yaml", "--test nowhere.csv"]
WRONG += ["--root /nowhere", "--quiet --json"]
INVALID = [f"audit POLICY {words}" for wrong in WRONG for words in (f"--out OUT {wrong}", f"{wrong} --out OUT")]
INVALID += ["audit POLICY --out=OUT --to", "audit POLICY --out=OUT --to pdf", "audit nowhere.yaml --out OUT"]
INVALID += ["audit --out OUT", "--nonsense audit POLICY --out OUT", "Audit POLICY --out OUT", "adit POLICY --out OUT"]


def invalid(folder: Path, words: str) -> None:
    """Run a command that comes to no verdict: an older one does not stay, and the release of a pass is set aside."""
    release = (folder / "out" / "release.json").read_bytes()
    given = words.replace("POLICY", str(folder / "policy.yaml")).replace("OUT", str(folder / "out"))
    assert leafgate(*given.split()).code == 2
    assert (stale(folder), (folder / "out" / "earlier-release.json").read_bytes()) == (set(), release)


@pytest.mark.parametrize("words", INVALID)
def test_a_wrong_command_leaves_no_older_verdict(passed: Path, words: str) -> None:
    invalid(passed, words)


@pytest.mark.parametrize("broken", ["policy.yaml", "people.csv"])
@pytest.mark.parametrize("content", [None, b"", b"leafgate: 1\n"])
def test_what_cannot_be_read_leaves_no_older_verdict(passed: Path, broken: str, content: bytes | None) -> None:
    (passed / broken).unlink()
    if content is not None:
        (passed / broken).write_bytes(content)
    invalid(passed, "audit POLICY --out OUT")


def test_reports_that_are_set_aside_are_those_of_all_formats_of_leafgates_own(passed: Path) -> None:
    offered = {each.format.filename for each in load_plugins().formats_by_name.values()} | {"report.txt"}
    for name in offered:
        (passed / "out" / name).write_text("older")
    assert leafgate("audit", passed / "policy.yaml", "--out", passed / "out", "--nonsense").code == 2
    assert not offered & set(os.listdir(passed / "out"))


def test_every_folder_of_a_repeated_out_is_cleared_and_no_other(passed: Path) -> None:
    for name in ("more", "other"):
        shutil.copytree(passed / "out", passed / name)
    words = ["--out", passed / "out", "--out", passed / "more", "--root", passed / "other"]
    assert leafgate("audit", *words).code == 2
    assert stale(passed) == set()
    assert not (passed / "more" / "report.json").exists()
    assert (passed / "other" / "report.json").exists()


def test_an_older_report_that_cannot_be_set_aside_is_told_of(passed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, target: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    monkeypatch.setattr(os, "replace", refuse)
    ended = leafgate("audit", survey(passed, FAILS), "--out", passed / "out")
    assert (ended.code, "an older verdict stands there and cannot be set aside" in ended.err) == (2, True)
    monkeypatch.undo()
    kept = passed / "out" / "report.json"
    assert leafgate("report", kept).code == 0
    assert leafgate("report", kept, "--expect-policy", passed / "policy.yaml").code == 2


DICE = """
from typing import Literal
from leafgate.api import TreeBuilder, hookimpl
leafgate_api = ">=3,<4"

class Dice(TreeBuilder):
    use: Literal["dice"] = "dice"
    randomness = "system"

    def build(self, table, rng):
        from leafgate_plugins.baselines.builders import C45
        return C45().build(table, rng)

@hookimpl
def tree_builders():
    return [Dice]
"""


def test_a_release_that_was_drawn_once_is_set_aside_with_its_report_and_never_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "leafgate_drawn_dice", DICE)
    monkeypatch.syspath_prepend(tmp_path)
    policy, out = survey(tmp_path, {"build": {"use": "dice"}}), tmp_path / "out"
    assert leafgate("audit", policy, "--out", out).code in {0, 1, 3}
    release, report = (out / "release.json").read_bytes(), (out / "report.json").read_bytes()
    for words in (["--to", "pdf"], [], ["--nonsense"]):
        assert leafgate("audit", policy, "--out", out, *words).code == 2
        assert (out / "earlier-release.json").read_bytes() == release
        assert (out / "earlier-report.json").read_bytes() == report
        assert stale(tmp_path) == set()


@pytest.mark.parametrize("command", ["audit", "build"])
def test_a_release_that_another_run_drew_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    install(tmp_path, "leafgate_drawn_at_once", DICE)
    monkeypatch.syspath_prepend(tmp_path)
    release = tmp_path / "out" / "release.json"
    kind = type(new_builder("c45"))
    before = kind.build

    def build(*given: Any) -> Any:
        release.write_text("drawn")
        return before(*given)

    monkeypatch.setattr(kind, "build", build)
    policy = survey(tmp_path, {"build": {"use": "dice"}})
    ended = leafgate(command, policy, "--out", release.parent if command == "audit" else release)
    assert (ended.code, "a release was drawn here before" in ended.err) == (2, True)
    assert release.read_text() == "drawn"


def test_a_release_is_audited_where_it_stands(passed: Path) -> None:
    release = passed / "out" / "release.json"
    before = release.read_bytes()
    shutil.copy(passed / "people.csv", passed / "out")
    policy = survey(passed / "out", {"build": {"use": "published", "path": "release.json"}})
    for _ in range(2):
        assert leafgate("audit", policy, "--out", passed / "out").code == 0
        assert release.read_bytes() == before
    assert leafgate("audit", policy, "--out", passed / "out", "--to", "pdf").code == 2
    assert (release.read_bytes(), stale(passed)) == (before, {"release.json"})  # this run reads it


def test_a_release_that_was_set_aside_goes_with_the_next_pass(passed: Path) -> None:
    invalid(passed, "audit nowhere.yaml --out OUT")
    assert leafgate("audit", passed / "policy.yaml", "--out", passed / "out").code == 0
    assert {"release.json", "report.json"} == stale(passed)
    assert not (passed / "out" / "earlier-release.json").exists()


def test_a_model_called_release_json_is_not_written_over(passed: Path) -> None:
    (passed / "out" / "release.json").write_text('{"learner": {}}')
    policy = survey(passed / "out", {"build": {"use": "published", "path": "release.json"}})
    ended = leafgate("audit", policy, "--out", passed / "out")
    assert (ended.code, "is a file that this audit reads" in ended.err) == (2, True)
    assert (passed / "out" / "release.json").read_text() == '{"learner": {}}'


@pytest.mark.parametrize("words", ["--to pdf", "--nonsense"])
def test_wrong_options_of_sweep_leave_no_older_file(passed: Path, words: str) -> None:
    (passed / "out" / "sweep.json").write_text("{}")
    words = f"sweep {passed / 'policy.yaml'} --over build.k=2 --out {passed / 'out'} {words}"
    assert leafgate(*words.split()).code == 2
    assert not (passed / "out" / "sweep.json").exists()


def test_an_empty_out_is_the_folder_leafgate_is_called_in(passed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(passed / "out")
    invalid(passed, "audit POLICY --out= --to pdf")


def test_a_report_to_read_is_never_removed_for_a_wrong_option(passed: Path) -> None:
    report, policy = passed / "out" / "report.json", passed / "policy.yaml"
    for given in (
        ["--expect-policy", policy],
        [f"--expect-policy={policy}"],
        [f"--expect-policy={policy}", "--to", "pdf"],
    ):
        assert leafgate("report", report, "--out", policy, *given).code == 2
        assert policy.exists()
    for out in (report, passed / "out" / ".." / "out" / "report.json"):
        assert leafgate("report", report, "--out", out, "--to", "pdf").code == 2
        assert report.exists()


def shown(passed: Path, *words: object) -> Ended:
    return leafgate("report", passed / "out" / "report.json", *words)


def test_a_report_is_of_the_run_that_its_digests_name(passed: Path) -> None:
    document = json.loads((passed / "out" / "report.json").read_bytes())
    digest = leafgate("validate", passed / "policy.yaml", "--digest")
    assert (digest.code, digest.out) == (0, f"{document['policy']['sha256']}\n")
    policies = [passed / "policy.yaml", digest.out.strip(), digest.out.strip().upper()]
    releases = [passed / "out" / "release.json", document["release"]["sha256"]]
    for policy, release in itertools.product([None, *policies], [None, *releases]):
        words = [*(["--expect-policy", policy] if policy else []), *(["--expect-release", release] if release else [])]
        assert shown(passed, *words).code == 0, words


OTHERS = {
    "policy": ["0" * 64, "nowhere.yaml", "", "ab12"],
    "release": ["0" * 64, "people.csv"],
    "file": ["0" * 64, "people.csv", "", "."],
}


@pytest.mark.parametrize(("what", "other"), [(what, other) for what, others in OTHERS.items() for other in others])
def test_a_report_of_another_run_is_refused(
    passed: Path, monkeypatch: pytest.MonkeyPatch, what: str, other: str
) -> None:
    monkeypatch.chdir(passed)
    out = passed / "view.md"
    out.write_text("PASS")
    ended = shown(passed, f"--expect-{what}", other, "--out", out)
    assert (ended.code, ended.out, out.exists()) == (2, "", False)


def test_a_report_of_a_changed_policy_is_refused_and_one_of_a_given_test_table_is_not(passed: Path) -> None:
    policy = passed / "policy.yaml"
    again = leafgate("audit", policy, "--test", passed / "people.csv", "--out", passed / "out")
    assert (again.code, shown(passed, "--expect-policy", policy).code) == (0, 0)
    survey(passed, {"metrics.0.at_least": 2})
    assert shown(passed, "--expect-policy", policy).code == 2


def test_a_report_names_the_file_it_is_about(passed: Path) -> None:
    shutil.copy(passed / "out" / "release.json", passed / "model.json")
    policy = survey(passed, {"build": {"use": "published", "path": "model.json"}})
    assert leafgate("audit", policy, "--out", passed / "out").code == 0
    assert shown(passed, "--expect-file", passed / "model.json").code == 0
    (passed / "model.json").write_bytes((passed / "model.json").read_bytes() + b"\n")
    ended = shown(passed, "--expect-file", passed / "model.json")
    assert (ended.code, "release.file.sha256" in ended.err) == (2, True)


def day(after: int) -> str:
    return (TODAY + timedelta(days=after)).isoformat()


@pytest.mark.thorough
def test_a_stored_report_is_judged_again_on_the_day_it_is_read(tmp_path: Path) -> None:
    policy = waived(tmp_path) / "policy.yaml"
    assert shown(tmp_path).code == 0
    assert shown(tmp_path, "--as-of", day(10)).code == 0
    late = shown(tmp_path, "--as-of", day(11), "--expect-policy", policy)
    assert late.code == 1
    assert f"W-1 of {FINDING} does not apply any more: it expired on {day(10)}, and this is {day(11)}" in late.err
    assert late.out.startswith("survey: FAIL")
    for form in ("sarif", "junit", "markdown", "html"):
        assert shown(tmp_path, "--as-of", day(11), "--to", form).code == 1
    early = shown(tmp_path, "--as-of", day(-1))
    assert (early.code, "the day the report was judged on" in early.err) == (2, True)
    for wrong in ("tomorrow", "2026-02-30", "20261122", "", "2026-11-22T00:00"):
        assert shown(tmp_path, "--as-of", wrong).code == 2


@pytest.mark.thorough
def test_a_report_of_other_waivers_and_of_one_that_is_over_does_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waived(tmp_path)
    policy = survey(tmp_path, FAILS)  # the waiver was withdrawn
    ended = shown(tmp_path, "--expect-policy", policy)
    assert (ended.code, "policy.waivers_sha256" in ended.err) == (2, True)
    set_today(monkeypatch, TODAY + timedelta(days=11))
    assert shown(tmp_path).code == 1


@pytest.mark.parametrize("repository", [True, False])
@pytest.mark.thorough
def test_a_report_does_not_depend_on_the_folder_leafgate_is_called_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: bool
) -> None:
    for name in ("top/governance", "top/elsewhere", "outside", *(["top/.git"] if repository else [])):
        (tmp_path / name).mkdir(parents=True)
    governance = tmp_path / "top" / "governance"
    survey(governance, FAILS)
    shutil.copy(governance / "people.csv", tmp_path / "outside")
    org = {
        "leafgate": 1,
        "data": {"unlisted": UNLISTED},
        "metrics": [{"use": "exposure", "name": "seen", "at_most": 0}],
    }
    (tmp_path / "top" / "elsewhere" / "org.yaml").write_text(json.dumps(org))
    given = ["governance/policy.yaml", "governance/people.csv", "--org", "elsewhere/org.yaml"]
    given += ["--test", "../outside/people.csv", "--root", "governance"]
    formats = [word for name in ("markdown", "html", "sarif", "junit", "text") for word in ("--to", name)]
    results = []
    for here in ("top", "top/governance", "outside", "/"):
        monkeypatch.chdir(tmp_path / here)
        for absolute in (True, False):
            paths = [word if word.startswith("--") else str(tmp_path / "top" / word) for word in given]
            words = paths if absolute else [w if w.startswith("--") else os.path.relpath(w) for w in paths]
            assert leafgate("audit", *words, "--out", tmp_path / "out", *formats).code == 1
            results.append({name: (tmp_path / "out" / name).read_bytes() for name in RESULTS})
    assert all(each == results[0] for each in results)
    policy: Mapping[str, Any] = json.loads(results[0]["report.json"])["policy"]
    assert policy.get("folder", "") == ("governance" if repository else "")
    assert ("elsewhere/org.yaml" in policy["given"]) == repository
    assert str(tmp_path).encode() not in results[0]["report.json"]
