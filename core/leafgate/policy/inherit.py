"""A policy and the one it extends, as one: what a child leaves out stays as the parent has it."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from leafgate.api.plan import SourceLine
from leafgate.api.registry import Plugins, load_plugins
from leafgate.errors import InvalidError, PolicyError, Problem
from leafgate.policy.sources import Chain, PolicyDocument, name_of
from leafgate.policy.strictness import Change, compared

Steps = tuple[str | int, ...]
KEYED: set[Steps] = {("attacks",), ("metrics",)}
"""Lists whose items have names: equal names are one item."""
JOINED: set[Steps] = {("data", "protect"), ("knows", "facts"), ("waivers",)}
"""Lists a child adds to."""
SECTIONS: set[Steps] = {
    (),
    ("data",),
    ("data", "csv"),
    ("data", "columns"),
    ("publish",),
    ("knows",),
    ("report",),
    ("approvals",),
}
"""Mappings that are merged key by key; a column, a builder, an attack and a metric are, too."""


def merged(parent: PolicyDocument, child: PolicyDocument) -> PolicyDocument:
    """The child's policy with all it leaves out taken from the parent; every place keeps the line it came from."""
    own = {key: result for key, result in child.document.items() if key != "extends"}
    merging = _Merging(parent.lines, child.lines, nameless=_without_header(parent.document))
    document = merging.mapping(parent.document, own, _Place())
    document.pop("extends", None)
    homes = {**parent.homes, **child.homes}
    return PolicyDocument(document, child.file, merging.lines, (parent.file, *parent.extends), homes)


@dataclass(frozen=True)
class _Place:
    """One thing's place in the parent, in the child and in what becomes of both; `steps` lead there."""

    parent: str = ""
    child: str = ""
    merged: str = ""
    steps: Steps = ()

    def key(self, key: str) -> _Place:
        parent, child, merged = (f"{place}.{key}" if place else key for place in (self.parent, self.child, self.merged))
        return _Place(parent, child, merged, (*self.steps, key))

    def item(self, parent: int, child: int, merged: int) -> _Place:
        steps = (*self.steps, merged)
        return _Place(f"{self.parent}[{parent}]", f"{self.child}[{child}]", f"{self.merged}[{merged}]", steps)


@dataclass
class _Merging:
    parent: Mapping[str, SourceLine]
    child: Mapping[str, SourceLine]
    nameless: bool = False
    lines: dict[str, SourceLine] = field(default_factory=dict)
    sorted: dict[int, list[str]] = field(default_factory=dict)

    def mapping(self, parent: dict[str, Any], child: dict[str, Any], at: _Place) -> dict[str, Any]:
        """Key by key; columns in the child's order, for it knows the file.

        Without a header the order is what the parent said, as long as the child says nothing else.
        """
        keys, childs = list(parent | child), list(child | parent)
        if at.steps == ("data", "columns") and not (self.nameless and [k for k in keys if k in child] == list(child)):
            keys = childs
        return {key: self._key(key, parent, child, at.key(key)) for key in keys}

    def _key(self, key: str, parent: dict[str, Any], child: dict[str, Any], at: _Place) -> Any:
        if key not in child:
            return self._take(parent[key], self.parent, at.parent, at.merged)
        if key not in parent:
            return self._take(child[key], self.child, at.child, at.merged)
        return self._both(parent[key], child[key], at)

    def _both(self, parent: Any, child: Any, at: _Place) -> Any:
        if isinstance(parent, list) and isinstance(child, list) and at.steps in KEYED | JOINED:
            self._head(at)
            return list((self._named if at.steps in KEYED else self._joined)(parent, child, at))
        if isinstance(parent, dict) and isinstance(child, dict) and _by_key(parent, child, at.steps):
            self._head(at)
            return self.mapping(parent, child, at)
        if isinstance(parent, str) and parent == child:  # a file of this name is the parent's file
            return self._take(parent, self.parent, at.parent, at.merged)
        return self._take(child, self.child, at.child, at.merged)

    def _named(self, parent: list[Any], child: list[Any], at: _Place) -> Iterator[Any]:
        """The parent's items, each with what the child says of it; then the child's own."""
        names, left = [name_of(item) for item in child], list(range(len(child)))
        for i, item in enumerate(parent):
            mine = next((j for j in left if names[j] is not None and names[j] == name_of(item)), None)
            if mine is None:
                yield self._take(item, self.parent, f"{at.parent}[{i}]", f"{at.merged}[{i}]")
            else:
                left.remove(mine)
                yield self._both(item, child[mine], at.item(i, mine, i))
        for i, j in enumerate(left, len(parent)):
            yield self._take(child[j], self.child, f"{at.child}[{j}]", f"{at.merged}[{i}]")

    def _joined(self, parent: list[Any], child: list[Any], at: _Place) -> Iterator[Any]:
        """The parent's items, then the child's that are others."""
        for i, item in enumerate(parent):
            yield self._take(item, self.parent, f"{at.parent}[{i}]", f"{at.merged}[{i}]")
        new = [(j, item) for j, item in enumerate(child) if item not in parent]
        for i, (j, item) in enumerate(new, len(parent)):
            yield self._take(item, self.child, f"{at.child}[{j}]", f"{at.merged}[{i}]")

    def _head(self, at: _Place) -> None:
        if at.child in self.child:
            self.lines[at.merged] = self.child[at.child]

    def _take(self, document: Any, lines: Mapping[str, SourceLine], place: str, becomes: str) -> Any:
        """One side's value as it is, with the lines of everything in it."""
        names = self._sorted(lines)
        for here in names[bisect_left(names, place) :]:
            if not here.startswith(place):
                break
            if here[len(place) :][:1] in {"", ".", "["}:
                self.lines[becomes + here[len(place) :]] = lines[here]
        return document

    def _sorted(self, lines: Mapping[str, SourceLine]) -> list[str]:
        """The places of one side, those with the same beginning together."""
        if id(lines) not in self.sorted:
            self.sorted[id(lines)] = sorted(lines)
        return self.sorted[id(lines)]


def _without_header(document: dict[str, Any]) -> bool:
    data = document.get("data")
    csv = data.get("csv") if isinstance(data, dict) else None
    return isinstance(csv, dict) and csv.get("header") is False


def _by_key(parent: dict[str, Any], child: dict[str, Any], steps: Steps) -> bool:
    """Is this mapping merged key by key? What uses something else, or lies deeper, is replaced as a whole."""
    component = steps == ("build",) or (len(steps) == 2 and steps[:1] in KEYED)
    if component:
        return parent.get("use") == child.get("use") or "use" not in child
    return steps in SECTIONS or (len(steps) == 3 and steps[:2] == ("data", "columns"))


# --- Policies that extend others: merged, and held to what they extend ---

LONGEST = 60
REMEDY = "what extends a policy may only tighten it"


def inherited(chain: Chain) -> tuple[PolicyDocument, list[Problem]]:
    """All of a chain as one policy, and every place where a policy of it loosens what it extends.

    Several organisations' policies do not extend one another: each alone must be sound, and what comes of all of them
    and of the policy must keep to each. Raises PolicyError at once for trust that a parent does not give: code that
    nobody trusts is never loaded.
    """
    if len(chain.organisations) < 2:
        return _held_in_turn(chain.policies)
    bases = [reduce(merged, organisation) for organisation in chain.organisations]
    together = reduce(merged, Chain([], chain.organisations).policies)
    whole = reduce(merged, chain.own, together)
    for base in bases:
        _refuse_untrusted(base, whole)
    loosened = [problem for base in bases for problem in _loosened(base, whole)]
    for policies in (*chain.organisations, [together, *chain.own]):
        loosened += _held_in_turn(policies)[1]
    return whole, list(dict.fromkeys(loosened))


def _held_in_turn(policies: Sequence[PolicyDocument]) -> tuple[PolicyDocument, list[Problem]]:
    """Policies merged, the most general first, and every place where one loosens what those before it come to."""
    whole, loosened = policies[0], list[Problem]()
    for child in policies[1:]:
        parent, whole = whole, merged(whole, child)
        _refuse_untrusted(parent, whole)
        loosened += _loosened(parent, whole)
    return whole, loosened


def _loosened(parent: PolicyDocument, whole: PolicyDocument) -> list[Problem]:
    return [_problem(change) for change in compared(parent, whole, _plugins(whole)) if loosens(change)]


def _refuse_untrusted(parent: PolicyDocument, whole: PolicyDocument) -> None:
    before, now = (replace(one, document={"plugins": one.document.get("plugins")}) for one in (parent, whole))
    wider = [_problem(change) for change in compared(before, now, Plugins()) if loosens(change)]
    if wider:
        raise PolicyError.listing(wider)


def _plugins(whole: PolicyDocument) -> Plugins:
    """What the policy trusts, for the defaults of its options; what is wrong with that is told when it is loaded."""
    pins = whole.document.get("plugins")
    pinned = isinstance(pins, list) and all(isinstance(pin, str) for pin in pins)
    try:
        return load_plugins(pins if pinned else None)
    except PolicyError:
        return Plugins()


def loosens(change: Change) -> bool:
    """May a policy that extends another not make this change?"""
    return change.kind != "tighter" and not change.allowed_in_child


def _problem(change: Change) -> Problem:
    what = "loosens" if change.kind == "looser" else "changes, in no direction that is tighter,"
    was, now = quoted_value(change.old), quoted_value(change.new)
    what = change.problem or f"{what} what it extends"
    message = f"{what}: {was} became {now}; {_quoted(change.old_line)} | {_quoted(change.new_line)}"
    return Problem(change.place, message, change.hint or REMEDY)


def _quoted(line: SourceLine | None) -> str:
    return "(by default)" if line is None else str(line)


def quoted_value(value: Any) -> str:
    """A value of a policy as it may stand in a sentence."""
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


@contextmanager
def with_source_locations(written: PolicyDocument) -> Iterator[None]:
    """What is wrong with something that stands in another file says in which, and in which line."""
    try:
        yield
    except InvalidError as error:
        raise type(error).listing(_placed(problem, written) for problem in error.problems) from None


def _placed(problem: Problem, written: PolicyDocument) -> Problem:
    place = problem.location
    while place and place not in written.lines:
        place = place[: max(place.rfind("."), place.rfind("["), 0)]
    line = written.lines.get(place)
    if line is None or line.file == written.file:
        return problem
    return replace(problem, location=f"{line.file}, line {line.number}: {problem.location}")
