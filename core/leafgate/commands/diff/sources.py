"""Where the two sides of a comparison come from: a file, a pipe that is read once, a revision of a git repository."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from leafgate.api import InvalidError, PolicyError
from leafgate.commands.diff.repository import Repository, RepositoryEntry
from leafgate.io.files import read_bounded
from leafgate.policy.sources import read_policy_lines

Texts = Iterator[tuple[str, str]]
POLICY_FOLDER_KEYS = ("extends", "waivers", "approvals.reviewers")
"""Where a policy names files that it is read with."""
TABLE = "data.path"
"""The table is no part of a policy, and may be large."""
LONGEST_NAME = 1024
MAX_PIPE_BYTES = 64 * 1024 * 1024
"""As much as a report may have; of more, one byte is read, so that its reader refuses it."""


@contextmanager
def as_file(path: Path) -> Iterator[Path]:
    """The file at a path; of a pipe, as a shell's `<(command)` is, a copy that can be read more than once.

    Raises PolicyError for a policy in a pipe that names files to be read with it: there is no folder to look in.
    """
    if not (path.is_fifo() or path.is_char_device()):
        yield path
        return
    content = read_bounded(path, MAX_PIPE_BYTES, InvalidError, str(path))
    for place, name in _texts(_document(content), ""):
        if place in POLICY_FOLDER_KEYS and name:
            remedy = "compare files, or a file with a revision: leafgate diff POLICY --base REV"
            raise PolicyError(
                "names a file beside a policy that is in no folder", place=f"{path}: {place}", remedy=remedy
            )
    with TemporaryDirectory(prefix="leafgate-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(content)
        yield copy


@contextmanager
def at_revision(policy: Path, revision: str) -> Iterator[Path]:
    """A policy as a revision of its repository has it, in a folder of its own, with every file it names there.

    Raises InvalidError where the policy is in no repository, the revision names no commit, or the policy is no file of
    that commit; and for links to policies, waivers and reviewers.
    """
    if policy.is_symlink():
        raise InvalidError("is a link", place=str(policy), remedy="name the file it leads to")
    repository = Repository.around(policy.parent)
    path = policy.parent.resolve() / policy.name
    if not path.is_relative_to(repository.top.resolve()):
        raise InvalidError("leaves its repository", place=str(policy), remedy="name a file of the repository")
    entries = repository.entries(repository.commit(revision))
    inner = PurePosixPath(path.relative_to(repository.top.resolve()).as_posix())
    if _file_at(inner, entries, revision) is None:
        raise InvalidError(f"is not in {revision}", place=str(policy), remedy="name a revision that has it")
    with TemporaryDirectory(prefix="leafgate-") as folder:
        for name, entry in _files_of(inner, repository, entries, revision).items():
            copy = Path(folder) / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(repository.content(entry))
        yield Path(folder) / inner


def _files_of(
    policy: PurePosixPath, repository: Repository, entries: Mapping[PurePosixPath, RepositoryEntry], revision: str
) -> dict[PurePosixPath, RepositoryEntry]:
    """The policy, all it extends, and whatever else of the commit one of them names: lists, hierarchies, models."""
    files: dict[PurePosixPath, RepositoryEntry] = {}
    waiting, followed = [policy], set[PurePosixPath]()
    while waiting:
        path = waiting.pop()
        entry = _file_at(path, entries, revision)
        if path in followed or entry is None:
            continue
        followed.add(path)
        files[path] = entry
        for place, name in _texts(_document(repository.content(entry)), ""):
            named = _below(path.parent, name)
            if named is None or place == TABLE:
                continue
            if place == "extends":
                waiting.append(named)
            elif place in POLICY_FOLDER_KEYS:
                files |= _present(named, _file_at(named, entries, revision))
            elif named in entries and entries[named].is_file:
                files[named] = entries[named]
    return files


def _present(path: PurePosixPath, entry: RepositoryEntry | None) -> dict[PurePosixPath, RepositoryEntry]:
    return {} if entry is None else {path: entry}


def _file_at(
    path: PurePosixPath, entries: Mapping[PurePosixPath, RepositoryEntry], revision: str
) -> RepositoryEntry | None:
    """The file at a path of a commit, None where nothing is; InvalidError for links and what lies behind them."""
    for step in (path, *path.parents):
        if step in entries and entries[step].leads_elsewhere:
            raise InvalidError(f"is a link or another repository in {revision}", place=str(step), remedy="name a file")
    entry = entries.get(path)
    return entry if entry is not None and entry.is_file else None


def _below(folder: PurePosixPath, name: str) -> PurePosixPath | None:
    """The path of a name below a folder; None for one that lies elsewhere, which is refused by who reads the policy."""
    if not name or len(name) > LONGEST_NAME or "\0" in name or PurePosixPath(name).is_absolute():
        return None
    path = PurePosixPath(os.path.normpath(folder / name))
    return path if path.is_relative_to(folder) and path != folder and ".." not in path.parts else None


def _document(content: bytes) -> dict[str, Any]:
    """A policy's document as far as it can be read; the caller reports what is wrong with it."""
    try:
        return read_policy_lines(content, "")[0]
    except PolicyError:
        return {}


def _texts(document: Any, place: str) -> Texts:
    """Every text in a document, with the keys that lead to it."""
    if isinstance(document, str):
        yield place, document
    elif isinstance(document, dict):
        for key, inner in document.items():
            yield from _texts(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(document, list):
        for inner in document:
            yield from _texts(inner, f"{place}[]")
