"""The command line, above all other packages: `app` assembles the commands of core and plugins.

    audit      audit, build, attack (`attack`: one attack on one release file)
    policy     validate;  report: shows a stored report;  plugins: plugins, explain

Whatever is heavy is imported after the verdicts of earlier runs have been withdrawn (`leafgate.session.stale_results`).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from leafgate.errors import ExitCode
from leafgate.session.stale_results import set_aside, withdraw_verdicts

GC_THRESHOLD = 10_000
"""How many new objects make Python look for unused cycles; by default 700, which every few imports exceed."""


def main() -> None:
    """The `leafgate` command."""
    if sys.stdout is None:  # closed before we began
        sys.exit(ExitCode.INTERNAL)
    gc.set_threshold(GC_THRESHOLD)
    code = run(sys.argv[1:])
    gc.freeze()  # the process ends: looking for cycles among all it has imported takes a seventh of `validate`
    sys.exit(code)


def run(words: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        releases = withdraw_verdicts(words)
    except OSError as error:
        return _not_withdrawn(error, as_json="--json" in words)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    try:
        code = _run(words)
    except KeyboardInterrupt:  # while the command's own modules are imported
        return ExitCode.INTERRUPTED
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
