"""Reading the report of an audit, if everybody may see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafgate.errors import InvalidError
from leafgate.report import EXIT_CODES, FORMAT
from leafgate.strict_json import parse_json
from leafgate.views.telling import clean

REPORT = "report.json"


@dataclass(frozen=True)
class PublicReport:
    """A report for the public: its text as it was read, and what a run is tagged with."""

    text: str
    tags: Mapping[str, str]
    exit_code: int


def read_public(folder: Path) -> PublicReport:
    """The report in the folder of an audit; InvalidError where it is none, or for auditors only."""
    path = folder / REPORT
    try:
        content = path.read_bytes()
    except OSError as error:
        remedy = "name the folder given to `leafgate audit --out`"
        raise InvalidError(f"cannot be read: {error.strerror}", place=str(path), remedy=remedy) from None
    told = parse_json(content, InvalidError, str(path))
    if not isinstance(told, dict) or told.get("format") != FORMAT or told.get("verdict") not in EXIT_CODES:
        raise InvalidError(f"is no report: its `format` is not {FORMAT!r}, or it has no verdict", place=str(path))
    if told.get("audience") != "public":
        raise InvalidError(
            "is for auditors only, and whoever may read the run could read it",
            place=str(path),
            remedy="audit again without --audience auditor",
        )
    return PublicReport(content.decode(), _tags(told, str(path)), EXIT_CODES[told["verdict"]])


def _tags(told: Mapping[str, Any], place: str) -> dict[str, str]:
    """What a gate or a search asks for; the release is left out where none was built."""
    policy, release = told.get("policy"), told.get("release")
    if not isinstance(policy, dict) or not isinstance(release, dict | None):
        raise InvalidError("does not say which policy and release it is about", place=place)
    tags = {
        **_file_tags(release or {}),
        "leafgate.verdict": told["verdict"],
        "leafgate.waived": told.get("waived"),
        "leafgate.policy": policy.get("name"),
        "leafgate.policy_sha256": policy.get("sha256"),
    }
    tags |= {} if release is None else {"leafgate.release_sha256": release.get("sha256")}
    if not all(isinstance(tag, str | int) for tag in tags.values()):
        raise InvalidError("does not say which policy and release it is about", place=place)
    return {name: str(tag) for name, tag in tags.items()}


def _file_tags(release: Mapping[str, Any]) -> dict[str, Any]:
    """The audited file; none where the release was not read from a file."""
    file = release.get("file")
    if file is None:
        return {}
    known = file if isinstance(file, dict) else {}  # what is missing is refused with everything else
    texts = [clean(known[key]) if isinstance(known.get(key), str) else None for key in ("name", "format", "sha256")]
    return dict(zip(("leafgate.file_name", "leafgate.file_format", "leafgate.file_sha256"), texts, strict=True))
