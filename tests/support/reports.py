"""Report documents of every kind: of real audits, and with names nobody would choose."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from command_line import leafgate
from leafgate import Release
from leafgate.app import load_plugins
from leafgate.session import notebook_display
from leafgate.session.report_formats import chosen_formats, render
from survey import survey

FILES = {
    "html": "report.html",
    "markdown": "report.md",
    "sarif": "report.sarif",
    "junit": "report.junit.xml",
    "sheet": "report.sheet.html",
    "model_card": "report.modelcard.md",
    "mapping:satre": "report.mapping.satre.md",
    "text": "report.txt",
}
"""The file of each format that leafgate brings along."""

FOR_PEOPLE = ("sheet", "model_card", "mapping:satre")
"""The documents that people decide by."""
OF_FINDINGS = [form for form in FILES if form not in FOR_PEOPLE]
"""The formats of findings, which programs read or which show all of a report."""


def shown_command(report: Mapping[str, Any]) -> str:
    """The command, or the line of a policy, by which a report says that it can be made again."""
    return view(report, "markdown").decode().strip().rpartition(": `")[2].removesuffix("`")


def method_lines(report: Mapping[str, Any]) -> dict[str, str]:
    """What a report says of how it was checked, by the first words of each line."""
    return dict(re.findall(r"^- \*\*(.*?)\*\*: (.*)$", view(report, "markdown").decode(), re.MULTILINE))


def notebook_frame(page: str) -> str:
    """What a notebook displays of a page."""
    return notebook_display._frame(page)


def release_frame(release: Release) -> str | None:
    """What a notebook displays of a release."""
    return notebook_display.release_frame(release)


def view(document: Mapping[str, Any], form: str) -> bytes:
    """The document in a format, as installed plugins render it."""
    [offered] = chosen_formats(load_plugins(), [form])
    return render(offered, document)


HOSTILE = {
    "script": "<script>alert(1)</script>",
    "attribute": '" onload="alert(1)',
    "table": "a | b || c\\|",
    "lines": "one\ntwo\r\nthree\u2028four\x0bfive",
    "direction": "\u202etxt.exe\u2066",
    "escape": "\x1b[31mred\x07",
    "long": "x" * 10_000,
    "markdown": "[click](javascript:alert(1)) `code` **bold** <!-- -->",
    "template": "{{ 7 * 7 }}{% raw %}",
    "xml": "]]></testcase>&amp;<![CDATA[",
    "nothing": "",
}
KEPT = {"format", "verdict", "audience", "sha256", "kind", "risk", "status", "judged_on", "issued", "expires"}
KEPT |= {"scored", "scored_because"}


def audited(folder: Path, changes: dict[str, Any] | None = None, *, audience: str = "auditor") -> dict[str, Any]:
    """The report of a real audit of the survey, which is audited once with the same changes."""
    asked = json.dumps([changes or {}, audience])
    if asked not in _AUDITED:
        leafgate("audit", survey(folder, changes), "--out", folder / "out", "--audience", audience)
        _AUDITED[asked] = (folder / "out" / "report.json").read_bytes()
    report: dict[str, Any] = json.loads(_AUDITED[asked])
    return report


_AUDITED = dict[str, bytes]()
"""Reports by what they were asked with."""


def renamed(report: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The report with `name` added to every text and every key that comes from a policy, data or a plugin.

    Findings keep what their metrics use, by which they are about a question.
    """
    result: dict[str, Any] = _renamed(report, name)
    for finding, before in zip(result["findings"], report["findings"], strict=True):
        finding["use"] = before.get("use") or before["metric"]
    return result


def _renamed(thing: Any, name: str, key: str = "") -> Any:
    if isinstance(thing, dict):
        free = key in {"believed", "true", "past", "versions"} - KEPT
        return {(f"{k}{name}" if free else k): _renamed(value, name, k) for k, value in thing.items()}
    if isinstance(thing, list):
        return [_renamed(one, name, key) for one in thing]
    return f"{thing}{name}" if isinstance(thing, str) and key not in KEPT else thing


def minimal_report(**more: Any) -> dict[str, Any]:
    """The least that a report may be, and more."""
    return {
        "format": "leafgate/report/1",
        "verdict": "inconclusive",
        "audience": "public",
        "waived": 0,
        "policy": {"name": "p", "sha256": "0" * 64},
        "data": {},
        "release": None,
        "findings": [],
        "versions": {},
        "notes": [],
        **more,
    }


class Page(HTMLParser):
    """A page of HTML as it is read.

    Attributes:
        tags: The names of its elements.
        attributes: All attributes of its elements, with their values.
        text: All its text, as it stands there.
        texts: Its texts one by one, without blanks around them and without style sheets.
        tables: The cells of the tables in elements of the class, by tables and rows.
    """

    def __init__(self, page: str | bytes, table_class: str = "") -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.texts: list[str] = []
        self.tables: list[list[list[str]]] = []
        self._table_class, self._in_table = table_class, False
        self.feed(page if isinstance(page, str) else page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if ("class", self._table_class) in attrs:
            self._in_table = True
            self.tables.append([])
        if self._in_table and tag == "tr":
            self.tables[-1].append([])
        if self._in_table and tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_table &= tag != "table"

    def handle_data(self, data: str) -> None:
        self.text += data
        text = data.strip()
        if text and self.tags[-1:] != ["style"]:
            self.texts.append(text)
        if text and self._in_table and self.tables[-1] and self.tables[-1][-1]:
            self.tables[-1][-1][-1] = f"{self.tables[-1][-1][-1]} {text}".strip()

    def values(self, *names: str) -> list[str]:
        """The values of attributes with these names."""
        return [value for name, value in self.attributes if name in names]
