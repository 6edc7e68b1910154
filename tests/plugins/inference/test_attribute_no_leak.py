"""Attacks on models that ignore the secret: limits on inferred inputs are broken no more often than stated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from components import answered, built_by, new_attack, new_metric
from games import draw_targets, limited, secret_inputs
from leafgate.algorithms.prediction import class_scores
from leafgate.api import AttackModel, AttributeBelief, Column, Release, Schema, ScoringContext, Table, make_table
from leafgate.testing import grant_knowledge

pytestmark = pytest.mark.slow

RELEASES, SIDE, AUXILIARY, CONFIDENCE = 200, 200, 80, 0.95
SCHEMA = Schema(
    (
        Column("town", frozenset({"quasi_identifier"}), values=("Hill", "Mill", "Port")),
        Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 100.0)),
        Column("smoker", frozenset({"private"}), values=("no", "yes")),
        Column("ill", frozenset({"class", "sensitive"}), values=("no", "yes")),
    )
)


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """People who smoke by their towns, and are ill by town, age and smoking."""
    town, age = rng.integers(3, size=n), rng.uniform(0, 100, size=n).round(1)
    smoker = rng.random(n) < np.array([0.2, 0.5, 0.7])[town]
    ill = rng.random(n) < 0.1 + 0.3 * smoker + 0.004 * age
    cells = {"town": town, "smoker": smoker.astype(int), "ill": ill.astype(int)}
    columns = {name: pd.Categorical.from_codes(codes, list(SCHEMA[name].values or ())) for name, codes in cells.items()}  # type: ignore[call-overload]
    return pd.DataFrame({"town": columns["town"], "age": age, "smoker": columns["smoker"], "ill": columns["ill"]})


def built(table: Table, seed: int) -> Release:
    return built_by("id3", table, seed, min_leaf=3)


def retrain(own: Table, asked: Table, seed: int) -> np.ndarray:
    return class_scores(built(own, seed), asked)


def cases(seed: int, attacks: list[AttackModel]) -> list[ScoringContext]:
    """What attacks conclude from a tree that was trained on somebody else's answers about smoking."""
    rng = np.random.default_rng([seed, 7])
    inside, outside = people(rng, SIDE), people(rng, SIDE + AUXILIARY)
    table, control = make_table(SCHEMA, inside), make_table(SCHEMA, outside)
    shuffled = inside.assign(smoker=inside["smoker"].array[rng.permutation(SIDE)])
    release = built(make_table(SCHEMA, shuffled), seed)
    knows = {"class": True, "auxiliary": AUXILIARY}
    targets, membership = draw_targets(table, control, knows, secret_inputs(release, SCHEMA), seed)
    if not targets:
        return []
    known = replace(grant_knowledge(table, seed=seed), targets=targets, retrain=retrain)
    result = []
    for attack in attacks:
        (belief,) = answered(attack, release, limited(known, attack.needs))
        assert isinstance(belief, AttributeBelief)
        without = replace(belief, planted=None)
        result.append(ScoringContext(table, None, release, known, without, _membership=membership))
    return result


def test_models_that_ignore_the_secret_break_limits_no_more_often_than_stated() -> None:
    attacks: list[AttackModel] = [
        new_attack("leaf_constraints"),
        new_attack("likelihood"),
        new_attack("likelihood", name="members", calibration="members"),
        new_attack("csmia"),
        new_attack("lomia"),
        new_attack("fredrikson"),
    ]
    metrics: list[Any] = [
        new_metric("attribute_leak", at_most=0.0, measure="accuracy", confidence=CONFIDENCE),
        new_metric("attribute_leak", at_most=0.0, measure="ppv", top=50, confidence=CONFIDENCE),
        new_metric("attribute_leak", at_most=0.0, measure="mcc", confidence=CONFIDENCE),
    ]
    broken, runs = np.zeros((len(attacks), len(metrics)), dtype=int), 0
    for seed in range(RELEASES):
        concluded = cases(seed, attacks)
        runs += bool(concluded)
        for i, case in enumerate(concluded):
            for j, metric in enumerate(metrics):
                score = metric.score(case)
                assert score.interval is not None
                broken[i, j] += score.interval[0] > metric.at_most
    assert runs > RELEASES * 0.9
    assert (broken <= binom.ppf(0.999, runs, 1 - CONFIDENCE)).all(), broken
