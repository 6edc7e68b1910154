"""A policy as it is written: its file, the policies it extends, the file of waivers beside it; nothing checked yet."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from leafgate.api.paths import inside
from leafgate.api.plan import Lines, SourceLine
from leafgate.errors import PolicyError
from leafgate.io.yaml import MAX_BYTES, Kept, Node, read_yaml

# --- Where each key of a policy stands: its place as errors write it (`metrics[0].at_least`), and its line ---

LONGEST = 200


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


def read_lines(content: bytes, name: str) -> tuple[dict[str, Any], Lines]:
    """The document in a policy's bytes, and where everything in it stands; PolicyError as `parse_yaml`."""
    kept = read_yaml(content, name)
    return kept.document, lines_of(kept, name)


def lines_of(kept: Kept, name: str) -> Lines:
    """The line of every key and every item of a list, by its place; of two equal places the first."""
    texts = kept.text.splitlines()
    found: dict[str, SourceLine] = {}
    for place, number in _places(kept.root, ""):
        found.setdefault(place, SourceLine(name, number + 1, _shown(texts[number])))
    return found


def _places(node: Node, place: str) -> Iterator[tuple[str, int]]:
    if node.id == "mapping":
        for key, value in node.value:
            here = f"{place}.{key.value}" if place else key.value
            yield here, key.start_mark.line
            yield from _places(value, here)
    elif node.id == "sequence":
        for i, item in enumerate(node.value):
            yield f"{place}[{i}]", item.start_mark.line
            yield from _places(item, f"{place}[{i}]")


def _shown(text: str) -> str:
    """A line as it may be quoted: without indentation, not too long, nothing that moves a cursor."""
    text = text.strip()
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


# --- Files that an extended policy names: read beside it, not beside whoever extends it ---

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Home:
    """A policy's folder; `held` if the command line holds another policy to it (`--org`): then no `--root` moves it."""

    folder: Path
    held: bool = False


@dataclass(frozen=True)
class PathResolver:
    """Where each file of a chain of policies has its folder; `own` is the one that extends the others."""

    own: str
    folders: Mapping[str, Home]
    lines: Mapping[str, SourceLine]
    document: Mapping[str, Any]
    root: Path | None = None

    def resolve(self, policy: Model) -> Model:
        """The policy with every file that another policy of the chain names taken from beside that one."""
        changed = {name: self._settled(result, name) for name, result in _fields(policy)}
        return policy.model_copy(update=changed)

    def _settled(self, document: Any, place: str) -> Any:
        if isinstance(document, Path):
            return self._file(document, place)
        if isinstance(document, BaseModel):
            return document.model_copy(update={k: self._settled(v, f"{place}.{k}") for k, v in _fields(document)})
        if isinstance(document, tuple):
            return tuple(self._settled(one, f"{place}[{i}]") for i, one in enumerate(document))
        if isinstance(document, dict):
            return {key: self._settled(one, f"{place}.{key}") for key, one in document.items()}
        return document

    def _file(self, path: Path, place: str) -> Path:
        line, name = self.lines.get(place), _at(self.document, place)
        home = None if line is None or line.file == self.own else self.folders.get(line.file)
        if home is None or (self.root is not None and not home.held and path == inside(self.root, name)):
            return path
        try:
            return inside(home.folder, name)
        except ValueError as error:
            raise PolicyError(str(error).partition(";")[0], place=place, remedy="name a file beside it") from None


def _fields(model: BaseModel) -> Iterator[tuple[str, Any]]:
    yield from model


def _at(document: Any, place: str) -> Any:
    """What stands at a place; columns may have dots in their names."""
    if not place:
        return document
    keys = document if isinstance(document, dict) else ()
    for key in sorted(keys, key=len, reverse=True):
        if place == key or place.startswith((f"{key}.", f"{key}[")):
            return _at(document[key], place[len(key) :].removeprefix("."))
    number, _, rest = place[1:].partition("]")
    return _at(document[int(number)], rest.removeprefix("."))


DEEPEST = 8
"""So many policies may extend one another; more are a mistake."""


@dataclass(frozen=True)
class PolicyDocument:
    """A policy as plain mappings and lists; the name of its file, and where everything in it stands.

    `extends` names the policies it was merged with, the nearest first; `homes` are their folders, and its own.
    """

    document: dict[str, Any]
    file: str
    lines: Mapping[str, SourceLine]
    extends: tuple[str, ...] = ()
    homes: Mapping[str, Home] = field(default_factory=dict, compare=False)


def read_policy(path: Path, name: str = "") -> PolicyDocument:
    """One policy file alone, with the waivers and reviewers it names; PolicyError when a file of it cannot be read."""
    name = name or path.name
    document, lines = _read(path, name, "" if name != path.name else str(path))
    homes = {name: Home(path.parent)}
    if isinstance(document.get("waivers"), str):
        waivers, where = _list_beside(path.parent, document["waivers"], "waivers", "waivers")
        document, lines = document | {"waivers": waivers}, {**_without(lines, "waivers"), **where}
    approvals = _dict(document.get("approvals"))
    if isinstance(approvals.get("reviewers"), str):
        place = "approvals.reviewers"
        reviewers, listed = _list_beside(path.parent, approvals["reviewers"], "reviewers", place)
        document = document | {"approvals": approvals | {"reviewers": reviewers}}
        lines = {**_without(lines, place), **{f"approvals.{inner}": line for inner, line in listed.items()}}
    return PolicyDocument(document, name, lines, homes=homes)


def _without(lines: Mapping[str, SourceLine], place: str) -> dict[str, SourceLine]:
    return {where: line for where, line in lines.items() if not where.startswith(place)}


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


def files_read(path: Path) -> set[Path]:
    """Every file that a policy is written in, resolved: its own, those it extends, their lists beside them.

    It goes as far as the files can be read, and a file that is named and cannot be read is one of them.
    """
    found, here = set[Path](), path.resolve()
    while here not in found:
        found.add(here)
        try:
            document, _ = _read(here, here.name)
        except PolicyError:
            break
        for name in (document.get("waivers"), _dict(document.get("approvals")).get("reviewers")):
            found |= _named(here.parent, name)
        here = next(iter(_named(here.parent, document.get("extends"))), here)
    return found


def _named(folder: Path, name: object) -> set[Path]:
    try:
        return {inside(folder, name)} if isinstance(name, str) else set()
    except ValueError:
        return set()


def _dict(thing: object) -> dict[str, Any]:
    return thing if isinstance(thing, dict) else {}


def _held(written: PolicyDocument) -> PolicyDocument:
    return replace(written, homes={name: replace(home, held=True) for name, home in written.homes.items()})


def _chain(path: Path, taken: Collection[str]) -> Iterator[tuple[Path, PolicyDocument]]:
    """Each file's own place, and what it says; from a policy to the most general one it extends.

    Names are told from the first one's folder; with the folder's own name before those that are `taken`.
    """
    folder, here, seen = path.parent, path, set[Path]()
    while True:
        name = path.name if here is path else here.relative_to(folder.resolve()).as_posix()
        name = _not_taken(name, folder, taken)
        if here.resolve() in seen:
            raise PolicyError("extends itself, by others perhaps", place=f"{name}: extends")
        seen.add(here.resolve())
        written = read_policy(here, name)
        yield here.resolve(), written
        parent = written.document.get("extends")
        if parent is None or len(seen) > DEEPEST:
            return
        here = _beside(here.parent, parent, f"{name}: extends")


def _list_beside(folder: Path, name: str, key: str, place: str) -> tuple[Any, Mapping[str, SourceLine]]:
    """What a file below the policy's folder lists under its one key, wherever the data are."""
    document, lines = _read(_beside(folder, name, place), name)
    if set(document) != {key} or isinstance(document[key], str):
        raise PolicyError(f"must have the key `{key}`, a list, and nothing else", place=name)
    return document[key], lines


def _not_taken(name: str, folder: Path, taken: Collection[str]) -> str:
    """The name, told apart from those that are taken by the folder's own name, and by a number if need be."""
    for number in range(len(taken) + 2):
        wanted = name if number == 0 else f"{folder.resolve().name}/{name}" + (f" ({number})" if number > 1 else "")
        if wanted not in taken:
            break
    return wanted


def _beside(folder: Path, name: object, place: str) -> Path:
    """A file that belongs to the policy and is not moved by `--root`."""
    try:
        return inside(folder, name)
    except ValueError as error:
        message = str(error).partition(";")[0]
        raise PolicyError(message, place=place, remedy="name a file below the policy's folder") from None


def _read(path: Path, name: str, place: str = "") -> tuple[dict[str, Any], Mapping[str, SourceLine]]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PolicyError(f"cannot be read: {error.strerror}", place=place or name) from None
    return read_lines(content, name)


def name_of(item: Any) -> Any:
    """What findings call an attack or a metric as it is written; None for what is neither."""
    return (item.get("name") or item.get("use")) if isinstance(item, dict) else None
