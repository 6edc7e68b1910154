"""Merging of policies that extend each other, and the check that no policy loosens what it extends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from leafgate.api.registry import Plugins, load_plugins
from leafgate.errors import InvalidError, PolicyError, Problem
from leafgate.io.text import printable, shorten
from leafgate.kernel.inheritance import options_of
from leafgate.kernel.origin import Lines, SourceLine
from leafgate.kernel.paths import DocumentPath, parse_path, paths_of
from leafgate.kernel.policy import Policy
from leafgate.lazy_loading import lazy
from leafgate.policy.reader_options import file_checks
from leafgate.policy.sources import Chain, PolicyDocument, component_name

if TYPE_CHECKING:
    from leafgate.policy import strictness
    from leafgate.policy.strictness import PolicyChange
else:  # a policy that extends no other is compared with none
    strictness = lazy("leafgate.policy.strictness")

KEYED = {option.path for option in options_of(Policy) if option.rule.rule == "named"}
"""Lists whose items have names: items with equal names are merged."""
JOINED = {option.path for option in options_of(Policy) if option.rule.rule == "added"}
"""Lists to which a child adds items."""
SECTIONS: set[DocumentPath] = {(), *(option.path for option in options_of(Policy) if option.rule.by_key)}
"""Mappings that are merged key by key, besides each column, builder, attack and metric.

The `knows` of an attack is merged like the policy's.
"""


def merged(parent: PolicyDocument, child: PolicyDocument) -> PolicyDocument:
    """Return the child's policy with all it leaves out taken from the parent; each value keeps its source line."""
    own = {key: value for key, value in child.document.items() if key != "extends"}
    merging = _Merging(parent.lines, child.lines, nameless=_without_header(parent.document))
    document = merging.mapping(parent.document, own, _Paths())
    document.pop("extends", None)
    homes = {**parent.homes, **child.homes}
    return PolicyDocument(document, child.file, merging.lines, (parent.file, *parent.extends), homes)


@dataclass(frozen=True)
class _Paths:
    """The path of one value in the parent, in the child and in the merged document."""

    parent: DocumentPath = ()
    child: DocumentPath = ()
    merged: DocumentPath = ()

    def step(self, parent: str | int, child: str | int, merged: str | int) -> _Paths:
        return _Paths((*self.parent, parent), (*self.child, child), (*self.merged, merged))


@dataclass
class _Merging:
    parent: Lines
    child: Lines
    nameless: bool = False
    lines: dict[DocumentPath, SourceLine] = field(default_factory=dict)

    def mapping(self, parent: dict[str, Any], child: dict[str, Any], at: _Paths) -> dict[str, Any]:
        """Merge key by key, columns in the child's order because the child names the data file.

        For a file without a header, whose columns are known by their order, the parent's order stays unless the child
        has another.
        """
        keys, child_keys = list(parent | child), list(child | parent)
        if at.merged == ("data", "columns") and not (self.nameless and [k for k in keys if k in child] == list(child)):
            keys = child_keys
        return {key: self._key(key, parent, child, at.step(key, key, key)) for key in keys}

    def _key(self, key: str, parent: dict[str, Any], child: dict[str, Any], at: _Paths) -> Any:
        if key not in child:
            return self._take(parent[key], self.parent, at.parent, at.merged)
        if key not in parent:
            return self._take(child[key], self.child, at.child, at.merged)
        return self._both(parent[key], child[key], at)

    def _both(self, parent: Any, child: Any, at: _Paths) -> Any:
        section = _section_like(at.merged)
        if isinstance(parent, list) and isinstance(child, list) and section in KEYED | JOINED:
            self._head(at)
            return list((self._named if section in KEYED else self._joined)(parent, child, at))
        if isinstance(parent, dict) and isinstance(child, dict) and _by_key(parent, child, section):
            self._head(at)
            return self.mapping(parent, child, at)
        if isinstance(parent, str) and parent == child:  # a file of this name is the parent's file
            return self._take(parent, self.parent, at.parent, at.merged)
        return self._take(child, self.child, at.child, at.merged)

    def _named(self, parent: list[Any], child: list[Any], at: _Paths) -> Iterator[Any]:
        """Yield the parent's items, each merged with the child's item of its name, then the child's own items."""
        names, unmatched = [component_name(item) for item in child], list(range(len(child)))
        for i, item in enumerate(parent):
            match = next((j for j in unmatched if names[j] is not None and names[j] == component_name(item)), None)
            if match is None:
                yield self._take(item, self.parent, (*at.parent, i), (*at.merged, i))
            else:
                unmatched.remove(match)
                yield self._both(item, child[match], at.step(i, match, i))
        for i, j in enumerate(unmatched, len(parent)):
            yield self._take(child[j], self.child, (*at.child, j), (*at.merged, i))

    def _joined(self, parent: list[Any], child: list[Any], at: _Paths) -> Iterator[Any]:
        """Yield the parent's items, then those of the child that the parent does not have."""
        for i, item in enumerate(parent):
            yield self._take(item, self.parent, (*at.parent, i), (*at.merged, i))
        new = [(j, item) for j, item in enumerate(child) if item not in parent]
        for i, (j, item) in enumerate(new, len(parent)):
            yield self._take(item, self.child, (*at.child, j), (*at.merged, i))

    def _head(self, at: _Paths) -> None:
        if at.child in self.child:
            self.lines[at.merged] = self.child[at.child]

    def _take(self, value: Any, lines: Lines, path: DocumentPath, merged: DocumentPath) -> Any:
        """Return one side's value as it is, and record the lines of everything in it at its path in the result."""
        for inner in paths_of(value):
            if line := lines.get((*path, *inner)):
                self.lines[*merged, *inner] = line
        return value


def _without_header(document: dict[str, Any]) -> bool:
    data = document.get("data")
    csv = data.get("csv") if isinstance(data, dict) else None
    return isinstance(csv, dict) and csv.get("header") is False


def _section_like(path: DocumentPath) -> DocumentPath:
    """The path of the policy's section that is merged like this one: within an attack's `knows`, that of `knows`."""
    return path[2:] if len(path) > 2 and path[0] == "attacks" and path[2] == "knows" else path


def _by_key(parent: dict[str, Any], child: dict[str, Any], path: DocumentPath) -> bool:
    """Is this mapping merged key by key? A component with another `use` and deeper mappings are replaced."""
    component = path == ("build",) or (len(path) == 2 and path[:1] in KEYED)
    if component:
        return parent.get("use") == child.get("use") or "use" not in child
    return path in SECTIONS or (len(path) == 3 and path[:2] == ("data", "columns"))


MAX_VALUE_LENGTH = 60
"""Signs of a policy's value that are quoted in a sentence."""
REMEDY = "what extends a policy may only tighten it"


def inherited(chain: Chain) -> tuple[PolicyDocument, list[Problem]]:
    """Return the merged policy of a chain, and a problem for each value with which a policy loosens what it extends.

    Several organisations' policies do not extend one another: each is checked alone, and the policy that results from
    all of them must be at least as tight as each.

    Raises:
        PolicyError: a policy trusts plugins that its parent does not. It is raised at once, so that untrusted code is
            never loaded.
    """
    if len(chain.organisations) < 2:
        return _held_in_turn(chain.policies)
    bases = [reduce(merged, organisation) for organisation in chain.organisations]
    together = reduce(merged, Chain([], chain.organisations).policies)
    whole = reduce(merged, chain.own, together)
    for base in bases:
        _refuse_untrusted(base, whole)
    loosened = [problem for base in bases for problem in _loosened(base, whole)]
    checks = frozenset[DocumentPath]().union(*(file_checks(base.document, whole.document) for base in bases))
    for policies in (*chain.organisations, [together, *chain.own]):
        result, problems = _held_in_turn(policies)
        loosened += problems
        checks |= result.file_checks
    return replace(whole, file_checks=checks), list(dict.fromkeys(loosened))


def _held_in_turn(policies: Sequence[PolicyDocument]) -> tuple[PolicyDocument, list[Problem]]:
    """Merge policies, the most general first; a problem for each value that loosens the result of those before."""
    whole, loosened, checks = policies[0], list[Problem](), frozenset[DocumentPath]()
    for child in policies[1:]:
        parent, whole = whole, merged(whole, child)
        _refuse_untrusted(parent, whole)
        loosened += _loosened(parent, whole)
        checks |= file_checks(parent.document, whole.document)
    return replace(whole, file_checks=checks), loosened


def _loosened(parent: PolicyDocument, whole: PolicyDocument) -> list[Problem]:
    try:
        plugins = load_trusted(whole.document)
    except PolicyError:
        plugins = Plugins()  # load_policy reports what is wrong with the pins
    return [_problem(change) for change in strictness.compare_policies(parent, whole, plugins) if loosens(change)]


def _refuse_untrusted(parent: PolicyDocument, whole: PolicyDocument) -> None:
    before, now = (replace(each, document={"plugins": each.document.get("plugins")}) for each in (parent, whole))
    wider = [_problem(change) for change in strictness.compare_policies(before, now, Plugins()) if loosens(change)]
    if wider:
        raise PolicyError.listing(wider)


def load_trusted(document: Mapping[str, Any], *, everything: bool = False) -> Plugins:
    """Load the plugins that a policy trusts; every installed one where its `plugins` is no list of texts.

    With `everything`, and where the policy lists them, all that they offer is imported.

    Raises:
        PolicyError: the installed distributions are not those that the policy trusts.
    """
    pins = document.get("plugins")
    pinned = isinstance(pins, list) and all(isinstance(pin, str) for pin in pins)
    return load_plugins(pins, everything=True) if pinned else load_plugins(everything=everything)


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


@contextmanager
def with_source_locations(written: PolicyDocument) -> Iterator[None]:
    """Add file and line to the problems of errors raised inside, where the value comes from an extended policy."""
    try:
        yield
    except InvalidError as error:
        raise type(error).listing(_placed(problem, written) for problem in error.problems) from None


def _placed(problem: Problem, written: PolicyDocument) -> Problem:
    line = strictness.nearest_line(written, problem.path or parse_path(problem.location, written.document))
    if line is None or line.file == written.file:
        return problem
    return replace(problem, location=f"{line.file}, line {line.number}: {problem.location}")
