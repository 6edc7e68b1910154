"""The predicate of an audit: its verdict and all that led to it, as far as the public report states it.

A person is named by a role and never by a name, so that who owns a waiver or approved it, and why, is left out.
Whatever is not a pass is stated without the digests of the release and of the model's file, and without those that
would give them away: of the report, and of the release that a waiver is for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from leafgate.disclosure.schema import Day, Digest, LedgerDocument, Status
from leafgate.engine.reading import READING
from leafgate.io.evidence import Count, Document, MaskedScore, Number, WholeNumber
from leafgate.io.json import JsonDocument
from leafgate.kernel.findings import Verdict
from leafgate.kernel.oracle import Access
from leafgate.kernel.origin import GivenFile

PREDICATE_TYPE = "leafgate:predicate/audit/0"
"""The type of the predicate, as in-toto asks for it; the last number is its major version."""
COMPARATORS: Mapping[str, Literal["<=", ">="]] = {"at_least": ">=", "at_most": "<="}
"""The comparator of a limit, by its key in reports."""
STEPS = (
    "read the policy",
    "build or read the release",
    "take the policy's digest",
    "attack",
    "judge the limits",
    "apply the waivers",
    "write the report",
)
"""What an audit does, in this order."""
STEPS_WITHOUT_RELEASE = ("read the policy", "fail to build a release", "take the policy's digest", "write the report")
"""The same where no release could be built."""
APPROVALS = ("owner", "approver")
"""The roles of the two people without whom no waiver is valid."""


def _in_order(steps: tuple[str, ...]) -> tuple[str, ...]:
    """The steps, if an audit does these."""
    if steps not in {STEPS, STEPS_WITHOUT_RELEASE}:
        raise ValueError("are not the steps of an audit, in their order")
    return steps


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
    """The file that the release was read from."""

    name: str
    """Its name without folders."""
    format: str
    """Its format."""
    sha256: Digest = Field(None)  # type: ignore[assignment]
    """Its digest."""


class ReleasePart(Document):
    """The release."""

    sha256: Digest = Field(None)  # type: ignore[assignment]
    """The digest of `release.json`."""
    builder: str = ""
    """The builder's name."""
    trees: WholeNumber
    """Trees."""
    leaves: WholeNumber
    """Leaves."""
    file: FilePart = Field(None)  # type: ignore[assignment]
    """The file that it was read from; left out where it was built."""


class Criterion(Document):
    """One criterion that the release was judged by, and how it came out."""

    id: str
    """The finding's id in the report."""
    metric: str
    """The metric, by its name in the policy, or the check."""
    use: str = ""
    """Its `use`, where the policy gives it another name."""
    attack: str | None
    """The judged attack."""
    secret: str | None
    """The column that was inferred."""
    comparator: Literal["<=", ">="] | None = None
    """How a score is compared with the threshold; left out where there is no limit."""
    threshold: Number = Field(None)  # type: ignore[assignment]
    """The limit."""
    average: bool = False
    """Whether the mean over people is judged, not the worst-off person."""
    allow: Number = 0.0
    """The share of people that may violate the limit."""
    scored: Literal["worst", "derived", "composition"] = "derived"
    """The distribution of the secret that was judged."""
    value: MaskedScore | None
    """The public score."""
    passed: bool | None
    """Whether the limit holds; `null`: inconclusive."""
    sampleSize: Count | None  # noqa: N815  the name in in-toto's proposed predicate eval-result
    """People whom the score is about."""
    waiver: str = ""
    """The waiver by which it may fail."""
    plugin: str
    """The distribution and version that computed it."""


class AttackPart(Document):
    """An attack that was run."""

    name: str
    """Its name in the policy."""
    access: Access
    """What it got of the model."""
    candidates: WholeNumber = 0
    """At most how many people of the table, and how many others, it had to distinguish."""
    power: dict[str, Number | None] = Field(default_factory=dict)
    """For criteria that say so: the smallest planted leak that the attack detects; `null` if none."""


class ReadingPart(Document):
    """Whether a model's file was read as it predicts."""

    passed: bool | None
    """`null` where that is not known."""
    reason: str = ""
    """By what it is known, or why not."""


class WaiverPart(Document):
    """A waiver of the policy, without the names of people."""

    id: str
    """Its identifier."""
    finding: str
    """The criterion that may fail."""
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
    approvals: tuple[Literal["owner", "approver"], ...]
    """The roles of the signers."""


class ReportPart(Document):
    """The public report that the statements are made of."""

    sha256: Digest
    """The digest of its bytes."""


class AuditPredicate(Document):
    """What an audit found, and by what."""

    verdict: Verdict
    """It follows from the criteria."""
    waived: WholeNumber
    """Waived criteria."""
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
    report: ReportPart = Field(None)  # type: ignore[assignment]
    """The public report."""
    criteria: tuple[Criterion, ...]
    """Every applied criterion."""
    attacks: tuple[AttackPart, ...]
    """The attacks that were run."""
    reading: ReadingPart | None
    """Whether the file was read right; `null` where none was read."""
    waivers: tuple[WaiverPart, ...]
    """The waivers of the policy."""
    plugins: tuple[str, ...]
    """Distributions and versions that computed the criteria."""
    versions: dict[str, str]
    """Versions of leafgate, Python, libraries and plugins."""
    steps: Annotated[tuple[str, ...], AfterValidator(_in_order)]
    """What was done, in order; only a timestamp from outside proves the order."""

    @model_validator(mode="after")
    def _verdict_follows(self) -> Self:
        """The verdict follows from the criteria, and every waiver that lets one through is there and applies."""
        waived = [each for each in self.criteria if each.waiver]
        outcomes = [each.passed for each in self.criteria if not each.waiver]
        undecided = None in outcomes or not self.criteria
        verdict = "fail" if False in outcomes else "inconclusive" if undecided else "pass"
        if (verdict, len(waived)) != (self.verdict, self.waived):
            raise ValueError(f"its criteria make it {verdict!r} with {len(waived)} waived, which is not what it says")
        if any(each.passed is not False for each in waived):
            raise ValueError("a criterion is waived, though it did not fail")
        applied = {(each.id, each.finding) for each in self.waivers if each.status == "applied"}
        if not {(each.waiver, each.id) for each in waived} <= applied:
            raise ValueError("a criterion is waived by no waiver that applies")
        if self.waivers and self.judged_on is None:
            raise ValueError("has waivers, and no day on which they were judged")
        return self


def audit_predicate(
    report: Mapping[str, Any], report_sha256: str, files_sha256: str | None = None, *, with_digests: bool
) -> AuditPredicate:
    """What a public report states of its audit.

    Args:
        report: the document of the report, which was checked.
        report_sha256: the digest of its bytes.
        files_sha256: the digest of the owner's file with the digests of the files about people; None without one.
        with_digests: whether digests of the release, the file and the report are part of it.
    """
    release, method = report["release"], report.get("method") or {"attacks": ()}
    readings = [finding for finding in report["findings"] if finding["metric"] == READING]
    digests = ("sha256", "sha256_without_file", "waivers_sha256")
    names = ("name", *digests, "given", "given_files", "plugin_files", "reproducible")
    return AuditPredicate.of(
        {
            "verdict": report["verdict"],
            "waived": report["waived"],
            **_some(report, "judged_on"),
            "policy": _some(report["policy"], *names),
            "data": _some({**report["data"], "files_sha256": files_sha256}, "people", "keyed_sha256", "files_sha256"),
            **_some(report, "ledger"),
            "release": None if release is None else _release(release, with_digests=with_digests),
            **({"report": {"sha256": report_sha256}} if with_digests else {}),
            "criteria": [_criterion(finding) for finding in report["findings"]],
            "attacks": [_attack(attack, report["findings"]) for attack in method["attacks"]],
            "reading": _reading(readings[0]) if readings else None,
            "waivers": [_waiver(waiver, with_digests=with_digests) for waiver in report.get("waivers", ())],
            "plugins": sorted({finding["plugin"] for finding in report["findings"] if finding["plugin"]}),
            "versions": report["versions"],
            "steps": STEPS_WITHOUT_RELEASE if release is None else STEPS,
        }
    )


def _some(document: Mapping[str, Any], *keys: str) -> JsonDocument:
    """These keys of an object, as far as it has them."""
    return {key: document[key] for key in keys if document.get(key) is not None}


def _release(release: Mapping[str, Any], *, with_digests: bool) -> JsonDocument:
    digests = ("sha256",) if with_digests else ()
    builder, file = release["builder"].get("use"), release.get("file")
    return {
        **_some(release, "trees", "leaves", *digests),
        **({"builder": builder} if isinstance(builder, str) else {}),
        **({} if file is None else {"file": _some(file, "name", "format", *digests)}),
    }


def _criterion(finding: Mapping[str, Any]) -> JsonDocument:
    limit = finding["limit"]
    bounds = [{"comparator": COMPARATORS[key], "threshold": limit[key]} for key in COMPARATORS if key in limit]
    return {
        **{key: finding[key] for key in ("id", "metric", "attack", "secret", "value", "passed", "plugin")},
        **_some(finding, "use"),
        **(bounds[0] if bounds else {}),
        **_some(limit, "average", "allow", "scored"),
        "sampleSize": finding["people"],
        **({"waiver": finding["waiver"]["id"]} if "waiver" in finding else {}),
    }


POWER = "smallest_detectable"
"""The evidence of a criterion that says what the attack would have seen."""


def _attack(attack: Mapping[str, Any], findings: list[Mapping[str, Any]]) -> JsonDocument:
    of_attack = (each for each in findings if each["attack"] == attack["name"] and POWER in each["evidence"])
    power = {each["id"]: each["evidence"][POWER] for each in of_attack}
    power = {key: each for key, each in power.items() if each is None or type(each) in {int, float}}
    access = attack.get("access", "file")
    return {
        "name": attack["name"],
        "access": access,
        **_some(attack, "candidates"),
        **({"power": power} if power else {}),
    }


def _reading(finding: Mapping[str, Any]) -> JsonDocument:
    reasons = [finding["evidence"].get(key) for key in ("reason", "problem")]
    reason = next((each for each in reasons if isinstance(each, str) and each), None)
    return {"passed": finding["passed"], **({"reason": reason} if reason else {})}


def _waiver(waiver: Mapping[str, Any], *, with_digests: bool) -> JsonDocument:
    digests = ("release", "file") if with_digests else ()
    keys = ("id", "finding", "issued", "expires", "limit", "status", *digests)
    return {**_some(waiver, *keys), "approvals": APPROVALS}
