"""What a git repository has at a revision, read without any program or transport that the repository names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from leafgate.api import InvalidError, LeafgateError

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
