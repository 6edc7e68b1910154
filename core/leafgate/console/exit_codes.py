"""Every way a command can end, as an exit code: 0 to 4, 130."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import ParamSpec

import typer

from leafgate.console.output import print_document, say
from leafgate.errors import ExitCode, LeafgateError, Problem, nearest_name, raising_line
from leafgate.io.json import readable

P = ParamSpec("P")


def guarded(command: Callable[P, int]) -> Callable[P, None]:
    """A command that returns its exit code, made to end in one whatever happens.

    On a terminal it shows its progress, unless it is called with `as_json` or `quiet`.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        as_json = bool(kwargs.get("as_json"))

        def watched() -> int:
            from leafgate.console.progress import shown_progress  # `--version` and `--help` run no command

            with shown_progress(shown=not (as_json or kwargs.get("quiet"))):
                return command(*args, **kwargs)

        raise typer.Exit(exit_code_of(watched, as_json=as_json))

    return run


def exit_code_of(command: Callable[[], object], *, as_json: bool) -> int:
    """The exit code that a command returns, 0 if it returns none, or that of the error it raises, which is printed."""
    try:
        code = command()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except LeafgateError as error:
        return print_problems(error.problems, as_json=as_json, code=error.exit_code)
    except OSError as error:
        _silence_stdout()
        return print_problems(
            [Problem("", f"could not write: {error.strerror}")], as_json=False, code=ExitCode.INTERNAL
        )
    except SystemExit:  # typer ends so where nobody reads stdout any more
        return print_problems([], as_json=False, code=ExitCode.INTERNAL)
    except Exception as error:
        if _was_interrupted(error):
            return ExitCode.INTERRUPTED
        if message := usage_message(error):
            return _print_usage_error(message, as_json=as_json)
        return print_problems(
            [Problem("", _internal(error), "please report it")], as_json=as_json, code=ExitCode.INTERNAL
        )
    except BaseException as error:  # a library's, or a plugin's, which no other line expects
        return print_problems(
            [Problem("", _internal(error), "please report it")], as_json=as_json, code=ExitCode.INTERNAL
        )
    return code if isinstance(code, int) else ExitCode.PASS


def usage_message(error: Exception) -> str:
    """What typer says of a command line that it refuses; empty for any other error."""
    return str(error.format_message()) if hasattr(error, "format_message") else ""


def _was_interrupted(error: BaseException) -> bool:
    """Did a library turn the interruption of the process into an error of its own, as pydantic does in its compiler?"""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, KeyboardInterrupt) or KeyboardInterrupt.__name__ in str(seen):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _print_usage_error(message: str, *, as_json: bool) -> int:
    """What typer says of a wrong command line; without any word in it, what typer says is the help."""
    if message.startswith("Usage: "):
        if not as_json:
            return _print(lambda: print_document(f"{message}\n"), ExitCode.INVALID)
        message = "names no command"
    text = message.replace("Value error, ", "")  # pydantic's, which typer passes on
    remedy = nearest_choice(text) or "see leafgate --help"
    return print_problems([Problem("command line", text, remedy)], as_json=as_json, code=ExitCode.INVALID)


def nearest_choice(text: str) -> str:
    """A hint at the nearest choice where typer refuses a value by `'x' is not one of 'a', 'b'.`, else an empty text."""
    refused = re.search(r"'([^']*)' is not one of ('.*')\.$", text)
    return nearest_name(refused[1], re.findall("'([^']*)'", refused[2]), "") if refused else ""


def _internal(error: BaseException) -> str:
    """Which error and where in our code; not its text, which may hold data."""
    return f"internal error: {type(error).__name__}{raising_line(error)}"


def print_problems(problems: Sequence[Problem], *, as_json: bool, code: int) -> int:
    """Print problems; `code`, or that of an internal error where stdout takes nothing."""
    return _print(lambda: say_problems(problems, as_json=as_json), code)


def _print(write: Callable[[], None], code: int) -> int:
    """Write to stdout; `code`, or that of an internal error where stdout takes nothing."""
    try:
        write()
        sys.stdout.flush()
    except OSError:
        _silence_stdout()
        return ExitCode.INTERNAL
    return code


def say_problems(problems: Sequence[Problem], *, as_json: bool) -> None:
    """Problems as one JSON document on stdout, or a line each on stderr."""
    if as_json:
        items = [{"place": p.location, "message": p.message, "remedy": p.hint} for p in problems]
        print_document(readable({"format": "leafgate/error/1", "problems": items}))
        return
    for problem in problems:
        say(f"leafgate: {problem}", err=True)


def _silence_stdout() -> None:
    """Nobody reads stdout any more: keep Python from complaining about it at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
