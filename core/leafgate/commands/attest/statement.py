"""The statement about an audit: its verdict and all that led to it, as far as the public report states it.

A person is named by a role and never by a name, so that who owns a waiver or approved it, and why, is left out.
Whatever is not a pass is stated without the digests of the release and of the model's file, and without those that
would give them away: of the report, and of the release that a waiver is for.

Source: in-toto Attestation Framework, Statement v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from leafgate.disclosure.schema import Day, Digest, LedgerDocument, LimitDocument, Status
from leafgate.io.evidence import Count, Document, Number, WholeNumber
from leafgate.io.json import JsonDocument
from leafgate.kernel.findings import Verdict, state_of, verdict_of
from leafgate.kernel.origin import GivenFile
from leafgate.session.results import FILES, RELEASE, REPORT

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "leafgate:predicate/audit/0"
"""The type of the predicate, as in-toto asks for it; the last number is its major version."""


class PolicyPart(Document):
    """The policy."""

    name: str
    """Its name."""
    sha256: Digest
    """Its digest."""
    sha256_without_file: Digest | None = None
    """Its digest without the audited file, where there is one."""
    waivers_sha256: Digest | None = None
    """The digest of its waivers."""
    given: tuple[str, ...] = ()
    """The other arguments of the audit's command line."""
    given_files: dict[str, GivenFile] = Field(default_factory=dict)
    """Files about people that these put in place of the policy's: `other` files, or `given` where there was none to
    compare with."""
    plugin_files: dict[str, Digest] = Field(default_factory=dict)
    """The digests of plugin files that were tried uninstalled."""
    reproducible: bool = True
    """False where plugin files were tried."""


class DataPart(Document):
    """The table; empty where differential privacy is claimed."""

    people: Count | None = None
    """People."""
    keyed_sha256: Digest | None = None
    """Its digest under the owner's key, where the policy names one."""
    files_sha256: Digest = Field(None)  # type: ignore[assignment]
    """The digest of `statements.files.json`, where the owner has the digests of all files about people."""


class FilePart(Document):
    """A file by its digest, which may be kept back."""

    name: str = ""
    """Its name without folders."""
    sha256: Digest = Field(None)  # type: ignore[assignment]
    """Its digest."""


class ReleasePart(Document):
    """The release."""

    sha256: Digest = Field(None)  # type: ignore[assignment]
    """The digest of `release.json`."""
    file: FilePart = Field(None)  # type: ignore[assignment]
    """The file that it was read from; left out where it was built."""


class LimitPart(Document):
    """A limit or a check, and how it came out."""

    id: str
    """The finding's id in the report."""
    limit: LimitDocument
    """The limit as in the report; empty for a check."""
    passed: bool | None
    """Whether it holds; `null`: inconclusive."""
    waiver: str = ""
    """The waiver by which it may fail."""


class WaiverPart(Document):
    """A waiver of the policy, without the names of people."""

    id: str
    """Its identifier."""
    finding: str
    """The limit that may be broken."""
    release: Digest = Field(None)  # type: ignore[assignment]
    """The digest of the release that it is for."""
    file: Digest = Field(None)  # type: ignore[assignment]
    """Or of the model file that it is for."""
    issued: Day
    """The first day."""
    expires: Day
    """The last day."""
    limit: dict[str, Number] = Field(default_factory=dict)
    """The weaker limit that must still hold."""
    status: Status
    """Whether it applies, and why not."""


class CasePart(Document):
    """What people decided about the release: its `case.json`, which stands beside the statements."""

    sha256: Digest
    """Its digest."""
    decisions: WholeNumber
    """How many people must decide."""
    not_examined: tuple[str, ...]
    """The questions that nobody examined, which everybody who approves must answer."""


class AuditPredicate(Document):
    """What an audit found."""

    verdict: Verdict
    """It follows from the limits."""
    waived: WholeNumber
    """Limits that are broken and waived."""
    judged_on: Day = Field(None)  # type: ignore[assignment]
    """The day on which waivers were judged."""
    policy: PolicyPart
    """The policy."""
    data: DataPart
    """The table."""
    ledger: LedgerDocument = Field(None)  # type: ignore[assignment]
    """The ledger whose releases were taken into account."""
    release: ReleasePart | None
    """`null` where none was built."""
    report: Digest = Field(None)  # type: ignore[assignment]
    """The digest of the public report."""
    limits: tuple[LimitPart, ...]
    """Every finding of the report."""
    waivers: tuple[WaiverPart, ...]
    """The waivers of the policy."""
    case: CasePart = Field(None)  # type: ignore[assignment]
    """The case of the release."""
    versions: dict[str, str]
    """Versions of leafgate, Python, libraries and plugins."""

    @model_validator(mode="after")
    def _verdict_follows(self) -> Self:
        """The verdict follows from the limits, and every waiver that lets one through is there and applies."""
        waived = {(each.waiver, each.id) for each in self.limits if each.waiver}
        verdict = verdict_of([state_of(each.passed, waived=bool(each.waiver)) for each in self.limits])
        applied = {(each.id, each.finding) for each in self.waivers if each.status == "applied"}
        if (verdict, len(waived)) != (self.verdict, self.waived) or not waived <= applied:
            raise ValueError(f"its limits make it {verdict!r} with {len(waived & applied)} waived")
        return self

    @property
    def statement(self) -> JsonDocument:
        """The in-toto statement; where digests are kept back, its subjects are the policy and what it read alone."""
        release, given = self.release, self.data.files_sha256
        subjects = [(self.policy.name, self.policy.sha256)]
        if release is not None and release.sha256 is not None:
            subjects += [(REPORT, self.report), (RELEASE, release.sha256)]
            subjects += [] if release.file is None else [(release.file.name, release.file.sha256)]
        subjects += [] if given is None else [(FILES, given)]
        return {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": name, "digest": {"sha256": sha256}} for name, sha256 in subjects],
            "predicateType": PREDICATE_TYPE,
            "predicate": self.json_document(),
        }


def audit_predicate(
    report: Mapping[str, Any],
    report_sha256: str,
    files_sha256: str | None = None,
    *,
    with_digests: bool,
    case: CasePart | None = None,
) -> AuditPredicate:
    """What a public report states of its audit.

    Args:
        report: the document of the report, which was checked.
        report_sha256: the digest of its bytes.
        files_sha256: the digest of the owner's file with the digests of the files about people; None without one.
        with_digests: whether digests of the release, the file and the report are part of it.
        case: the case of the release; None without one.
    """
    release = report["release"]
    digest = ("sha256",) if with_digests else ()
    released = None if release is None else _some(release, *digest)
    if released is not None and release.get("file") is not None:
        released["file"] = _some(release["file"], "name", *digest)
    for_release = ("release", "file") if with_digests else ()
    waiver_keys = ("id", "finding", "issued", "expires", "limit", "status", *for_release)
    return AuditPredicate.of(
        {
            **_some(report, "verdict", "waived", "judged_on", "ledger", "versions"),
            "policy": _some(report["policy"], *PolicyPart.model_fields),
            "data": _some({**report["data"], "files_sha256": files_sha256}, *DataPart.model_fields),
            "release": released,
            **({"report": report_sha256} if with_digests else {}),
            "limits": [_limit(finding) for finding in report["findings"]],
            "waivers": [_some(waiver, *waiver_keys) for waiver in report.get("waivers", ())],
            **({} if case is None else {"case": case.json_document()}),
        }
    )


def _limit(finding: Mapping[str, Any]) -> JsonDocument:
    waiver = {"waiver": finding["waiver"]["id"]} if "waiver" in finding else {}
    return {"id": finding["id"], "passed": finding["passed"], "limit": finding["limit"], **waiver}


def _some(document: Mapping[str, Any], *keys: str) -> JsonDocument:
    """These keys of an object, as far as it has them."""
    return {key: document[key] for key in keys if document.get(key) is not None}
