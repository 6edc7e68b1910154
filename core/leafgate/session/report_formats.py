"""The formats of reports: the text of the core, and those that plugins offer, found by name and rendered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import NoReturn

from leafgate.api.registry import OfferedFormat, Plugins, load_plugins
from leafgate.api.report_formats import ReportDocument, ReportFormat
from leafgate.errors import InvalidError, PolicyError, ReportFormatError, nearest_name, raising_line
from leafgate.plugin_output import plugin_output_dropped

OWN = "leafgate"
"""The distribution whose formats no policy needs to trust expressly: it runs already."""


def _render_text(document: ReportDocument, attachments: Mapping[str, bytes]) -> bytes:
    """The summary that an audit prints."""
    from leafgate.disclosure.summary import summary

    return summary(document).encode()


TEXT = OfferedFormat(
    ReportFormat(name="text", filename="report.txt", media_type="text/plain", render=_render_text), OWN
)
"""The summary that an audit prints, which the core writes itself."""


def offered_formats(plugins: Plugins) -> dict[str, OfferedFormat]:
    """Every format by its name: the text, those of the plugins, and leafgate's own where a policy pins only others.

    Raises:
        PolicyError: two plugins offer the same name or the same file name.
    """
    if not any(plugin.distribution == OWN for plugin in plugins.entries):
        with suppress(PolicyError):  # leafgate is not installed as a distribution
            plugins = Plugins((*plugins.entries, *load_plugins([OWN]).entries))
    return dict(sorted({**plugins.formats_by_name, TEXT.format.name: TEXT}.items()))


def chosen_formats(plugins: Plugins, names: Collection[str]) -> tuple[OfferedFormat, ...]:
    """The formats with these names, each once; of `NAME:WORD` the variant for that word.

    Raises:
        InvalidError: no plugin offers a format of that name, or the format does not know the word; what is known is
            named.
    """
    if set(names) <= {TEXT.format.name}:
        return (TEXT,) if names else ()
    offered = offered_formats(plugins)
    return tuple(_chosen(name, offered, plugins) for name in dict.fromkeys(names))


def _chosen(name: str, known: Mapping[str, OfferedFormat], plugins: Plugins) -> OfferedFormat:
    base, colon, word = name.partition(":")
    if base not in known or (colon and known[base].format.variant is None):
        _refuse(name, list(known), plugins)
    variant = known[base].format.variant
    return known[base] if variant is None else replace(known[base], format=variant(word))


def _refuse(name: str, known: Collection[str], plugins: Plugins) -> NoReturn:
    near = nearest_name(name, known, "")
    broken = f"broken, see `leafgate plugins`: {', '.join(plugin.name for plugin in plugins.broken)}"
    remedy = "; ".join(filter(None, [near, f"installed: {', '.join(known)}", broken if plugins.broken else ""]))
    raise InvalidError(f"nobody offers the report format {name!r}", place="--to", remedy=remedy)


def render(offered: OfferedFormat, document: ReportDocument, attachments: Mapping[str, bytes] | None = None) -> bytes:
    """A report document in a format, which is given a copy of the document.

    Raises:
        InvalidError: the format refuses an attachment.
        ReportFormatError: the format failed or returned no content. The text names the error and its line and leaves
            out its message, which may hold data.
    """
    format_ = offered.format
    given = {name: content for name, content in (attachments or {}).items() if name in format_.attachments}
    return _content(offered, lambda: format_.render(deepcopy(document), given))


def render_tree(offered: OfferedFormat, document: ReportDocument) -> bytes | None:
    """The first tree of a release in a format; None if the format draws none. Errors are those of `render`."""
    draw = offered.format.render_tree
    return None if draw is None else _content(offered, lambda: draw(deepcopy(document)))


def _content(offered: OfferedFormat, draw: Callable[[], object]) -> bytes:
    try:
        with plugin_output_dropped():
            content = draw()
    except (KeyboardInterrupt, InvalidError):
        raise
    except BaseException as error:
        _fail(offered, f"raised {type(error).__name__}{raising_line(error)}", error)
    if not isinstance(content, bytes):
        _fail(offered, f"returned {type(content).__name__}, not bytes")
    if not content:
        _fail(offered, "returned no bytes")
    return content


def _fail(offered: OfferedFormat, how: str, error: BaseException | None = None) -> NoReturn:
    raise ReportFormatError(
        f"the report format {offered.format.name!r} of {offered.origin} {how}",
        place="--to",
        remedy="choose another format, and report this to the authors of the plugin",
    ) from error
