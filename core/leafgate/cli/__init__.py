"""The command line, above all other packages: `app` assembles the commands of core and plugins.

audit      audit, build, attack (`attack`: one attack on one release file)
policy     validate;  report: shows a stored report;  plugins: plugins, explain
supervision: the process that a command runs in
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence

from leafgate.cli.supervision import SIGNAL_CODE, continue_in_fork
from leafgate.errors import ExitCode
from leafgate.interruptions import end_at_once_on_signals, interrupt_on_signals

GC_THRESHOLD = 10_000
"""How many new objects make Python look for unused cycles; by default 700, which every few imports exceed."""


def main() -> None:
    """The `leafgate` command."""
    if sys.stdout is None:  # closed before we began
        sys.exit(ExitCode.INTERNAL)
    gc.set_threshold(GC_THRESHOLD)
    signals = interrupt_on_signals()
    words = sys.argv[1:]

    def no_verdict(how: str) -> int:
        return _internal_error(f"the process that ran the command ended {how}, without a verdict", words)

    state: Callable[[int], None] = lambda code: None  # noqa: E731
    try:
        state = continue_in_fork(no_verdict)
        code = run(words)
        end_at_once_on_signals()
    except OSError as error:
        code = _internal_error(f"no process could be started: {error.strerror}", words)
    except KeyboardInterrupt:  # just before or just after the command
        code = ExitCode.INTERRUPTED
    if code == ExitCode.INTERRUPTED and signals:
        code = SIGNAL_CODE + signals[0]
    gc.freeze()  # the process ends: looking for cycles among all it has imported takes a seventh of `validate`
    state(code)
    sys.exit(code)


def _internal_error(message: str, words: Sequence[str]) -> int:
    """Print why there is no result; the exit code of an internal error."""
    from leafgate.console.exit_codes import print_problems
    from leafgate.errors import Problem

    return print_problems([Problem("", message)], as_json="--json" in words, code=ExitCode.INTERNAL)


def run(words: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    from leafgate.cli.app import app_for, is_completion
    from leafgate.console.exit_codes import exit_code_of, usage_message

    def called() -> object:
        try:
            return app_for(words)(args=list(words), prog_name="leafgate", standalone_mode=False)
        except SystemExit as end:
            if end.code or not is_completion(words):  # no command may end so: it would be taken for a pass
                raise
            return ExitCode.PASS
        except Exception as error:
            if usage_message(error):
                from leafgate.session.results import set_aside_where_refused

                set_aside_where_refused(words)
            raise

    try:
        return exit_code_of(called, as_json="--json" in words)
    except KeyboardInterrupt:  # of an import, or while an error is printed
        return ExitCode.INTERRUPTED
