"""Pages for notebooks, each in a sandboxed frame that runs no script and does not style the notebook.

The pages are those of the report format "html"; where no plugin offers it, notebooks show the values as text.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leafgate.api.registry import OfferedFormat, Plugins
    from leafgate.io.json import JsonDocument, JsonObject
    from leafgate.kernel.release import Release

PAGE_FORMAT = "html"


def register_release_page(shell: Any) -> None:
    """Let IPython display every Release as the page of its first tree; the value type itself knows no report."""
    formatter = shell.display_formatter.formatters["text/html"]
    formatter.for_type_by_name("leafgate.kernel.release", "Release", release_frame)


def report_frame(report: JsonObject, plugins: Plugins) -> str | None:
    """The page of a report in a frame, as one of these plugins draws it; None where none of them does."""
    from leafgate.session.report_formats import render

    offered = _page_format(plugins)
    return None if offered is None else _frame(render(offered, report).decode())


def release_frame(release: Release) -> str | None:
    """The page of a release's first tree in a frame, with everything that the release publishes."""
    from leafgate.api.registry import load_plugins
    from leafgate.session.report_formats import render_tree

    offered = _page_format(load_plugins())
    page = None if offered is None else render_tree(offered, tree_document(release))
    return None if page is None else _frame(page.decode())


def _page_format(plugins: Plugins) -> OfferedFormat | None:
    from leafgate.session.report_formats import offered_formats

    return offered_formats(plugins).get(PAGE_FORMAT)


def tree_document(release: Release) -> JsonDocument:
    """The first tree of a release that has a split, with everything that the release publishes."""
    from leafgate.disclosure.masking import CountMask, redact_object
    from leafgate.engine.figures import bare_view

    unmasked = CountMask(1, released=True)
    nodes = [redact_object(node, unmasked, "auditor") for node in bare_view(release)] if release.trees else []
    return {"builder": release.builder.get("use", "?"), "trees": len(release.trees), "nodes": nodes}


def _frame(page: str) -> str:
    """The page in a frame. Its own base keeps links within the frame; they would open the notebook's page otherwise."""
    page = page.replace("base-uri 'none'; ", "", 1).replace("<head>", '<head>\n<base href="about:srcdoc">', 1)
    style = "width:100%;height:640px;border:0"
    return f'<iframe sandbox style="{style}" title="leafgate" srcdoc="{escape(page)}"></iframe>'
