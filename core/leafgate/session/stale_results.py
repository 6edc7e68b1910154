"""Results of earlier runs, withdrawn before a command can fail.

The folder of `--out` is found in the words of the command line before typer looks at them, so that a wrong option, an
unreadable policy or a killed process leaves no older verdict behind. Only light modules of the standard library are
imported here: a process that is killed while it still loads numpy has withdrawn them already.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence

REPORT, RELEASE, TIMINGS = "report.json", "release.json", "timings.json"
WRITTEN_FORMATS = "reports"
"""The key of `timings.json` that lists the files of report formats that stand beside it."""
FORMAT_FILE = re.compile(r"report(\.[a-z0-9]+)+")
"""What a file of a report format is called (`leafgate.api.report_formats`): nothing else is removed by that list."""
EARLIER_FORMATS = ("report.html", "report.md", "report.sarif", "report.junit.xml", "report.txt")
"""The files of formats that leafgate wrote before `timings.json` listed them."""
VERDICTS = (REPORT, *EARLIER_FORMATS)
"""The report, in the formats that are withdrawn whatever `timings.json` lists."""
RESULTS = frozenset({RELEASE, TIMINGS, "trail.json", "origins.json", *VERDICTS})
"""Every file that an audit may write, but for those of formats of other plugins."""
SWEEPS = ("sweep.json", "sweep.csv", "sweep.svg")
EARLIER = "earlier-"
"""What the name of a file begins with that was set aside instead of removed."""
FOLDERS = {"audit": VERDICTS, "sweep": SWEEPS}
"""Commands whose `--out` is a folder, and the verdicts they write there; `sweep` is a bundled plugin's."""
FILE_WRITERS = {"report", "diff"}
"""Commands whose `--out` is a file; `diff` is a bundled plugin's."""
VALUE_OPTIONS = frozenset(
    {
        *("--root", "--org", "--test", "--out", "--audience", "--to", "--over", "--workers", "--sweep", "--report"),
        *("--expect-policy", "--expect-release", "--expect-file", "--as-of", "--base"),
    }
)
"""The options of these commands that take the next word as their value, whatever it looks like."""


def result_folders(words: Sequence[str]) -> list[str]:
    """The folders that this command line wants to write results into, as far as they are there."""
    return [out for out in _outs(words) if os.path.isdir(out)] if _command(words) in FOLDERS else []


def withdraw_verdicts(words: Sequence[str]) -> list[str]:
    """Remove the verdicts of earlier runs from where this command line wants its results.

    A verdict about a release that can never be drawn again is set aside as `earlier-report.json` instead.

    Returns:
        The paths of releases that the removed reports were about, and which could be built again.

    Raises:
        OSError: a verdict stands where nothing can be removed or emptied.
    """
    command = _command(words)
    releases: list[str] = []
    for out in _outs(words):
        if command in FOLDERS and os.path.isdir(out):
            names = FOLDERS[command]
            releases += _withdraw_folder(out, (*names, *_listed_formats(out)) if REPORT in names else names)
        elif command in FILE_WRITERS and os.path.isfile(out) and not _is_named_otherwise(out, words):
            _remove(out)
    return releases


def set_aside(releases: Sequence[str]) -> None:
    """Rename releases of earlier runs that no verdict stands beside: a run that ended without one leaves none."""
    for path in releases:
        folder = os.path.dirname(path)
        if os.path.isfile(path) and not os.path.exists(os.path.join(folder, REPORT)):
            with contextlib.suppress(OSError):
                os.replace(path, os.path.join(folder, EARLIER + RELEASE))


def _command(words: Sequence[str]) -> str:
    return next((word for word in words if not word.startswith("-")), "")


def _outs(words: Sequence[str]) -> Iterator[str]:
    """Every value of `--out`, as click finds them: an option takes the next word, and `--` ends the options."""
    rest = iter(words)
    for word in rest:
        if word == "--":
            return
        name, equals, written = word.partition("=")
        value = written if equals else next(rest, None) if name in VALUE_OPTIONS else None
        if name == "--out" and value is not None:
            yield value or "."  # as pathlib reads an empty path


def _withdraw_folder(folder: str, names: Sequence[str]) -> list[str]:
    """Remove the verdicts in a folder, the report first, or set them aside with a release that was drawn once."""
    report, release = os.path.join(folder, REPORT), os.path.join(folder, RELEASE)
    described = _release_described(report) if REPORT in names else {}
    drawn_once = bool(described.get("drawn_once")) and os.path.exists(release)
    for name in names:
        path = os.path.join(folder, name)
        if drawn_once and os.path.isfile(path):
            with contextlib.suppress(OSError):
                os.replace(path, os.path.join(folder, EARLIER + name))
        _remove(path)
    built = described and not drawn_once and not _was_read(described)
    return [release] if built and described.get("sha256") == _digest(release) else []


def _listed_formats(folder: str) -> list[str]:
    """The files of report formats that the last audit wrote into the folder, as its timings list them."""
    written = _document(os.path.join(folder, TIMINGS)).get(WRITTEN_FORMATS)
    names = written if isinstance(written, list) else []
    return [name for name in names if isinstance(name, str) and FORMAT_FILE.fullmatch(name) and name not in VERDICTS]


def _was_read(release: dict[str, object]) -> bool:
    """Was the release itself the file that was audited? Then it may be the only copy."""
    file = release.get("file")
    return isinstance(file, dict) and file.get("sha256") == release.get("sha256")


def _release_described(report: str) -> dict[str, object]:
    """What a report says of its release; nothing where it cannot be read: it is not trusted for more than this."""
    release = _document(report).get("release")
    return release if isinstance(release, dict) else {}


def is_release_file(path: str | os.PathLike[str]) -> bool:
    """Does the file say that it is a release?"""
    return _document(path).get("format") == "leafgate/release/1"


def _document(path: str | os.PathLike[str]) -> dict[str, object]:
    try:
        with open(path, "rb") as file:
            document = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _remove(path: str) -> None:
    """Remove a file; empty it where its folder cannot be written to, for an empty file is no report."""
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return
    except OSError:
        if os.path.isdir(path):
            return
        os.close(os.open(path, os.O_WRONLY | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)))


def _is_named_otherwise(out: str, words: Sequence[str]) -> bool:
    """Is the file to write also one to read? The command itself refuses that."""
    values = [word.partition("=")[2] if word.startswith("--") else word for word in words]
    others = [value for value in values if value != out and os.path.isfile(value)]
    return values.count(out) > 1 or any(os.path.samefile(out, other) for other in others)
