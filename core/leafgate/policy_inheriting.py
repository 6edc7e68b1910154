"""Policies that extend others: merged, and held to what they extend."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Any

from leafgate.errors import InvalidError, PolicyError, Problem
from leafgate.plugins import Plugins, load_plugins
from leafgate.policy_comparing import Change, compared
from leafgate.policy_lines import Line
from leafgate.policy_merging import merged
from leafgate.policy_written import Chain, Written

LONGEST = 60
REMEDY = "what extends a policy may only tighten it"


def inherited(chain: Chain) -> tuple[Written, list[Problem]]:
    """All of a chain as one policy, and every place where a policy of it loosens what it extends.

    Several organisations' policies do not extend one another: each alone must be sound, and what comes of all of them
    and of the policy must keep to each. Raises PolicyError at once for trust that a parent does not give: code that
    nobody trusts is never loaded.
    """
    if len(chain.organisations) < 2:
        return _held_in_turn(chain.policies)
    bases = [reduce(merged, organisation) for organisation in chain.organisations]
    together = reduce(merged, Chain([], chain.organisations).policies)
    whole = reduce(merged, chain.own, together)
    for base in bases:
        _refuse_untrusted(base, whole)
    loosened = [problem for base in bases for problem in _loosened(base, whole)]
    for policies in (*chain.organisations, [together, *chain.own]):
        loosened += _held_in_turn(policies)[1]
    return whole, list(dict.fromkeys(loosened))


def _held_in_turn(policies: Sequence[Written]) -> tuple[Written, list[Problem]]:
    """Policies merged, the most general first, and every place where one loosens what those before it come to."""
    whole, loosened = policies[0], list[Problem]()
    for child in policies[1:]:
        parent, whole = whole, merged(whole, child)
        _refuse_untrusted(parent, whole)
        loosened += _loosened(parent, whole)
    return whole, loosened


def _loosened(parent: Written, whole: Written) -> list[Problem]:
    return [_problem(change) for change in compared(parent, whole, _plugins(whole)) if loosens(change)]


def _refuse_untrusted(parent: Written, whole: Written) -> None:
    before, now = (replace(one, document={"plugins": one.document.get("plugins")}) for one in (parent, whole))
    wider = [_problem(change) for change in compared(before, now, Plugins()) if loosens(change)]
    if wider:
        raise PolicyError.listing(wider)


def _plugins(whole: Written) -> Plugins:
    """What the policy trusts, for the defaults of its options; what is wrong with that is told when it is loaded."""
    pins = whole.document.get("plugins")
    pinned = isinstance(pins, list) and all(isinstance(pin, str) for pin in pins)
    try:
        return load_plugins(pins if pinned else None)
    except PolicyError:
        return Plugins()


def loosens(change: Change) -> bool:
    """May a policy that extends another not make this change?"""
    return change.kind != "tighter" and not change.free


def _problem(change: Change) -> Problem:
    what = "loosens" if change.kind == "looser" else "changes, in no direction that is tighter,"
    was, now = shown(change.old), shown(change.new)
    what = change.problem or f"{what} what it extends"
    message = f"{what}: {was} became {now}; {_quoted(change.old_line)} | {_quoted(change.new_line)}"
    return Problem(change.place, message, change.hint or REMEDY)


def _quoted(line: Line | None) -> str:
    return "(by default)" if line is None else str(line)


def shown(told: Any) -> str:
    """A value of a policy as it may stand in a sentence."""
    if told is None:
        return "nothing"
    text = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False, default=str)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


@contextmanager
def told_where(written: Written) -> Iterator[None]:
    """What is wrong with something that stands in another file says in which, and in which line."""
    try:
        yield
    except InvalidError as error:
        raise type(error).listing(_placed(problem, written) for problem in error.problems) from None


def _placed(problem: Problem, written: Written) -> Problem:
    place = problem.place
    while place and place not in written.lines:
        place = place[: max(place.rfind("."), place.rfind("["), 0)]
    line = written.lines.get(place)
    if line is None or line.file == written.file:
        return problem
    return replace(problem, place=f"{line.file}, line {line.number}: {problem.place}")
