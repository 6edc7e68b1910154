"""Attacks of SACRO-ML and ART on leafgate's candidates: their numbers are their own, and nothing is left behind."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from leafgate.api import (
    AdversaryKnowledge,
    Candidates,
    Column,
    InconclusiveError,
    MembershipBelief,
    PredictionOracle,
    Schema,
    Table,
    install_command,
)
from leafgate.kernel.oracle import QueryLog
from leafgate_plugins.inference.membership import peers
from leafgate_plugins.inference.membership.peers import Art, PeerAttack, SacroMl, lira_member_prob, sacro_logit
from leafgate_plugins.inference.membership.shadows import train_shadows

N_IN, N_OUT = 150, 150
SCHEMA = Schema(
    (
        Column("job", frozenset({"quasi_identifier"}), values=("baker", "smith", "judge"), missing=True),
        Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 99.0)),
        Column("pay", frozenset({"quasi_identifier"}), bounds=(0.0, 9.0)),
        Column("ill", frozenset({"class", "sensitive"}), values=("no", "yes")),
    )
)

has_sacroml = pytest.mark.skipif(
    importlib.util.find_spec("sacroml") is None, reason="needs SACRO-ML, the extra sacroml"
)
has_art = pytest.mark.skipif(importlib.util.find_spec("art") is None, reason="needs the extra art")
pytestmark = pytest.mark.filterwarnings("ignore")  # the peers' own, of what they use
ATTACKS = [
    *(
        pytest.param(attack, marks=has_sacroml, id=f"sacroml {attack.attack}")
        for attack in (
            SacroMl(attack="worst_case"),
            SacroMl(attack="worst_case", correct=True),
            SacroMl(attack="qmia", alpha=0.4),
            SacroMl(attack="lira", open_pickles=True),
        )
    ),
    *(
        pytest.param(attack, marks=has_art, id=f"art {attack.attack}")
        for attack in (
            Art(attack="rule_based"),
            Art(attack="black_box"),
            Art(attack="black_box", classifier="lr"),
        )
    ),
]


def people(rng: np.random.Generator, number: int) -> Table:
    """People whose class is noise, so that a tree can learn it by heart only."""
    frame = pd.DataFrame(
        {
            "job": pd.Categorical.from_codes(
                rng.integers(-1, 3, number), categories=pd.Index(["baker", "smith", "judge"])
            ),
            "age": rng.integers(20, 60, number).astype(float),
            "pay": rng.integers(0, 9, number).astype(float),
            "ill": pd.Categorical.from_codes(rng.integers(0, 2, number), categories=pd.Index(["no", "yes"])),
        }
    )
    return Table(SCHEMA, frame, np.ones(number, dtype=np.int64))


def matrix(table: Table) -> NDArray[np.float64]:
    return np.column_stack([table.codes("job"), table.numbers("age"), table.numbers("pay")])


def retrain(own: Table, asked: Table, seed: int) -> NDArray[np.float64]:
    """A tree of scikit-learn's."""
    model = DecisionTreeClassifier(random_state=seed).fit(matrix(own), own.codes("ill"), own.weight)
    return np.asarray(model.predict_proba(matrix(asked)))


@pytest.fixture(scope="module")
def candidates() -> Table:
    return people(np.random.default_rng(5), N_IN + N_OUT)


@pytest.fixture(scope="module")
def in_table() -> NDArray[np.bool_]:
    return np.random.default_rng(6).permutation(N_IN + N_OUT) < N_IN


@pytest.fixture(scope="module")
def known(candidates: Table) -> AdversaryKnowledge:
    nobody = people(np.random.default_rng(0), 0)
    return AdversaryKnowledge(SCHEMA, nobody, retrain=retrain, candidates=Candidates(candidates, N_IN, N_OUT), seed=3)


@pytest.fixture(scope="module")
def oracle(candidates: Table, in_table: NDArray[np.bool_]) -> PredictionOracle:
    own = candidates.people_at(np.flatnonzero(in_table))

    def scores(asked: Table) -> NDArray[np.float64]:
        return retrain(own, asked, 0)

    return PredictionOracle(SCHEMA, ("no", "yes"), QueryLog(), lambda asked: scores(asked).argmax(axis=1), scores)


def belief_of(attack: PeerAttack, oracle: PredictionOracle, known: AdversaryKnowledge) -> MembershipBelief:
    (belief,) = attack.infer(oracle, known)
    assert isinstance(belief, MembershipBelief)
    return belief


def area(scores: NDArray[np.float64], members: NDArray[np.bool_]) -> float:
    """By all pairs."""
    differences = scores[members][:, None] - scores[~members][None, :]
    return float((differences > 0).mean() + (differences == 0).mean() / 2)


def is_blind(attack: PeerAttack) -> bool:
    """Is it blind to whether a label is right?

    A worst case without `correct` sees sorted scores alone, which are 1 and 0 for nearly everybody; a logistic
    regression adds up what scores and class tell, each alone.
    """
    if isinstance(attack, SacroMl):
        return attack.attack == "worst_case" and not attack.correct
    return isinstance(attack, Art) and attack.attack == "black_box" and attack.classifier == "lr"


@pytest.mark.parametrize("attack", ATTACKS)
def test_each_sees_that_a_tree_learned_noise_by_heart(
    attack: PeerAttack, oracle: PredictionOracle, known: AdversaryKnowledge, in_table: NDArray[np.bool_]
) -> None:
    belief = belief_of(attack, oracle, known)
    scores = np.asarray(belief.scores)
    assert scores.shape == in_table.shape
    assert np.isfinite(scores).all()
    assert area(scores, in_table) > (0.4 if is_blind(attack) else 0.65)


@pytest.mark.parametrize("attack", ATTACKS)
def test_each_finds_planted_leaks_and_nothing_where_none_is(
    attack: PeerAttack, oracle: PredictionOracle, known: AdversaryKnowledge
) -> None:
    """SACRO-ML's LiRA finds hardly any: its laws of deviation 0 hold for the numbers of shadow models alone.

    ART's rule finds none: leaks are planted first where the label is wrong, and then as right as that of others.
    """
    planted = belief_of(attack, oracle, known).planted
    assert planted is not None
    without, everything = planted(0.0, 0), planted(1.0, 0)
    assert area(np.asarray(without.scores), np.asarray(without.in_table)) == pytest.approx(0.5, abs=0.15)
    if not is_blind(attack) and getattr(attack, "attack", "") not in {"lira", "rule_based"}:
        assert area(np.asarray(everything.scores), np.asarray(everything.in_table)) > 0.55


@pytest.mark.parametrize("attack", ATTACKS)
def test_each_repeats_and_leaves_the_process_and_the_disk_as_they_were(
    attack: PeerAttack,
    oracle: PredictionOracle,
    known: AdversaryKnowledge,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    logs, environment = list(logging.getLogger().handlers), dict(os.environ)
    np.random.seed(1)
    coins = np.random.get_state(legacy=False)["state"]["key"]
    first = belief_of(attack, oracle, known).scores
    np.testing.assert_array_equal(first, belief_of(attack, oracle, known).scores)
    assert list(tmp_path.iterdir()) == []
    assert (logging.getLogger().handlers, dict(os.environ)) == (logs, environment)
    np.testing.assert_array_equal(coins, np.random.get_state(legacy=False)["state"]["key"])


@has_sacroml
@pytest.mark.parametrize("mode", ["online-carlini", "offline-carlini", "offline"])
@pytest.mark.parametrize("fix_variance", [False, True])
def test_lira_on_arrays_is_what_sacroml_computes(
    mode: str, fix_variance: bool, oracle: PredictionOracle, known: AdversaryKnowledge
) -> None:
    """A belief comes only where their own run and the formula agree; here the numbers are followed by hand."""
    attack = SacroMl.model_validate(
        {"use": "sacroml", "attack": "lira", "mode": mode, "fix_variance": fix_variance, "open_pickles": True}
    )
    shadows = train_shadows(attack.shadows, known)
    one = 7
    logits = sacro_logit(shadows.of_own_class[:, one])
    inside, outside = logits[shadows.trained_on[:, one]], logits[~shadows.trained_on[:, one]]
    laws = {
        "in_mean": np.array([inside.mean()]),
        "in_std": np.array([inside.std()]),
        "out_mean": np.array([outside.mean()]),
        "out_std": np.array([outside.std()]),
    }
    if fix_variance:
        every = sacro_logit(shadows.of_own_class)
        laws["in_std"], laws["out_std"] = (
            every[shadows.trained_on].std(keepdims=True),
            every[~shadows.trained_on].std(keepdims=True),
        )
    assert known.candidates is not None
    own = oracle.scores(known.candidates.frame).to_numpy()[one, known.candidates.table.codes("ill")[one]]
    expected = lira_member_prob(np.array([own]), laws, mode)[0]
    assert np.asarray(belief_of(attack, oracle, known).scores)[one] == pytest.approx(expected)


@has_sacroml
def test_lira_opens_pickles_only_where_it_may(oracle: PredictionOracle, known: AdversaryKnowledge) -> None:
    with pytest.raises(InconclusiveError, match="pickles") as caught:
        SacroMl(attack="lira").infer(oracle, known)
    assert "open_pickles: true" in str(caught.value)


@has_sacroml
def test_another_formula_of_lira_is_noticed(
    oracle: PredictionOracle, known: AdversaryKnowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = peers.their_lira

    def otherwise(*arguments: object) -> NDArray[np.float64]:
        return right(*arguments) + 1  # type: ignore[arg-type]

    monkeypatch.setattr(peers, "their_lira", otherwise)
    with pytest.raises(InconclusiveError, match="otherwise"):
        SacroMl(attack="lira", open_pickles=True).infer(oracle, known)


@pytest.mark.parametrize(
    ("attack", "extra"), [(SacroMl(), "sacroml"), (Art(), "art"), (Art(attack="rule_based"), "art")]
)
def test_without_the_library_the_attack_names_the_command(
    attack: PeerAttack,
    extra: str,
    oracle: PredictionOracle,
    known: AdversaryKnowledge,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == extra]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, extra, None)
    with pytest.raises(InconclusiveError, match="not installed") as caught:
        attack.infer(oracle, known)
    assert install_command(extra) in str(caught.value)


def test_people_without_a_class_come_last() -> None:
    scores = peers.filled(np.array([np.nan, 2.0, np.inf]), np.array([0, 1, 3]), 4)
    assert scores.tolist() == [0.0, 2.0, 0.0, 1e300]
