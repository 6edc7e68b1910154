"""Cases: a folder each below the desk's folder, with the files, the policy, and what was answered by whom."""

from __future__ import annotations

import getpass
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import IO, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from leafgate.commands.desk.policy_text import PolicyText
from leafgate.errors import InvalidError, LeafgateError, Problem
from leafgate.folders import NO_FOLLOW
from leafgate.io.files import OWNER_ONLY, write_file
from leafgate.io.json import readable
from leafgate.kernel.options import Strict, digest_of
from leafgate.policy.load import load_policy

POLICY, FACTS, RECORD, RUNS = "policy.yaml", "facts.json", "answers.json", "runs"
OWN_NAMES = frozenset({POLICY, FACTS, RECORD, RUNS, "release.json"})
"""Names in a case's folder that no file which somebody gives may have."""
CASE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
Model = TypeVar("Model", bound=BaseModel)
Role = Literal["model", "table", "test", "control"]
ROLES: tuple[Role, ...] = get_args(Role)
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


@lru_cache(maxsize=4096)
def _sha256(path: Path, *_seen: int) -> str | None:
    """The digest of a file, which is read again whenever one of these numbers is another one."""
    return digest_of(path)


@dataclass(frozen=True)
class Validated:
    """What is wrong with a policy, and by what digests reports name it and its waivers if nothing is."""

    problems: Sequence[Problem] = ()
    identity: Mapping[str, str] = field(default_factory=dict)


@lru_cache(maxsize=256)
def _validated(folder: Path, policy: str, org: Sequence[Path], _seen: tuple[str | None, ...]) -> Validated:
    """The same for the same files."""
    try:
        return Validated(identity=load_policy(folder / policy, folder, org).policy.identity)
    except LeafgateError as error:
        return Validated(error.problems)


class Answer(Strict):
    """What somebody answered to a question: in each field of its form, and when."""

    fields: dict[str, str]
    by: str
    at: str


class AnswersRecord(Strict):
    """`answers.json`: what was answered by whom, and what is not written in the policy.

    Attributes:
        files: the names of the files that were given, by what they are; the policy may name others.
        answers: by the name of the question; `file` says which file was taken in place of the given one.
        target: the column that somebody said the model predicts.
    """

    format: Literal["leafgate/desk-answers/1"] = "leafgate/desk-answers/1"
    files: dict[Role, str] = {}  # noqa: RUF012  # a field of pydantic, which copies it
    answers: dict[str, Answer] = {}  # noqa: RUF012
    target: str | None = None


class ModelFacts(Strict):
    """What a model's file is: `kind` tells a release of leafgate from another program's model."""

    kind: Literal["release", "model"]
    format: str
    level: str
    producer: str
    discloses: list[str]


class ColumnFacts(Strict):
    """What pages show of a column; `common` are values that `smallest_cell` people have, with the number of these."""

    distinct: int
    numeric: bool
    common: dict[str, int]
    gaps: list[str]
    unanswered: list[str]
    same: list[list[str]]
    similar: list[list[str]]
    proposed: dict[str, Any]
    left_out: bool
    domain: dict[str, Any]
    secret_domain: dict[str, Any]


class Facts(Strict):
    """`facts.json`: what the files of a case are."""

    format: Literal["leafgate/desk-facts/1"]
    rows: int
    most_rows: int
    target: str
    chosen: bool
    person: str | None
    varies: bool
    model: ModelFacts | None
    columns: dict[str, ColumnFacts]


def checked(model: type[Model], content: bytes | None, place: str) -> Model:
    """What a file of the desk says; InvalidError, which quotes nothing of it, where it is not as the desk writes it."""
    try:
        return model.model_validate_json(content or b"")
    except ValidationError:
        remedy = "it is not as the desk writes it: delete it, or take the folder away"
        raise InvalidError("cannot be read", place=place, remedy=remedy) from None


@dataclass(frozen=True)
class Case:
    """What the folder of a case holds; read anew for each request, so that nothing else has to be kept.

    `org` are policies that its own must complete or tighten.
    """

    folder: Path
    org: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def record(self) -> AnswersRecord:
        """What `answers.json` says, where there is one; InvalidError where it cannot be read."""
        if not os.path.lexists(self.folder / RECORD):
            return AnswersRecord()
        return checked(AnswersRecord, self.content(RECORD), f"{self.name}/{RECORD}")

    @cached_property
    def facts(self) -> Facts:
        """What the files of the case are; InvalidError before they are read."""
        return checked(Facts, self.content(FACTS), f"{self.name}/{FACTS}")

    @property
    def is_read(self) -> bool:
        """Is it known what its files are, and has its policy columns that can be asked about?"""
        with suppress(LeafgateError):
            return bool(self.facts) and self.has_policy and isinstance(self.policy.get("data", "columns"), dict)
        return False

    @property
    def has_policy(self) -> bool:
        path = self.folder / POLICY
        return path.is_file() and not path.is_symlink()

    @cached_property
    def policy(self) -> PolicyText:
        """The policy's text, empty where there is none; PolicyError where it is not UTF-8."""
        content = self.content(POLICY)
        try:
            return PolicyText((content or b"").decode())
        except UnicodeDecodeError:
            raise InvalidError("is not UTF-8 text", place=POLICY) from None

    @property
    def files(self) -> Mapping[Role, str]:
        """The names of the case's files by what they are: those that its policy names, else those that were given."""
        return {**self.record.files, **self.policy_files}

    @property
    def policy_files(self) -> Mapping[Role, str]:
        """The names of the files that the policy names."""
        found = {role: self.policy.get(*KEYS[role]) for role in ROLES} if self.has_policy else {}
        return {role: name for role, name in found.items() if isinstance(name, str)}

    def digests(self) -> dict[Role, str]:
        """The digests of these files as they are now."""
        found = {role: self.sha256(name) for role, name in self.files.items()}
        return {role: digest for role, digest in found.items() if digest is not None}

    @property
    def problems(self) -> Sequence[Problem]:
        """What is wrong with its policy, if there is one."""
        return self.validated().problems if self.has_policy else ()

    def validated(self, policy: str = POLICY) -> Validated:
        """What `leafgate validate` says of a policy in the folder."""
        try:
            of_elsewhere = self.org or self.policy.get("extends")
        except LeafgateError as error:
            return Validated(error.problems)
        beside = policy.removesuffix(POLICY)  # a remedy's policy names what is made there
        named = {*files_below(self.folder), *self.files.values(), *self.policy_files.values(), policy}
        named |= {f"{beside}{name}" for name in files_below(self.folder / beside)}
        seen = tuple(self.sha256(name) for name in sorted(named))
        validate = _validated.__wrapped__ if of_elsewhere else _validated
        try:
            return validate(self.folder, policy, self.org, seen)
        except PydanticSerializationError:  # of the digest of a file that is not there, as that of a repair that runs
            message, remedy = "names a file that cannot be read", "put the file there, or change the name"
            return Validated([Problem(policy, message, remedy)])

    @property
    def state_digest(self) -> str:
        """Changes whenever the policy or the record does: a form that was made before is refused then."""
        parts = (self.content(POLICY) or b"", self.content(RECORD) or b"")
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]

    def sha256(self, name: str) -> str | None:
        """The digest of a file in the folder as it is now; None where it cannot be read, or a link stands there."""
        try:
            status = os.stat(self.folder / name, follow_symlinks=False)
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        seen = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)  # nobody can set the last one
        return _sha256(self.folder / name, *seen)

    def save(self, *, policy: PolicyText | None = None, **record: Any) -> Case:
        """The case with another policy, and with these entries in its record."""
        if record:
            written = self.record.model_copy(update=record).model_dump(exclude_none=True)
            write_file(self.folder / RECORD, readable(written), OWNER_ONLY)
        if policy is not None:
            write_file(self.folder / POLICY, policy.text.encode(), OWNER_ONLY)
        return Case(self.folder, self.org)

    def refuse_links(self) -> None:
        """InvalidError where a file of the case, or one that its policy names, is no file in its folder or below."""
        for name in {*self.record.files.values(), *self.policy_files.values()}:
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

    def content(self, name: str) -> bytes | None:
        """The bytes of a file in the folder or below; None where there is none, or a link leads to it."""
        try:
            with open_below(self.folder, name) as file:
                return file.read(MAX_FILE_BYTES)
        except InvalidError:
            return None


@dataclass(frozen=True)
class Desk:
    """The folder that the desk shows, and the policies that those of its cases must complete or tighten."""

    folder: Path
    org: tuple[Path, ...] = ()

    def cases(self) -> list[Case]:
        """All cases by name: folders with a record or a policy, which no link leads to."""
        entries = (entry for entry in os.scandir(self.folder) if entry.is_dir(follow_symlinks=False))
        cases = (Case(self.folder / entry.name, self.org) for entry in entries if CASE_NAME.fullmatch(entry.name))
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
        return Case(self.folder / wanted, self.org)

    def earlier_answer(self, case: Case, question: str) -> tuple[str, Answer] | None:
        """The newest answer of another case on the same table, and the name of that case; None where there is none."""
        found = []
        for other in self.cases():
            with suppress(LeafgateError, KeyError):
                answer = other.record.answers.get(question)
                tables = [each.digests()["table"] for each in (case, other)]
                is_same = tables[0] == tables[1] and other.name != case.name
                found += [(other.name, answer)] if answer and is_same else []
        return max(found, key=lambda one: one[1].at, default=None)
