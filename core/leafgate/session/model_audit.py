"""`leafgate.audit`: from a fitted model and a table in memory to an audit, of the file that its owner would publish.

The model is written in its own format, and its bytes are audited; the tables are read as they are in memory. A policy
is drawn up of both, and everything is as `leafgate audit` does it with this policy and the files of the tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from leafgate.api.registry import Plugin, Plugins, load_plugins, plugin_of_classes, plugins_beside, use_of
from leafgate.engine.report_facts import SAME_TEST_TABLE
from leafgate.errors import DataError, InvalidError, PolicyError, Problem, nearest_name
from leafgate.io.release_codec import serialize
from leafgate.io.tables.frames import FrameTable, single_column, word_for_missing
from leafgate.io.yaml import MAX_YAML_BYTES, as_parsed
from leafgate.ir.model import ModelIR
from leafgate.kernel.components import AttackModel, Component
from leafgate.kernel.findings import TO_DECIDE
from leafgate.kernel.metrics import Metric
from leafgate.kernel.origin import NO_REMEDIES, GivenFile
from leafgate.kernel.policy import CsvOptions, Policy
from leafgate.kernel.release import LEVELS, Level, Release
from leafgate.models.reader import model_bytes, read_foreign
from leafgate.models.writer import object_as_file
from leafgate.policy.load import load_policy as load_whole_policy
from leafgate.policy.load import policy_of
from leafgate.session import limit_warnings
from leafgate.session import people as session_people
from leafgate.session.audit import Audit, AuditFiles, private_folder, with_files
from leafgate.session.draft import RoleWords, TableDraft, column_numbers
from leafgate.session.proposals import Proposal, SecretShares, propose
from leafgate.session.python_text import error_in_python, problem_in_python
from leafgate.session.run import Session, given_words, session_of
from leafgate.session.witness import WITNESS_FILE, estimator_answers

TABLE_FILE = "people.csv"
POLICY_SUFFIXES = (".yaml", ".yml")


def load_policy(path: str | Path, root: str | Path | None = None, org: Sequence[str | Path] | None = None) -> Policy:
    """Read a policy, for `leafgate.audit`.

    Args:
        path: the policy's file.
        root: the folder that the policy's data files are below; the policy's own if None.
        org: policies that this one must complete or tighten.

    Returns:
        The policy, whose parts are attributes, such as `policy.metrics`.

    Raises:
        PolicyError: the policy is wrong; every problem is listed.
    """
    file, base = Path(path), None if root is None else Path(root)
    orgs = [Path(each) for each in ([org] if isinstance(org, str | Path) else org or ())]
    loaded = load_whole_policy(file, base, orgs)
    return loaded.policy.with_given(*given_words(file, None, base, orgs, None))


def audit(
    model: Any,
    X: Any = None,  # noqa: N803  as scikit-learn calls it
    y: Any = None,
    *,
    roles: Mapping[str, RoleWords] | None = None,
    secret: str | Sequence[str] | None = None,
    limits: Mapping[str, Any] | Sequence[Mapping[str, Any] | Metric] | None = None,
    attacks: Sequence[str | Mapping[str, Any] | AttackModel | type[AttackModel]] | None = None,
    publish: Level | Mapping[str, Any] | None = None,
    test: Any = None,
    control: Any = None,
    encoding: Mapping[str, Mapping[str, Any]] | None = None,
    on_missing: Literal["keep", "drop"] = "keep",
    trained_by: Mapping[str, Any] | None = None,
    name: str | None = None,
    seed: int = 0,
    search_remedies: bool = True,
    harmless: Any = None,
    person: Any = None,
    aliases: Mapping[str, Mapping[str, str]] | None = None,
    distinct: Mapping[str, Sequence[Sequence[str]]] | None = None,
    no_answer: Any = None,
) -> Audit:
    """Audit what a fitted model discloses about the people that it was fitted on, before its file is published.

    The audit is of the file as its owner would publish it: a skops file of scikit-learn, JSON of XGBoost
    and CatBoost, text of LightGBM. It is the same audit that `leafgate audit` makes of such files; `Audit.to_policy`
    writes them.

    Args:
        model: a fitted estimator, pipeline or search of scikit-learn; an estimator or Booster of XGBoost or LightGBM; a
            model of CatBoost; a `leafgate.Release`, or an estimator that has one as `release_`; the path of a model's
            file; or a policy (`leafgate.load_policy`, or its path).
        X: the people whom the model was fitted on, as a table of pandas, Polars, Arrow or NumPy: a row each, with the
            columns that the model was given, and others if they are secrets or known to outsiders.
        y: what it predicts, as a column; or the name of a column of `X`.
        roles: roles of columns by their names: `quasi_identifier` (outsiders know it; all columns of `X` by default),
            `sensitive`, `private`, `identifier`, `ignored` and so on; a list of roles; or all that a policy may say of
            a column, such as `{"role": "sensitive", "bins": [0, 1000, 5000]}`.
        secret: the columns that nobody may find out, by their names; the class by default.
        limits: what must hold, such as `{"k_anonymity": 10, "confidence": 0.95}`; or metrics as a policy has them or as
            objects. By default those that `leafgate init --model` writes.
        attacks: the attacks to try, by their names, as a policy has them, or as objects or classes, which no plugin
            need offer; by default `linking`, and with `control` those on membership that train no model.
        publish: what the leaves may disclose, such as `labels`; by default what the model's file has.
        test: people to measure accuracy on, as `(X, y)`, or a table where `y` is a name.
        control: people who are not in `X`, as `(X, y)`, for attacks on membership.
        encoding: what features of the model are, as under `build: {encoding: ...}`, where neither file nor `X` says.
        on_missing: what missing cells are: `keep` takes them as a value, `drop` leaves these people out.
        trained_by: how the model was fitted, as under `build: {trained_by: ...}`, where its file does not say.
        name: what reports call the audit; the model's class by default.
        seed: of attacks.
        search_remedies: where a limit fails, audit again with other settings to find those that would pass.
        harmless: a value of the class, or several, of which it harms nobody that they are known of somebody, such as
            `["no"]`: the default limits are then on the other values alone. Only the owner of the data can say so.
        person: whose each row is, where people have several: a column, or the name of one of `X`, or several names.
        aliases: other spellings of values by the names of columns, each with the value that it means, such as
            `{"ill": {"Yes": "yes"}}`.
        distinct: values of a secret or the class that are spelled alike and are different things, by the names of
            columns, such as `{"genotype": [["AA", "Aa"]]}`. Without either the audit is inconclusive, or fails.
        no_answer: values of the class that say that it is not recorded, such as `["unknown", None]` (None: missing
            cells); or such lists by the names of secrets. Limits judge the other people; whoever has no class that the
            model knows is left out. By default words such as `unknown`, with which limits are judged both ways.

    Returns:
        The audit.

    Raises:
        InvalidError: an argument is wrong, the model is not fitted, or model and table do not fit each other. No error
            prints a cell.
        InconclusiveError: a library that is needed is not installed.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import numpy as np, pandas as pd
    >>> X = pd.DataFrame({"age": np.arange(200) % 50, "sex": np.arange(200) // 50 % 2})
    >>> ill = np.where(X["age"] > 40, "yes", "no")
    >>> tree = DecisionTreeClassifier(max_depth=1).fit(X, ill)
    >>> audit(tree, X, ill, limits={"k_anonymity": 10})
    Audit(verdict='pass')
    """
    if isinstance(model, str | Path) and Path(model).suffix in POLICY_SUFFIXES:
        model = load_policy(model)
    if isinstance(model, Policy):
        given = {
            **{"roles": roles, "secret": secret, "limits": limits, "attacks": attacks, "publish": publish},
            **{"control": control, "encoding": encoding, "trained_by": trained_by, "name": name, "harmless": harmless},
            "person": person,
            **{"aliases": aliases, "distinct": distinct},
            "no_answer": no_answer,
        }
        _refuse_with_policy(given)
        return _audit_by_policy(model, X, y, test, search_remedies)
    if on_missing not in ("keep", "drop"):
        raise InvalidError("is neither keep nor drop", place="on_missing", remedy="give one of the two")
    plugins = load_plugins()
    components = _own_components((*_listed(attacks), *_listed(limits)), plugins)
    plugins = Plugins((*plugins.entries, *components))
    subject = _Subject.of(model, plugins, X)
    gaps = no_answer is not None
    people = session_people.people_of(X, y, subject.column_names, gaps=gaps)
    unanswered = session_people.unanswered_of(no_answer, people)
    others = {
        key: session_people.people_like(people, table, key, gaps=gaps)
        for key, table in (("test", test), ("control", control))
        if table is not None
    }
    people, numbering = session_people.with_persons(people, person)
    roles = {**dict.fromkeys(numbering, "person"), **(roles or {})}
    draft = TableDraft(
        columns=people.columns,
        target=people.target,
        others=[each.columns for each in others.values()],
        roles=roles,
        secrets=(secret,) if isinstance(secret, str) else tuple(secret or ()),
        encoding=encoding or {},
        model=subject.read,
        release=subject.release,
        is_direct=subject.takes_columns,
        class_order=subject.class_order,
        aliases=aliases or {},
        distinct=distinct or {},
        no_answer=None if no_answer is None else {name: each.texts for name, each in unanswered.items()},
    )
    without_answer = [name for name, each in unanswered.items() if each.missing]
    tables = _Tables(people, others, () if draft.hints is None else draft.hints.known, without_answer)
    answers = None if encoding else subject.answers(X, draft, tables.missing)
    build = _without_none(
        use="published",
        path=subject.name,
        encoding=draft.encodings() or None,
        trained_by=trained_by or None,
        witness=None if answers is None else WITNESS_FILE,
    )
    harmless_values = session_people.value_texts(harmless)
    if harmless_values and limits is not None:
        remedy = "give `values` to the limits, or leave `limits` out"
        raise InvalidError("is for the default limits", place="harmless", remedy=remedy)
    proposal = _proposal(people, draft, harmless_values, control=control is not None and attacks is None)
    document = _without_none(
        leafgate=1,
        name=name or subject.kind,
        data=tables.section(draft, on_missing),
        build=build,
        publish=_publish(publish, subject),
        seed=seed or None,
        attacks=_attacks(attacks, proposal, plugins),
        metrics=_limits(limits, proposal, plugins),
    )
    files = AuditFiles(
        document=as_parsed(document),
        tables=tables.as_files(),
        contents={subject.name: subject.content, **({} if answers is None else {WITNESS_FILE: answers})},
        model=subject.name,
        search_remedies=search_remedies,
        components=tuple(each.component for plugin in components for each in plugin.offers),
    )
    _refuse_large_policy(files)
    try:
        audited = audit_files(files)
    except InvalidError as error:
        raise error_in_python(error, files.document) from None
    repeated = [] if numbering else session_people.repeated_index(X, roles)
    return replace(audited, warnings=(*draft.notes, *repeated, *audited.warnings))


def _without_none(**section: Any) -> dict[str, Any]:
    """A section of a policy without the keys that have nothing to say."""
    return {key: value for key, value in section.items() if value is not None}


@dataclass(frozen=True, eq=False)
class _Tables:
    """The people and others, as a policy names them and reads them.

    Attributes:
        people: the people whom the model was fitted on.
        others: test and control people, by the keys of the section `data`.
        known: texts of cells that the model knows, which stand for no missing ones.
        without_answer: the columns whose missing cells say that the value is not recorded.
    """

    people: session_people.PeopleInMemory
    others: Mapping[str, session_people.PeopleInMemory]
    known: Collection[str]
    without_answer: Collection[str] = ()

    @cached_property
    def missing(self) -> str:
        """The text that stands for missing cells."""
        tables = (self.people, *self.others.values())
        return word_for_missing([column for each in tables for column in each.columns], self.known)

    def section(self, draft: TableDraft, on_missing: str) -> dict[str, Any]:
        """The section `data` of the policy."""
        tables = (self.people, *self.others.values())
        incomplete = any(column.has_missing for each in tables for column in each.columns)
        release = draft.release
        says_missing = incomplete or release is None or any(column.missing for column in release.schema.columns)
        return {
            "path": TABLE_FILE,
            **{key: f"{key}.csv" for key in self.others},
            "missing": [self.missing] if incomplete else [],
            **({"on_missing": on_missing} if says_missing else {}),  # the claims of a release are about its domains
            "columns": {name: self._with_mark(name, spec) for name, spec in draft.specs.items()},
        }

    def _with_mark(self, name: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the policy states of a column, its missing cells among its `no_answer` where they say so."""
        return spec if name not in self.without_answer else {**spec, "no_answer": [*spec["no_answer"], self.missing]}

    def as_files(self) -> dict[str, FrameTable]:
        """The tables as they stand for files, by the keys of the section `data`."""
        named = {"path": ("X", self.people), **{key: (key, each) for key, each in self.others.items()}}
        return {
            key: FrameTable(place, each.columns, self.missing, CsvOptions()) for key, (place, each) in named.items()
        }


def audit_files(files: AuditFiles) -> Audit:
    """The audit of a model and tables in memory; nothing of the folder that the model's file is in gets into it."""
    with private_folder() as folder:
        session = open_files(files, folder)
        audited = session.audit(search_remedies=files.search_remedies)
    warnings = (problem_in_python(warning, files.document) for warning in _warnings(session, audited))
    return with_files(audited, files, tuple(map(str, warnings)))


def open_files(files: AuditFiles, folder: Path) -> Session:
    """The policy and the tables of an audit in memory, with its other files in a folder."""
    files.write_contents(folder)
    with plugins_beside(*([plugin_of_classes(files.components)] if files.components else [])):
        loaded = policy_of(dict(files.document), folder)
    return session_of(loaded.policy.with_origin(files.origin), loaded.plugins, frames=files.tables)


def _warnings(session: Session, audited: Audit) -> Iterator[Problem]:
    """What is doubtful about the policy of a session, and is no decision that the report asks for."""
    yield from limit_warnings.small_limits(session.policy)
    yield from limit_warnings.decimal_commas(session.policy)
    yield from limit_warnings.spelled_alike(session.table)
    yield from limit_warnings.limits_against_table(session.policy, session.plugins, session.table)
    if f"{TO_DECIDE}{SAME_TEST_TABLE}" not in audited.report.notes:
        yield from limit_warnings.own_people_as_test(session.table, session.tables.test)


def _audit_by_policy(policy: Policy, X: Any, y: Any, test: Any, search_remedies: bool) -> Audit:  # noqa: N803
    """The audit by a policy, of its own table or of one in memory."""
    if policy.build.one_shot:
        remedy = "run leafgate audit POLICY --out FOLDER, which keeps the release; or try out with `rehearsal: true`"
        raise PolicyError("this builder never draws the same again", place="build", remedy=remedy)
    plugins, origin = load_plugins(policy.plugins), policy.origin
    frames = {} if X is None else {"path": session_people.table_for(policy, X, y, "X")}
    if test is not None:
        rows, labels = test if isinstance(test, tuple) else (test, y if isinstance(y, str) else None)
        frames["test"] = session_people.table_for(policy, rows, labels, "test")
    words = (
        *(("DATA",) if "path" in frames else ()),
        *origin.given,
        *(("--test", "TEST") if "test" in frames else ()),
    )
    named = {"data.path": policy.data.path, "data.test": policy.data.test}
    files: dict[str, GivenFile] = {
        key: "given" if named[key] is None else "other" for key in (f"data.{table}" for table in frames)
    }
    given = (*words, *(() if search_remedies else (NO_REMEDIES,)))
    origin = replace(origin, given=given, given_files={**origin.given_files, **files})
    session = session_of(policy.with_origin(origin), plugins, frames=frames)
    audited = session.audit(search_remedies=search_remedies)
    return with_files(audited, None, tuple(map(str, _warnings(session, audited))))


def _refuse_with_policy(given: Mapping[str, Any]) -> None:
    for key, value in given.items():
        if value is not None:
            raise InvalidError("is for models, and a policy says so itself", place=key, remedy="change the policy")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Subject:
    """What is audited, and its file.

    Attributes:
        model: as the user gave it; of a search over settings the best model.
        name: the name of its file.
        content: the bytes of its file.
        read: the model in the file; None where it is a release.
        release: the release in the file; None where it is a model.
    """

    model: Any
    name: str
    content: bytes
    read: ModelIR | None = None
    release: Release | None = None

    @classmethod
    def of(cls, model: Any, plugins: Plugins, rows: Any) -> _Subject:
        """The model as its file; `rows` are those that it was fitted on, as the user gives them."""
        model = getattr(model, "best_estimator_", model)  # of a search over settings, of whatever library it is
        if isinstance(model, str | Path):
            path = Path(model)
            content = model_bytes(path)
            read = read_foreign(content, path.name, plugins.readers)
            return cls(model=model, name=path.name, content=content, read=read)
        release = model if isinstance(model, Release) else getattr(model, "release_", None)
        if isinstance(release, Release):
            return cls(model=model, name="release.json", content=serialize(release).content, release=release)
        written = object_as_file(model, plugins.readers, rows)
        if written is not None:
            name, content = written
            return cls(model=model, name=name, content=content, read=read_foreign(content, name, plugins.readers))
        if isinstance(model, type):
            raise InvalidError(f"is the class {model.__name__} itself", place="model", remedy="give a fitted object")
        libraries = ", ".join(sorted(reader.name for reader in plugins.readers if reader.to_file is not None))
        remedy = f"these can be written: {libraries or 'none is installed'}; or save it, and give the path of its file"
        what = f"is of the type {type(model).__name__}, which no installed plugin can write as a file"
        raise InvalidError(what, place="model", remedy=remedy)

    @property
    def is_path(self) -> bool:
        """Was it given as the path of a file?"""
        return isinstance(self.model, str | Path)

    @property
    def kind(self) -> str:
        """The class of the model, of a pipeline that of its last step."""
        if self.is_path:
            return Path(self.name).stem
        steps = getattr(self.model, "steps", None)
        return type(steps[-1][1] if isinstance(steps, list) and steps else self.model).__name__

    @property
    def takes_columns(self) -> bool:
        """Was the model itself given the table's columns? Features of a pipeline may be made of them."""
        return not self.is_path and not hasattr(self.model, "steps")

    @cached_property
    def class_order(self) -> tuple[str, ...]:
        """The classes of an estimator in the order in which it numbers them, as texts; empty where it has none."""
        classes = getattr(self.model, "classes_", None)
        if classes is None or isinstance(classes, str):
            return ()
        return tuple(single_column(list(classes), session_people.CLASS_NAME, "model.classes_").texts)

    @property
    def column_names(self) -> list[str] | None:
        """What the model calls columns without names; None where the usual names do."""
        names = getattr(self.model, "feature_names_in_", None)
        if names is not None and len(names):
            return [str(name) for name in names]
        if self.read is None or self.read.origins is not None or self.is_path:
            return None
        return list(self.read.features)

    def answers(self, table: Any, draft: TableDraft, missing: str) -> bytes | None:
        """The estimator's own answers as a CSV file; None where it cannot be asked."""
        if self.read is None:
            return None
        return estimator_answers(self.model, table, draft.columns, draft.specs, self.read, self.class_order, missing)


def _proposal(
    people: session_people.PeopleInMemory, draft: TableDraft, harmless: Sequence[str], *, control: bool
) -> Proposal:
    """The attacks and limits that leafgate proposes for the class of these people, or for the first other secret."""
    secrets = [name for name, each in draft.specs.items() if "sensitive" in _roles_in(each)]
    if harmless and people.target not in secrets:
        raise InvalidError("are values of the class, which is no secret", place="harmless", remedy="give `limits`")
    name = people.target if people.target in secrets or not secrets else secrets[0]
    label = next(column for column in people.columns if column.name == name)
    spec = draft.specs[name]
    if "bins" in spec:
        shares = SecretShares.of_numbers(label.name, column_numbers(label), spec)
    else:
        people_with = np.bincount(label.codes[label.codes >= 0], minlength=len(label.texts)).tolist()
        shares = SecretShares.of_values(label.name, dict(zip(label.texts, people_with, strict=True)), spec)
    others = [other for other in secrets if other != name]
    return propose(shares, of_model=True, harmless=harmless, has_control=control, other_secrets=others)


def _roles_in(spec: Mapping[str, Any]) -> Sequence[str]:
    """The roles that a policy's words about a column give it."""
    role = spec.get("role", ())
    return (role,) if isinstance(role, str) else tuple(role)


def _attacks(
    attacks: Sequence[str | Mapping[str, Any] | AttackModel | type[AttackModel]] | None,
    proposal: Proposal,
    plugins: Plugins,
) -> list[dict[str, Any]]:
    if attacks is None:
        return [dict(attack) for attack in proposal.attacks]
    listed = [attacks] if isinstance(attacks, str | Mapping) else attacks
    found = [_written(each) for each in listed]
    for attack in found:
        _component(attack.get("use"), AttackModel, plugins, "attacks")
    return found


def _limits(
    limits: Mapping[str, Any] | Sequence[Mapping[str, Any] | Metric] | None, proposal: Proposal, plugins: Plugins
) -> list[dict[str, Any]]:
    """The metrics of the policy: limits by the names of metrics, or metrics as a policy has them."""
    if limits is None:
        return [dict(limit) for limit in proposal.metrics]
    if isinstance(limits, str):
        remedy = f"give its bound, such as {{{limits!r}: 0.95}}"
        raise InvalidError("is the name of a metric without a bound", place="limits", remedy=remedy)
    if not isinstance(limits, Mapping):
        found = [_written(each) for each in limits]
    else:
        found = []
        for use, bound in limits.items():
            direction = getattr(_component(use, Metric, plugins, "limits"), "direction", "at_most")
            found.append({"use": use, **(bound if isinstance(bound, Mapping) else {direction: bound})})
    for metric in found:
        _component(metric.get("use"), Metric, plugins, "limits")
    return found


def _listed(given: Any) -> list[Any]:
    return [] if given is None or isinstance(given, str | Mapping) else list(given)


def _own_components(given: Sequence[Any], installed: Plugins) -> list[Plugin]:
    """The plugin that offers the classes among what is given, and of the objects, that no installed plugin offers."""
    kinds = [each if isinstance(each, type) else type(each) for each in given]
    own = [kind for kind in kinds if issubclass(kind, Component) and installed.component(use_of(kind)) is not kind]
    try:
        return [plugin_of_classes(own)] if own else []
    except TypeError as error:
        raise InvalidError(str(error), place="attacks, limits", remedy="see docs/reference/plugins.md") from None


def _written(component: Any) -> dict[str, Any]:
    """An attack or a metric as a policy has it, from its name, such words, a class or an object."""
    if isinstance(component, str):
        return {"use": component}
    if isinstance(component, type) and issubclass(component, Component):
        return {"use": use_of(component)}
    if isinstance(component, Component):
        return {"use": component.use} | component.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return dict(component)


def _component(use: object, kind: type[Component], plugins: Plugins, place: str) -> type[Component]:
    """The component of this name; InvalidError with the nearest name where there is none."""
    known = {use_of(each): each for each in plugins.kind(kind)}
    if use not in known:
        remedy = nearest_name(use, known, f"installed: {', '.join(known)}")
        raise InvalidError(f"nobody offers {use!r}", place=place, remedy=remedy)
    return known[str(use)]


def _publish(publish: Level | Mapping[str, Any] | None, subject: _Subject) -> dict[str, Any]:
    """What the policy publishes: by default what the file has."""
    if isinstance(publish, Mapping):
        return dict(publish)
    if publish is not None and publish not in LEVELS:
        remedy = nearest_name(publish, LEVELS, f"choose among {', '.join(LEVELS)}")
        raise InvalidError(f"there is no level {publish!r}", place="publish", remedy=remedy)
    if subject.release is not None:
        published = subject.release.publish
        return {"leaves": publish or published.leaves, "measure": published.measure}
    return {"leaves": publish or (subject.read.level if subject.read is not None else "counts"), "measure": False}


def _refuse_large_policy(files: AuditFiles) -> None:
    """DataError where a policy has no room for the values of the columns."""
    if len(files.policy.encode()) <= MAX_YAML_BYTES:
        return
    columns: Mapping[str, Mapping[str, Any]] = files.document["data"]["columns"]
    widest = max(columns, key=lambda name: len(str(columns[name].get("values", ""))))
    many = len(columns[widest].get("values", ()))
    remedy = f"names and remarks are identifiers: roles={{{widest!r}: 'identifier'}}; or make its values coarser"
    what = f"has {many:,} different texts, too many for a policy"
    raise DataError(what, place=f"X, column {widest!r}", remedy=remedy)
