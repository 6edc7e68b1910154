"""What parties share: everyone's numbers with noise on them, and the class as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.noise import Coins, Noise
from leafgate.release import Records
from leafgate.schema import Schema
from leafgate.table import Table, make_table

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Shared:
    """Rows of people: `numbers` has a row a person and a column for each of `schema.features`; classes by code."""

    schema: Schema
    numbers: Floats
    classes: Codes
    noise: Mapping[str, Noise]

    @property
    def laws(self) -> list[Noise]:
        """The noise of each column of `numbers`."""
        return [self.noise[column.name] for column in self.schema.features]

    def taken(self, rows: Codes) -> Shared:
        """Some of the people."""
        return replace(self, numbers=self.numbers[rows], classes=self.classes[rows])

    @property
    def table(self) -> Table:
        """The shared numbers as a table that learners can read; the bounds of the originals do not hold for it."""
        features = [replace(column, bounds=None, bins=None) for column in self.schema.features]
        target = self.schema.target
        columns = {column.name: self.numbers[:, i] for i, column in enumerate(features)}
        classes = pd.Categorical.from_codes(self.classes, categories=pd.Index(self.schema.classes))
        frame = pd.DataFrame({**columns, target.name: classes})
        return make_table(Schema((*features, target)), frame)

    @property
    def records(self) -> Records:
        """The rows as a release holds them, weight 1 each, in their order."""
        names = tuple(column.name for column in self.schema.features)
        classes = [self.schema.classes[code] for code in self.classes]
        rows = tuple((*row, label) for row, label in zip(self.numbers.tolist(), classes, strict=True))
        return Records((*names, self.schema.target.name), rows, (1,) * len(rows))


def share(table: Table, noise: Mapping[str, Noise], rng: Coins) -> tuple[Shared, Codes]:
    """Everyone's shared row, and for each the row of the table it was made from.

    Rows are sorted by what is shared, so that their order tells nothing else.
    """
    origins = np.repeat(np.arange(len(table)), table.weight)
    features = table.schema.features
    numbers = [noise[column.name].added(table.numbers(column.name)[origins], rng) for column in features]
    classes = table.codes(table.schema.target.name)[origins]
    shared, order = in_order(Shared(table.schema, np.stack(numbers, axis=1), classes, noise))
    return shared, origins[order]


def in_order(shared: Shared) -> tuple[Shared, Codes]:
    """The same people sorted by what they share, and where each was before."""
    order = np.lexsort((shared.classes, *reversed(shared.numbers.T)))
    return shared.taken(order), order
