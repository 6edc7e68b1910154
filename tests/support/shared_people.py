"""People's shared numbers, made on the spot."""

from __future__ import annotations

from typing import Any

import numpy as np

from leafgate.api import Column, Noise, Schema
from leafgate_plugins.ppdtc45.shared import SharedRecords

CLASSES = ("no", "yes")


def schema_of(m: int, n_classes: int = 2) -> Schema:
    """Columns x0, x1, ... of numbers from 0 to 100, and a class."""
    asked = frozenset({"quasi_identifier"})
    features = [Column(f"x{i}", asked, bounds=(0.0, 100.0)) for i in range(m)]
    names = (*CLASSES, "maybe")[:n_classes]
    return Schema((*features, Column("class", frozenset({"class"}), values=names)))


def shared_of(numbers: Any, classes: Any, noise: list[Noise], n_classes: int = 2) -> SharedRecords:
    """Shared numbers (a row a person) and classes by code, under one law a column."""
    matrix = np.asarray(numbers, dtype=np.float64)
    schema = schema_of(matrix.shape[1], n_classes)
    named = {column.name: law for column, law in zip(schema.features, noise, strict=True)}
    return SharedRecords(schema, matrix, np.asarray(classes, dtype=np.int64), named)
