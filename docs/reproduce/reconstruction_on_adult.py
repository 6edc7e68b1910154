"""How near the attacks on shared numbers come, on Adult's six numeric attributes.

    python docs/reproduce/reconstruction_on_adult.py --root DIR [--draws 20] [--out docs/results] [--page PAGE]

DIR holds the folder `adult` with the UCI files. Each draw takes 10,000 people and new noise. Writes the CSV file to
`--out`, and the measured part of the page.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pandas as pd

from leafgate.api import AttackModel
from leafgate.engine.knowledge import grant_knowledge
from leafgate.kernel.belief import secret_of
from leafgate.kernel.context import ScoringContext
from leafgate.kernel.noise import Law, Noise, noise_with
from leafgate.kernel.release import Records, Release
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import Table
from leafgate_plugins.protection.metrics import Exposure
from leafgate_plugins.reconstruction.attacks import BeDr, PcaDr, Posterior, SpectralFilter
from leafgate_plugins.reconstruction.metrics import NormalisedRmse, intervals
from writing import put, write_csv

DOCS = Path(__file__).resolve().parents[1]
PEOPLE = 10_000
PLACES = {"age": 0, "fnlwgt": 2, "education-num": 4, "capital-gain": 10, "capital-loss": 11, "hours-per-week": 12}
BINS: dict[str, tuple[float, ...]] = {
    "age": (17, 25, 35, 45, 55, 65, 90),
    "fnlwgt": (0, 100_000, 150_000, 200_000, 250_000, 300_000, 1_500_000),
    "education-num": (1, 6, 9, 10, 11, 13, 16),
    "capital-gain": (0, 1, 5_000, 10_000, 20_000, 99_999),
    "capital-loss": (0, 1, 1_000, 2_000, 4_500),
    "hours-per-week": (1, 20, 35, 40, 45, 60, 99),
}
CLASSES = ("<=50K", ">50K")
SETTINGS: tuple[tuple[Law, float], ...] = (("gaussian", 1.7), ("gaussian", 1.0), ("gaussian", 0.5), ("uniform", 1.0))
ATTACKS: dict[str, AttackModel] = {
    "posterior": Posterior(),
    "posterior, whole: [...]": Posterior(whole=tuple(BINS)),
    "posterior, by_class: false": Posterior(by_class=False),
    "posterior, estimate: mode": Posterior(estimate="mode"),
    "be_dr": BeDr(),
    "pca_dr": PcaDr(),
    "spectral_filter": SpectralFilter(),
}
NOTHING = "nothing is seen"
"""Everybody is taken for the mean, and for the commonest bin."""
PRINTED: tuple[Law, float] = ("gaussian", 1.0)
PRINTED_COLUMNS = ("age", "capital-gain", "hours-per-week")
PRINTED_ATTACKS = (NOTHING, "posterior", "be_dr", "pca_dr", "spectral_filter")


@dataclass(frozen=True)
class Found:
    """Of one attack on one column: the normalised error, and the shares of people rightly guessed and exposed."""

    law: str
    snr: float
    attack: str
    column: str
    error: float
    standard_error: float
    right: float
    exposed: float


@dataclass(frozen=True)
class Kept:
    """Of one column: the loss of interval privacy."""

    law: str
    snr: float
    column: str
    loss: float


def people(root: Path, draw: int) -> Table:
    """So many people of Adult, a row each."""
    cells = pd.read_csv(root / "adult" / "adult.data", header=None, skipinitialspace=True)
    cells = cells.sample(PEOPLE, random_state=draw).reset_index(drop=True)
    frame = pd.DataFrame({name: cells[place].astype(float) for name, place in PLACES.items()})
    frame["income"] = pd.Categorical(cells[14], categories=list(CLASSES))
    numbers = [
        Column(name, frozenset({"sensitive"}), bounds=(bins[0], bins[-1]), ordered=True, bins=bins)
        for name, bins in BINS.items()
    ]
    schema = Schema((*numbers, Column("income", frozenset({"class", "quasi_identifier"}), values=CLASSES)))
    return Table(schema, frame, np.ones(PEOPLE, dtype=np.int64))


def shared(table: Table, noise: dict[str, Noise], rng: np.random.Generator) -> Release:
    """A record for each person, the income in the clear."""
    items = [noise[name].added(table.numbers(name), rng).tolist() for name in BINS]
    rows = tuple(zip(*items, table.frame["income"], strict=True))
    records = Records((*BINS, "income"), rows, (1,) * PEOPLE)
    return Release(
        {"use": "shared"}, table.schema, model="none", count_semantics="perturbed", records=records, noise=noise
    )


def drawn(root: Path, draws: int) -> Iterator[tuple[str, float, Table, Release]]:
    for draw in range(draws):
        table = people(root, draw)
        for number, (law, snr) in enumerate(SETTINGS):
            noise = {name: noise_with(law, float(table.numbers(name).var()) / snr) for name in BINS}
            yield law, snr, table, shared(table, noise, np.random.default_rng([draw, number]))


def find(root: Path, draws: int) -> tuple[list[Found], list[Kept]]:
    """Everything, means over the draws."""
    scores, losses = defaultdict(list), defaultdict(list)
    for law, snr, table, release in drawn(root, draws):
        known = grant_knowledge(table)
        for each in intervals(ScoringContext(table, None, release, known), None):
            losses[law, snr, each.column].append(each.loss)
        for name in BINS:
            scores[law, snr, NOTHING, name].append((1.0, np.bincount(table.codes(name)).max() / PEOPLE, 0.0))
        for name, attack in ATTACKS.items():
            for belief in attack.infer(release, known):
                scores[law, snr, name, str(secret_of(belief))].append(
                    scored(ScoringContext(table, None, release, known, belief, scored="derived"))
                )
    return [_found(*key, result) for key, result in scores.items()], [
        Kept(*key, mean(outcome)) for key, outcome in losses.items()
    ]


def scored(case: ScoringContext) -> tuple[float, float, float]:
    """The normalised error, and the shares of people whose bin is the likeliest, and who are exposed."""
    likeliest = case.posterior.to_numpy().argmax(axis=1)
    return (
        float(np.asarray(NormalisedRmse(at_least=0).score(case).people)[0]),
        float((likeliest == case.table.codes(case.secret.name)).mean()),
        float(np.asarray(Exposure(at_most=1).score(case).people).mean()),
    )


def _found(law: str, snr: float, attack: str, column: str, scores: Sequence[tuple[float, float, float]]) -> Found:
    errors, right, exposed = zip(*scores, strict=True)
    return Found(law, snr, attack, column, mean(errors), _error_of_mean(errors), mean(right), mean(exposed))


def _error_of_mean(numbers: Sequence[float]) -> float:
    return stdev(numbers) / len(numbers) ** 0.5 if len(numbers) > 1 else 0.0


def lines(found: Sequence[Found], draws: int) -> Iterator[str]:
    """The measured part of the page: some columns under one noise. The CSV files have all."""
    worst = max(each.standard_error for each in found)
    yield f"Means over {draws} draws of {PEOPLE:,} people and of the noise; no standard error is above {worst:.3f}.\n"
    here = {(each.attack, each.column): each for each in found if (each.law, each.snr) == PRINTED}
    yield f"| {PRINTED[0]}, SNR {PRINTED[1]} | {' | '.join(PRINTED_COLUMNS)} |"
    yield f"| --- |{' ---: |' * len(PRINTED_COLUMNS)}"
    for name in PRINTED_ATTACKS:
        items = (here[name, column] for column in PRINTED_COLUMNS)
        yield f"| {name} | {' | '.join(f'{each.error:.3f} ({each.right:.0%})' for each in items)} |"
    exposed = (f"{here['posterior', column].exposed:.2%}" for column in PRINTED_COLUMNS)
    yield f"| exposed by posterior | {' | '.join(exposed)} |"


def main() -> None:
    options = _options()
    found, kept = find(options.root, options.draws)
    options.out.mkdir(parents=True, exist_ok=True)
    write_csv(options.out / "reconstruction-adult.csv", found)
    write_csv(options.out / "reconstruction-adult-privacy.csv", kept)
    put(options.page, lines(found, options.draws))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How near the attacks on shared numbers come, on Adult.")
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds `adult`")
    parser.add_argument("--draws", type=int, default=20, help="how often people and noise are drawn")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV files go")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "explanation/ppdtc45.md", help="the page to bring up to date"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
