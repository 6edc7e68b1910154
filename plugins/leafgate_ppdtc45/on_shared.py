"""How well a release predicts people of whom only shared numbers are seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leafgate import Case, InconclusiveError
from leafgate.naive_bayes import NaiveBayes
from leafgate.release import Release
from leafgate.routing import predict
from leafgate.schema import Schema
from leafgate.table import Table, make_table
from leafgate_ppdtc45.along import along_random_paths


def accuracy_on_perturbed(case: Case, paths: str) -> float:
    """People predicted rightly over people, from 0 to 1.

    Where the test table is original, noise is drawn for it by the policy's seed. Raises InconclusiveError without a
    test table, without noise, and where the release has no model of the kind asked for.
    """
    if case.test is None:
        raise InconclusiveError("there is no test table", place="data.test", remedy="name one, or give --test FILE")
    if not case.release.noise:
        raise InconclusiveError("the release tells no noise", remedy="this is for releases of shared numbers")
    rng = np.random.default_rng(case.known.seed)
    test = case.test if case.noisy_test else perturbed(case.test, case.release, rng)
    right = _predicted(case.release, test, paths, rng) == test.codes(case.release.target)
    return float(test.weight[right].sum() / test.people)


def perturbed(table: Table, release: Release, rng: np.random.Generator) -> Table:
    """Everybody in the table as they would share themselves under the release's noise."""
    table = table.without_key
    origins = np.repeat(np.arange(len(table)), table.weight)
    frame = table.frame.iloc[origins].reset_index(drop=True)
    for name, noise in release.noise.items():
        frame[name] = noise.added(frame[name].to_numpy(dtype=np.float64), rng)
    columns = (replace(c, bounds=None, bins=None) if c.name in release.noise else c for c in table.schema.columns)
    return make_table(Schema(tuple(columns)), frame)


def _predicted(release: Release, test: Table, paths: str, rng: np.random.Generator) -> np.ndarray:
    if release.bayes is not None:
        return predict(replace(release, bayes=widened(release.bayes, release)), test)
    if paths == "random" and release.trees:
        people = np.repeat(np.arange(len(test)), test.weight)
        if len(people) > len(test):
            raise InconclusiveError("people of the test table share all their numbers; random paths are of one person")
        numbers = {name: test.numbers(name) for name in release.noise}
        return along_random_paths(release.trees[0], numbers, release.noise, release.classes, rng)
    if "perturbed" not in release.alternatives:
        raise InconclusiveError("the release has no tree for shared numbers", remedy="say `paths: random`")
    return predict(replace(release, trees=(release.alternatives["perturbed"],)), test)


def widened(bayes: NaiveBayes, release: Release) -> NaiveBayes:
    """The model for shared numbers: each column's variance with its noise's on top."""
    normals = {
        name: {label: (mean, variance + release.noise[name].variance) for label, (mean, variance) in within.items()}
        for name, within in bayes.normals.items()
    }
    return NaiveBayes(bayes.shares, normals)
