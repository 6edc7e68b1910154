"""The policies of a repository that are read with a changed file: what they extend, their waivers and reviewers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from leafgate.errors import InvalidError, LeafgateError, PolicyError
from leafgate.io.files import read_bounded
from leafgate.io.yaml import MAX_YAML_BYTES, parse_yaml
from leafgate.policy.sources import files_read

ENVIRONMENT = ("HOME", "XDG_CONFIG_HOME", "SYSTEMROOT", "TMPDIR")
"""Environment variables that git gets; its configuration below HOME names the foreign folders that it may read."""
SAFE_OPTIONS = (
    "--no-pager",
    "--no-replace-objects",
    "--no-optional-locks",
    "--literal-pathspecs",
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.attributesFile=/dev/null"),
)
SECONDS = 120
LINK, SUBMODULE = "120000", "160000"
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class RepositoryEntry:
    """One entry of a revision's tree: its mode as git writes it, and the id of its object."""

    mode: str
    object_id: str

    @property
    def is_file(self) -> bool:
        return self.mode.startswith("100")

    @property
    def leads_elsewhere(self) -> bool:
        """Is it a link, or another repository?"""
        return self.mode in {LINK, SUBMODULE}


@dataclass(frozen=True)
class Repository:
    """The repository whose files lie below `top`."""

    top: Path

    @classmethod
    def around(cls, folder: Path) -> Repository:
        """The repository that a folder lies in; InvalidError where there is none that git reads."""
        answer = _git(folder, "rev-parse", "--show-toplevel")
        top = Path(os.fsdecode(answer.removesuffix(b"\n")))
        if not top.is_absolute():
            raise InvalidError("is in no repository with files", place=str(folder), remedy="name a file in one")
        return cls(top)

    def commit(self, revision: str) -> str:
        """The id of the commit that a revision names; InvalidError where it names none."""
        unknown = InvalidError("names no commit of this repository", place=revision, remedy="see `git log`")
        if not revision or revision.startswith("-") or "\0" in revision:
            raise unknown
        try:
            answer = _git(self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        except InvalidError:
            raise unknown from None
        commit = answer.decode("ascii", "replace").strip()
        if not COMMIT.fullmatch(commit):
            raise unknown
        return commit

    def entries(self, commit: str) -> dict[PurePosixPath, RepositoryEntry]:
        """Every folder, file and link of a commit, by its path from the top."""
        listed = _git(self.top, "ls-tree", "-r", "-t", "-z", "--full-tree", commit)
        entries = {}
        for line in filter(None, listed.split(b"\0")):
            head, _, name = line.partition(b"\t")
            mode, _, object_id = head.decode("ascii").split(" ")
            entries[PurePosixPath(os.fsdecode(name))] = RepositoryEntry(mode, object_id)
        return entries

    def content(self, entry: RepositoryEntry) -> bytes:
        """The bytes of a file as they were committed, whatever attributes the repository gives it."""
        return _git(self.top, "cat-file", "blob", entry.object_id)

    def tracked(self, endings: Iterable[str]) -> list[Path]:
        """The files with these endings that git tracks and that are there, links left out; in order."""
        names = [os.fsdecode(name) for name in _git(self.top, "ls-files", "-z", "--cached").split(b"\0")]
        paths = [self.top / name for name in sorted(set(names)) if name.endswith(tuple(endings))]
        return [path for path in paths if path.is_file() and not path.is_symlink()]


def _git(folder: Path, *words: str) -> bytes:
    """What git prints; InvalidError with its complaint where it fails, LeafgateError where it takes too long."""
    program = _program()
    command = [program, "-C", str(folder), *SAFE_OPTIONS, *words]
    try:
        done = subprocess.run(  # noqa: S603
            command, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise LeafgateError(f"git took longer than {SECONDS} seconds", place=str(folder)) from None
    except OSError as error:
        raise InvalidError(f"git cannot be run: {error.strerror}", place=str(folder)) from None
    if done.returncode:
        complaint = next(iter(done.stderr.decode("utf-8", "replace").strip().splitlines()), "it says not why")
        raise InvalidError(f"git cannot read it: {complaint}", place=str(folder), remedy="see `git status` there")
    return done.stdout


def _program() -> str:
    """git, from a folder of PATH that is the same wherever leafgate is called."""
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    program = shutil.which("git", path=os.pathsep.join(folders)) if folders else None
    if program is None:
        raise InvalidError("git is not installed", place="git", remedy="install it, or compare two files")
    return program


def _environment() -> Mapping[str, str]:
    """No variable of git's own from outside, no transport, no question to anybody."""
    kept = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    return kept | {
        "PATH": os.defpath,
        "LC_ALL": "C",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }


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
