"""Other releases of the same people: read as a policy names them, and compared with the tables they are of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.consistency import Consistency
from leafgate.algorithms.leaf_statements import contradicted_leaves, unsupported_reason
from leafgate.engine.frequency_tables import frequency_table
from leafgate.engine.rolls import ReadRoll, open_roll, require_fitting, require_possible
from leafgate.errors import DataError, InconclusiveError, LeafgateError, Problem, ReportError
from leafgate.io.files import read_bounded
from leafgate.io.json import parse_json
from leafgate.io.release_codec import SealedRelease, serialize
from leafgate.io.tables.reader import read_table
from leafgate.ir.model_readers import ModelReader
from leafgate.kernel.context import NamedRelease
from leafgate.kernel.knowledge import KnownReleases, OtherRelease, SecretChange
from leafgate.kernel.policy import LedgerRelease, Policy, ReleaseSpec
from leafgate.kernel.release import BuildResult, Release
from leafgate.kernel.schema import Column
from leafgate.kernel.spelling import similar_ids, spellings_of_one
from leafgate.kernel.table import Table
from leafgate.kernel.tree import columns_asked
from leafgate.models.load import load_release

OTHER_PEOPLE = "name the table that it was learned from in `data`, as it was then"
SAME_SECRETS = "name tables in which everybody has the same secret, or say in `secret_may_change` what may change"
SAY_WHOSE = "name the table that it was learned from, or write `data: same` where that is the audited one"
LEDGER_FILES = "put the files back as they were when the line was added"
ONE_SPELLING = "write keys alike in all tables, or list keys of different people under `distinct` of the column"
ONE_ROW = "give every person one row, with a key of her own"


def known_releases(
    policy: Policy, others: Sequence[ReadRelease], table: Table, artifact: SealedRelease
) -> KnownReleases | None:
    """The other releases that a policy names, and who is who among the people of all of them; None without any.

    What is true of the people must agree with everything that the releases state: otherwise nothing follows from them.

    Args:
        policy: with the releases.
        others: these releases, as they were read.
        table: the people of the release that is audited.
        artifact: this release.

    Raises:
        InconclusiveError: a release is of other people, a report is of none of the releases, somebody has another
            secret in another table, people are not told apart by their keys, or weights count no people.
    """
    if table.weighted:
        raise InconclusiveError("`joint` counts people, and the weights of the table count none", place="data.columns")
    reports = {place: _report(place, spec) for place, spec in policy.placed_releases if _is_report(place, spec)}
    share = _largest_shares(reports, [artifact, *(each.sealed for each in others)]) if reports else {}
    _require_own_people("build", artifact.release, table, share.get(artifact.sha256, 1.0))
    others = [replace(each, largest_share=share.get(each.sealed.sha256, 1.0)) for each in others] if share else others
    for other in (each for each in others if each.roll is None):
        _require_own_people(other.label, other.release, other.table, other.largest_share)
    if not policy.releases:
        return None
    if table.schema.having("key"):
        _require_same_secrets(table, artifact.release, others, policy.secret_change)
        _require_possible_rolls(table, others, policy.secret_change)
        known = replace(_by_keys(table, others), change=policy.secret_change)
    else:
        known = _by_records(table, others)
    return replace(known, table=_latest(policy), largest_share=share.get(artifact.sha256, 1.0))


@dataclass(frozen=True)
class ReadRelease:
    """A release of the policy, and the people it was learned from.

    Attributes:
        label: its place in the policy, or its line in the ledger.
        name: of its file.
        result: the release as it was read.
        table: its people; without rows where their table is gone, and `roll` has their leaves.
        identity: what releases of one table have in common; None where it is the audited table.
        time: the number of the table, from the oldest to the audited one.
        largest_share: no class has a larger share of the people of a leaf.
        roll: the leaves of its people.
    """

    label: str
    name: str
    result: BuildResult
    table: Table
    identity: object
    time: int = 0
    largest_share: float = 1.0
    roll: ReadRoll | None = None

    @property
    def release(self) -> Release:
        """The release as its file has it."""
        return self.result.release

    @property
    def is_own(self) -> bool:
        """Are its people those of the audited table?"""
        return self.identity is None

    @property
    def sealed(self) -> SealedRelease:
        """The release with its bytes, as an audit of it seals it."""
        return serialize(self.result)

    def known(self, record: NDArray[np.int64] | None) -> OtherRelease:
        """What the adversary has; `record` is the public record of each person."""
        public = self.table.public[0]
        roll = None if self.roll is None else self.roll.leaf_roll()[0]
        return OtherRelease(self.described, self.release, public, record, self.time, self.largest_share, roll)

    @property
    def described(self) -> str:
        """What reports call it: its place in the policy, and the name of its file."""
        return f"{self.label} ({self.name})"

    @property
    def for_metrics(self) -> NamedRelease:
        """The same as metrics read it: with a copy of the table; InconclusiveError where that is gone."""
        if self.roll is not None:
            problem = "the table of its people is gone, and a limit on this needs the table, not a roll"
            raise InconclusiveError(problem, place=self.label, remedy=LEDGER_FILES)
        return NamedRelease(self.described, self.release, self.table.defensive_copy())


def read_releases(policy: Policy, table: Table, readers: Sequence[ModelReader]) -> list[ReadRelease]:
    """The other releases that a policy names, but for reports of them, each with the people it was learned from.

    Args:
        policy: with the releases.
        table: the people of the release that is audited.
        readers: those of model files.

    Raises:
        InconclusiveError: a release or its table cannot be read.
    """
    placed = policy.placed_releases
    read = [_read(policy, place, spec, table, readers) for place, spec in placed if not _is_report(place, spec)]
    times: dict[object, int] = {None: _latest(policy)}
    return [replace(each, time=times.setdefault(each.identity, i)) for i, each in enumerate(read)]


def _latest(policy: Policy) -> int:
    """The number of the audited table: larger than that of any other release's."""
    return len(policy.releases)


def _read(policy: Policy, place: str, spec: ReleaseSpec, table: Table, readers: Sequence[ModelReader]) -> ReadRelease:
    """Read a release and its table, of which a copy is the same table; InconclusiveError where that is not possible."""
    encoding = getattr(policy.build, "encoding", None) or None
    people, identity, roll = table, spec.table_identity, None
    if spec.data is None and not isinstance(spec, LedgerRelease):
        raise InconclusiveError("it does not say which people it was learned from", place=place, remedy=SAY_WHOSE)
    try:
        if isinstance(spec, LedgerRelease) and spec.roll is not None and spec.roll_key is not None:
            roll, people = open_roll(spec.roll, spec.roll_key, place), table.without_rows
        if spec.table is not None:
            people = _people(policy, table, spec.table, f"{place}.data")
            identity = people.sha256 or identity
            if people.sha256 and people.sha256 == table.sha256:
                people, identity = table, None
        if spec.counts is not None:
            result = BuildResult(frequency_table(spec.path.read_bytes(), spec.counts, table.schema))
        else:
            n = people.total_weight if roll is None else roll.people
            result = load_release(spec.path, table.schema, encoding, n, readers)
        if roll is not None:
            require_fitting(roll, result.release, table.schema, place)
    except OSError as error:
        raise InconclusiveError(f"cannot be read: {error.strerror}", place=place) from None
    except LeafgateError as error:
        raise InconclusiveError.listing([Problem(place, each.message, each.hint) for each in error.problems]) from None
    return ReadRelease(place, spec.path.name, result, people, identity, roll=roll)


NUMBER = re.compile(r"\b[0-9][0-9,]*\b")
LOOK_AT_IT = "audit with it as `data.path` to see what is wrong, and where"


def _people(policy: Policy, table: Table, path: Path, place: str) -> Table:
    """The people of another release; DataError without numbers of rows, which public reports would state."""
    try:
        return read_table(policy.data, table.schema, path, place)
    except DataError as error:
        masked = [(each, NUMBER.sub("#", each.message)) for each in error.problems]
        problems = [
            Problem(each.location, message, each.hint if message == each.message else LOOK_AT_IT)
            for each, message in masked
        ]
        raise DataError.listing(problems) from None


REPORT = b'"leafgate/report/1"'
"""The format of a report, which stands at its beginning."""

MAX_REPORT_BYTES = 64 * 2**20
"""A report of more bytes is refused."""

HEAD_BYTES = 2_000
"""So many bytes of a file show whether it is a report."""


def _is_report(place: str, spec: ReleaseSpec) -> bool:
    """Is a file a report of leafgate? InconclusiveError where it, or its table, is not what a ledger states it is."""
    if isinstance(spec, LedgerRelease):
        if spec.problem:
            raise InconclusiveError(spec.problem, place=place, remedy=spec.remedy or LEDGER_FILES)
        return False
    try:
        with spec.path.open("rb") as file:
            return REPORT in file.read(HEAD_BYTES)
    except OSError as error:
        raise InconclusiveError(f"cannot be read: {error.strerror}", place=place) from None


def refuse_reports(policy: Policy) -> None:
    """Raise InconclusiveError where one of the other releases that a policy names is a report, which claims nothing."""
    for place, spec in policy.placed_releases:
        if _is_report(place, spec):
            raise InconclusiveError("is a report, whose numbers have no noise", place=place)


def _report(place: str, spec: ReleaseSpec) -> tuple[str, list[Mapping[str, Any]]]:
    """The digest of the release that a report is of, and its findings; InconclusiveError where it is no report."""
    if spec.data is not None or spec.counts is not None:
        problem, remedy = "is a report, whose release has its people", "leave out `data` and `counts`"
        raise InconclusiveError(problem, place=place, remedy=remedy)
    try:
        content = read_bounded(spec.path, MAX_REPORT_BYTES, ReportError, place)
        report: Any = parse_json(content, ReportError, place)
        return str(report["release"].get("sha256")), [dict(finding) for finding in report["findings"]]
    except (LeafgateError, AttributeError, KeyError, TypeError, ValueError):
        raise InconclusiveError("is no report", place=place, remedy="name the report.json of an audit") from None


def _largest_shares(
    reports: Mapping[str, tuple[str, list[Mapping[str, Any]]]], artifacts: Sequence[SealedRelease]
) -> dict[str, float]:
    """For each release, by its digest, the share that no class of a leaf is above, as a report of it states.

    A report states it where `confidence` of the attack `linking`, judged by the true shares of whole leaves
    (`scored: worst`), passed for everybody.
    """
    found, of_digest = dict[str, float](), {each.sha256: each.release for each in artifacts}
    for place, (digest, findings) in reports.items():
        release = of_digest.get(digest)
        if release is None:
            raise InconclusiveError(
                "is of none of the releases, or does not say of which",
                place=place,
                remedy="name its release, too, and a report with the digest of its release",
            )
        asked = frozenset[str]().union(*map(columns_asked, release.trees))
        is_of_leaves = len(release.trees) == 1 and all(release.schema[name].public for name in asked)
        for finding in findings if is_of_leaves else ():
            keys = ("metric", "attack", "secret", "passed")
            stated = ["confidence", "linking", release.target, True] == [finding.get(key) for key in keys]
            limit = finding.get("limit") if stated else None
            if isinstance(limit, Mapping) and limit.get("scored") == "worst" and not limit.get("average"):
                most = limit.get("at_most")
                if not limit.get("allow") and isinstance(most, float) and 0 < most < found.get(digest, 1.0):
                    found[digest] = most
    return found


def _require_own_people(place: str, release: Release, table: Table, largest_share: float) -> None:
    """Raise InconclusiveError where a release states something that is not true of the people it was learned from."""
    mismatch = Consistency(table, release).release_mismatch
    if not mismatch and not unsupported_reason(release) and contradicted_leaves(release, table, largest_share):
        mismatch = "some leaves have labels or shares that are not those of their people"
    if mismatch:
        raise InconclusiveError(f"is not of its table: {mismatch}", place=place, remedy=OTHER_PEOPLE)


def _by_records(table: Table, others: Sequence[ReadRelease]) -> KnownReleases:
    """People without keys: those of the same table have the same records, and nobody knows who the others are."""
    public = table.public[0]
    position = np.arange(len(public))
    known = [
        OtherRelease(each.described, each.release, each.table.public[0], None, each.time, each.largest_share)
        for each in others
    ]
    same = [
        replace(each, public=public, record=position) if read.is_own else each
        for each, read in zip(known, others, strict=True)
    ]
    return KnownReleases(tuple(same), position, public.weight)


def _require_possible_rolls(table: Table, others: Sequence[ReadRelease], change: SecretChange) -> None:
    """Raise InconclusiveError where a roll contradicts its release, or the table as far as that can be seen."""
    rolls = [(each, each.roll) for each in others if each.roll is not None]
    keys = _keys(table, "data.path") if rolls else []
    for each, roll in rolls:
        require_possible(roll, each.release, table, keys, change, each.label)
    if rolls and any((people.persons != 1).any() for people in (table, *(each.table for each in others))):
        raise InconclusiveError("a row stands for several people, and a roll has one of each", place="data.columns")


def _by_keys(table: Table, others: Sequence[ReadRelease]) -> KnownReleases:
    """People of all tables by their keys: those of the table first, each part in the order of the keys' texts.

    People of a roll have the keys of those of the tables with the same keyed ids; of others only the id is known.
    """
    own = _keys(table, "data.path")
    keys = sorted(own, key=_order)
    listed = set(keys)
    for each in others:
        theirs = set() if each.is_own or each.roll is not None else {*_keys(each.table, f"{each.label}.data")}
        if theirs and not theirs & listed:
            problem = "none of its keys is one of the audited table, so that nobody knows who is who"
            raise InconclusiveError(problem, place=f"{each.label}.data", remedy="write keys alike in all tables")
    of_others = [own if each.is_own else _keys(each.table, f"{each.label}.data") for each in others]
    named = [*dict.fromkeys(key for each in (own, *of_others) for key in each)]
    _require_one_spelling(named, [own, *of_others], table.schema.having("key")[0])
    of_others = [
        known if each.roll is None else each.roll.persons(named) for each, known in zip(others, of_others, strict=True)
    ]
    keys += sorted({key for each in of_others for key in each if key not in listed}, key=_order)
    index = pd.Index(pd.Series(keys, dtype=object))
    records = [_records(table.public[1], own, index)]
    for each, own_keys in zip(others, of_others, strict=True):
        rows = each.table.public[1] if each.roll is None else each.roll.leaf_roll()[1]
        records.append(_records(rows, own_keys, index))
    weight = np.ones(len(index), dtype=np.int64)
    tables = [(each.table, own_keys) for each, own_keys in zip(others, of_others, strict=True) if each.roll is None]
    for people, own_keys in ((table, own), *tables):
        weight[index.get_indexer(pd.Index(own_keys, dtype=object))] = people.persons
    known = [each.known(record) for each, record in zip(others, records[1:], strict=True)]
    return KnownReleases(tuple(known), records[0], weight, index.to_numpy(dtype=object))


def _require_one_spelling(named: Sequence[Any], keys: Sequence[Sequence[Any]], column: Column) -> None:
    """Raise InconclusiveError where one table has a key and another the same in a similar form, as 0017 and 17 are."""
    alike = spellings_of_one(map(str, named), similar_ids(column.distinct))
    tables = [{*map(str, each)} for each in keys] if alike else []
    for spellings in alike:
        parts = [each & {*spellings} for each in tables]
        if any(one - other and other - one for one, other in combinations(parts, 2)):
            problem = "some keys of two tables are alike but for their spelling, so that nobody knows who is who"
            raise InconclusiveError(problem, place="data.columns", remedy=ONE_SPELLING)


def _order(key: Any) -> tuple[str, str]:
    return type(key).__name__, str(key)


def _keys(people: Table, place: str) -> list[Any]:
    """The key of each row of a table; InconclusiveError where two rows have the same, or one has none."""
    cells = people.frame[people.schema.having("key")[0].name].astype(object)
    if cells.isna().any() or cells.duplicated().any():
        raise InconclusiveError("two rows have the same key, or one has none", place=place, remedy=ONE_ROW)
    return [*cells]


def _records(rows: NDArray[np.int64], keys: list[Any], index: pd.Index[Any]) -> NDArray[np.int64]:
    """The position of each person's record, of which `rows` has those of `keys`; -1 for those who have none."""
    record = np.full(len(index), -1, dtype=np.int64)
    record[index.get_indexer(pd.Index(keys, dtype=object))] = rows
    return record


def _require_same_secrets(table: Table, release: Release, others: Sequence[ReadRelease], change: SecretChange) -> None:
    """Raise InconclusiveError where cells that nobody knows differ between tables, other than secrets may change."""
    asked = [columns_asked(tree) for each in (release, *(o.release for o in others)) for tree in each.fitted_trees]
    names = {column.name for column in table.schema.columns if not column.public and "key" not in column.roles}
    secrets = sorted(_secret_names(table))
    compared = sorted(names & {table.schema.target.name, *frozenset[str]().union(*asked)} - {*secrets})
    key = table.schema.having("key")[0].name
    tables = {each.time: (each.label, each.table) for each in others if not each.is_own and each.roll is None}
    seen: dict[Any, tuple[Any, ...]] = {}
    changed: dict[Any, int] = {}
    for label, people in (*(tables[time] for time in sorted(tables)), ("data.path", table)):
        same, own = ([_cells(people, name) for name in listed] for listed in (compared, secrets))
        for row, person in enumerate(people.frame[key].astype(object)):
            cells = (*(column[row] for column in same), int(people.persons[row]))
            secret = tuple(column[row] for column in own)
            older_cells, older = seen.get(person, (cells, secret))
            if older_cells != cells or not all(map(change.allows, map(str, older), map(str, secret))):
                problem = "somebody has another secret in it, or another cell that nobody knows"
                raise InconclusiveError(problem, place=label, remedy=SAME_SECRETS)
            if older != secret:
                changed[person] = int(people.persons[row])
            seen[person] = cells, secret
    if change.at_most is not None and sum(changed.values()) > change.at_most:
        raise InconclusiveError("more people have another secret in a later table", place="secret_may_change")


def _secret_names(table: Table) -> Iterator[str]:
    return (column.name for column in table.schema.secrets)


def _cells(people: Table, name: str) -> list[Any]:
    """A column's cells, None for a missing one, so that they can be compared."""
    return [None if pd.isna(cell) else cell for cell in people.frame[name].astype(object)]
