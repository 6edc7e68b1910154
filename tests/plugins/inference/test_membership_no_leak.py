"""Attacks on releases that a builder learned from other people: limits are broken no more often than stated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from components import answered, new_attack, new_builder, new_metric
from guessed_members import guessed
from leafgate.algorithms.prediction import class_scores
from leafgate.api import AdversaryKnowledge, AttackModel, Candidates, MembershipBelief, Release, Table
from sklearn_pipelines import people

pytestmark = pytest.mark.slow

RELEASES, SIDE, CONFIDENCE = 200, 150, 0.95
BUILDER = new_builder("id3", min_leaf=5)
SHADOWS = {"models": 4}


def built(table: Table, seed: int) -> Release:
    release = BUILDER.build(table, np.random.default_rng(seed))
    assert isinstance(release, Release)
    return release


def retrain(own: Table, asked: Table, seed: int) -> np.ndarray:
    return class_scores(built(own, seed), asked)


def beliefs_about_strangers(seed: int, attacks: list[AttackModel]) -> tuple[np.ndarray, list[MembershipBelief]]:
    """Who of the candidates is in the table, and what attacks believe of them by a tree of none of them."""
    everybody = people(seed, n=3 * SIDE, gaps=False)
    order = np.repeat(np.arange(len(everybody)), everybody.weight)
    order = np.random.default_rng([seed, 1]).permutation(order)
    candidates, others = order[: 2 * SIDE], order[2 * SIDE :]
    frame = everybody.frame.iloc[candidates].reset_index(drop=True)
    asked = Table(everybody.schema, frame, np.ones(len(frame), dtype=np.int64))
    known = AdversaryKnowledge(
        everybody.schema,
        asked.without_rows,
        retrain=retrain,
        retrain_id=f"id3 {seed}",
        seed=seed,
        candidates=Candidates(asked, SIDE, SIDE),
    )
    release = built(everybody.people_at(others), seed)
    found = [belief for attack in attacks for belief in answered(attack, release, known)]
    assert all(isinstance(belief, MembershipBelief) for belief in found)
    return np.arange(2 * SIDE) < SIDE, [belief for belief in found if isinstance(belief, MembershipBelief)]


def test_releases_learned_from_others_break_limits_no_more_often_than_stated() -> None:
    attacks: list[AttackModel] = [
        new_attack("loss_threshold"),
        new_attack("lira", shadows=SHADOWS),
        new_attack("rmia", shadows=SHADOWS),
    ]
    metrics: list[Any] = [
        new_metric("membership_auc", at_most=0.5, group="everybody", confidence=CONFIDENCE),
        new_metric("membership_tpr", at_most=0.1, at_fpr=0.1, group="everybody", confidence=CONFIDENCE),
        new_metric("membership_advantage", at_most=0.0, group="everybody", confidence=CONFIDENCE),
    ]
    broken = np.zeros((len(attacks), len(metrics)), dtype=int)
    for seed in range(RELEASES):
        in_table, found = beliefs_about_strangers(seed, attacks)
        for i, belief in enumerate(found):
            for j, metric in enumerate(metrics):
                score = metric.score(guessed(np.asarray(belief.scores), in_table))
                assert score.interval is not None
                broken[i, j] += score.interval[0] > metric.at_most
    assert (broken <= binom.ppf(0.999, RELEASES, 1 - CONFIDENCE)).all(), broken
