"""The policies around that are read with a changed file: what they extend, their waivers and reviewers."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafgate.errors import PolicyError
from leafgate.io.files import read_bounded
from leafgate.io.yaml import MAX_YAML_BYTES, parse_yaml
from leafgate.policy.sources import files_read, root_of

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
    """The changed files that are policies, and every policy around that is read with one of them.

    Looked through are the YAML files below the root of the repository that the working folder is in, or else below the
    working folder; hidden folders and links are left out. All of them are held to the policies of `orgs`.
    """
    around = yaml_files(root_of(Path.cwd() / "policy.yaml") or Path.cwd())
    named = {path.resolve(): path for path in changed}
    held = {file for org in orgs for file in files_read(org)}
    read = {path: files_read(path) for path in sorted({*around, *named}) if is_policy(path)}
    beside = {file for path, files in read.items() for file in files if file != path}
    meant = {path for path in named if path not in beside and _is_called_a_policy(path)}
    read |= {path: files_read(path) for path in meant if path not in read}
    wanted = {
        path
        for path, files in read.items()
        if files.keys() & named.keys() or (held & named.keys() and path not in held)
    }
    partial = {path for path in wanted if path in held or _is_partial(path, read[path].values(), extended=beside)}
    return [Dependent(named.get(path) or _from_here(path), path in partial) for path in sorted(wanted)]


def yaml_files(folder: Path) -> list[Path]:
    """The YAML files below a folder, resolved; those in hidden folders and behind links are left out."""
    found: list[Path] = []
    for here, folders, names in os.walk(folder.resolve()):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(here) / name for name in names if name.endswith(ENDINGS))
        found += [path for path in paths if path.is_file() and not path.is_symlink()]
    return found


def is_policy(path: Path) -> bool:
    """Does a file say that it is a policy? One that cannot be read as YAML does by the line that says so."""
    try:
        content = read_bounded(path, MAX_YAML_BYTES, PolicyError, path.name)
    except PolicyError:
        return False
    if b"leafgate" not in content:
        return False  # most YAML files of a repository, without the time that reading them strictly takes
    try:
        version = parse_yaml(content, path.name).get("leafgate")
    except PolicyError:
        return bool(BEGINS_A_POLICY.search(content))
    return version is not None and not isinstance(version, dict | list)


def _is_called_a_policy(path: Path) -> bool:
    """Is a file meant to be a policy by its name? One in a hidden folder, as of workflows, is not."""
    hidden = any(part.startswith(".") for part in _from_here(path).parts[:-1] if part != os.pardir)
    return bool(CALLED_A_POLICY.fullmatch(path.name)) and not hidden


def _is_partial(path: Path, documents: Iterable[Mapping[str, Any]], *, extended: Collection[Path]) -> bool:
    """Is a policy to be completed by others? It has no builder and is extended, or asks for something all the same."""
    keys = {key for document in documents for key in document}
    if "build" in keys:
        return False
    return path in extended or (bool(keys & ASKED) and not CALLED_A_POLICY.fullmatch(path.name))


def _from_here(path: Path) -> Path:
    return Path(os.path.relpath(path))
