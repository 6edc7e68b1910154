from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from command_line import Ended, leafgate
from leafgate import PolicyError
from leafgate.api import AdversaryKnowledge, Belief, Release, SecretBelief
from leafgate.app import Finding, Session, Tables, audit_policy, document, load_policy, open_session, summary
from leafgate.kernel.waivers import Waiver, WaiverReview, metric_of, utc_today
from leafgate_plugins.protection.metrics import KAnonymity
from random_tables import table_of
from standins import ROWS, attack_that, even, metric_that, plugins_with, policy_with
from survey import survey

TODAY = date(2026, 11, 22)
METRICS = [{"use": "k_anonymity", "at_least": 20}, {"use": "exposure", "at_most": 1}]
FAILING = "k_anonymity@linking#ill"
WAIVER = {
    "id": "W-1",
    "finding": FAILING,
    "owner": "jane@example.org",
    "approved_by": "dpo@example.org",
    "reason": "a pilot of two weeks",
    "issued": "2026-11-01",
    "expires": "2026-12-01",
}
KEPT: dict[str, Any] = {"metrics": METRICS}


def run(folder: Path, *waivers: dict[str, Any], **changes: Any) -> Session:
    """The survey, whose groups of 12 are smaller than the policy's 20, with these waivers for its release."""
    release = released()
    items = [without_nothing(WAIVER | {"release": release} | waiver) for waiver in waivers]
    return open_session(survey(folder, KEPT | {"waivers": items} | changes))


@cache
def released() -> str:
    """The digest of the survey's release, wherever its files are."""
    with TemporaryDirectory() as folder:
        sealed = open_session(survey(Path(folder), KEPT)).audit().artifact
    assert sealed is not None
    return sealed.sha256


def without_nothing(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if value is not ...}


MATRIX: list[tuple[dict[str, Any], str, int]] = [
    ({}, "applied", 0),
    ({"expires": "2026-11-21"}, "expired", 1),  # yesterday
    ({"expires": "2026-11-22"}, "applied", 0),  # today, to its end
    ({"expires": "2026-11-23"}, "applied", 0),  # tomorrow
    ({"issued": "2026-11-22"}, "applied", 0),
    ({"issued": "2026-11-23"}, "not_yet", 1),
    ({"issued": "2026-09-02"}, "applied", 0),  # 90 days, and no longer
    ({"issued": "2026-09-01"}, "lasts 91 days, longer than the policy's 90", 2),
    ({"issued": "2026-11-22", "expires": "2026-11-22"}, "applied", 0),  # one day
    ({"release": "0" * 64}, "other_release", 1),
    (
        {"release": "0" * 63},
        "waivers[0].release: must be the whole SHA-256, 64 digits: `release.sha256` of report.json",
        2,
    ),
    ({"finding": "k_anonymity"}, "unknown", 1),
    ({"finding": "k_anonymity@*"}, "unknown", 1),  # no wildcards
    ({"finding": "l_diversity@linking#ill"}, "unknown", 1),
    ({"finding": "exposure@linking#ill"}, "unused", 1),
    ({"finding": "guarantee:k"}, "not_waivable", 1),
    ({"limit": {"at_least": 12}}, "applied", 0),
    ({"limit": {"at_least": 13}}, "broken_limit", 1),
    ({"limit": {"at_least": 13, "allow": 0.5}}, "broken_limit", 1),
    ({"limit": {"at_least": 20, "allow": 0.99}}, "broken_limit", 1),
    ({"limit": {"at_least": 20}}, "is not weaker than the policy's own limit", 2),
    ({"limit": {"at_least": 21}}, "is not weaker than the policy's own limit", 2),
    ({"limit": {"at_most": 12}}, "k_anonymity is limited by `at_least`", 2),
    ({"limit": {"at_least": 2, "at_most": 3}}, "is `at_least` or `at_most`", 2),
    ({"limit": {}}, "is `at_least` or `at_most`", 2),
    ({"approved_by": "jane@example.org"}, "its owner approves it", 2),
    ({"approved_by": " JANE@example.ORG\n"}, "its owner approves it", 2),
    ({"approved_by": "Jane Doe <jane@example.org>"}, "its owner approves it", 2),
    ({"approved_by": "dpo@example.org, jane@example.org"}, "its owner approves it", 2),
    ({"owner": "Jane Doe", "approved_by": "jane  DOE "}, "its owner approves it", 2),
    ({"approved_by": "jane@example.org."}, "its owner approves it", 2),
    ({"approved_by": "mailto:jane@example.org"}, "its owner approves it", 2),
    ({"approved_by": "ja\u200bne@example.org"}, "its owner approves it", 2),
    ({"approved_by": "\uff4aane@example\uff0eorg"}, "its owner approves it", 2),
    ({"owner": "zoe\u0308@example.org", "approved_by": "zo\u00eb@example.org"}, "its owner approves it", 2),
    ({"approved_by": "DPO"}, "applied", 0),
    ({"approved_by": ...}, "waivers[0].approved_by: is missing", 2),
    ({"owner": " "}, "says nothing", 2),
    ({"reason": ...}, "waivers[0].reason: is missing", 2),
    ({"reason": " \n"}, "waivers[0].reason: says nothing", 2),
    ({"expires": ...}, "waivers[0].expires: is missing", 2),
    ({"expires": "2026-10-31"}, "expires before it is issued", 2),
    ({"expires": "2026-13-01"}, "waivers[0].expires: ", 2),
    ({"expires": "2026-12-01T00:00:00"}, "must be a day", 2),
    ({"expires": 20261201}, "must be a day", 2),
    ({"severity": "low"}, "waivers[0].severity: unknown key", 2),
]


@pytest.mark.parametrize(("change", "outcome", "code"), MATRIX, ids=[f"{i}" for i in range(len(MATRIX))])
def test_a_waiver_applies_or_says_why_not(tmp_path: Path, change: dict[str, Any], outcome: str, code: int) -> None:
    if code == 2:
        with pytest.raises(PolicyError) as refused:
            run(tmp_path, change)
        assert outcome in str(refused.value)
        return
    report = run(tmp_path, change).audit(TODAY).report
    assert [result["status"] for result in report.waivers] == [outcome]
    assert (report.exit_code, report.waived) == (code, int(outcome == "applied"))
    (found,) = (finding for finding in report.findings if finding.id == FAILING)
    assert (found.passed, found.waiver is not None) == (False, outcome == "applied")


def test_a_waived_finding_stays_visible_in_document_and_words(tmp_path: Path) -> None:
    fields = document(run(tmp_path, {}).audit(TODAY).report, "public")
    (found,) = (finding for finding in fields["findings"] if finding["id"] == FAILING)
    who = ("id", "owner", "approved_by", "reason", "issued", "expires")
    assert (found["passed"], found["waiver"]) == (False, {key: WAIVER[key] for key in who})
    assert (fields["verdict"], fields["waived"], fields["judged_on"]) == ("pass", 1, "2026-11-22")
    words = summary(fields)
    assert words.startswith("survey: PASS: every limit of the policy holds or is waived (1 waived).\n")
    assert f"waiv  {FAILING} is 10 to 24 (wanted at least 20)" in words
    assert "waived until 2026-12-01 by dpo@example.org for jane@example.org: a pilot of two weeks" in words


def test_a_waiver_that_does_not_apply_is_named_with_the_reason(tmp_path: Path) -> None:
    words = summary(document(run(tmp_path, {"expires": "2026-11-21"}).audit(TODAY).report, "public"))
    reason = "it expired on 2026-11-21, and this is 2026-11-22"
    assert words.startswith("survey: FAIL")
    assert f"waiver W-1 of {FAILING} does not apply: {reason}" in words


def test_a_near_miss_of_an_id_is_told(tmp_path: Path) -> None:
    (result,) = run(tmp_path, {"finding": "k_anonimity@linking#ill"}).audit(TODAY).report.waivers
    assert result["message"] == f"no finding has this id; did you mean {FAILING}?"


def found(metric: str = "k_anonymity", *, passed: bool = False) -> Finding:
    return Finding(FAILING, metric, passed=passed)


@pytest.mark.parametrize(
    ("limits", "others", "status", "message"),
    [
        ([found()], [], "applied", "is waived until"),
        ([found(), found()], [], "not_waivable", "several findings have this id"),
        ([found("")], [], "not_waivable", "only a limit of the policy"),
        ([], [found("")], "not_waivable", "only a limit of the policy"),
        ([found()], [found("")], "not_waivable", "only a limit of the policy"),
        ([found()], [found()], "not_waivable", "only a limit of the policy"),
    ],
)
def test_only_a_finding_that_is_a_limits_alone_is_waived(
    limits: list[Finding], others: list[Finding], status: str, message: str
) -> None:
    waiver = Waiver.model_validate_json(json.dumps(WAIVER | {"release": "0" * 64}))
    _, (result,) = WaiverReview([waiver], TODAY, "0" * 64, limits, others, lambda waiver: False).outcome()
    assert result["status"] == status
    assert message in result["message"]


def test_a_finding_is_of_the_metric_with_the_longest_name_that_fits() -> None:
    metrics = [KAnonymity(name=name, at_least=1) for name in ("k", "k@x", "k@x@y")]
    waiver = Waiver.model_validate_json(json.dumps(WAIVER | {"release": "0" * 64, "finding": "k@x@linking#ill"}))
    for order in (metrics, metrics[::-1]):
        result = metric_of(waiver, order)
        assert result is not None
        assert result.called == "k@x"


def test_a_weaker_limit_is_judged_on_the_finding_alone(tmp_path: Path) -> None:
    secrets = {"data.columns.smoker.role": "sensitive"}
    sealed = open_session(survey(tmp_path, KEPT | secrets)).audit().artifact
    assert sealed is not None
    weaker = {"release": sealed.sha256, "limit": {"at_least": 10}}
    report = run(tmp_path, weaker, **secrets).audit(TODAY).report
    assert [waiver["status"] for waiver in report.waivers] == ["applied"]
    assert report.exit_code == 1  # the other secret's finding fails, too


def test_an_average_allows_nobody_beyond(tmp_path: Path) -> None:
    mean = [{"use": "confidence", "at_most": 0.5, "average": True}]
    limit = {"at_most": 0.9, "allow": 0.1}
    with pytest.raises(PolicyError, match="confidence judges nobody by themselves"):
        run(tmp_path, {"finding": "confidence@linking#ill", "limit": limit}, metrics=mean)


def test_what_could_not_be_told_cannot_be_waived(tmp_path: Path) -> None:
    metrics = [{"use": "accuracy", "at_least": 0.5}]
    report = run(tmp_path, {"finding": "accuracy"}, metrics=metrics).audit(TODAY).report
    assert (report.waivers[0]["status"], report.exit_code) == ("not_waivable", 3)


def test_with_a_waived_finding_what_could_not_be_told_still_blocks(tmp_path: Path) -> None:
    metrics = [*METRICS, {"use": "accuracy", "at_least": 0.5}]
    report = run(tmp_path, {}, metrics=metrics).audit(TODAY).report
    assert (report.verdict, report.exit_code, report.waived) == ("inconclusive", 3, 1)


def test_with_a_waived_finding_another_that_fails_still_fails(tmp_path: Path) -> None:
    report = run(tmp_path, {}, metrics=[*METRICS, {"use": "confidence", "at_most": 0.9}]).audit(TODAY).report
    assert (report.verdict, report.exit_code, report.waived) == ("fail", 1, 1)


def test_a_release_that_cannot_be_built_cannot_be_waived(tmp_path: Path) -> None:
    changes = {"build": {"use": "kadet", "k": 25}}
    report = run(tmp_path, {"finding": "build"}, {"id": "W-2", "finding": FAILING}, **changes).audit(TODAY).report
    assert [result["status"] for result in report.waivers] == ["not_waivable", "unused"]
    assert (report.exit_code, report.waived) == (1, 0)


@pytest.mark.parametrize("days", [0, 1, 29])
def test_a_policy_may_allow_fewer_days_or_no_waivers(tmp_path: Path, days: int) -> None:
    with pytest.raises(PolicyError, match="allows no waivers" if days == 0 else "longer than the policy's"):
        run(tmp_path, {}, max_waiver_days=days)
    assert run(tmp_path, {}, max_waiver_days=30).audit(TODAY).report.exit_code == 0


def test_a_finding_of_a_release_has_one_waiver_and_a_renewal_takes_its_place(tmp_path: Path) -> None:
    renewal = {"id": "W-2", "issued": "2026-11-20", "expires": "2027-02-18"}
    for second in ({"id": "W-2"}, renewal, renewal | {"issued": "2026-12-02"}, {"id": "W-2", "limit": {"at_least": 9}}):
        with pytest.raises(PolicyError) as refused:
            run(tmp_path, {}, second)
        (problem,) = refused.value.problems
        assert (problem.location, problem.hint) == ("waivers[1]", "replace that: so one is renewed")
    assert run(tmp_path, renewal).audit(TODAY).report.waivers[0]["status"] == "applied"
    others = {"id": "W-2", "release": "0" * 64}, {"id": "W-3", "finding": "exposure@linking#ill"}
    waivers = run(tmp_path, {}, *others).audit(TODAY).report.waivers
    assert [waiver["status"] for waiver in waivers] == ["applied", "other_release", "unused"]


def test_no_list_of_waivers_written_today_outlasts_one(tmp_path: Path) -> None:
    issued = [date(2026, 11, 1) + timedelta(91 * i) for i in range(40)]
    waivers = [
        {"id": str(i), "issued": str(first), "expires": str(first + timedelta(90))} for i, first in enumerate(issued)
    ]
    with pytest.raises(PolicyError) as refused:
        run(tmp_path, *waivers)
    assert [problem.location for problem in refused.value.problems] == [f"waivers[{i}]" for i in range(1, 40)]


def test_waivers_change_neither_release_nor_digest_and_have_their_own(tmp_path: Path) -> None:
    with_one, longer = (run(tmp_path, {}, **more).audit(TODAY) for more in ({}, {"max_waiver_days": 99}))
    without = open_session(survey(tmp_path, KEPT)).audit(TODAY)
    assert with_one.artifact == without.artifact
    assert with_one.report.policy["sha256"] == without.report.policy["sha256"]
    assert longer.report.policy["sha256"] != without.report.policy["sha256"]
    assert len(with_one.report.policy["waivers_sha256"]) == 64
    assert "waivers_sha256" not in without.report.policy


def test_without_waivers_no_clock_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leafgate.engine.audit.utc_today", lambda: pytest.fail("the clock was read"))
    fields = document(open_session(survey(tmp_path, KEPT)).audit().report, "public")
    assert "judged_on" not in fields
    assert "waivers" not in fields


def test_the_day_is_the_one_it_is_in_utc() -> None:
    before = datetime.now(UTC).date()
    assert before <= utc_today() <= datetime.now(UTC).date()


def test_what_a_waiver_says_moves_no_cursor_and_starts_no_line(tmp_path: Path) -> None:
    nasty = "fine\n  ok    everything\r\x1b[2K\N{RIGHT-TO-LEFT OVERRIDE}"
    words = summary(document(run(tmp_path, {"reason": nasty}).audit(TODAY).report, "public"))
    assert "\n  ok    everything" not in words
    assert all(line.isprintable() for line in words.splitlines())


def test_a_weaker_limit_must_hold_for_the_share_of_people_it_says(tmp_path: Path) -> None:
    sure = [{"use": "confidence", "at_most": 0.9, "allow": 0.1}]
    for allow, status in ((0.49, "broken_limit"), (0.5, "applied")):  # 12 of 24 people are certain
        limit = {"at_most": 0.9, "allow": allow}
        report = run(tmp_path, {"finding": "confidence@linking#ill", "limit": limit}, metrics=sure).audit(TODAY).report
        assert report.waivers[0]["status"] == status


def beside(folder: Path, content: Any, name: str = "waivers.yaml") -> Path:
    (folder / "waivers.yaml").write_text(json.dumps(content))
    return survey(folder, KEPT | {"waivers": name})


def test_waivers_may_stand_in_a_file_beside_the_policy_wherever_the_data_are(tmp_path: Path) -> None:
    release, elsewhere = released(), tmp_path / "data"
    path = beside(tmp_path, {"waivers": [WAIVER | {"release": release}]})
    elsewhere.mkdir()
    (tmp_path / "people.csv").rename(elsewhere / "people.csv")
    report = open_session(path, root=elsewhere).audit(TODAY).report
    assert report.exit_code == 0
    assert report.waivers[0]["where"] == {"file": "waivers.yaml", "line": 1}


@pytest.mark.parametrize(
    ("content", "name", "text"),
    [
        ({"waivers": [], "more": 1}, "waivers.yaml", "must have the key `waivers`"),
        ({"waivers": "waivers.yaml"}, "waivers.yaml", "must have the key `waivers`"),
        ([], "waivers.yaml", "is not a mapping"),
        ({"waivers": [{"id": "W-1"}]}, "waivers.yaml", "finding: is missing"),
        ({"waivers": 3}, "waivers.yaml", "waivers: "),
        ({"waivers": []}, "none.yaml", "cannot be read"),
        ({"waivers": []}, "../waivers.yaml", "leaves the policy's folder"),
        ({"waivers": []}, "/etc/passwd", "leaves the policy's folder"),
    ],
)
def test_a_file_of_waivers_that_cannot_be_meant_is_refused(tmp_path: Path, content: Any, name: str, text: str) -> None:
    with pytest.raises(PolicyError, match=text):
        load_policy(beside(tmp_path, content, name))


REVIEWERS = ["dpo@example.org", "ciso@example.org"]
APPROVED: list[tuple[str, bool]] = [
    ("dpo@example.org", True),
    ("The DPO <DPO@example.org>", True),
    ("ciso@example.org", True),
    ("dpo+x@example.org", False),  # may be another mailbox
    ("d.po@example.org", False),
    ("dpo@example.com", False),
    ('"dpo@example.org"@example.com', False),
    ("dpo@example.org <somebody@example.org>", False),
    ("DPO", False),
]


@pytest.mark.parametrize(("approver", "listed"), APPROVED)
@pytest.mark.parametrize("in_a_file", [False, True])
def test_only_a_reviewer_of_the_policy_approves(tmp_path: Path, approver: str, listed: bool, in_a_file: bool) -> None:
    (tmp_path / "reviewers.yaml").write_text(json.dumps({"reviewers": REVIEWERS}))
    approvals = {"approvals": {"reviewers": "reviewers.yaml" if in_a_file else REVIEWERS}}
    if listed:
        release = open_session(survey(tmp_path, KEPT | approvals)).audit().artifact
        assert release is not None
        (result,) = (
            run(tmp_path, {"approved_by": approver, "release": release.sha256}, **approvals).audit(TODAY).report.waivers
        )
        assert result["status"] == "applied"
        return
    with pytest.raises(PolicyError) as refused:
        run(tmp_path, {"approved_by": approver}, **approvals)
    (problem,) = refused.value.problems
    assert (problem.location, problem.message) == ("waivers[0].approved_by", "is none of the policy's reviewers")


def test_a_reviewer_cannot_approve_what_they_ask_for(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="its owner approves it"):
        run(tmp_path, {"owner": "The DPO <DPO@example.org>"}, approvals={"reviewers": REVIEWERS})


@pytest.mark.parametrize(
    ("content", "name", "text"),
    [
        ({"reviewers": []}, "reviewers.yaml", "reviewers: "),
        (
            {"reviewers": ["dpo"]},
            "reviewers.yaml",
            r"reviewers.yaml, line 1: approvals.reviewers\[0\]: must be one e-mail",
        ),
        ({"reviewers": ["dpo@x.org, a@x.org"]}, "reviewers.yaml", "must be one e-mail address"),
        ({"reviewers": REVIEWERS, "more": 1}, "reviewers.yaml", "must have the key `reviewers`"),
        ({"reviewers": "reviewers.yaml"}, "reviewers.yaml", "must have the key `reviewers`"),
        ({"reviewers": REVIEWERS}, "none.yaml", "cannot be read"),
        ({"reviewers": REVIEWERS}, "../reviewers.yaml", "leaves the policy's folder"),
    ],
)
def test_a_file_of_reviewers_that_cannot_be_meant_is_refused(
    tmp_path: Path, content: Any, name: str, text: str
) -> None:
    (tmp_path / "reviewers.yaml").write_text(json.dumps(content))
    with pytest.raises(PolicyError, match=text):
        load_policy(survey(tmp_path, KEPT | {"approvals": {"reviewers": name}}))


def test_reviewers_are_part_of_the_policys_digest_by_what_their_file_says(tmp_path: Path) -> None:
    def digest(**changes: Any) -> str:
        return load_policy(survey(tmp_path, KEPT | changes)).policy.sha256

    file = tmp_path / "reviewers.yaml"
    file.write_text(json.dumps({"reviewers": REVIEWERS}))
    beside = digest(approvals={"reviewers": "reviewers.yaml"})
    assert digest(approvals={"reviewers": REVIEWERS}) == beside != digest()
    file.write_text(json.dumps({"reviewers": REVIEWERS[:1]}))
    assert digest(approvals={"reviewers": "reviewers.yaml"}) not in {beside, digest()}


def ended(folder: Path, *words: object, **change: Any) -> Ended:
    """What the command ends in, by the clock there is."""
    now = datetime.now(UTC).date()
    days = {"issued": str(now - timedelta(3)), "expires": str(now + timedelta(3))}
    run(folder, days | change)
    return leafgate("audit", folder / "policy.yaml", *words)


def test_the_command_ends_in_0_with_a_waiver_and_the_release_is_for_everyone(tmp_path: Path) -> None:
    done = ended(tmp_path, "--out", tmp_path / "out", "--json")
    assert (done.code, done.document["waived"]) == (0, 1)
    assert (tmp_path / "out" / "release.json").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("change", [{"release": "0" * 64}, {"finding": "guarantee:k"}, {"limit": {"at_least": 13}}])
def test_the_command_ends_in_1_when_the_waiver_does_not_apply(tmp_path: Path, change: dict[str, Any]) -> None:
    done = ended(tmp_path, "--out", tmp_path / "out", **change)
    assert done.code == 1
    assert "waiver W-1 of" in done.out
    assert (tmp_path / "out" / "release.json").stat().st_mode & 0o777 == 0o600


def test_the_command_ends_in_1_the_day_after_the_last(tmp_path: Path) -> None:
    yesterday = datetime.now(UTC).date() - timedelta(1)
    done = ended(tmp_path, expires=str(yesterday))
    assert (done.code, "it expired on" in done.out) == (1, True)


def test_the_command_ends_in_2_when_a_waiver_is_invalid(tmp_path: Path) -> None:
    run(tmp_path, {})
    document = json.loads((tmp_path / "policy.yaml").read_text())
    document["waivers"][0]["approved_by"] = WAIVER["owner"]
    (tmp_path / "policy.yaml").write_text(json.dumps(document))
    done = leafgate("audit", tmp_path / "policy.yaml")
    assert (done.code, done.out) == (2, "")
    assert "waivers[0]: its owner approves it; somebody else must" in done.err


def test_waivers_judged_in_a_policy_that_is_changed_later_follow_it(tmp_path: Path) -> None:
    audited = run(tmp_path, {})
    loose = audited.policy.model_copy(update={"metrics": (KAnonymity(name="k", at_least=3),)})
    report = replace(audited, policy=loose).audit(TODAY).report
    assert (report.waivers[0]["status"], report.exit_code) == ("unknown", 0)


def test_a_weaker_limit_must_hold_for_every_belief_an_attack_found() -> None:
    def torn(release: Release, known: AdversaryKnowledge) -> list[Belief]:
        other = even(known).assign(flu=0.9, cold=0.1)
        return [
            SecretBelief(
                "ill", even(known), equivalence_class=np.arange(len(known.records)), alternative_posteriors=(other,)
            )
        ]

    plugins = plugins_with(attack_that(torn), metric_that(lambda case: case.posterior.min(axis=1)))
    said = {"attacks": [{"use": "nosy"}], "metrics": [{"use": "odd", "at_least": 0.6}]}
    policy = policy_with(plugins, **said)
    table = table_of(policy.data.meaning().columns, ROWS, (3, 1, 2, 2))
    sealed = audit_policy(policy, plugins, Tables(table)).artifact
    assert sealed is not None
    for limit, status in ((0.4, "broken_limit"), (0.1, "applied")):
        waiver = WAIVER | {"finding": "odd@nosy#ill", "release": sealed.sha256, "limit": {"at_least": limit}}
        waived = policy_with(plugins, **said, waivers=[waiver])
        assert [
            result["status"] for result in audit_policy(waived, plugins, Tables(table), today=TODAY).report.waivers
        ] == [status]
