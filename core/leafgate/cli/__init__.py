"""The command line, above all other packages: `app` assembles the commands of core, sweep, diff and plugins.

    audit      audit, build, attack (`attack`: one attack on one release file);  model: convert, scrub
    policy     validate, init, schema;  report: shows a stored report;  plugins: plugins, explain, demo

Whatever is heavy is imported after the verdicts of earlier runs have been withdrawn (`leafgate.session.stale_results`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from leafgate.errors import ExitCode
from leafgate.session.stale_results import set_aside, withdraw_verdicts


def main() -> None:
    """The `leafgate` command."""
    if sys.stdout is None:  # closed before we began
        sys.exit(ExitCode.INTERNAL)
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        releases = withdraw_verdicts(words)
    except OSError as error:
        return _not_withdrawn(error, as_json="--json" in words)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    code = _run(words)
    if code != ExitCode.INTERRUPTED:  # whoever interrupts a run has not asked for its results
        set_aside(releases)
    return code


def _not_withdrawn(error: OSError, *, as_json: bool) -> int:
    """An older verdict stands in a folder that nothing can be written to: the one thing that cannot be withdrawn."""
    from leafgate.console.exit_codes import print_problems
    from leafgate.errors import Problem

    message = f"an older verdict stands there and cannot be removed: {error.strerror}"
    return print_problems(
        [Problem(str(error.filename), message, "name another folder: --out")], as_json=as_json, code=ExitCode.INVALID
    )


def _run(words: Sequence[str]) -> int:
    from leafgate.cli.app import app, names_of, with_plugin_commands
    from leafgate.console.exit_codes import print_problems
    from leafgate.errors import LeafgateError

    as_json = "--json" in words
    first = next((word for word in words if not word.startswith("-")), None)
    try:
        chosen = app if first in names_of(app) else with_plugin_commands(app)  # plugins are loaded for others' commands
        code = chosen(args=list(words), prog_name="leafgate", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except LeafgateError as error:
        return print_problems(error.problems, as_json=as_json, code=error.exit_code)
    except (Exception, SystemExit) as error:
        return _ended_by(error, as_json=as_json)
    return code if isinstance(code, int) else 0


def _ended_by(error: BaseException, *, as_json: bool) -> int:
    """The exit code of what typer raises: wrong usage is 2; a stdout that cannot be written, and bugs, are 4."""
    from leafgate.console.exit_codes import print_problems
    from leafgate.errors import Problem

    usage = getattr(error, "format_message", None)
    if usage is None:
        closed = isinstance(error, OSError | SystemExit)
        problems = [] if closed else [Problem("", f"internal error: {type(error).__name__}")]
        return print_problems(problems, as_json=as_json and not closed, code=ExitCode.INTERNAL)
    if not usage() and not as_json:
        return print_problems([], as_json=False, code=ExitCode.INVALID)
    message = usage().replace("Value error, ", "")  # pydantic's, which typer passes on
    problem = Problem("command line", message or "names no command", "see leafgate --help")
    return print_problems([problem], as_json=as_json, code=ExitCode.INVALID)
