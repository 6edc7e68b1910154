"""The setting of the PPDTC4.5 paper: six numbers of Adult, 10,000 rows drawn, five kinds of noise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leafgate.algorithms.prediction import predict
from leafgate.kernel.noise import Law, Noise, noise_with
from leafgate.kernel.release import Release
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import Table
from leafgate.kernel.tree import Node
from leafgate.session.run import open_session
from leafgate_plugins.ppdtc45.shared import SharedRecords

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

ROWS = 10_000
GAUSSIAN: Law = "gaussian"
LAWS: dict[str, Law] = dict.fromkeys(("Data1", "Data2", "Data3", "Data4"), GAUSSIAN) | {"Data5": "uniform"}
SNRS = {
    "Data1": (1.7,) * 6,
    "Data2": (1.3,) * 6,
    "Data3": (1.0,) * 6,
    "Data4": (0.5,) * 6,
    "Data5": (1.3, 2.7, 1.2, 53.6, 1.9, 1.1),
}
"""Variance of the column over variance of the noise: age, fnlwgt, education-num, capital-gain, capital-loss, hours."""

POLICY = Path(__file__).resolve().parents[2] / "policies" / "adult-shared.yaml"


@dataclass(frozen=True)
class People:
    """A row a person: six numbers, and the class by code."""

    schema: Schema
    numbers: Floats
    classes: Codes

    def table(self, numbers: Floats | None = None) -> Table:
        """As a table, or with other numbers in their place."""
        return SharedRecords(self.schema, self.numbers if numbers is None else numbers, self.classes, {}).table


def read(root: Path) -> tuple[People, People]:
    """Everyone to learn from (32,561) and to test on (16,281)."""
    run = open_session(POLICY, root=root)
    assert run.tables.test is not None
    return _people(run.table), _people(run.tables.test)


def _people(table: Table) -> People:
    rows = np.repeat(np.arange(len(table)), table.weight)
    numbers = np.stack([table.numbers(column.name)[rows] for column in table.schema.features], axis=1)
    return People(table.schema, numbers, table.codes(table.schema.target.name)[rows])


def noise_of(name: str, everyone: People) -> dict[str, Noise]:
    """The noise of one of the paper's data sets on each column."""
    variances = everyone.numbers.var(axis=0).tolist()
    pairs = zip(everyone.schema.features, variances, SNRS[name], strict=True)
    return {column.name: noise_with(LAWS[name], variance / snr) for column, variance, snr in pairs}


def drawn(everyone: People, rows: int, rng: np.random.Generator) -> People:
    """So many of the people, at random."""
    chosen = rng.choice(len(everyone.classes), rows, replace=False)
    return People(everyone.schema, everyone.numbers[chosen], everyone.classes[chosen])


def perturbed(people: People, noise: dict[str, Noise], rng: np.random.Generator) -> SharedRecords:
    """What people share."""
    columns = enumerate(people.schema.features)
    numbers = np.stack([noise[column.name].added(people.numbers[:, i], rng) for i, column in columns], axis=1)
    return SharedRecords(people.schema, numbers, people.classes, noise)


def accuracy(model: Node | Release, people: Table) -> float:
    """How many of the people a tree or a release predicts rightly, in percent."""
    release = model if isinstance(model, Release) else Release({}, people.schema, (model,))
    right = predict(release, people) == people.codes(people.schema.target.name)
    return 100 * float(people.weight[right].sum() / people.total_weight)
