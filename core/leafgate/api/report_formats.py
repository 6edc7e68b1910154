"""Report formats: how a plugin draws the document of a report, which has been masked for its audience before."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

ReportDocument: TypeAlias = Mapping[str, Any]
"""The content of `report.json`, for the public or for auditors."""

SHEET_FACTS = "facts.yaml"
"""The attachment that holds what users state about a request beside the report."""

NAME = re.compile(r"[a-z][a-z0-9_]*")
FILENAME = re.compile(r"report(\.[a-z0-9]+)+")
MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+-]*")
RESERVED_NAMES = frozenset({"json", "text"})
"""The formats that the core itself writes."""
RESERVED_FILENAMES = frozenset({"report.json", "report.txt"})


@dataclass(frozen=True, kw_only=True)
class ReportFormat:
    """A format in which reports can be written, as a plugin offers it.

    Attributes:
        name: What `--to` calls it, a word such as "csv".
        filename: The name of its file beside `report.json`: "report." and an extension, such as "report.csv".
        media_type: The media type of its files, such as "text/csv".
        render: Returns the content of the file for a document and its attachments by name. Equal documents and
            attachments give equal bytes. The document is a copy that belongs to the call.
        attachments: The names of the attachments that the format can show; it is given no others.
        render_tree: Draws the first tree of a release for notebooks; None for a format that does not. Its document
            has `builder` (a name), `trees` (a number), and `nodes` as `report.json` has them below `tree`.
        variant: Returns the format for `--to NAME:WORD`, with another `filename` and `render`, and raises InvalidError
            for a word that it does not know, such as the empty one of `--to NAME`; None for a format without variants.
    """

    name: str
    filename: str
    media_type: str
    render: Callable[[ReportDocument, Mapping[str, bytes]], bytes]
    attachments: frozenset[str] = frozenset()
    render_tree: Callable[[ReportDocument], bytes] | None = None
    variant: Callable[[str], ReportFormat] | None = None


def mistakes(offered: ReportFormat) -> list[str]:
    """What is wrong with the declaration of a format, a sentence each; empty if a command can use it."""
    problems = []
    if not NAME.fullmatch(offered.name):
        problems.append(f"the name {offered.name!r} is no word of small letters, digits and underscores")
    elif offered.name in RESERVED_NAMES:
        problems.append(f"the name {offered.name!r} belongs to leafgate itself")
    if not FILENAME.fullmatch(offered.filename):
        problems.append(
            f"the filename {offered.filename!r} is not 'report.' and an extension of small letters and digits, "
            "without a folder"
        )
    elif offered.filename in RESERVED_FILENAMES:
        problems.append(f"the filename {offered.filename!r} belongs to leafgate itself")
    if not MEDIA_TYPE.fullmatch(offered.media_type):
        problems.append(f"the media type {offered.media_type!r} is not of the form 'text/csv'")
    return problems
