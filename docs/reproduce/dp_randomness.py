"""How often the test of published counts refuses an honest release, and how often each kind of a false one.

    python docs/reproduce/dp_randomness.py [--draws 200] \
        [--out docs/results] [--page docs/explanation/dp-random-trees.md]

The people are made up here; no data is needed. Writes the CSV file to `--out`, and the measured part of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leafgate.algorithms.routing import route
from leafgate.types.release import Release
from leafgate.types.schema import Column, Schema
from leafgate.types.table import Table, make_table
from leafgate_dp_random_trees.options import RandomTrees
from leafgate_dp_random_trees.randomness import (
    LOG_LIMIT,
    Counters,
    counters_of,
    log_evidence_against_noise,
    log_evidence_against_sampling,
)
from writing import put, table, write_csv

DOCS = Path(__file__).resolve().parents[1]
PEOPLE = (300, 1_000, 3_000, 10_000, 30_000)
FORESTS = ((8, 10, 0.1), (32, 20, 0.1), (128, 20, 0.075))
"""Trees, k and beta."""
SCALES = (2.0, 10.0)
FALSE_DRAWS = 10
"""Of a false release that is drawn; one that is not drawn is judged once."""

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Refused:
    """How many releases of one kind were refused, of how many."""

    people: int
    trees: int
    k: int | None
    beta: float | None
    scale: float | None
    kind: str
    releases: int
    refused: int


def main() -> None:
    options = _options()
    found = [*sampled(options.draws), *noisy(options.draws)]
    options.out.mkdir(parents=True, exist_ok=True)
    write_csv(options.out / "dp-randomness.csv", found)
    put(options.page, lines(found))


def people(size: int) -> Table:
    """Four answers and an age; two answers and the age have to do with the class."""
    rng = np.random.default_rng(size)
    answers, age = rng.integers(3, size=(size, 4)), rng.uniform(0, 100, size=size).round()
    yes = rng.random(size) < 0.1 + 0.25 * answers[:, 0] + 0.15 * (answers[:, 1] == 1) + 0.2 * (age > 60)
    abc, no_yes = pd.Index(["a", "b", "c"]), pd.Index(["no", "yes"])
    columns = {f"q{i}": pd.Categorical.from_codes(answers[:, i], abc) for i in range(4)}
    frame = pd.DataFrame({**columns, "age": age, "truth": pd.Categorical.from_codes(yes.astype(int), no_yes)})
    public = frozenset({"quasi_identifier"})
    asked = [Column(f"q{i}", public, values=tuple(abc), declared=True) for i in range(4)]
    numbers = Column("age", public, bounds=(0.0, 100.0), declared=True)
    target = Column("truth", frozenset({"class", "sensitive"}), values=tuple(no_yes), declared=True)
    return make_table(Schema((*asked, numbers, target)), frame)


def forest(of: Table, trees: int) -> Release:
    return RandomTrees(trees=trees, combine="sum").build(of, np.random.default_rng(0))


def sampled(draws: int) -> Iterator[Refused]:
    for size in PEOPLE:
        table_ = people(size)
        for trees, k, beta in FORESTS:
            release = forest(table_, trees)
            counters = counters_of(release, table_)
            for kind, times, draw in _false_samples(release, table_, counters, beta, draws):
                refused = 0
                for seed in range(times):
                    shown = draw(np.random.default_rng(seed))
                    twin = replace(counters, published=np.where(shown >= k, shown, 0))
                    refused += log_evidence_against_sampling(twin, k, beta) >= LOG_LIMIT
                yield Refused(size, trees, k, beta, None, kind, times, refused)


def _false_samples(
    release: Release, table_: Table, counters: Counters, beta: float, draws: int
) -> Iterator[tuple[str, int, Callable[[np.random.Generator], Ids]]]:
    """Each kind of release, how often it is drawn, and the counters before numbers below k are hidden."""
    n = counters.people
    places = _places(release, table_)

    def counted(kept: Sequence[Ids]) -> Ids:
        sizes = np.bincount(counters.tree)
        parts = zip(places, kept, sizes, strict=True)
        return np.concatenate([np.bincount(at, weights=some, minlength=size) for at, some, size in parts]).astype(int)

    def shared(rng: np.random.Generator) -> Ids:
        return counted([rng.binomial(table_.weight, beta)] * len(places))

    def fixed(rng: np.random.Generator) -> Ids:
        size = int(beta * table_.people)
        return counted([rng.multivariate_hypergeometric(table_.weight, size) for _ in places])

    yield "honest", draws, lambda rng: rng.binomial(n, beta)
    yield "everybody", 1, lambda rng: n
    yield "beta times the people, rounded", 1, lambda rng: np.rint(n * beta).astype(int)
    yield (
        "the mean of four samples",
        FALSE_DRAWS,
        lambda rng: np.rint(rng.binomial(n, beta, (4, len(n))).mean(0)).astype(int),
    )
    yield "a rate a tenth higher", FALSE_DRAWS, lambda rng: rng.binomial(n, 1.1 * beta)
    yield (
        "everybody in one tree, samples in the others",
        FALSE_DRAWS,
        lambda rng: np.where(counters.tree == counters.tree.max(), n, rng.binomial(n, beta)),
    )
    yield "one sample for all trees", FALSE_DRAWS, shared
    yield "samples of a fixed size", FALSE_DRAWS, fixed


def _places(release: Release, table_: Table) -> list[Ids]:
    """For each tree the counter of every record."""
    codes, classes = table_.codes(release.target), len(release.classes)
    return [route(tree, table_).leaf * classes + codes for tree in release.trees]


def noisy(draws: int) -> Iterator[Refused]:
    for size in PEOPLE:
        table_ = people(size)
        counters = counters_of(forest(table_, 8), table_)
        for scale in SCALES:
            kinds = {"honest": (draws, 1.0), "no noise": (1, 0.0), "half of the noise": (FALSE_DRAWS, 0.5)}
            for kind, (times, factor) in kinds.items():
                refused = 0
                for seed in range(times):
                    noise = _laplace(factor * scale, len(counters.people), np.random.default_rng(seed))
                    twin = replace(counters, published=np.maximum(counters.people + noise, 0))
                    refused += log_evidence_against_noise(twin, scale) >= LOG_LIMIT
                yield Refused(size, 8, None, None, scale, kind, times, refused)


def _laplace(scale: float, size: int, rng: np.random.Generator) -> Ids:
    """Discrete Laplace noise: the difference of two geometric numbers."""
    if scale == 0:
        return np.zeros(size, dtype=int)
    stop = -np.expm1(-1 / scale)
    return np.asarray(rng.geometric(stop, size) - rng.geometric(stop, size))


def lines(found: Sequence[Refused]) -> Iterator[str]:
    honest = [each for each in found if each.kind == "honest"]
    releases, refused = sum(each.releases for each in honest), sum(each.refused for each in honest)
    yield f"Of {releases:,} honest releases in {len(honest)} settings {refused} were refused.\n"
    yield "Refused of releases that are false, by how many people there are:\n"
    rows: dict[tuple[str, str], list[str]] = {}
    for each in found:
        if each.kind != "honest":
            how = f"scale {each.scale:g}" if each.scale else f"{each.trees} trees, k = {each.k}, beta = {each.beta:g}"
            rows.setdefault((each.kind, how), []).append(f"{each.refused} of {each.releases}")
    head = ("what is published", "claimed", *(f"{size:,}" for size in PEOPLE))
    yield from table(head, [(*names, *cells) for names, cells in sorted(rows.items())], "ll" + "r" * len(PEOPLE))
    yield ""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How often the test of published counts refuses what.")
    parser.add_argument("--draws", type=int, default=200, help="honest releases for each setting")
    parser.add_argument("--out", type=Path, default=DOCS / "results", help="where the CSV file goes")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "explanation/dp-random-trees.md", help="the page to bring up"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
