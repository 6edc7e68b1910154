"""From a policy file to a Policy: every mistake at once, each with its place and the remedy."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Union

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, create_model, field_validator

from leafgate.api.registry import Plugins, isolate_plugin_errors, load_trusted
from leafgate.errors import InconclusiveError, InvalidError, PolicyError, Problem
from leafgate.kernel.components import Component, DataSource
from leafgate.kernel.knowledge import Knows, Need
from leafgate.kernel.options import ABOUT_PEOPLE, UNREAD, UNREADABLE
from leafgate.kernel.paths import DocumentPath, dict_or_empty, locate, paths_of
from leafgate.kernel.policy import Data, Policy
from leafgate.kernel.schema import ColumnSpec
from leafgate.kernel.waivers import waiver_problems
from leafgate.policy.inherit import inherited
from leafgate.policy.sources import PolicyDocument
from leafgate.policy.validation import KINDS, cross_field_errors, problems_of

FILE_DIGEST = re.compile(f"({ABOUT_PEOPLE})?([0-9a-f]{{64}}|{UNREADABLE})")
"""What a policy's digest has of a file."""


@dataclass(frozen=True)
class Loaded:
    """A policy and the plugins it was read with."""

    policy: Policy
    plugins: Plugins


def load_policy(path: Path, root: Path | None = None, org: Path | Sequence[Path] | None = None) -> Loaded:
    """Read, check and resolve a policy file and all it extends; `org` is a policy it is held to besides, or several.

    Raises PolicyError listing everything that is wrong; InconclusiveError when all that is wrong
    is a name nobody offers while a plugin is broken.
    """
    written = inherited(path, each_org(org))
    try:
        loaded = policy_of(written.document, path.parent, root, written)
    except InvalidError as error:
        raise type(error).listing(map(written.placed, error.problems)) from None
    _refuse_loosened(written)
    return loaded


def each_org(org: Path | Sequence[Path] | None) -> Sequence[Path]:
    """The policies of `--org`, however they are given."""
    return () if org is None else (org,) if isinstance(org, Path) else org


def document_of(path: Path, org: Path | Sequence[Path] | None = None) -> dict[str, Any]:
    """A policy file as plain mappings and lists, with what it extends and its waivers; PolicyError as `load_policy`."""
    return _tightened(path, org).document


def _tightened(path: Path, org: Path | Sequence[Path] | None = None) -> PolicyDocument:
    """A policy with all it extends, which it does not loosen."""
    written = inherited(path, each_org(org))
    _refuse_loosened(written)
    return written


def _refuse_loosened(written: PolicyDocument) -> None:
    if written.loosened:
        raise PolicyError.listing(written.loosened)


def policy_of(
    document: dict[str, Any],
    folder: Path,
    root: Path | None = None,
    written: PolicyDocument | None = None,
    *,
    every_plugin: bool = False,
) -> Loaded:
    """The policy a parsed document describes; relative files are below `folder`, data below `root`.

    What policies that it extends name is beside these, where it was `written` in files. The components that it names
    are imported, or with `every_plugin` all that are installed.
    """
    if document.get("plugins") == []:
        raise PolicyError("lists nobody, so nothing is offered", place="plugins", remedy="name leafgate at least")
    if document.get("extends") is not None:
        raise PolicyError("only a policy in a file can extend another", place="extends")
    plugins = load_trusted(document, everything=every_plugin)
    named = None if every_plugin else _components_named(document)
    for use in named or ():
        plugins.component(use)  # says which plugins offer it both
    model = policy_model(plugins, named)
    context = {"beside": folder, "root": root or folder}
    wrong: ValidationError | None = None
    try:
        policy = model.model_validate_json(as_json(document), context=context)
    except ValidationError as error:
        wrong = error
    problems = [*cross_field_errors(document, plugins)]
    if (wrong or problems) and not every_plugin:  # what is wrong is said by all that is installed
        return policy_of(document, folder, root, written, every_plugin=True)
    if wrong or problems:
        _refuse([*([] if wrong is None else problems_of(wrong, document, plugins)), *problems], plugins)
    policy = policy if written is None else written.applied_to(policy, root)
    policy.data.meaning()
    idle = [*_missing_requirements(policy, plugins), *_unused(policy)]
    idle += _unusable_releases(policy)
    idle += _unknown_changes(policy)
    idle += waiver_problems(policy.waivers, policy.metrics, policy.approvals, policy.max_waiver_days)
    if idle:
        raise PolicyError.listing(idle)
    if policy.plugins is not None and plugins.broken:  # otherwise its metrics would silently check no claim
        raise InconclusiveError.listing(_broken(plugins))
    return Loaded(policy, plugins)


def _missing_requirements(policy: Policy, plugins: Plugins) -> Iterator[Problem]:
    """What components say that the policy lacks for them; InconclusiveError names a plugin that fails to say it."""
    asked: list[tuple[str, Any, Policy]] = [("build", policy.build, policy)]
    for i, attack in enumerate(policy.attacks):
        granting = policy.model_copy(update={"knows": policy.knows_of(attack)})
        asked.append((f"attacks[{i}]", attack.without_knows, granting))
    asked += [(f"metrics[{i}]", metric, policy) for i, metric in enumerate(policy.metrics)]
    for place, component, granting in asked:
        with isolate_plugin_errors(component, plugins):
            message = component.missing_requirements(granting)
        if message:
            yield Problem(place, message)


def _components_named(document: Mapping[str, Any]) -> frozenset[str]:
    """The names that a document gives as `use` where a policy picks components; whatever else stands there is none."""
    places = [*(document.get(name) for name in KINDS), dict_or_empty(document.get("data")).get("source")]
    items = [item for place in places for item in (place if isinstance(place, list) else [place])]
    return frozenset(str(item.get("use")) for item in items if isinstance(item, dict))


LEFT_OUT: Mapping[str, Any] = {"name": "", "build": None, "attacks": (), "metrics": ()}
"""What a policy that others extend may leave to them, besides `data` and its columns."""


@dataclass(frozen=True)
class PartialPolicy:
    """A policy as it is written, complete or not.

    `contents` has by the path of each file that it names what the policy's digest has of the file; None where a
    component does not say which options it uses, so that nobody knows the files.
    """

    written: PolicyDocument
    contents: Mapping[DocumentPath, str] | None


def read_partial_policy(path: Path, plugins: Plugins) -> PartialPolicy:
    """A policy with all it extends, and what its files hold; it need not be complete.

    PolicyError for whatever is wrong with it.
    """
    written = _tightened(path)
    context = {"beside": path.parent, "root": path.parent}
    try:
        policy = _partial_model(plugins).model_validate_json(as_json(written.document), context=context)
    except ValidationError as error:
        if wrong := problems_of(error, written.document, plugins):
            raise PolicyError.listing(map(written.placed, wrong)) from None
        return PartialPolicy(written, None)
    digested = written.with_own_files(policy).digested(UNREAD)
    contents = {at: str(locate(digested, at)) for at in paths_of(written.document)}
    files = {at: each for at, each in contents.items() if FILE_DIGEST.fullmatch(each)}
    return PartialPolicy(written, {at: each for at, each in files.items() if each != locate(written.document, at)})


def _any_roles(cls: type[Data], columns: dict[str, ColumnSpec]) -> dict[str, ColumnSpec]:
    return columns


_ANY_ROLES: Any = field_validator("columns")(_any_roles)
"""Stands for the validator that requires a policy's columns to have certain roles."""


def _partial_model(plugins: Plugins) -> type[Policy]:
    complete = policy_model(plugins)
    columns: Any = (dict[str, ColumnSpec], Field({}, description="Some columns, whatever their roles."))
    partial_data = create_model(
        "Data", __base__=_data_model(plugins), __validators__={"_roles_complete": _ANY_ROLES}, columns=columns
    )
    fields: dict[str, Any] = {"data": (partial_data, partial_data())}
    for name, default in LEFT_OUT.items():
        field = copy(complete.model_fields[name])
        field.default = default
        fields[name] = (field.annotation if default is not None else field.annotation | None, field)  # type: ignore[operator]
    return create_model("Policy", __base__=complete, **fields)


def _unused(policy: Policy) -> Iterator[Problem]:
    """Knowledge that is granted or withheld though no attack that gets it takes it into account."""
    if policy.releases and not policy.reads_releases:
        remedy = "leave them out, or try the attack `joint`"
        yield Problem("releases", "no attack and no limit of the policy uses them", remedy)
    if policy.ledger == "required" and not policy.reads_releases:
        remedy = "try the attack `joint`"
        yield Problem("ledger", "no attack and no limit of the policy uses the releases of a ledger", remedy)
    if policy.secret_may_change is not False and not policy.releases and policy.ledger != "required":
        message = "the policy names no other `releases`, and requires no ledger"
        yield Problem("secret_may_change", message, "leave it out, or say `ledger: required`")
    by_default = frozenset[str]().union(*(attack.needs for attack in policy.attacks if attack.knows is None))
    for name, needs in _needs_of(policy.knows):
        if not by_default & needs:
            yield Problem(
                f"knows.{_written(name)}", "no attack of the policy uses it", "leave it out, or try an attack that does"
            )
    for i, attack in enumerate(policy.attacks):
        for name, needs in () if attack.knows is None else _needs_of(attack.knows):
            if not attack.needs & needs:
                grants = Knows.grants().items()
                used = ", ".join(_written(each) for each, grant in grants if attack.needs & grant.needs) or "nothing"
                problem = f"the attack {attack.use} does not use it"
                yield Problem(f"attacks[{i}].knows.{_written(name)}", problem, f"leave it out; this attack uses {used}")


def _unusable_releases(policy: Policy) -> Iterator[Problem]:
    """Other releases that are not there, and columns of frequency tables that say nothing of the class."""
    columns = policy.data.columns
    for i, each in enumerate(policy.releases):
        if not each.path.is_file():
            yield Problem(f"releases[{i}].path", "there is no such file", "name the release as it left")
        place, names = f"releases[{i}].counts", each.counts or ()
        wrong = [name for name in names if name not in columns or not columns[name].values]
        if wrong:
            yield Problem(place, "a column of it has no declared `values`", "count columns with `values`, each once")
        elif names and (len(set(names)) < len(names) or not any("class" in columns[name].role for name in names)):
            yield Problem(place, "the class is not among its columns, or one is there twice", "list each once")


def _unknown_changes(policy: Policy) -> Iterator[Problem]:
    """Directions of changes between values that no secret has."""
    secrets = [spec for spec in policy.data.columns.values() if "sensitive" in spec.role]
    changes = policy.secret_may_change if isinstance(policy.secret_may_change, tuple) else ()
    values = {value for spec in secrets for value in spec.values or ()}
    if secrets and all(spec.values for spec in secrets) and not {*itertools.chain(*changes)} <= values:
        yield Problem("secret_may_change", "it has a value that no secret has", "write values as in `values`, quoted")


def _written(name: str) -> str:
    """The key of `knows` as a policy has it."""
    return Knows.model_fields[name].alias or name


def _needs_of(knows: Knows) -> list[tuple[str, frozenset[Need]]]:
    """What grants or withholds something, and which attacks take it into account."""
    return [(name, needs) for name in knows.changed if (needs := Knows.grants()[name].needs)]


def as_json(document: dict[str, Any]) -> bytes:
    """The document as JSON; a number that is not finite becomes something no field accepts."""
    return json.dumps(_finite_only(document)).encode()


def _finite_only(thing: Any) -> Any:
    """The document with a mapping that no field accepts in place of each number that is not finite."""
    if isinstance(thing, dict):
        return {key: _finite_only(value) for key, value in thing.items()}
    if isinstance(thing, list):
        return [_finite_only(value) for value in thing]
    return {"not finite": None} if isinstance(thing, float) and not math.isfinite(thing) else thing


def policy_model(plugins: Plugins, named: Collection[str] | None = None) -> type[Policy]:
    """The policy model with every installed component in its place, or those that are named; its JSON Schema too."""
    fields: dict[str, Any] = {}
    for name, base in KINDS.items():
        classes, field = plugins.kind(base, named), Policy.model_fields[name]
        component: Any = Union[tuple(classes)] if classes else Annotated[Component, AfterValidator(_refuse_component)]  # noqa: UP007
        chosen = Field(discriminator="use") if len(classes) > 1 else Field()
        if name == "build":
            fields[name] = (component, Field(discriminator=chosen.discriminator, description=field.description))
        else:
            fields[name] = (tuple[Annotated[component, chosen], ...], field)
    if (data := _data_model(plugins, named)) is not Data:
        fields["data"] = (data, Policy.model_fields["data"])
    return create_model("Policy", __base__=Policy, **fields)


def _data_model(plugins: Plugins, named: Collection[str] | None = None) -> type[Data]:
    """The section `data` with the installed data sources in its `source`."""
    classes = plugins.kind(DataSource, named)
    if not classes:
        return Data
    source: Any = Union[tuple(classes)]  # noqa: UP007
    if len(classes) > 1:
        source = Annotated[source, Field(discriminator="use")]
    field = Field(None, description=Data.model_fields["source"].description)
    written = Annotated[source | None, BeforeValidator(_named_source)]
    return create_model("Data", __base__=Data, __doc__=Data.__doc__, source=(written, field))


def _named_source(source: Any) -> Any:
    """A data source without options may be named alone."""
    return {"use": source} if isinstance(source, str) else source


def _refuse_component(component: Component) -> Component:
    raise ValueError("nobody offers anything of this kind")


def _refuse(problems: list[Problem], plugins: Plugins) -> None:
    unknown = [problem for problem in problems if problem.message.startswith("nobody offers")]
    if plugins.broken and len(unknown) == len(problems):
        raise InconclusiveError.listing([*unknown, *_broken(plugins)])
    raise PolicyError.listing(problems)


def _broken(plugins: Plugins) -> list[Problem]:
    return [Problem(p.origin, f"the plugin {p.name!r} is broken: {p.problem}") for p in plugins.broken]
