"""The errors of leafgate, and the exit code of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from traceback import walk_tb


class ExitCode(IntEnum):
    """Every exit code of a command: scripts and pipelines depend on these numbers."""

    PASS = 0
    FAIL = 1
    INVALID = 2
    INCONCLUSIVE = 3
    INTERNAL = 4
    INTERRUPTED = 130


DocumentPath = tuple[str | int, ...]
"""A path inside a document, such as a policy: `("metrics", 0, "at_least")`."""


def format_path(path: DocumentPath) -> str:
    """Return the path as errors and reports print it.

    >>> format_path(("metrics", 0, "at_least"))
    'metrics[0].at_least'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        location: where, as the command line prints it: a key of the policy, a file, an argument.
        message: what is wrong.
        hint: what to do.
        path: the key of the policy that it is about, which other interfaces call otherwise; empty where it is about
            something else.
    """

    location: str
    message: str
    hint: str = ""
    path: DocumentPath = field(default=(), compare=False)

    @classmethod
    def at(cls, path: DocumentPath, message: str, hint: str = "") -> Problem:
        """A problem with a key of the policy."""
        return cls(format_path(path), message, hint, path)

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        remedy = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.message}{remedy}"


class LeafgateError(Exception):
    """Base class of all errors that leafgate raises on purpose; the text never holds a cell of the user's data."""

    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, *, place: str | DocumentPath = "", remedy: str = "") -> None:
        """`place` is a key of the policy as a path, or the name of a file or of whatever else is wrong."""
        problem = Problem(place, message, remedy) if isinstance(place, str) else Problem.at(place, message, remedy)
        self.problems: tuple[Problem, ...] = (problem,)
        super().__init__(str(self.problems[0]))

    @classmethod
    def listing(cls, problems: Iterable[Problem]) -> LeafgateError:
        """One error that reports every problem at once."""
        listed = tuple(problems)
        error = cls(listed[0].message, place=listed[0].location, remedy=listed[0].hint)
        error.problems = listed
        error.args = ("\n".join(str(problem) for problem in listed),)
        return error


class InvalidError(LeafgateError):
    """The policy, the command or the data cannot be used as it is."""

    exit_code = ExitCode.INVALID


class PolicyError(InvalidError):
    """The policy has a value that is wrong or contradicts another one."""


class DataError(InvalidError):
    """The data is not what the policy says it is."""


class ReleaseError(InvalidError):
    """A release file cannot be read, or does not belong to this policy."""


class ReportError(InvalidError):
    """A stored report cannot be read."""


class LedgerError(InvalidError):
    """A ledger cannot be read, or lines of it were changed."""


class OutputError(InvalidError):
    """The place the results should go to cannot be written."""


class InconclusiveError(LeafgateError):
    """The question cannot be answered; never a pass."""

    exit_code = ExitCode.INCONCLUSIVE


class UnreadableError(InconclusiveError):
    """A belief lacks what a metric reads, such as a prior: the engine then tries the metric on the next belief."""


class ReportFormatError(LeafgateError):
    """A plugin could not write a report in its format."""


class NoReleaseError(LeafgateError):
    """No release keeps the builder's promise.

    The message is public: it holds no number of the data, and nothing that only some of the people have.
    `people` is how many people stand in the way; reports show it only where their smallest cell allows. `details`, in
    words, are for auditors alone.
    """

    exit_code = ExitCode.FAIL

    def __init__(self, message: str, *, people: int | None = None, remedy: str = "", details: str = "") -> None:
        super().__init__(message, place="build", remedy=remedy)
        self.people = people
        self.details = details


def plain(message: str) -> str:
    """Pydantic's message in the style of the other messages."""
    message = message.removeprefix("Value error, ").removeprefix("Input ")
    return message[:1].lower() + message[1:]


def raising_frame(error: BaseException, package: str = "") -> tuple[str, str, int]:
    """Return the module, the function and the line that raised an error; empty texts and 0 where nobody knows.

    Args:
        error: the error; its message, which may hold data, is not looked at.
        package: the deepest line of this package is wanted, where it has one.
    """
    frames = [
        (str(frame.f_globals.get("__name__", "")), frame.f_code.co_name, line)
        for frame, line in walk_tb(error.__traceback__)
    ]
    own = [frame for frame in frames if frame[0].partition(".")[0] == package]
    return (own or frames or [("", "", 0)])[-1]


def raising_line(error: BaseException) -> str:
    """Where an error was raised, as it follows the error's name: ` in FUNCTION, line N`; empty where nobody knows."""
    _, function, line = raising_frame(error)
    return f" in {function}, line {line}" if function else ""


def nearest_name(name: object, known: Iterable[str], otherwise: str) -> str:
    """A hint at the known name that is nearest to an unknown one; `otherwise` where none is near."""
    from difflib import get_close_matches  # commands that name nothing unknown start without it

    close = get_close_matches(str(name), list(known), 1)
    return f"did you mean {close[0]!r}?" if close else otherwise
