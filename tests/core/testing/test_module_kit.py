"""The kit's checks of a plugin's module, on every bundled plugin and on modules with one mistake each."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from leafgate.testing import Check, DoesNotApply, NonConformance, plugin_conformance

BUNDLED = sorted(
    point.value for point in entry_points(group="leafgate") if point.dist and point.dist.name == "leafgate"
)
HEAD = """
import typer
from leafgate.api import hookimpl
leafgate_api = ">=3,<4"
"""
COMMAND = """
app = typer.Typer()

@app.command("greet")
def greet(loud: bool = False) -> None:
    '''Greet.'''

@hookimpl
def commands():
    return [app]
"""


@pytest.mark.parametrize("check", [check for name in BUNDLED for check in plugin_conformance(name)], ids=str)
@pytest.mark.thorough
def test_bundled_plugins_conform(check: Check[Any]) -> None:
    check()


def failures(folder: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The checks that a module of this source fails, each with what is wrong."""
    (folder / "tried_module.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "tried_module", raising=False)
    found = {}
    for check in plugin_conformance("tried_module"):
        try:
            check()
        except NonConformance as failure:
            found[check.name] = failure.what
        except DoesNotApply:
            pass
    return found


def test_a_module_with_a_command_conforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failures(tmp_path, HEAD + COMMAND, monkeypatch) == {}


@pytest.mark.parametrize(
    ("source", "fails", "says"),
    [
        (HEAD, "loads", "offers nothing"),
        (HEAD.replace("leafgate_api", "api") + COMMAND, "loads", "does not state its interface"),
        (HEAD + COMMAND.replace("@hookimpl", ""), "loads", "hookimpl"),
        ("import numpy" + HEAD + COMMAND, "is_light", "imports numpy"),
        (HEAD + COMMAND.replace("'''Greet.'''", "pass"), "explains_its_commands", "does not say what it does"),
        (
            HEAD
            + COMMAND.replace("(loud: bool = False)", "(words: list[str])").replace(
                '"greet")', '"greet", context_settings={"ignore_unknown_options": True})'
            ),
            "explains_its_commands",
            "--no-such-option",
        ),
    ],
)
def test_each_mistake_is_found_by_one_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, fails: str, says: str
) -> None:
    found = failures(tmp_path, source, monkeypatch)
    assert list(found) == [fails]
    assert says in found[fails]


def test_a_name_of_another_plugin_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
from leafgate.api import attack
leafgate_api = ">=3,<4"

@attack("linking", reads={"exact"}, threat_model="x", formula="x", source="x")
def linking(release, known):
    return []
"""
    assert "offers 'linking', too" in failures(tmp_path, source, monkeypatch)["has_free_names"]
