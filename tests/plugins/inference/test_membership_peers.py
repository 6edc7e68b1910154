"""SACRO-ML's LiRA, which docs/reproduce runs on leafgate's candidates: its numbers are those of the library."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from leafgate.api import (
    AdversaryKnowledge,
    Candidates,
    Column,
    MembershipBelief,
    PredictionOracle,
    Schema,
    Table,
)
from leafgate.kernel.oracle import QueryLog
from leafgate_plugins.inference.membership.score_attacks import ShadowAttack
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

has_sacroml = pytest.mark.skipif(importlib.util.find_spec("sacroml") is None, reason="needs SACRO-ML")
pytestmark = pytest.mark.filterwarnings("ignore")  # the peers' own, of what they use


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


@pytest.fixture
def membership_peers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of docs/reproduce with the attacks."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[3] / "docs" / "reproduce"))
    return importlib.import_module("membership_peers")


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


def belief_of(attack: ShadowAttack, oracle: PredictionOracle, known: AdversaryKnowledge) -> MembershipBelief:
    (belief,) = attack.infer(oracle, known)
    assert isinstance(belief, MembershipBelief)
    return belief


@has_sacroml
@pytest.mark.parametrize("mode", ["online-carlini", "offline-carlini", "offline"])
@pytest.mark.parametrize("fix_variance", [False, True])
def test_lira_on_arrays_is_what_sacroml_computes(
    mode: str, fix_variance: bool, oracle: PredictionOracle, known: AdversaryKnowledge, membership_peers: ModuleType
) -> None:
    """A belief comes only where their own run and the formula agree; here the numbers are followed by hand."""
    attack = membership_peers.SacroMl.model_validate(
        {"use": "sacroml", "attack": "lira", "mode": mode, "fix_variance": fix_variance, "open_pickles": True}
    )
    shadows = train_shadows(attack.shadows, known)
    one = 7
    logits = membership_peers.sacro_logit(shadows.of_own_class[:, one])
    inside, outside = logits[shadows.trained_on[:, one]], logits[~shadows.trained_on[:, one]]
    laws = {
        "in_mean": np.array([inside.mean()]),
        "in_std": np.array([inside.std()]),
        "out_mean": np.array([outside.mean()]),
        "out_std": np.array([outside.std()]),
    }
    if fix_variance:
        every = membership_peers.sacro_logit(shadows.of_own_class)
        laws["in_std"], laws["out_std"] = (
            every[shadows.trained_on].std(keepdims=True),
            every[~shadows.trained_on].std(keepdims=True),
        )
    assert known.candidates is not None
    own = oracle.scores(known.candidates.frame).to_numpy()[one, known.candidates.table.codes("ill")[one]]
    expected = membership_peers.lira_member_prob(np.array([own]), laws, mode)[0]
    assert np.asarray(belief_of(attack, oracle, known).scores)[one] == pytest.approx(expected)
