"""The command line: the only part of leafgate that prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from leafgate.cli.app import app, with_plugin_commands
from leafgate.cli.guard import INTERNAL, say_problems
from leafgate.errors import LeafgateError, Problem


def main() -> None:
    """The `leafgate` command."""
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Run one command line and return its exit code (design 4.2)."""
    chosen = app if _is_own(words) else with_plugin_commands(app)
    try:
        code = chosen(args=list(words), prog_name="leafgate", standalone_mode=False)
    except KeyboardInterrupt:
        return 130
    except LeafgateError as error:
        say_problems(error.problems, as_json="--json" in words)
        return error.exit_code
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is None:
            say_problems([Problem("", f"internal error: {type(error).__name__}")], as_json="--json" in words)
            return INTERNAL
        say_problems([Problem("command line", usage(), "see leafgate --help")], as_json="--json" in words)
        return 2
    return code if isinstance(code, int) else 0


def _is_own(words: Sequence[str]) -> bool:
    """Does the command line name a command of the core? Then no plugin is loaded to look for it."""
    own = {command.name for command in app.registered_commands}
    first = next((word for word in words if not word.startswith("-")), None)
    return first in own
