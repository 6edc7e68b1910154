"""Comparison of two policies: which changes are tighter, looser, or different without an order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from pydantic_core import to_jsonable_python

from leafgate.api.registry import Plugins
from leafgate.kernel.belief import AttributeBelief
from leafgate.kernel.components import AttackModel, Component
from leafgate.kernel.inheritance import FIXED, Inherited, Kind, Option, options_of, rule_of
from leafgate.kernel.knowledge import Knows
from leafgate.kernel.metrics import AtLeast, AtMost, Metric, PersonMetric
from leafgate.kernel.origin import SourceLine
from leafgate.kernel.paths import DocumentPath, format_path, locate
from leafgate.kernel.policy import Policy
from leafgate.kernel.schema import ColumnSpec
from leafgate.policy.reader_options import (
    Refusal,
    is_left_to_child,
    refused_alias,
    refused_answers,
    refused_option,
    roles_of,
)
from leafgate.policy.sources import PolicyDocument, component_name, dict_or_empty
from leafgate.policy.unlisted import allows_step, roles_allowed, roles_named, unlisted_change, unlisted_of

KNOWLEDGE_ROLES = {"quasi_identifier", "sensitive"}
OPTIONS = tuple(options_of(Policy))
"""Every option of a policy, with the rule for what a policy that extends another may do to it."""
KNOWLEDGE = tuple(options_of(Knows))
"""Every option of `knows`, of the policy and of an attack."""
OF_COLUMNS = {option.path[0]: option.rule for option in options_of(ColumnSpec)}
"""The rule of every option of a column."""


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
    if won == {"person"} and lost <= {"ignored", "identifier"}:
        return "tighter"
    return "tighter" if won and won <= KNOWLEDGE_ROLES and lost <= {"private", "ignored", "identifier"} else "different"


def removed_or_added(lost: set[str], won: set[str]) -> Kind:
    return "looser" if lost else "tighter" if won else "different"


UNLISTED = "is not listed by what it extends, which does not allow the role {roles} for it"
ALLOW = (
    "give it the role quasi_identifier; or, in the policy that is extended, list the column, "
    "or say data: {{unlisted: {{except: [{{columns: {name}, roles: [{roles}]}}]}}}}"
)
UNLISTED_PEOPLE = "is not listed by what it extends, which alone may count the people that rows stand for"
UNLISTED_VARIES = "is not listed by what it extends, which alone may say that a person has several values of it"
LIST_VARIES = "leave `varies` out; or list {name} under data.columns of the policy that is extended, with `varies`"
UNLISTED_STEP = "is not listed by what it extends, which alone may say how finely its numbers are public"
ALLOW_STEP = (
    "leave `step` out; or, in the policy that is extended, list {name} under data.columns with its step, or say "
    "data: {{unlisted: {{step: {step}}}}}, which is for all columns that are neither secrets nor the class"
)
UNLISTED_DOMAIN = "is not listed by what it extends, which alone may say that its values are a public code list"
LIST_DOMAIN = "leave `domain` out; or list {name} under data.columns of the policy that is extended, with its values"
UNLISTED_DISTINCT = "is not listed by what it extends, which alone may say that its values are different things"
LIST_DISTINCT = "leave `distinct` out; or list {name} under data.columns of the policy that is extended, with it"
LIST_PEOPLE = "leave `counts` out; or list {name} under data.columns of the policy that is extended, with its reason"


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

    @property
    def is_addition_or_removal(self) -> bool:
        """Did a whole item of a list come or go?"""
        return isinstance(self.path[-1], int) and (self.old is None or self.new is None)


def compare_policies(old: PolicyDocument, new: PolicyDocument, plugins: Plugins) -> list[PolicyChange]:
    """Return every change from the older policy to the newer one; invalid values of either raise no error."""
    comparing = _Comparing(old, new, plugins)
    return [
        *comparing.ordered(),
        *comparing.unlisted(),
        *comparing.columns(),
        *comparing.build(),
        *comparing.named("attacks"),
        *comparing.own_knowledge(),
        *comparing.named("metrics"),
        *comparing.lists(),
        *comparing.rest(),
    ]


@dataclass(frozen=True)
class _Comparing:
    older: PolicyDocument
    newer: PolicyDocument
    plugins: Plugins

    def ordered(self) -> Iterator[PolicyChange]:
        """All values that have an order of their own."""
        for option in _with_rule("ordered"):
            old, new = (option.default if value is None else value for value in self._both(option.path))
            if old != new:
                yield self._change(option.rule.compare(old, new), option.path, old, new)

    def unlisted(self) -> Iterator[PolicyChange]:
        """What is allowed of columns that a policy does not list: less is tighter."""
        path: DocumentPath = ("data", "unlisted")
        old, new = self._both(path)
        if old != new:
            yield self._change(unlisted_change(old, new), path, old, new)

    def columns(self) -> Iterator[PolicyChange]:
        """The roles and the domain of each column."""
        old, new = (dict_or_empty(result) for result in self._both(("data", "columns")))
        for name in [*old, *(name for name in new if name not in old)]:
            before, after, path = old.get(name), new.get(name), ("data", "columns", name)
            roles, become = roles_of(before), roles_of(after)
            if before is None or after is None:
                kind = removed_or_added(roles & KNOWLEDGE_ROLES, become & KNOWLEDGE_ROLES)
                barred = self._barred(name, become) if before is None else set()
                change = self._change(kind, path, before, after, free=before is None and not barred)
                if barred:
                    listed = ", ".join(sorted(barred))
                    hint = ALLOW.format(name=json.dumps(name, ensure_ascii=False), roles=listed)
                    kind = "different" if kind == "tighter" else kind
                    change = replace(change, kind=kind, problem=UNLISTED.format(roles=listed), hint=hint)
                yield change
                yield from self._loosened_by_new_column(name, after) if before is None else ()
                continue
            if roles != become:
                kind = role_change(roles, become)
                if kind == "tighter" and "quasi_identifier" in become and self._limits_inputs():
                    kind = "different"  # the adversary knows more, and the column is no secret input any more
                if dict_or_empty(after).get("step") is not None and {"sensitive", "class"} & (become - roles):
                    kind = "different"  # the step was allowed for what was no secret
                yield self._change(kind, (*path, "role"), sorted(roles), sorted(become))
            yield from self._options_of_column(path, dict_or_empty(before), dict_or_empty(after))
        yield from self._order(list(old), list(new))

    def _options_of_column(
        self, path: DocumentPath, before: dict[str, Any], after: dict[str, Any]
    ) -> Iterator[PolicyChange]:
        """What both policies say of one column, but for its roles."""
        for key in sorted({*before, *after} - {"role"}):
            old, new, rule = before.get(key), after.get(key), OF_COLUMNS.get(key, FIXED)
            if rule.rule == "ordered" and old != new:
                kind = rule.compare(rule.meaning(old), rule.meaning(new))
                yield self._change(kind, (*path, key), old, new)
            elif rule.rule == "free" and old != new:
                yield self._change("different", (*path, key), old, new, free=True)
            elif rule.rule != "ordered":
                is_public = key == "values" and before.get("domain") is not None
                yield from self._stated((*path, key), old, new, free=rule.rule == "completed" and not is_public)

    def _loosened_by_new_column(self, name: str, column: Any) -> Iterator[PolicyChange]:
        """What a column that the older policy does not list may not say of itself."""
        path: DocumentPath = ("data", "columns", name)
        if dict_or_empty(column).get("counts") == "people":
            people = self._change("looser", (*path, "counts"), None, "people")
            yield replace(people, problem=UNLISTED_PEOPLE, hint=LIST_PEOPLE.format(name=name))
        if dict_or_empty(column).get("varies") is True:
            varying = self._change("looser", (*path, "varies"), None, True)
            yield replace(varying, problem=UNLISTED_VARIES, hint=LIST_VARIES.format(name=name))
        step, domain = (dict_or_empty(column).get(key) for key in ("step", "domain"))
        unlisted = unlisted_of(locate(self.older.document, ("data", "unlisted")))
        if step is not None and not allows_step(unlisted, step, roles_of(column)):
            public = self._change("looser", (*path, "step"), None, step)
            yield replace(public, problem=UNLISTED_STEP, hint=ALLOW_STEP.format(name=name, step=step))
        if domain is not None:
            public = self._change("looser", (*path, "domain"), None, domain)
            yield replace(public, problem=UNLISTED_DOMAIN, hint=LIST_DOMAIN.format(name=name))
        distinct = dict_or_empty(column).get("distinct")
        if distinct:
            different = self._change("looser", (*path, "distinct"), None, distinct)
            yield replace(different, problem=UNLISTED_DISTINCT, hint=LIST_DISTINCT.format(name=name))
        yield from self._refused_aliases(dict_or_empty(column), (*path, "aliases"))
        yield from self._refused_answers(dict_or_empty(column), (*path, "no_answer"))

    def _refused_answers(self, column: dict[str, Any], path: DocumentPath) -> Iterator[PolicyChange]:
        """The `no_answer` of such a column, where it may leave unjudged what is a value."""
        marks = column.get("no_answer")
        if isinstance(marks, list) and marks and not is_left_to_child(self.older.document):
            refusal = refused_answers(marks, column.get("values"))
            if refusal is not None:
                yield self._refused(self._change("looser", path, None, marks), refusal)

    def _refused_aliases(self, column: dict[str, Any], path: DocumentPath) -> Iterator[PolicyChange]:
        """The first alias of such a column that may rename somebody."""
        aliases = dict_or_empty(column.get("aliases"))
        listed = locate(self.newer.document, ("data", "missing"))
        missing = frozenset(map(str, listed)) if isinstance(listed, list) else frozenset({""})
        missing |= frozenset(map(str, column.get("no_answer") or ()))
        left = is_left_to_child(self.older.document)
        refusals = (
            refused_alias(str(text), str(value), column, missing, left_to_child=left) for text, value in aliases.items()
        )
        for refusal in filter(None, refusals):
            yield self._refused(self._change("different", path, None, aliases), refusal)
            return

    def _barred(self, name: str, roles: set[str]) -> set[str]:
        """The roles that the older policy does not allow for a column it does not list.

        A quasi_identifier is always allowed, because the adversary knows it. Any other role takes the column from the
        adversary. A sensitive column is covered only by limits on what is learned of it, so the older policy must have
        a limit on every secret, or allow the role itself.
        """
        unlisted = unlisted_of(locate(self.older.document, ("data", "unlisted")))
        if "quasi_identifier" in roles:
            return set()
        barred = roles - roles_allowed(unlisted, name)
        if "sensitive" in roles - barred and "class" not in roles:
            barred |= set() if "sensitive" in roles_named(unlisted, name) or self._limits_secrets() else {"sensitive"}
        return barred

    def _limits_secrets(self) -> bool:
        """Has the older policy a limit on what is learned of every secret?"""
        for _, item in self._older_metrics():
            kind = self.plugins.component(str(item.get("use")))
            about_secrets = kind is not None and issubclass(kind, PersonMetric) and not kind.groups_only
            if about_secrets and item.get("secret") is None and item.get("values") is None:
                return True
        return False

    def _limits_inputs(self) -> bool:
        """Has the older policy a limit on what is inferred of inputs of the model, which are not public?"""
        kinds = [self.plugins.component(str(item.get("use"))) for _, item in self._older_metrics()]
        return any(kind is not None and issubclass(kind, Metric) and AttributeBelief in kind.judges for kind in kinds)

    def _older_metrics(self) -> list[tuple[int, Any]]:
        return _items(locate(self.older.document, ("metrics",)))

    def _order(self, old: list[str], new: list[str]) -> Iterator[PolicyChange]:
        """The order of columns. It names them in a file without a header; otherwise it only breaks ties and is free."""
        nameless = [value is False for value in self._both(("data", "csv", "header"))]
        before, after = ([name for name in names if name in old and name in new] for names in (old, new))
        if any(nameless) and [old.index(name) for name in before] != [new.index(name) for name in before]:
            before, after = old, new
        if before != after:
            moved = [pair for pair in zip_longest(before, after, fillvalue="(none)") if pair[0] != pair[1]]
            was, now = (f"in the order {', '.join(names)}" for names in zip(*moved, strict=True))
            yield self._change("different", ("data", "columns"), was, now, free=not nameless[0])

    def build(self) -> Iterator[PolicyChange]:
        old, new = (dict_or_empty(result) for result in self._both(("build",)))
        if old and new and old.get("use") != new.get("use"):
            yield self._change("different", ("build",), old, new)
        elif old and new:
            yield from self._options(old, new, ("build",), ("build",))
        elif old or new:
            yield self._change("different", ("build",), old or None, new or None, free=not old)

    def named(self, key: str) -> Iterator[PolicyChange]:
        """Attacks or metrics, by their names: more are tighter."""
        old, new = ({str(component_name(item)): (i, item) for i, item in _items(value)} for value in self._both((key,)))
        for name, (i, item) in old.items():
            if name not in new:
                yield self._change("looser", (key, i), item, None, name=name)
                continue
            j, newer = new[name]
            if item.get("use") != newer.get("use"):
                yield self._change("different", (key, i), item, newer, (key, j), name=name)
            else:
                yield from self._options(item, newer, (key, i), (key, j), name)
        for name, (j, item) in new.items():
            if name not in old:
                yield self._change("tighter", (key, j), None, item, name=name)

    def lists(self) -> Iterator[PolicyChange]:
        """Lists to which a policy adds items, such as protected cells: more are tighter; of waivers, fewer are."""
        for option in _with_rule("added"):
            path, adding = option.path, option.rule.compare(None, None)
            old, new = (self._granted(written, path) for written in (self.older, self.newer))
            for item, i, removed in _added_and_removed(old, new):
                kind: Kind = "tighter" if (adding == "tighter") != removed else "looser"
                values = (item, None) if removed else (None, item)
                yield self._change(kind, (*path, i), *values, free=adding == "looser")

    def own_knowledge(self) -> Iterator[PolicyChange]:
        """What each attack of both policies is granted, where one of them has a `knows` for this attack alone.

        More is tighter. An attack without one is granted what the policy's `knows` grants.
        """
        old, new = (
            {str(component_name(item)): (i, item) for i, item in _items(locate(each.document, ("attacks",)))}
            for each in (self.older, self.newer)
        )
        for name, (i, item) in old.items():
            j, newer = new.get(name, (0, {}))
            if item.get("use") != newer.get("use") or (item.get("knows") is None and newer.get("knows") is None):
                continue
            for key, change in self._knowledge(_section_of(i, item), _section_of(j, newer)):
                yield replace(change, path=("attacks", j, "knows", *key), name=name)

    def _knowledge(self, section: DocumentPath, now: DocumentPath) -> Iterator[tuple[DocumentPath, PolicyChange]]:
        """The differences between what two sections `knows` grant, each with its path within the section.

        Args:
            section: the path of the section in the older policy.
            now: the path of the section in the newer policy.
        """
        before, after = (
            dict_or_empty(locate(written.document, path))
            for written, path in ((self.older, section), (self.newer, now))
        )
        for option in KNOWLEDGE:
            key, rule = str(option.path[0]), option.rule
            was, becomes = (*section, key), (*now, key)
            if rule.rule == "ordered":
                old, new = (option.default if granted.get(key) is None else granted[key] for granted in (before, after))
                if old != new:
                    yield (key,), self._change(rule.compare(old, new), was, old, new, becomes)
            elif rule.rule == "granted":
                files = _file_of(self.older, was), _file_of(self.newer, becomes)
                if files[0] != files[1]:
                    kind: Kind = "different" if all(files) else "tighter" if files[1] else "looser"
                    yield (key,), self._change(kind, was, before.get(key), after.get(key), becomes)
            elif rule.rule == "added":
                items = self._granted(self.older, was), self._granted(self.newer, becomes)
                for item, i, removed in _added_and_removed(*items):
                    values = (item, None) if removed else (None, item)
                    path = (*(was if removed else becomes), i)
                    yield (key, i), self._change("looser" if removed else "tighter", path, *values)

    def rest(self) -> Iterator[PolicyChange]:
        """Values without an order: the policy's name, its files and how they are read, its seed."""
        for option in OPTIONS:
            path, rule = option.path, option.rule.rule
            old, new = self._both(path)
            if old == new:
                continue
            if rule in {"completed", "granted"}:
                yield from self._stated(path, old, new, grants=rule == "granted")
            elif rule == "free":
                yield self._change("different", path, old, new, free=True)
            elif rule == "reading":  # the policy that describes the columns also decides which rows are people
                refusal = refused_option(self.older.document, self.newer.document, path, self.plugins)
                change = self._change("different", path, old, new, free=refusal is None)
                yield change if refusal is None else self._refused(change, refusal)

    def _refused(self, change: PolicyChange, refusal: Refusal) -> PolicyChange:
        problem = f"{refusal.problem}, which what it extends does not allow" if refusal.problem else ""
        return replace(change, problem=problem, hint=refusal.hint)

    def _options(
        self, old: dict[str, Any], new: dict[str, Any], path: DocumentPath, now: DocumentPath, name: str = ""
    ) -> Iterator[PolicyChange]:
        """The options of one component that is used in both."""
        kind = self.plugins.component(str(old.get("use")))
        for key in [*old, *(key for key in new if key not in old)]:
            before, after = (_option(kind, result, key) for result in (old, new))
            compared_elsewhere = path[0] == "attacks" and key == "knows"
            if key not in {"use", "name"} and not compared_elsewhere and before != after:
                rule = rule_of_option(kind, key)
                change = rule.compare(before, after)
                yield self._change(
                    change, (*path, key), before, after, (*now, key), name=name, free=rule.rule == "free"
                )

    def _stated(
        self, path: DocumentPath, old: Any, new: Any, *, grants: bool = False, free: bool = True
    ) -> Iterator[PolicyChange]:
        """A value without an order; if it is `free`, a child may set it where the parent does not."""
        if old != new:
            kind: Kind = "different" if not grants or (old and new) else "tighter" if new else "looser"
            yield self._change(kind, path, old, new, free=free and old is None)

    def _granted(self, written: PolicyDocument, path: DocumentPath) -> list[tuple[int, Any]]:
        items = _items(locate(written.document, path), anything=True)
        known = locate(written.document, (*path[:-1], "facts_known")) if path[-2:] == ("knows", "facts") else None
        return items[:known] if isinstance(known, int) and known >= 0 else items

    def _both(self, path: DocumentPath) -> tuple[Any, Any]:
        return locate(self.older.document, path), locate(self.newer.document, path)

    def _change(
        self,
        kind: Kind,
        path: DocumentPath,
        old: Any,
        new: Any,
        now: DocumentPath = (),
        *,
        free: bool = False,
        name: str = "",
    ) -> PolicyChange:
        lines = line_of_value(self.older, path, value=old), line_of_value(self.newer, now or path, value=new)
        return PolicyChange(kind, path if old is not None else now or path, old, new, *lines, free, name)


def line_of_value(written: PolicyDocument, path: DocumentPath, *, value: Any) -> SourceLine | None:
    """Return the line of the value at a path, or of the nearest value around it; of a missing item, its list's."""
    return nearest_line(written, path[:-1] if value is None and isinstance(path[-1], int) else path)


def nearest_line(written: PolicyDocument, path: DocumentPath) -> SourceLine | None:
    """Return the line of a path or of the innermost path around it; None where none of them has a line."""
    while path and path not in written.lines:
        path = path[:-1]
    return written.lines.get(path)


def _option(kind: type[Component] | None, document: dict[str, Any], key: str) -> Any:
    """Return the option's value in the document, or its default."""
    if key == "scored" and kind is not None and issubclass(kind, PersonMetric):
        return document.get(key, kind.default_scored())
    if key == "access" and kind is not None and issubclass(kind, AttackModel):
        return document.get(key) or kind.strongest_access()
    field = None if kind is None else kind.model_fields.get(key)
    default = None if field is None or field.is_required() else field.get_default(call_default_factory=True)
    return document.get(key, to_jsonable_python(default, fallback=str))


def _with_rule(rule: str) -> list[Option]:
    """The options of a policy with this rule."""
    return [option for option in OPTIONS if option.rule.rule == rule]


def _items(document: Any, *, anything: bool = False) -> list[tuple[int, Any]]:
    items = enumerate(document if isinstance(document, list) else [])
    return [(i, item) for i, item in items if anything or isinstance(item, dict)]


def _added_and_removed(old: list[tuple[int, Any]], new: list[tuple[int, Any]]) -> Iterator[tuple[Any, int, bool]]:
    """The items that only one of two lists has, each with its position there and whether the older list has it."""
    for items, others, removed in ((old, new, True), (new, old, False)):
        known = {_canonical(item) for _, item in others}
        yield from ((item, i, removed) for i, item in items if _canonical(item) not in known)


def _section_of(number: int, attack: dict[str, Any]) -> DocumentPath:
    """The path of the `knows` that grants an attack its knowledge: its own, or the policy's."""
    return ("knows",) if attack.get("knows") is None else ("attacks", number, "knows")


def _file_of(written: PolicyDocument, path: DocumentPath) -> tuple[Any, ...] | None:
    """What decides which file a path means: its name, and the folder of the policy that names it; None for no file."""
    name, line = locate(written.document, path), written.lines.get(path)
    home = None if line is None else written.homes.get(line.file)
    return None if name is None else (name,) if home is None else (name, home.folder.resolve(), home.held)


def _canonical(document: Any) -> str:
    """Return a text that is equal for equal documents, whatever the order of their keys."""
    return json.dumps(document, sort_keys=True, default=str)
