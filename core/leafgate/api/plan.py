"""AuditPlan: a policy compiled for the engine, which knows neither YAML nor the policy's models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafgate.kernel.knows import MAX_AUXILIARY, MAX_CANDIDATES
from leafgate.kernel.paths import DocumentPath
from leafgate.kernel.schema import bin_names

if TYPE_CHECKING:
    from leafgate.api.registry import Plugins
    from leafgate.ir.content import FileContent
    from leafgate.kernel.components import AttackModel, DataSource, TreeBuilder
    from leafgate.kernel.findings import Finding
    from leafgate.kernel.knowledge import Fact
    from leafgate.kernel.large_table import LargeTable
    from leafgate.kernel.metrics import Metric
    from leafgate.kernel.release import FileDisclosure, Publish, Release
    from leafgate.kernel.schema import Role, Schema
    from leafgate.kernel.table import Table
    from leafgate.kernel.witness import Witness


@dataclass(frozen=True, kw_only=True)
class DeclaredColumn:
    """One column as the policy declares it, whether the audit uses the column or ignores it.

    `values` and `bins` are None where the policy declares none; `counts` and `reason` are set only for a weight.
    """

    roles: tuple[Role, ...]
    values: tuple[str, ...] | None = None
    bins: tuple[float, ...] | None = None
    ordered: bool = False
    has_hierarchy: bool = False
    counts: str | None = None
    reason: str | None = None

    @property
    def domain(self) -> tuple[str, ...]:
        """Its values, or the names of its bins; empty where the policy leaves them open."""
        return self.values or (bin_names(self.bins) if self.bins else ())


@dataclass(frozen=True, kw_only=True)
class Grants:
    """What the policy grants the adversary beyond the public columns and the release.

    Attributes:
        distribution: the share of each value of the secrets.
        people: the secrets of some people, whom a file lists.
        sample: the share of the people, in [0, 1], whose secrets are known; None where none are drawn.
        label_accuracies: how often each label is right, where no number of its leaf says so.
        fact_count: how many facts about people are known.
        population: the public columns of the population that the people come from.
        candidates: at most so many people of the table, and of the control, are candidates for attacks that infer who
            is in the table, or targets for attacks that infer an input of the model.
        class_known: whether the adversary knows the class of targets.
        auxiliary: of at most so many people of the control the adversary knows all columns.
        columns: those columns that are known of targets, besides the public ones; None for all but the secret.
    """

    distribution: bool = False
    people: bool = False
    sample: float | None = None
    label_accuracies: bool = True
    fact_count: int = 0
    population: bool = False
    candidates: int = MAX_CANDIDATES
    class_known: bool = False
    auxiliary: int = MAX_AUXILIARY
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Declarations:
    """The columns of a policy by name, the columns with protected cells, and what the adversary is granted."""

    columns: Mapping[str, DeclaredColumn]
    protected_columns: frozenset[str] = frozenset()
    grants: Grants = field(default_factory=Grants)


MOST_DAYS = 365
"""How many days a waiver may last at most, whatever a policy says."""


@dataclass(frozen=True)
class SourceLine:
    """One line of a policy: the file's name, never an absolute path; the line number, from 1; the text."""

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.number}: {self.text}"


Lines = Mapping[DocumentPath, SourceLine]
"""The line of each key of a policy, by its path as errors print it (`metrics[0].at_least`)."""


WITNESS_LIBRARY = "--witness-library"


@dataclass(frozen=True)
class PolicyOrigin:
    """The file that a policy was read from, the policies it extends, and the line of each of its keys.

    `folder` is relative to the root of the policy's repository and empty outside one, so that no absolute path is
    published and nothing depends on the working directory. `elsewhere` maps each file of the policy that does not lie
    below `folder` to its own folder, likewise relative. `given` lists the other arguments of the command line; paths
    among them are likewise relative, or replaced by a word such as DATA.
    """

    file: str = ""
    lines: Lines = field(default_factory=dict)
    extends: tuple[str, ...] = ()
    folder: str = ""
    given: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_held_to_organisation(self) -> bool:
        """Must the policy complete or tighten one that an organisation gives with `--org`?"""
        return "--org" in self.given

    @property
    def asks_library(self) -> bool:
        """Shall the library that wrote a model's file open it?"""
        return WITNESS_LIBRARY in self.given

    @property
    def facts(self) -> dict[str, Any]:
        """What a report states about the origin; empty entries are left out."""
        fields = {"file": self.file, "folder": self.folder, "extends": list(self.extends), "given": list(self.given)}
        return {key: value for key, value in fields.items() if value}


IN_MEMORY = PolicyOrigin()
"""The origin of a policy that was not read from a file."""


@dataclass(frozen=True, kw_only=True)
class WaiverTerms:
    """A waiver as the engine applies it.

    Attributes:
        id: the waiver's name.
        finding: the id of the finding that it is for.
        release: the SHA-256 of the only release that it is for; None where it names a file.
        file: the SHA-256 of the only model file that it is for; None where it names a release.
        issued: the first day on which it applies, in UTC.
        expires: the last day on which it applies, in UTC.
        has_limit: whether it demands a weaker limit in place of the policy's.
        weaker: the finding's metric with that limit; None where no metric of the policy has the finding.
        document: the waiver as reports print it.
    """

    id: str
    finding: str
    release: str | None
    file: str | None
    issued: date
    expires: date
    has_limit: bool
    weaker: Metric | None
    document: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class KnowledgeGrant:
    """What one section `knows` of a policy grants.

    Attributes:
        grants: which optional knowledge.
        facts: the facts about people, checked against the table.
        section: where the policy has it, for errors: `knows`, or `attacks[1].knows`.
    """

    grants: Grants
    facts: tuple[Fact, ...] = ()
    section: str = "knows"


@dataclass(frozen=True, kw_only=True)
class AuditPlan(Declarations):
    """Everything that the engine knows of a policy.

    Attributes:
        builder: what makes the release.
        data_source: what reads the data files; None where the core does.
        publish: what will be published of it; None where the policy does not say.
        attacks: what must be tried, in the order of the policy.
        metrics: the limits, in the order of the policy.
        facts: the facts that the policy's `knows` grants, checked against the table.
        own_grants: what the attacks that have a `knows` of their own are granted in place of the policy's, by the names
            of these attacks; none whose own is equal to the policy's.
        waivers: the findings that may fail for a time.
        seed: for attacks, and for builders whose randomness repeats.
        smallest_cell: public reports print no smaller count of people.
        digest_key: the file with the key of the data's public digest; None where the policy names none.
        origin: where the policy was read from, for the report and the line of each finding.
        read_people: reads a file about people, as the policy says tables are read; the second argument is its place in
            the policy, for errors. None where the plan was made without a table.
        read_witness: reads a model's own answers for rows of the columns that it asks about; the arguments are the
            table's schema, these columns, the names of each class (none where it predicts numbers), the file, and its
            place in the policy, for errors.
        identify: returns the policy's name and digests for the report. It reads the files that belong to the policy,
            so the engine calls it after the build: a file that cannot be read is then the builder's error.
    """

    builder: TreeBuilder
    data_source: DataSource | None = None
    publish: Publish | None = None
    attacks: tuple[AttackModel, ...]
    metrics: tuple[Metric, ...]
    facts: tuple[Fact, ...] = ()
    own_grants: Mapping[str, KnowledgeGrant] = field(default_factory=dict)
    waivers: tuple[WaiverTerms, ...] = ()
    seed: int = 0
    smallest_cell: int = 10
    digest_key: Path | None = None
    origin: PolicyOrigin = IN_MEMORY
    read_people: Callable[[Path, str], Table] | None = None
    read_witness: Callable[[Schema, Collection[str], Sequence[Collection[str]], Path, str], Witness]
    identify: Callable[[], Mapping[str, str]]

    @property
    def default_grant(self) -> KnowledgeGrant:
        """What the policy's `knows` grants: to each attack without one of its own, and to checks of claims."""
        return KnowledgeGrant(grants=self.grants, facts=self.facts)


@dataclass(frozen=True, kw_only=True)
class ReleaseFileChecks:
    """What an audit must check about a release that was read from a file; the readers of files provide it.

    Attributes:
        refuse_unaudited: raises ReleaseError for content that no attack takes into account.
        findings: what the file discloses, compared with what the plan publishes.
        cells_disclosed: the cells of a few people of the table that a model's file holds; the number is the smallest
            cell that is nobody's.
    """

    refuse_unaudited: Callable[[Release, Plugins], None]
    findings: Callable[[AuditPlan, Plugins, Release], Iterable[Finding]]
    cells_disclosed: Callable[[FileContent, Table | LargeTable, int], tuple[FileDisclosure, ...]]
