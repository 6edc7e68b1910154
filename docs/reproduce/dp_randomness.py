"""How often the tests of published counts refuse an honest release, and how often each kind of a false one.

    python docs/reproduce/dp_randomness.py [--draws 200] \
        [--out docs/results] [--page docs/explanation/dp-random-trees.md]

The people are made up here; no data is needed. Writes the CSV files to `--out`, and the measured part of the page.
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
from leafgate.kernel.release import Release
from leafgate.kernel.schema import Column, Schema
from leafgate.kernel.table import Table, make_table
from leafgate_plugins.dp_random_trees.options import RandomTrees
from leafgate_plugins.dp_random_trees.randomness import (
    LEVEL_OF_COUNTERS,
    LOG_LIMIT,
    Counters,
    adjusted_p_value_of_counters,
    counters_of,
    log_evidence_against_noise,
    log_evidence_against_sampling,
    smallest_refused_count,
    would_refuse_false_samples,
)
from writing import put, write_csv

DOCS = Path(__file__).resolve().parents[1]
PEOPLE = (300, 1_000, 3_000, 10_000, 30_000)
FORESTS = ((8, 10, 0.1), (32, 20, 0.1), (128, 20, 0.075))
"""Trees, k and beta."""
SCALES = (2.0, 10.0)
PRINTED_PEOPLE, PRINTED_SETTING = (3_000, 30_000), "32 trees, k = 20, beta = 0.1"
FALSE_DRAWS = 10
"""Of a false release that is drawn; one that is not drawn is judged once."""

FORGED_PEOPLE = 3_000
FORGED_FORESTS = (
    *((4, 20, 0.35), (8, 10, 0.1), (8, 10, 0.25), (8, 20, 0.1), (32, 20, 0.1), (32, 20, 0.35)),
    *((64, 10, 0.1), (64, 20, 0.2), (128, 20, 0.075), (128, 40, 0.35), (8, 10, 0.4), (8, 20, 0.6)),
)
"""Trees, k and beta of honest releases in which one count is forged; of the last two a count of k can be honest."""

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


@dataclass(frozen=True)
class Forged:
    """How many releases with one forged count, and of those chosen among several draws, were refused in a setting.

    Attributes:
        counters: of the release.
        smallest: from how many people on one exact count is refused in every release of so many counters.
        honest: releases that were drawn as claimed.
        honest_refused: of them.
        honest_inconclusive: of them, where the audit does not run the builder.
        releases: of each other kind.
        exact_k: refused of those with one exact count of k people; the others are of twice and three times k.
        rounded: refused of those with one count that is beta times its people, rounded: 3 k.
        best_of_2: refused of those with the most people shown among two draws, and among five.
    """

    trees: int
    k: int
    beta: float
    counters: int
    smallest: int
    honest: int
    honest_refused: int
    honest_inconclusive: int
    releases: int
    exact_k: int
    exact_2k: int
    exact_3k: int
    rounded: int
    best_of_2: int
    best_of_5: int


def main() -> None:
    options = _options()
    found = [*sampled(options.draws), *noisy(options.draws)]
    forgeries = [*forged(options.draws)]
    options.out.mkdir(parents=True, exist_ok=True)
    write_csv(options.out / "dp-randomness.csv", found)
    write_csv(options.out / "dp-forged-counts.csv", forgeries)
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
                    refused += is_refused(_published(counters, shown, k), k, beta)
                yield Refused(size, trees, k, beta, None, kind, times, refused)


def is_refused(counters: Counters, k: int, beta: float) -> bool:
    """By either of the tests."""
    single = adjusted_p_value_of_counters(counters, k, beta) <= LEVEL_OF_COUNTERS
    return single or log_evidence_against_sampling(counters, k, beta) >= LOG_LIMIT


def _published(counters: Counters, shown: Ids, k: int) -> Counters:
    return replace(counters, published=np.where(shown >= k, shown, 0))


def forged(draws: int, forests: Sequence[tuple[int, int, float]] = FORGED_FORESTS) -> Iterator[Forged]:
    table_ = people(FORGED_PEOPLE)
    for trees, k, beta in forests:
        counters = counters_of(forest(table_, trees), table_)
        honest = [_best_draw(counters, k, beta, seed) for seed in range(draws)]
        others = {of: [_best_draw(counters, k, beta, draws + i, of) for i in range(FALSE_DRAWS)] for of in (1, 2, 5)}

        def refused(
            releases: Sequence[Counters],
            people_: int = 0,
            shown: int = 0,
            setting: tuple[int, float] = (k, beta),
        ) -> int:
            """Of releases to each of which one count is added, of so many people."""
            return sum(is_refused(_with_count(each, people_, shown), *setting) for each in releases)

        yield Forged(
            trees=trees,
            k=k,
            beta=beta,
            counters=len(counters.people),
            smallest=smallest_refused_count(len(counters.people), k, beta),
            honest=draws,
            honest_refused=refused(honest),
            releases=FALSE_DRAWS,
            honest_inconclusive=sum(
                not all(would_refuse_false_samples(each, k, beta).values()) for each in honest[:FALSE_DRAWS]
            ),
            exact_k=refused(others[1], k, k),
            exact_2k=refused(others[1], 2 * k, 2 * k),
            exact_3k=refused(others[1], 3 * k, 3 * k),
            rounded=refused(others[1], round(3 * k / beta), 3 * k),
            best_of_2=refused(others[2]),
            best_of_5=refused(others[5]),
        )


def _best_draw(counters: Counters, k: int, beta: float, seed: int, draws: int = 1) -> Counters:
    """The one that shows most people, among so many draws of a release."""
    rng = np.random.default_rng(seed)
    releases = [_published(counters, rng.binomial(counters.people, beta), k) for _ in range(draws)]
    return max(releases, key=lambda each: int(each.published.sum()))


def _with_count(counters: Counters, people: int, shown: int) -> Counters:
    """With one more counter, of so many people, in the first tree."""
    more = (0, 0, people, shown)
    columns = (counters.tree, counters.label, counters.people, counters.published)
    return Counters(*(np.append(column, value) for column, value in zip(columns, more, strict=True)))


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
        size = int(beta * table_.total_weight)
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
    """The measured part of the page: one setting of each kind. The CSV files have all."""
    honest = [each for each in found if each.kind == "honest"]
    releases, refused = sum(each.releases for each in honest), sum(each.refused for each in honest)
    sizes = " and on ".join(f"{size:,}" for size in PRINTED_PEOPLE)
    yield f"Of {releases:,} honest releases in {len(honest)} settings {refused} were refused. Refused of 10 false ones,"
    yield f"on {sizes} people ({PRINTED_SETTING}; noise of scale 2):\n"
    rows: dict[str, list[str]] = {}
    for each in found:
        setting = f"{each.trees} trees, k = {each.k}, beta = {each.beta:g}" if each.beta else each.scale
        if each.people in PRINTED_PEOPLE and each.releases == FALSE_DRAWS and setting in (PRINTED_SETTING, 2.0):
            rows.setdefault(each.kind, []).append(str(each.refused))
    yield from (f"- {kind}: {' and '.join(numbers)}" for kind, numbers in sorted(rows.items()))
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
