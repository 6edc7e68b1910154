"""What a notebook shows of an audit and of a release."""

from __future__ import annotations

import pickle
import sys
from html import unescape
from pathlib import Path
from subprocess import run

import pytest

from entry_points import BASICS, install
from leafgate.app import open_session
from planted import of_planted
from reports import release_frame, view
from survey import survey


def framed(text: str | None) -> str:
    """The page within the frame; the frame lets no script run."""
    assert text is not None
    assert text.startswith("<iframe sandbox style=")
    assert text.count("<") == 2  # its page is escaped
    return unescape(text.partition('srcdoc="')[2].removesuffix('"></iframe>'))


def test_an_audit_shows_its_public_report(tmp_path: Path) -> None:
    audited = open_session(survey(tmp_path)).audit()
    from leafgate.app import document

    page = framed(audited._repr_html_())
    alone = page.replace('\n<base href="about:srcdoc">', "").replace("default-src 'none'; ", "", 1)
    stored = view(document(audited.report, "public"), "html").decode()
    assert alone == stored.replace("default-src 'none'; ", "", 1).replace("base-uri 'none'; ", "", 1)


def test_what_was_planted_is_not_in_a_notebook(tmp_path: Path) -> None:
    from leafgate import Audit

    assert "planted-" not in framed(Audit(of_planted(tmp_path))._repr_html_())


def test_a_release_shows_its_tree_with_all_it_publishes(tmp_path: Path) -> None:
    audited = open_session(survey(tmp_path)).audit()
    assert audited.artifact is not None
    page = framed(release_frame(audited.artifact.release))
    assert page.count("<svg") == 1
    assert "<a " not in page  # there are no cards to open
    for words in ("kadet, 1 tree", "age", "yes"):
        assert words in page


def test_an_audit_is_shown_as_text_where_no_plugin_draws_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audited = open_session(survey(tmp_path)).audit()
    assert audited.artifact is not None
    install(monkeypatch, BASICS)
    assert audited._repr_html_() is None
    assert release_frame(audited.artifact.release) is None


def test_an_audit_can_be_sent_to_another_process_and_shown_there(tmp_path: Path) -> None:
    audited = open_session(survey(tmp_path)).audit()
    copy = pickle.loads(pickle.dumps(audited))
    assert copy._repr_html_() == audited._repr_html_()


IN_A_NOTEBOOK = """
import sys
from types import ModuleType, SimpleNamespace

class Formatter(dict):
    def for_type_by_name(self, module, name, function):
        self[module, name] = function

html = Formatter()
shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": html}))
sys.modules["IPython"] = ModuleType("IPython")
sys.modules["IPython"].get_ipython = lambda: shell
import leafgate
assert "numpy" not in sys.modules
(displayed,) = html
assert displayed == (leafgate.Release.__module__, leafgate.Release.__qualname__)
assert html[displayed].__module__ == "leafgate.session.notebook_display"
"""


def test_leafgate_has_a_notebook_display_releases_when_it_is_imported_there() -> None:
    done = run([sys.executable, "-c", IN_A_NOTEBOOK], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
