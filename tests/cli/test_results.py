"""What audit and build leave behind."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from command_line import leafgate, process
from stranger import install
from survey import survey

DICE = """
from typing import Literal
from leafgate.api import TreeBuilder, hookimpl
leafgate_api = ">=3,<4"

class Dice(TreeBuilder):
    use: Literal["dice"] = "dice"
    randomness = "system"

@hookimpl
def tree_builders():
    return [Dice]
"""


def contents(folder: Path) -> dict[str, Any]:
    return {path.name: json.loads(path.read_bytes()) for path in sorted(folder.iterdir())}


def test_an_audit_writes_release_report_and_timings(tmp_path: Path) -> None:
    out = tmp_path / "out"
    document = leafgate("audit", survey(tmp_path), "--out", out, "--json").document
    found = contents(out)
    assert list(found) == ["release.json", "report.json", "timings.json"]
    assert [found[name]["format"] for name in found] == [
        "leafgate/release/1",
        "leafgate/report/1",
        "leafgate/timings/1",
    ]
    assert found["report.json"] == document
    assert document["release"]["sha256"] == hashlib.sha256((out / "release.json").read_bytes()).hexdigest()
    assert "sha256" not in document["data"]
    assert set(found["timings.json"]["seconds"]) == {"read", "build", "attack linking", "judge", "draw"}


def without_remedies(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The findings without what to do about them: of a file there is no builder whose options could be changed."""
    return [{key: value for key, value in finding.items() if key != "remedies"} for finding in findings]


@pytest.mark.thorough
def test_a_release_that_was_written_is_audited_again_to_the_same_verdict(tmp_path: Path) -> None:
    for changes, code in (({}, 0), ({"metrics.0.at_least": 24}, 1)):
        first = leafgate("audit", survey(tmp_path, changes), "--out", tmp_path / "out", "--json")
        published = changes | {"build": {"use": "published", "path": "out/release.json"}}
        again = leafgate("audit", survey(tmp_path, published), "--out", tmp_path / "again", "--json")
        assert (first.code, again.code) == (code, code)
        built, read = first.document["release"], again.document["release"]
        file = {"name": "release.json", "format": "leafgate/release/1", "sha256": built["sha256"]}
        assert read == {"file": file, **built}
        assert without_remedies(again.document["findings"]) == without_remedies(first.document["findings"])
        assert (tmp_path / "again" / "release.json").read_bytes() == (tmp_path / "out" / "release.json").read_bytes()


def test_without_a_release_there_is_a_report_and_no_release_file(tmp_path: Path) -> None:
    leafgate("audit", survey(tmp_path, {"build.k": 25}), "--out", tmp_path / "out")
    assert contents(tmp_path / "out")["report.json"]["release"] is None
    assert not (tmp_path / "out" / "release.json").exists()


def test_the_release_of_an_earlier_audit_does_not_stay_beside_a_report_without_one(tmp_path: Path) -> None:
    leafgate("audit", survey(tmp_path), "--out", tmp_path / "out")
    leafgate("audit", survey(tmp_path, {"build.k": 25}), "--out", tmp_path / "out")
    assert not (tmp_path / "out" / "release.json").exists()


@pytest.mark.thorough
def test_the_same_input_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = survey(tmp_path, {"metrics.0.at_least": 24})
    for seed in ("0", "1"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        assert process("audit", policy, "--out", tmp_path / seed, "--audience", "auditor").code == 1
    for name in ("report.json", "release.json"):
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()


def test_the_place_of_the_files_is_no_part_of_the_report(tmp_path: Path) -> None:
    items = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        items.append(leafgate("audit", survey(tmp_path / name, {"data.test": "people.csv"}), "--json").out)
    assert items[0] == items[1]


def test_build_writes_the_release_that_audit_would(tmp_path: Path) -> None:
    policy = survey(tmp_path)
    leafgate("audit", policy, "--out", tmp_path / "out")
    ended = leafgate("build", policy, "--out", tmp_path / "new" / "r.json")
    content = (tmp_path / "new" / "r.json").read_bytes()
    assert content == (tmp_path / "out" / "release.json").read_bytes()
    assert (ended.code, hashlib.sha256(content).hexdigest() in ended.out) == (0, True)
    assert leafgate("build", survey(tmp_path, {"build.k": 25}), "--out", tmp_path / "none.json").code == 1
    assert not (tmp_path / "none.json").exists()


@pytest.mark.thorough
def test_an_auditor_sees_everything_in_the_folder_and_nothing_of_it_on_stdout(tmp_path: Path) -> None:
    policy = survey(tmp_path, {"metrics.0.at_least": 24})
    output = leafgate("audit", policy, "--out", tmp_path / "out", "--audience", "auditor", "--json")
    filed = contents(tmp_path / "out")["report.json"]
    assert (output.document["audience"], filed["audience"]) == ("public", "auditor")
    assert output.document == leafgate("audit", policy, "--json").document
    assert (output.document["verdict"], output.document["release"]) == (filed["verdict"], filed["release"])


def test_a_release_that_is_never_drawn_again_must_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "leafgate_dice", DICE)
    monkeypatch.syspath_prepend(tmp_path)
    ended = leafgate("audit", survey(tmp_path, {"build": {"use": "dice"}}), "--json")
    assert (ended.code, ended.problems[0]["place"]) == (2, "build")
    assert "--out" in ended.problems[0]["remedy"]


PRIVATE: dict[str, Any] = {
    "build": {"use": "dp_random_trees", "trees": 4, "k": 5, "beta": 0.2, "delta": 0.01, "combine": "sum"},
    "attacks": [{"use": "distinguish"}],
    "metrics": [{"use": "differential_privacy", "at_most": 9, "delta": 0.01}],
}


@pytest.mark.thorough
def test_a_private_release_is_audited_and_its_attack_writes_evidence(tmp_path: Path) -> None:
    policy, out = survey(tmp_path, PRIVATE), tmp_path / "out"
    output = leafgate("audit", policy, "--out", out, "--json")
    assert output.code == 0, output.out
    assert {found["id"] for found in output.document["findings"]} == {"differential_privacy", "guarantee:epsilon"}
    assert "people" not in output.document["data"]
    again = leafgate("audit", policy, "--out", tmp_path / "other")
    assert "epsilon >= " in again.out
    assert "note: attack distinguish: " in again.err
    assert "forecast to take" in again.err
    assert output.err == ""
    options = ["--release", out / "release.json", "--use", "distinguish", "--out", tmp_path / "e.json"]
    assert leafgate("attack", policy, *options).code == 0
    assert json.loads((tmp_path / "e.json").read_text())["tries"] == ["epsilon"]


@pytest.mark.thorough
def test_a_rehearsal_repeats_and_is_never_fit_to_be_published(tmp_path: Path) -> None:
    rehearsal = PRIVATE | {"build": {**PRIVATE["build"], "rehearsal": True}, "seed": 3}
    policy = survey(tmp_path, rehearsal)
    one, two = (leafgate("audit", policy, "--json") for _ in range(2))
    assert (one.code, one.out) == (3, two.out)
    assert "rehearsal" in one.out


@pytest.mark.thorough
def test_the_public_report_of_a_private_release_has_no_number_of_an_attack_on_people(tmp_path: Path) -> None:
    metrics = [{"use": "k_anonymity", "at_least": 1}, {"use": "exposure", "at_most": 1}, *PRIVATE["metrics"]]
    build = {**PRIVATE["build"], "trees": 2, "delta": 0.001}
    changes = PRIVATE | {"build": build, "attacks": [{"use": "linking"}], "metrics": metrics}
    document = leafgate("audit", survey(tmp_path, changes), "--out", tmp_path / "out", "--json").document
    for found in document["findings"][:2]:
        assert (found["value"], found["people"], found["passed"]) == (None, None, True)
        assert set(found["evidence"]) <= {"claim", "derived", "problem", "scored_because"}
    exposure = document["findings"][1]
    assert exposure["limit"]["scored"] == "derived"
    assert exposure["evidence"]["scored_because"] == "the release's claim of differential privacy was verified"
