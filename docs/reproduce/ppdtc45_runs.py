"""Every way of learning from shared numbers, on one draw of people and noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from leafgate.algorithms.deconvolution import cells_between, posterior, reconstructed
from leafgate.kernel.release import Release
from leafgate_plugins.ppdtc45.builder import naive_bayes
from leafgate_plugins.ppdtc45.deconvolved_c45 import deconvolved_tree
from leafgate_plugins.ppdtc45.growing import grow_by_probability
from leafgate_plugins.ppdtc45.scoring import classify_along_random_paths, with_noise_variance
from leafgate_plugins.ppdtc45.shared import SharedRecords
from leafgate_plugins.ppdtc45.split_methods import Learner, choose_theta, direct_tree, matched_tree, threshold_tree
from leafgate_plugins.reconstruction.estimators import moments_of, principal_components, projected
from ppdtc45_setting import LAWS, ROWS, Floats, People, accuracy, drawn, noise_of, perturbed

LEARNER = Learner()
THETA = {"gaussian": 0.3, "uniform": 0.5}
"""What the paper finds good."""


@dataclass(frozen=True)
class Score:
    """One model on one test: accuracy in percent, and the seconds it took to learn."""

    data: str
    draw: int
    way: str
    test: str
    accuracy: float
    seconds: float | None = None


@dataclass(frozen=True)
class Draw:
    """People, what they share, and the test people as they are and as they share themselves."""

    name: str
    number: int
    original: People
    shared: SharedRecords
    test: People
    shared_test: SharedRecords

    def score(self, way: str, test: str, value: float, seconds: float | None = None) -> Score:
        return Score(self.name, self.number, way, test, value, seconds)


def draw(name: str, number: int, everyone: People, test: People) -> Draw:
    """The same people for each kind of noise, by the number of the draw."""
    people = drawn(everyone, ROWS, np.random.default_rng([number, 0]))
    rng = np.random.default_rng([number, 1 + list(LAWS).index(name)])
    noise = noise_of(name, everyone)
    return Draw(name, number, people, perturbed(people, noise, rng), test, perturbed(test, noise, rng))


def scores(it: Draw) -> Iterator[Score]:
    """Every model on original and on shared test people."""
    yield from _plain(it)
    yield from _paper(it)
    yield from _ours(it)
    yield from _bayes(it)
    yield from _reconstructed(it)


def _plain(it: Draw) -> Iterator[Score]:
    original = SharedRecords(it.original.schema, it.original.numbers, it.original.classes, it.shared.noise)
    yield it.score("C4.5 on originals", "original", accuracy(direct_tree(original, LEARNER), it.test.table()))
    bare = replace(naive_release(original), noise={})
    yield it.score("naive Bayes on originals", "original", accuracy(bare, it.test.table()))
    start = perf_counter()
    tree = direct_tree(it.shared, LEARNER)
    seconds = perf_counter() - start
    yield it.score("C4.5 on shared", "original", accuracy(tree, it.test.table()), seconds)
    yield it.score("C4.5 on shared", "shared", accuracy(tree, it.shared_test.table))


def naive_release(people: SharedRecords) -> Release:
    """Naive Bayes straight on numbers, as if there were no noise."""
    noiseless = replace(people, noise={name: replace(law, scale=1e-9) for name, law in people.noise.items()})
    return Release({}, people.schema, model="naive_bayes", bayes=naive_bayes(noiseless))


def _paper(it: Draw) -> Iterator[Score]:
    tree, law = direct_tree(it.shared, LEARNER), LAWS[it.name]
    rng = np.random.default_rng([it.number, 7])
    for way, theta in (("threshold", THETA[law]), ("threshold, auto", choose_theta(it.shared, LEARNER, rng))):
        moved = threshold_tree(tree, it.shared.noise, theta)
        yield it.score(way, "original", accuracy(moved, it.test.table()))
        yield it.score(way, "shared", accuracy(moved, it.shared_test.table))
    random = grow_by_probability(it.shared, LEARNER, "random", rng)
    yield it.score("random path", "original", accuracy(random, it.test.table()))
    columns = {column.name: it.shared_test.numbers[:, i] for i, column in enumerate(it.test.schema.features)}
    found = classify_along_random_paths(random, columns, it.shared.noise, it.test.schema.classes, rng)
    yield it.score("random path", "shared", 100 * float((found == it.test.classes).mean()))
    both = grow_by_probability(it.shared, LEARNER, "both", rng)
    yield it.score("weighted", "original", accuracy(both, it.test.table()))


def _ours(it: Draw) -> Iterator[Score]:
    plain, rng = direct_tree(it.shared, LEARNER), np.random.default_rng([it.number, 8])
    ways: list[tuple[str, Any]] = [
        ("matched", lambda: matched_tree(plain, it.shared)),
        ("deconvolved", lambda: deconvolved_tree(it.shared, LEARNER, "auto", rng)),
    ]
    boundless = replace(it.shared, schema=it.shared.schema.boundless)
    ways.append(("deconvolved, bounds unknown", lambda: deconvolved_tree(boundless, LEARNER, "auto", rng)))
    for way, learn in ways:
        start = perf_counter()
        tree = learn()
        yield it.score(way, "original", accuracy(tree, it.test.table()), perf_counter() - start)


def _bayes(it: Draw) -> Iterator[Score]:
    """As the paper has it (straight on shared numbers), and with the noise's variance taken off."""
    straight = naive_release(it.shared)
    yield it.score("naive Bayes on shared", "original", accuracy(straight, it.test.table()))
    yield it.score("naive Bayes on shared", "shared", accuracy(straight, it.shared_test.table))
    release = Release({}, it.shared.schema, model="naive_bayes", bayes=naive_bayes(it.shared), noise=it.shared.noise)
    yield it.score("naive Bayes, corrected", "original", accuracy(release, it.test.table()))
    assert release.bayes is not None
    wide = replace(release, bayes=with_noise_variance(release.bayes, release))
    yield it.score("naive Bayes, corrected", "shared", accuracy(wide, it.shared_test.table))


def _reconstructed(it: Draw) -> Iterator[Score]:
    """Learning from reconstructed records; a test person's class is never used to reconstruct them."""
    for way, estimate in (("BE", _bayes_estimates), ("PCA", _principal_estimates)):
        start = perf_counter()
        people = replace(it.shared, numbers=estimate(it.shared))
        seconds = perf_counter() - start
        test = it.test.table(estimate(it.shared_test))
        tree, bayes = direct_tree(people, LEARNER), naive_release(people)
        tests = {"reconstructed": test, "original": it.test.table(), "shared": it.shared_test.table}
        for name, table in tests.items():
            yield it.score(f"C4.5 on {way}", name, accuracy(tree, table), seconds)
            yield it.score(f"naive Bayes on {way}", name, accuracy(bayes, table))


def _bayes_estimates(shared: SharedRecords) -> Floats:
    """Everybody's posterior mean, column by column, from the distribution of all."""
    found = np.empty_like(shared.numbers)
    for i, column in enumerate(shared.schema.features):
        numbers, noise = shared.numbers[:, i], shared.laws[i]
        edges = cells_between(numbers, noise, column.bounds)
        prior = reconstructed(numbers, np.ones(len(numbers)), noise, edges)
        middles = (edges[:-1] + edges[1:]) / 2
        for rows, chances in posterior(numbers, noise, edges, prior):
            found[rows, i] = chances @ middles
    return found


def _principal_estimates(shared: SharedRecords) -> Floats:
    """Everybody's record on the principal components, in units of the noise."""
    scale = np.sqrt([noise.variance for noise in shared.laws])
    moments = moments_of(shared.numbers / scale, np.ones(len(shared.classes)))
    kept = principal_components(moments, None)
    return np.asarray(projected(shared.numbers / scale, moments, kept)[0] * scale)
