"""Audits with a ledger: its releases are among the others, what is gone is inconclusive, and a policy can demand it."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_line import leafgate
from leafgate import Policy, PolicyError
from leafgate.app import GivenLedger, load_policy, open_session
from nights import Nights
from reports import view


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """Two nights that passed alone, the first of which is in the ledger with its table."""
    nights = Nights(tmp_path_factory.mktemp("nights"))
    assert nights.begin().code == 0
    assert nights.audit(0, ledger=True).code == 0
    assert nights.add(0).code == 0
    assert nights.audit(1).code == 0
    return nights


def findings(report: Any) -> dict[str, Any]:
    return {each["id"]: each for each in report["findings"]}


def problem_of_joint(nights: Nights, night: int = 1) -> str:
    """What an audit with the ledger says the attack `joint` lacks; it must be inconclusive."""
    ended = nights.audit(night, ledger=True)
    assert ended.code == 3, ended
    return str(findings(nights.report(night))["attack:joint"]["evidence"]["problem"])


def test_the_releases_of_a_ledger_are_those_that_the_policy_would_name(nights: Nights) -> None:
    assert nights.audit(1, "--audience", "auditor", ledger=True).code == 1
    by_ledger = nights.report(1)
    nights.policy(1, releases=[{"path": "out0/release.json", "data": "0.csv"}])
    assert nights.audit(1, "--audience", "auditor").code == 1
    by_policy = nights.report(1)
    line, release = "ledger line 1 (release.json)", "releases[0] (release.json)"
    exposed = findings(by_ledger)["exposure@joint#ill"]
    assert exposed["passed"] is False
    assert exposed["evidence"]["together"] == ["this release", line]
    named = json.dumps(findings(by_policy)).replace(release, line)
    without = [{**each, "remedies": [], "where": {}} for each in json.loads(named).values()]
    assert [{**each, "remedies": [], "where": {}} for each in findings(by_ledger).values()] == without
    assert by_ledger["method"]["granted"] == by_policy["method"]["granted"]
    digests = [report["data"]["files"] for report in (by_ledger, by_policy)]
    assert digests[0] == {"ledger line 1.data": digests[1]["releases[0].data"]}


def test_the_head_stands_in_public_reports_of_every_format_and_the_policy_has_its_own_digest(nights: Nights) -> None:
    head = nights.verify("--key", nights.key, "--json").document["sha256"]
    alone = nights.report(1)
    assert nights.audit(1, ledger=True).code == 1
    report = nights.report(1)
    assert report["ledger"] == {"number": 1, "sha256": head}
    assert "ledger" not in alone
    assert report["policy"]["sha256"] == alone["policy"]["sha256"]
    assert report["policy"]["given"][:4] == ["--ledger", "ledger.jsonl", "--ledger-key", "KEY"]
    for form in ("html", "markdown", "text"):
        assert head in view(report, form).decode(), form
    expected = leafgate("report", nights.out(1) / "report.json", "--expect-policy", nights.folder / "1.yaml")
    assert expected.code == 1
    assert f"ledger of 1 release, sha256 {head}" in expected.out


def test_an_audit_with_a_ledger_without_lines_says_so(nights: Nights) -> None:
    begun = nights.ledger.read_bytes().splitlines()[0]
    assert nights.report(0)["ledger"] == {"number": 0, "sha256": hashlib.sha256(begun).hexdigest()}


@pytest.mark.parametrize("change", ["gone", "changed"])
@pytest.mark.parametrize(("file", "what"), [("out0/release.json", "the release"), ("0.csv", "the table of its people")])
def test_a_release_or_a_table_that_is_gone_or_changed_is_inconclusive(
    nights: Nights, file: str, what: str, change: str
) -> None:
    path = nights.folder / file
    content = path.read_bytes()
    path.unlink()
    if change == "changed":
        path.write_bytes(content.replace(b"\n", b" \n", 1))
    assert problem_of_joint(nights).startswith(f"ledger line 1: {what} is gone, or is not what it was".split(",")[0])
    assert not {True} & {each["passed"] for name, each in findings(nights.report(1)).items() if "joint" in name}, (
        "nothing passes"
    )


@pytest.mark.thorough
def test_files_that_were_moved_are_found_by_a_new_line(nights: Nights) -> None:
    shutil.move(nights.out(0), nights.folder / "moved")
    assert "the release is gone" in problem_of_joint(nights)
    words = [nights.ledger, nights.folder / "moved" / "report.json", "--key", nights.key]
    assert leafgate("ledger", "add", *words, "--data", nights.folder / "0.csv").code == 0
    assert nights.audit(1, "--audience", "auditor", ledger=True).code == 1
    together = findings(nights.report(1))["exposure@joint#ill"]["evidence"]["together"]
    assert together == ["this release", "ledger line 2 (release.json)"]


@pytest.mark.thorough
def test_a_ledger_that_is_moved_with_its_files_finds_them(nights: Nights, tmp_path: Path) -> None:
    shutil.move(nights.folder, tmp_path / "moved")
    assert Nights(tmp_path / "moved").audit(1, ledger=True).code == 1


@pytest.mark.thorough
def test_a_line_without_a_table_is_inconclusive_until_another_line_names_it(nights: Nights) -> None:
    nights.ledger.write_bytes(nights.ledger.read_bytes().splitlines(keepends=True)[0])
    nights.add(0, data=False)
    assert "ledger line 1: nobody said which people it was learned from" in problem_of_joint(nights)
    nights.add(0)
    assert nights.audit(1, "--audience", "auditor", ledger=True).code == 1
    assert findings(nights.report(1))["exposure@joint#ill"]["evidence"]["together"][1:] == [
        "ledger line 2 (release.json)"
    ]


def test_a_line_without_a_table_of_a_file_that_is_audited_is_inconclusive(nights: Nights) -> None:
    """Trees of two tables may be the same file; nobody said of which people this line is."""
    nights.ledger.write_bytes(b"")
    shutil.copytree(nights.out(1), nights.folder / "copy")
    leafgate("ledger", "add", nights.ledger, nights.folder / "copy" / "report.json", "--key", nights.key)
    nights.policy(1, build={"use": "published", "path": "copy/release.json"})
    assert "ledger line 1: nobody said which people it was learned from" in problem_of_joint(nights)


def test_a_release_that_both_the_policy_and_lines_name_is_there_once(nights: Nights) -> None:
    shutil.copytree(nights.out(0), nights.folder / "copy")
    words = [nights.ledger, nights.folder / "copy" / "report.json", "--key", nights.key]
    leafgate("ledger", "add", *words, "--data", nights.folder / "0.csv")
    session_policy = open_session(nights.folder / "1.yaml", ledger=given(nights)).policy
    assert [place for place, _ in session_policy.placed_releases] == ["ledger line 1"]
    nights.policy(1, releases=[{"path": "out0/release.json", "data": "0.csv"}])
    session_policy = open_session(nights.folder / "1.yaml", ledger=given(nights)).policy
    assert [place for place, _ in session_policy.placed_releases] == ["releases[0]"]


def given(nights: Nights) -> GivenLedger:
    return GivenLedger(nights.ledger, nights.key)


def test_the_audited_release_is_no_other_one_and_its_table_is_the_audited_one(nights: Nights) -> None:
    nights.release_as_policy(0)
    assert open_session(nights.folder / "0.yaml", ledger=given(nights)).policy.releases == ()
    nights.policy(0, build={"use": "kadet", "k": 20})
    (release,) = open_session(nights.folder / "0.yaml", ledger=given(nights)).policy.releases
    assert release.data == "same"
    (nights.folder / "other.csv").write_bytes((nights.folder / "0.csv").read_bytes())
    session = open_session(nights.folder / "0.yaml", nights.folder / "other.csv", ledger=given(nights))
    assert session.policy.releases[0].data == "same"


def test_an_audit_never_writes_over_a_release_that_it_reads(nights: Nights) -> None:
    before = (nights.out(0) / "release.json").read_bytes()
    ended = leafgate(
        *("audit", nights.folder / "1.yaml", "--out", nights.out(0)),
        *("--ledger", nights.ledger, "--ledger-key", nights.key),
    )
    assert ended.code == 2
    assert "is a release that this audit reads (ledger line 1), and would be overwritten" in ended.err
    assert (nights.out(0) / "release.json").read_bytes() == before


def test_a_changed_ledger_ends_the_audit(nights: Nights) -> None:
    nights.ledger.write_bytes(nights.ledger.read_bytes().replace(b'"waived":0', b'"waived":1'))
    ended = nights.audit(1, ledger=True)
    assert (ended.code, "line 1: was changed" in ended.err) == (2, True)
    assert not (nights.out(1) / "report.json").exists()


def test_a_ledger_that_nothing_in_the_policy_uses_is_refused(nights: Nights) -> None:
    nights.policy(1, attacks=[{"use": "linking"}], metrics=[{"use": "k_anonymity", "at_least": 5}])
    ended = nights.audit(1, ledger=True)
    assert (ended.code, "--ledger: no attack and no limit of the policy uses the releases" in ended.err) == (2, True)


@pytest.mark.thorough
def test_a_policy_that_requires_a_ledger_gets_no_verdict_without_one(nights: Nights) -> None:
    nights.policy(1, ledger="required")
    ended = nights.audit(1)
    assert (ended.code, ended.out) == (2, "")
    assert "ledger: the policy requires a ledger, and none was given (run leafgate audit with --ledger" in ended.err
    assert nights.audit(1, ledger=True).code == 1
    swept = leafgate(
        *("sweep", nights.folder / "1.yaml", "--over", "build.k=5", "--out", nights.folder / "swept"), "--workers", 1
    )
    assert swept.code not in {0, 1}
    with pytest.raises(PolicyError, match="requires a ledger"):
        open_session(nights.folder / "1.yaml").audit()


@pytest.mark.parametrize("kind", ["empty", "device", "add"])
def test_a_policy_that_requires_a_ledger_takes_none_that_ledger_new_did_not_begin(nights: Nights, kind: str) -> None:
    nights.policy(1, ledger="required")
    nights.ledger.unlink()
    if kind == "device":
        nights.ledger.symlink_to("/dev/null")
    elif kind == "empty":
        nights.ledger.write_bytes(b"")
    else:
        assert nights.add(0).code == 2  # its audit saw the ledger that is gone
        assert nights.audit(0).code == 0
        assert nights.add(0).code == 0
    ended = nights.audit(1, ledger=True)
    words = "is no file" if kind == "device" else "was not begun by `leafgate ledger new`"
    assert (ended.code, words in ended.err) == (2, True)


def test_a_repair_takes_no_ledger_and_says_so_before_it_searches(nights: Nights) -> None:
    nights.policy(1, ledger="required", build={"use": "published", "path": "out1/release.json"})
    model, new = nights.out(1) / "release.json", nights.folder / "new.json"
    ended = leafgate("repair", model, "--policy", nights.folder / "1.yaml", "--out", new)
    assert (ended.code, "ledger: requires a ledger, which a repair does not take" in ended.err) == (2, True)


@pytest.mark.thorough
def test_a_limit_on_a_total_epsilon_reads_the_releases_of_a_ledger(nights: Nights) -> None:
    private = {"use": "dp_random_trees", "epsilon": 1, "trees": 2, "rehearsal": True}
    metrics = [{"use": "differential_privacy", "at_most": 3}]
    nights.policy(1, build=private, attacks=[{"use": "linking"}], metrics=metrics)
    assert nights.audit(1, ledger=True).code == 1
    total = findings(nights.report(1))["differential_privacy"]
    assert total["passed"] is False
    assert "ledger line 1 (release.json)" in total["remedies"][0]["text"]
    (nights.folder / "0.csv").unlink()
    assert nights.audit(1, ledger=True).code == 3
    total = findings(nights.report(1))["differential_privacy"]
    assert (total["passed"], "ledger line 1: the table" in total["evidence"]["problem"]) == (None, True)


@pytest.mark.thorough
def test_an_organisation_can_demand_a_ledger_and_nobody_can_loosen_that(nights: Nights) -> None:
    org = nights.folder / "org.yaml"
    unlisted = {"except": [{"columns": "id", "roles": ["key"]}]}
    org.write_text(yaml.safe_dump({"leafgate": 1, "ledger": "required", "data": {"unlisted": unlisted}}))
    assert leafgate("validate", "--partial", org).code == 0
    ended = nights.audit(1, "--org", org)
    assert (ended.code, "the policy requires a ledger" in ended.err) == (2, True)
    assert nights.audit(1, "--org", org, ledger=True).code == 1
    nights.policy(1, ledger="optional")
    ended = nights.audit(1, "--org", org, ledger=True)
    assert (ended.code, "ledger: loosens what it extends: " in ended.err) == (2, True)


def test_a_policy_that_requires_a_ledger_and_uses_none_is_invalid(nights: Nights) -> None:
    nights.policy(1, ledger="required", attacks=[{"use": "linking"}], metrics=[{"use": "k_anonymity", "at_least": 5}])
    ended = leafgate("validate", nights.folder / "1.yaml")
    assert (ended.code, "ledger: no attack and no limit of the policy uses the releases" in ended.err) == (2, True)


def policy_of(nights: Nights, **changes: Any) -> Policy:
    return load_policy(nights.policy(1, **changes)).policy


def test_the_digest_of_a_policy_covers_what_it_demands_and_not_what_a_ledger_adds(nights: Nights) -> None:
    plain, required = policy_of(nights).sha256, policy_of(nights, ledger="required").sha256
    assert plain != required
    assert policy_of(nights, ledger="optional").sha256 == plain
    changing = policy_of(nights, ledger="required", secret_may_change={"at_most": 3})
    assert changing.sha256 != required
    nights.policy(1)
    session = open_session(nights.folder / "1.yaml", ledger=given(nights))
    assert len(session.policy.releases) == 1
    assert session.policy.sha256 == plain
    changed = session.policy.model_copy(update={"seed": 8}).with_origin(replace(session.policy.origin, given=()))
    assert changed.sha256 == policy_of(nights, seed=8).sha256
