"""Cases: a folder each below the desk's folder, with the files, the policy, and what was answered by whom."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import IO, Any

from leafgate.commands.desk.policy_text import PolicyText
from leafgate.errors import InvalidError, LeafgateError
from leafgate.folders import NO_FOLLOW
from leafgate.io.files import OWNER_ONLY, write_file
from leafgate.io.json import readable
from leafgate.kernel.options import digest_of

POLICY, FACTS, RECORD, RUNS = "policy.yaml", "facts.json", "case.json", "runs"
FACTS_FORMAT = "leafgate/desk-facts/1"
OWN_NAMES = frozenset({POLICY, FACTS, RECORD, RUNS, "release.json"})
"""Names in a case's folder that no file which somebody gives may have."""
CASE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
ROLES = ("model", "table", "test", "control")
"""What a file of a case may be: the model, the people it was learned from, other people, people not in the table."""
KEYS = {"table": ("data", "path"), "test": ("data", "test"), "control": ("data", "control"), "model": ("build", "path")}
"""Where the policy names these files."""
MAX_LISTED = 500
"""Files of the folder that are offered."""
MAX_DEPTH = 3
MAX_FILE_BYTES = 512 * 2**20


def who() -> str:
    """The name of the account, as records have it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def now() -> str:
    """The time as records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def open_below(folder: Path, relative: str) -> IO[bytes]:
    """Open a regular file below a folder, no part of whose path is a link; InvalidError for anything else."""
    *parents, name = relative.split("/")
    refused = InvalidError("is no file of this folder", place="file", remedy="choose one of the list")
    if any(part in {"", ".", ".."} or "\0" in part for part in (*parents, name)):
        raise refused
    handle = -1
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        for part, flags in (*((each, os.O_DIRECTORY) for each in parents), (name, 0)):
            below = os.open(part, os.O_RDONLY | NO_FOLLOW | flags, dir_fd=handle)
            os.close(handle)
            handle = below
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise refused
        return os.fdopen(handle, "rb")
    except (OSError, LeafgateError):
        if handle >= 0:
            os.close(handle)
        raise refused from None


def files_below(folder: Path, depth: int = MAX_DEPTH) -> Iterator[str]:
    """The paths of the files below a folder that may be chosen: none that is hidden, a link, or of a run."""
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_file() and entry.name not in OWN_NAMES - {"release.json"}:
            yield entry.name
        elif entry.is_dir() and depth > 1 and entry.name != RUNS:
            yield from (f"{entry.name}/{path}" for path in files_below(Path(entry.path), depth - 1))


def file_name(given: str, role: str) -> str:
    """The name under which a file is kept that somebody gave: letters of ASCII, digits, dots, dashes, underscores.

    >>> file_name("../../etc/pass wd.csv", "table"), file_name("policy.yaml", "model")
    ('pass_wd.csv', 'model-policy.yaml')
    """
    name = re.sub(r"[^A-Za-z0-9._-]", "_", re.split(r"[/\\]", given)[-1])[-80:].lstrip(".-")
    return f"{role}-{name}" if name in OWN_NAMES or not name else name


@lru_cache(maxsize=256)
def _sha256(path: Path, size: int, changed: int) -> str | None:
    """The digest of a file, which is read again when its size or the time of its last change is another one."""
    return digest_of(path)


@dataclass(frozen=True)
class Case:
    """What the folder of a case holds; read anew for each request, so that nothing else has to be kept."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def record(self) -> dict[str, Any]:
        """Who began the case, what was answered by whom, and what is not written in the policy."""
        return self._json(RECORD) or {}

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the files of the case are; empty before they are read."""
        return self._json(FACTS) or {}

    @property
    def is_read(self) -> bool:
        return self.facts.get("format") == FACTS_FORMAT and self.has_policy

    @property
    def has_policy(self) -> bool:
        path = self.folder / POLICY
        return path.is_file() and not path.is_symlink()

    @cached_property
    def policy(self) -> PolicyText:
        """The policy's text, empty where there is none; PolicyError where it is not UTF-8."""
        content = self._content(POLICY)
        try:
            return PolicyText((content or b"").decode())
        except UnicodeDecodeError:
            raise InvalidError("is not UTF-8 text", place=POLICY) from None

    @property
    def files(self) -> dict[str, str]:
        """The names of the case's files by what they are: those that its record or else its policy names."""
        named = self.record.get("files")
        if named is None:
            found = {role: self.policy.get(*path) for role, path in KEYS.items()} if self.has_policy else {}
            named = {role: name for role, name in found.items() if isinstance(name, str)}
        return {role: name for role, name in named.items() if role in ROLES}

    @property
    def answers(self) -> dict[str, Any]:
        """What was answered to each question by its name: `fields`, `by` and `at`."""
        answers: dict[str, Any] = self.record.get("answers", {})
        return answers

    @property
    def target(self) -> str | None:
        """The column that somebody said the model predicts."""
        target: str | None = self.record.get("target")
        return target

    @property
    def state_digest(self) -> str:
        """Changes whenever the policy or the record does: a form that was made before is refused then."""
        parts = (self._content(POLICY) or b"", self._content(RECORD) or b"")
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]

    @property
    def inputs_digest(self) -> str:
        """Changes whenever the policy or a file that it reads does: results that were made before are out of date."""
        digest = hashlib.sha256(self._content(POLICY) or b"")
        for name in self.files.values():
            try:
                status = os.stat(self.folder / name, follow_symlinks=False)
                sha256 = _sha256(self.folder / name, status.st_size, status.st_mtime_ns)
                digest.update(f"\0{name} {sha256}".encode())
            except OSError:
                digest.update(b"\0gone")
        return digest.hexdigest()[:16]

    def save(self, *, policy: PolicyText | None = None, **record: Any) -> Case:
        """The case with another policy, and with these entries in its record."""
        if record:
            written = {"format": "leafgate/desk-case/1", **self.record, **record}
            write_file(self.folder / RECORD, readable(written), OWNER_ONLY)
        if policy is not None:
            write_file(self.folder / POLICY, policy.text.encode(), OWNER_ONLY)
        return Case(self.folder)

    def refuse_links(self) -> None:
        """InvalidError where a file of the case, or one that its policy names, is no file in its folder or below."""
        named = (self.policy.get(*path) for path in KEYS.values()) if self.has_policy else ()
        for name in {*self.files.values(), *(name for name in named if isinstance(name, str))}:
            try:
                open_below(self.folder, name).close()
            except InvalidError:
                remedy = "put the file itself there: links are not followed"
                raise InvalidError("is no file in the folder of the case", place=name, remedy=remedy) from None

    def forget_policy(self) -> None:
        """Take the policy away, for one that is written anew."""
        for name in (POLICY, FACTS):
            (self.folder / name).unlink(missing_ok=True)

    def add_file(self, role: str, given: str, content: IO[bytes]) -> str:
        """Copy a file into the case, for its owner alone; the name under which it is kept."""
        name = file_name(given, role)
        name = f"{role}-{name}" if (self.folder / name).exists() else name
        with open(self.folder / name, "xb", opener=lambda path, flags: os.open(path, flags, OWNER_ONLY)) as file:
            shutil.copyfileobj(content, file)
        return name

    def _content(self, name: str) -> bytes | None:
        try:
            with open_below(self.folder, name) as file:
                return file.read(MAX_FILE_BYTES)
        except InvalidError:
            return None

    def _json(self, name: str) -> dict[str, Any] | None:
        content = self._content(name)
        try:
            found = None if content is None else json.loads(content)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


@dataclass(frozen=True)
class Desk:
    """The folder that the desk shows."""

    folder: Path

    def cases(self) -> list[Case]:
        """All cases by name: folders with a record or a policy, which no link leads to."""
        entries = (entry for entry in os.scandir(self.folder) if entry.is_dir(follow_symlinks=False))
        cases = (Case(self.folder / entry.name) for entry in entries if CASE_NAME.fullmatch(entry.name))
        found = (case for case in cases if case.has_policy or (case.folder / RECORD).is_file())
        return sorted(found, key=lambda case: case.name)

    def case(self, name: str) -> Case | None:
        """The case of this name; None where there is none."""
        return next((case for case in self.cases() if case.name == name), None)

    def new_case(self, wanted: str) -> Case:
        """Make the folder of a case; InvalidError for a name that is none, or that is taken."""
        if not CASE_NAME.fullmatch(wanted):
            remedy = "use letters, digits, - and _, at most 60"
            raise InvalidError("this is no name of a case", place="name", remedy=remedy)
        try:
            (self.folder / wanted).mkdir(mode=0o700)
        except FileExistsError:
            raise InvalidError(
                "there is a folder of this name already", place="name", remedy="choose another"
            ) from None
        return Case(self.folder / wanted)

    def earlier_answers(self, case: Case) -> Mapping[str, Any]:
        """The newest answers of other cases on the same table, each with the name of its case as `case`."""
        table = case.facts.get("files", {}).get("table", {}).get("sha256")
        same = [each for each in self.cases() if each.facts.get("files", {}).get("table", {}).get("sha256") == table]
        found = (
            (question, {**answer, "case": each.name})
            for each in same
            if each.name != case.name
            for question, answer in each.answers.items()
        )
        return dict(sorted(found, key=lambda item: str(item[1]["at"])))
