"""What a notebook shows of an audit and of a release."""

from __future__ import annotations

from html import unescape
from pathlib import Path

from leafgate.reports import Format, view
from leafgate.session.run import open_session
from planted import of_planted
from survey import survey


def framed(text: str) -> str:
    """The page within the frame; the frame lets no script run."""
    assert text.startswith("<iframe sandbox style=")
    assert text.count("<") == 2  # its page is escaped
    return unescape(text.partition('srcdoc="')[2].removesuffix('"></iframe>'))


def test_an_audit_shows_its_public_report(tmp_path: Path) -> None:
    audited = open_session(survey(tmp_path)).audit()
    from leafgate.disclosure.document import document

    page = framed(audited._repr_html_())
    alone = page.replace('\n<base href="about:srcdoc">', "").replace("default-src 'none'; ", "", 1)
    stored = view(document(audited.report, "public"), Format.html).decode()
    assert alone == stored.replace("default-src 'none'; ", "", 1).replace("base-uri 'none'; ", "", 1)


def test_what_was_planted_is_not_in_a_notebook(tmp_path: Path) -> None:
    from leafgate.session.notebook import NotebookAudit

    assert "planted-" not in NotebookAudit(of_planted(tmp_path))._repr_html_()


def test_a_release_shows_its_tree_with_all_it_publishes(tmp_path: Path) -> None:
    audited = open_session(survey(tmp_path)).audit()
    assert audited.sealed is not None
    page = framed(audited.sealed.release._repr_html_())
    assert page.count("<svg") == 1
    assert "<a " not in page  # there are no cards to open
    for words in ("kadet, 1 tree", "age", "yes"):
        assert words in page
