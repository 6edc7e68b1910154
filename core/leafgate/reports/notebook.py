"""What a notebook shows: the same pages, in a frame that neither changes the notebook nor runs anything."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leafgate.types.release import Release


def report_frame(report: Mapping[str, Any]) -> str:
    """A report's page in a frame."""
    from leafgate.reports.html import html

    return _framed(html(report).decode())


def release_frame(release: Release) -> str:
    """The first tree of a release in a frame, as anyone sees it who has the release."""
    from leafgate.reports.html import tree_page

    return _framed(tree_page(release))


def _framed(page: str) -> str:
    """The page in a frame whose links stay in it: without a base of its own they would lead to the notebook's page."""
    page = page.replace("base-uri 'none'; ", "", 1).replace("<head>", '<head>\n<base href="about:srcdoc">', 1)
    style = "width:100%;height:640px;border:0"
    return f'<iframe sandbox style="{style}" srcdoc="{escape(page)}"></iframe>'
