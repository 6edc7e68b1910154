"""From which of the policy's columns a model's feature is made, and how."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from struct import Struct
from typing import Literal, TypeVar

Value = TypeVar("Value")

Operation = Literal["plus", "minus", "times", "over", "at_least", "at_most", "single"]


@dataclass(frozen=True)
class ArithmeticStep:
    """One operation in double precision that keeps larger numbers larger; `times` and `over` are above 0.

    `single` rounds to single precision. After any one of plus, minus, times and over on numbers of single precision it
    gives what arithmetic in single precision does: 53 bits are more than twice 24 and 2, so rounding twice is rounding
    once.

    Source: Figueroa, "When is double rounding innocuous?", ACM SIGNUM Newsletter 30(3), 1995. doi:10.1145/221332.221334
    """

    operation: Operation
    by: float = 0.0


SINGLE_BYTES = Struct("<f")
SINGLE_PRECISION = ArithmeticStep("single")

LookupPrecision = Literal["", "single", "whole", "single_whole"]


@dataclass(frozen=True)
class Numeric:
    """The column's own number after `steps`; a missing cell becomes `fill`, or stays missing.

    `zero_is_missing`: where this comes to 0, the model is given a missing number.
    """

    column: str
    steps: tuple[ArithmeticStep, ...] = ()
    fill: float | None = None
    zero_is_missing: bool = False


@dataclass(frozen=True, eq=False)
class OneHot(Mapping[Value, float]):
    """`on` for the values of one group, `off` for all others; a column's features share their `groups`.

    `chosen` are the values of the group itself.
    """

    groups: Mapping[Value, int]
    group: int
    chosen: tuple[Value, ...]
    on: float = 1.0
    off: float = 0.0

    def __getitem__(self, value: Value) -> float:
        return self.on if self.groups[value] == self.group else self.off

    def __iter__(self) -> Iterator[Value]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def own_values(self) -> dict[Value, float]:
        """The numbers of the group's own values."""
        return dict.fromkeys(self.chosen, self.on)


@dataclass(frozen=True)
class CategoryCodes:
    """A number for each value of a column: `codes`, `otherwise` for values that are not among them, `missing`.

    NaN is a missing number; None says that the model takes no such value at all. `lookup_precision`: the values are
    numbers, and
    looked up in single precision, or cut down to whole ones. `fill_value` is a text that missing cells were filled
    with.
    """

    column: str
    codes: Mapping[str, float] = field(default_factory=dict)
    otherwise: float | None = None
    missing: float | None = math.nan
    lookup_precision: LookupPrecision = ""
    fill_value: str = ""

    def __eq__(self, other: object) -> bool:
        """Are all their parts the same? Two missing numbers are, which a dataclass of Python 3.13 says of none."""
        if not isinstance(other, CategoryCodes):
            return NotImplemented
        parts = [(getattr(self, each.name), getattr(other, each.name)) for each in fields(self)]
        return all(one == two or (one != one and two != two) for one, two in parts)  # NaN alone is not itself


def known_by(origin: CategoryCodes) -> frozenset[str]:
    """The values that have a code, but for a word that stands in for gaps."""
    codes = origin.codes
    stand_in = {origin.fill_value} if origin.fill_value else frozenset[str]()
    return frozenset(codes.groups if isinstance(codes, OneHot) else codes) - stand_in


@dataclass(frozen=True)
class MissingIndicator:
    """One number where the column's cell is there, another where it is missing."""

    column: str
    there: float = 0.0
    gone: float = 1.0


@dataclass(frozen=True)
class Unresolved:
    """A feature that no columns express, and why; the remedy, where it is not to say what the feature is."""

    column: str
    why: str
    remedy: str = ""


Coded = TypeVar("Coded", bound=CategoryCodes | MissingIndicator)
Origin = Numeric | CategoryCodes | MissingIndicator | Unresolved


def recoded(origin: Coded, change: Callable[[float], float]) -> Coded:
    """The origin with each of its numbers changed alike."""
    if isinstance(origin, MissingIndicator):
        return replace(origin, there=change(origin.there), gone=change(origin.gone))
    codes = origin.codes
    if isinstance(codes, OneHot):
        codes = replace(codes, on=change(codes.on), off=change(codes.off))
    else:
        codes = {value: change(code) for value, code in codes.items()}
    others = [None if number is None else change(number) for number in (origin.otherwise, origin.missing)]
    return replace(origin, codes=codes, otherwise=others[0], missing=others[1])


def with_zero_missing(origin: Origin) -> Origin:
    """The origin for a model to which 0 is missing, as the absent entries of a sparse matrix are to XGBoost."""
    match origin:
        case Numeric():
            return replace(origin, zero_is_missing=True)
        case CategoryCodes() | MissingIndicator():
            return recoded(origin, missing_if_zero)
        case Unresolved():
            return origin


def missing_if_zero(number: float) -> float:
    """The number; NaN in place of 0."""
    return math.nan if number == 0 else number


def distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, a second one of the same name with its position."""
    first = {name: i for i, name in reversed(list(enumerate(names)))}
    return tuple(name if first[name] == i else f"{name} ({i})" for i, name in enumerate(names))


def number_codes(column: str, categories: Sequence[float], otherwise: float | None) -> CategoryCodes:
    """A column whose categories are numbers, which a model knows by their positions, not by themselves."""
    texts = [str(int(one)) if float(one).is_integer() else repr(float(one)) for one in categories]
    return CategoryCodes(column, {text: float(code) for code, text in enumerate(texts)}, otherwise)


def after_steps(number: float, steps: Sequence[ArithmeticStep]) -> float:
    """The number after the steps."""
    for step in steps:
        number = OPERATIONS[step.operation](number, step.by)
    return number


def rounded(number: float) -> float:
    """The number in single precision, to the nearest; infinite where that is too large."""
    try:
        return float(SINGLE_BYTES.unpack(SINGLE_BYTES.pack(number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _truncated(number: float) -> float:
    return float(math.trunc(number)) if math.isfinite(number) else number


OPERATIONS: Mapping[Operation, Callable[[float, float], float]] = {
    **{"plus": operator.add, "minus": operator.sub, "times": operator.mul, "over": operator.truediv},
    **{"at_least": max, "at_most": min, "single": lambda number, _: rounded(number)},
}
LOOKUP_ROUNDING: Mapping[LookupPrecision, Callable[[float], float]] = {
    "": float,
    "single": rounded,
    "whole": _truncated,
    "single_whole": lambda number: _truncated(rounded(number)),
}


@dataclass(frozen=True)
class Feature:
    """A feature that some tree asks about: its name, what the file says it is, and how it is asked.

    `sets`: some test names categories of it; `texts`: every test does, and names them by their texts. `chosen` are the
    texts that tests name, `least` and `most` the thresholds furthest out.
    """

    name: str
    origin: Origin | None = None
    sets: bool = False
    texts: bool = False
    chosen: frozenset[str] = frozenset()
    least: float = math.inf
    most: float = -math.inf
