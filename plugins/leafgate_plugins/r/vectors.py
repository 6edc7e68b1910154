"""Vectors, matrices and factors in R's objects, checked, as what they stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leafgate.api import Floats, ReleaseError
from leafgate_plugins.r.serialisation import MISSING_INTEGER, Kind, RObject

WHOLE = frozenset({Kind.LOGICAL, Kind.INTEGER})


@dataclass(frozen=True)
class Place:
    """Where in a file an object is, for errors: the file's name, and names of R's own parts."""

    file: str

    def refuse(self, what: str, remedy: str = "") -> ReleaseError:
        return ReleaseError(what, place=self.file, remedy=remedy)

    def numbers(self, thing: RObject | None, part: str, length: int | None = None) -> Floats:
        """The numbers of a vector or a matrix, column by column; NaN where one is missing."""
        if thing is None or thing.kind not in {*WHOLE, Kind.DOUBLE}:
            raise self.refuse(f"has no numbers in `{part}`")
        if length is not None and len(thing.value) != length:
            raise self.refuse(f"has not as many numbers in `{part}` as belong there")
        return numbers_in(thing)

    def whole(self, thing: RObject | None, part: str, length: int | None = None) -> NDArray[np.int64]:
        """The whole numbers of a vector or a matrix, none of which is missing."""
        found = self.numbers(thing, part, length)
        if not (np.isfinite(found).all() and (found == np.rint(found)).all() and (abs(found) < 2**53).all()):
            raise self.refuse(f"has numbers that are not whole in `{part}`")
        return found.astype(np.int64)

    def one_whole(self, thing: RObject | None, part: str) -> int:
        """The whole number of a vector of one."""
        return int(self.whole(thing, part, 1)[0])

    def shape(self, thing: RObject | None, part: str, dimensions: int) -> tuple[int, ...]:
        """The shape of a matrix or an array of so many dimensions."""
        shape = () if thing is None else shape_of(thing)
        if len(shape) != dimensions:
            raise self.refuse(f"has no array of {dimensions} dimensions in `{part}`")
        return shape

    def matrix(self, thing: RObject | None, part: str, rows: int | None = None) -> Floats:
        """The numbers of a matrix; shape (n_rows, n_columns)."""
        shape = self.shape(thing, part, 2)
        if rows is not None and shape[0] != rows:
            raise self.refuse(f"has not as many rows in `{part}` as belong there")
        return self.numbers(thing, part, shape[0] * shape[1]).reshape(shape, order="F")

    def objects(self, thing: RObject | None, part: str, length: int | None = None) -> list[RObject]:
        """The objects of a list."""
        if thing is None or thing.kind != Kind.LIST or (length is not None and len(thing.value) != length):
            raise self.refuse(f"has no list in `{part}`, or one of another length than belongs there")
        found: list[RObject] = thing.value
        return found

    def one_text(self, thing: RObject | None, part: str) -> str:
        """The one text of a vector."""
        found = self.texts(thing, part)
        if len(found) != 1:
            raise self.refuse(f"has not one text in `{part}`")
        return found[0]

    def texts(self, thing: RObject | None, part: str) -> list[str]:
        """The texts of a vector of texts, or of a factor; none of them is missing."""
        found = None if thing is None else texts_in(thing)
        if found is None or any(each is None for each in found):
            raise self.refuse(f"has no texts in `{part}`, or missing ones")
        return [each for each in found if each is not None]


def numbers_in(thing: RObject) -> Floats:
    """The numbers of a vector; NaN where one is missing."""
    found: Floats = thing.value.astype(np.float64)
    if thing.kind in WHOLE:
        found[found == MISSING_INTEGER] = np.nan
    return found


def shape_of(thing: RObject) -> tuple[int, ...]:
    """The shape of an array; empty for a vector without one."""
    found = thing.attributes.get("dim")
    if found is None or found.kind not in {*WHOLE, Kind.DOUBLE} or thing.kind == Kind.LIST:
        return ()
    numbers = numbers_in(found)
    right = np.isfinite(numbers).all() and (numbers >= 0).all() and (numbers == np.rint(numbers)).all()
    if not right or numbers.prod() != len(thing.value):
        return ()
    return tuple(int(each) for each in numbers)


def dimension_names(thing: RObject, dimension: int) -> list[str]:
    """The names of an array's rows (0) or columns (1); empty where it has none."""
    names = thing.attributes.get("dimnames")
    if names is None or names.kind != Kind.LIST or len(names.value) <= dimension:
        return []
    return [each or "" for each in names.value[dimension].value or ()] if is_texts(names.value[dimension]) else []


def is_texts(thing: RObject) -> bool:
    return thing.kind == Kind.TEXTS


def levels_of(thing: RObject) -> list[str] | None:
    """The levels of a factor; None where it is none."""
    levels = thing.attributes.get("levels")
    if thing.kind != Kind.INTEGER or levels is None or not is_texts(levels) or "factor" not in thing.classes:
        return None
    return [each or "NA" for each in levels.value]


def texts_in(thing: RObject) -> list[str | None] | None:
    """The texts of a vector of texts or of a factor, None where one is missing; None where it is neither."""
    if is_texts(thing):
        return list(thing.value)
    levels = levels_of(thing)
    if levels is None:
        return None
    return [levels[code - 1] if 0 < code <= len(levels) else None for code in thing.value.tolist()]


def is_frame(thing: RObject) -> bool:
    """Is it a data frame: a list of columns of one length?"""
    if thing.kind != Kind.LIST or "data.frame" not in thing.classes or len(thing.names) != len(thing.value):
        return False
    return bool(thing.value)


def is_null(thing: RObject | None) -> bool:
    return thing is None or thing.kind == Kind.NULL
