"""Build perturbed records, and the model learned from them, from the options and a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.api import BuildResult, NoReleaseError, Release, Table
from leafgate.kernel.release import NaiveBayes
from leafgate_plugins.ppdtc45.deconvolved_c45 import deconvolved_tree
from leafgate_plugins.ppdtc45.growing import grow_by_probability
from leafgate_plugins.ppdtc45.options import Ppdtc45
from leafgate_plugins.ppdtc45.party import SystemCoins
from leafgate_plugins.ppdtc45.shared import SharedRecords, noise_laws, share_table
from leafgate_plugins.ppdtc45.split_methods import Learner, choose_theta, direct_tree, matched_tree, threshold_tree

FLOOR = 1e-2
"""Smallest variance within a class, as a share of the variance of the shared numbers."""
NOISE_FLOOR = 1e-6
"""Smallest variance within a class, as a share of the variance of the noise."""


def naive_bayes(shared: SharedRecords) -> NaiveBayes:
    """Shares of the classes, and each column's mean and variance within each class, of the original numbers.

    The mean is that of the shared numbers, the variance theirs less the noise's, at least FLOOR of theirs.

    Source: Liu, Kantarcioglu, Thuraisingham, section 5.2.
    Departure: the variance is floored, for with much noise the difference may be negative.
    """
    classes = shared.schema.classes
    people = np.bincount(shared.classes, minlength=len(classes))
    normals: dict[str, dict[str, tuple[float, float]]] = {}
    for i, column in enumerate(shared.schema.features):
        normals[column.name] = {
            label: _normal(shared.numbers[shared.classes == code, i], shared.laws[i].variance)
            for code, label in enumerate(classes)
            if people[code] > 1
        }
    shares = {label: float(people[code] / people.sum()) for code, label in enumerate(classes) if people[code] > 1}
    if not shares:
        raise NoReleaseError("naive Bayes needs two people of one class", remedy="share more people")
    return NaiveBayes({label: share / sum(shares.values()) for label, share in shares.items()}, normals)


def _normal(numbers: np.ndarray, noise: float) -> tuple[float, float]:
    spread = float(numbers.var(ddof=1))
    return float(numbers.mean()), max(spread - noise, FLOOR * spread, NOISE_FLOOR * noise)


def build(options: Ppdtc45, table: Table, rng: np.random.Generator) -> BuildResult:
    """The release: shared records with the model learned from them, and which row of the table each was made from.

    Raises PolicyError for noise that does not fit the table.
    """
    coins = rng if options.rehearsal else SystemCoins()
    shared, origins = share_table(table, noise_laws(options.noise, table), coins)
    return BuildResult(learn(options, shared, rng), origins=tuple(origins.tolist()))


def learn(options: Ppdtc45, shared: SharedRecords, rng: np.random.Generator) -> Release:
    """The release that a miner learns from the perturbed records alone."""
    release = Release(
        builder=options.described(),
        schema=shared.schema,
        count_semantics="perturbed",
        records=shared.records,
        noise=shared.noise,
    )
    if options.model == "naive_bayes":
        return replace(release, model="naive_bayes", bayes=naive_bayes(shared))
    confidence = options.confidence if options.prune else None
    learner = Learner(options.average_gain, options.min_leaf, confidence, options.penalty)
    return _with_trees(release, options, shared, learner, rng)


def _with_trees(
    release: Release, options: Ppdtc45, shared: SharedRecords, learner: Learner, rng: np.random.Generator
) -> Release:
    """The tree for originals, and beside it the one for shared numbers where the method makes one."""
    split, selection = options.split, _selection(options)
    if split == "random_path" or split == "weighted":
        tree = grow_by_probability(shared, learner, "random" if split == "random_path" else "both", rng)
        return replace(release, trees=(tree,), selection=selection)
    perturbed = direct_tree(shared, learner)
    if split == "threshold":
        theta = options.theta if isinstance(options.theta, float) else choose_theta(shared, learner, rng)
        selection["theta"] = theta
        tree = threshold_tree(perturbed, shared.noise, theta)
    elif split == "matched":
        tree = matched_tree(perturbed, shared)
    else:
        tree = deconvolved_tree(shared, learner, options.groups, rng)
    return replace(release, trees=(tree,), alternatives={"perturbed": perturbed}, selection=selection)


def _selection(options: Ppdtc45) -> dict[str, Any]:
    """What is known of how tests were chosen."""
    document: dict[str, Any] = {
        "measure": "gain_ratio",
        "average_gain": options.average_gain,
        "min_leaf": options.min_leaf,
    }
    document |= {"pruned": options.prune, "split": options.split}
    return document | ({"penalty": options.penalty} if options.split in {"threshold", "matched"} else {})
