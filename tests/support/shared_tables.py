"""Tables as they are shared: every number of some columns with its own noise, and whose record is whose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd

from leafgate import Release, Table
from leafgate.api import (
    AttackModel,
    BuildResult,
    CellBelief,
    Column,
    Noise,
    Records,
    Schema,
    ScoringContext,
    make_table,
)
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.noise import Law, noise_with

PEOPLE = 20_000
BINS = (-200, -20, -10, 0, 10, 20, 200)


def numbers_column(name: str, bins: Sequence[float]) -> Column:
    """A secret number with bins, which are its bounds too."""
    edges = tuple(map(float, bins))
    return Column(name, frozenset({"sensitive"}), bounds=(edges[0], edges[-1]), ordered=True, bins=edges)


def secret_numbers(numbers: Mapping[str, np.ndarray], bins: Mapping[str, Sequence[float]]) -> Table:
    """A table of secret numbers alone."""
    schema = Schema(tuple(numbers_column(name, bins[name]) for name in numbers))
    return make_table(schema, pd.DataFrame({name: np.asarray(cells, float) for name, cells in numbers.items()}))


def normal_table(covariance: np.ndarray, people: int = PEOPLE) -> Table:
    """Secret numbers a, b, ... drawn from a joint normal law of mean 0."""
    numbers = np.random.default_rng(3).multivariate_normal(np.zeros(len(covariance)), covariance, people)
    names = "abcdef"[: len(covariance)]
    return secret_numbers({name: numbers[:, i] for i, name in enumerate(names)}, dict.fromkeys(names, BINS))


@cache
def one_normal() -> Table:
    """One column of variance 100."""
    return normal_table(np.array([[100.0]]))


@cache
def alike() -> Table:
    """Six columns of variance 100, any two of them correlated by 0.995: what is not common to all varies by 0.5."""
    return normal_table(np.full((6, 6), 99.5) + np.eye(6) * 0.5)


def noise_by_snr(table: Table, snr: float, law: Law = "gaussian") -> dict[str, Noise]:
    """For every numeric column the noise with this signal-to-noise ratio."""
    found = {}
    for column in table.schema.columns:
        if column.numeric:
            numbers = np.repeat(table.numbers(column.name), table.weight)
            found[column.name] = noise_with(law, float(numbers.var()) / snr)
    return found


def shared(table: Table, noise: Mapping[str, Noise]) -> Release:
    """A record for each person, numbers with noise and all else in the clear, sorted by what is shared."""
    return shared_with_origins(table, noise).release


def shared_with_origins(table: Table, noise: Mapping[str, Noise]) -> BuildResult:
    """The same release on every call, and whose its records are."""
    rng = np.random.default_rng(1)
    rows = np.repeat(np.arange(len(table)), table.weight)
    cells = {column.name: table.frame[column.name].to_numpy()[rows] for column in table.schema.columns}
    cells |= {name: law.added(cells[name].astype(float), rng) for name, law in noise.items()}
    frame = pd.DataFrame(cells)
    order = frame.sort_values([*noise, *(name for name in cells if name not in noise)]).index.to_numpy()
    items = [[None if pd.isna(cell) else cell for cell in row] for row in frame.iloc[order].astype(object).to_numpy()]
    records = Records(tuple(frame.columns), tuple(map(tuple, items)), (1,) * len(rows))
    release = Release(
        {"use": "sharing"},
        table.schema,
        model="none",
        count_semantics="perturbed",
        records=records,
        noise=dict(noise),
    )
    return BuildResult(release, origins=tuple(rows[order].tolist()))


def case_of(table: Table, release: Release, attack: AttackModel, secret: str) -> ScoringContext:
    """What a metric sees of an attack's belief about one secret: the people behind its cells, a row for each."""
    known = grant_knowledge(table)
    (belief,) = (
        each for each in attack.infer(release, known) if isinstance(each, CellBelief) and each.secret == secret
    )
    rows = np.array(shared_with_origins(table, release.noise).origins)[belief.record_positions]
    people = Table(table.schema, table.frame.iloc[rows].reset_index(drop=True), np.ones(len(rows), dtype=np.int64))
    return ScoringContext(people, None, release, known, belief)


def mean_square_error(case: ScoringContext) -> float:
    """Of the estimates of the case's belief."""
    missed = case.estimates - case.table.numbers(case.secret.name)
    return float((missed**2).mean())
