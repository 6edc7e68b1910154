"""What an audit read beside its policy: files about people, and a ledger.

Whoever can guess a file about people could confirm the guess by its plain digest. So the statements have the digest of
`statements.files.json` alone, which is for the owner; the random number in it keeps that digest from confirming
anything.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from leafgate.commands.attest.statement import AuditPredicate
from leafgate.disclosure.schema import Digest
from leafgate.errors import Problem, ReportError
from leafgate.io.files import read_bounded
from leafgate.io.json import readable
from leafgate.io.ledger import read_ledger
from leafgate.kernel.options import Strict
from leafgate.session.expected_run import ANOTHER_RUN, SHA256, ExpectedRun, sha256_of
from leafgate.session.given_files import TABLE, TEST, digest_of, named_files
from leafgate.session.results import FILES, STATEMENTS

MAX_BYTES = 2**24
"""A file of digests of more bytes is none."""
OPTIONS: Mapping[str, str] = {TABLE: "--data", TEST: "--test"}
"""The option that says which file must have been read."""


class ReadFiles(Strict):
    """The content of the file."""

    format: Literal["leafgate/files/1"]
    random: Digest
    """Random digits."""
    files: Annotated[dict[str, Digest], Field(min_length=1)]
    """The SHA-256 of each file, by its key in the policy."""


def files_content(files: Mapping[str, str]) -> bytes:
    """The bytes of the file with these digests."""
    return readable({"format": "leafgate/files/1", "random": secrets.token_hex(32), "files": dict(files)})


@dataclass(frozen=True)
class ExpectedInputs:
    """The digests of what an audit must have read, or the files that have them; None accepts any.

    Attributes:
        data: the table.
        test: the test table.
        ledger: the ledger, all of whose releases the audit must have taken into account; or the digest of its head.
    """

    data: str | None = None
    test: str | None = None
    ledger: str | None = None

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file about people that is named, by its key in the policy."""
        named = {TABLE: self.data, TEST: self.test}
        return {key: sha256_of(text, OPTIONS[key]) for key, text in named.items() if text is not None}


def input_problems(
    folder: Path, predicate: AuditPredicate, expected: ExpectedRun, inputs: ExpectedInputs
) -> Iterator[Problem]:
    """Everything that an audit read beside its policy that is not as expected, or of which nobody says what it must be.

    Args:
        folder: has the statements, and the file with the digests.
        predicate: what the audit found.
        expected: what the statements must be about. A file that the policy names is compared if it is there.
        inputs: what must have been read.

    Raises:
        InvalidError: an expectation cannot be understood.
    """
    stated, given = predicate.data.files_sha256, predicate.policy.given_files
    policy = expected.policy_of_file
    wanted = inputs.digests
    if policy is not None and stated is not None:
        named = {key: digest_of(path) for key, path in named_files(policy).items()}
        wanted = {key: sha256 for key, sha256 in named.items() if sha256 is not None} | wanted
    for key in given.keys() - wanted.keys():
        remedy = f"say which file it must be: {OPTIONS.get(key, '--root')}"
        yield Problem(f"{folder / STATEMENTS}: {key}", "was given to the audit, and not named by the policy", remedy)
    if wanted and stated is None:
        message = "do not say which files about people were read"
        yield Problem(str(folder / STATEMENTS), message, "audit again with --attest")
    elif wanted:
        yield from _other_files(folder / FILES, stated, wanted)
    if inputs.ledger is not None:
        yield from _ledger_problems(inputs.ledger, predicate, str(folder / STATEMENTS))
    elif policy is not None and policy.ledger == "required":
        yield Problem("--ledger", "is missing, and the policy requires a ledger", "name the ledger, or its head")


def _other_files(path: Path, stated: str, wanted: Mapping[str, str]) -> Iterator[Problem]:
    """Each file that is not the wanted one, by the digests in the owner's file."""
    take = "take it from the folder of the audit, beside the statements"
    try:
        content = read_bounded(path, MAX_BYTES, ReportError, str(path))
        if hashlib.sha256(content).hexdigest() != stated:
            raise ReportError("is not what the statements say of it", place=str(path))
        read = ReadFiles.model_validate_json(content).files
    except ReportError as error:
        yield replace(error.problems[0], hint=take)
        return
    except ValidationError:
        yield Problem(str(path), "has no digests of files, although it was signed", "audit again with --attest")
        return
    for key, sha256 in wanted.items():
        if read.get(key) != sha256:
            message = "another file was read" if key in read else "no such file was read"
            yield Problem(f"{path}: {key}", message, ANOTHER_RUN)


def _ledger_problems(expected: str, predicate: AuditPredicate, place: str) -> Iterator[Problem]:
    """What is wrong where the audit did not see all releases of a ledger; its own may have been added since."""
    if predicate.ledger is None:
        yield Problem(place, "is of an audit without a ledger", "audit again with --ledger")
        return
    stated = predicate.ledger.sha256
    if SHA256.fullmatch(expected):
        is_seen = expected.lower() == stated
    else:
        ledger = read_ledger(Path(expected), None)
        heads = [ledger.start.sha256, *ledger.digests]
        later = ledger.lines[heads.index(stated) :] if stated in heads else ()
        release = predicate.release
        own = None if release is None else (release.file or release).sha256
        is_seen = stated in heads and all(line.release.sha256 == own for line in later)
    if not is_seen:
        message = f"is of an audit at head {predicate.ledger.number} of a ledger, and not at that of {expected}"
        yield Problem(place, message, "audit again, with the ledger as it is now")
