"""Audit checks of plugins add findings that no policy asks for, and can do nothing else."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Literal

import numpy as np
import pytest

from leafgate.api import (
    MAX_DEPTH,
    AuditCheck,
    AuditorOnly,
    Branch,
    CategoricalSplit,
    CheckContext,
    CheckFinding,
    InconclusiveError,
    Leaf,
    Node,
    PeopleCount,
    Release,
    SecretBelief,
    leaves,
)
from leafgate.app import document, parse_report
from leafgate.disclosure.text import finding_lines
from leafgate.kernel.findings import Finding, Report
from leafgate.reports.html import html
from leafgate.reports.junit import junit
from leafgate.reports.markdown import markdown
from leafgate.reports.sarif import sarif
from mortgage import mortgage
from standins import audited, check_that, finding

FAILS = CheckFinding(problem="the release shows 3 flus", fails=True, evidence={"flus": 3})
QUESTION = CheckFinding(problem="nobody knows", fails=False)
GENEROUS = [{"use": "sizes", "at_least": 2}]
"""A limit that the tiny audit keeps."""


def checked(*answers: Any, **facts: Any) -> Report:
    """The report of an audit that passes but for a check with these answers."""
    return audited(check_that(lambda context: list(answers), **facts), metrics=GENEROUS)


def of_check(does: Callable[[CheckContext], Any], **facts: Any) -> Finding:
    """The only finding of a check."""
    (its_finding,) = check_findings(audited(check_that(does, **facts), metrics=GENEROUS))
    return its_finding


def check_findings(report: Report) -> list[Finding]:
    return [each for each in report.findings if each.id.startswith("check:")]


def test_a_check_without_findings_changes_only_the_versions() -> None:
    without, with_check = audited(metrics=GENEROUS), checked()
    assert replace(with_check, versions=without.versions) == without
    assert without.verdict == "pass"


@pytest.mark.parametrize(("answer", "passed", "verdict"), [(FAILS, False, "fail"), (QUESTION, None, "inconclusive")])
def test_a_finding_of_a_check_decides_the_verdict(answer: CheckFinding, passed: bool | None, verdict: str) -> None:
    report = checked(answer)
    of_veto = finding(report, "check:veto")
    assert (of_veto.passed, of_veto.plugin, report.verdict) == (passed, "acme-spies 1.2", verdict)
    assert [each for each in report.findings if each is not of_veto] == list(audited(metrics=GENEROUS).findings)


def test_a_check_has_a_finding_for_each_column() -> None:
    report = checked(replace(FAILS, column="zip"), replace(QUESTION, column="rich"), QUESTION)
    assert [each.id for each in check_findings(report)] == ["check:veto#zip", "check:veto#rich", "check:veto"]


def but(**fields: Any) -> CheckFinding:
    """A finding with other fields."""
    return replace(FAILS, **fields)


class Pretended(CheckFinding):
    """A finding that is more than one."""


def endless(context: CheckContext) -> Iterator[CheckFinding]:
    while True:
        yield FAILS


def crash(context: CheckContext) -> Any:
    raise ValueError(f"cell {context.table.frame['ill'][0]} SECRET")


def leave(context: CheckContext) -> Any:
    raise SystemExit("SECRET")


def print_and_pass(context: CheckContext) -> list[CheckFinding]:
    print("SECRET")
    return []


NO_FINDINGS: dict[str, Callable[[CheckContext], Any]] = {
    "crashes": crash,
    "leaves": leave,
    "prints": print_and_pass,
    "returns nothing": lambda context: None,
    "returns a finding of the core": lambda context: [Finding("sizes@calm#ill", "sizes", passed=True)],
    "returns a text": lambda context: ["SECRET"],
    "returns another class": lambda context: [Pretended(problem="SECRET", fails=True)],
    "passes": lambda context: [but(fails=None)],
    "fails by a number": lambda context: [but(fails=1)],
    "has no problem": lambda context: [but(problem=" ")],
    "has a problem that is no text": lambda context: [but(problem=3)],
    "is about no column": lambda context: [but(column="SECRET")],
    "is about an unhashable column": lambda context: [but(column=["SECRET"])],
    "has evidence that is no JSON": lambda context: [replace(FAILS, evidence={"SECRET": object()})],
    "has evidence of the core": lambda context: [replace(FAILS, evidence={"problem": "SECRET"})],
    "repeats itself": lambda context: [FAILS, FAILS],
    "never ends": endless,
}


@pytest.mark.parametrize("mistake", NO_FINDINGS)
def test_a_check_that_errs_is_inconclusive_and_names_the_plugin_without_any_data(
    mistake: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report = audited(check_that(NO_FINDINGS[mistake]), metrics=GENEROUS)
    (its_finding,) = check_findings(report)
    assert (its_finding.id, its_finding.passed, its_finding.plugin) == ("check:veto", None, "acme-spies 1.2")
    assert "veto (acme-spies 1.2)" in its_finding.evidence["problem"]
    assert report.verdict == "inconclusive"
    assert "SECRET" not in json.dumps(document(report, "auditor")) + "".join(capsys.readouterr())


def test_an_error_of_leafgate_that_a_check_raises_is_its_reason() -> None:
    def ask(context: CheckContext) -> Any:
        raise InconclusiveError(f"{len(context.table)} rows are too few")

    its_finding = of_check(ask)
    assert its_finding.passed is None
    assert its_finding.evidence == {"problem": AuditorOnly("4 rows are too few")}


def test_what_a_check_writes_reaches_nobody_else() -> None:
    def write(context: CheckContext) -> list[CheckFinding]:
        context.table.frame["zip"] = "1"
        context.table.weight.setflags(write=True)
        context.table.weight[:] = 100
        tree: Any = context.release.trees[0]
        tree.branches[0].node.counts["flu"] = 10**6
        context.known.public.frame["zip"] = "2"
        context.known.public.weight.setflags(write=True)
        context.known.public.weight[:] = 100
        belief = context.beliefs["calm"][0]
        assert isinstance(belief, SecretBelief)
        belief.posterior.loc[:, :] = np.nan
        return []

    without = audited(metrics=GENEROUS)
    report = audited(check_that(write), metrics=GENEROUS)
    assert document(replace(report, versions=without.versions), "auditor") == document(without, "auditor")


def test_a_check_gets_a_copy_of_the_deepest_tree() -> None:
    tree: Node = Leaf("flu", {"flu": 1, "cold": 0})
    for _ in range(MAX_DEPTH):
        tree = CategoricalSplit("zip", (Branch(("1",), tree),), Leaf("cold", {"flu": 0, "cold": 1}))
    release = Release({"use": "stump"}, mortgage().schema, (tree,))
    (twin,) = CheckContext.copy_of(release, None).release.trees
    pairs = list(zip(leaves(tree), leaves(twin), strict=True))
    assert len(pairs) == MAX_DEPTH + 1
    assert all(leaf == copied and leaf.counts is not copied.counts for leaf, copied in pairs)


def test_evidence_that_a_check_changes_afterwards_stays_as_it_was_returned() -> None:
    kept: dict[str, Any] = {"of": [1]}

    def run(context: CheckContext) -> Iterator[CheckFinding]:
        yield replace(FAILS, evidence=kept)

    its_finding = of_check(run)
    kept["of"].append(object())
    assert its_finding.evidence["of"] == AuditorOnly([1])


def public_finding(report: Report) -> dict[str, Any]:
    found: dict[str, Any] = next(f for f in document(report, "public")["findings"] if f["id"] == "check:veto")
    return found


def test_the_public_reads_only_the_clause_of_a_check_that_reads_data() -> None:
    public = public_finding(checked(FAILS))
    assert public["evidence"] == {}
    assert (public["passed"], public["alarm"]) == (False, "the release must not be published")
    auditor = document(checked(FAILS), "auditor")["findings"][-1]
    assert auditor["evidence"] == {"problem": "the release shows 3 flus", "flus": 3}


def test_the_public_reads_the_reasons_that_follow_from_the_release_alone() -> None:
    evidence = {"leaves": 2, "people": PeopleCount(3), "path": AuditorOnly("zip is 1")}
    public = public_finding(checked(replace(FAILS, evidence=evidence), of_release=True))
    assert public["evidence"] == {
        "problem": "the release shows 3 flus",
        "leaves": 2,
        "people": {"fewer_than": 10},
    }


@pytest.mark.parametrize("part", ["table", "test", "known", "beliefs"])
def test_a_check_of_the_release_alone_gets_nothing_else(part: str) -> None:
    its_finding = of_check(lambda context: [getattr(context, part)], of_release=True)
    assert its_finding.passed is None
    assert "declares `of_release`, and reads the" in its_finding.evidence["problem"]


class Apex(AuditCheck):
    """Fails every release."""

    use: Literal["apex"] = "apex"

    plain_failure = "the release must not be published"

    def run(self, context: CheckContext) -> list[CheckFinding]:
        return [FAILS]


def test_two_checks_run_by_their_names() -> None:
    report = audited(check_that(lambda context: [QUESTION]), Apex, metrics=GENEROUS)
    assert [each.id for each in check_findings(report)] == ["check:apex", "check:veto"]


def waived(answer: CheckFinding, **fields: Any) -> Report:
    """The audit of a check whose finding a waiver names."""
    check = check_that(lambda context: [answer])
    release = audited(check, metrics=GENEROUS).release
    assert release is not None
    waiver = {
        "id": "W-1",
        "finding": "check:veto",
        "release": release["sha256"],
        "owner": "ann@example.org",
        "approved_by": "bob@example.org",
        "reason": "agreed",
        "issued": date.today().isoformat(),
        "expires": date.today().isoformat(),
        **fields,
    }
    return audited(check, metrics=GENEROUS, waivers=[waiver], max_waiver_days=30)


def test_a_failed_finding_of_a_check_may_be_waived() -> None:
    report = waived(FAILS)
    assert (report.verdict, report.waived) == ("pass", 1)
    content = json.dumps(document(report, "auditor")).encode()
    assert parse_report(content, "report.json")["verdict"] == "pass"


def test_an_inconclusive_finding_of_a_check_is_never_waived() -> None:
    report = waived(QUESTION)
    assert (report.verdict, report.waivers[0]["status"]) == ("inconclusive", "not_waivable")


def test_a_waiver_of_a_check_takes_no_limit() -> None:
    report = waived(FAILS, limit={"at_least": 1})
    assert (report.verdict, report.waivers[0]["status"]) == ("fail", "not_waivable")


@pytest.mark.parametrize("audience", ["public", "auditor"])
@pytest.mark.parametrize("answers", [[FAILS], [QUESTION], [FAILS, replace(FAILS, column="zip")]])
def test_every_view_of_a_report_copes_with_a_check(answers: Sequence[CheckFinding], audience: Any) -> None:
    report = json.loads(json.dumps(document(checked(*answers), audience)))
    assert all(b"check:veto" in view(report) for view in (html, markdown, junit, sarif))
    assert any("check:veto" in line for line in finding_lines(report["findings"][-1]))


def test_sarif_has_one_rule_for_a_check_and_says_how_it_is_explained() -> None:
    report = json.loads(json.dumps(document(checked(FAILS, replace(FAILS, column="zip")), "auditor")))
    rules = json.loads(sarif(report))["runs"][0]["tool"]["driver"]["rules"]
    (rule,) = (each for each in rules if each["id"].startswith("check:"))
    assert rule["id"] == "check:veto"
    assert rule["shortDescription"]["text"] == "Raised where the release must not be published."
    assert "every audit" in rule["fullDescription"]["text"]
    assert rule["help"]["text"] == "What it checks: leafgate explain veto"


def test_a_report_names_the_distribution_of_a_check_that_found_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leafgate.engine.report_facts.version", lambda name: f"of {name}")
    assert checked().versions["acme-spies"] == "of acme-spies"
