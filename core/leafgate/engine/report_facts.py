"""What a report states besides findings: its data, the threat model, the release, versions and notes."""

from __future__ import annotations

import hashlib
import hmac
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from leafgate.algorithms.routing import count_leaves
from leafgate.api.registry import Plugins
from leafgate.engine.audience import beside_claim
from leafgate.engine.knowledge import secret_inputs
from leafgate.errors import DataError, PolicyError
from leafgate.io.files import read_key
from leafgate.io.release_codec import SealedRelease
from leafgate.io.tables.digest import digest_records
from leafgate.kernel.components import AttackModel, Component
from leafgate.kernel.evidence import AuditorOnly, PeopleCount
from leafgate.kernel.findings import PERSONS, TO_DECIDE, Finding, Report
from leafgate.kernel.knowledge import Knows
from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.options import digest
from leafgate.kernel.policy import LedgerRelease, Policy
from leafgate.kernel.release import Release, covers_data
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import Table
from leafgate.kernel.tables import Tables


@dataclass(frozen=True)
class DataFiles:
    """The digests of the table's file and, by what they are for, of all others about people; the key for the public.

    Whoever can guess a file's content, say all of it but one person's secret, can confirm the guess by its plain
    digest. So that one is for auditors; without the key, the keyed one confirms nothing. `records` is the keyed digest
    of the people themselves, in whatever order and wherever they were read from.
    """

    table: str
    others: Mapping[str, str] = field(default_factory=dict)
    key: bytes | None = field(default=None, repr=False)
    records: str = ""

    @property
    def same_test(self) -> bool:
        """Is the test table the table itself?"""
        return self.others.get("test") == self.table != ""

    def facts(self, *, differentially_private: bool = False) -> dict[str, Any]:
        """What a report states of them; where differential privacy is claimed, the keyed digest alone."""
        if not self.table and not self.records:
            return {}
        keyed: dict[str, Any] = {}
        if self.key is not None:
            keyed = {"keyed_sha256": self.keyed(self.key), "keyed_records": AuditorOnly(self.records)}
        if keyed and differentially_private:
            return keyed
        others = {"files": AuditorOnly(dict(self.others))} if self.others else {}
        plain = {"sha256": AuditorOnly(self.table)} if self.table else {}
        return {**plain, **others, **keyed}

    def keyed(self, key: bytes) -> str:
        """HMAC-SHA256 of the table's digest in hexadecimal and, a line each, the names and digests of the others.

        Where no bytes were read, the digest of the records stands for the table's.
        """
        lines = [self.table or self.records, *(f"{name} {result}" for name, result in sorted(self.others.items()))]
        return hmac.new(key, "\n".join(lines).encode(), hashlib.sha256).hexdigest()


def files_of(policy: Policy, tables: Tables) -> DataFiles:
    """The files that an audit reads people from.

    Raises PolicyError for a key that is none, and DataError for a file of an option that cannot be read.
    """
    file = policy.report.digest_key
    key = None if file is None else read_key(file, PolicyError, "report.digest_key")
    table = tables.people
    fields = {name: other.sha256 for name, other in tables.others.items() if other is not None and other.sha256}
    fields |= {name: digest(path, DataError, f"build.{name}") for name, path in policy.build.people_files.items()}
    source = {} if policy.data.source is None else policy.data.source.people_files
    fields |= {f"data.source.{name}": digest(path, DataError, f"data.source.{name}") for name, path in source.items()}
    for place, other in policy.placed_releases:
        if other.table is not None and other.table.is_file():  # one that is gone is inconclusive
            fields[f"{place}.data"] = digest(other.table, DataError, f"{place}.data")
        if isinstance(other, LedgerRelease) and other.roll is not None:
            fields[f"{place}.roll"] = digest(other.roll, DataError, f"{place}.roll")
    for kind, components in (("attacks", policy.attacks), ("metrics", policy.metrics)):
        for component in components:
            places = {f"{kind}.{component.called}.{name}": path for name, path in component.people_files.items()}
            fields |= {place: digest(path, DataError, place) for place, path in places.items()}
    without_bytes = policy.data.source is not None and not table.sha256
    records = digest_records(table, key or b"") if key is not None or without_bytes else ""
    return DataFiles(table.sha256, fields, key, records)


def data_facts(table: Table | LargeTable, files: DataFiles, *, differentially_private: bool) -> dict[str, Any]:
    """What a report states of the data. The number of distinct records would disclose whose secrets are equal.

    Where a column says how many people a row stands for: the `rows` that people stand in if they are counted as people,
    else the `weight`, that is the people whom the rows are said to stand for. Where a column numbers the people: their
    `rows`, those without an id, and beside people none of whose rows stay all rows that were left out.
    """
    counted = {"dropped": table.dropped, "without_class": table.without_class, "commented": table.commented}
    left_out: dict[str, object] = {key: PeopleCount(count) for key, count in counted.items() if count}
    result = files.facts(differentially_private=differentially_private)
    distinct = {} if table.distinct is None else {"distinct": AuditorOnly(PeopleCount(table.distinct))}
    for key, (rows, people) in table.left_out_rows.items():
        left_out |= {key: PeopleCount(people), f"{key}_rows": AuditorOnly(PeopleCount(rows))} if rows else {}
    left_out |= {"without_id": PeopleCount(table.without_id)} if table.without_id else {}
    counts = {"people": table.people_among(), **table.counts_beside_people()}
    return {**{key: PeopleCount(count) for key, count in counts.items()}, **distinct, **result, **left_out}


def describe_threat_model(policy: Policy, release: Release | None, schema: Schema) -> dict[str, Any]:
    """The columns by what the adversary knows of them, what else it is granted, its attacks, and what is published.

    An attack with a `knows` of its own that differs from the policy's has what that grants and withholds, in place of
    the policy's. One that is not handed the release has its `access`. One that infers who is in the table, or an input
    of the model, has `candidates`: at most of how many people of the table, and of how many who are not in it, it does
    so.

    Nothing in it comes from the data: it follows from the policy, its plugins and what the release claims.
    """
    known = [column.name for column in schema.public]
    secrets = [column.name for column in schema.secrets]
    document: dict[str, Any] = {
        "known": known,
        "secret": secrets,
        "unknown": [column.name for column in schema.columns if _unknown(column.roles, column.name, known, secrets)],
        "granted": [*policy.knows.granted, *_other_sources(policy)],
        **({"other_releases": len(policy.releases)} if policy.releases else {}),
        **_withheld(policy.knows),
        "attacks": [_describe_attack(policy, attack) for attack in policy.attacks],
    }
    if release is not None:
        document |= {
            "publishes": release.publish.leaves if release.trees else "records",
            "claims": dict(release.guarantee),
            **({"unit": "rows"} if policy.data.persons else {}),
        }
    return document


def _describe_attack(policy: Policy, attack: AttackModel) -> dict[str, Any]:
    knows = policy.knows_of(attack)
    granted: dict[str, Any] = {}
    if policy.has_own_knowledge(attack):
        regained = [words for words in policy.knows.withheld if words not in knows.withheld]
        granted = {"granted": [*knows.granted, *_other_sources(policy), *regained], **_withheld(knows)}
    handed = {} if attack.chosen_access == "file" else {"access": attack.chosen_access}
    guessed = {} if {"candidates", "targets"}.isdisjoint(attack.needs) else {"candidates": knows.most_candidates}
    use = {} if attack.use == attack.called else {"use": attack.use}
    return {"name": attack.called, **use, "assumes": attack.threat_model, **granted, **handed, **guessed}


def _unknown(roles: frozenset[str], name: str, known: list[str], secrets: list[str]) -> bool:
    """Is it a column that the release may ask about, the adversary does not know, and nobody calls a secret?"""
    return name not in known and name not in secrets and "private" in roles


def _withheld(knows: Knows) -> dict[str, list[str]]:
    """What the adversary does not know although adversaries do where a policy says nothing; no entry without any."""
    return {"withheld": knows.withheld} if knows.withheld else {}


def _other_sources(policy: Policy) -> Iterator[str]:
    """What the policy grants besides its `knows`."""
    if policy.data.population is not None:
        yield "the public columns of the population that the people come from"
    if policy.releases:
        others = "release" if len(policy.releases) == 1 else "releases"
        yield f"{len(policy.releases)} other {others} of these people, and who was in the table of each"


OPEN_DOMAIN = "was taken from the data, and the release discloses it. Declare what could occur."
EXTREME_BOUND = "occurs, and the release discloses it: so somebody has it. Declare rounder ones, for what could occur."
WEIGHTED_ROWS = (
    "weighs rows, and weights are not people: wherever limits count people, each row is one person. A release may show "
    "weights."
)
PERSONS_COUNTED = (
    "says whose each row is: wherever limits count people, a person counts once in each group, however many of her "
    "rows are in it."
)
ROWS_OF_NOBODY = "Some rows do not say whose they are. They add no person to any group."
NOISE_DRAWN = (
    "Noise is drawn anew at every run. Share one release of these people only: the mean of several has less noise."
)
REPEATED_IDENTIFIER = (
    "stand in several rows. Every row is counted as a person: if these rows are one person's, groups have fewer people "
    "than the report says. Audit a table with one row for each person."
)
SAME_TEST_TABLE = (
    "The test table is the table: accuracy and the like are of the people that the release was learned from. "
    "Name other people."
)
NOT_INFERRED = (
    "is a secret input of the model, and no attack of the policy infers it: limits on inputs say nothing about it. "
    "Leave `secret` out of an attack, or add an attack that names it."
)
CORE_DISTRIBUTIONS = ("leafgate", "pandas", "numpy", "pydantic", "pluggy")


def report_of(
    policy: Policy,
    identity: Mapping[str, str],
    plugins: Plugins,
    table: Table | LargeTable,
    files: DataFiles,
    artifact: SealedRelease | None,
    findings: Sequence[Finding],
    waivers: Mapping[str, Any],
) -> Report:
    """The report of an audit, without its figures.

    Args:
        policy: what was audited by.
        identity: the policy's name and digests.
        plugins: the plugins of the policy.
        table: the people.
        files: the digests of the files about people.
        artifact: the release; None where none could be built.
        findings: all findings.
        waivers: what the report states of waivers.
    """
    private = covers_data(policy.build.guarantees if artifact is None else artifact.release.guarantee)
    doubted = {finding.id for finding in findings if finding.metric == PERSONS}
    repeated = [
        f"{TO_DECIDE}Some values of the identifier {name!r} {REPEATED_IDENTIFIER}"
        for name in table.repeated_identifiers
        if name not in table.suspected
    ]
    if table.suspected:
        from leafgate.engine.person_columns import persons_note

        counted = [name for name, rows in table.suspected.items() if rows is not None]
        settled = [name for name in counted if f"{PERSONS}#{name}" not in doubted]
        repeated += [f"{TO_DECIDE}{persons_note(name, policy.data)}" for name in settled]
    open_domains = [column.name for column in table.schema.columns if not column.declared and "key" not in column.roles]
    return Report(
        policy={**identity, **policy.origin.facts, **_plugin_files(plugins)},
        data=data_facts(table, files, differentially_private=private),
        release=None if artifact is None else _release_facts(policy, artifact),
        findings=beside_claim(findings) if private else findings,
        versions=versions_of(policy, plugins),
        smallest_cell=policy.report.smallest_cell,
        ledger=policy.origin.ledger,
        differentially_private=private,
        method=describe_threat_model(policy, None if artifact is None else artifact.release, table.schema),
        notes=[
            *_weights_declared(policy),
            *_persons_declared(policy, table),
            *_drawn_once(artifact),
            *_training_declared(artifact),
            *_inputs_not_inferred(policy, artifact, table.schema, findings),
            *([f"{TO_DECIDE}{SAME_TEST_TABLE}"] if files.same_test else []),
            *(f"{name} {TRIED}" for name in plugins.tried),
            *([] if private else repeated),
            *(f"{TO_DECIDE}The domain of {name!r} {OPEN_DOMAIN}" for name in open_domains),
        ],
        auditor_notes=[*_extremes_declared(table), *(repeated if private else [])],
        **waivers,
    )


def _extremes_declared(table: Table | LargeTable) -> Iterator[str]:
    """A note for each column whose declared bounds are numbers that somebody has.

    The bounds alone do not disclose that somebody has them: a number that could occur may not occur. The note does, so
    it is for auditors. 0 is left out, where counts and amounts begin, and so is 1 of the bounds 0 and 1, those of truth
    values and shares.
    """
    for column in table.schema.columns:
        if not column.declared or column.values is not None or column.bounds is None or "key" in column.roles:
            continue
        lowest, highest = table.extremes(column.name)
        ends = {"smallest": (column.bounds[0], lowest), "largest": (column.bounds[1], highest)}
        nobodys = {0, 1} if column.bounds == (0, 1) else {0}
        reached = " and the ".join(name for name, (bound, n) in ends.items() if bound == n and n not in nobodys)
        if reached:
            what = "bins" if column.bins else "bounds"
            yield f"{TO_DECIDE}The declared {what} of {column.name!r} end at the {reached} number that {EXTREME_BOUND}"


def _weights_declared(policy: Policy) -> Iterator[str]:
    """What a column of weights means for limits on people: the first note of a report."""
    for name, column in policy.data.columns.items():
        if "weight" in column.role and column.counts == "people":
            yield f"Each row is as many people as {name!r} says, all of them in the table: {column.reason}"
        elif "weight" in column.role:
            yield f"{name!r} {WEIGHTED_ROWS}"


def _persons_declared(policy: Policy, table: Table | LargeTable) -> Iterator[str]:
    """What columns that number the people mean for limits, and for rows that do not say whose they are."""
    if policy.data.persons:
        yield f"{', '.join(map(repr, policy.data.persons))} {PERSONS_COUNTED}"
    if table.without_id:
        yield ROWS_OF_NOBODY


def _inputs_not_inferred(
    policy: Policy, artifact: SealedRelease | None, schema: Schema, findings: Sequence[Finding]
) -> Iterator[str]:
    """A note for each secret input that no attack infers, where attacks infer others."""
    asking = {attack.called for attack in policy.attacks if "targets" in attack.needs}
    inferred = {finding.secret for finding in findings if finding.attack in asking} - {None}
    if artifact is not None and inferred:
        inputs = secret_inputs(artifact.release, schema)
        yield from (f"{TO_DECIDE}{name!r} {NOT_INFERRED}" for name in inputs if name not in inferred)


def _drawn_once(artifact: SealedRelease | None) -> list[str]:
    return [NOISE_DRAWN] if artifact is not None and artifact.release.noise else []


def _training_declared(artifact: SealedRelease | None) -> list[str]:
    """What the policy declares about a model's training, where that changes how the file's numbers are compared."""
    numbers = None if artifact is None else artifact.provenance.node_numbers
    if numbers is None:
        return []
    part = f"that each tree was grown on a random {numbers.subsample:g} of the table's people"
    weights = "that people had weights, so that only the file's numbers of people are compared with the table"
    clauses = ([part] if numbers.subsample != 1 else []) + ([weights] if numbers.weighted else [])
    text = f"The policy says of the model's training, and nobody can check, {' and '.join(clauses)}."
    return [text] if clauses else []


def _release_facts(policy: Policy, artifact: SealedRelease) -> dict[str, Any]:
    release = artifact.release
    file = artifact.provenance.audited_file
    document: dict[str, Any] = {} if file is None else {"file": file.described()}
    document |= {"sha256": artifact.sha256, "builder": dict(release.builder)}
    start = artifact.starting_trees  # each is one leaf
    document |= {"trees": len(release.trees) - start, "leaves": count_leaves(release) - start}
    document |= {"drawn_once": True} if policy.build.one_shot else {}
    return document | ({} if release.records is None else {"records": PeopleCount(len(release.records.rows))})


TRIED = "is a plugin that is not installed: nobody else can repeat this audit."


def _plugin_files(plugins: Plugins) -> dict[str, Any]:
    """The files of plugins that are not installed, so that nobody else can repeat the audit; empty without any."""
    files = {name: sha256 for name, sha256 in plugins.tried.items() if sha256}
    return ({"plugin_files": files} if files else {}) | ({"reproducible": False} if plugins.tried else {})


def versions_of(policy: Policy, plugins: Plugins) -> dict[str, str]:
    """Of Python, leafgate, and every distribution that the policy's plugins come from."""
    components: list[Component] = [policy.build, *policy.attacks, *policy.metrics]
    components += [] if policy.data.source is None else [policy.data.source]
    names = dict.fromkeys([*CORE_DISTRIBUTIONS, *(plugins.origin(component).split(" ")[0] for component in components)])
    versions = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in names:
        try:
            versions[name] = _installed_version(name)
        except PackageNotFoundError:
            continue
    return versions


@cache
def _installed_version(distribution: str) -> str:
    """The version of a distribution; its metadata is parsed once for all reports of the process."""
    return version(distribution)
