"""Mistakes in plugins: one message says whose it is and what to change, and nothing else breaks."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import Ended, leafgate
from plugin_mistakes import AT_LOAD, CELL, IN_RUN, MISTAKES, Mistake
from stranger import install
from survey import PEOPLE, survey

MODULE = "acme_mistake"
PLUGIN = "acme-mistake 1.0"
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork, and so no time limits"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the survey, in which one cell stands once; plugins that are put there are installed."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(logging.root, "handlers", [])
    yield tmp_path
    sys.modules.pop(MODULE, None)


def policy_of(mistake: Mistake, folder: Path, uses_it: bool = True) -> Path:
    path = survey(folder, mistake.policy if uses_it else {})
    for name in ("people.csv", "model.acme"):
        (folder / name).write_text(PEOPLE.replace("\n40,f", f"\n{CELL},f", 1) if name == "people.csv" else "acme")
    return path


def run(mistake: Mistake, folder: Path, *more: object) -> Ended:
    """The command that meets the mistake."""
    given: dict[str, object] = {"POLICY": policy_of(mistake, folder), "OUT": folder / "out"}
    return leafgate(*(given.get(word, word) for word in mistake.words), *more)


def assert_says_once(ended: Ended, says: str) -> None:
    """One line of all output says it; no output has a traceback or a cell."""
    printed = ended.out + ended.err
    if says:
        assert [says in line for line in printed.splitlines()].count(True) == 1, printed
    assert "Traceback" not in printed
    assert CELL not in printed


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_of_an_installed_plugin(mistake: Mistake, folder: Path) -> None:
    install(folder, MODULE, mistake.source)
    ended = run(mistake, folder)
    assert ended.code == mistake.code, ended
    assert_says_once(ended, mistake.says.replace("PLUGIN", PLUGIN).replace("MODULE", MODULE))
    assert not mistake.broken or f"{PLUGIN}: the plugin {MODULE!r} is broken: " in ended.err
    listed = leafgate("plugins")
    assert_says_once(listed, f"{MODULE} ({PLUGIN}): ")
    assert (listed.code, f"{MODULE} ({PLUGIN}): BROKEN: " in listed.out) == (0, mistake.broken)
    assert not mistake.broken or mistake.says in listed.out
    healthy = leafgate("audit", policy_of(mistake, folder, uses_it=False))
    assert healthy.code == mistake.healthy, healthy
    assert mistake.healthy == 0 or PLUGIN in healthy.out + healthy.err
    if mistake in IN_RUN:  # what loads and lists plugins meets no mistake
        return
    for words in (["--help"], ["schema"]) if mistake.healthy != 2 else (["--help"],):
        other = leafgate(*words)
        assert (other.code, "Traceback" in other.err) == (0, False), other
    trusted = leafgate("audit", survey(folder, {"plugins": ["leafgate"]}))
    assert (trusted.code, PLUGIN in trusted.out + trusted.err) == (0, False)


@pytest.mark.parametrize("mistake", AT_LOAD, ids=lambda mistake: mistake.name)
def test_a_mistake_of_a_file_is_said_once_and_names_the_file(mistake: Mistake, folder: Path) -> None:
    path = folder / "tried.py"
    path.write_text(mistake.source)
    ended = run(mistake, folder, "--plugin", path)
    assert (ended.code, ended.out) == (2, "")
    assert_says_once(ended, "tried.py: is no plugin that can be used: ")
    kind = mistake.says.partition(":")[0]
    assert mistake.says in ended.err or kind in ended.err, ended.err


@pytest.mark.parametrize(
    "mistake", [each for each in IN_RUN if each.words == ("audit", "POLICY")], ids=lambda mistake: mistake.name
)
def test_a_mistake_of_a_file_that_is_run_is_said_once(mistake: Mistake, folder: Path) -> None:
    path = folder / "tried.py"
    path.write_text(mistake.source)
    ended = run(mistake, folder, "--plugin", path)
    assert ended.code == mistake.code, ended
    called = f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
    assert_says_once(ended, mistake.says.replace("PLUGIN", called))


def test_a_file_that_offers_nothing_is_no_plugin(folder: Path) -> None:
    path = folder / "tried.py"
    path.write_text('leafgate_api = ">=3,<4"\n\ndef attacks():\n    return []\n')
    ended = leafgate("validate", survey(folder), "--plugin", path)
    assert (ended.code, ended.out) == (2, "")
    assert "tried.py: is no plugin that can be used: TypeError: it offers nothing: mark its hooks" in ended.err


def test_an_entry_point_that_names_no_module_is_a_broken_plugin_of_which_a_policy_needs_nothing(folder: Path) -> None:
    install(folder, MODULE, "")
    (folder / f"{MODULE}.py").unlink()
    assert f"{MODULE} ({PLUGIN}): BROKEN: ModuleNotFoundError: No module named {MODULE!r}" in leafgate("plugins").out
    assert leafgate("audit", survey(folder)).code == 0
    used = {"metrics.0.use": "offered_by_nobody_else"}
    assert leafgate("audit", survey(folder, used)).code == 3


def test_the_documentation_lists_mistakes_that_are_made_here() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/plugin-mistakes.md").read_text()
    listed = set(re.findall(r"^\| `.*$", page, re.MULTILINE))
    assert listed <= {mistake.row for mistake in MISTAKES}
    assert len(listed) >= 19
    assert len(MISTAKES) >= 80


def test_evidence_that_is_hidden_from_the_public_has_no_cell_in_files_for_everybody(folder: Path) -> None:
    [mistake] = [each for each in IN_RUN if each.name == "error whose text has a cell"]
    install(folder, MODULE, mistake.source)
    assert leafgate("audit", policy_of(mistake, folder), "--out", folder / "out").code == 3
    assert CELL not in json.dumps(json.loads((folder / "out" / "report.json").read_text()))
