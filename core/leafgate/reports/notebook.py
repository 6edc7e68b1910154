"""Pages for notebooks, each in a sandboxed frame that runs no script and does not style the notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leafgate.io.json import JsonObject
    from leafgate.types.release import Release


def register_release_page(shell: Any) -> None:
    """Let IPython display every Release as the page of its first tree; the value type itself knows no report."""
    formatter = shell.display_formatter.formatters["text/html"]
    formatter.for_type_by_name("leafgate.types.release", "Release", release_frame)


def report_frame(report: JsonObject) -> str:
    """The page of a report in a frame."""
    from leafgate.reports.html import html

    return _frame(html(report).decode())


def release_frame(release: Release) -> str:
    """The page of a release's first tree in a frame, with everything that the release publishes."""
    from leafgate.reports.html import tree_page

    return _frame(tree_page(release))


def _frame(page: str) -> str:
    """The page in a frame. Its own base keeps links within the frame; they would open the notebook's page otherwise."""
    page = page.replace("base-uri 'none'; ", "", 1).replace("<head>", '<head>\n<base href="about:srcdoc">', 1)
    style = "width:100%;height:640px;border:0"
    return f'<iframe sandbox style="{style}" srcdoc="{escape(page)}"></iframe>'
