"""How claims and settings are described in words."""

from __future__ import annotations

from dp_forests import Cell
from writing import fixed


def described(cell: Cell) -> str:
    setting = f"{cell.trees} trees of depth {cell.depth}, k = {cell.k}, beta = {cell.beta:g}"
    return f"{mean_with_error(cell.accuracy, cell.accuracy_error)} with {setting}"


def mean_with_error(value: float | None, error: float | None) -> str:
    """A mean with its standard error."""
    if value is None:
        return "-"
    return fixed(value, 3) + ("" if error is None else f" ± {error:.3f}")
