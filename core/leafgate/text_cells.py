"""Cells of a data file as text: how they are held, which columns they are, which of them are numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.errors import DataError, Problem
from leafgate.text_numbers import parse_number as parse_number

if TYPE_CHECKING:
    pass

Codes = NDArray[np.integer[Any]]
Cells = pd.Series
"""A column of text as a categorical: one code a row, each distinct text once."""


def read_bytes(path: Path, key: str = "data.path") -> bytes:
    """The bytes of the file a policy names at `key`; DataError when it cannot be read or is empty."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError("there is no such file", place=path.name, remedy=f"correct `{key}`") from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", place=path.name) from None
    if not content.strip():
        raise DataError("the file is empty", place=path.name)
    return content


def as_cells(codes: Codes, texts: Sequence[str]) -> Cells:
    categories: Any = pd.Index(np.array(texts, dtype=object))
    return pd.Series(pd.Categorical.from_codes(codes, categories=categories))


def is_code(text: str) -> bool:
    """Is it no number, or one with a leading zero, which a number would lose?"""
    return not math.isfinite(parse_number(text)) or bool(_LEADING_ZERO.match(text))


_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")


def without_header(raw: pd.DataFrame, names: Sequence[str], place: str) -> pd.DataFrame:
    if raw.shape[1] != len(names):
        raise DataError(
            f"the file has {raw.shape[1]} columns, the policy declares {len(names)}",
            place=place,
            remedy="without a header, `data.columns` lists every column in file order",
        )
    return raw.set_axis(list(names), axis=1)


def refuse_twice(header: Sequence[str], place: str) -> None:
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise DataError(f"{len(twice)} column name(s) stand twice in the header", place=place, remedy="rename them")


def with_header(raw: pd.DataFrame, header: list[str], names: Sequence[str], place: str) -> pd.DataFrame:
    refuse_twice(header, place)
    problems = [
        Problem(place, f"the header has no column {name!r}", "correct `data.columns`, or set `csv: {header: false}`")
        for name in names
        if name not in header
    ]
    extra = len(set(header) - set(names))
    if extra:
        problems.append(
            Problem(place, f"{extra} column(s) of the header are not in the policy", "declare them, if only `ignored`")
        )
    if problems:
        raise DataError.listing(problems)
    return raw.set_axis(header, axis=1).loc[:, list(names)]
