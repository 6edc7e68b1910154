"""Observe a plugin while it runs: shared state, random numbers and network calls; and compare what it returns."""

from __future__ import annotations

import decimal
import json
import random
import re
import socket
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd

from leafgate.io.release_codec import release_bytes
from leafgate.kernel.belief import AttributeBelief, Belief, MembershipBelief, PlantedLeak
from leafgate.kernel.evidence import AuditorOnly, PeopleCount
from leafgate.kernel.knowledge import AdversaryKnowledge
from leafgate.kernel.release import BuildResult, Release
from leafgate.kernel.table import Table
from leafgate.testing.check import NonConformance

CALLS = frozenset(
    f"socket.{name}"
    for name in (
        *("__new__", "connect", "bind", "sendto", "sendmsg"),
        *("getaddrinfo", "gethostbyname", "gethostbyaddr", "getnameinfo"),
    )
)
"""Audit events that Python raises before it opens or accepts a connection, or resolves a name."""
PLANTED_SHARE = 0.5
"""The size of the leak, planted by an attack, whose scores are compared."""
LOCAL = frozenset({getattr(socket, "AF_UNIX", None)})


def canonical_text(thing: Any) -> str:
    """The content of an object as a text; equal objects have equal texts."""
    match thing:
        case Table():
            marks = {name: rows.tolist() for name, rows in thing.protected.items()}
            return f"{canonical_text(thing.frame)} {thing.weight.tolist()} {marks} {thing.schema}"
        case pd.DataFrame():
            return f"{list(thing.columns)} {list(map(str, thing.dtypes))} {thing.astype(object).to_numpy().tolist()}"
        case pd.Series():
            return f"{thing.dtype} {thing.astype(object).tolist()}"
        case np.ndarray():
            return f"{thing.dtype} {thing.tolist()}"
        case Release():
            return release_bytes(thing).decode()
        case BuildResult():
            return f"{canonical_text(thing.release)} {thing.origins} {thing.trail}"
        case AdversaryKnowledge():
            tables = (thing.public, thing.population, thing.people)
            return " ".join([*map(canonical_text, tables), str(dict(thing.distribution)), str(thing.facts)])
        case Belief() | PlantedLeak():
            return _belief_text(thing)
        case list() | tuple():
            return "; ".join(map(canonical_text, thing))
        case _:
            return repr(thing)


def _belief_text(thing: Belief | PlantedLeak) -> str:
    """The parts of a belief as a text; of the leaks that an attack can plant, what it concludes from one of them."""
    parts = {part.name: getattr(thing, part.name) for part in fields(thing) if part.name != "explain"}
    if isinstance(thing, MembershipBelief) and thing.planted is not None:
        parts["planted"] = thing.planted(PLANTED_SHARE, 0)
    if isinstance(thing, AttributeBelief) and thing.planted is not None:
        people = np.arange(len(thing.posterior))
        parts["planted"] = thing.planted(people % np.shape(thing.posterior)[1], people % 2 == 0, 0)
    texts = (f"{name} {canonical_text(part)}" for name, part in parts.items())
    return f"{type(thing).__name__} {' '.join(texts)}"


def digest(text: str) -> str:
    """What two processes compare in a text's place."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def global_coins() -> str:
    """The state of the random numbers that a whole process shares."""
    return f"{random.getstate()} {canonical_text(np.random.get_state())}"


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Set those random numbers, and put them back."""
    before = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])


def shared_state() -> dict[str, str]:
    """What a whole process shares besides: its environment, its folder, how it rounds and what it warns of."""
    _listen()
    arithmetic = decimal.getcontext()
    return {
        "the environment of the process, or its working directory": str(_CHANGES),
        "how numpy treats what cannot be computed": str(np.geterr()),
        "the precision of decimals": f"{arithmetic.prec} {arithmetic.rounding}",
    }


@contextmanager
def usual_arithmetic() -> Iterator[None]:
    """As a process begins: what was changed before is put right, and is seen when it is changed again."""
    usual = np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
    with usual, decimal.localcontext(decimal.Context()):
        yield


_WATCHED: list[list[str]] = []
_CHANGES: dict[str, int] = {"os.putenv": 0, "os.unsetenv": 0, "os.chdir": 0}


@contextmanager
def offline() -> Iterator[list[str]]:
    """No socket of this process reaches another, or is reached; what tried to stands in the list."""
    _listen()
    tried: list[str] = []
    _WATCHED.append(tried)
    try:
        yield tried
    finally:
        _WATCHED.remove(tried)


@cache
def _listen() -> None:
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Python's own word of what goes on, also in modules that do without `socket`."""
    if event in _CHANGES:
        _CHANGES[event] += 1
    if not _WATCHED or event not in CALLS:
        return
    family = arguments[1] if event == "socket.__new__" else getattr(arguments[0], "family", None)
    if family is not None and family in LOCAL:
        return
    name = event.removeprefix("socket.")
    _WATCHED[-1].append("socket" if name == "__new__" else name)
    raise OSError("no network during a conformance check")


SIGN = "q7x"
"""A text that nobody writes who does not copy it from a row."""
MARK = 0.738291
"""What no number of a row has behind its point by chance."""
SHORTEST = 4
"""Cells of fewer characters stand in other texts by chance."""


def public(evidence: Any) -> Any:
    """Evidence as the public may come to read it: without what is private, and without counts of people."""
    if isinstance(evidence, Mapping):
        return {
            key: public(value) for key, value in evidence.items() if not isinstance(value, AuditorOnly | PeopleCount)
        }
    if isinstance(evidence, list | tuple):
        return [public(value) for value in evidence if not isinstance(value, AuditorOnly | PeopleCount)]
    return evidence


def cells(table: Table) -> set[str]:
    """What rows say that could not stand somewhere by chance: long texts no secret has, and numbers with decimals."""
    texts: set[str] = set()
    for column in table.schema.columns:
        if column.numeric:
            texts |= {str(number) for number in table.frame[column.name].tolist() if len(str(number)) > SHORTEST}
        elif not column.roles & {"class", "sensitive"}:
            texts |= {str(value) for value in table.frame[column.name].dropna().unique()}
    return {cell for cell in texts if len(cell) >= SHORTEST}


def refuse_cells(evidence: Any, table_cells: Collection[str], options: Any, remedy: str) -> None:
    """NonConformance where one of these cells stands in it, and in no option."""
    text, chosen = _written(evidence), _written(options)
    for cell in table_cells:
        if cell not in chosen and re.search(rf"(?<![\w.]){re.escape(cell)}(?![\w.])", text):
            raise NonConformance("what it publishes says what stands in a row of the table", remedy)


def _written(document: Any) -> str:
    return json.dumps(document, default=str, ensure_ascii=False)


def numbers_in(evidence: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Every number of some evidence, with its place."""
    if isinstance(evidence, Mapping):
        for key, value in evidence.items():
            yield from numbers_in(value, f"{place}.{key}".strip("."))
    elif isinstance(evidence, list | tuple):
        for number, value in enumerate(evidence):
            yield from numbers_in(value, f"{place}[{number}]")
    elif isinstance(evidence, int | float) and not isinstance(evidence, bool):
        yield place, evidence
