"""Classification and accuracy where only perturbed numbers are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from leafgate import api
from leafgate.algorithms.deconvolution import cells_between, posterior, reconstructed
from leafgate.algorithms.prediction import predict
from leafgate.kernel.release import NaiveBayes
from leafgate_plugins.ppdtc45.shared import SharedRecords

Box = Mapping[str, tuple[float, float]]
"""For each column that was asked, what it is above and what it is up to."""


def leaf_boxes(tree: api.Node) -> Iterator[tuple[api.Leaf, Box]]:
    """Every leaf of a tree of cuts with the numbers that reach it."""
    waiting: list[tuple[api.Node, Box]] = [(tree, {})]
    while waiting:
        node, box = waiting.pop()
        match node:
            case api.Leaf():
                yield node, box
            case api.NumericSplit():
                low, high = box.get(node.column, (-np.inf, np.inf))
                waiting.append((node.high, {**box, node.column: (max(low, node.at), high)}))
                waiting.append((node.low, {**box, node.column: (low, min(high, node.at))}))
            case api.CategoricalSplit():
                raise TypeError("a tree of numeric splits has no categorical split")


@dataclass(frozen=True)
class ReconstructedRecords:
    """People whose original numbers are known by chance.

    For each column the edges of its cells, and for each person (rows) the chance of lying below each edge.
    """

    shared: SharedRecords
    edges: Mapping[str, api.Floats]
    below: Mapping[str, api.Floats]

    def chance_below(self, column: str, at: float) -> api.Floats:
        """Everybody's chance that the original number is not above `at`."""
        edges, below = self.edges[column], self.below[column]
        cell = int(np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(edges) - 2))
        part = np.clip((at - edges[cell]) / (edges[cell + 1] - edges[cell]), 0, 1)
        return np.asarray((1 - part) * below[:, cell] + part * below[:, cell + 1])


def reconstruct_records(shared: SharedRecords) -> ReconstructedRecords:
    """The posterior of every original number, from the noise laws and the reconstructed class densities."""
    edges: dict[str, api.Floats] = {}
    below: dict[str, api.Floats] = {}
    for i, column in enumerate(shared.schema.features):
        numbers, noise = shared.numbers[:, i], shared.noise[column.name]
        ends = edges[column.name] = cells_between(numbers, noise, column.bounds)
        values = below[column.name] = np.zeros((len(numbers), len(ends)))
        for code in np.unique(shared.classes):
            rows = np.flatnonzero(shared.classes == code)
            prior = reconstructed(numbers[rows], np.ones(len(rows)), noise, ends)
            for part, chances in posterior(numbers[rows], noise, ends, prior):
                values[rows[part], 1:] = chances.cumsum(axis=1)
    return ReconstructedRecords(shared, edges, below)


def expected_accuracy(tree: api.Node, judges: ReconstructedRecords) -> float:
    """How many of the judges, in expectation, a tree for original numbers says the class of: 0 to 1.

    Departure: the columns of one person are taken as independent given class and shared numbers.
    """
    classes = judges.shared.classes
    right = np.zeros(len(classes))
    for leaf, box in leaf_boxes(tree):
        there = (classes == judges.shared.schema.classes.index(str(leaf.label))).astype(np.float64)
        for name, (low, high) in box.items():
            there *= np.maximum(judges.chance_below(name, high) - judges.chance_below(name, low), 0)
        right += there
    return float(right.mean())


def classify_along_random_paths(
    tree: api.Node,
    numbers: Mapping[str, api.Floats],
    noise: Mapping[str, api.Noise],
    classes: tuple[str, ...],
    rng: np.random.Generator,
) -> api.Codes:
    """Each person's class at the end of a path where every test of the tree (for originals) is decided by chance.

    Source: Liu, Kantarcioglu, Thuraisingham, section 6.6, Algorithm 4: low with p_S1(w|t) = 1 - F_R(w - t).
    """
    people = len(next(iter(numbers.values())))
    found = np.zeros(people, dtype=np.int64)
    waiting: list[tuple[api.Node, api.Codes]] = [(tree, np.arange(people))]
    while waiting:
        node, rows = waiting.pop()
        match node:
            case api.Leaf():
                found[rows] = classes.index(node.label or classes[0])
            case api.NumericSplit():
                chance = 1 - noise[node.column].below(numbers[node.column][rows] - node.at)
                low = rng.random(len(rows)) <= chance
                waiting += [(node.high, rows[~low]), (node.low, rows[low])]
            case api.CategoricalSplit():
                raise TypeError("a tree of numeric splits has no categorical split")
    return found


def perturb_test_table(table: api.Table, release: api.Release, rng: np.random.Generator) -> api.Table:
    """Everybody in the table as they would share themselves under the release's noise."""
    table = table.without_key
    origins = np.repeat(np.arange(len(table)), table.weight)
    frame = table.frame.iloc[origins].reset_index(drop=True)
    for name, noise in release.noise.items():
        frame[name] = noise.added(frame[name].to_numpy(dtype=np.float64), rng)
    columns = (replace(c, bounds=None, bins=None) if c.name in release.noise else c for c in table.schema.columns)
    return api.make_table(api.Schema(tuple(columns)), frame)


def predict_perturbed(release: api.Release, test: api.Table, paths: str, rng: np.random.Generator) -> np.ndarray:
    """The code of the class predicted for each row of a test table whose numbers have noise; shape (n_rows,).

    Raises InconclusiveError where the release has no model of the kind asked for (`paths`: `cuts` or `random`).
    """
    if release.bayes is not None:
        return predict(replace(release, bayes=with_noise_variance(release.bayes, release)), test)
    if paths == "random" and release.trees:
        people = np.repeat(np.arange(len(test)), test.weight)
        if len(people) > len(test):
            raise api.InconclusiveError(
                "people of the test table share all their numbers; random paths are of one person"
            )
        numbers = {name: test.numbers(name) for name in release.noise}
        return classify_along_random_paths(release.trees[0], numbers, release.noise, release.classes, rng)
    if "perturbed" not in release.alternatives:
        raise api.InconclusiveError("the release has no tree for shared numbers", remedy="say `paths: random`")
    return predict(replace(release, trees=(release.alternatives["perturbed"],)), test)


def with_noise_variance(bayes: NaiveBayes, release: api.Release) -> NaiveBayes:
    """The model for shared numbers: each column's variance with its noise's on top."""
    normals = {
        name: {label: (mean, variance + release.noise[name].variance) for label, (mean, variance) in within.items()}
        for name, within in bayes.normals.items()
    }
    return NaiveBayes(bayes.shares, normals)
