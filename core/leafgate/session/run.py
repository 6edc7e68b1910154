"""A run: the policy and the tables that it names, opened; the release that it builds, and the audit of it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from leafgate.api.data_engines import DataEngine
from leafgate.api.registry import Plugins, use_of
from leafgate.errors import DataError, InconclusiveError, InvalidError, LeafgateError, PolicyError
from leafgate.io.json import canonical
from leafgate.ir.model_readers import ModelReader
from leafgate.kernel.components import AttackModel, DataSource
from leafgate.kernel.findings import Report
from leafgate.kernel.knowledge import AdversaryKnowledge
from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.policy import Policy
from leafgate.kernel.table import Table
from leafgate.kernel.tables import Tables
from leafgate.policy.knowledge import check_facts
from leafgate.policy.load import each_org, load_policy
from leafgate.policy.protection import protected
from leafgate.policy.sources import shown_file
from leafgate.progress import progress_step

if TYPE_CHECKING:
    from leafgate.engine.report import Auditing
    from leafgate.io.release_codec import SealedRelease
    from leafgate.io.tables.frames import FrameTable
    from leafgate.session.audit import Audit
    from leafgate.session.ledger_releases import GivenLedger


LargeTableUse = Literal["audit", "build"]
"""What can be done with a table that does not fit into memory."""


@dataclass(frozen=True)
class Session:
    """A policy with its plugins and tables, after the overrides of the command line.

    The people may be a LargeTable where `open_session` allows it by `any_size_for`; the session can then do no more
    than was named there.
    """

    policy: Policy
    plugins: Plugins
    tables: Tables
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def table(self) -> Table:
        """The people; of those who do not fit into memory the columns, without rows."""
        return self.tables.in_memory

    def audit(
        self,
        today: date | None = None,
        announce: Callable[[str], None] = lambda line: None,
        *,
        search_remedies: bool = False,
    ) -> Audit:
        """Build, attack and judge as `audit_policy` does; the timings include the reading of the tables."""
        audited = audit_policy(
            self.policy,
            self.plugins,
            self.tables,
            today=today,
            announce=announce,
            search_remedies=search_remedies,
        )
        return replace(audited, seconds={**self.seconds, **audited.seconds})


def audit_policy(
    policy: Policy,
    plugins: Plugins,
    tables: Tables,
    *,
    today: date | None = None,
    announce: Callable[[str], None] = lambda line: None,
    search_remedies: bool = False,
) -> Audit:
    """Audit by a policy whose tables are open: build or load the release, attack it, judge it.

    Args:
        policy: a valid policy.
        plugins: the plugins that the policy was read with.
        tables: the people, and the others whom the policy names.
        today: the day on which waivers are judged; the present day in UTC when left out.
        announce: is called with a line before an attack that forecasts a long run.
        search_remedies: where a limit fails, audit again with other settings of the builder or of the model, so that
            the report states which passes.

    Raises:
        InvalidError: the policy or the data are wrong, or the policy requires a ledger and none was given.
        InconclusiveError: the builder failed.
    """
    from leafgate.engine.report import audit_and_report
    from leafgate.session.audit import Audit

    if policy.ledger == "required" and policy.origin.ledger is None:
        remedy = "run leafgate audit with --ledger LEDGER --ledger-key KEY"
        raise PolicyError("the policy requires a ledger, and none was given", place="ledger", remedy=remedy)
    check_facts(policy, tables.in_memory)
    search = _with_found_remedies if search_remedies else None
    audited = audit_and_report(policy, plugins, tables, today=today, announce=announce, search=search)
    return Audit.of(audited, policy.plugins)


def _with_found_remedies(auditing: Auditing, report: Report, artifact: SealedRelease) -> Report:
    """The report with remedies; an audit that passes does not import their search."""
    from leafgate.search.remedies import with_found_remedies

    return with_found_remedies(auditing, report, artifact)


def audit_inputs_sha256(policy: Policy, plugins: Plugins, tables: Tables, audience: str) -> str:
    """A digest of everything that the results of an audit depend on.

    It is for the owner of the data: whoever has it can confirm a guess of the data.
    """
    from leafgate.engine.report_facts import files_of, versions_of

    files = files_of(policy, tables)
    inputs = canonical([policy.sha256, files.keyed(files.key or b""), versions_of(policy, plugins), audience])
    return hashlib.sha256(inputs).hexdigest()


def build_release(
    policy: Policy, plugins: Plugins, table: Table | LargeTable, test: Table | None = None
) -> SealedRelease:
    """The release that the policy builds from the table, as its file has it; nothing is attacked.

    Raises:
        PolicyError: the release discloses more than the policy publishes and cannot be cut down.
        InconclusiveError: the builder failed or made a release that no file can hold.
    """
    from leafgate.engine.build import build

    with progress_step("build"):
        return build(policy, plugins, table, test)


def fitting_classes(session: Session) -> Mapping[str, str] | None:
    """The model's class for each value, in the one order that fits the table best; None where several fit equally well.

    Raises:
        LeafgateError: the policy audits no model whose classes it maps, or it cannot be read.
    """
    from leafgate.algorithms.class_orders import only_best_order, people_by_class

    artifact = build_release(session.policy, session.plugins, session.table)
    values, names = tuple(artifact.provenance.mapped_classes), tuple(artifact.provenance.mapped_classes.values())
    if not values:
        raise InvalidError("maps no classes of a model", place="build.encoding")
    order = only_best_order(people_by_class(artifact.release, session.table, values))
    return None if order is None else {values[row]: name for row, name in zip(order, names, strict=True)}


def granted_knowledge(
    policy: Policy,
    attack: AttackModel,
    tables: Tables,
    artifact: SealedRelease,
    *,
    readers: Sequence[ModelReader] = (),
) -> AdversaryKnowledge:
    """What an attack on this release is granted; the tables as `audit_policy` takes them.

    `readers` are those of model files, by which attacks train models of the same kind.

    An attack of the policy is granted what its own `knows` states, if it has one; any other what the policy's does.

    Raises:
        InvalidError: the facts of the policy do not fit the table.
        InconclusiveError: the attack needs candidates, and nobody is known who is not in the table.
    """
    from leafgate.engine.knowledge import Adversaries

    check_facts(policy, tables.in_memory)
    adversaries = Adversaries(policy, tables, artifact, readers)
    return adversaries.knowledge_of(attack if attack in policy.attacks else attack.without_knows)


def open_session(
    path: Path,
    data: Path | None = None,
    root: Path | None = None,
    test: Path | None = None,
    org: Path | Sequence[Path] | None = None,
    *,
    before_data: Callable[[Policy, Plugins], None] | None = None,
    any_size_for: LargeTableUse | None = None,
    ledger: GivenLedger | None = None,
) -> Session:
    """Read a policy and the tables it names.

    Args:
        path: the policy file.
        data: the table, in place of `data.path`.
        root: the folder that the policy's data files are below; the policy's own when left out.
        test: the test table, in place of `data.test`.
        org: one policy or several that this policy must complete or tighten.
        before_data: is called with the policy and its plugins before any table is read.
        any_size_for: the table may be one that does not fit into memory, if this can be done with it.
        ledger: its releases are added to those that the policy names.

    Raises:
        PolicyError: the policy is wrong; every problem is listed.
        LedgerError: the ledger cannot be read, or lines of it were changed.
        DataError: a table does not fit the policy; every problem is listed.
    """
    loaded = load_policy(path, root, org)
    if before_data is not None:
        before_data(loaded.policy, loaded.plugins)
    policy = loaded.policy.with_given(*given_words(path, data, root, each_org(org), test))
    if not (data is None and root is None and test is None):
        from leafgate.session.given_files import given_files

        named = loaded.policy if root is None else _without_root(path, org)
        files = given_files(named, with_data_files(loaded.policy, data, test))
        policy = policy.with_origin(replace(policy.origin, given_files=files))
    if ledger is not None:
        from leafgate.session.ledger_releases import with_ledger

        policy = with_ledger(with_data_files(policy, data, test), ledger)
        policy = policy.with_given("--ledger", shown_file(ledger.path, path, "LEDGER"), "--ledger-key", "KEY")
        policy = policy.with_given(*(word for _ in ledger.roll_keys for word in ("--roll-key", "KEY")))
    return session_of(policy, loaded.plugins, data, test, any_size_for=any_size_for)


def _without_root(path: Path, org: Path | Sequence[Path] | None) -> Policy | None:
    """The policy with its files beside it; None where it cannot be read so."""
    try:
        return load_policy(path, None, org).policy
    except LeafgateError:
        return None


def session_of(
    policy: Policy,
    plugins: Plugins,
    data: Path | None = None,
    test: Path | None = None,
    *,
    frames: Mapping[str, FrameTable] = MappingProxyType({}),
    any_size_for: LargeTableUse | None = None,
) -> Session:
    """Read the tables that a policy names.

    Args:
        policy: the policy.
        plugins: the plugins that it was read with.
        data: the table, in place of `data.path`.
        test: the test table, in place of `data.test`.
        frames: tables in memory that stand for the files of the section `data`, by its keys, such as `path`.
        any_size_for: as for `open_session`.

    Raises:
        PolicyError: the policy names no table.
        DataError: a table does not fit the policy; every problem is listed.
    """
    policy = with_data_files(policy, data, test)
    start = time.perf_counter()
    try:
        with progress_step("read"):
            tables = _read_tables(policy, plugins, frames, any_size_for=any_size_for)
    except DataError as error:
        raise _naming_sources(error, policy, plugins) from None
    return Session(policy, plugins, tables, {"read": time.perf_counter() - start})


def _naming_sources(error: DataError, policy: Policy, plugins: Plugins) -> LeafgateError:
    """The error; where the policy names no data source, and an installed one reads the file, with the source's name."""
    if policy.data.source is not None:
        return error
    problems = []
    for problem in error.problems:
        name = problem.location.partition(",")[0]
        kind = source_for(name, plugins)
        hint = problem.hint if kind is None else f"if the data source {use_of(kind)!r} is to read it, say `data.source`"
        problems.append(replace(problem, hint=hint))
    return DataError.listing(problems)


def source_for(name: str, plugins: Plugins) -> type[DataSource] | None:
    """The first data source of the plugins that reads files of this name."""
    kinds = (kind for kind in plugins.kind(DataSource) if issubclass(kind, DataSource))
    return next((kind for kind in kinds if not issubclass(kind, DataEngine) and kind.reads(name)), None)


def given_words(
    policy: Path, data: Path | None, root: Path | None, orgs: Sequence[Path], test: Path | None
) -> Iterator[str]:
    """The other arguments of the command line, as a report may print them."""
    if data is not None:
        yield shown_file(data, policy, "DATA")
    held = [("--org", org, "ORG") for org in orgs]
    for option, path, word in (("--root", root, "FOLDER"), *held, ("--test", test, "TEST")):
        if path is not None:
            yield from (option, shown_file(path, policy, word))


def read_tables(policy: Policy, plugins: Plugins | None = None) -> Tables:
    """The tables that a policy names; a file that several sections name is read once.

    Large CSV and Parquet files are read by an engine of the plugins that is installed, if there is one.

    Raises:
        PolicyError: the policy names no table.
        DataError: a table does not fit the policy.
    """
    return _read_tables(policy, plugins or Plugins(), {}, any_size_for=None)


def _read_tables(
    policy: Policy, plugins: Plugins, frames: Mapping[str, FrameTable], *, any_size_for: LargeTableUse | None
) -> Tables:
    """The tables, the people as a LargeTable where they do not fit into memory and need not for this use."""
    from leafgate.engine.large_tables import records_needed_by, records_needed_to_build
    from leafgate.io.tables.engines import FEWER_RECORDS, TooManyRecordsError
    from leafgate.io.tables.reader import is_large, read_any_table, read_people, read_population, read_table

    data, meaning = policy.data, policy.data.meaning()
    main, test_file, control_file = (frames.get(key, getattr(data, key)) for key in ("path", "test", "control"))
    files = [main, test_file, control_file, data.population, *_people_files(policy).values()]
    engine = _default_engine(plugins) if any(isinstance(file, Path) and is_large(file) for file in files) else None
    match any_size_for:
        case None:
            needing = ["this command"]
        case "build":
            needing = records_needed_to_build(policy, meaning)
        case "audit":
            needing = records_needed_by(policy, meaning)
    read_main_table = read_any_table if not needing else read_table
    of_file = policy.build.wants_readers
    try:
        found = read_main_table(data, meaning, main, engine=engine, count_cells=of_file)
    except TooManyRecordsError as error:
        hint = f"{FEWER_RECORDS}; or do without what needs them in memory: {', '.join(needing)}"
        raise InconclusiveError.listing([replace(problem, hint=hint) for problem in error.problems]) from None
    _refuse_one_class(found)
    people = found if isinstance(found, LargeTable) else protected(data.protect, found)
    table = Tables(people).in_memory
    schema = table.schema.boundless if policy.build.noisy_test else table.schema
    test = None if test_file is None else read_table(data, schema, test_file, "data.test", engine).others_than(table)
    population = None if data.population is None else read_population(data, table.schema, data.population, engine)
    read: dict[Path, Table] = {}
    for section, path in _people_files(policy).items():
        if path not in read:
            read[path] = read_people(data, table, path, f"{section}.people", engine)
    known = None if policy.knows.people is None else read[policy.knows.people]
    known_by_attack = {name: read[path] for name, path in _own_people_files(policy).items()}
    control = None if control_file is None else read_table(data, table.schema, control_file, "data.control", engine)
    if control is not None and control.sha256 == people.sha256 != "":
        remedy = "name a file of people who are not in the table"
        raise DataError("is the table itself", place="data.control", remedy=remedy)
    if control is not None:
        control = control.others_than(table)
        _refuse_shared_keys(table, control)
    return Tables(people, test, control, population, known, known_by_attack)


def _refuse_shared_keys(table: Table, control: Table) -> None:
    """Raise DataError where somebody in the control has the key of somebody in the table."""
    from leafgate.algorithms.near_copies import shares_keys
    from leafgate.engine.knowledge import OTHER_KEYS, SHARED_KEYS

    if shares_keys(table, control):
        raise DataError(SHARED_KEYS, place="data.control", remedy=OTHER_KEYS)


def _default_engine(plugins: Plugins) -> DataEngine | None:
    """The engine that reads large files of policies without `data.source`; None where none is installed."""
    kinds = (kind for kind in plugins.kind(DataSource) if issubclass(kind, DataEngine))
    return next((engine for kind in kinds if (engine := kind.default()) is not None), None)


def _own_people_files(policy: Policy) -> dict[str, Path]:
    """The file about people that each attack's own `knows` names, by the attack's name."""
    named = ((attack.called, attack.knows.people) for attack in policy.attacks if attack.knows is not None)
    return {name: path for name, path in named if path is not None}


def _people_files(policy: Policy) -> dict[str, Path]:
    """Every file of known people, by the section that names it."""
    sections = [("knows", policy.knows)]
    sections += [(f"attacks[{i}].knows", each.knows) for i, each in enumerate(policy.attacks) if each.knows is not None]
    return {section: knows.people for section, knows in sections if knows.people is not None}


@dataclass(frozen=True)
class SharedTables:
    """The tables of several policies, read on first use; policies that read the same files alike share them."""

    read: dict[bytes, Tables] = field(default_factory=dict)

    def of(self, policy: Policy, plugins: Plugins | None = None) -> Tables:
        key = _data_key(policy)
        if key not in self.read:
            self.read[key] = read_tables(policy, plugins)
        return self.read[key]


def _data_key(policy: Policy) -> bytes:
    data = policy.data
    named = (data.path, data.test, data.population, policy.knows.people, data.control)
    own = _own_people_files(policy)
    files = [*(str(path) for path in named), *(f"{name} {path}" for name, path in sorted(own.items()))]
    document = data.model_dump(mode="json", exclude={"path", "test", "population", "control"})
    return canonical([files, list(document["columns"].items()), document])


def _refuse_one_class(table: Table | LargeTable) -> None:
    """DataError for a table whose people all have one class: nothing can be learned from it."""
    for column in table.schema.having("class"):
        if column.values is not None and (table.class_counts() > 0).sum() < 2:
            raise DataError(
                "everybody has the same class", place=f"column {column.name!r}", remedy="choose another class column"
            )


def with_data_files(policy: Policy, data: Path | None, test: Path | None) -> Policy:
    """The policy with the files that the command line names."""
    changed = {key: path for key, path in (("path", data), ("test", test)) if path is not None}
    changed_data = policy.data.model_copy(update=changed)
    return policy.model_copy(update={"data": changed_data}).with_origin(policy.origin)
