"""How claims and settings are told in words."""

from __future__ import annotations

from dataclasses import dataclass

from dp_forests import Cell
from writing import fixed


@dataclass(frozen=True)
class Claim:
    """One statement of the paper, what came out here, and in a word whether it reproduces."""

    paper: str
    here: str
    reproduces: str


def claim(paper: str, here: str, holds: bool) -> Claim:
    return Claim(paper, here, "yes" if holds else "no")


def described(cell: Cell) -> str:
    setting = f"{cell.trees} trees of depth {cell.depth}, k = {cell.k}, beta = {cell.beta:g}"
    return f"{told(cell.accuracy, cell.accuracy_error)} with {setting}"


def told(value: float | None, error: float | None) -> str:
    """A mean with its standard error."""
    if value is None:
        return "-"
    return fixed(value, 3) + ("" if error is None else f" ± {error:.3f}")
