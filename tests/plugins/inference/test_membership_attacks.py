"""The attacks with shadow models as an audit runs them: on trees, from candidates and what trains such trees."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from components import built_by, new_attack
from games import draw_candidates
from leafgate.algorithms.prediction import class_scores
from leafgate.api import (
    AdversaryKnowledge,
    Column,
    InconclusiveError,
    MembershipBelief,
    Release,
    Table,
    install_command,
)
from random_tables import table_of

COLUMNS = (
    Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 99.0)),
    Column("town", frozenset({"quasi_identifier"}), values=("Hill", "Mill", "Port")),
    Column("ill", frozenset({"class", "sensitive"}), values=("no", "yes")),
)
SHADOWS: dict[str, Any] = {"shadows": {"models": 8}}
ATTACKS: tuple[Any, ...] = (
    new_attack("lira", **SHADOWS),
    new_attack("lira", mode="offline", **SHADOWS),
    new_attack("rmia", **SHADOWS),
    new_attack("quantile", **SHADOWS),
    new_attack("worst_case", correct=True, **SHADOWS),
)


def people(seed: int, count: int = 120) -> list[tuple[float, str, str]]:
    """People whose illness hardly depends on anything, so that a deep tree learns them by heart."""
    rng = np.random.default_rng(seed)
    return [
        (float(rng.integers(0, 99)), str(rng.choice(["Hill", "Mill", "Port"])), ("no", "yes")[int(rng.random() < 0.4)])
        for _ in range(count)
    ]


def tree_of(own: Table, seed: int = 0) -> Release:
    """A tree with a leaf for nearly everybody."""
    return built_by("c45", own, seed, prune=False)


def retrain(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
    return class_scores(tree_of(own, seed), asked)


@pytest.fixture(scope="module")
def game() -> tuple[Release, AdversaryKnowledge, Any]:
    table = table_of(COLUMNS, people(1))
    candidates, membership = draw_candidates(table, table_of(COLUMNS, people(2)))
    known = AdversaryKnowledge(table.schema, table.public[0], candidates=candidates, retrain=retrain, seed=5)
    return tree_of(table), known, membership


def area(scores: NDArray[Any], member: NDArray[np.bool_]) -> float:
    above = scores[member][:, None] - scores[~member]
    return float((above > 0).mean() + (above == 0).mean() / 2)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.use} {getattr(attack, 'mode', '')}".strip())
@pytest.mark.thorough
def test_an_attack_finds_who_is_in_a_tree_that_learned_people_by_heart(
    attack: Any, game: tuple[Release, AdversaryKnowledge, Any]
) -> None:
    release, known, membership = game
    [belief] = attack.infer(release, known)
    assert isinstance(belief, MembershipBelief)
    assert area(belief.scores, membership.in_table) > 0.6
    assert belief.evidence["shadow_models"] == 8
    assert (belief.odds is not None) == (attack.use == "lira" and getattr(attack, "mode", "") == "online")
    assert belief.planted is not None
    leak = belief.planted(0.5, 0)
    assert leak.in_table.sum() == membership.in_table.sum()
    assert (leak.odds is not None) == (belief.odds is not None)


def test_the_odds_of_a_planted_leak_rise_with_its_scores_as_those_of_candidates_do(
    game: tuple[Release, AdversaryKnowledge, Any],
) -> None:
    release, known, _ = game
    [belief] = new_attack("lira", **SHADOWS).infer(release, known)
    assert isinstance(belief, MembershipBelief)
    assert belief.planted is not None
    leak = belief.planted(0.3, 2)
    assert belief.odds is not None
    assert leak.odds is not None
    scores, odds = np.append(belief.scores, leak.scores), np.append(belief.odds, leak.odds)
    assert (np.diff(odds[np.argsort(scores, kind="stable")]) >= 0).all()
    assert leak.odds[leak.in_table].mean() > leak.odds[~leak.in_table].mean()


def test_shadow_models_of_another_kind_show_no_power(game: tuple[Release, AdversaryKnowledge, Any]) -> None:
    release, known, membership = game

    def coarse(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
        return class_scores(tree_of(own, seed), asked) * 0.5 + 0.25

    for attack in (new_attack("lira", **SHADOWS), new_attack("rmia", **SHADOWS)):
        (honest,) = attack.infer(release, known)
        (belief,) = attack.infer(release, replace(known, retrain=coarse, retrain_id="coarse"))
        assert isinstance(honest, MembershipBelief)
        assert isinstance(belief, MembershipBelief)
        assert honest.planted is not None
        assert belief.planted is not None
        assert len(honest.planted(0.5, 0).scores) == len(membership.in_table)
        with pytest.raises(InconclusiveError, match="trained_by"):
            belief.planted(0.5, 0)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.use)
def test_the_forecast_says_what_will_be_trained(attack: Any, game: tuple[Release, AdversaryKnowledge, Any]) -> None:
    release, known, membership = game
    text = attack.forecast(release, known)
    assert "8 shadow models" in text
    assert f"{int(membership.in_table.sum()):,} of {len(membership.in_table):,} candidates" in text


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.use)
def test_without_what_trains_models_an_attack_is_inconclusive(
    attack: Any, game: tuple[Release, AdversaryKnowledge, Any]
) -> None:
    release, known, _ = game
    with pytest.raises(InconclusiveError, match="shadow models cannot be trained"):
        attack.infer(release, replace(known, retrain=None))


@pytest.mark.parametrize("attack", [new_attack("quantile", **SHADOWS), new_attack("worst_case", **SHADOWS)])
def test_without_scikit_learn_a_learned_attack_says_what_to_install(
    attack: Any, game: tuple[Release, AdversaryKnowledge, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    release, known, _ = game
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InconclusiveError) as problem:
        attack.infer(release, known)
    assert "needs scikit-learn, which is not installed" in str(problem.value)
    assert install_command("sklearn") in str(problem.value)


def test_the_loss_needs_no_shadow_model(game: tuple[Release, AdversaryKnowledge, Any]) -> None:
    release, known, membership = game
    [belief] = new_attack("loss_threshold").infer(release, replace(known, retrain=None))
    assert isinstance(belief, MembershipBelief)
    assert area(belief.scores, membership.in_table) > 0.6
    assert belief.planted is not None
    assert belief.planted(1.0, 0).in_table.sum() == membership.in_table.sum()
