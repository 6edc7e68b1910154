"""Report formats that plugins offer: what is refused when they are loaded, and how a format is found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from command_line import leafgate
from entry_points import BASICS, Load, Point, install, module
from leafgate.api import InvalidError, ReportDocument, ReportFormat
from leafgate.app import load_plugins
from leafgate.errors import ReportFormatError
from leafgate.session.report_formats import chosen_formats, offered_formats, render, render_tree
from standins import ORIGIN


def count_findings(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    return f"{len(document['findings'])} {sorted(attachments)}\n".encode()


def declared(**changes: Any) -> ReportFormat:
    fields: dict[str, Any] = {
        "name": "tally",
        "filename": "report.tally",
        "media_type": "text/plain",
        "render": count_findings,
    }
    return ReportFormat(**(fields | changes))


def formatting(*formats: object) -> Load:
    return lambda: module(report_formats=lambda: list(formats))


def offering(*formats: object) -> Point:
    return Point("spies", formatting(*formats))


def test_a_format_is_listed_and_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, offering(declared()), BASICS)
    found = load_plugins()
    assert not found.broken
    assert f"spies ({ORIGIN}): format tally\n" in leafgate("plugins").out
    offers = {each["name"]: each["offers"] for each in leafgate("plugins", "--json").document["plugins"]}
    assert offers["spies"] == [{"kind": "format", "use": "tally"}]
    [tally] = chosen_formats(found, ["tally", "tally"])
    assert tally.origin == ORIGIN
    assert render(tally, {"findings": [1, 2]}, {"sweep.svg": b"<svg/>"}) == b"2 []\n"


def test_a_format_is_given_the_attachments_that_it_shows_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, offering(declared(attachments=frozenset({"sweep.svg"}))))
    [tally] = chosen_formats(load_plugins(), ["tally"])
    assert render(tally, {"findings": []}, {"sweep.svg": b"<svg/>", "trail.json": b"{}"}) == b"0 ['sweep.svg']\n"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "two words"}, "the name 'two words' is no word"),
        ({"name": "../tally"}, "is no word"),
        ({"name": ""}, "is no word"),
        ({"name": "text"}, "belongs to leafgate itself"),
        ({"name": "json"}, "belongs to leafgate itself"),
        ({"filename": "folder/report.tally"}, "without a folder"),
        ({"filename": "../report.tally"}, "without a folder"),
        ({"filename": "report.tally\n"}, "without a folder"),
        ({"filename": "release.json"}, "is not 'report.' and an extension"),
        ({"filename": "report.json"}, "belongs to leafgate itself"),
        ({"media_type": "plain"}, "the media type 'plain'"),
    ],
)
def test_a_format_that_no_command_could_use_breaks_its_plugin_alone(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], words: str
) -> None:
    install(monkeypatch, offering(declared(**changes)), BASICS)
    found = load_plugins()
    (broken,) = found.broken
    assert broken.name == "spies"
    assert words in broken.problem
    assert sorted(found.by_name) == ["calm", "sizes", "stump"]
    assert list(offered_formats(found)) == ["text"]


@pytest.mark.parametrize(
    "load", [formatting(ReportFormat), formatting(print), lambda: module(report_formats=lambda: 7)]
)
def test_what_is_no_format_breaks_its_plugin_alone(monkeypatch: pytest.MonkeyPatch, load: Load) -> None:
    install(monkeypatch, Point("spies", load), BASICS)
    (broken,) = load_plugins().broken
    assert "TypeError" in broken.problem


def test_an_unknown_format_names_the_nearest_and_those_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, offering(declared()))
    with pytest.raises(InvalidError, match=r"did you mean 'tally'\?; installed: tally, text") as caught:
        chosen_formats(load_plugins(), ["taly"])
    assert caught.value.exit_code == 2


def test_a_policy_that_pins_others_keeps_the_formats_of_leafgate_and_gets_no_strangers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = declared(name="page", filename="report.page")
    install(monkeypatch, offering(declared()), BASICS, Point("reports", formatting(page), "leafgate", "0.1.0"))
    assert list(offered_formats(load_plugins(["basics"]))) == ["page", "text"]
    assert list(offered_formats(load_plugins(["basics", "acme-spies"]))) == ["page", "tally", "text"]


def test_a_tree_that_cannot_be_drawn_is_an_error_of_its_format(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, offering(declared(render_tree=lambda document: document["planted"])))
    [tally] = chosen_formats(load_plugins(), ["tally"])
    with pytest.raises(ReportFormatError, match=r"'tally' of .* raised KeyError"):
        render_tree(tally, {"nodes": []})


def test_an_unknown_format_names_the_broken_plugins_that_might_offer_it(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, offering(declared(filename="../report.tally")))
    with pytest.raises(InvalidError, match="broken, see `leafgate plugins`: spies"):
        chosen_formats(load_plugins(), ["tally"])


def test_a_format_cannot_change_the_document_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def empties(document: Any, attachments: Mapping[str, bytes]) -> bytes:
        document["findings"].clear()
        return b"nothing"

    install(monkeypatch, offering(declared(render=empties)))
    [tally] = chosen_formats(load_plugins(), ["tally"])
    document = {"findings": [1]}
    render(tally, document)
    assert document == {"findings": [1]}
