"""Comparison of two policies by the rules of their fields: which changes are tighter, looser, or have no order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from leafgate.api.registry import Plugins
from leafgate.kernel.belief import AttributeBelief
from leafgate.kernel.components import AttackModel, Component
from leafgate.kernel.inheritance import FIXED, Inherited, Kind, Option, options_of, rule_of
from leafgate.kernel.knowledge import Knows
from leafgate.kernel.metrics import AtLeast, AtMost, Metric, PersonMetric
from leafgate.kernel.origin import SourceLine
from leafgate.kernel.paths import DocumentPath, component_name, dict_or_empty, format_path, locate
from leafgate.kernel.policy import Policy
from leafgate.kernel.schema import UNUSED_ROLES, ColumnSpec
from leafgate.kernel.unlisted import FREE_ROLES, Unlisted, unlisted_of
from leafgate.policy.reader_options import Refusal, refused_option, refused_texts, roles_of
from leafgate.policy.sources import PolicyDocument

KNOWLEDGE_ROLES = {"quasi_identifier", "sensitive"}


def rule_of_option(kind: type[Component] | None, key: str) -> Inherited:
    """The rule of a component's option: as the component's fields have it, or as it is for all options of this name."""
    if key == "time_limit" and kind is not None and issubclass(kind, AttackModel) and kind.limits_itself():
        return rule_of(kind.model_fields[key]) or FIXED  # such an attack may believe less when its time is over
    for each in (*((AttackModel,) if kind is None else kind.__mro__), AtLeast, AtMost):
        if issubclass(each, Component) and key in each.model_fields and (rule := rule_of(each.model_fields[key])):
            return rule
    return FIXED


def role_change(old: set[str], new: set[str]) -> Kind:
    """Knowing a column, having to keep it secret, or counting persons by it is tighter; none of these may be lost."""
    lost, won = old - new, new - old
    if lost & (KNOWLEDGE_ROLES | {"person"}):
        return "looser"
    if won == {"person"} and lost <= UNUSED_ROLES:
        return "tighter"
    return "tighter" if won and won <= KNOWLEDGE_ROLES and lost <= {"private", *UNUSED_ROLES} else "different"


UNLISTED = "is not listed by what it extends, which does not allow the role {roles} for it"
ALLOW = (
    "give it the role quasi_identifier; or, in the policy that is extended, list the column, "
    "or say data: {{unlisted: {{except: [{{columns: {name}, roles: [{roles}]}}]}}}}"
)
UNLISTED_OPTION = "is not listed by what it extends, which alone may state its `{key}`"
LIST_COLUMN = "leave `{key}` out; or list {name} under data.columns of the policy that is extended, and state it there"
ALLOW_STEP = ", or say data: {{unlisted: {{step: {step}}}}}, which is for all columns but secrets and the class"


@dataclass(frozen=True)
class PolicyChange:
    """One value that differs between an older and a newer policy.

    `old` and `new` are the values, None where there is none, with their source lines if known. `allowed_in_child`
    means that a policy which extends the older one may make this change. `name` is that of the changed attack or
    metric. `problem` and `hint` describe what is wrong and what to do, where the kind of change does not say it.
    """

    kind: Kind
    path: DocumentPath
    old: Any
    new: Any
    old_line: SourceLine | None = None
    new_line: SourceLine | None = None
    allowed_in_child: bool = False
    name: str = ""
    problem: str = ""
    hint: str = ""

    @property
    def place(self) -> str:
        """The path as text."""
        return format_path(self.path)


def compare_policies(old: PolicyDocument, new: PolicyDocument, plugins: Plugins) -> list[PolicyChange]:
    """Return every change from the older policy to the newer one; invalid values of either raise no error."""
    return list(_Comparing(old, new, plugins).section(Policy, _Both(old.document, new.document)))


@dataclass(frozen=True)
class _Both:
    """A value of the older policy and one of the newer, each with its path; `name` is that of the component around."""

    old: Any
    new: Any
    was: DocumentPath = ()
    now: DocumentPath = ()
    name: str = ""

    def at(self, *path: str | int) -> _Both:
        """What both have at a path within."""
        old, new = locate(self.old, path), locate(self.new, path)
        return _Both(old, new, (*self.was, *path), (*self.now, *path), self.name)


@dataclass(frozen=True)
class _Comparing:
    older: PolicyDocument
    newer: PolicyDocument
    plugins: Plugins

    @cached_property
    def unlisted(self) -> Unlisted:
        """What the older policy allows of columns that it does not list."""
        return unlisted_of(locate(self.older.document, ("data", "unlisted")))

    def section(self, model: type[BaseModel], both: _Both) -> Iterator[PolicyChange]:
        """Compare two sections of one model: each field by its own rule."""
        for option in options_of(model):
            yield from self.option(option.rule, both.at(*option.path), option.default)

    def option(self, rule: Inherited, both: _Both, default: Any = None) -> Iterator[PolicyChange]:
        """Compare the values of one field by its rule; `default` is what an ordered one means where it is left out."""
        if rule.rule == "ordered":
            old, new = (default if value is None else value for value in (both.old, both.new))
            if old != new:
                yield self._change(rule.compare(old, new), replace(both, old=old, new=new))
        elif rule.rule == "columns":
            yield from self.columns(both)
        elif rule.rule in {"component", "named"}:
            yield from self.components(both)
        elif rule.rule == "added":
            yield from self.items(both, adding=rule.compare(None, None))
        elif rule.rule == "special" or (both.old == both.new and not self._are_two_files(both)):
            return
        elif rule.rule == "reading":  # the policy that describes the columns also decides which rows are people
            refusal = refused_option(self.older.document, self.newer.document, both.was, self.plugins)
            yield self._change("different", both, free=refusal is None, refusal=refusal)
        elif rule.rule == "granted" and not (both.old and both.new):
            yield self._change("tighter" if both.new else "looser", both, free=both.old is None)
        else:
            is_completed = rule.rule == "completed" and both.old is None and not self._is_of_public_list(both)
            yield self._change("different", both, free=rule.rule == "free" or is_completed)

    def items(self, both: _Both, adding: Kind) -> Iterator[PolicyChange]:
        """Compare lists by their items, such as protected cells: more are tighter; of waivers, fewer are."""
        old, new = _granted(self.older, both.was), _granted(self.newer, both.now)
        for items, others, path, is_removed in ((old, new, both.was, True), (new, old, both.now, False)):
            known = {_canonical(item) for item in others}
            for i, item in enumerate(items):
                if _canonical(item) not in known:
                    kind: Kind = "tighter" if (adding == "tighter") != is_removed else "looser"
                    before, after = (item, None) if is_removed else (None, item)
                    yield self._change(kind, _Both(before, after, (*path, i), (*path, i)), free=adding == "looser")
        texts = [*map(_canonical, old)], [*map(_canonical, new)]
        if adding == "tighter" and _in_common(*texts) != _in_common(*texts[::-1]):
            yield self._change("different", replace(both, old="in one order", new="in another"), free=True)

    def components(self, both: _Both) -> Iterator[PolicyChange]:
        """Compare the builder, or attacks or metrics by their names, of which more are tighter."""
        old, new = _components(both.old, both.was), _components(both.new, both.now)
        for name in dict.fromkeys([*old, *new]):
            was, item = old.get(name) or (new[name][0], None)
            now, newer = new.get(name) or (old[name][0], None)
            pair = _Both(item, newer, was, now, name)
            if item is not None and newer is not None and item.get("use") == newer.get("use"):
                yield from self._options(pair)
                if both.was == ("attacks",) and (item.get("knows") is not None or newer.get("knows") is not None):
                    yield from self._own_knowledge(pair)
            elif name == "" or (item is not None and newer is not None):
                yield self._change("different", pair, free=item is None)
            else:
                yield self._change("looser" if newer is None else "tighter", pair)
        yield from self._order([*old], [*new], both)

    def _options(self, both: _Both) -> Iterator[PolicyChange]:
        """Compare the options of one component that is used in both."""
        kind = self.plugins.component(str(both.old.get("use")))
        for key in dict.fromkeys([*both.old, *both.new]):
            rule = rule_of_option(kind, key)
            before, after = (_option(kind, result, key) for result in (both.old, both.new))
            if key not in {"use", "name"} and rule.rule != "special" and before != after:
                change = replace(both.at(key), old=before, new=after)
                yield self._change(rule.compare(before, after), change, free=rule.rule == "free")

    def _own_knowledge(self, attack: _Both) -> Iterator[PolicyChange]:
        """Compare what an attack is granted: by its own `knows`, or by the policy's where it has none."""
        was, now = (
            ("knows",) if item.get("knows") is None else (*path, "knows")
            for item, path in ((attack.old, attack.was), (attack.new, attack.now))
        )
        old, new = locate(self.older.document, was), locate(self.newer.document, now)
        for change in self.section(Knows, _Both(old, new, was, now, attack.name)):
            key = change.path[change.path.index("knows") :]
            yield replace(change, path=(*attack.now, *key), name=attack.name)

    def columns(self, both: _Both) -> Iterator[PolicyChange]:
        """Compare each column, and their order."""
        old, new = dict_or_empty(both.old), dict_or_empty(both.new)
        for name in dict.fromkeys([*old, *new]):
            column = both.at(name)
            if column.old == column.new:
                continue
            if column.old is None:
                yield from self._unlisted_column(name, column)
            elif column.new is None:
                yield self._change("looser" if roles_of(column.old) & KNOWLEDGE_ROLES else "different", column)
            else:
                yield from self._roles(column)
                for option in options_of(ColumnSpec):
                    if locate(column.old, option.path) != locate(column.new, option.path):
                        yield from self.option(option.rule, column.at(*option.path), option.default)
        nameless = [locate(each.document, ("data", "csv", "header")) is False for each in (self.older, self.newer)]
        yield from self._order([*old], [*new], both, nameless=nameless)

    def _roles(self, column: _Both) -> Iterator[PolicyChange]:
        roles, become = roles_of(column.old), roles_of(column.new)
        if roles == become:
            return
        kind = role_change(roles, become)
        if kind == "tighter" and "quasi_identifier" in become and self._limits_inputs():
            kind = "different"  # the adversary knows more, and the column is no secret input any more
        if column.at("step").new is not None and {"sensitive", "class"} & (become - roles):
            kind = "different"  # the step was allowed for what was no secret
        yield self._change(kind, replace(column.at("role"), old=sorted(roles), new=sorted(become)))

    def _unlisted_column(self, name: str, column: _Both) -> Iterator[PolicyChange]:
        """Compare a column that the older policy does not list with what it allows of such columns.

        A quasi_identifier is always allowed, because the adversary knows it. Any other role takes the column from the
        adversary. A sensitive column is covered only by limits on what is learned of it, so the older policy must have
        a limit on every secret, or allow the role itself. Options may not be looser than their defaults.
        """
        roles, named = roles_of(column.new), self.unlisted.roles_named(name)
        barred = set[str]() if "quasi_identifier" in roles else roles - FREE_ROLES - named
        if "sensitive" in roles and not roles & {"class", "quasi_identifier"} and "sensitive" not in named:
            barred |= set() if self._limits_secrets() else {"sensitive"}
        kind: Kind = "tighter" if roles & KNOWLEDGE_ROLES and not barred else "different"
        listed = ", ".join(sorted(barred))
        hint = ALLOW.format(name=json.dumps(name, ensure_ascii=False), roles=listed)
        refused = Refusal(UNLISTED.format(roles=listed), hint) if barred else None
        yield self._change(kind, column, free=not barred, refusal=refused)
        for option in options_of(ColumnSpec):
            value = locate(column.new, option.path)
            if (
                value is not None
                and _is_loosened(option, value)
                and not (option.path == ("step",) and self.unlisted.allows_step(value, roles))
            ):
                key = str(option.path[0])
                allow = ALLOW_STEP.format(step=value) if key == "step" else ""
                refused = Refusal(UNLISTED_OPTION.format(key=key), LIST_COLUMN.format(key=key, name=name) + allow)
                yield self._change("looser", column.at(key), refusal=refused)
        for key, kind, refusal in refused_texts(self.older.document, self.newer.document, dict_or_empty(column.new)):
            yield self._change(kind, column.at(key), refusal=refusal)

    def _limits_secrets(self) -> bool:
        """Has the older policy a limit on what is learned of every secret?"""
        return any(
            issubclass(kind, PersonMetric) and not kind.groups_only and not {"secret", "values"} & _stated(item)
            for kind, item in self._older_metrics()
        )

    def _limits_inputs(self) -> bool:
        """Has the older policy a limit on what is inferred of inputs of the model, which are not public?"""
        return any(issubclass(kind, Metric) and AttributeBelief in kind.judges for kind, _ in self._older_metrics())

    def _older_metrics(self) -> Iterator[tuple[type[Component], dict[str, Any]]]:
        for _, item in _components(self.older.document.get("metrics"), ()).values():
            if kind := self.plugins.component(str(item.get("use"))):
                yield kind, item

    def _order(
        self, old: list[str], new: list[str], both: _Both, *, nameless: Sequence[bool] = (False,)
    ) -> Iterator[PolicyChange]:
        """Compare the order of columns or components, which breaks ties and is free.

        It names the columns in a file without a header: `nameless` says of both policies whether theirs is one.
        """
        before, after = _in_common(old, new), _in_common(new, old)
        if any(nameless) and [old.index(name) for name in before] != [new.index(name) for name in before]:
            before, after = old, new
        if before != after:
            moved = [pair for pair in zip_longest(before, after, fillvalue="(none)") if pair[0] != pair[1]]
            was, now = (f"in the order {', '.join(names)}" for names in zip(*moved, strict=True))
            yield self._change("different", replace(both, old=was, new=now), free=not nameless[0])

    def _are_two_files(self, both: _Both) -> bool:
        """Does the `knows` of an attack name a file as that of the older policy does, and mean another one?"""
        if both.was[0] == both.now[0] or not isinstance(both.old, str):
            return False
        return bool(_home_of(self.older, both.was) != _home_of(self.newer, both.now))

    def _is_of_public_list(self, both: _Both) -> bool:
        """Are these the values of a list that the older policy calls public?"""
        return both.was[-1] == "values" and locate(self.older.document, (*both.was[:-1], "domain")) is not None

    def _change(self, kind: Kind, both: _Both, *, free: bool = False, refusal: Refusal | None = None) -> PolicyChange:
        lines = (
            line_of_value(self.older, both.was, value=both.old),
            line_of_value(self.newer, both.now, value=both.new),
        )
        path, why = both.was if both.old is not None else both.now, refusal or Refusal()
        return PolicyChange(kind, path, both.old, both.new, *lines, free, both.name, why.problem, why.hint)


def line_of_value(written: PolicyDocument, path: DocumentPath, *, value: Any) -> SourceLine | None:
    """Return the line of the value at a path, or of the nearest value around it; of a missing item, its list's."""
    return written.nearest_line(path[:-1] if value is None and isinstance(path[-1], int) else path)


def _option(kind: type[Component] | None, document: dict[str, Any], key: str) -> Any:
    """Return the option's value in the document, or its default."""
    if key == "scored" and kind is not None and issubclass(kind, PersonMetric):
        return document.get(key, kind.default_scored())
    if key == "access" and kind is not None and issubclass(kind, AttackModel):
        return document.get(key) or kind.strongest_access()
    field = None if kind is None else kind.model_fields.get(key)
    default = None if field is None or field.is_required() else field.get_default(call_default_factory=True)
    return document.get(key, to_jsonable_python(default, fallback=str))


def _components(written: Any, path: DocumentPath) -> dict[str, tuple[DocumentPath, dict[str, Any]]]:
    """The path and the document of each attack or metric by its name; the builder has none."""
    if isinstance(written, dict):
        return {"": (path, written)} if written else {}
    items = enumerate(written if isinstance(written, list) else [])
    return {str(component_name(item)): ((*path, i), item) for i, item in items if isinstance(item, dict)}


def _in_common(names: Sequence[str], others: Sequence[str]) -> list[str]:
    known = {*others}
    return [name for name in names if name in known]


def _is_loosened(option: Option, value: Any) -> bool:
    """Is the value of a column's option looser than its default, where the policy that lists the column decides?"""
    rule = option.rule
    if rule.rule != "ordered" or rule.descriptive or value == option.default:
        return False
    return rule.compare(option.default, value) == "looser"


def _stated(item: dict[str, Any]) -> set[str]:
    return {key for key, value in item.items() if value is not None}


def _granted(written: PolicyDocument, path: DocumentPath) -> list[Any]:
    """The items of a list; of facts, those that are granted."""
    items = locate(written.document, path)
    known = locate(written.document, (*path[:-1], "facts_known")) if path[-2:] == ("knows", "facts") else None
    items = items if isinstance(items, list) else []
    return items[:known] if isinstance(known, int) and known >= 0 else items


def _home_of(written: PolicyDocument, path: DocumentPath) -> Any:
    """The folder of the policy that names a file."""
    line = written.lines.get(path)
    home = None if line is None else written.homes.get(line.file)
    return None if home is None else (home.folder.resolve(), home.held)


def _canonical(document: Any) -> str:
    """Return a text that is equal for equal documents, whatever the order of their keys."""
    return json.dumps(document, sort_keys=True, default=str)
