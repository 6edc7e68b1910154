"""The rows that each tree of a forest drew, as the seeds in its file give them back."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.ensemble._forest import _generate_sample_indices
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemble_rows import both_readings
from installed_readers import lower_model
from leafgate.api import Column, Schema, bin_names
from leafgate.readers import ModelIR
from random_tables import numeric
from sklearn_zoo import answers, rows

N = 300
X, Y = rows(5, N), answers(rows(5, N), 2)
BOUNDS = (-1e6, 1e6)


def bags_of(read: ModelIR) -> Any:
    features = tuple(numeric(name, "quasi_identifier", bounds=BOUNDS) for name in ("x0", "x1", "x2"))
    roles = frozenset({"class", "sensitive"})
    edges = None if read.classes else (0.0, 0.5, 1.0)
    values = bin_names(edges) if edges else ("0", "1")
    target = Column("y", roles, values=values, ordered=edges is not None, edges=edges)
    found = lower_model(read, Schema((*features, target)), {}, "model").provenance.training_rows
    return None if found is None else found.bags


def drawn_by_scikit_learn(seed: int, draws: int) -> Any:
    """How often its own function draws each row; since 1.9 it is given weights, too."""
    weights = [None] * (len(inspect.signature(_generate_sample_indices).parameters) - 3)
    return np.bincount(_generate_sample_indices(seed, N, draws, *weights), minlength=N)


@pytest.mark.parametrize("max_samples", [None, 40, 0.3])
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor, ExtraTreesRegressor])
def test_seeds_give_back_the_rows_that_scikit_learn_draws(kind: Any, max_samples: float | None) -> None:
    model = kind(6, bootstrap=True, max_samples=max_samples, max_depth=4).fit(X, Y)
    draws = {None: N, 40: 40, 0.3: 90}[max_samples]
    truth = [drawn_by_scikit_learn(tree.random_state, draws) for tree in model.estimators_]
    for read in both_readings(model):
        bags = bags_of(read)
        assert bags is not None
        assert (bags.draws == np.column_stack(truth)).all()


def test_a_pipeline_has_the_seeds_of_its_forest() -> None:
    model = make_pipeline(StandardScaler(), RandomForestClassifier(4, max_depth=3)).fit(X, Y)
    for read in both_readings(model):
        bags = bags_of(read)
        assert bags is not None
        assert bags.seeds == tuple(tree.random_state for tree in model[-1].estimators_)


def test_a_file_without_a_number_of_rows_has_as_many_as_each_tree_draws() -> None:
    every, some = (RandomForestClassifier(3, max_samples=share, max_depth=3).fit(X, Y) for share in (None, 0.5))
    del every._n_samples, some._n_samples
    bags = bags_of(both_readings(every)[1])
    assert bags is not None
    assert bags.n_rows == N
    assert bags_of(both_readings(some)[1]) is None


def unseeded(model: Any) -> Any:
    """The forest without its trees' seeds, as `leafgate convert` leaves it."""
    for tree in model.estimators_:
        tree.random_state = None
    return model


def reseeded(model: Any) -> Any:
    """The forest with a seed that did not draw the rows of its last tree."""
    model.estimators_[-1].random_state += 1
    return model


@pytest.mark.parametrize(
    "model",
    [
        unseeded(RandomForestClassifier(4, random_state=0, max_depth=3).fit(X, Y)),
        reseeded(RandomForestClassifier(4, random_state=0, max_depth=3).fit(X, Y)),
        RandomForestClassifier(4, random_state=0, max_depth=3).fit(X, Y, sample_weight=1 + np.arange(N) % 3),
        RandomForestClassifier(4, random_state=0, max_depth=3, class_weight="balanced").fit(X, Y),
        RandomForestClassifier(4, random_state=0, max_depth=3, bootstrap=False).fit(X, Y),
        BaggingClassifier(n_estimators=4, max_samples=0.5, random_state=0).fit(X, Y),
    ],
    ids=["no seeds", "another seed", "weights", "weights of classes", "no bootstrap", "bagging"],
)
def test_no_rows_are_drawn_where_seeds_are_missing_or_the_trees_do_not_agree(model: Any) -> None:
    for read in both_readings(model):
        assert bags_of(read) is None
