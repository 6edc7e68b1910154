"""What a policy may do to the options of one that it extends: each field of the policy's models has its rule.

A rule is metadata of the field, as in `seed: Annotated[int, FREE] = Field(0, description=...)`; the options of plugins'
components have `MORE` and `LESS`. `leafgate.policy` merges and compares policies by these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from leafgate.kernel.options import models_of
from leafgate.kernel.paths import DocumentPath, is_number

Kind = Literal["tighter", "looser", "different"]
"""What a change does: a policy that extends another may only tighten it."""
Comparison = Callable[[Any, Any], Kind]
"""Compares an older and a newer value, as they are written, that are not equal."""


def more(old: Any, new: Any) -> Kind:
    """A larger number is tighter; of a switch, on is."""
    if not all(isinstance(value, bool) or is_number(value) for value in (old, new)):
        return "different"
    return "tighter" if new > old else "looser"


def less(old: Any, new: Any) -> Kind:
    """A smaller number is tighter; of a switch, off is."""
    return more(new, old)


def ranked(words: Sequence[str]) -> Comparison:
    """Later words are tighter."""

    def compare(old: Any, new: Any) -> Kind:
        if old not in words or new not in words:
            return "different"
        return "tighter" if words.index(new) >= words.index(old) else "looser"

    return compare


def pinned(old: Any, new: Any) -> Kind:
    """A list of plugins is tighter than None, which trusts all; one without a listed plugin has not its checks."""
    before, after = _listed(old), _listed(new)
    if before is None or after is None:
        return "looser" if after is None else "tighter"
    return "looser" if before != after else "different"


def all_of(old: Any, new: Any) -> Kind:
    """Everything that is listed and more is tighter; None is everything."""
    before, after = _listed(old), _listed(new)
    if before is None or after is None:
        return "looser" if before is None else "tighter"
    return "tighter" if before <= after else "looser" if after < before else "different"


def fewer(old: Any, new: Any) -> Kind:
    """A list without further items is tighter."""
    return "tighter" if (_listed(new) or set()) <= (_listed(old) or set()) else "looser"


def _listed(value: Any) -> set[str] | None:
    return {*map(str, value)} if isinstance(value, list | tuple) else None


def each(old: Any, new: Any) -> Kind:
    """Left out it is about all of them, which is tighter than one."""
    return "looser" if old is None else "tighter" if new is None else "different"


def unstated(old: Any, new: Any) -> Kind:
    """Saying less is tighter; of two values neither is."""
    return "tighter" if new is None else "looser"


def one_tightest(word: str) -> Comparison:
    """One word is tighter than all others, which have no order."""
    return lambda old, new: "tighter" if new == word else "looser" if old == word else "different"


def one_loosest(word: str) -> Comparison:
    """One word is looser than all others, which have no order."""
    return lambda old, new: "looser" if new == word else "tighter" if old == word else "different"


def unordered(old: Any, new: Any) -> Kind:
    """No value is tighter than another."""
    return "different"


@dataclass(frozen=True)
class Inherited:
    """What a policy that extends another may do to an option.

    Attributes:
        rule: which changes are allowed:
            `ordered`: those that `compare` calls tighter.
            `completed`: to state it where the other policy leaves it out.
            `granted`: the same; it gives the adversary more, so stating it is tighter.
            `free`: any.
            `fixed`: none, not even to state it.
            `added`: to add items to a list, if more of them are tighter, and waivers.
            `component`: to state a component, and to change its options as far as their own rules allow.
            `named`: to add components, and to change those of the same name likewise.
            `columns`: to add columns, and to change others as far as their own options allow.
            `reading`: those of how files are read that remove and rename nobody (`policy/reader_options.py`).
            `special`: it is compared with another field, or is a section whose fields have rules of their own.
        compare: the order of two values; of `added` items what one more of them is.
        default: the value of an option that is left out; `...` is the field's own default.
        by_key: is the section merged key by key, where both policies have it?
        descriptive: may a policy say it of a column that it alone lists, although the default is tighter?
    """

    rule: Literal[
        "ordered",
        "completed",
        "granted",
        "free",
        "fixed",
        "added",
        "component",
        "named",
        "columns",
        "reading",
        "special",
    ]
    compare: Comparison = unordered
    default: Any = ...
    by_key: bool = False
    descriptive: bool = False


def ordered_by(compare: Comparison, default: Any = ...) -> Inherited:
    """The rule of an option whose values have an order; `default` is what it means where it is left out."""
    return Inherited("ordered", compare, default)


MORE, LESS = ordered_by(more), ordered_by(less)
COMPLETED = Inherited("completed")
GRANTED = Inherited("granted")
FREE = Inherited("free")
FIXED = Inherited("fixed")
COMPONENT = Inherited("component")
NAMED = Inherited("named")
READING = Inherited("reading")
READING_BY_KEY = Inherited("reading", by_key=True)
SPECIAL = Inherited("special")
COLUMNS = Inherited("columns", by_key=True)
SECTION = Inherited("special", by_key=True)
"""A mapping whose keys have rules of their own."""
MORE_ITEMS_TIGHTER = Inherited("added", lambda old, new: "tighter")
MORE_ITEMS_LOOSER = Inherited("added", lambda old, new: "looser")


def rule_of(field: FieldInfo) -> Inherited | None:
    """The rule of a field; None for a field without one."""
    return next((each for each in field.metadata if isinstance(each, Inherited)), None)


@dataclass(frozen=True)
class Option:
    """An option of a policy: its path, its rule, and what it means where it is left out."""

    path: DocumentPath
    rule: Inherited
    default: Any


@cache
def options_of(model: type[BaseModel]) -> tuple[Option, ...]:
    """Every option of a model and of the sections that are merged key by key in it; one without a rule is fixed."""
    return tuple(_options(model, ()))


def _options(model: type[BaseModel], path: DocumentPath) -> Iterator[Option]:
    for name, field in model.model_fields.items():
        rule, here = rule_of(field) or FIXED, (*path, field.alias or name)
        left_out = None if field.is_required() or field.default_factory else field.default
        yield Option(here, rule, left_out if rule.default is ... else rule.default)
        if rule == SECTION:
            for section in models_of(model, name):
                yield from _options(section, here)
