"""A plugin that is tried as a file: what it offers is there, and nobody takes its audit for one to repeat."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from command_line import leafgate
from stranger import install
from survey import survey

PLUGIN = """
from leafgate.api import attack, release_metric

leafgate_api = ">=3,<4"

@attack("silent")
def silent(release, known):
    "Believes nothing."
    return []

@release_metric("trees_left", safer="more")
def trees_left(case):
    "How many trees there are."
    return len(case.release.trees)
"""
USES = {"metrics": [{"use": "k_anonymity", "at_least": 3}, {"use": "trees_left", "at_least": 1}]}


@pytest.fixture
def tried(tmp_path: Path) -> Path:
    path = tmp_path / "tried_plugin.py"
    path.write_text(PLUGIN)
    return path


def test_what_it_offers_is_there_and_its_digest_in_the_report(tmp_path: Path, tried: Path) -> None:
    policy, out = survey(tmp_path, USES), tmp_path / "out"
    assert leafgate("validate", policy).code == 2
    assert leafgate("validate", policy, "--plugin", tried).code == 0
    assert leafgate("audit", policy, "--plugin", tried, "--out", out).code == 0
    report = json.loads((out / "report.json").read_bytes())
    assert report["policy"]["plugin_files"] == {tried.name: hashlib.sha256(tried.read_bytes()).hexdigest()}
    assert report["policy"]["reproducible"] is False
    [found] = [finding for finding in report["findings"] if finding["id"] == "trees_left"]
    assert found["plugin"] == f"{tried.name} {hashlib.sha256(tried.read_bytes()).hexdigest()[:16]}"
    ended = leafgate("report", out / "report.json", "--expect-policy", report["policy"]["sha256"])
    assert (ended.code, "cannot be repeated" in ended.err) == (2, True)
    assert leafgate("report", out / "report.json").code == 0


def test_an_audit_without_it_says_nothing_of_plugins_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert leafgate("audit", survey(tmp_path), "--out", out).code == 0
    assert not {"plugin_files", "reproducible"} & set(json.loads((out / "report.json").read_bytes())["policy"])


def test_no_policy_that_pins_its_plugins_and_no_organisation_takes_it(tmp_path: Path, tried: Path) -> None:
    policy = survey(tmp_path, {**USES, "plugins": ["leafgate"]})
    ended = leafgate("audit", policy, "--plugin", tried, "--out", tmp_path / "out")
    assert (ended.code, "tried_plugin.py is of none" in ended.err) == (2, True)
    policy = survey(tmp_path, USES)
    ended = leafgate("audit", policy, "--plugin", tried, "--org", policy)
    assert (ended.code, "an organisation's policy says which plugins it trusts" in ended.err) == (2, True)


def test_two_plugins_of_one_name_are_refused(tmp_path: Path, tried: Path) -> None:
    again = tmp_path / "again_plugin.py"
    again.write_text(PLUGIN)
    ended = leafgate("audit", survey(tmp_path, USES), "--plugin", tried, "--plugin", again)
    assert (ended.code, "both offer" in ended.err) == (2, True)


def test_one_attack_of_it_is_run_alone(tmp_path: Path, tried: Path) -> None:
    policy, out = survey(tmp_path), tmp_path / "out"
    assert leafgate("audit", policy, "--out", out).code == 0
    words = ["attack", policy, "--release", out / "release.json", "--use", "silent", "--out", tmp_path / "belief.csv"]
    assert "nobody offers" in leafgate(*words).err
    assert "nobody offers" not in leafgate(*words, "--plugin", tried).err


def test_a_policy_that_does_not_trust_a_plugin_names_it_and_imports_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "acme_untrusted", PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    ended = leafgate("validate", survey(tmp_path, {**USES, "plugins": ["leafgate"]}))
    assert (ended.code, "metrics[1]: nobody offers 'trees_left'" in ended.err) == (2, True)
    assert "; not listed under `plugins:` are acme-untrusted)" in ended.err
    assert "acme_untrusted" not in sys.modules
    assert leafgate("validate", survey(tmp_path, {**USES, "plugins": ["leafgate", "acme_untrusted"]})).code == 0
