"""Attribute attacks of SACRO-ML and ART on leafgate's targets: their numbers are their own, and nothing is left."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from leafgate.api import (
    AdversaryKnowledge,
    AttributeBelief,
    Column,
    InconclusiveError,
    Leaf,
    Node,
    NumericSplit,
    PredictionOracle,
    Release,
    Schema,
    Table,
    Targets,
    install_command,
)
from leafgate.kernel.oracle import QueryLog
from leafgate_plugins.inference.attributes.peers import (
    ArtAttribute,
    PeerAttack,
    SacroMlAttribute,
    guess_posterior,
    sacroml_guesses,
)
from leafgate_plugins.inference.game import Answers
from leafgate_plugins.inference.peers import art, sacroml

N = 100
CLASSES = ("no", "yes")
JOBS = ("baker", "smith", "judge")
SCHEMA = Schema(
    (
        Column("age", frozenset({"quasi_identifier"}), bounds=(0.0, 99.0)),
        Column("pay", frozenset({"quasi_identifier"}), bounds=(0.0, 9.0)),
        Column("job", frozenset({"sensitive"}), values=JOBS),
        Column("ill", frozenset({"class"}), values=CLASSES),
    )
)
INPUTS = ("job", "age", "pay")

has_sacroml = pytest.mark.skipif(
    importlib.util.find_spec("sacroml") is None, reason="needs SACRO-ML, the extra sacroml"
)
has_art = pytest.mark.skipif(importlib.util.find_spec("art") is None, reason="needs the extra art")
pytestmark = pytest.mark.filterwarnings("ignore")  # the peers' own, of what they use
ATTACKS = [
    pytest.param(SacroMlAttribute(), marks=has_sacroml, id="sacroml"),
    *(
        pytest.param(attack, marks=has_art, id=f"art {attack.attack} {attack.classifier}")
        for attack in (
            ArtAttribute(),
            ArtAttribute(classifier="lr"),
            ArtAttribute(attack="white_box"),
            ArtAttribute(attack="lifestyle"),
        )
    ),
]


def people_of(rng: np.random.Generator, number: int) -> Table:
    """People whose class is noise, so that a tree can learn it by heart only."""
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, number).astype(float),
            "pay": rng.integers(0, 9, number).astype(float),
            "job": pd.Categorical.from_codes(rng.integers(0, 3, number), categories=pd.Index(JOBS)),
            "ill": pd.Categorical.from_codes(rng.integers(0, 2, number), categories=pd.Index(CLASSES)),
        }
    )
    return Table(SCHEMA, frame, np.ones(number, dtype=np.int64))


def matrix(people: Table) -> NDArray[np.float64]:
    return np.column_stack([people.codes("job"), people.numbers("age"), people.numbers("pay")]).astype(np.float64)


class Model:
    """A tree of scikit-learn's, as an oracle and as a release that asks for the job's number."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.inside, self.outside, auxiliary = (people_of(rng, number) for number in (N, N, 2 * N))
        self.fitted = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
        self.fitted.fit(matrix(self.inside), self.inside.codes("ill"))
        known = Schema(SCHEMA.columns[:2] + SCHEMA.columns[3:])
        names = [column.name for column in known.columns]
        first, second = (Table(known, each.frame.loc[:, names], each.weight) for each in (self.inside, self.outside))
        self.targets = Targets(SCHEMA["job"], (first, second), auxiliary)
        self.known = AdversaryKnowledge(SCHEMA, self.inside.without_rows, targets={"job": self.targets}, seed=3)

        def scores(asked: Table) -> NDArray[np.float64]:
            return np.asarray(self.fitted.predict_proba(matrix(asked)))

        self.oracle = PredictionOracle(SCHEMA, CLASSES, QueryLog(), lambda asked: scores(asked).argmax(axis=1), scores)
        self.release = Release({}, SCHEMA, (self.node(0),))

    def node(self, number: int) -> Node:
        """The release's node for one of scikit-learn's."""
        tree = self.fitted.tree_
        if tree.children_left[number] < 0:
            size = int(tree.n_node_samples[number])
            counts = {
                name: round(float(share) * size) for name, share in zip(CLASSES, tree.value[number][0], strict=True)
            }
            return Leaf(label=max(counts, key=lambda name: counts[name]), counts=counts)
        low, high = self.node(tree.children_left[number]), self.node(tree.children_right[number])
        column, at = INPUTS[tree.feature[number]], float(tree.threshold[number])
        if column != "job":
            return NumericSplit(column, at, low, high)
        from leafgate.api import Branch, CategoricalSplit

        first = tuple(value for code, value in enumerate(JOBS) if code <= at)
        return CategoricalSplit("job", (Branch(first, low),), default=high)

    def belief(self, attack: PeerAttack) -> AttributeBelief:
        needs_file = isinstance(attack, ArtAttribute) and attack.attack != "black_box"
        (belief,) = attack.infer(self.release if needs_file else self.oracle, self.known)
        assert isinstance(belief, AttributeBelief)
        return belief

    @property
    def answers(self) -> Answers:
        """By asking scikit-learn's tree itself."""
        rows = np.concatenate([matrix(self.inside), matrix(self.outside)])
        by_value = []
        for value in range(3):
            rows[:, 0] = value
            by_value.append(self.fitted.predict_proba(rows))
        own = np.concatenate([self.inside.codes("ill"), self.outside.codes("ill")])
        return Answers(np.stack(by_value, axis=1), own)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.mark.parametrize("attack", ATTACKS)
def test_each_repeats_and_leaves_the_process_and_the_disk_as_they_were(
    attack: PeerAttack, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    logs, environment = list(logging.getLogger().handlers), dict(os.environ)
    np.random.seed(1)
    coins = np.random.get_state(legacy=False)["state"]["key"]
    first = np.asarray(model.belief(attack).posterior)
    np.testing.assert_array_equal(first, model.belief(attack).posterior)
    np.testing.assert_allclose(first.sum(axis=1), 1)
    assert first.shape == (2 * N, 3)
    assert list(tmp_path.iterdir()) == []
    assert (logging.getLogger().handlers, dict(os.environ)) == (logs, environment)
    np.testing.assert_array_equal(coins, np.random.get_state(legacy=False)["state"]["key"])


@pytest.mark.parametrize("attack", ATTACKS)
def test_each_sees_planted_leaks_where_it_reads_labels(attack: PeerAttack, model: Model) -> None:
    """The rate of the planted values among 30 % who leak, less that of all others, in nine of ten."""
    planted = model.belief(attack).planted
    if isinstance(attack, ArtAttribute) and attack.attack == "lifestyle":
        assert planted is None
        return
    assert planted is not None
    rates = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        values, leaking = rng.integers(3, size=2 * N), rng.random(2 * N) < 0.3
        right = np.asarray(planted(values, leaking, seed)).argmax(axis=1) == values
        rates.append(float(right[leaking].mean() - right[~leaking].mean()))
    learned = isinstance(attack, ArtAttribute) and attack.attack == "black_box"
    assert learned or sum(rate > 0.4 for rate in rates) >= 9


@has_sacroml
def test_sacroml_infers_as_often_and_as_rightly_as_its_own_run_says(model: Model) -> None:
    """Its own run on a model whose label of the true record is the person's class, which is what the class stands for.

    It looks at a person's true record once, by `predict`, and asks `predict_proba` about the values.
    """
    sacroml("attacks.attribute_attack")
    from sacroml.attacks import attribute_attack

    rows, answers = matrix(model.inside), model.answers

    class Asked:
        def predict(self, _: NDArray[np.float64]) -> NDArray[np.int64]:
            return model.inside.codes("ill")

        def predict_proba(self, asked: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(model.fitted.predict_proba(asked))

    class Target:
        features = {0: {"indices": [0], "encoding": "int", "name": "job"}}  # noqa: RUF012
        model = Asked()
        X_train = X_test = rows
        X_train_orig = X_test_orig = rows[:, [0]]

    correct, total, _, _, _ = attribute_attack._infer(Target(), 0, 0.0, True)
    of_table = Answers(answers.scores[:N], answers.own[:N])
    guesses = sacroml_guesses(of_table, attribute_attack._unique_max, 0.0)
    assert total == (guesses >= 0).sum() > 0
    assert correct == (guesses == model.inside.codes("job")).sum()


@has_art
@pytest.mark.parametrize("attack", ["white_box", "lifestyle"])
def test_art_on_the_release_infers_what_art_infers_on_scikit_learns_tree(attack: Any, model: Model) -> None:
    """On the same tree as scikit-learn has it; the class stands for the label of the true record in both."""
    belief = model.belief(ArtAttribute(attack=attack))
    attacks, estimators = art("attacks.inference.attribute_inference"), art("estimators.classification")
    kind = {
        "white_box": attacks.AttributeInferenceWhiteBoxDecisionTree,
        "lifestyle": attacks.AttributeInferenceWhiteBoxLifestyleDecisionTree,
    }[attack]
    shares = np.bincount(model.targets.auxiliary.codes("job"), minlength=3) + 1.0
    features = np.concatenate([matrix(model.inside), matrix(model.outside)])
    theirs = kind(estimators.SklearnClassifier(model.fitted), attack_feature=0).infer(
        features[:, 1:], y=model.answers.own, values=[0, 1, 2], priors=(shares / shares.sum()).tolist()
    )
    np.testing.assert_array_equal(np.asarray(belief.posterior).argmax(axis=1), theirs)


def test_a_guess_is_nearly_certain_and_no_guess_is_the_prior() -> None:
    prior = np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(
        guess_posterior(np.array([2, -1]), prior), np.array([[5e-4, 5e-4, 0.999], [0.2, 0.5, 0.3]])
    )


@pytest.mark.parametrize(("attack", "extra"), [(SacroMlAttribute(), "sacroml"), (ArtAttribute(), "art")])
def test_a_peer_that_is_not_installed_is_named_with_the_command(
    attack: PeerAttack, extra: str, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == extra]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, extra, None)
    with pytest.raises(InconclusiveError) as caught:
        model.belief(attack)
    assert install_command(extra) in str(caught.value)


@has_art
def test_art_reads_leaves_of_one_tree_with_counts_only(model: Model) -> None:
    attack = ArtAttribute(attack="white_box")
    for source in (
        model.oracle,
        Release({}, SCHEMA, (model.release.trees[0],) * 2, combine="sum"),
        Release({}, SCHEMA, (NumericSplit("age", 30.0, Leaf("no"), Leaf("yes")),)),
    ):
        with pytest.raises(InconclusiveError) as caught:
            attack.infer(source, model.known)
        assert "attack: black_box" in str(caught.value)
