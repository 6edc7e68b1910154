"""The command line, above all other packages: `app` assembles the commands of core and plugins.

    audit      audit, build, attack (`attack`: one attack on one release file)
    policy     validate;  report: shows a stored report;  plugins: plugins, explain

Whatever is heavy is imported after the verdicts of earlier runs have been withdrawn (`leafgate.session.stale_results`).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from leafgate.errors import ExitCode, OutputError
from leafgate.interruptions import end_at_once_on_signals, interrupt_on_ending_signals
from leafgate.io.locks import claimed_folder
from leafgate.session.stale_results import result_folders, set_aside, withdraw_verdicts

SIGNAL_CODE = 128
"""What shells add to the number of the signal that ended a program."""

GC_THRESHOLD = 10_000
"""How many new objects make Python look for unused cycles; by default 700, which every few imports exceed."""


def main() -> None:
    """The `leafgate` command."""
    if sys.stdout is None:  # closed before we began
        sys.exit(ExitCode.INTERNAL)
    gc.set_threshold(GC_THRESHOLD)
    signals = interrupt_on_ending_signals()
    try:
        code = run(sys.argv[1:])
        end_at_once_on_signals()
    except KeyboardInterrupt:  # just before or just after the command
        code = ExitCode.INTERRUPTED
    if code == ExitCode.INTERRUPTED and signals:
        code = SIGNAL_CODE + signals[0]
    gc.freeze()  # the process ends: looking for cycles among all it has imported takes a seventh of `validate`
    sys.exit(code)


def run(words: Sequence[str]) -> int:
    """Run one command line and return its exit code.

    Folders of results are claimed before anything of them is withdrawn: what another run is making stays as it is.
    """
    try:
        with ExitStack() as claims:
            try:
                for folder in result_folders(words):
                    claims.enter_context(claimed_folder(folder))
            except OutputError as error:
                return _refused(error, as_json="--json" in words)
            return _run_in_claimed(words)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def _run_in_claimed(words: Sequence[str]) -> int:
    try:
        releases = withdraw_verdicts(words)
    except OSError as error:
        return _not_withdrawn(error, as_json="--json" in words)
    code = _run(words)  # an interruption of the imports of a command's own modules arrives in `run`
    if code != ExitCode.INTERRUPTED:  # whoever interrupts a run has not asked for its results
        set_aside(releases)
    return code


def _refused(error: OutputError, *, as_json: bool) -> int:
    from leafgate.console.exit_codes import print_problems

    return print_problems(error.problems, as_json=as_json, code=error.exit_code)


def _not_withdrawn(error: OSError, *, as_json: bool) -> int:
    """An older verdict stands in a folder that nothing can be written to: the one thing that cannot be withdrawn."""
    from leafgate.console.exit_codes import print_problems
    from leafgate.errors import Problem

    message = f"an older verdict stands there and cannot be removed: {error.strerror}"
    return print_problems(
        [Problem(str(error.filename), message, "name another folder: --out")], as_json=as_json, code=ExitCode.INVALID
    )


def _run(words: Sequence[str]) -> int:
    from leafgate.cli.app import app_for, is_completion
    from leafgate.console.exit_codes import exit_code_of

    def called() -> object:
        try:
            return app_for(words)(args=list(words), prog_name="leafgate", standalone_mode=False)
        except SystemExit as end:
            if end.code or not is_completion(words):  # no command may end so: it would be taken for a pass
                raise
            return ExitCode.PASS

    return exit_code_of(called, as_json="--json" in words)
