"""Merging of policies that extend each other, and the check that no policy loosens what it extends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from leafgate.api.registry import Plugins, load_plugins
from leafgate.errors import InvalidError, PolicyError, Problem
from leafgate.io.text import printable, shorten
from leafgate.kernel.inheritance import options_of
from leafgate.kernel.origin import Lines, SourceLine
from leafgate.kernel.paths import DocumentPath, locate, parse_path
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
    nameless = locate(parent.document, ("data", "csv", "header")) is False
    older, newer = (_node(each.document, each.lines) for each in (parent, child))
    for node in (older, newer):
        node.value.pop("extends", None)
    lines: dict[DocumentPath, SourceLine] = {}
    document = _plain(_merge(older, newer, (), nameless=nameless), (), lines)
    return replace(
        parent,
        document=document,
        file=child.file,
        lines=lines,
        extends=(parent.file, *parent.extends),
        homes={**parent.homes, **child.homes},
    )


@dataclass(slots=True)
class _Node:
    """A value of a policy and its line; mappings and lists hold further nodes."""

    value: Any
    line: SourceLine | None = field(compare=False)

    @property
    def name(self) -> Any:
        """The name that findings give to it, where it is an attack or a metric."""
        return component_name({k: v.value for k, v in self.value.items()}) if isinstance(self.value, dict) else None


def _node(value: Any, lines: Lines, path: DocumentPath = ()) -> _Node:
    if isinstance(value, dict):
        value = {key: _node(inner, lines, (*path, key)) for key, inner in value.items()}
    elif isinstance(value, list):
        value = [_node(inner, lines, (*path, i)) for i, inner in enumerate(value)]
    return _Node(value, lines.get(path))


def _plain(node: _Node, path: DocumentPath, lines: dict[DocumentPath, SourceLine]) -> Any:
    """Return the value without its lines, which are added to `lines`."""
    if node.line is not None:
        lines[path] = node.line
    if isinstance(node.value, dict):
        return {key: _plain(inner, (*path, key), lines) for key, inner in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(inner, (*path, i), lines) for i, inner in enumerate(node.value)]
    return node.value


def _merge(parent: _Node, child: _Node, path: DocumentPath, *, nameless: bool) -> _Node:
    """Merge two values at one path of their policies; `nameless` says that columns are known by their order alone."""
    old, new, section = parent.value, child.value, _section_like(path)
    merging: Any
    if isinstance(old, list) and isinstance(new, list) and section in JOINED:
        merging = [*old, *(item for item in new if item not in old)]
    elif isinstance(old, list) and isinstance(new, list) and section in KEYED:
        merging, unmatched = [], [*new]
        for i, item in enumerate(old):
            match = next((each for each in unmatched if item.name is not None and each.name == item.name), None)
            if match is not None:
                unmatched = [each for each in unmatched if each is not match]
            merging.append(item if match is None else _merge(item, match, (*path, i), nameless=nameless))
        merging += unmatched
    elif isinstance(old, dict) and isinstance(new, dict) and _by_key(old, new, section):
        keys = list(old | new)
        if path == ("data", "columns") and not (nameless and [key for key in keys if key in new] == list(new)):
            keys = list(new | old)  # the child names the data file
        merging = {
            key: _merge(old[key], new[key], (*path, key), nameless=nameless)
            if key in old and key in new
            else old.get(key) or new[key]
            for key in keys
        }
    else:
        return parent if isinstance(old, str) and old == new else child  # a file of this name is the parent's file
    return _Node(merging, child.line)


def _section_like(path: DocumentPath) -> DocumentPath:
    """The path of the policy's section that is merged like this one: within an attack's `knows`, that of `knows`."""
    return path[2:] if len(path) > 2 and path[0] == "attacks" and path[2] == "knows" else path


def _by_key(parent: dict[str, _Node], child: dict[str, _Node], path: DocumentPath) -> bool:
    """Is this mapping merged key by key? A component with another `use` and deeper mappings are replaced."""
    if path == ("build",) or (len(path) == 2 and path[:1] in KEYED):
        return parent.get("use") == child.get("use") or "use" not in child
    return path in SECTIONS or (len(path) == 3 and path[:2] == ("data", "columns"))


MAX_VALUE_LENGTH = 60
"""Signs of a policy's value that are quoted in a sentence."""
REMEDY = "what extends a policy may only tighten it"


def inherited(chain: Chain) -> PolicyDocument:
    """Return the merged policy of a chain, with a problem for each value that loosens what a policy extends.

    Several organisations' policies do not extend one another: each is checked alone, and the policy that results from
    all of them must be at least as tight as each.

    Raises:
        PolicyError: a policy trusts plugins that its parent does not. It is raised at once, so that untrusted code is
            never loaded.
    """
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
