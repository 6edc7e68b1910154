"""Policy files as unchecked documents: a policy, those it extends, its lists of waivers and reviewers, their lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from leafgate.errors import PolicyError, Problem
from leafgate.io.files import read_bounded
from leafgate.io.text import printable, shorten
from leafgate.io.yaml import MAX_YAML_BYTES, Kept, Node, read_yaml, yaml_entries
from leafgate.kernel.options import inside
from leafgate.kernel.origin import Lines, PolicyOrigin, SourceLine
from leafgate.kernel.paths import DocumentPath, dict_or_empty, format_path, locate, parse_path, paths_of

if TYPE_CHECKING:
    from leafgate.kernel.policy import Policy

MAX_LINE_LENGTH = 200
"""Signs of a line that are quoted."""


def display_path(path: Path, word: str) -> str:
    """A relative path, where a shell takes it as it is and it says nothing of this machine; else `word`."""
    called = path.as_posix()
    plain = called.isascii() and all(sign.isalnum() or sign in "._-/" for sign in called)
    return called if plain and not path.is_absolute() and not called.startswith("-") else word


def root_of(policy: Path) -> Path | None:
    """The root of the repository that a policy file is in, by which views of code find files; None outside one."""
    folder = policy.parent.resolve()
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def display_folder(folder: Path, root: Path | None) -> str:
    """A folder from the root of a repository; empty for the root itself and for what is not below it."""
    inner = folder.resolve()
    return "" if root is None or inner == root or not inner.is_relative_to(root) else inner.relative_to(root).as_posix()


def shown_file(path: Path, policy: Path, word: str) -> str:
    """A path of the command line from the repository's root, or else from the policy's folder; `word` elsewhere."""
    base = root_of(policy) or policy.parent.resolve()
    inner = path.resolve() if path.is_dir() else path.parent.resolve() / path.name
    return display_path(inner.relative_to(base), word) if inner.is_relative_to(base) else word


def read_policy_lines(content: bytes, name: str) -> tuple[dict[str, Any], Lines]:
    """Return the document in a policy's bytes and the line of each value; PolicyError as `parse_yaml`."""
    kept = read_yaml(content, name)
    return kept.document, lines_of(kept, name)


def lines_of(kept: Kept, name: str) -> Lines:
    """Return the line of every key and of every item of a list, by its path."""
    texts = (shorten(printable(text.strip()), MAX_LINE_LENGTH) for text in kept.text.splitlines())
    lines = [SourceLine(name, number, text) for number, text in enumerate(texts, 1)]
    return {path: lines[number] for path, number in _line_numbers(kept.root, ())}


def _line_numbers(node: Node, path: DocumentPath) -> Iterator[tuple[DocumentPath, int]]:
    if node.id == "mapping":
        for key, value in node.value:
            yield (*path, key.value), key.start_mark.line
            yield from _line_numbers(value, (*path, key.value))
    elif node.id == "sequence":
        for i, item in enumerate(node.value):
            yield (*path, i), item.start_mark.line
            yield from _line_numbers(item, (*path, i))


def write_document(document: Mapping[str, Any], name: str, head: Sequence[str]) -> tuple[str, Lines]:
    """The text of a policy file with these first lines, and the line of each value as `read_policy_lines` finds it."""
    entries = [*yaml_entries(document)]
    lines: dict[DocumentPath, SourceLine] = {}
    for number, (path, text) in enumerate(entries, len(head) + 1):
        line = SourceLine(name, number, shorten(printable(text.strip()), MAX_LINE_LENGTH))
        lines |= dict.fromkeys(paths_of(locate(document, path), path), line)
    return "\n".join([*head, *(text for _, text in entries)]) + "\n", lines


@dataclass(frozen=True)
class Home:
    """A policy's folder; `held` if the command line holds another policy to it (`--org`): then no `--root` moves it."""

    folder: Path
    held: bool = False


DEEPEST = 8
"""Longest chain of policies that extend one another."""


@dataclass(frozen=True)
class PolicyDocument:
    """A policy as plain mappings and lists, with the name of its file and the line of each value.

    `extends` names the policies it was merged with, the nearest first; `homes` are their folders, and its own.
    `file_checks` are the options beyond what it extends that each data file must bear out, and `loosened` has a problem
    for each value that loosens what it extends.
    """

    document: dict[str, Any]
    file: str
    lines: Lines
    extends: tuple[str, ...] = ()
    homes: Mapping[str, Home] = field(default_factory=dict, compare=False)
    file_checks: frozenset[DocumentPath] = frozenset()
    loosened: tuple[Problem, ...] = ()

    def applied_to(self, policy: Policy, root: Path | None) -> Policy:
        """Return the policy that was read from this document, with its own files, its file checks and its origin."""
        policy = self.with_own_files(policy, root)
        folder = self.homes[self.file].folder
        top = root_of(folder / self.file)
        elsewhere = {name: display_folder(home.folder, top) for name, home in self.homes.items() if home.held}
        shown = display_folder(folder, top)
        origin = PolicyOrigin(self.file, self.lines, self.extends, shown, elsewhere=elsewhere)
        data = policy.data.with_file_checks(self.file_checks)
        return policy.model_copy(update={"data": data}).with_origin(origin)

    def with_own_files(self, policy: Policy, root: Path | None = None) -> Policy:
        """Return the policy of this document, each path in it resolved in the folder of the policy that names it."""
        if not self.extends:
            return policy
        return cast("Policy", map_files(policy, lambda path, at: self._file(path, root, at)))

    def nearest_line(self, path: DocumentPath) -> SourceLine | None:
        """Return the line of a path or of the innermost path around it; None where none of them has a line."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)

    def placed(self, problem: Problem) -> Problem:
        """Return a problem of this document with file and line, where the value comes from an extended policy."""
        line = self.nearest_line(problem.path or parse_path(problem.location, self.document))
        if line is None or line.file == self.file:
            return problem
        return replace(problem, location=f"{line.file}, line {line.number}: {problem.location}")

    def _file(self, path: Path, root: Path | None, at: DocumentPath) -> Path:
        line, name = self.lines.get(at), locate(self.document, at)
        home = None if line is None or line.file == self.file else self.homes.get(line.file)
        if home is None or (root is not None and not home.held and path == inside(root, name)):
            return path
        try:
            return inside(home.folder, name)
        except ValueError as error:
            message = str(error).partition(";")[0]
            raise PolicyError(message, place=format_path(at), remedy="name a file beside it") from None


def read_policy(path: Path, name: str = "") -> PolicyDocument:
    """One policy file alone, with the waivers and reviewers it names; PolicyError when a file of it cannot be read."""
    name = name or path.name
    document, lines = _read(path, name, "" if name != path.name else str(path))
    homes = {name: Home(path.parent)}
    if isinstance(document.get("waivers"), str):
        waivers, where = _list_in_policy_folder(path.parent, document["waivers"], "waivers", "waivers")
        document, lines = document | {"waivers": waivers}, {**_without(lines, ("waivers",)), **where}
    approvals = dict_or_empty(document.get("approvals"))
    if isinstance(approvals.get("reviewers"), str):
        at = ("approvals", "reviewers")
        reviewers, listed = _list_in_policy_folder(path.parent, approvals["reviewers"], "reviewers", format_path(at))
        document = document | {"approvals": approvals | {"reviewers": reviewers}}
        lines = {**_without(lines, at), **{("approvals", *inner): line for inner, line in listed.items()}}
    return PolicyDocument(document, name, lines, homes=homes)


def _without(lines: Lines, path: DocumentPath) -> Lines:
    return {at: line for at, line in lines.items() if at[: len(path)] != path}


@dataclass(frozen=True)
class Chain:
    """Policies that are merged into one, and the organisations' policies that each must keep to.

    All lists begin with the most general policy. `organisations` has for each `--org` its policy and all it extends.
    `own` are the policy and what it extends itself, without what the organisations' policies extend too or are.
    """

    own: list[PolicyDocument]
    organisations: list[list[PolicyDocument]] = field(default_factory=list)

    @property
    def policies(self) -> list[PolicyDocument]:
        """All of them, each once, in the order in which they are merged: the organisations' in theirs, then its own."""
        files: dict[str, PolicyDocument] = {}
        for written in [written for chain in (*self.organisations, self.own) for written in chain]:
            files.setdefault(written.file, written)
        return list(files.values())


def load_extends_chain(path: Path, orgs: Sequence[Path] = ()) -> Chain:
    """The policy and all it extends; `orgs` are extended by the most general one that is its own.

    What several extend is taken once. Raises PolicyError for a policy that extends itself, by however many others, and
    for a chain that is too long.
    """
    own = dict(_chain(path, ()))
    known, organisations = dict(own), list[dict[Path, PolicyDocument]]()
    for org in orgs:
        if org.resolve() == path.resolve():
            continue  # no policy is laxer than itself
        held = dict(_chain(org, {written.file for written in known.values()}))
        if next(iter(own)) in list(held)[1:]:
            raise PolicyError("extends the policy that is held to it", place="--org", remedy="name another")
        organisations.append({where: known.get(where) or _held(written) for where, written in held.items()})
        known = {**organisations[-1], **known}
    if len(known) > DEEPEST:
        raise PolicyError(f"extends more than {DEEPEST - 1} others", place=path.name, remedy="merge some of them")
    shared = {where for held in organisations for where in held}
    alone = [written for where, written in own.items() if where not in shared]
    return Chain(alone[::-1], [list(held.values())[::-1] for held in organisations])


def map_files(value: Any, change: Callable[[Path, DocumentPath], Path], at: DocumentPath = ()) -> Any:
    """Return a policy, or a part of one, with each path that it names changed; `at` is where the part is."""
    if isinstance(value, Path):
        return change(value, at)
    if isinstance(value, BaseModel):
        changed = ((name, inner, map_files(inner, change, (*at, name))) for name, inner in value)
        return value.model_copy(update={name: new for name, inner, new in changed if new != inner})  # others stay unset
    if isinstance(value, tuple):
        return tuple(map_files(inner, change, (*at, i)) for i, inner in enumerate(value))
    if isinstance(value, dict):
        return {key: map_files(inner, change, (*at, key)) for key, inner in value.items()}
    return value


def files_named(policy: BaseModel) -> list[Path]:
    """Return each path that a policy names."""
    named = list[Path]()

    def note(path: Path, at: DocumentPath) -> Path:
        named.append(path)
        return path

    map_files(policy, note)
    return named


def files_read(path: Path) -> dict[Path, dict[str, Any]]:
    """Every file that a policy is written in, resolved: its own, those it extends, their lists beside them.

    Each policy has its document. It goes as far as the files can be read, and a file that is named and cannot be read
    is one of them.
    """
    files, here = dict[Path, dict[str, Any]](), path.resolve()
    while here not in files:
        files[here] = {}
        try:
            document, _ = _read(here, here.name)
        except PolicyError:
            break
        files[here] = document
        for name in (document.get("waivers"), dict_or_empty(document.get("approvals")).get("reviewers")):
            files |= {listed: {} for listed in _named(here.parent, name)}
        here = next(iter(_named(here.parent, document.get("extends"))), here)
    return files


def _named(folder: Path, name: object) -> set[Path]:
    try:
        return {inside(folder, name)} if isinstance(name, str) else set()
    except ValueError:
        return set()


def _held(written: PolicyDocument) -> PolicyDocument:
    return replace(written, homes={name: replace(home, held=True) for name, home in written.homes.items()})


def _chain(path: Path, taken: Collection[str]) -> Iterator[tuple[Path, PolicyDocument]]:
    """Yield the resolved path and the document of a policy and of each policy it extends, the most general last.

    Names are relative to the first policy's folder, with the folder's own name in front of those that are `taken`.
    """
    folder, here, paths = path.parent, path, set[Path]()
    while True:
        name = path.name if here is path else here.relative_to(folder.resolve()).as_posix()
        name = _not_taken(name, folder, taken)
        if here.resolve() in paths:
            raise PolicyError("extends itself, by others perhaps", place=f"{name}: extends")
        paths.add(here.resolve())
        written = read_policy(here, name)
        yield here.resolve(), written
        parent = written.document.get("extends")
        if parent is None or len(paths) > DEEPEST:
            return
        here = _in_policy_folder(here.parent, parent, f"{name}: extends")


def _list_in_policy_folder(folder: Path, name: str, key: str, place: str) -> tuple[Any, Lines]:
    """Return the list under the one key of a file below the policy's folder, and its lines."""
    document, lines = _read(_in_policy_folder(folder, name, place), name)
    if set(document) != {key} or isinstance(document[key], str):
        raise PolicyError(f"must have the key `{key}`, a list, and nothing else", place=name)
    return document[key], lines


def _not_taken(name: str, folder: Path, taken: Collection[str]) -> str:
    """Return a name that is not taken: with the folder's own name in front, and a number where that is needed."""
    for number in range(len(taken) + 2):
        wanted = name if number == 0 else f"{folder.resolve().name}/{name}" + (f" ({number})" if number > 1 else "")
        if wanted not in taken:
            break
    return wanted


def _in_policy_folder(folder: Path, name: object, place: str) -> Path:
    """A file that belongs to the policy and is not moved by `--root`."""
    try:
        return inside(folder, name)
    except ValueError as error:
        message = str(error).partition(";")[0]
        raise PolicyError(message, place=place, remedy="name a file below the policy's folder") from None


def _read(path: Path, name: str, place: str = "") -> tuple[dict[str, Any], Lines]:
    return read_policy_lines(read_bounded(path, MAX_YAML_BYTES, PolicyError, place or name), name)
