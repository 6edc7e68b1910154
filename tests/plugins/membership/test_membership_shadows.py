"""Shadow models: who is drawn for them, and what they answer."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from leafgate.api import AdversaryKnowledge, Candidates, InconclusiveError, Learner, Table
from leafgate_membership.shadows import ShadowModels, ShadowOptions, train_shadows
from leafgate_sklearn.training import train
from sklearn_pipelines import people

TREE = Learner("sklearn.tree.DecisionTreeClassifier", {"max_depth": 5})


def known_of(table: Table, seed: int = 3, in_table: int = 300) -> AdversaryKnowledge:
    """The knowledge of an attack whose candidates are the rows of a table."""
    candidates = Candidates(table, in_table, len(table) - in_table)
    return AdversaryKnowledge(
        table.schema, table.without_rows, retrain=partial(train, TREE), seed=seed, candidates=candidates
    )


def at(table: Table, rows: np.ndarray) -> Table:
    """The rows of a table in this order, each one person."""
    return Table(table.schema, table.frame.iloc[rows].reset_index(drop=True), np.ones(len(rows), dtype=np.int64))


def test_each_model_is_trained_on_as_many_candidates_as_the_model_and_on_others_each_time() -> None:
    table = people(1, n=700)
    shadows = train_shadows(ShadowOptions(models=8), known_of(table))
    assert shadows.scores.shape == (8, len(table), 2)
    assert (shadows.trained_on.sum(axis=1) == 300).all()
    assert len(np.unique(shadows.trained_on, axis=0)) == 8
    for model, rows in enumerate(shadows.trained_on):
        seeds = np.random.SeedSequence(3, spawn_key=(1,)).spawn(8)
        rng = np.random.default_rng(seeds[model])
        rng.permutation(len(table))
        own = at(table, np.flatnonzero(rows))
        np.testing.assert_allclose(shadows.scores[model], train(TREE, own, table, int(rng.integers(2**31))))


def test_the_order_of_candidates_only_permutes_the_result() -> None:
    table = people(1, n=600)
    doubled = at(table, np.array([*range(len(table)), *range(0, len(table), 3)]))
    order = np.random.default_rng(0).permutation(len(doubled))
    first = train_shadows(ShadowOptions(models=6), known_of(doubled))
    second = train_shadows(ShadowOptions(models=6), known_of(at(doubled, order)))
    assert (second.scores == first.scores[:, order]).all()
    assert _patterns(second, at(doubled, order)) == _patterns(first, doubled)


def _patterns(shadows: ShadowModels, table: Table) -> list[tuple[object, ...]]:
    """Each candidate's cells, and which models were trained on the candidate, in sorted order."""
    rows = zip(table.frame.astype(str).itertuples(index=False), shadows.trained_on.T.tolist(), strict=True)
    return sorted((*map(str, cells), *map(str, trained)) for cells, trained in rows)


def test_nobody_who_knows_how_to_train_is_inconclusive() -> None:
    known = replace(known_of(people(1)), retrain=None)
    with pytest.raises(InconclusiveError, match="neither the algorithm nor the estimator"):
        train_shadows(ShadowOptions(models=2), known)
