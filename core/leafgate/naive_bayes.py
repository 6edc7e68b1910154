"""Naive Bayes as a released model: what it holds, what it says, and how a file tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leafgate.errors import ReleaseError
from leafgate.json_parts import are_numbers, object_at
from leafgate.schema import Schema
from leafgate.strict_json import is_number, refuse_unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from leafgate.table import Table


@dataclass(frozen=True)
class NaiveBayes:
    """The share of each class, and each column's normal distribution (mean, variance) within each of them.

    Source: Mitchell, "Machine Learning", 1997, section 6.9. Classes without a share are never predicted.
    """

    shares: Mapping[str, float]
    normals: Mapping[str, Mapping[str, tuple[float, float]]]

    def chances(self, table: Table, classes: tuple[str, ...]) -> NDArray[np.float64]:
        """For each row of the table the probability of each class; a missing number says nothing."""
        import numpy as np

        logs = np.full((len(table), len(classes)), -np.inf)
        for i, label in enumerate(classes):
            if label in self.shares:
                logs[:, i] = np.log(self.shares[label])
                for name, within in self.normals.items():
                    mean, variance = within[label]
                    distance = (table.numbers(name) - mean) ** 2 / variance
                    logs[:, i] -= np.nan_to_num(0.5 * (distance + np.log(variance)), nan=0.0)
        found = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def described(self) -> dict[str, Any]:
        """The model as a release tells it."""
        normals = {name: {label: list(normal) for label, normal in of.items()} for name, of in self.normals.items()}
        return {"shares": dict(self.shares), "normals": normals}


def read_naive_bayes(told: Any, schema: Schema, place: str) -> NaiveBayes | None:
    """The model in a release file, if there is one; ReleaseError where it is none."""
    if told is None:
        return None
    told = object_at(told, place)
    refuse_unknown(told, ("shares", "normals"), ReleaseError, place)
    shares = object_at(told.get("shares"), f"{place}.shares")
    if not shares or any(label not in schema.classes for label in shares):
        raise ReleaseError("needs shares of the classes", place=f"{place}.shares")
    if (
        not all(is_number(share) and 0 < share <= 1 for share in shares.values())
        or abs(sum(shares.values()) - 1) > 1e-6
    ):
        raise ReleaseError("shares are above 0 and sum to 1", place=f"{place}.shares")
    normals: dict[str, dict[str, tuple[float, float]]] = {}
    for name, within in object_at(told.get("normals"), f"{place}.normals").items():
        within = object_at(within, f"{place}.normals.{name}")
        if name not in schema or not schema[name].numeric or set(within) != set(shares):
            raise ReleaseError("needs columns of numbers, and each class", place=f"{place}.normals.{name}")
        if any(not are_numbers(normal) or len(normal) != 2 or normal[1] <= 0 for normal in within.values()):
            raise ReleaseError("needs a mean, and a variance above 0", place=f"{place}.normals.{name}")
        normals[name] = {label: (float(normal[0]), float(normal[1])) for label, normal in within.items()}
    return NaiveBayes(shares, normals)
