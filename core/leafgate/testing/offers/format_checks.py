"""The checks of a report format: bytes, repeatability, isolation, completeness, escaping, and nothing of auditors."""

from __future__ import annotations

import csv
import hashlib
import html
import io
import json
import os
import pickle
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote

from leafgate.api.report_formats import SWEEP_PICTURE, ReportFormat, mistakes
from leafgate.io.json import JsonObject
from leafgate.testing.check import DoesNotApply, NonConformance, raising_line
from leafgate.testing.common_checks import HEAVY, loaded_by
from leafgate.testing.sandbox import offline
from leafgate.testing.scenarios.reports import (
    CONTROLLED,
    FREE_KEYS,
    HOSTILE_NAMES,
    PLANTED,
    REPORTS,
    ReportScenario,
    with_texts,
)
from leafgate.testing.subprocess_worker import other_environment

TEMPLATE_ENGINES = frozenset({"jinja2", "markupsafe"})
"""Packages that a format loads when it renders, and not when it is listed."""
MIN_CELL_LENGTH = 6
"""Shorter texts of an auditor's document occur in any output by chance."""
EXACT = (30, 50)
MASKS: tuple[Mapping[str, int], ...] = (
    {"fewer_than": 30},
    {"fewer_than": 50},
    {"more_than": 30},
    {"more_than": 50},
    {"from": 30, "to": 50},
    {"from": 10, "to": 50},
    {"from": 30, "to": 90},
)
"""Every kind of masked number; no two of them say the same, nor the same as a number of `EXACT`."""
MARKS_OF_DIRECTION = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
ATTACHMENTS: Mapping[str, bytes] = {
    SWEEP_PICTURE: b'<svg xmlns="http://www.w3.org/2000/svg"><title>sweep</title></svg>'
}


@dataclass(frozen=True)
class FormatSubject:
    """A report format, and the reports it is tried on."""

    format: ReportFormat
    more: Sequence[ReportScenario] = ()

    @property
    def scenarios(self) -> tuple[ReportScenario, ...]:
        return (*REPORTS, *self.more)

    def documents(self) -> Iterator[tuple[str, JsonObject]]:
        """Each document, with the name of its scenario and its audience."""
        for scenario in self.scenarios:
            yield f"{scenario.name}, public", scenario.public
            yield f"{scenario.name}, auditor", scenario.auditor

    def render(self, document: JsonObject) -> bytes:
        """The content of the file for a copy of the document, without attachments."""
        return self.render_itself(deepcopy(document), {})

    def render_itself(self, document: JsonObject, attachments: Mapping[str, bytes]) -> bytes:
        """The content of the file for this very document."""
        try:
            content: object = self.format.render(document, attachments)
        except (Exception, SystemExit) as error:
            raise NonConformance(
                f"it raises {type(error).__name__} {raising_line(error)}",
                "render every report: optional keys may be missing, numbers may be masked, there may be no release",
            ) from error
        if not isinstance(content, bytes):
            raise NonConformance(f"it returns {type(content).__name__}", "return bytes, such as `text.encode()`")
        if not content:
            raise NonConformance("it returns no bytes", "write at least the verdict: an empty file is no report")
        return content

    def text(self, document: JsonObject) -> str:
        """The content as text; DoesNotApply for a binary format."""
        try:
            return self.render(document).decode()
        except UnicodeDecodeError:
            raise DoesNotApply("its files are binary") from None


def is_declared(subject: FormatSubject) -> None:
    """Its name is a word, its file has a name of its own without a folder, and its media type is one."""
    if problems := mistakes(subject.format):
        raise NonConformance(problems[0], "see docs/reference/plugin-kinds.md, A report format")


def renders_bytes(subject: FormatSubject) -> None:
    """Every report becomes bytes: failing, passing, inconclusive, without a release, for both audiences."""
    for _, document in subject.documents():
        subject.render(document)
        if shown := {name: ATTACHMENTS[name] for name in subject.format.attachments & set(ATTACHMENTS)}:
            subject.render_itself(deepcopy(document), shown)


def repeats(subject: FormatSubject) -> None:
    """Equal documents give equal bytes, whatever was rendered in between."""
    first = [subject.render(document) for _, document in subject.documents()]
    for (name, document), before in zip(subject.documents(), first, strict=True):
        if subject.render(document) != before:
            raise NonConformance(
                f"it returns other bytes when the same document ({name}) is rendered again",
                "read no clock, draw no random numbers, and keep nothing between two calls",
            )


PROGRAM = """
import hashlib, pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
format_, documents = pickle.load(sys.stdin.buffer)
print(*(hashlib.sha256(format_.render(each, {})).hexdigest() for each in documents))
"""


def repeats_elsewhere(subject: FormatSubject) -> None:
    """Another process, with other hashes and in another time zone, returns the same bytes."""
    documents = [dict(document) for _, document in subject.documents()]
    here = [hashlib.sha256(subject.render(document)).hexdigest() for document in documents]
    try:
        packed = pickle.dumps((subject.format, documents))
    except Exception:
        raise DoesNotApply("its functions are not at the top of a module, where another process finds them") from None
    done = subprocess.run(  # noqa: S603  the running Python with a program of this file
        [sys.executable, "-c", PROGRAM],
        input=pickle.dumps(list(sys.path)) + packed,
        capture_output=True,
        env=os.environ | other_environment(),
        timeout=120,
    )
    if done.returncode != 0:
        raise NonConformance("it fails in another process", "keep everything that it needs in its modules")
    if done.stdout.decode().split() != here:
        raise NonConformance(
            "another process, with other hashes and in another time zone, returns other bytes for the same document",
            "use no hash() of texts, sort sets, and read no clock",
        )


def leaves_inputs_alone(subject: FormatSubject) -> None:
    """It changes neither the document nor the attachments."""
    for name, document in subject.documents():
        given = deepcopy(document)
        attached: dict[str, bytes] = {}
        subject.render_itself(given, attached)
        if given != document or attached:
            raise NonConformance(f"it changes its input ({name})", "copy before you write")


def no_network(subject: FormatSubject) -> None:
    """It opens no connection and resolves no host name."""
    with offline() as tried:
        try:
            for _, document in subject.documents():
                try:
                    subject.render(document)
                except NonConformance:
                    continue  # `renders_bytes` reports it
        finally:
            if tried:
                raise NonConformance(
                    f"it calls {tried[0]}() of the network", "a report must not leave the machine: embed what it needs"
                )


def imports_lightly(subject: FormatSubject) -> None:
    """Importing the module of its `render` loads nothing heavy and no template engine."""
    module = subject.format.render.__module__
    if loaded := loaded_by(module, HEAVY | TEMPLATE_ENGINES):
        raise NonConformance(
            f"importing {module} loads {', '.join(loaded)}",
            "import it with `lazy` of leafgate.api, or inside `render`: formats are listed by every `leafgate plugins`",
        )


def names_every_problem(subject: FormatSubject) -> None:
    """The id of each finding that failed, is inconclusive or is waived occurs in the file."""
    _require_ids(subject, lambda finding: not finding["passed"] or "waiver" in finding)


def names_every_finding(subject: FormatSubject) -> None:
    """The id of each finding that passed occurs in the file too."""
    _require_ids(subject, lambda finding: bool(finding["passed"]) and "waiver" not in finding)


def _require_ids(subject: FormatSubject, wanted: Callable[[JsonObject], bool]) -> None:
    """NonConformance where the id of a wanted finding does not occur, or makes no difference to a binary file."""
    for name, document in subject.documents():
        for i, finding in enumerate(document["findings"]):
            if wanted(finding) and not _has_id(subject, document, i):
                raise NonConformance(
                    f"it leaves out a finding ({name}): {finding['id']}", "write the `id` of every finding"
                )


def _has_id(subject: FormatSubject, document: JsonObject, i: int) -> bool:
    content = subject.render(document)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        twin = deepcopy(dict(document))
        twin["findings"][i]["id"] += " of another"
        return subject.render(twin) != content
    return _bare(document["findings"][i]["id"]) in _bare(unquote(html.unescape(text)))


def _bare(text: str) -> str:
    """The letters, digits and signs of ids, without what escapes them."""
    return re.sub(r"[\\\s]", "", text)


def shows_masked_numbers(subject: FormatSubject) -> None:
    """Where it prints a number of a finding, it prints a masked one too, and as what it is: no number, no blank."""
    numbers = [
        (scenario.public, i, key)
        for scenario in subject.scenarios
        for i in range(len(scenario.public["findings"]))
        for key in ("value", "people", "beyond")
    ]
    printed = [
        each for each in numbers if _with_number(subject, *each, EXACT[0]) != _with_number(subject, *each, EXACT[1])
    ]
    if not printed:
        raise DoesNotApply("it prints no number of a finding")
    for document, i, key in printed:
        _require_masks(subject, document, i, key)


def _require_masks(subject: FormatSubject, document: JsonObject, i: int, key: str) -> None:
    """NonConformance where the file is the same for two masked numbers of a finding, or a mask and a number or none."""
    seen = {_with_number(subject, document, i, key, number): json.dumps(number) for number in (*EXACT, None)}
    for mask in MASKS:
        if key != "value" and "more_than" in mask:
            continue  # no count is masked so
        content = _with_number(subject, document, i, key, mask)
        if content in seen:
            raise NonConformance(
                f"its file is the same for a `{key}` of {json.dumps(mask)} and of {seen[content]}",
                'write what is known of a masked number, such as "fewer than 10" (docs/reference/plugin-kinds.md)',
            )
        seen[content] = json.dumps(mask)


def _with_number(subject: FormatSubject, document: JsonObject, i: int, key: str, number: object) -> bytes:
    """The file with another number of the finding."""
    twin = deepcopy(dict(document))
    twin["findings"][i][key] = number
    return subject.render(twin)


def discloses_nothing_of_auditors(subject: FormatSubject) -> None:
    """The file of a public document has no text that only the auditor's document has, and does not depend on it."""
    for scenario in subject.scenarios:
        before = subject.render(scenario.public)
        subject.render(scenario.auditor)
        after = subject.render(scenario.public)
        remedy = "draw the document that is given and nothing else: keep no other document, and read no file"
        if after != before:
            raise NonConformance(
                f"the public file ({scenario.name}) differs after the auditor's report was rendered", remedy
            )
        public = json.dumps(scenario.public, ensure_ascii=False)
        hidden = {text for text in _cells(scenario.auditor, "") if len(text) >= MIN_CELL_LENGTH and text not in public}
        hidden |= {PLANTED} - set(public.split())
        drawn = _bare(html.unescape(after.decode(errors="replace")))
        if any(_bare(text) in drawn for text in hidden):
            raise NonConformance(f"the public file ({scenario.name}) has a text that only auditors may read", remedy)


def _cells(content: Any, key: str) -> Iterator[str]:
    """Every text of a document that comes from a policy, a table or a plugin, and every digest."""
    if isinstance(content, Mapping):
        for name, each in content.items():
            if key in FREE_KEYS:
                yield name
            yield from _cells(each, name)
    elif isinstance(content, list | tuple):
        for each in content:
            yield from _cells(each, key)
    elif isinstance(content, str) and (key not in CONTROLLED or key.endswith("sha256")):
        yield content


def prints_no_control_characters(subject: FormatSubject) -> None:
    """No name brings a control character or a mark of direction into the file."""
    for scenario in subject.scenarios:
        for what in ("control characters", "direction"):
            text = subject.text(with_texts(scenario.auditor, _surrounded(HOSTILE_NAMES[what])))
            bad = {char for char in text if _is_control(char)}
            if bad:
                names = ", ".join(f"U+{ord(char):04X}" for char in sorted(bad))
                raise NonConformance(
                    f"a name brings {names} into the file", "replace every character that is not `str.isprintable()`"
                )


def _is_control(char: str) -> bool:
    return char not in "\t\n\r" and (unicodedata.category(char) == "Cc" or char in MARKS_OF_DIRECTION)


def escapes_names(subject: FormatSubject) -> None:
    """Names with markup, separators, quotes or line ends change the texts of the file and not its structure."""
    structure = _structure_of(subject.format.media_type)
    if structure is None:
        raise DoesNotApply(f"the kit does not read {subject.format.media_type}")
    for scenario in subject.scenarios:
        plain = _read(subject, structure, scenario.auditor, "name")
        if isinstance(plain, ValueError):
            raise NonConformance(f"it writes no {subject.format.media_type}: {plain}", "write what the media type says")
        for what, hostile in HOSTILE_NAMES.items():
            if _read(subject, structure, scenario.auditor, hostile) != plain:
                raise NonConformance(
                    f"a name with {what} changes the structure of the file",
                    f"escape every text as {subject.format.media_type} wants it",
                )


def _read(subject: FormatSubject, structure: Callable[[str], object], document: JsonObject, around: str) -> object:
    """The structure of the file with a text around every name, or the error where it cannot be read."""
    text = subject.text(with_texts(document, _surrounded(around)))
    try:
        return structure(text)
    except ValueError as error:
        return error


def _surrounded(hostile: str) -> Callable[[str], str]:
    return lambda name: f"{hostile}{name}{hostile}"


def _structure_of(media_type: str) -> Callable[[str], object] | None:
    """What must be the same whatever the names are, for the formats that the kit can read."""
    if media_type in {"text/html", "application/xhtml+xml"}:
        return _html_structure
    if media_type.endswith(("/xml", "+xml")):
        return _xml_structure
    if media_type.endswith(("/json", "+json")):
        return lambda text: _json_structure(json.loads(text))
    if media_type == "text/csv":
        return _csv_structure
    return _markdown_structure if media_type == "text/markdown" else None


class _Tags(HTMLParser):
    """The tags of a page with the names of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[tuple[str, ...]] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add((tag, *(name for name, _ in attrs)))


def _html_structure(text: str) -> object:
    return _Tags(text).found


def _xml_structure(text: str) -> object:
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        return [(each.tag, sorted(each.attrib)) for each in fromstring(text).iter()]
    except ParseError as error:
        raise ValueError("no XML") from error


def _json_structure(content: Any) -> object:
    if isinstance(content, dict):
        return ["object", *map(_json_structure, content.values())]
    return [*map(_json_structure, content)] if isinstance(content, list) else type(content).__name__


FORMULA = re.compile(r"[=+@\t\r-]")


def _csv_structure(text: str) -> object:
    """The number of cells of each row; ValueError where a spreadsheet would run a cell as a formula."""
    try:
        rows = list(csv.reader(io.StringIO(text), strict=True))
    except csv.Error as error:
        raise ValueError("no CSV") from error
    for cell in (cell for row in rows for cell in row):
        if FORMULA.match(cell) and not re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", cell):
            raise ValueError("a cell is a formula")
    return [len(row) for row in rows]


def _markdown_structure(text: str) -> object:
    """The first signs of each line and its unescaped bars; ValueError where a name becomes markup."""
    if re.search(r"<(script|b )", text):
        raise ValueError("a name becomes markup")
    lines = text.split("\n")
    return [(line[:2] if line[:1] in "#|->" else "", len(re.findall(r"(?<!\\)\|", line))) for line in lines]


FORMAT_CHECKS: Mapping[str, Callable[[FormatSubject], None]] = {
    "is_declared": is_declared,
    "renders_bytes": renders_bytes,
    "repeats": repeats,
    "repeats_elsewhere": repeats_elsewhere,
    "leaves_inputs_alone": leaves_inputs_alone,
    "no_network": no_network,
    "light_face": imports_lightly,
    "names_every_problem": names_every_problem,
    "names_every_finding": names_every_finding,
    "shows_masked_numbers": shows_masked_numbers,
    "discloses_nothing_of_auditors": discloses_nothing_of_auditors,
    "prints_no_control_characters": prints_no_control_characters,
    "escapes_names": escapes_names,
}
"""The checks of a report format, by name."""
