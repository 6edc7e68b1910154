"""The policies of a repository that are read with a changed file: what they extend, their waivers and reviewers."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafgate.errors import PolicyError
from leafgate.git_repository import Repository
from leafgate.policy_written import files_read
from leafgate.strict_yaml import MAX_BYTES, parse_yaml

ENDINGS = (".yaml", ".yml")
CALLED_A_POLICY = re.compile(r"leafgate.*\.ya?ml|.*\.leafgate\.ya?ml")
"""Names of files that are meant to be complete policies, whatever they hold."""
BEGINS_A_POLICY = re.compile(rb"""^[ {"']{0,4}leafgate["']?[ \t]*:[ \t]*\d""", re.MULTILINE)
"""What a policy says that YAML cannot be read from."""


ASKED = frozenset({"attacks", "metrics", "approvals", "max_waiver_days", "report"})
"""Keys of which a policy that others extend, by `--org` perhaps, has one at least."""


@dataclass(frozen=True)
class Dependent:
    """A policy to look at, as it is called from here; `partial` where only others that extend it are complete."""

    path: Path
    partial: bool


def dependents(changed: Sequence[Path], orgs: Sequence[Path] = ()) -> list[Dependent]:
    """The changed files that are policies, and every policy of the repository that is read with one of them.

    The repository is the one around the working folder, as far as git tracks it. All of them are held to
    the policies of `orgs`. Raises InvalidError outside of a repository.
    """
    tracked = {path.resolve(): path for path in Repository.around(Path.cwd()).tracked(ENDINGS)}
    named = {path.resolve(): path for path in changed}
    held = set[Path]().union(*map(files_read, orgs))
    read = {path: files_read(path) for path in {**tracked, **named} if is_policy(path)}
    beside = set[Path]().union(*(files - {path} for path, files in read.items()))
    meant = {path for path in named if path not in beside and _is_called_a_policy(path)}
    read |= {path: files_read(path) for path in meant if path not in read}
    wanted = {path for path, files in read.items() if files & set(named) or (held & set(named) and path not in held)}
    partial = {path for path in wanted if path in held or _is_partial(path, files=read[path], extended=beside)}
    return [Dependent(named.get(path) or _from_here(path), path in partial) for path in sorted(wanted)]


def is_policy(path: Path) -> bool:
    """Does a file say that it is a policy? One that cannot be read as YAML does by the line that says so."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if b"leafgate" not in content:
            return False  # most YAML files of a repository, without the time that reading them strictly takes
        version = parse_yaml(content, path.name).get("leafgate")
    except OSError:
        return False
    except PolicyError:
        return bool(BEGINS_A_POLICY.search(content))
    return version is not None and not isinstance(version, dict | list)


def _is_called_a_policy(path: Path) -> bool:
    """Is a file meant to be a policy by its name? One in a hidden folder, as of workflows, is not."""
    hidden = any(part.startswith(".") for part in _from_here(path).parts[:-1] if part != os.pardir)
    return bool(CALLED_A_POLICY.fullmatch(path.name)) and not hidden


def _is_partial(path: Path, *, files: Collection[Path], extended: Collection[Path]) -> bool:
    """Is a policy to be completed by others? It has no builder and is extended, or asks for something all the same."""
    keys = {key for document in _documents(files) for key in document}
    if "build" in keys:
        return False
    return path in extended or (bool(keys & ASKED) and not CALLED_A_POLICY.fullmatch(path.name))


def _documents(files: Collection[Path]) -> Iterator[dict[str, Any]]:
    for path in files:
        try:
            yield parse_yaml(path.read_bytes(), path.name)
        except (OSError, PolicyError):
            continue


def _from_here(path: Path) -> Path:
    return Path(os.path.relpath(path))
