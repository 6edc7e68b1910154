"""The paper's smaller tables and its figures: privacy, parts of the rows or columns, thresholds; and the attacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from leafgate.api import AttackModel, CellBelief
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.release import Release
from leafgate.kernel.schema import Column, Schema
from leafgate_plugins.ppdtc45.shared import SharedRecords
from leafgate_plugins.ppdtc45.split_methods import Learner, direct_tree, threshold_tree
from leafgate_plugins.reconstruction.attacks import BeDr, PcaDr, Posterior, SpectralFilter
from leafgate_plugins.reconstruction.metrics import interval
from ppdtc45_setting import LAWS, ROWS, Codes, People, accuracy, drawn, noise_of, perturbed

LEARNER = Learner()
THETAS = tuple(round(0.05 * i, 2) for i in range(1, 20))
GROUPS = 10
ATTACKS: dict[str, AttackModel] = {
    "posterior mean": Posterior(by_class=False),
    "posterior mean, by class": Posterior(),
    "spectral filter": SpectralFilter(),
    "PCA-DR": PcaDr(),
    "BE-DR": BeDr(),
}


@dataclass(frozen=True)
class Loss:
    """How much of a column's interval privacy is lost."""

    data: str
    column: str
    snr: float
    loss: float


@dataclass(frozen=True)
class Part:
    """C4.5 on a part of the original rows or columns: accuracy in percent on all test people."""

    rows: int
    columns: str
    group: int
    accuracy: float


@dataclass(frozen=True)
class Moved:
    """The threshold method on original test people."""

    figure: int
    data: str
    draw: int
    theta: float
    accuracy: float


@dataclass(frozen=True)
class Estimate:
    """An attack's error: root mean square over the column's standard deviation."""

    data: str
    column: str
    attack: str
    rmse: float


def losses(everyone: People) -> Iterator[Loss]:
    """Of everybody's numbers, as they are."""
    weight = np.ones(len(everyone.classes), dtype=np.int64)
    for name in LAWS:
        noise = noise_of(name, everyone)
        for i, column in enumerate(everyone.schema.features):
            numbers = everyone.numbers[:, i]
            result = interval(column, numbers, weight, noise[column.name])
            yield Loss(name, column.name, float(numbers.var() / noise[column.name].variance), result.loss)


def parts(everyone: People, test: People) -> Iterator[Part]:
    """Few rows of all columns (50 and 100), and all subsets of 2, 3 and 4 columns of 5,000 rows and of all."""
    for rows in (50, 100):
        for group in range(GROUPS):
            people = drawn(everyone, rows, np.random.default_rng([rows, group]))
            yield Part(rows, "all", group, _learned(people, test, range(6)))
    for rows in (5_000, len(everyone.classes)):
        people = drawn(everyone, rows, np.random.default_rng(rows))
        for size in (2, 3, 4):
            for group, columns in enumerate(combinations(range(6), size)):
                yield Part(rows, str(size), group, _learned(people, test, columns))


def _learned(people: People, test: People, columns: range | tuple[int, ...]) -> float:
    mine, theirs = (_of_columns(each, np.array(columns)) for each in (people, test))
    return accuracy(direct_tree(SharedRecords(mine.schema, mine.numbers, mine.classes, {}), LEARNER), theirs.table())


def _of_columns(people: People, columns: Codes) -> People:
    features: list[Column] = [people.schema.features[i] for i in columns]
    return People(Schema((*features, people.schema.target)), people.numbers[:, columns], people.classes)


def thresholds(everyone: People, test: People, draws: int) -> Iterator[Moved]:
    """Figure 1: uniform noise, 10,000 rows; Figure 2: Gaussian noise, all rows (its SNR is not stated: all four)."""
    table = test.table()
    for name, law in LAWS.items():
        figure, rows = (1, ROWS) if law == "uniform" else (2, len(everyone.classes))
        noise = noise_of(name, everyone)
        for draw in range(draws):
            rng = np.random.default_rng([figure, draw])
            shared = perturbed(drawn(everyone, rows, rng), noise, rng)
            tree = direct_tree(shared, LEARNER)
            for theta in THETAS:
                moved = threshold_tree(tree, noise, theta)
                yield Moved(figure, name, draw, theta, accuracy(moved, table))


def _secret(column: Column) -> Column:
    low, high = column.bounds or (0.0, 1.0)
    return Column(column.name, frozenset({"sensitive"}), bounds=(low, high), bins=(low, (low + high) / 2, high))


def estimates(everyone: People) -> Iterator[Estimate]:
    """What each attack makes of everybody's shared row, every column a secret."""
    secret = [_secret(column) for column in everyone.schema.features]
    everyone = replace(everyone, schema=Schema((*secret, everyone.schema.target)))
    for name in LAWS:
        rng = np.random.default_rng([11, list(LAWS).index(name)])
        shared = perturbed(everyone, noise_of(name, everyone), rng)
        release = Release(
            {}, everyone.schema, model="none", count_semantics="perturbed", records=shared.records, noise=shared.noise
        )
        known = replace(grant_knowledge(everyone.table()), schema=everyone.schema)
        for attack, model in ATTACKS.items():
            for belief in model.infer(release, known):
                assert isinstance(belief, CellBelief)
                i = [column.name for column in everyone.schema.features].index(belief.secret)
                original = everyone.numbers[:, i]
                assert belief.estimates is not None
                error = np.sqrt(((belief.estimates - original) ** 2).mean()) / original.std()
                yield Estimate(name, belief.secret, attack, float(error))
