"""The folder of results: claimed by one run, cleared of older verdicts before anything else, and written in the end.

A run that is refused, fails or is killed leaves no verdict that could be read as its own. The report is written last,
so that none stands there without the release that it is about.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from leafgate.api.report_formats import FILENAME
from leafgate.errors import OutputError, ReportError
from leafgate.io.files import EVERYONE, make_folder, remove_files, write_files
from leafgate.io.json import JsonDocument, parse_json, readable
from leafgate.io.locks import locked_folder

if TYPE_CHECKING:
    from leafgate.api.registry import OfferedFormat, Plugins
    from leafgate.disclosure.masking import Audience
    from leafgate.engine.report import Audit

REPORT, RELEASE, TIMINGS = "report.json", "release.json", "timings.json"
STATEMENTS = "statements.intoto.jsonl"
"""The signed statements about a report, which `leafgate attest` may write beside it."""
FILES = "statements.files.json"
"""The digests of the files about people that statements are about, for their owner and those who verify them."""
RESULTS = frozenset({REPORT, RELEASE, TIMINGS, STATEMENTS, FILES, "trail.json", "origins.json", "report.txt"})
"""Every file that an audit may write, but for those of formats of plugins, and the statements about its report."""
SHOWN = (
    *("report.txt", "report.html", "report.md", "report.sarif", "report.junit.xml"),
    *("report.sheet.html", "report.modelcard.md", "report.mapping.md"),
)
"""The files of leafgate's own formats."""
WRITTEN_FORMATS = "reports"
"""The key of `timings.json` that lists the files of report formats that stand beside it."""
SWEEP_FILES = ("sweep.json", "sweep.csv", "sweep.svg")
"""What the bundled command `sweep` writes."""
EARLIER = "earlier-"
"""What the name of an older verdict begins with once it is set aside."""
VERDICTS: Mapping[str, tuple[str, ...]] = {"audit": (), "sweep": SWEEP_FILES}
"""Commands whose `--out` is a folder of results, and what their verdicts stand in; of an audit in reports."""


@contextmanager
def results_folder(folder: Path, command: str = "audit") -> Iterator[None]:
    """Make the folder of `--out`, claim it for this run of a command, and set aside the verdicts of its earlier ones.

    `report.json` becomes `earlier-report.json`, and the release `earlier-release.json`, since it may be one that can
    never be drawn again; `restore_release` gives a release that this run reads its name back. What this run writes in
    place of earlier results it removes by `remove_results`.

    Args:
        folder: where the results go; made if it is not there.
        command: the command that writes there, `audit` or `sweep`.

    Raises:
        OutputError: another audit or sweep has claimed the folder, it cannot be written to, or an older verdict in it
            cannot be renamed.
    """
    make_folder(folder)
    with locked_folder(folder) as locked:
        if not locked:
            raise OutputError(
                "another audit or sweep is writing its results there",
                place=str(folder),
                remedy="name another folder: --out; or run again when it has ended",
            )
        _set_aside(folder, VERDICTS[command] or _reports(folder))
        yield


def _set_aside(folder: Path, names: Collection[str]) -> None:
    try:
        for name in names:
            if (folder / name).is_file():
                os.replace(folder / name, folder / f"{EARLIER}{name}")
    except OSError as error:
        message = f"an older verdict stands there and cannot be set aside: {error.strerror}"
        raise OutputError(message, place=str(folder), remedy="name another folder: --out") from None


def _reports(folder: Path) -> list[str]:
    """The release and the reports of the last audit, and what `leafgate report` or `attest` may have written."""
    listed = _json_object(folder / TIMINGS).get(WRITTEN_FORMATS)
    names = [name for name in listed if FILENAME.fullmatch(str(name))] if isinstance(listed, list) else []
    release = [RELEASE] if is_release_file(folder / RELEASE) else []
    return sorted({*release, REPORT, STATEMENTS, FILES, *names, *SHOWN})


def restore_release(folder: Path, inputs: Collection[Path]) -> None:
    """Give the release that was set aside its name back where the run reads it.

    Args:
        folder: the folder of results.
        inputs: the resolved paths of what the run reads.
    """
    release, earlier = folder / RELEASE, folder / f"{EARLIER}{RELEASE}"
    if earlier.is_file() and not release.exists() and not {release.resolve(), earlier.resolve()}.isdisjoint(inputs):
        os.replace(earlier, release)


def drawn_release(release: Path) -> Path | None:
    """The release that an earlier run wrote to this path, where it stands now; None without one."""
    places = (release, release.with_name(f"{EARLIER}{release.name}"))
    return next((place for place in places if place.exists()), None)


def set_aside_where_refused(words: Sequence[str]) -> None:
    """Set aside the verdicts in each folder after an `--out` of a command line that no command has taken.

    Where such a command line is odd (`--root --out FOLDER`), these are more folders than its author meant. A misspelt
    command is taken for the one with verdicts that it is nearest to.
    """
    named = [after for word, after in pairwise(words) if word == "--out"]
    named += [word.removeprefix("--out=") for word in words if word.startswith("--out=")]
    first = next((word for word in words if not word.startswith("-")), "")
    for command in get_close_matches(first.lower(), VERDICTS, n=1):
        for folder in filter(Path.is_dir, map(Path, named)):
            with suppress(OutputError), results_folder(folder, command):
                pass


def result_files(plugins: Plugins) -> frozenset[str]:
    """The names of all files that an audit may write, in every format that these plugins offer."""
    return RESULTS | frozenset(each.filename for plugin in plugins.entries for each in plugin.formats)


def remove_results(folder: Path, names: Collection[str]) -> None:
    """Delete files of earlier runs, and what was set aside of them, so that no stale file lies among new results."""
    remove_files(folder, [*names, *(f"{EARLIER}{name}" for name in names)])


def is_release_file(path: Path) -> bool:
    """Does the file say that it is a release?"""
    return _json_object(path).get("format") == "leafgate/release/1"


def _json_object(path: Path) -> dict[str, object]:
    """The object in a JSON file; empty where there is none."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def write_results(audit: Audit, audience: Audience, folder: Path, formats: Collection[OfferedFormat] = ()) -> None:
    """Write release.json, report.json, timings.json and the report in other formats into a folder.

    Only their owner can read an auditor's report and a release that did not pass. Auditors also receive trail.json,
    where the builder recorded one, and origins.json, which names the person behind each published record.

    Call it within `results_folder`.

    Raises:
        ReportFormatError: a format failed; then nothing is written.
        OutputError: the folder cannot be written to.
    """
    reports = {each.format.filename for each in formats}
    private = (RESULTS | reports) - {RELEASE, TIMINGS} if audience == "auditor" else frozenset()
    private |= {RELEASE} if audit.report.verdict != "pass" else set()
    write_files(folder, _results(audit, audience, formats), EVERYONE, private)


def _results(audit: Audit, audience: Audience, formats: Collection[OfferedFormat]) -> Mapping[str, bytes]:
    """The files in the order in which they take their names: the report last, so that no report exists without them."""
    from leafgate.disclosure.document import document
    from leafgate.models.origins import origins_document
    from leafgate.session.report_formats import render

    seconds = {step: round(value, 6) for step, value in audit.seconds.items()}
    timings: JsonDocument = {"format": "leafgate/timings/1", "seconds": seconds}
    if formats:
        timings[WRITTEN_FORMATS] = sorted(each.format.filename for each in formats)
    report = readable(document(audit.report, audience))
    files = {} if audit.artifact is None else {RELEASE: audit.artifact.content}
    files |= {TIMINGS: readable(timings)}
    if audit.artifact is not None and audience == "auditor" and audit.artifact.trail:
        trail = {"format": "leafgate/trail/1", "release": audit.artifact.sha256, "steps": list(audit.artifact.trail)}
        files["trail.json"] = readable(trail)
    if audit.artifact is not None and audience == "auditor" and audit.artifact.origins is not None:
        files["origins.json"] = origins_document(audit.artifact)
    if formats:
        stored = parse_json(report, ReportError, "report")
        files |= {each.format.filename: render(each, stored) for each in formats}
    return files | {REPORT: report}
