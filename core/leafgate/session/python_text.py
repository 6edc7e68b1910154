"""Problems and remedies as Python users read them, who have a model and a table in memory and no policy.

The report itself has the words of the command line, so that its bytes are those of `leafgate audit`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING

from leafgate.errors import LeafgateError, Problem
from leafgate.kernel.findings import REPAIR, Remedy, Report
from leafgate.kernel.paths import DocumentPath, format_path, parse_path

if TYPE_CHECKING:
    from leafgate.io.json import JsonObject

ARGUMENTS: Mapping[DocumentPath, str] = {
    ("attacks",): "attacks",
    ("build", "encoding"): "encoding",
    ("build", "trained_by"): "trained_by",
    ("data", "columns"): "roles",
    ("data", "control"): "control",
    ("data", "on_missing"): "on_missing",
    ("data", "test"): "test",
    ("metrics",): "limits",
    ("on_missing",): "on_missing",
    ("publish",): "publish",
    ("publish", "leaves"): "publish",
}
"""The arguments of `leafgate.audit` that stand for sections and keys of a policy."""

OTHER_SECTIONS = frozenset({"build", "data", "knows", "publish", "report"})
"""Sections of a policy that have keys for which there is no argument."""

REPAIR_OPTIONS = frozenset({"--columns", "--effort", "--keep", "--time-limit"})
"""Options of `leafgate repair` that `leafgate.repair` has as arguments."""

REPAIRED = "`repair = leafgate.repair(audit)`, whose `repair.audit` is the audit of the new model"
IN_TERMINAL = "in a terminal, with the files of `audit.to_policy(FOLDER)`"
PHRASES = (
    ("the policy or the data", "X, or the roles"),
    ("(?:that )?the policy declares", "that `roles` declares"),
    ("the policy does not have, or drops", "X does not have, or whose role drops it"),
    ("the policy does not have", "X does not have"),
    ("which the policy drops", "whose role drops it"),
    ("column of the policy", "column of X"),
    ("in the policy", "in `roles`"),
)
"""What errors say of a policy, and what they say of the arguments in its place."""

OF_THE_POLICY = " This is in the policy that `audit.to_policy(FOLDER)` writes."


def error_in_python(error: LeafgateError, policy: JsonObject) -> LeafgateError:
    """The error of an audit of a model in memory, its problems as `problem_in_python` has them."""
    return type(error).listing(problem_in_python(problem, policy) for problem in error.problems)


def problem_in_python(problem: Problem, policy: JsonObject) -> Problem:
    """A problem of an audit of a model in memory, with arguments in place of keys of its policy."""
    message, hint = map(_without_policy, (problem.message, problem.hint))
    if problem.location in REPAIR_OPTIONS:
        return replace(problem, location=_argument_of(problem.location), message=message, hint=hint)
    argument, inner = _argument(problem.path or parse_path(problem.location, policy))
    if not argument:
        return replace(problem, message=message, hint=hint)
    column = argument == "roles" and inner
    location = f"roles: {format_path(inner)}" if column else f"{argument}{_below(inner)}"
    return replace(problem, location=location, message=message, hint=hint)


def _argument_of(option: str) -> str:
    """The argument of `leafgate.repair` for an option of the command.

    >>> _argument_of("--time-limit")
    'time_limit'
    """
    return option.lstrip("-").replace("-", "_")


def _without_policy(text: str) -> str:
    """The text of an error with arguments in place of the policy, which the user has not written."""
    text = text_in_python(text)
    for of_policy, of_arguments in PHRASES:
        text = re.sub(of_policy, of_arguments, text)
    return text


def report_in_python(report: Report) -> Report:
    """The report, to be displayed, with remedies for Python users."""
    findings = [replace(each, remedies=tuple(map(remedy_in_python, each.remedies))) for each in report.findings]
    return replace(report, findings=findings)


def remedy_in_python(remedy: Remedy) -> Remedy:
    """The remedy with its text for Python users; what scripts follow stays as the report has it.

    Where it is about a key of a policy that `leafgate.audit` has no argument for, the text states which policy has it.
    """
    if remedy.action == "run" and remedy.what:
        command = f"; or {IN_TERMINAL}, `{' '.join(remedy.command)}`" if remedy.command != REPAIR else ""
        text = f"{remedy.what}: {REPAIRED}{command}"
    elif remedy.action == "retrain" and remedy.what:
        text = f"{remedy.what}{_audited_again(remedy)}"
    else:
        text, of_policy = _with_arguments(remedy.text)
        return replace(remedy, text=text + _where_it_goes(remedy, of_policy=of_policy))
    outcome, of_policy = _with_arguments(remedy.outcome)
    return replace(remedy, text=text + outcome + (OF_THE_POLICY if of_policy else ""))


def _audited_again(remedy: Remedy) -> str:
    """How a model that was trained again is audited, as the end of a clause."""
    if remedy.afterwards == REPAIR:
        return (
            ", audit it with `leafgate.audit`, and let `leafgate.repair` take out of its file what that discloses "
            "beside its predictions"
        )
    if remedy.afterwards:
        return ', audit it with `publish="labels"`, and let `leafgate.repair` write its file with labels alone'
    return " and audit it again with `leafgate.audit`"


def _where_it_goes(remedy: Remedy, *, of_policy: bool) -> str:
    """A sentence that states which argument a remedy changes, or that none does; empty where that is plain."""
    path = tuple(remedy.place.split(".")) if remedy.place else ()
    argument, _ = _argument(path)
    if remedy.action == "add" and argument in {"attacks", "limits"}:
        return f" It goes into `{argument}`."
    return OF_THE_POLICY if of_policy or (path and not argument) else ""


def _argument(path: DocumentPath) -> tuple[str, DocumentPath]:
    """The argument that stands for a key of a policy, and the path within it; empty where there is none."""
    for end in range(len(path), 0, -1):
        if path[:end] in ARGUMENTS:
            return ARGUMENTS[path[:end]], path[end:]
    return "", path


def _below(path: DocumentPath) -> str:
    printed = format_path(path)
    return printed if not path or printed.startswith("[") else f".{printed}"


def text_in_python(text: str) -> str:
    """A text with functions and arguments of Python in place of commands and keys of a policy in backquotes."""
    return _with_arguments(text)[0]


def _with_arguments(text: str) -> tuple[str, bool]:
    """A text with each name in backquotes as Python has it, and whether one is of a key without an argument.

    >>> _with_arguments("Audit them too (`data.on_missing: keep`).")
    ('Audit them too (`on_missing="keep"`).', False)
    """
    parts = [_name_in_python(part) if quoted else (part, False) for part, quoted in zip(text.split("`"), cycle((0, 1)))]
    return "".join(part for part, _ in parts), any(of_policy for _, of_policy in parts)


def _name_in_python(name: str) -> tuple[str, bool]:
    """What stands between backquotes as Python has it, and whether it is a key of a policy without an argument."""
    if name == "leafgate repair" or name.startswith("leafgate repair "):
        return ("`leafgate.repair`" if name == "leafgate repair" else "`leafgate.repair(audit)`"), False
    if name == "--only-cut":
        return "`fit_anew=False`", False
    option, _, value = name.partition(" ")
    if option in REPAIR_OPTIONS:
        argument = _argument_of(option)
        return (f'`{argument}="{value}"`' if value else f"`{argument}`"), False
    if name.startswith("leafgate "):
        return f"`{name}`, in a terminal,", False
    key, _, value = name.replace(": {", ".").rstrip("}").partition(": ")
    path = tuple(key.split("."))
    argument, inner = _argument(path)
    if not argument:
        return f"`{name}`", path[0] in OTHER_SECTIONS and (len(path) > 1 or bool(value))
    if value == "..." or not value:
        return f"`{argument}`", False
    return f'`{argument}="{value}"`' if not inner else f"`{argument}`", False
