"""The report document, declared once. Audits write it, stored reports are checked by it, and report.md documents it.

A key is written where it was set, in the order of the fields; keys with a default may be missing. Whoever reads a
report may be an adversary: numbers of few people are masked before they get here (`leafgate.disclosure.masking`).
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from leafgate.io.evidence import (
    UNCHANGED,
    WRITTEN_AS_GIVEN,
    Count,
    Document,
    EvidenceDocument,
    MaskedScore,
    Number,
    Share,
    WholeNumber,
)
from leafgate.kernel.findings import RemedyAction, Verdict
from leafgate.kernel.oracle import Access
from leafgate.kernel.origin import GivenFile


class BarDocument(Document):
    """The people whose scores lie between two numbers."""

    low: Number | None = Field(None, alias="from")
    """The lowest score of the bar; `null` if unbounded."""
    high: Number | None = Field(None, alias="to")
    """The highest score of the bar; `null` if unbounded."""
    people: Count
    """People with such a score."""
    past: bool | None
    """Whether these scores violate the limit; `null` where some do, and where an average is judged."""


class AttackAccuracyDocument(Document):
    """How often an attack's best guess, and the most common value, are right."""

    attack: str
    """The attack, by its name in the policy."""
    secret: str
    """The column that it infers."""
    right: Share
    """The share of people whose most probable value is the true one."""
    commonest: Share
    """The share of people who have the most common value."""


class NodeDocument(Document):
    """A node of the tree; its parent is the number of an earlier node."""

    parent: Annotated[int, Field(ge=0)] | None
    """The number of the parent in `nodes`, from 0; `null` for the root."""
    kind: Literal["test", "leaf", "folded"]
    """A test, a leaf, or a part that is folded and not drawn."""
    leaves: WholeNumber
    """Leaves below, itself included."""
    risk: Literal["past", "allowed", "within", "nobody"] | None = None
    """The worst of its leaves: `past` a limit that does not hold, past one as its `allow` permits (`allowed`),
    `within` every limit, or with `nobody` in it."""
    leaves_past: WholeNumber | None = None
    """Those that hold people who violate a limit."""
    people: WholeNumber | None = None
    """People who reach it; for auditors."""
    past: dict[str, WholeNumber] = {}  # noqa: RUF012  a pydantic field
    """For each finding, how many of them violate its limit; for auditors."""
    way: str = ""
    """The answer that leads from the parent to it."""
    words: str = ""
    """What it tests or publishes."""
    beliefs: tuple[BeliefDocument, ...] = ()
    """What attacks believe of the people of the leaf; for auditors."""
    equivalence_class: ClassDocument | None = None
    """The equivalence class of the leaf's people, where it is larger than the leaf; for auditors."""

    @model_validator(mode="after")
    def _has_people(self) -> Self:
        if self.beliefs and self.people is None:
            raise ValueError("has beliefs about people it does not count")
        if self.equivalence_class is not None and (self.people is None or self.people >= self.equivalence_class.people):
            raise ValueError("has an equivalence class that is not larger than its people are many")
        return self


class ClassDocument(Document):
    """The smallest equivalence class of a leaf's people."""

    people: WholeNumber
    """People."""
    unknown: Annotated[tuple[str, ...], Field(min_length=1)]
    """The columns that are tested above the leaf and that the adversary does not know."""


class BeliefDocument(Document):
    """An attack's most probable value for a leaf's people, and the true values."""

    attack: str
    """The attack, by its name in the policy."""
    secret: str
    """The column that it infers."""
    believed: Annotated[dict[str, Share], Field(min_length=1, max_length=1)]
    """The most probable value, and its probability."""
    true: dict[str, WholeNumber]
    """How many people of the leaf have each value."""


class TreeDocument(Document):
    """The tree to draw."""

    trees: WholeNumber
    """Trees."""
    number: WholeNumber = 1
    """Which of them is drawn, from 1: the first that tests anything."""
    coloured: bool
    """Whether the nodes have a `risk`."""
    nodes: Annotated[tuple[NodeDocument, ...], Field(min_length=1)]
    """The nodes, each after its parent."""

    @model_validator(mode="after")
    def _parents_first(self) -> Self:
        parents = [node.parent for node in self.nodes]
        if parents[0] is not None or not all(
            parent is not None and parent < i for i, parent in enumerate(parents) if i
        ):
            raise ValueError("a node does not stand after its parent")
        return self


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _check_day(text: str) -> str:
    """The text, if there is such a day."""
    date.fromisoformat(text)
    return text


Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_check_day)]
Status = Literal[
    "applied", "expired", "not_yet", "unused", "unknown", "other_release", "broken_limit", "not_waivable"
]  # fmt: skip


class LimitDocument(Document):
    """The limit of a finding; empty where the finding has none."""

    at_least: Number = Field(None)  # type: ignore[assignment]
    """The score must not be lower."""
    at_most: Number = Field(None)  # type: ignore[assignment]
    """The score must not be higher."""
    average: bool = False
    """Whether the mean over people is judged, not the worst-off person."""
    allow: Annotated[float, Field(ge=0, lt=1), UNCHANGED, WRITTEN_AS_GIVEN] = 0.0
    """The share of people that may violate the limit."""
    scored: Literal["worst", "derived", "composition"] = "derived"
    """The distribution of the secret that was judged; `derived` in reports of older versions."""

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if {"at_least", "at_most"} <= self.model_fields_set:
            raise ValueError("limits both ways")
        return self


class WhereDocument(Document):
    """A line of the policy."""

    file: str
    """The policy's file, without folders."""
    line: Annotated[int, Field(ge=1)]
    """The line, from 1."""
    folder: str = ""
    """Its folder below the root of its repository; left out where that is the root, or unknown."""


class Nowhere(Document):
    """The line is not known."""


class WaiverDocument(Document):
    """A waiver, on the finding that it applies to."""

    id: str
    """Its identifier in the policy."""
    owner: str
    """Who answers for it."""
    approved_by: str
    """Who approved it."""
    reason: str
    """Why the finding may fail."""
    issued: Day
    """The first day."""
    expires: Day
    """The last day."""


class JudgedWaiverDocument(Document):
    """A waiver of the policy, and whether it applies."""

    id: str
    """Its identifier in the policy."""
    finding: str
    """The finding that may fail."""
    release: Digest = Field(None)  # type: ignore[assignment]
    """The SHA-256 of the release that it is for."""
    file: Digest = Field(None)  # type: ignore[assignment]
    """Or of the model file that it is for."""
    owner: str
    """Who answers for it."""
    approved_by: str
    """Who approved it."""
    reason: str
    """Why the finding may fail."""
    issued: Day
    """The first day."""
    expires: Day
    """The last day."""
    limit: dict[str, Number] = {}  # noqa: RUF012  a pydantic field
    """The weaker limit that must still hold."""
    status: Status
    """Whether it applies, and why not."""
    message: str
    """The same in a sentence."""
    where: WhereDocument | Nowhere = Nowhere()
    """Its line of the policy; empty where unknown."""

    @model_validator(mode="after")
    def _one_digest(self) -> Self:
        if len({"release", "file"} & self.model_fields_set) != 1:
            raise ValueError("names one digest: of a release, or of a file")
        return self


class RemedyDocument(Document):
    """What can be done about a finding; keys that an action does not need are left out."""

    action: RemedyAction
    """`set` or `add` a key of the policy, `run` a command, `retrain` the model, `advise` people, or `none` if
    nothing was found."""
    text: Annotated[str, Field(min_length=1)]
    """What to do, in a sentence."""
    details: str = ""
    """The size of the smallest group, the leaves, and what the change costs in use; for auditors."""
    place: str = ""
    """Of `set` and `add`: the key, such as `build.k`."""
    value: JsonValue = None
    """Of `set` and `add`: its new value."""
    parameters: dict[str, Number] = {}  # noqa: RUF012  a pydantic field
    """Of `retrain`: parameters of the learner."""
    command: tuple[str, ...] = ()
    """Of `run`: the words of the command."""
    tried: bool = False
    """Whether the whole audit was run with it and passed."""

    @model_validator(mode="after")
    def _has_what_the_action_needs(self) -> Self:
        needed = {"set": self.place, "add": self.place, "run": self.command, "retrain": self.parameters}
        if not needed.get(self.action, True):
            raise ValueError(f"does not say what to {self.action}")
        return self


class FindingDocument(Document):
    """One finding."""

    id: str
    """Its name, such as `k_anonymity@linking#risk`, or `published_file`."""
    attack: str | None
    """The judged attack; `null` where there is none."""
    secret: str | None
    """The column that was inferred; `null` where there is none."""
    metric: str
    """The metric, by its name in the policy, or the check."""
    use: str = ""
    """Its `use`, where the policy gives it another name."""
    value: MaskedScore | None
    """The score; `null` where there is none or it is private."""
    step: Annotated[float, Field(gt=0), UNCHANGED, WRITTEN_AS_GIVEN] | None = None
    """The steps to which a public score was rounded; `null` where it was not."""
    limit: LimitDocument
    """The limit."""
    passed: bool | None
    """Whether the limit holds; `null`: inconclusive."""
    people: Count | None
    """People whom the score is about."""
    beyond: Count | None
    """Those who violate the limit."""
    evidence: EvidenceDocument
    """What the attack, metric or check states besides."""
    alarm: str = ""
    """What a broken limit means, for readers who know no metrics."""
    plugin: str
    """The distribution and version that computed it."""
    where: WhereDocument | Nowhere = Nowhere()
    """The line of the policy with the limit; empty where unknown."""
    waiver: WaiverDocument = Field(None)  # type: ignore[assignment]
    """The waiver by which it may fail."""
    remedies: tuple[RemedyDocument, ...] = ()
    """What to do, the best first; left out where the limit holds."""
    distribution: tuple[BarDocument, ...] = ()
    """How many people have which scores."""

    @model_validator(mode="after")
    def _waived_only_if_failed(self) -> Self:
        if self.waiver is not None and self.passed is not False:
            raise ValueError("is waived, though it did not fail")
        if self.remedies and self.passed:
            raise ValueError("has remedies, though it passes")
        if self.distribution and not self.limit.model_fields_set & {"at_least", "at_most"}:
            raise ValueError("has people's scores, and no limit")
        return self


class PolicyDocument(Document):
    """The audited policy."""

    name: str
    """Its name."""
    sha256: Digest
    """The digest of its options and of the files that it names."""
    sha256_without_file: Digest | None = None
    """The same without the audited file, where there is one: it does not change with each night's model."""
    waivers_sha256: Digest | None = None
    """The digest of its waivers."""
    file: str = ""
    """Its file, without folders."""
    folder: str = ""
    """Its folder below the root of its repository."""
    extends: tuple[str, ...] = ()
    """The files of the policies it extends."""
    given: tuple[str, ...] = ()
    """The other arguments of the command line; a path is relative, or a word such as DATA stands for it."""
    given_files: dict[str, GivenFile] = Field(default_factory=dict)
    """Files about people that these arguments put in place of those of the policy, by their keys: `other` files than
    the policy names, or `given` where there was none to compare with."""
    plugin_files: dict[str, Digest] = Field(default_factory=dict)
    """The digests of plugin files that were tried uninstalled, by name."""
    reproducible: bool = True
    """False where plugin files were tried."""


class DataDocument(Document):
    """The table; empty where differential privacy is claimed. Plain digests are for auditors only.

    `rows` and `weight` are there where a column says how many people a row stands for, or whose it is: see
    `leafgate.engine.report_facts`.
    """

    people: Count | None = None
    """People."""
    rows: Count | None = None
    """How many rows, where a column numbers the people, or says how many people each stands for and these count."""
    without_id: Count | None = None
    """How many of these rows do not say whose they are, where a column numbers the people."""
    weight: Count | None = None
    """How many people its rows are said to stand for, where each row counts as one person."""
    distinct: Count | None = None
    """Distinct rows; for auditors."""
    sha256: Digest | None = None
    """Its digest; for auditors."""
    files: dict[str, Digest] = {}  # noqa: RUF012  a pydantic field
    """The digests of further files about people, by option; for auditors."""
    keyed_sha256: Digest | None = None
    """Its digest under the policy's `digest_key`."""
    keyed_records: Digest | None = None
    """The digest of the people under that key, whatever file or engine they were read from; for auditors."""
    dropped: Count | None = None
    """People left out for missing cells."""
    dropped_rows: Count | None = None
    """The rows left out so, where a column numbers the people; for auditors."""
    without_class: Count | None = None
    """People left out because they have no class, by the column's `no_answer`."""
    without_class_rows: Count | None = None
    """The rows left out so, where a column numbers the people; for auditors."""
    commented: Count | None = None
    """Lines skipped as comments."""


class FileDocument(Document):
    """The file that the release was read from."""

    name: Annotated[str, Field(min_length=1)]
    """Its name without folders."""
    format: Annotated[str, Field(min_length=1)]
    """Its format."""
    sha256: Digest
    """The digest of its bytes."""


class ReleaseDocument(Document):
    """The release; `sha256` is the digest of leafgate's own file of it, which depends on the policy's columns too.

    Files that hold the same model in other bytes have the same.
    """

    file: FileDocument = Field(None)  # type: ignore[assignment]
    """The file that it was read from; left out where it was built."""
    sha256: Digest
    """The digest of `release.json`."""
    builder: dict[str, JsonValue]
    """The builder and its options."""
    trees: WholeNumber
    """Trees."""
    leaves: WholeNumber
    """Leaves."""
    drawn_once: bool = False
    """Whether it was drawn from the operating system's random numbers: no audit can repeat it."""
    records: Count | None = None
    """Records."""


class AttackDocument(Document):
    """An attack that was run, and the knowledge that it assumes.

    `granted` and `withheld` are what the policy grants this attack and withholds from it, in place of what it grants
    the others and withholds from them. `access` is what it is handed of the model. `candidates` is at most how many
    people of the table, and how many who are not in it, it tells apart.
    """

    name: str
    """Its name in the policy."""
    use: str = ""
    """Its `use`, where the policy gives it another name."""
    assumes: str
    """The assumed adversary, in a sentence."""
    granted: tuple[str, ...] = ()
    """What the policy grants this attack in place of the others."""
    withheld: tuple[str, ...] = ()
    """What it does not know, although adversaries usually do."""
    access: Access = "file"
    """What it gets of the model."""
    candidates: WholeNumber = 0
    """At most how many people of the table, and how many others, it must distinguish."""


class MethodDocument(Document):
    """The threat model of the audit."""

    known: tuple[str, ...]
    """Columns that the adversary knows of everybody."""
    secret: tuple[str, ...]
    """Columns that are secrets."""
    unknown: tuple[str, ...]
    """Other columns that the adversary does not know."""
    granted: tuple[str, ...]
    """What the policy grants besides."""
    other_releases: WholeNumber = 0
    """How many other releases of these people the attacks had."""
    withheld: tuple[str, ...] = ()
    """What the adversary does not know, although adversaries usually do."""
    attacks: tuple[AttackDocument, ...]
    """The attacks that were run."""
    publishes: str = ""
    """What leaves publish: `labels`, `error_rates`, `shares` or `counts`."""
    unit: str = ""
    """What they count: `rows` where a column numbers the people, else people."""
    claims: dict[str, JsonValue] = Field(default_factory=dict)
    """The guarantees that it claims."""


class LedgerDocument(Document):
    """The ledger of releases that the audit took into account, by its last line."""

    number: WholeNumber
    """The number of its last line; 0 without releases."""
    sha256: Digest
    """The SHA-256 of that line; 64 zeros if the file is empty."""


class ReportDocument(Document):
    """A report as an audience may see it."""

    format: Literal["leafgate/report/1"]
    """This format."""
    verdict: Verdict
    """It follows from the findings that are not waived."""
    audience: Literal["public", "auditor"]
    """Who may read it."""
    waived: WholeNumber
    """Waived findings."""
    judged_on: Day = Field(None)  # type: ignore[assignment]
    """The day on which waivers were judged, in UTC."""
    policy: PolicyDocument
    """The policy that was audited."""
    data: DataDocument
    """The table."""
    release: ReleaseDocument | None
    """`null` where none was built."""
    ledger: LedgerDocument = Field(None)  # type: ignore[assignment]
    """The given ledger."""
    findings: tuple[FindingDocument, ...]
    """In the order in which text reports print them."""
    method: MethodDocument | None = None
    """The threat model."""
    waivers: tuple[JudgedWaiverDocument, ...] = ()
    """All waivers of the policy."""
    guesses: tuple[AttackAccuracyDocument, ...] = ()
    """How often each attack is right."""
    tree: TreeDocument | None = None
    """The tree to draw."""
    versions: dict[str, str]
    """Versions of leafgate, Python, libraries and plugins."""
    notes: tuple[str, ...]
    """Sentences about the whole audit; those that begin with `To decide:` come first."""

    @model_validator(mode="after")
    def _verdict_follows(self) -> Self:
        """The verdict follows from the findings: a report that was edited by hand is refused."""
        waived = sum(finding.waiver is not None for finding in self.findings)
        if self.waivers and self.judged_on is None:
            raise ValueError("has waivers, and no day on which they were judged")
        unwaived = [finding.passed for finding in self.findings if finding.waiver is None]
        undecided = None in unwaived or not self.findings
        verdict = "fail" if False in unwaived else "inconclusive" if undecided else "pass"
        if (verdict, waived) != (self.verdict, self.waived):
            raise ValueError(f"its findings make it {verdict!r} with {waived} waived, which is not what it says")
        return self
