"""The command line: the only part of leafgate that prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from leafgate.cli.app import app, names_of, with_plugin_commands
from leafgate.cli.guard import INTERNAL, INTERRUPTED, tell
from leafgate.errors import LeafgateError, Problem


def main() -> None:
    """The `leafgate` command."""
    if sys.stdout is None:  # closed before we began
        sys.exit(INTERNAL)
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Run one command line and return its exit code (design 4.2)."""
    as_json = "--json" in words
    try:
        chosen = app if _is_own(words) else with_plugin_commands(app)
        code = chosen(args=list(words), prog_name="leafgate", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except LeafgateError as error:
        return tell(error.problems, as_json=as_json, code=error.exit_code)
    except (Exception, SystemExit) as error:
        return _ended_by(error, as_json=as_json)
    return code if isinstance(code, int) else 0


def _ended_by(error: BaseException, *, as_json: bool) -> int:
    """The exit code of what typer raises: wrong usage is 2; a stdout that cannot be written, and bugs, are 4."""
    usage = getattr(error, "format_message", None)
    if usage is None:
        closed = isinstance(error, OSError | SystemExit)
        problems = [] if closed else [Problem("", f"internal error: {type(error).__name__}")]
        return tell(problems, as_json=as_json and not closed, code=INTERNAL)
    if not usage() and not as_json:
        return tell([], as_json=False, code=2)
    problem = Problem("command line", usage() or "names no command", "see leafgate --help")
    return tell([problem], as_json=as_json, code=2)


def _is_own(words: Sequence[str]) -> bool:
    """Does the command line name a command of the core? Then no plugin is loaded to look for it."""
    first = next((word for word in words if not word.startswith("-")), None)
    return first in names_of(app)
