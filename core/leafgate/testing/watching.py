"""Watching a plugin at work: what it changes, which coins it tosses, whether it calls out."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from leafgate.belief import Belief
from leafgate.known import Known
from leafgate.release import Release
from leafgate.release_file import document
from leafgate.strict_json import readable
from leafgate.table import Table

CALLS = ("connect", "connect_ex", "sendto", "sendmsg")
LOOKUPS = ("getaddrinfo", "gethostbyname", "gethostbyname_ex")


def told(thing: Any) -> str:
    """Everything something says, as a text: equal texts, equal things."""
    match thing:
        case Table():
            marks = {name: mine.tolist() for name, mine in thing.protected.items()}
            return f"{told(thing.frame)} {thing.weight.tolist()} {marks} {thing.schema}"
        case pd.DataFrame():
            return f"{list(thing.columns)} {list(map(str, thing.dtypes))} {thing.astype(object).to_numpy().tolist()}"
        case pd.Series():
            return f"{thing.dtype} {thing.astype(object).tolist()}"
        case np.ndarray():
            return f"{thing.dtype} {thing.tolist()}"
        case Release():
            return f"{readable(document(thing)).decode()} {thing.origins} {thing.trail}"
        case Known():
            tables = (thing.public, thing.population, thing.people)
            return " ".join([*map(told, tables), str(dict(thing.distribution)), str(thing.facts)])
        case Belief():
            parts = (thing.groups, thing.chances, thing.records, thing.baseline, thing.cells, thing.estimates)
            return " ".join([str(thing.secret), *map(told, (*parts, *thing.alternatives)), str(dict(thing.evidence))])
        case list() | tuple():
            return "; ".join(map(told, thing))
        case _:
            return repr(thing)


def global_coins() -> str:
    """The state of the random numbers that a whole process shares."""
    return f"{random.getstate()} {told(np.random.get_state())}"


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


@contextmanager
def offline() -> Iterator[list[str]]:
    """No socket of this process reaches another machine; what tried to stands in the list."""
    tried: list[str] = []

    def refuse(name: str, real: Any = None) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            mine = args[0] if args else None
            if real is not None and isinstance(mine, socket.socket) and mine.family == getattr(socket, "AF_UNIX", None):
                return real(*args, **options)
            tried.append(name)
            raise OSError("no network during a conformance check")

        return call

    with ExitStack() as patches:
        for name in CALLS:
            patches.enter_context(patch.object(socket.socket, name, refuse(name, getattr(socket.socket, name))))
        for name in LOOKUPS:
            patches.enter_context(patch.object(socket, name, refuse(name)))
        yield tried
