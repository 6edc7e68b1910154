"""Merging of policies that extend each other, and the check that no policy loosens what it extends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafgate.api.registry import Plugins, load_trusted
from leafgate.errors import PolicyError, Problem
from leafgate.io.text import printable, shorten
from leafgate.kernel.inheritance import FIXED, SECTION, Inherited, options_of
from leafgate.kernel.origin import SourceLine
from leafgate.kernel.paths import DocumentPath, component_name, locate, paths_of
from leafgate.kernel.policy import Policy
from leafgate.lazy_loading import lazy
from leafgate.policy.reader_options import file_checks
from leafgate.policy.sources import Chain, PolicyDocument, load_extends_chain

if TYPE_CHECKING:
    from leafgate.policy import strictness
    from leafgate.policy.strictness import PolicyChange
else:  # a policy that extends no other is compared with none
    strictness = lazy("leafgate.policy.strictness")

RULES: dict[DocumentPath, Inherited] = {(): SECTION, **{option.path: option.rule for option in options_of(Policy)}}
"""The rule of each field; the `knows` of an attack has those of the policy's."""


def merged(parent: PolicyDocument, child: PolicyDocument) -> PolicyDocument:
    """Return the child's policy with all it leaves out taken from the parent; each value keeps its source line."""
    merging = _Merging(parent, child)
    document = merging.value((), (), ())
    document.pop("extends", None)
    merging.lines.pop(("extends",), None)
    return replace(
        parent,
        document=document,
        file=child.file,
        lines=merging.lines,
        extends=(parent.file, *parent.extends),
        homes={**parent.homes, **child.homes},
    )


@dataclass(frozen=True)
class _Merging:
    """Two policies, and the lines of the values that were merged so far."""

    parent: PolicyDocument
    child: PolicyDocument
    lines: dict[DocumentPath, SourceLine] = field(default_factory=dict)

    def value(self, was: DocumentPath | None, now: DocumentPath | None, here: DocumentPath) -> Any:
        """Merge the values at a path of the parent and of the child; where one has none, take over the other's."""
        if was is None or now is None:
            source, path = (self.parent, was or ()) if now is None else (self.child, now)
            value = locate(source.document, path)
            for at in paths_of(value, here):
                if line := source.lines.get(at if path == here else (*path, *at[len(here) :])):
                    self.lines[at] = line
            return value
        old, new = locate(self.parent.document, was), locate(self.child.document, now)
        rule = _rule_at(here).rule
        merging: Any
        if isinstance(old, list) and isinstance(new, list) and rule in {"added", "named"}:
            pairs = _named(old, new) if rule == "named" else _joined(old, new)
            merging = [self.value(_at(was, i), _at(now, j), (*here, n)) for n, (i, j) in enumerate(pairs)]
        elif isinstance(old, dict) and isinstance(new, dict) and _is_by_key(old, new, here):
            keys = {
                key: (key if key in old else None, key if key in new else None) for key in self._keys(old, new, here)
            }
            merging = {key: self.value(_at(was, i), _at(now, j), (*here, key)) for key, (i, j) in keys.items()}
        else:  # a file of the same name is the parent's file
            is_parents = isinstance(old, str) and old == new
            return self.value(was if is_parents else None, None if is_parents else now, here)
        if line := self.child.lines.get(now):
            self.lines[here] = line
        return merging

    def _keys(self, old: dict[str, Any], new: dict[str, Any], here: DocumentPath) -> list[str]:
        """The keys of both in order: columns as the child has them, which names the file, unless they have no names."""
        keys = list(old | new)
        nameless = locate(self.parent.document, ("data", "csv", "header")) is False
        if here == ("data", "columns") and not (nameless and [key for key in keys if key in new] == list(new)):
            keys = list(new | old)
        return keys


def _at(path: DocumentPath, step: str | int | None) -> DocumentPath | None:
    return None if step is None else (*path, step)


Pairs = list[tuple[int | None, int | None]]
"""The positions of items of an older and a newer list that are one item of the merged list."""


def _joined(old: list[Any], new: list[Any]) -> Pairs:
    """The items of a list, and those that another adds."""
    return [*((i, None) for i in range(len(old))), *((None, j) for j, item in enumerate(new) if item not in old)]


def _named(old: list[Any], new: list[Any]) -> Pairs:
    """The items of two lists, those with equal names together."""
    unmatched = dict(enumerate(map(component_name, new)))
    pairs: Pairs = []
    for i, item in enumerate(old):
        name = component_name(item)
        match = next((j for j, each in unmatched.items() if name is not None and each == name), None)
        unmatched = {j: each for j, each in unmatched.items() if j != match}
        pairs.append((i, match))
    return [*pairs, *((None, j) for j in unmatched)]


def _rule_at(path: DocumentPath) -> Inherited:
    inner = path[2:] if len(path) > 2 and path[0] == "attacks" and path[2] == "knows" else path
    return RULES.get(inner, FIXED)


def _is_by_key(old: dict[str, Any], new: dict[str, Any], path: DocumentPath) -> bool:
    """Is this mapping merged key by key? A component with another `use` and deeper mappings are replaced."""
    if _rule_at(path).rule == "component" or (len(path) == 2 and _rule_at(path[:1]).rule == "named"):
        return "use" not in new or old.get("use") == new["use"]
    return _rule_at(path).by_key or (len(path) == 3 and path[:2] == ("data", "columns"))


MAX_VALUE_LENGTH = 60
"""Signs of a policy's value that are quoted in a sentence."""
REMEDY = "what extends a policy may only tighten it"


def inherited(path: Path, orgs: Sequence[Path] = ()) -> PolicyDocument:
    """Return a policy merged with all it extends, with a problem for each value that loosens that.

    `orgs` are the organisations' policies that it is held to.

    Several organisations' policies do not extend one another: each is checked alone, and the policy that results from
    all of them must be at least as tight as each.

    Raises:
        PolicyError: a policy trusts plugins that its parent does not. It is raised at once, so that untrusted code is
            never loaded.
    """
    chain = load_extends_chain(path, orgs)
    if len(chain.organisations) < 2:
        return reduce(_extended, chain.policies)
    bases = [reduce(_extended, organisation) for organisation in chain.organisations]
    together = reduce(merged, Chain([], chain.organisations).policies)
    for base in bases:
        _refuse_untrusted(base, reduce(merged, chain.own, together))
    whole = reduce(_extended, chain.own, together)
    for base in bases:
        checks = whole.file_checks | base.file_checks
        whole = _held_to(base, replace(whole, loosened=(*whole.loosened, *base.loosened), file_checks=checks))
    return replace(whole, loosened=tuple(dict.fromkeys(whole.loosened)))


def _extended(parent: PolicyDocument, child: PolicyDocument) -> PolicyDocument:
    return _held_to(parent, merged(parent, child))


def _held_to(parent: PolicyDocument, whole: PolicyDocument) -> PolicyDocument:
    """Return a merged policy with a problem for each value that loosens one that is merged into it."""
    _refuse_untrusted(parent, whole)
    try:
        plugins = load_trusted(whole.document)
    except PolicyError:
        plugins = Plugins()  # load_policy reports what is wrong with the pins
    checks = whole.file_checks | file_checks(parent.document, whole.document)
    return replace(whole, loosened=(*whole.loosened, *_loosened(parent, whole, plugins)), file_checks=checks)


def _loosened(parent: PolicyDocument, whole: PolicyDocument, plugins: Plugins) -> list[Problem]:
    return [_problem(change) for change in strictness.compare_policies(parent, whole, plugins) if loosens(change)]


def _refuse_untrusted(parent: PolicyDocument, whole: PolicyDocument) -> None:
    before, now = (replace(each, document={"plugins": each.document.get("plugins")}) for each in (parent, whole))
    if wider := _loosened(before, now, Plugins()):
        raise PolicyError.listing(wider)


def loosens(change: PolicyChange) -> bool:
    """Is the change forbidden to a policy that extends the older one?"""
    return change.kind != "tighter" and not change.allowed_in_child


def _problem(change: PolicyChange) -> Problem:
    what = "loosens" if change.kind == "looser" else "changes, in no direction that is tighter,"
    was, now = quoted_value(change.old), quoted_value(change.new)
    what = change.problem or f"{what} what it extends"
    message = f"{what}: {was} became {now}; {_quoted(change.old_line)} | {_quoted(change.new_line)}"
    return Problem(change.place, message, change.hint or REMEDY)


def _quoted(line: SourceLine | None) -> str:
    return "(by default)" if line is None else str(line)


def quoted_value(value: Any) -> str:
    """Return a value of a policy as a sentence can quote it: in one line, at most MAX_VALUE_LENGTH signs."""
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return printable(shorten(text, MAX_VALUE_LENGTH))
