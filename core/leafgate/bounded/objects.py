"""Objects of a library as data: what they are called and what they hold, never what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from leafgate.errors import ReleaseError


@dataclass(frozen=True)
class ObjectView:
    """One object: the name of its class, and its attributes, looked at one by one when asked for.

    An attribute is a plain value, an array, a tuple, a mapping, or another ObjectView.
    """

    kind: str
    place: str
    names: frozenset[str] = frozenset()
    get_attribute: Callable[[str], Any] = field(default=lambda _: None, repr=False, compare=False)
    charge_budget: Callable[[int], None] = field(default=lambda _: None, repr=False, compare=False)
    """Called with how many features it is given, and makes; ReleaseError where those of a file become too many."""

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Any:
        """An attribute; ReleaseError where it has none of that name."""
        if name not in self.names:
            raise ReleaseError(f"its {self.kind} has no {name!r}: was it fitted?", place=self.place)
        return self.get_attribute(name)

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or `default` where it has none."""
        return self.get_attribute(name) if name in self.names else default

    def array(self, name: str) -> np.ndarray:
        """An attribute that must be an array."""
        found = self[name]
        if not isinstance(found, np.ndarray):
            raise ReleaseError(f"`{name}` of its {self.kind} must be an array", place=self.place)
        return found

    def many(self, name: str) -> tuple[Any, ...]:
        """An attribute that must be a sequence."""
        return as_tuple(self[name], self, name)


def with_attributes(view: ObjectView, **changes: Any) -> ObjectView:
    """The object with other attributes in place of those of these names."""

    def attribute(name: str) -> Any:
        return changes[name] if name in changes else view.get_attribute(name)

    return replace(view, names=view.names | changes.keys(), get_attribute=attribute)


def as_tuple(value: Any, of: ObjectView, name: str) -> tuple[Any, ...]:
    """A sequence as a tuple; ReleaseError when it is none."""
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    if not isinstance(value, tuple):
        raise ReleaseError(f"`{name}` of its {of.kind} must be a list", place=of.place)
    return value


def printable_name(name: str) -> str:
    """A name of a stranger's as it may be printed: in one line, and not a long one."""
    return "".join(sign if sign.isprintable() else "?" for sign in name[:80])


PLAIN = (str, int, float, bool, type(None))


def view_object(thing: Any, place: str = "model") -> Any:
    """An object in memory as data; nothing of it is called but what Python keeps its attributes by."""
    if isinstance(thing, PLAIN):
        return thing
    if isinstance(thing, np.generic):
        return thing.item()
    if isinstance(thing, np.ndarray):
        return tuple(view_object(each, place) for each in thing.tolist()) if thing.dtype == object else thing
    if isinstance(thing, list | tuple):
        return tuple(view_object(each, place) for each in thing)
    if isinstance(thing, Mapping):
        return {key: view_object(value, place) for key, value in thing.items()}
    if isinstance(thing, slice):
        return slice(view_object(thing.start), view_object(thing.stop), view_object(thing.step))
    if isinstance(thing, type | np.dtype):
        return ObjectView(getattr(thing, "__name__", str(thing)), place)
    facts = _facts(thing)
    return ObjectView(type(thing).__name__, place, frozenset(facts), lambda name: view_object(facts[name], place))


def _facts(thing: Any) -> Mapping[str, Any]:
    """Its attributes; of what is written in C, such as a tree, the state it would be copied by."""
    if isinstance(thing, type) or callable(thing):
        return {}
    facts = getattr(thing, "__dict__", None)
    if facts is None and hasattr(thing, "__getstate__"):
        facts = thing.__getstate__()
    return facts if isinstance(facts, Mapping) else {}
