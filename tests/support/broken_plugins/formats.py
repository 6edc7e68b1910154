"""Report formats with one mistake each, and the honest one they were made from."""

from __future__ import annotations

import csv
import html
import io
import itertools
import json
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from leafgate.api import ReportDocument, ReportFormat
from leafgate.io.text import clean


def page(document: ReportDocument, lines: list[str]) -> bytes:
    """A page with a heading and these lines, each of which is markup already."""
    heading = html.escape(clean(document["policy"]["name"]))
    return "\n".join([f"<h1>{heading}</h1>", *(f"<p>{line}</p>" for line in lines), ""]).encode()


def ids(document: ReportDocument) -> list[str]:
    return [html.escape(clean(finding["id"])) for finding in document["findings"]]


def values(document: ReportDocument, write: Callable[[Any], str]) -> list[str]:
    """The id of each finding, whether it passed, and its value as it is written."""
    written = (html.escape(f"{finding['passed']} {write(finding['value'])}") for finding in document["findings"])
    return [f"{name}: {value}" for name, value in zip(ids(document), written, strict=True)]


def draw(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return page(document, values(document, json.dumps))


def shows_fail_as_ok(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return page(document, [f"{name}: ok" for name in ids(document)])


HONEST_FORMAT = ReportFormat(name="plain", filename="report.plain.html", media_type="text/html", render=draw)


def needs_a_release(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return page(document, [document["release"]["sha256"], *ids(document)])


def returns_text(document: ReportDocument, attachments: Mapping[str, bytes]) -> Any:
    return page(document, ids(document)).decode()


calls = itertools.count()


def counts_calls(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return page(document, [*ids(document), str(next(calls))])


def prints_a_hash(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return page(document, [*ids(document), str(hash(document["policy"]["name"]))])


def sorts_in_place(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    document["findings"].sort(key=lambda finding: finding["id"])
    return page(document, ids(document))


def asks_a_name_server(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    with suppress(OSError):
        socket.getaddrinfo("localhost", 80)
    return page(document, ids(document))


def draws_the_first_finding(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return page(document, ids(document)[:1])


def drops_masks(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return page(document, values(document, lambda value: f"{value:g}" if isinstance(value, int | float) else ""))


def takes_bounds_for_numbers(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return page(document, values(document, lambda each: str(min(each.values()) if isinstance(each, dict) else each)))


def says_only_that_it_is_masked(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return page(document, values(document, lambda each: "masked" if isinstance(each, dict) else str(each)))


paths: list[str] = []


def remembers(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    worst = [group for finding in document["findings"] for group in finding["evidence"].get("worst", ())]
    paths.extend(html.escape(clean(group["path"])) for group in worst)
    return page(document, [*ids(document), *sorted(set(paths))])


def prints_characters_as_they_are(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return page(document, [html.escape(finding["id"]) for finding in document["findings"]])


def escapes_nothing(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return page(document, [clean(finding["id"]) for finding in document["findings"]])


def writes_formulas(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([clean(each["id"]), clean(each["plugin"])] for each in document["findings"])
    return text.getvalue().encode()


def _drawn(render: Callable[[ReportDocument, Mapping[str, bytes]], bytes]) -> ReportFormat:
    return replace(HONEST_FORMAT, render=render)


CSV = replace(HONEST_FORMAT, filename="report.csv", media_type="text/csv")

BROKEN_FORMATS = {
    "shows FAIL as ok": (_drawn(shows_fail_as_ok), "tells_fail_from_ok"),
    "a folder in the file name": (replace(HONEST_FORMAT, filename="../report.html"), "renders_bytes"),
    "needs a release": (_drawn(needs_a_release), "renders_bytes"),
    "returns a text": (_drawn(returns_text), "renders_bytes"),
    "counts its calls": (_drawn(counts_calls), "renders_bytes"),
    "prints a hash": (_drawn(prints_a_hash), "tells_fail_from_ok"),
    "sorts in place": (_drawn(sorts_in_place), "renders_bytes"),
    "asks a name server": (_drawn(asks_a_name_server), "renders_bytes"),
    "draws one finding": (_drawn(draws_the_first_finding), "tells_fail_from_ok"),
    "drops masked numbers": (_drawn(drops_masks), "shows_masked_numbers"),
    "takes bounds for numbers": (_drawn(takes_bounds_for_numbers), "shows_masked_numbers"),
    "drops the bounds of masked numbers": (_drawn(says_only_that_it_is_masked), "shows_masked_numbers"),
    "remembers": (_drawn(remembers), "renders_bytes"),
    "prints control characters": (_drawn(prints_characters_as_they_are), "renders_bytes"),
    "escapes no markup": (_drawn(escapes_nothing), "renders_bytes"),
    "writes formulas": (replace(CSV, render=writes_formulas), "tells_fail_from_ok"),
}
"""Each broken format, and the check that must find its mistake."""
