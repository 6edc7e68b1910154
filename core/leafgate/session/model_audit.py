"""`leafgate.audit`: from a fitted model and a table in memory to an audit, by the files that its owner would publish.

The table is written as CSV and the model in its own format, with a policy, into a private folder that is deleted in the
end; then everything is as `leafgate audit` does it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from leafgate.api.registry import Plugins, load_plugins, use_of
from leafgate.errors import DataError, InvalidError, LeafgateError, PolicyError, nearest_name
from leafgate.io.release_codec import serialize
from leafgate.io.tables.frames import FrameColumn, csv_bytes, has_names, single_column, table_columns, word_for_missing
from leafgate.io.yaml import MAX_YAML_BYTES, yaml_lines
from leafgate.kernel.components import AttackModel, Component
from leafgate.kernel.metrics import Metric
from leafgate.kernel.policy import CsvOptions, Policy
from leafgate.kernel.release import LEVELS, Level, Release
from leafgate.models.reader import model_bytes, read_foreign
from leafgate.models.writer import object_as_file
from leafgate.policy.load import load_policy as load_whole_policy
from leafgate.session.audit import NO_REMEDIES, Audit, AuditFiles, private_folder, with_files
from leafgate.session.draft import RoleWords, TableDraft, column_numbers
from leafgate.session.limit_warnings import decimal_commas, limits_against_table, small_limits
from leafgate.session.proposals import Proposal, SecretShares, propose
from leafgate.session.run import Session, given_words, open_session, session_of
from leafgate.session.witness import WITNESS_FILE, estimator_answers

if TYPE_CHECKING:
    from leafgate.ir.model import ModelIR

TABLE_FILE, TEST_FILE = "people.csv", "test.csv"
CLASS_NAME = "class"
"""What the class is called where `y` has no name."""

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
    limits: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    attacks: Sequence[str | Mapping[str, Any]] | None = None,
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
        limits: what must hold, such as `{"k_anonymity": 10, "confidence": 0.95}`; or metrics as a policy has them. By
            default those that `leafgate init --model` writes.
        attacks: the attacks to try, by their names or as a policy has them; by default `linking`, and with `control`
            those on membership that train no model.
        publish: what the leaves may disclose, such as `labels`; by default what the model's file has.
        test: people to measure accuracy on, as `(X, y)`, or a table where `y` is a name.
        control: people who are not in `X`, as `(X, y)`, for attacks on membership.
        encoding: what features of the model are, as under `build: {encoding: ...}`, where neither file nor `X` says.
        on_missing: what missing cells are: `keep` takes them as a value, `drop` leaves these people out.
        trained_by: how the model was fitted, as under `build: {trained_by: ...}`, where its file does not say.
        name: what reports call the audit; the model's class by default.
        seed: of attacks.
        search_remedies: where a limit fails, audit again with other settings to say which would pass.
        harmless: a value of the class, or several, of which it harms nobody that they are known of somebody, such as
            `["no"]`: the default limits are then on the other values alone. Only the owner of the data can say so.

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
        }
        _refuse_with_policy(given)
        return _audit_by_policy(model, X, y, test, search_remedies)
    if on_missing not in ("keep", "drop"):
        raise InvalidError("is neither keep nor drop", place="on_missing", remedy="give one of the two")
    plugins = load_plugins()
    model = getattr(model, "best_estimator_", model)  # of a search over settings, of whatever library it is
    file_name, content, read, release = _model_file(model, plugins, X)
    people = _people_of(X, y, _names_for(model, read))
    others = {
        key: _people_like(people, table, key)
        for key, table in (("test", test), ("control", control))
        if table is not None
    }
    draft = TableDraft(
        columns=people.columns,
        target=people.target,
        others=[each.columns for each in others.values()],
        roles=roles or {},
        secrets=(secret,) if isinstance(secret, str) else tuple(secret or ()),
        encoding=encoding or {},
        model=read,
        release=release,
        is_direct=not isinstance(model, str | Path) and not hasattr(model, "steps"),
        class_order=_class_order(model),
    )
    known = () if draft.hints is None else draft.hints.known
    missing = word_for_missing(
        [*people.columns, *(column for each in others.values() for column in each.columns)], known
    )
    files = {TABLE_FILE: people, **{f"{key}.csv": each for key, each in others.items()}}
    incomplete = any(each.has_missing for rows in files.values() for each in rows.columns)
    says_missing = incomplete or release is None or any(column.missing for column in release.schema.columns)
    encodings = draft.encodings()
    chosen = _as_texts(harmless)
    if chosen and limits is not None:
        raise InvalidError(
            "is for the default limits", place="harmless", remedy="give `values` to the limits, or leave `limits` out"
        )
    proposal = _proposal(people, draft, chosen, control=control is not None and attacks is None)
    document: dict[str, Any] = {
        "leafgate": 1,
        "name": name or _kind_of(model, file_name),
        "data": {
            "path": TABLE_FILE,
            **{key: f"{key}.csv" for key in others},
            "missing": [missing] if incomplete else [],
            **({"on_missing": on_missing} if says_missing else {}),  # the claims of a release are about its domains
            "columns": draft.specs,
        },
        "build": {
            "use": "published",
            "path": file_name,
            **({"encoding": encodings} if encodings else {}),
            **({"trained_by": dict(trained_by)} if trained_by else {}),
        },
        "publish": _publish(publish, read, release),
        **({"seed": seed} if seed else {}),
        "attacks": _attacks(attacks, proposal, plugins),
        "metrics": _limits(limits, proposal, plugins),
    }
    answers = None
    if read is not None and not encoding:
        answers = estimator_answers(model, X, people.columns, draft.specs, read, draft.class_order, missing)
    if answers is not None:
        document["build"]["witness"] = WITNESS_FILE
    written = AuditFiles(
        policy=policy_text(document, search_remedies=search_remedies),
        contents={
            **{each: csv_bytes(rows.columns, missing) for each, rows in files.items()},
            file_name: content,
            **({} if answers is None else {WITNESS_FILE: answers}),
        },
        model=file_name,
        search_remedies=search_remedies,
    )
    try:
        audited = run_files(written)
        return replace(audited, warnings=(*draft.notes, *audited.warnings))
    except InvalidError as error:
        raise _in_arguments(error) from None


def run_files(files: AuditFiles) -> Audit:
    """The audit of files that stand in a private folder meanwhile; nothing of the folder gets into the report."""
    with files.in_private_folder() as path:
        session = open_session(path)
        given = () if files.search_remedies else (NO_REMEDIES,)
        origin = replace(session.policy.origin, folder="", given=given)
        session = replace(session, policy=session.policy.with_origin(origin))
        audited = session.audit(search_remedies=files.search_remedies)
    return with_files(audited, files, _warnings(session))


def _warnings(session: Session) -> tuple[str, ...]:
    policy = session.policy
    against = limits_against_table(policy, session.plugins, session.tables.people)
    return tuple(str(problem) for problem in (*small_limits(policy), *decimal_commas(policy), *against))


def _audit_by_policy(policy: Policy, X: Any, y: Any, test: Any, search_remedies: bool) -> Audit:  # noqa: N803
    """The audit by a policy, of its own table or of one in memory."""
    if policy.build.one_shot:
        remedy = "run leafgate audit POLICY --out FOLDER, which keeps the release; or try out with `rehearsal: true`"
        raise PolicyError("this builder never draws the same again", place="build", remedy=remedy)
    plugins, origin = load_plugins(policy.plugins), policy.origin
    with private_folder() as folder:
        data = _written(folder / TABLE_FILE, policy, X, y, "X")
        other = None
        if test is not None:
            rows, labels = test if isinstance(test, tuple) else (test, y if isinstance(y, str) else None)
            other = _written(folder / TEST_FILE, policy, rows, labels, "test")
        words = (*(("DATA",) if data else ()), *origin.given, *(("--test", "TEST") if other else ()))
        origin = replace(origin, given=(*words, *(() if search_remedies else (NO_REMEDIES,))))
        try:
            session = session_of(policy.with_origin(origin), plugins, data, other)
        except DataError as error:
            raise _in_arguments(error) from None
        audited = session.audit(search_remedies=search_remedies)
    return with_files(audited, None, _warnings(session))


def _written(path: Path, policy: Policy, X: Any, y: Any, place: str) -> Path | None:  # noqa: N803
    """The file of a table in memory, written as the policy says that its table is; None without one."""
    if X is None:
        return None
    names = list(policy.data.columns)
    target = next((name for name, spec in policy.data.columns.items() if "class" in spec.role), None)
    if y is None or target is None:
        columns = {column.name: column for column in table_columns(X, place, None if has_names(X) else names)}
    else:
        features = [name for name in names if name != target]
        columns = {column.name: column for column in _people_of(X, y, features, target).columns}
    if set(names) != set(columns):
        known = next((name for name in columns if name not in names), "")
        what = f"has a column {known!r} that the policy does not have" if known else "lacks a column of the policy"
        lacking = ", ".join(repr(name) for name in names if name not in columns)
        raise DataError(what, place=place, remedy=f"add {lacking}" if lacking else "leave it out, or declare it")
    csv: CsvOptions = policy.data.csv
    missing = (policy.data.missing or ("",))[0]
    listed = [columns[name] for name in names]
    if not policy.data.missing and any(column.has_missing for column in listed):
        raise DataError("has missing cells, and the policy has no word for them", place=place, remedy="add `missing`")
    path.write_bytes(
        csv_bytes(
            listed,
            missing,
            delimiter=csv.delimiter,
            quote=csv.quote,
            header=csv.header,
            encoding=csv.encoding,
            quote_all=csv != CsvOptions(),
        )
    )
    path.chmod(0o600)
    return path


def _refuse_with_policy(given: Mapping[str, Any]) -> None:
    for key, value in given.items():
        if value is not None:
            raise InvalidError("is for models, and a policy says so itself", place=key, remedy="change the policy")


def _model_file(model: Any, plugins: Plugins, rows: Any) -> tuple[str, bytes, ModelIR | None, Release | None]:
    """The name and the bytes of the file that is audited, and what it holds: a model, or a release.

    `rows` are those that the model was fitted on, as the user gives them.
    """
    if isinstance(model, str | Path):
        path = Path(model)
        content = model_bytes(path)
        return path.name, content, read_foreign(content, path.name, plugins.readers), None
    release = model if isinstance(model, Release) else getattr(model, "release_", None)
    if isinstance(release, Release):
        return "release.json", serialize(release).content, None, release
    written = object_as_file(model, plugins.readers, rows)
    if written is not None:
        return *written, read_foreign(written[1], written[0], plugins.readers), None
    kind = model.__name__ if isinstance(model, type) else type(model).__name__
    libraries = ", ".join(sorted(reader.name for reader in plugins.readers if reader.to_file is not None))
    if isinstance(model, type):
        raise InvalidError(f"is the class {kind} itself", place="model", remedy="give a fitted object of it")
    remedy = f"these can be written: {libraries or 'none is installed'}; or save it, and give the path of its file"
    raise InvalidError(
        f"is of the type {kind}, which no installed plugin can write as a file", place="model", remedy=remedy
    )


def _kind_of(model: Any, file_name: str) -> str:
    """The class of the model, of a pipeline that of its last step."""
    if isinstance(model, str | Path):
        return Path(file_name).stem
    steps = getattr(model, "steps", None)
    return type(steps[-1][1] if isinstance(steps, list) and steps else model).__name__


def _class_order(model: Any) -> tuple[str, ...]:
    """The classes of an estimator in the order in which it numbers them, as texts; empty where it has none."""
    classes = getattr(model, "classes_", None)
    if classes is None or isinstance(classes, str):
        return ()
    return tuple(single_column(list(classes), CLASS_NAME, "model.classes_").texts)


def _names_for(model: Any, read: ModelIR | None) -> list[str] | None:
    """What the model calls columns without names; None where the usual names do."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and len(names):
        return [str(name) for name in names]
    if read is None or read.origins is not None or isinstance(model, str | Path):
        return None
    return list(read.features)


@dataclass(frozen=True, eq=False)
class People:
    """People in memory: their columns, and the name of the class among them."""

    columns: tuple[FrameColumn, ...]
    target: str

    @property
    def names(self) -> list[str]:
        """The names of all columns but the class."""
        return [column.name for column in self.columns if column.name != self.target]


def _people_of(X: Any, y: Any, names: Sequence[str] | None, class_name: str = CLASS_NAME) -> People:  # noqa: N803
    """The columns of a table with its class; `names` are what the model calls columns that have no names."""
    if X is None:
        raise InvalidError("is missing", place="X", remedy="give the table that the model was fitted on")
    if names is not None and len(names) != getattr(X, "shape", (0,))[-1]:
        names = None
    columns = table_columns(X, "X", names)
    held = [column.name for column in columns]
    if y is None and class_name in held:
        y = class_name
    if y is None:
        raise InvalidError("is missing", place="y", remedy="give what the model predicts: a column, or its name in X")
    if isinstance(y, str):
        if y not in held:
            remedy = nearest_name(y, held, "give the name of a column of X, or the column itself")
            raise InvalidError(f"there is no column {y!r}", place="y", remedy=remedy)
        label = next(column for column in columns if column.name == y)
        return People(columns, _complete(label).name)
    label = _complete(single_column(y, class_name, "y"))
    _refuse_lengths(columns, label, "X", "y")
    if label.name in held:
        same = next(column for column in columns if column.name == label.name)
        if same.cells("") == label.cells(""):
            return People(columns, label.name)
        names_of_class = (f"{CLASS_NAME}{'_' * number}" for number in count())
        label = replace(label, name=next(name for name in names_of_class if name not in held))
    return People((*columns, label), label.name)


def _complete(label: FrameColumn) -> FrameColumn:
    """The class; DataError where some are missing."""
    if label.has_missing:
        gone = int((label.codes < 0).sum())
        remedy = "leave these rows out of X and y, or give them a value of their own"
        raise DataError(f"{gone:,} value(s) are missing", place="y", remedy=remedy)
    return label


def _refuse_lengths(columns: Sequence[FrameColumn], label: FrameColumn, place: str, y_place: str) -> None:
    rows, labels = len(columns[0].codes), len(label.codes)
    if rows != labels:
        remedy = "give a value for each row of the table"
        raise DataError(f"has {labels:,} row(s), and {place} has {rows:,}", place=y_place, remedy=remedy)


def _people_like(people: People, other: Any, place: str) -> People:
    """Other people with the columns of the table, as `(X, y)` or as a table that has the class."""
    rows, label = other if isinstance(other, tuple) and len(other) == 2 else (other, people.target)
    columns = {each.name: each for each in table_columns(rows, place, None if has_names(rows) else people.names)}
    if not isinstance(label, str):
        labels = replace(single_column(label, people.target, place), name=people.target)
        _refuse_lengths(list(columns.values()), labels, place, f"the class of {place}")
        columns[people.target] = _complete(labels)
    elif label in columns:
        columns[people.target] = _complete(replace(columns[label], name=people.target))
    lacking = [column.name for column in people.columns if column.name not in columns]
    if lacking:
        remedy = f"give {place}=(X, y) with the columns of X"
        raise DataError(f"has no column {lacking[0]!r}", place=place, remedy=remedy)
    return People(tuple(columns[column.name] for column in people.columns), people.target)


def _proposal(people: People, draft: TableDraft, harmless: Sequence[str], *, control: bool) -> Proposal:
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


def _as_texts(harmless: Any) -> tuple[str, ...]:
    """Values of the class as texts, spelled as its column is; InvalidError for what is no list of values."""
    if harmless is None:
        return ()
    if isinstance(harmless, Mapping | bytes):
        raise InvalidError("is no list of values", place="harmless", remedy='give values of y, such as ["no"]')
    listed = [harmless] if isinstance(harmless, str) or not hasattr(harmless, "__iter__") else list(harmless)
    column = single_column(listed, "harmless", "harmless")
    if column.has_missing:
        raise InvalidError("has a missing value", place="harmless", remedy="give values of y")
    return tuple(column.texts[code] for code in column.codes.tolist() if code >= 0)


def _attacks(
    attacks: Sequence[str | Mapping[str, Any]] | None, proposal: Proposal, plugins: Plugins
) -> list[dict[str, Any]]:
    if attacks is None:
        return [dict(attack) for attack in proposal.attacks]
    listed = [attacks] if isinstance(attacks, str | Mapping) else attacks
    found = [{"use": each} if isinstance(each, str) else dict(each) for each in listed]
    for attack in found:
        _component(attack.get("use"), AttackModel, plugins, "attacks")
    return found


def _limits(
    limits: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, proposal: Proposal, plugins: Plugins
) -> list[dict[str, Any]]:
    """The metrics of the policy: limits by the names of metrics, or metrics as a policy has them."""
    if limits is None:
        return [dict(limit) for limit in proposal.metrics]
    if isinstance(limits, str):
        remedy = f"give its bound, such as {{{limits!r}: 0.95}}"
        raise InvalidError("is the name of a metric without a bound", place="limits", remedy=remedy)
    if not isinstance(limits, Mapping):
        found = [dict(each) for each in limits]
    else:
        found = []
        for use, bound in limits.items():
            direction = getattr(_component(use, Metric, plugins, "limits"), "direction", "at_most")
            found.append({"use": use, **(bound if isinstance(bound, Mapping) else {direction: bound})})
    for metric in found:
        _component(metric.get("use"), Metric, plugins, "limits")
    return found


def _component(use: object, kind: type[Component], plugins: Plugins, place: str) -> type[Component]:
    """The component of this name; InvalidError with the nearest name where there is none."""
    known = {use_of(each): each for each in plugins.kind(kind)}
    if use not in known:
        remedy = nearest_name(use, known, f"installed: {', '.join(known)}")
        raise InvalidError(f"nobody offers {use!r}", place=place, remedy=remedy)
    return known[str(use)]


def _publish(
    publish: Level | Mapping[str, Any] | None, model: ModelIR | None, release: Release | None
) -> dict[str, Any]:
    """What the policy publishes: by default what the file has."""
    if isinstance(publish, Mapping):
        return dict(publish)
    if publish is not None and publish not in LEVELS:
        remedy = nearest_name(publish, LEVELS, f"choose among {', '.join(LEVELS)}")
        raise InvalidError(f"there is no level {publish!r}", place="publish", remedy=remedy)
    if release is not None:
        return {"leaves": publish or release.publish.leaves, "measure": release.publish.measure}
    return {"leaves": publish or (model.level if model is not None else "counts"), "measure": False}


def policy_text(document: Mapping[str, Any], *, search_remedies: bool) -> str:
    """The policy as YAML; DataError where a policy has no room for the values of the columns."""
    option = "" if search_remedies else f" {NO_REMEDIES}"
    head = [
        "# Written by leafgate.audit. To repeat the audit: leafgate audit policy.yaml" + option,
        "# Outsiders are taken to know every quasi_identifier of everyone: check the roles.",
    ]
    text = "\n".join([*head, *yaml_lines(document)]) + "\n"
    if len(text.encode()) > MAX_YAML_BYTES:
        columns: Mapping[str, Mapping[str, Any]] = document["data"]["columns"]
        widest = max(columns, key=lambda name: len(str(columns[name].get("values", ""))))
        many = len(columns[widest].get("values", ()))
        remedy = f"names and remarks are identifiers: roles={{{widest!r}: 'identifier'}}; or make its values coarser"
        raise DataError(
            f"has {many:,} different texts, too many for a policy", place=f"X, column {widest!r}", remedy=remedy
        )
    return text


def _in_arguments(error: InvalidError) -> LeafgateError:
    """The error in the words of `leafgate.audit`, whose users have written no policy."""
    return type(error).listing(
        replace(
            problem,
            location=_argument(problem.location),
            message=_argument_words(problem.message),
            hint=_argument_words(problem.hint),
        )
        for problem in error.problems
    )


LINE = re.compile(r"policy\.yaml:[0-9]+: .*?: |policy\.yaml, line [0-9]+(?:: )?")
SECTIONS = (
    ("data.columns.", "roles: "),
    ("data.columns", "roles"),
    ("build.", ""),
    ("metrics", "limits"),
    ("people.csv", "X"),
    ("test.csv", "test"),
)


def _argument(location: str) -> str:
    location = LINE.sub("", location)
    for section, argument in SECTIONS:
        if location.startswith(section):
            return argument + location[len(section) :]
    return location


def _argument_words(text: str) -> str:
    return (
        text.replace("under `build: {encoding: ...}`", "as `encoding={...}`")
        .replace("`data: {on_missing: drop}`", "`on_missing='drop'`")
        .replace("correct the policy or the data", "correct X, or the roles")
    )
