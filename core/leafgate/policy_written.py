"""A policy as it is written: its file, the policies it extends, the file of waivers beside it; nothing checked yet."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from leafgate.errors import PolicyError
from leafgate.policy_homes import Home
from leafgate.policy_lines import Line, read_lines
from leafgate.policy_paths import inside
from leafgate.strict_yaml import MAX_BYTES

DEEPEST = 8
"""So many policies may extend one another; more are a mistake."""


@dataclass(frozen=True)
class Written:
    """A policy as plain mappings and lists; the name of its file, and where everything in it stands.

    `extends` names the policies it was merged with, the nearest first; `homes` are their folders, and its own.
    """

    document: dict[str, Any]
    file: str
    lines: Mapping[str, Line]
    extends: tuple[str, ...] = ()
    homes: Mapping[str, Home] = field(default_factory=dict, compare=False)


def read_policy(path: Path, name: str = "") -> Written:
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
    return Written(document, name, lines, homes=homes)


def _without(lines: Mapping[str, Line], place: str) -> dict[str, Line]:
    return {where: line for where, line in lines.items() if not where.startswith(place)}


@dataclass(frozen=True)
class Chain:
    """Policies that are merged into one, and the organisations' policies that each must keep to.

    All lists begin with the most general policy. `organisations` has for each `--org` its policy and all it extends.
    `own` are the policy and what it extends itself, without what the organisations' policies extend too or are.
    """

    own: list[Written]
    organisations: list[list[Written]] = field(default_factory=list)

    @property
    def policies(self) -> list[Written]:
        """All of them, each once, in the order in which they are merged: the organisations' in theirs, then its own."""
        files: dict[str, Written] = {}
        for written in [written for chain in (*self.organisations, self.own) for written in chain]:
            files.setdefault(written.file, written)
        return list(files.values())


def read_chain(path: Path, orgs: Sequence[Path] = ()) -> Chain:
    """The policy and all it extends; `orgs` are extended by the most general one that is its own.

    What several extend is taken once. Raises PolicyError for a policy that extends itself, by however many others, and
    for a chain that is too long.
    """
    own = dict(_chain(path, ()))
    known, organisations = dict(own), list[dict[Path, Written]]()
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


def _held(written: Written) -> Written:
    return replace(written, homes={name: replace(home, held=True) for name, home in written.homes.items()})


def _chain(path: Path, taken: Collection[str]) -> Iterator[tuple[Path, Written]]:
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


def _list_beside(folder: Path, name: str, key: str, place: str) -> tuple[Any, Mapping[str, Line]]:
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


def _read(path: Path, name: str, place: str = "") -> tuple[dict[str, Any], Mapping[str, Line]]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PolicyError(f"cannot be read: {error.strerror}", place=place or name) from None
    return read_lines(content, name)
